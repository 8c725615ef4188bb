//! The state of the estimators.

use super::{Kind, Payload, Reader, Writer, invalid};
use crate::error::Result;
use crate::quantile::{
    DecayQuantile, Estimator, ExactQuantile, GkQuantile, GkTuple, MAX_LENGTH, P2Quantile, Quantile,
    WindowQuantile,
};

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
payload!(
    ExactQuantile,
    P2Quantile,
    GkQuantile,
    WindowQuantile,
    DecayQuantile
);

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

impl State for WindowQuantile {
    fn write_settings(&self, out: &mut Writer) {
        out.number(self.window() as u64);
    }

    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self> {
        let window = usize::try_from(bytes.number()?);
        Self::new(window.map_err(|_| invalid("a window beyond this machine's memory"))?)
    }

    /// From the oldest to the newest.
    fn write_data(&self, out: &mut Writer) {
        out.number(self.count());
        self.values().for_each(|value| out.number(value));
    }

    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let count = bytes.len(1)?;
        if count > self.window() as u64 {
            return Err(invalid(format!(
                "{count} values in a window of {}",
                self.window()
            )));
        }
        let values = (0..count).map(|_| bytes.number());
        let values: Vec<u64> = values.collect::<Result<_>>()?;
        let mut window = Self::new(self.window())?;
        window.update(&values)?;
        Ok(window)
    }
}

impl State for DecayQuantile {
    fn write_settings(&self, out: &mut Writer) {
        out.real(self.half_life());
    }

    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self> {
        Self::new(bytes.real()?)
    }

    fn write_data(&self, out: &mut Writer) {
        out.number(self.ticks());
        out.number(self.newest());
        out.number(self.count());
        out.number(self.weights().count() as u64);
        let mut next = 0;
        for (value, weight) in self.weights() {
            out.number(value - next);
            out.real(weight);
            next = value + 1;
        }
    }

    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let times = [bytes.number()?, bytes.number()?, bytes.number()?];
        let mut next = 0_u64;
        let weights = (0..bytes.len(9)?).map(|_| {
            let value = next.saturating_add(bytes.number()?);
            next = value.saturating_add(1);
            Ok((value, bytes.real()?))
        });
        let weights: Vec<(u64, f64)> = weights.collect::<Result<_>>()?;
        Self::from_parts(self.half_life(), times, &weights)
    }
}

/// Does the same with each kind of estimator.
macro_rules! each {
    ($estimator:expr, $inner:ident => $body:expr) => {
        match $estimator {
            Estimator::Exact($inner) => $body,
            Estimator::P2($inner) => $body,
            Estimator::Gk($inner) => $body,
            Estimator::Window($inner) => $body,
            Estimator::Decay($inner) => $body,
        }
    };
}

/// A byte for the kind, then what the kind itself writes.
impl State for Estimator {
    fn write_settings(&self, out: &mut Writer) {
        out.byte(match self {
            Self::Exact(_) => 0,
            Self::P2(_) => 1,
            Self::Gk(_) => 2,
            Self::Window(_) => 3,
            Self::Decay(_) => 4,
        });
        each!(self, inner => inner.write_settings(out));
    }

    fn read_settings(bytes: &mut Reader<'_>) -> Result<Self> {
        Ok(match bytes.byte()? {
            0 => ExactQuantile::read_settings(bytes)?.into(),
            1 => P2Quantile::read_settings(bytes)?.into(),
            2 => GkQuantile::read_settings(bytes)?.into(),
            3 => WindowQuantile::read_settings(bytes)?.into(),
            4 => DecayQuantile::read_settings(bytes)?.into(),
            kind => return Err(invalid(format!("there is no estimator {kind}"))),
        })
    }

    fn write_data(&self, out: &mut Writer) {
        each!(self, inner => inner.write_data(out));
    }

    /// Of lengths only, also where the kind takes any number.
    fn read_data(&self, bytes: &mut Reader<'_>) -> Result<Self> {
        let read: Self = each!(self, inner => inner.read_data(bytes)?.into());
        match &read {
            Self::P2(p2) => check_lengths(&**p2)?,
            Self::Gk(gk) => check_lengths(&**gk)?,
            Self::Exact(_) | Self::Window(_) | Self::Decay(_) => {}
        }
        Ok(read)
    }
}

#[allow(clippy::cast_precision_loss, reason = "2^53 is exact")]
fn check_lengths(estimator: &impl Quantile<Value = f64>) -> Result<()> {
    let ends = estimator.min().into_iter().chain(estimator.max());
    for end in ends {
        if !(0.0..=MAX_LENGTH as f64).contains(&end) {
            return Err(invalid(format!("a length of {end}")));
        }
    }
    Ok(())
}
