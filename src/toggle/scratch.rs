//! The keys and groups of a batch while it is being shaped.

use super::shaped::Metrics;
use crate::budget::Budgets;
use crate::groups::Groups;
use crate::keys::Run;

/// What calls leave behind for the next one to reuse; no part of the state.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    /// The keys of the batch.
    pub runs: Vec<Run>,
    pub lengths: Vec<u64>,
    /// By id: where the limit of a key of the batch is; 0 for all others.
    places: Vec<u32>,
    /// The first one is that of keys without a budget.
    limits: Vec<Limit>,
    /// The budgets of the keys of the batch that have one.
    budgets: Vec<f64>,
    pub groups: Vec<Group>,
}

/// A budget: lengths are whole, so `length <= whole` says whether one is within.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub whole: u64,
    /// The rest, in 2^-52.
    pub part: u64,
}

impl Limit {
    /// Parts of a token.
    const PARTS: f64 = 4_503_599_627_370_496.0; // 2^52
    /// Above every length.
    const NONE: Self = Self {
        whole: u64::MAX,
        part: 0,
    };

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "budgets are in 0..=2^53; the rest is below 1"
    )]
    fn of(budget: f64) -> Self {
        let whole = budget as u64;
        Self {
            whole,
            part: ((budget - whole as f64) * Self::PARTS) as u64,
        }
    }
}

/// How far the correct responses of a batch are over their limits. Summed up
/// as integers: no order of the samples makes a difference.
#[derive(Debug, Default)]
pub(super) struct Excess {
    whole: u128,
    part: u128,
}

impl Excess {
    #[inline]
    pub fn add(&mut self, length: u64, limit: Limit, is_correct: bool) {
        let is_over = is_correct && length > limit.whole;
        self.whole += u128::from(u64::from(is_over) * length.saturating_sub(limit.whole));
        self.part += u128::from(u64::from(is_over) * limit.part);
    }

    #[allow(clippy::cast_precision_loss, reason = "rounded to the nearest f64")]
    pub fn tokens(&self) -> f64 {
        self.whole as f64 - self.part as f64 / Limit::PARTS
    }
}

/// One group, while a batch is being shaped.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    /// Its first sample.
    first: u32,
    size: u32,
    correct: u32,
    pub accuracy: f64,
    pub enforced: bool,
    pub had_signal: bool,
    pub has_signal: bool,
}

impl Scratch {
    pub fn forget_batch(&mut self) {
        for run in self.runs.drain(..) {
            if let Some(place) = self.places.get_mut(run.id as usize) {
                *place = 0;
            }
        }
    }

    /// Limits of the keys that were read; `next`: what later steps would use.
    pub fn look_up_limits(&mut self, budgets: &mut Budgets, next: bool) {
        self.places.resize(budgets.len(), 0);
        self.budgets.clear();
        self.limits.clear();
        self.limits.push(Limit::NONE);
        for run in &self.runs {
            let Some(place) = self.places.get_mut(run.id as usize) else {
                continue;
            };
            if *place == 0 {
                let budget = if next {
                    budgets.next_budget(run.id)
                } else {
                    budgets.known_budget(run.id)
                };
                #[allow(
                    clippy::cast_possible_truncation,
                    reason = "a batch has less than 2^32 samples"
                )]
                let free = self.limits.len() as u32;
                *place = free;
                self.limits.push(budget.map_or(Limit::NONE, Limit::of));
                self.budgets.extend(budget);
            }
        }
    }

    /// What a key keeps; unknown keys keep all.
    #[inline]
    pub fn limit(&self, id: u32) -> Limit {
        let place = self.places.get(id as usize).copied().unwrap_or(0);
        self.limits[place as usize]
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "a batch has less than 2^32 samples"
    )]
    pub fn count_groups(&mut self, groups: &Groups, correct: &[bool]) {
        self.groups.clear();
        self.groups.resize(groups.len(), Group::default());
        let samples = groups.of_samples().iter().zip(correct);
        for (sample, (&group, &is_correct)) in samples.enumerate() {
            let group = &mut self.groups[group as usize];
            if group.size == 0 {
                group.first = sample as u32;
            }
            group.size += 1;
            group.correct += u32::from(is_correct);
        }
        for group in &mut self.groups {
            group.accuracy = f64::from(group.correct) / f64::from(group.size);
        }
    }

    /// Sets `flag` of the groups in which not all scores are equal.
    pub fn note_signal<S: Copy + PartialEq>(
        &mut self,
        groups: &Groups,
        scores: &[S],
        flag: impl Fn(&mut Group) -> &mut bool,
    ) {
        for (&group, &score) in groups.of_samples().iter().zip(scores) {
            let group = &mut self.groups[group as usize];
            let differs = score != scores[group.first as usize];
            *flag(group) |= differs;
        }
    }

    /// The figures that groups and budgets give; the others are left at zero.
    pub fn metrics(&mut self) -> Metrics {
        let groups =
            |f: fn(&&Group) -> bool| share(self.groups.iter().filter(f).count(), self.groups.len());
        let mut metrics = Metrics {
            length_penalty_phase: false,
            kept_ratio: 0.0,
            enforced_group_ratio: groups(|group| group.enforced),
            lost_signal_group_ratio: groups(|group| group.had_signal && !group.has_signal),
            gained_signal_group_ratio: groups(|group| !group.had_signal && group.has_signal),
            tokens_over_budget: 0.0,
            budget_min: f64::NAN,
            budget_median: f64::NAN,
            budget_max: f64::NAN,
        };
        let n = self.budgets.len();
        if n > 0 {
            let (lower, &mut middle, upper) =
                self.budgets.select_nth_unstable_by(n / 2, f64::total_cmp);
            let below = lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let is_odd = n % 2 == 1;
            metrics.budget_median = f64::midpoint(if is_odd { middle } else { below }, middle);
            metrics.budget_min = lower.iter().copied().fold(middle, f64::min);
            metrics.budget_max = upper.iter().copied().fold(middle, f64::max);
        }
        metrics
    }

    pub fn nbytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
            + self.places.capacity() * size_of::<u32>()
            + (self.lengths.capacity() + self.budgets.capacity()) * size_of::<u64>()
            + self.limits.capacity() * size_of::<Limit>()
            + self.groups.capacity() * size_of::<Group>()
    }
}

#[allow(clippy::cast_precision_loss, reason = "no batch has 2^53 samples")]
pub(super) fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
