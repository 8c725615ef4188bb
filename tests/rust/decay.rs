//! `DecayQuantile` against sorted samples with their weights.

#![allow(
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "the oracle is in f64, as NumPy; answers are equal to the last bit"
)]

mod lengths;
mod oracle;

use lengths::{batch, cases, lengths};
use oracle::decay::{Cdf, check_nearly, weight};
use proptest::prelude::*;
use toggle_rs::quantile::{DecayQuantile, MAX_LENGTH, Merge, Quantile, Rank};

/// Values with their weights relative to the newest one.
fn samples(batches: &[(u64, Vec<u64>)], half_life: f64) -> Vec<(u64, f64)> {
    let newest = batches
        .iter()
        .filter(|batch| !batch.1.is_empty())
        .map(|batch| batch.0)
        .max();
    let of = |(tick, values): &(u64, Vec<u64>)| {
        let age = newest.unwrap_or(0).saturating_sub(*tick);
        let weight = weight(age, half_life);
        values
            .iter()
            .map(|&value| (value, weight))
            .collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

/// Batches at ticks, each so many after the one before.
fn decayed(batches: &[(u64, Vec<u64>)], half_life: f64) -> DecayQuantile {
    let mut decay = DecayQuantile::new(half_life).unwrap();
    for (tick, values) in batches {
        decay.tick(tick - decay.ticks()).unwrap();
        decay.update(values).unwrap();
    }
    decay
}

fn at_ticks(gaps: impl Strategy<Value = u64>) -> impl Strategy<Value = Vec<(u64, Vec<u64>)>> {
    prop::collection::vec((gaps, batch()), 1..8).prop_map(|batches| {
        let ticks = batches.iter().scan(0, |tick, batch| {
            *tick += batch.0;
            Some(*tick)
        });
        ticks
            .zip(batches.iter().map(|batch| batch.1.clone()))
            .collect()
    })
}

/// Two that saw the same values in another order. What weighs 2^-1000 may be
/// gone from one of them: weights are dropped after some were added up.
fn check_same_but_for_rounding(one: &DecayQuantile, other: &DecayQuantile) {
    assert_eq!(one.ticks(), other.ticks());
    assert_eq!(one.count(), other.count());
    let weights = |decay: &DecayQuantile| {
        let kept = decay.weights().filter(|entry| entry.1 > 1e-270);
        kept.collect::<Vec<_>>()
    };
    let (weights, others) = (weights(one), weights(other));
    assert_eq!(weights.len(), others.len());
    for ((value, a), (same, b)) in weights.into_iter().zip(others) {
        assert_eq!(value, same);
        assert!((a - b).abs() <= 1e-12 * a, "{value}: {a} and {b}");
    }
    for value in [100.0, 1000.0, 10_000.0] {
        let (a, b) = (one.rank(value).unwrap(), other.rank(value).unwrap());
        assert_eq!(a.is_some(), b.is_some());
        assert!((a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs() <= 1e-12);
    }
}

proptest! {
    #![proptest_config(cases(200))]

    /// Powers of two: every sum is exact, so the answers are NumPy's.
    #[test]
    fn equals_inverted_cdf_on_powers_of_two(
        batches in at_ticks(0..5u64),
        qs in prop::collection::vec(0.0..=1.0f64, 4),
        ranks in prop::collection::vec((0..64u32, 1..64u32), 4),
    ) {
        let decay = decayed(&batches, 1.0);
        let samples = samples(&batches, 1.0);
        let cdf = Cdf::new(samples.clone());
        prop_assert_eq!(decay.count(), samples.len() as u64);
        prop_assert_eq!(decay.min(), samples.iter().map(|sample| sample.0).min());
        prop_assert_eq!(decay.max(), samples.iter().map(|sample| sample.0).max());
        // Shares that are hit exactly, and those one bit to either side.
        let total: f64 = samples.iter().map(|sample| sample.1).sum();
        let ties = samples.iter().step_by(samples.len() / 6 + 1).map(|&(value, _)| {
            samples.iter().filter(|s| s.0 <= value).map(|s| s.1).sum::<f64>() / total
        });
        let fractions = ranks.iter().map(|&(i, n)| f64::from(i.min(n)) / f64::from(n));
        let beside = ties.clone().flat_map(|q| [q.next_down().max(0.0), q.next_up().min(1.0)]);
        for q in qs.into_iter().chain(fractions).chain(ties).chain(beside).chain([0.0, 1.0]) {
            prop_assert_eq!(decay.quantile(q).unwrap(), cdf.quantile(q), "q = {}", q);
        }
    }

    #[test]
    fn keeps_the_rule_for_any_half_life(
        batches in at_ticks(prop_oneof![0..5u64, 0..3000u64]),
        half_life in prop_oneof![0.01..10.0f64, 1.0..5000.0f64, Just(1e-300), Just(1e300)],
        qs in prop::collection::vec(0.01..=0.99f64, 4),
    ) {
        let decay = decayed(&batches, half_life);
        // What weighs below 2^-1000 may be gone, and no such q can tell.
        let samples: Vec<_> = samples(&batches, half_life)
            .into_iter()
            .filter(|sample| sample.1 > 1e-300)
            .collect();
        for q in qs {
            check_nearly(&decay, &samples, q);
        }
    }

    #[test]
    fn merging_in_any_order_is_the_same_but_for_rounding(
        parts in prop::collection::vec(at_ticks(0..700u64), 2..4),
        half_life in 0.5..50.0f64,
    ) {
        let parts: Vec<_> = parts.iter().map(|part| decayed(part, half_life)).collect();
        let merged = |order: &[usize]| {
            let mut all = DecayQuantile::new(half_life).unwrap();
            for &part in order {
                all.merge(&parts[part]).unwrap();
            }
            all
        };
        let last = parts.len() - 1;
        let forward = merged(&(0..=last).collect::<Vec<_>>());
        let mut inner = parts[last].clone();
        inner.merge(&parts[last - 1]).unwrap();
        let mut backward = inner;
        for part in parts[..last - 1].iter().rev() {
            backward.merge(part).unwrap();
        }

        check_same_but_for_rounding(&forward, &backward);
    }

    /// A merge is what one stream at the same ticks is.
    #[test]
    fn merging_equals_one_stream(
        batches in at_ticks(0..700u64),
        dealt in prop::collection::vec(any::<bool>(), 8),
        half_life in prop_oneof![Just(1.0), 0.5..50.0f64],
    ) {
        let (left, right): (Vec<_>, Vec<_>) =
            batches.iter().cloned().zip(dealt).partition(|(_, left)| *left);
        let part = |batches: Vec<((u64, Vec<u64>), bool)>| {
            decayed(&batches.into_iter().map(|(batch, _)| batch).collect::<Vec<_>>(), half_life)
        };
        let mut merged = part(left);
        merged.merge(&part(right)).unwrap();
        let whole = decayed(&batches, half_life);
        check_same_but_for_rounding(&merged, &whole);
    }

    #[test]
    fn batches_equal_one_by_one(batches in at_ticks(0..700u64), half_life in 0.5..50.0f64) {
        let mut one_by_one = DecayQuantile::new(half_life).unwrap();
        for (tick, values) in &batches {
            one_by_one.tick(tick - one_by_one.ticks()).unwrap();
            for &value in values {
                one_by_one.update(&[value]).unwrap();
            }
        }
        prop_assert_eq!(one_by_one, decayed(&batches, half_life));
    }
}

/// Over 10^9 ticks, in few steps and in many, with weights that follow the age.
#[test]
fn neither_overflows_nor_dies() {
    for half_life in [1e-9, 0.3, 1.0, 7.0, 1e4, 1e12] {
        for steps in [1, 1000, 1_000_000_000] {
            let mut decay = DecayQuantile::new(half_life).unwrap();
            let mut tick = 0;
            let mut last = 0;
            for i in 0..2000 {
                decay.update(&[i, i + 1]).unwrap();
                last = tick;
                decay.tick(steps).unwrap();
                tick += steps;
            }
            assert_eq!(decay.count(), 4000);
            assert_eq!(decay.max(), Some(2000));
            // 2000 was recorded at the newest tick, 1999 there and at the one before.
            let mut weights = decay.weights().filter(|entry| entry.0 >= 1999);
            let (before, newest) = (weights.next().unwrap().1, weights.next().unwrap().1);
            assert!(before.is_normal() && newest.is_normal());
            let share = newest / before;
            let expected = 1.0 / (1.0 + (-(steps as f64) / half_life).exp2());
            assert!(
                (share - expected).abs() < 1e-12,
                "{half_life}, {steps}: {share}"
            );
            assert_eq!(last + steps, decay.ticks());
        }
    }
}

#[test]
fn answers_stay_while_nothing_is_recorded() {
    let mut decay = DecayQuantile::new(3.0).unwrap();
    for batch in lengths(1).take(5000).collect::<Vec<_>>().chunks(100) {
        decay.update(batch).unwrap();
        decay.tick(1).unwrap();
    }
    let answers = |decay: &DecayQuantile| {
        [0.0, 0.1, 0.5, 0.8, 1.0].map(|q| decay.quantile(q).unwrap().unwrap())
    };
    let before = answers(&decay);
    for _ in 0..40 {
        decay.tick(1 << 47).unwrap();
        decay.update(&[]).unwrap();
        assert_eq!(answers(&decay), before);
    }
    decay.update(&[17]).unwrap();
    assert_eq!(answers(&decay), [17.0; 5], "all else is gone by now");
    assert_eq!(decay.count(), 5001);
}

/// Sums of blocks follow their cells over many more additions than they hold.
#[test]
fn sums_do_not_drift() {
    let mut decay = DecayQuantile::new(100.3).unwrap();
    let values: Vec<u64> = lengths(2).take(1 << 16).collect();
    for _ in 0..80 {
        decay.update(&values).unwrap();
        decay.tick(1).unwrap();
    }
    let weights: Vec<(u64, f64)> = decay.weights().collect();
    for limit in [500, 3000, 20_000] {
        let through: f64 = weights.iter().filter(|w| w.0 <= limit).map(|w| w.1).sum();
        let total: f64 = weights.iter().map(|w| w.1).sum();
        let rank = decay.rank(limit as f64).unwrap().unwrap();
        assert!((rank - through / total).abs() < 1e-9, "{limit}");
    }
}

#[test]
fn memory_follows_the_distinct_values() {
    let mut key = DecayQuantile::new(10.0).unwrap();
    key.update(&lengths(3).take(16).collect::<Vec<_>>())
        .unwrap();
    assert!(key.nbytes() <= 350, "{} bytes for 16 values", key.nbytes());
    let mut scattered = DecayQuantile::new(10.0).unwrap();
    let values: Vec<u64> = lengths::random(4)
        .map(|n| n >> 11)
        .take(1_000_000)
        .collect();
    scattered.update(&values).unwrap();
    assert!(scattered.nbytes() < 24_000_000, "{}", scattered.nbytes());
}

#[test]
fn bad_arguments_change_nothing() {
    for half_life in [0.0, -1.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(DecayQuantile::new(half_life).is_err(), "{half_life}");
    }
    let mut decay = DecayQuantile::new(2.5).unwrap();
    assert_eq!(decay.quantile(0.5).unwrap(), None);
    assert_eq!(decay.rank(0.5).unwrap(), None);
    decay.update(&[4, 5]).unwrap();
    decay.tick(3).unwrap();
    let before = decay.clone();
    assert!(decay.update(&[1, MAX_LENGTH + 1]).is_err());
    assert!(decay.tick(MAX_LENGTH).is_err());
    assert!(decay.tick(u64::MAX).is_err());
    assert!(decay.quantile(1.5).is_err());
    assert!(decay.rank(f64::NAN).is_err());
    assert!(decay.merge(&DecayQuantile::new(2.0).unwrap()).is_err());
    decay.merge(&DecayQuantile::new(2.5).unwrap()).unwrap();
    assert_eq!(decay, before);
    decay.tick(1).unwrap();
    assert_ne!(decay, before);
}
