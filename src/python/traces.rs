//! Rollout traces as NumPy columns.

use std::collections::HashMap;
use std::path::PathBuf;

use numpy::{Element, IntoPyArray, PyArray1};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::keys::to_tuple;
use super::text::Text;
use crate::traces::{self, Count, Fields, Reader};

pyo3::create_exception!(
    toggle_rs,
    TraceError,
    PyValueError,
    "A trace file with a damaged line, or without a single rollout."
);

impl From<traces::TraceError> for PyErr {
    fn from(error: traces::TraceError) -> Self {
        if let traces::TraceError::Io { path, source } = &error
            && let Some(number) = source.raw_os_error()
        {
            // Python picks the class, FileNotFoundError say, by the number.
            let text = source.to_string();
            let text = text
                .strip_suffix(&format!(" (os error {number})"))
                .unwrap_or(&text);
            return PyOSError::new_err((number, text.to_owned(), path.clone().into_os_string()));
        }
        TraceError::new_err(error.to_string())
    }
}

/// Columns of rollouts, sorted by step, then by sample.
#[pyclass(frozen, get_all, module = "toggle_rs")]
pub(super) struct Rollouts {
    /// Training step.
    step: Py<PyArray1<i64>>,
    /// Index of the sample in its step.
    sample: Py<PyArray1<i64>>,
    /// Index of the prompt in its step.
    group: Py<PyArray1<i64>>,
    /// Index into `names`.
    dataset: Py<PyArray1<u32>>,
    /// Length of the response in tokens.
    length: Py<PyArray1<i64>>,
    /// Reward as logged.
    reward: Py<PyArray1<f64>>,
    /// Dataset keys, each a tuple of names.
    names: Py<PyTuple>,
    /// Rows left out since a later one had the same step and sample.
    repeated: u64,
    /// Files whose last line broke off.
    torn: u64,
}

#[pymethods]
impl Rollouts {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.step.bind(py).len()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (rows, names) = (self.__len__(py)?, self.names.bind(py).len());
        Ok(format!("<Rollouts: {rows} rows, {names} datasets>"))
    }
}

impl Rollouts {
    fn new(py: Python<'_>, rollouts: traces::Rollouts) -> PyResult<Self> {
        let names = rollouts.names.iter().map(|key| to_tuple(py, key));
        let names = names.collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            step: signed(py, rollouts.step)?,
            sample: signed(py, rollouts.sample)?,
            group: signed(py, rollouts.group)?,
            dataset: array(py, rollouts.dataset),
            length: signed(py, rollouts.length)?,
            reward: array(py, rollouts.reward),
            names: PyTuple::new(py, names)?.unbind(),
            repeated: rollouts.repeated,
            torn: rollouts.torn,
        })
    }
}

fn array<T: Element>(py: Python<'_>, column: Vec<T>) -> Py<PyArray1<T>> {
    column.into_pyarray(py).unbind()
}

/// Unsigned arrays wrap around when Python subtracts them.
fn signed(py: Python<'_>, column: Vec<u64>) -> PyResult<Py<PyArray1<i64>>> {
    let column = column.into_iter().map(i64::try_from);
    Ok(array(py, column.collect::<Result<_, _>>()?))
}

/// Rollouts as columns, from trace files in any order: JSON lines; plain, gzip or zstd.
///
/// Without the GIL, but for `progress`.
///
/// Args:
///     paths: The files. Where they repeat a sample of a step, the later file counts.
///     columns: Names of the fields that hold "step", "group", "reward", "length" and, if there
///         are such, "sample" and "dataset". By default those of open-instruct's traces.
///     count: What the length is where its field holds a text: "words" or "characters"; "tokens"
///         takes an integer or a list of integers.
///     progress: Called every few megabytes with the bytes of the files that were read since its
///         last call.
///
/// Raises:
///     TraceError: A line is damaged, or a file holds not one rollout.
///     OSError: A file cannot be read.
#[pyfunction]
#[pyo3(
    signature = (paths, *, columns = None, count = Text("tokens".into()), progress = None),
    text_signature = "(paths, *, columns=None, count='tokens', progress=None)",
)]
pub(super) fn read_traces(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    columns: Option<HashMap<Text, Text>>,
    count: Text,
    progress: Option<Py<PyAny>>,
) -> PyResult<Rollouts> {
    let fields = Fields {
        count: count_of(&count.0)?,
        ..columns.map_or_else(|| Ok(Fields::default()), fields_of)?
    };
    let report = move |bytes| {
        Python::attach(|py| {
            py.check_signals()?;
            match &progress {
                Some(progress) => progress.call1(py, (bytes,)).map(drop),
                None => Ok(()),
            }
        })
    };
    let rollouts = py.detach(move || {
        let mut reader = Reader::new(fields);
        reader.read_files(&paths, report)?;
        reader.finish().map_err(PyErr::from)
    })?;
    Rollouts::new(py, rollouts)
}

/// The number of a group that is named by a text: what `read_traces` makes of it.
#[pyfunction(name = "_group_of_text")]
fn group_of_text(text: Text) -> u64 {
    traces::group_of_text(&text.0)
}

/// Adds what only this package calls; set, for none of it is in `__all__`.
pub(super) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.setattr("_group_of_text", wrap_pyfunction!(group_of_text, module)?)
}

fn count_of(count: &str) -> PyResult<Count> {
    match count {
        "tokens" => Ok(Count::Tokens),
        "words" => Ok(Count::Words),
        "characters" => Ok(Count::Characters),
        _ => {
            let message = format!("count: got '{count}', expected tokens, words or characters");
            Err(PyValueError::new_err(message))
        }
    }
}

fn fields_of(columns: HashMap<Text, Text>) -> PyResult<Fields> {
    let texts = columns
        .into_iter()
        .map(|(Text(column), Text(field))| (column, field));
    let mut columns: HashMap<String, String> = texts.collect();
    let mut needed = |column: &str| {
        columns.remove(column).ok_or_else(|| {
            PyValueError::new_err(format!("columns: the field of '{column}' is missing"))
        })
    };
    let fields = Fields {
        step: needed("step")?,
        group: needed("group")?,
        reward: needed("reward")?,
        length: needed("length")?,
        sample: columns.remove("sample"),
        dataset: columns.remove("dataset"),
        count: Count::default(),
    };
    match columns.keys().min() {
        None => Ok(fields),
        Some(column) => Err(PyValueError::new_err(format!(
            "columns: got '{column}', expected step, sample, group, dataset, reward or length"
        ))),
    }
}
