//! Toggle reward shaping for reinforcement learning on language models.
//!
//! Every `m` steps training switches between a normal phase, in which rewards
//! pass unchanged, and a length-penalty phase:
//!
//! `r~(y) = r(y) * 1[accuracy(x) < lambda or |y| <= budget(d)]`
//!
//! `accuracy(x)` is the share of correct responses to prompt `x`, `|y|` the
//! length of a response in generated tokens, and `budget(d)` a percentile of the
//! lengths of the correct responses seen for dataset (or problem) `d`.
//!
//! Source: Kimi K2.5 technical report, arXiv 2602.02276, its section on
//! token-efficient RL. One running budget for each dataset is what
//! `ToggleBudgetTracker` of allenai/open-instruct pull request 1676 made of it.
//!
//! # Where to begin
//! - [`toggle::Toggle`]: observe a batch, shape it, drop what has no signal.
//! - [`tracker::BudgetTracker`]: the same calls and bits as the pull request.
//! - [`quantile`]: the estimators behind the budgets, useful by themselves.
//! - `traces` (feature `traces`, on by default): rollout files as columns.
//!
//! Columns come in as slices, or as views with strides: see [`mod@column`].
//! A call that returns an [`Error`] has changed nothing.
//!
//! # Example
//! ```
//! use toggle_rs::groups::Groups;
//! use toggle_rs::quantile::{Estimator, ExactQuantile};
//! use toggle_rs::toggle::{Batch, Settings, Toggle};
//!
//! // Odd steps are length-penalty steps. Prompts that at least three of four
//! // responses solve are held to the median length of correct responses.
//! let exact = Estimator::Exact(ExactQuantile::new());
//! let mut toggle = Toggle::new(Settings::new(1, 0.75, 50.0, exact))?;
//!
//! let groups = Groups::by_id(&["p1", "p1", "p1", "p1", "p2", "p2", "p2", "p2"]);
//! let scores = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
//! let batch = Batch {
//!     datasets: &["math"; 8][..],
//!     lengths: &vec![210, 340, 150, 820, 90, 120, 600, 700],
//!     correct: &scores.map(|score| score >= 1.0),
//! };
//!
//! // Normal phase: the scores pass, and all responses to p1 have the same one.
//! let shaped = toggle.apply(0, &scores[..], &batch, &groups)?;
//! assert_eq!(shaped.scores, None);
//! assert_eq!(shaped.has_signal, [false, false, false, false, true, true, true, true]);
//!
//! // Length-penalty phase, with the budget of step 0: p1 tells short from long.
//! let shaped = toggle.apply(1, &scores[..], &batch, &groups)?;
//! let expected = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0];
//! assert_eq!(shaped.scores.as_deref(), Some(&expected[..]));
//! assert_eq!(shaped.has_signal, [true; 8]);
//! # Ok::<(), toggle_rs::Error>(())
//! ```

// First, for its list of estimators.
#[macro_use]
pub mod quantile;

pub mod advice;
mod budget;
mod choice;
pub mod column;
pub mod error;
pub mod groups;
pub mod keys;
mod present;
#[cfg(feature = "python")]
mod python;
pub mod schedule;
pub mod shaping;
pub mod snapshot;
pub mod toggle;
#[cfg(feature = "traces")]
pub mod traces;
pub mod tracker;

pub use budget::Freeze;
pub use error::{Error, Result};
