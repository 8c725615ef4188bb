//! What was observed at the clock's step, and does not count yet.

use crate::error::Result;
use crate::keys::Run;
use crate::present::{Present, Selected};

/// Lengths by key, in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(super) struct Pending {
    runs: Vec<Run>,
    /// Whether a key may have several runs.
    may_repeat: bool,
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

    /// Adds the lengths of distinct keys.
    pub fn push<'a>(&mut self, batch: impl Iterator<Item = (u32, &'a [u64])>) {
        self.may_repeat |= !self.runs.is_empty();
        batch.for_each(|(id, lengths)| self.push_run(id, lengths));
    }

    /// Adds what another one holds, whose ids these are here.
    pub fn take_in(&mut self, other: &Self, ids: &[u32]) {
        let runs = other.iter();
        self.push(runs.map(|(id, lengths)| (ids[id as usize], lengths)));
        self.may_repeat |= other.may_repeat;
    }

    fn push_run(&mut self, id: u32, lengths: &[u64]) {
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
        self.may_repeat = false;
        taken
    }

    /// Hands all lengths of each key to `take`.
    pub fn each_key(&mut self, mut take: impl FnMut(u32, &[u64])) {
        if !self.may_repeat {
            return self.iter().for_each(|(id, lengths)| take(id, lengths));
        }
        let Self {
            runs,
            lengths,
            present,
            selected,
            ..
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
