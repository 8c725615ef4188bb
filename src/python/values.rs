//! What estimators are fed with, and how they are asked.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};

use super::arrays::{Array, Scores, with_scores};
use super::errors::wrong_type;
use super::lengths::LengthArgument;
use super::masked::check_unmasked;
use super::numbers;
use crate::column::{CHUNK, Column, Lengths, chunks};
use crate::shaping::{Score, check_scores};
use crate::{Error, Result};

/// Lengths for the estimators that count.
pub(super) struct Integers<'py>(LengthArgument<'py>);

impl<'py> Integers<'py> {
    pub fn new(values: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(Self(LengthArgument::or_scalar("values", values)?))
    }

    /// Hands all values over, once all of them are known to be good.
    pub fn feed(&self, take: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let lengths = self.0.view()?;
        lengths.check()?;
        let mut room = Vec::new();
        chunks(lengths.len(), CHUNK).try_for_each(|chunk| take(lengths.block(chunk, &mut room)))
    }
}

/// Integers below it are exact as `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53

/// Real numbers for the sketches.
pub(super) enum Floats<'py> {
    /// A finite one.
    One(f64),
    Many(Array<'py>),
}

impl<'py> Floats<'py> {
    pub fn new(values: &Bound<'py, PyAny>) -> PyResult<Self> {
        // To make an array of it takes twenty times as long as to record it.
        if values.is_exact_instance_of::<PyFloat>() || values.is_exact_instance_of::<PyInt>() {
            match values.extract::<f64>() {
                Ok(value) if value.abs() < EXACT => return Ok(Self::One(value)),
                _ => {} // what may have to be refused goes the way of all others
            }
        }
        Ok(Self::Many(Array::or_scalar("values", values)?))
    }

    /// Hands all values over, once all of them are known to be good.
    pub fn feed(&self, take: &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()> {
        let array = match self {
            Self::One(value) => return take(&[*value]),
            Self::Many(array) => array,
        };
        let values = match Scores::view(array) {
            Ok(Scores::Bool(_)) | Err(Error::Type { .. }) => {
                return Err(array.bad_dtype("float64, float32 or an integer dtype"));
            }
            values => values?,
        };
        with_scores!(&values, view => {
            check_scores(view).map_err(|error| error.about("values"))?;
            let mut room = Vec::new();
            chunks(view.len(), CHUNK).try_for_each(|chunk| {
                view.copy(chunk, &mut room, Score::as_f64);
                take(&room)
            })
        })
    }
}

/// What `quantile` and `percentile` are asked: a number, or an array.
pub(super) enum Question<'py> {
    One(f64),
    /// The values and the shape of the array.
    Many(Vec<f64>, Bound<'py, PyAny>),
}

impl<'py> Question<'py> {
    pub fn new(argument: &'static str, question: &Bound<'py, PyAny>) -> PyResult<Self> {
        const EXPECTED: &str = "a number or an array of numbers";
        // By far the usual case; to look for what it has not takes longest.
        if question.is_exact_instance_of::<PyFloat>() {
            return Ok(Self::One(question.extract()?));
        }
        let has_shape = match question.getattr("shape") {
            Ok(shape) => {
                check_unmasked(argument, question)?;
                shape.len()? > 0
            }
            Err(_) => question.hasattr("__len__")?,
        };
        if !has_shape {
            return Ok(Self::One(numbers::real(argument, question)?));
        }
        let py = question.py();
        let array = py.import("numpy")?.call_method1("asarray", (question,))?;
        let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
        if !matches!(kind.as_str(), "f" | "i" | "u") {
            return Err(wrong_type(argument, None, question, EXPECTED));
        }
        let values = array
            .call_method0("ravel")?
            .call_method0("tolist")?
            .extract()?;
        Ok(Self::Many(values, array.getattr("shape")?))
    }

    /// The answers, or `None` where `ask` has none.
    pub fn ask(&self, ask: impl Fn(f64) -> Result<Option<f64>>) -> Result<Option<Vec<f64>>> {
        match self {
            Self::One(value) => Ok(ask(*value)?.map(|answer| vec![answer])),
            Self::Many(values, _) => {
                let asked = values.iter().enumerate();
                let answers = asked.map(|(i, &value)| ask(value).map_err(|error| error.at(i)));
                // Every question is checked, also where there is no data.
                let answers = answers.collect::<Result<Vec<_>>>()?;
                Ok(answers.into_iter().collect())
            }
        }
    }

    /// A number for a number, a float64 array for an array.
    pub fn answer(self, py: Python<'py>, answers: Option<Vec<f64>>) -> PyResult<Bound<'py, PyAny>> {
        match (self, answers) {
            (_, None) => Ok(py.None().into_bound(py)),
            (Self::One(_), Some(answers)) => Ok(answers.first().into_pyobject(py)?),
            (Self::Many(_, shape), Some(answers)) => {
                PyArray1::from_vec(py, answers).call_method1("reshape", (shape,))
            }
        }
    }
}
