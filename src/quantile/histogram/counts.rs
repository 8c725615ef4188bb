//! Counts: [`Histogram`] of `u64`, in as few bytes as they need.

use super::blocks::Blocks;
use super::{BLOCK, Block, Histogram, List, Weight, grow};

/// Bytes that a distinct length may take in a dense block.
const DENSE_BYTES_PER_LENGTH: usize = 12;

impl Weight for u64 {
    type List = CountList;
    type Block = CountBlock;
}

impl Histogram<u64> {
    /// Takes one count of `value` away; `false` when there is none.
    pub fn remove(&mut self, value: u64) -> bool {
        match self {
            Self::List(list) => list.remove(value),
            Self::Blocks(blocks) => Blocks::remove(blocks, value),
        }
    }
}

/// Lengths with counts: 8 bytes an entry while the widest length and the
/// widest count share 64 bits, 16 beyond.
#[derive(Debug, Clone)]
pub(crate) enum CountList {
    /// `length << shift | count`.
    Packed {
        entries: Vec<u64>,
        shift: u32,
    },
    Wide(Vec<(u64, u64)>),
}

impl Default for CountList {
    fn default() -> Self {
        Self::Packed {
            entries: Vec::new(),
            shift: u32::BITS,
        }
    }
}

/// Bits of `number`; 1 for 0, so that a shift never takes all 64.
fn bits(number: u64) -> u32 {
    u64::BITS - (number | 1).leading_zeros()
}

impl CountList {
    /// Whether `length` with `count` can be packed.
    fn fits(length: u64, count: u64, shift: u32) -> bool {
        count >> shift == 0 && length.leading_zeros() >= shift
    }

    /// Makes room for a wider length or count.
    fn widen(&mut self, length: u64, count: u64) {
        let (length, count) = self.iter().fold((length, count), |widest, entry| {
            (widest.0.max(entry.0), widest.1.max(entry.1))
        });
        *self = if bits(length) + bits(count) <= u64::BITS {
            let shift = u64::BITS - bits(length);
            Self::Packed {
                entries: self.iter().map(|(v, c)| v << shift | c).collect(),
                shift,
            }
        } else {
            Self::Wide(self.iter().collect())
        };
    }

    fn count_at(&self, index: usize, value: u64) -> u64 {
        if index < self.len() && self.entry(index).0 == value {
            self.entry(index).1
        } else {
            0
        }
    }

    pub(super) fn remove(&mut self, value: u64) -> bool {
        let index = self.lower_bound(value);
        match (self.count_at(index, value), self) {
            (0, _) => return false,
            (1, Self::Packed { entries, .. }) => {
                entries.remove(index);
            }
            (1, Self::Wide(entries)) => {
                entries.remove(index);
            }
            (_, Self::Packed { entries, .. }) => entries[index] -= 1,
            (_, Self::Wide(entries)) => entries[index].1 -= 1,
        }
        true
    }
}

impl List<u64> for CountList {
    fn len(&self) -> usize {
        match self {
            Self::Packed { entries, .. } => entries.len(),
            Self::Wide(entries) => entries.len(),
        }
    }

    fn entry(&self, index: usize) -> (u64, u64) {
        match self {
            Self::Packed { entries, shift } => {
                (entries[index] >> shift, entries[index] & ((1 << shift) - 1))
            }
            Self::Wide(entries) => entries[index],
        }
    }

    fn lower_bound(&self, value: u64) -> usize {
        match self {
            Self::Packed { entries, shift } => entries.partition_point(|e| e >> shift < value),
            Self::Wide(entries) => entries.partition_point(|entry| entry.0 < value),
        }
    }

    fn add(&mut self, value: u64, count: u64) {
        let index = self.lower_bound(value);
        let before = self.count_at(index, value);
        // The caller keeps the sum of all counts within u64.
        let after = before + count;
        if let Self::Packed { shift, .. } = *self
            && !Self::fits(value, after, shift)
        {
            self.widen(value, after);
        }
        match self {
            Self::Packed { entries, shift } => {
                let entry = value << *shift | after;
                if before > 0 {
                    entries[index] = entry;
                } else {
                    grow(entries);
                    entries.insert(index, entry);
                }
            }
            Self::Wide(entries) if before > 0 => entries[index].1 = after,
            Self::Wide(entries) => {
                grow(entries);
                entries.insert(index, (value, after));
            }
        }
    }

    fn split_off(&mut self, at: usize) -> Self {
        fn split<T: Clone>(entries: &mut Vec<T>, at: usize) -> Vec<T> {
            let right = entries[at..].to_vec();
            entries.truncate(at);
            entries.shrink_to_fit();
            right
        }
        match self {
            Self::Packed { entries, shift } => Self::Packed {
                entries: split(entries, at),
                shift: *shift,
            },
            Self::Wide(entries) => Self::Wide(split(entries, at)),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Packed { entries, .. } => entries.capacity() * size_of::<u64>(),
            Self::Wide(entries) => entries.capacity() * size_of::<(u64, u64)>(),
        }
    }
}

/// Counts of the lengths of a block, in the form that suits them: a list while
/// they are few, then an array of the narrowest cells that take at most
/// [`DENSE_BYTES_PER_LENGTH`].
#[derive(Debug, Clone)]
pub(crate) enum CountBlock {
    Sparse(CountList),
    Bytes(Box<Bytes>),
    Words(Box<[u32; BLOCK]>),
    Wide(Box<[u64; BLOCK]>),
}

/// Cells of a byte, with the number of those that are not zero.
#[derive(Debug, Clone)]
pub(crate) struct Bytes {
    cells: [u8; BLOCK],
    distinct: usize,
}

impl Default for CountBlock {
    fn default() -> Self {
        Self::Sparse(CountList::default())
    }
}

/// Whether cells of type `T` pay for `distinct` lengths in a block.
const fn pays<T>(distinct: usize) -> bool {
    BLOCK * size_of::<T>() <= DENSE_BYTES_PER_LENGTH * distinct
}

/// Whether `distinct` is the least number of lengths that some cells pay for.
fn starts_to_pay(distinct: usize) -> bool {
    let starts = |pays: fn(usize) -> bool| pays(distinct) && !pays(distinct - 1);
    starts(pays::<u8>) || starts(pays::<u32>) || starts(pays::<u64>)
}

impl CountBlock {
    fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let entry = self.first_from(from)?;
            from = entry.0 + 1;
            Some(entry)
        })
    }

    /// Chooses the form anew, with room for cells up to `count`.
    #[cold]
    fn reshape(&mut self, count: u64) {
        let (distinct, most) = self
            .iter()
            .fold((0, count), |(distinct, most), (_, count)| {
                (distinct + 1, most.max(count))
            });
        *self = if pays::<u32>(distinct) && u32::try_from(most).is_ok() {
            Self::Words(self.to_cells())
        } else if pays::<u8>(distinct) && u8::try_from(most).is_ok() {
            Self::Bytes(Box::new(Bytes {
                cells: *self.to_cells(),
                distinct,
            }))
        } else if pays::<u64>(distinct) {
            Self::Wide(self.to_cells())
        } else if let Self::Sparse(_) = self {
            return;
        } else {
            let mut list = CountList::default();
            self.iter()
                .for_each(|(offset, count)| list.add(offset as u64, count));
            Self::Sparse(list)
        };
    }

    fn to_cells<T: Copy + Default + TryFrom<u64>>(&self) -> Box<[T; BLOCK]> {
        let mut cells = Box::new([T::default(); BLOCK]);
        for (offset, count) in self.iter() {
            // `reshape` has checked that every count fits.
            cells[offset] = T::try_from(count).unwrap_or_default();
        }
        cells
    }

    pub(super) fn remove(&mut self, offset: usize) -> bool {
        fn less<T: Copy + From<u8> + PartialEq + std::ops::SubAssign>(cell: &mut T) -> bool {
            let any = *cell != T::from(0);
            if any {
                *cell -= T::from(1);
            }
            any
        }
        match self {
            Self::Sparse(list) => list.remove(offset as u64),
            Self::Bytes(bytes) => {
                bytes.distinct -= usize::from(bytes.cells[offset] == 1);
                less(&mut bytes.cells[offset])
            }
            Self::Words(cells) => less(&mut cells[offset]),
            Self::Wide(cells) => less(&mut cells[offset]),
        }
    }
}

impl Block<u64> for CountBlock {
    #[inline]
    fn add_fast(&mut self, offset: usize, count: u64) -> bool {
        let Self::Words(cells) = self else {
            return false;
        };
        let Ok(sum) = u32::try_from(u64::from(cells[offset]) + count) else {
            return false;
        };
        cells[offset] = sum;
        true
    }

    fn add(&mut self, offset: usize, count: u64) {
        match self {
            Self::Sparse(list) => {
                let before = list.len();
                list.add(offset as u64, count);
                if list.len() > before && starts_to_pay(list.len()) {
                    self.reshape(0);
                }
            }
            Self::Bytes(bytes) => {
                let cell = &mut bytes.cells[offset];
                let Ok(sum) = u8::try_from(u64::from(*cell) + count) else {
                    let sum = u64::from(*cell) + count;
                    self.reshape(sum);
                    return self.add(offset, count);
                };
                bytes.distinct += usize::from(*cell == 0);
                *cell = sum;
                if pays::<u32>(bytes.distinct) {
                    self.reshape(0);
                }
            }
            Self::Words(cells) => {
                let sum = u64::from(cells[offset]) + count;
                match u32::try_from(sum) {
                    Ok(sum) => cells[offset] = sum,
                    Err(_) => {
                        self.reshape(sum);
                        self.add(offset, count);
                    }
                }
            }
            Self::Wide(cells) => cells[offset] += count,
        }
    }

    fn first_from(&self, offset: usize) -> Option<(usize, u64)> {
        fn first<T: Copy + Into<u64>>(cells: &[T], from: usize) -> Option<(usize, u64)> {
            let mut counts = cells.iter().map(|&cell| cell.into()).enumerate().skip(from);
            counts.find(|&(_, count)| count > 0)
        }
        match self {
            Self::Sparse(list) => list
                .first_from(offset as u64)
                .map(|(offset, count)| (to_offset(offset), count)),
            Self::Bytes(bytes) => first(&bytes.cells, offset),
            Self::Words(cells) => first(&cells[..], offset),
            Self::Wide(cells) => first(&cells[..], offset),
        }
    }

    fn select(&self, below: u64, reached: &impl Fn(u64) -> bool) -> Option<(usize, u64)> {
        match self {
            Self::Sparse(list) => list
                .select(below, reached)
                .map(|(offset, through)| (to_offset(offset), through)),
            Self::Bytes(bytes) => select(&bytes.cells, below, reached),
            Self::Words(cells) => select(&cells[..], below, reached),
            Self::Wide(cells) => select(&cells[..], below, reached),
        }
    }

    fn weight_through(&self, offset: usize) -> u64 {
        match self {
            Self::Sparse(list) => list.weight_through(offset as u64),
            Self::Bytes(bytes) => sum(&bytes.cells[..=offset]),
            Self::Words(cells) => sum(&cells[..=offset]),
            Self::Wide(cells) => sum(&cells[..=offset]),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Sparse(list) => list.heap_bytes(),
            Self::Bytes(_) => size_of::<Bytes>(),
            Self::Words(_) => size_of::<[u32; BLOCK]>(),
            Self::Wide(_) => size_of::<[u64; BLOCK]>(),
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "an offset is below BLOCK")]
fn to_offset(length: u64) -> usize {
    length as usize
}

fn sum<T: Copy + Into<u64>>(cells: &[T]) -> u64 {
    cells.iter().map(|&cell| cell.into()).sum()
}

/// [`List::select`] over cells, some of which may be zero.
fn select<T: Copy + Into<u64>>(
    cells: &[T],
    below: u64,
    reached: &impl Fn(u64) -> bool,
) -> Option<(usize, u64)> {
    const STRIDE: usize = 32;
    let mut through = below;
    for (stride, cells) in cells.chunks_exact(STRIDE).enumerate() {
        if !reached(through + sum(cells)) {
            through += sum(cells);
            continue;
        }
        for (index, &cell) in cells.iter().enumerate() {
            through += cell.into();
            if reached(through) {
                return Some((stride * STRIDE + index, through));
            }
        }
    }
    None
}
