//! What the benchmarks are fed with.

#![allow(dead_code, reason = "no benchmark wants all of it")]

pub mod samples;

use rand::{Rng, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, LogNormal};

/// Lengths that come at a time.
pub const BATCH: usize = 4096;
/// Batches of a stream.
pub const BATCHES: usize = 64;
/// Where generation is cut off.
pub const LONGEST: u32 = 32_768;

/// Named streams of lengths: what generation yields, the same with a third cut
/// off at the longest, and one length for all.
pub fn streams() -> [(&'static str, Vec<u64>); 3] {
    let mut rng = StdRng::seed_from_u64(1);
    let normal = LogNormal::new(8.0, 0.8).unwrap();
    let mut draw = |cut: f64| -> Vec<u64> {
        let mut length = || {
            let drawn: f64 = normal.sample(&mut rng);
            let cut = rng.random_bool(cut);
            if cut {
                f64::from(LONGEST)
            } else {
                drawn.min(f64::from(LONGEST))
            }
        };
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "in 0..=LONGEST"
        )]
        (0..BATCH * BATCHES).map(|_| length() as u64).collect()
    };
    [
        ("lognormal", draw(0.0)),
        ("capped", draw(0.33)),
        ("constant", vec![4096; BATCH * BATCHES]),
    ]
}

/// The same as real numbers.
#[allow(clippy::cast_precision_loss, reason = "in 0..=LONGEST")]
pub fn reals(values: &[u64]) -> Vec<f64> {
    values.iter().map(|&value| value as f64).collect()
}
