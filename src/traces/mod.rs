//! Rollout traces, as open-instruct writes them: JSON lines, plain, gzip or
//! zstd; or of other field names, see [`Fields`].
//!
//! One line is one response. Of its fields five are kept: `step`,
//! `prompt_idx`, `dataset` (a string or a list of strings), the *number* of
//! `response_tokens`, and `reward`; `sample_idx` orders the samples of a
//! step. Everything else is checked to be JSON, with the bare `NaN` and
//! `Infinity` that Python writes, and passed over; in a list of numbers that
//! is passed over, only its bytes are. Memory grows with the number of
//! rollouts, some 50 bytes each, and not with the size of the files.
//!
//! Shards may come in any order. A run that was resumed can log a
//! `(step, sample_idx)` again; then the later row counts: later in the order
//! in which the files are given, and by line within a file. A writer that was
//! killed leaves half a line at the end of its file: that line is left out
//! and counted. Whatever else is wrong ends the reading, also a file without a
//! single rollout, and the error names file and line.
//!
//! ```
//! use std::io::Write;
//! use toggle_rs::traces::Rollouts;
//!
//! let path = std::env::temp_dir().join("toggle_rs_traces_example.jsonl");
//! let line = r#"{"step": 3, "sample_idx": 0, "prompt_idx": 0, "dataset": ["math", "hard"],
//!     "response_tokens": [11, 12, 13], "reward": 1.0, "logprobs": [NaN, -0.5, -0.1]}"#;
//! writeln!(std::fs::File::create(&path)?, "{}", line.replace('\n', ""))?;
//!
//! let rollouts = Rollouts::read(&[&path])?;
//! assert_eq!((rollouts.step[0], rollouts.length[0], rollouts.reward[0]), (3, 3, 1.0));
//! assert_eq!(rollouts.names[0].to_string(), "math|hard");
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fields;
mod line;
mod numbers;
mod parallel;
mod source;

pub use fields::{Count, Fields};
pub use line::group_of_text;

use std::io;
use std::path::{Path, PathBuf};

use crate::keys::{DatasetKey, KeyTable};

/// What can go wrong while traces are read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The operating system refused to open or to read a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line, or the compressed stream that holds it, is damaged.
    #[error("{}, line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A file without a single rollout.
    #[error("{}: no rollouts", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// There was nothing to read.
    #[error("no trace files")]
    NoFiles,
}

/// Rollouts as columns, sorted by step, then by sample.
///
/// All columns have the same length. Integers are at most `i64::MAX`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rollouts {
    /// Training step.
    pub step: Vec<u64>,
    /// Index of the sample in its step (`sample_idx`).
    pub sample: Vec<u64>,
    /// Index of the prompt in its step (`prompt_idx`): samples of one step
    /// with the same value are one group.
    pub group: Vec<u64>,
    /// Index into `names`.
    pub dataset: Vec<u32>,
    /// Length of the response in tokens.
    pub length: Vec<u64>,
    /// Reward as logged; finite.
    pub reward: Vec<f64>,
    /// Dataset keys, in order of first appearance in the columns.
    pub names: Vec<DatasetKey>,
    /// Rows left out since a later one had the same step and sample.
    pub repeated: u64,
    /// Files whose last line broke off.
    pub torn: u64,
}

impl Rollouts {
    /// Reads trace files of open-instruct, plain, gzip or zstd.
    ///
    /// Takes time linear in the size of the files, on all processors.
    ///
    /// # Errors
    /// [`TraceError`] for the first file that cannot be read, holds a damaged
    /// line or not a single rollout, and when there is no file at all.
    pub fn read<P: AsRef<Path> + Sync>(paths: &[P]) -> Result<Self, TraceError> {
        let mut reader = Reader::default();
        reader.read_files(paths, |_| Ok::<(), TraceError>(()))?;
        reader.finish()
    }

    /// Number of rollouts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.step.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.step.is_empty()
    }
}

/// Reads trace files one at a time; [`Rollouts::read`] in steps.
///
/// ```no_run
/// use toggle_rs::traces::{Reader, TraceError};
///
/// let mut reader = Reader::default();
/// reader.read_file("run_rollouts_000000.jsonl".as_ref(), |bytes| {
///     eprintln!("{bytes} more bytes read");
///     Ok::<(), TraceError>(())
/// })?;
/// let rollouts = reader.finish()?;
/// # Ok::<(), TraceError>(())
/// ```
#[derive(Debug, Default)]
pub struct Reader {
    fields: Fields,
    rows: Vec<line::Row>,
    keys: KeyTable,
    torn: u64,
}

impl Reader {
    /// A reader of lines with such fields; [`Reader::default`] is for those of
    /// open-instruct.
    #[must_use]
    pub fn new(fields: Fields) -> Self {
        Self {
            fields,
            ..Self::default()
        }
    }

    /// Takes in one file.
    ///
    /// `on_bytes` is called every few megabytes with the bytes of the file
    /// that were read since its last call (0 for a pipe); its error ends the
    /// reading.
    ///
    /// # Errors
    /// [`TraceError`], or what `on_bytes` returned. Nothing of the file has
    /// been taken in then.
    pub fn read_file<E: From<TraceError>>(
        &mut self,
        path: &Path,
        on_bytes: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let (rows, keys) = (self.rows.len(), self.keys.len());
        let torn = source::for_each_line(path, on_bytes, |text| {
            let number = self.rows.len() as u64;
            self.rows
                .push(line::parse(text, &self.fields, number, &mut self.keys)?);
            Ok(())
        })
        .inspect_err(|_| {
            self.rows.truncate(rows);
            self.keys.truncate(keys);
        })?;
        if self.rows.len() == rows {
            let path = path.to_owned();
            return Err(TraceError::Empty { path }.into());
        }
        self.torn += u64::from(torn);
        Ok(())
    }

    /// Sorts what was read and drops the rows that were logged again.
    ///
    /// # Errors
    /// [`TraceError::NoFiles`] when none was read.
    pub fn finish(self) -> Result<Rollouts, TraceError> {
        if self.rows.is_empty() {
            return Err(TraceError::NoFiles);
        }
        let Self {
            mut rows,
            keys,
            torn,
            ..
        } = self;
        let read = rows.len();
        // The sort is stable: rows with one key stay in the order they came.
        rows.sort_by_key(|row| (row.step, row.sample));
        rows.dedup_by(|later, kept| {
            let same = (later.step, later.sample) == (kept.step, kept.sample);
            if same {
                *kept = *later;
            }
            same
        });
        let mut rollouts = Rollouts {
            step: rows.iter().map(|row| row.step).collect(),
            sample: rows.iter().map(|row| row.sample).collect(),
            group: rows.iter().map(|row| row.group).collect(),
            dataset: Vec::with_capacity(rows.len()),
            length: rows.iter().map(|row| row.length).collect(),
            reward: rows.iter().map(|row| row.reward).collect(),
            names: Vec::new(),
            repeated: (read - rows.len()) as u64,
            torn,
        };
        // Numbered anew: a name may be left without rows, and the order of
        // the files must not show.
        let mut ids = vec![None; keys.len()];
        for row in &rows {
            let id = *ids[row.dataset as usize].get_or_insert_with(|| {
                rollouts
                    .names
                    .push(keys.keys()[row.dataset as usize].clone());
                rollouts.names.len() - 1
            });
            #[allow(
                clippy::cast_possible_truncation,
                reason = "at most `row.dataset`, a u32"
            )]
            rollouts.dataset.push(id as u32);
        }
        Ok(rollouts)
    }
}
