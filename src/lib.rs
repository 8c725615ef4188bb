//! Toggle reward shaping for reinforcement learning on language models.

pub mod error;
pub mod quantile;

pub use error::{Error, Result};
