//! Traces in zstd, of other field names, and many at once.

mod shards;

use std::fs;
use std::io::Write;

use shards::{Folder, gzip, line, math};
use toggle_rs::traces::{Count, Fields, Reader, Rollouts, TraceError};

fn zstd(content: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Reads one file of lines with these fields.
fn read_with(fields: Fields, content: &str) -> Result<Rollouts, TraceError> {
    let folder = Folder::new();
    let mut reader = Reader::new(fields);
    reader.read_file(&folder.file("shard.jsonl", content), |_| {
        Ok::<(), TraceError>(())
    })?;
    reader.finish()
}

fn read_default(content: &[u8]) -> Result<Rollouts, TraceError> {
    let folder = Folder::new();
    Rollouts::read(&[folder.file("shard", content)])
}

fn names(rollouts: &Rollouts) -> Vec<String> {
    rollouts.names.iter().map(ToString::to_string).collect()
}

#[test]
fn zstd_is_told_by_its_bytes_and_may_have_many_frames() {
    let folder = Folder::new();
    let mut frames = zstd((math(0, 0, 1) + &math(0, 1, 2)[..40]).as_bytes());
    frames.extend(zstd(&[]));
    frames.extend(zstd(&math(0, 1, 2).as_bytes()[40..]));
    let packed = folder.file("packed.jsonl", frames);
    let plain = folder.file("plain.jsonl.zst", math(0, 2, 3));
    let rollouts = Rollouts::read(&[plain, packed]).unwrap();
    assert_eq!(rollouts.length, [1, 2, 3]);
}

#[test]
fn a_damaged_zstd_stream_is_an_error() {
    let text: String = (0..2000).map(|sample| math(0, sample, 7)).collect();
    let whole = zstd(text.as_bytes());
    assert_eq!(read_default(&whole).unwrap().len(), 2000);
    let mut checksum = whole.clone();
    let end = checksum.len() - 1;
    checksum[end] ^= 1;
    let mut tail = whole.clone();
    tail.extend_from_slice(b"tail");
    let cuts = [5, 20, whole.len() / 2, whole.len() - 1].map(|cut| whole[..cut].to_vec());
    for bad in cuts.into_iter().chain([checksum, tail]) {
        let reason = read_default(&bad).unwrap_err().to_string();
        assert!(reason.contains(": damaged zstd stream: "), "{reason}");
    }
}

/// Fields of another trainer's lines.
fn other_fields(count: Count) -> Fields {
    Fields {
        step: "it".into(),
        sample: None,
        group: "prompt".into(),
        dataset: None,
        reward: "score".into(),
        length: "answer".into(),
        count,
    }
}

#[test]
fn fields_may_have_other_names() {
    let text = r#"
{"it": 1, "prompt": "é?", "score": true, "answer": [7, 7, 7]}
{"it": 0, "prompt": "b", "score": 0.5, "answer": 4, "step": "not read"}
{"it": 1, "prompt": "\u00e9?", "score": false, "answer": []}
{"it": 1, "prompt": 3, "score": -1, "answer": 0}
"#;
    let rollouts = read_with(other_fields(Count::Tokens), text).unwrap();
    assert_eq!(rollouts.step, [0, 1, 1, 1]);
    assert_eq!(rollouts.length, [4, 3, 0, 0]);
    assert_eq!(rollouts.reward, [0.5, 1.0, 0.0, -1.0]);
    assert_eq!(names(&rollouts), ["all"]);
    assert_eq!(rollouts.group[1], rollouts.group[2], "escapes are undone");
    assert_eq!(rollouts.group[3], 3);
    assert!(rollouts.group.iter().all(|group| *group < 1 << 63));
    assert_ne!(rollouts.group[0], rollouts.group[1]);
    assert_eq!(
        rollouts.sample,
        [1, 0, 2, 3],
        "none is taken for a repeated one"
    );
}

#[test]
fn a_text_is_measured_in_words_or_characters() {
    let text = r#"{"it": 0, "prompt": 0, "score": 1, "answer": " 1 é\n\tthen \ud83d\ude00 "}"#;
    let measure = |count| read_with(other_fields(count), text).map(|rollouts| rollouts.length[0]);
    assert_eq!(measure(Count::Words).unwrap(), 4);
    assert_eq!(measure(Count::Characters).unwrap(), 13);
    let error = measure(Count::Tokens).unwrap_err().to_string();
    assert!(error.ends_with("count its words or characters"), "{error}");
    let number = text.replace(r#"" 1 é\n\tthen \ud83d\ude00 ""#, "7");
    let error = read_with(other_fields(Count::Words), &number).unwrap_err();
    let expected = "line 1: field 'answer': expected string but found int";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn one_field_may_serve_for_several_columns() {
    let fields = Fields {
        group: "dataset".into(),
        sample: Some("step".into()),
        ..Fields::default()
    };
    let rollouts = read_with(fields, &(math(3, 0, 2) + &math(4, 0, 2))).unwrap();
    assert_eq!(rollouts.group[0], rollouts.group[1]);
    assert_eq!(rollouts.sample, [3, 4]);
    assert_eq!(names(&rollouts), ["math"]);
}

#[test]
fn many_files_are_read_as_one_after_the_other() {
    let folder = Folder::new();
    let paths: Vec<_> = (0..40)
        .map(|i| {
            // Each file logs two samples of the one before it again.
            let names = [r#""a""#, r#""b""#, r#"["b", "a"]"#];
            let lines = (0..30).map(|n| line(0, 28 * i + n as u64, names[n % 3], n, "1"));
            let torn = if i % 7 == 0 { "{\"step\"" } else { "" };
            let text = lines.collect::<String>() + torn;
            folder.file(
                &i.to_string(),
                if i % 2 == 0 {
                    text.into()
                } else {
                    gzip(text.as_bytes())
                },
            )
        })
        .collect();
    let without_sample = Fields {
        sample: None,
        ..Fields::default()
    };
    for fields in [Fields::default(), without_sample] {
        let mut one_by_one = Reader::new(fields.clone());
        let mut at_once = Reader::new(fields);
        for path in &paths {
            one_by_one
                .read_file(path, |_| Ok::<(), TraceError>(()))
                .unwrap();
        }
        let mut bytes = 0;
        let count = |more| {
            bytes += more;
            Ok::<(), TraceError>(())
        };
        at_once.read_files(&paths, count).unwrap();
        let sizes = paths.iter().map(|path| fs::metadata(path).unwrap().len());
        assert_eq!(bytes, sizes.sum::<u64>());
        let rollouts = at_once.finish().unwrap();
        assert_eq!(rollouts.torn, 6);
        assert_eq!(rollouts, one_by_one.finish().unwrap());
    }
}

#[test]
fn of_many_files_the_first_bad_one_is_named_and_none_is_taken_in() {
    let folder = Folder::new();
    let mut paths: Vec<_> = (0..30)
        .map(|i| folder.file(&i.to_string(), math(0, i, 1).repeat(200)))
        .collect();
    for (place, name) in [(25, "worse"), (9, "absent"), (3, "bad")] {
        paths[place] = folder.0.join(name);
        if name != "absent" {
            folder.file(name, math(1, 0, 2) + "oops\n");
        }
        let mut reader = Reader::default();
        reader
            .read_file(&paths[0], |_| Ok::<(), TraceError>(()))
            .unwrap();
        let error = reader
            .read_files(&paths, |_| Ok::<(), TraceError>(()))
            .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with(paths[place].to_str().unwrap()),
            "{error}"
        );
        let before = Rollouts::read(&paths[..1]).unwrap();
        assert_eq!(
            reader.finish().unwrap(),
            Rollouts {
                repeated: 199,
                ..before
            }
        );
    }
    let stop = |_| Err(TraceError::NoFiles);
    let stopped = Reader::default().read_files(&paths, stop);
    assert!(matches!(stopped, Err(TraceError::NoFiles)));
}
