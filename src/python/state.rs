//! What outlives a process, for every class alike: bytes, files, pickle, state
//! dicts, merging.

use std::path::{Path, PathBuf};
use std::sync::MutexGuard;

use pyo3::PyClass;
use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyMemoryView, PyString, PyType};

use super::errors::{CheckpointError, wrong_type};
use super::warnings::warn;
use crate::snapshot::{self, Payload, Snapshot};
use crate::{Error, Result};

/// A Python class over state that can be written down.
pub(super) trait Stateful:
    PyClass<Frozen = pyo3::pyclass::boolean_struct::True> + Sync
{
    type Core: Snapshot + Clone;

    /// Lets go of the GIL while it waits. No Python code may run under the
    /// lock: it could come back here.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Self::Core>;
}

/// The argument `path`.
fn file_path(object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    object.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyTypeError>(object.py()) {
            wrong_type("path", None, object, "a str or os.PathLike of one")
        } else {
            error
        }
    })
}

/// `a == b`.
pub(super) fn equal<C: Stateful<Core: PartialEq>>(a: &C, b: &C, py: Python<'_>) -> bool {
    if std::ptr::eq(a, b) {
        return true;
    }
    // Never two locks at once: two threads could wait for each other.
    let theirs = b.lock(py).clone();
    *a.lock(py) == theirs
}

/// A class that may have subclasses in Python.
pub(super) trait Base: Stateful {
    /// Some object of `class`, this one or a subclass, made by `new`, this
    /// class's `__new__`.
    fn blank<'py>(
        new: &Bound<'py, PyAny>,
        class: &Bound<'py, PyType>,
    ) -> PyResult<Bound<'py, PyAny>>;

    /// Settings that are plain scalars, for people to read.
    fn scalars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>>;

    /// What to say before `own` takes up the observations of `other`.
    fn about_load(_own: &Self::Core, _other: &Self::Core) -> Option<String> {
        None
    }

    /// Takes up the observations of `other`, with its own settings.
    fn load(own: &mut Self::Core, other: Self::Core) -> Result<()>;
}

pub(super) fn to_bytes<'py, T: Stateful>(this: &T, py: Python<'py>) -> Bound<'py, PyBytes> {
    let bytes = this.lock(py).to_bytes();
    PyBytes::new(py, &bytes)
}

/// The state that any bytes-like object holds.
pub(super) fn read<C: Snapshot>(data: &Bound<'_, PyAny>) -> PyResult<C> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(C::from_bytes(bytes.as_bytes())?);
    }
    let Ok(view) = PyMemoryView::from(data) else {
        return Err(wrong_type("data", None, data, "a bytes-like object"));
    };
    let copy = view.call_method0("tobytes")?.cast_into::<PyBytes>()?;
    Ok(C::from_bytes(copy.as_bytes())?)
}

/// What pickle and copy need to make an object again: its class's
/// `from_bytes`, the bytes, and what a subclass has added.
pub(super) type Reduced<'py> = (
    Bound<'py, PyAny>,
    (Bound<'py, PyBytes>,),
    Option<Bound<'py, PyAny>>,
);

pub(super) fn reduce<'py, T: Stateful>(this: &Bound<'py, T>) -> PyResult<Reduced<'py>> {
    let from_bytes = this.as_any().get_type().getattr("from_bytes")?;
    let bytes = to_bytes(this.get(), this.py());
    // Before Python 3.11 only a class that wants to has `__getstate__`.
    let added = match this.as_any().getattr_opt("__getstate__")? {
        Some(get_state) => Some(get_state.call0()?),
        None => this.as_any().getattr_opt("__dict__")?,
    };
    Ok((from_bytes, (bytes,), added))
}

/// An object of `class`, which is `T` or a subclass, with this state. As in
/// pickle, no `__init__` is called.
pub(super) fn create<'py, T: Base>(
    class: &Bound<'py, PyType>,
    state: T::Core,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let object = T::blank(&py.get_type::<T>().getattr("__new__")?, class)?;
    *object.cast::<T>()?.get().lock(py) = state;
    Ok(object)
}

pub(super) fn save<T: Stateful>(this: &T, path: &Bound<'_, PyAny>) -> PyResult<()> {
    let (py, path) = (path.py(), &file_path(path)?);
    let bytes = this.lock(py).to_bytes();
    let written = py.detach(|| snapshot::write_file(path, &bytes));
    written.map_err(|error| os_error(py, &error, path))
}

pub(super) fn load<'py, T: Base>(
    class: &Bound<'py, PyType>,
    path: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, path) = (class.py(), &file_path(path)?);
    let bytes = py.detach(|| snapshot::read_file(path));
    let bytes = bytes.map_err(|error| os_error(py, &error, path))?;
    let state = T::Core::from_bytes(&bytes);
    let state = state.map_err(|error| match error {
        Error::Snapshot(_) => CheckpointError::new_err(format!("{}: {error}", path.display())),
        other => other.into(),
    })?;
    create::<T>(class, state)
}

/// The `OSError` about a path, of the kind that Python itself would raise.
fn os_error(py: Python<'_>, error: &std::io::Error, path: &Path) -> PyErr {
    let Some(code) = error.raw_os_error() else {
        return PyOSError::new_err(format!("{error}: {}", path.display()));
    };
    let text = py
        .import("os")
        .and_then(|os| os.call_method1("strerror", (code,)));
    match text {
        Ok(text) => PyOSError::new_err((code, text.unbind(), path.as_os_str().to_owned())),
        Err(error) => error,
    }
}

/// Plain scalars and one base64 string.
pub(super) fn state_dict<'py, T: Base>(this: &T, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("version", snapshot::VERSION)?;
    dict.set_item("class", T::Core::KIND.name())?;
    dict.update(this.scalars(py)?.as_mapping())?;
    let base64 = py.import("base64")?;
    let data = base64.call_method1("b64encode", (to_bytes(this, py),))?;
    dict.set_item("data", data.call_method1("decode", ("ascii",))?)?;
    Ok(dict)
}

pub(super) fn load_state_dict<T: Base>(this: &T, state: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = state.py();
    let Ok(dict) = state.cast::<PyMapping>() else {
        return Err(wrong_type("state_dict", None, state, "a dict"));
    };
    let invalid = |what: &str| PyErr::from(Error::Snapshot(what.into()));
    let data = dict
        .get_item("data")
        .map_err(|_| invalid("the state dict has no \"data\""))?;
    let data = data
        .cast::<PyString>()
        .map_err(|_| invalid("\"data\" is no str"))?;
    let keywords = PyDict::new(py);
    keywords.set_item("validate", true)?;
    let bytes = py
        .import("base64")?
        .call_method("b64decode", (data,), Some(&keywords));
    let bytes = bytes.map_err(|_| invalid("\"data\" is not base64"))?;
    let other: T::Core = read(&bytes)?;
    let advice = T::about_load(&this.lock(py), &other);
    warn(py, advice)?;
    Ok(T::load(&mut this.lock(py), other)?)
}

/// Takes in what `other`, another object of the class, has seen.
pub(super) fn merge<T: Stateful>(
    this: &T,
    other: &Bound<'_, PyAny>,
    merge: impl FnOnce(&mut T::Core, &T::Core) -> Result<()>,
) -> PyResult<()> {
    let py = other.py();
    let Ok(other) = other.cast::<T>() else {
        return Err(wrong_type("other", None, other, T::Core::KIND.name()));
    };
    if std::ptr::eq(this, other.get()) {
        let expected = "another object: everything would be counted twice";
        return Err(Error::value("other", "the object itself", expected).into());
    }
    // Never two locks at once: two threads could wait for each other.
    let theirs = other.get().lock(py).clone();
    Ok(merge(&mut this.lock(py), &theirs)?)
}
