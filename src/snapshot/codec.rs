//! How values are written down, and read back with care.
//!
//! A reader trusts nothing: no number makes it allocate, and each element that
//! it hands out has cost at least a byte of input.

use crate::choice::Choice;
use crate::error::{Error, Result};

/// An error that says what is wrong with the bytes.
pub(crate) fn invalid(what: impl Into<String>) -> Error {
    Error::Snapshot(what.into())
}

/// Bytes that grow.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// LEB128: seven bits a byte, the low ones first.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "seven bits at a time")]
    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A number that may be absent.
    pub(crate) fn option(&mut self, number: Option<u64>) {
        self.byte(number.is_some().into());
        if let Some(number) = number {
            self.number(number);
        }
    }

    /// One of a few values, as its position among them.
    pub(crate) fn choice(&mut self, choice: impl Choice) {
        self.byte(choice.position());
    }

    /// All 64 bits. -0.0 becomes the equal 0.0: equal objects, equal bytes.
    pub(crate) fn real(&mut self, real: f64) {
        self.0.extend_from_slice(&(real + 0.0).to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Lengths that do not descend: how many, and the steps between them.
    pub(crate) fn ascending(&mut self, lengths: &[u64]) {
        self.number(lengths.len() as u64);
        let mut last = 0;
        for &length in lengths {
            self.number(length - last);
            last = length;
        }
    }

    /// Values, strictly ascending, and how often each was seen.
    ///
    /// A token for each: the change of the count, zigzag coded so that small
    /// changes of either sign are small numbers, and a bit that says whether
    /// values were left out before it; then the number of those is next. In a
    /// histogram of lengths neighbours have like counts: a byte a value. The
    /// count 0 ends the list.
    pub(crate) fn counts(&mut self, counts: impl Iterator<Item = (u64, u64)>) {
        let (mut next, mut last) = (0, 0);
        for (value, count) in counts {
            let gap = value - next;
            self.number(zigzag(count, last) << 1 | u64::from(gap > 0));
            if gap > 0 {
                self.number(gap - 1);
            }
            (next, last) = (value + 1, count);
        }
        self.number(zigzag(0, last) << 1);
    }
}

/// Bytes that shrink.
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn finish(&self) -> Result<()> {
        match self.0.len() {
            0 => Ok(()),
            left => Err(invalid(format!("{left} bytes after the last value"))),
        }
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let taken = usize::try_from(len)
            .ok()
            .and_then(|len| self.0.split_at_checked(len));
        let (taken, rest) = taken.ok_or_else(|| invalid("a value is cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8> {
        let (&byte, rest) = self
            .0
            .split_first()
            .ok_or_else(|| invalid("a value is cut short"))?;
        self.0 = rest;
        Ok(byte)
    }

    /// See [`Writer::number`]; in the shortest form only.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                if byte == 0 && shift > 0 {
                    break;
                }
                return Ok(number);
            }
        }
        Err(invalid(
            "a number of more than 64 bits, or with leading zeros",
        ))
    }

    pub(crate) fn flag(&mut self) -> Result<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            byte => Err(invalid(format!("{byte} where 0 or 1 should be"))),
        }
    }

    pub(crate) fn option(&mut self) -> Result<Option<u64>> {
        self.flag()?.then(|| self.number()).transpose()
    }

    /// See [`Writer::choice`].
    pub(crate) fn choice<T: Choice>(&mut self) -> Result<T> {
        let byte = self.byte()?;
        let choice = T::ALL.get(usize::from(byte)).map(|&(_, choice)| choice);
        choice.ok_or_else(|| invalid(format!("there is no choice {byte}")))
    }

    /// A finite number.
    pub(crate) fn real(&mut self) -> Result<f64> {
        let mut bits = [0; 8];
        bits.copy_from_slice(self.take(8)?);
        let real = f64::from_le_bytes(bits);
        if real.is_finite() {
            Ok(real)
        } else {
            Err(invalid(format!("{real} where a finite number should be")))
        }
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        let len = self.number()?;
        let text = std::str::from_utf8(self.take(len)?);
        text.map_err(|_| invalid("a name that is not UTF-8"))
    }

    /// How many elements are next, each at least `bytes` long.
    pub(crate) fn len(&mut self, bytes: u64) -> Result<u64> {
        let len = self.number()?;
        if len
            .checked_mul(bytes)
            .is_some_and(|bytes| bytes <= self.0.len() as u64)
        {
            Ok(len)
        } else {
            Err(invalid(format!("{len} elements in {} bytes", self.0.len())))
        }
    }

    /// See [`Writer::ascending`].
    pub(crate) fn ascending(&mut self) -> Result<Vec<u64>> {
        let mut last = 0_u64;
        let lengths = (0..self.len(1)?).map(|_| {
            let step = self.number()?;
            last = last
                .checked_add(step)
                .ok_or_else(|| invalid("a length of more than 64 bits"))?;
            Ok(last)
        });
        lengths.collect()
    }

    /// Values and counts; see [`Writer::counts`].
    pub(crate) fn counts(&mut self) -> Counts<'_, 'a> {
        Counts {
            bytes: self,
            next: 0,
            last: 0,
            end: Ok(()),
        }
    }
}

/// Values and counts as they are read; they end where something is wrong.
pub(crate) struct Counts<'r, 'a> {
    bytes: &'r mut Reader<'a>,
    next: u64,
    last: u64,
    end: Result<()>,
}

impl Counts<'_, '_> {
    /// What was wrong where they ended.
    pub(crate) fn end(self) -> Result<()> {
        self.end
    }

    fn read(&mut self) -> Result<Option<(u64, u64)>> {
        let wide = || invalid("a length or a count of more than 64 bits");
        let token = self.bytes.number()?;
        let has_gap = token & 1 == 1;
        self.last = unzigzag(token >> 1, self.last).ok_or_else(wide)?;
        if self.last == 0 {
            return if has_gap {
                Err(invalid("a count of 0"))
            } else {
                Ok(None)
            };
        }
        let gap = if has_gap {
            self.bytes.number()?.checked_add(1)
        } else {
            Some(0)
        };
        let value = gap
            .and_then(|gap| self.next.checked_add(gap))
            .ok_or_else(wide)?;
        self.next = value.checked_add(1).ok_or_else(wide)?;
        Ok(Some((value, self.last)))
    }
}

impl Iterator for Counts<'_, '_> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        let entry = self.read();
        entry.unwrap_or_else(|error| {
            self.end = Err(error);
            None
        })
    }
}

/// 0, -1, 1, -2 ... as 0, 1, 2, 3 ...; both numbers are at most 2^53.
#[inline]
fn zigzag(number: u64, last: u64) -> u64 {
    let change = number.wrapping_sub(last).cast_signed();
    (change << 1 ^ change >> (i64::BITS - 1)).cast_unsigned()
}

/// The number that `zigzag` has made `code` of, unless it is out of range.
#[inline]
fn unzigzag(code: u64, last: u64) -> Option<u64> {
    let change = (code >> 1).cast_signed() ^ -(code & 1).cast_signed();
    last.checked_add_signed(change)
}
