//! A block on its own: a list, or cells of just the width that it needs.

use super::cells::Cells;
use super::weights::scaled;
use super::{BLOCK, List, Weight};

/// The weights of [`BLOCK`] lengths in a row.
#[derive(Debug, Clone)]
pub(crate) enum Block<W: Weight> {
    List(W::List),
    Cells(W::Cells),
}

impl<W: Weight> Default for Block<W> {
    fn default() -> Self {
        Self::List(W::List::default())
    }
}

/// Where the cells of a block have a length.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "the remainder is below BLOCK"
)]
fn offset(value: u64) -> usize {
    value as usize % BLOCK
}

/// The length at an offset in the block that `value` is in.
fn length(value: u64, offset: usize) -> u64 {
    value - value % BLOCK as u64 + offset as u64
}

impl<W: Weight> Block<W> {
    /// Adds to a cell; `false`, and nothing done, when that takes more.
    #[inline]
    pub fn add_fast(&mut self, value: u64, weight: W) -> bool {
        match self {
            Self::Cells(cells) => cells.add(offset(value), weight),
            Self::List(_) => false,
        }
    }

    pub fn add(&mut self, value: u64, weight: W) {
        match self {
            Self::List(list) => list.add(value, weight),
            Self::Cells(cells) => {
                if !cells.add(offset(value), weight) {
                    // Whether wider cells pay, only a review can tell.
                    let mut list = W::List::default();
                    let mut from = 0;
                    while let Some((offset, weight)) = cells.first_in(from..BLOCK) {
                        list.add(length(value, offset), weight);
                        from = offset + 1;
                    }
                    list.add(value, weight);
                    *self = Self::List(list);
                }
            }
        }
    }

    /// Puts all that it has into cells that were zero, from `start` on.
    pub fn copy_into(&self, cells: &mut W::Cells, start: usize) {
        match self {
            Self::List(list) => {
                for (value, weight) in list.iter() {
                    cells.add(start + offset(value), weight);
                }
            }
            Self::Cells(own) => cells.copy_from(start, own),
        }
    }

    pub fn distinct(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Cells(cells) => cells.distinct(),
        }
    }

    /// The weight of the length that has most.
    pub fn most(&self) -> W {
        match self {
            Self::List(list) => list.most(),
            Self::Cells(cells) => cells.most(),
        }
    }

    /// Bytes that cells would take, where there is a list.
    pub fn cell_bytes(&self) -> Option<usize> {
        match self {
            Self::List(list) => Some(BLOCK * W::Cells::width(list.most())),
            Self::Cells(_) => None,
        }
    }

    pub fn make_cells(&mut self) {
        if let Self::List(list) = self {
            let mut cells = W::Cells::zeros(BLOCK, W::Cells::width(list.most()));
            for (value, weight) in list.iter() {
                cells.add(offset(value), weight);
            }
            *self = Self::Cells(cells);
        }
    }

    /// The first length from `value` on, in its block, that has a weight.
    pub fn first_from(&self, value: u64) -> Option<(u64, W)> {
        match self {
            Self::List(list) => list.first_from(value),
            Self::Cells(cells) => {
                let (offset, weight) = cells.first_in(offset(value)..BLOCK)?;
                Some((length(value, offset), weight))
            }
        }
    }

    /// The last length that has a weight, in the block that `value` is in.
    pub fn last(&self, value: u64) -> Option<(u64, W)> {
        match self {
            Self::List(list) => list.last(),
            Self::Cells(cells) => {
                let (offset, weight) = cells.last_in(0..BLOCK)?;
                Some((length(value, offset), weight))
            }
        }
    }

    /// As [`List::select`], in the block that `value` is in.
    pub fn select(&self, value: u64, below: W, reached: &impl Fn(W) -> bool) -> Option<(u64, W)> {
        match self {
            Self::List(list) => list.select(below, reached),
            Self::Cells(cells) => {
                let (offset, through) = cells.select(0..BLOCK, below, reached)?;
                Some((length(value, offset), through))
            }
        }
    }

    /// Sum of the weights of the lengths `<= value` in its block.
    pub fn weight_through(&self, value: u64) -> W {
        match self {
            Self::List(list) => list.weight_through(value),
            Self::Cells(cells) => cells.sum(0..offset(value) + 1),
        }
    }

    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::List(list) => list.heap_bytes(),
            Self::Cells(cells) => cells.heap_bytes(),
        }
    }
}

impl Block<u64> {
    /// Takes one from a cell; `false`, and nothing done, when that takes more.
    #[inline]
    pub fn remove_fast(&mut self, value: u64) -> bool {
        match self {
            Self::Cells(cells) => cells.remove(offset(value), 1),
            Self::List(_) => false,
        }
    }

    /// Takes `count` of `value` away; `false` when there are fewer.
    pub fn remove(&mut self, value: u64, count: u64) -> bool {
        match self {
            Self::List(list) => list.remove(value, count),
            Self::Cells(cells) => cells.remove(offset(value), count),
        }
    }
}

impl Block<f64> {
    /// As [`super::Histogram::scale`]; returns the new sum.
    pub fn scale(&mut self, factor: f64) -> f64 {
        match self {
            Self::List(list) => {
                list.scale(factor);
                list.sum()
            }
            Self::Cells(cells) => {
                cells
                    .iter_mut()
                    .for_each(|cell| *cell = scaled(*cell, factor));
                cells.sum(0..BLOCK)
            }
        }
    }
}
