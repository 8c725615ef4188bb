//! What outlives a process: snapshots and merging.

use super::BudgetTracker;
use crate::error::{Result, check_same};
use crate::quantile::Estimator;
use crate::shaping::Lambda;
use crate::snapshot::{Kind, Payload, Reader, State, Writer};

impl BudgetTracker {
    /// Takes in what `other` has seen, as if this one had seen it as well: the
    /// order in which several are merged is of no account.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) about the first setting that
    /// differs, `m` included, [`Error::Unsupported`](crate::Error::Unsupported)
    /// for estimators that have no merge. Nothing has changed then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let (own, others) = (self.schedule, other.schedule);
        check_same("other.m", &own.m, &others.m)?;
        check_same("other.lambda_", &self.lambda, &other.lambda)?;
        check_same("other.percentile", &self.percentile(), &other.percentile())?;
        check_same(
            "other.warmup_steps",
            &own.warmup_steps,
            &others.warmup_steps,
        )?;
        check_same("other.estimator", self.estimator(), other.estimator())?;
        self.budgets.merge(&other.budgets)
    }

    /// Forgets what it has seen and takes up what `other` has, with its own
    /// settings.
    ///
    /// # Errors
    /// [`Error::Snapshot`](crate::Error::Snapshot) when the estimators are
    /// unlike, in kind or setting; nothing has changed then.
    pub fn load_observations(&mut self, other: Self) -> Result<()> {
        self.budgets.load(other.budgets)?;
        // It speaks of keys that may be gone.
        self.scratch = super::Scratch::default();
        Ok(())
    }
}

impl Payload for BudgetTracker {
    const KIND: Kind = Kind::BudgetTracker;

    fn write(&self, out: &mut Writer) {
        out.number(self.schedule.m);
        out.real(self.lambda.value);
        out.byte(self.lambda.strong.into());
        out.real(self.percentile());
        out.number(self.schedule.warmup_steps);
        self.estimator().write_settings(out);
        self.budgets.write(out);
    }

    fn read(bytes: &mut Reader<'_>) -> Result<Self> {
        let m = bytes.number()?;
        let lambda = Lambda {
            value: bytes.real()?,
            strong: bytes.flag()?,
        };
        let percentile = bytes.real()?;
        let warmup_steps = bytes.number()?;
        let estimator = Estimator::read_settings(bytes)?;
        let mut tracker = Self::new(m, lambda.value, percentile, warmup_steps, estimator)?;
        tracker.lambda = lambda;
        tracker.budgets = tracker.budgets.read(bytes)?;
        Ok(tracker)
    }
}
