//! The "linear" rule of `numpy.percentile`, bit for bit.

/// Where the quantile `q` of `n` sorted values lies: between the values of
/// rank `lower` and `lower + 1` (from 0), a `fraction` of the way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Position {
    pub lower: u64,
    pub fraction: f64,
}

impl Position {
    /// Position of quantile `q` in `0..=1` among `n >= 1` values.
    ///
    /// From the last value on there is nothing to interpolate with: the
    /// fraction is 0 there.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "NumPy computes the virtual index in f64 as well; it lies in 0..=n-1"
    )]
    pub fn of(q: f64, n: u64) -> Self {
        let last = n - 1;
        let virtual_index = last as f64 * q;
        if virtual_index >= last as f64 {
            return Self {
                lower: last,
                fraction: 0.0,
            };
        }
        let lower = virtual_index as u64;
        Self {
            lower,
            fraction: virtual_index - lower as f64,
        }
    }
}

/// NumPy's `_lerp`: from `a` for small fractions, from `b` for large ones, so
/// that both ends are exact. Written any other way it differs in the last bit.
pub(crate) fn lerp(a: f64, b: f64, fraction: f64) -> f64 {
    let difference = b - a;
    if fraction < 0.5 {
        a + difference * fraction
    } else {
        b - difference * (1.0 - fraction)
    }
}
