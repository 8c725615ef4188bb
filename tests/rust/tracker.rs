//! `BudgetTracker` against plain loops.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "small numbers; answers are equal to the last bit"
)]

mod batches;
mod lengths;
mod oracle;

use std::collections::BTreeMap;

use batches::{Columns, Copied, InVain, KEYS, Keys, UNKNOWN, samples};
use lengths::{cases, random};
use oracle::toggle::{Key, Sample, sorted_quantile};
use proptest::prelude::*;
use toggle_rs::Error;
use toggle_rs::keys::KeyRef;
use toggle_rs::quantile::{ExactQuantile, MAX_LENGTH};
use toggle_rs::snapshot::Snapshot;
use toggle_rs::tracker::{Batch, BudgetTracker};

/// The reference: a list of lengths for each key.
#[derive(Debug, Clone, Default)]
struct Plain(BTreeMap<Key, Vec<u64>>);

const LAMBDA: f64 = 0.5;

impl Plain {
    fn update(&mut self, samples: &[Sample], max_score: f64) {
        for sample in samples.iter().filter(|sample| sample.score >= max_score) {
            self.0.entry(sample.key).or_default().push(sample.length);
        }
    }

    fn budget(&self, key: Key, percentile: f64) -> Option<f64> {
        sorted_quantile(self.0.get(&key)?, percentile / 100.0)
    }

    /// Budgets of the keys of the batch, in order of first appearance.
    fn budgets(&self, samples: &[Sample], percentile: f64) -> Vec<(Key, f64)> {
        let mut keys = Vec::new();
        for sample in samples {
            if !keys.contains(&sample.key) {
                keys.push(sample.key);
            }
        }
        let budget = |key: Key| Some((key, self.budget(key, percentile)?));
        keys.into_iter().filter_map(budget).collect()
    }

    /// Shaped scores and the share of those kept.
    fn shaped(&self, samples: &[Sample], k: usize, max: f64, percentile: f64) -> (Vec<f64>, f64) {
        let mut kept = 0;
        let budgets = BTreeMap::from_iter(self.budgets(samples, percentile));
        let mut shaped = Vec::new();
        for group in samples.chunks(k) {
            // Scores are halves, so no order of the additions rounds.
            let sum: f64 = group.iter().map(|sample| sample.score / max).sum();
            let is_enforced = sum / k as f64 >= LAMBDA;
            for sample in group {
                let is_over = |budget: &f64| sample.length as f64 > *budget;
                let is_masked = is_enforced && budgets.get(&sample.key).is_some_and(is_over);
                kept += usize::from(!is_masked);
                shaped.push(sample.score * f64::from(u8::from(!is_masked)));
            }
        }
        (shaped, kept as f64 / samples.len() as f64)
    }
}

/// A call: what, and of what kind its columns are.
#[derive(Debug, Clone)]
enum Call {
    Update,
    Normal,
    Penalty,
    Reload,
    /// Takes up what another one has seen, or takes it in.
    Load,
    Merge,
    Percentile(f64),
    Refused(u8, usize),
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        2 => Just(Call::Update),
        2 => Just(Call::Normal),
        8 => Just(Call::Penalty),
        1 => Just(Call::Reload),
        1 => Just(Call::Load),
        1 => Just(Call::Merge),
        1 => prop::sample::select(&[0.0, 33.3, 80.0, 100.0][..]).prop_map(Call::Percentile),
        4 => (0..6u8, any::<usize>()).prop_map(|(fault, at)| Call::Refused(fault, at)),
    ]
}

fn new() -> BudgetTracker {
    BudgetTracker::new(1, LAMBDA, 80.0, 0, ExactQuantile::new().into()).unwrap()
}

/// Calls `then` with the batch, in the form that the bits of `form` say.
fn with_batch<T>(
    columns: &Columns,
    max_score: f64,
    form: u8,
    then: impl FnOnce(&Batch<'_, Keys<'_>, dyn toggle_rs::column::Column<f64> + '_, f64>) -> T,
) -> T {
    let copied = (Copied(&columns.lengths), Copied(&columns.scores));
    let batch = Batch {
        datasets: &Keys {
            is_split: form & 1 > 0,
            ..Keys::new(&columns.keys)
        },
        lengths: if form & 2 > 0 {
            &copied.0
        } else {
            &columns.lengths
        },
        scores: &copied.1 as &dyn toggle_rs::column::Column<f64>,
        max_score,
    };
    then(&batch)
}

fn check_budgets(tracker: &BudgetTracker, plain: &Plain) {
    let percentile = tracker.percentile();
    assert_eq!(tracker.budget(UNKNOWN), None);
    for (key, names) in KEYS.iter().enumerate() {
        let expected = plain.budget(key, percentile);
        assert_eq!(tracker.budget(KeyRef::Many(names)), expected, "{names:?}");
    }
}

fn check_step_budgets(tracker: &BudgetTracker, plain: &Plain, samples: &[Sample]) {
    let expected = plain.budgets(samples, tracker.percentile());
    let names = |key: Key| KEYS[key].iter().copied();
    let found: Vec<_> = tracker.step_budgets().collect();
    assert_eq!(found.len(), expected.len());
    for ((key, budget), (expected_key, expected)) in found.into_iter().zip(expected) {
        assert!(key.names().eq(names(expected_key)), "{key}");
        assert_eq!(budget, expected, "{key}");
    }
}

fn penalty_step(
    tracker: &mut BudgetTracker,
    plain: &mut Plain,
    samples: &[Sample],
    (k, max_score, form): (usize, f64, u8),
) {
    let mut shaped = vec![f64::NAN; samples.len()];
    let kept = with_batch(&Columns::of(samples), max_score, form, |batch| {
        tracker.penalty_step(1, batch, k, &mut shaped).unwrap()
    });
    plain.update(samples, max_score);
    let percentile = tracker.percentile();
    let (expected, expected_kept) = plain.shaped(samples, k, max_score, percentile);
    let bits = |scores: &[f64]| {
        scores
            .iter()
            .map(|score| score.to_bits())
            .collect::<Vec<_>>()
    };
    assert_eq!(bits(&shaped), bits(&expected));
    assert_eq!(kept.is_nan(), samples.is_empty());
    assert!(kept == expected_kept || kept.is_nan());
    check_step_budgets(tracker, plain, samples);
}

/// A call that must be refused, whatever the samples, of which there is one at
/// least.
fn refused(tracker: &mut BudgetTracker, samples: &[Sample], fault: u8, at: usize) -> Error {
    let mut columns = Columns::of(samples);
    let mut shaped = vec![0.0; samples.len()];
    let at = at % samples.len();
    let (mut bad_at, mut k) = (None, 1);
    match fault {
        0 => columns.lengths[at] = MAX_LENGTH + 1,
        1 => bad_at = Some(at),
        2 => columns.scores[at] = f64::NAN,
        3 => columns.lengths.truncate(at),
        4 => columns.keys.push(at),
        _ => k = samples.len() + 1,
    }
    let batch = Batch {
        datasets: &Keys {
            bad_at,
            ..Keys::new(&columns.keys)
        },
        lengths: &columns.lengths,
        scores: &columns.scores[..],
        max_score: 1.0,
    };
    match at % 3 {
        0 if fault < 5 => tracker.update(&batch).unwrap_err(),
        1 if fault < 5 => tracker.normal_step(1, &batch).unwrap_err(),
        _ => tracker.penalty_step(1, &batch, k, &mut shaped).unwrap_err(),
    }
}

proptest! {
    #![proptest_config(cases(256))]

    /// One tracker through all of it, so that what a call leaves behind would
    /// show in the next ones.
    #[test]
    fn a_run_equals_plain_loops(
        calls in prop::collection::vec((call(), samples(40), 1..9usize, any::<u8>()), 1..16),
    ) {
        let mut tracker = new();
        let mut plain = Plain::default();
        for (call, samples, k, form) in calls {
            let samples = &samples[..samples.len() - samples.len() % k];
            let max_score = [1.0, 2.0, 0.5][usize::from(form >> 4) % 3];
            let columns = Columns::of(samples);
            match call {
                Call::Update => {
                    with_batch(&columns, max_score, form, |batch| tracker.update(batch)).unwrap();
                    plain.update(samples, max_score);
                }
                Call::Normal => {
                    with_batch(&columns, max_score, form, |batch| tracker.normal_step(0, batch))
                        .unwrap();
                    plain.update(samples, max_score);
                    check_step_budgets(&tracker, &plain, samples);
                }
                Call::Penalty => {
                    penalty_step(&mut tracker, &mut plain, samples, (k, max_score, form));
                }
                Call::Reload => tracker = BudgetTracker::from_bytes(&tracker.to_bytes()).unwrap(),
                Call::Percentile(percentile) => tracker.set_percentile(percentile).unwrap(),
                Call::Load | Call::Merge => {
                    let mut other = new();
                    other.set_percentile(tracker.percentile()).unwrap();
                    with_batch(&columns, max_score, form, |batch| other.update(batch)).unwrap();
                    if matches!(call, Call::Load) {
                        tracker.load_observations(other).unwrap();
                        plain = Plain::default();
                    } else {
                        tracker.merge(&other).unwrap();
                    }
                    plain.update(samples, max_score);
                }
                Call::Refused(fault, at) if !samples.is_empty() => {
                    let before = tracker.to_bytes();
                    refused(&mut tracker, samples, fault, at);
                    prop_assert_eq!(tracker.to_bytes(), before);
                }
                Call::Refused(..) => {}
            }
            check_budgets(&tracker, &plain);
        }
    }
}

/// Batches that are looked at in pieces of about 2^15 samples.
fn large() -> impl Strategy<Value = (Vec<Sample>, usize, u8)> {
    let k = prop::sample::select(&[1, 3, 8, 1000, 32_767, 32_768, 32_769, 40_000][..]);
    // Runs of one are too many to be kept; long ones go on from piece to piece.
    let run = prop::sample::select(&[1, 2, 8, 50_000][..]);
    let groups = prop_oneof![Just(32_768), 30_000..140_000usize];
    (k, run, groups, 1..13usize, any::<u64>(), any::<u8>()).prop_map(
        |(k, run, n, keys, seed, form)| {
            let numbers = random(seed).take(n.next_multiple_of(k)).enumerate();
            let samples = numbers.map(|(i, number)| Sample {
                key: i / run % keys,
                group: 0,
                length: number >> 52,
                score: f64::from(u8::from(number & 1 > 0)),
                is_correct: false,
            });
            (samples.collect(), k, form)
        },
    )
}

proptest! {
    // Each is a thousand times as large as the others.
    #![proptest_config(ProptestConfig { cases: cases(16).cases.min(1000), ..cases(16) })]

    #[test]
    fn batches_of_several_pieces(batches in prop::collection::vec(large(), 1..4)) {
        let mut tracker = new();
        let mut plain = Plain::default();
        for (samples, k, form) in batches {
            penalty_step(&mut tracker, &mut plain, &samples, (k, 1.0, form));
            // A small one finds nothing of it.
            let few = &samples[..3];
            penalty_step(&mut tracker, &mut plain, few, (3, 1.0, form));
            check_budgets(&tracker, &plain);
            let before = tracker.to_bytes();
            for (fault, at) in [0, samples.len() / 2, samples.len() - 1].into_iter().enumerate() {
                refused(&mut tracker, &samples, fault as u8, at);
            }
            prop_assert_eq!(tracker.to_bytes(), before);
        }
    }
}

/// Else each refused call would take memory for good.
#[test]
fn keys_of_a_refused_call_are_forgotten() {
    let mut tracker = new();
    let mut held = Vec::new();
    for turn in 0..50 {
        let batch = Batch {
            datasets: &InVain::new(turn),
            lengths: &vec![5; 1000],
            scores: &[1.0; 1000][..],
            max_score: 1.0,
        };
        tracker.update(&batch).unwrap_err();
        held.push(tracker.nbytes());
    }
    assert_eq!(held[0], held[49]);
}
