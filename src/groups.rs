//! Which samples answer the same prompt.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::column::check_samples;
use crate::error::{Error, Result};
#[cfg(feature = "python")]
use crate::keys::Run;

/// The groups of a batch, numbered in order of first appearance.
///
/// Samples of one group need not stand together, and groups may have any size.
///
/// ```
/// use toggle_rs::groups::Groups;
///
/// let by_id = Groups::by_id(&["p7", "p3", "p7"]);
/// assert_eq!(by_id.of_samples(), [0, 1, 0]);
/// assert_eq!(by_id.len(), 2);
/// assert_eq!(Groups::consecutive(4, 2)?.of_samples(), [0, 0, 1, 1]);
/// # Ok::<(), toggle_rs::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups {
    of_samples: Vec<u32>,
    len: usize,
}

impl Groups {
    /// Groups of `k` consecutive samples.
    ///
    /// # Errors
    /// [`Error::Value`] unless `k > 0` divides `samples`, fewer than 2^32.
    pub fn consecutive(samples: usize, k: usize) -> Result<Self> {
        check_samples("groups", samples)?;
        if k == 0 || !samples.is_multiple_of(k) {
            let expected = format!("a number > 0 that divides the batch of {samples} samples");
            return Err(Error::value("groups", k, expected));
        }
        let len = samples / k;
        let mut of_samples = Vec::with_capacity(samples);
        for group in 0..len {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a batch has less than 2^32 samples"
            )]
            of_samples.extend(std::iter::repeat_n(group as u32, k));
        }
        Ok(Self { of_samples, len })
    }

    /// Samples with equal ids form a group. One pass, and a hash only where the
    /// id is not that of the sample before.
    pub fn by_id<T: Hash + Eq>(ids: &[T]) -> Self {
        Self::of_ids(ids.iter())
    }

    /// [`Self::by_id`] of ids that lie elsewhere.
    pub(crate) fn of_ids<T: Hash + Eq + Copy>(ids: impl ExactSizeIterator<Item = T>) -> Self {
        let mut numbers = Numbers::of_samples(ids.len());
        let mut last = None;
        let of_samples = ids.map(|id| match last {
            Some((same, group)) if same == id => group,
            _ => {
                let group = numbers.number(id);
                last = Some((id, group));
                group
            }
        });
        Self {
            of_samples: of_samples.collect(),
            len: numbers.len(),
        }
    }

    /// As [`Self::by_id`]; without a hash where the ids are near each other.
    #[must_use]
    pub fn by_number(ids: &[u64]) -> Self {
        let first = ids.first().copied().unwrap_or(0);
        let range = |(least, most): (u64, u64), &id: &u64| (least.min(id), most.max(id));
        let (least, most) = ids.iter().fold((first, first), range);
        let span = usize::try_from(most - least).unwrap_or(usize::MAX);
        if span / 4 > ids.len() {
            return Self::by_id(ids);
        }
        let mut numbers = vec![u32::MAX; span + 1];
        let mut len = 0;
        let of_samples = ids.iter().map(|&id| {
            // No id is below `least`; to check each would take as long as the rest.
            #[allow(clippy::cast_possible_truncation, reason = "at most `span`, a usize")]
            let number = &mut numbers[id.wrapping_sub(least) as usize];
            if *number == u32::MAX {
                *number = len;
                len += 1;
            }
            *number
        });
        let of_samples = of_samples.collect();
        Self {
            of_samples,
            len: len as usize,
        }
    }

    /// The groups of a batch whose samples come in runs, numbered in order of
    /// first appearance.
    #[cfg(feature = "python")]
    pub(crate) fn of_runs(runs: &[Run]) -> Self {
        let samples = runs.iter().map(|run| run.len as usize).sum();
        let mut of_samples = Vec::with_capacity(samples);
        for run in runs {
            for _ in 0..run.len {
                of_samples.push(run.id);
            }
        }
        let last = runs.iter().map(|run| run.id as usize).max();
        Self {
            of_samples,
            len: last.map_or(0, |last| last + 1),
        }
    }

    /// Number of the group of each sample.
    #[must_use]
    pub fn of_samples(&self) -> &[u32] {
        &self.of_samples
    }

    /// Number of groups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Size of the largest group.
    #[must_use]
    pub fn largest(&self) -> usize {
        let mut sizes = vec![0; self.len];
        for &group in &self.of_samples {
            sizes[group as usize] += 1;
        }
        sizes.into_iter().max().unwrap_or(0)
    }

    /// Whether there is no group.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Numbers ids 0, 1, 2 ... in the order in which they come.
pub(crate) struct Numbers<T> {
    ids: Vec<T>,
    numbers: HashTable<u32>,
}

impl<T: Hash + Eq> Numbers<T> {
    /// For the ids of so many samples.
    pub fn of_samples(samples: usize) -> Self {
        Self {
            ids: Vec::new(),
            numbers: HashTable::with_capacity(samples.min(1024)),
        }
    }

    /// The number of an id, a new one where it is new.
    pub fn number(&mut self, id: T) -> u32 {
        let hash_of = |id: &T| FixedState::default().hash_one(id);
        let Self { ids, numbers } = self;
        let hash = hash_of(&id);
        if let Some(&number) = numbers.find(hash, |&number| ids[number as usize] == id) {
            return number;
        }
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a batch has less than 2^32 samples"
        )]
        let number = ids.len() as u32;
        ids.push(id);
        numbers.insert_unique(hash, number, |&number| hash_of(&ids[number as usize]));
        number
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }
}
