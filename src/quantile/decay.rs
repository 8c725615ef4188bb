//! The quantile of lengths whose weight halves with time.

use super::histogram::{Builder, Histogram};
use super::{
    LengthEstimator, MAX_LENGTH, Merge, Quantile, Rank, check_count, check_lengths, check_quantile,
};
use crate::error::{Error, Result};
use crate::snapshot::{Reader, State, Writer};

/// Halvings that make an epoch. Weights are stored as multiples of what a value
/// weighs at the start of the epoch of the newest one, so they stay below
/// 2^(512 + 53), and older epochs are scaled by 2^-512, exactly, when one begins.
const EPOCH: u32 = 512;

/// 2^-512.
const EPOCH_FACTOR: f64 = power_of_two(-512);

/// An older epoch loses all its weight within so many.
const EPOCHS_TO_LIVE: u64 = 4;

/// Values recorded until the sums of blocks are taken anew from their cells,
/// which bounds their relative error by 2^20 * 2^-53.
const SUMS_HOLD: usize = 1 << 20;

/// How near to q a share of the weight must be to be summed up anew: more than
/// what rounding makes of the kept sums, and of a sum over 2^24 lengths.
const NEAR: f64 = power_of_two(-28);

/// The quantile of all lengths seen, where those of `half_life` ticks ago count
/// half: it follows lengths that drift, and forgets gradually.
///
/// A tick is a step of training: call [`Self::tick`] as time advances. A value
/// recorded at tick t weighs 2^(t / `half_life`), relative to the others: weights
/// of what is recorded never change, new values weigh more (forward decay). So
/// a tick costs nothing, and while nothing new is recorded, answers stay as
/// they are, however much time passes.
///
/// # The quantile rule
/// The answer to q is the smallest value whose share of the weight, summed up
/// from the smallest value on, is at least q; the smallest value of all for
/// q = 0. That is `numpy.percentile(values, 100 * q, weights=weights,
/// method="inverted_cdf")`, and equal to it where its sums are exact, as they
/// are for weights that are powers of two.
///
/// # Limits
/// Values more than about 1,000 half-lives older than the newest one are gone:
/// [`Quantile::min`], [`Quantile::max`] and q = 0 are about what still has a
/// weight, and just before that it may depend on the order of merging whether
/// it still has. [`Quantile::count`] counts all that was ever recorded. Weights are
/// `f64`: sums over n lengths err by a fraction of n * 2^-53 at most, and ties
/// nearer than this may fall either way, but the same way for equal weights.
/// There are at most 2^53 ticks.
///
/// # Complexity
/// A value costs a few nanoseconds, a quantile some hundred; the rare one at a
/// tie, and a rank, take time in proportion to the distinct lengths. Memory is
/// 8 bytes for each length up to the largest busy one, 16 for each distinct
/// length while they are few.
///
/// # Source
/// G. Cormode, V. Shkapenyuk, D. Srivastava, B. Xu, "Forward decay: a practical
/// time decay model for streaming systems", ICDE 2009.
///
/// ```
/// use toggle_rs::quantile::{DecayQuantile, Quantile};
///
/// let mut lengths = DecayQuantile::new(1.0)?;
/// lengths.update(&[100, 100, 100])?;
/// lengths.tick(2)?;
/// lengths.update(&[10])?; // weighs 4 by now, against 1 + 1 + 1
/// assert_eq!(lengths.quantile(0.5)?, Some(10.0));
/// assert_eq!(lengths.quantile(0.6)?, Some(100.0));
/// # Ok::<(), toggle_rs::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DecayQuantile {
    half_life: f64,
    ticks: u64,
    count: u64,
    /// Tick of the newest value; 0 while there is none.
    newest: u64,
    /// What a value of tick `newest` weighs.
    weight: f64,
    histogram: Histogram<f64>,
    /// Values recorded since the sums were taken anew.
    since_sums: usize,
}

impl DecayQuantile {
    /// An empty one, at tick 0.
    ///
    /// # Errors
    /// [`Error::Value`] when `half_life`, in ticks, is not finite or not > 0.
    pub fn new(half_life: f64) -> Result<Self> {
        if !(half_life > 0.0 && half_life.is_finite()) {
            let expected = "a finite number of ticks > 0";
            return Err(Error::value("half_life", half_life, expected));
        }
        Ok(Self {
            half_life,
            ticks: 0,
            count: 0,
            newest: 0,
            weight: 1.0,
            histogram: Histogram::default(),
            since_sums: 0,
        })
    }

    /// Ticks in which a weight halves.
    #[must_use]
    pub fn half_life(&self) -> f64 {
        self.half_life
    }

    /// Ticks so far.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Lets time advance by `steps` ticks.
    ///
    /// # Errors
    /// [`Error::Value`] when that makes more than 2^53 ticks.
    pub fn tick(&mut self, steps: u64) -> Result<()> {
        self.ticks = match self.ticks.checked_add(steps) {
            Some(ticks) if ticks <= MAX_LENGTH => ticks,
            _ => {
                let value = format!("{steps} more after {}", self.ticks);
                return Err(Error::value("steps", value, "at most 2**53 ticks in all"));
            }
        };
        Ok(())
    }

    /// Values and their weights, ascending. Only the ratios mean something.
    pub fn weights(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.histogram.iter()
    }

    /// Tick of the newest value; 0 while there is none.
    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// A state from its parts, values ascending, checked: whatever they hold,
    /// no later call can fail on them.
    ///
    /// # Errors
    /// [`Error`] when no calls lead to such a state.
    #[allow(clippy::cast_precision_loss, reason = "counts up to 2^53 are exact")]
    pub(crate) fn from_parts(
        half_life: f64,
        [ticks, newest, count]: [u64; 3],
        weights: &[(u64, f64)],
    ) -> Result<Self> {
        let mut new = Self::new(half_life)?;
        new.tick(ticks)?;
        new.count = check_count("count", 0, count)?;
        let is_sound = newest <= ticks
            && (count > 0 || newest == 0)
            && (count == 0) == weights.is_empty()
            && weights.len() as u64 <= count
            && weights.is_sorted_by(|a, b| a.0 < b.0)
            && weights.iter().all(|&(value, weight)| {
                value <= MAX_LENGTH && weight >= f64::MIN_POSITIVE && weight.is_finite()
            });
        if is_sound {
            new.advance_to(newest);
            let mut histogram = Builder::default();
            for &(value, weight) in weights {
                histogram.push(value, weight);
            }
            new.histogram = histogram.finish();
            // No value weighs more than the newest one.
            if new.histogram.total() <= count as f64 * new.weight * (1.0 + NEAR) {
                return Ok(new);
            }
        }
        Err(Error::Snapshot("decaying weights that do not fit".into()))
    }

    /// [`Quantile::quantile`], with sums that depend on the weights alone, not
    /// on how they came about; they are NumPy's.
    fn quantile_of_weights(&self, q: f64) -> Option<u64> {
        let total = self.weight_through(MAX_LENGTH);
        let mut through = 0.0;
        let mut weights = self.weights();
        let reached = weights.find(|(_, weight)| {
            through += weight;
            through / total >= q
        });
        reached.map(|(value, _)| value)
    }

    /// Sum of the weights of the lengths `<= value`, one after the other.
    fn weight_through(&self, value: u64) -> f64 {
        let weights = self.weights().take_while(|(length, _)| *length <= value);
        weights.fold(0.0, |sum, (_, weight)| sum + weight)
    }

    /// Makes `tick` the one of the newest value.
    fn advance_to(&mut self, tick: u64) {
        let old = Moment::of(self.newest, self.half_life);
        let new = Moment::of(tick, self.half_life);
        for _ in 0..new.epochs_after(old) {
            self.histogram.scale(EPOCH_FACTOR);
        }
        self.newest = tick;
        self.weight = new.weight;
    }

    fn take_sums(&mut self) {
        self.histogram.scale(1.0);
        self.since_sums = 0;
    }
}

/// 2^`exponent`, which must be that of a normal number.
const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) << 52).cast_unsigned())
}

/// The time of a tick, in halvings.
#[derive(Clone, Copy)]
struct Moment {
    /// Whole epochs.
    epoch: u64,
    /// What a value weighs, in `1.0..2^EPOCH`.
    weight: f64,
}

impl Moment {
    /// The quotient of the two as integers: a float would lose the fraction
    /// when the tick is large. Needs `half_life` > 0, `tick` <= 2^53.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "below 2^64, 2^9 and 2^53, in this order, by the range of the arguments"
    )]
    fn of(tick: u64, half_life: f64) -> Self {
        // Beyond this range it makes no difference: one tick takes all weight
        // away, or no number of ticks shows in a weight.
        let half_life = half_life.clamp(power_of_two(-11), power_of_two(112));
        let bits = half_life.to_bits();
        let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
        let exponent = (bits >> 52).cast_signed() - 1075;
        let ticks = u128::from(tick) << (-exponent).max(0);
        let per_halving = u128::from(mantissa) << exponent.max(0);
        let halvings = ticks / per_halving;
        let epoch = (halvings / u128::from(EPOCH)) as u64;
        let in_epoch = (halvings % u128::from(EPOCH)) as i64;
        let fraction = (ticks % per_halving) as f64 / per_halving as f64;
        Self {
            epoch,
            weight: fraction.exp2() * power_of_two(in_epoch),
        }
    }

    /// Epochs from `earlier` to this one, as far as they matter.
    fn epochs_after(self, earlier: Self) -> u64 {
        self.epoch.saturating_sub(earlier.epoch).min(EPOCHS_TO_LIVE)
    }
}

impl Quantile for DecayQuantile {
    type Value = u64;

    fn update(&mut self, values: &[u64]) -> Result<()> {
        check_lengths(values)?;
        let count = check_count("values", self.count, values.len() as u64)?;
        if values.is_empty() {
            return Ok(());
        }
        if self.newest != self.ticks {
            self.advance_to(self.ticks);
        }
        for values in values.chunks(SUMS_HOLD) {
            self.histogram.add_all(values, self.weight);
            self.since_sums += values.len();
            if self.since_sums >= SUMS_HOLD {
                self.take_sums();
            }
        }
        self.count = count;
        Ok(())
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
        // The kept sums depend on the order in which the values came. The answer
        // must not: a state that is read back has other sums.
        let total = self.histogram.total();
        let reached = self.histogram.select(|through| through / total >= q);
        let Some((value, through)) = reached else {
            return Ok(None);
        };
        let entry = self.histogram.first_from(value);
        let below = entry.map_or(through, |(_, weight)| through - weight);
        let is_enough = through / total >= q + NEAR || self.max() == Some(value);
        let is_needed = below / total < q - NEAR || self.min() == Some(value);
        let answer = if is_enough && is_needed {
            Some(value)
        } else {
            self.quantile_of_weights(q)
        };
        Ok(answer.map(|value| value as f64))
    }

    fn nbytes(&self) -> usize {
        size_of::<Self>() + self.histogram.heap_bytes()
    }
}

impl Rank for DecayQuantile {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`value` is in 0..max, which is at most 2^53"
    )]
    fn rank(&self, value: f64) -> Result<Option<f64>> {
        if value.is_nan() {
            return Err(Error::value("value", value, "a number"));
        }
        let Some(max) = self.max() else {
            return Ok(None);
        };
        if value < 0.0 {
            return Ok(Some(0.0));
        }
        if value >= max as f64 {
            return Ok(Some(1.0));
        }
        let through = self.weight_through(value as u64);
        Ok(Some(through / self.weight_through(MAX_LENGTH)))
    }
}

impl Merge for DecayQuantile {
    /// The later of the two ticks is that of the result. In any order, the
    /// weights of the result differ by rounding only.
    #[allow(clippy::float_cmp, reason = "a setting is the same or it is not")]
    fn merge(&mut self, other: &Self) -> Result<()> {
        if self.half_life != other.half_life {
            let expected = format!("one of half_life {}", self.half_life);
            return Err(Error::value("other", other.half_life, expected));
        }
        self.count = check_count("other", self.count, other.count)?;
        self.ticks = self.ticks.max(other.ticks);
        if other.count == 0 {
            return Ok(());
        }
        let mut other = other.clone();
        if self.newest > other.newest {
            other.advance_to(self.newest);
        } else {
            self.advance_to(other.newest);
        }
        for (value, weight) in other.weights() {
            self.histogram.add(value, weight);
        }
        self.take_sums();
        Ok(())
    }
}

impl PartialEq for DecayQuantile {
    fn eq(&self, other: &Self) -> bool {
        self.half_life == other.half_life
            && self.ticks == other.ticks
            && self.count == other.count
            && self.newest == other.newest
            && self.weights().eq(other.weights())
    }
}

impl LengthEstimator for DecayQuantile {
    const NEEDS_CLOCK: bool = true;

    fn settings(&self) -> String {
        format!("{:?}", self.half_life())
    }

    fn extend(&mut self, lengths: &[u64], step: Option<u64>) -> Result<()> {
        self.update_step(lengths, step.unwrap_or(0))
    }

    /// `step` becomes the tick of what is recorded next; time never goes back.
    fn update_step(&mut self, lengths: &[u64], step: u64) -> Result<()> {
        self.tick(step.saturating_sub(self.ticks()))?;
        self.update(lengths)
    }

    fn merge_lengths(&mut self, other: &Self) -> Result<()> {
        self.merge(other)
    }
}

impl State for DecayQuantile {
    fn write_settings(&self, out: &mut Writer) {
        out.real(self.half_life());
    }

    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self> {
        Self::new(bytes.real()?)
    }

    fn write_data(&self, out: &mut Writer) {
        out.number(self.ticks());
        out.number(self.newest());
        out.number(self.count());
        out.number(self.weights().count() as u64);
        let mut next = 0;
        for (value, weight) in self.weights() {
            out.number(value - next);
            out.real(weight);
            next = value + 1;
        }
    }

    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let times = [bytes.number()?, bytes.number()?, bytes.number()?];
        let mut next = 0_u64;
        let weights = (0..bytes.len(9)?).map(|_| {
            let value = next.saturating_add(bytes.number()?);
            next = value.saturating_add(1);
            Ok((value, bytes.real()?))
        });
        let weights: Vec<(u64, f64)> = weights.collect::<Result<_>>()?;
        Self::from_parts(self.half_life(), times, &weights)
    }
}
