//! What the estimators must answer, by sorting: for the tests and the fuzz
//! targets.

#![allow(dead_code, reason = "each test uses its part")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "in f64, as NumPy, and equal to the last bit"
)]

pub mod decay;
pub mod exact;
pub mod gk;
pub mod p2;
pub mod toggle;
pub mod window;

/// `numpy.quantile`, method "linear", of `n` values, sorted, by their rank; as
/// its documentation has it.
pub fn linear(n: u64, q: f64, by_rank: impl Fn(u64) -> f64) -> Option<f64> {
    let last = n.checked_sub(1)?;
    let virtual_index = last as f64 * q;
    if virtual_index >= last as f64 {
        return Some(by_rank(last));
    }
    let rank = virtual_index.floor();
    let (low, high) = (by_rank(rank as u64), by_rank(rank as u64 + 1));
    let gamma = virtual_index - rank;
    Some(if gamma < 0.5 {
        low + (high - low) * gamma
    } else {
        high - (high - low) * (1.0 - gamma)
    })
}
