//! Masked arrays: what is masked is no value, and no kernel looks at masks.

use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;

use crate::Error;

/// Refuses an array of `numpy.ma` with an entry that is masked.
pub(super) fn check_unmasked(argument: &'static str, array: &Bound<'_, PyAny>) -> PyResult<()> {
    if array.is_exact_instance_of::<PyUntypedArray>() {
        return Ok(());
    }
    let py = array.py();
    let numpy_ma = py.import(intern!(py, "numpy.ma"))?;
    if !array.is_instance(&numpy_ma.getattr("MaskedArray")?)? {
        return Ok(());
    }
    let mask = numpy_ma.call_method1("getmaskarray", (array,))?;
    if !mask.call_method0("any")?.is_truthy()? {
        return Ok(());
    }
    let first = mask.call_method0("argmax")?.extract()?;
    let expected = "entries that are not masked";
    Err(Error::value_at(argument, first, "a masked entry", expected).into())
}
