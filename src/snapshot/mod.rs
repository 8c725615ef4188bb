//! Snapshots: the state of a tracker or an estimator as bytes.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 2 | [`VERSION`] of the format |
//! | 2 | kind: the class whose state it is |
//! | 8 | length of the payload |
//! | ... | payload |
//! | 4 | CRC-32 (IEEE) of all bytes before it |
//!
//! Integers are little-endian. Bytes are read only after length and checksum
//! are known to be right, and then nothing that they claim is taken on trust:
//! what is decoded takes at most some 64 bytes of memory for a byte of input,
//! and whatever a constructor would refuse is refused. Equal objects have equal
//! bytes.

mod codec;
mod file;

pub(crate) use codec::{Reader, Writer, invalid};
pub use file::{read_file, write_file};

use crate::error::{Error, Result};

/// The first bytes of a snapshot. Like PNG's they give away a transfer that
/// takes them for text: a byte above 127, and line ends of both kinds.
pub const MAGIC: [u8; 8] = *b"\x89TGL\r\n\x1a\n";

/// The version of the format that is written, and the newest that is read.
pub const VERSION: u16 = 1;

const HEADER: usize = MAGIC.len() + 2 + 2 + 8;
const CHECKSUM: usize = 4;

macro_rules! kinds {
    (() $($doc:literal $variant:ident $hold:ident $class:ident $name:literal $number:literal;)*) => {
        /// The classes that have snapshots. A number, once given, stays.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "they are the names of the types")]
        pub enum Kind {
            Toggle = 1,
            BudgetTracker = 2,
            $($class = 16 + $number,)*
        }

        impl Kind {
            const ALL: &[Self] = &[Self::Toggle, Self::BudgetTracker, $(Self::$class,)*];

            /// The class, as users name it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    Self::Toggle => "Toggle",
                    Self::BudgetTracker => "ToggleBudgetTracker",
                    $(Self::$class => $name,)*
                }
            }
        }
    };
}
estimators!(kinds());

/// What a snapshot is made of; implemented for the types of this crate only.
pub trait Payload: Sized {
    /// The type, as the header of a snapshot says it.
    const KIND: Kind;

    #[doc(hidden)]
    fn write(&self, out: &mut Writer);

    #[doc(hidden)]
    fn read(bytes: &mut Reader<'_>) -> Result<Self>;
}

/// An estimator's settings and what it has seen, apart: of many with the same
/// settings, these are written once.
pub(crate) trait State: Sized {
    fn write_settings(&self, out: &mut Writer);

    /// The empty estimator with these settings.
    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self>;

    fn write_data(&self, out: &mut Writer);

    /// The estimator with the settings of this one that has seen this.
    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self>;
}

/// State that can be written down and restored.
///
/// ```
/// use toggle_rs::quantile::{ExactQuantile, Quantile};
/// use toggle_rs::snapshot::Snapshot;
///
/// let mut lengths = ExactQuantile::new();
/// lengths.update(&[10, 20, 30, 40])?;
/// let bytes = lengths.to_bytes();
/// assert_eq!(ExactQuantile::from_bytes(&bytes)?, lengths);
/// assert!(ExactQuantile::from_bytes(&bytes[1..]).is_err());
/// # Ok::<(), toggle_rs::Error>(())
/// ```
pub trait Snapshot: Payload {
    /// The whole state; equal objects have equal bytes. Takes time and memory
    /// in proportion to what there is.
    #[must_use]
    fn to_bytes(&self) -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&(Self::KIND as u16).to_le_bytes());
        header.extend_from_slice(&[0; 8]);
        let mut out = Writer::new(header);
        self.write(&mut out);
        let mut bytes = out.into_bytes();
        let len = (bytes.len() - HEADER) as u64;
        bytes[HEADER - 8..HEADER].copy_from_slice(&len.to_le_bytes());
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The object that has these bytes.
    ///
    /// # Errors
    /// [`Error::Snapshot`] for bytes that are no snapshot of this type, of a
    /// newer version, changed, cut short or too many, and for a state that no
    /// calls lead to.
    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let payload = payload(bytes, Self::KIND)?;
        let mut reader = Reader::new(payload);
        let read = Self::read(&mut reader).and_then(|state| reader.finish().map(|()| state));
        read.map_err(|error| match error {
            Error::Snapshot(_) => error,
            // What a constructor says of an argument.
            other => invalid(other.to_string()),
        })
    }
}

impl<T: Payload> Snapshot for T {}

/// The class and the size in bytes of the snapshot that begins with `bytes`.
fn header(bytes: &[u8]) -> Result<(u64, u64)> {
    let Some((header, _)) = bytes.split_at_checked(HEADER) else {
        return Err(invalid(format!("{} bytes are too few", bytes.len())));
    };
    let (magic, rest) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(invalid("it does not begin as one"));
    }
    let number = |from: usize, len: usize| {
        let bytes = rest[from..from + len].iter().rev();
        bytes.fold(0, |number, &byte| number << 8 | u64::from(byte))
    };
    let (version, kind, len) = (number(0, 2), number(2, 2), number(4, 8));
    if version > u64::from(VERSION) {
        return Err(invalid(format!(
            "written by a newer toggle-rs: version {version}, this one reads up to {VERSION}"
        )));
    }
    if version == 0 {
        return Err(invalid("there is no version 0"));
    }
    Ok((kind, len.saturating_add((HEADER + CHECKSUM) as u64)))
}

/// The payload of a snapshot whose length and checksum are right.
fn payload(bytes: &[u8], expected: Kind) -> Result<&[u8]> {
    let (kind, len) = header(bytes)?;
    if len != bytes.len() as u64 {
        let what = if len > bytes.len() as u64 {
            "cut short"
        } else {
            "with bytes after its end"
        };
        return Err(invalid(format!(
            "{what}: {} bytes, its header says {len}",
            bytes.len()
        )));
    }
    let (checked, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
    if checksum != crc32fast::hash(checked).to_le_bytes() {
        return Err(invalid("the checksum is wrong: some of it has changed"));
    }
    if kind != expected as u64 {
        let known = Kind::ALL.iter().find(|&&known| known as u64 == kind);
        let name = known.map_or_else(|| format!("kind {kind}"), |known| known.name().into());
        return Err(invalid(format!(
            "it is one of {name}, expected {}",
            expected.name()
        )));
    }
    Ok(&checked[HEADER..])
}
