//! The one error type of the crate.

use std::fmt::Display;

/// What a call of this crate can refuse.
///
/// Each variant carries what a message needs: the argument, the index, the
/// value and what would be right. A call that returns an error has changed
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number or a choice outside what the argument allows.
    #[error("{}: got {value}, expected {expected}", Place(.argument, *.index))]
    Value {
        /// Name of the argument.
        argument: &'static str,
        /// Position in the argument, where it is a sequence.
        index: Option<usize>,
        /// The offending value, as text.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// An object of the wrong kind.
    #[error("{}: got {value}, expected {expected}", Place(.argument, *.index))]
    Type {
        /// Name of the argument.
        argument: &'static str,
        /// Position in the argument, where it is a sequence.
        index: Option<usize>,
        /// What was given, as text.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// Two arguments that must have one length have two.
    #[error("{argument}: has length {len}, expected {expected}, the length of {reference}")]
    Length {
        /// Name of the argument.
        argument: &'static str,
        /// Its length.
        len: usize,
        /// Name of the argument that sets the length.
        reference: &'static str,
        /// The length that it sets.
        expected: usize,
    },
    /// The operation does not exist for this kind of estimator.
    #[error("{operation} is not defined for {estimator}: {reason}")]
    Unsupported {
        /// The operation, as the user calls it.
        operation: &'static str,
        /// The kind of estimator.
        estimator: &'static str,
        /// Why it does not exist.
        reason: &'static str,
    },
    /// What was asked for does not fit into memory.
    #[error("{what}: no memory for {values} values")]
    Memory {
        /// What was asked for.
        what: &'static str,
        /// How many values it has.
        values: usize,
    },
    /// Bytes that are no snapshot that this version can read.
    #[error("not a valid snapshot: {0}")]
    Snapshot(String),
}

impl Error {
    /// A [`Error::Value`] about a whole argument.
    pub fn value(argument: &'static str, value: impl Display, expected: impl Display) -> Self {
        Self::Value {
            argument,
            index: None,
            value: value.to_string(),
            expected: expected.to_string(),
        }
    }

    /// The same error about another name of the argument.
    #[must_use]
    pub(crate) fn about(mut self, name: &'static str) -> Self {
        if let Self::Value { argument, .. } | Self::Type { argument, .. } = &mut self {
            *argument = name;
        }
        self
    }

    /// The same error about one element of the argument.
    #[cfg(feature = "python")]
    #[must_use]
    pub(crate) fn at(mut self, position: usize) -> Self {
        if let Self::Value { index, .. } | Self::Type { index, .. } = &mut self {
            *index = Some(position);
        }
        self
    }

    /// A [`Error::Value`] about one element of an argument.
    pub fn value_at(
        argument: &'static str,
        index: usize,
        value: impl Display,
        expected: impl Display,
    ) -> Self {
        Self::Value {
            argument,
            index: Some(index),
            value: value.to_string(),
            expected: expected.to_string(),
        }
    }
}

/// Refuses to merge where a setting differs.
pub(crate) fn check_same<T: PartialEq + Display + ?Sized>(
    argument: &'static str,
    own: &T,
    others: &T,
) -> Result<()> {
    if own == others {
        Ok(())
    } else {
        let expected = format!("{own}, as here");
        Err(Error::value(argument, others, expected))
    }
}

/// Shorthand for a result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

struct Place<'a>(&'a str, Option<usize>);

impl Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.1 {
            Some(index) => write!(f, "{}[{index}]", self.0),
            None => f.write_str(self.0),
        }
    }
}
