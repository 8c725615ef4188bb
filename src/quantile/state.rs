//! Snapshots of the estimators, and of [`Estimator`].

use super::{Estimator, Quantile, Value};
use crate::error::Result;
use crate::snapshot::{Kind, Payload, Reader, State, Writer, invalid};

macro_rules! payload {
    (() $($doc:literal $variant:ident $hold:ident $class:ident $name:literal $number:literal;)*) => {$(
        impl Payload for super::$class {
            const KIND: Kind = Kind::$class;

            fn write(&self, out: &mut Writer) {
                self.write_settings(out);
                self.write_data(out);
            }

            fn read(bytes: &mut Reader<'_>) -> Result<Self> {
                Self::read_settings(bytes)?.read_data(bytes)
            }
        }
    )*};
}
estimators!(payload());

macro_rules! number {
    (($estimator:expr) $($doc:literal $variant:ident $hold:ident $class:ident $name:literal $number:literal;)*) => {
        match $estimator {
            $(Estimator::$variant(_) => $number,)*
        }
    };
}

macro_rules! read_settings {
    (($bytes:expr) $($doc:literal $variant:ident $hold:ident $class:ident $name:literal $number:literal;)*) => {
        match $bytes.byte()? {
            $($number => super::$class::read_settings($bytes)?.into(),)*
            kind => return Err(invalid(format!("there is no estimator {kind}"))),
        }
    };
}

/// A byte for the kind, then what the kind itself writes.
impl State for Estimator {
    fn write_settings(&self, out: &mut Writer) {
        out.byte(estimators!(number(self)));
        each!(self, inner => inner.write_settings(out));
    }

    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self> {
        Ok(estimators!(read_settings(bytes)))
    }

    fn write_data(&self, out: &mut Writer) {
        each!(self, inner => inner.write_data(out));
    }

    /// Of lengths only, also where the kind takes any number.
    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let read: Self = each!(self, inner => inner.read_data(bytes)?.into());
        let other: Option<String> = each!(&read, inner => {
            let mut ends = inner.min().into_iter().chain(inner.max());
            ends.find(|end| !end.is_length()).map(|end| end.to_string())
        });
        if let Some(end) = other {
            return Err(invalid(format!("a length of {end}")));
        }
        Ok(read)
    }
}
