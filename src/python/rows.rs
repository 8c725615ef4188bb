//! The elements of a one-dimensional array of any dtype, as bytes.

use std::marker::PhantomData;

use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};

use super::arrays::Array;
use crate::Result;

/// Reads no objects: of two elements only whether they are the same bytes.
pub(super) struct Rows<'a> {
    first: *const u8,
    /// Bytes of an element.
    width: usize,
    /// Bytes from one element to the next.
    stride: isize,
    len: usize,
    array: PhantomData<&'a ()>,
}

impl<'a> Rows<'a> {
    #[allow(
        unsafe_code,
        reason = "no safe view takes an element type that is not known before"
    )]
    pub fn new(array: &'a Array<'_>) -> Result<Self> {
        // SAFETY: it is such an array, but for its elements, of which nothing is
        // asked.
        let any = unsafe { array.as_any().cast_unchecked::<PyArray1<u8>>() };
        array.check_unborrowed(any)?;
        Ok(Self {
            first: any.data().cast_const(),
            width: array.itemsize(),
            stride: any.strides()[0],
            len: any.len(),
            array: PhantomData,
        })
    }

    /// The elements in order.
    #[allow(unsafe_code, reason = "no safe view takes strided arrays")]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        let Self {
            first,
            width,
            stride,
            len,
            ..
        } = *self;
        (0..len).map(move |index| {
            // SAFETY: the array is alive and has `len` elements of `width` bytes,
            // `stride` bytes apart. Nobody writes or resizes meanwhile: the GIL is
            // held, and no Python code runs, as long as these are in use.
            #[allow(clippy::cast_possible_wrap, reason = "NumPy keeps sizes within isize")]
            unsafe {
                std::slice::from_raw_parts(first.offset(index as isize * stride), width)
            }
        })
    }
}
