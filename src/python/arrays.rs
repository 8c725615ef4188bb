//! NumPy arrays as columns, read where they lie.

use std::marker::PhantomData;
use std::ops::Range;

use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3::{ffi, intern};

use super::errors::wrong_type;
use super::masked::check_unmasked;
use super::numbers::MaxScore;
use super::text::lossy;
use crate::column::Column;
use crate::{Error, Result};

/// An element as it lies in an array. `bool` is read as a byte, for NumPy does
/// not promise that it is 0 or 1.
pub(super) trait Stored: Element + Copy {
    type Raw: Copy;
    /// Whether any bits are a value: not so for bool.
    const IS_PLAIN: bool;
    /// What NumPy computes in when it divides by a number of this width.
    fn divides_in_f32(by: &MaxScore) -> bool;
    fn from_raw(raw: Self::Raw) -> Self;
    /// The bits of an integer, with its sign extended.
    fn to_bits(self) -> u64;
}

macro_rules! stored {
    ($($t:ty as $raw:ty, $plain:literal: |$by:ident| $single:expr, |$value:ident| $from_raw:expr;)*) => {$(
        impl Stored for $t {
            type Raw = $raw;
            const IS_PLAIN: bool = $plain;
            fn divides_in_f32($by: &MaxScore) -> bool {
                $single
            }
            #[inline]
            fn from_raw($value: $raw) -> $t {
                $from_raw
            }
            #[inline]
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_lossless,
                reason = "asked of integers only, of which none is wider")]
            fn to_bits(self) -> u64 {
                self as u64
            }
        }
    )*};
}
stored! {
    f64 as f64, true: |_by| false, |raw| raw;
    f32 as f32, true: |by| !by.widens_float32(), |raw| raw;
    i64 as i64, true: |_by| false, |raw| raw;
    i32 as i32, true: |_by| false, |raw| raw;
    i16 as i16, true: |by| by.narrows_small_integers(), |raw| raw;
    i8 as i8, true: |by| by.narrows_small_integers(), |raw| raw;
    u64 as u64, true: |_by| false, |raw| raw;
    u32 as u32, true: |_by| false, |raw| raw;
    u16 as u16, true: |by| by.narrows_small_integers(), |raw| raw;
    u8 as u8, true: |by| by.narrows_small_integers(), |raw| raw;
    bool as u8, false: |by| by.narrows_small_integers(), |raw| raw != 0;
}

/// An argument that is, or has become, a one-dimensional array.
///
/// Making one may run Python code. What comes after does not: views are made
/// and read under the lock of the object that they are for, and are gone before
/// anything can resize the array.
pub(super) struct Array<'py> {
    argument: &'static str,
    array: Bound<'py, PyUntypedArray>,
}

impl<'py> Array<'py> {
    /// The object itself if it is an array, else what NumPy makes of it.
    pub fn new(argument: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let array = to_array(argument, object)?;
        if array.ndim() == 0 && !array.is(object) {
            return Err(wrong_type(argument, None, object, "a 1-D array"));
        }
        Self::one_dimensional(argument, array)
    }

    /// The same, where a single number is a column of one.
    pub fn or_scalar(argument: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let array = to_array(argument, object)?;
        if array.ndim() == 0 {
            let array = array.call_method1("reshape", (1,))?.cast_into()?;
            return Ok(Self { argument, array });
        }
        Self::one_dimensional(argument, array)
    }

    fn one_dimensional(
        argument: &'static str,
        array: Bound<'py, PyUntypedArray>,
    ) -> PyResult<Self> {
        if array.ndim() == 1 {
            return Ok(Self { argument, array });
        }
        let value = format!("an array of {} dimensions", array.ndim());
        Err(Error::value(argument, value, "one dimension").into())
    }

    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// Kind and size of the elements, where they are in native byte order.
    pub fn kind_and_size(&self) -> Option<(u8, usize)> {
        let dtype = self.array.dtype();
        let readable = dtype.is_native_byteorder() != Some(false);
        readable.then(|| (dtype.kind(), dtype.itemsize()))
    }

    pub fn kind(&self) -> u8 {
        self.array.dtype().kind()
    }

    /// Bytes of an element.
    pub fn itemsize(&self) -> usize {
        self.array.dtype().itemsize()
    }

    pub fn as_any(&self) -> &Bound<'py, PyAny> {
        self.array.as_any()
    }

    pub fn to_list(&self) -> PyResult<Bound<'py, PyList>> {
        Ok(self.array.call_method0("tolist")?.cast_into()?)
    }

    /// Only Rust code can borrow an array for writing, and none can begin to while
    /// the GIL is held: it is enough to look once.
    pub fn check_unborrowed<T: Element>(&self, array: &Bound<'_, PyArray1<T>>) -> Result<()> {
        if array.try_readonly().is_ok() {
            return Ok(());
        }
        let expected = "an array that nobody is writing to";
        Err(Error::value(
            self.argument,
            "an array borrowed for writing",
            expected,
        ))
    }

    /// Says why the array cannot be read.
    pub fn bad_dtype(&self, expected: &str) -> Error {
        let dtype = self.array.dtype();
        let bits = 8 * dtype.itemsize();
        let name = match dtype.kind() {
            b'f' => format!("float{bits}"),
            b'c' => format!("complex{bits}"),
            b'i' => format!("int{bits}"),
            b'u' => format!("uint{bits}"),
            b'b' => "bool".into(),
            b'O' => "object".into(),
            b'U' => "str".into(),
            b'S' => "bytes".into(),
            b'M' => "datetime64".into(),
            b'm' => "timedelta64".into(),
            b'V' => "void".into(),
            other => format!("kind {:?}", char::from(other)),
        };
        let swapped = dtype.is_native_byteorder() == Some(false);
        let (order, remedy) = if swapped {
            (
                " of foreign byte order",
                ": array.astype(array.dtype.newbyteorder('='))",
            )
        } else {
            ("", "")
        };
        Error::Type {
            argument: self.argument,
            index: None,
            value: format!("dtype {name}{order}"),
            expected: format!("{expected}{remedy}"),
        }
    }
}

/// Whether an argument is one value per sample rather than one for all.
pub(super) fn is_sequence(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(ndim) = object.getattr("ndim") {
        return Ok(!ndim.eq(0)?);
    }
    for name in ["__len__", "__array__", "__dlpack__"] {
        if object.hasattr(name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn to_array<'py>(
    argument: &'static str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        check_unmasked(argument, object)?;
        return Ok(array.clone());
    }
    let py = object.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    let only_dlpack =
        !object.hasattr(intern!(py, "__array__"))? && object.hasattr(intern!(py, "__dlpack__"))?;
    let convert = if only_dlpack {
        intern!(py, "from_dlpack")
    } else {
        intern!(py, "asarray")
    };
    let array = numpy.call_method1(convert, (object,));
    let array = array.map_err(|error| unreadable(argument, py, error))?;
    Ok(array.cast_into()?)
}

/// What NumPy or torch say of an object that is no array to them, with the name
/// of the argument. What else its own code raises stays as it is.
fn unreadable(argument: &'static str, py: Python<'_>, error: PyErr) -> PyErr {
    let kind = error.get_type(py);
    let text = error.value(py).str();
    let message = format!(
        "{argument}: {}",
        text.map_or_else(|_| "unreadable".into(), |text| lossy(&text))
    );
    let named = if kind.is(py.get_type::<PyValueError>()) {
        PyValueError::new_err(message)
    } else if kind.is(py.get_type::<PyTypeError>()) || kind.is(py.get_type::<PyRuntimeError>()) {
        PyTypeError::new_err(message)
    } else {
        return error;
    };
    named.set_cause(py, Some(error));
    named
}

/// A one-dimensional array of any stride and alignment.
pub(super) struct View<'a, T: Stored> {
    first: *const u8,
    /// Bytes from one element to the next.
    stride: isize,
    len: usize,
    array: PhantomData<&'a T>,
}

impl<'a, T: Stored> View<'a, T> {
    fn new(of: &'a Array<'_>) -> Result<Self> {
        let array = of
            .array
            .cast::<PyArray1<T>>()
            .map_err(|_| of.bad_dtype("another dtype"))?;
        of.check_unborrowed(array)?;
        Ok(Self {
            first: array.data().cast::<u8>(),
            stride: array.strides()[0],
            len: array.len(),
            array: PhantomData,
        })
    }
}

impl<T: Stored> View<'_, T> {
    /// The whole array, where its elements lie together as Rust wants them.
    pub fn as_slice(&self) -> Option<&[T]> {
        T::IS_PLAIN.then(|| self.cast_slice()).flatten()
    }

    /// The whole array as elements of a type of the same size of which any
    /// bits are a value.
    #[allow(
        unsafe_code,
        reason = "no safe slice can be made of an array that may change"
    )]
    fn cast_slice<U>(&self) -> Option<&[U]> {
        let first = self.first.cast::<U>();
        let together = self.stride == size_of::<T>().cast_signed();
        if size_of::<T>() != size_of::<U>() || !together || !first.is_aligned() || self.len == 0 {
            return None;
        }
        // SAFETY: as in `get`; the sizes are equal.
        Some(unsafe { std::slice::from_raw_parts(first, self.len) })
    }

    /// The element at an index.
    #[inline]
    #[allow(unsafe_code, reason = "no safe view takes misaligned arrays")]
    pub fn get(&self, index: usize) -> T {
        assert!(index < self.len, "the kernels stay within a column");
        // SAFETY: the array is alive and has `len` elements `stride` bytes apart.
        // Nobody writes or resizes meanwhile: the GIL is held, and no Python code
        // runs, as long as a View exists.
        #[allow(clippy::cast_possible_wrap, reason = "NumPy keeps sizes within isize")]
        let raw = unsafe {
            self.first
                .offset(index as isize * self.stride)
                .cast::<T::Raw>()
                .read_unaligned()
        };
        T::from_raw(raw)
    }

    /// Puts what `convert` makes of some elements into `room`.
    pub fn copy<U>(&self, samples: Range<usize>, room: &mut Vec<U>, convert: impl Fn(T) -> U) {
        room.clear();
        if self.stride == size_of::<T>().cast_signed() {
            // Known to be the size, so that it becomes a copy of memory.
            let together = Self {
                stride: size_of::<T>().cast_signed(),
                ..*self
            };
            room.extend(samples.map(|index| convert(together.get(index))));
        } else {
            room.extend(samples.map(|index| convert(self.get(index))));
        }
    }
}

impl View<'_, i64> {
    /// [`Self::as_slice`] of integers that are not negative.
    pub fn as_unsigned(&self) -> Option<&[u64]> {
        self.cast_slice()
    }
}

impl<T: Stored> Column<T> for View<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn block<'a>(&'a self, samples: Range<usize>, room: &'a mut Vec<T>) -> &'a [T] {
        if let Some(all) = self.as_slice() {
            return &all[samples];
        }
        self.copy(samples, room, |value| value);
        room
    }
}

/// Tells where the object at an index of an object array lies; null where none
/// was ever written, or beyond the end.
#[allow(
    unsafe_code,
    clippy::cast_ptr_alignment,
    reason = "the safe way would borrow the whole array for each object; the read is unaligned"
)]
pub(super) fn addresses_of(
    array: &Bound<'_, PyArray1<Py<PyAny>>>,
) -> impl Fn(usize) -> *mut ffi::PyObject {
    let (len, stride) = (array.len(), array.strides()[0]);
    let first = array.data().cast::<u8>();
    move |index| {
        if index >= len {
            return std::ptr::null_mut();
        }
        #[allow(clippy::cast_possible_wrap, reason = "NumPy keeps sizes within isize")]
        let offset = index as isize * stride;
        // SAFETY: the array is alive and has more than `index` objects.
        unsafe {
            first
                .offset(offset)
                .cast::<*mut ffi::PyObject>()
                .read_unaligned()
        }
    }
}

/// The object at an index of an object array; None where there is none.
#[allow(unsafe_code, reason = "see addresses_of")]
pub(super) fn object_at<'py>(
    array: &Bound<'py, PyArray1<Py<PyAny>>>,
    index: usize,
) -> Bound<'py, PyAny> {
    // SAFETY: the pointer is null or of an object that the array keeps alive;
    // the GIL is held.
    let object = unsafe { Bound::from_borrowed_ptr_or_opt(array.py(), addresses_of(array)(index)) };
    object.unwrap_or_else(|| array.py().None().into_bound(array.py()))
}

/// The argument `scores`, of any dtype that scores may have.
pub(super) enum Scores<'a> {
    F64(View<'a, f64>),
    F32(View<'a, f32>),
    I64(View<'a, i64>),
    I32(View<'a, i32>),
    I16(View<'a, i16>),
    I8(View<'a, i8>),
    U64(View<'a, u64>),
    U32(View<'a, u32>),
    U16(View<'a, u16>),
    U8(View<'a, u8>),
    Bool(View<'a, bool>),
}

impl<'a> Scores<'a> {
    pub fn view(array: &'a Array<'_>) -> Result<Self> {
        Ok(match array.kind_and_size() {
            Some((b'f', 8)) => Self::F64(View::new(array)?),
            Some((b'f', 4)) => Self::F32(View::new(array)?),
            Some((b'i', 8)) => Self::I64(View::new(array)?),
            Some((b'i', 4)) => Self::I32(View::new(array)?),
            Some((b'i', 2)) => Self::I16(View::new(array)?),
            Some((b'i', 1)) => Self::I8(View::new(array)?),
            Some((b'u', 8)) => Self::U64(View::new(array)?),
            Some((b'u', 4)) => Self::U32(View::new(array)?),
            Some((b'u', 2)) => Self::U16(View::new(array)?),
            Some((b'u', 1)) => Self::U8(View::new(array)?),
            Some((b'b', 1)) => Self::Bool(View::new(array)?),
            _ => return Err(array.bad_dtype("float64, float32, an integer dtype or bool")),
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
