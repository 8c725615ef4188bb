//! Arrays of a cell for each length.

use std::fmt::Debug;
use std::ops::Range;

use super::{BLOCK, BLOCK_BITS, Weight, most};

/// Weights of consecutive lengths, known by their index.
pub(crate) trait Cells<W: Weight>: Clone + Debug {
    /// Bytes of the narrowest cell that can hold `most`.
    fn width(most: W) -> usize;

    /// Cells of so many bytes, all zero.
    fn zeros(len: usize, width: usize) -> Self;

    /// Makes the cells as wide as they get.
    fn widen(&mut self);

    fn heap_bytes(&self) -> usize;

    /// Adds to a cell; `false`, and nothing done, when there is no such cell
    /// or when it is too narrow for the sum.
    fn add(&mut self, index: usize, weight: W) -> bool;

    /// Sets the cells from `start` on to `others`, for which they are wide enough.
    fn copy_from(&mut self, start: usize, others: &Self);

    /// Adds to the cell of each value, and to the sum of its block, up to the
    /// first value that [`Self::add`] refuses, and returns that one.
    fn add_while(
        &mut self,
        sums: &mut [W],
        values: &mut impl Iterator<Item = u64>,
        weight: W,
    ) -> Option<u64>;

    /// Number of cells that are not zero.
    fn distinct(&self) -> usize;

    /// The largest weight.
    fn most(&self) -> W;

    /// The first cell of a range that is not zero.
    fn first_in(&self, range: Range<usize>) -> Option<(usize, W)>;

    /// The last cell of a range that is not zero.
    fn last_in(&self, range: Range<usize>) -> Option<(usize, W)>;

    /// As [`super::List::select`], over a range of cells.
    fn select(
        &self,
        range: Range<usize>,
        below: W,
        reached: &impl Fn(W) -> bool,
    ) -> Option<(usize, W)>;

    fn sum(&self, range: Range<usize>) -> W;
}

/// What a cell can be.
pub(super) trait Cell<W>: Copy + Debug + Default + PartialOrd + Into<W> {
    /// `None` when this type cannot hold the sum.
    fn plus(self, weight: W) -> Option<Self>;
}

/// Index of a length in cells that begin with length 0.
#[inline]
pub(super) fn index_of(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

impl<W: Weight, T: Cell<W>> Cells<W> for Box<[T]> {
    fn width(_: W) -> usize {
        size_of::<T>()
    }

    fn zeros(len: usize, _: usize) -> Self {
        vec![T::default(); len].into_boxed_slice()
    }

    fn widen(&mut self) {}

    fn heap_bytes(&self) -> usize {
        size_of_val(&**self)
    }

    fn copy_from(&mut self, start: usize, others: &Self) {
        self[start..start + others.len()].copy_from_slice(others);
    }

    #[inline]
    fn add(&mut self, index: usize, weight: W) -> bool {
        let Some(cell) = self.get_mut(index) else {
            return false;
        };
        let sum = cell.plus(weight);
        sum.map(|sum| *cell = sum).is_some()
    }

    #[inline]
    fn add_while(
        &mut self,
        sums: &mut [W],
        values: &mut impl Iterator<Item = u64>,
        weight: W,
    ) -> Option<u64> {
        values.find(|&value| {
            let index = index_of(value);
            if let Some(cell) = self.get_mut(index)
                && let Some(sum) = sums.get_mut(index >> BLOCK_BITS)
                && let Some(more) = cell.plus(weight)
            {
                *cell = more;
                *sum = sum.plus(weight);
                return false;
            }
            true
        })
    }

    fn distinct(&self) -> usize {
        // Checked addition would keep it from being SIMD.
        let row = |cells: &[T]| {
            let ones = cells.iter().map(|&cell| u32::from(cell != T::default()));
            ones.fold(0, u32::wrapping_add) as usize
        };
        self.chunks(BLOCK).map(row).sum()
    }

    fn most(&self) -> W {
        most(self.iter().copied()).into()
    }

    fn first_in(&self, range: Range<usize>) -> Option<(usize, W)> {
        let mut cells = range.clone().zip(&self[range]);
        let (index, &cell) = cells.find(|entry| *entry.1 != T::default())?;
        Some((index, cell.into()))
    }

    fn last_in(&self, range: Range<usize>) -> Option<(usize, W)> {
        let mut cells = range.clone().zip(&self[range]).rev();
        let (index, &cell) = cells.find(|entry| *entry.1 != T::default())?;
        Some((index, cell.into()))
    }

    fn select(
        &self,
        range: Range<usize>,
        below: W,
        reached: &impl Fn(W) -> bool,
    ) -> Option<(usize, W)> {
        let (passed, mut through) = pass(&self[range.clone()], below, reached);
        for index in range.start + passed..range.end {
            let cell = self[index];
            through = through.plus(cell.into());
            if cell != T::default() && reached(through) {
                return Some((index, through));
            }
        }
        self.last_in(range).map(|(index, _)| (index, through))
    }

    fn sum(&self, range: Range<usize>) -> W {
        sum(&self[range])
    }
}

/// Passes over cells, many at a time, as long as `below` plus those up to there
/// has not `reached` the goal. Returns their number, and that sum.
pub(super) fn pass<W: Weight, T: Copy + Into<W>>(
    cells: &[T],
    below: W,
    reached: &impl Fn(W) -> bool,
) -> (usize, W) {
    const STRIDE: usize = 32;
    let mut through = below;
    for (index, stride) in cells.chunks(STRIDE).enumerate() {
        let end = through.plus(sum(stride));
        if reached(end) {
            return (index * STRIDE, through);
        }
        through = end;
    }
    (cells.len(), through)
}

/// Sum in eight lanes, which compiles to SIMD.
fn sum<W: Weight, T: Copy + Into<W>>(cells: &[T]) -> W {
    let (rows, rest) = cells.as_chunks::<8>();
    let mut lanes = [W::default(); 8];
    for row in rows {
        for (lane, &cell) in lanes.iter_mut().zip(row) {
            *lane = lane.plus(cell.into());
        }
    }
    let rest = rest.iter().map(|&cell| cell.into());
    lanes.into_iter().chain(rest).fold(W::default(), W::plus)
}
