//! Putting together what several processes have observed.

use super::{Budgets, Entry, Fixed, Pending};
use crate::error::Result;
use crate::keys::KeyRef;
use crate::quantile::check_count;

impl Budgets {
    /// Takes in what `other` has observed. The rules must be the same; the
    /// caller has compared them.
    ///
    /// * The clock is the later one. What the other side observed at its own
    ///   clock's step then counts already; at equal clocks both wait.
    /// * Live keys add up. A fixed budget stays: of two, the one of the earlier
    ///   step, then the smaller one. Counts add.
    /// * Merging fixes no budget: the data of two parts would fix it otherwise
    ///   than that of three. The next step observed does.
    ///
    /// So the result is the same in any order and grouping, as far as that of
    /// the estimators is.
    ///
    /// # Errors
    /// Where the estimators have no merge, or a count gets too large; nothing
    /// has changed then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        // Also where no key is on both sides.
        self.rule.pattern.clone().merge(&other.rule.pattern)?;
        let mut merged = self.clone();
        merged.take_in(other)?;
        *self = merged;
        Ok(())
    }

    /// An error may come halfway.
    fn take_in(&mut self, other: &Self) -> Result<()> {
        self.is_unsettled = true;
        if self.clock < other.clock {
            let pending = std::mem::take(&mut self.pending);
            self.count_pending(pending, self.clock)?;
            self.clock = other.clock;
        }
        let mut settled = None;
        if other.clock < self.clock && !other.pending.is_empty() {
            let other = settled.insert(other.clone());
            let pending = std::mem::take(&mut other.pending);
            other.count_pending(pending, other.clock)?;
        }
        let other = settled.as_ref().unwrap_or(other);
        let mut ids = Vec::with_capacity(other.len());
        for (key, entry) in other.keys.keys().iter().zip(&other.entries) {
            let names: Vec<&str> = key.names().collect();
            let id = self.intern(KeyRef::Many(&names));
            self.entries[id as usize].merge(entry)?;
            ids.push(id);
        }
        let own = self.pending.iter().map(|(id, _)| id);
        let theirs = other.pending.iter().map(|(id, _)| ids[id as usize]);
        self.check_pending(own.chain(theirs), other.pending.len())?;
        self.pending.take_in(&other.pending, &ids);
        self.known.forget(self.entries.len());
        Ok(())
    }

    /// Counts what was observed at `clock`, without fixing anything.
    fn count_pending(&mut self, mut pending: Pending, clock: Option<u64>) -> Result<()> {
        pending.group();
        let mut runs = pending.iter();
        runs.try_for_each(|(id, lengths)| {
            self.entries[id as usize].update(lengths, clock.unwrap_or(0))
        })
    }
}

impl Entry {
    fn merge(&mut self, other: &Self) -> Result<()> {
        if other.count() == 0 {
            return Ok(());
        }
        if self.count() == 0 {
            self.clone_from(other);
            return Ok(());
        }
        match (&mut *self, other) {
            (Self::Live(own), Self::Live(other)) => own.merge(other)?,
            (Self::Live(own), Self::Fixed(other)) => {
                let count = check_count("other", own.count(), other.count)?;
                *self = Self::Fixed(Fixed { count, ..*other });
            }
            (Self::Fixed(own), other) => {
                own.count = check_count("other", own.count, other.count())?;
                if let Self::Fixed(other) = other
                    && (other.step, other.budget) < (own.step, own.budget)
                {
                    (own.step, own.budget) = (other.step, other.budget);
                }
            }
        }
        Ok(())
    }
}
