//! Streaming quantile estimators.

/// Every estimator, in one place: what it is; its variant of [`Estimator`], and
/// whether that holds it inline or in a box; its type; its name in Python; its
/// number in snapshots, which stays once it is given. `$expand` gets the list.
macro_rules! estimators {
    ($expand:ident($($argument:tt)*)) => {
        $expand! { ($($argument)*)
            "Exact counting, the default." Exact inline ExactQuantile "ExactQuantile" 0;
            "Five markers." P2 boxed P2Quantile "P2Quantile" 1;
            "A summary with a bound on the rank error." Gk boxed GkQuantile "GKQuantile" 2;
            "Exactly the last lengths." Window boxed WindowQuantile "WindowQuantile" 3;
            "Exact counting, older steps with less weight." Decay boxed DecayQuantile "DecayQuantile" 4;
        }
    };
}

#[macro_use]
mod estimator;
mod decay;
mod exact;
mod gk;
mod histogram;
mod interpolate;
mod p2;
mod state;
mod window;

pub use decay::DecayQuantile;
pub use estimator::Estimator;
pub(crate) use estimator::{LengthEstimator, Named, Value};
pub use exact::ExactQuantile;
pub use gk::GkQuantile;
pub use p2::P2Quantile;
pub use window::WindowQuantile;

pub use crate::column::MAX_LENGTH;

use crate::column::check_block;
use crate::error::{Error, Result};

/// Values that an estimator takes in, all told: up to 2^53 a count is exact as
/// an `f64`, and no sum of a few of them overflows.
pub const MAX_COUNT: u64 = 1 << 53;

/// What every estimator can do.
///
/// `Value` is `u64` for the estimators that count lengths (at most
/// [`MAX_LENGTH`]) and `f64` (finite) for the sketches of real numbers.
///
/// ```
/// use toggle_rs::quantile::{ExactQuantile, Quantile, WindowQuantile};
///
/// fn median(lengths: &mut impl Quantile<Value = u64>) -> toggle_rs::Result<Option<f64>> {
///     lengths.update(&[10, 20, 30, 40])?;
///     lengths.percentile(50.0)
/// }
/// assert_eq!(median(&mut ExactQuantile::new())?, Some(25.0));
/// assert_eq!(median(&mut WindowQuantile::new(3)?)?, Some(30.0));
/// # Ok::<(), toggle_rs::Error>(())
/// ```
pub trait Quantile {
    /// What it records.
    type Value: Copy;

    /// Records a batch. All of it is checked first: on an error nothing has
    /// been recorded.
    ///
    /// # Errors
    /// [`Error::Value`] with the index of the first value out of range.
    fn update(&mut self, values: &[Self::Value]) -> Result<()>;

    /// Number of values that an answer is about.
    fn count(&self) -> u64;

    /// Smallest value, `None` when empty.
    fn min(&self) -> Option<Self::Value>;

    /// Largest value, `None` when empty.
    fn max(&self) -> Option<Self::Value>;

    /// The quantile `q`, `None` when empty.
    ///
    /// # Errors
    /// [`Error::Value`] when `q` is not in `0..=1`.
    fn quantile(&self, q: f64) -> Result<Option<f64>>;

    /// The percentile `p`: the quantile `p / 100`, as NumPy divides.
    ///
    /// # Errors
    /// [`Error::Value`] when `p` is not in `0..=100`.
    fn percentile(&self, p: f64) -> Result<Option<f64>> {
        check_percentile(p)?;
        self.quantile(p / 100.0)
    }

    /// Bytes that it holds, itself included.
    fn nbytes(&self) -> usize;
}

/// Estimators that can tell the rank of a value.
///
/// ```
/// use toggle_rs::quantile::{ExactQuantile, Quantile, Rank};
///
/// let mut lengths = ExactQuantile::new();
/// lengths.update(&[10, 20, 30, 40])?;
/// assert_eq!(lengths.rank(30.0)?, Some(0.75));
/// # Ok::<(), toggle_rs::Error>(())
/// ```
pub trait Rank {
    /// Fraction of the values (by weight, where they have one) that are
    /// `<= value`; `None` when empty.
    ///
    /// # Errors
    /// [`Error::Value`] when `value` is NaN.
    fn rank(&self, value: f64) -> Result<Option<f64>>;
}

/// Estimators that can take in what another one has seen.
///
/// ```
/// use toggle_rs::quantile::{ExactQuantile, Merge, Quantile};
///
/// let (mut one, mut other) = (ExactQuantile::new(), ExactQuantile::new());
/// one.update(&[10, 20])?;
/// other.update(&[30])?;
/// one.merge(&other)?;
/// assert_eq!((one.count(), one.max()), (3, Some(30)));
/// # Ok::<(), toggle_rs::Error>(())
/// ```
pub trait Merge {
    /// Takes in what `other` has seen.
    ///
    /// # Errors
    /// [`Error::Value`] when the settings differ; nothing has changed then.
    fn merge(&mut self, other: &Self) -> Result<()>;
}

pub(crate) fn check_quantile(q: f64) -> Result<()> {
    if (0.0..=1.0).contains(&q) {
        Ok(())
    } else {
        Err(Error::value("q", q, "a quantile in [0, 1]"))
    }
}

pub(crate) fn check_percentile(p: f64) -> Result<()> {
    if (0.0..=100.0).contains(&p) {
        Ok(())
    } else {
        Err(Error::value("p", p, "a percentile in [0, 100]"))
    }
}

/// Index and value of the first length that is too large to be exact.
pub(crate) fn check_lengths(values: &[u64]) -> Result<()> {
    check_block(values, |value| value).map_err(|index| {
        let expected = "an integer in 0..=2**53";
        Error::value_at("values", index, values[index], expected)
    })
}

/// Index and value of the first number that is not finite.
pub(crate) fn check_finite(values: &[f64]) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::value_at(
            "values",
            index,
            values[index],
            "a finite number",
        )),
    }
}

/// Whether a state may hold this number: finite, and not -0.0, which is equal
/// to 0.0 but does not encode alike.
pub(crate) fn is_canonical(value: f64) -> bool {
    value.is_finite() && (value != 0.0 || value.is_sign_positive())
}

/// The count of values once `more` are in; up to 2^53 it is exact as an `f64`.
#[inline]
pub(crate) fn check_count(argument: &'static str, count: u64, more: u64) -> Result<u64> {
    match count.checked_add(more) {
        Some(sum) if sum <= MAX_COUNT => Ok(sum),
        _ => Err(Error::value(
            argument,
            format_args!("{more} more after {count}"),
            "at most 2**53 values in all",
        )),
    }
}
