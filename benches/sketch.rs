//! The sketches of real numbers, P² and Greenwald-Khanna, beside a bare sum.

mod common;

use std::hint::black_box;

use common::{BATCH, BATCHES, reals};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use toggle_rs::quantile::{GkQuantile, Merge, P2Quantile, Quantile, Rank};

const VALUES: u64 = (BATCH * BATCHES) as u64;

/// Those of lengths, and rising numbers.
fn streams() -> Vec<(&'static str, Vec<f64>)> {
    let lengths = common::streams();
    let named = lengths.iter().map(|(name, values)| (*name, reals(values)));
    named
        .chain([("sorted", reals(&(0..VALUES).collect::<Vec<_>>()))])
        .collect()
}

/// A whole stream in batches of 4096, from an empty sketch.
fn update(c: &mut Criterion) {
    for (name, values) in streams() {
        let mut group = c.benchmark_group(format!("update/{name}"));
        group.throughput(Throughput::Elements(VALUES));
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
    let (_, values) = &streams()[0];
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
