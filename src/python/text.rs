//! What a `str` says, where it is text at all.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The text; `None` where it is not Unicode.
///
/// A lone surrogate is not, and Python says so. NumPy also makes a `str` of
/// whatever lies in an array of them, with numbers beyond the last code point:
/// Python encodes those, but not as UTF-8. A `&str` must not hold that, so it
/// is looked at once more, before anything else is done with it.
pub(super) fn text<'a>(name: &'a Bound<'_, PyString>) -> Option<&'a str> {
    let encoded = name.to_str().ok()?.as_bytes();
    std::str::from_utf8(encoded).ok()
}

/// The text for a message, with marks in place of what is not Unicode.
pub(super) fn lossy(name: &Bound<'_, PyString>) -> String {
    match name.to_string_lossy() {
        Cow::Borrowed(encoded) => String::from_utf8_lossy(encoded.as_bytes()).into_owned(),
        Cow::Owned(text) => text,
    }
}

/// An argument, or part of one, that is text.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Text(pub String);

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let name = object.cast::<PyString>()?;
        let Some(text) = text(&name) else {
            let message = format!("got {:?}, expected valid Unicode", lossy(&name));
            return Err(PyValueError::new_err(message));
        };
        Ok(Self(text.to_owned()))
    }
}
