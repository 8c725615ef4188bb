//! Batches of any form: keys with one name, several or none, columns in place
//! or copied, ragged groups that may be interleaved.

#![allow(dead_code, reason = "each test uses its part")]

use std::ops::Range;

use proptest::prelude::*;
use toggle_rs::column::{Column, Lengths};
use toggle_rs::keys::{KeyRef, KeySource, Run};
use toggle_rs::quantile::MAX_LENGTH;
use toggle_rs::{Error, Result};

use crate::oracle::toggle::{Key, Sample};

/// The names of each key; no two are the same.
pub const KEYS: [&[&str]; 12] = [
    &["math"],
    &["code"],
    &["math", "code"],
    &[],
    &[""],
    &["", ""],
    &["mathcode"],
    &["math|code"],
    &["ä"],
    &["code", "math"],
    &["a", "bc"],
    &["ab", "c"],
];

/// The key that nobody ever observes.
pub const UNKNOWN: KeyRef<'static> = KeyRef::Many(&["nobody"]);

/// One key for each sample.
#[derive(Debug)]
pub struct Keys<'a> {
    pub samples: &'a [Key],
    /// Where a key cannot be read.
    pub bad_at: Option<usize>,
    /// Hands out each sample as a run of its own.
    pub is_split: bool,
}

impl<'a> Keys<'a> {
    pub fn new(samples: &'a [Key]) -> Self {
        Self {
            samples,
            bad_at: None,
            is_split: false,
        }
    }
}

impl KeySource for Keys<'_> {
    type Error = Error;

    fn len(&self) -> usize {
        self.samples.len()
    }

    fn read(
        &self,
        samples: Range<usize>,
        mut id: impl FnMut(KeyRef<'_>) -> u32,
        runs: &mut Vec<Run>,
    ) -> Result<()> {
        let first = runs.len();
        for sample in samples {
            if self.bad_at == Some(sample) {
                return Err(Error::value_at("datasets", sample, "?", "a key"));
            }
            let id = id(KeyRef::Many(KEYS[self.samples[sample] % KEYS.len()]));
            match runs[first..].last_mut() {
                Some(last) if last.id == id && !self.is_split => last.len += 1,
                _ => runs.push(Run { id, len: 1 }),
            }
        }
        Ok(())
    }
}

/// New names, one for each sample, that are read in vain: the last one is bad.
#[derive(Debug)]
pub struct InVain(pub Vec<String>);

impl InVain {
    pub fn new(turn: u64) -> Self {
        Self((0..1000).map(|i| format!("{turn}-{i}")).collect())
    }
}

impl KeySource for InVain {
    type Error = Error;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(
        &self,
        _: Range<usize>,
        mut id: impl FnMut(KeyRef<'_>) -> u32,
        _: &mut Vec<Run>,
    ) -> Result<()> {
        for name in &self.0 {
            id(KeyRef::One(name));
        }
        Err(Error::value_at("datasets", self.0.len(), "?", "a key"))
    }
}

/// A column that does not lie in one piece: it is copied block by block.
#[derive(Debug)]
pub struct Copied<'a, T>(pub &'a [T]);

impl<T: Copy> Column<T> for Copied<'_, T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn block<'a>(&'a self, samples: Range<usize>, room: &'a mut Vec<T>) -> &'a [T] {
        room.clear();
        room.extend_from_slice(&self.0[samples]);
        room
    }
}

impl Lengths for Copied<'_, u64> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn block<'a>(&'a self, samples: Range<usize>, room: &'a mut Vec<u64>) -> &'a [u64] {
        Column::block(self, samples, room)
    }
}

/// The columns of some samples.
#[derive(Debug, Default)]
pub struct Columns {
    pub keys: Vec<Key>,
    pub groups: Vec<u64>,
    pub lengths: Vec<u64>,
    pub scores: Vec<f64>,
    pub correct: Vec<bool>,
}

impl Columns {
    pub fn of(samples: &[Sample]) -> Self {
        let mut columns = Self::default();
        for sample in samples {
            columns.keys.push(sample.key);
            columns.groups.push(sample.group);
            columns.lengths.push(sample.length);
            columns.scores.push(sample.score);
            columns.correct.push(sample.is_correct);
        }
        columns
    }
}

/// Few lengths lie on a budget, more of them between two.
fn length() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => 0..5u64,
        6 => 0..300u64,
        2 => 0..40_000u64,
        1 => 0..=MAX_LENGTH,
        1 => (0..4u64).prop_map(|n| MAX_LENGTH - n),
    ]
}

/// Halves, with both zeros.
pub fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => Just(1.0),
        4 => Just(0.0),
        1 => Just(-0.0),
        3 => (-4..5i32).prop_map(|n| f64::from(n) / 2.0),
    ]
}

/// Up to `most` samples, of few keys or many, in ragged groups that stand
/// together or not, with a key for each group or for each sample.
pub fn samples(most: usize) -> impl Strategy<Value = Vec<Sample>> {
    let sample = (any::<u8>(), any::<u8>(), length(), score(), 0..4u8);
    let samples = prop::collection::vec(sample, 0..=most);
    let form = (
        1..=KEYS.len(),
        1..12u64,
        any::<bool>(),
        any::<bool>(),
        0..4u8,
    );
    (samples, form).prop_map(|(samples, (keys, groups, together, key_a_group, share))| {
        let mut samples: Vec<Sample> = samples
            .into_iter()
            .map(|(key, group, length, score, luck)| Sample {
                key: usize::from(if key_a_group { group } else { key }) % keys,
                group: u64::from(group) % groups,
                length,
                score,
                is_correct: luck >= share,
            })
            .collect();
        if together {
            samples.sort_by_key(|sample| sample.group);
        }
        samples
    })
}
