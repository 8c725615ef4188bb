//! What [`super::Toggle::shape`] gives back.

/// What [`Toggle::shape`](super::Toggle::shape) makes of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaped<S> {
    /// The shaped scores; `None` where the phase leaves all scores as they are.
    pub scores: Option<Vec<S>>,
    /// Per sample: its score was left as it is.
    pub kept: Vec<bool>,
    /// Per sample: the shaped scores of its group are not all equal.
    pub has_signal: Vec<bool>,
    /// Per sample: share of correct responses in its group.
    pub group_accuracy: Vec<f64>,
    /// Figures about the batch.
    pub metrics: Metrics,
}

/// Figures about a shaped batch; shares are of all its samples or groups, NaN
/// where there are none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metrics {
    /// Whether the step is a length-penalty step.
    pub length_penalty_phase: bool,
    /// Share of samples whose score was left as it is.
    pub kept_ratio: f64,
    /// Share of groups whose accuracy reaches lambda in a penalty step.
    pub enforced_group_ratio: f64,
    /// Share of groups whose scores differed before shaping and no longer do.
    pub lost_signal_group_ratio: f64,
    /// Share of groups whose scores were equal before shaping and now differ.
    pub gained_signal_group_ratio: f64,
    /// Tokens of correct responses beyond their budgets, in any phase.
    pub tokens_over_budget: f64,
    /// Smallest budget of the keys in the batch, NaN without any.
    pub budget_min: f64,
    /// Median of the budgets of the keys in the batch.
    pub budget_median: f64,
    /// Largest budget of the keys in the batch.
    pub budget_max: f64,
}
