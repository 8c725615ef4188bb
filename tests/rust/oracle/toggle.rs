//! The rules of `Toggle` as plain loops over samples, groups and steps.
//!
//! Every correct length is kept with its step, and each budget is worked out
//! anew. Nothing is checked: refused calls never come here.

use std::collections::BTreeMap;

use toggle_rs::Freeze;
use toggle_rs::quantile::{Estimator, GkQuantile, Quantile};
use toggle_rs::schedule::Phase;
use toggle_rs::toggle::{Metrics, Penalty, Settings, Shaped};

/// A key, whatever its names are.
pub type Key = usize;

/// One sample.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub key: Key,
    pub group: u64,
    pub length: u64,
    pub score: f64,
    pub is_correct: bool,
}

/// What is known of one key.
#[derive(Debug, Clone, Default)]
struct History {
    /// The lengths of each step, or of each call without one.
    steps: Vec<(u64, Vec<u64>)>,
    /// The budget, and the step that fixed it.
    fixed: Option<(f64, u64)>,
    /// When it was fixed: how many were counted, and how many had come.
    then: (u64, u64),
}

impl History {
    fn came(&self) -> u64 {
        self.steps.iter().map(|step| step.1.len() as u64).sum()
    }

    fn count(&self, settings: &Settings) -> u64 {
        match &settings.estimator {
            _ if self.fixed.is_some() => self.then.0 + self.came() - self.then.1,
            Estimator::Window(window) => self.came().min(window.window() as u64),
            _ => self.came(),
        }
    }

    fn budget(&self, settings: &Settings) -> Option<f64> {
        if let Some((budget, _)) = self.fixed {
            return Some(budget);
        }
        let enough = self.count(settings) >= settings.min_samples;
        enough.then(|| self.estimate(settings)).flatten()
    }

    fn estimate(&self, settings: &Settings) -> Option<f64> {
        let q = settings.percentile / 100.0;
        let values: Vec<u64> = self.steps.iter().flat_map(|step| step.1.clone()).collect();
        let reals: Vec<f64> = values.iter().map(|&value| value as f64).collect();
        match &settings.estimator {
            Estimator::Exact(_) => sorted_quantile(&values, q),
            Estimator::Window(window) => {
                sorted_quantile(&values[values.len().saturating_sub(window.window())..], q)
            }
            Estimator::Decay(decay) => {
                let now = self.steps.last()?.0;
                let weighted = self.steps.iter().flat_map(|(step, values)| {
                    let weight = super::decay::weight(now - step, decay.half_life());
                    values.iter().map(move |&value| (value, weight))
                });
                super::decay::Cdf::new(weighted.collect()).quantile(q)
            }
            Estimator::P2(_) if reals.len() > 5 && q > 0.0 && q < 1.0 => {
                Some(super::p2::paper(q, &reals).0[2])
            }
            Estimator::P2(_) => super::p2::linear(&reals, q),
            // Its answers depend on when it compresses: fed step by step.
            Estimator::Gk(gk) => {
                let mut own = GkQuantile::new(gk.epsilon()).unwrap();
                for (_, values) in &self.steps {
                    let reals: Vec<f64> = values.iter().map(|&value| value as f64).collect();
                    own.update(&reals).unwrap();
                }
                own.quantile(q).unwrap()
            }
        }
    }

    fn fix(&mut self, settings: &Settings, step: u64) {
        if self.fixed.is_none()
            && let Some(budget) = self.budget(settings)
        {
            self.then = (self.count(settings), self.came());
            self.fixed = Some((budget, step));
        }
    }

    fn merge(&mut self, other: &Self, settings: &Settings) {
        let count = self.count(settings) + other.count(settings);
        self.steps.extend(other.steps.iter().cloned());
        self.steps.sort_by_key(|step| step.0);
        let earlier = |a: (f64, u64), b: (f64, u64)| if (a.1, a.0) <= (b.1, b.0) { a } else { b };
        self.fixed = match (self.fixed, other.fixed) {
            (Some(own), Some(other)) => Some(earlier(own, other)),
            (own, other) => own.or(other),
        };
        self.then = (count, self.came());
    }
}

/// `numpy.quantile` of the sorted values, method "linear".
pub fn sorted_quantile(values: &[u64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    super::linear(sorted.len() as u64, q, |rank| sorted[rank as usize] as f64)
}

/// The order in which a step's lengths come to an estimator that heeds order:
/// Fisher-Yates over the sorted lengths, with Knuth's MMIX generator started
/// from their number.
fn shuffled(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    let mut state = values.len() as u64;
    for last in (1..values.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        values.swap(last, ((state >> 33) as usize) % (last + 1));
    }
    values
}

#[derive(Debug, Clone)]
pub struct Plain {
    settings: Settings,
    clock: Option<u64>,
    known: BTreeMap<Key, History>,
    /// What was observed at the clock's step.
    today: BTreeMap<Key, Vec<u64>>,
    /// Parts of different ages were put together.
    is_unsettled: bool,
}

impl Plain {
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            clock: None,
            known: BTreeMap::new(),
            today: BTreeMap::new(),
            is_unsettled: false,
        }
    }

    pub fn clock(&self) -> Option<u64> {
        self.clock
    }

    pub fn is_penalty_step(&self, step: u64) -> bool {
        let Settings {
            m,
            warmup_steps,
            start_phase,
            ..
        } = self.settings;
        if m == 0 || step < warmup_steps {
            return false;
        }
        let is_first = (step / m).is_multiple_of(2);
        is_first == (start_phase == Phase::LengthPenalty)
    }

    pub fn observe(&mut self, samples: &[Sample], step: Option<u64>) {
        if self.settings.m == 0 {
            return;
        }
        let Some(step) = step else {
            return self.observe_at_once(samples);
        };
        self.advance(step);
        for sample in samples.iter().filter(|sample| sample.is_correct) {
            self.today
                .entry(sample.key)
                .or_default()
                .push(sample.length);
        }
    }

    fn observe_at_once(&mut self, samples: &[Sample]) {
        let mut lengths = BTreeMap::<Key, Vec<u64>>::new();
        for sample in samples.iter().filter(|sample| sample.is_correct) {
            lengths.entry(sample.key).or_default().push(sample.length);
        }
        let now = self.clock.unwrap_or(0);
        for (key, lengths) in lengths {
            let history = self.known.entry(key).or_default();
            history.steps.push((now, lengths));
            if self.settings.freeze == Freeze::First {
                history.fix(&self.settings, now);
            }
        }
        self.settle();
    }

    fn fixes_at(&self, step: u64) -> bool {
        match self.settings.freeze {
            Freeze::Never => false,
            Freeze::First => true,
            Freeze::Warmup => step >= self.settings.warmup_steps,
        }
    }

    /// What was observed at the clock's step counts from now on.
    fn count_today(&mut self, fix: bool) {
        let now = self.clock.unwrap_or(0);
        for (key, lengths) in std::mem::take(&mut self.today) {
            let history = self.known.entry(key).or_default();
            history.steps.push((now, shuffled(lengths)));
            if fix {
                history.fix(&self.settings, now);
            }
        }
    }

    fn settle(&mut self) {
        let now = self.clock.unwrap_or(0);
        if std::mem::take(&mut self.is_unsettled) && self.fixes_at(now) {
            for history in self.known.values_mut() {
                history.fix(&self.settings, now);
            }
        }
    }

    fn advance(&mut self, step: u64) {
        if self.clock == Some(step) {
            return;
        }
        self.count_today(self.fixes_at(self.clock.unwrap_or(0)));
        self.settle();
        let warmup = self.settings.warmup_steps;
        if self.settings.freeze == Freeze::Warmup
            && self.clock.is_some_and(|clock| clock < warmup)
            && step >= warmup
        {
            for history in self.known.values_mut() {
                history.fix(&self.settings, warmup - 1);
            }
        }
        self.clock = Some(step);
    }

    /// Of each key with a correct response: how many, and the budget of the
    /// next step.
    pub fn summary(&self) -> BTreeMap<Key, (u64, Option<f64>)> {
        let mut later = self.clone();
        later.count_today(false);
        let known = later.known.into_iter();
        known
            .map(|(key, history)| {
                let count = history.count(&self.settings);
                (key, (count, history.budget(&self.settings)))
            })
            .collect()
    }

    pub fn shape(&self, step: u64, samples: &[Sample]) -> Shaped<f64> {
        let mut then = self.clone();
        if self.clock != Some(step) {
            then.count_today(false);
        }
        let mut budgets = BTreeMap::<Key, f64>::new();
        for (key, history) in &then.known {
            let is_key = |sample: &Sample| sample.key == *key;
            if let Some(budget) = history.budget(&self.settings)
                && samples.iter().any(is_key)
            {
                budgets.insert(*key, budget);
            }
        }
        let is_penalty = self.is_penalty_step(step);

        let mut kept = vec![true; samples.len()];
        let mut scores: Vec<f64> = samples.iter().map(|sample| sample.score).collect();
        let mut has_signal = vec![false; samples.len()];
        let mut accuracies = vec![0.0; samples.len()];
        let mut groups = BTreeMap::<u64, Vec<usize>>::new();
        for (i, sample) in samples.iter().enumerate() {
            groups.entry(sample.group).or_default().push(i);
        }
        let (mut enforced, mut lost, mut gained) = (0, 0, 0);
        for group in groups.values() {
            let correct = group.iter().filter(|&&i| samples[i].is_correct).count();
            let accuracy = correct as f64 / group.len() as f64;
            let is_enforced = is_penalty && accuracy >= self.settings.lambda;
            for &i in group {
                let sample = samples[i];
                let budget = budgets.get(&sample.key);
                let is_over = budget.is_some_and(|&budget| sample.length as f64 > budget);
                if is_enforced && is_over {
                    kept[i] = false;
                    scores[i] = match self.settings.penalty {
                        Penalty::Zero => sample.score * 0.0,
                        Penalty::CapAtZero if sample.score > 0.0 => 0.0,
                        Penalty::CapAtZero => sample.score,
                    };
                }
            }
            let differ = |scores: &dyn Fn(usize) -> f64| {
                group.iter().any(|&i| scores(i) != scores(group[0]))
            };
            let had = differ(&|i| samples[i].score);
            let has = differ(&|i| scores[i]);
            enforced += usize::from(is_enforced);
            lost += usize::from(had && !has);
            gained += usize::from(has && !had);
            for &i in group {
                (has_signal[i], accuracies[i]) = (has, accuracy);
            }
        }

        let mut over = Vec::new();
        for sample in samples.iter().filter(|sample| sample.is_correct) {
            match budgets.get(&sample.key) {
                Some(&budget) if sample.length as f64 > budget => {
                    over.push((sample.length, budget));
                }
                _ => {}
            }
        }
        let mut budgets: Vec<f64> = budgets.into_values().collect();
        budgets.sort_by(f64::total_cmp);
        let middle = |at: usize| budgets.get(at).copied().unwrap_or(f64::NAN);
        let n = budgets.len();
        let share = |part: usize, whole: usize| part as f64 / whole as f64;
        Shaped {
            scores: is_penalty.then_some(scores),
            has_signal,
            group_accuracy: accuracies,
            metrics: Metrics {
                length_penalty_phase: is_penalty,
                kept_ratio: share(kept.iter().filter(|kept| **kept).count(), kept.len()),
                enforced_group_ratio: share(enforced, groups.len()),
                lost_signal_group_ratio: share(lost, groups.len()),
                gained_signal_group_ratio: share(gained, groups.len()),
                tokens_over_budget: tokens(&over),
                budget_min: middle(0),
                budget_median: f64::midpoint(middle(n.saturating_sub(1) / 2), middle(n / 2)),
                budget_max: middle(n.saturating_sub(1)),
            },
            kept,
        }
    }

    /// Takes in what `other` has observed.
    pub fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        self.is_unsettled = true;
        if self.clock < other.clock {
            self.count_today(false);
            self.clock = other.clock;
        } else if other.clock < self.clock {
            other.count_today(false);
        }
        for (key, history) in &other.known {
            let own = self.known.entry(*key).or_default();
            own.merge(history, &self.settings);
        }
        for (key, lengths) in other.today {
            self.today.entry(key).or_default().extend(lengths);
        }
    }

    /// Takes up what `other` has observed, with its own settings.
    pub fn load(&mut self, other: &Self) {
        let settings = self.settings.clone();
        *self = Self {
            settings,
            is_unsettled: true,
            ..other.clone()
        };
    }
}

/// By how much these lengths are over: whole tokens, less the fractions, each
/// summed up without rounding.
fn tokens(over: &[(u64, f64)]) -> f64 {
    let whole: u128 = over
        .iter()
        .map(|&(length, budget)| u128::from(length - budget as u64))
        .sum();
    let parts: u128 = over
        .iter()
        .map(|(_, budget)| (budget.fract() * 2f64.powi(52)) as u128)
        .sum();
    // 2^-52 and more survive: exact in whole tokens below 2^53, then rounded.
    let all = (whole << 52) - parts;
    (all >> 52) as f64 + (all & ((1 << 52) - 1)) as f64 / 2f64.powi(52)
}
