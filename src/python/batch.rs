//! Arguments about a whole batch: which samples are correct, and which answer
//! the same prompt.

use numpy::{PyArrayDescrMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};

use super::arrays::{Scores, Stored, View, as_array, bad_dtype, with_scores};
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
    scores: Option<&Scores<'_>>,
    max_score: &Given<'_>,
) -> PyResult<Vec<bool>> {
    if let Some(scores) = scores {
        with_scores!(scores, view => check_scores(view))?;
    }
    let given = max_score.0.as_ref();
    let limit = given.map_or(Ok(Limit::One(MaxScore::python(1.0))), Limit::new)?;
    let Some(correct) = correct else {
        let Some(scores) = scores else {
            let message = "scores: got None, expected scores, or correct instead of them";
            return Err(PyTypeError::new_err(message));
        };
        return with_scores!(scores, view => Ok(limit.mask(view)?));
    };
    let array = &as_array("correct", correct)?;
    let mask: Vec<bool> = match Scores::typed("correct", array) {
        Ok(Scores::Bool(view)) => (0..view.len()).map(|i| view.get(i)).collect(),
        _ if array.is_empty() => Vec::new(), // an empty list is float64 to NumPy
        _ => return Err(bad_dtype("correct", array, "dtype bool")),
    };
    if let Some(scores) = scores {
        let expected = with_scores!(scores, view => view.len());
        if mask.len() != expected {
            let len = mask.len();
            return Err(Error::Length {
                argument: "correct",
                len,
                reference: "scores",
                expected,
            }
            .into());
        }
    }
    Ok(mask)
}

/// The argument `max_score`: from which score on a response is correct.
enum Limit<'py> {
    One(MaxScore),
    PerSample(Scores<'py>),
}

impl<'py> Limit<'py> {
    fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let is_array = object.is_instance_of::<PyList>()
            || object.is_instance_of::<PyTuple>()
            || object.hasattr("__len__")? && !object.is_instance_of::<PyString>();
        if !is_array
            || object
                .getattr("ndim")
                .is_ok_and(|n| n.extract::<u64>().is_ok_and(|n| n == 0))
        {
            return Ok(Self::One(MaxScore::new("max_score", object)?));
        }
        let array = &as_array("max_score", object)?;
        let limits = Scores::typed("max_score", array)?;
        let bad = with_scores!(&limits, view => {
            let values = (0..view.len()).map(|i| Score::as_f64(view.get(i)));
            values.enumerate().find(|&(_, value)| !(value.is_finite() && value > 0.0))
        });
        match bad {
            None => Ok(Self::PerSample(limits)),
            Some((i, value)) => {
                Err(Error::value_at("max_score", i, value, "a finite number > 0").into())
            }
        }
    }

    fn mask<S: Score + Stored>(&self, scores: &View<'_, S>) -> Result<Vec<bool>> {
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
            Self::PerSample(limits) => with_scores!(limits, limits => {
                let (len, expected) = (limits.len(), scores.len());
                if len != expected {
                    return Err(Error::Length { argument: "max_score", len, reference: "scores", expected });
                }
                Ok(scores_f64.enumerate().map(|(i, score)| score >= Score::as_f64(limits.get(i))).collect())
            }),
        }
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
    let is_scalar = object.is_instance_of::<PyInt>() || !object.hasattr("__len__")?;
    if is_scalar {
        let k = numbers::count("groups", object)?;
        // No batch is that large: refused with the value.
        return Ok(Groups::consecutive(
            samples,
            usize::try_from(k).unwrap_or(usize::MAX),
        )?);
    }
    if object.is_instance_of::<PyString>() {
        return Err(wrong_type("groups", None, object, EXPECTED));
    }
    let array = &as_array("groups", object)?;
    if matches!(array.dtype().kind(), b'U' | b'O') {
        return listed(array.call_method0("tolist")?.cast()?);
    }
    match Scores::typed("groups", array) {
        Ok(Scores::I64(view)) => Ok(by_id(&view)),
        Ok(Scores::I32(view)) => Ok(by_id(&view)),
        Ok(Scores::I16(view)) => Ok(by_id(&view)),
        Ok(Scores::I8(view)) => Ok(by_id(&view)),
        Ok(Scores::U64(view)) => Ok(by_id(&view)),
        Ok(Scores::U32(view)) => Ok(by_id(&view)),
        Ok(Scores::U16(view)) => Ok(by_id(&view)),
        Ok(Scores::U8(view)) => Ok(by_id(&view)),
        _ => Err(bad_dtype("groups", array, "an integer or str dtype")),
    }
}

fn by_id<T: Stored + Eq + std::hash::Hash>(view: &View<'_, T>) -> Groups {
    Groups::by_id(&(0..view.len()).map(|i| view.get(i)).collect::<Vec<_>>())
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
    let mut of_samples = vec![0; names.len()];
    let resolved = names.resolve(0, &mut of_samples, |name| table.intern(name));
    resolved.map_err(|refusal| refusal.explain(&names))?;
    Ok(Groups::numbered(of_samples, table.len()))
}
