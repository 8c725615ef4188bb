//! The form for many distinct lengths.

use super::{BLOCK, BLOCK_BITS, Block, LIST_MAX, List, Weight};

/// Bytes of the directory that a length may cost when it moves there from the
/// tail.
const DIRECTORY_BYTES_PER_LENGTH: usize = 5;

/// A directory of blocks, as far as enough lengths pay for it, and a tail of
/// sorted lists for the lengths beyond.
#[derive(Debug, Clone)]
pub(crate) struct Blocks<W: Weight> {
    /// Slot `i` has the lengths `i * BLOCK..(i + 1) * BLOCK`.
    slots: Vec<Slot<W>>,
    /// The lengths from `slots.len() * BLOCK` on, ascending, no list empty.
    tail: Vec<Chunk<W>>,
}

#[derive(Debug, Clone, Default)]
struct Slot<W: Weight> {
    sum: W,
    block: W::Block,
}

#[derive(Debug, Clone)]
struct Chunk<W: Weight> {
    /// At most the first length here, above the last one of the chunk before.
    first: u64,
    sum: W,
    list: W::List,
}

/// Slot of a length, and its offset there.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the offset is below BLOCK")]
fn place(value: u64) -> (usize, usize) {
    let slot = usize::try_from(value >> BLOCK_BITS).unwrap_or(usize::MAX);
    (slot, value as usize % BLOCK)
}

fn length(slot: usize, offset: usize) -> u64 {
    ((slot as u64) << BLOCK_BITS) + offset as u64
}

impl<W: Weight> Slot<W> {
    #[inline]
    fn add_fast(&mut self, offset: usize, weight: W) -> bool {
        let added = self.block.add_fast(offset, weight);
        if added {
            self.sum += weight;
        }
        added
    }
}

impl<W: Weight> Chunk<W> {
    fn new(list: W::List) -> Self {
        Self {
            first: list.entry(0).0,
            sum: list.sum(),
            list,
        }
    }
}

impl<W: Weight> Blocks<W> {
    /// Takes over a list that is not empty.
    pub fn from_list(list: W::List) -> Self {
        let mut blocks = Self {
            slots: Vec::new(),
            tail: vec![Chunk::new(list)],
        };
        blocks.split(0);
        blocks
    }

    #[inline]
    pub fn add_fast(&mut self, value: u64, weight: W) -> bool {
        let (slot, offset) = place(value);
        self.slots
            .get_mut(slot)
            .is_some_and(|slot| slot.add_fast(offset, weight))
    }

    /// Adds values up to the first one that needs [`Self::add`], and returns
    /// that one.
    #[inline]
    pub fn add_while_fast(
        &mut self,
        values: &mut impl Iterator<Item = u64>,
        weight: W,
    ) -> Option<u64> {
        // As a local, the slice stays in registers over the whole batch.
        let slots = self.slots.as_mut_slice();
        values.find(|&value| {
            let (slot, offset) = place(value);
            !slots
                .get_mut(slot)
                .is_some_and(|slot| slot.add_fast(offset, weight))
        })
    }

    pub fn add(&mut self, value: u64, weight: W) {
        let (slot, offset) = place(value);
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.block.add(offset, weight);
            slot.sum += weight;
            return;
        }
        let index = self.chunk_of(value);
        let Some(chunk) = self.tail.get_mut(index) else {
            let mut list = W::List::default();
            list.add(value, weight);
            self.tail.push(Chunk::new(list));
            return;
        };
        chunk.first = chunk.first.min(value);
        chunk.list.add(value, weight);
        chunk.sum += weight;
        if chunk.list.len() > LIST_MAX {
            self.split(index);
        }
    }

    /// The only chunk that may have `value`.
    fn chunk_of(&self, value: u64) -> usize {
        self.tail
            .partition_point(|chunk| chunk.first <= value)
            .saturating_sub(1)
    }

    fn split(&mut self, index: usize) {
        let mut list = std::mem::take(&mut self.tail[index].list);
        let right = list.split_off(list.len() / 2);
        self.tail[index] = Chunk::new(list);
        self.tail.insert(index + 1, Chunk::new(right));
        self.extend_directory();
    }

    /// Lets the directory take over the part of the tail that pays for it.
    fn extend_directory(&mut self) {
        let mut lengths = 0;
        let mut end = 0;
        for chunk in &self.tail {
            lengths += chunk.list.len();
            let last = place(chunk.list.entry(chunk.list.len() - 1).0).0;
            let bytes = (last - self.slots.len()).saturating_mul(size_of::<Slot<W>>());
            if bytes < lengths * DIRECTORY_BYTES_PER_LENGTH {
                end = last + 1;
            }
        }
        if end > self.slots.len() {
            self.slots.reserve_exact(end - self.slots.len());
            self.slots.resize_with(end, Slot::default);
            self.empty_tail_into_slots();
        }
    }

    fn empty_tail_into_slots(&mut self) {
        let beyond = length(self.slots.len(), 0);
        while let Some(chunk) = self.tail.first_mut() {
            let end = chunk.list.lower_bound(beyond);
            let rest = chunk.list.split_off(end);
            let list = std::mem::replace(&mut chunk.list, rest);
            for (value, weight) in list.iter() {
                let (slot, offset) = place(value);
                self.slots[slot].block.add(offset, weight);
                self.slots[slot].sum += weight;
            }
            if chunk.list.len() > 0 {
                *chunk = Chunk::new(std::mem::take(&mut chunk.list));
                return;
            }
            self.tail.remove(0);
        }
    }

    pub fn first_from(&self, value: u64) -> Option<(u64, W)> {
        let (first, offset) = place(value);
        for (index, slot) in self.slots.iter().enumerate().skip(first) {
            let from = if index == first { offset } else { 0 };
            if slot.sum != W::default()
                && let Some((offset, weight)) = slot.block.first_from(from)
            {
                return Some((length(index, offset), weight));
            }
        }
        let chunks = &self.tail[self.chunk_of(value)..];
        chunks.iter().find_map(|chunk| chunk.list.first_from(value))
    }

    pub fn select(&self, reached: impl Fn(W) -> bool) -> Option<(u64, W)> {
        let mut below = W::default();
        let mut last = None;
        for (index, slot) in self.slots.iter().enumerate() {
            let through = below + slot.sum;
            if reached(through) && slot.sum != W::default() {
                let (offset, through) = slot.block.select(below, &reached)?;
                return Some((length(index, offset), through));
            }
            below = through;
        }
        for chunk in &self.tail {
            let through = below + chunk.sum;
            if reached(through) {
                return chunk.list.select(below, &reached);
            }
            below = through;
            last = Some(chunk);
        }
        last.map(|chunk| (chunk.list.entry(chunk.list.len() - 1).0, below))
    }

    pub fn weight_through(&self, value: u64) -> W {
        let (last, offset) = place(value);
        let full = &self.slots[..last.min(self.slots.len())];
        let mut sum = full.iter().fold(W::default(), |sum, slot| sum + slot.sum);
        if let Some(slot) = self.slots.get(last) {
            return sum + slot.block.weight_through(offset);
        }
        let index = self.chunk_of(value);
        for chunk in &self.tail[..index] {
            sum += chunk.sum;
        }
        self.tail
            .get(index)
            .map_or(sum, |chunk| sum + chunk.list.weight_through(value))
    }

    pub fn heap_bytes(&self) -> usize {
        let slots = self.slots.iter().map(|slot| slot.block.heap_bytes());
        let chunks = self.tail.iter().map(|chunk| chunk.list.heap_bytes());
        self.slots.capacity() * size_of::<Slot<W>>()
            + self.tail.capacity() * size_of::<Chunk<W>>()
            + slots.chain(chunks).sum::<usize>()
    }
}

impl Blocks<u64> {
    /// Takes one count of `value` away; `false` when there is none.
    pub fn remove(&mut self, value: u64) -> bool {
        let (slot, offset) = place(value);
        if let Some(slot) = self.slots.get_mut(slot) {
            if !slot.block.remove(offset) {
                return false;
            }
            slot.sum -= 1;
            if slot.sum == 0 {
                slot.block = Default::default();
            }
            return true;
        }
        let index = self.chunk_of(value);
        let Some(chunk) = self.tail.get_mut(index) else {
            return false;
        };
        if !chunk.list.remove(value) {
            return false;
        }
        chunk.sum -= 1;
        if chunk.sum == 0 {
            self.tail.remove(index);
        }
        true
    }
}
