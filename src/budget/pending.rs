//! What was observed at the clock's step, and does not count yet.

use std::ops::Range;

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
        for (id, lengths) in batch {
            push_run(&mut self.runs, &mut self.lengths, id, lengths);
        }
    }

    /// Adds what another one holds, whose ids these are here.
    pub fn take_in(&mut self, other: &Self, ids: &[u32]) {
        let runs = other.iter();
        self.push(runs.map(|(id, lengths)| (ids[id as usize], lengths)));
        self.may_repeat |= other.may_repeat;
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

    /// Puts all lengths of each key into one run.
    pub fn group(&mut self) {
        if !std::mem::take(&mut self.may_repeat) {
            return;
        }
        let Self {
            runs,
            lengths,
            present,
            selected,
            ..
        } = self;
        let known = runs.iter().map(|run| run.id as usize + 1).max();
        present.clear();
        present.place(runs, known.unwrap_or(0));
        selected.select(present.ids().len(), runs, lengths, lengths, |_| true);
        runs.clear();
        lengths.clear();
        for (place, all) in selected.iter() {
            push_run(runs, lengths, present.ids()[place], all);
        }
    }

    /// Where the lengths of each key are, once they are grouped.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = (u32, Range<usize>)> {
        let mut end = 0;
        self.runs.iter().map(move |run| {
            let start = end;
            end += run.len as usize;
            (run.id, start..end)
        })
    }

    pub fn lengths(&self, range: Range<usize>) -> &[u64] {
        &self.lengths[range]
    }

    pub fn clear(&mut self) {
        self.runs.clear();
        self.lengths.clear();
        self.may_repeat = false;
    }

    pub fn nbytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
            + self.lengths.capacity() * size_of::<u64>()
            + self.present.nbytes()
            + self.selected.nbytes()
    }
}

fn push_run(runs: &mut Vec<Run>, lengths: &mut Vec<u64>, id: u32, more: &[u64]) {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "fewer than 2^32 wait, see `Budgets::check_pending`"
    )]
    let len = more.len() as u32;
    runs.push(Run { id, len });
    lengths.extend(more);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_a_key_come_together_in_their_order() {
        let mut pending = Pending::default();
        let mut all = Vec::new();
        let batches: [&[(u32, &[u64])]; 4] = [
            &[(7, &[4, 3]), (2, &[9])],
            &[(2, &[8, 8]), (0, &[1]), (7, &[5])],
            &[],
            &[(0, &[2])],
        ];
        for batch in batches {
            pending.push(batch.iter().copied());
            for &(id, lengths) in batch {
                all.extend(lengths.iter().map(|&length| (id, length)));
            }
            let mut expected = all.clone();
            expected.sort_by_key(|&(id, _)| id);
            pending.group();
            let mut runs: Vec<_> = pending.iter().collect();
            let mut ranges = pending.ranges();
            for &(id, lengths) in &runs {
                let (same, range) = ranges.next().unwrap();
                assert_eq!((id, lengths), (same, pending.lengths(range)));
            }
            runs.sort_by_key(|&(id, _)| id);
            assert!(runs.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let found = runs
                .iter()
                .flat_map(|&(id, lengths)| lengths.iter().map(move |&length| (id, length)));
            assert_eq!(found.collect::<Vec<_>>(), expected);
        }
        pending.clear();
        assert!(pending.is_empty() && pending.iter().next().is_none());
    }
}
