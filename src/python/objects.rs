//! One Python object per sample: a list, a tuple, or a NumPy array of objects.

use std::ops::Range;

use numpy::{PyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::arrays::{Array, address_at, object_at};
use super::errors::wrong_type;
use super::masked::check_unmasked;
use crate::keys::{Run, push_run};

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
                let $address = |index| address_at(array, index);
                $body
            }
        }
    };
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
        expected: &str,
    ) -> PyResult<Self> {
        if let Ok(list) = object.cast::<PyList>() {
            Ok(Self::List(list.clone()))
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            Ok(Self::Tuple(tuple.clone()))
        } else if let Ok(array) = object.cast::<PyArray1<Py<PyAny>>>() {
            check_unmasked(argument, object)?;
            Ok(Self::Array(array.clone()))
        } else if object.cast::<PyUntypedArray>().is_ok() {
            // An array of str: NumPy makes the objects.
            Ok(Self::List(Array::new(argument, object)?.to_list()?))
        } else {
            Err(wrong_type(argument, None, object, expected))
        }
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

    /// Appends the runs of one object among these samples to `runs`, with the
    /// number that `number` gives to the object of a sample. It is asked once or
    /// a few times for an object, and must run no Python code.
    #[allow(
        unsafe_code,
        clippy::cast_possible_wrap,
        reason = "counting references would take longer than all else; an index of a sequence"
    )]
    pub fn read<E>(
        &self,
        samples: Range<usize>,
        mut number: impl FnMut(usize, &Bound<'py, PyAny>) -> Result<u32, E>,
        runs: &mut Vec<Run>,
    ) -> Result<(), E> {
        let none = self.py().None().into_bound(self.py());
        let number = |sample, address| {
            // SAFETY: null, or an object that the sequence keeps alive as long as
            // no Python code runs.
            let object = unsafe { Borrowed::from_ptr_or_opt(self.py(), address) };
            number(sample, &object.unwrap_or(none.as_borrowed()))
        };
        addresses!(self, address => scan(samples, number, runs, address))
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

/// [`Objects::read`], given where the object of each sample lies; null for none.
#[inline]
fn scan<E>(
    samples: Range<usize>,
    mut number: impl FnMut(usize, *mut ffi::PyObject) -> Result<u32, E>,
    runs: &mut Vec<Run>,
    address: impl Fn(usize) -> *mut ffi::PyObject,
) -> Result<(), E> {
    if samples.is_empty() {
        return Ok(());
    }
    // The sequence keeps its objects alive, so within this call one address
    // is one object; the responses to a prompt usually share it. A table of
    // cache lines, with room for half the samples.
    let bits = samples.len().clamp(64, 8192).ilog2() - 3;
    let mut lines = vec![[0_u64; 8]; 1 << bits];
    let first = runs.len();
    let mut at = samples.start;
    let mut following = address(at);
    while at < samples.end {
        let object = following;
        let mut next = at + 1;
        while next < samples.end {
            following = address(next);
            if following != object {
                break;
            }
            next += 1;
        }
        // The upper bits of a product with the golden ratio: addresses are
        // multiples of 16, or of whatever size the objects have.
        let hash = (object as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        #[allow(clippy::cast_possible_truncation, reason = "a few bits are left")]
        let (addresses, ids) = lines[(hash >> (u64::BITS - bits)) as usize].split_at_mut(4);
        // No early exit: at which of the four it would be is hard to foresee.
        let is_object = |found, (place, &known): (usize, &u64)| {
            if known == object as u64 { place } else { found }
        };
        let place = addresses.iter().enumerate().fold(usize::MAX, is_object);
        #[allow(clippy::cast_possible_truncation, reason = "it was a u32")]
        let id = match ids.get(place) {
            Some(&id) if !object.is_null() => id as u32,
            _ => {
                let new = number(at, object)?;
                addresses.rotate_right(1);
                addresses[0] = object as u64;
                ids.rotate_right(1);
                ids[0] = new.into();
                new
            }
        };
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a batch has less than 2^32 samples"
        )]
        let len = (next - at) as u32;
        push_run(runs, first, Run { id, len });
        at = next;
    }
    Ok(())
}
