//! The keys and groups of a batch while it is being shaped.

use super::shaped::Metrics;
use crate::budget::Budgets;
use crate::column::Lengths;
use crate::groups::Groups;
use crate::keys::{KeySource, Run};
use crate::present::{Present, Selected};

/// What calls leave behind for the next one to reuse; no part of the state.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    present: Present,
    /// The places of the keys.
    runs: Vec<Run>,
    selected: Selected,
    lengths: Vec<u64>,
    /// By place.
    limits: Vec<Limit>,
    /// The budgets of the keys of the batch that have one.
    budgets: Vec<f64>,
    pub groups: Vec<Group>,
}

/// A budget: lengths are whole, so `length <= whole` says whether one is within.
#[derive(Debug, Clone, Copy)]
struct Limit {
    whole: u64,
    /// The rest, in 2^-52.
    part: u64,
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
struct Excess {
    whole: u128,
    part: u128,
}

impl Excess {
    /// Adds samples of one key, correct or not.
    fn add(&mut self, lengths: &[u64], correct: &[bool], limit: Limit) {
        // So many lengths, up to 2^53, do not overflow.
        const BLOCK: usize = 1 << 10;
        for (lengths, correct) in lengths.chunks(BLOCK).zip(correct.chunks(BLOCK)) {
            let (mut whole, mut over) = (0, 0);
            for (&length, &is_correct) in lengths.iter().zip(correct) {
                let is_over = u64::from(is_correct && length > limit.whole);
                whole += is_over * length.saturating_sub(limit.whole);
                over += is_over;
            }
            self.whole += u128::from(whole);
            self.part += u128::from(over) * u128::from(limit.part);
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "rounded to the nearest f64")]
    fn tokens(&self) -> f64 {
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
        self.present.clear();
        self.runs.clear();
    }

    /// Reads the keys of a batch; new ones get an id only where `intern` says so.
    pub fn read<K: KeySource + ?Sized>(
        &mut self,
        datasets: &K,
        intern: bool,
        budgets: &mut Budgets,
    ) -> Result<(), K::Error> {
        self.forget_batch();
        datasets.read(0..datasets.len(), budgets.ids_of(intern), &mut self.runs)?;
        self.present.place(&mut self.runs, budgets.len());
        Ok(())
    }

    /// The ids of the keys, in order of first appearance.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.present.ids().iter().copied()
    }

    /// The ids and the correct lengths of the batch, in order within a key.
    pub fn select(
        &mut self,
        lengths: &dyn Lengths,
        correct: &[bool],
    ) -> impl Iterator<Item = (u32, &[u64])> {
        let ids = self.present.ids();
        let lengths = lengths.block(0..correct.len(), &mut self.lengths);
        self.selected
            .select(ids.len(), &self.runs, lengths, correct, |&correct| correct);
        let selected = self.selected.iter();
        selected.map(|(place, lengths)| (ids[place], lengths))
    }

    /// Limits of the keys that were read; `next`: what later steps would use.
    pub fn look_up_limits(&mut self, budgets: &mut Budgets, next: bool) {
        self.budgets.clear();
        self.limits.clear();
        for &id in self.present.ids() {
            let budget = if next {
                budgets.next_budget(id)
            } else {
                budgets.known_budget(id)
            };
            self.limits.push(budget.map_or(Limit::NONE, Limit::of));
            self.budgets.extend(budget);
        }
    }

    /// Whether each sample keeps its score, and by how many tokens the correct
    /// ones are over budget.
    pub fn judge(
        &mut self,
        lengths: &dyn Lengths,
        correct: &[bool],
        groups: &Groups,
    ) -> (Vec<bool>, f64) {
        let lengths = lengths.block(0..correct.len(), &mut self.lengths);
        let mut kept = Vec::with_capacity(correct.len());
        let mut excess = Excess::default();
        for run in &self.runs {
            let limit = self.limits[run.id as usize];
            let samples = kept.len()..kept.len() + run.len as usize;
            let (lengths, correct) = (&lengths[samples.clone()], &correct[samples.clone()]);
            let groups = groups.of_samples()[samples].iter();
            kept.extend(groups.zip(lengths).map(|(&group, &length)| {
                !self.groups[group as usize].enforced || length <= limit.whole
            }));
            excess.add(lengths, correct, limit);
        }
        (kept, excess.tokens())
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
        self.present.nbytes()
            + self.selected.nbytes()
            + self.runs.capacity() * size_of::<Run>()
            + (self.lengths.capacity() + self.budgets.capacity()) * size_of::<u64>()
            + self.limits.capacity() * size_of::<Limit>()
            + self.groups.capacity() * size_of::<Group>()
    }
}

#[allow(clippy::cast_precision_loss, reason = "no batch has 2^53 samples")]
pub(super) fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
