//! The methods of both trackers that are about their state as a whole.

/// Gives them to a class, which is a [`Base`](super::state::Base). `merge:` takes
/// more lines for the documentation of that method.
macro_rules! state_methods {
    ($class:ident, merge: $(#[$about_merge:meta])*) => {
        #[pymethods]
        impl $class {
            /// The whole state, settings included; equal objects have equal bytes.
            fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                state::to_bytes(self, py)
            }

            /// The object that has these bytes, a bytes-like object.
            ///
            /// Raises:
            ///     CheckpointError: They are no snapshot of this class, of a newer version, or
            ///         damaged.
            #[classmethod]
            fn from_bytes<'py>(
                class: &Bound<'py, PyType>,
                data: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                state::create::<Self>(class, state::read(data)?)
            }

            /// Write `to_bytes()` to a file, a str or os.PathLike. Whatever happens, the file is
            /// what it was or all new: the bytes go to a new file in the same folder, which then
            /// takes its place. A link to a file stays one, a device or pipe is refused.
            ///
            /// Raises:
            ///     OSError: What the file system says.
            fn save(&self, path: &Bound<'_, PyAny>) -> PyResult<()> {
                state::save(self, path)
            }

            /// The object that was saved to a file.
            ///
            /// Raises:
            ///     CheckpointError: As `from_bytes`.
            ///     OSError: What the file system says.
            #[classmethod]
            fn load<'py>(
                class: &Bound<'py, PyType>,
                path: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                state::load::<Self>(class, path)
            }

            /// The state as plain scalars and one base64 str, for `torch.save` and `json`. What
            /// counts is in "data"; the rest is for people to read.
            fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                state::state_dict(self, py)
            }

            /// Take up the observations of a `state_dict()` in place of all so far. The settings
            /// stay those of this object. Budgets that are fixed stay what they were, too: a
            /// `UserWarning` says so where they came with other settings.
            ///
            /// Raises:
            ///     CheckpointError: It is no state dict of this class, or the estimators are unlike,
            ///         in kind or setting. Nothing has changed then.
            fn load_state_dict(&self, state_dict: &Bound<'_, PyAny>) -> PyResult<()> {
                state::load_state_dict(self, state_dict)
            }

            /// Take in what `other` has observed: counts add. In whatever order several are merged,
            /// the result is the same. With `DecayQuantile` it is so up to the rounding of the
            /// weights (1e-12): where two lengths are within that of a tie, rounding may decide
            /// which is the percentile. With `GKQuantile` answers are within its bound.
            $(#[$about_merge])*
            ///
            /// Raises:
            ///     ValueError: A setting differs, `m` included, or `other` is this very object.
            ///     TypeError: It is of another class, or the estimator has no merge (`P2Quantile`,
            ///         `WindowQuantile`). In either case nothing has changed.
            fn merge(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
                state::merge(self, other, |own, theirs| own.merge(theirs))
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
                state::reduce(slf)
            }

            /// Bytes that it holds.
            #[getter]
            fn nbytes(&self, py: Python<'_>) -> usize {
                self.lock(py).nbytes()
            }

            fn __eq__(&self, py: Python<'_>, other: &Self) -> bool {
                state::equal(self, other, py)
            }
        }
    };
}
pub(super) use state_methods;
