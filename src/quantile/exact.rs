//! The exact quantile of lengths, by counting.

use super::histogram::{Builder, Histogram};
use super::interpolate::{Position, lerp};
use super::{
    LengthEstimator, MAX_LENGTH, Merge, Named, Quantile, Rank, check_count, check_lengths,
    check_quantile,
};
use crate::error::{Error, Result};
use crate::snapshot::{Reader, State, Writer};

/// The exact quantile of all lengths seen: `numpy.percentile`, method
/// "linear", bit for bit.
///
/// Lengths are small integers, so it counts each one: a value costs about as
/// much as `histogram[value] += 1`, a quantile 100-300 ns, whatever the number
/// of values seen. Memory follows the number of *distinct* lengths: about 4
/// bytes for each while they are few, at most about 16, and 4 once they are
/// dense.
///
/// Lengths are integers in `0..=2^53`. Merging and removing are exact, and two
/// of them are equal when they hold the same counts.
///
/// ```
/// use toggle_rs::quantile::{ExactQuantile, Quantile};
///
/// let mut lengths = ExactQuantile::new();
/// lengths.update(&[10, 20, 30, 40])?;
/// assert_eq!(lengths.percentile(50.0)?, Some(25.0));
/// assert_eq!(lengths.max(), Some(40));
/// # Ok::<(), toggle_rs::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ExactQuantile {
    count: u64,
    histogram: Histogram<u64>,
}

impl ExactQuantile {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The one that holds `counts`: pairs of a value and how often it was
    /// seen, values ascending.
    ///
    /// # Errors
    /// [`Error::Value`] when values do not ascend or are above
    /// [`MAX_LENGTH`], when a count is 0, or when the counts sum up to more
    /// than 2^53.
    pub fn from_counts(counts: impl IntoIterator<Item = (u64, u64)>) -> Result<Self> {
        let mut counted = Builder::default();
        let mut total = 0;
        let mut least = 0;
        for (index, (value, count)) in counts.into_iter().enumerate() {
            if value < least || value > MAX_LENGTH {
                let expected = "ascending values in 0..=2**53";
                return Err(Error::value_at("counts", index, value, expected));
            }
            if count == 0 {
                let expected = "a count of at least 1";
                return Err(Error::value_at("counts", index, count, expected));
            }
            total = check_count("counts", total, count)?;
            counted.push(value, count);
            least = value + 1;
        }
        Ok(Self {
            count: total,
            histogram: counted.finish(),
        })
    }

    /// Records one value.
    ///
    /// # Errors
    /// As for [`Self::add`].
    #[inline]
    pub fn insert(&mut self, value: u64) -> Result<()> {
        if value <= MAX_LENGTH && self.count < MAX_LENGTH {
            self.histogram.add(value, 1);
            self.count += 1;
            return Ok(());
        }
        self.refuse(value)
    }

    /// What is wrong with one more `value`.
    #[cold]
    fn refuse(&self, value: u64) -> Result<()> {
        check_lengths(&[value])?;
        check_count("count", self.count, 1).map(drop)
    }

    /// Records a value `count` times.
    ///
    /// # Errors
    /// [`Error::Value`] when the value is above [`MAX_LENGTH`], or when that
    /// makes more than 2^53 values in all.
    pub fn add(&mut self, value: u64, count: u64) -> Result<()> {
        if value > MAX_LENGTH {
            check_lengths(&[value])?;
        }
        let total = check_count("count", self.count, count)?;
        if count > 0 {
            self.histogram.add(value, count);
            self.count = total;
        }
        Ok(())
    }

    /// Records values that are already known to be at most [`MAX_LENGTH`].
    ///
    /// # Errors
    /// [`Error::Value`] when that makes more than 2^53 values in all; nothing
    /// has been recorded then.
    #[inline]
    pub(crate) fn extend_checked(&mut self, values: &[u64]) -> Result<()> {
        self.count = check_count("values", self.count, values.len() as u64)?;
        self.histogram.add_all(values, 1);
        Ok(())
    }

    /// Forgets one occurrence of `value`; `false`, and nothing changed, when
    /// there is none.
    pub fn remove(&mut self, value: u64) -> bool {
        let removed = self.histogram.remove(value, 1);
        self.count -= u64::from(removed);
        removed
    }

    /// Forgets one occurrence of each of `values`, all of which must be there.
    pub(crate) fn remove_all(&mut self, values: impl ExactSizeIterator<Item = u64>) {
        self.count -= values.len() as u64;
        self.histogram.remove_all(values);
    }

    /// Values and how often each was seen, ascending.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram.iter()
    }
}

impl Quantile for ExactQuantile {
    type Value = u64;

    fn update(&mut self, values: &[u64]) -> Result<()> {
        check_lengths(values)?;
        self.extend_checked(values)
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn min(&self) -> Option<u64> {
        self.histogram.first_from(0).map(|(value, _)| value)
    }

    fn max(&self) -> Option<u64> {
        self.histogram.last().map(|(value, _)| value)
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "lengths up to 2^53 are exact in f64"
    )]
    fn quantile(&self, q: f64) -> Result<Option<f64>> {
        check_quantile(q)?;
        if self.count == 0 {
            return Ok(None);
        }
        let Position { lower, fraction } = Position::of(q, self.count);
        if let Histogram::List(list) = &self.histogram {
            let pair = list.at_rank(lower, self.count);
            return Ok(pair.map(|(a, b)| lerp(a as f64, b as f64, fraction)));
        }
        let Some((a, through)) = self.histogram.select(|through| through > lower) else {
            return Ok(None);
        };
        if fraction == 0.0 || through > lower + 1 {
            return Ok(Some(a as f64));
        }
        let b = self
            .histogram
            .first_from(a + 1)
            .map_or(a, |(value, _)| value);
        Ok(Some(lerp(a as f64, b as f64, fraction)))
    }

    fn nbytes(&self) -> usize {
        size_of::<Self>() + self.histogram.heap_bytes()
    }
}

impl Rank for ExactQuantile {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`value` is clamped to the lengths first; the fraction is f64"
    )]
    fn rank(&self, value: f64) -> Result<Option<f64>> {
        if value.is_nan() {
            return Err(Error::value("value", value, "a number"));
        }
        if self.count == 0 {
            return Ok(None);
        }
        if value < 0.0 {
            return Ok(Some(0.0));
        }
        let through = self
            .histogram
            .weight_through(value.min(MAX_LENGTH as f64) as u64);
        Ok(Some(through as f64 / self.count as f64))
    }
}

impl Merge for ExactQuantile {
    fn merge(&mut self, other: &Self) -> Result<()> {
        self.count = check_count("other", self.count, other.count)?;
        for (value, count) in other.counts() {
            self.histogram.add(value, count);
        }
        Ok(())
    }
}

impl PartialEq for ExactQuantile {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.counts().eq(other.counts())
    }
}

impl Eq for ExactQuantile {}

impl LengthEstimator for ExactQuantile {
    const NAMED: Option<Named<Self>> = Some(("exact", |_| Ok(Self::new())));

    fn settings(&self) -> String {
        String::new()
    }

    #[inline]
    fn extend(&mut self, lengths: &[u64], _: Option<u64>) -> Result<()> {
        self.extend_checked(lengths)
    }

    fn update_step(&mut self, lengths: &[u64], _: u64) -> Result<()> {
        self.extend_checked(lengths)
    }

    fn kept_counts(&self) -> Option<impl Iterator<Item = (u64, u64)>> {
        Some(self.counts())
    }

    fn merge_lengths(&mut self, other: &Self) -> Result<()> {
        self.merge(other)
    }
}

impl State for ExactQuantile {
    fn write_settings(&self, _: &mut Writer) {}

    fn read_settings(_: &mut Reader<'_>) -> Result<Self> {
        Ok(Self::new())
    }

    fn write_data(&self, out: &mut Writer) {
        out.counts(self.counts());
    }

    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let mut counts = bytes.counts();
        let exact = Self::from_counts(&mut counts)?;
        counts.end().map(|()| exact)
    }
}
