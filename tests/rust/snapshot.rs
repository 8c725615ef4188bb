//! Snapshots: round trips, canonical bytes, hostile bytes.

mod lengths;
mod runs;
mod seal;

use lengths::cases;
use proptest::prelude::*;
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, LogNormal};
use toggle_rs::quantile::{
    DecayQuantile, Estimator, ExactQuantile, GkQuantile, P2Quantile, Quantile, Rank, WindowQuantile,
};
use toggle_rs::snapshot::Snapshot;
use toggle_rs::toggle::{Settings, Toggle};

use runs::{Run, estimators, needs_clock, observe, run, settings};
use seal::{payload, seal};

fn toggle() -> impl Strategy<Value = Toggle> {
    let settings = prop::sample::select(estimators()).prop_flat_map(settings);
    let made = settings.prop_flat_map(|settings| {
        let run = run(12, needs_clock(&settings));
        (Just(settings), run)
    });
    made.prop_map(|(settings, run)| {
        let mut toggle = Toggle::new(settings).unwrap();
        run.play(&mut toggle);
        toggle
    })
}

fn lengths() -> impl Strategy<Value = Vec<u64>> {
    let length = prop_oneof![8 => 0..20u64, 8 => 0..3000u64, 1 => 0..=1u64 << 53];
    prop::collection::vec(length, 0..400)
}

/// Reading gives the same object with the same bytes, and what `next` does to
/// both is the same.
fn check<T: Snapshot + PartialEq + std::fmt::Debug + Clone>(object: &T, next: impl Fn(&mut T)) {
    let bytes = object.to_bytes();
    let mut read = T::from_bytes(&bytes).unwrap();
    assert_eq!(&read, object);
    assert_eq!(read.to_bytes(), bytes);
    let mut unbroken = object.clone();
    next(&mut unbroken);
    next(&mut read);
    assert_eq!(read.to_bytes(), unbroken.to_bytes());
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn exact_comes_back(
        counts in prop::collection::btree_map(
            prop_oneof![0..2000u64, 0..300_000u64, 0..=1u64 << 53],
            prop_oneof![4 => 1..4u64, 1 => 1..1u64 << 40],
            0..900,
        ),
        next in prop::collection::vec(0..3000u64, 0..50),
    ) {
        let exact = ExactQuantile::from_counts(counts.clone()).unwrap();
        prop_assert!(exact.counts().eq(counts));
        check(&exact, |exact| exact.update(&next).unwrap());
        let read = ExactQuantile::from_bytes(&exact.to_bytes()).unwrap();
        prop_assert!(read.nbytes() <= 16 * exact.counts().count() + 512);
    }

    #[test]
    fn sketches_come_back(
        q in 0.0..=1.0f64,
        epsilon in 0.001..=0.5f64,
        values in prop::collection::vec(prop_oneof![-1e3..1e3f64, -1e300..1e300f64, Just(-0.0)], 0..700),
        next in prop::collection::vec(-1e3..1e3f64, 0..50),
    ) {
        let mut p2 = P2Quantile::new(q).unwrap();
        p2.update(&values).unwrap();
        check(&p2, |p2| p2.update(&next).unwrap());
        let mut gk = GkQuantile::new(epsilon).unwrap();
        gk.update(&values).unwrap();
        check(&gk, |gk| gk.update(&next).unwrap());
    }

    #[test]
    fn window_and_decay_come_back(
        window in 1..300usize,
        half_life in 0.01..100.0f64,
        batches in prop::collection::vec((0..40u64, lengths()), 0..12),
        next in lengths(),
    ) {
        let mut last = WindowQuantile::new(window).unwrap();
        let mut decay = DecayQuantile::new(half_life).unwrap();
        for (ticks, values) in &batches {
            last.update(values).unwrap();
            decay.tick(*ticks).unwrap();
            decay.update(values).unwrap();
        }
        check(&last, |last| last.update(&next).unwrap());
        check(&decay, |decay| {
            decay.tick(1).unwrap();
            decay.update(&next).unwrap();
        });
        // The kept sums are others now; no answer is.
        let read = DecayQuantile::from_bytes(&decay.to_bytes()).unwrap();
        for i in 0..=60 {
            let q = f64::from(i) / 60.0;
            prop_assert_eq!(read.quantile(q).unwrap(), decay.quantile(q).unwrap(), "q = {}", q);
            let (a, b) = (read.rank(q * 3000.0).unwrap(), decay.rank(q * 3000.0).unwrap());
            prop_assert_eq!(a.map(f64::to_bits), b.map(f64::to_bits));
        }
    }

    #[test]
    fn toggle_comes_back(toggle in toggle(), later in runs::calls(5)) {
        let later = Run { start: Some(toggle.last_step().unwrap_or(0)), calls: later };
        check(&toggle, |toggle| later.play(toggle));
    }

    /// Also where no call comes between, and where several do.
    #[test]
    fn keys_may_come_in_any_order(
        settings in settings(Estimator::by_name("exact", 80.0).unwrap()),
        run in run(8, true),
    ) {
        let mut one = Toggle::new(settings).unwrap();
        let mut other = one.clone();
        for (step, call) in run.steps() {
            observe(&mut one, step, &call.lengths);
            for sample in call.lengths.iter().rev() {
                observe(&mut other, step, &[*sample]);
            }
            observe(&mut other, step, &[("nobody knows", 1)][..0]);
        }
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(one.to_bytes(), other.to_bytes());
    }

    #[test]
    fn observations_move_to_other_settings(
        toggle in toggle(),
        others in settings(Estimator::by_name("exact", 80.0).unwrap()),
    ) {
        let estimator = toggle.settings().estimator;
        let mut other = Toggle::new(Settings { estimator, ..others.clone() }).unwrap();
        other.load_observations(toggle.clone()).unwrap();
        prop_assert_eq!(other.settings().min_samples, others.min_samples);
        prop_assert_eq!(other.last_step(), toggle.last_step());
        // Back again, nothing is lost.
        let mut back = Toggle::new(toggle.settings()).unwrap();
        back.load_observations(other).unwrap();
        prop_assert_eq!(back.to_bytes(), toggle.to_bytes());
    }

    /// Whatever the bytes claim: an error, or an object that can be used and
    /// written down again. This is what the fuzz target does.
    #[test]
    fn hostile_payloads_are_refused_or_sound(
        toggle in toggle(),
        edits in prop::collection::vec(edit(), 1..6),
    ) {
        let Some(mut read) = hostile(&toggle, &edits) else {
            return Ok(());
        };
        let step = read.last_step().unwrap_or(0).saturating_add(1);
        let batch = toggle_rs::toggle::Batch {
            datasets: &runs::NAMES[..],
            lengths: &vec![7; 5],
            correct: &[true; 5],
        };
        // Counts and steps may be full.
        let _ = read.observe(&batch, Some(step));
        read.summary();
        let _ = read.merge(&toggle);
    }

    #[test]
    fn hostile_estimators_are_refused_or_sound(
        kind in 0..5,
        values in prop::collection::vec(0..1u64 << 50, 0..400),
        edits in prop::collection::vec(edit(), 1..6),
    ) {
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53")]
        let reals: Vec<f64> = values.iter().map(|&value| value as f64).collect();
        match kind {
            0 => hostile_estimator(ExactQuantile::new(), &values, &edits),
            1 => hostile_estimator(P2Quantile::new(0.8).unwrap(), &reals, &edits),
            2 => hostile_estimator(GkQuantile::new(0.1).unwrap(), &reals, &edits),
            3 => hostile_estimator(WindowQuantile::new(100).unwrap(), &values, &edits),
            _ => hostile_estimator(DecayQuantile::new(3.0).unwrap(), &values, &edits),
        }
    }
}

/// What is read when the payload is edited, and length and checksum repaired.
fn hostile<T: Snapshot>(object: &T, edits: &[Edit]) -> Option<T> {
    let mut payload = payload(&object.to_bytes()).to_vec();
    for edit in edits {
        edit.apply(&mut payload);
    }
    let read = T::from_bytes(&seal(T::KIND as u16, &payload)).ok()?;
    let again = read.to_bytes();
    assert_eq!(T::from_bytes(&again).unwrap().to_bytes(), again);
    Some(read)
}

fn hostile_estimator<T>(mut estimator: T, values: &[T::Value], edits: &[Edit])
where
    T: Snapshot + Quantile,
{
    estimator.update(values).unwrap();
    if let Some(mut read) = hostile(&estimator, edits) {
        assert!(read.nbytes() <= 4096 + 64 * read.to_bytes().len());
        let _ = read.update(values);
        for q in [0.0, 0.3, 1.0] {
            let _ = read.quantile(q);
        }
        let _ = (read.min(), read.max(), read.count());
    }
}

/// What an attacker, or a fuzzer, does to bytes.
#[derive(Debug, Clone)]
enum Edit {
    Flip(usize, u8),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let insertion = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..9),
        // The largest number there is.
        Just([vec![0xff; 9], vec![1]].concat()),
        any::<f64>().prop_map(|x| x.to_le_bytes().to_vec()),
    ];
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Edit::Flip(at, byte)),
        (any::<usize>(), insertion).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (any::<usize>(), 1..20usize).prop_map(|(at, len)| Edit::Remove(at, len)),
    ]
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Self::Flip(at, byte) => {
                let at = at % bytes.len();
                bytes[at] ^= byte;
            }
            Self::Insert(at, more) => {
                let at = at % bytes.len();
                bytes.splice(at..at, more.iter().copied());
            }
            Self::Remove(at, len) => {
                let at = at % bytes.len();
                bytes.drain(at..bytes.len().min(at + len));
            }
        }
    }
}

/// Eight datasets after 10^7 lengths, capped where generation stops.
#[test]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and cut at 32,768"
)]
fn a_mixture_of_datasets_is_small() {
    let mut rng = StdRng::seed_from_u64(1);
    let distribution = LogNormal::new(8.0_f64, 0.8).unwrap();
    let settings = Settings::new(1, 0.9, 80.0, Estimator::Exact(ExactQuantile::new()));
    let mut toggle = Toggle::new(settings).unwrap();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let lengths = distribution.sample_iter(&mut rng).take(1_250_000);
        let lengths: Vec<u64> = lengths.map(|x| x.min(32_768.0) as u64).collect();
        let batch = toggle_rs::toggle::Batch {
            datasets: &vec![name; lengths.len()][..],
            lengths: &lengths,
            correct: &vec![true; lengths.len()],
        };
        toggle.observe(&batch, None).unwrap();
    }
    let bytes = toggle.to_bytes();
    assert!(bytes.len() < 300_000, "{}", bytes.len());
    assert_eq!(Toggle::from_bytes(&bytes).unwrap(), toggle);
}
