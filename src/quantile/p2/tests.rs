//! States from parts, and counts at the end of their range.

use proptest::prelude::*;

use super::*;
use crate::quantile::MAX_LENGTH;

const HEIGHTS: [f64; 5] = [-1.0, 0.0, 0.5, 2.0, 2.0];
const POSITIONS: [u64; 5] = [1, 3, 4, 7, 9];

fn is_sound(state: &P2Quantile) -> bool {
    let parts = (state.q, state.count, state.heights, state.positions);
    P2Quantile::from_parts(parts.0, parts.1, parts.2, parts.3).as_ref() == Ok(state)
}

proptest! {
    #[test]
    fn foreign_states_are_refused_or_harmless(
        q in prop_oneof![0.0..=1.0, any::<f64>()],
        (count, heights, positions) in prop_oneof![
            (9..20_u64).prop_map(|count| (count, HEIGHTS, [1, 3, 4, 7, count])),
            Just((MAX_LENGTH - 3, HEIGHTS, [1, 2, 3, MAX_LENGTH / 2, MAX_LENGTH - 3])),
            Just((9, [-f64::MAX, -f64::MAX, 0.0, f64::MAX, f64::MAX], POSITIONS)),
            (0..5_u64, any::<[f64; 5]>()).prop_map(|(n, heights)| (n, heights, FIRST_POSITIONS)),
            any::<(u64, [f64; 5], [u64; 5])>(),
        ],
        values in prop::collection::vec(prop::num::f64::NORMAL, 0..40),
    ) {
        let Ok(mut state) = P2Quantile::from_parts(q, count, heights, positions) else {
            return Ok(());
        };
        for value in values {
            let full = state.count == MAX_LENGTH;
            prop_assert_eq!(state.update(&[value]).is_err(), full);
            prop_assert!(is_sound(&state), "{:?}", state);
            let answer = state.quantile(q).unwrap().unwrap();
            prop_assert!(state.min() <= Some(answer) && Some(answer) <= state.max());
        }
    }
}

#[test]
fn parts_that_no_stream_leads_to_are_refused() {
    let build = P2Quantile::from_parts;
    assert!(build(0.5, 9, HEIGHTS, POSITIONS).is_ok());
    assert!(build(0.5, 3, [1.0, 2.0, 3.0, 0.0, 0.0], FIRST_POSITIONS).is_ok());

    for q in [1.5, -0.0, f64::NAN] {
        assert!(build(q, 9, HEIGHTS, POSITIONS).is_err());
    }
    assert!(build(0.5, 10, HEIGHTS, POSITIONS).is_err());
    assert!(build(0.5, MAX_LENGTH + 1, HEIGHTS, [1, 2, 3, 4, MAX_LENGTH + 1]).is_err());
    assert!(build(0.5, 9, HEIGHTS, [1, 3, 3, 7, 9]).is_err());
    assert!(build(0.5, 9, HEIGHTS, [0, 3, 4, 7, 9]).is_err());
    assert!(build(0.5, 9, [1.0, 0.0, 2.0, 3.0, 4.0], POSITIONS).is_err());
    assert!(build(0.5, 9, [f64::NAN, 0.0, 2.0, 3.0, 4.0], POSITIONS).is_err());
    assert!(build(0.5, 9, [-0.0, 0.0, 2.0, 3.0, 4.0], POSITIONS).is_err());
    assert!(build(0.5, 9, [0.0, 1.0, 2.0, 3.0, f64::INFINITY], POSITIONS).is_err());
    assert!(build(0.5, 3, [1.0, 2.0, 3.0, 4.0, 0.0], FIRST_POSITIONS).is_err());
    assert!(build(0.5, 3, [1.0, 2.0, 3.0, 0.0, 0.0], POSITIONS).is_err());
}

#[test]
fn counts_do_not_wrap() {
    let positions = [1, 2, 3, 4, MAX_LENGTH];
    let mut state = P2Quantile::from_parts(0.5, MAX_LENGTH, HEIGHTS, positions).unwrap();
    let before = state.clone();
    assert!(state.update(&[1.0]).is_err());
    assert!(state.update(&[]).is_ok());
    assert_eq!(state, before);
}
