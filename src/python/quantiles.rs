//! The Python classes of the estimators: one surface for all.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyString, PyTuple, PyType};

use super::errors::wrong_type;
use super::numbers::{self, Given};
use super::state::{self, Reduced, Stateful};
use super::text::lossy;
use super::values::{Floats, Integers, Question};
use crate::quantile::{self as core, Estimator, LengthEstimator, Quantile, Rank};
use crate::{Error, Result};

/// Defines a Python class over an estimator. `$values` reads the argument of
/// `update`; `$rank` says what `rank` does.
macro_rules! quantile_class {
    (
        $(#[$doc:meta])*
        $class:ident($name:literal) over $core:ty, values: $values:ident,
        new($($argument:ident),*) $new:block,
        rank: $rank:expr,
        repr: |$own:ident| $repr:expr,
        $($extra:tt)*
    ) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "toggle_rs", name = $name)]
        pub(super) struct $class(Mutex<$core>);

        impl $class {
            /// An object of its own that holds the same.
            fn object<'py>(py: Python<'py>, core: &$core) -> PyResult<Bound<'py, PyAny>> {
                Ok(Bound::new(py, Self(Mutex::new(core.clone())))?.into_any())
            }
        }

        impl Stateful for $class {
            type Core = $core;

            fn lock(&self, py: Python<'_>) -> MutexGuard<'_, $core> {
                self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
            }
        }

        #[pymethods]
        impl $class {
            #[new]
            fn new($($argument: &Bound<'_, PyAny>),*) -> PyResult<Self> {
                let new: Result<$core> = $new;
                Ok(Self(Mutex::new(new?)))
            }

            /// Record values: a number, a list, or a 1-D array, read in place.
            fn update(&self, values: &Bound<'_, PyAny>) -> PyResult<()> {
                let columns = $values::new(values)?;
                let mut own = self.lock(values.py());
                Ok(columns.feed(&mut |chunk| own.update(chunk))?)
            }

            /// The quantile `q` in [0, 1], a number or an array; None when empty. `P2Quantile`
            /// answers the `q` that it was made with.
            fn quantile<'py>(&self, q: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                let question = Question::new("q", q)?;
                let answer = question.ask(|value| self.lock(q.py()).quantile(value));
                question.answer(q.py(), answer?)
            }

            /// The percentile `p` in [0, 100], a number or an array; None when empty.
            fn percentile<'py>(&self, p: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                let question = Question::new("p", p)?;
                let answer = question.ask(|value| self.lock(p.py()).percentile(value));
                question.answer(p.py(), answer?)
            }

            /// The fraction of the values that are <= `value`; None when empty.
            ///
            /// Raises:
            ///     TypeError: `P2Quantile` knows no ranks.
            fn rank(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
                let value = numbers::real("value", value)?;
                let rank: fn(&$core, f64) -> Result<Option<f64>> = $rank;
                Ok(rank(&self.lock(py), value)?)
            }

            /// Take in what `other` has seen.
            ///
            /// Raises:
            ///     TypeError: `P2Quantile` and `WindowQuantile` have no merge, and `other` must be of
            ///         the same class.
            ///     ValueError: A setting differs, or `other` is this very object.
            fn merge(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
                state::merge(self, other, LengthEstimator::merge_lengths)
            }

            /// The whole state; equal objects have equal bytes.
            fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                state::to_bytes(self, py)
            }

            /// The object that has these bytes, a bytes-like object.
            ///
            /// Raises:
            ///     CheckpointError: They are no snapshot of this class, of a newer version, or
            ///         damaged.
            #[classmethod]
            fn from_bytes(_class: &Bound<'_, PyType>, data: &Bound<'_, PyAny>) -> PyResult<Self> {
                Ok(Self(Mutex::new(state::read(data)?)))
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
                state::reduce(slf)
            }

            /// Number of values that answers are about.
            #[getter]
            fn count(&self, py: Python<'_>) -> u64 {
                self.lock(py).count()
            }

            /// The smallest value; None when empty.
            #[getter]
            fn min(&self, py: Python<'_>) -> Option<<$core as Quantile>::Value> {
                self.lock(py).min()
            }

            /// The largest value; None when empty.
            #[getter]
            fn max(&self, py: Python<'_>) -> Option<<$core as Quantile>::Value> {
                self.lock(py).max()
            }

            /// Bytes that it holds.
            #[getter]
            fn nbytes(&self, py: Python<'_>) -> usize {
                self.lock(py).nbytes()
            }

            fn __eq__(&self, py: Python<'_>, other: &Self) -> bool {
                state::equal(self, other, py)
            }

            fn __repr__(&self, py: Python<'_>) -> String {
                let $own = self.lock(py);
                $repr
            }

            $($extra)*
        }
    };
}

quantile_class! {
    /// The exact quantile of every length seen, by counting: `numpy.percentile`, method
    /// "linear", bit for bit. Lengths are integers in 0..2**53.
    ///
    /// Examples:
    ///     >>> from toggle_rs import ExactQuantile
    ///     >>> lengths = ExactQuantile()
    ///     >>> lengths.update([10, 20, 30, 40])
    ///     >>> lengths.percentile(50)
    ///     25.0
    ExactQuantile("ExactQuantile") over core::ExactQuantile, values: Integers,
    new() { Ok(core::ExactQuantile::new()) },
    rank: |own, value| own.rank(value),
    repr: |own| format!("ExactQuantile(count={})", own.count()),
}

quantile_class! {
    /// The P-squared estimate of one quantile (Jain and Chlamtac, 1985): five markers,
    /// whatever the number of values. Exact up to five values. It cannot be merged,
    /// answers its own `q` only, and may be far off at atoms and on drift.
    P2Quantile("P2Quantile") over core::P2Quantile, values: Floats,
    new(q) { core::P2Quantile::new(numbers::real("q", q)?) },
    rank: |_, _| Err(Error::Unsupported {
        operation: "rank",
        estimator: "P2Quantile",
        reason: "five markers follow one quantile, they know no other rank",
    }),
    repr: |own| format!("P2Quantile(q={:?}, count={})", own.q(), own.count()),

    /// The quantile that it follows.
    #[getter]
    fn q(&self, py: Python<'_>) -> f64 {
        self.lock(py).q()
    }
}

quantile_class! {
    /// The summary of Greenwald and Khanna (2001): every rank within `epsilon` times the
    /// number of values, whatever the stream.
    GkQuantile("GKQuantile") over core::GkQuantile, values: Floats,
    new(epsilon) { core::GkQuantile::new(numbers::real("epsilon", epsilon)?) },
    rank: |own, value| own.rank(value),
    repr: |own| format!("GKQuantile(epsilon={:?}, count={})", own.epsilon(), own.count()),

    /// Bound on the rank error, as a fraction of the number of values.
    #[getter]
    fn epsilon(&self, py: Python<'_>) -> f64 {
        self.lock(py).epsilon()
    }

    /// Number of tuples in the summary.
    #[getter]
    fn tuples(&self, py: Python<'_>) -> usize {
        self.lock(py).tuples()
    }
}

quantile_class! {
    /// Exactly the last `window` lengths: `numpy.percentile` of that slice, bit for bit.
    WindowQuantile("WindowQuantile") over core::WindowQuantile, values: Integers,
    new(window) { core::WindowQuantile::new(numbers::size("window", window)?) },
    rank: |own, value| own.rank(value),
    repr: |own| format!("WindowQuantile(window={}, count={})", own.window(), own.count()),

    /// Number of values that it holds at most.
    #[getter]
    fn window(&self, py: Python<'_>) -> usize {
        self.lock(py).window()
    }
}

quantile_class! {
    /// Exact counting in which a length weighs half as much after `half_life` ticks.
    ///
    /// A quantile is the weighted inverted CDF: the smallest length at which the
    /// cumulated weight reaches q of the total (NumPy's `method="inverted_cdf"` with
    /// weights). A tick is a training step; `Toggle` ticks as its steps advance.
    DecayQuantile("DecayQuantile") over core::DecayQuantile, values: Integers,
    new(half_life) { core::DecayQuantile::new(numbers::real("half_life", half_life)?) },
    rank: |own, value| own.rank(value),
    repr: |own| format!("DecayQuantile(half_life={:?}, count={})", own.half_life(), own.count()),

    /// Let `steps` ticks pass.
    #[pyo3(signature = (steps = Given(None)), text_signature = "(self, /, steps=1)")]
    fn tick(&self, py: Python<'_>, steps: Given<'_>) -> PyResult<()> {
        let steps = numbers::count_or("steps", &steps, 1)?;
        Ok(self.lock(py).tick(steps)?)
    }

    /// Ticks in which a weight halves.
    #[getter]
    fn half_life(&self, py: Python<'_>) -> f64 {
        self.lock(py).half_life()
    }

    /// Ticks so far.
    #[getter]
    fn ticks(&self, py: Python<'_>) -> u64 {
        self.lock(py).ticks()
    }
}

macro_rules! cast_any {
    (($object:expr) $($doc:literal $variant:ident $hold:ident $class:ident $name:literal $number:literal;)*) => {
        $(if let Ok(pattern) = $object.cast::<$class>() {
            return Ok(pattern.get().lock($object.py()).clone().into());
        })*
    };
}

/// The argument `estimator`: a name, or an empty object taken as a pattern.
pub(super) fn pattern(estimator: &Given<'_>, percentile: f64) -> PyResult<Estimator> {
    let Some(object) = &estimator.0 else {
        return Ok(Estimator::by_name("exact", percentile)?);
    };
    if let Ok(name) = object.cast::<PyString>() {
        return Ok(Estimator::by_name(&lossy(name), percentile)?);
    }
    estimators!(cast_any(object));
    Err(wrong_type("estimator", None, object, Estimator::expected()))
}

macro_rules! object_of {
    (($py:expr, $pattern:expr) $($doc:literal $variant:ident $hold:ident $class:ident $name:literal $number:literal;)*) => {
        match $pattern {
            $(Estimator::$variant(pattern) => $class::object($py, pattern),)*
        }
    };
}

/// What to pass as `estimator` to get this pattern again.
pub(super) fn pattern_object<'py>(
    py: Python<'py>,
    pattern: &Estimator,
) -> PyResult<Bound<'py, PyAny>> {
    if let Estimator::Exact(_) = pattern {
        return Ok(PyString::new(py, "exact").into_any());
    }
    estimators!(object_of(py, pattern))
}

macro_rules! add_classes {
    (($module:expr) $($doc:literal $variant:ident $hold:ident $class:ident $name:literal $number:literal;)*) => {
        $($module.add_class::<$class>()?;)*
    };
}

/// Adds the classes of this file to the module, and the names that stand for one.
pub(super) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    estimators!(add_classes(module));
    let names: Vec<_> = Estimator::names().collect();
    // Set, not added: it is none of the names in `__all__`.
    module.setattr("_NAMES", PyTuple::new(module.py(), names)?)
}
