//! Dataset keys: the name, or the names, of the sources that a sample came from.

mod table;

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

pub(crate) use self::table::KeyTable;

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

/// A dataset key as it is kept: its names, in order.
///
/// ```
/// use toggle_rs::keys::DatasetKey;
///
/// let key = DatasetKey::from_names(["math", "code"]);
/// assert_eq!(key.to_string(), "math|code");
/// assert_eq!(key.names().count(), 2);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct DatasetKey(Names);

// One name is by far the usual case, and most are short: what is compared with
// the key of a sample lies in one place then. `Many` never holds exactly one
// name, nor `Long` a short one, so the derived comparison is right.
#[derive(Clone, PartialEq, Eq)]
enum Names {
    Short(Short),
    Long(Box<str>),
    Many(Box<[Box<str>]>),
}

/// A name of a few bytes; those beyond `len` are zero.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Short {
    len: u8,
    bytes: [u8; Self::MOST],
}

impl Short {
    /// What fits beside the length into the room that a long name takes.
    const MOST: usize = 22;

    #[allow(clippy::cast_possible_truncation, reason = "at most MOST")]
    fn new(name: &str) -> Option<Self> {
        let mut bytes = [0; Self::MOST];
        bytes
            .get_mut(..name.len())?
            .copy_from_slice(name.as_bytes());
        let len = name.len() as u8;
        Some(Self { len, bytes })
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}

impl DatasetKey {
    /// The key made of these names.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = names.into_iter();
        let (first, second) = (names.next(), names.next());
        if let (Some(name), None) = (first, second) {
            return KeyRef::One(name).into();
        }
        let names = first.into_iter().chain(second).chain(names);
        Self(Names::Many(names.map(Box::from).collect()))
    }

    /// Its names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        // Each was a str.
        let text = |name| std::str::from_utf8(name).unwrap_or_default();
        self.encoded().map(text)
    }

    /// Its names, in order, in UTF-8.
    fn encoded(&self) -> impl Iterator<Item = &[u8]> {
        let (short, others) = match &self.0 {
            Names::Short(name) => (Some(name.as_bytes()), &[][..]),
            Names::Long(name) => (None, std::slice::from_ref(name)),
            Names::Many(names) => (None, &names[..]),
        };
        let others = others.iter().map(|name| name.as_bytes());
        short.into_iter().chain(others)
    }

    #[inline]
    fn is_one(&self, name: &str) -> bool {
        let own = match &self.0 {
            Names::Short(own) => own.as_bytes(),
            Names::Long(own) => own.as_bytes(),
            Names::Many(_) => return false,
        };
        is_same(own, name.as_bytes())
    }

    fn is_many(&self, names: &[&str]) -> bool {
        self.encoded().eq(names.iter().map(|name| name.as_bytes()))
    }

    /// Bytes beside itself.
    fn nbytes(&self) -> usize {
        match &self.0 {
            Names::Short(_) => 0,
            Names::Long(name) => name.len(),
            Names::Many(names) => {
                size_of_val(&**names) + names.iter().map(|name| name.len()).sum::<usize>()
            }
        }
    }
}

impl Ord for DatasetKey {
    /// Single names first, then by names.
    fn cmp(&self, other: &Self) -> Ordering {
        let is_many = |key: &Self| matches!(key.0, Names::Many(_));
        let by_names = || self.encoded().cmp(other.encoded());
        is_many(self).cmp(&is_many(other)).then_with(by_names)
    }
}

impl PartialOrd for DatasetKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<KeyRef<'_>> for DatasetKey {
    fn from(key: KeyRef<'_>) -> Self {
        match key {
            KeyRef::One(name) => Self(match Short::new(name) {
                Some(short) => Names::Short(short),
                None => Names::Long(name.into()),
            }),
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

/// Whether these names are equal. Most have up to 16 bytes, and a call would
/// take longer than to compare their ends, which overlap.
#[inline]
pub(crate) fn is_same(a: &[u8], b: &[u8]) -> bool {
    fn ends<const N: usize>(name: &[u8]) -> Option<[&[u8; N]; 2]> {
        Some([name.first_chunk()?, name.last_chunk()?])
    }
    a.len() == b.len()
        && match a.len() {
            4..8 => ends::<4>(a) == ends::<4>(b),
            8..=16 => ends::<8>(a) == ends::<8>(b),
            _ => a == b,
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
        // The samples of a prompt stand together. Names that lie at one place are
        // equal; no need to look at them.
        let is_equal =
            |a: &&str, b: &&str| std::ptr::eq(*a, *b) || is_same(a.as_bytes(), b.as_bytes());
        for names in self[samples].chunk_by(is_equal) {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a chunk of a batch has less than 2^32 samples"
            )]
            let len = names.len() as u32;
            let id = id(KeyRef::One(names[0]));
            runs.push(Run { id, len });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names around each length from which on they are kept or compared another way.
    fn names_of_all_lengths() -> Vec<String> {
        let lengths = 0..40;
        let plain = lengths.clone().map(|len| "x".repeat(len));
        let last_differs = lengths.clone().skip(1).map(|len| "x".repeat(len - 1) + "y");
        let first_differs = lengths
            .clone()
            .skip(2)
            .map(|len| "y".to_owned() + &"x".repeat(len - 1));
        let middle_differs = lengths
            .clone()
            .skip(3)
            .map(|len| "x".repeat(len / 2) + "y" + &"x".repeat(len - len / 2 - 1));
        // Two, three and four bytes a character: cut nowhere.
        let wide = ["\u{e9}", "\u{20ac}", "\u{1f600}"];
        let wide = wide
            .into_iter()
            .flat_map(|c| (1..14).map(move |n| c.repeat(n)));
        let names = plain.chain(last_differs).chain(first_differs);
        let mut names: Vec<String> = names.chain(middle_differs).chain(wide).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    #[test]
    fn names_of_any_length_are_told_apart() {
        let names = names_of_all_lengths();
        for (i, a) in names.iter().enumerate() {
            for (j, b) in names.iter().enumerate() {
                assert_eq!(is_same(a.as_bytes(), b.as_bytes()), i == j, "{a} {b}");
            }
        }
        let mut table = KeyTable::default();
        for (i, name) in names.iter().enumerate() {
            assert_eq!(table.get(KeyRef::One(name)), KeyTable::UNKNOWN, "{name}");
            assert_eq!(table.intern(KeyRef::One(name)) as usize, i);
        }
        for (i, name) in names.iter().enumerate() {
            assert_eq!(table.get(KeyRef::One(name)) as usize, i);
            assert_eq!(table.get(KeyRef::Many(&[name])) as usize, i);
            let key = DatasetKey::from_names([&**name]);
            assert_eq!(table.find(&key) as usize, i);
            assert!(key.names().eq([name]), "{name}");
        }
    }

    #[test]
    fn keys_are_in_order_of_their_names_single_ones_first() {
        let names = names_of_all_lengths();
        let single = names.iter().map(|name| vec![name.as_str()]);
        let pairs = names
            .iter()
            .flat_map(|name| [vec![], vec!["x", name], vec![name, "x"]]);
        let keys: Vec<Vec<&str>> = single.chain(pairs).collect();
        let key = |names: &Vec<&str>| DatasetKey::from_names(names.iter().copied());
        for a in &keys {
            for b in &keys {
                let expected = (a.len() != 1, a).cmp(&(b.len() != 1, b));
                assert_eq!(key(a).cmp(&key(b)), expected, "{a:?} {b:?}");
                assert_eq!(key(a) == key(b), a == b, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_key_takes_no_more_room_than_a_name_that_lies_elsewhere() {
        assert_eq!(size_of::<DatasetKey>(), 24);
    }
}
