//! The sketches of real numbers, P² and Greenwald-Khanna, beside a bare sum.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::{Rng, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, LogNormal};
use toggle_rs::quantile::{GkQuantile, Merge, P2Quantile, Quantile, Rank};

const LONGEST: f64 = 32_768.0;
const BATCH: usize = 4096;
const VALUES: u32 = 64 * 4096;

/// Named streams: real numbers, lengths a third of which are cut off at the
/// longest, one number throughout, and rising numbers.
fn streams() -> [(&'static str, Vec<f64>); 4] {
    let mut rng = StdRng::seed_from_u64(1);
    let normal = LogNormal::new(8.0_f64, 0.8).unwrap();
    let lognormal = (0..VALUES).map(|_| normal.sample(&mut rng)).collect();
    let capped = (0..VALUES)
        .map(|_| {
            let length = normal.sample(&mut rng).floor();
            if rng.random_bool(0.33) {
                LONGEST
            } else {
                length.min(LONGEST)
            }
        })
        .collect();
    [
        ("lognormal", lognormal),
        ("capped", capped),
        ("constant", vec![4096.0; VALUES as usize]),
        ("sorted", (0..VALUES).map(f64::from).collect()),
    ]
}

/// A whole stream in batches of 4096, from an empty sketch.
fn update(c: &mut Criterion) {
    for (name, values) in streams() {
        let mut group = c.benchmark_group(format!("update/{name}"));
        group.throughput(Throughput::Elements(u64::from(VALUES)));
        group.bench_function("sum alone", |b| {
            b.iter(|| black_box(&values).iter().sum::<f64>());
        });
        for q in [0.5, 0.8, 0.9] {
            let empty = P2Quantile::new(q).unwrap();
            group.bench_function(BenchmarkId::new("P2Quantile", q), |b| {
                b.iter(|| fill(&empty, &values));
            });
        }
        for epsilon in [0.01, 0.001, 0.0001] {
            let empty = GkQuantile::new(epsilon).unwrap();
            group.bench_function(BenchmarkId::new("GkQuantile", epsilon), |b| {
                b.iter(|| fill(&empty, &values));
            });
        }
        group.finish();
    }
}

fn fill<T: Quantile<Value = f64> + Clone>(empty: &T, values: &[f64]) -> T {
    let mut sketch = empty.clone();
    for batch in values.chunks(BATCH) {
        sketch.update(batch).unwrap();
    }
    sketch
}

/// What is asked of a summary, its head buffer empty and all but full.
fn ask(c: &mut Criterion) {
    let [(_, values), ..] = streams();
    for epsilon in [0.01, 0.001] {
        let mut group = c.benchmark_group(format!("GkQuantile {epsilon}"));
        let flushed = fill(&GkQuantile::new(epsilon).unwrap(), &values[..256_000]);
        let mut buffered = flushed.clone();
        buffered.update(&values[..255]).unwrap();
        for (name, sketch) in [("buffer empty", &flushed), ("255 buffered", &buffered)] {
            group.bench_function(BenchmarkId::new("quantile", name), |b| {
                b.iter(|| sketch.quantile(black_box(0.8)).unwrap());
            });
            group.bench_function(BenchmarkId::new("rank", name), |b| {
                b.iter(|| sketch.rank(black_box(4096.0)).unwrap());
            });
        }
        group.bench_function("merge", |b| {
            b.iter_batched_ref(
                || flushed.clone(),
                |sketch| sketch.merge(&buffered),
                criterion::BatchSize::SmallInput,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, update, ask);
criterion_main!(benches);
