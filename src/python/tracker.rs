//! The Python class `ToggleBudgetTracker`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyType};

use super::arrays::Array;
use super::keys::{PyKeys, Refusal, key_dict, with_key};
use super::lengths::LengthArgument;
use super::numbers::{self, Given, MaxScore};
use super::quantiles;
use super::state::{self, Base, Reduced, Stateful};
use super::state_methods::state_methods;
use super::tracker_calls::{Arguments, NormalStep, PenaltyStep, Update, metrics};
use super::warnings::{about_settings, warn};
use crate::Result;
use crate::advice;
use crate::quantile::Estimator;
use crate::schedule::Schedule;
use crate::tracker::BudgetTracker;

/// The drop-in for open-instruct's `ToggleBudgetTracker` (pull request 1676): the
/// same calls, metric keys and bits, at a few microseconds a step.
///
/// One running budget per dataset: the `percentile` of the lengths of its correct
/// responses. Every `m` steps training switches between a normal phase and a
/// length-penalty phase, in which a response longer than its budget scores zero
/// if its group is solved at least as often as `lambda_`.
///
/// Args:
///     m: Length of a phase in steps, >= 0; 0 disables: everything passes untouched.
///     lambda_: Groups with an accuracy below it keep their scores; finite.
///     percentile: In [0, 100], as `numpy.percentile` takes it.
///     warmup_steps: Steps at the beginning without a penalty, >= 0.
///     estimator: "exact" (what the reference computes), "p2", "gk", or an empty
///         estimator object taken as a pattern.
///
/// Raises:
///     ValueError: An argument is out of range.
///     TypeError: An argument is of the wrong kind.
///
/// Warns:
///     UserWarning: `lambda_` is above 1, or `percentile` between 0 and 1; also where it is set.
///
/// Threads may share one. `m`, `lambda_`, `percentile` and `warmup_steps` may be set.
///
/// Examples:
///     >>> import numpy as np
///     >>> from toggle_rs import ToggleBudgetTracker
///     >>> tracker = ToggleBudgetTracker(m=1, lambda_=0.5, percentile=50.0, warmup_steps=0)
///     >>> tracker.update(["math"] * 3, np.array([10, 20, 30]), np.ones(3), 1.0)
///     >>> tracker.budget("math")
///     20.0
#[pyclass(frozen, subclass, module = "toggle_rs")]
pub(super) struct ToggleBudgetTracker(Mutex<BudgetTracker>);

impl Stateful for ToggleBudgetTracker {
    type Core = BudgetTracker;

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, BudgetTracker> {
        self.0
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToggleBudgetTracker {
    fn settings(&self, py: Python<'_>) -> (Schedule, f64, f64, Estimator) {
        let tracker = self.lock(py);
        (
            tracker.schedule(),
            tracker.lambda().value,
            tracker.percentile(),
            tracker.estimator().clone(),
        )
    }
}

impl Base for ToggleBudgetTracker {
    fn blank<'py>(
        new: &Bound<'py, PyAny>,
        class: &Bound<'py, PyType>,
    ) -> PyResult<Bound<'py, PyAny>> {
        new.call1((class, 0, 0, 0, 0))
    }

    fn scalars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (schedule, lambda, percentile, pattern) = self.settings(py);
        let scalars = PyDict::new(py);
        scalars.set_item("m", schedule.m)?;
        scalars.set_item("lambda_", lambda)?;
        scalars.set_item("percentile", percentile)?;
        scalars.set_item("warmup_steps", schedule.warmup_steps)?;
        scalars.set_item("estimator", pattern.to_string())?;
        Ok(scalars)
    }

    fn load(own: &mut BudgetTracker, other: BudgetTracker) -> Result<()> {
        own.load_observations(other)
    }
}

#[pymethods]
impl ToggleBudgetTracker {
    #[new]
    #[pyo3(
        signature = (m, lambda_, percentile, warmup_steps, *, estimator = Given(None)),
        text_signature = "(m, lambda_, percentile, warmup_steps, *, estimator='exact')",
    )]
    fn new(
        m: &Bound<'_, PyAny>,
        lambda_: &Bound<'_, PyAny>,
        percentile: &Bound<'_, PyAny>,
        warmup_steps: &Bound<'_, PyAny>,
        estimator: Given<'_>,
    ) -> PyResult<Self> {
        let percentile = numbers::real("percentile", percentile)?;
        let lambda = numbers::lambda(lambda_)?;
        let mut tracker = BudgetTracker::new(
            numbers::count_or_bool("m", m)?,
            lambda.value,
            percentile,
            numbers::count_or_bool("warmup_steps", warmup_steps)?,
            quantiles::pattern(&estimator, percentile)?,
        )?;
        tracker.set_lambda(lambda)?;
        about_settings(m.py(), lambda.value, percentile)?;
        Ok(Self(Mutex::new(tracker)))
    }

    /// Whether `m > 0`.
    #[getter]
    fn enabled(&self, py: Python<'_>) -> bool {
        self.lock(py).schedule().is_enabled()
    }

    /// Length of a phase in steps; 0 disables.
    #[getter]
    fn m(&self, py: Python<'_>) -> u64 {
        self.lock(py).schedule().m
    }

    #[setter]
    fn set_m(&self, m: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = m.py();
        let m = numbers::count_or_bool("m", m)?;
        let mut tracker = self.lock(py);
        let schedule = tracker.schedule();
        tracker.set_schedule(Schedule { m, ..schedule });
        Ok(())
    }

    /// Steps at the beginning without a penalty.
    #[getter]
    fn warmup_steps(&self, py: Python<'_>) -> u64 {
        self.lock(py).schedule().warmup_steps
    }

    #[setter]
    fn set_warmup_steps(&self, warmup_steps: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = warmup_steps.py();
        let warmup_steps = numbers::count_or_bool("warmup_steps", warmup_steps)?;
        let mut tracker = self.lock(py);
        let schedule = tracker.schedule();
        tracker.set_schedule(Schedule {
            warmup_steps,
            ..schedule
        });
        Ok(())
    }

    /// Groups with an accuracy below it keep their scores.
    #[getter]
    fn lambda_(&self, py: Python<'_>) -> f64 {
        self.lock(py).lambda().value
    }

    #[setter]
    fn set_lambda_(&self, lambda_: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = lambda_.py();
        let lambda = numbers::lambda(lambda_)?;
        warn(py, advice::about_lambda(lambda.value))?;
        Ok(self.lock(py).set_lambda(lambda)?)
    }

    /// The percentile of correct lengths that is the budget.
    #[getter]
    fn percentile(&self, py: Python<'_>) -> f64 {
        self.lock(py).percentile()
    }

    #[setter]
    fn set_percentile(&self, percentile: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = percentile.py();
        let percentile = numbers::real("percentile", percentile)?;
        warn(py, advice::about_percentile(percentile))?;
        Ok(self.lock(py).set_percentile(percentile)?)
    }

    /// Record the lengths of the correct responses, those with `score >= max_possible_score`.
    ///
    /// Args:
    ///     datasets: Dataset key of each sample, N of them: a str, or a list or tuple of str.
    ///     lengths: Generated tokens of each response: integers in 0..2**53, shape (N,).
    ///     scores: Score of each response: float64, float32, an integer dtype or bool, shape (N,).
    ///     max_possible_score: The score of a correct response; finite and > 0.
    ///
    /// Raises:
    ///     ValueError, TypeError: Something in the batch is not as above; nothing has been recorded.
    fn update(
        &self,
        datasets: &Bound<'_, PyAny>,
        lengths: &Bound<'_, PyAny>,
        scores: &Bound<'_, PyAny>,
        max_possible_score: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let scores = Array::new("scores", scores)?;
        let arguments = Arguments {
            datasets: PyKeys::new("datasets", datasets, scores.len())?,
            lengths: LengthArgument::new("lengths", lengths)?,
            max_score: MaxScore::new("max_possible_score", max_possible_score)?,
            scores,
        };
        let updated = {
            let tracker = &mut self.lock(datasets.py());
            arguments.run(Update(tracker))
        };
        updated.map_err(|refusal| refusal.explain(&arguments.datasets))
    }

    /// Record a step, then shape its scores if it is a length-penalty step.
    ///
    /// Args:
    ///     step: The training step, from 0. It is a penalty step iff
    ///         `step >= warmup_steps and (step // m) % 2 == 1`.
    ///     scores: As for `update`.
    ///     sequence_lengths: As `lengths` for `update`.
    ///     datasets: As for `update`.
    ///     num_samples_per_prompt: Size K of a group; the K samples of a prompt are consecutive.
    ///     max_possible_score: As for `update`.
    ///
    /// Returns:
    ///     The scores and the metrics. In the normal phase, and when disabled, the scores are the
    ///     very object that came in; in the penalty phase a new array of the same dtype, shape (N,),
    ///     with zeros where the response is longer than its budget and the mean of
    ///     `score / max_possible_score` over its group is not below `lambda_`.
    ///     Metrics: `toggle/length_penalty_phase` (int), `toggle/budget/<names joined by |>` (float)
    ///     for each dataset of the batch that has a budget, and in the penalty phase
    ///     `toggle/mask_kept_ratio` (float). Empty when disabled.
    ///
    /// Raises:
    ///     ValueError, TypeError: As for `update`, and where K does not divide N in a penalty step.
    fn maybe_apply<'py>(
        &self,
        step: &Bound<'py, PyAny>,
        scores: Bound<'py, PyAny>,
        sequence_lengths: &Bound<'py, PyAny>,
        datasets: &Bound<'py, PyAny>,
        num_samples_per_prompt: &Bound<'py, PyAny>,
        max_possible_score: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        let schedule = self.lock(step.py()).schedule();
        if !schedule.is_enabled() {
            return Ok((scores, PyDict::new(step.py())));
        }
        let step = numbers::count_or_bool("step", step)?;
        let is_penalty = schedule.is_penalty_step(step);
        let k = if is_penalty {
            numbers::size_or_bool("num_samples_per_prompt", num_samples_per_prompt)?
        } else {
            0 // not looked at
        };
        let array = Array::new("scores", &scores)?;
        let arguments = Arguments {
            datasets: PyKeys::new("datasets", datasets, array.len())?,
            lengths: LengthArgument::new("sequence_lengths", sequence_lengths)?,
            max_score: MaxScore::new("max_possible_score", max_possible_score)?,
            scores: array,
        };
        let py = scores.py();
        let explain = |refusal: Refusal| refusal.explain(&arguments.datasets);
        if is_penalty {
            let done = {
                let tracker = &mut self.lock(py);
                arguments.run(PenaltyStep {
                    tracker,
                    py,
                    step,
                    k,
                })
            };
            let (shaped, kept_ratio, budgets) = done.map_err(explain)?;
            let metrics = metrics(py, true, budgets)?;
            metrics.set_item(pyo3::intern!(py, "toggle/mask_kept_ratio"), kept_ratio)?;
            Ok((shaped, metrics))
        } else {
            let done = {
                let tracker = &mut self.lock(py);
                arguments.run(NormalStep { tracker, step })
            };
            Ok((scores, metrics(py, false, done.map_err(explain)?)?))
        }
    }

    /// The budget of a dataset in tokens; None before its first correct response.
    fn budget(&self, dataset: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
        with_key("dataset", dataset, |key| {
            self.lock(dataset.py()).budget(key)
        })
    }

    /// The budget of each dataset that has one, keyed by tuples of names.
    fn budgets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let budgets: Vec<_> = {
            let mut tracker = self.lock(py);
            let known = tracker.summary().into_iter();
            known
                .filter_map(|(key, _, budget)| Some((key.clone(), budget?)))
                .collect()
        };
        key_dict(py, budgets)
    }

    /// Number of correct responses per dataset, keyed by tuples of names.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts: Vec<_> = {
            let mut tracker = self.lock(py);
            let known = tracker.summary().into_iter();
            known.map(|(key, count, _)| (key.clone(), count)).collect()
        };
        key_dict(py, counts)
    }

    /// The correct lengths per dataset, sorted: int64, shape (count,).
    ///
    /// Raises:
    ///     TypeError: The estimator does not keep them.
    #[getter]
    fn lengths_per_dataset<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lengths: Result<Vec<_>> = {
            let tracker = self.lock(py);
            let known = tracker.estimators();
            known
                .map(|(key, estimator)| Ok((key.clone(), estimator.sorted_lengths()?)))
                .collect()
        };
        let arrays = lengths?
            .into_iter()
            .map(|(key, n)| (key, PyArray1::from_vec(py, n)));
        key_dict(py, arrays)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (schedule, lambda, percentile, pattern) = self.settings(py);
        let pattern = quantiles::pattern_object(py, &pattern)?;
        Ok(format!(
            "ToggleBudgetTracker(m={}, lambda_={lambda:?}, percentile={percentile:?}, \
             warmup_steps={}, estimator={})",
            schedule.m,
            schedule.warmup_steps,
            pattern.repr()?,
        ))
    }
}

state_methods! { ToggleBudgetTracker, merge: }
