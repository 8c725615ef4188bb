//! The Python module `toggle_rs._core`; the only place that names pyo3.
#![allow(clippy::doc_markdown, reason = "docstrings are for Python's readers")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "pyo3 hands arguments over by value"
)]

mod arrays;
mod batch;
mod convert;
mod errors;
mod groups;
mod keys;
mod lengths;
mod masked;
mod numbers;
mod objects;
mod options;
mod quantiles;
mod rows;
mod shaped;
mod state;
mod state_methods;
mod text;
mod toggle;
mod toggle_calls;
mod traces;
mod tracker;
mod tracker_calls;
mod values;
mod warnings;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
mod _core {
    #[pymodule_export]
    use super::errors::CheckpointError;
    #[pymodule_export]
    use super::shaped::Shaped;
    #[pymodule_export]
    use super::toggle::Toggle;
    #[pymodule_export]
    use super::traces::{Rollouts, TraceError, read_traces};
    #[pymodule_export]
    use super::tracker::ToggleBudgetTracker;
    use numpy::PyArrayMethods;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // The first borrow of an array looks up NumPy's part in it; that is not
        // to happen under a lock.
        drop(numpy::PyArray1::<f64>::zeros(module.py(), 1, false).readwrite());
        super::quantiles::add_to(module)?;
        super::traces::add_to(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.index()?.sort()
    }
}
