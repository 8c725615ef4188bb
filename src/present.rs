//! The keys that are in a batch, and its correct lengths sorted by them.

use crate::keys::Run;

/// No place.
const ABSENT: u32 = u32::MAX;

/// The distinct keys of a batch, each at a place: 0, 1, 2 ... in order of first
/// appearance. What is known of a key of the batch fits into a short list then,
/// however many keys there are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Present {
    ids: Vec<u32>,
    /// By id.
    places: Vec<u32>,
}

impl Present {
    /// The ids of the keys.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    pub fn clear(&mut self) {
        let unknown = self.places.len().saturating_sub(1);
        for id in self.ids.drain(..) {
            if let Some(place) = self.places.get_mut(unknown.min(id as usize)) {
                *place = ABSENT;
            }
        }
    }

    /// Replaces the ids of runs by the places of the keys; ids from `known` on
    /// are all one key, which nobody knows.
    pub fn place(&mut self, runs: &mut [Run], known: usize) {
        // One more for the unknown key.
        self.places.resize(known + 1, ABSENT);
        for run in runs {
            let place = &mut self.places[known.min(run.id as usize)];
            if *place == ABSENT {
                #[allow(
                    clippy::cast_possible_truncation,
                    reason = "a batch has less than 2^32 samples"
                )]
                let next = self.ids.len() as u32;
                *place = next;
                self.ids.push(run.id);
            }
            run.id = *place;
        }
    }

    pub fn nbytes(&self) -> usize {
        (self.ids.capacity() + self.places.capacity()) * size_of::<u32>()
    }
}

/// The lengths of the correct samples of a chunk, those of a key together and
/// in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selected {
    lengths: Vec<u64>,
    /// By place: where those of the key begin.
    starts: Vec<usize>,
    /// By place: and where they end.
    ends: Vec<usize>,
}

impl Selected {
    /// Selects from samples that come in `runs`, with keys at `places` places.
    pub fn select<T>(
        &mut self,
        places: usize,
        runs: &[Run],
        lengths: &[u64],
        scores: &[T],
        is_correct: impl Fn(&T) -> bool,
    ) {
        self.ends.clear();
        self.ends.resize(places, 0);
        for run in runs {
            self.ends[run.id as usize] += run.len as usize;
        }
        // Where each key begins, if all were correct.
        let mut start = 0;
        self.starts.clear();
        for end in &mut self.ends {
            let samples = std::mem::replace(end, start);
            self.starts.push(start);
            start += samples;
        }
        self.lengths.resize(self.lengths.len().max(start), 0);

        let mut samples = lengths.iter().zip(scores);
        for run in runs {
            let end = &mut self.ends[run.id as usize];
            let slots = &mut self.lengths[*end..*end + run.len as usize];
            let mut count = 0;
            for (&length, score) in samples.by_ref().take(run.len as usize) {
                // Whether a response is correct is hard to foresee: no branch on it.
                slots[count] = length;
                count += usize::from(is_correct(score));
            }
            *end += count;
        }
    }

    /// Places and lengths of the keys with a correct sample.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &[u64])> {
        let ranges = self.starts.iter().zip(&self.ends);
        let lengths = ranges.map(|(&start, &end)| &self.lengths[start..end]);
        lengths
            .enumerate()
            .filter(|(_, lengths)| !lengths.is_empty())
    }

    pub fn nbytes(&self) -> usize {
        self.lengths.capacity() * size_of::<u64>()
            + (self.starts.capacity() + self.ends.capacity()) * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(ids: &[u32]) -> Vec<Run> {
        ids.iter().map(|&id| Run { id, len: 1 }).collect()
    }

    #[test]
    fn places_are_of_one_batch_also_where_keys_come_and_go() {
        let mut present = Present::default();
        for known in [3, 5, 2, 0, 4] {
            let mut batch = runs(&[u32::MAX, 1, u32::MAX, 0, 1]);
            present.clear();
            present.place(&mut batch, known);
            let expected: &[u32] = match known {
                0 => &[0; 5],
                _ => &[0, 1, 0, 2, 1],
            };
            assert_eq!(batch, runs(expected), "{known} keys");
        }
    }

    #[test]
    fn correct_lengths_stay_in_order_within_a_key() {
        let mut selected = Selected::default();
        let runs = [(1, 2), (0, 1), (1, 3), (2, 1)].map(|(id, len)| Run { id, len });
        let lengths = [10, 11, 12, 13, 14, 15, 16];
        let correct = [true, true, false, false, true, true, true];
        selected.select(4, &runs, &lengths, &correct, |&correct| correct);
        let found: Vec<_> = selected.iter().collect();
        assert_eq!(found, [(1, &[10, 11, 14, 15][..]), (2, &[16][..])]);
    }
}
