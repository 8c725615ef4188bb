//! What the calls of `Toggle` do with a batch of any dtype.

use pyo3::prelude::*;

use super::arrays::{Array, Scores, with_scores};
use super::batch::correct_mask;
use super::convert::Like;
use super::groups::groups_of;
use super::keys::{PyKeys, Refusal};
use super::lengths::LengthArgument;
use super::numbers::{self, Given};
use super::shaped::{Shaped, Untyped};
use super::state::Stateful;
use super::toggle::Toggle;
use super::warnings::warn;
use crate::Error;
use crate::toggle::{Batch, Toggle as Core};

/// The arguments of `observe`.
pub(super) struct Observe<'a, 'py> {
    pub datasets: &'a Bound<'py, PyAny>,
    pub lengths: &'a Bound<'py, PyAny>,
    pub scores: Option<&'a Bound<'py, PyAny>>,
    pub correct: Option<&'a Bound<'py, PyAny>>,
    pub max_score: Given<'py>,
    pub step: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Observe<'_, 'py> {
    pub fn run(&self, toggle: &Toggle, py: Python<'py>) -> PyResult<()> {
        let step = self.step.map(|step| numbers::count("step", step));
        let step = step.transpose()?;
        let scores = self.scores.map(|scores| Array::new("scores", scores));
        let scores = scores.transpose()?;
        let correct = correct_mask(self.correct, scores.as_ref(), &self.max_score)?;
        let datasets = &PyKeys::new("datasets", self.datasets, correct.len())?;
        let lengths = &LengthArgument::new("lengths", self.lengths)?;
        let observe = |toggle: &mut Core| {
            let lengths = &lengths.view()?;
            toggle.observe(
                &Batch {
                    datasets,
                    lengths,
                    correct: &correct,
                },
                step,
            )
        };
        let observed = observe(&mut toggle.lock(py));
        observed.map_err(|refusal| refusal.explain(datasets))
    }
}

/// The arguments of `shape` and `apply`.
pub(super) struct Shape<'a, 'py> {
    pub observe: bool,
    pub step: &'a Bound<'py, PyAny>,
    pub scores: &'a Bound<'py, PyAny>,
    pub lengths: &'a Bound<'py, PyAny>,
    pub datasets: &'a Bound<'py, PyAny>,
    pub groups: &'a Bound<'py, PyAny>,
    pub correct: Option<&'a Bound<'py, PyAny>>,
    pub max_score: Given<'py>,
}

impl<'py> Shape<'_, 'py> {
    pub fn run(&self, toggle: &Toggle, py: Python<'py>) -> PyResult<Shaped> {
        let step = numbers::count("step", self.step)?;
        let array = Array::new("scores", self.scores)?;
        let correct = correct_mask(self.correct, Some(&array), &self.max_score)?;
        let groups = groups_of(self.groups, correct.len())?;
        let datasets = PyKeys::new("datasets", self.datasets, correct.len())?;
        let lengths = LengthArgument::new("lengths", self.lengths)?;
        let like = Like::of(self.scores)?;
        let look = |toggle: &mut Core| {
            with_scores!(&Scores::view(&array)?, view => {
                toggle.look(step, view, &groups);
                Ok(())
            })
        };
        look(&mut toggle.lock(py)).map_err(|error: Error| PyErr::from(error))?;
        let advice = || toggle.lock(py).advice();
        while let Some(text) = advice() {
            warn(py, Some(text))?;
        }
        let shape = |toggle: &mut Core| {
            let lengths = &lengths.view()?;
            let batch = Batch {
                datasets: &datasets,
                lengths,
                correct: &correct,
            };
            with_scores!(&Scores::view(&array)?, view => {
                let shaped = if self.observe {
                    toggle.apply(step, view, &batch, &groups)?
                } else {
                    toggle.shape(step, view, &batch, &groups)?
                };
                Ok(Untyped::new(shaped))
            })
        };
        let shaped = shape(&mut toggle.lock(py));
        let shaped = shaped.map_err(|refusal: Refusal| refusal.explain(&datasets))?;
        shaped.into_python(self.scores, &array, &like)
    }
}
