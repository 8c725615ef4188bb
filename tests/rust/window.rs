//! `WindowQuantile` against the sorted slice of the last values.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "the oracle is in f64, as NumPy; answers are equal to the last bit"
)]

mod lengths;
mod oracle;

use lengths::{batch, cases, lengths, random};
use oracle::window::check;
use proptest::prelude::*;
use toggle_rs::quantile::{ExactQuantile, MAX_LENGTH, Quantile, WindowQuantile};

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn equals_the_sorted_slice(
        size in prop_oneof![1..10usize, 1..2000usize],
        batches in prop::collection::vec(batch(), 1..8),
        qs in prop::collection::vec(0.0..=1.0f64, 4),
    ) {
        let mut window = WindowQuantile::new(size).unwrap();
        let mut one_by_one = window.clone();
        let mut seen = Vec::new();
        for batch in &batches {
            window.update(batch).unwrap();
            for &value in batch {
                one_by_one.update(&[value]).unwrap();
            }
            seen.extend(batch);
            check(&window, &seen, &qs);
            prop_assert_eq!(&window, &one_by_one);
        }
    }
}

/// Whatever the window has been through, it counts what a new one counts.
#[test]
fn nothing_is_left_of_what_has_dropped_out() {
    let mut window = WindowQuantile::new(1000).unwrap();
    let streams = lengths(1).zip(random(2)).enumerate();
    let values: Vec<u64> = streams
        .map(|(i, (length, n))| match i / 3000 % 4 {
            0 => length,
            1 => n >> 11,
            2 => 32_768,
            _ => i as u64 * 700,
        })
        .take(40_000)
        .collect();
    for batch in values.chunks(37) {
        window.update(batch).unwrap();
    }
    let mut exact = ExactQuantile::new();
    exact.update(&values[39_000..]).unwrap();
    assert!(window.counts().eq(exact.counts()));
    check(&window, &values, &[0.1, 0.99]);
}

#[test]
fn memory_follows_the_values_not_the_window() {
    let mut window = WindowQuantile::new(1 << 52).unwrap();
    window.update(&[1, 2, 3]).unwrap();
    assert!(window.nbytes() < 300, "{}", window.nbytes());
    let mut window = WindowQuantile::new(1_000_000).unwrap();
    for batch in lengths(3).take(1_500_000).collect::<Vec<_>>().chunks(4096) {
        window.update(batch).unwrap();
    }
    assert!(window.nbytes() < 4_400_000, "{}", window.nbytes());
}

#[test]
fn bad_arguments_change_nothing() {
    for size in [0, (1 << 53) + 1, usize::MAX] {
        let error = WindowQuantile::new(size).unwrap_err();
        assert!(error.to_string().contains(&size.to_string()), "{error}");
    }
    let mut window = WindowQuantile::new(2).unwrap();
    window.update(&[7, 8]).unwrap();
    let before = window.clone();
    assert!(window.update(&[1, MAX_LENGTH + 1]).is_err());
    window.update(&[]).unwrap();
    assert_eq!(window, before);
    window.update(&[7]).unwrap();
    assert_ne!(
        window, before,
        "the same values, but 8 is the older one now"
    );
    assert_ne!(
        WindowQuantile::new(2).unwrap(),
        WindowQuantile::new(3).unwrap()
    );
    assert_eq!(WindowQuantile::new(9).unwrap().quantile(0.5).unwrap(), None);
}
