//! `GkQuantile` and a sorted array.

use toggle_rs::quantile::{GkQuantile, Quantile, Rank};

/// Sorted values, each with the number of values up to it.
pub struct Sorted(Vec<(f64, u64)>);

impl Sorted {
    pub fn new(values: &[f64]) -> Self {
        Self::from_counts(values.iter().map(|&value| (value, 1)).collect())
    }

    pub fn from_counts(mut counts: Vec<(f64, u64)>) -> Self {
        counts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0;
        for entry in &mut counts {
            sum += entry.1;
            entry.1 = sum;
        }
        Self(counts)
    }

    fn count(&self) -> u64 {
        self.0.last().map_or(0, |last| last.1)
    }

    fn below(&self, value: f64) -> u64 {
        let at = self.0.partition_point(|entry| entry.0 < value);
        at.checked_sub(1).map_or(0, |last| self.0[last].1)
    }

    fn through(&self, value: f64) -> u64 {
        let at = self.0.partition_point(|entry| entry.0 <= value);
        at.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}

fn rank_of(q: f64, n: u64) -> u64 {
    ((q * n as f64).ceil() as u64).clamp(1, n)
}

/// How far the rank `rank` is from those that `value` has among sorted values.
fn rank_error(sorted: &Sorted, rank: u64, value: f64) -> u64 {
    let (first, last) = (sorted.below(value) + 1, sorted.through(value));
    assert!(first <= last, "{value} was never recorded");
    first.saturating_sub(rank).max(rank.saturating_sub(last))
}

/// The ends of the widest gap, as far as one can tell from the answers: there
/// the sketch knows least of ranks.
pub fn widest_gap(sketch: &GkQuantile, sorted: &Sorted) -> Option<(f64, f64)> {
    let answers: Vec<f64> = (0..=32)
        .filter_map(|i| sketch.quantile(f64::from(i) / 32.0).unwrap())
        .collect();
    let pairs = answers.windows(2).map(|pair| (pair[0], pair[1]));
    let gap = pairs.max_by_key(|gap| sorted.below(gap.1) - sorted.below(gap.0))?;
    let middle = sorted.below(gap.0).midpoint(sorted.below(gap.1));
    let at = sorted.0.partition_point(|entry| entry.1 <= middle);
    let next = (at + 1).min(sorted.0.len() - 1);
    Some((sorted.0[at].0, sorted.0[next].0))
}

/// The most tuples that the paper proves for one stream; below 2 epsilon n = 2
/// nothing can be left out.
pub fn tuple_bound(epsilon: f64, n: u64) -> f64 {
    5.5 / epsilon * (2.0 * epsilon * n as f64).log2().max(1.0)
}

/// Checks every promise about the answers: `sorted` is all that it has seen.
pub fn check(sketch: &GkQuantile, sorted: &Sorted) {
    let (n, epsilon) = (sorted.count(), sketch.epsilon());
    let before = sketch.clone();
    assert_eq!(sketch.count(), n);
    assert_eq!(sketch.min(), sorted.0.first().map(|entry| entry.0));
    assert_eq!(sketch.max(), sorted.0.last().map(|entry| entry.0));
    assert_eq!(sketch.quantile(0.0).unwrap(), sketch.min());
    assert_eq!(sketch.quantile(1.0).unwrap(), sketch.max());
    if n == 0 {
        assert_eq!(sketch.rank(0.0).unwrap(), None);
        return;
    }
    let mut least = f64::NEG_INFINITY;
    for i in 0..=40 {
        let q = f64::from(i) / 40.0;
        let answer = sketch.quantile(q).unwrap().unwrap();
        assert!(answer >= least, "quantiles fall at {q}");
        least = answer;
        let error = rank_error(sorted, rank_of(q, n), answer);
        let bound = if (n as f64) < 1.0 / epsilon {
            0.0
        } else {
            epsilon * n as f64
        };
        assert!(error as f64 <= bound, "q = {q}: off by {error} of {n}");
    }
    let mut least = 0.0;
    let mut probes = vec![f64::NEG_INFINITY, f64::INFINITY];
    let some = sorted.0.iter().step_by(sorted.0.len() / 20 + 1);
    probes.extend(some.flat_map(|entry| [entry.0.next_down(), entry.0]));
    probes.sort_by(f64::total_cmp);
    for value in probes {
        let through = sorted.through(value) as f64 / n as f64;
        let rank = sketch.rank(value).unwrap().unwrap();
        assert!(
            (rank - through).abs() <= epsilon,
            "rank of {value}: {rank}, not {through}"
        );
        assert!(rank >= least, "ranks fall at {value}");
        least = rank;
    }
    assert_eq!(least, 1.0);
    assert_eq!(sketch, &before, "asking changed the state");
}
