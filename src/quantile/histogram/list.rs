//! A sorted list of lengths and counts.

use super::List;
use super::packed::{self, Packed, bits};

/// Lengths with counts: 4 bytes an entry while the longest length and the
/// largest count share 32 bits, 8 while they share 64, 16 beyond.
#[derive(Debug, Clone)]
pub(crate) enum CountList {
    Narrow(Packed<u32>),
    Broad(Packed<u64>),
    Wide(Packed<u128>),
}

impl Default for CountList {
    fn default() -> Self {
        // Lengths below 2^20 and counts below 2^12.
        Self::Narrow(Packed::new(12))
    }
}

/// Does the same with each kind of list.
macro_rules! each {
    ($self:expr, $packed:ident => $body:expr) => {
        match $self {
            CountList::Narrow($packed) => $body,
            CountList::Broad($packed) => $body,
            CountList::Wide($packed) => $body,
        }
    };
}

impl CountList {
    /// The lengths of a rank, counted from 0, and of the next one, of `total`.
    pub(in crate::quantile) fn at_rank(&self, rank: u64, total: u64) -> Option<(u64, u64)> {
        each!(self, packed => {
            let mut end = total;
            let mut next = None;
            // From the end, as budgets are high percentiles.
            for (length, count) in packed.iter().rev() {
                let begin = end.wrapping_sub(count);
                if begin <= rank {
                    let next = next.filter(|_| rank + 1 == end);
                    return Some((length, next.unwrap_or(length)));
                }
                (end, next) = (begin, Some(length));
            }
            None
        })
    }

    /// Takes `count`, at least 1, of `value` away; `false` when there are fewer.
    pub(super) fn remove(&mut self, value: u64, count: u64) -> bool {
        each!(self, packed => packed.remove(value, count))
    }

    #[cold]
    fn add_wider(&mut self, value: u64, count: u64) {
        let index = self.lower_bound(value);
        let mut entries: Vec<_> = self.iter().collect();
        match entries.get_mut(index) {
            Some(entry) if entry.0 == value => entry.1 += count,
            _ => entries.insert(index, (value, count)),
        }
        *self = Self::from_entries(&entries);
    }
}

impl List<u64> for CountList {
    const STEP: usize = packed::STEP;

    fn len(&self) -> usize {
        each!(self, packed => packed.len())
    }

    fn entry(&self, index: usize) -> (u64, u64) {
        each!(self, packed => packed.entry(index))
    }

    fn lower_bound(&self, value: u64) -> usize {
        each!(self, packed => packed.lower_bound(value))
    }

    fn add(&mut self, value: u64, count: u64) {
        if each!(self, packed => packed.add_some(&[value], count)) == 0 {
            self.add_wider(value, count);
        }
    }

    fn add_some(&mut self, values: &[u64], count: u64) {
        let done = each!(self, packed => packed.add_some(values, count));
        for &value in &values[done..] {
            self.add(value, count);
        }
    }

    fn from_entries(entries: &[(u64, u64)]) -> Self {
        let Some(&(longest, _)) = entries.last() else {
            return Self::default();
        };
        // 1 for a length of 0, so that a shift never takes all of an integer.
        let length = bits(longest).max(1);
        let count = bits(entries.iter().fold(0, |all, entry| all | entry.1));
        if length + count <= u32::BITS {
            Self::Narrow(Packed::of(entries, length))
        } else if length + count <= u64::BITS {
            Self::Broad(Packed::of(entries, length))
        } else {
            Self::Wide(Packed::of(entries, length))
        }
    }

    fn split_off(&mut self, at: usize) -> Self {
        match self {
            Self::Narrow(packed) => Self::Narrow(packed.split_off(at)),
            Self::Broad(packed) => Self::Broad(packed.split_off(at)),
            Self::Wide(packed) => Self::Wide(packed.split_off(at)),
        }
    }

    fn heap_bytes(&self) -> usize {
        each!(self, packed => packed.heap_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[(u64, u64)]) -> CountList {
        let mut list = CountList::default();
        for &(length, count) in entries {
            list.add(length, count);
        }
        list
    }

    #[test]
    fn entries_take_the_bytes_that_they_need() {
        const MAX: u64 = 1 << 53;
        for (entries, bytes) in [
            (&[(0, 1), (0xF_FFFF, 0xFFF)][..], 4),
            (&[(7, 0x1FFF_FFFF), (6, 1)], 4),
            (&[(7, 0x2000_0000), (6, 1)], 8),
            (&[(0x1F_FFFF, 0x7FF), (0xF_FFFF, 1)], 4),
            (&[(0x1F_FFFF, 1), (5, 0x800)], 8),
            (&[(u64::from(u32::MAX), 1), (0, 1)], 8),
            (&[(MAX, 0x3FF), (MAX - 1, 1)], 8),
            (&[(MAX, 0x400), (MAX - 1, 1)], 16),
            (&[(MAX, 1), (0, MAX)], 16),
        ] {
            let mut sorted = entries.to_vec();
            sorted.sort_unstable();
            for list in [of(entries), of(&sorted), CountList::from_entries(&sorted)] {
                let width = match &list {
                    CountList::Narrow(_) => 4,
                    CountList::Broad(_) => 8,
                    CountList::Wide(_) => 16,
                };
                assert_eq!(list.iter().collect::<Vec<_>>(), sorted);
                assert_eq!(width, bytes, "{list:?}");
            }
        }
    }
}
