//! Arguments with lengths: an array of any integer dtype, or integers.

use std::ops::Range;

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

use super::arrays::{Array, Scores, Stored, View, with_scores};
use super::numbers;
use crate::Result;
use crate::column::{CHUNK, Column as _, Lengths, bad_length, check_block, chunks};

/// The argument, once no Python code is needed any more to read it.
pub(super) struct LengthArgument<'py> {
    argument: &'static str,
    source: Source<'py>,
}

enum Source<'py> {
    Array(Array<'py>),
    /// From a list, a tuple or a single integer: checked.
    Listed(Vec<u64>),
}

impl<'py> LengthArgument<'py> {
    /// One length per sample.
    pub fn new(argument: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let source = if let Ok(list) = object.cast::<PyList>() {
            Source::Listed(listed(argument, list.iter())?)
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            Source::Listed(listed(argument, tuple.iter())?)
        } else {
            Source::Array(Array::new(argument, object)?)
        };
        Ok(Self { argument, source })
    }

    /// The same, where a single integer is a column of one.
    pub fn or_scalar(argument: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let source = if object.is_instance_of::<PyInt>() {
            Source::Listed(vec![numbers::length(argument, None, object)?])
        } else if object.cast::<PyUntypedArray>().is_ok() || object.hasattr("dtype")? {
            Source::Array(Array::or_scalar(argument, object)?)
        } else {
            return Self::new(argument, object);
        };
        Ok(Self { argument, source })
    }

    pub fn view(&self) -> Result<LengthView<'_>> {
        let column = match &self.source {
            Source::Listed(lengths) => Column::Listed(lengths),
            Source::Array(array) => match Scores::view(array) {
                Err(_) | Ok(Scores::F64(_) | Scores::F32(_) | Scores::Bool(_)) => {
                    return Err(array.bad_dtype("an integer dtype"));
                }
                Ok(integers) => Column::Array(integers),
            },
        };
        Ok(LengthView {
            argument: self.argument,
            column,
        })
    }
}

fn listed<'py>(
    argument: &'static str,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Vec<u64>> {
    items
        .enumerate()
        .map(|(i, item)| numbers::length(argument, Some(i), &item))
        .collect()
}

/// The lengths, read where they lie.
pub(super) struct LengthView<'a> {
    argument: &'static str,
    column: Column<'a>,
}

enum Column<'a> {
    Listed(&'a [u64]),
    /// Of an integer dtype.
    Array(Scores<'a>),
}

impl Lengths for LengthView<'_> {
    fn argument(&self) -> &'static str {
        self.argument
    }

    fn len(&self) -> usize {
        match &self.column {
            Column::Listed(lengths) => lengths.len(),
            Column::Array(array) => with_scores!(array, view => view.len()),
        }
    }

    fn check(&self) -> Result<()> {
        match &self.column {
            Column::Listed(_) => Ok(()),
            Column::Array(array) => with_scores!(array, view => check_view(self.argument, view)),
        }
    }

    fn block<'a>(&'a self, samples: Range<usize>, room: &'a mut Vec<u64>) -> &'a [u64] {
        let lent = match &self.column {
            Column::Listed(lengths) => Some(*lengths),
            Column::Array(Scores::I64(view)) => view.as_unsigned(),
            Column::Array(Scores::U64(view)) => view.as_slice(),
            Column::Array(_) => None,
        };
        match (&self.column, lent) {
            (_, Some(lengths)) => &lengths[samples],
            (Column::Array(array), None) => {
                with_scores!(array, view => view.copy(samples, room, Stored::to_bits));
                room
            }
            (Column::Listed(_), None) => &[], // has lent itself
        }
    }
}

fn check_view<T: Stored + std::fmt::Display>(
    argument: &'static str,
    view: &View<'_, T>,
) -> Result<()> {
    let mut room = Vec::new();
    chunks(view.len(), CHUNK).try_for_each(|chunk| {
        let start = chunk.start;
        let block = view.block(chunk, &mut room);
        check_block(block, Stored::to_bits)
            .map_err(|index| bad_length(argument, start + index, block[index]))
    })
}
