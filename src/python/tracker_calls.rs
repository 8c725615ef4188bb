//! What the calls of `ToggleBudgetTracker` do with a batch of any dtype.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrays::{Array, Scores, Stored, View, with_scores};
use super::keys::{PyKeys, Refusal};
use super::lengths::LengthArgument;
use super::numbers::MaxScore;
use crate::column::Column;
use crate::shaping::{Real, Score};
use crate::tracker::{Batch, BudgetTracker};
use crate::{Error, Result};

/// The arguments of a call, once no Python code is needed any more to read
/// them. Views of them are made under the lock.
pub(super) struct Arguments<'py> {
    pub datasets: PyKeys<'py>,
    pub lengths: LengthArgument<'py>,
    pub max_score: MaxScore,
    pub scores: Array<'py>,
}

/// What to do with a batch of any dtype.
pub(super) trait WithBatch<'py> {
    type Output;

    fn run<S: Score + Stored, Q: Real>(
        self,
        batch: &Batch<'_, PyKeys<'py>, View<'_, S>, Q>,
    ) -> Result<Self::Output, Refusal>;
}

impl<'py> Arguments<'py> {
    pub fn run<W: WithBatch<'py>>(&self, action: W) -> Result<W::Output, Refusal> {
        with_scores!(&Scores::view(&self.scores)?, scores => self.run_typed(scores, action))
    }

    fn run_typed<S: Score + Stored, W: WithBatch<'py>>(
        &self,
        scores: &View<'_, S>,
        action: W,
    ) -> Result<W::Output, Refusal> {
        let (datasets, lengths) = (&self.datasets, &self.lengths.view()?);
        let max_score = self.max_score.value;
        if S::divides_in_f32(&self.max_score) {
            let max_score = f32::from_f64(max_score);
            action.run(&Batch {
                datasets,
                lengths,
                scores,
                max_score,
            })
        } else {
            action.run(&Batch {
                datasets,
                lengths,
                scores,
                max_score,
            })
        }
    }
}

pub(super) struct Update<'a>(pub &'a mut BudgetTracker);

impl<'py> WithBatch<'py> for Update<'_> {
    type Output = ();

    fn run<S: Score + Stored, Q: Real>(
        self,
        batch: &Batch<'_, PyKeys<'py>, View<'_, S>, Q>,
    ) -> Result<(), Refusal> {
        self.0.update(batch)
    }
}

pub(super) struct NormalStep<'a> {
    pub tracker: &'a mut BudgetTracker,
    pub step: u64,
}

impl<'py> WithBatch<'py> for NormalStep<'_> {
    type Output = Vec<(String, f64)>;

    fn run<S: Score + Stored, Q: Real>(
        self,
        batch: &Batch<'_, PyKeys<'py>, View<'_, S>, Q>,
    ) -> Result<Self::Output, Refusal> {
        self.tracker.normal_step(self.step, batch)?;
        Ok(budget_metrics(self.tracker))
    }
}

pub(super) struct PenaltyStep<'a, 'py> {
    pub tracker: &'a mut BudgetTracker,
    pub py: Python<'py>,
    pub step: u64,
    pub k: usize,
}

impl<'py> WithBatch<'py> for PenaltyStep<'_, 'py> {
    type Output = (Bound<'py, PyAny>, f64, Vec<(String, f64)>);

    fn run<S: Score + Stored, Q: Real>(
        self,
        batch: &Batch<'_, PyKeys<'py>, View<'_, S>, Q>,
    ) -> Result<Self::Output, Refusal> {
        // An array of its own, as the reference returns one. Making it runs no
        // Python code.
        let shaped = PyArray1::<S>::zeros(self.py, batch.scores.len(), false);
        let mut slots = shaped.readwrite();
        let slots = slots
            .as_slice_mut()
            .map_err(|error| Error::value("scores", error, "room"))?;
        let kept_ratio = self.tracker.penalty_step(self.step, batch, self.k, slots)?;
        Ok((shaped.into_any(), kept_ratio, budget_metrics(self.tracker)))
    }
}

/// Names and values of the budgets of the last step.
fn budget_metrics(tracker: &BudgetTracker) -> Vec<(String, f64)> {
    let budgets = tracker.step_budgets();
    budgets
        .map(|(key, budget)| (format!("toggle/budget/{key}"), budget))
        .collect()
}

pub(super) fn metrics(
    py: Python<'_>,
    is_penalty: bool,
    budgets: Vec<(String, f64)>,
) -> PyResult<Bound<'_, PyDict>> {
    let metrics = PyDict::new(py);
    metrics.set_item(
        pyo3::intern!(py, "toggle/length_penalty_phase"),
        i32::from(is_penalty),
    )?;
    for (name, budget) in budgets {
        metrics.set_item(name, budget)?;
    }
    Ok(metrics)
}
