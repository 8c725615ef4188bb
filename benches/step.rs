//! A training step: 4,096 samples, 8 to a prompt, half of them correct.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

mod common;

use std::hint::black_box;

use common::samples::{K, Samples};
use common::{BATCH, LONGEST};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use toggle_rs::groups::Groups;
use toggle_rs::quantile::{Estimator, ExactQuantile};
use toggle_rs::shaping::{check_scores, group_accuracy};
use toggle_rs::toggle::{self, Settings, Toggle};
use toggle_rs::tracker::{self, BudgetTracker};

fn exact() -> Estimator {
    Estimator::Exact(ExactQuantile::new())
}

fn steps(c: &mut Criterion) {
    let mut group = c.benchmark_group("a penalty step of 4096");
    group.throughput(Throughput::Elements(BATCH as u64));
    for keys in [1, 8, 64, 10_000] {
        let samples = Samples::batches(keys);
        let names: Vec<_> = samples.iter().map(Samples::names).collect();
        let mut batches = samples.iter().zip(&names).cycle();

        let mut tracker = BudgetTracker::new(1, 0.5, 80.0, 0, exact()).unwrap();
        let mut shaped = vec![0.0; BATCH];
        group.bench_function(BenchmarkId::new("BudgetTracker", keys), |b| {
            b.iter(|| {
                let (samples, names) = batches.next().unwrap();
                let batch = tracker::Batch {
                    datasets: &names[..],
                    lengths: &samples.lengths,
                    scores: &samples.scores[..],
                    max_score: 1.0,
                };
                tracker.penalty_step(1, &batch, K, &mut shaped).unwrap()
            });
        });

        let mut toggle = Toggle::new(Settings::new(1, 0.5, 80.0, exact())).unwrap();
        let groups = Groups::consecutive(BATCH, K).unwrap();
        let mut step = 1;
        group.bench_function(BenchmarkId::new("Toggle", keys), |b| {
            b.iter(|| {
                step += 2;
                let (samples, names) = batches.next().unwrap();
                let batch = toggle::Batch {
                    datasets: &names[..],
                    lengths: &samples.lengths,
                    correct: &samples.correct,
                };
                toggle
                    .apply(step, &samples.scores[..], &batch, &groups)
                    .unwrap()
            });
        });
    }
    group.finish();
}

/// What a step comes to in plain loops, where nothing is checked, keys are small
/// numbers, every length has a cell, and nobody asks for a percentile.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "small numbers"
)]
fn bare(c: &mut Criterion) {
    const BUDGET: u64 = 4096;
    let mut group = c.benchmark_group("a penalty step of 4096");
    group.throughput(Throughput::Elements(BATCH as u64));
    for keys in [1, 8, 64] {
        let samples = Samples::batches(keys);
        let mut batches = samples.iter().cycle();
        let mut histograms = vec![vec![0_u32; LONGEST as usize + 1]; keys];
        let mut shaped = vec![0.0; BATCH];
        group.bench_function(BenchmarkId::new("bare loops", keys), |b| {
            b.iter(|| {
                let samples = batches.next().unwrap();
                let columns = samples.scores.iter().zip(&samples.lengths);
                for ((score, &length), &key) in columns.zip(&samples.key_of) {
                    histograms[key][length as usize] += u32::from(*score >= 1.0);
                }
                let groups = samples.scores.chunks_exact(K);
                let groups = groups.zip(samples.lengths.chunks_exact(K));
                for ((scores, lengths), shaped) in groups.zip(shaped.chunks_exact_mut(K)) {
                    let is_free = scores.iter().sum::<f64>() / (K as f64) < 0.5;
                    let columns = scores.iter().zip(lengths);
                    for (slot, (score, length)) in shaped.iter_mut().zip(columns) {
                        let keep = is_free || *length <= BUDGET;
                        *slot = score * f64::from(u8::from(keep));
                    }
                }
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

criterion_group!(benches, bare, steps, kernels);
criterion_main!(benches);
