//! Numbers for dataset keys.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::{DatasetKey, KeyRef};

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

    /// Its id, or [`Self::UNKNOWN`].
    #[inline]
    pub fn get(&self, key: KeyRef<'_>) -> u32 {
        match key {
            KeyRef::One(name) => self.find_hashed(hash([name.as_bytes()]), |key| key.is_one(name)),
            KeyRef::Many(names) => {
                let hash = hash(names.iter().map(|name| name.as_bytes()));
                self.find_hashed(hash, |key| key.is_many(names))
            }
        }
    }

    #[inline]
    fn find_hashed(&self, hash: u64, is_key: impl Fn(&DatasetKey) -> bool) -> u32 {
        let id = self.ids.find(hash, |&id| is_key(&self.keys[id as usize]));
        id.copied().unwrap_or(Self::UNKNOWN)
    }

    /// The id of a key that is kept elsewhere, or [`Self::UNKNOWN`].
    pub fn find(&self, key: &DatasetKey) -> u32 {
        self.find_hashed(hash(key.encoded()), |own| own == key)
    }

    /// Its id, a new one where it has none.
    #[inline]
    pub fn intern(&mut self, key: KeyRef<'_>) -> u32 {
        let known = self.get(key);
        if known == Self::UNKNOWN {
            self.add(key.into())
        } else {
            known
        }
    }

    #[cold]
    fn add(&mut self, key: DatasetKey) -> u32 {
        // Four billion keys of a hundred bytes do not fit into memory.
        #[allow(
            clippy::cast_possible_truncation,
            reason = "fewer keys than u32::MAX, see above"
        )]
        let id = self.len() as u32;
        self.keys.push(key);
        let hash_of = |&id: &u32| hash(self.keys[id as usize].encoded());
        self.ids.insert_unique(hash_of(&id), id, hash_of);
        id
    }

    /// Forgets all but the first `len` keys: what a refused call had added.
    pub fn truncate(&mut self, len: usize) {
        if len == 0 {
            // One by one they would leave marks behind, which take room for good.
            self.ids.clear();
        }
        for key in &self.keys[len..] {
            let is_key = |&id: &u32| self.keys[id as usize] == *key;
            if let Ok(entry) = self.ids.find_entry(hash(key.encoded()), is_key) {
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

/// The hash of a key with these names. That of bytes depends on their number,
/// which keeps ("ab", "c") apart from ("a", "bc").
#[inline]
fn hash<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for name in names {
        hasher.write(name);
    }
    hasher.finish()
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
