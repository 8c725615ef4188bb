//! `WindowQuantile` against the sorted slice of the last values.

#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use toggle_rs::quantile::{MAX_LENGTH, Quantile, Rank, WindowQuantile};
use toggle_rs_fuzz::oracle::window::check;
use toggle_rs_fuzz::states::{Splice, altered, check_round_trip};
use toggle_rs_fuzz::values::{Batch, Fraction, Real, Whole, is_quantile};

#[derive(Debug, Arbitrary)]
enum Call {
    Update(Batch<Whole>),
    Alter(Vec<Splice>),
    Check(Fraction),
    Rank(Real),
}

/// The window that takes in all that `seen` ends with, one by one.
fn rebuilt(size: usize, seen: &[u64]) -> WindowQuantile {
    let mut window = WindowQuantile::new(size).unwrap();
    for &value in &seen[seen.len().saturating_sub(size)..] {
        window.update(&[value]).unwrap();
    }
    window
}

fn run((Whole(size), calls): (Whole, Vec<Call>)) {
    let made = usize::try_from(size).map(WindowQuantile::new);
    assert_eq!(matches!(made, Ok(Ok(_))), (1..=MAX_LENGTH).contains(&size));
    let Ok(Ok(mut window)) = made else {
        return;
    };
    let mut seen = Vec::new();
    for call in calls {
        match call {
            Call::Update(batch) => {
                let values = batch.lengths();
                let fits = values.iter().all(|&value| value <= MAX_LENGTH);
                assert_eq!(window.update(&values).is_ok(), fits);
                if fits {
                    seen.extend(values);
                }
            }
            Call::Alter(splices) => {
                if let Some(state) = altered(&window, splices) {
                    seen = state.values().collect();
                    window = state;
                }
            }
            Call::Check(Fraction(q)) if is_quantile(q) => check(&window, &seen, &[q]),
            Call::Check(Fraction(q)) => {
                assert!(window.quantile(q).is_err());
                assert_eq!(window.percentile(q).is_ok(), (0.0..=100.0).contains(&q));
            }
            Call::Rank(Real(value)) => match window.rank(value) {
                Ok(rank) => assert_eq!(rank.is_some(), !seen.is_empty()),
                Err(_) => assert!(value.is_nan()),
            },
        }
    }
    check(&window, &seen, &[]);
    check_round_trip(&window);
    assert_eq!(window, rebuilt(window.window(), &seen));
}

toggle_rs_fuzz::target!(run, (Whole, Vec<Call>));
