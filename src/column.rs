//! How a batch comes in: columns that are read where they lie.

use crate::error::Result;
use crate::quantile::MAX_LENGTH;

/// A column of numbers; a slice, or a view with strides into somebody's array.
pub trait Column<T> {
    /// Number of samples.
    fn len(&self) -> usize;

    /// Whether there is no sample.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of sample `index`, which must be `< len()`.
    fn get(&self, index: usize) -> T;

    /// Copies the values of the samples from `start` on into `out`.
    fn read(&self, start: usize, out: &mut [T]);

    /// The values of `room.len()` samples from `start` on: in place where they
    /// lie together, else copied into `room`.
    #[inline]
    fn block<'a>(&'a self, start: usize, room: &'a mut [T]) -> &'a [T] {
        self.read(start, room);
        room
    }
}

impl<T: Copy> Column<T> for [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    fn get(&self, index: usize) -> T {
        self[index]
    }

    #[inline]
    fn read(&self, start: usize, out: &mut [T]) {
        out.copy_from_slice(&self[start..start + out.len()]);
    }

    #[inline]
    fn block<'a>(&'a self, start: usize, room: &'a mut [T]) -> &'a [T] {
        &self[start..start + room.len()]
    }
}

/// The lengths of a batch in generated tokens, one per sample.
pub trait Lengths {
    /// What the caller calls this column, for messages.
    fn argument(&self) -> &'static str {
        "lengths"
    }

    /// Number of samples.
    fn len(&self) -> usize;

    /// Whether there is no sample.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the lengths of the samples from `start` on into `out`.
    ///
    /// # Errors
    /// [`crate::Error::Value`] with the index of a length that is not in
    /// `0..=2^53`.
    fn read(&self, start: usize, out: &mut [u64]) -> Result<()>;
}

impl Lengths for Vec<u64> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn read(&self, start: usize, out: &mut [u64]) -> Result<()> {
        Lengths::read(&self.as_slice(), start, out)
    }
}

impl Lengths for &[u64] {
    fn len(&self) -> usize {
        <[u64]>::len(self)
    }

    fn read(&self, start: usize, out: &mut [u64]) -> Result<()> {
        for ((index, slot), &length) in (start..).zip(out).zip(&self[start..]) {
            if length > MAX_LENGTH {
                return Err(bad_length(self.argument(), index, length));
            }
            *slot = length;
        }
        Ok(())
    }
}

/// A column has as many samples as there are scores.
pub(crate) fn check_len(argument: &'static str, len: usize, expected: usize) -> Result<()> {
    if len == expected {
        return Ok(());
    }
    Err(crate::Error::Length {
        argument,
        len,
        reference: "scores",
        expected,
    })
}

/// The refusal of one length.
pub(crate) fn bad_length(
    argument: &'static str,
    index: usize,
    length: impl std::fmt::Display,
) -> crate::Error {
    crate::Error::value_at(argument, index, length, "a length in 0..=2**53")
}
