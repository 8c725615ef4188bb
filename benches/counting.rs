//! The estimators that count, beside the least that counting can cost: a bare
//! histogram loop, and a bare sum.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

mod common;

use std::hint::black_box;

use common::{BATCH, LONGEST, streams};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use toggle_rs::quantile::{DecayQuantile, ExactQuantile, Quantile, WindowQuantile};

/// Each in the state that many steps lead to; one tick a batch.
fn update(c: &mut Criterion) {
    for (name, values) in streams() {
        let mut group = c.benchmark_group(format!("{BATCH} more, and a percentile/{name}"));
        group.throughput(Throughput::Elements(BATCH as u64));
        let mut batches = values.chunks_exact(BATCH).cycle();
        let mut next = || batches.next().unwrap_or_default();

        group.bench_function("bare sum", |b| b.iter(|| next().iter().sum::<u64>()));
        let mut histogram = vec![0u64; LONGEST as usize + 1];
        group.bench_function("bare histogram", |b| {
            b.iter(|| {
                for &value in next() {
                    histogram[usize::try_from(value).unwrap_or_default()] += 1;
                }
            });
        });

        let mut exact = ExactQuantile::new();
        let mut window = WindowQuantile::new(values.len() / 2).unwrap();
        let mut decay = DecayQuantile::new(16.0).unwrap();
        exact.update(&values).unwrap();
        window.update(&values).unwrap();
        decay.update(&values).unwrap();
        group.bench_function("ExactQuantile", |b| {
            b.iter(|| {
                exact.update(next()).unwrap();
                exact.percentile(black_box(80.0)).unwrap()
            });
        });
        group.bench_function("WindowQuantile", |b| {
            b.iter(|| {
                window.update(next()).unwrap();
                window.percentile(black_box(80.0)).unwrap()
            });
        });
        group.bench_function("DecayQuantile", |b| {
            b.iter(|| {
                decay.tick(1).unwrap();
                decay.update(next()).unwrap();
                decay.percentile(black_box(80.0)).unwrap()
            });
        });
        group.finish();
    }
}

/// What 512 more cost when so many were seen: at first they are few and far
/// between.
fn early(c: &mut Criterion) {
    let mut group = c.benchmark_group("update 512 when seen/lognormal");
    group.throughput(Throughput::Elements(512));
    let [(_, values), ..] = streams();
    for seen in [0, 500, 1250, 5000, 20_000, 200_000] {
        let mut exact = ExactQuantile::new();
        exact.update(&values[..seen]).unwrap();
        group.bench_function(BenchmarkId::new("ExactQuantile", seen), |b| {
            b.iter_batched_ref(
                || exact.clone(),
                |exact| exact.update(&values[seen..seen + 512]),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn query(c: &mut Criterion) {
    for (name, values) in streams() {
        let mut group = c.benchmark_group(format!("percentile/{name}"));
        let mut exact = ExactQuantile::new();
        let mut decay = DecayQuantile::new(16.0).unwrap();
        exact.update(&values).unwrap();
        decay.update(&values).unwrap();
        for p in [50.0, 80.0, 99.0] {
            group.bench_function(BenchmarkId::new("ExactQuantile", p), |b| {
                b.iter(|| exact.percentile(black_box(p)).unwrap());
            });
            group.bench_function(BenchmarkId::new("DecayQuantile", p), |b| {
                b.iter(|| decay.percentile(black_box(p)).unwrap());
            });
        }
        group.finish();
    }
}

criterion_group!(benches, update, early, query);
criterion_main!(benches);
