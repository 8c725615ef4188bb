//! `DecayQuantile` against samples with their weights.

#![cfg_attr(fuzzing, no_main)]

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use toggle_rs::quantile::{DecayQuantile, MAX_LENGTH, Merge, Quantile, Rank};
use toggle_rs_fuzz::oracle::decay::{Cdf, check_nearly, check_weights, weight};
use toggle_rs_fuzz::states::{Splice, altered, check_round_trip};
use toggle_rs_fuzz::values::{Batch, Fraction, Real, Whole, is_quantile};

#[derive(Debug, Arbitrary)]
enum Call {
    Update(Batch<Whole>),
    Tick(Whole),
    Merge,
    Double,
    Swap,
    Alter(Vec<Splice>),
    Check(Fraction),
    Rank(Real),
}

/// How often each length came at each tick.
type Seen = BTreeMap<(u64, u64), u64>;

/// An estimator and what it has seen, unless its state is a made up one.
#[derive(Clone)]
struct Pair {
    decay: DecayQuantile,
    seen: Option<Seen>,
}

impl Pair {
    fn update(&mut self, values: &[u64]) {
        let fits = values.iter().all(|&value| value <= MAX_LENGTH)
            && self.decay.count() + values.len() as u64 <= MAX_LENGTH;
        assert_eq!(self.decay.update(values).is_ok(), fits);
        if let (true, Some(seen)) = (fits, &mut self.seen) {
            for &value in values {
                *seen.entry((self.decay.ticks(), value)).or_default() += 1;
            }
        }
    }

    fn tick(&mut self, steps: u64) {
        let before = self.decay.ticks();
        let ticks = before
            .checked_add(steps)
            .filter(|&ticks| ticks <= MAX_LENGTH);
        assert_eq!(self.decay.tick(steps).is_ok(), ticks.is_some());
        assert_eq!(self.decay.ticks(), ticks.unwrap_or(before));
    }

    fn merge(&mut self, other: &Self) {
        let fits = self.decay.half_life() == other.decay.half_life()
            && self.decay.count() + other.decay.count() <= MAX_LENGTH;
        assert_eq!(self.decay.merge(&other.decay).is_ok(), fits);
        if !fits {
            return;
        }
        match (&mut self.seen, &other.seen) {
            (Some(seen), Some(more)) => {
                for (&key, count) in more {
                    *seen.entry(key).or_default() += count;
                }
            }
            (seen, _) => *seen = None,
        }
    }

    /// Values and their weights relative to a new one.
    fn samples(&self) -> Option<Vec<(u64, f64)>> {
        let seen = self.seen.as_ref()?;
        let newest = seen.keys().next_back().map_or(0, |last| last.0);
        let half_life = self.decay.half_life();
        let sample = |(&(tick, value), &count): (&(u64, u64), &u64)| {
            (value, count as f64 * weight(newest - tick, half_life))
        };
        Some(seen.iter().map(sample).collect())
    }

    fn check(&self, q: f64) {
        let decay = &self.decay;
        let weights: Vec<(u64, f64)> = decay.weights().collect();
        assert!(weights.is_sorted_by(|a, b| a.0 < b.0));
        assert!(
            weights
                .iter()
                .all(|entry| entry.1 > 0.0 && entry.1.is_finite())
        );
        assert_eq!(weights.is_empty(), decay.count() == 0);
        assert_eq!(decay.min(), weights.first().map(|first| first.0));
        assert_eq!(decay.max(), weights.last().map(|last| last.0));
        assert_eq!(decay.quantile(q).unwrap(), Cdf::new(weights).quantile(q));
        if let Some(samples) = self.samples() {
            let count: u64 = self.seen.iter().flat_map(Seen::values).sum();
            assert_eq!(decay.count(), count);
            check_nearly(decay, &samples, q);
            check_weights(decay, &samples);
        }
    }
}

fn run((Real(half_life), calls): (Real, Vec<Call>)) {
    let Ok(decay) = DecayQuantile::new(half_life) else {
        assert!(half_life.is_nan() || half_life.is_infinite() || half_life <= 0.0);
        return;
    };
    assert!(half_life.is_finite() && half_life > 0.0);
    let mut pair = Pair {
        decay,
        seen: Some(Seen::new()),
    };
    let mut other = pair.clone();
    for call in calls {
        match call {
            Call::Update(batch) => pair.update(&batch.lengths()),
            Call::Tick(Whole(steps)) => pair.tick(steps),
            Call::Merge => pair.merge(&other),
            Call::Double => {
                other = pair.clone();
                assert_eq!(other.decay, pair.decay);
                pair.merge(&other);
            }
            Call::Swap => std::mem::swap(&mut pair, &mut other),
            Call::Alter(splices) => {
                if let Some(decay) = altered(&pair.decay, splices) {
                    pair = Pair { decay, seen: None };
                }
            }
            Call::Check(Fraction(q)) if is_quantile(q) => pair.check(q),
            Call::Check(Fraction(q)) => {
                assert!(pair.decay.quantile(q).is_err());
                assert_eq!(pair.decay.percentile(q).is_ok(), (0.0..=100.0).contains(&q));
            }
            Call::Rank(Real(value)) => match pair.decay.rank(value) {
                Ok(rank) => {
                    assert_eq!(rank.is_some(), pair.decay.count() > 0);
                    assert!(rank.is_none_or(is_quantile));
                }
                Err(_) => assert!(value.is_nan()),
            },
        }
    }
    for pair in [&pair, &other] {
        for q in [0.0, 0.5, 0.8, 1.0] {
            pair.check(q);
        }
        check_round_trip(&pair.decay);
    }
}

toggle_rs_fuzz::target!(run, (Real, Vec<Call>));
