//! Random settings of a `Toggle`, its calls, and what they must answer.

#![allow(dead_code, reason = "each test uses its part")]

use proptest::prelude::*;
use toggle_rs::Freeze;
use toggle_rs::groups::Groups;
use toggle_rs::keys::KeyRef;
use toggle_rs::quantile::{
    DecayQuantile, Estimator, ExactQuantile, GkQuantile, P2Quantile, WindowQuantile,
};
use toggle_rs::schedule::Phase;
use toggle_rs::shaping::Score;
use toggle_rs::toggle::{Batch, Metrics, Penalty, Settings, Shaped, Toggle};

use crate::batches::{Columns, Copied, KEYS, Keys, UNKNOWN};
use crate::oracle::toggle::{Plain, Sample};

const PERCENTILES: [f64; 6] = [0.0, 33.3, 50.0, 80.0, 99.9, 100.0];

/// Estimator number `kind` for a percentile. A half-life of one step: weights
/// are powers of two, and sums of them exact.
pub fn estimator(kind: usize, percentile: f64) -> Estimator {
    match kind {
        0 => ExactQuantile::new().into(),
        1 => DecayQuantile::new(1.0).unwrap().into(),
        2 => GkQuantile::new(0.05).unwrap().into(),
        3 => WindowQuantile::new(7).unwrap().into(),
        _ => P2Quantile::new(percentile / 100.0).unwrap().into(),
    }
}

/// Exact counting half of the time, the others for the rest.
pub fn settings() -> impl Strategy<Value = Settings> {
    let kind = prop_oneof![Just(0), 0..5usize];
    let choices = (
        prop::sample::select(&[Freeze::Never, Freeze::Warmup, Freeze::First][..]),
        prop::sample::select(&[Phase::Normal, Phase::LengthPenalty][..]),
        prop::sample::select(&[Penalty::Zero, Penalty::CapAtZero][..]),
    );
    let numbers = (
        prop_oneof![8 => 1..4u64, 1 => Just(0)],
        prop::sample::select(&[0.5, 0.9, 0.0, 1.0, 1.0 / 3.0, -1.0, 2.0][..]),
        prop::sample::select(&PERCENTILES[..]),
        0..7u64,
        prop::sample::select(&[1, 2, 7][..]),
    );
    (kind, choices, numbers).prop_map(
        |(kind, (freeze, start_phase, penalty), (m, lambda, percentile, warmup_steps, n))| {
            Settings {
                warmup_steps,
                start_phase,
                freeze,
                min_samples: n,
                penalty,
                ..Settings::new(m, lambda, percentile, estimator(kind, percentile))
            }
        },
    )
}

pub fn needs_clock(settings: &Settings) -> bool {
    settings.freeze == Freeze::Warmup || settings.estimator.needs_clock()
}

pub fn observe(toggle: &mut Toggle, samples: &[Sample], step: Option<u64>, form: u8) {
    let columns = Columns::of(samples);
    let copied = Copied(&columns.lengths);
    let batch = Batch {
        datasets: &Keys {
            is_split: form & 1 > 0,
            ..Keys::new(&columns.keys)
        },
        lengths: if form & 2 > 0 {
            &copied
        } else {
            &columns.lengths
        },
        correct: &columns.correct,
    };
    toggle.observe(&batch, step).unwrap();
}

/// Shapes scores of a type, and observes too where `apply` says so.
fn shape_as<S: Score>(
    toggle: &mut Toggle,
    step: u64,
    samples: &[Sample],
    (form, apply): (u8, bool),
    of: impl Fn(f64) -> S,
) -> Shaped<f64> {
    let columns = Columns::of(samples);
    let copied = Copied(&columns.lengths);
    let batch = Batch {
        datasets: &Keys {
            is_split: form & 1 > 0,
            ..Keys::new(&columns.keys)
        },
        lengths: if form & 2 > 0 {
            &copied
        } else {
            &columns.lengths
        },
        correct: &columns.correct,
    };
    let groups = if form & 4 > 0 {
        Groups::by_number(&columns.groups)
    } else {
        Groups::by_id(&columns.groups)
    };
    let scores: Vec<S> = columns.scores.iter().map(|&score| of(score)).collect();
    let (place, copied) = (&scores[..], Copied(&scores));
    let shaped: Shaped<S> = match (apply, form & 8 > 0) {
        (true, true) => toggle.apply(step, &copied, &batch, &groups),
        (true, false) => toggle.apply(step, place, &batch, &groups),
        (false, true) => toggle.shape(step, &copied, &batch, &groups),
        (false, false) => toggle.shape(step, place, &batch, &groups),
    }
    .unwrap();
    let as_f64 = |scores: Vec<S>| scores.into_iter().map(Score::as_f64).collect();
    Shaped {
        scores: shaped.scores.map(as_f64),
        kept: shaped.kept,
        has_signal: shaped.has_signal,
        group_accuracy: shaped.group_accuracy,
        metrics: shaped.metrics,
    }
}

/// The scores as one of three types can hold them.
pub fn shape(
    toggle: &mut Toggle,
    step: u64,
    samples: &mut [Sample],
    (form, apply): (u8, bool),
) -> Shaped<f64> {
    match form >> 4 & 3 {
        0 => {
            // An integer has one zero only.
            for sample in &mut *samples {
                sample.score = sample.score.trunc() + 0.0;
            }
            let mut shaped = shape_as(toggle, step, samples, (form, apply), |s| s as i16);
            for (score, sample) in shaped.scores.iter_mut().flatten().zip(samples) {
                *score = if *score == 0.0 {
                    sample.score * 0.0
                } else {
                    *score
                };
            }
            shaped
        }
        1 => shape_as(toggle, step, samples, (form, apply), |s| s as f32),
        _ => shape_as(toggle, step, samples, (form, apply), |s| s),
    }
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

pub fn check_shaped(ours: &Shaped<f64>, expected: &Shaped<f64>) {
    assert_eq!(
        ours.scores.as_deref().map(bits),
        expected.scores.as_deref().map(bits)
    );
    assert_eq!(ours.kept, expected.kept);
    assert_eq!(ours.has_signal, expected.has_signal);
    assert_eq!(bits(&ours.group_accuracy), bits(&expected.group_accuracy));
    let figures = |m: Metrics| {
        let shares = [
            m.kept_ratio,
            m.enforced_group_ratio,
            m.lost_signal_group_ratio,
            m.gained_signal_group_ratio,
        ];
        let budgets = [m.budget_min, m.budget_median, m.budget_max];
        // No NaN is like another.
        let figures = shares.into_iter().chain(budgets);
        let known = figures.map(|figure| (!figure.is_nan()).then_some(figure));
        (m.length_penalty_phase, known.collect::<Vec<_>>())
    };
    assert_eq!(figures(ours.metrics), figures(expected.metrics));
    let (ours, expected) = (
        ours.metrics.tokens_over_budget,
        expected.metrics.tokens_over_budget,
    );
    assert!(
        (ours - expected).abs() <= 4e-16 * expected,
        "{ours}, not {expected} tokens"
    );
}

/// All that can be asked of a state.
pub fn check_state(toggle: &mut Toggle, plain: &Plain) {
    let expected = plain.summary();
    assert_eq!(toggle.last_step(), plain.clock());
    assert_eq!(toggle.budget(UNKNOWN), None);
    for (key, names) in KEYS.iter().enumerate() {
        let budget = expected.get(&key).and_then(|known| known.1);
        assert_eq!(toggle.budget(KeyRef::Many(names)), budget, "{names:?}");
    }
    let summary = toggle.summary();
    assert_eq!(summary.len(), expected.len());
    for (key, count, budget) in summary {
        let is_key = |names: &&[&str]| key.names().eq(names.iter().copied());
        let at = KEYS.iter().position(is_key).unwrap();
        assert_eq!((count, budget), expected[&at], "{key}");
    }
}
