//! Dataset keys from Python: a str, or a list or tuple of str.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use super::errors::wrong_type;
use crate::Error;
use crate::keys::{DatasetKey, KeyRef, KeySource};

const KEY: &str = "a str, or a list or tuple of str";

/// An argument with one key per sample.
///
/// Reading it runs no Python code, so nothing can change it, or the tracker,
/// while a call is under way.
pub(super) struct PyKeys<'py> {
    argument: &'static str,
    keys: Bound<'py, PyList>,
}

impl<'py> PyKeys<'py> {
    pub fn new(argument: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        const KEYS: &str = "a list, tuple or 1-D NumPy array with one key per sample";
        let keys = if let Ok(list) = object.cast::<PyList>() {
            list.clone()
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            tuple.to_list()
        } else if let Ok(array) = object.cast::<PyUntypedArray>() {
            if array.ndim() != 1 {
                let value = format!("an array of {} dimensions", array.ndim());
                return Err(Error::value(argument, value, KEYS).into());
            }
            array.call_method0("tolist")?.cast_into()?
        } else {
            return Err(wrong_type(argument, None, object, KEYS));
        };
        Ok(Self { argument, keys })
    }
}

impl KeySource for PyKeys<'_> {
    type Error = PyErr;

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn resolve(
        &self,
        start: usize,
        ids: &mut [u32],
        mut id: impl FnMut(KeyRef<'_>) -> u32,
    ) -> PyResult<()> {
        // The list keeps its objects alive, so within this call one address is
        // one key; a sample's K responses usually share the object.
        const SLOTS: usize = 64;
        let mut recent = [(std::ptr::null_mut(), 0); SLOTS];
        for (index, slot) in (start..).zip(ids) {
            let object = self.keys.get_item(index)?;
            let address = object.as_ptr();
            // Objects are 16 bytes apart at least.
            let known = &mut recent[address as usize / 16 % SLOTS];
            if known.0 != address {
                *known = (
                    address,
                    with_key(self.argument, Some(index), &object, &mut id)?,
                );
            }
            *slot = known.1;
        }
        Ok(())
    }
}

/// Calls `then` with the key that `object` is.
pub(super) fn with_key<T>(
    argument: &'static str,
    index: Option<usize>,
    object: &Bound<'_, PyAny>,
    then: impl FnOnce(KeyRef<'_>) -> T,
) -> PyResult<T> {
    let refuse = |error: Option<PyErr>| match error {
        // Only a lone surrogate keeps a str from being UTF-8.
        Some(_) => {
            let value = object
                .repr()
                .map_or_else(|_| "a str".into(), |repr| repr.to_string());
            Error::Value {
                argument,
                index,
                value,
                expected: "valid Unicode in names".into(),
            }
            .into()
        }
        None => wrong_type(argument, index, object, KEY),
    };
    if let Ok(name) = object.cast::<PyString>() {
        return Ok(then(KeyRef::One(
            name.to_str().map_err(|error| refuse(Some(error)))?,
        )));
    }
    let names: Vec<Bound<'_, PyAny>> = if let Ok(list) = object.cast::<PyList>() {
        list.iter().collect()
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        tuple.iter().collect()
    } else {
        return Err(refuse(None));
    };
    let names: PyResult<Vec<&str>> = names
        .iter()
        .map(|name| {
            let name = name.cast::<PyString>().map_err(|_| refuse(None))?;
            name.to_str().map_err(|error| refuse(Some(error)))
        })
        .collect();
    Ok(then(KeyRef::Many(&names?)))
}

/// The key as Python sees it: a tuple of its names.
pub(super) fn to_tuple<'py>(py: Python<'py>, key: &DatasetKey) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, key.names().collect::<Vec<_>>())
}
