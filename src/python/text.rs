//! What a `str` says, where it is text at all.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::keys::is_same;

/// The text; `None` where it is not Unicode.
pub(super) fn text<'a>(name: Borrowed<'a, '_, PyString>) -> Option<&'a str> {
    valid(encoded(name)?)
}

/// What Python takes for UTF-8; `None` for a lone surrogate.
///
/// NumPy also makes a `str` of whatever lies in an array of them, with numbers
/// beyond the last code point: Python encodes those, but not as UTF-8.
#[inline]
#[allow(
    unsafe_code,
    reason = "the safe way makes a &str of it, which it need not be"
)]
fn encoded<'a>(name: Borrowed<'a, '_, PyString>) -> Option<&'a [u8]> {
    let mut len = 0;
    // SAFETY: a str that is alive; the GIL is held.
    let first = unsafe { ffi::PyUnicode_AsUTF8AndSize(name.as_ptr(), &raw mut len) };
    if first.is_null() {
        return not_unicode(name.py());
    }
    // SAFETY: the str keeps these bytes, unchanged, as long as it lives.
    Some(unsafe { std::slice::from_raw_parts(first.cast(), len.cast_unsigned()) })
}

#[cold]
fn not_unicode<T>(py: Python<'_>) -> Option<T> {
    drop(PyErr::take(py));
    None
}

/// What was [`encoded`], where it is UTF-8.
#[inline]
#[allow(
    unsafe_code,
    reason = "from_utf8 takes several times as long for a short name"
)]
pub(super) fn valid(encoded: &[u8]) -> Option<&str> {
    let is_ascii = match (encoded.first_chunk(), encoded.last_chunk()) {
        (Some(&first), Some(&last)) if encoded.len() <= 16 => {
            (u64::from_ne_bytes(first) | u64::from_ne_bytes(last)) & 0x8080_8080_8080_8080 == 0
        }
        _ => encoded.is_ascii(),
    };
    if is_ascii {
        // SAFETY: ASCII is UTF-8.
        return Some(unsafe { std::str::from_utf8_unchecked(encoded) });
    }
    std::str::from_utf8(encoded).ok()
}

/// Names that come one after the other, many of them equal to the one before:
/// the responses to a prompt stand together, and where a trainer has read them
/// from a file, each has a name of its own.
#[derive(Default)]
pub(super) struct Names<'a> {
    last: Option<(&'a [u8], u32)>,
}

impl<'a> Names<'a> {
    /// The number of a name: that of the one before, or what `number` gives to
    /// what was [`encoded`]. `None` where that says, or it is not even that.
    #[inline]
    pub fn number(
        &mut self,
        name: Borrowed<'a, '_, PyString>,
        number: impl FnOnce(&'a [u8]) -> Option<u32>,
    ) -> Option<u32> {
        let name = encoded(name)?;
        match self.last {
            Some((last, number)) if is_same(name, last) => Some(number),
            _ => self.other(name, number),
        }
    }

    // Apart, so that the rest fits into the loop over the samples.
    #[inline(never)]
    fn other(
        &mut self,
        name: &'a [u8],
        number: impl FnOnce(&'a [u8]) -> Option<u32>,
    ) -> Option<u32> {
        let number = number(name)?;
        self.last = Some((name, number));
        Some(number)
    }
}

/// The object where it is a `str`. One look tells whether it is of that very
/// type, a subclass takes a call.
#[inline]
pub(super) fn as_str<'a, 'py>(
    object: Borrowed<'a, 'py, PyAny>,
) -> Option<Borrowed<'a, 'py, PyString>> {
    #[cold]
    fn subclass<'a, 'py>(object: Borrowed<'a, 'py, PyAny>) -> Option<Borrowed<'a, 'py, PyString>> {
        object.cast().ok()
    }
    if object.is_exact_instance_of::<PyString>() {
        return object.cast_exact().ok();
    }
    subclass(object)
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
        let Some(text) = text(name) else {
            let message = format!("got {:?}, expected valid Unicode", lossy(&name));
            return Err(PyValueError::new_err(message));
        };
        Ok(Self(text.to_owned()))
    }
}
