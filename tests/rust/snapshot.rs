//! Snapshots: round trips, canonical bytes, damage, and golden files.

#[path = "runs.rs"]
mod runs;

use std::path::PathBuf;

use proptest::prelude::*;
use rand::{Rng, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, LogNormal};
use toggle_rs::Error;
use toggle_rs::quantile::{Estimator, ExactQuantile, GkQuantile, P2Quantile, Quantile};
use toggle_rs::snapshot::{Kind, MAGIC, Snapshot, read_file, write_file};
use toggle_rs::toggle::{Settings, Toggle};
use toggle_rs::tracker::{Batch, BudgetTracker};

use runs::{Run, needs_clock, observe, run, settings};

const HEADER: usize = 20;

/// The snapshot with this payload, its length and checksum right.
fn seal(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(payload);
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

fn payload(bytes: &[u8]) -> &[u8] {
    &bytes[HEADER..bytes.len() - 4]
}

fn refusal<T: Snapshot + std::fmt::Debug>(bytes: &[u8]) -> String {
    match T::from_bytes(bytes) {
        Err(Error::Snapshot(what)) => what,
        other => panic!("{other:?}"),
    }
}

/// The estimators that a `Toggle` with percentile 80 may have.
fn estimator() -> impl Strategy<Value = Estimator> {
    prop_oneof![
        Just(Estimator::by_name("exact", 80.0).unwrap()),
        Just(Estimator::by_name("p2", 80.0).unwrap()),
        Just(Estimator::from(GkQuantile::new(0.05).unwrap())),
    ]
}

fn toggle() -> impl Strategy<Value = Toggle> {
    let settings = estimator().prop_flat_map(settings);
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
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

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
        let mut payload = payload(&toggle.to_bytes()).to_vec();
        for edit in &edits {
            edit.apply(&mut payload);
        }
        let bytes = seal(Kind::Toggle as u16, &payload);
        if let Ok(mut read) = Toggle::from_bytes(&bytes) {
            prop_assert!(read.nbytes() <= 4096 + 128 * bytes.len());
            let again = read.to_bytes();
            prop_assert_eq!(Toggle::from_bytes(&again).unwrap().to_bytes(), again);
            let step = read.last_step();
            if step.is_some_and(|step| step < u64::MAX) {
                let batch = toggle_rs::toggle::Batch {
                    datasets: &runs::NAMES[..],
                    lengths: &vec![7; 5],
                    correct: &[true; 5],
                };
                // Counts may be full.
                let _ = read.observe(&batch, step.map(|step| step + 1));
                read.summary();
            }
        }
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

/// Every single-bit change and every truncation.
fn check_damage<T: Snapshot + std::fmt::Debug>(bytes: &[u8]) {
    for bit in 0..8 * bytes.len() {
        let mut changed = bytes.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        refusal::<T>(&changed);
    }
    for len in 0..bytes.len() {
        refusal::<T>(&bytes[..len]);
    }
}

#[test]
fn damage_is_refused() {
    for sample in samples() {
        (sample.check_damage)(&sample.bytes);
    }
}

#[test]
fn damage_to_a_large_snapshot_is_refused() {
    let exact = ExactQuantile::from_counts((0..200_000).map(|value| (value, value % 97 + 1)));
    let bytes = exact.unwrap().to_bytes();
    let mut rng = StdRng::seed_from_u64(1);
    for _ in 0..2000 {
        let mut changed = bytes.clone();
        changed[rng.random_range(0..bytes.len())] ^= 1 << rng.random_range(0..8);
        refusal::<ExactQuantile>(&changed);
        refusal::<ExactQuantile>(&bytes[..rng.random_range(0..bytes.len())]);
    }
}

#[test]
fn refusals_say_why() {
    let exact = ExactQuantile::from_counts([(1, 2)]).unwrap();
    let bytes = exact.to_bytes();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        refusal::<ExactQuantile>(&bytes)
    };
    assert_eq!(
        with(&|bytes| bytes[8] = 2),
        "written by a newer toggle-rs: version 2, this one reads up to 1"
    );
    assert_eq!(with(&|bytes| bytes[0] = b'x'), "it does not begin as one");
    assert_eq!(
        with(&|bytes| bytes.push(0)),
        "with bytes after its end: 28 bytes, its header says 27"
    );
    assert_eq!(
        with(&|bytes| bytes.truncate(26)),
        "cut short: 26 bytes, its header says 27"
    );
    assert_eq!(
        with(&|bytes| bytes[21] ^= 1),
        "the checksum is wrong: some of it has changed"
    );
    assert_eq!(
        refusal::<Toggle>(&bytes),
        "it is one of ExactQuantile, expected Toggle"
    );
    assert_eq!(
        refusal::<Toggle>(&seal(99, &[])),
        "it is one of kind 99, expected Toggle"
    );
    assert_eq!(refusal::<Toggle>(b"PK"), "2 bytes are too few");

    let exact =
        |payload: &[u8]| refusal::<ExactQuantile>(&seal(Kind::ExactQuantile as u16, payload));
    assert_eq!(exact(&[]), "a value is cut short");
    assert_eq!(exact(&[0, 0]), "1 bytes after the last value");
    assert_eq!(
        exact(&[0x80, 0]),
        "a number of more than 64 bits, or with leading zeros"
    );
    assert_eq!(exact(&[1]), "a count of 0");
}

/// A length that says 2^60 elements are to come costs nothing.
#[test]
fn claimed_lengths_do_not_allocate() {
    let huge = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
    let mut payload = 0.5_f64.to_le_bytes().to_vec();
    payload.extend(huge);
    let what = refusal::<GkQuantile>(&seal(Kind::GkQuantile as u16, &payload));
    assert_eq!(what, "1152921504606846976 elements in 0 bytes");
}

/// Eight datasets after 10^7 lengths, capped where generation stops.
#[test]
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

/// A state that is made from scratch, and where its golden file is.
struct Sample {
    path: PathBuf,
    bytes: Vec<u8>,
    is_same: Box<dyn Fn(&[u8]) -> bool>,
    check_damage: fn(&[u8]),
}

impl Sample {
    fn new<T>(name: &str, object: T) -> Self
    where
        T: Snapshot + PartialEq + std::fmt::Debug + 'static,
    {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        Self {
            path: folder.join(format!("snapshot-v1-{name}")),
            bytes: object.to_bytes(),
            is_same: Box::new(move |bytes| T::from_bytes(bytes).unwrap() == object),
            check_damage: check_damage::<T>,
        }
    }
}

/// One of each class with each estimator, with everything that a state can
/// have: fixed budgets, live ones, lengths that wait.
fn samples() -> Vec<Sample> {
    let lengths = [0, 3, 3, 7, 100, 101, 102, 4096, 4096, 4096, 40_000, 1 << 53];
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    let reals = lengths.map(|length| length as f64);
    let mut exact = ExactQuantile::new();
    exact.update(&lengths).unwrap();
    let mut p2 = P2Quantile::new(0.8).unwrap();
    p2.update(&reals).unwrap();
    let mut gk = GkQuantile::new(0.25).unwrap();
    gk.update(&reals.repeat(30)).unwrap();
    let mut samples = vec![
        Sample::new("ExactQuantile", exact),
        Sample::new("P2Quantile", p2),
        Sample::new("GKQuantile", gk),
    ];
    for name in ["exact", "p2", "gk"] {
        let estimator = Estimator::by_name(name, 80.0).unwrap();
        let toggle = sample_toggle(estimator.clone());
        samples.push(Sample::new(&format!("Toggle-{name}"), toggle));
        let tracker = sample_tracker(estimator);
        samples.push(Sample::new(&format!("ToggleBudgetTracker-{name}"), tracker));
    }
    samples
}

fn sample_toggle(estimator: Estimator) -> Toggle {
    let mut toggle = Toggle::new(Settings {
        warmup_steps: 2,
        start_phase: toggle_rs::schedule::Phase::LengthPenalty,
        freeze: toggle_rs::Freeze::First,
        min_samples: 3,
        penalty: toggle_rs::toggle::Penalty::CapAtZero,
        ..Settings::new(5, 0.9, 80.0, estimator)
    })
    .unwrap();
    observe(
        &mut toggle,
        Some(1),
        &[("math", 100), ("math", 200), ("math", 300), ("", 5)],
    );
    observe(&mut toggle, Some(2), &[("ä", 7), ("math", 400)]);
    observe(
        &mut toggle,
        Some(300),
        &[("ä", 8), ("code", 1 << 53), ("code", 0), ("math", 1)],
    );
    toggle
}

fn sample_tracker(estimator: Estimator) -> BudgetTracker {
    let mut tracker = BudgetTracker::new(0, 0.9, 80.0, 2, estimator).unwrap();
    tracker
        .set_lambda(toggle_rs::shaping::Lambda {
            value: 0.7,
            strong: true,
        })
        .unwrap();
    let batch = Batch {
        datasets: &["math", "math", "code", "unsolved"][..],
        lengths: &vec![100, 300, 4096, 7],
        scores: &[1.0, 1.0, 1.0, 0.0][..],
        max_score: 1.0,
    };
    tracker.normal_step(7, &batch).unwrap();
    tracker
}

/// Version 1 can be read for ever, and today's bytes are still version 1.
#[test]
fn golden_files() {
    for sample in samples() {
        let golden = std::fs::read(&sample.path).unwrap();
        assert!((sample.is_same)(&golden), "{:?}", sample.path);
        assert!(golden == sample.bytes, "{:?}", sample.path);
    }
}

/// `cargo test --test snapshot -- --ignored` writes the golden files of a new
/// version, or of a class that has become one. Those that exist stay.
#[test]
#[ignore = "writes files"]
fn write_golden_files() {
    for sample in samples() {
        if !sample.path.exists() {
            std::fs::write(&sample.path, &sample.bytes).unwrap();
        }
    }
}

#[test]
fn files_are_replaced_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("toggle-rs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let names = || -> Vec<_> {
        let entries = std::fs::read_dir(&folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    let exact = ExactQuantile::from_counts([(1, 2)]).unwrap();
    let path = folder.join("state");
    for bytes in [b"old".to_vec(), exact.to_bytes()] {
        write_file(&path, &bytes).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert_eq!(names(), ["state"]);
    }
    assert_eq!(
        ExactQuantile::from_bytes(&read_file(&path).unwrap()).unwrap(),
        exact
    );

    // A folder cannot be replaced by a file: nothing stays behind.
    let taken = folder.join("folder");
    std::fs::create_dir(&taken).unwrap();
    std::fs::write(taken.join("file"), b"").unwrap();
    write_file(&taken, b"new").unwrap_err();
    write_file(&folder.join("absent/state"), b"new").unwrap_err();
    write_file(std::path::Path::new("/"), b"new").unwrap_err();
    assert_eq!(names().len(), 2);

    // What is no snapshot is not read, what is too long not to its end.
    let long = [exact.to_bytes(), vec![0; 1 << 20]].concat();
    std::fs::write(&path, &long).unwrap();
    let read = read_file(&path).unwrap();
    assert_eq!(read.len(), exact.to_bytes().len() + 1);
    assert!(refusal::<ExactQuantile>(&read).starts_with("with bytes after its end"));
    std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
    assert_eq!(read_file(&path).unwrap().len(), HEADER);
    std::fs::remove_dir_all(&folder).unwrap();
}
