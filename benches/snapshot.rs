//! Writing, reading and merging the state of a run: the datasets of a mixture,
//! and a budget for each of very many problems.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, LogNormal};
use toggle_rs::quantile::{Estimator, ExactQuantile};
use toggle_rs::snapshot::Snapshot;
use toggle_rs::toggle::{Batch, Settings, Toggle};

const LONGEST: f64 = 32_768.0;

/// One that has observed `each` lengths of each of `keys` keys.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and cut at the longest"
)]
fn observed(keys: usize, each: usize, seed: u64) -> Toggle {
    let settings = Settings::new(5, 0.9, 80.0, Estimator::Exact(ExactQuantile::new()));
    let mut toggle = Toggle::new(settings).unwrap();
    let mut rng = StdRng::seed_from_u64(seed);
    let distribution = LogNormal::new(8.0, 0.8).unwrap();
    let names: Vec<String> = (0..keys).map(|i| format!("dataset {i}")).collect();
    for name in &names {
        let lengths = distribution.sample_iter(&mut rng).take(each);
        let lengths: Vec<u64> = lengths.map(|x: f64| x.min(LONGEST) as u64).collect();
        let batch = Batch {
            datasets: &vec![name.as_str(); each][..],
            lengths: &lengths,
            correct: &vec![true; each],
        };
        toggle.observe(&batch, None).unwrap();
    }
    toggle
}

fn state(c: &mut Criterion) {
    for (name, keys, each) in [
        ("8 datasets, 10^7 lengths", 8, 1_250_000),
        ("10^6 keys, 8 lengths each", 1_000_000, 8),
    ] {
        let mut group = c.benchmark_group(format!("snapshot/{name}"));
        group.sample_size(10);
        let toggle = observed(keys, each, 1);
        let bytes = toggle.to_bytes();
        println!("{name}: {} bytes", bytes.len());
        group.bench_function("write", |b| b.iter(|| toggle.to_bytes()));
        group.bench_function("read", |b| b.iter(|| Toggle::from_bytes(&bytes).unwrap()));
        let other = observed(keys, each, 2);
        group.bench_function("merge", |b| {
            b.iter_batched_ref(
                || toggle.clone(),
                |toggle| toggle.merge(&other).unwrap(),
                BatchSize::LargeInput,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, state);
criterion_main!(benches);
