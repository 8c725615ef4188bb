//! The core of the drop-in for open-instruct's `ToggleBudgetTracker`.

mod scratch;
mod state;

use self::scratch::Scratch;
use crate::budget::{Budgets, Freeze, Rule};
use crate::column::{CHUNK, Column, Lengths, check_len, chunks};
use crate::error::{Error, Result};
use crate::keys::{DatasetKey, KeyRef, KeySource};
use crate::quantile::Estimator;
use crate::schedule::{Phase, Schedule, check_lambda};
use crate::shaping::{
    Lambda, NO_LIMIT, Real, Score, check_scores, group_accuracy, is_correct, mask_over_limits,
};

/// One batch, read where it lies. `Q` is the type in which scores are divided
/// and compared, see [`Real`].
pub struct Batch<'a, K: ?Sized, C: ?Sized, Q> {
    /// Dataset key of each sample.
    pub datasets: &'a K,
    /// Length of each response in generated tokens.
    pub lengths: &'a dyn Lengths,
    /// Score of each response.
    pub scores: &'a C,
    /// The score of a correct response; finite and `> 0`.
    pub max_score: Q,
}

/// One running budget per dataset, after the reference implementation (class
/// `ToggleBudgetTracker`, open-instruct pull request 1676).
///
/// A step first records the lengths of its correct responses, then shapes with
/// the budgets that include them.
///
/// ```
/// use toggle_rs::quantile::{Estimator, ExactQuantile};
/// use toggle_rs::tracker::{Batch, BudgetTracker};
///
/// let exact = Estimator::Exact(ExactQuantile::new());
/// let mut tracker = BudgetTracker::new(1, 0.5, 50.0, 0, exact)?;
/// let batch = Batch {
///     datasets: &["math"; 4][..],
///     lengths: &vec![100, 200, 300, 900],
///     scores: &[1.0, 1.0, 1.0, 0.0][..],
///     max_score: 1.0,
/// };
/// let mut shaped = [0.0; 4];
/// let kept = tracker.penalty_step(1, &batch, 4, &mut shaped)?;
/// assert_eq!(shaped, [1.0, 1.0, 0.0, 0.0]); // the budget is 200
/// assert_eq!(kept, 0.5);
/// # Ok::<(), toggle_rs::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BudgetTracker {
    schedule: Schedule,
    lambda: Lambda,
    budgets: Budgets,
    scratch: Scratch,
}

impl BudgetTracker {
    /// A tracker that has seen nothing.
    ///
    /// # Errors
    /// [`Error::Value`] where `lambda` is not finite, `percentile` not in
    /// `0..=100` or not the one that `estimator` answers, or `estimator` not
    /// empty.
    pub fn new(
        m: u64,
        lambda: f64,
        percentile: f64,
        warmup_steps: u64,
        estimator: Estimator,
    ) -> Result<Self> {
        check_lambda(lambda)?;
        Ok(Self {
            schedule: Schedule {
                m,
                warmup_steps,
                start: Phase::Normal,
            },
            lambda: Lambda {
                value: lambda,
                strong: false,
            },
            budgets: Budgets::new(Rule {
                pattern: estimator,
                percentile,
                min_samples: 1,
                freeze: Freeze::Never,
                warmup_steps: 0,
            })?,
            scratch: Scratch::default(),
        })
    }

    /// Which steps are penalty steps.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// Sets the schedule from the next step on.
    pub fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = schedule;
    }

    /// The accuracy below which a group keeps its rewards.
    #[must_use]
    pub fn lambda(&self) -> Lambda {
        self.lambda
    }

    /// # Errors
    /// [`Error::Value`] unless its value is finite.
    pub fn set_lambda(&mut self, lambda: Lambda) -> Result<()> {
        check_lambda(lambda.value)?;
        self.lambda = lambda;
        Ok(())
    }

    /// The percentile of correct lengths that is the budget.
    #[must_use]
    pub fn percentile(&self) -> f64 {
        self.budgets.rule().percentile
    }

    /// # Errors
    /// [`Error::Value`] where the estimators cannot answer it.
    pub fn set_percentile(&mut self, percentile: f64) -> Result<()> {
        self.budgets.set_percentile(percentile)
    }

    /// The budget of a dataset, `None` before its first correct response.
    #[must_use]
    pub fn budget(&self, key: KeyRef<'_>) -> Option<f64> {
        self.budgets.budget(self.budgets.id(key))
    }

    /// The empty estimator that each new dataset begins with.
    #[must_use]
    pub fn estimator(&self) -> &Estimator {
        &self.budgets.rule().pattern
    }

    /// The datasets with at least one correct response, and their estimators,
    /// in order of appearance.
    pub fn estimators(&self) -> impl Iterator<Item = (&DatasetKey, &Estimator)> {
        self.budgets.estimators()
    }

    /// Each dataset with a correct response: how many, and its budget. In order
    /// of appearance.
    pub fn summary(&mut self) -> Vec<(&DatasetKey, u64, Option<f64>)> {
        self.budgets.summary()
    }

    /// The datasets of the last step in order of first appearance, with their
    /// budgets where they have one.
    pub fn step_budgets(&self) -> impl Iterator<Item = (&DatasetKey, f64)> {
        let budgets = self.scratch.budgets();
        budgets.map(|(id, budget)| (self.budgets.key(id), budget))
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn nbytes(&self) -> usize {
        size_of::<Self>() + self.budgets.nbytes() + self.scratch.nbytes()
    }

    /// Records the lengths of the correct responses of a batch.
    ///
    /// # Errors
    /// Where the columns differ in length or hold what they must not; nothing
    /// has been recorded then.
    pub fn update<K, C, S, Q>(&mut self, batch: &Batch<'_, K, C, Q>) -> Result<(), K::Error>
    where
        K: KeySource + ?Sized,
        C: Column<S> + ?Sized,
        S: Score,
        Q: Real,
    {
        self.update_at(None, batch, CHUNK)
    }

    /// [`Self::update`] at a step, looking at `size` samples in one go.
    fn update_at<K, C, S, Q>(
        &mut self,
        step: Option<u64>,
        batch: &Batch<'_, K, C, Q>,
        size: usize,
    ) -> Result<(), K::Error>
    where
        K: KeySource + ?Sized,
        C: Column<S> + ?Sized,
        S: Score,
        Q: Real,
    {
        if let Some(step) = step {
            self.budgets.check_tick(step)?;
        }
        self.read(batch, size)?;
        let Self {
            budgets, scratch, ..
        } = self;
        let samples = batch.scores.len();
        budgets.check_room(scratch.ids(), samples)?;
        if let Some(step) = step {
            budgets.tick_to(step);
        }
        let mut scores = Vec::new();
        for (index, chunk) in chunks(samples, size).enumerate() {
            scratch.reread(index, chunk.clone(), batch.datasets, budgets)?;
            let scores = batch.scores.block(chunk.clone(), &mut scores);
            let is_correct = |score: &S| is_correct(*score, batch.max_score);
            for (id, lengths) in scratch.select(index, chunk, batch.lengths, scores, is_correct) {
                budgets.record(id, lengths)?;
            }
        }
        budgets.recorded(scratch.ids());
        Ok(())
    }

    /// A step of the normal phase: [`Self::update`], then the budgets for
    /// [`Self::step_budgets`].
    ///
    /// # Errors
    /// As [`Self::update`].
    pub fn normal_step<K, C, S, Q>(
        &mut self,
        step: u64,
        batch: &Batch<'_, K, C, Q>,
    ) -> Result<(), K::Error>
    where
        K: KeySource + ?Sized,
        C: Column<S> + ?Sized,
        S: Score,
        Q: Real,
    {
        self.update_at(Some(step), batch, CHUNK)?;
        self.scratch.look_up_budgets(&self.budgets);
        Ok(())
    }

    /// A length-penalty step: [`Self::normal_step`], then writes into `shaped`
    /// each score, or zero where the response is over budget and its group of
    /// `k` consecutive samples is solved well enough. Returns the share of
    /// samples that were kept; NaN for an empty batch.
    ///
    /// # Errors
    /// As [`Self::update`], and where `k` does not divide the batch.
    pub fn penalty_step<K, C, S, Q>(
        &mut self,
        step: u64,
        batch: &Batch<'_, K, C, Q>,
        k: usize,
        shaped: &mut [S],
    ) -> Result<f64, K::Error>
    where
        K: KeySource + ?Sized,
        C: Column<S> + ?Sized,
        S: Score,
        Q: Real,
    {
        let samples = batch.scores.len();
        check_groups(samples, k)?;
        check_len("shaped", shaped.len(), samples)?;
        // Whole groups, at least one.
        let size = (CHUNK - CHUNK % k).max(k);
        self.update_at(Some(step), batch, size)?;
        let Self {
            budgets,
            scratch,
            lambda,
            ..
        } = self;
        scratch.look_up_budgets(budgets);

        let mut kept = 0;
        let (mut room, mut length_room) = (Vec::new(), Vec::new());
        for (index, chunk) in chunks(samples, size).enumerate() {
            scratch.reread(index, chunk.clone(), batch.datasets, budgets)?;
            let scores = batch.scores.block(chunk.clone(), &mut room);
            let lengths = batch.lengths.block(chunk.clone(), &mut length_room);
            let limits = scratch.limits(index);
            for (group, limits) in scores.chunks_exact(k).zip(limits.chunks_exact_mut(k)) {
                let accuracy = group_accuracy(group, batch.max_score);
                let is_free = lambda.exceeds(accuracy);
                // Which groups are is hard to foresee: no branch on it.
                let lift = if is_free { NO_LIMIT } else { 0 };
                for limit in limits {
                    *limit |= lift;
                }
            }
            kept += mask_over_limits(scores, lengths, limits, &mut shaped[chunk]);
        }
        #[allow(clippy::cast_precision_loss, reason = "no batch has 2^53 samples")]
        Ok((kept as f64).over(samples))
    }

    /// Checks the whole batch and gives every key an id; on an error nothing
    /// has changed.
    fn read<K, C, S, Q>(&mut self, batch: &Batch<'_, K, C, Q>, size: usize) -> Result<(), K::Error>
    where
        K: KeySource + ?Sized,
        C: Column<S> + ?Sized,
        S: Score,
    {
        let samples = batch.scores.len();
        check_len("datasets", batch.datasets.len(), samples)?;
        check_len(batch.lengths.argument(), batch.lengths.len(), samples)?;
        check_scores(batch.scores)?;
        batch.lengths.check()?;
        let known = self.budgets.len();
        let read = self.scratch.read(batch.datasets, size, &mut self.budgets);
        if read.is_err() {
            self.budgets.truncate(known);
            self.scratch.forget_batch();
        }
        read
    }
}

impl PartialEq for BudgetTracker {
    /// The same settings and observations.
    fn eq(&self, other: &Self) -> bool {
        self.schedule == other.schedule
            && self.lambda == other.lambda
            && self.budgets == other.budgets
    }
}

/// Groups of `k` consecutive samples must tile the batch.
fn check_groups(samples: usize, k: usize) -> Result<()> {
    if k > 0 && samples.is_multiple_of(k) {
        return Ok(());
    }
    let expected = format!("a number > 0 that divides the batch of {samples} samples");
    Err(Error::value("num_samples_per_prompt", k, expected))
}
