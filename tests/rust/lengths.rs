//! Streams of lengths, for the estimators that count.

#![allow(dead_code, reason = "each test uses its part")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]

use proptest::prelude::*;
use toggle_rs::quantile::MAX_LENGTH;

/// Lengths near each other, near the limits of blocks, and anywhere.
pub fn length() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..2000u64,
        2 => 0..40_000u64,
        1 => (0..64u64).prop_map(|v| v * 512),
        1 => 0..300_000u64,
        1 => (0..40u64).prop_map(|v| (1 << 32) - 20 + v),
        1 => 0..=MAX_LENGTH,
        1 => (0..5u64).prop_map(|v| MAX_LENGTH - v),
    ]
}

/// Most lengths of a range, so that cells in one piece pay.
pub fn dense() -> impl Strategy<Value = Vec<u64>> {
    (any::<u64>(), 500..4000u64, 1000..6000usize)
        .prop_map(|(seed, top, n)| random(seed).map(|number| number % top).take(n).collect())
}

/// Batches that lead to each form of the store.
pub fn batch() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        prop::collection::vec(length(), 0..300),
        prop::collection::vec(0..1500u64, 0..600),
        dense(),
        (length(), 0..700u64, 1..40u64).prop_map(|(start, n, stride)| {
            (start..=MAX_LENGTH)
                .step_by(stride as usize)
                .take(n as usize)
                .collect()
        }),
        (length(), 0..600usize).prop_map(|(value, n)| vec![value; n]),
    ]
}

pub fn cases(default: u32) -> ProptestConfig {
    let set = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok());
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(set.unwrap_or(default))
    }
}

/// A small seeded generator, for tests that need many values, not good ones.
pub fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::from_fn(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(mixed ^ (mixed >> 31))
    })
}

/// Roughly log-normal with a median near 3,000.
pub fn lengths(seed: u64) -> impl Iterator<Item = u64> {
    let mut numbers = random(seed);
    std::iter::from_fn(move || {
        let uniform = (&mut numbers)
            .take(12)
            .map(|n| (n >> 11) as f64 / 2f64.powi(53));
        let normal = uniform.sum::<f64>() - 6.0;
        Some(((8.0 + 0.8 * normal).exp() as u64).min(32_768))
    })
}
