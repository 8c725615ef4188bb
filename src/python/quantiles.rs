//! The Python classes of the estimators.
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::PyArray1;
use pyo3::prelude::*;

use super::arrays::PyLengths;

use crate::column::Lengths;
use crate::quantile::{Estimator, ExactQuantile as Core, Quantile};

/// Exact.
#[pyclass(frozen, module = "toggle_rs")]
pub(super) struct ExactQuantile(Mutex<Core>);

impl ExactQuantile {
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ExactQuantile {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(Core::new()))
    }
    fn update(&self, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let lengths = PyLengths::new("values", values)?;
        let mut buf = vec![0; lengths.len()];
        lengths.read(0, &mut buf)?;
        Ok(self.lock().update(&buf)?)
    }
    fn percentile(&self, p: f64) -> PyResult<Option<f64>> {
        Ok(self.lock().percentile(p)?)
    }
    #[getter]
    fn count(&self) -> u64 {
        self.lock().count()
    }
}

pub(super) fn pattern(
    _estimator: Option<&Bound<'_, PyAny>>,
    _percentile: f64,
) -> PyResult<Estimator> {
    Ok(Estimator::Exact(Core::new()))
}

pub(super) fn pattern_repr(_e: &Estimator) -> String {
    "'exact'".into()
}

/// Every value held, ascending.
pub(super) fn sorted_values<'py>(
    py: Python<'py>,
    estimator: &Estimator,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let mut values = Vec::new();
    match estimator {
        Estimator::Exact(exact) => {
            for (value, count) in exact.counts() {
                for _ in 0..count {
                    values.push(value as i64);
                }
            }
        }
    }
    Ok(PyArray1::from_vec(py, values))
}

pub(super) fn pattern_object<'py>(py: Python<'py>, _e: &Estimator) -> PyResult<Bound<'py, PyAny>> {
    Ok(pyo3::types::PyString::new(py, "exact").into_any())
}
