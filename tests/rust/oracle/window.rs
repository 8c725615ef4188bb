//! `WindowQuantile` and the slice of the last values.

use toggle_rs::quantile::{Quantile, Rank, WindowQuantile};

/// Checks every answer: `seen` ends with the values that it holds.
pub fn check(window: &WindowQuantile, seen: &[u64], qs: &[f64]) {
    let last = &seen[seen.len().saturating_sub(window.window())..];
    let mut sorted = last.to_vec();
    sorted.sort_unstable();
    let expected = |q| super::linear(sorted.len() as u64, q, |rank| sorted[rank as usize] as f64);
    assert_eq!(window.count(), last.len() as u64);
    assert_eq!(window.min(), sorted.first().copied());
    assert_eq!(window.max(), sorted.last().copied());
    assert!(window.values().eq(last.iter().copied()));
    for &q in qs.iter().chain(&[0.0, 0.5, 0.8, 1.0]) {
        assert_eq!(window.quantile(q).unwrap(), expected(q), "q = {q}");
    }
    for &value in sorted.iter().step_by(sorted.len() / 4 + 1) {
        let through = sorted.partition_point(|&other| other <= value);
        let rank = through as f64 / sorted.len() as f64;
        assert_eq!(window.rank(value as f64).unwrap(), Some(rank));
    }
}
