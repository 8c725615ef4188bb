//! The Greenwald-Khanna summary: every quantile, within a bound on the rank.

mod summary;
#[cfg(test)]
mod tests;

use super::{
    LengthEstimator, Merge, Named, Quantile, Rank, check_count, check_finite, check_quantile,
    is_canonical,
};
use crate::error::{Error, Result};
use crate::snapshot::{Reader, State, Writer};
use summary::Summary;
use summary::Tuple;

/// Smallest capacity of the head buffer, so that a coarse summary too takes in
/// its values in bulk.
const MIN_BUFFER: usize = 256;

/// Rank error of "gk" alone, as a fraction of the number of values.
const DEFAULT_EPSILON: f64 = 0.001;

/// All quantiles of a stream of finite numbers, each within `epsilon` * n ranks
/// of the right one, **whatever the stream** and however it was merged.
///
/// The answer to `q` is a value of the stream whose rank (from 1, in sorted
/// order) differs from ceil(q n) by at most `epsilon` * n; [`Rank::rank`] errs
/// by less than `epsilon`. Minimum and maximum are exact, and so is everything
/// while there are fewer than 1 / `epsilon` values.
///
/// # Merging
/// A merge adds ranks and their uncertainties, and so keeps the same bound:
/// `epsilon` times the number of values on both sides together, however often.
/// What it cannot keep is the bound on memory, since the more uncertain the
/// tuples are the fewer can be left out. With `epsilon` = 0.001, 64 parts of
/// 10^6 lognormal values come to 3,300 tuples when merged into one after the
/// other, to 11,400 when merged in pairs, and to 770 when they are one stream.
/// Values that are added later bring the number down again.
///
/// # Complexity
/// New values wait in a head buffer of 1 / `epsilon` values (at least 256),
/// which is sorted and merged into the summary when it is full: amortised
/// O(log(1 / `epsilon`) + tuples * `epsilon`) a value. One stream needs at most
/// 11 / (2 `epsilon`) * log2(2 `epsilon` n) tuples, the paper's bound; most
/// need fewer than 1 / `epsilon`. A query looks at the buffer without flushing
/// it: O(tuples), and the sorting of a copy of the buffer.
///
/// # Source
/// M. Greenwald and S. Khanna, "Space-efficient online computation of quantile
/// summaries", SIGMOD 2001. A new tuple gets the uncertainty of the place where
/// it falls (its successor's g + delta - 1, or that of its equal), which is
/// never more than the paper's floor(2 `epsilon` n) - 1.
///
/// # Examples
/// ```
/// use toggle_rs::quantile::{GkQuantile, Merge, Quantile, Rank};
///
/// let mut sketch = GkQuantile::new(0.01)?;
/// let mut other = sketch.clone();
/// sketch.update(&(0..5_000).map(f64::from).collect::<Vec<_>>())?;
/// other.update(&(5_000..10_000).map(f64::from).collect::<Vec<_>>())?;
/// sketch.merge(&other)?;
///
/// let median = sketch.quantile(0.5)?.unwrap();
/// assert!((median - 5_000.0).abs() <= 0.01 * 10_000.0);
/// let rank = sketch.rank(2_499.0)?.unwrap();
/// assert!((rank - 0.25).abs() <= 0.01);
/// # Ok::<(), toggle_rs::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GkQuantile {
    epsilon: f64,
    summary: Summary,
    /// Values that are not in the summary yet, in the order of arrival; fewer
    /// than [`GkQuantile::capacity`].
    buffer: Vec<f64>,
}

impl GkQuantile {
    /// An empty summary with rank error at most `epsilon` * n.
    ///
    /// # Errors
    /// [`Error::Value`] when `epsilon` is not in `(0, 0.5]`.
    pub fn new(epsilon: f64) -> Result<Self> {
        if epsilon > 0.0 && epsilon <= 0.5 {
            Ok(Self {
                epsilon,
                summary: Summary::default(),
                buffer: Vec::new(),
            })
        } else {
            Err(Error::value(
                "epsilon",
                epsilon,
                "a fraction of the ranks in (0, 0.5]",
            ))
        }
    }

    /// Bound on the rank error, as a fraction of the number of values.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Number of tuples in the summary; what waits in the head buffer (fewer
    /// than 1/`epsilon` values, or than 256) is not among them.
    #[must_use]
    pub fn tuples(&self) -> usize {
        self.summary.tuples().len()
    }

    /// The tuples and the buffered values: with `epsilon`, the whole state.
    pub(crate) fn parts(&self) -> (&[Tuple], &[f64]) {
        (self.summary.tuples(), &self.buffer)
    }

    /// A state from its parts, checked: whatever they hold, no later call can
    /// fail on them.
    ///
    /// # Errors
    /// [`Error::Snapshot`] when no stream leads to such a state.
    pub(crate) fn from_parts(epsilon: f64, tuples: Vec<Tuple>, buffer: Vec<f64>) -> Result<Self> {
        let invalid = |what: &str| Error::Snapshot(format!("GK summary: {what}"));
        let empty = Self::new(epsilon).map_err(|_| invalid("epsilon out of range"))?;
        let summary = Summary::from_tuples(tuples, epsilon).ok_or_else(|| invalid("tuples"))?;
        let fits = buffer.len() < empty.capacity()
            && buffer.iter().all(|&value| is_canonical(value))
            && check_count("count", summary.count(), buffer.len() as u64).is_ok();
        if fits {
            Ok(Self {
                epsilon,
                summary,
                buffer,
            })
        } else {
            Err(invalid("head buffer"))
        }
    }

    /// At this length the head buffer goes into the summary.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float at least 2; what is beyond usize is beyond memory"
    )]
    fn capacity(&self) -> usize {
        ((1.0 / self.epsilon) as usize).max(MIN_BUFFER)
    }

    /// Records values that are known to be finite and not too many.
    fn record(&mut self, mut values: &[f64]) {
        let capacity = self.capacity();
        while !values.is_empty() {
            let room = capacity - self.buffer.len();
            let (now, later) = values.split_at(room.min(values.len()));
            // Adding 0 turns -0.0 into the equal 0.0, which prints and encodes
            // alike.
            self.buffer.extend(now.iter().map(|value| value + 0.0));
            if self.buffer.len() == capacity {
                sort(&mut self.buffer);
                self.summary.insert(&mut self.buffer, self.epsilon);
                self.buffer.clear();
            }
            values = later;
        }
    }
}

impl Quantile for GkQuantile {
    type Value = f64;

    fn update(&mut self, values: &[f64]) -> Result<()> {
        check_finite(values)?;
        check_count("values", self.count(), values.len() as u64)?;
        self.record(values);
        Ok(())
    }

    fn count(&self) -> u64 {
        self.summary.count() + self.buffer.len() as u64
    }

    fn min(&self) -> Option<f64> {
        let first = self.summary.tuples().first().map(|tuple| tuple.value);
        self.buffer.iter().copied().chain(first).reduce(f64::min)
    }

    fn max(&self) -> Option<f64> {
        let last = self.summary.tuples().last().map(|tuple| tuple.value);
        self.buffer.iter().copied().chain(last).reduce(f64::max)
    }

    fn quantile(&self, q: f64) -> Result<Option<f64>> {
        check_quantile(q)?;
        let mut buffered = self.buffer.clone();
        sort(&mut buffered);
        Ok(self.summary.value_at(rank_of(q, self.count()), &buffered))
    }

    fn nbytes(&self) -> usize {
        size_of::<Self>() + self.summary.nbytes() + self.buffer.capacity() * size_of::<f64>()
    }
}

impl Rank for GkQuantile {
    #[allow(clippy::cast_precision_loss, reason = "counts are at most 2^53")]
    fn rank(&self, value: f64) -> Result<Option<f64>> {
        if value.is_nan() {
            return Err(Error::value("value", value, "a number"));
        }
        if self.count() == 0 {
            return Ok(None);
        }
        let (low, high) = self.summary.count_up_to(value);
        let buffered = self.buffer.iter().filter(|&&x| x <= value).count() as u64;
        let middle = f64::midpoint((low + buffered) as f64, (high + buffered) as f64);
        Ok(Some(middle / self.count() as f64))
    }
}

impl Merge for GkQuantile {
    fn merge(&mut self, other: &Self) -> Result<()> {
        if self.epsilon.to_bits() != other.epsilon.to_bits() {
            let expected = format!("{}, as here", self.epsilon);
            return Err(Error::value("other.epsilon", other.epsilon, expected));
        }
        check_count("other", self.count(), other.count())?;
        self.summary.merge(&other.summary, self.epsilon);
        self.record(&other.buffer);
        Ok(())
    }
}

/// The rank of the quantile `q` among `n` values, from 1.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most 2^53, not negative"
)]
fn rank_of(q: f64, n: u64) -> u64 {
    ((q * n as f64).ceil() as u64).min(n).max(1)
}

/// Sorts numbers that are not NaN; faster than by `total_cmp`.
fn sort(values: &mut [f64]) {
    values.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
}

impl LengthEstimator for GkQuantile {
    const NAMED: Option<Named<Self>> = Some(("gk", |_| Self::new(DEFAULT_EPSILON)));

    fn settings(&self) -> String {
        format!("{:?}", self.epsilon())
    }

    fn merge_lengths(&mut self, other: &Self) -> Result<()> {
        self.merge(other)
    }
}

impl State for GkQuantile {
    fn write_settings(&self, out: &mut Writer) {
        out.real(self.epsilon());
    }

    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self> {
        Self::new(bytes.real()?)
    }

    fn write_data(&self, out: &mut Writer) {
        let (tuples, buffer) = self.parts();
        out.number(tuples.len() as u64);
        for tuple in tuples {
            out.real(tuple.value);
            out.number(tuple.g);
            out.number(tuple.delta);
        }
        out.number(buffer.len() as u64);
        for &value in buffer {
            out.real(value);
        }
    }

    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let tuples = (0..bytes.len(10)?).map(|_| {
            Ok(Tuple {
                value: bytes.real()?,
                g: bytes.number()?,
                delta: bytes.number()?,
            })
        });
        let tuples = tuples.collect::<Result<_>>()?;
        let buffer = (0..bytes.len(8)?).map(|_| bytes.real());
        let buffer = buffer.collect::<Result<_>>()?;
        Self::from_parts(self.epsilon(), tuples, buffer)
    }
}
