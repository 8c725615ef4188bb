//! Dataset keys from Python: a str, or a list or tuple of str.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::errors::wrong_type;
use super::objects::Objects;
use super::text::{lossy, text};
use crate::Error;
use crate::keys::{DatasetKey, KeyRef, KeySource, Run};

/// An argument with one key per sample.
///
/// Reading it runs no Python code: nothing can change it, or wait for the lock
/// of the tracker, while a call is under way.
pub(super) struct PyKeys<'py> {
    argument: &'static str,
    keys: Objects<'py>,
}

impl<'py> PyKeys<'py> {
    pub fn new(argument: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        const KEYS: &str = "a list, tuple or 1-D NumPy array with one key per sample";
        let keys = Objects::new(argument, object, KEYS)?;
        Ok(Self { argument, keys })
    }
}

impl KeySource for PyKeys<'_> {
    type Error = Refusal;

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn read(
        &self,
        samples: Range<usize>,
        mut id: impl FnMut(KeyRef<'_>) -> u32,
        runs: &mut Vec<Run>,
    ) -> Result<(), Refusal> {
        let number = |sample, key: &Bound<'_, PyAny>| {
            read_key(key, &mut id).map_err(|flaw| Refusal::Key(sample, flaw))
        };
        self.keys.read(samples, number, runs)
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
    /// A name is not Unicode: it holds a lone surrogate, or worse.
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
            Self::Key(index, flaw) => match keys.keys.get(index) {
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
                    .map_or_else(|_| "a str".into(), |repr| lossy(&repr));
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
        return Ok(then(KeyRef::One(text(name).ok_or(Flaw::Unicode)?)));
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
        text(name).ok_or(Flaw::Unicode)
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
