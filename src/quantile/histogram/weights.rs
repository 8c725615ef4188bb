//! Weights that decay: [`Histogram`] of `f64`.

use super::cells::Cell;
use super::packed::{grow, split_off};
use super::{Histogram, List, Weight};

impl Weight for f64 {
    type List = WeightList;
    type Cells = Box<[f64]>;

    /// An entry of a list takes 16, a cell 8.
    const BYTES_PER_LENGTH: usize = 48;
    const EXACT: bool = false;

    #[inline]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[allow(clippy::cast_precision_loss, reason = "runs are added one by one")]
    fn times(self, n: u64) -> Self {
        self * n as f64
    }

    fn to_f64(self) -> f64 {
        self
    }
}

impl Cell<f64> for f64 {
    #[inline]
    fn plus(self, weight: f64) -> Option<Self> {
        Some(self + weight)
    }
}

impl Histogram<f64> {
    /// Multiplies all weights by a power of two in `0..=1`. What falls below
    /// the normal numbers is gone, so nothing is ever rounded. Sums are taken
    /// anew, so that the rounding of many additions does not pile up in them.
    pub fn scale(&mut self, factor: f64) {
        match self {
            Self::List(list) => list.scale(factor),
            Self::Blocks(blocks) => blocks.scale(factor),
        }
        if self.first_from(0).is_none() {
            *self = Self::default();
        }
    }
}

/// See [`Histogram::scale`].
pub(super) fn scaled(weight: f64, factor: f64) -> f64 {
    let scaled = weight * factor;
    if scaled < f64::MIN_POSITIVE {
        0.0
    } else {
        scaled
    }
}

/// Lengths with weights, 16 bytes an entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct WeightList(Vec<(u64, f64)>);

impl WeightList {
    pub(super) fn scale(&mut self, factor: f64) {
        self.0.retain_mut(|(_, weight)| {
            *weight = scaled(*weight, factor);
            *weight > 0.0
        });
    }
}

impl List<f64> for WeightList {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn entry(&self, index: usize) -> (u64, f64) {
        self.0[index]
    }

    fn lower_bound(&self, value: u64) -> usize {
        self.0.partition_point(|entry| entry.0 < value)
    }

    fn add(&mut self, value: u64, weight: f64) {
        let index = self.lower_bound(value);
        match self.0.get_mut(index) {
            Some(entry) if entry.0 == value => entry.1 += weight,
            _ => {
                grow(&mut self.0);
                self.0.insert(index, (value, weight));
            }
        }
    }

    fn from_entries(entries: &[(u64, f64)]) -> Self {
        Self(entries.to_vec())
    }

    fn split_off(&mut self, at: usize) -> Self {
        Self(split_off(&mut self.0, at))
    }

    fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u64, f64)>()
    }
}
