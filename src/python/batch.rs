//! Arguments about a whole batch: which samples are correct, and which answer
//! the same prompt.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};

use super::arrays::{Array, Scores, Stored, View, with_scores};
use super::errors::wrong_type;
use super::keys::PyKeys;
use super::numbers::{self, Given, MaxScore};
use crate::column::Column;
use crate::groups::Groups;
use crate::keys::{KeySource, KeyTable};
use crate::shaping::{Real, Score, check_scores};
use crate::{Error, Result};

/// Which samples are correct: as told, else those with `score >= max_score`.
pub(super) fn correct_mask(
    correct: Option<&Bound<'_, PyAny>>,
    scores: Option<&Array<'_>>,
    max_score: &Given<'_>,
) -> PyResult<Vec<bool>> {
    let given = max_score.0.as_ref();
    let limit = given.map_or(Ok(Limit::One(MaxScore::python(1.0))), Limit::new)?;
    let mask = match (correct, scores) {
        (Some(correct), _) => told_mask(&Array::new("correct", correct)?)?,
        (None, Some(scores)) => limit.mask(scores)?,
        (None, None) => {
            let message = "scores: got None, expected scores, or correct instead of them";
            return Err(PyTypeError::new_err(message));
        }
    };
    if let Some(scores) = scores {
        with_scores!(&Scores::view(scores)?, view => check_scores(view))?;
        check_len("correct", mask.len(), scores.len())?;
    }
    Ok(mask)
}

fn told_mask(array: &Array<'_>) -> Result<Vec<bool>> {
    match Scores::view(array) {
        Ok(Scores::Bool(view)) => Ok((0..view.len()).map(|i| view.get(i)).collect()),
        _ if array.len() == 0 => Ok(Vec::new()), // an empty list is float64 to NumPy
        _ => Err(array.bad_dtype("dtype bool")),
    }
}

fn check_len(argument: &'static str, len: usize, expected: usize) -> Result<()> {
    if len == expected {
        Ok(())
    } else {
        Err(Error::Length {
            argument,
            len,
            reference: "scores",
            expected,
        })
    }
}

/// The argument `max_score`: from which score on a response is correct.
enum Limit<'py> {
    One(MaxScore),
    PerSample(Array<'py>),
}

impl<'py> Limit<'py> {
    fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if !is_sequence(object)? {
            return Ok(Self::One(MaxScore::new("max_score", object)?));
        }
        let array = Array::new("max_score", object)?;
        let bad = with_scores!(&Scores::view(&array)?, view => {
            let values = (0..view.len()).map(|i| Score::as_f64(view.get(i)));
            values.enumerate().find(|&(_, value)| !(value.is_finite() && value > 0.0))
        });
        match bad {
            None => Ok(Self::PerSample(array)),
            Some((i, value)) => {
                Err(Error::value_at("max_score", i, value, "a finite number > 0").into())
            }
        }
    }

    fn mask(&self, scores: &Array<'_>) -> Result<Vec<bool>> {
        with_scores!(&Scores::view(scores)?, scores => self.mask_typed(scores))
    }

    fn mask_typed<S: Score + Stored>(&self, scores: &View<'_, S>) -> Result<Vec<bool>> {
        let scores_f64 = (0..scores.len()).map(|i| Score::as_f64(scores.get(i)));
        match self {
            Self::One(max) => {
                let limit = if S::divides_in_f32(max) {
                    f32::from_f64(max.value).into()
                } else {
                    max.value
                };
                Ok(scores_f64.map(|score| score >= limit).collect())
            }
            Self::PerSample(limits) => with_scores!(&Scores::view(limits)?, limits => {
                check_len("max_score", limits.len(), scores.len())?;
                let limits = (0..limits.len()).map(|i| Score::as_f64(limits.get(i)));
                Ok(scores_f64.zip(limits).map(|(score, limit)| score >= limit).collect())
            }),
        }
    }
}

/// Whether an argument is one value per sample rather than one for all.
fn is_sequence(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match object.getattr("ndim") {
        Ok(ndim) => Ok(!ndim.eq(0)?),
        Err(_) => object.hasattr("__len__"),
    }
}

/// The argument `groups`: a group size, or one id per sample.
pub(super) fn groups_of(object: &Bound<'_, PyAny>, samples: usize) -> PyResult<Groups> {
    const EXPECTED: &str = "a group size, or one int or str id per sample";
    if let Ok(list) = object.cast::<PyList>() {
        return listed(list);
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return listed(&tuple.to_list());
    }
    if object.is_instance_of::<PyString>() {
        return Err(wrong_type("groups", None, object, EXPECTED));
    }
    if !is_sequence(object)? {
        return Ok(Groups::consecutive(
            samples,
            numbers::size("groups", object)?,
        )?);
    }
    let array = Array::new("groups", object)?;
    if matches!(array.kind_and_size(), Some((b'U' | b'O', _))) {
        return listed(&array.to_list()?);
    }
    match Scores::view(&array) {
        Ok(Scores::F64(_) | Scores::F32(_) | Scores::Bool(_)) | Err(Error::Type { .. }) => {
            Err(array.bad_dtype("an integer or str dtype").into())
        }
        view => with_scores!(&view?, view => {
            let ids: Vec<_> = (0..view.len()).map(|i| view.get(i).to_id()).collect();
            Ok(Groups::by_id(&ids))
        }),
    }
}

/// Ids in a list: all integers or all str.
fn listed(ids: &Bound<'_, PyList>) -> PyResult<Groups> {
    if ids
        .iter()
        .next()
        .is_some_and(|id| id.is_instance_of::<PyInt>())
    {
        let ids = ids.iter().enumerate().map(|(i, id)| {
            id.extract::<i128>()
                .map_err(|_| wrong_type("groups", Some(i), &id, "an integer id"))
        });
        return Ok(Groups::by_id(&ids.collect::<PyResult<Vec<i128>>>()?));
    }
    let names = PyKeys::new("groups", ids.as_any())?;
    let mut table = KeyTable::default();
    let mut runs = Vec::new();
    let read = names.read(0..names.len(), |name| table.intern(name), &mut runs);
    read.map_err(|refusal| refusal.explain(&names))?;
    let of_samples = runs
        .iter()
        .flat_map(|run| std::iter::repeat_n(run.id, run.len as usize));
    Ok(Groups::numbered(of_samples.collect(), table.len()))
}
