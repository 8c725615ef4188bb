//! Weights of lengths, sorted by length: the store behind the counting
//! estimators.
//!
//! Few distinct lengths are kept in one sorted list, more of them in [`Blocks`].
//! Both are generic over what is summed up: counts (`u64`, [`counts`]) or
//! decaying weights (`f64`, [`weights`]).

mod block;
mod blocks;
mod cells;
mod counts;
mod list;
mod packed;
mod weights;

use std::fmt::Debug;

use blocks::Blocks;
use cells::Cells;

/// Lengths in a block: a sum of its cells is a few dozen SIMD instructions.
const BLOCK: usize = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 9;

/// Entries of a list, at most: inserting one moves half a kilobyte to two.
const LIST_MAX: usize = 128;

/// What is added up for each length.
pub(super) trait Weight: Copy + Debug + Default + PartialOrd {
    type List: List<Self>;
    type Cells: Cells<Self>;

    /// Bytes that [`Blocks`] may take for each distinct length.
    const BYTES_PER_LENGTH: usize;

    /// Whether `n` additions give the same as one of `n` times as much.
    const EXACT: bool;

    fn plus(self, other: Self) -> Self;

    fn times(self, n: u64) -> Self;

    fn to_f64(self) -> f64;
}

/// How many of the first values are this one.
fn run_of(value: u64, values: &[u64]) -> usize {
    const ROW: usize = 8;
    // Without an early exit within a row, which is SIMD.
    let is_run = |row: &&[u64; ROW]| row.iter().fold(0, |bits, next| bits | (next ^ value)) == 0;
    let rows = values.as_chunks::<ROW>().0.iter().take_while(is_run);
    let whole = rows.count() * ROW;
    let rest = values[whole..].iter();
    whole + rest.take_while(|&&next| next == value).count()
}

/// The largest of some weights.
fn most<T: Default + PartialOrd>(weights: impl Iterator<Item = T>) -> T {
    let larger = |most, weight| if weight > most { weight } else { most };
    weights.fold(T::default(), larger)
}

/// A sorted list of lengths, each with a weight that is not zero.
pub(super) trait List<W: Weight>: Clone + Debug + Default {
    /// How many values are best added at once.
    const STEP: usize = 1;

    fn len(&self) -> usize;

    fn entry(&self, index: usize) -> (u64, W);

    /// Index of the first entry whose length is `>= value`.
    fn lower_bound(&self, value: u64) -> usize;

    fn add(&mut self, value: u64, weight: W);

    /// Adds `weight` to each of these values, [`Self::STEP`] at most.
    fn add_some(&mut self, values: &[u64], weight: W) {
        for &value in values {
            self.add(value, weight);
        }
    }

    /// The list of these entries, which ascend.
    fn from_entries(entries: &[(u64, W)]) -> Self;

    /// Takes the entries from `at` on away.
    fn split_off(&mut self, at: usize) -> Self;

    fn heap_bytes(&self) -> usize;

    fn iter(&self) -> impl Iterator<Item = (u64, W)> {
        (0..self.len()).map(|index| self.entry(index))
    }

    fn last(&self) -> Option<(u64, W)> {
        self.len().checked_sub(1).map(|index| self.entry(index))
    }

    fn most(&self) -> W {
        most(self.iter().map(|entry| entry.1))
    }

    fn sum(&self) -> W {
        self.iter()
            .fold(W::default(), |sum, (_, weight)| sum.plus(weight))
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
            through = through.plus(weight);
            last = Some((value, through));
            if reached(through) {
                break;
            }
        }
        last
    }

    /// Sum of the weights of the lengths `<= value`.
    fn weight_through(&self, value: u64) -> W {
        let lengths = 0..self.lower_bound(value + 1);
        lengths.fold(W::default(), |sum, index| sum.plus(self.entry(index).1))
    }
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

/// Makes a histogram of lengths that come in ascending order.
#[derive(Debug, Default)]
pub(super) struct Builder<W: Weight> {
    full: Vec<W::List>,
    entries: Vec<(u64, W)>,
}

impl<W: Weight> Builder<W> {
    /// Adds a length above all before, and its weight, which is not zero.
    #[inline]
    pub fn push(&mut self, value: u64, weight: W) {
        // A list that ends where a block ends need not be cut.
        if self.entries.len() >= LIST_MAX
            && let Some((last, _)) = self.entries.last()
            && last >> BLOCK_BITS < value >> BLOCK_BITS
        {
            self.full.push(W::List::from_entries(&self.entries));
            self.entries.clear();
        }
        self.entries.push((value, weight));
    }

    pub fn finish(mut self) -> Histogram<W> {
        let last = W::List::from_entries(&self.entries);
        if self.full.is_empty() && last.len() <= LIST_MAX {
            return Histogram::List(last);
        }
        self.full.push(last);
        Histogram::Blocks(Box::new(Blocks::from_lists(self.full)))
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
    pub fn add_all(&mut self, mut values: &[u64], weight: W) {
        if let Self::List(_) = self {
            values = self.add_to_list(values, weight);
        }
        let mut values = values.iter();
        let Self::Blocks(blocks) = self else {
            return;
        };
        // What takes long is added once for as often as it comes: responses pile
        // up at the longest length, which lies far from the others.
        let mut slow = None;
        let mut times = 0;
        loop {
            let mut next = blocks.add_while_fast(&mut values.by_ref().copied(), weight);
            if let Some(value) = next
                && W::EXACT
                && next == slow
            {
                let more = run_of(value, values.as_slice());
                times += 1 + more as u64;
                values = values.as_slice()[more..].iter();
                next = values.next().copied();
            }
            if let Some(value) = next
                && blocks.add_fast(value, weight)
            {
                continue;
            }
            if let Some(value) = slow {
                blocks.add(value, weight.times(times));
            }
            if next.is_none() {
                return;
            }
            (slow, times) = (next, 1);
        }
    }

    /// Adds values as long as there is a list; returns the others.
    #[inline(never)]
    fn add_to_list<'a>(&mut self, mut values: &'a [u64], weight: W) -> &'a [u64] {
        while let (Self::List(list), Some(&first)) = (&mut *self, values.first()) {
            let mut step = if W::EXACT { run_of(first, values) } else { 1 };
            if step > 1 {
                list.add(first, weight.times(step as u64));
            } else {
                step = values.len().min(W::List::STEP);
                list.add_some(&values[..step], weight);
            }
            values = &values[step..];
            self.end_long_list();
        }
        values
    }

    #[inline(never)]
    fn add_slow(&mut self, value: u64, weight: W) {
        match self {
            Self::List(list) => {
                list.add(value, weight);
                self.end_long_list();
            }
            Self::Blocks(blocks) => blocks.add(value, weight),
        }
    }

    fn end_long_list(&mut self) {
        if let Self::List(list) = self
            && list.len() > LIST_MAX
        {
            *self = Self::Blocks(Box::new(Blocks::from_list(std::mem::take(list))));
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

    /// The last length that has a weight, and the weight.
    pub fn last(&self) -> Option<(u64, W)> {
        match self {
            Self::List(list) => list.last(),
            Self::Blocks(blocks) => blocks.last(),
        }
    }

    /// Sum of all weights, added up as [`Self::select`] does.
    pub fn total(&self) -> W {
        match self {
            Self::List(list) => list.sum(),
            Self::Blocks(blocks) => blocks.total(),
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
