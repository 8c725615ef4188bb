//! `Toggle` against plain loops.

#![allow(
    clippy::cast_possible_truncation,
    clippy::float_cmp,
    reason = "small numbers; answers are equal to the last bit"
)]

mod batches;
mod calls;
mod lengths;
mod oracle;

use batches::{Columns, InVain, Keys, samples};
use calls::{check_shaped, check_state, needs_clock, observe, settings, shape};
use lengths::{cases, random};
use oracle::toggle::{Plain, Sample};
use proptest::prelude::*;
use toggle_rs::Error;
use toggle_rs::groups::Groups;
use toggle_rs::quantile::{Estimator, ExactQuantile, GkQuantile, MAX_LENGTH};
use toggle_rs::snapshot::Snapshot;
use toggle_rs::toggle::{Batch, Settings, Shaped, Toggle};

#[derive(Debug, Clone, Copy)]
enum Fault {
    Length,
    Key,
    Score,
    TooFewLengths,
    TooManyKeys,
    TooFewGroups,
    StepBack,
    NoStep,
    UnlikeMerge,
    UnlikeEstimator,
}

#[derive(Debug, Clone)]
enum Call {
    Observe,
    AtOnce,
    Shape,
    Apply,
    /// By bytes and back.
    Reload,
    /// What one with other settings has observed.
    Load(Settings),
    Merge,
    Refused(Fault, usize),
}

/// A call with how far on its step is, its samples, and the form they come in.
type Step = (Call, u64, Vec<Sample>, u8);

fn step() -> impl Strategy<Value = Step> {
    use Fault::{
        Key, Length, NoStep, Score, StepBack, TooFewGroups, TooFewLengths, TooManyKeys,
        UnlikeEstimator, UnlikeMerge,
    };
    let faults = [
        Length,
        Key,
        Score,
        TooFewLengths,
        TooManyKeys,
        TooFewGroups,
        StepBack,
        NoStep,
        UnlikeMerge,
        UnlikeEstimator,
    ];
    let refused = (prop::sample::select(faults.to_vec()), any::<usize>());
    let call = prop_oneof![
        6 => Just(Call::Observe),
        2 => Just(Call::AtOnce),
        6 => Just(Call::Shape),
        6 => Just(Call::Apply),
        1 => Just(Call::Reload),
        1 => settings().prop_map(Call::Load),
        1 => Just(Call::Merge),
        5 => refused.prop_map(|(fault, at)| Call::Refused(fault, at)),
    ];
    let advance = prop_oneof![2 => Just(0), 4 => Just(1), 1 => 2..4u64];
    (call, advance, samples(40), any::<u8>())
}

/// Makes a call that must be refused; says what it was told.
fn refused(toggle: &mut Toggle, step: u64, samples: &[Sample], fault: Fault, at: usize) -> Error {
    let mut columns = Columns::of(samples);
    let at = at % samples.len().max(1);
    let own = toggle.settings();
    let (mut bad_at, mut when) = (None, Some(step));
    let groups = match fault {
        Fault::TooFewGroups => Groups::by_number(&columns.groups[1..]),
        _ => Groups::by_number(&columns.groups),
    };
    match fault {
        Fault::Length => columns.lengths[at] = MAX_LENGTH + 1 + (at as u64) * 1000,
        Fault::Key => bad_at = Some(at),
        Fault::Score => columns.scores[at] = [f64::NAN, f64::INFINITY][at % 2],
        Fault::TooFewLengths => columns.lengths.truncate(at),
        Fault::TooManyKeys => columns.keys.push(at),
        Fault::TooFewGroups => {}
        Fault::StepBack => when = Some(step - 1),
        Fault::NoStep => when = None,
        Fault::UnlikeMerge => {
            let m = own.m + 1;
            return toggle
                .merge(&Toggle::new(Settings { m, ..own }).unwrap())
                .unwrap_err();
        }
        Fault::UnlikeEstimator => {
            let estimator = GkQuantile::new(0.25).unwrap().into();
            let other = Toggle::new(Settings { estimator, ..own }).unwrap();
            return toggle.load_observations(other).unwrap_err();
        }
    }
    let batch = Batch {
        datasets: &Keys {
            bad_at,
            ..Keys::new(&columns.keys)
        },
        lengths: &columns.lengths,
        correct: &columns.correct,
    };
    let takes_scores = matches!(fault, Fault::Score | Fault::TooFewGroups);
    match at % 3 {
        0 if !takes_scores => toggle.observe(&batch, when).unwrap_err(),
        _ if when.is_none() => toggle.observe(&batch, when).unwrap_err(),
        1 => toggle
            .shape(when.unwrap_or(0), &columns.scores[..], &batch, &groups)
            .unwrap_err(),
        _ => toggle
            .apply(when.unwrap_or(0), &columns.scores[..], &batch, &groups)
            .unwrap_err(),
    }
}

/// Whether this call must be refused.
fn is_refused(fault: Fault, toggle: &Toggle, step: u64, samples: &[Sample]) -> bool {
    match fault {
        Fault::StepBack => toggle.last_step() == Some(step) && step > 0,
        Fault::NoStep => needs_clock(&toggle.settings()),
        Fault::UnlikeMerge | Fault::UnlikeEstimator | Fault::TooManyKeys => true,
        _ => !samples.is_empty(),
    }
}

fn play(toggle: &mut Toggle, plain: &mut Plain, (call, advance, samples, form): Step) {
    let mut samples = samples;
    let clock = toggle.last_step().unwrap_or(0);
    let step = clock + advance;
    match call {
        Call::Observe => {
            observe(toggle, &samples, Some(step), form);
            plain.observe(&samples, Some(step));
        }
        Call::AtOnce => {
            let step = needs_clock(&toggle.settings()).then_some(step);
            observe(toggle, &samples, step, form);
            plain.observe(&samples, step);
        }
        Call::Shape => {
            let shaped = shape(toggle, step, &mut samples, (form, false));
            check_shaped(&shaped, &plain.shape(step, &samples));
        }
        Call::Apply => {
            let shaped = shape(toggle, step, &mut samples, (form, true));
            check_shaped(&shaped, &plain.shape(step, &samples));
            plain.observe(&samples, Some(step));
        }
        Call::Reload => *toggle = Toggle::from_bytes(&toggle.to_bytes()).unwrap(),
        Call::Load(settings) => {
            let settings = Settings {
                estimator: toggle.settings().estimator,
                percentile: toggle.settings().percentile,
                ..settings
            };
            let mut other = Toggle::new(settings.clone()).unwrap();
            let mut plain_other = Plain::new(&settings);
            for step in [advance, advance + 1] {
                observe(&mut other, &samples, Some(step), form);
                plain_other.observe(&samples, Some(step));
            }
            toggle.load_observations(other).unwrap();
            plain.load(&plain_other);
        }
        Call::Merge => {
            let mut other = Toggle::new(toggle.settings()).unwrap();
            let mut plain_other = Plain::new(&toggle.settings());
            // Its clock may be behind, level or ahead.
            for step in [clock.saturating_sub(advance), clock + u64::from(form % 3)] {
                observe(&mut other, &samples, Some(step), form);
                plain_other.observe(&samples, Some(step));
            }
            // A merged sketch is another than one that saw it all; see its tests.
            if matches!(
                toggle.settings().estimator,
                Estimator::Exact(_) | Estimator::Decay(_)
            ) {
                toggle.merge(&other).unwrap();
                plain.merge(&plain_other);
            }
        }
        Call::Refused(fault, at) if is_refused(fault, toggle, step, &samples) => {
            let before = toggle.to_bytes();
            refused(toggle, step, &samples, fault, at);
            assert_eq!(toggle.to_bytes(), before);
        }
        Call::Refused(..) => {}
    }
}

proptest! {
    #![proptest_config(cases(256))]

    /// One `Toggle` through all of it, so that what a call leaves behind would
    /// show in the next ones.
    #[test]
    fn a_run_equals_plain_loops(
        settings in settings(),
        steps in prop::collection::vec(step(), 1..16),
        look in any::<u16>(),
    ) {
        let mut toggle = Toggle::new(settings.clone()).unwrap();
        let mut plain = Plain::new(&settings);
        for (at, step) in steps.into_iter().enumerate() {
            play(&mut toggle, &mut plain, step);
            // Asking fills what is remembered, so not always.
            if look >> at & 1 > 0 {
                check_state(&mut toggle, &plain);
            }
        }
        check_state(&mut toggle, &plain);
    }
    /// A group at a time, in any order, is as good as the step at once; so are
    /// its samples in any order.
    #[test]
    fn a_step_may_come_in_any_order(
        settings in settings(),
        before in prop::collection::vec(samples(20), 1..4),
        batch in samples(60),
        seed in any::<u64>(),
        form in any::<u8>(),
    ) {
        let mut at_once = Toggle::new(settings).unwrap();
        for (step, samples) in (0..).zip(&before) {
            observe(&mut at_once, samples, Some(step), form);
        }
        let (mut batch, step) = (batch, before.len() as u64);
        let mut observed = at_once.clone();
        let mut applied = at_once.clone();
        let whole = shape(&mut at_once, step, &mut batch, (form, true));

        let parts = shuffled_groups(&batch, seed);
        for part in &parts {
            let mut samples: Vec<Sample> = part.iter().map(|&i| batch[i]).collect();
            let shaped = shape(&mut applied, step, &mut samples, (form, true));
            observe(&mut observed, &samples, Some(step), form);
            check_places(&shaped, &whole, part);
        }
        if batch.is_empty() {
            // No part tells of the step.
            observe(&mut applied, &[], Some(step), form);
            observe(&mut observed, &[], Some(step), form);
        }
        prop_assert_eq!(at_once.to_bytes(), applied.to_bytes());
        prop_assert_eq!(at_once.to_bytes(), observed.to_bytes());
        prop_assert_eq!(&at_once, &applied);

        let order = parts.concat();
        let mut shuffled: Vec<Sample> = order.iter().map(|&i| batch[i]).collect();
        let then = step + u64::from(form & 1);
        let shaped = shape(&mut applied, then, &mut shuffled, (form, false));
        let whole = shape(&mut at_once, then, &mut batch, (form, false));
        check_places(&shaped, &whole, &order);
        prop_assert_eq!(shaped.metrics.tokens_over_budget.to_bits(), whole.metrics.tokens_over_budget.to_bits());
    }

    #[test]
    fn to_shape_then_observe_is_to_apply(
        settings in settings(),
        batches in prop::collection::vec((0..3u64, samples(30), any::<u8>()), 1..8),
    ) {
        let mut applying = Toggle::new(settings).unwrap();
        let mut other = applying.clone();
        let mut step = 0;
        for (advance, mut samples, form) in batches {
            step += advance;
            let own = shape(&mut applying, step, &mut samples, (form, true));
            check_shaped(&shape(&mut other, step, &mut samples, (form, false)), &own);
            observe(&mut other, &samples, Some(step), form);
            prop_assert_eq!(applying.to_bytes(), other.to_bytes());
        }
    }
}

/// The places of the samples of each group, both in some order.
fn shuffled_groups(samples: &[Sample], seed: u64) -> Vec<Vec<usize>> {
    let mut order: Vec<(u64, usize)> = random(seed).zip(0..samples.len()).collect();
    order.sort_unstable();
    let mut groups = Vec::<(u64, Vec<usize>)>::new();
    for (_, i) in order {
        let group = samples[i].group;
        match groups.iter_mut().find(|own| own.0 == group) {
            Some(own) => own.1.push(i),
            None => groups.push((group, vec![i])),
        }
    }
    groups.into_iter().map(|own| own.1).collect()
}

/// What `part` says of its samples is what `whole` says of the samples there.
fn check_places(part: &Shaped<f64>, whole: &Shaped<f64>, places: &[usize]) {
    for (at, &i) in places.iter().enumerate() {
        let score = |shaped: &Shaped<f64>, at: usize| {
            let scores = shaped.scores.as_ref();
            scores.map(|scores| scores[at].to_bits())
        };
        assert_eq!(score(part, at), score(whole, i));
        assert_eq!(part.kept[at], whole.kept[i]);
        assert_eq!(part.has_signal[at], whole.has_signal[i]);
        assert_eq!(part.group_accuracy[at], whole.group_accuracy[i]);
    }
}

/// Many samples, in long runs and in runs of one, in groups of up to 40,000.
#[test]
fn large_batches() {
    let exact = || Estimator::Exact(ExactQuantile::new());
    let settings = Settings::new(1, 0.5, 80.0, exact());
    let mut toggle = Toggle::new(settings.clone()).unwrap();
    let mut plain = Plain::new(&settings);
    let sizes = [
        (40_000, 40_000, 1),
        (32_769, 1, 32_769),
        (90_000, 40_000, 7),
        (70_000, 8, 8),
    ];
    for (step, (n, k, run)) in (0..).zip(sizes) {
        let numbers = random(step).take(n).enumerate();
        let mut batch: Vec<Sample> = numbers
            .map(|(i, number)| Sample {
                key: i / run % 12,
                group: i as u64 / k,
                length: number >> 49,
                score: f64::from(u8::from(number & 3 > 0)),
                is_correct: number & 3 > 0,
            })
            .collect();
        let shaped = shape(&mut toggle, step, &mut batch, (32, true));
        check_shaped(&shaped, &plain.shape(step, &batch));
        plain.observe(&batch, Some(step));
        check_state(&mut toggle, &plain);
    }
}

/// Else each refused call would take memory for good.
#[test]
fn keys_of_a_refused_call_are_forgotten() {
    let exact = Estimator::Exact(ExactQuantile::new());
    let mut toggle = Toggle::new(Settings::new(1, 0.5, 80.0, exact)).unwrap();
    let mut held = Vec::new();
    for turn in 0..50 {
        let batch = Batch {
            datasets: &InVain::new(turn),
            lengths: &vec![5; 1000],
            correct: &[true; 1000],
        };
        toggle.observe(&batch, Some(1)).unwrap_err();
        held.push(toggle.nbytes());
    }
    assert_eq!(held[0], held[49]);
}
