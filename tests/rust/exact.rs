//! `ExactQuantile` against a sorted array.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "the oracle is in f64, as NumPy; answers are equal to the last bit"
)]

mod lengths;
mod oracle;

use lengths::{cases, dense, length, lengths, random};
use oracle::exact::{Counts, check};
use proptest::prelude::*;
use toggle_rs::quantile::{ExactQuantile, MAX_LENGTH, Merge, Quantile, Rank};

#[derive(Debug, Clone)]
enum Step {
    Batch(Vec<u64>),
    /// Values `start..start + len * stride`, so many times each.
    Run(u64, u64, u64, u64),
    Add(u64, u64),
    /// Removes up to so many of the values present, from the n-th on.
    Remove(usize, usize),
}

/// Counts beside the limits of each kind of cell.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![
        1..4u64,
        250..260u64,
        (0..4u64).prop_map(|c| u64::from(u32::MAX) - 2 + c),
        (0..39u32).prop_map(|bits| 1 << bits),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop::collection::vec(length(), 0..600).prop_map(Step::Batch),
        prop::collection::vec(0..1500u64, 0..600).prop_map(Step::Batch),
        dense().prop_map(Step::Batch),
        (length(), 1..700u64, 1..40u64, count()).prop_map(|(v, n, s, c)| Step::Run(v, n, s, c)),
        (length(), count()).prop_map(|(v, c)| Step::Add(v, c)),
        (0..4000usize, 0..1000usize).prop_map(|(at, n)| Step::Remove(at, n)),
    ]
}

fn apply(step: &Step, exact: &mut ExactQuantile, counts: &mut Counts) {
    match step {
        Step::Batch(values) => {
            exact.update(values).unwrap();
            for &value in values {
                *counts.entry(value).or_default() += 1;
            }
        }
        &Step::Run(start, len, stride, count) => {
            for value in (start..=MAX_LENGTH)
                .step_by(stride as usize)
                .take(len as usize)
            {
                exact.add(value, count).unwrap();
                *counts.entry(value).or_default() += count;
            }
        }
        &Step::Add(value, count) => {
            exact.add(value, count).unwrap();
            *counts.entry(value).or_default() += count;
        }
        &Step::Remove(at, n) => {
            let values: Vec<u64> = counts.keys().skip(at).take(n).copied().collect();
            for value in values {
                assert!(exact.remove(value));
                let count = counts.get_mut(&value).unwrap();
                *count -= 1;
                if *count == 0 {
                    counts.remove(&value);
                    assert!(!exact.remove(value));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn equals_a_sorted_array(
        steps in prop::collection::vec(step(), 1..8),
        qs in prop::collection::vec(0.0..=1.0f64, 4),
    ) {
        let mut exact = ExactQuantile::new();
        let mut counts = Counts::new();
        for step in &steps {
            apply(step, &mut exact, &mut counts);
            check(&exact, &counts, &qs);
        }
        let rebuilt = ExactQuantile::from_counts(exact.counts()).unwrap();
        prop_assert_eq!(&rebuilt, &exact);
        let few: Vec<_> = exact.counts().take_while(|entry| entry.1 < 300).collect();
        for (value, count) in few {
            for _ in 0..count {
                prop_assert!(exact.remove(value));
            }
            counts.remove(&value);
        }
        check(&exact, &counts, &qs);
    }

    #[test]
    fn merging_in_any_order_equals_one_stream(
        parts in prop::collection::vec(prop::collection::vec(step(), 0..3), 2..5),
        qs in prop::collection::vec(0.0..=1.0f64, 4),
    ) {
        let mut counts = Counts::new();
        let mut merged: Vec<ExactQuantile> = Vec::new();
        for part in &parts {
            let mut own = Counts::new();
            let mut exact = ExactQuantile::new();
            for step in part {
                apply(step, &mut exact, &mut own);
            }
            for (value, count) in own {
                *counts.entry(value).or_default() += count;
            }
            merged.push(exact);
        }
        let mut forward = ExactQuantile::new();
        for part in &merged {
            forward.merge(part).unwrap();
        }
        let mut backward = merged.pop().unwrap();
        for part in merged.iter().rev() {
            backward.merge(part).unwrap();
        }
        check(&forward, &counts, &qs);
        prop_assert_eq!(forward, backward);
    }

    /// One by one, in a batch or by the checked way in: the same.
    #[test]
    fn inserting_equals_updating(values in prop::collection::vec(length(), 0..2000)) {
        let mut one_by_one = ExactQuantile::new();
        for &value in &values {
            one_by_one.insert(value).unwrap();
        }
        let mut batch = ExactQuantile::new();
        batch.update(&values).unwrap();
        prop_assert_eq!(one_by_one, batch);
    }
}

#[test]
fn numpy_percentile_cases() {
    let data = [0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 1, 1, 9, 9, 9, 8, 8, 7];
    let mut exact = ExactQuantile::new();
    exact.update(&data).unwrap();
    let answers: Vec<f64> = (0..=100)
        .map(|p| exact.percentile(f64::from(p)).unwrap().unwrap())
        .collect();
    assert!(answers.is_sorted());

    for n in [1, 2, 3, 7, 1000] {
        let mut constant = ExactQuantile::new();
        constant.update(&vec![4097; n]).unwrap();
        for p in [0.0, 1e-300, 33.3, 50.0, 80.0, 99.9, 100.0] {
            assert_eq!(constant.percentile(p).unwrap(), Some(4097.0));
        }
    }
    for p in [f64::NAN, -1e-300, 100.000_000_000_000_01, f64::INFINITY] {
        assert!(exact.percentile(p).is_err(), "{p}");
    }
    assert_eq!(ExactQuantile::new().percentile(50.0).unwrap(), None);
}

#[test]
fn a_refused_call_changes_nothing() {
    let mut exact = ExactQuantile::new();
    exact.update(&[3, 1, 2]).unwrap();
    let before = exact.clone();
    let error = exact.update(&[5, 6, MAX_LENGTH + 1, u64::MAX]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("values[2]: got 9007199254740993"),
        "{error}"
    );
    assert!(exact.insert(MAX_LENGTH + 1).is_err());
    assert!(exact.quantile(f64::NAN).is_err());
    assert!(exact.rank(f64::NAN).is_err());
    assert!(!exact.remove(4));
    assert!(!exact.remove(u64::MAX));
    assert_eq!(exact, before);

    exact.add(7, MAX_LENGTH - 3).unwrap();
    let full = exact.clone();
    assert!(exact.insert(1).is_err());
    assert!(exact.add(1, u64::MAX).is_err());
    assert!(exact.update(&[1]).is_err());
    assert!(exact.merge(&before).is_err());
    assert_eq!(exact, full);
    assert_eq!(exact.quantile(1.0).unwrap(), Some(7.0));

    let one = |value| ExactQuantile::from_counts([(value, 1)]).unwrap();
    assert_ne!(one(1), one(2), "as many, but not the same");
    assert!(ExactQuantile::from_counts([(2, 1), (2, 1)]).is_err());
    assert!(ExactQuantile::from_counts([(2, 0)]).is_err());
    assert!(ExactQuantile::from_counts([(MAX_LENGTH + 1, 1)]).is_err());
    assert!(ExactQuantile::from_counts([(1, MAX_LENGTH), (2, 1)]).is_err());
}

#[test]
fn ranks_outside_the_lengths() {
    let mut exact = ExactQuantile::new();
    assert_eq!(exact.rank(1.0).unwrap(), None);
    exact.update(&[0, MAX_LENGTH]).unwrap();
    assert_eq!(exact.rank(f64::NEG_INFINITY).unwrap(), Some(0.0));
    assert_eq!(exact.rank(-0.0).unwrap(), Some(0.5));
    assert_eq!(exact.rank(f64::INFINITY).unwrap(), Some(1.0));
}

#[test]
fn memory_follows_the_distinct_values() {
    assert!(size_of::<ExactQuantile>() <= 48);
    let small: Vec<u64> = lengths(1).take(16).collect();
    let mut key = ExactQuantile::new();
    key.update(&small).unwrap();
    assert!(key.nbytes() <= 184, "{} bytes for 16 values", key.nbytes());

    let mut full = ExactQuantile::new();
    full.update(&(0..262_144).collect::<Vec<_>>()).unwrap();
    assert!(full.nbytes() <= 1_200_000, "{}", full.nbytes());
    for value in 0..262_144 {
        full.add(value, 1 << 33).unwrap();
    }
    assert!(
        full.nbytes() as f64 <= 2.2 * f64::from(1 << 20),
        "{}",
        full.nbytes()
    );

    let streams: [(&str, Box<dyn Iterator<Item = u64>>); 6] = [
        ("lognormal", Box::new(lengths(2))),
        ("uniform 2^15", Box::new(random(3).map(|n| n >> 49))),
        ("uniform 2^18", Box::new(random(4).map(|n| n >> 46))),
        ("uniform 2^24", Box::new(random(5).map(|n| n >> 40))),
        ("uniform 2^53", Box::new(random(6).map(|n| n >> 11))),
        ("ascending", Box::new((0..).map(|n| n * 300))),
    ];
    for (name, mut stream) in streams {
        let mut exact = ExactQuantile::new();
        for n in 1..=40_000 {
            exact.insert(stream.next().unwrap()).unwrap();
            if n % 97 == 0 || n == 10_000 {
                let distinct = exact.counts().count();
                let allowed = 16 * distinct + 128;
                assert!(
                    exact.nbytes() <= allowed,
                    "{name}, {distinct}: {}",
                    exact.nbytes()
                );
            }
        }
    }
}

/// A million scattered values, one by one and at once: this takes minutes if
/// an insertion costs as much as what is there.
#[test]
fn hostile_streams_are_not_quadratic() {
    let values: Vec<u64> = random(7).map(|n| n >> 11).take(1_000_000).collect();
    let mut batch = ExactQuantile::new();
    batch.update(&values).unwrap();
    let mut one_by_one = ExactQuantile::new();
    for &value in &values {
        one_by_one.insert(value).unwrap();
    }
    let mut descending = ExactQuantile::new();
    for n in (0..1_000_000).rev() {
        descending.insert(n << 33).unwrap();
    }
    assert_eq!(batch, one_by_one);
    assert_eq!(descending.count(), 1_000_000);
    for &value in &values {
        assert!(batch.remove(value));
    }
    assert_eq!(batch, ExactQuantile::new());
}
