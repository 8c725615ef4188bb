//! The form for many distinct lengths: three regions.
//!
//! 1. Cells in one piece, from length 0 on, with a sum for each block: as fast
//!    as a bare histogram. It has the busy lengths.
//! 2. A directory of blocks, each a list or cells of the width that it needs.
//! 3. A tail of sorted lists, for lengths too scattered for a directory.
//!
//! Each region takes over from the next one when the distinct lengths pay for
//! it: all in all [`Weight::BYTES_PER_LENGTH`].

use std::cmp::Ordering;

use super::block::Block;
use super::cells::{Cells, index_of};
use super::weights::scaled;
use super::{BLOCK, BLOCK_BITS, LIST_MAX, List, Weight};

/// What an addition to a list costs, counted in additions to a cell.
const LIST_COST: usize = 16;

/// What a review costs for each block, so counted: about what all additions
/// to slots since the last one have cost.
const REVIEW_COST: usize = 64;

/// Share of what is counted that the faster regions should have.
const BUSY: f64 = 15.0 / 16.0;

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
    /// counted [`LIST_COST`] times.
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
fn cells_of(block: usize) -> std::ops::Range<usize> {
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
        blocks.split(0);
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
        self.until_review = self.until_review.saturating_sub(LIST_COST);
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
        chunk.first = chunk.first.min(value);
        chunk.sum = chunk.sum.plus(weight);
        chunk.list.add(value, weight);
        if chunk.list.len() > LIST_MAX {
            self.split(index);
        }
    }

    fn split(&mut self, index: usize) {
        let mut list = std::mem::take(&mut self.tail[index].list);
        let right = list.split_off(list.len() / 2);
        self.tail[index] = Chunk::new(list);
        self.tail.insert(index + 1, Chunk::new(right));
        if self.extend_directory(0) > 0 {
            self.review();
        }
    }

    /// Lets the directory take over the part of the tail that pays for it with
    /// a third of what its lengths may take; within `budget`, also over a part
    /// that much is counted in. Returns the bytes spent.
    fn extend_directory(&mut self, budget: usize) -> usize {
        let busy = self.total().to_f64() * BUSY;
        let before = self.flat_sums.len() + self.slots.len();
        let mut through = self.sums().take(before).fold(W::default(), W::plus);
        let mut lengths = 0;
        let mut more = 0;
        for chunk in &self.tail {
            let slots = self.slot_of(chunk.last()) + 1 - self.slots.len();
            let bytes = slots.saturating_mul(size_of::<Slot<W>>());
            lengths += chunk.list.len();
            let pays = bytes <= lengths * W::BYTES_PER_LENGTH / 3;
            if pays || (bytes <= budget && through.to_f64() < busy) {
                more = slots;
            }
            through = through.plus(chunk.sum);
        }
        if more > 0 {
            self.slots.reserve_exact(more);
            self.slots
                .resize_with(self.slots.len() + more, Slot::default);
            self.move_tail_to_slots();
        }
        more * size_of::<Slot<W>>()
    }

    fn move_tail_to_slots(&mut self) {
        while let Some(chunk) = self.tail.first() {
            let block = block_of(chunk.list.entry(0).0);
            let Some(slot) = self.slots.get_mut(block - self.flat_sums.len()) else {
                return;
            };
            let chunk = &mut self.tail[0];
            let end = chunk.list.lower_bound(first_of(block + 1));
            let rest = chunk.list.split_off(end);
            let list = std::mem::replace(&mut chunk.list, rest);
            if chunk.list.len() == 0 {
                self.tail.remove(0);
            } else {
                *chunk = Chunk::new(std::mem::take(&mut chunk.list));
            }
            slot.sum = slot.sum.plus(list.sum());
            if slot.block.distinct() == 0 {
                slot.block = Block::List(list);
            } else {
                list.iter()
                    .for_each(|(value, weight)| slot.block.add(value, weight));
            }
        }
    }

    /// Spends what the distinct lengths may take and do not.
    fn review(&mut self) {
        let budget = self.budget();
        let budget = budget.saturating_sub(self.extend_directory(budget));
        let budget = self.make_cells(budget);
        self.extend_flat(budget);
        let parts = self.flat_sums.len() + self.slots.len() + self.tail.len();
        self.until_review = REVIEW_COST * (32 + parts);
    }

    /// Bytes that the distinct lengths may take and do not.
    fn budget(&self) -> usize {
        let slots = self.slots.iter().map(|slot| slot.block.distinct());
        let chunks = self.tail.iter().map(|chunk| chunk.list.len());
        let distinct = self.flat.distinct() + slots.chain(chunks).sum::<usize>();
        let bytes = size_of::<Self>() + self.heap_bytes();
        (distinct * W::BYTES_PER_LENGTH).saturating_sub(bytes)
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

    /// Gives cells to the busiest lists, and returns what is left.
    fn make_cells(&mut self, mut budget: usize) -> usize {
        let mut lists: Vec<_> = (self.slots.iter_mut())
            .filter_map(|slot| slot.block.cell_bytes().map(|bytes| (bytes, slot)))
            .filter(|(_, slot)| slot.sum != W::default())
            .collect();
        lists.sort_by(|a, b| b.1.sum.partial_cmp(&a.1.sum).unwrap_or(Ordering::Equal));
        for (bytes, slot) in lists {
            let more = bytes.saturating_sub(slot.block.heap_bytes());
            if more <= budget {
                budget -= more;
                slot.block.make_cells();
            }
        }
        budget
    }

    /// Takes slots into the flat region if that leaves next to nothing of what
    /// is counted beyond: with much on either side, the hot loop would be
    /// slower than with either alone.
    fn extend_flat(&mut self, budget: usize) {
        let total = self.total();
        let width = W::Cells::width(total).max(size_of::<u32>());

        let mut through = self.flat_sums.iter().copied().fold(W::default(), W::plus);
        let mut bytes = 0;
        let mut end = 0;
        for (index, slot) in self.slots.iter().enumerate() {
            through = through.plus(slot.sum);
            bytes += BLOCK * width + size_of::<W>();
            bytes = bytes.saturating_sub(slot.block.heap_bytes() + size_of::<Slot<W>>());
            if bytes <= budget && through.to_f64() >= total.to_f64() * BUSY {
                end = index + 1;
            }
        }
        if end == 0 {
            return;
        }
        let blocks = self.flat_sums.len() + end;
        let mut cells = W::Cells::zeros(blocks * BLOCK, width);
        for block in 0..self.flat_sums.len() {
            let mut range = cells_of(block);
            while let Some((index, weight)) = self.flat.first_in(range.clone()) {
                cells.add(index, weight);
                range.start = index + 1;
            }
        }
        self.flat_sums.reserve_exact(end);
        for (slot, block) in self.slots.drain(..end).zip(self.flat_sums.len()..) {
            self.flat_sums.push(slot.sum);
            slot.block.for_each(first_of(block), |value, weight| {
                cells.add(index_of(value), weight);
            });
        }
        self.slots.shrink_to_fit();
        self.flat = cells;
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
        for (block, &sum) in self.flat_sums.iter().enumerate() {
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
    /// Takes one count of `value` away; `false` when there is none.
    pub fn remove(&mut self, value: u64) -> bool {
        if let Some(sum) = self.flat_sums.get_mut(block_of(value)) {
            let removed = self.flat.remove(index_of(value));
            *sum -= u64::from(removed);
            return removed;
        }
        let slot = self.slot_of(value);
        if let Some(slot) = self.slots.get_mut(slot) {
            let removed = slot.block.remove(value);
            slot.sum -= u64::from(removed);
            if slot.sum == 0 {
                slot.block = Block::default();
            }
            return removed;
        }
        let index = self.chunk_of(value);
        let Some(chunk) = self.tail.get_mut(index) else {
            return false;
        };
        let removed = chunk.list.remove(value);
        chunk.sum -= u64::from(removed);
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
