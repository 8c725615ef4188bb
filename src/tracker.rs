//! The core of the drop-in for open-instruct's `ToggleBudgetTracker`.

mod state;

use std::ops::Range;

use crate::budget::{Budgets, Freeze, Rule};
use crate::column::{Column, Lengths, check_len};
use crate::error::{Error, Result};
use crate::keys::{DatasetKey, KeyRef, KeySource, Run};
use crate::quantile::Estimator;
use crate::schedule::{Phase, Schedule, check_lambda};
use crate::shaping::{Kernels, Lambda, Real, Score, check_scores, mask_over_limit};

/// Samples that are looked at in one go: large enough to be fast, small
/// enough that a batch of any size needs little memory beside it.
const CHUNK: usize = 1 << 15;

/// Marks a key whose limit the running call has not looked up yet.
const UNSEEN: f64 = f64::NAN;

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

/// What calls leave behind for the next one to reuse; no part of the state.
#[derive(Debug, Clone, Default)]
struct Scratch {
    runs: Vec<Run>,
    lengths: Vec<u64>,
    /// By id: the largest length that is kept, infinite without a budget.
    limits: Vec<f64>,
    /// The ids of the batch, in order of first appearance.
    seen: Vec<u32>,
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
        let seen = self.scratch.seen.iter();
        let limits = seen.map(|&id| (id, self.scratch.limits[id as usize]));
        let with_budget = limits.filter(|(_, limit)| limit.is_finite());
        with_budget.map(|(id, limit)| (self.budgets.key(id), limit))
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
        self.update_at(None, batch)
    }

    fn update_at<K, C, S, Q>(
        &mut self,
        step: Option<u64>,
        batch: &Batch<'_, K, C, Q>,
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
        let known = self.budgets.len();
        if let Err(error) = self.check(batch) {
            self.budgets.truncate(known);
            self.scratch.forget_batch();
            return Err(error);
        }
        let seen = self.scratch.seen.iter().copied();
        self.budgets.check_room(seen, batch.scores.len())?;
        if let Some(step) = step {
            self.budgets.tick_to(step);
        }
        let mut kernels = Kernels::new();
        for start in (0..batch.scores.len()).step_by(CHUNK) {
            self.reload(batch, start)?;
            let Self {
                budgets, scratch, ..
            } = self;
            for (run, samples) in scratch.runs() {
                let lengths = &scratch.lengths[samples.clone()];
                kernels.select_correct(
                    batch.scores,
                    start + samples.start,
                    lengths,
                    batch.max_score,
                    |some| budgets.record(run.id, some),
                )?;
            }
        }
        let seen = self.scratch.seen.iter().copied();
        self.budgets.recorded(seen);
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
        self.update_at(Some(step), batch)?;
        self.scratch.look_up_limits(&self.budgets);
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
        self.normal_step(step, batch)?;

        let mut kernels = Kernels::new();
        let mut kept = 0_usize;
        let mut enforced = false;
        for start in (0..samples).step_by(CHUNK) {
            self.reload(batch, start)?;
            for (run, samples) in self.scratch.runs() {
                let limit = self.scratch.limit(run.id);
                let mut at = start + samples.start;
                let end = start + samples.end;
                // Neither runs of a key nor chunks need end where groups do.
                while at < end {
                    if at % k == 0 {
                        let accuracy = kernels.group_accuracy(batch.scores, at, k, batch.max_score);
                        enforced = !self.lambda.exceeds(accuracy);
                    }
                    let until = end.min(at - at % k + k);
                    let limit = if enforced { limit } else { u64::MAX };
                    let lengths = &self.scratch.lengths[at - start..until - start];
                    let shaped = &mut shaped[at..until];
                    kept += mask_over_limit(batch.scores, at, lengths, limit, shaped);
                    at = until;
                }
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "no batch has 2^53 samples")]
        Ok((kept as f64).over(samples))
    }

    /// Checks the whole batch and gives every key an id.
    fn check<K, C, S, Q>(&mut self, batch: &Batch<'_, K, C, Q>) -> Result<(), K::Error>
    where
        K: KeySource + ?Sized,
        C: Column<S> + ?Sized,
        S: Score,
    {
        let samples = batch.scores.len();
        check_len("datasets", batch.datasets.len(), samples)?;
        check_len(batch.lengths.argument(), batch.lengths.len(), samples)?;
        check_scores(batch.scores)?;
        self.scratch.forget_batch();
        for start in (0..samples).step_by(CHUNK) {
            self.load(batch, start)?;
            self.scratch.note_appearance(self.budgets.len());
        }
        Ok(())
    }

    /// Reads keys and lengths of the chunk that begins at `start`.
    fn load<K, C, Q>(&mut self, batch: &Batch<'_, K, C, Q>, start: usize) -> Result<(), K::Error>
    where
        K: KeySource + ?Sized,
        C: ?Sized,
    {
        let Self {
            budgets, scratch, ..
        } = self;
        let end = batch.datasets.len().min(start + CHUNK);
        scratch.runs.clear();
        batch
            .datasets
            .read(start..end, |key| budgets.intern(key), &mut scratch.runs)?;
        scratch.lengths.resize(end - start, 0);
        Ok(batch.lengths.read(start, &mut scratch.lengths)?)
    }

    /// [`Self::load`] for a batch that [`Self::check`] has been through: one
    /// chunk is still there.
    fn reload<K, C, Q>(&mut self, batch: &Batch<'_, K, C, Q>, start: usize) -> Result<(), K::Error>
    where
        K: KeySource + ?Sized,
        C: ?Sized,
    {
        if batch.datasets.len() > CHUNK {
            self.load(batch, start)
        } else {
            Ok(())
        }
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

impl Scratch {
    fn forget_batch(&mut self) {
        for id in self.seen.drain(..) {
            self.limits[id as usize] = UNSEEN;
        }
    }

    /// The runs of the chunk, and which of its samples each one covers.
    fn runs(&self) -> impl Iterator<Item = (Run, Range<usize>)> {
        self.runs.iter().scan(0, |end, &run| {
            let start = *end;
            *end += run.len as usize;
            Some((run, start..*end))
        })
    }

    fn note_appearance(&mut self, keys: usize) {
        self.limits.resize(keys, UNSEEN);
        for run in &self.runs {
            let limit = &mut self.limits[run.id as usize];
            if limit.is_nan() {
                *limit = f64::INFINITY;
                self.seen.push(run.id);
            }
        }
    }

    fn look_up_limits(&mut self, budgets: &Budgets) {
        for &id in &self.seen {
            self.limits[id as usize] = budgets.budget(id).unwrap_or(f64::INFINITY);
        }
    }

    /// The largest length that is kept: a whole one, so rounding down changes
    /// no comparison.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative; infinity becomes u64::MAX, above every length"
    )]
    fn limit(&self, id: u32) -> u64 {
        self.limits[id as usize] as u64
    }

    fn nbytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
            + self.seen.capacity() * size_of::<u32>()
            + (self.lengths.capacity() + self.limits.capacity()) * size_of::<u64>()
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
