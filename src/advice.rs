//! Settings that are allowed, but hardly meant.

/// What to say of a `lambda` above 1: no group is ever solved more often than that.
///
/// ```
/// use toggle_rs::advice::about_lambda;
///
/// assert_eq!(about_lambda(1.0), None);
/// assert!(about_lambda(50.0).is_some());
/// ```
#[must_use]
pub fn about_lambda(lambda: f64) -> Option<String> {
    (lambda > 1.0 && lambda.is_finite())
        .then(|| format!("lambda_={lambda:?} is above every accuracy: no budget is ever enforced"))
}

/// What to say of a percentile that looks like a fraction: above 0 and below 1.
///
/// ```
/// use toggle_rs::advice::about_percentile;
///
/// assert_eq!(about_percentile(80.0), None);
/// assert!(about_percentile(0.8).is_some());
/// ```
#[must_use]
pub fn about_percentile(percentile: f64) -> Option<String> {
    (percentile > 0.0 && percentile < 1.0)
        .then(|| format!("percentile={percentile:?} is below 1: percentiles go from 0 to 100"))
}
