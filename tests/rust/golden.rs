//! Snapshots that are not what was written: damage, newer versions, golden files.

mod runs;
mod seal;

use std::path::PathBuf;

use rand::{Rng, SeedableRng, rngs::StdRng};
use toggle_rs::quantile::{
    DecayQuantile, Estimator, ExactQuantile, GkQuantile, P2Quantile, Quantile, WindowQuantile,
};
use toggle_rs::snapshot::{Kind, Snapshot, read_file, write_file};
use toggle_rs::toggle::{Settings, Toggle};
use toggle_rs::tracker::{Batch, BudgetTracker};

use runs::{estimators, observe};
use seal::{HEADER, refusal, seal};

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

type IsSame = dyn Fn(&[u8]) -> bool;

/// A state that is made from scratch, and where its golden file is.
struct Sample {
    path: PathBuf,
    bytes: Vec<u8>,
    is_same: Box<IsSame>,
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
    let mut window = WindowQuantile::new(10).unwrap();
    window.update(&lengths).unwrap();
    let mut decay = DecayQuantile::new(2.0).unwrap();
    decay.update(&lengths).unwrap();
    decay.tick(3).unwrap();
    decay.update(&lengths[..5]).unwrap();
    decay.tick(1).unwrap();
    let mut samples = vec![
        Sample::new("ExactQuantile", exact),
        Sample::new("P2Quantile", p2),
        Sample::new("GKQuantile", gk),
        Sample::new("WindowQuantile", window),
        Sample::new("DecayQuantile", decay),
    ];
    for estimator in estimators() {
        let name = estimator.name();
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

/// Classes as the reader names them, up to the first number that is none.
#[test]
fn each_estimator_has_its_golden_files() {
    let samples = samples();
    for kind in Kind::ExactQuantile as u16.. {
        let said = refusal::<Toggle>(&seal(kind, &[]));
        let name = said.trim_start_matches("it is one of ");
        let name = name.trim_end_matches(", expected Toggle");
        if name == format!("kind {kind}") {
            break;
        }
        for holder in ["", "Toggle-", "ToggleBudgetTracker-"] {
            let file = format!("snapshot-v1-{holder}{name}");
            assert!(
                samples.iter().any(|sample| sample.path.ends_with(&file)),
                "{file}"
            );
        }
    }
}

/// `cargo test --test golden -- --ignored` writes the golden files of a new
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

#[cfg(unix)]
#[test]
fn a_link_stays_one_and_what_is_no_file_stays() {
    let folder = std::env::temp_dir().join(format!("toggle-rs-links-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [file, link, socket] = ["file", "link", "socket"].map(|name| folder.join(name));
    std::fs::write(&file, b"old").unwrap();
    std::os::unix::fs::symlink("file", &link).unwrap();
    write_file(&link, b"new").unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&file).unwrap(), b"new");

    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let error = write_file(&socket, b"new").unwrap_err();
    assert_eq!(error.to_string(), "not a regular file");
    assert!(!socket.metadata().unwrap().is_file());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
    std::fs::remove_dir_all(&folder).unwrap();
}
