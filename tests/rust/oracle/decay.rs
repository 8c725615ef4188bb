//! `DecayQuantile` and samples with their weights.

use std::collections::BTreeMap;

use toggle_rs::quantile::{DecayQuantile, Quantile, Rank};

/// What a value weighs at `age` ticks, relative to a new one.
pub fn weight(age: u64, half_life: f64) -> f64 {
    (-(age as f64) / half_life).exp2()
}

/// Pairs of a value and a weight, and what
/// `numpy.quantile(values, q, weights=weights, method="inverted_cdf")` makes of
/// them, in its steps: the running sum, divided by its last, and the first that
/// is at least q.
pub struct Cdf {
    samples: Vec<(u64, f64)>,
    sums: Vec<f64>,
}

impl Cdf {
    pub fn new(mut samples: Vec<(u64, f64)>) -> Self {
        samples.sort_by_key(|sample| sample.0);
        let mut sum = 0.0;
        let sums = samples.iter().map(|sample| {
            sum += sample.1;
            sum
        });
        Self {
            sums: sums.collect(),
            samples,
        }
    }

    pub fn quantile(&self, q: f64) -> Option<f64> {
        let total = *self.sums.last()?;
        // So that q = 0 is not answered by a value without a weight.
        let share = |sum: f64| if sum == 0.0 { -1.0 } else { sum / total };
        let index = self.sums.partition_point(|&sum| share(sum) < q);
        Some(self.samples[index.min(self.samples.len() - 1)].0 as f64)
    }
}

/// The answer must have the share that its rule asks for, but for rounding.
pub fn check_nearly(decay: &DecayQuantile, samples: &[(u64, f64)], q: f64) {
    let total: f64 = samples.iter().map(|sample| sample.1).sum();
    let share = |limit: f64, or_equal: bool| {
        let below = |value: f64| value < limit || (or_equal && value == limit);
        samples
            .iter()
            .filter(|s| below(s.0 as f64))
            .map(|s| s.1)
            .sum::<f64>()
            / total
    };
    let Some(answer) = decay.quantile(q).unwrap() else {
        assert!(samples.is_empty());
        return;
    };
    assert!(samples.iter().any(|sample| sample.0 as f64 == answer));
    assert!(
        share(answer, true) >= q - 1e-9,
        "q = {q}: {answer} is too small"
    );
    assert!(
        share(answer, false) < q + 1e-9,
        "q = {q}: {answer} is too large"
    );
    let rank = decay.rank(answer).unwrap().unwrap();
    assert!(
        (rank - share(answer, true)).abs() < 1e-9,
        "rank {rank} of {answer}"
    );
}

/// Each length has its share of the weight, unless so little that it may be gone.
pub fn check_weights(decay: &DecayQuantile, samples: &[(u64, f64)]) {
    let mut expected = BTreeMap::<u64, f64>::new();
    for &(value, weight) in samples {
        *expected.entry(value).or_default() += weight;
    }
    let held: BTreeMap<u64, f64> = decay.weights().collect();
    assert!(held.keys().all(|value| expected.contains_key(value)));
    let total: f64 = expected.values().sum();
    let all: f64 = held.values().sum();
    for (value, weight) in expected {
        let share = held.get(&value).map_or(0.0, |held| held / all);
        let expected = weight / total;
        if weight > 1e-300 {
            assert!(
                (share - expected).abs() <= 1e-9 * expected,
                "{value} has the share {share}, not {expected}"
            );
        }
    }
}
