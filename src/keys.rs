//! Dataset keys: the name, or the names, of the sources that a sample came from.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// A dataset key as it comes in: borrowed, nothing allocated.
///
/// `One("math")` and `Many(&["math"])` are the same key.
#[derive(Debug, Clone, Copy)]
pub enum KeyRef<'a> {
    /// One name.
    One(&'a str),
    /// Any number of names, in order.
    Many(&'a [&'a str]),
}

impl KeyRef<'_> {
    fn hash(self) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        let mut write = |name: &str| {
            hasher.write(name.as_bytes());
            // Keeps ("ab", "c") apart from ("a", "bc").
            hasher.write_usize(name.len());
        };
        match self {
            Self::One(name) => write(name),
            Self::Many(names) => names.iter().for_each(|name| write(name)),
        }
        hasher.finish()
    }
}

/// A dataset key as it is kept: its names, in order.
///
/// ```
/// use toggle_rs::keys::DatasetKey;
///
/// let key = DatasetKey::from_names(["math", "code"]);
/// assert_eq!(key.to_string(), "math|code");
/// assert_eq!(key.names().count(), 2);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DatasetKey(Names);

// One name is by far the usual case: it takes one allocation instead of two.
// `Many` never holds exactly one name, so the derived comparisons are right.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Names {
    One(Box<str>),
    Many(Box<[Box<str>]>),
}

impl DatasetKey {
    /// The key made of these names.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<Box<str>> = names.into_iter().map(Box::from).collect();
        Self(match names.pop() {
            Some(name) if names.is_empty() => Names::One(name),
            last => {
                names.extend(last);
                Names::Many(names.into())
            }
        })
    }

    /// Its names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = match &self.0 {
            Names::One(name) => std::slice::from_ref(name),
            Names::Many(names) => names,
        };
        names.iter().map(AsRef::as_ref)
    }

    fn hash(&self) -> u64 {
        match &self.0 {
            Names::One(name) => KeyRef::One(name).hash(),
            Names::Many(names) => {
                let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
                KeyRef::Many(&names).hash()
            }
        }
    }

    fn is(&self, key: KeyRef<'_>) -> bool {
        match (&self.0, key) {
            (Names::One(own), KeyRef::One(name)) => **own == *name,
            (_, KeyRef::One(_)) => false,
            (_, KeyRef::Many(names)) => self.names().eq(names.iter().copied()),
        }
    }

    fn nbytes(&self) -> usize {
        let outer = match &self.0 {
            Names::One(_) => 0,
            Names::Many(names) => size_of_val(&**names),
        };
        outer + self.names().map(str::len).sum::<usize>()
    }
}

impl From<KeyRef<'_>> for DatasetKey {
    fn from(key: KeyRef<'_>) -> Self {
        match key {
            KeyRef::One(name) => Self(Names::One(name.into())),
            KeyRef::Many(names) => Self::from_names(names.iter().copied()),
        }
    }
}

impl fmt::Display for DatasetKey {
    /// The names joined by `|`, as in the names of metrics.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.names().enumerate() {
            if i > 0 {
                f.write_str("|")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for DatasetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Numbers keys 0, 1, 2 ... in the order in which they come.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyTable {
    keys: Vec<DatasetKey>,
    ids: HashTable<u32>,
}

impl KeyTable {
    /// The id of a key that nobody has recorded.
    pub const UNKNOWN: u32 = u32::MAX;

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn keys(&self) -> &[DatasetKey] {
        &self.keys
    }

    /// Whether this is the key with an id, which may be unknown.
    pub fn is(&self, id: u32, key: KeyRef<'_>) -> bool {
        self.keys.get(id as usize).is_some_and(|own| own.is(key))
    }

    /// Its id, or [`Self::UNKNOWN`].
    pub fn get(&self, key: KeyRef<'_>) -> u32 {
        let is_key = |&id: &u32| self.keys[id as usize].is(key);
        self.ids
            .find(key.hash(), is_key)
            .copied()
            .unwrap_or(Self::UNKNOWN)
    }

    /// The id of a key that is kept elsewhere, or [`Self::UNKNOWN`].
    pub fn find(&self, key: &DatasetKey) -> u32 {
        let names: Vec<&str> = key.names().collect();
        self.get(KeyRef::Many(&names))
    }

    /// Its id, a new one where it has none.
    pub fn intern(&mut self, key: KeyRef<'_>) -> u32 {
        let known = self.get(key);
        if known != Self::UNKNOWN {
            return known;
        }
        // Four billion keys of a hundred bytes do not fit into memory.
        #[allow(
            clippy::cast_possible_truncation,
            reason = "fewer keys than u32::MAX, see above"
        )]
        let id = self.len() as u32;
        self.keys.push(key.into());
        let keys = &self.keys;
        self.ids
            .insert_unique(key.hash(), id, |&id| keys[id as usize].hash());
        id
    }

    /// Forgets all but the first `len` keys: what a refused call had added.
    pub fn truncate(&mut self, len: usize) {
        for key in &self.keys[len..] {
            let is_key = |&id: &u32| self.keys[id as usize] == *key;
            if let Ok(entry) = self.ids.find_entry(key.hash(), is_key) {
                entry.remove();
            }
        }
        self.keys.truncate(len);
    }

    pub fn nbytes(&self) -> usize {
        self.keys.capacity() * size_of::<DatasetKey>()
            + self.keys.iter().map(DatasetKey::nbytes).sum::<usize>()
            + self.ids.allocation_size()
    }
}

/// Consecutive samples of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Number of the key.
    pub id: u32,
    /// Number of samples, at least 1.
    pub len: u32,
}

/// The dataset keys of a batch, one per sample.
pub trait KeySource {
    /// What can go wrong while reading a key.
    type Error: From<crate::Error>;

    /// Number of samples.
    fn len(&self) -> usize;

    /// Whether there is no sample.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the runs of equal keys among these samples to `runs`, each with
    /// the number that `id` gives to its key. What `runs` had stays as it is.
    ///
    /// May call `id` once for several samples of a key. Called twice over one
    /// batch it must give the same keys.
    ///
    /// # Errors
    /// Whatever the source says of a key that cannot be read.
    fn read(
        &self,
        samples: Range<usize>,
        id: impl FnMut(KeyRef<'_>) -> u32,
        runs: &mut Vec<Run>,
    ) -> Result<(), Self::Error>;
}

/// Appends a run, to the last one from `first` on where it goes on.
#[inline]
pub(crate) fn push_run(runs: &mut Vec<Run>, first: usize, run: Run) {
    match runs[first..].last_mut() {
        Some(last) if last.id == run.id => last.len += run.len,
        _ => runs.push(run),
    }
}

impl KeySource for [&str] {
    type Error = crate::Error;

    fn len(&self) -> usize {
        <[&str]>::len(self)
    }

    fn read(
        &self,
        samples: Range<usize>,
        mut id: impl FnMut(KeyRef<'_>) -> u32,
        runs: &mut Vec<Run>,
    ) -> Result<(), Self::Error> {
        let first = runs.len();
        // Names that lie at one place are equal; no need to look at them.
        for names in self[samples].chunk_by(|&a, &b| std::ptr::eq(a, b)) {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a chunk of a batch has less than 2^32 samples"
            )]
            let len = names.len() as u32;
            let id = id(KeyRef::One(names[0]));
            push_run(runs, first, Run { id, len });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_and_a_list_of_one_are_the_same_key() {
        let mut table = KeyTable::default();
        let id = table.intern(KeyRef::One("a"));
        assert_eq!(table.get(KeyRef::Many(&["a"])), id);
        assert_eq!(DatasetKey::from_names(["a"]), KeyRef::One("a").into());
    }

    #[test]
    fn borders_between_names_matter() {
        let mut table = KeyTable::default();
        let keys: [&[&str]; 5] = [&["ab", "c"], &["a", "bc"], &["abc"], &[], &[""]];
        for (i, key) in keys.iter().enumerate() {
            assert_eq!(table.intern(KeyRef::Many(key)) as usize, i);
        }
        for (i, key) in keys.iter().enumerate() {
            assert_eq!(table.get(KeyRef::Many(key)) as usize, i);
        }
    }

    #[test]
    fn truncate_forgets_what_was_added() {
        let mut table = KeyTable::default();
        let names: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        for name in &names {
            table.intern(KeyRef::One(name));
        }
        table.truncate(40);
        assert_eq!(table.len(), 40);
        assert_eq!(table.get(KeyRef::One("39")), 39);
        assert_eq!(table.get(KeyRef::One("40")), KeyTable::UNKNOWN);
        assert_eq!(table.intern(KeyRef::One("77")), 40);
    }
}
