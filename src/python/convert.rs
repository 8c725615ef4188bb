//! Results in the kind that the scores came in: NumPy, or torch.

use pyo3::prelude::*;

/// Which kind of array a caller works with.
pub(super) enum Like<'py> {
    NumPy,
    /// `torch.from_numpy`.
    Torch(Bound<'py, PyAny>),
}

impl<'py> Like<'py> {
    /// Torch where `object` is a tensor. Never imports torch: who has a tensor
    /// has done so.
    pub fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let modules = py.import("sys")?.getattr("modules")?;
        let Ok(torch) = modules.get_item("torch") else {
            return Ok(Self::NumPy);
        };
        let Ok(tensor) = torch.getattr("Tensor") else {
            return Ok(Self::NumPy);
        };
        if object.is_instance(&tensor)? {
            Ok(Self::Torch(torch.getattr("from_numpy")?))
        } else {
            Ok(Self::NumPy)
        }
    }

    pub fn convert(&self, array: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::NumPy => Ok(array),
            Self::Torch(from_numpy) => from_numpy.call1((array,)),
        }
    }
}
