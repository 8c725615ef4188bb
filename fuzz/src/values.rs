//! Values near the limits of what the estimators take, and beyond.

use arbitrary::{Arbitrary, Result, Unstructured};
use toggle_rs::quantile::MAX_LENGTH;

/// Most values of a batch.
const BATCH: u64 = 1000;

/// Any number of 64 bits, more often one near which something changes: the
/// width of a cell, the size of a block, the largest length, the end of `u64`.
#[derive(Debug, Clone, Copy)]
pub struct Whole(pub u64);

impl Arbitrary<'_> for Whole {
    fn arbitrary(u: &mut Unstructured) -> Result<Self> {
        let kind = u.int_in_range(0..=7)?;
        let mut near = |centre: u64| {
            let offset = i64::from(u.arbitrary::<i8>()?);
            Ok(centre.saturating_add_signed(offset))
        };
        Ok(Self(match kind {
            0 => near(0)?,
            1 => near(256)?,
            2 => near(1 << 32)?,
            3 => near(MAX_LENGTH)?,
            4 => near(u64::MAX)?,
            5 => 1 << u.int_in_range(0..=63)?,
            6 => u64::from(u.arbitrary::<u16>()?),
            _ => u.arbitrary()?,
        }))
    }
}

/// Values in order of arrival; compact, so that few bytes fill a block.
#[derive(Debug, Arbitrary)]
pub enum Batch<T> {
    Each(Vec<T>),
    Repeated(T, u16),
    Spread(T, u16, u16),
}

impl Batch<Whole> {
    pub fn lengths(self) -> Vec<u64> {
        match self {
            Self::Each(values) => values.into_iter().map(|value| value.0).collect(),
            Self::Repeated(value, n) => (0..u64::from(n) % BATCH).map(|_| value.0).collect(),
            Self::Spread(start, n, stride) => (0..u64::from(n) % BATCH)
                .map(|i| start.0.saturating_add(i * u64::from(stride)))
                .collect(),
        }
    }
}

impl Batch<Real> {
    pub fn reals(self) -> Vec<f64> {
        match self {
            Self::Each(values) => values.into_iter().map(|value| value.0).collect(),
            Self::Repeated(value, n) => (0..u64::from(n) % BATCH).map(|_| value.0).collect(),
            // The stride is coprime to the number of values in some order.
            Self::Spread(start, n, stride) => {
                let n = u32::from(n) % 1000;
                (0..n)
                    .map(|i| start.0 + f64::from(i * u32::from(stride) % n))
                    .collect()
            }
        }
    }
}

/// Any `f64`: more often a small one with ties, one at the ends of the range,
/// or one of the special ones.
#[derive(Debug, Clone, Copy)]
pub struct Real(pub f64);

impl Arbitrary<'_> for Real {
    fn arbitrary(u: &mut Unstructured) -> Result<Self> {
        const SPECIAL: [f64; 12] = [
            0.0,
            -0.0,
            1.0,
            f64::MIN_POSITIVE,
            5e-324,
            -5e-324,
            f64::MAX,
            f64::MIN,
            1.7e308,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        Ok(Self(match u.int_in_range(0..=4)? {
            0 => f64::from(u.arbitrary::<i8>()?),
            1 => f64::from(u.arbitrary::<i32>()?) / 1024.0,
            2 => 10f64.powi(u.arbitrary::<i8>()?.into()),
            3 => *u.choose(&SPECIAL)?,
            _ => u.arbitrary()?,
        }))
    }
}

/// Any `f64` to ask for as a quantile: most are in [0, 1], some not numbers.
#[derive(Debug, Clone, Copy)]
pub struct Fraction(pub f64);

impl Arbitrary<'_> for Fraction {
    fn arbitrary(u: &mut Unstructured) -> Result<Self> {
        let two: u16 = u.arbitrary()?;
        Ok(Self(match two % 8 {
            0 => Real::arbitrary(u)?.0,
            1 => f64::from(two / 8) / 100.0,
            2 => (f64::from(two / 8) / 100.0).next_down(),
            _ => f64::from(two) / f64::from(u16::MAX),
        }))
    }
}

/// Whether `q` is a quantile at all.
pub fn is_quantile(q: f64) -> bool {
    (0.0..=1.0).contains(&q)
}
