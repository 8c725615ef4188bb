//! The one road from a Rust error to a Python exception.

use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::text::lossy;
use crate::Error;

pyo3::create_exception!(
    toggle_rs,
    CheckpointError,
    PyValueError,
    "Bytes that are no snapshot that this version can read."
);

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Value { .. } | Error::Length { .. } => PyValueError::new_err(message),
            Error::Type { .. } | Error::Unsupported { .. } => PyTypeError::new_err(message),
            Error::Memory { .. } => PyMemoryError::new_err(message),
            Error::Snapshot(_) => CheckpointError::new_err(message),
        }
    }
}

/// A `TypeError` about an argument: what it is, and what would be right.
pub(super) fn wrong_type(
    argument: &'static str,
    index: Option<usize>,
    object: &Bound<'_, PyAny>,
    expected: impl Into<String>,
) -> PyErr {
    let kind = class_name(&object.get_type());
    let kind = kind.unwrap_or_else(|_| "an object of unknown type".into());
    // The value itself helps where it is short; its repr may be anything.
    let repr = object.repr().map(|repr| lossy(&repr)).unwrap_or_default();
    let value = if repr.is_empty() || repr.len() > 60 {
        kind
    } else {
        format!("{repr} ({kind})")
    };
    Error::Type {
        argument,
        index,
        value,
        expected: expected.into(),
    }
    .into()
}

/// `PyTypeMethods::fully_qualified_name`, which panics where a name is no Unicode.
fn class_name(class: &Bound<'_, PyType>) -> PyResult<String> {
    let module = lossy(&class.module()?);
    let name = lossy(&class.qualname()?);
    Ok(match module.as_str() {
        "builtins" | "__main__" => name,
        _ => format!("{module}.{name}"),
    })
}
