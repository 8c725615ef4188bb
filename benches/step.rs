//! A training step: 4,096 samples, 8 to a prompt, half of them correct.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

mod common;

use std::hint::black_box;

use common::BATCH;
use common::samples::{K, Samples};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use toggle_rs::groups::Groups;
use toggle_rs::quantile::{Estimator, ExactQuantile};
use toggle_rs::shaping::{check_scores, group_accuracy};
use toggle_rs::toggle::{self, Settings, Toggle};
use toggle_rs::tracker::{self, BudgetTracker};

fn steps(c: &mut Criterion) {
    let exact = || Estimator::Exact(ExactQuantile::new());
    let mut group = c.benchmark_group("a penalty step of 4096");
    group.throughput(Throughput::Elements(BATCH as u64));
    for keys in [1, 8, 64, 10_000] {
        let samples = Samples::new(keys);
        let datasets = samples.names();
        let batch = tracker::Batch {
            datasets: &datasets[..],
            lengths: &samples.lengths,
            scores: &samples.scores[..],
            max_score: 1.0,
        };
        let mut tracker = BudgetTracker::new(1, 0.5, 80.0, 0, exact()).unwrap();
        let mut shaped = vec![0.0; BATCH];
        group.bench_function(BenchmarkId::new("BudgetTracker", keys), |b| {
            b.iter(|| {
                let batch = black_box(&batch);
                tracker.penalty_step(1, batch, K, &mut shaped).unwrap()
            });
        });

        let batch = toggle::Batch {
            datasets: &datasets[..],
            lengths: &samples.lengths,
            correct: &samples.correct,
        };
        let mut toggle = Toggle::new(Settings::new(1, 0.5, 80.0, exact())).unwrap();
        let groups = Groups::consecutive(BATCH, K).unwrap();
        let mut step = 1;
        group.bench_function(BenchmarkId::new("Toggle", keys), |b| {
            b.iter(|| {
                step += 2;
                let scores = black_box(&samples.scores[..]);
                toggle.apply(step, scores, &batch, &groups).unwrap()
            });
        });
    }
    group.finish();
}

fn kernels(c: &mut Criterion) {
    let samples = Samples::new(8);
    let scores = &samples.scores[..];
    let mut group = c.benchmark_group("4096 scores");
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function("bare sum", |b| {
        b.iter(|| black_box(scores).iter().sum::<f64>());
    });
    group.bench_function("check_scores", |b| {
        b.iter(|| check_scores(black_box(scores)).is_ok());
    });
    group.bench_function("group_accuracy", |b| {
        b.iter(|| {
            let groups = black_box(scores).chunks_exact(K);
            groups
                .map(|group| group_accuracy(group, 1.0))
                .fold(0.0, f64::max)
        });
    });
    group.finish();
}

criterion_group!(benches, steps, kernels);
criterion_main!(benches);
