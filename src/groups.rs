//! Which samples answer the same prompt.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

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
    /// [`Error::Value`] unless `k > 0` divides `samples`.
    pub fn consecutive(samples: usize, k: usize) -> Result<Self> {
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
        let hasher = FixedState::default();
        let mut first_samples: Vec<u32> = Vec::new();
        let mut numbers: HashTable<u32> = HashTable::with_capacity(ids.len().min(1024));
        let mut of_samples: Vec<u32> = Vec::with_capacity(ids.len());
        for (sample, id) in ids.iter().enumerate() {
            if sample > 0 && ids[sample - 1] == *id {
                of_samples.push(of_samples[sample - 1]);
                continue;
            }
            let of = |group: u32| &ids[first_samples[group as usize] as usize];
            let entry = numbers.entry(
                hasher.hash_one(id),
                |&group| of(group) == id,
                |&group| hasher.hash_one(of(group)),
            );
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a batch has less than 2^32 samples"
            )]
            let group = *entry.or_insert(first_samples.len() as u32).get();
            if group as usize == first_samples.len() {
                #[allow(clippy::cast_possible_truncation, reason = "as above")]
                first_samples.push(sample as u32);
            }
            of_samples.push(group);
        }
        Self {
            of_samples,
            len: first_samples.len(),
        }
    }

    /// As [`Self::by_id`]; without a hash where the ids are near each other.
    #[must_use]
    pub fn by_number(ids: &[u64]) -> Self {
        let least = ids.iter().copied().min().unwrap_or(0);
        let most = ids.iter().copied().max().unwrap_or(0);
        let span = usize::try_from(most - least).unwrap_or(usize::MAX);
        if span / 4 > ids.len() {
            return Self::by_id(ids);
        }
        let mut numbers = vec![u32::MAX; span + 1];
        let mut len = 0;
        let of_samples = ids.iter().map(|&id| {
            #[allow(clippy::cast_possible_truncation, reason = "at most `span`, a usize")]
            let number = &mut numbers[(id - least) as usize];
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

    /// The groups of a batch whose samples come in runs, each run having the
    /// group of the sample of `self` that its id says.
    #[cfg(feature = "python")]
    pub(crate) fn spread(&self, runs: &[Run]) -> Self {
        let samples = runs.iter().map(|run| run.len as usize).sum();
        let mut of_samples = Vec::with_capacity(samples);
        for run in runs {
            let group = self.of_samples[run.id as usize];
            for _ in 0..run.len {
                of_samples.push(group);
            }
        }
        Self {
            of_samples,
            len: self.len,
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
