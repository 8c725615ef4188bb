//! Merging what several processes have observed.

mod lengths;
mod runs;

use lengths::cases;
use proptest::prelude::*;
use toggle_rs::quantile::{DecayQuantile, Estimator, ExactQuantile, WindowQuantile};
use toggle_rs::snapshot::Snapshot;
use toggle_rs::toggle::{Settings, Toggle};
use toggle_rs::{Error, Freeze};

use runs::{NAMES, Run, calls, needs_clock, observe, run, settings};

fn exact() -> Estimator {
    Estimator::Exact(ExactQuantile::new())
}

/// Some parts, in what order to take them, and which neighbours to merge first.
type Parts = (Settings, Vec<Run>, Vec<usize>, Vec<usize>);

fn parts(estimator: Estimator) -> impl Strategy<Value = Parts> {
    settings(estimator).prop_flat_map(|settings| {
        let runs = prop::collection::vec(run(6, needs_clock(&settings)), 5);
        let order = Just((0..5).collect::<Vec<_>>()).prop_shuffle();
        let grouping = prop::collection::vec(0..60usize, 4);
        (Just(settings), runs, order, grouping)
    })
}

/// The parts merged in some order and grouping.
fn merged(parts: &[Toggle], order: &[usize], grouping: &[usize]) -> Toggle {
    let mut parts: Vec<Toggle> = order.iter().map(|&part| parts[part].clone()).collect();
    for at in grouping {
        let at = at % (parts.len() - 1);
        let right = parts.remove(at + 1);
        parts[at].merge(&right).unwrap();
    }
    parts.remove(0)
}

/// Everything that a later step can tell of.
fn budgets(toggle: &mut Toggle) -> Vec<(String, u64, Option<f64>)> {
    let summary = toggle.summary().into_iter();
    let mut summary: Vec<_> = summary
        .map(|(key, count, budget)| (key.to_string(), count, budget))
        .collect();
    summary.sort_by(|a, b| a.0.cmp(&b.0));
    summary
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn order_and_grouping_do_not_matter(
        (settings, runs, order, grouping) in parts(exact()),
        later in calls(4),
    ) {
        let empty = Toggle::new(settings.clone()).unwrap();
        let parts: Vec<Toggle> = runs.iter().map(|run| {
            let mut part = empty.clone();
            run.play(&mut part);
            part
        }).collect();
        let mut one = merged(&parts, &[0, 1, 2, 3, 4], &[0; 4]);
        let mut other = merged(&parts, &order, &grouping);
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(one.to_bytes(), other.to_bytes());

        // An empty part adds nothing.
        let before = one.clone();
        one.merge(&empty).unwrap();
        prop_assert_eq!(&one, &before);

        // Not even later, when budgets are fixed.
        let later = Run { start: Some(one.last_step().unwrap_or(0)), calls: later };
        later.play(&mut one);
        later.play(&mut other);
        prop_assert_eq!(one.to_bytes(), other.to_bytes());
        prop_assert_eq!(budgets(&mut one), budgets(&mut other));
    }

    /// Ranks that see the same steps and a part of each batch, merged, are as
    /// one process that saw it all.
    #[test]
    fn parts_of_a_run_make_the_run(
        (settings, run) in settings(exact()).prop_flat_map(|settings| {
            let run = run(12, needs_clock(&settings));
            (Just(settings), run)
        }),
        seed in any::<u64>(),
    ) {
        play_in_parts(&settings, &run, seed, |all, whole| assert_eq!(all, whole));
    }

    /// Weights differ by rounding, so the percentile is one that no share of
    /// the weight is near to.
    #[test]
    fn decaying_parts_of_a_run_make_the_run(
        settings in settings(DecayQuantile::new(2.0).unwrap().into()),
        run in run(12, true),
        seed in any::<u64>(),
    ) {
        let settings = Settings { percentile: 61.803, ..settings };
        play_in_parts(&settings, &run, seed, |_, _| ());
    }
}

/// Deals the samples of each call to three ranks. After each call, the merged
/// ranks have the budgets of one that saw all, in whatever order they merge.
fn play_in_parts(
    settings: &Settings,
    run: &Run,
    mut random: u64,
    check: impl Fn(&Toggle, &Toggle),
) {
    let freeze = Freeze::Never;
    let mut whole = Toggle::new(Settings {
        freeze,
        ..settings.clone()
    })
    .unwrap();
    let mut ranks = vec![whole.clone(); 3];
    for (step, call) in run.steps().filter(|(_, call)| !call.lengths.is_empty()) {
        observe(&mut whole, step, &call.lengths);
        let mut shares = vec![Vec::new(); 3];
        for &sample in &call.lengths {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            shares[(random >> 33) as usize % 3].push(sample);
        }
        for (rank, share) in ranks.iter_mut().zip(&shares) {
            // A rank without samples does not hear of the step.
            if !share.is_empty() {
                observe(rank, step, share);
            }
        }
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut all = merged(&ranks, &order, &[0, 0]);
            assert_eq!(budgets(&mut all), budgets(&mut whole));
            check(&all, &whole);
        }
    }
}

fn first() -> Toggle {
    Toggle::new(Settings {
        freeze: Freeze::First,
        min_samples: 2,
        ..Settings::new(1, 0.5, 50.0, exact())
    })
    .unwrap()
}

/// One that has observed these lengths of "math" at these steps.
fn seen(mut toggle: Toggle, steps: &[(u64, &[u64])]) -> Toggle {
    for &(step, lengths) in steps {
        let lengths: Vec<_> = lengths.iter().map(|&length| ("math", length)).collect();
        observe(&mut toggle, Some(step), &lengths);
    }
    toggle
}

fn with(own: &Toggle, other: &Toggle) -> Toggle {
    let mut merged = own.clone();
    merged.merge(other).unwrap();
    merged
}

#[test]
fn the_budget_that_was_fixed_first_stays() {
    let early = seen(first(), &[(3, &[300, 300]), (4, &[])]);
    let late = seen(first(), &[(5, &[100, 100]), (6, &[])]);
    let at_once = seen(first(), &[(3, &[200, 200, 200]), (9, &[])]);
    let live = seen(first(), &[(2, &[1]), (8, &[])]);
    let expect = |toggle: Toggle, count, budget| {
        let name = NAMES[0].to_owned();
        assert_eq!(budgets(&mut { toggle }), [(name, count, Some(budget))]);
    };
    expect(with(&early, &late), 4, 300.0);
    expect(with(&late, &early), 4, 300.0);
    expect(with(&early, &at_once), 5, 200.0);
    expect(with(&live, &late), 3, 100.0);
    expect(with(&late, &live), 3, 100.0);
    // What is fixed takes no part in a budget any more, only counts.
    let later = seen(with(&live, &late), &[(9, &[7, 7]), (10, &[])]);
    expect(later, 5, 100.0);
}

/// Live keys that have a budget once they are together are fixed by the next
/// step, with the data of both.
#[test]
fn a_merge_fixes_nothing_itself() {
    let parts = [
        seen(first(), &[(1, &[100])]),
        seen(first(), &[(1, &[200])]),
        seen(first(), &[(4, &[])]),
    ];
    let merged = with(&with(&parts[0], &parts[1]), &parts[2]);
    let next = seen(merged, &[(5, &[])]);
    let expected = [("math".to_owned(), 2, Some(150.0))];
    assert_eq!(budgets(&mut next.clone()), expected);
    // 900 comes too late.
    let late = seen(next, &[(6, &[900; 5]), (7, &[])]);
    let expected = [("math".to_owned(), 7, Some(150.0))];
    assert_eq!(budgets(&mut { late }), expected);
}

#[test]
fn what_the_later_clock_has_left_behind_counts() {
    let never = || Toggle::new(Settings::new(1, 0.5, 50.0, exact())).unwrap();
    let behind = seen(never(), &[(3, &[100, 100, 100])]);
    let ahead = seen(never(), &[(4, &[700])]);
    for merged in [with(&behind, &ahead), with(&ahead, &behind)] {
        assert_eq!(merged.last_step(), Some(4));
        let mut same = seen(never(), &[(3, &[100, 100, 100]), (4, &[700])]);
        assert_eq!(merged, same);
        let mut merged = merged;
        assert_eq!(budgets(&mut merged), budgets(&mut same));
    }
}

#[test]
fn unlike_settings_are_named() {
    let own = Settings::new(5, 0.5, 80.0, exact());
    let p2 = Estimator::by_name("p2", 70.0).unwrap();
    let unlike = [
        (
            Settings {
                m: 6,
                ..own.clone()
            },
            "other.m: got 6, expected 5, as here",
        ),
        (
            Settings {
                lambda: 0.9,
                ..own.clone()
            },
            "other.lambda_: got 0.9, expected 0.5, as here",
        ),
        (
            Settings {
                percentile: 70.0,
                ..own.clone()
            },
            "other.percentile: got 70, expected 80, as here",
        ),
        (
            Settings {
                warmup_steps: 1,
                ..own.clone()
            },
            "other.warmup_steps: got 1, expected 0, as here",
        ),
        (
            Settings {
                start_phase: toggle_rs::schedule::Phase::LengthPenalty,
                ..own.clone()
            },
            "other.start_phase: got length_penalty, expected normal, as here",
        ),
        (
            Settings {
                freeze: Freeze::First,
                ..own.clone()
            },
            "other.freeze: got first, expected never, as here",
        ),
        (
            Settings {
                min_samples: 2,
                ..own.clone()
            },
            "other.min_samples: got 2, expected 1, as here",
        ),
        (
            Settings {
                penalty: toggle_rs::toggle::Penalty::CapAtZero,
                ..own.clone()
            },
            "other.penalty: got cap_at_zero, expected zero, as here",
        ),
        (
            Settings {
                percentile: 70.0,
                estimator: p2,
                ..own.clone()
            },
            "other.percentile: got 70, expected 80, as here",
        ),
        (
            Settings {
                estimator: Estimator::by_name("gk", 80.0).unwrap(),
                ..own.clone()
            },
            "other.estimator: got GKQuantile(0.001), expected ExactQuantile(), as here",
        ),
    ];
    let mut toggle = seen(Toggle::new(own).unwrap(), &[(1, &[1, 2, 3])]);
    let before = toggle.clone();
    for (settings, message) in unlike {
        let error = toggle.merge(&Toggle::new(settings).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Value { .. }));
        assert_eq!(error.to_string(), message);
    }
    assert_eq!(toggle, before);
}

#[test]
fn p2_and_window_have_no_merge_even_when_empty() {
    let p2 = Estimator::by_name("p2", 80.0).unwrap();
    let window = WindowQuantile::new(9).unwrap().into();
    for estimator in [p2, window] {
        let mut toggle = Toggle::new(Settings::new(1, 0.5, 80.0, estimator)).unwrap();
        let error = toggle.merge(&toggle.clone()).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    }
}

/// Merging doubles: after 53 times there is no room left for one more.
#[test]
fn counts_have_an_end_and_a_refused_call_changes_nothing() {
    let never = Toggle::new(Settings::new(1, 0.5, 50.0, exact())).unwrap();
    for step in [None, Some(1)] {
        let mut toggle = never.clone();
        observe(&mut toggle, step, &[("math", 5), ("code", 6)]);
        // What waits is kept one by one.
        observe(&mut toggle, Some(2), &[]);
        for _ in 0..53 {
            toggle.merge(&toggle.clone()).unwrap();
        }
        let before = toggle.clone();
        assert!(toggle.merge(&before).is_err());
        assert_eq!(toggle, before);
        let batch = toggle_rs::toggle::Batch {
            datasets: &["math"][..],
            lengths: &vec![7],
            correct: &[true],
        };
        // Also where it would wait for the next step.
        for step in [None, Some(2), Some(3)] {
            assert!(toggle.observe(&batch, step).is_err());
            assert_eq!(toggle, before);
        }
        observe(&mut toggle, Some(3), &[("new", 7)]);
    }
}
