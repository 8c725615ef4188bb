//! What a [`super::Toggle`] is made with.

use crate::budget::Freeze;
use crate::choice::Choice;
use crate::quantile::Estimator;
use crate::schedule::Phase;
use crate::shaping::Score;

/// What an enforced budget does to the score of a response above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Penalty {
    /// `r * 0`, as in the report. A negative score goes up.
    #[default]
    Zero,
    /// `min(r, 0)`: a score never goes up.
    CapAtZero,
}

impl Choice for Penalty {
    const ALL: &'static [(&'static str, Self)] =
        &[("zero", Self::Zero), ("cap_at_zero", Self::CapAtZero)];
}

/// Everything that a [`Toggle`](super::Toggle) is made with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Length of a phase in training steps; 0 disables.
    pub m: u64,
    /// Groups solved less often than this keep their rewards; finite.
    pub lambda: f64,
    /// The percentile in `0..=100` of correct lengths that is the budget.
    pub percentile: f64,
    /// Steps at the beginning without a penalty.
    pub warmup_steps: u64,
    /// The empty estimator that each key begins with.
    pub estimator: Estimator,
    /// The phase of the first `m` steps.
    pub start_phase: Phase,
    /// When the budget of a key is fixed.
    pub freeze: Freeze,
    /// Correct responses below which a key has no budget; at least 1.
    pub min_samples: u64,
    /// What happens to a response over budget.
    pub penalty: Penalty,
}

impl Settings {
    /// Settings with a normal first phase, no warm-up and no frozen budgets.
    #[must_use]
    pub fn new(m: u64, lambda: f64, percentile: f64, estimator: Estimator) -> Self {
        Self {
            m,
            lambda,
            percentile,
            warmup_steps: 0,
            estimator,
            start_phase: Phase::Normal,
            freeze: Freeze::Never,
            min_samples: 1,
            penalty: Penalty::Zero,
        }
    }
}

impl Penalty {
    /// The scores, with the penalty where they are not kept.
    pub(super) fn shape<S: Score>(self, scores: &[S], kept: &[bool]) -> Vec<S> {
        let samples = scores.iter().zip(kept);
        match self {
            Self::Zero => samples.map(|(score, &kept)| score.masked(kept)).collect(),
            Self::CapAtZero => samples
                .map(|(&score, &kept)| if kept { score } else { score.capped_at_zero() })
                .collect(),
        }
    }
}
