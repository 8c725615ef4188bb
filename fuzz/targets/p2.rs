//! `P2Quantile` against the paper's algorithm and the order of its markers.

#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use toggle_rs::quantile::{MAX_LENGTH, P2Quantile, Quantile};
use toggle_rs_fuzz::oracle::p2::{check, check_markers, linear, paper};
use toggle_rs_fuzz::states::{Splice, altered, check_round_trip};
use toggle_rs_fuzz::values::{Batch, Fraction, Real, is_quantile};

#[derive(Debug, Arbitrary)]
enum Call {
    Update(Batch<Real>),
    /// A value so many bits above or below a marker.
    Near(u8, i8),
    Alter(Vec<Splice>),
    Ask(Fraction),
    AskPercentile(Real),
}

/// An estimator, one that takes in the same one by one, and all that they have
/// seen since they were empty, if they ever were.
struct Pair {
    p2: P2Quantile,
    one_by_one: P2Quantile,
    seen: Option<Vec<f64>>,
}

impl Pair {
    fn update(&mut self, values: &[f64]) {
        let fits = values.iter().all(|value| value.is_finite())
            && self.p2.count() + values.len() as u64 <= MAX_LENGTH;
        assert_eq!(self.p2.update(values).is_ok(), fits);
        if fits {
            for &value in values {
                self.one_by_one.update(&[value]).unwrap();
                check_markers(&self.one_by_one);
            }
            self.seen.iter_mut().for_each(|seen| seen.extend(values));
        }
    }

    fn near(&self, marker: u8, bits: i8) -> f64 {
        let heights = self.p2.heights();
        let marker = usize::from(marker).checked_rem(heights.len());
        let height = marker.map_or(1.0, |marker| heights[marker]);
        f64::from_bits(height.to_bits().saturating_add_signed(bits.into()))
    }

    /// Checks what it says to `q`: its own quantile, or that this is not it.
    fn check_answer(&self, q: f64, answer: &toggle_rs::Result<Option<f64>>) {
        let own = self.p2.q();
        assert_eq!(answer.is_ok(), (q - own).abs() <= 1e-12);
        assert!(answer.is_err() || *answer == self.p2.quantile(own));
    }

    fn check(&self) {
        check_markers(&self.p2);
        assert_eq!(self.p2, self.one_by_one);
        let Some(seen) = &self.seen else {
            return;
        };
        check(&self.p2, seen);
        // Beyond, the paper's formulas overflow.
        if seen.iter().any(|value| value.abs() > 1e150) {
            return;
        }
        if seen.len() > 5 {
            let (heights, positions) = paper(self.p2.q(), seen);
            assert_eq!(self.p2.heights(), heights);
            assert!(
                self.p2
                    .positions()
                    .iter()
                    .map(|&n| n.cast_signed())
                    .eq(positions)
            );
        } else {
            let q = self.p2.q();
            assert_eq!(self.p2.quantile(q).unwrap(), linear(seen, q));
        }
    }
}

fn run((Fraction(q), calls): (Fraction, Vec<Call>)) {
    let made = P2Quantile::new(q);
    assert_eq!(made.is_ok(), is_quantile(q));
    let Ok(p2) = made else {
        return;
    };
    let one_by_one = p2.clone();
    let mut pair = Pair {
        p2,
        one_by_one,
        seen: Some(Vec::new()),
    };
    for call in calls {
        match call {
            Call::Update(batch) => pair.update(&batch.reals()),
            Call::Near(marker, bits) => pair.update(&[pair.near(marker, bits)]),
            Call::Alter(splices) => {
                if let Some(p2) = altered(&pair.p2, splices) {
                    let one_by_one = p2.clone();
                    pair = Pair {
                        p2,
                        one_by_one,
                        seen: None,
                    };
                }
            }
            Call::Ask(Fraction(q)) => {
                let answer = pair.p2.quantile(q);
                if is_quantile(q) {
                    pair.check_answer(q, &answer);
                } else {
                    assert!(answer.is_err());
                }
            }
            Call::AskPercentile(Real(p)) => {
                let answer = pair.p2.percentile(p);
                if (0.0..=100.0).contains(&p) {
                    pair.check_answer(p / 100.0, &answer);
                } else {
                    assert!(answer.is_err());
                }
            }
        }
    }
    pair.check();
    check_round_trip(&pair.p2);
}

toggle_rs_fuzz::target!(run, (Fraction, Vec<Call>));
