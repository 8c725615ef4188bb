//! `P2Quantile` against the paper, its algorithm written down once more, and
//! a sorted array.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::many_single_char_names,
    reason = "small counts, exact results, the paper's own names"
)]

mod oracle;
mod streams;

use oracle::p2::{check, linear, paper};
use proptest::prelude::*;
use streams::{batches, stream};
use toggle_rs::Error;
use toggle_rs::quantile::{P2Quantile, Quantile};

/// The stream of the paper's example, with 0.15 for its second value.
const PAPER: [f64; 20] = [
    0.02, 0.15, 0.74, 3.39, 0.83, 22.37, 10.15, 15.43, 38.62, 15.92, 34.60, 10.28, 1.47, 0.40,
    0.05, 11.39, 0.27, 0.42, 0.09, 11.37,
];

fn p2(q: f64, values: &[f64]) -> P2Quantile {
    let mut p2 = P2Quantile::new(q).unwrap();
    p2.update(values).unwrap();
    p2
}

fn answer(p2: &P2Quantile) -> f64 {
    p2.quantile(p2.q()).unwrap().unwrap()
}

fn quantile() -> impl Strategy<Value = f64> {
    prop_oneof![
        prop::sample::select(&[0.0, 0.25, 0.5, 0.8, 0.9, 0.99, 1.0][..]),
        0.0..=1.0,
    ]
}

proptest! {
    #[test]
    fn it_is_the_papers_algorithm(
        q in quantile(), values in stream(2_000), cuts in any::<u64>(),
    ) {
        let mut p2 = P2Quantile::new(q).unwrap();
        for batch in batches(&values, cuts) {
            p2.update(batch).unwrap();
        }
        check(&p2, &values);
        if values.len() > 5 {
            let (heights, positions) = paper(q, &values);
            prop_assert_eq!(p2.heights(), &heights[..]);
            prop_assert!(p2.positions().iter().map(|&n| n as i64).eq(positions));
        }
    }

    /// Always next to the marker that is asked for, where it hurts most.
    #[test]
    fn adversarial_streams_keep_the_markers_in_order(
        q in quantile(), n in 6..400_usize, seed in any::<u64>(),
    ) {
        let mut p2 = P2Quantile::new(q).unwrap();
        let mut values = Vec::new();
        let mut bits = seed;
        while values.len() < n {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let near = p2.heights().get((bits >> 60) as usize % 5).copied().unwrap_or(1.0);
            let value = match bits >> 57 & 7 {
                0 => near,
                1 | 2 => near.next_up(),
                3 | 4 => near.next_down(),
                5 => near * 2.0 + 1.0,
                6 => -near,
                _ => near / 2.0,
            };
            let value = value.clamp(-f64::MAX, f64::MAX);
            p2.update(&[value]).unwrap();
            values.push(value);
            check(&p2, &values);
        }
        prop_assert_eq!(p2, self::p2(q, &values));
    }

    #[test]
    fn numbers_of_any_size_keep_the_markers_finite(
        q in quantile(),
        values in prop::collection::vec(
            prop_oneof![
                prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
                prop::sample::select(&[f64::MAX, f64::MIN, 1.7e308, -1.7e308][..]),
            ],
            1..100,
        ),
    ) {
        let mut p2 = P2Quantile::new(q).unwrap();
        for (i, value) in values.iter().enumerate() {
            p2.update(&[*value]).unwrap();
            check(&p2, &values[..=i]);
        }
    }

    #[test]
    fn up_to_five_values_it_is_exact(
        q in quantile(), values in prop::collection::vec(-1e6..1e6, 1..=5),
    ) {
        prop_assert_eq!(Some(answer(&p2(q, &values))), linear(&values, q));
    }
}

#[test]
fn the_papers_example() {
    let result = p2(0.5, &PAPER);
    assert_eq!(answer(&result), 4.440_634_353_260_338);
    assert_eq!(result.positions(), [1, 6, 10, 16, 20]);

    let mut as_printed = PAPER;
    as_printed[1] = 0.5;
    assert_eq!(answer(&p2(0.5, &as_printed)), 4.246_239_408_803_643_5);

    let five = p2(0.5, &PAPER[..5]);
    assert_eq!(five.positions(), [1, 2, 3, 4, 5]);
    assert_eq!(five.heights(), [0.02, 0.15, 0.74, 0.83, 3.39]);
}

#[test]
fn falling_numbers() {
    let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
    assert_eq!(answer(&p2(0.5, &values)), 11.0);
}

/// The figures that the documentation gives.
#[test]
fn documented_limits() {
    let atoms = [[4096.0; 50], [10.0; 50]].concat();
    assert!((answer(&p2(0.9, &atoms)) - 4080.28).abs() < 0.005);

    let low: Vec<f64> = (0..1_000).map(|i| f64::from(i * 617 % 1_000)).collect();
    let high: Vec<f64> = low.iter().map(|x| x + 1_000.0).collect();
    let rising = answer(&p2(0.5, &[low.clone(), high.clone()].concat()));
    let falling = answer(&p2(0.5, &[high, low].concat()));
    assert!((rising - 1_111.2).abs() < 0.05, "{rising}");
    assert!((falling - 880.5).abs() < 0.05, "{falling}");
}

#[test]
fn what_is_out_of_range_is_refused_and_changes_nothing() {
    for q in [2.0, -0.1, 1.0 + f64::EPSILON, f64::NAN, f64::INFINITY] {
        assert!(P2Quantile::new(q).is_err(), "{q}");
    }
    for seen in [&[][..], &PAPER[..3], &PAPER] {
        let mut state = p2(0.5, seen);
        let before = state.clone();
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            match state.update(&[1.0, bad, f64::NAN]) {
                Err(Error::Value {
                    argument: "values",
                    index: Some(1),
                    ..
                }) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(state, before);
    }
}

#[test]
fn it_answers_its_own_quantile_only() {
    let state = p2(0.9, &PAPER);
    assert_eq!(state.percentile(90.0).unwrap(), Some(answer(&state)));
    assert_eq!(state.quantile(0.9 + 0.9e-12).unwrap(), Some(answer(&state)));
    assert!(state.quantile(0.9 + 1.1e-12).is_err());
    let refused = state.percentile(95.0).unwrap_err().to_string();
    assert!(
        refused.contains("95") && refused.contains("0.9"),
        "{refused}"
    );
    let refused = state.quantile(0.95).unwrap_err().to_string();
    assert!(
        refused.contains("0.95") && refused.contains("0.9 "),
        "{refused}"
    );
    // Out of range is refused before anything else.
    assert!(p2(1.0, &PAPER).quantile(1.0 + f64::EPSILON).is_err());
    assert!(state.quantile(f64::NAN).is_err());
    assert!(state.percentile(f64::NAN).is_err());
    // Every percentile that prints as p / 100 finds its own.
    for p in 0..=1_000 {
        let p = f64::from(p) / 10.0;
        assert!(p2(p / 100.0, &PAPER).percentile(p).is_ok());
    }
}

#[test]
fn an_empty_one_has_no_answers() {
    let empty = P2Quantile::new(0.5).unwrap();
    assert_eq!(empty.quantile(0.5).unwrap(), None);
    assert_eq!((empty.count(), empty.min(), empty.max()), (0, None, None));
    assert!(empty.heights().is_empty() && empty.positions().is_empty());
    assert_eq!(empty.nbytes(), size_of::<P2Quantile>());
}

#[test]
fn zeros_of_either_sign_are_one() {
    assert!(answer(&p2(0.5, &[-0.0])).is_sign_positive());
    assert!(P2Quantile::new(-0.0).unwrap().q().is_sign_positive());
}
