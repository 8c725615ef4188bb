//! Kernels over the scores of a batch: correctness, group accuracy, the mask.
//!
//! Every sum and comparison is made as NumPy makes it, in the same type and
//! the same order, so that results agree bit for bit.

use std::fmt::{Display, Formatter};
use std::ops::{Add, Div};

use crate::column::{CHUNK, Column, chunks};
use crate::error::{Error, Result};

/// An element type that scores may have.
pub trait Score: Copy + Default + PartialEq + Display {
    /// As `f64`; exact, since larger integers are refused by [`check_scores`].
    fn as_f64(self) -> f64;

    /// What a score of this type must be.
    const EXPECTED: &'static str;

    /// Whether NumPy's arithmetic with it means something: finite, and no
    /// integer beyond 2^53, which `f64` would round.
    fn is_exact(self) -> bool;

    /// Whether all of these are.
    fn are_exact(scores: &[Self]) -> bool {
        // Without an early exit, so that it is done several at a time.
        scores
            .iter()
            .fold(true, |all, score| all & score.is_exact())
    }

    /// `self * keep` in NumPy: without `keep` zero, with the sign of `self`
    /// where it has one.
    #[must_use]
    fn masked(self, keep: bool) -> Self;

    /// `min(self, 0)`.
    #[must_use]
    fn capped_at_zero(self) -> Self;
}

macro_rules! float_score {
    ($($t:ty as $bits:ty),*) => {$(
        impl Score for $t {
            const EXPECTED: &'static str = "a finite number";
            #[inline]
            fn as_f64(self) -> f64 {
                self.into()
            }
            #[inline]
            fn is_exact(self) -> bool {
                self.is_finite()
            }
            fn are_exact(scores: &[Self]) -> bool {
                // An exponent of all ones carries over into the sign. Comparing
                // floats one by one would not be SIMD.
                const EXPONENT: $bits = <$t>::INFINITY.to_bits();
                const ONE: $bits = 1 << (<$t>::MANTISSA_DIGITS - 1);
                let carry = |all, score: &Self| all | ((score.to_bits() & EXPONENT) + ONE);
                scores.iter().fold(0, carry) >> (<$bits>::BITS - 1) == 0
            }
            #[inline]
            fn masked(self, keep: bool) -> Self {
                // What is left of a product with zero is the sign.
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let all_or_sign = <$bits>::from(keep).wrapping_neg() | SIGN;
                Self::from_bits(self.to_bits() & all_or_sign)
            }
            #[inline]
            fn capped_at_zero(self) -> Self {
                // `min` may give either zero for -0.0.
                if self > 0.0 { 0.0 } else { self }
            }
        }
    )*};
}
float_score!(f32 as u32, f64 as u64);

macro_rules! integer_score {
    ($($t:ty),*) => {$(
        impl Score for $t {
            const EXPECTED: &'static str = "an integer in -2**53..=2**53";
            #[inline]
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless,
                reason = "exact up to 2^53, which check_scores sees to")]
            fn as_f64(self) -> f64 {
                self as f64
            }
            #[inline]
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_lossless,
                reason = "a narrower type is widened, 2^53 fits the widest")]
            fn is_exact(self) -> bool {
                (-(1_i128 << 53)..=1 << 53).contains(&(self as i128))
            }
            #[inline]
            fn masked(self, keep: bool) -> Self {
                if keep { self } else { 0 }
            }
            #[inline]
            fn capped_at_zero(self) -> Self {
                self.min(0)
            }
        }
    )*};
}
integer_score!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Score for bool {
    const EXPECTED: &'static str = "a bool";
    #[inline]
    fn as_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    #[inline]
    fn is_exact(self) -> bool {
        true
    }
    #[inline]
    fn masked(self, keep: bool) -> Self {
        self & keep
    }
    #[inline]
    fn capped_at_zero(self) -> Self {
        false
    }
}

/// The type in which NumPy divides and averages scores: `f32` where both the
/// scores and the divisor are at most that wide, `f64` otherwise.
pub trait Real: Copy + PartialOrd + Add<Output = Self> + Div<Output = Self> {
    /// What a sum of few terms starts from: it keeps the sign of -0.0.
    const NEGATIVE_ZERO: Self;

    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;

    /// As `f64`, exact.
    fn as_f64(self) -> f64;

    /// A mean: `self / count`, rounded once.
    #[must_use]
    fn over(self, count: usize) -> Self;
}

impl Real for f64 {
    const NEGATIVE_ZERO: Self = -0.0;

    #[inline]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline]
    fn as_f64(self) -> f64 {
        self
    }
    #[inline]
    #[allow(clippy::cast_precision_loss, reason = "no batch has 2^53 samples")]
    fn over(self, count: usize) -> Self {
        self / count as f64
    }
}

impl Real for f32 {
    const NEGATIVE_ZERO: Self = -0.0;

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "rounds as NumPy does beside float32"
    )]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    #[inline]
    fn as_f64(self) -> f64 {
        self.into()
    }
    #[inline]
    fn over(self, count: usize) -> Self {
        // NumPy divides by an int64, hence in float64, and rounds the result.
        Self::from_f64(f64::from(self).over(count))
    }
}

/// What `lambda_` is compared as.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lambda {
    /// The threshold; finite.
    pub value: f64,
    /// A `np.float64` lifts a `float32` accuracy to `float64`; a Python float
    /// is rounded to the type of the accuracy.
    pub strong: bool,
}

impl Display for Lambda {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { value, strong } = self;
        if *strong {
            write!(f, "np.float64({value:?})")
        } else {
            write!(f, "{value:?}")
        }
    }
}

impl Lambda {
    /// `accuracy < lambda_`, as NumPy compares the two.
    #[inline]
    pub fn exceeds<Q: Real>(self, accuracy: Q) -> bool {
        if self.strong {
            accuracy.as_f64() < self.value
        } else {
            accuracy < Q::from_f64(self.value)
        }
    }
}

/// Refuses what NumPy would let through in silence: NaN, infinities, and
/// integers that a float cannot hold.
///
/// # Errors
/// [`Error::Value`] with the index of the first such score.
pub fn check_scores<S: Score>(scores: &(impl Column<S> + ?Sized)) -> Result<()> {
    let mut room = Vec::new();
    for chunk in chunks(scores.len(), CHUNK) {
        let start = chunk.start;
        let block = scores.block(chunk, &mut room);
        if S::are_exact(block) {
            continue;
        }
        if let Some(at) = block.iter().position(|score| !score.is_exact()) {
            let index = start + at;
            return Err(Error::value_at("scores", index, block[at], S::EXPECTED));
        }
    }
    Ok(())
}

/// The score of a correct response, and the divisor of every score.
///
/// # Errors
/// [`Error::Value`] unless it is finite and `> 0`.
pub fn check_max_score(argument: &'static str, max_score: f64) -> Result<()> {
    if max_score.is_finite() && max_score > 0.0 {
        Ok(())
    } else {
        Err(Error::value(argument, max_score, "a finite number > 0"))
    }
}

/// `score >= max_score`, compared in `Q`.
#[inline]
pub fn is_correct<S: Score, Q: Real>(score: S, max_score: Q) -> bool {
    Q::from_f64(score.as_f64()) >= max_score
}

/// Mean of `score / max_score` over a group.
#[inline]
pub fn group_accuracy<S: Score, Q: Real>(scores: &[S], max_score: Q) -> Q {
    // A division by one changes nothing and takes longest of all.
    let sum = if max_score == Q::from_f64(1.0) {
        pairwise_sum(scores, &|score| Q::from_f64(score.as_f64()))
    } else {
        pairwise_sum(scores, &|score| Q::from_f64(score.as_f64()) / max_score)
    };
    sum.over(scores.len())
}

/// The sum that `np.add.reduce` makes of contiguous values.
///
/// Eight accumulators up to 128 values, halves above that. The order of the
/// additions decides the last bit, so it must stay as it is.
fn pairwise_sum<S: Copy, Q: Real>(scores: &[S], value: &impl Fn(S) -> Q) -> Q {
    const LINEAR: usize = 128;
    if scores.len() <= LINEAR {
        return linear_sum(scores, value);
    }
    let half = scores.len() / 2;
    let (lower, upper) = scores.split_at(half - half % 8);
    pairwise_sum(lower, value) + pairwise_sum(upper, value)
}

#[inline]
fn linear_sum<S: Copy, Q: Real>(scores: &[S], value: &impl Fn(S) -> Q) -> Q {
    if scores.len() < 8 {
        let values = scores.iter().map(|&score| value(score));
        return values.fold(Q::NEGATIVE_ZERO, Add::add);
    }
    let (rows, rest) = scores.as_chunks::<8>();
    let mut sums = rows[0].map(value);
    for row in &rows[1..] {
        for (sum, &score) in sums.iter_mut().zip(row) {
            *sum = *sum + value(score);
        }
    }
    let sum =
        ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    rest.iter().map(|&score| value(score)).fold(sum, Add::add)
}

/// A limit that every length is within.
pub(crate) const NO_LIMIT: u64 = u64::MAX >> 1;

/// Writes each score into `shaped`, or zero where the response is longer than
/// its limit, which is at most [`NO_LIMIT`]; returns how many were kept.
pub(crate) fn mask_over_limits<S: Score>(
    scores: &[S],
    lengths: &[u64],
    limits: &[u64],
    shaped: &mut [S],
) -> usize {
    let mut kept = 0_usize;
    let samples = scores.iter().zip(lengths).zip(limits);
    for (slot, ((&score, &length), &limit)) in shaped.iter_mut().zip(samples) {
        // By the sign of the difference: without AVX there is no comparison of
        // 64 bits. And checked arithmetic would keep it from being SIMD.
        let keep = limit.wrapping_sub(length).cast_signed() >= 0;
        kept = kept.wrapping_add(keep.into());
        *slot = score.masked(keep);
    }
    kept
}
