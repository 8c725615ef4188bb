//! `GkQuantile` against a sorted array.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "small counts, exact results"
)]

mod oracle;
mod streams;

use oracle::gk::{Sorted, tuple_bound, widest_gap};
use proptest::prelude::*;
use streams::{batches, stream};
use toggle_rs::Error;
use toggle_rs::quantile::{GkQuantile, Merge, Quantile, Rank};

fn gk(epsilon: f64, values: &[f64]) -> GkQuantile {
    let mut sketch = GkQuantile::new(epsilon).unwrap();
    sketch.update(values).unwrap();
    sketch
}

fn check(sketch: &GkQuantile, values: &[f64]) {
    oracle::gk::check(sketch, &Sorted::new(values));
}

/// A stream that always falls into the widest gap: as far as one can tell from
/// the answers, where the sketch knows least.
fn adversarial(epsilon: f64, n: usize, batch: usize) -> Vec<f64> {
    let mut sketch = GkQuantile::new(epsilon).unwrap();
    let mut stream = Vec::new();
    let mut new: Vec<f64> = (0..batch).map(|i| i as f64 * 1e9).collect();
    while stream.len() < n {
        sketch.update(&new).unwrap();
        stream.extend_from_slice(&new);
        let (low, high) = widest_gap(&sketch, &Sorted::new(&stream)).unwrap();
        let step = (high - low) / (batch + 1) as f64;
        new = (1..=batch).map(|i| low + step * i as f64).collect();
    }
    stream
}

fn epsilon() -> impl Strategy<Value = f64> {
    prop::sample::select(&[0.5, 0.25, 0.1, 0.05, 0.01, 0.004, 0.001][..])
}

/// The sketches of the parts of a stream, dealt out in turn or cut in pieces,
/// and merged in any order.
fn merged(epsilon: f64, values: &[f64], parts: usize, in_turn: bool, order: u64) -> GkQuantile {
    let mut sketches: Vec<GkQuantile> = if in_turn {
        (0..parts)
            .map(|part| {
                values
                    .iter()
                    .skip(part)
                    .step_by(parts)
                    .copied()
                    .collect::<Vec<_>>()
            })
            .map(|part| gk(epsilon, &part))
            .collect()
    } else {
        let size = values.len().div_ceil(parts);
        values.chunks(size).map(|part| gk(epsilon, part)).collect()
    };
    let mut order = order;
    while sketches.len() > 1 {
        let taken = sketches.swap_remove(order as usize % sketches.len());
        order = order.rotate_left(7) ^ 0x9e37;
        let into = order as usize % sketches.len();
        sketches[into].merge(&taken).unwrap();
    }
    sketches.remove(0)
}

proptest! {
    #[test]
    fn every_rank_is_within_epsilon(
        epsilon in epsilon(), values in stream(3_000), cuts in any::<u64>(),
    ) {
        let mut sketch = GkQuantile::new(epsilon).unwrap();
        for batch in batches(&values, cuts) {
            sketch.update(batch).unwrap();
        }
        check(&sketch, &values);
        prop_assert!(sketch.tuples() as f64 <= tuple_bound(epsilon, values.len() as u64));
        // The same observations, cut otherwise.
        prop_assert_eq!(sketch, gk(epsilon, &values));
    }

    #[test]
    fn adversarial_streams_are_within_epsilon(
        epsilon in epsilon(), n in 1..3_000_usize, batch in 20..300_usize,
    ) {
        let values = adversarial(epsilon, n, batch);
        let sketch = gk(epsilon, &values);
        check(&sketch, &values);
        prop_assert!(sketch.tuples() as f64 <= tuple_bound(epsilon, values.len() as u64));
    }

    #[test]
    fn merging_keeps_the_bound(
        epsilon in epsilon(), values in stream(4_000), more in stream(400),
        parts in prop::sample::select(&[2, 3, 5, 8, 100][..]),
        in_turn in any::<bool>(), order in any::<u64>(),
    ) {
        let mut sketch = merged(epsilon, &values, parts, in_turn, order);
        check(&sketch, &values);
        sketch.update(&more).unwrap();
        check(&sketch, &[values, more].concat());
    }

    #[test]
    fn merging_adversarial_streams_keeps_the_bound(
        epsilon in epsilon(), n in 1..2_000_usize, batch in 20..300_usize,
        parts in 2..6_usize, in_turn in any::<bool>(), order in any::<u64>(),
    ) {
        let values = adversarial(epsilon, n, batch);
        check(&merged(epsilon, &values, parts, in_turn, order), &values);
    }
}

#[test]
fn few_values_are_exact() {
    assert_eq!(gk(0.5, &[1.0, 2.0, 3.0]).quantile(0.5).unwrap(), Some(2.0));
    let sketch = gk(0.25, &[1.0, 3.0, 2.0]);
    for (rank, q) in [(1.0, 0.3), (2.0, 0.6), (3.0, 0.9)] {
        assert_eq!(sketch.quantile(q).unwrap(), Some(rank));
    }
    let sketch = gk(0.25, &[5.0; 3]);
    assert_eq!(sketch.rank(4.0).unwrap(), Some(0.0));
    assert_eq!(sketch.rank(5.0).unwrap(), Some(1.0));
}

/// SPARK-29336, at the size that was reported and at one that fills summaries.
#[test]
fn parts_dealt_in_turn_merge_within_epsilon() {
    for n in [100, 5_000, 100_000] {
        let values: Vec<f64> = (1..=n).map(f64::from).collect();
        for parts in [5, 100] {
            let sketch = merged(0.1, &values, parts, true, 0);
            for rank in 1..=n.min(5_000) {
                let rank = rank * (n / n.min(5_000));
                let q = (f64::from(rank) - 0.5) / f64::from(n);
                let answer = sketch.quantile(q).unwrap().unwrap();
                assert!((answer - f64::from(rank)).abs() <= 0.1 * f64::from(n));
            }
        }
    }
}

#[test]
fn long_streams_stay_within_the_bound_on_tuples() {
    let n = 100_000;
    let converging: Vec<f64> = (0..n)
        .map(|i| {
            if i % 2 == 0 {
                f64::from(i)
            } else {
                f64::from(2 * n - i)
            }
        })
        .collect();
    for epsilon in [0.1, 0.01, 0.001] {
        for values in [&converging, &adversarial(epsilon, 100_000, 200)] {
            let sketch = gk(epsilon, values);
            check(&sketch, values);
            assert!(sketch.tuples() as f64 <= tuple_bound(epsilon, values.len() as u64));
            let most = sketch.tuples() * 24 + 2 * (8 * 1_000 + 24 * 1_000);
            assert!(sketch.nbytes() <= most, "{}", sketch.nbytes());
        }
    }
}

#[test]
fn empty_ones() {
    let empty = GkQuantile::new(0.1).unwrap();
    let mut merged = empty.clone();
    merged.merge(&empty).unwrap();
    assert_eq!(merged, empty);
    assert_eq!(
        (empty.count(), empty.tuples(), empty.min(), empty.max()),
        (0, 0, None, None)
    );
    assert_eq!(empty.quantile(0.5).unwrap(), None);
    assert_eq!(empty.percentile(50.0).unwrap(), None);
    assert_eq!(empty.rank(1.0).unwrap(), None);

    let full = gk(0.1, &(0..1_000).map(f64::from).collect::<Vec<_>>());
    merged.merge(&full).unwrap();
    assert_eq!(merged, full);
    merged.merge(&empty).unwrap();
    assert_eq!(merged, full);
}

#[test]
fn what_is_out_of_range_is_refused_and_changes_nothing() {
    for epsilon in [0.0, -0.1, 0.500_000_1, f64::NAN, f64::INFINITY] {
        assert!(GkQuantile::new(epsilon).is_err(), "{epsilon}");
    }
    let mut sketch = gk(0.1, &[3.0, 1.0]);
    let before = sketch.clone();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        match sketch.update(&[1.0, bad, f64::NAN]) {
            Err(Error::Value {
                argument: "values",
                index: Some(1),
                ..
            }) => {}
            other => panic!("{other:?}"),
        }
    }
    for q in [-1e-300, 1.000_000_1, f64::NAN] {
        assert!(sketch.quantile(q).is_err());
        assert!(sketch.percentile(100.0 * q).is_err());
    }
    assert!(sketch.rank(f64::NAN).is_err());
    let other = sketch.merge(&gk(0.2, &[1.0])).unwrap_err().to_string();
    assert!(other.contains("0.1") && other.contains("0.2"), "{other}");
    assert_eq!(sketch, before);
}

#[test]
fn the_finest_sketch_is_a_sorted_list() {
    let values: Vec<f64> = (0..20_000).map(|i| f64::from(i * 7_919 % 20_000)).collect();
    let sketch = gk(f64::MIN_POSITIVE, &values);
    check(&sketch, &values);
}

#[test]
fn zeros_of_either_sign_are_one() {
    assert_eq!(gk(0.1, &[-0.0, 0.0]), gk(0.1, &[0.0, -0.0]));
    assert!(gk(0.1, &[-0.0]).min().unwrap().is_sign_positive());
}

#[test]
fn the_largest_numbers_are_as_good_as_any() {
    let values: Vec<f64> = (0..2_000)
        .map(|i| f64::MAX * (f64::from(i * 7 % 2_000) / 1_000.0 - 1.0))
        .collect();
    check(&gk(0.01, &values), &values);
}
