//! The P² algorithm of Jain and Chlamtac: one quantile from five markers.

#[cfg(test)]
mod tests;

use super::interpolate::{Position, lerp};
use super::{
    LengthEstimator, Named, Quantile, check_count, check_finite, check_percentile, check_quantile,
    is_canonical,
};
use crate::error::{Error, Result};
use crate::snapshot::{Reader, State, Writer};

const MARKERS: usize = 5;
const FIRST_POSITIONS: [u64; MARKERS] = [1, 2, 3, 4, 5];
/// How far a quantile may be from the one that is followed and still count as
/// the same: room for the rounding of `p / 100`, no more.
const TOLERANCE: f64 = 1e-12;

/// One quantile of a stream of finite numbers, in constant memory.
///
/// Five markers (minimum, maximum, the quantile `q` and one halfway to either
/// side) move with the stream; a parabola through three neighbours gives a
/// marker its new height. Up to five values the answer is exact, by the linear
/// rule of `numpy.percentile`; for `q` 0 and 1 it always is.
///
/// # Limits
/// There is **no bound on the error**, and the answer depends on the order of
/// the values.
///
/// * It interpolates between values, also where there are none. With `q` = 0.9,
///   50 times 4096 and then 50 times 10 give 4080.28 (exact: 4096).
/// * On drift it is off by more than the noise. With `q` = 0.5, 1000 values
///   spread over 0..1000 and then 1000 over 1000..2000 give 1111.2; in the other
///   order, 880.5 (exact: 999.5).
/// * It answers its own `q` only. It has no ranks and no merge, as five heights
///   do not say enough of the values seen: it implements neither
///   [`Rank`](super::Rank) nor [`Merge`](super::Merge).
///
/// Markers are always finite and in order. Where a parabola or a slope would
/// overflow (values near 1e308), a linear step that cannot takes its place.
///
/// # Complexity
/// O(1) a value, in constant memory.
///
/// # Source
/// R. Jain and I. Chlamtac, "The P² algorithm for dynamic calculation of
/// quantiles and histograms without storing observations", Communications of
/// the ACM 28 (10), 1985. Desired positions are computed as 1 + (n - 1) f, since
/// the paper's increments, added up, would drift.
///
/// # Examples
/// ```
/// use toggle_rs::quantile::{P2Quantile, Quantile};
///
/// let mut median = P2Quantile::new(0.5)?;
/// median.update(&[9.0, 1.0, 5.0])?;
/// assert_eq!(median.quantile(0.5)?, Some(5.0));
/// assert!(median.quantile(0.9).is_err());
/// # Ok::<(), toggle_rs::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct P2Quantile {
    q: f64,
    count: u64,
    /// In order; while there are fewer values than markers, the rest is 0.
    heights: [f64; MARKERS],
    /// Ranks of the markers, from 1.
    positions: [u64; MARKERS],
}

impl P2Quantile {
    /// An empty estimator of the quantile `q`.
    ///
    /// # Errors
    /// [`Error::Value`] when `q` is not in `0..=1`.
    pub fn new(q: f64) -> Result<Self> {
        check_quantile(q)?;
        Ok(Self {
            // -0.0 would print and encode unlike the equal 0.0.
            q: q + 0.0,
            count: 0,
            heights: [0.0; MARKERS],
            positions: FIRST_POSITIONS,
        })
    }

    /// The quantile that it follows.
    #[must_use]
    pub fn q(&self) -> f64 {
        self.q
    }

    /// Heights of the markers in use (as many as there are values, at most
    /// five), in order: the first is the minimum, the last the maximum.
    #[must_use]
    pub fn heights(&self) -> &[f64] {
        &self.heights[..self.in_use()]
    }

    /// Positions of the markers in use: their ranks among the values, from 1.
    #[must_use]
    pub fn positions(&self) -> &[u64] {
        &self.positions[..self.in_use()]
    }

    /// A state from its parts, checked: whatever they hold, no later call can
    /// fail on them.
    ///
    /// # Errors
    /// [`Error::Snapshot`] when no stream leads to such markers.
    pub(crate) fn from_parts(
        q: f64,
        count: u64,
        heights: [f64; MARKERS],
        positions: [u64; MARKERS],
    ) -> Result<Self> {
        let state = Self {
            q,
            count,
            heights,
            positions,
        };
        if state.is_valid() {
            Ok(state)
        } else {
            Err(Error::Snapshot("P2 markers out of order".into()))
        }
    }

    fn is_valid(&self) -> bool {
        let (used, unused) = self.heights.split_at(self.in_use());
        let positions = &self.positions;
        check_quantile(self.q).is_ok()
            && check_count("count", self.count, 0).is_ok()
            && self
                .heights
                .iter()
                .chain([&self.q])
                .all(|&x| is_canonical(x))
            && used.is_sorted()
            && unused.iter().all(|&height| height == 0.0)
            && if self.count <= MARKERS as u64 {
                *positions == FIRST_POSITIONS
            } else {
                positions[0] == 1
                    && positions[MARKERS - 1] == self.count
                    && positions.is_sorted_by(|a, b| a < b)
            }
    }

    fn in_use(&self) -> usize {
        usize::try_from(self.count).map_or(MARKERS, |count| count.min(MARKERS))
    }

    fn answer(&self, argument: &'static str, given: f64, q: f64) -> Result<Option<f64>> {
        if (q - self.q).abs() > TOLERANCE {
            let expected = format!("the quantile {} that this P2Quantile follows", self.q);
            return Err(Error::value(argument, given, expected));
        }
        let heights = self.heights();
        Ok(match heights {
            [] => None,
            [.., last] if self.q >= 1.0 => Some(*last),
            [first, ..] if self.q <= 0.0 => Some(*first),
            _ if self.count > MARKERS as u64 => Some(heights[2]),
            _ => Some(exact(heights, self.q, self.count)),
        })
    }

    /// Puts one of the first five values in its place.
    fn insert_sorted(&mut self, value: f64) {
        let used = self.in_use();
        let at = self.heights[..used].partition_point(|&height| height <= value);
        self.heights.copy_within(at..used, at + 1);
        self.heights[at] = value;
        self.count += 1;
    }
}

impl Quantile for P2Quantile {
    type Value = f64;

    fn update(&mut self, values: &[f64]) -> Result<()> {
        check_finite(values)?;
        let count = check_count("values", self.count, values.len() as u64)?;
        let room = MARKERS - self.in_use();
        let (first, rest) = values.split_at(room.min(values.len()));
        for &value in first {
            self.insert_sorted(value + 0.0);
        }
        if !rest.is_empty() {
            let mut markers = Markers::new(self);
            for &value in rest {
                markers.record(value + 0.0);
            }
            self.heights = markers.heights;
            self.positions = markers.positions.map(to_position);
            self.count = count;
        }
        Ok(())
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn min(&self) -> Option<f64> {
        self.heights().first().copied()
    }

    fn max(&self) -> Option<f64> {
        self.heights().last().copied()
    }

    /// The quantile `q`, `None` when empty.
    ///
    /// # Errors
    /// [`Error::Value`] when `q` is not the one that this estimator follows (to
    /// 1e-12).
    fn quantile(&self, q: f64) -> Result<Option<f64>> {
        check_quantile(q)?;
        self.answer("q", q, q)
    }

    fn percentile(&self, p: f64) -> Result<Option<f64>> {
        check_percentile(p)?;
        self.answer("p", p, p / 100.0)
    }

    fn nbytes(&self) -> usize {
        size_of::<Self>()
    }
}

/// The markers while a batch goes in: positions as floats, exact up to 2^53,
/// since every use of them is in a formula with floats.
struct Markers {
    heights: [f64; MARKERS],
    positions: [f64; MARKERS],
    /// Desired position of the marker `i` among n values: 1 + (n - 1) f\[i\].
    fractions: [f64; MARKERS],
}

impl Markers {
    #[allow(clippy::cast_precision_loss, reason = "positions are at most 2^53")]
    fn new(state: &P2Quantile) -> Self {
        let q = state.q;
        Self {
            heights: state.heights,
            positions: state.positions.map(|position| position as f64),
            fractions: [0.0, q / 2.0, q, f64::midpoint(1.0, q), 1.0],
        }
    }

    #[inline]
    fn record(&mut self, value: f64) {
        if value < self.heights[0] {
            self.heights[0] = value;
        } else if value > self.heights[4] {
            self.heights[4] = value;
        }
        let before = self.positions[4];
        self.positions[4] += 1.0;
        for i in 1..4 {
            self.positions[i] += f64::from(u8::from(value < self.heights[i]));
        }
        let ahead = [1, 2, 3].map(|i| 1.0 + before * self.fractions[i] - self.positions[i]);
        // Most values move no marker: one branch for all three.
        if ahead.iter().all(|ahead| ahead.abs() < 1.0) {
            return;
        }
        for (i, ahead) in (1..).zip(ahead) {
            let [left, at, right] = [i - 1, i, i + 1].map(|j| self.positions[j]);
            if ahead >= 1.0 && right - at > 1.0 {
                self.shift(i, 1.0);
            } else if ahead <= -1.0 && at - left > 1.0 {
                self.shift(i, -1.0);
            }
        }
    }

    /// Moves the marker `i` one position up or down (`d` = 1 or -1), along the
    /// parabola through its neighbours, or else along the line to one of them.
    #[inline]
    fn shift(&mut self, i: usize, d: f64) {
        let [below, here, above] = [i - 1, i, i + 1].map(|j| self.heights[j]);
        let [left, at, right] = [i - 1, i, i + 1].map(|j| self.positions[j]);
        let parabola = here
            + d / (right - left)
                * ((at - left + d) * (above - here) / (right - at)
                    + (right - at - d) * (here - below) / (at - left));
        // False as well when a term has overflowed to infinity or NaN.
        self.heights[i] = if below < parabola && parabola < above {
            parabola
        } else if d > 0.0 {
            step(here, above, right - at)
        } else {
            step(here, below, at - left)
        };
        self.positions[i] = at + d;
    }
}

/// From `from` the n-th part of the way to `to`. `n` is at least 2, so that in
/// the second form neither the halves nor their difference can overflow.
fn step(from: f64, to: f64, n: f64) -> f64 {
    let difference = to - from;
    if difference.is_finite() {
        from + difference / n
    } else {
        from + (to / n - from / n)
    }
}

/// The linear rule on sorted values, finite also where NumPy's form overflows.
fn exact(sorted: &[f64], q: f64, count: u64) -> f64 {
    let Position { lower, fraction } = Position::of(q, count);
    #[allow(clippy::cast_possible_truncation, reason = "one of five values")]
    let lower = lower as usize;
    let (a, b) = (sorted[lower], sorted[(lower + 1).min(sorted.len() - 1)]);
    if (b - a).is_finite() {
        lerp(a, b, fraction)
    } else {
        a * (1.0 - fraction) + b * fraction
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive integer, at most 2^53"
)]
fn to_position(position: f64) -> u64 {
    position as u64
}

impl LengthEstimator for P2Quantile {
    const NAMED: Option<Named<Self>> = Some(("p2", |percentile| {
        check_percentile(percentile).map_err(|error| error.about("percentile"))?;
        Self::new(percentile / 100.0)
    }));

    fn settings(&self) -> String {
        format!("{:?}", self.q())
    }

    fn merge_lengths(&mut self, _: &Self) -> Result<()> {
        Err(Error::Unsupported {
            operation: "merge",
            estimator: "P2Quantile",
            reason: "five markers do not tell how the values between them lie",
        })
    }
}

impl State for P2Quantile {
    fn write_settings(&self, out: &mut Writer) {
        out.real(self.q());
    }

    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self> {
        Self::new(bytes.real()?)
    }

    /// The first position is always 1, the last the count; up to five values
    /// have the ranks 1 to 5.
    fn write_data(&self, out: &mut Writer) {
        out.number(self.count());
        for &height in self.heights() {
            out.real(height);
        }
        if self.count() > 5 {
            self.positions()[1..4]
                .iter()
                .for_each(|&position| out.number(position));
        }
    }

    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let count = bytes.number()?;
        let (mut heights, mut positions) = ([0.0; 5], [1, 2, 3, 4, 5]);
        for (height, _) in heights.iter_mut().zip(0..count) {
            *height = bytes.real()?;
        }
        if count > 5 {
            for position in &mut positions[1..4] {
                *position = bytes.number()?;
            }
            positions[4] = count;
        }
        Self::from_parts(self.q(), count, heights, positions)
    }
}
