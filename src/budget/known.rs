//! The budgets that follow from what was observed, worked out once.

use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::{Budgets, Entry};
use crate::keys::DatasetKey;

/// Derived, no part of the state.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// By id: the budget that the clock's own step uses, infinite for none; NaN
    /// where it has to be worked out.
    pub now: Vec<f64>,
    /// By the ids in `pending`: what is known with that counted.
    pub next: Option<HashMap<u32, Next, FixedState>>,
}

/// A budget that counts what is pending for its key.
#[derive(Debug, Clone)]
pub(super) struct Next {
    /// Where that is.
    lengths: Range<usize>,
    /// As in `now`.
    budget: f64,
}

impl Known {
    /// When anything may have changed for the `len` keys that there are.
    pub fn forget(&mut self, len: usize) {
        self.now.clear();
        self.now.resize(len, f64::NAN);
        self.next = None;
    }

    pub fn nbytes(&self) -> usize {
        let next = self.next.as_ref().map_or(0, HashMap::allocation_size);
        self.now.capacity() * size_of::<f64>() + next
    }
}

impl Budgets {
    /// The budget that the clock's own step uses.
    pub fn budget(&self, id: u32) -> Option<f64> {
        match self.entries.get(id as usize)? {
            Entry::Live(estimator) => self.rule.budget(estimator),
            Entry::Fixed(fixed) => Some(fixed.budget),
        }
    }

    /// The same, remembered: the lengths of many keys lie far apart.
    pub fn known_budget(&mut self, id: u32) -> Option<f64> {
        let known = *self.known.now.get(id as usize)?;
        if known.is_nan() {
            return self.note_budget(id);
        }
        known.is_finite().then_some(known)
    }

    /// Works the budget of the clock's own step out.
    pub(super) fn note_budget(&mut self, id: u32) -> Option<f64> {
        let budget = self.budget(id);
        self.known.now[id as usize] = budget.unwrap_or(f64::INFINITY);
        budget
    }

    /// The budget that steps after the clock's use.
    pub fn next_budget(&mut self, id: u32) -> Option<f64> {
        let pending = &mut self.pending;
        let next = self.known.next.get_or_insert_with(|| {
            pending.group();
            let ranges = pending.ranges();
            let budget = f64::NAN;
            ranges
                .map(|(id, lengths)| (id, Next { lengths, budget }))
                .collect()
        });
        let Some(next) = next.get_mut(&id) else {
            return self.known_budget(id);
        };
        if next.budget.is_nan() {
            let budget = match &self.entries[id as usize] {
                Entry::Live(estimator) => {
                    let lengths = self.pending.lengths(next.lengths.clone());
                    let step = self.clock.unwrap_or(0);
                    estimator.with(lengths, step, |estimator| self.rule.budget(estimator))
                }
                Entry::Fixed(fixed) => Some(fixed.budget),
            };
            next.budget = budget.unwrap_or(f64::INFINITY);
        }
        next.budget.is_finite().then_some(next.budget)
    }

    /// Keys, numbers of correct responses, and the budgets that steps after
    /// the clock's use; without keys that no correct response came for. In
    /// order of appearance.
    pub fn summary(&mut self) -> Vec<(&DatasetKey, u64, Option<f64>)> {
        let mut counts = vec![0; self.entries.len()];
        for (id, lengths) in self.pending.iter() {
            counts[id as usize] += lengths.len() as u64;
        }
        for (count, entry) in counts.iter_mut().zip(&self.entries) {
            *count = entry.count_with(*count);
        }
        let seen = (0..)
            .zip(&counts)
            .map(|(id, &count)| (count > 0).then_some(id));
        let budgets = seen.map(|id| self.next_budget(id?));
        let budgets: Vec<_> = budgets.collect();
        let keys = self.keys.keys().iter().zip(counts).zip(budgets);
        keys.filter(|((_, count), _)| *count > 0)
            .map(|((key, count), budget)| (key, count, budget))
            .collect()
    }
}
