//! Streams of numbers of every shape, from a few parameters that shrink well.

use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, LogNormal};

#[derive(Debug, Clone, Copy)]
enum Shape {
    LogNormal,
    Rounded,
    Capped,
    TwoValues,
    Constant,
    Sorted,
    Reversed,
    Converging,
    Diverging,
    Drifting,
    Signed,
}

const SHAPES: [Shape; 11] = [
    Shape::LogNormal,
    Shape::Rounded,
    Shape::Capped,
    Shape::TwoValues,
    Shape::Constant,
    Shape::Sorted,
    Shape::Reversed,
    Shape::Converging,
    Shape::Diverging,
    Shape::Drifting,
    Shape::Signed,
];

/// Streams of up to `longest` numbers.
pub fn stream(longest: usize) -> impl Strategy<Value = Vec<f64>> {
    (prop::sample::select(&SHAPES[..]), 1..=longest, any::<u64>())
        .prop_map(|(shape, n, seed)| build(shape, n, seed))
}

fn build(shape: Shape, n: usize, seed: u64) -> Vec<f64> {
    let mut rng = StdRng::seed_from_u64(seed);
    let length = LogNormal::new(6.0_f64, 1.0).unwrap();
    (0..n)
        .map(|i| {
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            let (i, n) = (i as f64, n as f64);
            match shape {
                Shape::LogNormal => length.sample(&mut rng),
                Shape::Rounded => (length.sample(&mut rng) / 50.0).round(),
                Shape::Capped => length.sample(&mut rng).round().min(512.0),
                Shape::TwoValues => f64::from(u8::from(rng.random_bool(0.3))),
                Shape::Constant => 7.0,
                Shape::Sorted => i,
                Shape::Reversed => -i,
                Shape::Converging => sign * (n - i),
                Shape::Diverging => sign * i,
                Shape::Drifting => length.sample(&mut rng) * (1.0 + 3.0 * i / n),
                Shape::Signed => rng.random_range(-1.0..1.0) * 10f64.powi(rng.random_range(-9..9)),
            }
        })
        .collect()
}

/// The stream cut into batches at random places.
pub fn batches(stream: &[f64], seed: u64) -> Vec<&[f64]> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut rest = stream;
    let mut batches = Vec::new();
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(rng.random_range(0..=rest.len().min(700)));
        batches.push(batch);
        rest = later;
    }
    batches
}
