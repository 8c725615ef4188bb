//! Fixed work, to be counted in instructions: `tools/instructions.py` runs each
//! of these under callgrind. Without a name it does nothing.

mod common;

use std::hint::black_box;

use common::samples::{K, Samples};
use common::{BATCH, reals, streams};
use toggle_rs::groups::Groups;
use toggle_rs::quantile::{
    DecayQuantile, Estimator, ExactQuantile, GkQuantile, P2Quantile, Quantile, WindowQuantile,
};
use toggle_rs::snapshot::Snapshot;
use toggle_rs::toggle::{self, Settings, Toggle};
use toggle_rs::tracker::{self, BudgetTracker};

const STEPS: u64 = 64;

fn main() {
    // `cargo bench` passes a flag of its own.
    let name = std::env::args()
        .nth(1)
        .filter(|name| !name.starts_with('-'));
    // Made in any case, so that the work alone is the difference.
    let [(_, lengths), ..] = streams();
    let samples = Samples::new(8);
    match name.as_deref() {
        None => {}
        Some("exact") => feed(ExactQuantile::new(), &lengths),
        Some("window") => feed(WindowQuantile::new(100_000).unwrap(), &lengths),
        Some("decay") => feed(DecayQuantile::new(16.0).unwrap(), &lengths),
        Some("p2") => feed(P2Quantile::new(0.8).unwrap(), &reals(&lengths)),
        Some("gk") => feed(GkQuantile::new(0.001).unwrap(), &reals(&lengths)),
        Some("tracker") => tracker_steps(&samples),
        Some("toggle") => toggle_steps(&samples),
        Some("snapshot") => snapshot(&lengths),
        Some(other) => panic!("{other:?} is no work that is known here"),
    }
}

/// A percentile after each batch.
fn feed<T: Copy, Q: Quantile<Value = T>>(mut estimator: Q, values: &[T]) {
    for batch in values.chunks_exact(BATCH) {
        estimator.update(batch).unwrap();
        black_box(estimator.percentile(80.0).unwrap());
    }
}

fn exact() -> Estimator {
    Estimator::Exact(ExactQuantile::new())
}

fn tracker_steps(samples: &Samples) {
    let mut tracker = BudgetTracker::new(1, 0.5, 80.0, 0, exact()).unwrap();
    let batch = tracker::Batch {
        datasets: &samples.names()[..],
        lengths: &samples.lengths,
        scores: &samples.scores[..],
        max_score: 1.0,
    };
    let mut shaped = vec![0.0; BATCH];
    for _ in 0..STEPS {
        black_box(tracker.penalty_step(1, &batch, K, &mut shaped).unwrap());
    }
}

fn toggle_steps(samples: &Samples) {
    let mut toggle = Toggle::new(Settings::new(1, 0.5, 80.0, exact())).unwrap();
    let batch = toggle::Batch {
        datasets: &samples.names()[..],
        lengths: &samples.lengths,
        correct: &samples.correct,
    };
    let groups = Groups::consecutive(BATCH, K).unwrap();
    for step in 0..STEPS {
        let scores = &samples.scores[..];
        black_box(toggle.apply(step, scores, &batch, &groups).unwrap());
    }
}

fn snapshot(lengths: &[u64]) {
    let mut exact = ExactQuantile::new();
    exact.update(lengths).unwrap();
    for _ in 0..STEPS {
        black_box(ExactQuantile::from_bytes(&exact.to_bytes()).unwrap());
    }
}
