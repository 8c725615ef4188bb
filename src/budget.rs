//! Budgets: for each dataset key the estimator of its correct lengths, when an
//! observation begins to count, and when a budget is fixed for good.

mod known;
mod merge;
mod pending;
mod state;

use self::known::Known;
use self::pending::Pending;
use crate::choice::Choice;
use crate::column::check_samples;
use crate::error::{Error, Result};
use crate::keys::{DatasetKey, KeyRef, KeyTable};
use crate::quantile::{Estimator, MAX_LENGTH, check_count};

/// When the budget of a key is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Freeze {
    /// Never: it follows what is observed.
    #[default]
    Never,
    /// When warm-up ends, for keys that have one by then; for others as under
    /// `First`.
    Warmup,
    /// As soon as the key has one (Kimi K2.5 report: from the first K responses).
    First,
}

impl Choice for Freeze {
    const ALL: &'static [(&'static str, Self)] = &[
        ("never", Self::Never),
        ("warmup", Self::Warmup),
        ("first", Self::First),
    ];
}

/// What is left of a key whose budget is fixed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fixed {
    pub budget: f64,
    /// The step whose observations fixed it.
    pub step: u64,
    /// Correct responses seen, before and after.
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    Live(Estimator),
    Fixed(Fixed),
}

impl Entry {
    fn count(&self) -> u64 {
        self.count_with(0)
    }

    /// The count once `more` lengths are recorded.
    fn count_with(&self, more: u64) -> u64 {
        match self {
            Self::Live(estimator) => estimator.count_with(more),
            Self::Fixed(fixed) => fixed.count + more,
        }
    }

    /// Records the lengths of a step; their order makes no difference.
    fn update(&mut self, lengths: &[u64], step: u64) -> Result<()> {
        match self {
            Self::Live(estimator) => estimator.update(lengths, step),
            Self::Fixed(fixed) => {
                fixed.count = check_count("lengths", fixed.count, lengths.len() as u64)?;
                Ok(())
            }
        }
    }
}

/// How budgets come about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    /// The empty estimator that a new key begins with.
    pub pattern: Estimator,
    /// The percentile of the correct lengths that is the budget.
    pub percentile: f64,
    /// Below this many correct responses a key has no budget.
    pub min_samples: u64,
    pub freeze: Freeze,
    /// The first step after warm-up.
    pub warmup_steps: u64,
}

impl Rule {
    fn budget(&self, estimator: &Estimator) -> Option<f64> {
        if estimator.count() < self.min_samples {
            return None;
        }
        // `Budgets::new` and the setter have asked the pattern the same question.
        estimator.percentile(self.percentile).unwrap_or(None)
    }

    fn fixes_at(&self, step: u64) -> bool {
        match self.freeze {
            Freeze::Never => false,
            Freeze::Warmup => step >= self.warmup_steps,
            Freeze::First => true,
        }
    }
}

/// The correct lengths per dataset key, and the budgets that follow from them.
#[derive(Debug, Clone)]
pub(crate) struct Budgets {
    rule: Rule,
    keys: KeyTable,
    /// By id. A key of which no correct response came has an empty estimator.
    entries: Vec<Entry>,
    /// The last step observed.
    clock: Option<u64>,
    /// What was observed at `clock`: it counts from the next step on, so that
    /// no result depends on the order in which a step's groups arrive.
    pending: Pending,
    known: Known,
    /// There may be live keys whose budget should be fixed by now, as parts of
    /// different ages were put together: the next step observed fixes them.
    is_unsettled: bool,
}

impl Budgets {
    pub fn new(rule: Rule) -> Result<Self> {
        let Rule {
            pattern,
            percentile,
            min_samples,
            ..
        } = &rule;
        if pattern.count() > 0 {
            let value = format!("one that holds {} values", pattern.count());
            return Err(Error::value("estimator", value, "an empty estimator"));
        }
        if *min_samples == 0 {
            return Err(Error::value("min_samples", 0, "an integer >= 1"));
        }
        check_percentile(pattern, *percentile)?;
        Ok(Self {
            rule,
            keys: KeyTable::default(),
            entries: Vec::new(),
            clock: None,
            pending: Pending::default(),
            known: Known::default(),
            is_unsettled: false,
        })
    }

    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Refuses a percentile that the estimators cannot answer.
    pub fn set_percentile(&mut self, percentile: f64) -> Result<()> {
        check_percentile(&self.rule.pattern, percentile)?;
        self.rule.percentile = percentile;
        self.known.forget(self.entries.len());
        Ok(())
    }

    /// Number of ids given out.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub fn id(&self, key: KeyRef<'_>) -> u32 {
        self.keys.get(key)
    }

    /// The ids of keys; new ones get one only where `intern` says so.
    pub fn ids_of(&mut self, intern: bool) -> impl FnMut(KeyRef<'_>) -> u32 {
        move |key| {
            if intern {
                self.intern(key)
            } else {
                self.id(key)
            }
        }
    }

    #[inline]
    fn intern(&mut self, key: KeyRef<'_>) -> u32 {
        let id = self.keys.intern(key);
        if id as usize == self.entries.len() {
            self.entries.push(Entry::Live(self.rule.pattern.clone()));
            self.known.now.push(f64::INFINITY);
        }
        id
    }

    /// Forgets the ids from `len` on, which a refused call had given out.
    pub fn truncate(&mut self, len: usize) {
        self.keys.truncate(len);
        self.entries.truncate(len);
        self.known.now.truncate(len);
    }

    pub fn key(&self, id: u32) -> &DatasetKey {
        &self.keys.keys()[id as usize]
    }

    /// Last step observed.
    pub fn clock(&self) -> Option<u64> {
        self.clock
    }

    /// Refuses a step before the last observed one, or beyond what decaying
    /// lengths can count.
    pub fn check_step(&self, step: u64) -> Result<()> {
        self.check_tick(step)?;
        match self.clock {
            Some(clock) if step < clock => {
                let expected = format!("{clock}, the last observed step, or a later one");
                Err(Error::value("step", step, expected))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a step beyond what decaying lengths can count.
    pub fn check_tick(&self, step: u64) -> Result<()> {
        if self.rule.pattern.needs_clock() && step > MAX_LENGTH {
            return Err(Error::value("step", step, "a step in 0..=2**53"));
        }
        Ok(())
    }

    /// Moves the clock to `step`, not before the last one: what was observed at
    /// an earlier step counts from now on.
    pub fn advance(&mut self, step: u64) -> Result<()> {
        self.check_step(step)?;
        if self.clock == Some(step) {
            return Ok(());
        }
        self.commit()?;
        self.settle();
        let warmup = self.rule.warmup_steps;
        let was_warming_up = self.clock.is_some_and(|clock| clock < warmup);
        if self.rule.freeze == Freeze::Warmup && was_warming_up && step >= warmup {
            for entry in &mut self.entries {
                fix(&self.rule, entry, warmup - 1);
            }
        }
        self.clock = Some(step);
        Ok(())
    }

    /// Moves the clock to `step` where lengths decay; a step of the past is as
    /// good as now. For callers that never record pending lengths.
    pub fn tick_to(&mut self, step: u64) {
        if self.rule.pattern.needs_clock() {
            self.clock = self.clock.max(Some(step));
        }
    }

    /// Refuses `more` lengths where the count of one of these ids has no room
    /// for them; with room, recording them cannot fail.
    pub fn check_room(&self, ids: impl Iterator<Item = u32>, more: usize) -> Result<()> {
        for id in ids {
            check_count("lengths", self.entries[id as usize].count(), more as u64)?;
        }
        Ok(())
    }

    /// Refuses `more` lengths of these keys that would wait, where too many do so
    /// already, or the count of a key has no room: so taking them in cannot fail.
    pub fn check_pending(&self, ids: impl Iterator<Item = u32>, more: usize) -> Result<()> {
        let waiting = self.pending.len().saturating_add(more);
        check_samples("lengths", waiting)?;
        self.check_room(ids, waiting)
    }

    /// Records correct lengths, at most `MAX_LENGTH`, that count at once.
    #[inline]
    pub fn record(&mut self, id: u32, lengths: &[u64]) -> Result<()> {
        match &mut self.entries[id as usize] {
            Entry::Live(estimator) => estimator.extend(lengths, self.clock),
            Entry::Fixed(fixed) => {
                fixed.count += lengths.len() as u64;
                Ok(())
            }
        }
    }

    /// Ends a batch of [`Self::record`] calls about these ids.
    pub fn recorded(&mut self, ids: impl Iterator<Item = u32>) {
        self.known.next = None;
        self.settle();
        for id in ids {
            if self.rule.freeze == Freeze::First {
                let entry = &mut self.entries[id as usize];
                fix(&self.rule, entry, self.clock.unwrap_or(0));
            }
            self.known.now[id as usize] = f64::NAN;
        }
    }

    /// Records correct lengths of distinct keys, which count from the step after
    /// the clock's on.
    pub fn record_pending<'a>(&mut self, batch: impl Iterator<Item = (u32, &'a [u64])>) {
        self.known.next = None;
        self.pending.push(batch);
    }

    /// Takes in what was observed at the clock's step.
    fn commit(&mut self) -> Result<()> {
        let step = self.clock.unwrap_or(0);
        self.known.next = None;
        let mut pending = std::mem::take(&mut self.pending);
        pending.group();
        for (id, lengths) in pending.iter() {
            let entry = &mut self.entries[id as usize];
            entry.update(lengths, step)?;
            if self.rule.fixes_at(step) {
                fix(&self.rule, entry, step);
            }
            // While its lengths are at hand.
            self.note_budget(id);
        }
        pending.clear();
        self.pending = pending;
        Ok(())
    }

    /// Fixes the budgets that should be by now.
    fn settle(&mut self) {
        let step = self.clock.unwrap_or(0);
        if std::mem::take(&mut self.is_unsettled) && self.rule.fixes_at(step) {
            for entry in &mut self.entries {
                fix(&self.rule, entry, step);
            }
        }
    }

    /// Whether no correct response was ever recorded.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.entries.iter().all(|entry| entry.count() == 0)
    }

    /// Number of keys whose budget is fixed.
    #[cfg(feature = "python")]
    pub fn fixed(&self) -> usize {
        let entries = self.entries.iter();
        entries
            .filter(|entry| matches!(entry, Entry::Fixed(_)))
            .count()
    }

    /// The live estimators with at least one value, pending ones not counted.
    pub fn estimators(&self) -> impl Iterator<Item = (&DatasetKey, &Estimator)> {
        let entries = self.keys.keys().iter().zip(&self.entries);
        entries.filter_map(|(key, entry)| match entry {
            Entry::Live(estimator) if estimator.count() > 0 => Some((key, estimator)),
            _ => None,
        })
    }

    pub fn nbytes(&self) -> usize {
        let beside = |entry: &Entry| match entry {
            Entry::Live(estimator) => estimator.nbytes() - size_of::<Estimator>(),
            Entry::Fixed(_) => 0,
        };
        self.keys.nbytes()
            + self.entries.capacity() * size_of::<Entry>()
            + self.entries.iter().map(beside).sum::<usize>()
            + self.pending.nbytes()
            + self.known.nbytes()
    }
}

impl PartialEq for Budgets {
    /// The same rule and observations, in whatever order the keys came.
    fn eq(&self, other: &Self) -> bool {
        let pending = |budgets: &Self| -> Vec<(DatasetKey, u64)> {
            let pending = budgets.pending.sorted().into_iter();
            let named = pending.map(|(id, length)| (budgets.key(id).clone(), length));
            let mut named: Vec<_> = named.collect();
            named.sort_unstable();
            named
        };
        let seen = |budgets: &Self| {
            budgets
                .entries
                .iter()
                .filter(|entry| entry.count() > 0)
                .count()
        };
        self.rule == other.rule
            && self.clock == other.clock
            && seen(self) == seen(other)
            && self
                .keys
                .keys()
                .iter()
                .zip(&self.entries)
                .all(|(key, entry)| {
                    let id = other.keys.find(key);
                    entry.count() == 0 || other.entries.get(id as usize) == Some(entry)
                })
            && pending(self) == pending(other)
    }
}

fn check_percentile(pattern: &Estimator, percentile: f64) -> Result<()> {
    // The estimators speak of `p`; the caller knows it as `percentile`.
    pattern
        .percentile(percentile)
        .map(drop)
        .map_err(|error| error.about("percentile"))
}

/// Fixes the budget of a key that has one.
fn fix(rule: &Rule, entry: &mut Entry, step: u64) {
    if let Entry::Live(estimator) = entry
        && let Some(budget) = rule.budget(estimator)
    {
        *entry = Entry::Fixed(Fixed {
            budget,
            step,
            count: estimator.count(),
        });
    }
}
