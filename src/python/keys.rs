//! Dataset keys from Python: a str, or a list or tuple of str.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::errors::wrong_type;
use super::objects::{Numbering, Objects};
use super::text::{Names, as_str, lossy, text, valid};
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
    pub fn new(
        argument: &'static str,
        object: &Bound<'py, PyAny>,
        samples: usize,
    ) -> PyResult<Self> {
        const KEYS: &str = "a list, tuple or 1-D NumPy array with one key per sample";
        let keys = Objects::new(argument, object, samples, KEYS)?;
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
        id: impl FnMut(KeyRef<'_>) -> u32,
        runs: &mut Vec<Run>,
    ) -> Result<(), Refusal> {
        let numbers = KeyNumbers {
            names: Names::default(),
            id,
        };
        let read = self.keys.read(samples, numbers, runs);
        read.map_err(|(sample, flaw)| Refusal::Key(sample, flaw))
    }
}

/// The numbers that `id` gives to keys.
struct KeyNumbers<'a, F> {
    names: Names<'a>,
    id: F,
}

impl<'a, 'py, F: FnMut(KeyRef<'_>) -> u32> Numbering<'a, 'py> for KeyNumbers<'a, F> {
    type Flaw = Flaw;

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "a call for each sample would take as long as most of what it does"
    )]
    fn number(&mut self, key: Borrowed<'a, 'py, PyAny>) -> Result<u32, Flaw> {
        let Self { names, id } = self;
        match as_str(key) {
            Some(name) => names
                .number(name, |encoded| Some(id(KeyRef::One(valid(encoded)?))))
                .ok_or(Flaw::Unicode),
            None => read_list(key, id),
        }
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
    let key = match as_str(object.as_borrowed()) {
        Some(name) => text(name)
            .ok_or(Flaw::Unicode)
            .map(|name| then(KeyRef::One(name))),
        None => read_list(object.as_borrowed(), then),
    };
    key.map_err(|flaw| flaw.explain(argument, None, object))
}

// Apart, so that what is read most often fits into the loop over the samples.
#[inline(never)]
fn read_list<T>(
    object: Borrowed<'_, '_, PyAny>,
    then: impl FnOnce(KeyRef<'_>) -> T,
) -> Result<T, Flaw> {
    if let Ok(list) = object.cast::<PyList>() {
        read_names(list.iter(), then)
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        read_names(tuple.iter(), then)
    } else {
        Err(Flaw::Kind)
    }
}

fn read_names<'py, T>(
    mut names: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
    then: impl FnOnce(KeyRef<'_>) -> T,
) -> Result<T, Flaw> {
    fn read<'a>(name: &'a Bound<'_, PyAny>) -> Result<&'a str, Flaw> {
        let name = as_str(name.as_borrowed()).ok_or(Flaw::Kind)?;
        text(name).ok_or(Flaw::Unicode)
    }
    // The usual case, for which nothing is allocated.
    if names.len() == 1
        && let Some(name) = names.next()
    {
        return Ok(then(KeyRef::One(read(&name)?)));
    }
    let names: Vec<_> = names.collect();
    let names = names.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(then(KeyRef::Many(&names)))
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
