//! Toggle as a trainer uses it: observe, shape, filter what has no signal.

mod doubts;
mod scratch;
mod settings;
mod shaped;
mod state;

pub use settings::{Penalty, Settings};
pub use shaped::{Metrics, Shaped};

use self::doubts::Doubts;
use self::scratch::{Scratch, share};
use crate::budget::{Budgets, Freeze, Rule};
use crate::column::{Column, Lengths, check_len, check_samples};
use crate::error::{Error, Result};
use crate::groups::Groups;
use crate::keys::{DatasetKey, KeyRef, KeySource};
use crate::schedule::{Schedule, check_lambda};
use crate::shaping::{Score, check_scores};

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
///     lengths: &vec![100, 200, 300, 900],
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
    doubts: Doubts,
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
            doubts: Doubts::default(),
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
        Ok(self.record(batch, step.is_some())?)
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
        Ok(self.shape_what_was_read(step, scores, batch, groups))
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
        let shaped = self.shape_what_was_read(step, scores, batch, groups);
        self.record(batch, true)?;
        Ok(shaped)
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

    /// Checks the batch and reads its keys; on an error nothing has changed.
    fn read<K>(&mut self, batch: &Batch<'_, K>, intern: bool) -> Result<(), K::Error>
    where
        K: KeySource + ?Sized,
    {
        let samples = batch.correct.len();
        check_samples("correct", samples)?;
        check_len("datasets", batch.datasets.len(), samples)?;
        check_len(batch.lengths.argument(), batch.lengths.len(), samples)?;
        batch.lengths.check()?;
        let known = self.budgets.len();
        let read = self.scratch.read(batch.datasets, intern, &mut self.budgets);
        let read = read.and_then(|()| {
            if intern {
                self.budgets.check_pending(self.scratch.ids(), samples)?;
            }
            Ok(())
        });
        if read.is_err() {
            self.budgets.truncate(known);
            self.scratch.forget_batch();
        }
        read
    }

    /// Records the batch whose keys [`Self::read`] has read.
    fn record<K: ?Sized>(&mut self, batch: &Batch<'_, K>, is_pending: bool) -> Result<()> {
        let Self {
            budgets, scratch, ..
        } = self;
        if is_pending {
            budgets.record_pending(scratch.select(batch.lengths, batch.correct));
            return Ok(());
        }
        budgets.check_room(scratch.ids(), batch.correct.len())?;
        for (id, lengths) in scratch.select(batch.lengths, batch.correct) {
            budgets.record(id, lengths)?;
        }
        budgets.recorded(scratch.ids());
        Ok(())
    }

    fn shape_what_was_read<K, C, S>(
        &mut self,
        step: u64,
        scores: &C,
        batch: &Batch<'_, K>,
        groups: &Groups,
    ) -> Shaped<S>
    where
        K: ?Sized,
        C: Column<S> + ?Sized,
        S: Score,
    {
        let is_penalty = self.schedule.is_penalty_step(step);
        let scratch = &mut self.scratch;
        scratch.count_groups(groups, batch.correct);
        for group in &mut scratch.groups {
            group.enforced = is_penalty && group.accuracy >= self.lambda;
        }
        let (kept, tokens_over_budget) = scratch.judge(batch.lengths, batch.correct, groups);

        let mut room = Vec::new();
        let unshaped = scores.block(0..scores.len(), &mut room);
        self.doubts.note(unshaped, batch.correct);
        scratch.note_signal(groups, unshaped, |group| &mut group.had_signal);
        let shaped = is_penalty.then(|| self.penalty.shape(unshaped, &kept));
        let result = shaped.as_deref().unwrap_or(unshaped);
        scratch.note_signal(groups, result, |group| &mut group.has_signal);

        let metrics = Metrics {
            length_penalty_phase: is_penalty,
            kept_ratio: share(kept.iter().filter(|kept| **kept).count(), kept.len()),
            tokens_over_budget,
            ..scratch.metrics()
        };
        let of_samples = || {
            let groups = groups.of_samples().iter();
            groups.map(|&group| &scratch.groups[group as usize])
        };
        Shaped {
            scores: shaped,
            has_signal: of_samples().map(|group| group.has_signal).collect(),
            group_accuracy: of_samples().map(|group| group.accuracy).collect(),
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
