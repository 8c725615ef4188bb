//! Sorted pairs of a length and a count, each in one integer.

use std::fmt::Debug;

/// An integer that is `length << shift | count`, so ordered by length.
pub(crate) trait Pair: Copy + Debug + Ord {
    const BITS: u32;

    /// Of numbers that fit.
    fn of(length: u64, count: u64, shift: u32) -> Self;

    fn unpack(self, shift: u32) -> (u64, u64);

    /// `None` where they do not fit.
    #[inline]
    fn pack(length: u64, count: u64, shift: u32) -> Option<Self> {
        let fits = bits(length) + shift <= Self::BITS && bits(count) <= shift;
        fits.then(|| Self::of(length, count, shift))
    }
}

/// Bits of a number.
pub(super) fn bits(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

macro_rules! pair {
    ($($int:ty),*) => {$(
        #[allow(
            clippy::cast_lossless,
            clippy::cast_possible_truncation,
            reason = "each fits, going in and coming out"
        )]
        impl Pair for $int {
            const BITS: u32 = <$int>::BITS;

            #[inline]
            fn of(length: u64, count: u64, shift: u32) -> Self {
                (length as Self) << shift | count as Self
            }

            #[inline]
            fn unpack(self, shift: u32) -> (u64, u64) {
                ((self >> shift) as u64, (self & ((1 << shift) - 1)) as u64)
            }
        }
    )*};
}

pair!(u32, u64, u128);

/// How many lengths are added at once.
pub(super) const STEP: usize = 8;

/// Pairs whose lengths ascend.
#[derive(Debug, Clone)]
pub(crate) struct Packed<T> {
    pairs: Vec<T>,
    shift: u32,
}

impl<T: Pair> Packed<T> {
    pub fn new(shift: u32) -> Self {
        Self {
            pairs: Vec::new(),
            shift,
        }
    }

    /// The list of entries that fit, whose lengths take so many bits at most;
    /// the others are for counts.
    pub fn of(entries: &[(u64, u64)], length_bits: u32) -> Self {
        let shift = T::BITS - length_bits;
        let pairs = entries.iter().map(|entry| T::of(entry.0, entry.1, shift));
        Self {
            pairs: pairs.collect(),
            shift,
        }
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn entry(&self, index: usize) -> (u64, u64) {
        self.pairs[index].unpack(self.shift)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        self.pairs.iter().map(|pair| pair.unpack(self.shift))
    }

    /// Index of the first entry whose length is `>= value`.
    #[inline]
    pub fn lower_bound(&self, value: u64) -> usize {
        match T::pack(value, 0, self.shift) {
            Some(least) => self.pairs.partition_point(|&pair| pair < least),
            None => self.len(),
        }
    }

    /// Adds `count` to each of these lengths, [`STEP`] at most, up to the
    /// first one whose sum does not fit; returns their number.
    #[inline]
    pub fn add_some(&mut self, values: &[u64], count: u64) -> usize {
        // All are looked up first: the processor does that at the same time.
        let mut indices = [0; STEP];
        for (index, &value) in indices.iter_mut().zip(values) {
            *index = self.lower_bound(value);
        }
        for (done, &value) in values.iter().enumerate() {
            match self.add_at(indices[done], value, count) {
                None => return done,
                Some(false) => {}
                Some(true) => {
                    for (index, &other) in indices.iter_mut().zip(values) {
                        *index += usize::from(other > value);
                    }
                }
            }
        }
        values.len()
    }

    /// Adds to the count of a length, whose lower bound is `index`: whether it
    /// is new here, or `None`, and nothing done, where the sum does not fit.
    #[inline]
    fn add_at(&mut self, index: usize, value: u64, count: u64) -> Option<bool> {
        let pair = T::pack(value, count, self.shift)?;
        if let Some(present) = self.pairs.get_mut(index)
            && let (length, before) = present.unpack(self.shift)
            && length == value
        {
            *present = T::pack(value, before + count, self.shift)?;
            return Some(false);
        }
        grow(&mut self.pairs);
        self.pairs.insert(index, pair);
        Some(true)
    }

    /// Takes `count`, at least 1, of `value` away; `false` when there are fewer.
    pub fn remove(&mut self, value: u64, count: u64) -> bool {
        let index = self.lower_bound(value);
        let Some(present) = self.pairs.get_mut(index) else {
            return false;
        };
        let (length, before) = present.unpack(self.shift);
        if length != value || before < count {
            return false;
        }
        match T::pack(value, before - count, self.shift) {
            Some(rest) if before > count => *present = rest,
            _ => drop(self.pairs.remove(index)),
        }
        true
    }

    pub fn split_off(&mut self, at: usize) -> Self {
        Self {
            pairs: split_off(&mut self.pairs, at),
            shift: self.shift,
        }
    }

    pub fn heap_bytes(&self) -> usize {
        self.pairs.capacity() * size_of::<T>()
    }
}

/// Room for one more entry, in small steps: many keys have a few entries each.
///
/// As much as malloc gives out anyway: 8 bytes less than a multiple of 16, at
/// least 24.
pub(super) fn grow<T>(entries: &mut Vec<T>) {
    let len = entries.len();
    if len == entries.capacity() {
        let least = (len + (len / 8).max(2)) * size_of::<T>();
        let bytes = (least.max(24) + 8).next_multiple_of(16) - 8;
        entries.reserve_exact(bytes / size_of::<T>() - len);
    }
}

/// Cuts `entries` in two of just the capacity that they need.
pub(super) fn split_off<T: Clone>(entries: &mut Vec<T>, at: usize) -> Vec<T> {
    let right = entries[at..].to_vec();
    entries.truncate(at);
    entries.shrink_to_fit();
    right
}
