//! Trace files of every kind of dirt, written out and read back.

mod shards;

use std::collections::BTreeMap;

use proptest::prelude::*;
use shards::{Folder, gzip, line, math};
use toggle_rs::traces::{Reader, Rollouts, TraceError};

fn read(content: impl AsRef<[u8]>) -> Result<Rollouts, TraceError> {
    let folder = Folder::new();
    Rollouts::read(&[folder.file("shard.jsonl", content)])
}

/// The line that the error about `content` names, and what it says.
fn complaint(content: impl AsRef<[u8]>) -> (u64, String) {
    match read(content) {
        Err(TraceError::Line { path, line, reason }) => {
            assert!(path.ends_with("shard.jsonl"));
            (line, reason)
        }
        other => panic!("expected an error about a line, got {other:?}"),
    }
}

fn names(rollouts: &Rollouts) -> Vec<String> {
    rollouts.names.iter().map(ToString::to_string).collect()
}

#[test]
fn columns_hold_what_the_lines_say() {
    let text = line(7, 5, r#""math""#, 3, "10.0") + &line(7, 9, r#"["code", "hard"]"#, 0, "-1");
    let rollouts = read(text).unwrap();
    assert_eq!(rollouts.step, [7, 7]);
    assert_eq!(rollouts.sample, [5, 9]);
    assert_eq!(rollouts.group, [1, 2]);
    assert_eq!(rollouts.length, [3, 0]);
    assert_eq!(rollouts.reward, [10.0, -1.0]);
    assert_eq!(rollouts.dataset, [0, 1]);
    assert_eq!(names(&rollouts), ["math", "code|hard"]);
    assert_eq!(
        (rollouts.repeated, rollouts.torn, rollouts.len()),
        (0, 0, 2)
    );
}

#[test]
fn a_name_and_a_list_of_one_name_are_one_dataset() {
    let text = line(0, 0, r#""math""#, 1, "1") + &line(0, 1, r#"["math"]"#, 1, "1");
    assert_eq!(names(&read(text).unwrap()), ["math"]);
}

#[test]
fn shards_come_in_any_order() {
    let folder = Folder::new();
    let first = folder.file("a", math(1, 1, 11) + &math(0, 3, 3) + &math(0, 2, 2));
    let second = folder.file("b", line(0, 0, r#""code""#, 0, "0") + &math(2, 0, 20));
    let forth = Rollouts::read(&[&first, &second]).unwrap();
    assert_eq!(forth.step, [0, 0, 0, 1, 2]);
    assert_eq!(forth.sample, [0, 2, 3, 1, 0]);
    assert_eq!(forth.length, [0, 2, 3, 11, 20]);
    assert_eq!(names(&forth), ["code", "math"]);
    assert_eq!(forth, Rollouts::read(&[second, first]).unwrap());
}

#[test]
fn the_later_of_repeated_rows_counts() {
    let folder = Folder::new();
    let before = folder.file("z", math(4, 0, 1) + &math(5, 0, 2) + &math(4, 0, 3));
    let after = folder.file("a", line(5, 0, r#""code""#, 4, "0.5"));
    let rollouts = Rollouts::read(&[&before, &after]).unwrap();
    assert_eq!(rollouts.length, [3, 4]);
    assert_eq!(rollouts.reward, [1.0, 0.5]);
    assert_eq!(names(&rollouts), ["math", "code"]);
    assert_eq!(rollouts.repeated, 2);
    let rollouts = Rollouts::read(&[&after, &before]).unwrap();
    assert_eq!(rollouts.length, [3, 2]);
    assert_eq!(names(&rollouts), ["math"], "no name without rows");
    assert_eq!(rollouts.repeated, 2);
}

#[test]
fn a_field_that_comes_twice_counts_as_in_python() {
    let text = math(3, 0, 1).replacen('{', r#"{"step": 9, "dataset": "x", "#, 1);
    let rollouts = read(&text).unwrap();
    assert_eq!(
        (rollouts.step[0], names(&rollouts)),
        (3, vec!["math".into()])
    );
    let (line, reason) = complaint(text.replacen("\"x\"", "5e0", 1));
    assert_eq!(line, 1);
    assert!(reason.starts_with("field 'dataset'"), "{reason}");
}

#[test]
fn a_last_line_may_break_off_anywhere() {
    let whole = math(0, 0, 2) + &math(0, 1, 3);
    let last = line(1, 0, r#"["math", "é"]"#, 4, "-12.5e-1");
    let end = last.len() - 1;
    for cut in 0..=end {
        let torn = cut != 0 && cut != end;
        for newline in ["", "\n", "\r\n\n"] {
            let mut text = whole.clone().into_bytes();
            text.extend_from_slice(&last.as_bytes()[..cut]);
            text.extend_from_slice(newline.as_bytes());
            let rollouts = read(&text).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
            assert_eq!(rollouts.torn, u64::from(torn), "cut at {cut}");
            assert_eq!(rollouts.len(), if cut == end { 3 } else { 2 });
        }
    }
}

#[test]
fn every_file_may_have_its_torn_line() {
    let folder = Folder::new();
    let cut = |text: String| text[..text.len() - 9].to_owned();
    let first = folder.file("a", math(0, 0, 1) + &cut(math(0, 1, 1)));
    let text = math(0, 1, 1) + &cut(math(0, 2, 1));
    let second = folder.file("b", gzip(text.as_bytes()));
    let rollouts = Rollouts::read(&[first, second]).unwrap();
    assert_eq!((rollouts.torn, rollouts.len()), (2, 2));
}

#[test]
fn a_torn_line_elsewhere_is_an_error() {
    let torn = math(0, 1, 3);
    let torn = &torn[..torn.len() / 2];
    let (line, reason) = complaint(math(0, 0, 1) + torn + "\n\n" + &math(0, 2, 1));
    assert_eq!(line, 2);
    assert!(reason.starts_with("EOF while parsing"), "{reason}");
    // What a resumed writer appends without a newline before.
    assert_eq!(complaint(math(0, 0, 1) + torn + &math(0, 2, 1)).0, 2);
}

#[test]
fn blank_lines_and_windows_line_ends_are_passed_over() {
    let text = format!("\n{}\r\n  \n{}", math(0, 0, 1).trim_end(), math(0, 1, 1));
    assert_eq!(read(text).unwrap().len(), 2);
}

#[test]
fn a_byte_order_mark_is_passed_over_at_the_start_of_a_file_only() {
    let (mark, row) = ("\u{feff}", math(0, 0, 1));
    assert_eq!(read(format!("{mark}{row}")).unwrap().len(), 1);
    assert_eq!(complaint(format!("{row}{mark}{row}")).0, 2);
    assert_eq!(complaint(format!("{mark}{mark}{row}")).0, 1);
    assert!(matches!(read(mark), Err(TraceError::Empty { .. })));
}

#[test]
fn each_field_is_needed() {
    for field in [
        "step",
        "sample_idx",
        "prompt_idx",
        "response_tokens",
        "reward",
        "dataset",
    ] {
        let bad = math(0, 1, 1).replace(&format!("\"{field}\""), "\"other\"");
        let expected = (2, format!("field '{field}' is missing"));
        assert_eq!(complaint(math(0, 0, 1) + &bad), expected);
    }
}

/// What to replace in a right line -> what with -> how the error begins.
const WRONG: &str = r#"
"step": 0 -> "step": -1 -> field 'step': got -1, expected an integer >= 0
"step": 0 -> "step": 1.0 -> field 'step': expected int but found float
"step": 0 -> "step": true -> field 'step': expected int but found bool
"step": 0 -> "step": "0" -> field 'step': expected int but found string
"step": 0 -> "step": 9223372036854775808 -> field 'step': number out of range
"sample_idx": 1 -> "sample_idx": null -> field 'sample_idx': expected int but found null
"sample_idx": 1 -> "sample_idx": 01 -> field 'sample_idx': invalid number
"prompt_idx": 0 -> "prompt_idx": [0] -> field 'prompt_idx': expected int but found array
"prompt_idx": 0 -> "prompt_idx": -3 -> field 'prompt_idx': got -3, expected an integer >= 0
[0, 0] -> -2 -> field 'response_tokens': got -2, expected an integer >= 0
[0, 0] -> 2.5 -> field 'response_tokens': expected int but found float
[0, 0] -> "two" -> field 'response_tokens': got a text, which holds no tokens
[0, 0] -> null -> field 'response_tokens': expected array but found null
[0, 0] -> [0, "0"] -> field 'response_tokens': expected int but found string
[0, 0] -> [0, 0.5] -> field 'response_tokens': expected int but found float
[0, 0] -> [[0], 0] -> field 'response_tokens': expected int but found array
[0, 0] -> [0,, 0] -> field 'response_tokens': expected value
[0, 0] -> [0, 0,] -> field 'response_tokens': trailing comma
[0, 0] -> [0 0] -> field 'response_tokens': expected `,` or `]`
[0, 0] -> [0, 00] -> field 'response_tokens': invalid number
"reward": 1.0 -> "reward": NaN -> field 'reward': got NaN, expected a finite number
"reward": 1.0 -> "reward": -Infinity -> field 'reward': got -inf, expected a finite number
"reward": 1.0 -> "reward": 1e999 -> field 'reward': got inf, expected a finite number
"reward": 1.0 -> "reward": null -> field 'reward': expected float but found null
"reward": 1.0 -> "reward": truth -> field 'reward': expected ident
"reward": 1.0 -> "reward": "1" -> field 'reward': expected float but found string
"math" -> 7 -> field 'dataset': expected array but found int
"math" -> ["math", 7] -> field 'dataset': expected string but found int
"math" -> ["math", ["x"]] -> field 'dataset': expected string but found array
"nested":  -> "nested"  -> expected `:` at column
[NaN,  -> [nan,  -> expected ident at column
[NaN,  -> [1.5.5,  -> expected `,` or `]` at column
1e-9]} -> 1e-9]} {} -> trailing characters at column
1e-9]} -> 1e-9]}} -> trailing characters at column
"#;

#[test]
fn each_field_has_its_kind() {
    for case in WRONG.trim().lines() {
        let [old, new, expected] = case.split(" -> ").collect::<Vec<_>>()[..] else {
            panic!("{case}");
        };
        let good = math(0, 1, 2);
        let bad = good.replace(old, new);
        assert_ne!(good, bad, "{old} is not in the line");
        let (line, reason) = complaint(math(0, 0, 1) + &bad);
        assert_eq!(line, 2);
        assert!(reason.starts_with(expected), "{new}: {reason}");
    }
}

#[test]
fn a_line_is_an_object() {
    for text in [
        "7\n",
        "[]\n",
        "\"x\"\n",
        "null\n",
        "step: 0\n",
        "\u{feff}{}\n",
        "<html>\n",
    ] {
        assert_eq!(complaint(math(0, 0, 1) + text).0, 2, "{text}");
    }
}

#[test]
fn nesting_without_end_is_an_error() {
    let deep = format!(r#"{{"x": {}"#, "[".repeat(100_000));
    let (line, reason) = complaint(deep + "\n" + &math(0, 0, 1));
    assert_eq!(line, 1);
    assert!(reason.starts_with("recursion limit exceeded"), "{reason}");
}

#[test]
fn bytes_that_are_no_utf8_are_an_error_wherever_they_are() {
    for place in ["stop", "math", "request_info", "sample_idx"] {
        let good = math(0, 1, 1);
        let at = good.find(place).unwrap();
        let mut text = math(0, 0, 1).into_bytes();
        text.extend_from_slice(&good.as_bytes()[..at]);
        text.push(0xff);
        text.extend_from_slice(&good.as_bytes()[at..]);
        assert_eq!(
            complaint(text),
            (2, format!("not UTF-8 at column {}", at + 1))
        );
    }
}

#[test]
fn gzip_is_told_by_its_bytes_and_may_have_many_members() {
    let folder = Folder::new();
    let mut members = gzip((math(0, 0, 1) + &math(0, 1, 2)[..40]).as_bytes());
    members.extend(gzip(&[]));
    members.extend(gzip(&math(0, 1, 2).as_bytes()[40..]));
    let zipped = folder.file("zipped.jsonl", members);
    let plain = folder.file("plain.jsonl.gz", math(0, 2, 3));
    let rollouts = Rollouts::read(&[plain, zipped]).unwrap();
    assert_eq!(rollouts.length, [1, 2, 3]);
}

#[test]
fn a_damaged_gzip_stream_is_an_error() {
    let text: String = (0..2000).map(|sample| math(0, sample, 7)).collect();
    let whole = gzip(text.as_bytes());
    assert_eq!(read(&whole).unwrap().len(), 2000);
    for cut in [3, 10, 11, whole.len() / 2, whole.len() - 8, whole.len() - 1] {
        let (line, reason) = complaint(&whole[..cut]);
        assert!((1..=2001).contains(&line), "cut at {cut}: {line}");
        assert!(reason.starts_with("damaged gzip stream"), "{reason}");
    }
    let mut checksum = whole.clone();
    let end = checksum.len() - 5;
    checksum[end] ^= 1;
    let mut header = whole.clone();
    header[2] = 7;
    let mut tail = whole;
    tail.extend_from_slice(b"tail");
    for bad in [checksum, header, tail] {
        assert!(complaint(bad).1.starts_with("damaged gzip stream"));
    }
}

#[test]
fn no_rollouts_at_all_is_an_error() {
    let folder = Folder::new();
    let empty = [
        folder.file("empty", ""),
        folder.file("newline", "\n"),
        folder.file("zipped", gzip(b"")),
        folder.file("torn", &math(0, 0, 1)[..60]),
    ];
    for path in &empty {
        let error = Rollouts::read(&[path]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{}: no rollouts", path.display())
        );
    }
    let none: [&str; 0] = [];
    assert!(matches!(Rollouts::read(&none), Err(TraceError::NoFiles)));
    // Also beside a file that holds one: the first such file is named.
    let full = folder.file("full", math(0, 0, 1));
    let error = Rollouts::read(&[&full, &empty[1], &empty[0]]).unwrap_err();
    assert!(matches!(error, TraceError::Empty { path } if path == empty[1]));
}

#[test]
fn what_cannot_be_opened_is_named() {
    let folder = Folder::new();
    for path in [folder.0.join("absent.jsonl"), folder.0.clone()] {
        let error = Rollouts::read(&[&path]).unwrap_err();
        assert!(
            error.to_string().starts_with(path.to_str().unwrap()),
            "{error}"
        );
        assert!(matches!(error, TraceError::Io { .. }));
    }
}

#[test]
fn a_file_that_fails_leaves_the_reader_as_it_was() {
    let folder = Folder::new();
    let good = folder.file("good", math(0, 0, 1));
    let bad = folder.file(
        "bad",
        line(0, 1, r#""code""#, 1, "1") + &math(0, 2, 2) + "oops\n",
    );
    let no_report = |_| Ok::<(), TraceError>(());
    let mut reader = Reader::default();
    reader.read_file(&good, no_report).unwrap();
    reader.read_file(&bad, no_report).unwrap_err();
    let rollouts = reader.finish().unwrap();
    assert_eq!(rollouts, Rollouts::read(&[good]).unwrap());
}

#[test]
fn the_bytes_reported_add_up_and_an_error_there_ends_the_reading() {
    let folder = Folder::new();
    let text: String = (0..3000).map(|sample| math(0, sample, 3000)).collect();
    for content in [gzip(text.as_bytes()), text.into_bytes()] {
        let path = folder.file("shard", &content);
        let mut calls = Vec::new();
        let note = |bytes| {
            calls.push(bytes);
            Ok::<(), TraceError>(())
        };
        Reader::default().read_file(&path, note).unwrap();
        assert!(calls.len() > 2, "27 MB in {} calls", calls.len());
        assert_eq!(calls.iter().sum::<u64>(), content.len() as u64);
        let stop = |_| Err(TraceError::NoFiles);
        let stopped = Reader::default().read_file(&path, stop);
        assert!(matches!(stopped, Err(TraceError::NoFiles)));
    }
}

proptest! {
    /// Rows in any order, repeated at will, over any number of files: equal
    /// to a map that later rows overwrite.
    #[test]
    fn rows_equal_a_map(
        rows in prop::collection::vec((0..4_u64, 0..6_u64, 0..3_usize, 0..9_usize, 0..4_u8), 1..60),
        cuts in prop::collection::vec(1..60_usize, 0..4),
    ) {
        let datasets = [r#""a""#, r#"["a", "b"]"#, r#""c""#];
        let labels = ["a", "a|b", "c"];
        let mut texts = vec![String::new()];
        let mut expected = BTreeMap::new();
        for (i, &(step, sample, dataset, length, reward)) in rows.iter().enumerate() {
            if cuts.contains(&i) {
                texts.push(String::new());
            }
            let reward = f64::from(reward) / 4.0;
            texts.last_mut().unwrap().push_str(
                &line(step, sample, datasets[dataset], length, &reward.to_string()),
            );
            expected.insert((step, sample), (labels[dataset].to_owned(), length as u64, reward));
        }
        let folder = Folder::new();
        let paths: Vec<_> = texts.iter().enumerate().map(|(i, text)| {
            let zipped = if i % 2 == 0 { text.clone().into() } else { gzip(text.as_bytes()) };
            folder.file(&i.to_string(), zipped)
        }).collect();
        let got = Rollouts::read(&paths).unwrap();
        prop_assert_eq!(got.repeated, (rows.len() - expected.len()) as u64);
        for (i, (key, value)) in expected.into_iter().enumerate() {
            let name = got.names[got.dataset[i] as usize].to_string();
            prop_assert_eq!((got.step[i], got.sample[i]), key);
            prop_assert_eq!(got.group[i], key.1 / 4);
            prop_assert_eq!((name, got.length[i], got.reward[i]), value);
        }
    }

    /// Whatever the bytes: an answer or an error, no panic.
    #[test]
    fn bytes_of_any_kind_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        at in 0..400_usize,
        zip in any::<bool>(),
    ) {
        let mut text = (math(0, 0, 9) + &math(0, 1, 9)).into_bytes();
        let at = at.min(text.len());
        text.splice(at..(at + bytes.len() / 2).min(text.len()), bytes);
        let content = if zip { gzip(&text) } else { text };
        let _ = read(content);
    }
}
