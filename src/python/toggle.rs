//! The Python class `Toggle`, and what it gives back.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::PyArray1;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use super::arrays::{PyLengths, Scores, Stored, View, with_scores};
use super::batch::{correct_mask, groups_of};
use super::keys::{PyKeys, to_tuple, with_key};
use super::{convert, numbers, quantiles};
use crate::Error;
use crate::budget::Freeze;
use crate::groups::Groups;
use crate::schedule::Phase;
use crate::shaping::Score;
use crate::toggle::{Batch, Metrics, Penalty, Settings, Shaped as CoreShaped, Toggle as Core};

/// Toggle.
#[pyclass(frozen, subclass, module = "toggle_rs")]
pub(super) struct Toggle(Mutex<Core>);

impl Toggle {
    /// Never waits for the GIL: no code under the lock lets go of it.
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Toggle {
    #[new]
    #[pyo3(signature = (
        *, m, lambda_, percentile, warmup_steps = None, estimator = None,
        start_phase = None, freeze = None, min_samples = None, penalty = None,
    ))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the keyword arguments of the Python class"
    )]
    fn new(
        m: &Bound<'_, PyAny>,
        lambda_: &Bound<'_, PyAny>,
        percentile: &Bound<'_, PyAny>,
        warmup_steps: Option<&Bound<'_, PyAny>>,
        estimator: Option<&Bound<'_, PyAny>>,
        start_phase: Option<&Bound<'_, PyAny>>,
        freeze: Option<&Bound<'_, PyAny>>,
        min_samples: Option<&Bound<'_, PyAny>>,
        penalty: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let percentile = numbers::real("percentile", percentile)?;
        let count = |name, object: Option<&Bound<'_, PyAny>>, default| {
            object.map_or(Ok(default), |object| numbers::count(name, object))
        };
        let settings = Settings {
            m: numbers::count("m", m)?,
            lambda: numbers::real("lambda_", lambda_)?,
            percentile,
            warmup_steps: count("warmup_steps", warmup_steps, 0)?,
            estimator: quantiles::pattern(estimator, percentile)?,
            start_phase: option("start_phase", start_phase, &START_PHASES)?,
            freeze: option("freeze", freeze, &FREEZES)?,
            min_samples: count("min_samples", min_samples, 1)?,
            penalty: option("penalty", penalty, &PENALTIES)?,
        };
        Ok(Self(Mutex::new(Core::new(settings)?)))
    }

    #[classmethod]
    #[pyo3(signature = (*, m, lambda_, percentile))]
    fn kimi_k25<'py>(
        class: &Bound<'py, PyType>,
        m: &Bound<'py, PyAny>,
        lambda_: &Bound<'py, PyAny>,
        percentile: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = PyDict::new(class.py());
        arguments.set_item("m", m)?;
        arguments.set_item("lambda_", lambda_)?;
        arguments.set_item("percentile", percentile)?;
        arguments.set_item("start_phase", "length_penalty")?;
        arguments.set_item("freeze", "first")?;
        class.call((), Some(&arguments))
    }

    #[pyo3(signature = (datasets, lengths, scores = None, *, correct = None, max_score = None, step = None))]
    fn observe(
        &self,
        datasets: &Bound<'_, PyAny>,
        lengths: &Bound<'_, PyAny>,
        scores: Option<&Bound<'_, PyAny>>,
        correct: Option<&Bound<'_, PyAny>>,
        max_score: Option<&Bound<'_, PyAny>>,
        step: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let step = step.map(|step| numbers::count("step", step)).transpose()?;
        let scores = scores.map(Scores::new).transpose()?;
        let correct = correct_mask(correct, scores.as_ref(), max_score)?;
        let batch = Batch {
            datasets: &PyKeys::new("datasets", datasets)?,
            lengths: &PyLengths::new("lengths", lengths)?,
            correct: &correct,
        };
        self.lock().observe(&batch, step)
    }

    #[pyo3(signature = (step, scores, lengths, datasets, *, groups, correct = None, max_score = None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the arguments of the Python method"
    )]
    fn shape<'py>(
        &self,
        step: &Bound<'py, PyAny>,
        scores: &Bound<'py, PyAny>,
        lengths: &Bound<'py, PyAny>,
        datasets: &Bound<'py, PyAny>,
        groups: &Bound<'py, PyAny>,
        correct: Option<&Bound<'py, PyAny>>,
        max_score: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Shaped> {
        let call = Call {
            observe: false,
            step,
            lengths,
            datasets,
            groups,
            correct,
            max_score,
        };
        self.call(&call, scores)
    }

    #[pyo3(signature = (step, scores, lengths, datasets, *, groups, correct = None, max_score = None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the arguments of the Python method"
    )]
    fn apply<'py>(
        &self,
        step: &Bound<'py, PyAny>,
        scores: &Bound<'py, PyAny>,
        lengths: &Bound<'py, PyAny>,
        datasets: &Bound<'py, PyAny>,
        groups: &Bound<'py, PyAny>,
        correct: Option<&Bound<'py, PyAny>>,
        max_score: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Shaped> {
        let call = Call {
            observe: true,
            step,
            lengths,
            datasets,
            groups,
            correct,
            max_score,
        };
        self.call(&call, scores)
    }

    fn is_penalty_step(&self, step: &Bound<'_, PyAny>) -> PyResult<bool> {
        let step = numbers::count("step", step)?;
        Ok(self.lock().schedule().is_penalty_step(step))
    }

    fn budget(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
        with_key("key", None, key, |key| self.lock().budget(key))
    }

    fn budgets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let budgets = PyDict::new(py);
        for (key, _, budget) in self.lock().summary() {
            if let Some(budget) = budget {
                budgets.set_item(to_tuple(py, key)?, budget)?;
            }
        }
        Ok(budgets)
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(py);
        for (key, count, _) in self.lock().summary() {
            counts.set_item(to_tuple(py, key)?, count)?;
        }
        Ok(counts)
    }

    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = self.lock().settings();
        let dict = PyDict::new(py);
        dict.set_item("m", settings.m)?;
        dict.set_item("lambda_", settings.lambda)?;
        dict.set_item("percentile", settings.percentile)?;
        dict.set_item("warmup_steps", settings.warmup_steps)?;
        dict.set_item(
            "estimator",
            quantiles::pattern_object(py, &settings.estimator)?,
        )?;
        dict.set_item("start_phase", name_of(settings.start_phase, &START_PHASES))?;
        dict.set_item("freeze", name_of(settings.freeze, &FREEZES))?;
        dict.set_item("min_samples", settings.min_samples)?;
        dict.set_item("penalty", name_of(settings.penalty, &PENALTIES))?;
        Ok(dict)
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.lock().nbytes()
    }

    fn __eq__(&self, other: &Self) -> bool {
        // Locking one object twice would wait for ever.
        std::ptr::eq(self, other) || *self.lock() == *other.lock()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let settings = self.settings(py)?;
        let arguments = settings
            .iter()
            .map(|(name, value)| Ok(format!("{name}={}", value.repr()?)));
        Ok(format!(
            "Toggle({})",
            arguments.collect::<PyResult<Vec<_>>>()?.join(", ")
        ))
    }
}

/// The arguments of `shape` and `apply` but for the scores.
struct Call<'a, 'py> {
    observe: bool,
    step: &'a Bound<'py, PyAny>,
    lengths: &'a Bound<'py, PyAny>,
    datasets: &'a Bound<'py, PyAny>,
    groups: &'a Bound<'py, PyAny>,
    correct: Option<&'a Bound<'py, PyAny>>,
    max_score: Option<&'a Bound<'py, PyAny>>,
}

impl Toggle {
    fn call<'py>(&self, call: &Call<'_, 'py>, scores: &Bound<'py, PyAny>) -> PyResult<Shaped> {
        let step = numbers::count("step", call.step)?;
        let columns = Scores::new(scores)?;
        let correct = correct_mask(call.correct, Some(&columns), call.max_score)?;
        let groups = groups_of(call.groups, correct.len())?;
        let batch = Batch {
            datasets: &PyKeys::new("datasets", call.datasets)?,
            lengths: &PyLengths::new("lengths", call.lengths)?,
            correct: &correct,
        };
        // A warning may be an error to the user: it comes before any change.
        let warnings = self.lock().advise(step, &groups);
        for warning in warnings {
            let category = scores.py().get_type::<PyUserWarning>();
            let text = std::ffi::CString::new(warning).unwrap_or_default();
            PyErr::warn(scores.py(), &category, &text, 1)?;
        }
        with_scores!(&columns, view => self.shape_typed(call.observe, step, scores, view, &batch, &groups))
    }

    fn shape_typed<'py, S: Score + Stored>(
        &self,
        observe: bool,
        step: u64,
        scores: &Bound<'py, PyAny>,
        view: &View<'py, S>,
        batch: &Batch<'_, PyKeys<'py>>,
        groups: &Groups,
    ) -> PyResult<Shaped> {
        let shaped = if observe {
            self.lock().apply(step, view, batch, groups)?
        } else {
            self.lock().shape(step, view, batch, groups)?
        };
        Shaped::new(scores, shaped)
    }
}

const START_PHASES: [(&str, Phase); 2] = [
    ("normal", Phase::Normal),
    ("length_penalty", Phase::LengthPenalty),
];
const FREEZES: [(&str, Freeze); 3] = [
    ("never", Freeze::Never),
    ("warmup", Freeze::Warmup),
    ("first", Freeze::First),
];
const PENALTIES: [(&str, Penalty); 2] =
    [("zero", Penalty::Zero), ("cap_at_zero", Penalty::CapAtZero)];

/// The choice that an argument names; the first one where it is not given.
fn option<T: Copy>(
    argument: &'static str,
    object: Option<&Bound<'_, PyAny>>,
    choices: &[(&str, T)],
) -> PyResult<T> {
    let Some(object) = object else {
        return Ok(choices[0].1);
    };
    let names = choices
        .iter()
        .map(|(name, _)| format!("{name:?}"))
        .collect::<Vec<_>>()
        .join(" or ");
    let Ok(name) = object.cast::<PyString>() else {
        return Err(super::errors::wrong_type(argument, None, object, names));
    };
    let name = name.to_string_lossy();
    let choice = choices.iter().find(|(choice, _)| *choice == name);
    Ok(choice
        .map(|&(_, value)| value)
        .ok_or_else(|| Error::value(argument, format!("{name:?}"), names))?)
}

fn name_of<T: PartialEq>(value: T, choices: &[(&'static str, T)]) -> &'static str {
    choices
        .iter()
        .find(|(_, choice)| *choice == value)
        .map_or("", |(name, _)| name)
}

/// What shaping made of a batch.
#[pyclass(frozen, get_all, module = "toggle_rs")]
pub(super) struct Shaped {
    scores: Py<PyAny>,
    kept: Py<PyAny>,
    has_signal: Py<PyAny>,
    group_accuracy: Py<PyAny>,
    metrics: Py<PyDict>,
}

impl Shaped {
    fn new<S: Stored>(scores: &Bound<'_, PyAny>, shaped: CoreShaped<S>) -> PyResult<Self> {
        let py = scores.py();
        let like = convert::Like::of(scores)?;
        let shaped_scores = match shaped.scores {
            None => scores.clone(),
            Some(shaped) => like.convert(PyArray1::from_vec(py, shaped).into_any())?,
        };
        Ok(Self {
            scores: shaped_scores.unbind(),
            kept: like
                .convert(PyArray1::from_vec(py, shaped.kept).into_any())?
                .unbind(),
            has_signal: like
                .convert(PyArray1::from_vec(py, shaped.has_signal).into_any())?
                .unbind(),
            group_accuracy: like
                .convert(PyArray1::from_vec(py, shaped.group_accuracy).into_any())?
                .unbind(),
            metrics: metrics(py, &shaped.metrics)?.unbind(),
        })
    }
}

#[pymethods]
impl Shaped {
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
