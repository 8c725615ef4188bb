//! What estimators are fed with, and how they are asked.

use numpy::PyArray1;
use pyo3::prelude::*;

use super::arrays::{PyLengths, Scores, as_array, bad_dtype, with_scores};
use super::numbers;
use crate::Result;
use crate::column::{Column, Lengths};
use crate::shaping::{Score, check_scores};

/// Values that are copied at a time, so that an array of any size needs
/// little memory beside it.
const CHUNK: usize = 4096;

/// Lengths for the estimators that count.
pub(super) struct Integers<'py>(PyLengths<'py>);

impl<'py> Integers<'py> {
    pub fn new(values: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(Self(PyLengths::new("values", values)?))
    }

    /// Hands all values over, once all of them are known to be good.
    pub fn feed(&self, take: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let mut chunk = [0; CHUNK];
        let samples = self.0.len();
        let mut pass = |take: &mut dyn FnMut(&[u64]) -> Result<()>| {
            (0..samples).step_by(CHUNK).try_for_each(|start| {
                let chunk = &mut chunk[..CHUNK.min(samples - start)];
                self.0.read(start, chunk)?;
                take(chunk)
            })
        };
        if samples > CHUNK {
            pass(&mut |_| Ok(()))?;
        }
        pass(take)
    }
}

/// Real numbers for the sketches.
pub(super) struct Floats<'py>(Scores<'py>);

impl<'py> Floats<'py> {
    pub fn new(values: &Bound<'py, PyAny>) -> PyResult<Self> {
        let array = &as_array("values", values)?;
        match Scores::typed("values", array) {
            Ok(Scores::Bool(_)) | Err(_) => Err(bad_dtype(
                "values",
                array,
                "float64, float32 or an integer dtype",
            )),
            Ok(values) => Ok(Self(values)),
        }
    }

    /// Hands all values over, once all of them are known to be good.
    pub fn feed(&self, take: &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()> {
        with_scores!(&self.0, view => {
            check_scores(view).map_err(|error| error.about("values"))?;
            let mut chunk = [0.0; CHUNK];
            let samples = view.len();
            (0..samples).step_by(CHUNK).try_for_each(|start| {
                let chunk = &mut chunk[..CHUNK.min(samples - start)];
                for (slot, i) in chunk.iter_mut().zip(start..) {
                    *slot = Score::as_f64(view.get(i));
                }
                take(chunk)
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
        let has_shape = |object: &Bound<'py, PyAny>| {
            object
                .getattr("shape")
                .map_or_else(|_| object.hasattr("__len__"), |shape| Ok(shape.len()? > 0))
        };
        if !has_shape(question)? {
            return Ok(Self::One(numbers::real(argument, question)?));
        }
        let numpy = question.py().import("numpy")?;
        let array = numpy.call_method1("asarray", (question, "float64"))?;
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
                asked
                    .map(|(i, &value)| ask(value).map_err(|error| error.at(i)))
                    .collect()
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
