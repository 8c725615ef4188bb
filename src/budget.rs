//! Budgets: for each dataset key the estimator of its correct lengths.

use crate::error::Result;
use crate::keys::{DatasetKey, KeyRef, KeyTable};
use crate::quantile::Estimator;

/// The lengths of correct responses, per dataset key, and the percentile of
/// them that is the budget.
#[derive(Debug, Clone)]
pub(crate) struct Budgets {
    keys: KeyTable,
    /// By id. A key of which no correct response came has an empty estimator.
    estimators: Vec<Estimator>,
    /// What a new key begins with.
    pattern: Estimator,
    percentile: f64,
}

impl Budgets {
    /// `pattern` must be empty and answer `percentile`.
    pub fn new(pattern: Estimator, percentile: f64) -> Result<Self> {
        pattern.percentile(percentile)?;
        Ok(Self {
            keys: KeyTable::default(),
            estimators: Vec::new(),
            pattern,
            percentile,
        })
    }

    pub fn percentile(&self) -> f64 {
        self.percentile
    }

    pub fn pattern(&self) -> &Estimator {
        &self.pattern
    }

    /// Refuses a percentile that the estimators cannot answer.
    pub fn set_percentile(&mut self, percentile: f64) -> Result<()> {
        self.pattern.percentile(percentile)?;
        self.percentile = percentile;
        Ok(())
    }

    /// Number of ids given out.
    pub fn len(&self) -> usize {
        self.estimators.len()
    }

    pub fn id(&self, key: KeyRef<'_>) -> u32 {
        self.keys.get(key)
    }

    pub fn intern(&mut self, key: KeyRef<'_>) -> u32 {
        let id = self.keys.intern(key);
        if id as usize == self.estimators.len() {
            self.estimators.push(self.pattern.clone());
        }
        id
    }

    /// Forgets the ids from `len` on, which a refused call had given out.
    pub fn truncate(&mut self, len: usize) {
        self.keys.truncate(len);
        self.estimators.truncate(len);
    }

    pub fn key(&self, id: u32) -> &DatasetKey {
        &self.keys.keys()[id as usize]
    }

    /// Records a length, at most `MAX_LENGTH`.
    #[inline]
    pub fn record(&mut self, id: u32, length: u64) -> Result<()> {
        self.estimators[id as usize].insert(length)
    }

    /// The budget of a key, `None` without a correct response.
    pub fn budget(&self, id: u32) -> Option<f64> {
        let estimator = self.estimators.get(id as usize)?;
        // The constructor and the setter have asked it the same question.
        estimator.percentile(self.percentile).unwrap_or(None)
    }

    /// The keys with at least one correct response, in order of appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&DatasetKey, &Estimator)> {
        let entries = self.keys.keys().iter().zip(&self.estimators);
        entries.filter(|(_, estimator)| estimator.count() > 0)
    }

    pub fn nbytes(&self) -> usize {
        self.keys.nbytes()
            + self.estimators.iter().map(Estimator::nbytes).sum::<usize>()
            + (self.estimators.capacity() - self.estimators.len()) * size_of::<Estimator>()
    }
}

impl PartialEq for Budgets {
    /// The same settings and the same observations, in whatever order the
    /// keys came.
    fn eq(&self, other: &Self) -> bool {
        self.percentile == other.percentile
            && self.pattern == other.pattern
            && self.iter().count() == other.iter().count()
            && self.iter().all(|(key, own)| {
                let names: Vec<&str> = key.names().collect();
                let id = other.id(KeyRef::Many(&names));
                other
                    .estimators
                    .get(id as usize)
                    .is_some_and(|theirs| theirs == own)
            })
    }
}
