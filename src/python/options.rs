//! Arguments that are one of a few names.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::errors::wrong_type;
use super::numbers::Given;
use crate::Error;
use crate::budget::Freeze;
use crate::schedule::Phase;
use crate::toggle::Penalty;

pub(super) const START_PHASES: [(&str, Phase); 2] = [
    ("normal", Phase::Normal),
    ("length_penalty", Phase::LengthPenalty),
];
pub(super) const FREEZES: [(&str, Freeze); 3] = [
    ("never", Freeze::Never),
    ("warmup", Freeze::Warmup),
    ("first", Freeze::First),
];
pub(super) const PENALTIES: [(&str, Penalty); 2] =
    [("zero", Penalty::Zero), ("cap_at_zero", Penalty::CapAtZero)];

/// The choice that an argument names; the first one where it is not given.
pub(super) fn option<T: Copy>(
    argument: &'static str,
    object: &Given<'_>,
    choices: &[(&str, T)],
) -> PyResult<T> {
    let Some(object) = &object.0 else {
        return Ok(choices[0].1);
    };
    let names = choices
        .iter()
        .map(|(name, _)| format!("{name:?}"))
        .collect::<Vec<_>>()
        .join(" or ");
    let Ok(name) = object.cast::<PyString>() else {
        return Err(wrong_type(argument, None, object, names));
    };
    let name = name.to_string_lossy();
    let choice = choices.iter().find(|(choice, _)| *choice == name);
    Ok(choice
        .map(|&(_, value)| value)
        .ok_or_else(|| Error::value(argument, format!("{name:?}"), names))?)
}

pub(super) fn name_of<T: PartialEq>(value: T, choices: &[(&'static str, T)]) -> &'static str {
    choices
        .iter()
        .find(|(_, choice)| *choice == value)
        .map_or("", |(name, _)| name)
}
