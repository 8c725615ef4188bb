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
    /// Records one length, already known to be at most `MAX_LENGTH`.
    #[inline]
    pub(crate) fn insert(&mut self, length: u64) -> Result<()> {
        match self {
            Self::Exact(exact) => exact.insert(length),
        }
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

    /// Bytes that it holds.
    #[must_use]
    pub fn nbytes(&self) -> usize {
        match self {
            Self::Exact(exact) => exact.nbytes(),
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
