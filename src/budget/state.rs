//! Budgets in a snapshot.

use super::{Budgets, Entry, Fixed};
use crate::error::Result;
use crate::keys::{DatasetKey, KeyRef};
use crate::quantile::{Estimator, MAX_LENGTH, check_count, check_lengths};
use crate::snapshot::{Reader, State, Writer, invalid};

/// What an entry begins with.
const FIXED: u8 = 1;
const PENDING: u8 = 2;

impl Budgets {
    /// The clock, and the keys that something is known of, in order: so the
    /// bytes do not depend on the order in which they came.
    pub fn write(&self, out: &mut Writer) {
        out.option(self.clock);
        let pending = self.pending.sorted();
        let pending_of = |id: u32| -> Vec<u64> {
            let from = pending.partition_point(|&(other, _)| other < id);
            let lengths = pending[from..].iter().take_while(|(other, _)| *other == id);
            lengths.map(|&(_, length)| length).collect()
        };
        let entries = (0..).zip(self.keys.keys()).zip(&self.entries);
        let known = entries.map(|((id, key), entry)| (key, entry, pending_of(id)));
        let mut known: Vec<_> = known
            .filter(|(_, entry, pending)| entry.count() > 0 || !pending.is_empty())
            .collect();
        known.sort_unstable_by_key(|&(key, ..)| key);

        out.number(known.len() as u64);
        for (key, entry, pending) in known {
            write_key(key, out);
            entry.write(&pending, out);
        }
    }

    /// These budgets, without an observation so far, with those that were
    /// written down.
    pub fn read(mut self, bytes: &mut Reader<'_>) -> Result<Self> {
        self.clock = bytes.option()?;
        self.check_tick(self.clock.unwrap_or(0))?;
        self.is_unsettled = true;
        for _ in 0..bytes.len(3)? {
            let last = self.len().checked_sub(1);
            let id = self.intern(KeyRef::Many(&read_names(bytes)?));
            if let Some(last) = last
                && self.keys.keys()[last] >= *self.key(id)
            {
                return Err(invalid("keys out of order"));
            }
            let (entry, pending) = Entry::read(&self.rule.pattern, self.clock, bytes)?;
            self.entries[id as usize] = entry;
            if self
                .check_pending(std::iter::empty(), pending.len())
                .is_err()
            {
                return Err(invalid("more lengths that wait than can"));
            }
            if !pending.is_empty() {
                self.pending.push(std::iter::once((id, &pending[..])));
            }
        }
        self.known.forget(self.entries.len());
        Ok(self)
    }

    /// Forgets what it has observed for what `other` has, under its own rule.
    pub fn load(&mut self, other: Self) -> Result<()> {
        let (own, pattern) = (&self.rule.pattern, &other.rule.pattern);
        if own != pattern {
            let what = format!("it holds {pattern} for each key, expected {own}");
            return Err(invalid(what));
        }
        *self = Self {
            rule: self.rule.clone(),
            is_unsettled: true,
            ..other
        };
        self.known.forget(self.entries.len());
        Ok(())
    }
}

impl Entry {
    fn write(&self, pending: &[u64], out: &mut Writer) {
        let has_pending = if pending.is_empty() { 0 } else { PENDING };
        match self {
            Self::Live(estimator) => {
                out.byte(has_pending);
                estimator.write_data(out);
            }
            Self::Fixed(fixed) => {
                out.byte(FIXED | has_pending);
                out.real(fixed.budget);
                out.number(fixed.step);
                out.number(fixed.count);
            }
        }
        if !pending.is_empty() {
            out.ascending(pending);
        }
    }

    /// An entry, and what is pending for it.
    fn read(
        pattern: &Estimator,
        clock: Option<u64>,
        bytes: &mut Reader<'_>,
    ) -> Result<(Self, Vec<u64>)> {
        let tag = bytes.byte()?;
        if tag > FIXED | PENDING {
            return Err(invalid(format!("there is no entry {tag}")));
        }
        let entry = if tag & FIXED == 0 {
            Self::Live(pattern.read_data(bytes)?)
        } else {
            Self::Fixed(Fixed::read(clock, bytes)?)
        };
        let mut pending = Vec::new();
        if tag & PENDING != 0 {
            pending = bytes.ascending()?;
            check_lengths(&pending)?;
            if clock.is_none() || pending.is_empty() {
                return Err(invalid("no lengths, or no step that they are of"));
            }
        }
        if check_count("count", entry.count(), pending.len() as u64)? == 0 {
            return Err(invalid("a key without observations"));
        }
        Ok((entry, pending))
    }
}

impl Fixed {
    #[allow(clippy::cast_precision_loss, reason = "2^53 is exact")]
    fn read(clock: Option<u64>, bytes: &mut Reader<'_>) -> Result<Self> {
        let fixed = Self {
            budget: bytes.real()?,
            step: bytes.number()?,
            count: bytes.number()?,
        };
        let is_budget = (0.0..=MAX_LENGTH as f64).contains(&fixed.budget);
        if is_budget && fixed.step <= clock.unwrap_or(0) && fixed.count > 0 {
            Ok(fixed)
        } else {
            Err(invalid(format!("a budget that was fixed as {fixed:?}")))
        }
    }
}

fn write_key(key: &DatasetKey, out: &mut Writer) {
    out.number(key.names().count() as u64);
    key.names().for_each(|name| out.text(name));
}

fn read_names<'a>(bytes: &mut Reader<'a>) -> Result<Vec<&'a str>> {
    (0..bytes.len(1)?).map(|_| bytes.text()).collect()
}
