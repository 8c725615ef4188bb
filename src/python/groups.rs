//! The argument `groups`: which samples answer the same prompt.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString, PyTuple};

use super::arrays::{Array, Scores, Stored, is_sequence, with_scores};
use super::errors::wrong_type;
use super::keys::Flaw;
use super::numbers;
use super::objects::{Numbering, Objects};
use super::rows::Rows;
use super::text::{Names, as_str, valid};
use crate::Error;
use crate::column::{Column, check_len};
use crate::groups::{Groups, Numbers};

const EXPECTED: &str = "a group size, or one int or str id per sample";
const ONE_KIND: &str = "ids that are all int or all str";

/// A group size, or one id per sample.
pub(super) fn groups_of(object: &Bound<'_, PyAny>, samples: usize) -> PyResult<Groups> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return listed(&Objects::new("groups", object, samples, EXPECTED)?);
    }
    if object.is_none() || object.is_instance_of::<PyString>() {
        return Err(wrong_type("groups", None, object, EXPECTED));
    }
    if !is_sequence(object)? {
        let size = numbers::size("groups", object)?;
        return Ok(Groups::consecutive(samples, size)?);
    }
    let array = Array::new("groups", object)?;
    check_len("groups", array.len(), samples)?;
    match array.kind() {
        b'U' => texts(&array),
        b'O' | b'T' => {
            let ids = Objects::new("groups", array.as_any(), samples, EXPECTED)?;
            listed(&ids)
        }
        b'i' | b'u' if array.kind_and_size().is_some() => {
            with_scores!(&Scores::view(&array)?, view => {
                let mut ids = Vec::new();
                view.copy(0..view.len(), &mut ids, Stored::to_bits);
                Ok(Groups::by_number(&ids))
            })
        }
        _ => Err(array.bad_dtype("an integer or str dtype").into()),
    }
}

/// Ids in an array of str: of one width, what is shorter ends in zeros. So those
/// with equal code points, as they lie there, are equal.
fn texts(array: &Array<'_>) -> PyResult<Groups> {
    Ok(Groups::of_ids(Rows::new(array)?.iter()))
}

/// Ids in a sequence: all integers or all str.
fn listed(ids: &Objects<'_>) -> PyResult<Groups> {
    let is_text = ids.len() > 0 && ids.get(0)?.is_instance_of::<PyString>();
    if is_text { names(ids) } else { integers(ids) }
}

fn names(ids: &Objects<'_>) -> PyResult<Groups> {
    let numbers = IdNumbers {
        names: Names::default(),
        numbers: Numbers::of_samples(ids.len()),
    };
    let mut runs = Vec::new();
    match ids.read(0..ids.len(), numbers, &mut runs) {
        Ok(()) => Ok(Groups::of_runs(&runs)),
        Err((sample, Flaw::Kind)) => Err(wrong_type(
            "groups",
            Some(sample),
            &ids.get(sample)?,
            ONE_KIND,
        )),
        Err((sample, Flaw::Unicode)) => {
            let value = "a str with a lone surrogate";
            Err(Error::value_at("groups", sample, value, "valid Unicode").into())
        }
    }
}

/// The numbers of ids, in order of first appearance.
struct IdNumbers<'a> {
    names: Names<'a>,
    numbers: Numbers<&'a [u8]>,
}

impl<'a, 'py> Numbering<'a, 'py> for IdNumbers<'a> {
    type Flaw = Flaw;

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "a call for each sample would take as long as most of what it does"
    )]
    fn number(&mut self, id: Borrowed<'a, 'py, PyAny>) -> Result<u32, Flaw> {
        let name = as_str(id).ok_or(Flaw::Kind)?;
        let IdNumbers { names, numbers } = self;
        let number = names.number(name, |encoded| {
            let known = numbers.len();
            let number = numbers.number(encoded);
            // What equals a valid id is valid.
            if numbers.len() > known {
                valid(encoded)?;
            }
            Some(number)
        });
        number.ok_or(Flaw::Unicode)
    }
}

fn integers(ids: &Objects<'_>) -> PyResult<Groups> {
    if let Some(numbers) = ids.plain_integers() {
        return Ok(Groups::by_number(&numbers));
    }
    let ids = (0..ids.len()).map(|sample| {
        let id = ids.get(sample)?;
        if id.is_instance_of::<PyBool>() {
            return Err(wrong_type("groups", Some(sample), &id, ONE_KIND));
        }
        id.extract::<i128>().map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(id.py()) {
                let expected = "an int in -2**127..2**127, or a str";
                Error::value_at("groups", sample, numbers::text(&id), expected).into()
            } else {
                wrong_type("groups", Some(sample), &id, ONE_KIND)
            }
        })
    });
    Ok(Groups::by_id(&ids.collect::<PyResult<Vec<i128>>>()?))
}
