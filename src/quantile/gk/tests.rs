//! What only the inside shows: invariants, states from parts, huge counts.

use proptest::prelude::*;

use super::*;
use crate::quantile::MAX_LENGTH;

fn tuple(value: f64, g: u64, delta: u64) -> Tuple {
    Tuple { value, g, delta }
}

/// Checks every invariant, by way of the checks on foreign states.
fn check(sketch: &GkQuantile) {
    let (tuples, buffer) = sketch.parts();
    let again = GkQuantile::from_parts(sketch.epsilon, tuples.to_vec(), buffer.to_vec());
    assert_eq!(again.as_ref(), Ok(sketch));
}

/// Values that fall evenly into the gap where the least is known of ranks.
fn widest_gap(sketch: &GkQuantile, n: u32) -> Vec<f64> {
    let (tuples, _) = sketch.parts();
    let gap = tuples
        .windows(2)
        .max_by_key(|pair| pair[1].g + pair[1].delta);
    let (low, high) = gap.map_or((0.0, 1e300), |pair| (pair[0].value, pair[1].value));
    let step = (high - low) / f64::from(n + 1);
    (1..=n).map(|i| low + step * f64::from(i)).collect()
}

/// Feeds and asks it in every way; fails by a panic or a strange answer.
fn exercise(mut sketch: GkQuantile) {
    let other = sketch.clone();
    let more: Vec<f64> = (0..2_000).map(|i| f64::from(i % 977) - 300.0).collect();
    let merged = sketch.merge(&other);
    assert_eq!(merged.is_ok(), other.count() <= MAX_LENGTH / 2);
    if sketch.update(&more).is_ok() {
        check(&sketch);
    }
    let (min, max) = (sketch.min().unwrap(), sketch.max().unwrap());
    for q in [0.0, 0.3, 1.0] {
        let answer = sketch.quantile(q).unwrap().unwrap();
        assert!((min..=max).contains(&answer));
        let rank = sketch.rank(answer).unwrap().unwrap();
        assert!(rank > 0.0 && rank <= 1.0);
    }
}

proptest! {
    #[test]
    fn invariants_hold_where_it_hurts_most(
        epsilon in prop::sample::select(&[0.5, 0.1, 0.02, 0.005][..]),
        batch in 1..600_u32,
        halves in any::<bool>(),
    ) {
        let mut sketch = GkQuantile::new(epsilon).unwrap();
        for _ in 0..20 {
            let new = widest_gap(&sketch, batch);
            if halves {
                let mut other = GkQuantile::new(epsilon).unwrap();
                other.update(&new).unwrap();
                sketch.update(&new).unwrap();
                sketch.merge(&other).unwrap();
            } else {
                sketch.update(&new).unwrap();
            }
            check(&sketch);
        }
    }

    #[test]
    fn damaged_parts_are_refused_or_harmless(
        epsilon in prop::sample::select(&[0.5, 0.1, 0.02][..]),
        n in 1..2_000_u32,
        at in any::<prop::sample::Index>(),
        field in 0..4_u8,
        by in prop_oneof![-3..4_i64, any::<i64>()],
    ) {
        let mut sketch = GkQuantile::new(epsilon).unwrap();
        sketch.update(&(0..n).map(|i| f64::from(i * 617 % 1_009)).collect::<Vec<_>>()).unwrap();
        let (tuples, buffer) = sketch.parts();
        let (mut tuples, mut buffer) = (tuples.to_vec(), buffer.to_vec());
        let value = |x: f64| f64::from_bits(x.to_bits().wrapping_add_signed(by));
        if field < 3 && !tuples.is_empty() {
            let at = at.index(tuples.len());
            match field {
                0 => tuples[at].value = value(tuples[at].value),
                1 => tuples[at].g = tuples[at].g.wrapping_add_signed(by),
                _ => tuples[at].delta = tuples[at].delta.wrapping_add_signed(by),
            }
        } else if !buffer.is_empty() {
            let at = at.index(buffer.len());
            buffer[at] = value(buffer[at]);
        }
        if let Ok(sketch) = GkQuantile::from_parts(epsilon, tuples, buffer) {
            exercise(sketch);
        }
    }
}

#[test]
fn parts_that_no_stream_leads_to_are_refused() {
    let good = [tuple(1.0, 1, 0), tuple(2.0, 2, 1), tuple(3.0, 3, 0)];
    let build = |epsilon, tuples: &[Tuple], buffer: &[f64]| {
        GkQuantile::from_parts(epsilon, tuples.to_vec(), buffer.to_vec())
    };
    exercise(build(0.25, &good, &[]).unwrap());
    exercise(build(0.25, &good, &[0.0; 255]).unwrap());
    assert!(build(0.25, &good, &[0.0; 256]).is_err());
    assert!(build(0.25, &good, &[f64::NAN]).is_err());
    assert!(build(0.25, &good, &[-0.0]).is_err());
    assert!(build(0.0, &good, &[]).is_err());
    assert!(build(f64::NAN, &good, &[]).is_err());
    assert!(build(0.1, &good, &[]).is_err(), "g + delta above the limit");
    for (at, bad) in [
        (0, tuple(1.0, 2, 0)),
        (0, tuple(1.0, 1, 1)),
        (1, tuple(4.0, 2, 1)),
        (1, tuple(f64::INFINITY, 2, 1)),
        (1, tuple(2.0, 0, 1)),
        (1, tuple(2.0, 2, 3)),
        (1, tuple(2.0, 2, u64::MAX)),
        (1, tuple(2.0, u64::MAX, 0)),
        (1, tuple(2.0, MAX_LENGTH, 0)),
        (2, tuple(3.0, 3, 1)),
    ] {
        let mut tuples = good;
        tuples[at] = bad;
        assert!(build(0.25, &tuples, &[]).is_err(), "{bad:?}");
    }
}

#[test]
fn counts_do_not_wrap() {
    let half = MAX_LENGTH / 2;
    let tuples = vec![tuple(1.0, 1, 0), tuple(2.0, half - 1, 0)];
    let mut sketch = GkQuantile::from_parts(0.5, tuples, Vec::new()).unwrap();
    sketch.merge(&sketch.clone()).unwrap();
    assert_eq!(sketch.count(), MAX_LENGTH);
    let before = sketch.clone();
    assert!(sketch.merge(&before).is_err());
    assert!(sketch.update(&[1.0]).is_err());
    assert_eq!(sketch, before);
    check(&sketch);
    exercise(sketch);
}
