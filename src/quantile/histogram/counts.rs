//! Counts: [`Histogram`] of `u64`, in as few bytes as they need.

use std::ops::Range;

use super::cells::{Cell, Cells, index_of};
use super::list::CountList;
use super::{BLOCK_BITS, Histogram, Weight};

impl Weight for u64 {
    type List = CountList;
    type Cells = CountCells;

    const BYTES_PER_LENGTH: usize = 15;
    const EXACT: bool = true;

    /// Never wraps: the owner keeps the sum of all counts, checked.
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn times(self, n: u64) -> Self {
        self.wrapping_mul(n)
    }

    #[allow(clippy::cast_precision_loss, reason = "for comparing sizes only")]
    fn to_f64(self) -> f64 {
        self as f64
    }
}

impl Histogram<u64> {
    /// Takes `count`, at least 1, of `value` away; `false`, and nothing done,
    /// when there are fewer.
    pub fn remove(&mut self, value: u64, count: u64) -> bool {
        match self {
            Self::List(list) => list.remove(value, count),
            Self::Blocks(blocks) => blocks.remove(value, count),
        }
    }

    /// Takes values away, all of which must be there.
    pub fn remove_all(&mut self, mut values: impl Iterator<Item = u64>) {
        // As in `add_all`.
        let mut slow = None;
        let mut times = 0;
        loop {
            let next = match self {
                Self::Blocks(blocks) => blocks.remove_while_fast(&mut values),
                Self::List(_) => values.next(),
            };
            if next.is_some() && next == slow {
                times += 1;
                continue;
            }
            if let Some(value) = slow {
                self.remove(value, times);
            }
            if next.is_none() {
                return;
            }
            (slow, times) = (next, 1);
        }
    }
}

/// Counts in the narrowest cells that hold them.
#[derive(Debug, Clone)]
pub(crate) enum CountCells {
    Bytes(Box<[u8]>),
    Words(Box<[u32]>),
    Wide(Box<[u64]>),
}

/// Does the same with each kind of cells.
macro_rules! each {
    ($self:expr, $cells:ident => $body:expr) => {
        match $self {
            CountCells::Words($cells) => $body,
            CountCells::Bytes($cells) => $body,
            CountCells::Wide($cells) => $body,
        }
    };
}

impl CountCells {
    /// Takes from a cell; `false` when there is less.
    #[inline]
    pub(super) fn remove(&mut self, index: usize, count: u64) -> bool {
        each!(self, cells => less(&mut cells[index], count))
    }

    /// Takes one from the cell of each value, and from the sum of its block, up
    /// to the first value that has no cell or none to take, and returns that one.
    pub(super) fn remove_while(
        &mut self,
        sums: &mut [u64],
        values: &mut impl Iterator<Item = u64>,
    ) -> Option<u64> {
        each!(self, cells => values.find(|&value| {
            let index = index_of(value);
            if let Some(cell) = cells.get_mut(index)
                && let Some(sum) = sums.get_mut(index >> BLOCK_BITS)
                && less(cell, 1)
            {
                *sum -= 1;
                return false;
            }
            true
        }))
    }
}

/// Takes from a cell; `false` when there is less.
#[inline]
fn less<T: Copy + Into<u64> + TryFrom<u64>>(cell: &mut T, count: u64) -> bool {
    let less = (*cell).into().checked_sub(count).map(T::try_from);
    less.is_some_and(|less| less.map(|less| *cell = less).is_ok())
}

impl Cells<u64> for CountCells {
    fn width(most: u64) -> usize {
        match most {
            ..0x100 => size_of::<u8>(),
            0x100..0x1_0000_0000 => size_of::<u32>(),
            0x1_0000_0000.. => size_of::<u64>(),
        }
    }

    fn zeros(len: usize, width: usize) -> Self {
        match width {
            1 => Self::Bytes(vec![0; len].into()),
            2..=4 => Self::Words(vec![0; len].into()),
            _ => Self::Wide(vec![0; len].into()),
        }
    }

    fn widen(&mut self) {
        fn wide<T: Copy + Into<u64>>(cells: &[T]) -> CountCells {
            CountCells::Wide(cells.iter().map(|&cell| cell.into()).collect())
        }
        *self = each!(self, cells => wide(cells));
    }

    fn heap_bytes(&self) -> usize {
        each!(self, cells => size_of_val(&**cells))
    }

    fn copy_from(&mut self, start: usize, others: &Self) {
        fn copy<T: TryFrom<u64>>(cells: &mut [T], others: &[impl Copy + Into<u64>]) {
            for (cell, &other) in cells.iter_mut().zip(others) {
                if let Ok(count) = T::try_from(other.into()) {
                    *cell = count;
                }
            }
        }
        each!(self, cells => each!(others, others => copy(&mut cells[start..], others)));
    }

    #[inline]
    fn add(&mut self, index: usize, count: u64) -> bool {
        each!(self, cells => cells.add(index, count))
    }

    #[inline]
    fn add_while(
        &mut self,
        sums: &mut [u64],
        values: &mut impl Iterator<Item = u64>,
        count: u64,
    ) -> Option<u64> {
        each!(self, cells => cells.add_while(sums, values, count))
    }

    fn distinct(&self) -> usize {
        each!(self, cells => Cells::<u64>::distinct(cells))
    }

    fn most(&self) -> u64 {
        each!(self, cells => Cells::<u64>::most(cells))
    }

    fn first_in(&self, range: Range<usize>) -> Option<(usize, u64)> {
        each!(self, cells => cells.first_in(range))
    }

    fn last_in(&self, range: Range<usize>) -> Option<(usize, u64)> {
        each!(self, cells => cells.last_in(range))
    }

    fn select(
        &self,
        range: Range<usize>,
        below: u64,
        reached: &impl Fn(u64) -> bool,
    ) -> Option<(usize, u64)> {
        each!(self, cells => cells.select(range, below, reached))
    }

    fn sum(&self, range: Range<usize>) -> u64 {
        each!(self, cells => cells.sum(range))
    }
}

/// A [`Cell`] of an integer type.
macro_rules! count_cell {
    ($($int:ty),*) => {$(
        impl Cell<u64> for $int {
            #[inline]
            fn plus(self, count: u64) -> Option<Self> {
                Self::try_from(u64::from(self) + count).ok()
            }
        }
    )*};
}

count_cell!(u8, u32, u64);
