//! The Python module `toggle_rs._core`.

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
