//! The form for many distinct lengths: three regions.
//!
//! 1. Cells in one piece, from length 0 on, with a sum for each block: as fast
//!    as a bare histogram. It has the busy lengths.
//! 2. A directory of blocks, each a list or cells of the width that it needs.
//! 3. A tail of sorted lists, for lengths too scattered for a directory.
//!
//! Each region takes over from the next one when the distinct lengths pay for
//! it, see [`review`].

mod review;

use std::ops::Range;

use super::block::Block;
use super::cells::{Cells, index_of, pass};
use super::weights::scaled;
use super::{BLOCK, BLOCK_BITS, LIST_MAX, List, Weight};

/// See the [module](self).
#[derive(Debug, Clone)]
pub(crate) struct Blocks<W: Weight> {
    flat: W::Cells,
    /// Sum of each block of `flat`.
    flat_sums: Vec<W>,
    /// The blocks after those of `flat`.
    slots: Vec<Slot<W>>,
    /// The lengths beyond, ascending; no list is empty.
    tail: Vec<Chunk<W>>,
    /// Additions to slots until the next [`Self::review`], those to a list
    /// counted [`review::LIST_COST`] times.
    until_review: usize,
}

#[derive(Debug, Clone, Default)]
struct Slot<W: Weight> {
    sum: W,
    block: Block<W>,
}

#[derive(Debug, Clone)]
struct Chunk<W: Weight> {
    /// At most the first length here, above the last one of the chunk before.
    first: u64,
    sum: W,
    list: W::List,
}

/// The block of a length.
#[inline]
fn block_of(value: u64) -> usize {
    index_of(value >> BLOCK_BITS)
}

/// The first length of a block.
fn first_of(block: usize) -> u64 {
    (block as u64) << BLOCK_BITS
}

/// The cells of a block.
fn cells_of(block: usize) -> Range<usize> {
    block * BLOCK..(block + 1) * BLOCK
}

impl<W: Weight> Chunk<W> {
    /// The list must not be empty.
    fn new(list: W::List) -> Self {
        Self {
            first: list.entry(0).0,
            sum: list.sum(),
            list,
        }
    }

    fn last(&self) -> u64 {
        self.list.last().map_or(self.first, |entry| entry.0)
    }
}

impl<W: Weight> Blocks<W> {
    /// Takes over a list of two entries or more.
    pub fn from_list(list: W::List) -> Self {
        let mut blocks = Self {
            flat: W::Cells::zeros(0, 0),
            flat_sums: Vec::new(),
            slots: Vec::new(),
            tail: vec![Chunk::new(list)],
            until_review: 0,
        };
        blocks.split_chunk(0);
        blocks
    }

    /// Takes over lists that are not empty, each beyond the one before.
    pub fn from_lists(lists: Vec<W::List>) -> Self {
        let mut blocks = Self {
            flat: W::Cells::zeros(0, 0),
            flat_sums: Vec::new(),
            slots: Vec::new(),
            tail: lists.into_iter().map(Chunk::new).collect(),
            until_review: 0,
        };
        blocks.review();
        blocks
    }

    /// The slot of a length that is not in the flat region.
    #[inline]
    fn slot_of(&self, value: u64) -> usize {
        block_of(value) - self.flat_sums.len()
    }

    /// The only chunk that may have `value`.
    fn chunk_of(&self, value: u64) -> usize {
        let after = self.tail.partition_point(|chunk| chunk.first <= value);
        after.saturating_sub(1)
    }

    /// Adds to a cell; `false`, and nothing done, when that takes more.
    #[inline]
    pub fn add_fast(&mut self, value: u64, weight: W) -> bool {
        if let Some(sum) = self.flat_sums.get_mut(block_of(value)) {
            let added = self.flat.add(index_of(value), weight);
            if added {
                *sum = sum.plus(weight);
            }
            return added;
        }
        self.add_fast_to_slot(value, weight)
    }

    /// Adds values up to the first one that needs [`Self::add`], and returns
    /// that one.
    #[inline]
    pub fn add_while_fast(
        &mut self,
        values: &mut impl Iterator<Item = u64>,
        weight: W,
    ) -> Option<u64> {
        loop {
            let value = self.flat.add_while(&mut self.flat_sums, values, weight)?;
            if !self.add_fast_to_slot(value, weight) {
                return Some(value);
            }
        }
    }

    #[inline]
    fn add_fast_to_slot(&mut self, value: u64, weight: W) -> bool {
        let slot = block_of(value).wrapping_sub(self.flat_sums.len());
        let Some(slot) = self.slots.get_mut(slot) else {
            return false;
        };
        let added = self.until_review > 0 && slot.block.add_fast(value, weight);
        if added {
            slot.sum = slot.sum.plus(weight);
            self.until_review -= 1;
        }
        added
    }

    pub fn add(&mut self, value: u64, weight: W) {
        if let Some(sum) = self.flat_sums.get_mut(block_of(value)) {
            if !self.flat.add(index_of(value), weight) {
                self.flat.widen();
                self.flat.add(index_of(value), weight);
            }
            *sum = sum.plus(weight);
            return;
        }
        let slot = self.slot_of(value);
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.block.add(value, weight);
            slot.sum = slot.sum.plus(weight);
        } else {
            self.add_to_tail(value, weight);
        }
        self.until_review = self.until_review.saturating_sub(review::LIST_COST);
        if self.until_review == 0 {
            self.review();
        }
    }

    fn add_to_tail(&mut self, value: u64, weight: W) {
        let index = self.chunk_of(value);
        let Some(chunk) = self.tail.get_mut(index) else {
            let mut list = W::List::default();
            list.add(value, weight);
            self.tail.push(Chunk::new(list));
            return;
        };
        chunk.sum = chunk.sum.plus(weight);
        chunk.list.add(value, weight);
        // Longer as they grow in number, so that neither a list nor the row of
        // lists costs more than the square root of what is there.
        if chunk.list.len() > LIST_MAX.max(self.tail.len() / 8) {
            self.split_chunk(index);
        }
    }

    /// The sums in ascending order of the lengths.
    fn sums(&self) -> impl Iterator<Item = W> {
        let slots = self.slots.iter().map(|slot| slot.sum);
        let chunks = self.tail.iter().map(|chunk| chunk.sum);
        self.flat_sums.iter().copied().chain(slots).chain(chunks)
    }

    pub fn total(&self) -> W {
        self.sums().fold(W::default(), W::plus)
    }

    pub fn first_from(&self, value: u64) -> Option<(u64, W)> {
        let mut from = value;
        for (block, sum) in self.flat_sums.iter().enumerate().skip(block_of(from)) {
            if *sum != W::default()
                && let Some((index, weight)) =
                    self.flat.first_in(index_of(from)..cells_of(block).end)
            {
                return Some((index as u64, weight));
            }
            from = first_of(block + 1);
        }
        for slot in self.slots.iter().skip(self.slot_of(from)) {
            if slot.sum != W::default()
                && let Some(entry) = slot.block.first_from(from)
            {
                return Some(entry);
            }
            from = first_of(block_of(from) + 1);
        }
        let chunks = &self.tail[self.chunk_of(value)..];
        chunks.iter().find_map(|chunk| chunk.list.first_from(value))
    }

    pub fn last(&self) -> Option<(u64, W)> {
        if let Some(chunk) = self.tail.last() {
            return chunk.list.last();
        }
        if let Some(index) = self.slots.iter().rposition(|slot| slot.sum != W::default()) {
            let first = first_of(self.flat_sums.len() + index);
            return self.slots[index].block.last(first);
        }
        let block = self
            .flat_sums
            .iter()
            .rposition(|&sum| sum != W::default())?;
        let (index, weight) = self.flat.last_in(cells_of(block))?;
        Some((index as u64, weight))
    }

    pub fn select(&self, reached: impl Fn(W) -> bool) -> Option<(u64, W)> {
        let mut below = W::default();
        let mut passed = 0;
        if W::EXACT {
            // Else the sums would have to be added up in the order of `total`.
            (passed, below) = pass(&self.flat_sums, below, &reached);
        }
        for (block, &sum) in self.flat_sums.iter().enumerate().skip(passed) {
            let through = below.plus(sum);
            if sum != W::default() && reached(through) {
                let (index, through) = self.flat.select(cells_of(block), below, &reached)?;
                return Some((index as u64, through));
            }
            below = through;
        }
        for (slot, block) in self.slots.iter().zip(self.flat_sums.len()..) {
            let through = below.plus(slot.sum);
            if slot.sum != W::default() && reached(through) {
                return slot.block.select(first_of(block), below, &reached);
            }
            below = through;
        }
        for chunk in &self.tail {
            let through = below.plus(chunk.sum);
            if reached(through) {
                return chunk.list.select(below, &reached);
            }
            below = through;
        }
        None
    }

    pub fn weight_through(&self, value: u64) -> W {
        let block = block_of(value);
        let flat = self.flat_sums.iter().take(block);
        let sum = flat.fold(W::default(), |sum, &more| sum.plus(more));
        if block < self.flat_sums.len() {
            return sum.plus(self.flat.sum(cells_of(block).start..index_of(value) + 1));
        }
        let slot = self.slot_of(value);
        let full = self.slots.iter().take(slot);
        let sum = full.fold(sum, |sum, slot| sum.plus(slot.sum));
        if let Some(slot) = self.slots.get(slot) {
            return sum.plus(slot.block.weight_through(value));
        }
        let index = self.chunk_of(value);
        let full = self.tail.iter().take(index);
        let sum = full.fold(sum, |sum, chunk| sum.plus(chunk.sum));
        let last = self.tail.get(index);
        last.map_or(sum, |chunk| sum.plus(chunk.list.weight_through(value)))
    }

    pub fn heap_bytes(&self) -> usize {
        let slots = self.slots.iter().map(|slot| slot.block.heap_bytes());
        let chunks = self.tail.iter().map(|chunk| chunk.list.heap_bytes());
        self.flat.heap_bytes()
            + self.flat_sums.capacity() * size_of::<W>()
            + self.slots.capacity() * size_of::<Slot<W>>()
            + self.tail.capacity() * size_of::<Chunk<W>>()
            + slots.chain(chunks).sum::<usize>()
    }
}

impl Blocks<u64> {
    /// Takes values from cells, up to the first one that needs [`Self::remove`],
    /// and returns that one.
    #[inline]
    pub fn remove_while_fast(&mut self, values: &mut impl Iterator<Item = u64>) -> Option<u64> {
        loop {
            let value = self.flat.remove_while(&mut self.flat_sums, values)?;
            let slot = block_of(value).wrapping_sub(self.flat_sums.len());
            let Some(slot) = self.slots.get_mut(slot) else {
                return Some(value);
            };
            // The last one of a block takes its cells along.
            if slot.sum == 1 || !slot.block.remove_fast(value) {
                return Some(value);
            }
            slot.sum -= 1;
        }
    }

    /// Takes `count` of `value` away; `false` when there are fewer.
    pub fn remove(&mut self, value: u64, count: u64) -> bool {
        let taken = |removed| if removed { count } else { 0 };
        if let Some(sum) = self.flat_sums.get_mut(block_of(value)) {
            let removed = self.flat.remove(index_of(value), count);
            *sum -= taken(removed);
            return removed;
        }
        let slot = self.slot_of(value);
        if let Some(slot) = self.slots.get_mut(slot) {
            let removed = slot.block.remove(value, count);
            slot.sum -= taken(removed);
            if slot.sum == 0
                && let Block::Cells(_) = slot.block
            {
                slot.block = Block::default();
            }
            return removed;
        }
        let index = self.chunk_of(value);
        let Some(chunk) = self.tail.get_mut(index) else {
            return false;
        };
        let removed = chunk.list.remove(value, count);
        chunk.sum -= taken(removed);
        if chunk.sum == 0 {
            self.tail.remove(index);
        }
        removed
    }
}

impl Blocks<f64> {
    /// See [`super::Histogram::scale`].
    pub fn scale(&mut self, factor: f64) {
        self.flat
            .iter_mut()
            .for_each(|cell| *cell = scaled(*cell, factor));
        for (block, sum) in self.flat_sums.iter_mut().enumerate() {
            *sum = self.flat.sum(cells_of(block));
        }
        for slot in &mut self.slots {
            slot.sum = slot.block.scale(factor);
            if slot.sum == 0.0 {
                slot.block = Block::default();
            }
        }
        self.tail.retain_mut(|chunk| {
            chunk.list.scale(factor);
            chunk.sum = chunk.list.sum();
            chunk.list.len() > 0
        });
    }
}
