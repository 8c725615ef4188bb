//! `ExactQuantile` and the counts of what it has seen.

use std::collections::BTreeMap;

use toggle_rs::quantile::{ExactQuantile, MAX_LENGTH, Quantile, Rank};

pub type Counts = BTreeMap<u64, u64>;

fn quantile(counts: &Counts, q: f64) -> Option<f64> {
    super::linear(counts.values().sum(), q, |rank| {
        let mut through = 0;
        let entry = counts.iter().find(|entry| {
            through += entry.1;
            through > rank
        });
        *entry.unwrap().0 as f64
    })
}

/// Checks every answer: `counts` is all that it holds.
pub fn check(exact: &ExactQuantile, counts: &Counts, qs: &[f64]) {
    let n: u64 = counts.values().sum();
    assert_eq!(exact.count(), n);
    assert_eq!(exact.min(), counts.keys().next().copied());
    assert_eq!(exact.max(), counts.keys().next_back().copied());
    assert!(exact.counts().eq(counts.iter().map(|(&v, &c)| (v, c))));
    for &q in qs.iter().chain(&[0.0, 0.5, 0.8, 1.0]) {
        assert_eq!(exact.quantile(q).unwrap(), quantile(counts, q), "q = {q}");
    }
    let probes = counts
        .keys()
        .step_by(counts.len() / 8 + 1)
        .flat_map(|&v| [v, v + 1]);
    for value in probes.chain([0, 511, 512, MAX_LENGTH]) {
        let through: u64 = counts.range(..=value).map(|(_, c)| c).sum();
        let rank = (n > 0).then(|| through as f64 / n as f64);
        assert_eq!(exact.rank(value as f64).unwrap(), rank, "value = {value}");
    }
}
