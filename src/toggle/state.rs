//! What outlives a process: snapshots and merging.

#[cfg(feature = "python")]
use std::fmt::Display;

use super::{Settings, Toggle};
use crate::choice::Choice;
use crate::error::{Result, check_same};
use crate::quantile::Estimator;
use crate::snapshot::{Kind, Payload, Reader, State, Writer};

impl Toggle {
    /// Takes in what `other` has observed, as if this one had observed it as
    /// well.
    ///
    /// Counts add. The last observed step is the later one of the two; a step
    /// that is earlier than it counts already. Of two fixed budgets of a key the
    /// one that was fixed at the earlier step wins, at a tie the smaller one. So
    /// the order in which several are merged is of no account.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) about the first setting that
    /// differs, `m` included, [`Error::Unsupported`](crate::Error::Unsupported)
    /// for estimators that have no merge. Nothing has changed then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let (own, others) = (self.settings(), other.settings());
        check_same("other.m", &own.m, &others.m)?;
        check_same("other.lambda_", &own.lambda, &others.lambda)?;
        check_same("other.percentile", &own.percentile, &others.percentile)?;
        check_same(
            "other.warmup_steps",
            &own.warmup_steps,
            &others.warmup_steps,
        )?;
        check_same("other.estimator", &own.estimator, &others.estimator)?;
        let (phase, others_phase) = (own.start_phase.name(), others.start_phase.name());
        check_same("other.start_phase", phase, others_phase)?;
        check_same("other.freeze", own.freeze.name(), others.freeze.name())?;
        check_same("other.min_samples", &own.min_samples, &others.min_samples)?;
        check_same("other.penalty", own.penalty.name(), others.penalty.name())?;
        self.budgets.merge(&other.budgets)
    }

    /// What to say before [`Self::load_observations`]: budgets that are fixed stay
    /// what they were under other settings.
    #[cfg(feature = "python")]
    pub(crate) fn about_load(&self, other: &Self) -> Option<String> {
        let fixed = other.budgets.fixed();
        let (own, others) = (self.settings(), other.settings());
        let mut unlike = Vec::new();
        let mut compare = |name: &str, own: &dyn Display, others: &dyn Display| {
            let (own, others) = (own.to_string(), others.to_string());
            if own != others {
                unlike.push(format!("{name}={others}, here {own}"));
            }
        };
        compare("percentile", &own.percentile, &others.percentile);
        compare("min_samples", &own.min_samples, &others.min_samples);
        compare("freeze", &own.freeze.name(), &others.freeze.name());
        (fixed > 0 && !unlike.is_empty()).then(|| {
            let unlike = unlike.join("; ");
            format!("fixed budgets stay as they are, {fixed} of them; they came with {unlike}")
        })
    }

    /// Forgets what it has observed and takes up what `other` has, with its own
    /// settings.
    ///
    /// # Errors
    /// [`Error::Snapshot`](crate::Error::Snapshot) when the estimators are
    /// unlike, in kind or setting; nothing has changed then.
    pub fn load_observations(&mut self, other: Self) -> Result<()> {
        self.budgets.load(other.budgets)
    }
}

impl Payload for Toggle {
    const KIND: Kind = Kind::Toggle;

    fn write(&self, out: &mut Writer) {
        let settings = self.settings();
        out.number(settings.m);
        out.real(settings.lambda);
        out.real(settings.percentile);
        out.number(settings.warmup_steps);
        settings.estimator.write_settings(out);
        out.choice(settings.start_phase);
        out.choice(settings.freeze);
        out.number(settings.min_samples);
        out.choice(settings.penalty);
        self.budgets.write(out);
    }

    fn read(bytes: &mut Reader<'_>) -> Result<Self> {
        let mut toggle = Self::new(Settings {
            m: bytes.number()?,
            lambda: bytes.real()?,
            percentile: bytes.real()?,
            warmup_steps: bytes.number()?,
            estimator: Estimator::read_settings(bytes)?,
            start_phase: bytes.choice()?,
            freeze: bytes.choice()?,
            min_samples: bytes.number()?,
            penalty: bytes.choice()?,
        })?;
        toggle.budgets = toggle.budgets.read(bytes)?;
        Ok(toggle)
    }
}
