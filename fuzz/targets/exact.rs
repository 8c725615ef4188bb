//! `ExactQuantile` against a map of counts.

#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use toggle_rs::quantile::{ExactQuantile, MAX_LENGTH, Merge, Quantile, Rank};
use toggle_rs_fuzz::oracle::exact::{Counts, check};
use toggle_rs_fuzz::states::{Splice, altered, check_round_trip};
use toggle_rs_fuzz::values::{Batch, Fraction, Real, Whole, is_quantile};

#[derive(Debug, Arbitrary)]
enum Call {
    Update(Batch<Whole>),
    Insert(Whole),
    Add(Whole, Whole),
    Remove(Whole),
    /// Removes one of each of so many values, from the n-th on.
    RemoveSome(u16, u16),
    FromCounts(Vec<(Whole, Whole)>),
    Merge,
    Double,
    Swap,
    Alter(Vec<Splice>),
    Check(Fraction),
    Rank(Real),
}

/// An estimator and what it holds.
#[derive(Default)]
struct Pair {
    exact: ExactQuantile,
    counts: Counts,
}

impl Pair {
    /// Takes in `more` if all of it is allowed; whether it is.
    fn count(&mut self, more: &[(u64, u64)]) -> bool {
        let seen = self
            .counts
            .values()
            .chain(more.iter().map(|entry| &entry.1));
        let total = seen.fold(0, |sum: u128, &count| sum + u128::from(count));
        let fits = total <= MAX_LENGTH.into() && more.iter().all(|entry| entry.0 <= MAX_LENGTH);
        if fits {
            for &(value, count) in more.iter().filter(|entry| entry.1 > 0) {
                *self.counts.entry(value).or_default() += count;
            }
        }
        fits
    }

    fn remove(&mut self, value: u64) {
        let present = self.counts.get_mut(&value);
        assert_eq!(self.exact.remove(value), present.is_some());
        if let Some(count) = present {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&value);
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        let more: Vec<_> = other.counts.iter().map(|(&v, &c)| (v, c)).collect();
        let fits = self.count(&more);
        assert_eq!(self.exact.merge(&other.exact).is_ok(), fits);
    }

    /// Replaces it by one made of `counts`, when they are valid.
    fn rebuild(&mut self, counts: &[(u64, u64)]) {
        let mut new = Self::default();
        let ordered =
            counts.is_sorted_by(|a, b| a.0 < b.0) && counts.iter().all(|entry| entry.1 > 0);
        let valid = ordered && new.count(counts);
        match ExactQuantile::from_counts(counts.iter().copied()) {
            Ok(exact) => {
                assert!(valid);
                *self = Self { exact, ..new };
            }
            Err(_) => assert!(!valid),
        }
    }
}

fn run(calls: Vec<Call>) {
    let mut pair = Pair::default();
    let mut other = Pair::default();
    for call in calls {
        match call {
            Call::Update(batch) => {
                let values = batch.lengths();
                let fits = pair.count(&values.iter().map(|&value| (value, 1)).collect::<Vec<_>>());
                assert_eq!(pair.exact.update(&values).is_ok(), fits);
            }
            Call::Insert(value) => {
                let fits = pair.count(&[(value.0, 1)]);
                assert_eq!(pair.exact.insert(value.0).is_ok(), fits);
            }
            Call::Add(value, count) => {
                let fits = pair.count(&[(value.0, count.0)]);
                assert_eq!(pair.exact.add(value.0, count.0).is_ok(), fits);
            }
            Call::Remove(value) => pair.remove(value.0),
            Call::RemoveSome(from, n) => {
                let (from, n) = (from.into(), n.into());
                let values: Vec<u64> = pair.counts.keys().skip(from).take(n).copied().collect();
                for value in values {
                    pair.remove(value);
                }
            }
            Call::FromCounts(counts) => {
                let mut counts: Vec<_> = counts.iter().map(|(v, c)| (v.0, c.0)).collect();
                pair.rebuild(&counts);
                counts.sort_unstable();
                pair.rebuild(&counts);
            }
            Call::Merge => pair.merge(&other),
            Call::Double => {
                other.exact.clone_from(&pair.exact);
                other.counts.clone_from(&pair.counts);
                assert_eq!(other.exact, pair.exact);
                pair.merge(&other);
            }
            Call::Swap => std::mem::swap(&mut pair, &mut other),
            Call::Alter(splices) => {
                if let Some(exact) = altered(&pair.exact, splices) {
                    pair.counts = exact.counts().collect();
                    pair.exact = exact;
                }
            }
            Call::Check(Fraction(q)) if is_quantile(q) => check(&pair.exact, &pair.counts, &[q]),
            Call::Check(Fraction(q)) => {
                assert!(pair.exact.quantile(q).is_err());
                assert_eq!(pair.exact.percentile(q).is_ok(), (0.0..=100.0).contains(&q));
            }
            Call::Rank(Real(value)) => match pair.exact.rank(value) {
                Ok(rank) => assert_eq!(rank.is_some(), pair.exact.count() > 0),
                Err(_) => assert!(value.is_nan()),
            },
        }
    }
    for pair in [&pair, &other] {
        check(&pair.exact, &pair.counts, &[]);
        check_round_trip(&pair.exact);
    }
    assert_eq!(pair.exact == other.exact, pair.counts == other.counts);
}

toggle_rs_fuzz::target!(run, Vec<Call>);
