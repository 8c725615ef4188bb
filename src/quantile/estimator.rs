//! Any of the estimators, chosen at run time.

use super::{ExactQuantile, Merge, Quantile};
use crate::error::Result;

/// One estimator of any kind, holding lengths. An enum, so that a key costs
/// no indirection for the usual kind and every use is checked by a `match`.
#[derive(Debug, Clone, PartialEq)]
pub enum Estimator {
    /// Exact counting, the default.
    Exact(ExactQuantile),
}

impl Estimator {
    /// Its class, as users name it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact(_) => "ExactQuantile",
        }
    }

    /// Whether its answers depend on the step at which a length came.
    #[must_use]
    pub fn needs_clock(&self) -> bool {
        false
    }

    /// Records one length, already known to be at most `MAX_LENGTH`, at a step.
    #[inline]
    pub(crate) fn insert(&mut self, length: u64, _step: Option<u64>) -> Result<()> {
        match self {
            Self::Exact(exact) => exact.insert(length),
        }
    }

    /// Records the lengths of a step, which come in ascending order.
    pub(crate) fn update(&mut self, lengths: &[u64], _step: u64) -> Result<()> {
        match self {
            Self::Exact(exact) => exact.update(lengths),
        }
    }

    /// What `ask` answers once the lengths of a step are recorded; they are not.
    pub(crate) fn with<T>(
        &mut self,
        lengths: &[u64],
        step: u64,
        ask: impl FnOnce(&Self) -> T,
    ) -> T {
        let mut later = self.clone();
        // An estimator that cannot take them in answers without them, as it
        // will then.
        let _ = later.update(lengths, step);
        ask(&later)
    }

    /// Number of lengths recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Exact(exact) => exact.count(),
        }
    }

    /// See [`Quantile::percentile`].
    ///
    /// # Errors
    /// When `p` is no percentile that this estimator can answer.
    pub fn percentile(&self, p: f64) -> Result<Option<f64>> {
        match self {
            Self::Exact(exact) => exact.percentile(p),
        }
    }

    /// Bytes that it holds beside itself.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Exact(exact) => exact.nbytes() - size_of::<ExactQuantile>(),
        }
    }

    /// See [`Merge::merge`].
    ///
    /// # Errors
    /// Where no sound merge exists, or kinds or settings differ.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        match (self, other) {
            (Self::Exact(own), Self::Exact(other)) => own.merge(other),
        }
    }
}
