//! Arguments that are one of a few names.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::errors::wrong_type;
use super::numbers::Given;
use crate::Error;
use crate::choice::Choice;

/// The choice that an argument names; the first one where it is not given.
pub(super) fn option<T: Choice + Default>(
    argument: &'static str,
    object: &Given<'_>,
) -> PyResult<T> {
    let Some(object) = &object.0 else {
        return Ok(T::default());
    };
    let names = T::ALL
        .iter()
        .map(|(name, _)| format!("{name:?}"))
        .collect::<Vec<_>>()
        .join(" or ");
    let Ok(name) = object.cast::<PyString>() else {
        return Err(wrong_type(argument, None, object, names));
    };
    let name = name.to_string_lossy();
    let choice = T::ALL.iter().find(|(choice, _)| *choice == name);
    Ok(choice
        .map(|&(_, value)| value)
        .ok_or_else(|| Error::value(argument, format!("{name:?}"), names))?)
}
