//! NumPy arrays as columns, read where they lie.

use std::marker::PhantomData;

use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::errors::wrong_type;
use super::numbers::{self, MaxScore};
use crate::column::{Column, Lengths, bad_length};
use crate::quantile::MAX_LENGTH;
use crate::{Error, Result};

/// An element as it lies in an array. `bool` is read as a byte, for NumPy does
/// not promise that it is 0 or 1.
pub(super) trait Stored: Element + Copy {
    type Raw: Copy;
    /// What NumPy computes in when it divides by a number of this width.
    fn divides_in_f32(by: &MaxScore) -> bool;
    fn from_raw(raw: Self::Raw) -> Self;
}

macro_rules! stored {
    ($($t:ty as $raw:ty: |$by:ident| $single:expr, |$value:ident| $from_raw:expr;)*) => {$(
        impl Stored for $t {
            type Raw = $raw;
            fn divides_in_f32($by: &MaxScore) -> bool {
                $single
            }
            #[inline]
            fn from_raw($value: $raw) -> $t {
                $from_raw
            }
        }
    )*};
}
stored! {
    f64 as f64: |_by| false, |raw| raw;
    f32 as f32: |by| !by.widens_float32(), |raw| raw;
    i64 as i64: |_by| false, |raw| raw;
    i32 as i32: |_by| false, |raw| raw;
    i16 as i16: |by| by.narrows_small_integers(), |raw| raw;
    i8 as i8: |by| by.narrows_small_integers(), |raw| raw;
    u64 as u64: |_by| false, |raw| raw;
    u32 as u32: |_by| false, |raw| raw;
    u16 as u16: |by| by.narrows_small_integers(), |raw| raw;
    u8 as u8: |by| by.narrows_small_integers(), |raw| raw;
    bool as u8: |by| by.narrows_small_integers(), |raw| raw != 0;
}

/// A one-dimensional array of any stride and alignment.
pub(super) struct View<'py, T: Stored> {
    first: *const u8,
    /// Bytes from one element to the next.
    stride: isize,
    len: usize,
    // Keeps the array alive, and other Rust code from writing to it.
    _borrow: PyReadonlyArray1<'py, T>,
    element: PhantomData<T>,
}

impl<'py, T: Stored> View<'py, T> {
    /// A 1-D array, or a 0-D one as a column of one sample.
    fn new(argument: &'static str, array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        let array = if array.ndim() == 0 {
            array.call_method1("reshape", (1,))?
        } else {
            array.as_any().clone()
        };
        let borrow = array.cast::<PyArray1<T>>()?.try_readonly().map_err(|_| {
            let expected = "an array that nobody is writing to";
            Error::value(argument, "an array borrowed for writing", expected)
        })?;
        Ok(Self {
            first: borrow.data().cast::<u8>(),
            stride: borrow.strides()[0],
            len: borrow.len(),
            _borrow: borrow,
            element: PhantomData,
        })
    }
}

impl<T: Stored> Column<T> for View<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    #[allow(unsafe_code, reason = "no safe view takes misaligned arrays")]
    fn get(&self, index: usize) -> T {
        assert!(index < self.len, "the kernels stay within a column");
        // SAFETY: the array is alive and has `len` elements `stride` bytes apart.
        // Nobody writes meanwhile: the GIL is held as long as a View exists.
        #[allow(clippy::cast_possible_wrap, reason = "NumPy keeps sizes within isize")]
        let raw = unsafe {
            self.first
                .offset(index as isize * self.stride)
                .cast::<T::Raw>()
                .read_unaligned()
        };
        T::from_raw(raw)
    }
}

/// What dtype an array has, where it is one that this module reads.
fn kind_and_size(array: &Bound<'_, PyUntypedArray>) -> Option<(u8, usize)> {
    let dtype = array.dtype();
    let readable = dtype.is_native_byteorder() != Some(false);
    readable.then(|| (dtype.kind(), dtype.itemsize()))
}

/// Says why an array cannot be read.
pub(super) fn bad_dtype(
    argument: &'static str,
    array: &Bound<'_, PyUntypedArray>,
    expected: &str,
) -> PyErr {
    let dtype = array.dtype();
    let name = dtype.to_string();
    let expected = match dtype.is_native_byteorder() {
        Some(false) => {
            format!("{expected} in native byte order: array.astype(dtype.newbyteorder('='))")
        }
        _ => expected.into(),
    };
    Error::Type {
        argument,
        index: None,
        value: format!("dtype {name}"),
        expected,
    }
    .into()
}

/// The object itself if it is an array, else what `np.asarray` makes of it.
pub(super) fn as_array<'py>(
    argument: &'static str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let array = match object.cast::<PyUntypedArray>() {
        Ok(array) => array.clone(),
        Err(_) => {
            let numpy = object.py().import(pyo3::intern!(object.py(), "numpy"))?;
            numpy
                .call_method1(pyo3::intern!(object.py(), "asarray"), (object,))?
                .cast_into()?
        }
    };
    if array.ndim() > 1 {
        let value = format!("an array of {} dimensions", array.ndim());
        return Err(Error::value(argument, value, "one dimension").into());
    }
    Ok(array)
}

/// The argument `scores`, of any dtype that scores may have.
pub(super) enum Scores<'py> {
    F64(View<'py, f64>),
    F32(View<'py, f32>),
    I64(View<'py, i64>),
    I32(View<'py, i32>),
    I16(View<'py, i16>),
    I8(View<'py, i8>),
    U64(View<'py, u64>),
    U32(View<'py, u32>),
    U16(View<'py, u16>),
    U8(View<'py, u8>),
    Bool(View<'py, bool>),
}

impl<'py> Scores<'py> {
    pub fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        Self::typed("scores", &as_array("scores", object)?)
    }

    /// The same for an array of another name.
    pub fn typed(argument: &'static str, array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        Ok(match kind_and_size(array) {
            Some((b'f', 8)) => Self::F64(View::new(argument, array)?),
            Some((b'f', 4)) => Self::F32(View::new(argument, array)?),
            Some((b'i', 8)) => Self::I64(View::new(argument, array)?),
            Some((b'i', 4)) => Self::I32(View::new(argument, array)?),
            Some((b'i', 2)) => Self::I16(View::new(argument, array)?),
            Some((b'i', 1)) => Self::I8(View::new(argument, array)?),
            Some((b'u', 8)) => Self::U64(View::new(argument, array)?),
            Some((b'u', 4)) => Self::U32(View::new(argument, array)?),
            Some((b'u', 2)) => Self::U16(View::new(argument, array)?),
            Some((b'u', 1)) => Self::U8(View::new(argument, array)?),
            Some((b'b', 1)) => Self::Bool(View::new(argument, array)?),
            _ => {
                return Err(bad_dtype(
                    argument,
                    array,
                    "float64, float32, an integer dtype or bool",
                ));
            }
        })
    }
}

/// Runs `$body` with `$view` bound to the typed view of a [`Scores`].
macro_rules! with_scores {
    ($scores:expr, $view:ident => $body:expr) => {
        match $scores {
            $crate::python::arrays::Scores::F64($view) => $body,
            $crate::python::arrays::Scores::F32($view) => $body,
            $crate::python::arrays::Scores::I64($view) => $body,
            $crate::python::arrays::Scores::I32($view) => $body,
            $crate::python::arrays::Scores::I16($view) => $body,
            $crate::python::arrays::Scores::I8($view) => $body,
            $crate::python::arrays::Scores::U64($view) => $body,
            $crate::python::arrays::Scores::U32($view) => $body,
            $crate::python::arrays::Scores::U16($view) => $body,
            $crate::python::arrays::Scores::U8($view) => $body,
            $crate::python::arrays::Scores::Bool($view) => $body,
        }
    };
}
pub(super) use with_scores;

/// An argument with lengths: an array of any integer dtype, or integers.
pub(super) struct PyLengths<'py> {
    argument: &'static str,
    column: LengthColumn<'py>,
}

enum LengthColumn<'py> {
    I64(View<'py, i64>),
    I32(View<'py, i32>),
    I16(View<'py, i16>),
    I8(View<'py, i8>),
    U64(View<'py, u64>),
    U32(View<'py, u32>),
    U16(View<'py, u16>),
    U8(View<'py, u8>),
    /// From a list, a tuple or a single integer.
    Checked(Vec<u64>),
}

impl<'py> PyLengths<'py> {
    pub fn new(argument: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        use LengthColumn as C;
        let listed = |items: &mut dyn Iterator<Item = Bound<'py, PyAny>>| {
            items
                .enumerate()
                .map(|(i, item)| numbers::length(argument, Some(i), &item))
                .collect::<PyResult<_>>()
        };
        let column = if let Ok(list) = object.cast::<PyList>() {
            C::Checked(listed(&mut list.iter())?)
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            C::Checked(listed(&mut tuple.iter())?)
        } else {
            let array = &as_array(argument, object)?;
            match kind_and_size(array) {
                Some((b'i', 8)) => C::I64(View::new(argument, array)?),
                Some((b'i', 4)) => C::I32(View::new(argument, array)?),
                Some((b'i', 2)) => C::I16(View::new(argument, array)?),
                Some((b'i', 1)) => C::I8(View::new(argument, array)?),
                Some((b'u', 8)) => C::U64(View::new(argument, array)?),
                Some((b'u', 4)) => C::U32(View::new(argument, array)?),
                Some((b'u', 2)) => C::U16(View::new(argument, array)?),
                Some((b'u', 1)) => C::U8(View::new(argument, array)?),
                _ if object.is_instance_of::<pyo3::types::PyInt>() => {
                    C::Checked(vec![numbers::length(argument, None, object)?])
                }
                _ if object.cast::<PyUntypedArray>().is_ok() => {
                    return Err(bad_dtype(argument, array, "an integer dtype"));
                }
                _ => return Err(wrong_type(argument, None, object, "integers")),
            }
        };
        Ok(Self { argument, column })
    }
}

impl Lengths for PyLengths<'_> {
    fn argument(&self) -> &'static str {
        self.argument
    }

    fn len(&self) -> usize {
        match &self.column {
            LengthColumn::I64(view) => view.len(),
            LengthColumn::I32(view) => view.len(),
            LengthColumn::I16(view) => view.len(),
            LengthColumn::I8(view) => view.len(),
            LengthColumn::U64(view) => view.len(),
            LengthColumn::U32(view) => view.len(),
            LengthColumn::U16(view) => view.len(),
            LengthColumn::U8(view) => view.len(),
            LengthColumn::Checked(lengths) => lengths.len(),
        }
    }

    fn read(&self, start: usize, out: &mut [u64]) -> Result<()> {
        let argument = self.argument;
        match &self.column {
            LengthColumn::I64(view) => read(argument, view, start, out),
            LengthColumn::I32(view) => read(argument, view, start, out),
            LengthColumn::I16(view) => read(argument, view, start, out),
            LengthColumn::I8(view) => read(argument, view, start, out),
            LengthColumn::U64(view) => read(argument, view, start, out),
            LengthColumn::U32(view) => read(argument, view, start, out),
            LengthColumn::U16(view) => read(argument, view, start, out),
            LengthColumn::U8(view) => read(argument, view, start, out),
            LengthColumn::Checked(lengths) => {
                out.copy_from_slice(&lengths[start..start + out.len()]);
                Ok(())
            }
        }
    }
}

fn read<T: Stored + TryInto<u64> + std::fmt::Display>(
    argument: &'static str,
    view: &View<'_, T>,
    start: usize,
    out: &mut [u64],
) -> Result<()> {
    for (index, slot) in (start..).zip(out) {
        let length = view.get(index);
        *slot = match length.try_into() {
            Ok(length) if length <= MAX_LENGTH => length,
            _ => return Err(bad_length(argument, index, length)),
        };
    }
    Ok(())
}
