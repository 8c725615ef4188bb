//! Toggle reward shaping for reinforcement learning on language models.

pub mod error;
pub mod keys;
#[cfg(feature = "python")]
mod python;
pub mod quantile;
#[cfg(feature = "traces")]
pub mod traces;

pub use error::{Error, Result};
