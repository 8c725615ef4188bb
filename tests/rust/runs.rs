//! Random runs of a `Toggle`, for tests that compare states.

#![allow(dead_code, reason = "each test uses its part")]

use proptest::prelude::*;
use toggle_rs::Freeze;
use toggle_rs::quantile::{DecayQuantile, Estimator, GkQuantile, WindowQuantile};
use toggle_rs::schedule::Phase;
use toggle_rs::toggle::{Batch, Penalty, Settings, Toggle};

pub const NAMES: [&str; 5] = ["math", "code", "", "ä", "math|code"];

/// One call of `observe`: how far the step moves on, and the correct lengths.
#[derive(Debug, Clone)]
pub struct Call {
    pub advance: u64,
    pub lengths: Vec<(&'static str, u64)>,
}

/// How the clock of a run begins, and its calls. Without a clock, lengths count
/// at once.
#[derive(Debug, Clone)]
pub struct Run {
    pub start: Option<u64>,
    pub calls: Vec<Call>,
}

pub fn observe(toggle: &mut Toggle, step: Option<u64>, lengths: &[(&str, u64)]) {
    let (datasets, lengths): (Vec<&str>, Vec<u64>) = lengths.iter().copied().unzip();
    let batch = Batch {
        datasets: &datasets[..],
        lengths: &lengths,
        correct: &vec![true; lengths.len()],
    };
    toggle.observe(&batch, step).unwrap();
}

impl Run {
    /// The steps of the calls, and the calls.
    pub fn steps(&self) -> impl Iterator<Item = (Option<u64>, &Call)> {
        let mut step = self.start;
        self.calls.iter().map(move |call| {
            step = step.map(|step| step + call.advance);
            (step, call)
        })
    }

    pub fn play(&self, toggle: &mut Toggle) {
        for (step, call) in self.steps() {
            observe(toggle, step, &call.lengths);
        }
    }
}

fn length() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..40u64, 4 => 0..40_000u64, 1 => 0..=1u64 << 53]
}

pub fn calls(most: usize) -> impl Strategy<Value = Vec<Call>> {
    let lengths = prop::collection::vec((prop::sample::select(&NAMES[..]), length()), 0..20);
    let call = (0..4u64, lengths).prop_map(|(advance, lengths)| Call { advance, lengths });
    prop::collection::vec(call, 0..most)
}

/// A run whose clock, if any, begins at a small step.
pub fn run(most: usize, needs_clock: bool) -> impl Strategy<Value = Run> {
    let start = if needs_clock {
        (0..6u64).prop_map(Some).boxed()
    } else {
        prop::option::of(0..6u64).boxed()
    };
    (start, calls(most)).prop_map(|(start, calls)| Run { start, calls })
}

/// Settings with this estimator and percentile 80, which is what "p2" follows.
pub fn settings(estimator: Estimator) -> impl Strategy<Value = Settings> {
    let choices = (
        prop::sample::select(&[Freeze::Never, Freeze::Warmup, Freeze::First][..]),
        prop::sample::select(&[Phase::Normal, Phase::LengthPenalty][..]),
        prop::sample::select(&[Penalty::Zero, Penalty::CapAtZero][..]),
    );
    let numbers = (1..7u64, -2.0..2.0f64, 0..10u64, 1..12u64);
    (choices, numbers).prop_map(
        move |((freeze, start_phase, penalty), (m, lambda, warmup, n))| Settings {
            warmup_steps: warmup,
            start_phase,
            freeze,
            min_samples: n,
            penalty,
            ..Settings::new(m, lambda, 80.0, estimator.clone())
        },
    )
}

pub fn needs_clock(settings: &Settings) -> bool {
    settings.freeze == Freeze::Warmup || settings.estimator.needs_clock()
}

/// One of each kind that a `Toggle` with percentile 80 may have.
pub fn estimators() -> Vec<Estimator> {
    vec![
        Estimator::by_name("exact", 80.0).unwrap(),
        Estimator::by_name("p2", 80.0).unwrap(),
        GkQuantile::new(0.05).unwrap().into(),
        WindowQuantile::new(7).unwrap().into(),
        DecayQuantile::new(1.5).unwrap().into(),
    ]
}
