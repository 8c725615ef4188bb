//! The state of the estimators.

use super::{Kind, Payload, Reader, Writer, invalid};
use crate::error::Result;
use crate::quantile::{Estimator, ExactQuantile, GkQuantile, GkTuple, P2Quantile, Quantile};

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

macro_rules! payload {
    ($($class:ident),*) => {$(
        impl Payload for $class {
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
payload!(ExactQuantile, P2Quantile, GkQuantile);

impl State for ExactQuantile {
    fn write_settings(&self, _: &mut Writer) {}

    fn read_settings(_: &mut Reader<'_>) -> Result<Self> {
        Ok(Self::new())
    }

    fn write_data(&self, out: &mut Writer) {
        out.counts(self.counts());
    }

    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let mut counts = bytes.counts();
        let exact = Self::from_counts(&mut counts)?;
        counts.end().map(|()| exact)
    }
}

impl State for P2Quantile {
    fn write_settings(&self, out: &mut Writer) {
        out.real(self.q());
    }

    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self> {
        Self::new(bytes.real()?)
    }

    /// The first position is always 1, the last the count; up to five values
    /// have the ranks 1 to 5.
    fn write_data(&self, out: &mut Writer) {
        out.number(self.count());
        for &height in self.heights() {
            out.real(height);
        }
        if self.count() > 5 {
            self.positions()[1..4]
                .iter()
                .for_each(|&position| out.number(position));
        }
    }

    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let count = bytes.number()?;
        let (mut heights, mut positions) = ([0.0; 5], [1, 2, 3, 4, 5]);
        for (height, _) in heights.iter_mut().zip(0..count) {
            *height = bytes.real()?;
        }
        if count > 5 {
            for position in &mut positions[1..4] {
                *position = bytes.number()?;
            }
            positions[4] = count;
        }
        Self::from_parts(self.q(), count, heights, positions)
    }
}

impl State for GkQuantile {
    fn write_settings(&self, out: &mut Writer) {
        out.real(self.epsilon());
    }

    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self> {
        Self::new(bytes.real()?)
    }

    fn write_data(&self, out: &mut Writer) {
        let (tuples, buffer) = self.parts();
        out.number(tuples.len() as u64);
        for tuple in tuples {
            out.real(tuple.value);
            out.number(tuple.g);
            out.number(tuple.delta);
        }
        out.number(buffer.len() as u64);
        for &value in buffer {
            out.real(value);
        }
    }

    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let tuples = (0..bytes.len(10)?).map(|_| {
            Ok(GkTuple {
                value: bytes.real()?,
                g: bytes.number()?,
                delta: bytes.number()?,
            })
        });
        let tuples = tuples.collect::<Result<_>>()?;
        let buffer = (0..bytes.len(8)?).map(|_| bytes.real());
        let buffer = buffer.collect::<Result<_>>()?;
        Self::from_parts(self.epsilon(), tuples, buffer)
    }
}

impl State for Estimator {
    fn write_settings(&self, out: &mut Writer) {
        match self {
            Self::Exact(exact) => {
                out.byte(0);
                exact.write_settings(out);
            }
            Self::P2(p2) => {
                out.byte(1);
                p2.write_settings(out);
            }
            Self::Gk(gk) => {
                out.byte(2);
                gk.write_settings(out);
            }
        }
    }

    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self> {
        Ok(match bytes.byte()? {
            0 => Self::Exact(ExactQuantile::read_settings(bytes)?),
            1 => P2Quantile::read_settings(bytes)?.into(),
            2 => GkQuantile::read_settings(bytes)?.into(),
            kind => return Err(invalid(format!("there is no estimator {kind}"))),
        })
    }

    fn write_data(&self, out: &mut Writer) {
        match self {
            Self::Exact(exact) => exact.write_data(out),
            Self::P2(p2) => p2.write_data(out),
            Self::Gk(gk) => gk.write_data(out),
        }
    }

    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        Ok(match self {
            Self::Exact(exact) => Self::Exact(exact.read_data(bytes)?),
            Self::P2(p2) => p2.read_data(bytes)?.into(),
            Self::Gk(gk) => gk.read_data(bytes)?.into(),
        })
    }
}
