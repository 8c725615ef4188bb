//! What was observed at the clock's step, and does not count yet.

use crate::error::Result;
use crate::keys::Run;
use crate::present::{Present, Selected};

/// Lengths by key, in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(super) struct Pending {
    runs: Vec<Run>,
    lengths: Vec<u64>,
    present: Present,
    selected: Selected,
}

impl Pending {
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Number of lengths.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    pub fn push(&mut self, id: u32, lengths: &[u64]) {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a chunk of a batch has less than 2^32 samples"
        )]
        let len = lengths.len() as u32;
        self.runs.push(Run { id, len });
        self.lengths.extend(lengths);
    }

    /// Ids and lengths as they were pushed.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u64])> {
        self.runs.iter().scan(&self.lengths[..], |rest, run| {
            let (lengths, after) = rest.split_at(run.len as usize);
            *rest = after;
            Some((run.id, lengths))
        })
    }

    /// Ids and lengths, ascending.
    pub fn sorted(&self) -> Vec<(u32, u64)> {
        let pairs = self.iter();
        let mut pairs: Vec<_> = pairs
            .flat_map(|(id, lengths)| lengths.iter().map(move |&length| (id, length)))
            .collect();
        pairs.sort_unstable();
        pairs
    }

    /// Hands all lengths of each key to `take`; nothing is pending then.
    pub fn drain(&mut self, mut take: impl FnMut(u32, &[u64]) -> Result<()>) -> Result<()> {
        let mut taken = Ok(());
        self.each_key(|id, lengths| {
            if taken.is_ok() {
                taken = take(id, lengths);
            }
        });
        self.runs.clear();
        self.lengths.clear();
        taken
    }

    /// Hands all lengths of each key to `take`.
    pub fn each_key(&mut self, mut take: impl FnMut(u32, &[u64])) {
        let Self {
            runs,
            lengths,
            present,
            selected,
        } = self;
        let mut placed = runs.clone();
        let known = runs.iter().map(|run| run.id as usize + 1).max();
        present.clear();
        present.place(&mut placed, known.unwrap_or(0));
        selected.select(present.ids().len(), &placed, lengths, lengths, |_| true);
        for (place, lengths) in selected.iter() {
            take(present.ids()[place], lengths);
        }
    }

    pub fn nbytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
            + self.lengths.capacity() * size_of::<u64>()
            + self.present.nbytes()
            + self.selected.nbytes()
    }
}
