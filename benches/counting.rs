//! The counting estimators, beside the least that counting can cost: a bare
//! histogram loop, and a bare sum.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::{Rng, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, LogNormal};
use toggle_rs::quantile::{ExactQuantile, Quantile};

const LONGEST: u64 = 32_768;
const BATCH: usize = 4096;
const BATCHES: usize = 64;

/// Named streams of lengths: what generation yields, the same with a third cut
/// off at the longest, and one length for all.
fn streams() -> [(&'static str, Vec<u64>); 3] {
    let mut rng = StdRng::seed_from_u64(1);
    let normal = LogNormal::new(8.0, 0.8).unwrap();
    let mut draw = |cut: f64| -> Vec<u64> {
        (0..BATCH * BATCHES)
            .map(|_| {
                let length: f64 = normal.sample(&mut rng);
                if rng.random_bool(cut) {
                    LONGEST
                } else {
                    (length as u64).min(LONGEST)
                }
            })
            .collect()
    };
    [
        ("lognormal", draw(0.0)),
        ("capped", draw(0.33)),
        ("constant", vec![4096; BATCH * BATCHES]),
    ]
}

fn update(c: &mut Criterion) {
    for (name, values) in streams() {
        let mut group = c.benchmark_group(format!("update 4096, then a quantile/{name}"));
        group.throughput(Throughput::Elements(BATCH as u64));
        let mut batches = values.chunks_exact(BATCH).cycle();
        let mut next = || batches.next().unwrap_or_default();

        group.bench_function("sum alone", |b| b.iter(|| next().iter().sum::<u64>()));
        let mut histogram = vec![0u64; LONGEST as usize + 1];
        group.bench_function("histogram loop alone", |b| {
            b.iter(|| {
                for &value in next() {
                    histogram[value as usize] += 1;
                }
            });
        });
        for seen in [0, 64] {
            group.bench_function(BenchmarkId::new("ExactQuantile", seen), |b| {
                let mut exact = ExactQuantile::new();
                for _ in 0..seen {
                    exact.update(&values).unwrap();
                }
                b.iter(|| {
                    exact.update(next()).unwrap();
                    exact.percentile(black_box(80.0)).unwrap()
                });
            });
        }
        group.finish();
    }
}

/// The first values of a stream: 512 more after so many.
fn early(c: &mut Criterion) {
    let mut group = c.benchmark_group("512 lognormal more");
    group.throughput(Throughput::Elements(512));
    let [(_, values), ..] = streams();
    for seen in [0, 250, 500, 1250, 2500, 5000, 20_000, 200_000] {
        let mut exact = ExactQuantile::new();
        exact.update(&values[..seen]).unwrap();
        group.bench_function(BenchmarkId::new("ExactQuantile", seen), |b| {
            b.iter_batched_ref(
                || exact.clone(),
                |exact| exact.update(&values[seen..seen + 512]),
                criterion::BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn query(c: &mut Criterion) {
    for (name, values) in streams() {
        let mut group = c.benchmark_group(format!("quantile/{name}"));
        let mut exact = ExactQuantile::new();
        exact.update(&values).unwrap();
        for p in [50.0, 80.0, 99.0] {
            group.bench_function(BenchmarkId::new("ExactQuantile", p), |b| {
                b.iter(|| exact.percentile(black_box(p)).unwrap());
            });
        }
        group.finish();
    }
}

criterion_group!(benches, update, early, query);
criterion_main!(benches);
