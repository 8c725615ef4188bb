//! Toggle reward shaping for reinforcement learning on language models.

mod budget;
pub mod column;
pub mod error;
pub mod keys;
#[cfg(feature = "python")]
mod python;
pub mod quantile;
pub mod schedule;
pub mod shaping;
#[cfg(feature = "traces")]
pub mod traces;
pub mod tracker;

pub use error::{Error, Result};
