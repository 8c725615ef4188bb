//! Which region has which lengths.
//!
//! The distinct lengths pay for it: all in all [`Weight::BYTES_PER_LENGTH`]
//! each. What they may take and do not is spent from time to time, so often
//! that it costs about as much as the additions since the last time.

use std::cmp::Ordering;

use super::{BLOCK, Block, Blocks, Cells, Chunk, List, Slot, Weight, block_of, cells_of, first_of};

/// What an addition to a list costs, counted in additions to a cell.
pub(super) const LIST_COST: usize = 16;

/// What a review costs for each block, so counted.
const REVIEW_COST: usize = 64;

/// Lists in a tail that is short.
const SHORT_TAIL: usize = 64;

/// Share of what is counted that the faster regions should have.
const BUSY: f64 = 15.0 / 16.0;

impl<W: Weight> Slot<W> {
    /// Takes in a list of lengths of this block.
    fn take_in(&mut self, list: W::List) {
        self.sum = self.sum.plus(list.sum());
        match &self.block {
            Block::List(own) if own.len() == 0 => self.block = Block::List(list),
            _ => list
                .iter()
                .for_each(|(value, weight)| self.block.add(value, weight)),
        }
    }
}

fn compare_sums<W: Weight>(a: &Slot<W>, b: &Slot<W>) -> Ordering {
    a.sum.partial_cmp(&b.sum).unwrap_or(Ordering::Equal)
}

impl<W: Weight> Blocks<W> {
    /// Makes two of a chunk.
    pub(super) fn split_chunk(&mut self, index: usize) {
        let mut list = std::mem::take(&mut self.tail[index].list);
        let right = list.split_off(list.len() / 2);
        self.tail[index] = Chunk::new(list);
        self.tail.insert(index + 1, Chunk::new(right));
        // While the tail is short, this is cheap, and it may be all there is.
        if self.tail.len() <= SHORT_TAIL && self.extend_directory(0) > 0 {
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
        let end = first_of(self.flat_sums.len() + self.slots.len());
        let whole = self.tail.partition_point(|chunk| chunk.last() < end);
        let mut lists: Vec<_> = self.tail.drain(..whole).map(|chunk| chunk.list).collect();
        if let Some(chunk) = self.tail.first_mut() {
            let rest = chunk.list.split_off(chunk.list.lower_bound(end));
            lists.push(std::mem::take(&mut chunk.list));
            *chunk = Chunk::new(rest);
        }
        for mut list in lists {
            while let Some((last, _)) = list.last() {
                let block = block_of(last);
                let part = list.split_off(list.lower_bound(first_of(block)));
                self.slots[block - self.flat_sums.len()].take_in(part);
            }
        }
    }

    /// Spends what the distinct lengths may take and do not.
    pub(super) fn review(&mut self) {
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

    /// Gives cells to the busiest lists, and returns what is left.
    fn make_cells(&mut self, mut budget: usize) -> usize {
        let mut lists: Vec<_> = (self.slots.iter_mut())
            .filter_map(|slot| slot.block.cell_bytes().map(|bytes| (bytes, slot)))
            .filter(|(_, slot)| slot.sum != W::default())
            .collect();
        lists.sort_by(|a, b| compare_sums(b.1, a.1));
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
    /// slower than with either alone. One length beyond, in the busiest slot, does
    /// not count: usually that at which generation is cut off.
    fn extend_flat(&mut self, budget: usize) {
        let total = self.total();
        let width = W::Cells::width(total).max(size_of::<u32>());
        let slots = self.slots.iter().enumerate();
        let busiest = slots.max_by(|a, b| compare_sums(a.1, b.1));
        let (busiest, most) = busiest.map_or((0, W::default()), |(i, slot)| (i, slot.block.most()));

        let mut through = self.flat_sums.iter().copied().fold(W::default(), W::plus);
        let mut bytes = 0;
        let mut end = 0;
        for (index, slot) in self.slots.iter().enumerate() {
            through = through.plus(slot.sum);
            bytes += BLOCK * width + size_of::<W>();
            bytes = bytes.saturating_sub(slot.block.heap_bytes() + size_of::<Slot<W>>());
            let besides = if busiest > index { most } else { W::default() };
            if bytes <= budget && through.plus(besides).to_f64() >= total.to_f64() * BUSY {
                end = index + 1;
            }
        }
        if end == 0 {
            return;
        }
        let blocks = self.flat_sums.len() + end;
        let mut cells = W::Cells::zeros(blocks * BLOCK, width);
        cells.copy_from(0, &self.flat);
        self.flat_sums.reserve_exact(end);
        for (slot, block) in self.slots.drain(..end).zip(self.flat_sums.len()..) {
            self.flat_sums.push(slot.sum);
            slot.block.copy_into(&mut cells, cells_of(block).start);
        }
        self.slots.shrink_to_fit();
        self.flat = cells;
    }
}
