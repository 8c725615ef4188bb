//! The samples of a training step.

use rand::{Rng, SeedableRng, rngs::StdRng};

use super::{BATCH, streams};

/// Responses to a prompt.
pub const K: usize = 8;

/// A batch of [`BATCH`] samples, half of them correct.
pub struct Samples {
    keys: Vec<String>,
    /// The key of each sample, the same for a whole prompt.
    pub key_of: Vec<usize>,
    pub lengths: Vec<u64>,
    pub correct: Vec<bool>,
    pub scores: Vec<f64>,
}

impl Samples {
    /// With keys drawn from so many.
    pub fn new(keys: usize) -> Self {
        let [(_, lengths), ..] = streams();
        Self::of(keys, &lengths[..BATCH], 2)
    }

    /// Several, so that no branch is learned by heart.
    pub fn batches(keys: usize) -> Vec<Self> {
        let [(_, lengths), ..] = streams();
        let batches = lengths.chunks_exact(BATCH).zip(2..);
        batches
            .map(|(lengths, seed)| Self::of(keys, lengths, seed))
            .collect()
    }

    fn of(keys: usize, lengths: &[u64], seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let prompts: Vec<usize> = (0..BATCH / K).map(|_| rng.random_range(0..keys)).collect();
        let correct: Vec<bool> = (0..BATCH).map(|_| rng.random_bool(0.5)).collect();
        Self {
            keys: (0..keys).map(|key| format!("dataset-{key}")).collect(),
            key_of: (0..BATCH).map(|sample| prompts[sample / K]).collect(),
            lengths: lengths.to_vec(),
            scores: correct.iter().map(|&is| f64::from(u8::from(is))).collect(),
            correct,
        }
    }

    /// The dataset name of each sample.
    pub fn names(&self) -> Vec<&str> {
        self.key_of.iter().map(|&key| &*self.keys[key]).collect()
    }
}
