//! Dataset keys from Python: a str, or a list or tuple of str.

use std::ops::Range;

use numpy::{PyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::arrays::{Array, address_at, object_at};
use super::errors::wrong_type;
use crate::Error;
use crate::keys::{DatasetKey, KeyRef, KeySource, Run, push_run};

/// An argument with one key per sample.
///
/// Reading it runs no Python code: nothing can change it, or wait for the lock
/// of the tracker, while a call is under way.
pub(super) struct PyKeys<'py> {
    argument: &'static str,
    keys: Keys<'py>,
}

enum Keys<'py> {
    List(Bound<'py, PyList>),
    Tuple(Bound<'py, PyTuple>),
    Array(Bound<'py, PyArray1<Py<PyAny>>>),
}

impl<'py> PyKeys<'py> {
    pub fn new(argument: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        const KEYS: &str = "a list, tuple or 1-D NumPy array with one key per sample";
        let keys = if let Ok(list) = object.cast::<PyList>() {
            Keys::List(list.clone())
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            Keys::Tuple(tuple.clone())
        } else if object.cast::<PyUntypedArray>().is_ok() {
            match object.cast::<PyArray1<Py<PyAny>>>() {
                Ok(array) => Keys::Array(array.clone()),
                // An array of str: NumPy makes the objects.
                Err(_) => Keys::List(Array::new(argument, object)?.to_list()?),
            }
        } else {
            return Err(wrong_type(argument, None, object, KEYS));
        };
        Ok(Self { argument, keys })
    }

    fn get(&self, index: usize) -> PyResult<Bound<'py, PyAny>> {
        match &self.keys {
            Keys::List(list) => list.get_item(index),
            Keys::Tuple(tuple) => tuple.get_item(index),
            Keys::Array(array) => Ok(object_at(array, index)),
        }
    }
}

impl KeySource for PyKeys<'_> {
    type Error = Refusal;

    fn len(&self) -> usize {
        match &self.keys {
            Keys::List(list) => list.len(),
            Keys::Tuple(tuple) => tuple.len(),
            Keys::Array(array) => array.len(),
        }
    }

    #[allow(
        unsafe_code,
        reason = "counting references would take longer than all else"
    )]
    fn read(
        &self,
        samples: Range<usize>,
        id: impl FnMut(KeyRef<'_>) -> u32,
        runs: &mut Vec<Run>,
    ) -> Result<(), Refusal> {
        #[allow(clippy::cast_possible_wrap, reason = "an index of a sequence")]
        match &self.keys {
            // SAFETY: the sequence is alive, the GIL is held, and it has not
            // changed since its length was compared with the batch's.
            Keys::List(list) => self.scan(samples, id, runs, |index| unsafe {
                ffi::PyList_GetItem(list.as_ptr(), index as isize)
            }),
            // SAFETY: as above.
            Keys::Tuple(tuple) => self.scan(samples, id, runs, |index| unsafe {
                ffi::PyTuple_GetItem(tuple.as_ptr(), index as isize)
            }),
            Keys::Array(array) => self.scan(samples, id, runs, |index| address_at(array, index)),
        }
    }
}

impl PyKeys<'_> {
    /// Reads keys, given where the object of each sample lies; null for none.
    #[inline]
    fn scan(
        &self,
        samples: Range<usize>,
        mut id: impl FnMut(KeyRef<'_>) -> u32,
        runs: &mut Vec<Run>,
        address: impl Fn(usize) -> *mut ffi::PyObject,
    ) -> Result<(), Refusal> {
        // The sequence keeps its objects alive, so within this call one address
        // is one key; the responses to a prompt usually share the object.
        const SLOTS: usize = 256;
        let mut recent = [(std::ptr::null_mut(), 0); SLOTS];
        let mut at = samples.start;
        while at < samples.end {
            let object = address(at);
            let mut next = at + 1;
            while next < samples.end && address(next) == object {
                next += 1;
            }
            // Objects are 16 bytes apart at least; those made together, by a few
            // times that.
            let address = object as usize / 16;
            let known = &mut recent[(address ^ (address / SLOTS)) % SLOTS];
            if known.0 != object || object.is_null() {
                let key = self.get(at).map_err(|_| Refusal::Key(at, Flaw::Kind))?;
                let number = read_key(&key, &mut id).map_err(|flaw| Refusal::Key(at, flaw))?;
                *known = (object, number);
            }
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a batch has less than 2^32 samples"
            )]
            push_run(
                runs,
                Run {
                    id: known.1,
                    len: (next - at) as u32,
                },
            );
            at = next;
        }
        Ok(())
    }
}

/// Why a batch was refused. Saying it in Python's words runs Python code (the
/// repr of the object), which must wait until no lock is held.
pub(super) enum Refusal {
    Core(Error),
    Key(usize, Flaw),
}

/// What is wrong with a key.
pub(super) enum Flaw {
    /// It is no str, list or tuple of str.
    Kind,
    /// A lone surrogate keeps a name from being UTF-8.
    Unicode,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl Refusal {
    /// The exception about the keys that were read.
    pub fn explain(self, keys: &PyKeys<'_>) -> PyErr {
        match self {
            Self::Core(error) => error.into(),
            Self::Key(index, flaw) => match keys.get(index) {
                Ok(object) => flaw.explain(keys.argument, Some(index), &object),
                Err(error) => error,
            },
        }
    }
}

impl Flaw {
    fn explain(
        self,
        argument: &'static str,
        index: Option<usize>,
        key: &Bound<'_, PyAny>,
    ) -> PyErr {
        match self {
            Self::Kind => wrong_type(argument, index, key, "a str, or a list or tuple of str"),
            Self::Unicode => {
                let value = key
                    .repr()
                    .map_or_else(|_| "a str".into(), |repr| repr.to_string());
                let expected = "valid Unicode in names".into();
                Error::Value {
                    argument,
                    index,
                    value,
                    expected,
                }
                .into()
            }
        }
    }
}

/// Calls `then` with the key that `object` is.
pub(super) fn with_key<T>(
    argument: &'static str,
    object: &Bound<'_, PyAny>,
    then: impl FnOnce(KeyRef<'_>) -> T,
) -> PyResult<T> {
    read_key(object, then).map_err(|flaw| flaw.explain(argument, None, object))
}

fn read_key<T>(object: &Bound<'_, PyAny>, then: impl FnOnce(KeyRef<'_>) -> T) -> Result<T, Flaw> {
    if let Ok(name) = object.cast::<PyString>() {
        return Ok(then(KeyRef::One(name.to_str().map_err(|_| Flaw::Unicode)?)));
    }
    let names: Vec<Bound<'_, PyAny>> = if let Ok(list) = object.cast::<PyList>() {
        list.iter().collect()
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        tuple.iter().collect()
    } else {
        return Err(Flaw::Kind);
    };
    let names = names.iter().map(|name| {
        let name = name.cast::<PyString>().map_err(|_| Flaw::Kind)?;
        name.to_str().map_err(|_| Flaw::Unicode)
    });
    Ok(then(KeyRef::Many(
        &names.collect::<Result<Vec<&str>, Flaw>>()?,
    )))
}

/// A dict from keys, each a tuple of its names.
pub(super) fn key_dict<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    items: impl IntoIterator<Item = (DatasetKey, T)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in items {
        dict.set_item(to_tuple(py, &key)?, value)?;
    }
    Ok(dict)
}

/// The key as Python sees it: a tuple of its names.
pub(super) fn to_tuple<'py>(py: Python<'py>, key: &DatasetKey) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, key.names().collect::<Vec<_>>())
}
