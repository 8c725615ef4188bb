//! Any of the estimators, chosen at run time.

use std::fmt::{Display, Formatter};

use super::{MAX_LENGTH, Quantile};
use crate::error::{Error, Result};

/// What an estimator records: lengths, as integers or as real numbers.
pub(crate) trait Value: Copy + Display {
    fn of(length: u64) -> Self;

    /// Whether a length can be this, [`MAX_LENGTH`] at most.
    fn is_length(self) -> bool;
}

impl Value for u64 {
    fn of(length: u64) -> Self {
        length
    }

    fn is_length(self) -> bool {
        self <= MAX_LENGTH
    }
}

#[allow(clippy::cast_precision_loss, reason = "up to 2^53 they are exact")]
impl Value for f64 {
    fn of(length: u64) -> Self {
        length as Self
    }

    fn is_length(self) -> bool {
        (0.0..=MAX_LENGTH as Self).contains(&self)
    }
}

/// A name, and what makes the empty estimator that it stands for, of the
/// percentile that will be asked of it.
pub(crate) type Named<T> = (&'static str, fn(f64) -> Result<T>);

/// What keeping the lengths of a key asks of an estimator, beside [`Quantile`].
pub(crate) trait LengthEstimator: Quantile<Value: Value> + Sized {
    /// Its name as an argument `estimator`, where it needs no settings.
    const NAMED: Option<Named<Self>> = None;

    /// Whether its answers depend on the step at which a length came.
    const NEEDS_CLOCK: bool = false;

    /// Its settings, as they are written in Python.
    fn settings(&self) -> String;

    /// Records lengths, at most `MAX_LENGTH`, in the order in which they came.
    fn extend(&mut self, lengths: &[u64], _step: Option<u64>) -> Result<()> {
        let values: Vec<_> = lengths.iter().copied().map(Value::of).collect();
        self.update(&values)
    }

    /// Records the lengths of a step; their order makes no difference.
    fn update_step(&mut self, lengths: &[u64], _step: u64) -> Result<()> {
        self.update(&shuffled(lengths))
    }

    /// The count once `more` lengths are recorded.
    fn count_with(&self, more: u64) -> u64 {
        self.count().saturating_add(more)
    }

    /// Each length that it holds and how often, ascending, where it keeps them.
    #[cfg_attr(
        not(feature = "python"),
        allow(dead_code, reason = "only Python asks for them")
    )]
    fn kept_counts(&self) -> Option<impl Iterator<Item = (u64, u64)>> {
        None::<std::iter::Empty<_>>
    }

    /// Takes in what `other` has seen; an error where no sound merge exists.
    fn merge_lengths(&mut self, other: &Self) -> Result<()>;
}

/// Runs `$body` with `$inner` bound to the estimator of whatever kind.
macro_rules! each {
    ($estimator:expr, $inner:ident => $body:expr) => {
        estimators!(each_arm($estimator, $inner => $body))
    };
}

macro_rules! each_arm {
    (
        ($estimator:expr, $inner:ident => $body:expr)
        $($doc:literal $variant:ident $hold:ident $class:ident $name:literal $number:literal;)*
    ) => {
        match $estimator {
            $($crate::quantile::Estimator::$variant($inner) => $body,)*
        }
    };
}

macro_rules! held {
    (inline $class:ident) => { super::$class };
    (boxed $class:ident) => { Box<super::$class> };
}

macro_rules! define {
    (() $($doc:literal $variant:ident $hold:ident $class:ident $name:literal $number:literal;)*) => {
        /// One estimator of any kind, holding lengths. An enum, so that a key costs
        /// no indirection for the usual kind and every use is checked by a `match`.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Estimator {
            $(#[doc = $doc] $variant(held!($hold $class)),)*
        }

        impl Estimator {
            /// Its class, as users name it.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// Whether its answers depend on the step at which a length came.
            #[must_use]
            pub fn needs_clock(&self) -> bool {
                match self {
                    $(Self::$variant(_) => super::$class::NEEDS_CLOCK,)*
                }
            }

            /// The names that stand for an estimator alone.
            pub(crate) fn names() -> impl Iterator<Item = &'static str> {
                let names = [$(super::$class::NAMED.map(|(name, _)| name),)*];
                names.into_iter().flatten()
            }

            /// The estimator that a name alone stands for; `percentile` is the one that
            /// will be asked of it.
            ///
            /// # Errors
            /// [`Error::Value`] about an unknown name, or a percentile out of range.
            pub fn by_name(name: &str, percentile: f64) -> Result<Self> {
                $(if let Some((own, make)) = super::$class::NAMED && own == name {
                    return Ok(make(percentile)?.into());
                })*
                Err(Error::value("estimator", format!("{name:?}"), Self::expected()))
            }

            /// See [`Merge::merge`](super::Merge::merge).
            ///
            /// # Errors
            /// Where no sound merge exists, or kinds or settings differ.
            pub fn merge(&mut self, other: &Self) -> Result<()> {
                match (self, other) {
                    $((Self::$variant(own), Self::$variant(other)) => own.merge_lengths(other),)*
                    (own, other) => Err(Error::value("other", other.name(), own.name())),
                }
            }
        }

        $(impl From<super::$class> for Estimator {
            fn from(estimator: super::$class) -> Self {
                Self::$variant(estimator.into())
            }
        })*
    };
}
estimators!(define());

impl Estimator {
    /// What an argument `estimator` may be.
    pub(crate) fn expected() -> String {
        let names: Vec<_> = Self::names().map(|name| format!("{name:?}")).collect();
        format!(
            "{} or an empty estimator such as WindowQuantile(4096)",
            names.join(", ")
        )
    }

    /// Records lengths, at most `MAX_LENGTH`, in the order in which they came.
    #[inline]
    pub(crate) fn extend(&mut self, lengths: &[u64], step: Option<u64>) -> Result<()> {
        each!(self, inner => inner.extend(lengths, step))
    }

    /// Records the lengths of a step; their order makes no difference.
    pub(crate) fn update(&mut self, lengths: &[u64], step: u64) -> Result<()> {
        each!(self, inner => inner.update_step(lengths, step))
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
    /// [`Error::Unsupported`] for estimators that do not keep them,
    /// [`Error::Memory`] where they are more than fit.
    #[cfg(feature = "python")]
    pub(crate) fn sorted_lengths(&self) -> Result<Vec<i64>> {
        let unsupported = Error::Unsupported {
            operation: "lengths_per_dataset",
            estimator: self.name(),
            reason: "it does not keep the lengths",
        };
        let mut lengths = Vec::new();
        each!(self, inner => {
            let counts = inner.kept_counts().ok_or(unsupported)?;
            let room = usize::try_from(inner.count()).unwrap_or(usize::MAX);
            lengths.try_reserve_exact(room).map_err(|_| Error::Memory {
                what: "lengths_per_dataset",
                values: room,
            })?;
            for (length, count) in counts {
                for _ in 0..count {
                    lengths.push(length.cast_signed());
                }
            }
        });
        Ok(lengths)
    }

    /// Number of lengths that an answer is about.
    #[must_use]
    pub fn count(&self) -> u64 {
        each!(self, inner => inner.count())
    }

    /// [`Self::count`] once `more` lengths are recorded.
    pub(crate) fn count_with(&self, more: u64) -> u64 {
        each!(self, inner => inner.count_with(more))
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
        let held = each!(self, inner => inner.nbytes());
        match self {
            Self::Exact(exact) => size_of::<Self>() - size_of_val(exact) + held,
            _ => size_of::<Self>() + held,
        }
    }
}

impl Display for Estimator {
    /// Kind and settings, as they are written in Python.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let settings = each!(self, inner => inner.settings());
        write!(f, "{}({settings})", self.name())
    }
}

/// The values in an order that looks random and depends on the values alone.
///
/// What an estimator that heeds the order makes of a step must not depend on
/// how the step's groups arrived, nor on the values coming sorted.
fn shuffled<T: Value>(values: &[u64]) -> Vec<T> {
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
    values.into_iter().map(T::of).collect()
}
