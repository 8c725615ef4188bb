//! Any bytes that have the right length and checksum: refused, or a state that
//! can be used, and written down as the same bytes twice.
//!
//! The mutator repairs length and checksum, or hardly any input would get past
//! them. `tests/rust/snapshot.rs` has the same properties for inputs near valid
//! ones.

#![cfg_attr(fuzzing, no_main)]

use toggle_rs::groups::Groups;
use toggle_rs::quantile::{
    DecayQuantile, ExactQuantile, GkQuantile, Merge, P2Quantile, Quantile, Rank, WindowQuantile,
};
use toggle_rs::snapshot::{Kind, Snapshot};
use toggle_rs::toggle::{self, Toggle};
use toggle_rs::tracker::{self, BudgetTracker};

const KINDS: [Kind; 7] = [
    Kind::Toggle,
    Kind::BudgetTracker,
    Kind::ExactQuantile,
    Kind::P2Quantile,
    Kind::GkQuantile,
    Kind::WindowQuantile,
    Kind::DecayQuantile,
];

toggle_rs_fuzz::target!(decode);

fn decode(data: &[u8]) {
    let kind = data
        .get(10..12)
        .map_or(0, |kind| u16::from_le_bytes([kind[0], kind[1]]));
    match KINDS.into_iter().find(|&known| known as u16 == kind) {
        Some(Kind::BudgetTracker) => read::<BudgetTracker>(data, use_tracker),
        Some(Kind::ExactQuantile) => read::<ExactQuantile>(data, |exact| {
            use_estimator(exact, &[7, 1 << 53]);
            let _ = (exact.rank(9.5), exact.merge(&exact.clone()));
        }),
        Some(Kind::P2Quantile) => read::<P2Quantile>(data, |p2| use_estimator(p2, &[7.5, -1e308])),
        Some(Kind::GkQuantile) => read::<GkQuantile>(data, |gk| {
            use_estimator(gk, &[7.5, -1e308]);
            let _ = (gk.rank(9.5), gk.merge(&gk.clone()));
        }),
        Some(Kind::WindowQuantile) => read::<WindowQuantile>(data, |window| {
            use_estimator(window, &[7, 1 << 53]);
            let _ = window.rank(9.5);
        }),
        Some(Kind::DecayQuantile) => read::<DecayQuantile>(data, |decay| {
            use_estimator(decay, &[7, 1 << 53]);
            let _ = (decay.rank(9.5), decay.merge(&decay.clone()), decay.tick(9));
            use_estimator(decay, &[7, 1 << 53]);
        }),
        Some(Kind::Toggle) | None => read::<Toggle>(data, use_toggle),
    }
    // Nothing is two things.
    let as_others = [
        P2Quantile::from_bytes(data).is_ok(),
        ExactQuantile::from_bytes(data).is_ok(),
    ];
    assert!(as_others != [true, true]);
}

/// What is read has the bytes of what is read from its bytes, also after use.
fn read<T: Snapshot>(data: &[u8], use_it: impl FnOnce(&mut T)) {
    let Ok(mut state) = T::from_bytes(data) else {
        return;
    };
    check_bytes(&state);
    use_it(&mut state);
    check_bytes(&state);
}

fn check_bytes<T: Snapshot>(state: &T) {
    let bytes = state.to_bytes();
    match T::from_bytes(&bytes) {
        Ok(again) => assert!(again.to_bytes() == bytes),
        Err(error) => panic!("{error}"),
    }
}

/// Errors are fine: a count, or time, may be at its end.
fn use_estimator<Q: Quantile>(estimator: &mut Q, values: &[Q::Value]) {
    for q in [0.0, 0.3, 0.8, 1.0] {
        let _ = estimator.quantile(q);
    }
    let _ = estimator.update(values);
    let _ = (
        estimator.percentile(80.0),
        estimator.count(),
        estimator.min(),
        estimator.max(),
    );
    assert!(estimator.nbytes() < 10_000_000);
}

fn use_toggle(toggle: &mut Toggle) {
    let step = toggle.last_step().unwrap_or(0);
    let batch = toggle::Batch {
        datasets: &["math", "", "new", "math"][..],
        lengths: &vec![7, 1 << 53, 0, 9],
        correct: &[true, true, true, false],
    };
    let groups = Groups::consecutive(4, 2);
    let scores = [1.0, 1.0, 1.0, 0.0];
    for step in [step, step.saturating_add(1), step.saturating_add(2)] {
        if let Ok(groups) = &groups {
            let _ = toggle.apply(step, &scores[..], &batch, groups);
        }
        toggle.summary();
    }
    let _ = toggle.observe(&batch, None);
    let _ = toggle.merge(&toggle.clone());
    toggle.summary();
    let _ = toggle.load_observations(toggle.clone());
    assert!(toggle.nbytes() < 10_000_000);
}

fn use_tracker(tracker: &mut BudgetTracker) {
    let batch = tracker::Batch {
        datasets: &["math", "", "new", "math"][..],
        lengths: &vec![7, 1 << 53, 0, 9],
        scores: &[1.0, 1.0, 1.0, 0.0][..],
        max_score: 1.0,
    };
    let _ = tracker.update(&batch);
    let _ = tracker.penalty_step(9, &batch, 2, &mut [0.0; 4]);
    tracker.summary();
    tracker.step_budgets().count();
    let _ = tracker.merge(&tracker.clone());
    let _ = tracker.load_observations(tracker.clone());
    assert!(tracker.nbytes() < 10_000_000);
}

#[cfg(fuzzing)]
mod mutator {
    use toggle_rs::snapshot::MAGIC;
    use toggle_rs_fuzz::libfuzzer_sys;

    use super::KINDS;

    const HEADER: usize = 20;
    const CHECKSUM: usize = 4;

    libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
        let size = libfuzzer_sys::fuzzer_mutate(data, size, max_size);
        // A few go as they are: the header has its own checks.
        if size >= HEADER + CHECKSUM && seed % 32 > 0 {
            repair(&mut data[..size], seed);
        }
        size
    });

    fn repair(bytes: &mut [u8], seed: u32) {
        let end = bytes.len() - CHECKSUM;
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&1_u16.to_le_bytes());
        let kind = u16::from_le_bytes([bytes[10], bytes[11]]);
        if !KINDS.iter().any(|&known| known as u16 == kind) {
            let known = KINDS[seed as usize / 32 % KINDS.len()] as u16;
            bytes[10..12].copy_from_slice(&known.to_le_bytes());
        }
        bytes[12..20].copy_from_slice(&((end - HEADER) as u64).to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    }
}
