//! Which training steps are length-penalty steps.

use crate::choice::Choice;
use crate::error::{Error, Result};

/// What happens to the rewards of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Rewards pass unchanged.
    #[default]
    Normal,
    /// Correct answers over budget lose their reward.
    LengthPenalty,
}

impl Choice for Phase {
    const ALL: &'static [(&'static str, Self)] = &[
        ("normal", Self::Normal),
        ("length_penalty", Self::LengthPenalty),
    ];
}

/// Switches the phase every `m` steps, after a warm-up that is all normal.
///
/// Step `s` belongs to block `s / m`. The blocks alternate, beginning with
/// `start`; while `s < warmup_steps` the phase is normal all the same.
/// `m == 0` switches Toggle off.
///
/// ```
/// use toggle_rs::schedule::{Phase, Schedule};
///
/// let schedule = Schedule { m: 2, warmup_steps: 0, start: Phase::Normal };
/// let penalty: Vec<bool> = (0..6).map(|s| schedule.is_penalty_step(s)).collect();
/// assert_eq!(penalty, [false, false, true, true, false, false]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Length of a phase in training steps; 0 means disabled.
    pub m: u64,
    /// Number of steps at the beginning without a penalty.
    pub warmup_steps: u64,
    /// The phase of the first block. The Kimi K2.5 report begins with the
    /// penalty, the open-instruct reference with the normal phase.
    pub start: Phase,
}

impl Schedule {
    /// Whether Toggle does anything at all.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.m > 0
    }

    /// Whether `step` (from 0) is a length-penalty step.
    #[must_use]
    pub fn is_penalty_step(&self, step: u64) -> bool {
        let Some(block) = step.checked_div(self.m) else {
            return false;
        };
        let odd = block % 2 == 1;
        step >= self.warmup_steps && odd == (self.start == Phase::Normal)
    }
}

/// Watches the steps that come in for a stride that hides one of the phases.
///
/// Trainers may come at a stride of steps; where it is a multiple of `2 m` they
/// see one phase only. No part of any state.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepWatch {
    last: Option<u64>,
    /// Greatest common divisor of the differences of the steps seen.
    stride: u64,
    differences: u32,
}

impl StepWatch {
    /// Differences that must agree before anything is said.
    const ENOUGH: u32 = 3;

    /// Notes a step. The stride of the steps so far, once there are enough of
    /// them and it is a multiple of the period `2 m`.
    pub fn note(&mut self, step: u64, schedule: Schedule) -> Option<u64> {
        let last = self.last.replace(step)?;
        if last == step {
            return None;
        }
        self.stride = gcd(self.stride, last.abs_diff(step));
        self.differences += 1;
        let period = schedule.m.checked_mul(2).filter(|&period| period > 0)?;
        let is_hiding = self.differences == Self::ENOUGH && self.stride.is_multiple_of(period);
        is_hiding.then_some(self.stride)
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `lambda_`: any finite number.
pub(crate) fn check_lambda(lambda: f64) -> Result<()> {
    if lambda.is_finite() {
        Ok(())
    } else {
        Err(Error::value("lambda_", lambda, "a finite number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_hides_penalty_blocks_but_does_not_shift_them() {
        let schedule = Schedule {
            m: 2,
            warmup_steps: 3,
            start: Phase::Normal,
        };
        let penalty: Vec<u64> = (0..12).filter(|&s| schedule.is_penalty_step(s)).collect();
        assert_eq!(penalty, [3, 6, 7, 10, 11]);
    }

    #[test]
    fn the_report_begins_with_the_penalty() {
        let schedule = Schedule {
            m: 3,
            warmup_steps: 0,
            start: Phase::LengthPenalty,
        };
        let penalty: Vec<u64> = (0..9).filter(|&s| schedule.is_penalty_step(s)).collect();
        assert_eq!(penalty, [0, 1, 2, 6, 7, 8]);
    }

    #[test]
    fn disabled_is_always_normal() {
        for start in [Phase::Normal, Phase::LengthPenalty] {
            let schedule = Schedule {
                m: 0,
                warmup_steps: 0,
                start,
            };
            assert!(!schedule.is_enabled());
            assert!(!(0..9).any(|s| schedule.is_penalty_step(s)));
        }
    }
}
