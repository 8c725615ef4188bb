//! A percentile after each 4,096 lengths: the estimators of other crates beside
//! ours, and beside the least that it can cost.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

mod common;

use std::hint::black_box;
use std::time::Duration;

use common::{BATCH, LONGEST, reals, streams};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use datasketches::common::SearchCriteria;
use datasketches::kll::KllSketch;
use datasketches::req::{RankAccuracy, ReqSketch};
use hdrhistogram::Histogram;
use quantiles::ckms::CKMS;
use sketches_ddsketch::{Config, DDSketch};
use tdigest::TDigest;
use toggle_rs::quantile::{ExactQuantile, GkQuantile, P2Quantile, Quantile};

const Q: f64 = 0.8;

/// One stream, in whole and in the batches that come in turn.
struct Stream {
    values: Vec<u64>,
    batch: usize,
}

impl Stream {
    /// Times `step` with one batch after the other, on a `state` that has seen
    /// the whole stream.
    fn time<T, A>(
        &self,
        group: &mut BenchmarkGroup<'_, WallTime>,
        name: &str,
        mut state: T,
        step: impl Fn(&mut T, &[u64]) -> A,
    ) {
        let mut batches = self.values.chunks_exact(self.batch).cycle();
        for batch in self.values.chunks_exact(self.batch) {
            step(&mut state, batch);
        }
        let mut next = || batches.next().unwrap_or_default();
        group.bench_function(name, |b| b.iter(|| step(&mut state, black_box(next()))));
    }
}

fn update_and_ask(c: &mut Criterion, batch: usize) {
    for (name, values) in streams() {
        let mut group = c.benchmark_group(format!("update {batch}, then a percentile/{name}"));
        group.throughput(Throughput::Elements(batch as u64));
        let stream = Stream { values, batch };
        limits(&stream, &mut group);
        ours(&stream, &mut group);
        peers(&stream, &mut group);
        group.finish();
    }
}

fn limits(stream: &Stream, group: &mut BenchmarkGroup<'_, WallTime>) {
    stream.time(group, "bare sum, no percentile", (), |(), batch| {
        batch.iter().sum::<u64>()
    });
    let histogram = vec![0_u64; LONGEST as usize + 1];
    stream.time(
        group,
        "bare histogram, no percentile",
        histogram,
        |histogram, batch| {
            for &value in batch {
                histogram[usize::try_from(value).unwrap_or_default()] += 1;
            }
        },
    );
}

fn ours(stream: &Stream, group: &mut BenchmarkGroup<'_, WallTime>) {
    stream.time(
        group,
        "toggle-rs ExactQuantile",
        ExactQuantile::new(),
        |exact, batch| {
            exact.update(batch).unwrap();
            exact.quantile(Q).unwrap()
        },
    );
    let sketches = (P2Quantile::new(Q).unwrap(), GkQuantile::new(0.001).unwrap());
    stream.time(group, "toggle-rs P2Quantile", sketches.0, |p2, batch| {
        p2.update(&reals(batch)).unwrap();
        p2.quantile(Q).unwrap()
    });
    stream.time(
        group,
        "toggle-rs GkQuantile(0.001)",
        sketches.1,
        |gk, batch| {
            gk.update(&reals(batch)).unwrap();
            gk.quantile(Q).unwrap()
        },
    );
}

fn peers(stream: &Stream, group: &mut BenchmarkGroup<'_, WallTime>) {
    const WITHIN: SearchCriteria = SearchCriteria::Inclusive;
    let kll = KllSketch::<i64>::new(200).unwrap();
    stream.time(group, "datasketches KLL(200)", kll, |kll, batch| {
        for &value in batch {
            kll.update(value.cast_signed());
        }
        kll.quantile(Q, WITHIN).unwrap()
    });
    let req = ReqSketch::<i64>::new(12, RankAccuracy::HighRank).unwrap();
    stream.time(group, "datasketches REQ(12)", req, |req, batch| {
        for &value in batch {
            req.update(value.cast_signed());
        }
        req.quantile(Q, WITHIN).unwrap()
    });
    let digest = TDigest::new_with_size(100);
    stream.time(group, "tdigest(100)", digest, |digest, batch| {
        *digest = digest.merge_unsorted(reals(batch));
        digest.estimate_quantile(Q)
    });
    let digest = datasketches::tdigest::TDigestMut::new(100).unwrap();
    stream.time(
        group,
        "datasketches t-digest(100)",
        digest,
        |digest, batch| {
            for value in reals(batch) {
                digest.update(value);
            }
            digest.quantile(Q)
        },
    );
    let sketch = DDSketch::new(Config::defaults());
    stream.time(group, "sketches-ddsketch(1 %)", sketch, |sketch, batch| {
        for value in reals(batch) {
            sketch.add(value);
        }
        sketch.quantile(Q).unwrap()
    });
    let histogram = Histogram::<u64>::new_with_max(u64::from(LONGEST), 3).unwrap();
    stream.time(
        group,
        "hdrhistogram(3 digits)",
        histogram,
        |histogram, batch| {
            for &value in batch {
                histogram.record(value).unwrap();
            }
            histogram.value_at_quantile(Q)
        },
    );
    let ckms = CKMS::<f64>::new(0.001);
    stream.time(group, "quantiles CKMS(0.001)", ckms, |ckms, batch| {
        for value in reals(batch) {
            ckms.insert(value);
        }
        ckms.query(Q)
    });
}

fn large_batches(c: &mut Criterion) {
    update_and_ask(c, BATCH);
}

fn small_batches(c: &mut Criterion) {
    update_and_ask(c, 128);
}

/// Shorter than usual: they are many, and differ by far more than the noise.
fn short() -> Criterion {
    let criterion = Criterion::default().sample_size(20);
    let criterion = criterion.warm_up_time(Duration::from_millis(500));
    criterion.measurement_time(Duration::from_secs(1))
}

criterion_group! {
    name = benches;
    config = short();
    targets = large_batches, small_batches
}
criterion_main!(benches);
