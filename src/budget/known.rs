//! The budgets that follow from what was observed, worked out once.

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
    /// Budgets with `pending` counted, for the ids in it.
    pub next: Option<HashMap<u32, Option<f64>, FixedState>>,
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
        self.prepare_next();
        let next = self.known.next.as_ref().and_then(|next| next.get(&id));
        next.copied().unwrap_or_else(|| self.known_budget(id))
    }

    fn prepare_next(&mut self) {
        if self.known.next.is_some() {
            return;
        }
        let step = self.clock.unwrap_or(0);
        let mut next = HashMap::default();
        let Self {
            pending,
            entries,
            rule,
            ..
        } = self;
        pending.each_key(|id, lengths| {
            let budget = match &entries[id as usize] {
                Entry::Live(estimator) => {
                    estimator.with(lengths, step, |estimator| rule.budget(estimator))
                }
                Entry::Fixed(fixed) => Some(fixed.budget),
            };
            next.insert(id, budget);
        });
        self.known.next = Some(next);
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
