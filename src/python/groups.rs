//! The argument `groups`: which samples answer the same prompt.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString, PyTuple};

use super::arrays::{Array, Scores, Stored, is_sequence, with_scores};
use super::errors::wrong_type;
use super::numbers;
use super::objects::Objects;
use super::text;
use crate::Error;
use crate::column::Column;
use crate::groups::Groups;

const EXPECTED: &str = "a group size, or one int or str id per sample";
const ONE_KIND: &str = "ids that are all int or all str";

/// A group size, or one id per sample.
pub(super) fn groups_of(object: &Bound<'_, PyAny>, samples: usize) -> PyResult<Groups> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return listed(&Objects::new("groups", object, EXPECTED)?);
    }
    if object.is_none() || object.is_instance_of::<PyString>() {
        return Err(wrong_type("groups", None, object, EXPECTED));
    }
    if !is_sequence(object)? {
        let size = numbers::size("groups", object)?;
        return Ok(Groups::consecutive(samples, size)?);
    }
    let array = Array::new("groups", object)?;
    match array.kind() {
        b'U' => texts(&array),
        b'O' | b'T' => listed(&Objects::new("groups", array.as_any(), EXPECTED)?),
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
    let width = array.itemsize() / size_of::<u32>();
    if width == 0 {
        return Ok(Groups::by_number(&vec![0; array.len()]));
    }
    let numpy = array.as_any().py().import("numpy")?;
    let aligned = numpy.call_method1(
        "require",
        (array.as_any(), array.as_any().py().None(), "CA"),
    )?;
    let aligned = aligned.call_method1("view", ("u4",))?;
    let points = aligned.cast_into::<PyArray1<u32>>()?.try_readonly()?;
    let ids: Vec<&[u32]> = points.as_slice()?.chunks_exact(width).collect();
    Ok(Groups::by_id(&ids))
}

/// Ids in a sequence: all integers or all str.
fn listed(ids: &Objects<'_>) -> PyResult<Groups> {
    let is_text = ids.len() > 0 && ids.get(0)?.is_instance_of::<PyString>();
    if is_text { names(ids) } else { integers(ids) }
}

fn names(ids: &Objects<'_>) -> PyResult<Groups> {
    // The responses to a prompt usually share the object: each is read once.
    let mut samples = Vec::new();
    let mut runs = Vec::new();
    let number = |sample, _: &Bound<'_, PyAny>| {
        samples.push(sample);
        u32::try_from(samples.len() - 1)
    };
    ids.read(0..ids.len(), number, &mut runs)?;
    let objects = samples.iter().map(|&sample| ids.get(sample));
    let objects = objects.collect::<PyResult<Vec<_>>>()?;
    let texts = objects.iter().zip(&samples).map(|(object, &sample)| {
        let text = object.cast::<PyString>();
        let text = text.map_err(|_| wrong_type("groups", Some(sample), object, ONE_KIND))?;
        text::text(text).ok_or_else(|| {
            let expected = "valid Unicode";
            Error::value_at("groups", sample, "a str with a lone surrogate", expected).into()
        })
    });
    let distinct = Groups::by_id(&texts.collect::<PyResult<Vec<&str>>>()?);
    Ok(distinct.spread(&runs))
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
