//! Which samples of a batch are correct.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::arrays::{Array, Scores, Stored, View, is_sequence, with_scores};
use super::numbers::{Given, MaxScore};
use crate::column::{Column, check_len, check_samples};
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
    if let Some(scores) = scores {
        check_samples("scores", scores.len())?;
        limit.check_len(scores.len())?;
        with_scores!(&Scores::view(scores)?, view => check_scores(view))?;
    }
    let mask = match (correct, scores) {
        (Some(correct), _) => told_mask(&Array::new("correct", correct)?)?,
        (None, Some(scores)) => limit.mask(scores)?,
        (None, None) => {
            let message = "scores: got None, expected scores, or correct instead of them";
            return Err(PyTypeError::new_err(message));
        }
    };
    if let Some(scores) = scores {
        check_len("correct", mask.len(), scores.len())?;
    }
    Ok(mask)
}

fn told_mask(array: &Array<'_>) -> Result<Vec<bool>> {
    check_samples("correct", array.len())?;
    match Scores::view(array) {
        Ok(Scores::Bool(view)) => Ok(column(&view)),
        _ if array.len() == 0 => Ok(Vec::new()), // an empty list is float64 to NumPy
        _ => Err(array.bad_dtype("dtype bool")),
    }
}

/// The argument `max_score`: from which score on a response is correct.
enum Limit<'py> {
    One(MaxScore),
    PerSample(Array<'py>),
}

impl<'py> Limit<'py> {
    fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() || !is_sequence(object)? {
            return Ok(Self::One(MaxScore::new("max_score", object)?));
        }
        let array = Array::new("max_score", object)?;
        let bad = with_scores!(&Scores::view(&array)?, view => {
            // Beyond 2^53 a comparison with a score would be rounded.
            let is_bad = |i: &usize| {
                let limit = view.get(*i);
                !(limit.is_exact() && Score::as_f64(limit) > 0.0)
            };
            (0..view.len()).find(is_bad).map(|i| (i, view.get(i).to_string()))
        });
        match bad {
            None => Ok(Self::PerSample(array)),
            Some((i, value)) => {
                let expected = "a finite number > 0, at most 2**53 where an integer";
                Err(Error::value_at("max_score", i, value, expected).into())
            }
        }
    }

    fn check_len(&self, samples: usize) -> Result<()> {
        match self {
            Self::One(_) => Ok(()),
            Self::PerSample(limits) => check_len("max_score", limits.len(), samples),
        }
    }

    fn mask(&self, scores: &Array<'_>) -> Result<Vec<bool>> {
        with_scores!(&Scores::view(scores)?, scores => self.mask_typed(scores))
    }

    fn mask_typed<S: Score + Stored>(&self, scores: &View<'_, S>) -> Result<Vec<bool>> {
        let scores = column(scores).into_iter().map(Score::as_f64);
        match self {
            Self::One(max) => {
                let limit = if S::divides_in_f32(max) {
                    f32::from_f64(max.value).into()
                } else {
                    max.value
                };
                Ok(scores.map(|score| score >= limit).collect())
            }
            Self::PerSample(limits) => with_scores!(&Scores::view(limits)?, limits => {
                let limits = column(limits).into_iter().map(Score::as_f64);
                Ok(scores.zip(limits).map(|(score, limit)| score >= limit).collect())
            }),
        }
    }
}

fn column<S: Score + Stored>(view: &View<'_, S>) -> Vec<S> {
    let mut values = Vec::new();
    view.copy(0..view.len(), &mut values, |value| value);
    values
}
