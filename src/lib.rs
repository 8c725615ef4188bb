//! Toggle reward shaping for reinforcement learning on language models.

mod budget;
mod choice;
pub mod column;
pub mod error;
pub mod groups;
pub mod keys;
#[cfg(feature = "python")]
mod python;
pub mod quantile;
pub mod schedule;
pub mod shaping;
pub mod snapshot;
pub mod toggle;
#[cfg(feature = "traces")]
pub mod traces;
pub mod tracker;

pub use budget::Freeze;
pub use error::{Error, Result};
