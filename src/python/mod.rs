//! The Python module `toggle_rs._core`; the only place that names pyo3.

mod arrays;
mod batch;
mod convert;
mod errors;
mod keys;
mod numbers;
mod quantiles;
mod toggle;
mod traces;
mod tracker;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
mod _core {
    #[pymodule_export]
    use super::errors::CheckpointError;
    #[pymodule_export]
    use super::quantiles::ExactQuantile;
    #[pymodule_export]
    use super::toggle::{Shaped, Toggle};
    #[pymodule_export]
    use super::traces::{Rollouts, TraceError, read_traces};
    #[pymodule_export]
    use super::tracker::ToggleBudgetTracker;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
