//! A sorted list of lengths and counts.

use super::List;

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

/// Room for one more entry, in small steps: many keys have a few entries each.
///
/// For an odd number of entries, as malloc gives out 8 bytes more than a
/// multiple of 16: an even number of 8 bytes each would waste them.
pub(super) fn grow<T>(entries: &mut Vec<T>) {
    let len = entries.len();
    if len == entries.capacity() {
        let more = if len == 0 {
            3
        } else {
            (len / 8).next_multiple_of(2).max(2)
        };
        entries.reserve_exact(more);
    }
}

/// Cuts `entries` in two of just the capacity that they need.
pub(super) fn split_off<T: Clone>(entries: &mut Vec<T>, at: usize) -> Vec<T> {
    let right = entries[at..].to_vec();
    entries.truncate(at);
    entries.shrink_to_fit();
    right
}

impl CountList {
    /// Whether a length with a count can be packed.
    fn fits(length: u64, count: u64, shift: u32) -> bool {
        count >> shift == 0 && length.leading_zeros() >= shift
    }

    /// Takes `count`, at least 1, of `value` away; `false` when there are fewer.
    pub(super) fn remove(&mut self, value: u64, count: u64) -> bool {
        let index = self.lower_bound(value);
        let before = self.count_at(index, value);
        match self {
            _ if before < count => return false,
            Self::Packed { entries, .. } if before > count => entries[index] -= count,
            Self::Wide(entries) if before > count => entries[index].1 -= count,
            Self::Packed { entries, .. } => {
                entries.remove(index);
            }
            Self::Wide(entries) => {
                entries.remove(index);
            }
        }
        true
    }

    /// The count of `value`, whose lower bound is `index`.
    fn count_at(&self, index: usize, value: u64) -> u64 {
        if index == self.len() {
            return 0;
        }
        let (length, count) = self.entry(index);
        if length == value { count } else { 0 }
    }

    /// Takes the form that the entries need, and one more to come.
    fn widen(&mut self, length: u64, count: u64) {
        let (length, count) = self.iter().fold((length, count), |widest, entry| {
            (widest.0.max(entry.0), widest.1.max(entry.1))
        });
        *self = if bits(length) + bits(count) <= u64::BITS {
            let shift = u64::BITS - bits(length);
            let entries = self.iter().map(|(length, count)| length << shift | count);
            Self::Packed {
                entries: entries.collect(),
                shift,
            }
        } else {
            Self::Wide(self.iter().collect())
        };
    }

    #[cold]
    fn add_wide(&mut self, value: u64, count: u64) {
        let index = self.lower_bound(value);
        let before = self.count_at(index, value);
        if let Self::Packed { .. } = self {
            self.widen(value, before + count);
        }
        match self {
            Self::Packed { .. } => self.add(value, count),
            Self::Wide(entries) if before > 0 => entries[index].1 += count,
            Self::Wide(entries) => {
                grow(entries);
                entries.insert(index, (value, count));
            }
        }
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
                let entry = entries[index];
                (entry >> shift, entry & ((1 << shift) - 1))
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
        if let Self::Packed { entries, shift } = self
            && Self::fits(value, count, *shift)
        {
            let key = value << *shift;
            let index = entries.partition_point(|&entry| entry < key);
            match entries.get_mut(index) {
                Some(entry) if *entry >> *shift == value => {
                    if Self::fits(value, *entry - key + count, *shift) {
                        *entry += count;
                        return;
                    }
                }
                _ => {
                    grow(entries);
                    entries.insert(index, key | count);
                    return;
                }
            }
        }
        self.add_wide(value, count);
    }

    fn from_entries(entries: &[(u64, u64)]) -> Self {
        let mut list = Self::Wide(entries.to_vec());
        list.widen(0, 0);
        list
    }

    fn split_off(&mut self, at: usize) -> Self {
        match self {
            Self::Packed { entries, shift } => Self::Packed {
                entries: split_off(entries, at),
                shift: *shift,
            },
            Self::Wide(entries) => Self::Wide(split_off(entries, at)),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Packed { entries, .. } => entries.capacity() * size_of::<u64>(),
            Self::Wide(entries) => entries.capacity() * size_of::<(u64, u64)>(),
        }
    }
}
