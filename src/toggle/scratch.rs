//! The groups and limits of a batch while it is being shaped.

use super::shaped::Metrics;
use crate::budget::Budgets;
use crate::keys::Run;
use crate::shaping::Score;

/// What calls leave behind for the next one to reuse; no part of the state.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    pub runs: Vec<Run>,
    pub ids: Vec<u32>,
    pub lengths: Vec<u64>,
    /// By id: the budget, infinite without one; NaN for keys not in the batch.
    limits: Vec<f64>,
    /// Ids of the batch in order of first appearance.
    seen: Vec<u32>,
    pub groups: Vec<Group>,
}

/// One group, while a batch is being shaped.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    size: u32,
    correct: u32,
    pub enforced: bool,
    pub had_signal: bool,
    pub has_signal: bool,
}

impl Group {
    pub fn accuracy(&self) -> f64 {
        f64::from(self.correct) / f64::from(self.size)
    }
}

impl Scratch {
    pub fn forget_batch(&mut self) {
        for id in self.seen.drain(..) {
            self.limits[id as usize] = f64::NAN;
        }
    }

    /// Limits of the keys that were read; `next`: what later steps would use.
    pub fn look_up_limits(&mut self, budgets: &mut Budgets, next: bool) {
        self.limits.resize(budgets.len(), f64::NAN);
        for &id in &self.ids {
            let Some(limit) = self.limits.get_mut(id as usize) else {
                continue;
            };
            if limit.is_nan() {
                let budget = if next {
                    budgets.next_budget(id)
                } else {
                    budgets.budget(id)
                };
                *limit = budget.unwrap_or(f64::INFINITY);
                self.seen.push(id);
            }
        }
    }

    /// The largest length that the key keeps; unknown keys keep all.
    pub fn limit(&self, id: u32) -> f64 {
        self.limits
            .get(id as usize)
            .copied()
            .unwrap_or(f64::INFINITY)
    }

    pub fn count_groups(&mut self, samples: &[u32], groups: usize, correct: &[bool]) {
        self.groups.clear();
        self.groups.resize(groups, Group::default());
        for (&group, &is_correct) in samples.iter().zip(correct) {
            let group = &mut self.groups[group as usize];
            group.size += 1;
            group.correct += u32::from(is_correct);
        }
    }

    /// Sets `flag` of the groups in which not all scores are equal.
    pub fn note_signal<S: Score>(
        &mut self,
        samples: &[u32],
        score: impl Fn(usize) -> S,
        flag: impl Fn(&mut Group) -> &mut bool,
    ) {
        let mut first: Vec<Option<S>> = vec![None; self.groups.len()];
        for (i, &group) in samples.iter().enumerate() {
            let score = score(i);
            let first = first[group as usize].get_or_insert(score);
            if *first != score {
                *flag(&mut self.groups[group as usize]) = true;
            }
        }
    }

    /// The figures that groups and limits give; the others are left at zero.
    pub fn metrics(&self) -> Metrics {
        let groups =
            |f: fn(&&Group) -> bool| share(self.groups.iter().filter(f).count(), self.groups.len());
        let mut budgets: Vec<f64> = self.seen.iter().map(|&id| self.limit(id)).collect();
        budgets.retain(|budget| budget.is_finite());
        budgets.sort_unstable_by(f64::total_cmp);
        let middle = |at: usize| budgets.get(at).copied().unwrap_or(f64::NAN);
        let n = budgets.len();
        Metrics {
            length_penalty_phase: false,
            kept_ratio: 0.0,
            enforced_group_ratio: groups(|group| group.enforced),
            lost_signal_group_ratio: groups(|group| group.had_signal && !group.has_signal),
            gained_signal_group_ratio: groups(|group| !group.had_signal && group.has_signal),
            tokens_over_budget: 0.0,
            budget_min: budgets.first().copied().unwrap_or(f64::NAN),
            budget_median: f64::midpoint(middle(n.saturating_sub(1) / 2), middle(n / 2)),
            budget_max: budgets.last().copied().unwrap_or(f64::NAN),
        }
    }

    pub fn nbytes(&self) -> usize {
        (self.ids.capacity() + self.seen.capacity()) * size_of::<u32>()
            + (self.lengths.capacity() + self.limits.capacity()) * size_of::<u64>()
            + self.groups.capacity() * size_of::<Group>()
    }
}

#[allow(clippy::cast_precision_loss, reason = "no batch has 2^53 samples")]
pub(super) fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
