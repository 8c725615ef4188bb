//! How a batch comes in: columns that are read where they lie.

use std::ops::Range;

use crate::error::Result;

/// Lengths up to 2^53: every one of them is exact as an `f64`.
pub const MAX_LENGTH: u64 = 1 << 53;

/// Samples that are looked at in one go: large enough to be fast, small
/// enough that a batch of any size needs little memory beside it.
pub(crate) const CHUNK: usize = 1 << 15;

/// Ranges of `size` samples that cover a batch, the last one with the rest.
pub(crate) fn chunks(samples: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = (0..samples).step_by(size);
    starts.map(move |start| start..samples.min(start + size))
}

/// A column of numbers; a slice, or a view with strides into somebody's array.
pub trait Column<T> {
    /// Number of samples.
    fn len(&self) -> usize;

    /// Whether there is no sample.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of some samples: in place where they lie together, else
    /// copied into `room`.
    fn block<'a>(&'a self, samples: Range<usize>, room: &'a mut Vec<T>) -> &'a [T];
}

impl<T: Copy> Column<T> for [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn block<'a>(&'a self, samples: Range<usize>, _: &'a mut Vec<T>) -> &'a [T] {
        &self[samples]
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

    /// Looks at all of them, before anything else is done with them.
    ///
    /// # Errors
    /// [`crate::Error::Value`] with the index of a length that is not in
    /// `0..=2^53`.
    fn check(&self) -> Result<()>;

    /// The lengths of some samples, [checked](Self::check) before: in place
    /// where they lie together as `u64`, else copied into `room`.
    fn block<'a>(&'a self, samples: Range<usize>, room: &'a mut Vec<u64>) -> &'a [u64];
}

impl Lengths for Vec<u64> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn check(&self) -> Result<()> {
        Lengths::check(&self.as_slice())
    }

    fn block<'a>(&'a self, samples: Range<usize>, _: &'a mut Vec<u64>) -> &'a [u64] {
        &self[samples]
    }
}

impl Lengths for &[u64] {
    fn len(&self) -> usize {
        <[u64]>::len(self)
    }

    fn check(&self) -> Result<()> {
        check_block(self, |length| length)
            .map_err(|index| bad_length(self.argument(), index, self[index]))
    }

    fn block<'a>(&'a self, samples: Range<usize>, _: &'a mut Vec<u64>) -> &'a [u64] {
        &self[samples]
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

/// Refuses a batch whose samples cannot be numbered by a `u32`.
pub(crate) fn check_samples(argument: &'static str, samples: usize) -> Result<()> {
    if u32::try_from(samples).is_ok() {
        return Ok(());
    }
    let value = format_args!("{samples} samples");
    Err(crate::Error::value(argument, value, "fewer than 2**32"))
}

/// Index of the first of these that is no length; `bits` are those of an
/// integer, with its sign extended.
pub(crate) fn check_block<T: Copy>(block: &[T], bits: impl Fn(T) -> u64) -> Result<(), usize> {
    // One bit pattern for all is SIMD; a search stops the loop from being that.
    if block.iter().fold(0, |all, &n| all | bits(n)) <= MAX_LENGTH {
        return Ok(());
    }
    match block.iter().position(|&n| bits(n) > MAX_LENGTH) {
        Some(index) => Err(index),
        None => Ok(()),
    }
}

/// The refusal of one length.
pub(crate) fn bad_length(
    argument: &'static str,
    index: usize,
    length: impl std::fmt::Display,
) -> crate::Error {
    crate::Error::value_at(argument, index, length, "a length in 0..=2**53")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_numbered_by_32_bits() {
        let most = u32::MAX as usize;
        assert_eq!(check_samples("scores", most), Ok(()));
        let refusal = check_samples("scores", most + 1).map_err(|error| error.to_string());
        let expected = "scores: got 4294967296 samples, expected fewer than 2**32";
        assert_eq!(refusal, Err(expected.to_owned()));
    }
}
