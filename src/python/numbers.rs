//! Scalars: steps, counts, thresholds, and the score of a correct response.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use super::errors::wrong_type;
use super::text::lossy;
use crate::shaping::{Lambda, check_max_score};
use crate::{Error, Result};

/// An optional argument for which `None` is no way of leaving it out.
pub(super) struct Given<'py>(pub Option<Bound<'py, PyAny>>);

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Some(object.to_owned())))
    }
}

/// Up to here every integer is a float64.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

const COUNT: &str = "an integer in 0..2**64";

/// An integer argument that is not negative: an `int`, or what has `__index__`; no bool.
pub(super) fn count(argument: &'static str, object: &Bound<'_, PyAny>) -> PyResult<u64> {
    if object.is_instance_of::<PyBool>() {
        return Err(wrong_type(argument, None, object, COUNT));
    }
    count_or_bool(argument, object)
}

/// The same, where it may be left out.
pub(super) fn count_or(argument: &'static str, given: &Given<'_>, default: u64) -> PyResult<u64> {
    let object = given.0.as_ref();
    object.map_or(Ok(default), |object| count(argument, object))
}

/// The same for the drop-in, where `True` is 1, as in the reference.
pub(super) fn count_or_bool(argument: &'static str, object: &Bound<'_, PyAny>) -> PyResult<u64> {
    object.extract::<u64>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(object.py()) {
            Error::value(argument, text(object), COUNT).into()
        } else {
            wrong_type(argument, None, object, COUNT)
        }
    })
}

/// The size of a group. No batch has `usize::MAX` samples: the core refuses it.
pub(super) fn size(argument: &'static str, object: &Bound<'_, PyAny>) -> PyResult<usize> {
    Ok(usize::try_from(count(argument, object)?).unwrap_or(usize::MAX))
}

/// The same for the drop-in.
pub(super) fn size_or_bool(argument: &'static str, object: &Bound<'_, PyAny>) -> PyResult<usize> {
    Ok(usize::try_from(count_or_bool(argument, object)?).unwrap_or(usize::MAX))
}

/// A real argument: a Python number, or a NumPy scalar.
pub(super) fn real(argument: &'static str, object: &Bound<'_, PyAny>) -> PyResult<f64> {
    object.extract::<f64>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(object.py()) {
            Error::value(argument, text(object), "a finite number").into()
        } else {
            wrong_type(argument, None, object, "a number")
        }
    })
}

/// `lambda_`, and how NumPy would compare with it.
pub(super) fn lambda(object: &Bound<'_, PyAny>) -> PyResult<Lambda> {
    let strong = matches!(Width::of("lambda_", object)?, Width::Double);
    Ok(Lambda {
        value: real("lambda_", object)?,
        strong,
    })
}

/// `max_possible_score`, and how NumPy would divide by it.
pub(super) struct MaxScore {
    pub value: f64,
    width: Width,
}

impl MaxScore {
    /// A Python number that is finite and > 0.
    pub fn python(value: f64) -> Self {
        Self {
            value,
            width: Width::Weak,
        }
    }

    pub fn new(argument: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let value = real(argument, object)?;
        check_max_score(argument, value)?;
        #[allow(clippy::cast_possible_truncation, reason = "saturates")]
        let is_rounded = |exact: i128| exact != value as i128;
        // From here on an integer may have been; to ask each time costs as much as some 50 samples.
        if value >= LARGEST_EXACT && object.extract::<i128>().is_ok_and(is_rounded) {
            let expected = "a number that float64 holds exactly";
            return Err(Error::value(argument, text(object), expected).into());
        }
        Ok(Self {
            value,
            width: Width::of(argument, object)?,
        })
    }

    /// Whether `float32` scores are divided and compared as `float64`.
    pub fn widens_float32(&self) -> bool {
        matches!(self.width, Width::Double)
    }

    /// Whether integers of at most 16 bits are divided as `float32`.
    pub fn narrows_small_integers(&self) -> bool {
        matches!(self.width, Width::Single)
    }
}

/// How a number takes part in NumPy's promotion (NEP 50).
enum Width {
    /// A Python number: takes the type of the array beside it.
    Weak,
    /// `np.float32`.
    Single,
    /// `np.float64`, or an integer that only `float64` holds.
    Double,
    /// A NumPy integer that `float32` holds.
    SmallInteger,
}

impl Width {
    fn of(argument: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let python = object.is_exact_instance_of::<PyFloat>()
            || object.is_exact_instance_of::<PyInt>()
            || object.is_exact_instance_of::<PyBool>();
        if python {
            return Ok(Self::Weak);
        }
        let Ok(dtype) = object.getattr("dtype") else {
            return Ok(Self::Weak); // a subclass of float or int
        };
        Ok(match dtype.str()?.to_str()? {
            "float32" => Self::Single,
            "float64" | "int32" | "int64" | "uint32" | "uint64" => Self::Double,
            "int8" | "int16" | "uint8" | "uint16" | "bool" => Self::SmallInteger,
            _ => {
                let expected = "a Python number, np.float32, np.float64 or a NumPy integer";
                return Err(wrong_type(argument, None, object, expected));
            }
        })
    }
}

/// A length given by itself or in a list: an integer, no bool.
pub(super) fn length(
    argument: &'static str,
    index: Option<usize>,
    object: &Bound<'_, PyAny>,
) -> PyResult<u64> {
    let is_bool = object.is_instance_of::<PyBool>();
    let number = if is_bool {
        Err(PyTypeError::new_err(()))
    } else {
        object.extract::<u64>()
    };
    let number: Result<u64> = match number {
        Ok(length) if length <= crate::quantile::MAX_LENGTH => Ok(length),
        Err(error) if !error.is_instance_of::<PyOverflowError>(object.py()) => {
            return Err(wrong_type(argument, index, object, "an integer"));
        }
        _ => Err(Error::Value {
            argument,
            index,
            value: text(object),
            expected: "a length in 0..=2**53".into(),
        }),
    };
    Ok(number?)
}

/// The object as a message shows it.
pub(super) fn text(object: &Bound<'_, PyAny>) -> String {
    // An int of more than 4,300 digits has no decimal repr.
    object
        .str()
        .map_or_else(|_| "a huge number".into(), |text| lossy(&text))
}
