//! What `Toggle.shape` gives back to Python.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::arrays::{Array, Stored};
use super::convert::Like;
use crate::toggle::{Metrics, Shaped as CoreShaped};

/// What `Toggle.shape` made of a batch of N samples.
///
/// Attributes:
///     scores: The shaped scores, of the dtype that came in, shape (N,): a tensor for a tensor, else
///         an array. The very one that came in where the phase changes nothing.
///     kept: bool, shape (N,): False where the response is masked, which is to be over budget in a
///         group that is held to it, whatever the score. A score of 0 stays 0 then, and with
///         `penalty="cap_at_zero"` a negative one stays as well.
///     has_signal: bool, shape (N,): the shaped scores of the sample's group are not all equal.
///     group_accuracy: float64, shape (N,): share of correct responses in the sample's group.
///     metrics: Nine floats: `toggle/` + `length_penalty_phase`, `kept_ratio` (of samples),
///         `enforced_group_ratio`, `lost_signal_group_ratio`, `gained_signal_group_ratio` (of
///         groups), `tokens_over_budget` (of correct samples), `budget_min`, `budget_median`,
///         `budget_max` (over the keys of the batch, NaN without any).
#[pyclass(frozen, get_all, module = "toggle_rs")]
pub(super) struct Shaped {
    scores: Py<PyAny>,
    kept: Py<PyAny>,
    has_signal: Py<PyAny>,
    group_accuracy: Py<PyAny>,
    metrics: Py<PyDict>,
}

/// The class, and what to call it with.
type Reduced<'py> = (Bound<'py, PyType>, Bound<'py, PyTuple>);

#[pymethods]
impl Shaped {
    #[new]
    fn new(
        scores: Py<PyAny>,
        kept: Py<PyAny>,
        has_signal: Py<PyAny>,
        group_accuracy: Py<PyAny>,
        metrics: Py<PyDict>,
    ) -> Self {
        Self {
            scores,
            kept,
            has_signal,
            group_accuracy,
            metrics,
        }
    }

    /// For pickle and copy: it goes from a worker to a trainer as it is.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let (py, own) = (slf.py(), slf.get());
        let attributes = [
            &own.scores,
            &own.kept,
            &own.has_signal,
            &own.group_accuracy,
            own.metrics.as_any(),
        ];
        let attributes = PyTuple::new(py, attributes.map(|attribute| attribute.bind(py)))?;
        Ok((slf.get_type(), attributes))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "Shaped(scores={}, kept={}, has_signal={}, group_accuracy={}, metrics={})",
            self.scores.bind(py).repr()?,
            self.kept.bind(py).repr()?,
            self.has_signal.bind(py).repr()?,
            self.group_accuracy.bind(py).repr()?,
            self.metrics.bind(py).repr()?,
        ))
    }
}

fn metrics<'py>(py: Python<'py>, metrics: &Metrics) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let phase = f64::from(u8::from(metrics.length_penalty_phase));
    for (name, value) in [
        ("toggle/length_penalty_phase", phase),
        ("toggle/kept_ratio", metrics.kept_ratio),
        ("toggle/enforced_group_ratio", metrics.enforced_group_ratio),
        (
            "toggle/lost_signal_group_ratio",
            metrics.lost_signal_group_ratio,
        ),
        (
            "toggle/gained_signal_group_ratio",
            metrics.gained_signal_group_ratio,
        ),
        ("toggle/tokens_over_budget", metrics.tokens_over_budget),
        ("toggle/budget_min", metrics.budget_min),
        ("toggle/budget_median", metrics.budget_median),
        ("toggle/budget_max", metrics.budget_max),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// What shaping made of a batch, whatever the dtype of its scores.
pub(super) struct Untyped {
    scores: Option<Box<dyn NewArray>>,
    kept: Vec<bool>,
    has_signal: Vec<bool>,
    group_accuracy: Vec<f64>,
    metrics: Metrics,
}

/// Scores that are to become an array; making one waits until no lock is held.
trait NewArray {
    fn into_array(self: Box<Self>, py: Python<'_>) -> Bound<'_, PyAny>;
}

impl<S: Stored + 'static> NewArray for Vec<S> {
    fn into_array(self: Box<Self>, py: Python<'_>) -> Bound<'_, PyAny> {
        PyArray1::from_vec(py, *self).into_any()
    }
}

impl Untyped {
    pub fn new<S: Stored + 'static>(shaped: CoreShaped<S>) -> Self {
        let CoreShaped {
            scores,
            kept,
            has_signal,
            group_accuracy,
            metrics,
        } = shaped;
        let scores = scores.map(|scores| Box::new(scores) as Box<dyn NewArray>);
        Self {
            scores,
            kept,
            has_signal,
            group_accuracy,
            metrics,
        }
    }

    pub fn into_python<'py>(
        self,
        scores: &Bound<'py, PyAny>,
        array: &Array<'py>,
        like: &Like<'py>,
    ) -> PyResult<Shaped> {
        let py = scores.py();
        let alike = |array: Bound<'py, PyAny>| like.convert(array).map(Bound::unbind);
        Ok(Shaped {
            scores: match (self.scores, like) {
                (Some(shaped), _) => alike(shaped.into_array(py))?,
                (None, Like::Torch(_)) => scores.clone().unbind(),
                // A list is no list in one phase and an array in the other.
                (None, Like::NumPy) => array.as_any().clone().unbind(),
            },
            kept: alike(PyArray1::from_vec(py, self.kept).into_any())?,
            has_signal: alike(PyArray1::from_vec(py, self.has_signal).into_any())?,
            group_accuracy: alike(PyArray1::from_vec(py, self.group_accuracy).into_any())?,
            metrics: metrics(py, &self.metrics)?.unbind(),
        })
    }
}
