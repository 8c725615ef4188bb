//! Lists of numbers, counted or passed over without parsing the numbers.
//!
//! Most bytes of a trace are in such lists. Each check here is about a byte
//! and the two before it, and takes no branch, so that the compiler makes
//! vector code of it. What the checks do not know, `NaN` or other white space
//! say, is left to the parser: nothing is refused here.

#![allow(
    clippy::needless_bitwise_bool,
    reason = "a branch would keep the compiler from vector code"
)]

use memchr::memchr;

/// Bytes between two looks at the result; the commas in them fit into a `u8`.
const CHUNK: usize = 128;

/// Number of elements and of bytes of the list of integers that `text` begins
/// with; `None` leaves it to the parser.
pub(super) fn integers(text: &[u8]) -> Option<(u64, usize)> {
    scan(text, |before, last, byte| {
        (is_digit(byte) & !((last == b'0') & !is_digit(before)))
            | ((byte == b',') & is_digit(last))
            | ((byte == b' ') & (last == b','))
            | ((byte == b'-') & ((last == b' ') | (last == b',') | (last == b'[')))
            | ((byte == b']') & is_digit(last))
    })
}

/// Number of bytes of the list of numbers that `text` begins with; `None`
/// leaves it to the parser.
///
/// It knows which byte may follow which, and so lets more pass than JSON does:
/// a number with two points, say.
pub(super) fn list(text: &[u8]) -> Option<usize> {
    let length = scan(text, |_, last, byte| {
        let is_exponent = (last | 0x20) == b'e';
        is_digit(byte)
            | (((byte == b',') | (byte == b'.') | ((byte | 0x20) == b'e')) & is_digit(last))
            | ((byte == b' ') & (last == b','))
            | ((byte == b'-') & ((last == b' ') | (last == b',') | (last == b'[') | is_exponent))
            | ((byte == b'+') & is_exponent)
            | ((byte == b']') & is_digit(last))
    });
    length.map(|(_, length)| length)
}

fn is_digit(byte: u8) -> bool {
    byte.wrapping_sub(b'0') < 10
}

/// Number of elements and of bytes of the list that `text` begins with, where
/// `may_follow` says yes to each byte, given the two before it.
fn scan(text: &[u8], may_follow: impl Fn(u8, u8, u8) -> bool) -> Option<(u64, usize)> {
    if text.first() != Some(&b'[') {
        return None;
    }
    let list = &text[..=memchr(b']', text)?];
    if list.len() == 2 {
        return Some((0, 2));
    }
    if !may_follow(b'[', b'[', list[1]) {
        return None;
    }
    let mut commas = 0;
    let (befores, lasts) = (list.chunks(CHUNK), list[1..].chunks(CHUNK));
    for ((befores, lasts), bytes) in befores.zip(lasts).zip(list[2..].chunks(CHUNK)) {
        let (mut is_wrong, mut count) = (false, 0_u8);
        for ((&before, &last), &byte) in befores.iter().zip(lasts).zip(bytes) {
            is_wrong |= !may_follow(before, last, byte);
            count = count.wrapping_add(u8::from(byte == b','));
        }
        if is_wrong {
            return None;
        }
        commas += u64::from(count);
    }
    Some((commas + 1, list.len()))
}

#[cfg(test)]
mod tests {
    use jiter::{Jiter, NumberInt};
    use proptest::prelude::*;

    use super::{integers, list};

    /// What the parser makes of the list of integers that a text begins with.
    fn parsed(text: &[u8]) -> Option<(u64, usize)> {
        let mut json = Jiter::new(text);
        let mut count = 0;
        let mut element = json.next_array().ok()?;
        while let Some(peek) = element {
            let _: NumberInt = json.known_int(peek).ok()?;
            count += 1;
            element = json.array_step().ok()?;
        }
        Some((count, json.current_index()))
    }

    #[test]
    fn usual_lists_are_known() {
        let tokens: Vec<u32> = (0..1000).map(|i| i * i).collect();
        let text = format!("{tokens:?}, ");
        assert_eq!(integers(text.as_bytes()), Some((1000, text.len() - 2)));
        assert_eq!(integers(b"[]]"), Some((0, 2)));
        assert_eq!(integers(b"[7,-0,10]"), Some((3, 9)));
        for text in ["[-0.5, -1e-07, 3E+2, 0]", "[]", "[1]", "[0.25,1.5e300]"] {
            assert_eq!(list(text.as_bytes()), Some(text.len()));
        }
    }

    proptest! {
        #[test]
        fn what_is_known_equals_what_is_parsed(
            text in r"\[[0-9]{0,3}(, ?[-0-9]{0,2}|[-0,. e]){0,40}\].{0,3}",
        ) {
            if let Some(known) = integers(text.as_bytes()) {
                prop_assert_eq!(Some(known), parsed(text.as_bytes()), "{}", text);
            }
        }

        #[test]
        fn right_lists_of_any_length_are_known(
            tokens in prop::collection::vec(any::<i32>(), 0..400),
            logprobs in prop::collection::vec(any::<f32>(), 0..400),
        ) {
            let text = format!("{tokens:?}");
            prop_assert_eq!(integers(text.as_bytes()), Some((tokens.len() as u64, text.len())));
            let logprobs: Vec<f32> = logprobs.into_iter().filter(|n| n.is_finite()).collect();
            let text = format!("{logprobs:?}");
            prop_assert_eq!(list(text.as_bytes()), Some(text.len()));
        }

        #[test]
        fn no_other_value_is_a_list(text in r#"[\[{}\]0-9, :"a-eN]{0,12}"#) {
            if let Some(end) = list(text.as_bytes()) {
                let known = &text[..end];
                prop_assert!(known.starts_with('[') && known.ends_with(']'));
                let foreign = ['[', ']', '{', '}', '"', ':', 'a', 'N'];
                prop_assert!(!known[1..end - 1].contains(foreign));
            }
        }
    }
}
