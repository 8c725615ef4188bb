//! Toggle as a trainer uses it: observe, shape, filter what has no signal.

mod state;

use crate::budget::{Budgets, Freeze, Rule};
use crate::choice::Choice;
use crate::column::{Column, Lengths};
use crate::error::{Error, Result};
use crate::groups::Groups;
use crate::keys::{DatasetKey, KeyRef, KeySource};
use crate::quantile::Estimator;
use crate::schedule::{Phase, Schedule, StepWatch, check_lambda};
use crate::shaping::{Score, check_scores};

/// What an enforced budget does to the score of a response above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Penalty {
    /// `r * 0`, as in the report. A negative score goes up.
    #[default]
    Zero,
    /// `min(r, 0)`: a score never goes up.
    CapAtZero,
}

impl Choice for Penalty {
    const ALL: &'static [(&'static str, Self)] =
        &[("zero", Self::Zero), ("cap_at_zero", Self::CapAtZero)];
}

/// Everything that a [`Toggle`] is made with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Length of a phase in training steps; 0 disables.
    pub m: u64,
    /// Groups solved less often than this keep their rewards; finite.
    pub lambda: f64,
    /// The percentile in `0..=100` of correct lengths that is the budget.
    pub percentile: f64,
    /// Steps at the beginning without a penalty.
    pub warmup_steps: u64,
    /// The empty estimator that each key begins with.
    pub estimator: Estimator,
    /// The phase of the first `m` steps.
    pub start_phase: Phase,
    /// When the budget of a key is fixed.
    pub freeze: Freeze,
    /// Correct responses below which a key has no budget; at least 1.
    pub min_samples: u64,
    /// What happens to a response over budget.
    pub penalty: Penalty,
}

/// Toggle reward shaping (Kimi K2.5 report, arXiv 2602.02276, token-efficient RL):
///
/// `r~(y) = r(y) * 1[accuracy(x) < lambda or |y| <= budget(d)]`
///
/// in length-penalty steps, `r` in others. What is observed at step `s` counts
/// for budgets from step `s + 1` on, so the order within a step is of no
/// account.
///
/// ```
/// use toggle_rs::groups::Groups;
/// use toggle_rs::quantile::{Estimator, ExactQuantile};
/// use toggle_rs::toggle::{Batch, Settings, Toggle};
///
/// let settings = Settings::new(1, 0.5, 50.0, Estimator::Exact(ExactQuantile::new()));
/// let mut toggle = Toggle::new(settings)?;
/// let batch = Batch {
///     datasets: &["math"; 4][..],
///     lengths: &[100, 200, 300, 900],
///     correct: &[true, true, true, false],
/// };
/// toggle.observe(&batch, Some(0))?;
/// let groups = Groups::consecutive(4, 4)?;
/// let shaped = toggle.shape(1, &[1.0, 1.0, 1.0, 0.0][..], &batch, &groups)?;
/// assert_eq!(shaped.scores.as_deref(), Some(&[1.0, 1.0, 0.0, 0.0][..]));
/// # Ok::<(), toggle_rs::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Toggle {
    schedule: Schedule,
    lambda: f64,
    penalty: Penalty,
    budgets: Budgets,
    scratch: Scratch,
    watch: StepWatch,
    checked_group_size: bool,
}

/// One batch: of each sample its dataset key, length, and whether it is correct.
pub struct Batch<'a, K: ?Sized> {
    /// Dataset key of each sample.
    pub datasets: &'a K,
    /// Length of each response in generated tokens.
    pub lengths: &'a dyn Lengths,
    /// Whether each response is correct.
    pub correct: &'a [bool],
}

/// What [`Toggle::shape`] makes of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaped<S> {
    /// The shaped scores; `None` where the phase leaves all scores as they are.
    pub scores: Option<Vec<S>>,
    /// Per sample: its score was left as it is.
    pub kept: Vec<bool>,
    /// Per sample: the shaped scores of its group are not all equal.
    pub has_signal: Vec<bool>,
    /// Per sample: share of correct responses in its group.
    pub group_accuracy: Vec<f64>,
    /// Figures about the batch.
    pub metrics: Metrics,
}

/// Figures about a shaped batch; shares are of all its samples or groups, NaN
/// where there are none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metrics {
    /// Whether the step is a length-penalty step.
    pub length_penalty_phase: bool,
    /// Share of samples whose score was left as it is.
    pub kept_ratio: f64,
    /// Share of groups whose accuracy reaches lambda in a penalty step.
    pub enforced_group_ratio: f64,
    /// Share of groups whose scores differed before shaping and no longer do.
    pub lost_signal_group_ratio: f64,
    /// Share of groups whose scores were equal before shaping and now differ.
    pub gained_signal_group_ratio: f64,
    /// Tokens of correct responses beyond their budgets, in any phase.
    pub tokens_over_budget: f64,
    /// Smallest budget of the keys in the batch, NaN without any.
    pub budget_min: f64,
    /// Median of the budgets of the keys in the batch.
    pub budget_median: f64,
    /// Largest budget of the keys in the batch.
    pub budget_max: f64,
}

/// What calls leave behind for the next one to reuse; no part of the state.
#[derive(Debug, Clone, Default)]
struct Scratch {
    ids: Vec<u32>,
    lengths: Vec<u64>,
    /// By id: the budget, infinite without one; NaN for keys not in the batch.
    limits: Vec<f64>,
    /// Ids of the batch in order of first appearance.
    seen: Vec<u32>,
    groups: Vec<Group>,
}

/// One group, while a batch is being shaped.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    size: u32,
    correct: u32,
    enforced: bool,
    had_signal: bool,
    has_signal: bool,
}

impl Settings {
    /// Settings with a normal first phase, no warm-up and no frozen budgets.
    #[must_use]
    pub fn new(m: u64, lambda: f64, percentile: f64, estimator: Estimator) -> Self {
        Self {
            m,
            lambda,
            percentile,
            warmup_steps: 0,
            estimator,
            start_phase: Phase::Normal,
            freeze: Freeze::Never,
            min_samples: 1,
            penalty: Penalty::Zero,
        }
    }
}

impl Toggle {
    /// A Toggle that has observed nothing.
    ///
    /// # Errors
    /// [`Error::Value`] about the first setting that is out of range.
    pub fn new(settings: Settings) -> Result<Self> {
        check_lambda(settings.lambda)?;
        let Settings {
            m,
            warmup_steps,
            start_phase: start,
            ..
        } = settings;
        Ok(Self {
            schedule: Schedule {
                m,
                warmup_steps,
                start,
            },
            lambda: settings.lambda,
            penalty: settings.penalty,
            budgets: Budgets::new(Rule {
                pattern: settings.estimator,
                percentile: settings.percentile,
                min_samples: settings.min_samples,
                freeze: settings.freeze,
                warmup_steps,
            })?,
            scratch: Scratch::default(),
            watch: StepWatch::default(),
            checked_group_size: false,
        })
    }

    /// What it was made with.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let rule = self.budgets.rule();
        Settings {
            m: self.schedule.m,
            lambda: self.lambda,
            percentile: rule.percentile,
            warmup_steps: self.schedule.warmup_steps,
            estimator: rule.pattern.clone(),
            start_phase: self.schedule.start,
            freeze: rule.freeze,
            min_samples: rule.min_samples,
            penalty: self.penalty,
        }
    }

    /// Which steps are penalty steps.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// The last step observed.
    #[must_use]
    pub fn last_step(&self) -> Option<u64> {
        self.budgets.clock()
    }

    /// The budget that the next step would use, `None` for a key without one.
    pub fn budget(&mut self, key: KeyRef<'_>) -> Option<f64> {
        self.budgets.next_budget(self.budgets.id(key))
    }

    /// Each key with a correct response: how many, and the budget that the
    /// next step would use. In order of appearance.
    pub fn summary(&mut self) -> Vec<(&DatasetKey, u64, Option<f64>)> {
        self.budgets.summary()
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn nbytes(&self) -> usize {
        size_of::<Self>() + self.budgets.nbytes() + self.scratch.nbytes()
    }

    /// Records the lengths of the correct responses of a batch. They count
    /// from step `step + 1` on; without a step, at once.
    ///
    /// # Errors
    /// [`Error::Value`] for a step before the last observed one, or none where
    /// the settings need a clock, and where the columns differ in length or
    /// hold what they must not. Nothing has been recorded then.
    pub fn observe<K>(&mut self, batch: &Batch<'_, K>, step: Option<u64>) -> Result<(), K::Error>
    where
        K: KeySource + ?Sized,
    {
        self.check_clock(step)?;
        self.read(batch, self.schedule.is_enabled())?;
        if !self.schedule.is_enabled() {
            return Ok(());
        }
        if let Some(step) = step {
            self.budgets.advance(step)?;
        }
        Ok(self.record(batch.correct, step.is_some())?)
    }

    /// Shapes the scores of a batch, and records nothing. The budgets are those
    /// of what was observed before `step`.
    ///
    /// # Errors
    /// As [`Self::observe`], and where `groups` is of another batch.
    pub fn shape<K, C, S>(
        &mut self,
        step: u64,
        scores: &C,
        batch: &Batch<'_, K>,
        groups: &Groups,
    ) -> Result<Shaped<S>, K::Error>
    where
        K: KeySource + ?Sized,
        C: Column<S> + ?Sized,
        S: Score,
    {
        self.budgets.check_step(step)?;
        check_columns(scores, batch, groups)?;
        self.read(batch, false)?;
        let is_next_step = self.budgets.clock() != Some(step);
        self.scratch.look_up_limits(&mut self.budgets, is_next_step);
        Ok(self.shape_what_was_read(step, scores, batch.correct, groups))
    }

    /// [`Self::shape`] with what was known before `step`, then
    /// [`Self::observe`].
    ///
    /// # Errors
    /// As the two.
    pub fn apply<K, C, S>(
        &mut self,
        step: u64,
        scores: &C,
        batch: &Batch<'_, K>,
        groups: &Groups,
    ) -> Result<Shaped<S>, K::Error>
    where
        K: KeySource + ?Sized,
        C: Column<S> + ?Sized,
        S: Score,
    {
        if !self.schedule.is_enabled() {
            return self.shape(step, scores, batch, groups);
        }
        self.budgets.check_step(step)?;
        check_columns(scores, batch, groups)?;
        self.read(batch, true)?;
        self.budgets.advance(step)?;
        self.scratch.look_up_limits(&mut self.budgets, false);
        let shaped = self.shape_what_was_read(step, scores, batch.correct, groups);
        self.record(batch.correct, true)?;
        Ok(shaped)
    }

    /// What the user should hear about the settings, given a batch to come at
    /// `step`. Each thing is said once; saying it is no part of the state.
    pub fn advise(&mut self, step: u64, groups: &Groups) -> Vec<String> {
        let mut advice = Vec::new();
        if !self.schedule.is_enabled() {
            return advice;
        }
        if let Some(stride) = self.watch.note(step, self.schedule) {
            let m = self.schedule.m;
            let hidden = if self.schedule.is_penalty_step(step) {
                "normal"
            } else {
                "length-penalty"
            };
            advice.push(format!(
                "the steps seen so far are multiples of {stride} apart, and with m={m} the phases repeat \
                 every {} steps: the {hidden} phase never comes; choose m so that 2 * m does not divide \
                 {stride}",
                2 * m
            ));
        }
        let largest = groups.largest();
        if !self.checked_group_size && largest > 0 {
            self.checked_group_size = true;
            let lambda = self.lambda;
            #[allow(clippy::cast_precision_loss, reason = "no group has 2^53 samples")]
            let next_to_solved = (largest - 1) as f64 / largest as f64;
            if lambda > 1.0 {
                advice.push(format!(
                    "lambda_={lambda} is above every accuracy: no budget is ever enforced"
                ));
            } else if lambda > next_to_solved {
                advice.push(format!(
                    "with groups of {largest}, lambda_={lambda} enforces budgets on fully solved groups \
                     only: shape before you drop groups whose scores are all equal"
                ));
            }
        }
        advice
    }

    fn check_clock(&self, step: Option<u64>) -> Result<()> {
        let rule = self.budgets.rule();
        match step {
            Some(step) => self.budgets.check_step(step),
            None if rule.freeze == Freeze::Warmup => Err(Error::value(
                "step",
                "None",
                "a step, since freeze is \"warmup\"",
            )),
            None if rule.pattern.needs_clock() => Err(Error::value(
                "step",
                "None",
                "a step, since lengths decay by step",
            )),
            None => Ok(()),
        }
    }

    /// Reads ids and lengths into the scratch; on an error nothing has changed.
    fn read<K>(&mut self, batch: &Batch<'_, K>, intern: bool) -> Result<(), K::Error>
    where
        K: KeySource + ?Sized,
    {
        let samples = batch.correct.len();
        check_len("datasets", batch.datasets.len(), samples)?;
        check_len(batch.lengths.argument(), batch.lengths.len(), samples)?;
        let Self {
            budgets, scratch, ..
        } = self;
        scratch.forget_batch();
        scratch.ids.resize(samples, 0);
        scratch.lengths.resize(samples, 0);
        batch.lengths.read(0, &mut scratch.lengths)?;
        let known = budgets.len();
        let resolved = if intern {
            batch
                .datasets
                .resolve(0, &mut scratch.ids, |key| budgets.intern(key))
        } else {
            batch
                .datasets
                .resolve(0, &mut scratch.ids, |key| budgets.id(key))
        };
        if resolved.is_err() {
            budgets.truncate(known);
        }
        resolved
    }

    /// Records what [`Self::read`] has read.
    fn record(&mut self, correct: &[bool], is_pending: bool) -> Result<()> {
        let Self {
            budgets, scratch, ..
        } = self;
        if !is_pending {
            budgets.check_room(scratch.ids.iter().copied(), correct.len())?;
        }
        let samples = scratch.ids.iter().zip(&scratch.lengths).zip(correct);
        for ((&id, &length), _) in samples.filter(|(_, is_correct)| **is_correct) {
            if is_pending {
                budgets.record_pending(id, length);
            } else {
                budgets.record(id, length)?;
            }
        }
        if !is_pending {
            budgets.recorded(&scratch.ids);
        }
        Ok(())
    }

    fn shape_what_was_read<C, S>(
        &mut self,
        step: u64,
        scores: &C,
        correct: &[bool],
        groups: &Groups,
    ) -> Shaped<S>
    where
        C: Column<S> + ?Sized,
        S: Score,
    {
        let is_penalty = self.schedule.is_penalty_step(step);
        let samples = groups.of_samples();
        let scratch = &mut self.scratch;
        scratch.count_groups(samples, groups.len(), correct);
        for group in &mut scratch.groups {
            group.enforced = is_penalty && group.accuracy() >= self.lambda;
        }

        let limits = scratch.ids.iter().map(|&id| scratch.limit(id));
        #[allow(clippy::cast_precision_loss, reason = "lengths up to 2^53 are exact")]
        let over = scratch
            .lengths
            .iter()
            .zip(limits)
            .map(|(&n, limit)| n as f64 - limit);
        let over: Vec<f64> = over.collect();
        let groups_of = samples.iter().map(|&group| scratch.groups[group as usize]);
        let kept: Vec<bool> = groups_of
            .zip(&over)
            .map(|(group, over)| !(group.enforced && *over > 0.0))
            .collect();

        let raw = |i: usize| scores.get(i);
        scratch.note_signal(samples, raw, |group| &mut group.had_signal);
        let penalised = |i: usize| match (kept[i], self.penalty) {
            (true, _) => raw(i),
            (false, Penalty::Zero) => raw(i).zeroed(),
            (false, Penalty::CapAtZero) => raw(i).capped_at_zero(),
        };
        let shaped: Option<Vec<S>> = is_penalty.then(|| (0..scores.len()).map(penalised).collect());
        match &shaped {
            Some(shaped) => {
                scratch.note_signal(samples, |i| shaped[i], |group| &mut group.has_signal);
            }
            None => scratch
                .groups
                .iter_mut()
                .for_each(|g| g.has_signal = g.had_signal),
        }

        let tokens_over = over
            .iter()
            .zip(correct)
            .filter(|&(over, &ok)| ok && *over > 0.0);
        let metrics = Metrics {
            length_penalty_phase: is_penalty,
            kept_ratio: share(kept.iter().filter(|kept| **kept).count(), kept.len()),
            tokens_over_budget: tokens_over.map(|(over, _)| over).sum::<f64>() + 0.0,
            ..scratch.metrics()
        };
        let of = |f: fn(&Group) -> f64| {
            samples
                .iter()
                .map(|&g| f(&scratch.groups[g as usize]))
                .collect()
        };
        Shaped {
            scores: shaped,
            has_signal: samples
                .iter()
                .map(|&g| scratch.groups[g as usize].has_signal)
                .collect(),
            group_accuracy: of(Group::accuracy),
            kept,
            metrics,
        }
    }
}

impl PartialEq for Toggle {
    /// The same settings and observations.
    fn eq(&self, other: &Self) -> bool {
        self.schedule == other.schedule
            && self.lambda == other.lambda
            && self.penalty == other.penalty
            && self.budgets == other.budgets
    }
}

impl Group {
    fn accuracy(&self) -> f64 {
        f64::from(self.correct) / f64::from(self.size)
    }
}

impl Scratch {
    fn forget_batch(&mut self) {
        for id in self.seen.drain(..) {
            self.limits[id as usize] = f64::NAN;
        }
    }

    /// Limits of the keys that were read; `next`: what later steps would use.
    fn look_up_limits(&mut self, budgets: &mut Budgets, next: bool) {
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
    fn limit(&self, id: u32) -> f64 {
        self.limits
            .get(id as usize)
            .copied()
            .unwrap_or(f64::INFINITY)
    }

    fn count_groups(&mut self, samples: &[u32], groups: usize, correct: &[bool]) {
        self.groups.clear();
        self.groups.resize(groups, Group::default());
        for (&group, &is_correct) in samples.iter().zip(correct) {
            let group = &mut self.groups[group as usize];
            group.size += 1;
            group.correct += u32::from(is_correct);
        }
    }

    /// Sets `flag` of the groups in which not all scores are equal.
    fn note_signal<S: Score>(
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
    fn metrics(&self) -> Metrics {
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

    fn nbytes(&self) -> usize {
        (self.ids.capacity() + self.seen.capacity()) * size_of::<u32>()
            + (self.lengths.capacity() + self.limits.capacity()) * size_of::<u64>()
            + self.groups.capacity() * size_of::<Group>()
    }
}

fn check_columns<K, C, S>(scores: &C, batch: &Batch<'_, K>, groups: &Groups) -> Result<()>
where
    K: ?Sized,
    C: Column<S> + ?Sized,
    S: Score,
{
    check_len("correct", batch.correct.len(), scores.len())?;
    check_len("groups", groups.of_samples().len(), scores.len())?;
    check_scores(scores)
}

fn check_len(argument: &'static str, len: usize, expected: usize) -> Result<()> {
    if len == expected {
        Ok(())
    } else {
        Err(Error::Length {
            argument,
            len,
            reference: "scores",
            expected,
        })
    }
}

#[allow(clippy::cast_precision_loss, reason = "no batch has 2^53 samples")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
