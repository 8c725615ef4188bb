//! The keyword arguments of `Toggle`: those that are one of a few names, and all as they come back.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::errors::wrong_type;
use super::numbers::Given;
use super::quantiles::pattern_object;
use super::text::lossy;
use crate::Error;
use crate::choice::Choice;
use crate::toggle::Settings;

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
    let name = lossy(name);
    let choice = T::ALL.iter().find(|(choice, _)| *choice == name);
    Ok(choice
        .map(|&(_, value)| value)
        .ok_or_else(|| Error::value(argument, format!("{name:?}"), names))?)
}

/// The keyword arguments that make a `Toggle` with these settings.
pub(super) fn settings_dict<'py>(
    py: Python<'py>,
    settings: &Settings,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("m", settings.m)?;
    dict.set_item("lambda_", settings.lambda)?;
    dict.set_item("percentile", settings.percentile)?;
    dict.set_item("warmup_steps", settings.warmup_steps)?;
    dict.set_item("estimator", pattern_object(py, &settings.estimator)?)?;
    dict.set_item("start_phase", settings.start_phase.name())?;
    dict.set_item("freeze", settings.freeze.name())?;
    dict.set_item("min_samples", settings.min_samples)?;
    dict.set_item("penalty", settings.penalty.name())?;
    Ok(dict)
}
