//! What the classes warn of, as a `UserWarning` at the caller's line.

use std::ffi::CString;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use crate::advice;

/// Warns, if there is something to say. A warning may be an error to the user: it comes before any
/// change, and never under a lock, for it runs Python code.
pub(super) fn warn(py: Python<'_>, text: Option<String>) -> PyResult<()> {
    let Some(text) = text else { return Ok(()) };
    let text = CString::new(text)?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
}

/// Warns of settings that are allowed, but hardly meant.
pub(super) fn about_settings(py: Python<'_>, lambda: f64, percentile: f64) -> PyResult<()> {
    warn(py, advice::about_lambda(lambda))?;
    warn(py, advice::about_percentile(percentile))
}
