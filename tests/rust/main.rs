//! The crate's integration tests: one program, so that it is linked once.

#[cfg(feature = "traces")]
mod traces;
