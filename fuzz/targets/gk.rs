//! `GkQuantile` against a sorted array.

#![cfg_attr(fuzzing, no_main)]

use std::collections::BTreeMap;

use arbitrary::{Arbitrary, Unstructured};
use toggle_rs::quantile::{GkQuantile, MAX_LENGTH, Merge, Quantile, Rank};
use toggle_rs_fuzz::oracle::gk::{Sorted, check, tuple_bound, widest_gap};
use toggle_rs_fuzz::states::{Splice, altered, check_round_trip};
use toggle_rs_fuzz::values::{Batch, Fraction, Real, is_quantile};

#[derive(Debug)]
struct Epsilon(f64);

impl Arbitrary<'_> for Epsilon {
    fn arbitrary(u: &mut Unstructured) -> arbitrary::Result<Self> {
        const USUAL: [f64; 7] = [0.5, 0.25, 0.1, 0.05, 0.01, 0.004, 0.001];
        let usual = USUAL.get(usize::from(u.arbitrary::<u8>()? % 8));
        Ok(Self(match usual {
            Some(&epsilon) => epsilon,
            None => Real::arbitrary(u)?.0,
        }))
    }
}

#[derive(Debug, Arbitrary)]
enum Call {
    Update(Batch<Real>),
    /// So many values spread over the widest gap.
    Gap(u16),
    Merge,
    Double,
    Swap,
    Alter(Vec<Splice>),
    Check,
    Ask(Fraction),
    Rank(Real),
}

/// A story ends with a sketch of so many bytes: where epsilon is small, its
/// unsorted head takes in whatever comes, and every question sorts it anew.
const BYTES: usize = 1 << 18;

/// Bits of a number other than -0.0, in an order that is that of the numbers.
fn to_key(value: f64) -> i64 {
    let bits = (value + 0.0).to_bits().cast_signed();
    bits ^ (bits >> 63) & i64::MAX
}

fn from_key(key: i64) -> f64 {
    f64::from_bits((key ^ (key >> 63) & i64::MAX).cast_unsigned())
}

/// A sketch and how often it has seen each number, unless its state is a made
/// up one.
#[derive(Clone)]
struct Pair {
    gk: GkQuantile,
    seen: Option<BTreeMap<i64, u64>>,
    is_one_stream: bool,
}

impl Pair {
    fn new(gk: GkQuantile) -> Self {
        Self {
            gk,
            seen: Some(BTreeMap::new()),
            is_one_stream: true,
        }
    }

    fn update(&mut self, values: &[f64]) {
        let fits = values.iter().all(|value| value.is_finite())
            && self.gk.count() + values.len() as u64 <= MAX_LENGTH;
        assert_eq!(self.gk.update(values).is_ok(), fits);
        if let (true, Some(seen)) = (fits, &mut self.seen) {
            for &value in values {
                *seen.entry(to_key(value)).or_default() += 1;
            }
        }
    }

    fn sorted(&self) -> Option<Sorted> {
        let seen = self.seen.as_ref()?.iter();
        Some(Sorted::from_counts(
            seen.map(|(&key, &count)| (from_key(key), count)).collect(),
        ))
    }

    fn fill_gap(&mut self, n: u32) {
        let sorted = self.sorted();
        let gap = sorted.and_then(|sorted| widest_gap(&self.gk, &sorted));
        let (low, high) = gap.unwrap_or((0.0, 1e300));
        let step = (high / 2.0 - low / 2.0) / f64::from(n + 1) * 2.0;
        let values: Vec<f64> = (1..=n).map(|i| low + step * f64::from(i)).collect();
        self.update(&values);
    }

    fn merge(&mut self, other: &Self) {
        let fits = self.gk.epsilon() == other.gk.epsilon()
            && self.gk.count() + other.gk.count() <= MAX_LENGTH;
        assert_eq!(self.gk.merge(&other.gk).is_ok(), fits);
        if !fits {
            return;
        }
        self.is_one_stream = false;
        match (&mut self.seen, &other.seen) {
            (Some(seen), Some(more)) => {
                for (&key, count) in more {
                    *seen.entry(key).or_default() += count;
                }
            }
            (seen, _) => *seen = None,
        }
    }

    fn check(&self) {
        match self.sorted() {
            Some(sorted) => check(&self.gk, &sorted),
            None => self.check_order(),
        }
        if self.is_one_stream {
            let most = tuple_bound(self.gk.epsilon(), self.gk.count());
            assert!(self.gk.tuples() as f64 <= most);
        }
    }

    /// What holds for whatever state: answers rise, from the least to the most.
    fn check_order(&self) {
        let quantiles = (0..=16).map(|i| self.gk.quantile(f64::from(i) / 16.0).unwrap());
        let quantiles: Vec<_> = quantiles.collect();
        assert!(quantiles.is_sorted());
        assert_eq!(
            (quantiles[0], quantiles[16]),
            (self.gk.min(), self.gk.max())
        );
        let ranks = quantiles
            .iter()
            .flatten()
            .map(|&value| self.gk.rank(value).unwrap());
        let ranks: Vec<f64> = ranks.flatten().collect();
        assert!(ranks.is_sorted() && ranks.iter().all(|&rank| rank > 0.0 && rank <= 1.0));
    }
}

fn run((Epsilon(epsilon), calls): (Epsilon, Vec<Call>)) {
    let made = GkQuantile::new(epsilon);
    assert_eq!(made.is_ok(), epsilon > 0.0 && epsilon <= 0.5);
    let Ok(gk) = made else {
        return;
    };
    let mut pair = Pair::new(gk);
    let mut other = pair.clone();
    for call in calls {
        if pair.gk.nbytes() > BYTES {
            break;
        }
        match call {
            Call::Update(batch) => pair.update(&batch.reals()),
            Call::Gap(n) => pair.fill_gap(u32::from(n) % 1000),
            Call::Merge => pair.merge(&other),
            Call::Double => {
                other = pair.clone();
                assert_eq!(other.gk, pair.gk);
                pair.merge(&other);
            }
            Call::Swap => std::mem::swap(&mut pair, &mut other),
            Call::Alter(splices) => {
                if let Some(gk) = altered(&pair.gk, splices) {
                    pair = Pair {
                        gk,
                        seen: None,
                        is_one_stream: false,
                    };
                }
            }
            Call::Check => pair.check(),
            Call::Ask(Fraction(q)) => {
                assert_eq!(pair.gk.quantile(q).is_ok(), is_quantile(q));
                assert_eq!(pair.gk.percentile(q).is_ok(), (0.0..=100.0).contains(&q));
            }
            Call::Rank(Real(value)) => match pair.gk.rank(value) {
                Ok(rank) => {
                    assert_eq!(rank.is_some(), pair.gk.count() > 0);
                    assert!(rank.is_none_or(is_quantile));
                }
                Err(_) => assert!(value.is_nan()),
            },
        }
    }
    for pair in [&pair, &other] {
        pair.check();
        check_round_trip(&pair.gk);
    }
}

toggle_rs_fuzz::target!(run, (Epsilon, Vec<Call>));
