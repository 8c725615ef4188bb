//! The exact quantile of the last lengths.

use super::{ExactQuantile, LengthEstimator, MAX_LENGTH, Quantile, Rank, check_lengths};
use crate::error::{Error, Result};
use crate::snapshot::{Reader, State, Writer, invalid};

/// The exact quantile of the last `window` lengths: `numpy.percentile`, method
/// "linear", of exactly that slice, bit for bit.
///
/// A ring of the values and the counting histogram of [`ExactQuantile`], from
/// which the value that drops out is removed. The ring grows as it fills: 4
/// bytes a value, 8 once one is above 2^32 - 1. A value costs a few nanoseconds
/// in a window of some 10^4, some ten in a small one, where the lengths lie
/// further apart; a quantile costs as much as with [`ExactQuantile`].
///
/// There is no merge: which values are the last ones of two streams is not in
/// the values.
///
/// ```
/// use toggle_rs::quantile::{Quantile, WindowQuantile};
///
/// let mut lengths = WindowQuantile::new(3)?;
/// lengths.update(&[1000, 10, 20, 30])?;
/// assert_eq!(lengths.max(), Some(30));
/// assert_eq!(lengths.quantile(0.5)?, Some(20.0));
/// # Ok::<(), toggle_rs::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct WindowQuantile {
    window: usize,
    ring: Ring,
    /// The values in the ring.
    exact: ExactQuantile,
}

impl WindowQuantile {
    /// An empty one that will hold the last `window` values.
    ///
    /// # Errors
    /// [`Error::Value`] when `window` is not in `1..=2^53`.
    pub fn new(window: usize) -> Result<Self> {
        if window == 0 || window as u64 > MAX_LENGTH {
            return Err(Error::value("window", window, "an integer in 1..=2**53"));
        }
        Ok(Self {
            window,
            ring: Ring::default(),
            exact: ExactQuantile::new(),
        })
    }

    /// How many values it holds at most.
    #[must_use]
    pub fn window(&self) -> usize {
        self.window
    }

    /// The values that it holds, from the oldest to the newest.
    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.ring.oldest(self.ring.len())
    }

    /// Values and how often each of them is in the window, ascending.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.exact.counts()
    }
}

impl Quantile for WindowQuantile {
    type Value = u64;

    fn update(&mut self, values: &[u64]) -> Result<()> {
        check_lengths(values)?;
        let kept = &values[values.len().saturating_sub(self.window)..];
        // In this order, so that the histogram does not give up what it needs again.
        self.exact.extend_checked(kept)?;
        let room = self.window - self.ring.len();
        let dropped = kept.len().saturating_sub(room);
        self.ring.take_oldest(dropped, &mut self.exact);
        self.ring.push(kept, self.window);
        Ok(())
    }

    fn count(&self) -> u64 {
        self.exact.count()
    }

    fn min(&self) -> Option<u64> {
        self.exact.min()
    }

    fn max(&self) -> Option<u64> {
        self.exact.max()
    }

    fn quantile(&self, q: f64) -> Result<Option<f64>> {
        self.exact.quantile(q)
    }

    fn nbytes(&self) -> usize {
        size_of::<Self>() - size_of::<ExactQuantile>()
            + self.exact.nbytes()
            + self.ring.heap_bytes()
    }
}

impl Rank for WindowQuantile {
    fn rank(&self, value: f64) -> Result<Option<f64>> {
        self.exact.rank(value)
    }
}

impl PartialEq for WindowQuantile {
    /// The order counts as well: it decides what drops out next.
    fn eq(&self, other: &Self) -> bool {
        self.window == other.window && self.values().eq(other.values())
    }
}

impl Eq for WindowQuantile {}

/// The last values, in the order of arrival.
#[derive(Debug, Clone, Default)]
struct Ring {
    values: Values,
    /// Index of the oldest value.
    oldest: usize,
}

#[derive(Debug, Clone)]
enum Values {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl Ring {
    fn len(&self) -> usize {
        match &self.values {
            Values::Narrow(values) => values.len(),
            Values::Wide(values) => values.len(),
        }
    }

    fn get(&self, index: usize) -> u64 {
        match &self.values {
            Values::Narrow(values) => values[index].into(),
            Values::Wide(values) => values[index],
        }
    }

    /// The `n` oldest values, from the oldest on.
    fn oldest(&self, n: usize) -> impl Iterator<Item = u64> + '_ {
        let indices = (self.oldest..self.len()).chain(0..self.oldest);
        indices.take(n).map(|index| self.get(index))
    }

    /// Takes the `n` oldest values out of `exact`, which holds them.
    fn take_oldest(&self, n: usize, exact: &mut ExactQuantile) {
        match &self.values {
            Values::Narrow(values) => {
                for piece in pieces(values, self.oldest, n) {
                    exact.remove_all(piece.iter().map(|&value| value.into()));
                }
            }
            Values::Wide(values) => {
                for piece in pieces(values, self.oldest, n) {
                    exact.remove_all(piece.iter().copied());
                }
            }
        }
    }

    /// Takes in at most `window` values, in place of the oldest ones once
    /// there are `window`.
    fn push(&mut self, new: &[u64], window: usize) {
        if let Values::Narrow(narrow) = &mut self.values {
            let widest = new.iter().fold(0, |bits, value| bits | value);
            if u32::try_from(widest).is_ok() {
                #[allow(
                    clippy::cast_possible_truncation,
                    reason = "none has more than 32 bits"
                )]
                let new = new.iter().map(|&value| value as u32);
                return rotate_in(narrow, &mut self.oldest, new, window);
            }
            self.values = Values::Wide(narrow.iter().map(|&value| value.into()).collect());
        }
        if let Values::Wide(wide) = &mut self.values {
            rotate_in(wide, &mut self.oldest, new.iter().copied(), window);
        }
    }

    fn heap_bytes(&self) -> usize {
        match &self.values {
            Values::Narrow(values) => values.capacity() * size_of::<u32>(),
            Values::Wide(values) => values.capacity() * size_of::<u64>(),
        }
    }
}

/// The `n` values from `oldest` on, around the end.
fn pieces<T>(values: &[T], oldest: usize, n: usize) -> [&[T]; 2] {
    let end = values.len().min(oldest + n);
    [&values[oldest..end], &values[..oldest + n - end]]
}

/// Fills `values` up to `window`, then overwrites from `oldest` on.
fn rotate_in<T>(
    values: &mut Vec<T>,
    oldest: &mut usize,
    mut new: impl ExactSizeIterator<Item = T>,
    window: usize,
) {
    let room = (window - values.len()).min(new.len());
    if values.capacity() - values.len() < room {
        // Doubling, but never more than what the window will need.
        let double = values.len().min(window - values.len());
        values.reserve_exact(room.max(double));
    }
    values.extend(new.by_ref().take(room));
    while new.len() > 0 {
        let row = &mut values[*oldest..];
        let n = row.len().min(new.len());
        row.iter_mut()
            .zip(new.by_ref())
            .for_each(|(slot, value)| *slot = value);
        *oldest = (*oldest + n) % window;
    }
}

impl LengthEstimator for WindowQuantile {
    fn settings(&self) -> String {
        self.window().to_string()
    }

    fn count_with(&self, more: u64) -> u64 {
        let all = self.count().saturating_add(more);
        all.min(self.window() as u64)
    }

    fn kept_counts(&self) -> Option<impl Iterator<Item = (u64, u64)>> {
        Some(self.counts())
    }

    fn merge_lengths(&mut self, _: &Self) -> Result<()> {
        Err(Error::Unsupported {
            operation: "merge",
            estimator: "WindowQuantile",
            reason: "which values of the two are the last ones is not known",
        })
    }
}

impl State for WindowQuantile {
    fn write_settings(&self, out: &mut Writer) {
        out.number(self.window() as u64);
    }

    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self> {
        let window = usize::try_from(bytes.number()?);
        Self::new(window.map_err(|_| invalid("a window beyond this machine's memory"))?)
    }

    /// From the oldest to the newest.
    fn write_data(&self, out: &mut Writer) {
        out.number(self.count());
        self.values().for_each(|value| out.number(value));
    }

    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let count = bytes.len(1)?;
        if count > self.window() as u64 {
            return Err(invalid(format!(
                "{count} values in a window of {}",
                self.window()
            )));
        }
        let values = (0..count).map(|_| bytes.number());
        let values: Vec<u64> = values.collect::<Result<_>>()?;
        let mut window = Self::new(self.window())?;
        window.update(&values)?;
        Ok(window)
    }
}
