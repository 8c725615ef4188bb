//! One Python object per sample: a list, a tuple, or a NumPy array of objects.

use std::ops::Range;

use numpy::{PyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::arrays::{Array, addresses_of, object_at};
use super::errors::wrong_type;
use super::masked::check_unmasked;
use crate::Error;
use crate::column::check_len;
use crate::keys::Run;

/// Runs `$body` with `$address` bound to what tells where the object at an index
/// lies; null for none. One body for each kind of sequence: which it is would
/// else be asked for each sample.
macro_rules! addresses {
    ($objects:expr, $address:ident => $body:expr) => {
        match $objects {
            Objects::List(list) => {
                // SAFETY: the sequence is alive, the GIL is held, and the index is
                // checked.
                let $address =
                    |index| unsafe { ffi::PyList_GetItem(list.as_ptr(), index as isize) };
                $body
            }
            Objects::Tuple(tuple) => {
                // SAFETY: as above.
                let $address =
                    |index| unsafe { ffi::PyTuple_GetItem(tuple.as_ptr(), index as isize) };
                $body
            }
            Objects::Array(array) => {
                let $address = addresses_of(array);
                $body
            }
        }
    };
}

/// Gives numbers to the objects of a batch. It must run no Python code, and what
/// it keeps of them must be gone when they have been read.
///
/// A trait, so that an implementation can be inlined into the loop over the
/// samples.
pub(super) trait Numbering<'a, 'py> {
    type Flaw;

    /// The number of an object; asked once or a few times for each.
    fn number(&mut self, object: Borrowed<'a, 'py, PyAny>) -> Result<u32, Self::Flaw>;
}

pub(super) enum Objects<'py> {
    List(Bound<'py, PyList>),
    Tuple(Bound<'py, PyTuple>),
    Array(Bound<'py, PyArray1<Py<PyAny>>>),
}

impl<'py> Objects<'py> {
    pub fn new(
        argument: &'static str,
        object: &Bound<'py, PyAny>,
        samples: usize,
        expected: &str,
    ) -> PyResult<Self> {
        let objects = if let Ok(list) = object.cast::<PyList>() {
            Self::List(list.clone())
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            Self::Tuple(tuple.clone())
        } else if let Ok(array) = object.cast::<PyArray1<Py<PyAny>>>() {
            check_unmasked(argument, object)?;
            Self::Array(array.clone())
        } else if object.cast::<PyUntypedArray>().is_ok() {
            // An array of str: NumPy makes the objects, of no more than are wanted.
            let array = Array::new(argument, object)?;
            check_len(argument, array.len(), samples)?;
            let list = array.to_list();
            Self::List(list.map_err(|error| not_unicode(argument, &array).unwrap_or(error))?)
        } else {
            return Err(wrong_type(argument, None, object, expected));
        };
        check_len(argument, objects.len(), samples)?;
        Ok(objects)
    }

    pub fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Tuple(tuple) => tuple.len(),
            Self::Array(array) => array.len(),
        }
    }

    pub fn get(&self, index: usize) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::List(list) => list.get_item(index),
            Self::Tuple(tuple) => tuple.get_item(index),
            Self::Array(array) => Ok(object_at(array, index)),
        }
    }

    /// Appends the runs of one number among these samples to `runs`. A flaw comes
    /// with the sample that has it.
    #[allow(
        unsafe_code,
        clippy::cast_possible_wrap,
        reason = "counting references would take longer than all else; an index of a sequence"
    )]
    pub fn read<'a, E>(
        &'a self,
        samples: Range<usize>,
        numbers: impl Numbering<'a, 'py, Flaw = E>,
        runs: &mut Vec<Run>,
    ) -> Result<(), (usize, E)> {
        let py = self.py();
        addresses!(self, address => scan(py, samples, numbers, runs, address))
    }

    fn py(&self) -> Python<'py> {
        match self {
            Self::List(list) => list.py(),
            Self::Tuple(tuple) => tuple.py(),
            Self::Array(array) => array.py(),
        }
    }

    /// The bits of the integers that the objects are, all of them plain `int`
    /// and of at most 64 bits; else `None`.
    #[allow(
        unsafe_code,
        clippy::cast_possible_wrap,
        reason = "no safe way tells a plain int from what runs Python code; an index of a sequence"
    )]
    pub fn plain_integers(&self) -> Option<Vec<u64>> {
        let integer = |object: *mut ffi::PyObject| {
            let mut overflow = 0;
            // SAFETY: the sequence keeps the object alive; reading a plain int
            // runs no Python code that could change the sequence.
            let number = unsafe {
                if object.is_null() || ffi::PyLong_CheckExact(object) == 0 {
                    return None;
                }
                ffi::PyLong_AsLongLongAndOverflow(object, &raw mut overflow)
            };
            (overflow == 0).then_some(number.cast_unsigned())
        };
        addresses!(self, address => (0..self.len()).map(|i| integer(address(i))).collect())
    }
}

/// The refusal of an array of which NumPy cannot make objects: a single number
/// beyond the last code point is not even a `str` that is no Unicode.
#[cold]
fn not_unicode(argument: &'static str, array: &Array<'_>) -> Option<PyErr> {
    let bad = |index: &usize| array.as_any().get_item(*index).is_err();
    let index = (0..array.len()).find(bad)?;
    let (value, expected) = ("a str beyond Unicode", "valid Unicode");
    Some(Error::value_at(argument, index, value, expected).into())
}

/// [`Objects::read`], given where the object of each sample lies; null for none.
#[inline]
#[allow(
    unsafe_code,
    reason = "counting references would take longer than all else"
)]
fn scan<'a, 'py: 'a, E>(
    py: Python<'py>,
    samples: Range<usize>,
    mut numbers: impl Numbering<'a, 'py, Flaw = E>,
    runs: &mut Vec<Run>,
    address: impl Fn(usize) -> *mut ffi::PyObject,
) -> Result<(), (usize, E)> {
    let mut push = |id, samples: Range<usize>| {
        if !samples.is_empty() {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a batch has less than 2^32 samples"
            )]
            let len = samples.len() as u32;
            runs.push(Run { id, len });
        }
    };
    let mut known = Known::new(samples.len());
    let mut last = NOWHERE;
    // The run that goes on: an empty one, before the first sample.
    let (mut id, mut start) = (0, samples.start);
    for sample in samples.clone() {
        let object = address(sample);
        if object as usize == last {
            continue;
        }
        last = object as usize;
        let next = if let Some(known) = known.get(last) {
            known
        } else {
            // SAFETY: None, or an object that the sequence keeps alive: no Python
            // code runs before `numbers` is gone.
            let object = unsafe {
                let none = ffi::Py_None();
                Borrowed::from_ptr(py, if object.is_null() { none } else { object })
            };
            let new = numbers.number(object).map_err(|flaw| (sample, flaw))?;
            known.add(last, new);
            new
        };
        if next != id {
            push(id, start..sample);
            (id, start) = (next, sample);
        }
    }
    push(id, start..samples.end);
    Ok(())
}

/// An address where no object is.
const NOWHERE: usize = usize::MAX;

/// Numbers of objects that were there a while ago. The sequence keeps its
/// objects alive, so within a call one address is one object; the responses to
/// a prompt usually share it.
///
/// It begins small, for a few datasets. Where there are more objects, it makes
/// room for half the samples, and where hardly any comes again, it gives up.
struct Known {
    pairs: Vec<Pair>,
    /// Of the hash of an address: what is left is the index of its pair.
    shift: u32,
    /// How many more objects may be new before something changes.
    patience: usize,
    /// What patience grows by where an object was known.
    reward: usize,
    samples: usize,
}

/// Two objects, the later one first.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Pair {
    addresses: [usize; 2],
    ids: [u32; 2],
}

impl Pair {
    const NONE: Self = Self {
        addresses: [NOWHERE; 2],
        ids: [0; 2],
    };
}

impl Known {
    /// Bits of an index while it is small.
    const FEW: u32 = 6;

    fn new(samples: usize) -> Self {
        Self {
            pairs: vec![Pair::NONE; 1 << Self::FEW],
            shift: u64::BITS - Self::FEW,
            patience: 96,
            reward: 0,
            samples,
        }
    }

    /// When patience is at its end.
    #[cold]
    fn grow_or_give_up(&mut self) {
        let bits = self.samples.clamp(64, 8192).ilog2() - 2;
        if self.reward == 0 && bits > Self::FEW {
            *self = Self {
                pairs: vec![Pair::NONE; 1 << bits],
                shift: u64::BITS - bits,
                patience: 512,
                reward: 4,
                samples: self.samples,
            };
        }
    }

    /// Where an object is, if anywhere.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "a few bits are left")]
    fn place(&self, address: usize) -> usize {
        // The upper bits of a product with the golden ratio: addresses are
        // multiples of 16, or of whatever size the objects have.
        ((address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    #[inline]
    fn get(&mut self, address: usize) -> Option<u32> {
        if self.patience == 0 {
            return None;
        }
        let pair = &self.pairs[self.place(address)];
        let id = if pair.addresses[0] == address {
            pair.ids[0]
        } else if pair.addresses[1] == address {
            pair.ids[1]
        } else {
            return None;
        };
        self.patience += self.reward;
        Some(id)
    }

    /// What [`Self::get`] did not find.
    #[inline]
    fn add(&mut self, address: usize, id: u32) {
        if self.patience == 0 {
            return;
        }
        let place = self.place(address);
        let pair = &mut self.pairs[place];
        pair.addresses = [address, pair.addresses[0]];
        pair.ids = [id, pair.ids[0]];
        self.patience -= 1;
        if self.patience == 0 {
            self.grow_or_give_up();
        }
    }
}
