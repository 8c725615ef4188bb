//! Toggle reward shaping for reinforcement learning on language models.

pub mod error;
#[cfg(feature = "python")]
mod python;
pub mod quantile;

pub use error::{Error, Result};
