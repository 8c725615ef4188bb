//! The Python class `Toggle`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyType};

use super::keys::{key_dict, with_key};
use super::numbers::{self, Given};
use super::options::{option, settings_dict};
use super::quantiles;
use super::shaped::Shaped;
use super::state::{self, Base, Reduced, Stateful};
use super::state_methods::state_methods;
use super::toggle_calls::{Observe, Shape};
use super::warnings::about_settings;
use crate::Result;
use crate::toggle::{Settings, Toggle as Core};

/// Toggle reward shaping (Kimi K2.5 technical report, arXiv 2602.02276, its section on
/// token-efficient RL):
///
///     r~(y) = r(y) * 1[accuracy(x) < lambda_ or |y| <= budget(d)]
///
/// in length-penalty steps, r in others. `accuracy(x)` is the share of correct responses
/// to the prompt, `budget(d)` the `percentile` of the lengths of the correct responses
/// seen for dataset d. What is observed at step s counts from step s + 1 on, so no result
/// depends on the order in which a step's samples or groups arrive.
///
/// Shape first, then drop the groups without signal (`Shaped.has_signal`): the fully
/// solved groups, which a trainer's zero-variance filter drops, are those that the
/// penalty is for.
///
/// Args:
///     m: Length of a phase in steps, >= 0; 0 disables: nothing is recorded or shaped.
///     lambda_: Groups with an accuracy below it keep their scores; finite.
///     percentile: In [0, 100], as `numpy.percentile` takes it.
///     warmup_steps: Steps at the beginning without a penalty, >= 0.
///     estimator: "exact", "p2", "gk", or an empty estimator object taken as a pattern.
///     start_phase: "normal" or "length_penalty": the phase of the first m steps.
///     freeze: When the budget of a key is fixed: "never"; "first": by the first step (or
///         the first call without a step) after which it has one; "warmup": when warm-up
///         ends, for a key without a budget then as under "first". Of a fixed key only
///         budget, count and the fixing step are kept.
///     min_samples: Correct responses below which a key has no budget, >= 1. Without a
///         budget every response is kept.
///     penalty: What a response over budget scores: "zero" r * 0, "cap_at_zero" min(r, 0),
///         so that a negative score does not go up.
///
/// Raises:
///     ValueError: An argument is out of range.
///     TypeError: An argument is of the wrong kind.
///
/// Warns:
///     UserWarning: `lambda_` is above 1, or `percentile` between 0 and 1.
///
/// Threads may share one.
///
/// Examples:
///     >>> import numpy as np
///     >>> from toggle_rs import Toggle
///     >>> toggle = Toggle(m=1, lambda_=0.5, percentile=50.0)
///     >>> lengths, scores = np.array([100, 200, 300, 900]), np.array([1.0, 1.0, 1.0, 0.0])
///     >>> toggle.observe(["math"] * 4, lengths, scores, step=0)
///     >>> toggle.shape(1, scores, lengths, ["math"] * 4, groups=4).scores
///     array([1., 1., 0., 0.])
#[pyclass(frozen, subclass, module = "toggle_rs")]
pub(super) struct Toggle(Mutex<Core>);

impl Stateful for Toggle {
    type Core = Core;

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Core> {
        self.0
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Base for Toggle {
    fn blank<'py>(
        new: &Bound<'py, PyAny>,
        class: &Bound<'py, PyType>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let settings = PyDict::new(new.py());
        for name in ["m", "lambda_", "percentile"] {
            settings.set_item(name, 0)?;
        }
        new.call((class,), Some(&settings))
    }

    fn scalars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let scalars = self.settings(py)?;
        let estimator = self.lock(py).settings().estimator.to_string();
        scalars.set_item("estimator", estimator)?;
        Ok(scalars)
    }

    fn about_load(own: &Core, other: &Core) -> Option<String> {
        own.about_load(other)
    }

    fn load(own: &mut Core, other: Core) -> Result<()> {
        own.load_observations(other)
    }
}

#[pymethods]
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments that the Python methods have"
)]
impl Toggle {
    #[new]
    #[pyo3(
        signature = (
            *, m, lambda_, percentile, warmup_steps = Given(None), estimator = Given(None),
            start_phase = Given(None), freeze = Given(None), min_samples = Given(None),
            penalty = Given(None),
        ),
        text_signature = "(*, m, lambda_, percentile, warmup_steps=0, estimator='exact', \
            start_phase='normal', freeze='never', min_samples=1, penalty='zero')",
    )]
    fn new(
        m: &Bound<'_, PyAny>,
        lambda_: &Bound<'_, PyAny>,
        percentile: &Bound<'_, PyAny>,
        warmup_steps: Given<'_>,
        estimator: Given<'_>,
        start_phase: Given<'_>,
        freeze: Given<'_>,
        min_samples: Given<'_>,
        penalty: Given<'_>,
    ) -> PyResult<Self> {
        let lambda = numbers::real("lambda_", lambda_)?;
        let percentile = numbers::real("percentile", percentile)?;
        let settings = Settings {
            m: numbers::count("m", m)?,
            lambda,
            percentile,
            warmup_steps: numbers::count_or("warmup_steps", &warmup_steps, 0)?,
            estimator: quantiles::pattern(&estimator, percentile)?,
            start_phase: option("start_phase", &start_phase)?,
            freeze: option("freeze", &freeze)?,
            min_samples: numbers::count_or("min_samples", &min_samples, 1)?,
            penalty: option("penalty", &penalty)?,
        };
        let core = Core::new(settings)?;
        about_settings(m.py(), lambda, percentile)?;
        Ok(Self(Mutex::new(core)))
    }

    /// The report's own form: it begins with the penalty, has no warm-up, and fixes the budget of
    /// each problem by its first K responses. Dataset keys are problem ids.
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

    /// Record the lengths of the correct responses of a batch.
    ///
    /// Args:
    ///     datasets: Dataset key of each sample, N of them: a str, or a list or tuple of str.
    ///     lengths: Generated tokens of each response: integers in 0..2**53, shape (N,).
    ///     scores: Score of each response, shape (N,); not needed where `correct` is given.
    ///     correct: Whether each response is correct: bool, shape (N,). Without it those with
    ///         `score >= max_score` are.
    ///     max_score: A finite number > 0, or one per sample; without effect beside `correct`.
    ///     step: The training step, not before the last observed one. What is recorded counts from
    ///         step + 1 on; without a step, at once.
    ///
    /// Raises:
    ///     ValueError: Something is out of range, of another length, or `step` is None where the
    ///         settings need a clock. Nothing has been recorded.
    ///     TypeError: Something is of the wrong dtype or kind.
    #[pyo3(
        signature = (
            datasets, lengths, scores = None, *, correct = None, max_score = Given(None), step = None
        ),
        text_signature = "(self, /, datasets, lengths, scores=None, *, correct=None, \
            max_score=1.0, step=None)",
    )]
    fn observe(
        &self,
        py: Python<'_>,
        datasets: &Bound<'_, PyAny>,
        lengths: &Bound<'_, PyAny>,
        scores: Option<&Bound<'_, PyAny>>,
        correct: Option<&Bound<'_, PyAny>>,
        max_score: Given<'_>,
        step: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let call = Observe {
            datasets,
            lengths,
            scores,
            correct,
            max_score,
            step,
        };
        call.run(self, py)
    }

    #[pyo3(
        signature = (
            step, scores, lengths, datasets, *, groups, correct = None, max_score = Given(None)
        ),
        text_signature = "(self, /, step, scores, lengths, datasets, *, groups, correct=None, \
            max_score=1.0)",
    )]
    /// Shape the scores of a batch with what was observed before `step`; record nothing.
    ///
    /// Args:
    ///     step: The training step, from 0; not before the last observed one.
    ///     scores: Score of each response: float64, float32, an integer dtype or bool, shape (N,);
    ///         a torch CPU tensor comes back as one.
    ///     lengths: Generated tokens of each response: integers in 0..2**53, shape (N,).
    ///     datasets: Dataset key of each sample, N of them: a str, or a list or tuple of str.
    ///     groups: The group size K where the samples of a prompt are consecutive, or the group id
    ///         of each sample, int or str, in any order and of any number.
    ///     correct: Whether each response is correct: bool, shape (N,). Without it those with
    ///         `score >= max_score` are.
    ///     max_score: A finite number > 0, or one per sample; without effect beside `correct`.
    ///
    /// Returns:
    ///     The shaped scores and what there is to say of them, see `Shaped`.
    ///
    /// Raises:
    ///     ValueError: Something is out of range or of another length.
    ///     TypeError: Something is of the wrong dtype or kind.
    ///
    /// Warns:
    ///     UserWarning: Once each: group size and `lambda_` can enforce nothing but fully solved
    ///         groups; the steps come at a stride that hides one of the phases; `penalty="zero"`
    ///         would let negative scores go up; the first 1,000 responses or more are all wrong.
    fn shape<'py>(
        &self,
        step: &Bound<'py, PyAny>,
        scores: &Bound<'py, PyAny>,
        lengths: &Bound<'py, PyAny>,
        datasets: &Bound<'py, PyAny>,
        groups: &Bound<'py, PyAny>,
        correct: Option<&Bound<'py, PyAny>>,
        max_score: Given<'py>,
    ) -> PyResult<Shaped> {
        let call = Shape {
            observe: false,
            step,
            scores,
            lengths,
            datasets,
            groups,
            correct,
            max_score,
        };
        call.run(self, step.py())
    }

    #[pyo3(
        signature = (
            step, scores, lengths, datasets, *, groups, correct = None, max_score = Given(None)
        ),
        text_signature = "(self, /, step, scores, lengths, datasets, *, groups, correct=None, \
            max_score=1.0)",
    )]
    /// `shape` with what was observed before `step`, then `observe` the batch at `step`.
    ///
    /// Args:
    ///     step, scores, lengths, datasets, groups, correct, max_score: As in `shape`.
    ///
    /// Returns:
    ///     As `shape`.
    ///
    /// Raises:
    ///     ValueError, TypeError: As `shape`; nothing has been recorded.
    fn apply<'py>(
        &self,
        step: &Bound<'py, PyAny>,
        scores: &Bound<'py, PyAny>,
        lengths: &Bound<'py, PyAny>,
        datasets: &Bound<'py, PyAny>,
        groups: &Bound<'py, PyAny>,
        correct: Option<&Bound<'py, PyAny>>,
        max_score: Given<'py>,
    ) -> PyResult<Shaped> {
        let call = Shape {
            observe: true,
            step,
            scores,
            lengths,
            datasets,
            groups,
            correct,
            max_score,
        };
        call.run(self, step.py())
    }

    /// Whether `step` is a length-penalty step.
    fn is_penalty_step(&self, py: Python<'_>, step: &Bound<'_, PyAny>) -> PyResult<bool> {
        let step = numbers::count("step", step)?;
        Ok(self.lock(py).schedule().is_penalty_step(step))
    }

    /// The budget in tokens that the next step would use; None where the key has none.
    fn budget(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
        with_key("key", key, |name| self.lock(key.py()).budget(name))
    }

    /// The budgets that the next step would use, keyed by tuples of names, for keys that have one.
    fn budgets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let budgets: Vec<_> = {
            let mut toggle = self.lock(py);
            let known = toggle.summary().into_iter();
            known
                .filter_map(|(key, _, budget)| Some((key.clone(), budget?)))
                .collect()
        };
        key_dict(py, budgets)
    }

    /// Number of correct responses per key, keyed by tuples of names.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts: Vec<_> = {
            let mut toggle = self.lock(py);
            let known = toggle.summary().into_iter();
            known.map(|(key, count, _)| (key.clone(), count)).collect()
        };
        key_dict(py, counts)
    }

    /// The keyword arguments that make such a Toggle: `Toggle(**toggle.settings)`.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = self.lock(py).settings();
        settings_dict(py, &settings)
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

state_methods! {
    Toggle, merge:
    ///
    /// Where budgets are fixed, that of the earlier step stays, then the smaller one. Merging fixes
    /// none itself, the next step does.
}
