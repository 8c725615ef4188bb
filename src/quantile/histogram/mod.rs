//! Weights of lengths, sorted by length: the store behind the counting
//! estimators.
//!
//! Few distinct lengths are kept in one sorted list. More of them go to
//! [`Blocks`]: a directory of blocks of [`BLOCK`] lengths with a sum for each,
//! and sorted lists for the rare lengths beyond it. It is generic over what is
//! summed up: counts (`u64`, [`counts`]) or decaying weights (`f64`,
//! [`weights`]).

mod blocks;
mod counts;

use std::fmt::Debug;
use std::ops::{Add, AddAssign};

use blocks::Blocks;

/// Lengths in a block: a sum of its cells is a few dozen SIMD instructions.
const BLOCK: usize = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 9;

/// Entries of a list, at most: inserting one moves about a kilobyte.
const LIST_MAX: usize = 256;

/// What is added up for each length.
pub(super) trait Weight:
    Copy + Debug + Default + PartialEq + Add<Output = Self> + AddAssign
{
    type List: List<Self>;
    type Block: Block<Self>;
}

/// A sorted list of lengths, each with a weight that is not zero.
pub(super) trait List<W: Weight>: Clone + Debug + Default {
    fn len(&self) -> usize;

    fn entry(&self, index: usize) -> (u64, W);

    /// Index of the first entry whose length is `>= value`.
    fn lower_bound(&self, value: u64) -> usize;

    fn add(&mut self, value: u64, weight: W);

    /// Takes the entries from `at` on away.
    fn split_off(&mut self, at: usize) -> Self;

    fn heap_bytes(&self) -> usize;

    fn iter(&self) -> impl Iterator<Item = (u64, W)> {
        (0..self.len()).map(|index| self.entry(index))
    }

    fn sum(&self) -> W {
        self.iter()
            .fold(W::default(), |sum, (_, weight)| sum + weight)
    }

    /// The first entry whose length is `>= value`.
    fn first_from(&self, value: u64) -> Option<(u64, W)> {
        let index = self.lower_bound(value);
        (index < self.len()).then(|| self.entry(index))
    }

    /// The first length at which `below` plus the weights up to it has
    /// `reached` the goal, and that sum; the last one when rounding keeps all
    /// from it.
    fn select(&self, below: W, reached: &impl Fn(W) -> bool) -> Option<(u64, W)> {
        let mut through = below;
        let mut last = None;
        for (value, weight) in self.iter() {
            through += weight;
            last = Some((value, through));
            if reached(through) {
                break;
            }
        }
        last
    }

    /// Sum of the weights of the lengths `<= value`.
    fn weight_through(&self, value: u64) -> W {
        (0..self.lower_bound(value + 1)).fold(W::default(), |sum, index| sum + self.entry(index).1)
    }
}

/// The weights of [`BLOCK`] lengths in a row, known by their offset.
pub(super) trait Block<W: Weight>: Clone + Debug + Default {
    /// Adds in the forms that busy blocks have; `false`, and nothing done, in
    /// the others.
    fn add_fast(&mut self, offset: usize, weight: W) -> bool;

    fn add(&mut self, offset: usize, weight: W);

    /// The first offset from `offset` on that has a weight.
    fn first_from(&self, offset: usize) -> Option<(usize, W)>;

    /// As [`List::select`].
    fn select(&self, below: W, reached: &impl Fn(W) -> bool) -> Option<(usize, W)>;

    /// Sum of the weights up to `offset`, itself included.
    fn weight_through(&self, offset: usize) -> W;

    fn heap_bytes(&self) -> usize;
}

/// See the [module](self).
#[derive(Debug, Clone)]
pub(super) enum Histogram<W: Weight> {
    List(W::List),
    Blocks(Box<Blocks<W>>),
}

impl<W: Weight> Default for Histogram<W> {
    fn default() -> Self {
        Self::List(W::List::default())
    }
}

impl<W: Weight> Histogram<W> {
    /// Adds `weight`, which is not zero, to the length `value`.
    #[inline]
    pub fn add(&mut self, value: u64, weight: W) {
        if let Self::Blocks(blocks) = self
            && blocks.add_fast(value, weight)
        {
            return;
        }
        self.add_slow(value, weight);
    }

    /// Adds `weight` to each of `values`.
    #[inline]
    pub fn add_all(&mut self, mut values: impl Iterator<Item = u64>, weight: W) {
        loop {
            let slow = match self {
                Self::Blocks(blocks) => blocks.add_while_fast(&mut values, weight),
                Self::List(_) => values.next(),
            };
            match slow {
                Some(value) => self.add_slow(value, weight),
                None => return,
            }
        }
    }

    #[inline(never)]
    fn add_slow(&mut self, value: u64, weight: W) {
        match self {
            Self::List(list) => {
                list.add(value, weight);
                if list.len() > LIST_MAX {
                    *self = Self::Blocks(Box::new(Blocks::from_list(std::mem::take(list))));
                }
            }
            Self::Blocks(blocks) => blocks.add(value, weight),
        }
    }

    /// The first length `>= value` that has a weight, and the weight.
    pub fn first_from(&self, value: u64) -> Option<(u64, W)> {
        match self {
            Self::List(list) => list.first_from(value),
            Self::Blocks(blocks) => blocks.first_from(value),
        }
    }

    /// As [`List::select`].
    pub fn select(&self, reached: impl Fn(W) -> bool) -> Option<(u64, W)> {
        match self {
            Self::List(list) => list.select(W::default(), &reached),
            Self::Blocks(blocks) => blocks.select(reached),
        }
    }

    /// Sum of the weights of the lengths `<= value`.
    pub fn weight_through(&self, value: u64) -> W {
        match self {
            Self::List(list) => list.weight_through(value),
            Self::Blocks(blocks) => blocks.weight_through(value),
        }
    }

    /// Lengths and weights, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, W)> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let entry = self.first_from(from)?;
            from = entry.0 + 1;
            Some(entry)
        })
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::List(list) => list.heap_bytes(),
            Self::Blocks(blocks) => size_of::<Blocks<W>>() + blocks.heap_bytes(),
        }
    }
}

/// Room for one more entry. Steps of an eighth keep the slack small: many keys
/// have a few entries each.
fn grow<T>(entries: &mut Vec<T>) {
    if entries.len() == entries.capacity() {
        entries.reserve_exact((entries.len() / 8).max(4));
    }
}
