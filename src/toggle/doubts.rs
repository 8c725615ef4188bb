//! What a [`Toggle`] doubts of the batches that it is to shape.

use std::collections::VecDeque;

use super::{Penalty, Toggle};
use crate::column::{CHUNK, Column, chunks};
use crate::groups::Groups;
use crate::schedule::{Schedule, StepWatch};
use crate::shaping::Score;

/// Responses without a correct one among them before anything is said.
const MANY: usize = 1000;

/// The evidence so far, and what is to be said. Each thing is said once; no part
/// of any state.
#[derive(Debug, Clone)]
pub(super) struct Doubts {
    to_say: VecDeque<String>,
    watch: StepWatch,
    knows_groups: bool,
    knows_negative: bool,
    /// Responses shaped before the first correct one; `None` once there is one,
    /// or it was said.
    failed: Option<usize>,
    /// Their highest score.
    highest: f64,
}

impl Default for Doubts {
    fn default() -> Self {
        Self {
            to_say: VecDeque::new(),
            watch: StepWatch::default(),
            knows_groups: false,
            knows_negative: false,
            failed: Some(0),
            highest: f64::NEG_INFINITY,
        }
    }
}

impl Doubts {
    /// Keeps what matters later of a batch that was shaped.
    pub fn note<S: Score>(&mut self, scores: &[S], correct: &[bool]) {
        let Some(failed) = &mut self.failed else {
            return;
        };
        if correct.contains(&true) {
            self.failed = None;
            return;
        }
        *failed += correct.len();
        let highest = |highest: f64, score: &S| highest.max(score.as_f64());
        self.highest = scores.iter().fold(self.highest, highest);
    }
}

impl Toggle {
    /// Looks at a batch that is to be shaped for what makes one doubt the
    /// settings; [`Self::advice`] says it. What can be said without a batch is
    /// in [`mod@crate::advice`].
    pub fn look<C, S>(&mut self, step: u64, scores: &C, groups: &Groups)
    where
        C: Column<S> + ?Sized,
        S: Score,
    {
        let will_be_refused =
            groups.of_samples().len() != scores.len() || self.budgets.check_step(step).is_err();
        if !self.schedule.is_enabled() || will_be_refused {
            return;
        }
        let found = [
            self.look_at_groups(groups),
            self.look_at_steps(step),
            self.look_for_negative(scores),
            self.look_for_correct(),
        ];
        self.doubts.to_say.extend(found.into_iter().flatten());
    }

    /// What the user should hear of what [`Self::look`] has found. One thing at
    /// a time: ask until there is no more.
    pub fn advice(&mut self) -> Option<String> {
        self.doubts.to_say.pop_front()
    }

    fn look_at_groups(&mut self, groups: &Groups) -> Option<String> {
        if self.doubts.knows_groups || groups.is_empty() {
            return None;
        }
        self.doubts.knows_groups = true;
        let lambda = self.lambda;
        let largest = groups.largest();
        #[allow(clippy::cast_precision_loss, reason = "no group has 2^53 samples")]
        let next_to_solved = (largest - 1) as f64 / largest as f64;
        // Above 1 nothing is enforced at all: see the advice about lambda.
        (lambda > next_to_solved && lambda <= 1.0).then(|| {
            format!(
                "with groups of {largest}, lambda_={lambda:?} enforces budgets on fully solved groups \
                 only: shape before you drop groups whose scores are all equal"
            )
        })
    }

    fn look_at_steps(&mut self, step: u64) -> Option<String> {
        let m = self.schedule.m;
        let stride = self.doubts.watch.note(step, self.schedule)?;
        let after_warm_up = Schedule {
            warmup_steps: 0,
            ..self.schedule
        };
        let hidden = if after_warm_up.is_penalty_step(step) {
            "normal"
        } else {
            "length-penalty"
        };
        Some(format!(
            "the steps seen so far are multiples of {stride} apart, and with m={m} the phases repeat \
             every {} steps: the {hidden} phase never comes; choose m so that 2 * m does not divide \
             {stride}",
            2 * m
        ))
    }

    /// A penalty that lets scores go up rewards long answers for being wrong.
    fn look_for_negative<C, S>(&mut self, scores: &C) -> Option<String>
    where
        C: Column<S> + ?Sized,
        S: Score,
    {
        if self.doubts.knows_negative || self.penalty != Penalty::Zero {
            return None;
        }
        let is_negative = |score: f64| score < 0.0;
        let mut room = Vec::new();
        let lowest = chunks(scores.len(), CHUNK).fold(0.0, |lowest, chunk| {
            let block = scores
                .block(chunk, &mut room)
                .iter()
                .map(|score| score.as_f64());
            // Nearly always none is: seen several at a time, which a minimum is not.
            if block
                .clone()
                .fold(false, |any, score| any | is_negative(score))
            {
                block.fold(lowest, f64::min)
            } else {
                lowest
            }
        });
        self.doubts.knows_negative = lowest < 0.0;
        (lowest < 0.0).then(|| {
            format!(
                "scores go down to {lowest:?}, and with penalty=\"zero\" a response over budget scores 0, \
                 also where that is more: \"cap_at_zero\" lets no score go up"
            )
        })
    }

    /// Without a correct response no key ever has a budget.
    fn look_for_correct(&mut self) -> Option<String> {
        let failed = self.doubts.failed.filter(|&failed| failed >= MANY)?;
        self.doubts.failed = None;
        self.budgets.is_empty().then(|| {
            format!(
                "none of the {failed} responses shaped so far is correct (the highest score is {:?}): no key \
                 has a budget, and nothing will be shaped; see max_score and correct",
                self.doubts.highest
            )
        })
    }
}
