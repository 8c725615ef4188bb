//! The Python class `ToggleBudgetTracker`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyArrayMethods, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrays::{PyLengths, Scores, Stored, View, with_scores};
use super::keys::{PyKeys, to_tuple, with_key};
use super::numbers::{self, MaxScore};
use super::quantiles;
use crate::column::Column;
use crate::shaping::{Real, Score};
use crate::tracker::{Batch, BudgetTracker};

/// The drop-in for open-instruct's tracker: the same calls, metric keys and bits.
#[pyclass(frozen, subclass, module = "toggle_rs")]
pub(super) struct ToggleBudgetTracker(Mutex<BudgetTracker>);

impl ToggleBudgetTracker {
    /// Never waits for the GIL: no code under the lock lets go of it.
    fn lock(&self) -> MutexGuard<'_, BudgetTracker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ToggleBudgetTracker {
    #[new]
    #[pyo3(signature = (m, lambda_, percentile, warmup_steps, *, estimator = None))]
    fn new(
        m: &Bound<'_, PyAny>,
        lambda_: &Bound<'_, PyAny>,
        percentile: &Bound<'_, PyAny>,
        warmup_steps: &Bound<'_, PyAny>,
        estimator: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let percentile = numbers::real("percentile", percentile)?;
        let lambda = numbers::lambda(lambda_)?;
        let mut tracker = BudgetTracker::new(
            numbers::count("m", m)?,
            lambda.value,
            percentile,
            numbers::count("warmup_steps", warmup_steps)?,
            quantiles::pattern(estimator, percentile)?,
        )?;
        tracker.set_lambda(lambda)?;
        Ok(Self(Mutex::new(tracker)))
    }

    #[getter]
    fn enabled(&self) -> bool {
        self.lock().schedule().is_enabled()
    }

    #[getter]
    fn m(&self) -> u64 {
        self.lock().schedule().m
    }

    #[setter]
    fn set_m(&self, m: &Bound<'_, PyAny>) -> PyResult<()> {
        let m = numbers::count("m", m)?;
        let mut tracker = self.lock();
        let schedule = tracker.schedule();
        tracker.set_schedule(crate::schedule::Schedule { m, ..schedule });
        Ok(())
    }

    #[getter]
    fn warmup_steps(&self) -> u64 {
        self.lock().schedule().warmup_steps
    }

    #[setter]
    fn set_warmup_steps(&self, warmup_steps: &Bound<'_, PyAny>) -> PyResult<()> {
        let warmup_steps = numbers::count("warmup_steps", warmup_steps)?;
        let mut tracker = self.lock();
        let schedule = tracker.schedule();
        tracker.set_schedule(crate::schedule::Schedule {
            warmup_steps,
            ..schedule
        });
        Ok(())
    }

    #[getter]
    fn lambda_(&self) -> f64 {
        self.lock().lambda().value
    }

    #[setter]
    fn set_lambda_(&self, lambda_: &Bound<'_, PyAny>) -> PyResult<()> {
        let lambda = numbers::lambda(lambda_)?;
        Ok(self.lock().set_lambda(lambda)?)
    }

    #[getter]
    fn percentile(&self) -> f64 {
        self.lock().percentile()
    }

    #[setter]
    fn set_percentile(&self, percentile: &Bound<'_, PyAny>) -> PyResult<()> {
        let percentile = numbers::real("percentile", percentile)?;
        Ok(self.lock().set_percentile(percentile)?)
    }

    fn update(
        &self,
        datasets: &Bound<'_, PyAny>,
        lengths: &Bound<'_, PyAny>,
        scores: &Bound<'_, PyAny>,
        max_possible_score: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let columns = Columns {
            datasets: PyKeys::new("datasets", datasets)?,
            lengths: PyLengths::new("lengths", lengths)?,
            max_score: MaxScore::new("max_possible_score", max_possible_score)?,
        };
        with_scores!(Scores::new(scores)?, view => columns.with_batch(&view, Update(self)))
    }

    fn maybe_apply<'py>(
        &self,
        step: &Bound<'py, PyAny>,
        scores: Bound<'py, PyAny>,
        sequence_lengths: &Bound<'py, PyAny>,
        datasets: &Bound<'py, PyAny>,
        num_samples_per_prompt: &Bound<'py, PyAny>,
        max_possible_score: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        let schedule = self.lock().schedule();
        if !schedule.is_enabled() {
            return Ok((scores, PyDict::new(step.py())));
        }
        let step = numbers::count("step", step)?;
        let columns = Columns {
            datasets: PyKeys::new("datasets", datasets)?,
            lengths: PyLengths::new("sequence_lengths", sequence_lengths)?,
            max_score: MaxScore::new("max_possible_score", max_possible_score)?,
        };
        let columns_scores = Scores::new(&scores)?;
        if schedule.is_penalty_step(step) {
            let k = numbers::count("num_samples_per_prompt", num_samples_per_prompt)?;
            // No batch is that large: the core refuses it with the value.
            let k = usize::try_from(k).unwrap_or(usize::MAX);
            let step = PenaltyStep {
                tracker: self,
                py: scores.py(),
                step,
                k,
            };
            with_scores!(columns_scores, view => columns.with_batch(&view, step))
        } else {
            let step = NormalStep {
                tracker: self,
                step,
                scores,
            };
            with_scores!(columns_scores, view => columns.with_batch(&view, step))
        }
    }

    fn budget(&self, dataset: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
        with_key("dataset", None, dataset, |key| self.lock().budget(key))
    }

    fn budgets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tracker = self.lock();
        let budgets = PyDict::new(py);
        for (key, estimator) in tracker.estimators() {
            if let Some(budget) = estimator.percentile(tracker.percentile())? {
                budgets.set_item(to_tuple(py, key)?, budget)?;
            }
        }
        Ok(budgets)
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(py);
        for (key, estimator) in self.lock().estimators() {
            counts.set_item(to_tuple(py, key)?, estimator.count())?;
        }
        Ok(counts)
    }

    #[getter]
    fn lengths_per_dataset<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lengths = PyDict::new(py);
        for (key, estimator) in self.lock().estimators() {
            lengths.set_item(to_tuple(py, key)?, quantiles::sorted_values(py, estimator)?)?;
        }
        Ok(lengths)
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.lock().nbytes()
    }

    fn __eq__(&self, other: &Self) -> bool {
        // Locking one tracker twice would wait for ever.
        std::ptr::eq(self, other) || *self.lock() == *other.lock()
    }

    fn __repr__(&self) -> String {
        let tracker = self.lock();
        let schedule = tracker.schedule();
        format!(
            "ToggleBudgetTracker(m={}, lambda_={:?}, percentile={:?}, warmup_steps={}, estimator={})",
            schedule.m,
            tracker.lambda().value,
            tracker.percentile(),
            schedule.warmup_steps,
            quantiles::pattern_repr(tracker.estimator()),
        )
    }
}

/// The arguments of a call that do not depend on the dtype of the scores.
struct Columns<'py> {
    datasets: PyKeys<'py>,
    lengths: PyLengths<'py>,
    max_score: MaxScore,
}

/// What to do with a batch of any dtype.
trait WithBatch<'py> {
    type Output;

    fn run<S: Score + Stored, Q: Real>(
        self,
        batch: &Batch<'_, PyKeys<'py>, View<'py, S>, Q>,
    ) -> PyResult<Self::Output>;
}

impl<'py> Columns<'py> {
    fn with_batch<S: Score + Stored, W: WithBatch<'py>>(
        &self,
        scores: &View<'py, S>,
        action: W,
    ) -> PyResult<W::Output> {
        if S::divides_in_f32(&self.max_score) {
            action.run(&self.batch(scores, f32::from_f64(self.max_score.value)))
        } else {
            action.run(&self.batch(scores, self.max_score.value))
        }
    }

    fn batch<'a, S: Stored, Q>(
        &'a self,
        scores: &'a View<'py, S>,
        max_score: Q,
    ) -> Batch<'a, PyKeys<'py>, View<'py, S>, Q> {
        Batch {
            datasets: &self.datasets,
            lengths: &self.lengths,
            scores,
            max_score,
        }
    }
}

struct Update<'a>(&'a ToggleBudgetTracker);

impl<'py> WithBatch<'py> for Update<'_> {
    type Output = ();

    fn run<S: Score + Stored, Q: Real>(
        self,
        batch: &Batch<'_, PyKeys<'py>, View<'py, S>, Q>,
    ) -> PyResult<()> {
        self.0.lock().update(batch)
    }
}

struct NormalStep<'a, 'py> {
    tracker: &'a ToggleBudgetTracker,
    step: u64,
    scores: Bound<'py, PyAny>,
}

impl<'py> WithBatch<'py> for NormalStep<'_, 'py> {
    type Output = (Bound<'py, PyAny>, Bound<'py, PyDict>);

    fn run<S: Score + Stored, Q: Real>(
        self,
        batch: &Batch<'_, PyKeys<'py>, View<'py, S>, Q>,
    ) -> PyResult<Self::Output> {
        let mut tracker = self.tracker.lock();
        tracker.normal_step(self.step, batch)?;
        let metrics = metrics(self.scores.py(), &tracker, false)?;
        Ok((self.scores, metrics))
    }
}

struct PenaltyStep<'a, 'py> {
    tracker: &'a ToggleBudgetTracker,
    py: Python<'py>,
    step: u64,
    k: usize,
}

impl<'py> WithBatch<'py> for PenaltyStep<'_, 'py> {
    type Output = (Bound<'py, PyAny>, Bound<'py, PyDict>);

    fn run<S: Score + Stored, Q: Real>(
        self,
        batch: &Batch<'_, PyKeys<'py>, View<'py, S>, Q>,
    ) -> PyResult<Self::Output> {
        let shaped = PyArray1::<S>::zeros(self.py, batch.scores.len(), false);
        let mut slots: PyReadwriteArray1<'_, S> = shaped.readwrite();
        let mut tracker = self.tracker.lock();
        let kept_ratio = tracker.penalty_step(self.step, batch, self.k, slots.as_slice_mut()?)?;
        let metrics = metrics(self.py, &tracker, true)?;
        metrics.set_item(pyo3::intern!(self.py, "toggle/mask_kept_ratio"), kept_ratio)?;
        drop(slots);
        Ok((shaped.into_any(), metrics))
    }
}

fn metrics<'py>(
    py: Python<'py>,
    tracker: &BudgetTracker,
    is_penalty: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let metrics = PyDict::new(py);
    metrics.set_item(
        pyo3::intern!(py, "toggle/length_penalty_phase"),
        i32::from(is_penalty),
    )?;
    for (key, budget) in tracker.step_budgets() {
        metrics.set_item(format!("toggle/budget/{key}"), budget)?;
    }
    Ok(metrics)
}
