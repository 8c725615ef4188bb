//! Any of the estimators, chosen at run time.

use std::fmt::{Display, Formatter};

use super::{
    DecayQuantile, ExactQuantile, GkQuantile, Merge, P2Quantile, Quantile, WindowQuantile,
};
use crate::error::{Error, Result};

/// Rank error of "gk" alone, as a fraction of the number of values.
const DEFAULT_EPSILON: f64 = 0.001;

/// Why two [`P2Quantile`]s cannot be merged.
pub(crate) const P2_MERGE: Error = Error::Unsupported {
    operation: "merge",
    estimator: "P2Quantile",
    reason: "five markers do not tell how the values between them lie",
};

/// Why two [`WindowQuantile`]s cannot be merged.
pub(crate) const WINDOW_MERGE: Error = Error::Unsupported {
    operation: "merge",
    estimator: "WindowQuantile",
    reason: "which values of the two are the last ones is not known",
};

/// One estimator of any kind, holding lengths. An enum, so that a key costs
/// no indirection for the usual kind and every use is checked by a `match`.
#[derive(Debug, Clone, PartialEq)]
pub enum Estimator {
    /// Exact counting, the default.
    Exact(ExactQuantile),
    /// Five markers.
    P2(Box<P2Quantile>),
    /// A summary with a bound on the rank error.
    Gk(Box<GkQuantile>),
    /// Exactly the last lengths.
    Window(Box<WindowQuantile>),
    /// Exact counting, older steps with less weight.
    Decay(Box<DecayQuantile>),
}

/// Runs `$body` with `$inner` bound to the estimator of whatever kind.
macro_rules! each {
    ($estimator:expr, $inner:ident => $body:expr) => {
        match $estimator {
            Estimator::Exact($inner) => $body,
            Estimator::P2($inner) => $body,
            Estimator::Gk($inner) => $body,
            Estimator::Window($inner) => $body,
            Estimator::Decay($inner) => $body,
        }
    };
}

impl Estimator {
    /// The estimator that a name alone stands for; `percentile` is the one that
    /// will be asked of it.
    ///
    /// # Errors
    /// [`Error::Value`] about an unknown name, or a percentile out of range.
    pub fn by_name(name: &str, percentile: f64) -> Result<Self> {
        match name {
            "exact" => Ok(Self::Exact(ExactQuantile::new())),
            "p2" => {
                super::check_percentile(percentile).map_err(|error| error.about("percentile"))?;
                Ok(P2Quantile::new(percentile / 100.0)?.into())
            }
            "gk" => Ok(GkQuantile::new(DEFAULT_EPSILON)?.into()),
            _ => {
                let expected = "\"exact\", \"p2\", \"gk\" or an empty estimator";
                Err(Error::value("estimator", format!("{name:?}"), expected))
            }
        }
    }

    /// Its class, as users name it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact(_) => "ExactQuantile",
            Self::P2(_) => "P2Quantile",
            Self::Gk(_) => "GKQuantile",
            Self::Window(_) => "WindowQuantile",
            Self::Decay(_) => "DecayQuantile",
        }
    }

    /// Whether its answers depend on the step at which a length came.
    #[must_use]
    pub fn needs_clock(&self) -> bool {
        matches!(self, Self::Decay(_))
    }

    /// Records lengths, at most `MAX_LENGTH`, in the order in which they came.
    #[inline]
    pub(crate) fn extend(&mut self, lengths: &[u64], step: Option<u64>) -> Result<()> {
        match self {
            Self::Exact(exact) => exact.extend_checked(lengths.iter().copied()),
            Self::P2(p2) => p2.update(&reals(lengths)),
            Self::Gk(gk) => gk.update(&reals(lengths)),
            Self::Window(window) => window.update(lengths),
            Self::Decay(decay) => {
                tick_to(decay, step.unwrap_or(0))?;
                decay.update(lengths)
            }
        }
    }

    /// Records the lengths of a step; their order makes no difference.
    pub(crate) fn update(&mut self, lengths: &[u64], step: u64) -> Result<()> {
        match self {
            Self::Exact(exact) => exact.update(lengths),
            Self::P2(p2) => p2.update(&shuffled(lengths, real)),
            Self::Gk(gk) => gk.update(&shuffled(lengths, real)),
            Self::Window(window) => window.update(&shuffled(lengths, |length| length)),
            Self::Decay(decay) => {
                tick_to(decay, step)?;
                decay.update(lengths)
            }
        }
    }

    /// What `ask` answers once the lengths of a step are recorded; they are not.
    pub(crate) fn with<T>(&self, lengths: &[u64], step: u64, ask: impl FnOnce(&Self) -> T) -> T {
        let mut later = self.clone();
        // One that cannot take them in will answer without them later, too.
        let _ = later.update(lengths, step);
        ask(&later)
    }

    /// Every length held, ascending. Signed, as NumPy has integers.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for estimators that do not keep them.
    #[cfg(feature = "python")]
    pub(crate) fn sorted_lengths(&self) -> Result<Vec<i64>> {
        let counts: &mut dyn Iterator<Item = (u64, u64)> = match self {
            Self::Exact(exact) => &mut exact.counts(),
            Self::Window(window) => &mut window.counts(),
            other => {
                return Err(Error::Unsupported {
                    operation: "lengths_per_dataset",
                    estimator: other.name(),
                    reason: "it does not keep the lengths",
                });
            }
        };
        let mut lengths = Vec::new();
        for (length, count) in counts {
            for _ in 0..count {
                lengths.push(length.cast_signed());
            }
        }
        Ok(lengths)
    }

    /// Number of lengths that an answer is about.
    #[must_use]
    pub fn count(&self) -> u64 {
        each!(self, inner => inner.count())
    }

    /// [`Self::count`] once `more` lengths are recorded.
    pub(crate) fn count_with(&self, more: u64) -> u64 {
        let all = self.count().saturating_add(more);
        match self {
            Self::Window(window) => all.min(window.window() as u64),
            _ => all,
        }
    }

    /// See [`Quantile::percentile`].
    ///
    /// # Errors
    /// When `p` is no percentile that this estimator can answer.
    pub fn percentile(&self, p: f64) -> Result<Option<f64>> {
        each!(self, inner => inner.percentile(p))
    }

    /// Bytes that it holds, itself included.
    #[must_use]
    pub fn nbytes(&self) -> usize {
        match self {
            Self::Exact(exact) => size_of::<Self>() - size_of::<ExactQuantile>() + exact.nbytes(),
            Self::P2(p2) => size_of::<Self>() + p2.nbytes(),
            Self::Gk(gk) => size_of::<Self>() + gk.nbytes(),
            Self::Window(window) => size_of::<Self>() + window.nbytes(),
            Self::Decay(decay) => size_of::<Self>() + decay.nbytes(),
        }
    }

    /// See [`Merge::merge`].
    ///
    /// # Errors
    /// Where no sound merge exists, or kinds or settings differ.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        match (self, other) {
            (Self::Exact(own), Self::Exact(other)) => own.merge(other),
            (Self::Gk(own), Self::Gk(other)) => own.merge(other),
            (Self::Decay(own), Self::Decay(other)) => own.merge(other),
            (Self::P2(_), Self::P2(_)) => Err(P2_MERGE),
            (Self::Window(_), Self::Window(_)) => Err(WINDOW_MERGE),
            (own, other) => Err(Error::value("other", other.name(), own.name())),
        }
    }
}

impl Display for Estimator {
    /// Kind and settings, as they are written in Python.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let name = self.name();
        match self {
            Self::Exact(_) => write!(f, "{name}()"),
            Self::P2(p2) => write!(f, "{name}({:?})", p2.q()),
            Self::Gk(gk) => write!(f, "{name}({:?})", gk.epsilon()),
            Self::Window(window) => write!(f, "{name}({})", window.window()),
            Self::Decay(decay) => write!(f, "{name}({:?})", decay.half_life()),
        }
    }
}

impl From<ExactQuantile> for Estimator {
    fn from(exact: ExactQuantile) -> Self {
        Self::Exact(exact)
    }
}

impl From<P2Quantile> for Estimator {
    fn from(p2: P2Quantile) -> Self {
        Self::P2(Box::new(p2))
    }
}

impl From<GkQuantile> for Estimator {
    fn from(gk: GkQuantile) -> Self {
        Self::Gk(Box::new(gk))
    }
}

impl From<WindowQuantile> for Estimator {
    fn from(window: WindowQuantile) -> Self {
        Self::Window(Box::new(window))
    }
}

impl From<DecayQuantile> for Estimator {
    fn from(decay: DecayQuantile) -> Self {
        Self::Decay(Box::new(decay))
    }
}

/// Makes `step` the tick of what is recorded next; time never goes back.
fn tick_to(decay: &mut DecayQuantile, step: u64) -> Result<()> {
    decay.tick(step.saturating_sub(decay.ticks()))
}

#[allow(clippy::cast_precision_loss, reason = "lengths up to 2^53 are exact")]
fn real(length: u64) -> f64 {
    length as f64
}

fn reals(lengths: &[u64]) -> Vec<f64> {
    lengths.iter().map(|&length| real(length)).collect()
}

/// The values in an order that looks random and depends on the values alone.
///
/// What an estimator that heeds the order makes of a step must not depend on
/// how the step's groups arrived, nor on the values coming sorted.
fn shuffled<T>(values: &[u64], convert: impl Fn(u64) -> T) -> Vec<T> {
    let mut values = values.to_vec();
    values.sort_unstable();
    // Fisher-Yates with Knuth's MMIX generator.
    let mut state = values.len() as u64;
    for last in (1..values.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        #[allow(clippy::cast_possible_truncation, reason = "below `last`, a usize")]
        let other = ((state >> 33) % (last as u64 + 1)) as usize;
        values.swap(last, other);
    }
    values.into_iter().map(convert).collect()
}
