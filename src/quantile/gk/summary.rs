//! The tuples of a Greenwald-Khanna summary and what is done to them.
//!
//! A tuple stands for `g` values: itself and those just below that it has
//! absorbed. With n values in all, its value has a rank between the sum of all
//! `g` up to its own and `delta` more. `g + delta` never exceeds
//! limit(n) = floor(2 epsilon n), so that some tuple is within limit / 2 of any
//! rank. Of values that are equal the order is free: ranks are meant up to ties.

use crate::quantile::{check_count, is_canonical};

/// One value and what is known of its rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tuple {
    pub value: f64,
    /// Its smallest possible rank less that of the tuple before it; at least 1.
    pub g: u64,
    /// Its largest possible rank less the smallest.
    pub delta: u64,
}

impl Tuple {
    /// The delta of a value inserted just before this tuple.
    fn slack(&self) -> u64 {
        self.g + self.delta - 1
    }
}

/// Tuples in order of value. The first is the minimum and the last the maximum:
/// the one is never absorbed, the other has nothing to be absorbed by.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Summary {
    tuples: Vec<Tuple>,
    /// Number of values: the sum of all `g`.
    count: u64,
}

impl Summary {
    /// The summary of these tuples, if they are in order and keep every
    /// invariant that the other methods rely on.
    pub fn from_tuples(tuples: Vec<Tuple>, epsilon: f64) -> Option<Self> {
        let mut count = 0;
        for tuple in &tuples {
            count = check_count("g", count, tuple.g).ok()?;
        }
        let limit = limit(epsilon, count).max(1);
        let sound = tuples.iter().all(|tuple| {
            is_canonical(tuple.value)
                && tuple.g >= 1
                && tuple
                    .delta
                    .checked_add(tuple.g)
                    .is_some_and(|sum| sum <= limit)
        });
        // Largest possible ranks rise as values do.
        let in_order = || tuples.is_sorted_by(|a, b| a.value <= b.value && a.delta <= b.slack());
        let exact_ends = || {
            tuples.first().is_none_or(|first| first.slack() == 0)
                && tuples.last().is_none_or(|last| last.delta == 0)
        };
        (sound && in_order() && exact_ends()).then_some(Self { tuples, count })
    }

    pub fn tuples(&self) -> &[Tuple] {
        &self.tuples
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn nbytes(&self) -> usize {
        self.tuples.capacity() * size_of::<Tuple>()
    }

    /// Takes in sorted values, which are lost.
    pub fn insert(&mut self, values: &mut [f64], epsilon: f64) {
        self.count += values.len() as u64;
        let limit = limit(epsilon, self.count);
        let left = self.absorb(values, limit);
        self.insert_tuples(&values[..left]);
        self.compress(limit);
    }

    /// Lets the tuples absorb the values up to them where all of them fit,
    /// which is what inserting and compressing would come to. The values that
    /// are left move to the front; returns their number.
    fn absorb(&mut self, values: &mut [f64], limit: u64) -> usize {
        let (mut left, mut start) = (0, 0);
        for (i, tuple) in self.tuples.iter_mut().enumerate() {
            let mut end = start;
            // Four at a time, as how many fall to a tuple cannot be predicted.
            loop {
                let rest = &values[end..];
                let Some(four) = rest.first_chunk::<4>() else {
                    end += rest
                        .iter()
                        .take_while(|&&value| value <= tuple.value)
                        .count();
                    break;
                };
                let up_to = four.iter().filter(|&&value| value <= tuple.value).count();
                end += up_to;
                if up_to < 4 {
                    break;
                }
            }
            let new = (end - start) as u64;
            if i > 0 && tuple.g + tuple.delta + new <= limit {
                tuple.g += new;
            } else {
                values.copy_within(start..end, left);
                left += end - start;
            }
            start = end;
        }
        values.copy_within(start.., left);
        left + values.len() - start
    }

    /// Inserts sorted values as tuples of their own, from the back and in place.
    fn insert_tuples(&mut self, values: &[f64]) {
        let mut old = self.tuples.len();
        self.tuples.reserve_exact(values.len());
        let mut to = old + values.len();
        self.tuples.resize(
            to,
            Tuple {
                value: 0.0,
                g: 1,
                delta: 0,
            },
        );
        // A new minimum or maximum has an exact rank.
        let mut slack = 0;
        for &value in values.iter().rev() {
            while old > 0 && self.tuples[old - 1].value > value {
                old -= 1;
                to -= 1;
                self.tuples[to] = self.tuples[old];
                slack = self.tuples[to].slack();
            }
            // Next to its equal it has a rank as sure as that one's.
            let delta = match old.checked_sub(1).map(|last| self.tuples[last]) {
                Some(equal) if equal.value >= value => equal.delta,
                _ => slack,
            };
            to -= 1;
            self.tuples[to] = Tuple { value, g: 1, delta };
        }
    }

    /// The paper's COMPRESS, from the back and in place: a tuple and its
    /// descendants (those just below it in younger bands) are absorbed by the
    /// tuple above when its band is not younger and all of them fit.
    fn compress(&mut self, limit: u64) {
        let tuples = &mut self.tuples;
        // Below a limit of 2 nothing fits; from there on it covers every tuple.
        if limit < 2 || tuples.len() < 3 {
            return;
        }
        let mut to = tuples.len() - 1;
        // Tuples from `to` on are done; those below `from` are to come.
        let mut from = to;
        while from > 1 {
            if let Some((len, weight)) = absorbable(&tuples[1..from], tuples[to], limit) {
                tuples[to].g += weight;
                from -= len;
            } else {
                from -= 1;
                to -= 1;
                tuples[to] = tuples[from];
            }
        }
        tuples.drain(1..to);
    }

    /// Takes in another summary: ranks add up, and so do their uncertainties.
    pub fn merge(&mut self, other: &Self, epsilon: f64) {
        if other.tuples.is_empty() {
            return;
        }
        if self.tuples.is_empty() {
            self.clone_from(other);
            return;
        }
        let (mut ours, mut theirs) = (self.tuples.as_slice(), other.tuples.as_slice());
        let (mut our_slack, mut their_slack) = (0, 0);
        let mut merged = Vec::with_capacity(ours.len() + theirs.len());
        loop {
            let (tuple, more) = match (ours, theirs) {
                ([rest @ .., a], _) if theirs.last().is_none_or(|b| a.value > b.value) => {
                    ours = rest;
                    our_slack = a.slack();
                    (a, their_slack)
                }
                (_, [rest @ .., b]) => {
                    theirs = rest;
                    their_slack = b.slack();
                    (b, our_slack)
                }
                _ => break,
            };
            let delta = tuple.delta + more;
            merged.push(Tuple { delta, ..*tuple });
        }
        merged.reverse();
        self.tuples = merged;
        self.count += other.count;
        self.compress(limit(epsilon, self.count));
    }

    /// The value whose rank is surest to be near `rank`, among the tuples and
    /// sorted values that are not in them yet; `None` when there are none.
    pub fn value_at(&self, rank: u64, buffered: &[f64]) -> Option<f64> {
        let (mut tuples, mut waiting) = (self.tuples.as_slice(), buffered);
        let mut best = None;
        let mut least_miss = u64::MAX;
        let mut low = 0;
        while low < rank {
            let (value, delta);
            match (tuples, waiting) {
                ([tuple, rest @ ..], _) if waiting.first().is_none_or(|&x| tuple.value <= x) => {
                    tuples = rest;
                    low += tuple.g;
                    (value, delta) = (tuple.value, tuple.delta);
                }
                (_, [x, rest @ ..]) => {
                    waiting = rest;
                    low += 1;
                    (value, delta) = (*x, tuples.first().map_or(0, Tuple::slack));
                }
                _ => break,
            }
            let miss = rank
                .saturating_sub(low)
                .max((low + delta).saturating_sub(rank));
            if miss < least_miss {
                least_miss = miss;
                best = Some(value);
            }
        }
        best
    }

    /// Bounds on the number of values that are `<= value`.
    pub fn count_up_to(&self, value: f64) -> (u64, u64) {
        let (below, above) = self
            .tuples
            .split_at(self.tuples.partition_point(|tuple| tuple.value <= value));
        let low = below.iter().map(|tuple| tuple.g).sum();
        (low, low + above.first().map_or(0, Tuple::slack))
    }
}

/// Length and weight of the last tuple and its descendants, where `head`, the
/// tuple above them, may absorb them all.
#[inline]
fn absorbable(tuples: &[Tuple], head: Tuple, limit: u64) -> Option<(usize, u64)> {
    let (last, below) = tuples.split_last()?;
    let room = limit - head.g - head.delta;
    if last.g > room {
        return None;
    }
    let own = band(last.delta, limit);
    if own > band(head.delta, limit) {
        return None;
    }
    let (mut len, mut weight) = (1, last.g);
    let descendants = below.iter().rev();
    for tuple in descendants.take_while(|tuple| band(tuple.delta, limit) < own) {
        len += 1;
        weight += tuple.g;
        if weight > room {
            return None;
        }
    }
    Some((len, weight))
}

/// The most that `g + delta` may be among `n` values.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most n, which is at most 2^53"
)]
fn limit(epsilon: f64, n: u64) -> u64 {
    (2.0 * epsilon * n as f64) as u64
}

/// The paper's band of a delta (section 2.1.3): high for one from long ago,
/// when the limit was low. Two tuples of one band stay in one band.
fn band(delta: u64, limit: u64) -> u32 {
    // Not 0, as `delta + g <= limit` and g is at least 1.
    let age = limit - delta;
    let log = age.ilog2();
    let below = (1 << log) - 1;
    if age & below < limit & below {
        log
    } else {
        log + 1
    }
}
