//! `P2Quantile`, the paper's algorithm written down once more, and a sorted
//! array.

use toggle_rs::quantile::{P2Quantile, Quantile};

/// Box 1 of the paper, step by step, from the sixth value on.
#[allow(clippy::many_single_char_names, reason = "the paper's own names")]
pub fn paper(p: f64, values: &[f64]) -> ([f64; 5], [i64; 5]) {
    let mut q: [f64; 5] = values[..5].try_into().unwrap();
    q.sort_by(f64::total_cmp);
    let mut n = [1, 2, 3, 4, 5];
    for (j, &x) in values.iter().enumerate().skip(5) {
        let k = if x < q[0] {
            q[0] = x;
            0
        } else if x >= q[4] {
            q[4] = x;
            3
        } else {
            (0..4).find(|&k| q[k] <= x && x < q[k + 1]).unwrap()
        };
        for n in &mut n[k + 1..] {
            *n += 1;
        }
        for i in 1..4 {
            let desired = 1.0 + j as f64 * [0.0, p / 2.0, p, f64::midpoint(1.0, p), 1.0][i];
            let d = desired - n[i] as f64;
            let gap = |k: usize| (n[k] - n[i]) as f64;
            if d >= 1.0 && gap(i + 1) > 1.0 || d <= -1.0 && gap(i - 1) < -1.0 {
                let d = d.signum();
                let (after, before) = (gap(i + 1), -gap(i - 1));
                let parabola = q[i]
                    + d / (after + before)
                        * ((before + d) * (q[i + 1] - q[i]) / after
                            + (after - d) * (q[i] - q[i - 1]) / before);
                q[i] = if q[i - 1] < parabola && parabola < q[i + 1] {
                    parabola
                } else {
                    let to = if d > 0.0 { i + 1 } else { i - 1 };
                    q[i] + d * (q[to] - q[i]) / gap(to)
                };
                n[i] += d as i64;
            }
        }
    }
    (q, n)
}

/// `numpy.percentile`, method "linear".
pub fn linear(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    super::linear(sorted.len() as u64, q, |rank| sorted[rank as usize])
}

/// Markers are finite, in order, and at ranks that can be.
pub fn check_markers(p2: &P2Quantile) {
    let (heights, positions) = (p2.heights(), p2.positions());
    let in_use = p2.count().min(5) as usize;
    assert_eq!((heights.len(), positions.len()), (in_use, in_use));
    assert!(heights.is_sorted() && heights.iter().all(|height| height.is_finite()));
    assert!(positions.is_sorted_by(|a, b| a < b));
    assert!(positions.first().is_none_or(|&first| first == 1));
    assert!(positions.last().is_none_or(|&last| last == p2.count()));
    let (min, max, answer) = (p2.min(), p2.max(), p2.quantile(p2.q()).unwrap());
    assert_eq!(
        (min, max),
        (heights.first().copied(), heights.last().copied())
    );
    assert_eq!(answer.is_some(), in_use > 0);
    assert!(min <= answer && answer <= max);
    if p2.q() == 0.0 {
        assert_eq!(answer, min);
    }
    if p2.q() == 1.0 {
        assert_eq!(answer, max);
    }
}

/// The same, and what it must know of `values`, which are all that it has seen.
pub fn check(p2: &P2Quantile, values: &[f64]) {
    check_markers(p2);
    assert_eq!(p2.count(), values.len() as u64);
    assert_eq!(p2.min(), values.iter().copied().reduce(f64::min));
    assert_eq!(p2.max(), values.iter().copied().reduce(f64::max));
}
