//! Stand-in until the real one is merged.
use super::*;
use std::collections::BTreeMap;
/// x
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExactQuantile(BTreeMap<u64, u64>, u64);
impl ExactQuantile {
    /// x
    pub fn new() -> Self {
        Self::default()
    }
    /// x
    pub fn insert(&mut self, v: u64) -> Result<()> {
        *self.0.entry(v).or_default() += 1;
        self.1 += 1;
        Ok(())
    }
    /// x
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(a, b)| (*a, *b))
    }
}
impl Quantile for ExactQuantile {
    type Value = u64;
    fn update(&mut self, values: &[u64]) -> Result<()> {
        for v in values {
            self.insert(*v)?;
        }
        Ok(())
    }
    fn count(&self) -> u64 {
        self.1
    }
    fn min(&self) -> Option<u64> {
        None
    }
    fn max(&self) -> Option<u64> {
        None
    }
    fn nbytes(&self) -> usize {
        0
    }
    fn quantile(&self, q: f64) -> Result<Option<f64>> {
        check_quantile(q)?;
        if self.1 == 0 {
            return Ok(None);
        }
        let p = interpolate::Position::of(q, self.1);
        let at = |r: u64| {
            let mut c = 0;
            for (v, n) in &self.0 {
                c += n;
                if c > r {
                    return *v as f64;
                }
            }
            f64::NAN
        };
        Ok(Some(interpolate::lerp(
            at(p.lower),
            at((p.lower + 1).min(self.1 - 1)),
            p.fraction,
        )))
    }
}
impl Rank for ExactQuantile {
    fn rank(&self, _v: f64) -> Result<Option<f64>> {
        Ok(None)
    }
}
impl Merge for ExactQuantile {
    fn merge(&mut self, o: &Self) -> Result<()> {
        for (v, n) in &o.0 {
            *self.0.entry(*v).or_default() += n;
        }
        self.1 += o.1;
        Ok(())
    }
}
