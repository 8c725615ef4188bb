//! Trace files, written out.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;

/// A folder of its own for each test, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("toggle_rs_traces_{}_{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A line as the trainer writes it; the response is `length` zeros.
pub fn line(step: u64, sample: u64, dataset: &str, length: usize, reward: &str) -> String {
    let tokens = vec!["0"; length].join(", ");
    let prompt = sample / 4;
    [
        format!(r#"{{"step": {step}, "sample_idx": {sample}, "prompt_idx": {prompt}, "#),
        format!(r#""prompt_tokens": [1, 2], "response_tokens": [{tokens}], "#),
        format!(r#""reward": {reward}, "advantage": -0.5, "finish_reason": "stop", "#),
        format!(r#""dataset": {dataset}, "ground_truth": "é \" \\ \ud83d\ude00", "#),
        r#""request_info": {"num_calls": 0, "nested": [[], {}]}, "#.to_owned(),
        "\"logprobs\": [NaN, -Infinity, 1e-9]}\n".to_owned(),
    ]
    .concat()
}

pub fn math(step: u64, sample: u64, length: usize) -> String {
    line(step, sample, r#""math""#, length, "1.0")
}

pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}
