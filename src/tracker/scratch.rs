//! The keys of a batch, and what the running call has found out about them.

use std::ops::Range;

use crate::budget::Budgets;
use crate::column::{CHUNK, Lengths, chunks};
use crate::keys::{KeySource, Run};
use crate::present::{Present, Selected};
use crate::shaping::NO_LIMIT;

/// What calls leave behind for the next one to reuse; no part of the state.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    present: Present,
    /// The places of the keys, chunk by chunk.
    runs: Vec<Run>,
    /// Where the runs of each chunk end; empty when they were too many to be
    /// kept, and are only those of one chunk.
    ends: Vec<usize>,
    selected: Selected,
    lengths: Vec<u64>,
    /// By place.
    budgets: Vec<Option<f64>>,
    /// By place: the largest length that is kept.
    limits: Vec<u64>,
    /// The same for each sample of a chunk.
    sample_limits: Vec<u64>,
}

impl Scratch {
    pub fn forget_batch(&mut self) {
        self.present.clear();
        self.runs.clear();
        self.ends.clear();
        self.budgets.clear();
    }

    /// Reads all keys, in chunks of `size` samples.
    pub fn read<K: KeySource + ?Sized>(
        &mut self,
        datasets: &K,
        size: usize,
        budgets: &mut Budgets,
    ) -> Result<(), K::Error> {
        self.forget_batch();
        let mut fits = true;
        for chunk in chunks(datasets.len(), size) {
            let first = self.runs.len();
            self.read_chunk(chunk, datasets, budgets)?;
            self.ends.push(self.runs.len());
            // One chunk is always kept, so small batches are read but once.
            fits &= first == 0 || self.runs.len() <= CHUNK;
            if !fits {
                self.runs.clear();
            }
        }
        if !fits {
            self.ends.clear();
        }
        Ok(())
    }

    /// Makes sure that the runs of a chunk are there.
    pub fn reread<K: KeySource + ?Sized>(
        &mut self,
        index: usize,
        chunk: Range<usize>,
        datasets: &K,
        budgets: &mut Budgets,
    ) -> Result<(), K::Error> {
        if self.ends.get(index).is_some() {
            return Ok(());
        }
        self.runs.clear();
        self.read_chunk(chunk, datasets, budgets)
    }

    fn read_chunk<K: KeySource + ?Sized>(
        &mut self,
        chunk: Range<usize>,
        datasets: &K,
        budgets: &mut Budgets,
    ) -> Result<(), K::Error> {
        let first = self.runs.len();
        datasets.read(chunk, budgets.ids_of(true), &mut self.runs)?;
        self.present.place(&mut self.runs[first..], budgets.len());
        Ok(())
    }

    /// Which runs are those of a chunk.
    fn runs_of(&self, index: usize) -> Range<usize> {
        match self.ends.get(index) {
            None => 0..self.runs.len(),
            Some(&end) => index.checked_sub(1).map_or(0, |before| self.ends[before])..end,
        }
    }

    /// The ids of the keys, in order of first appearance.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.present.ids().iter().copied()
    }

    /// The ids and the correct lengths of a chunk, in order within a key.
    pub fn select<T>(
        &mut self,
        index: usize,
        chunk: Range<usize>,
        lengths: &dyn Lengths,
        scores: &[T],
        is_correct: impl Fn(&T) -> bool,
    ) -> impl Iterator<Item = (u32, &[u64])> {
        let runs = self.runs_of(index);
        let ids = self.present.ids();
        self.selected.select(
            ids.len(),
            &self.runs[runs],
            lengths.block(chunk, &mut self.lengths),
            scores,
            is_correct,
        );
        let selected = self.selected.iter();
        selected.map(|(place, lengths)| (ids[place], lengths))
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "budgets are in 0..=2^53"
    )]
    pub fn look_up_budgets(&mut self, budgets: &Budgets) {
        let ids = self.present.ids().iter();
        self.budgets.clear();
        self.budgets.extend(ids.map(|&id| budgets.budget(id)));
        // Lengths are whole, so rounding down changes no comparison.
        let limit = |budget: &Option<f64>| budget.map_or(NO_LIMIT, |budget| budget as u64);
        self.limits.clear();
        self.limits.extend(self.budgets.iter().map(limit));
    }

    /// Ids and budgets of the keys that have one.
    pub fn budgets(&self) -> impl Iterator<Item = (u32, f64)> {
        let budgets = self.ids().zip(&self.budgets);
        budgets.filter_map(|(id, budget)| Some((id, (*budget)?)))
    }

    /// Of each sample of a chunk, the largest length that is kept.
    pub fn limits(&mut self, index: usize) -> &mut [u64] {
        let runs = self.runs_of(index);
        self.sample_limits.clear();
        for run in &self.runs[runs] {
            let limit = self.limits[run.id as usize];
            let end = self.sample_limits.len() + run.len as usize;
            self.sample_limits.resize(end, limit);
        }
        &mut self.sample_limits
    }

    pub fn nbytes(&self) -> usize {
        self.present.nbytes()
            + self.selected.nbytes()
            + self.runs.capacity() * size_of::<Run>()
            + self.ends.capacity() * size_of::<usize>()
            + (self.lengths.capacity() + self.limits.capacity() + self.sample_limits.capacity())
                * size_of::<u64>()
            + self.budgets.capacity() * size_of::<Option<f64>>()
    }
}
