//! The global phase at work: the scores of hits, in relation to each other.
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::Tensor;
use brooklet_kernel::sort_by;
use brooklet_rank::{FeatureSource, FeatureType, ModelOutput, Scratch, Value};
use brooklet_task::Rejection;

use super::model_runs::Models;
use crate::deployed::global_phase::{Formula, From, GlobalPhase, NormalizerKind};
use crate::plan::inputs::Inputs;

/// A hit as the phase sees it.
pub(crate) struct Seen<'a> {
    pub(crate) relevance: f64,
    pub(crate) inputs: &'a [Value],
}

impl GlobalPhase {
    /// The scores of hits, which come in the order of the phases before.
    pub(crate) fn scores(&self, hits: &[Seen<'_>], query: &Inputs, models: &mut Models) -> Result<Vec<f64>, Rejection> {
        let mut normalized = Vec::with_capacity(self.normalizers.len());
        for normalizer in &self.normalizers {
            let values = normalizer.formula.values(hits, query, &[], models)?;
            normalized.push(match normalizer.kind {
                NormalizerKind::Linear => linear(&values),
                NormalizerKind::Reciprocal { k } => reciprocal(&values, k),
            });
        }
        self.score.values(hits, query, &normalized, models)
    }
}

impl Formula {
    pub(crate) fn values(
        &self,
        hits: &[Seen<'_>],
        query: &Inputs,
        normalized: &[Vec<f64>],
        models: &mut Models,
    ) -> Result<Vec<f64>, Rejection> {
        let mut scratch: Scratch = self.program.scratch();
        let value = |(at, hit): (usize, &Seen<'_>)| {
            let mut source = Source { formula: self, hit, at, query, normalized, models: &mut *models };
            self.program.score(&mut source, &mut scratch)
        };
        hits.iter().enumerate().map(value).collect()
    }
}

/// Answers a program's questions about one hit.
pub(crate) struct Source<'a> {
    formula: &'a Formula,
    hit: &'a Seen<'a>,
    at: usize,
    query: &'a Inputs,
    normalized: &'a [Vec<f64>],
    models: &'a mut Models,
}

impl Source<'_> {
    fn value(&self, feature: usize) -> Option<&Value> {
        match &self.formula.from[feature] {
            From::Input(index) => self.hit.inputs.get(*index),
            From::Query(name) => self.query.value(name),
            From::Relevance | From::Normalized(_) => None,
        }
    }
}

impl FeatureSource for Source<'_> {
    fn number(&mut self, feature: usize) -> f64 {
        match &self.formula.from[feature] {
            From::Relevance => self.hit.relevance,
            From::Normalized(parts) => parts.iter().map(|part| self.normalized[*part][self.at]).sum(),
            From::Input(_) => self.value(feature).map_or(f64::NAN, number),
            From::Query(_) => self.value(feature).map_or(0.0, number),
        }
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        let FeatureType::Tensor(declared) = &self.formula.program.features()[feature].1 else {
            return Rc::new(Tensor::scalar(f64::NAN));
        };
        match self.value(feature) {
            // What travelled is looked at again: programs rely on types.
            Some(Value::Tensor(tensor)) if tensor.tensor_type == *declared => tensor.clone(),
            _ => Rc::new(Tensor::empty(declared.clone())),
        }
    }

    fn model_output(&mut self, output: &Arc<ModelOutput>, inputs: &[Rc<Tensor>]) -> Rc<Tensor> {
        self.models.output(output, inputs)
    }

    fn unknown_outputs(&self) -> usize {
        self.models.unknown
    }
}

pub(crate) fn number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => *number,
        Value::Tensor(_) => f64::NAN,
    }
}

/// `normalize_linear`: the smallest value becomes 0, the largest 1. Values beyond those of float32 do not count for the
/// ends, and those that are no finite numbers have no place between them. Without a range everything is in the middle.
pub(crate) fn linear(values: &[f64]) -> Vec<f64> {
    const LARGEST: f64 = f32::MAX as f64;
    let within = || values.iter().copied().filter(|value| (-LARGEST..=LARGEST).contains(value));
    let (low, high) = (within().fold(f64::INFINITY, f64::min), within().fold(f64::NEG_INFINITY, f64::max));
    let (middle, range) = if low < high { ((low + high) / 2.0, high - low) } else { (f64::NAN, 0.0) };
    let place = |value: f64| if range > 0.0 { 0.5 + (value - middle) / range } else { 0.5 };
    values.iter().map(|value| if value.is_finite() { place(*value) } else { f64::NAN }).collect()
}

/// `reciprocal_rank`: 1 / (k + rank), the largest value has rank 1; what comes first of equals is better, and what is not
/// a number comes last.
pub(crate) fn reciprocal(values: &[f64], k: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let key = |at: &usize| if values[*at].is_nan() { (1, 0.0) } else { (0, -values[*at]) };
    sort_by(&mut order, |a, b| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then_with(|| (a.1 + 0.0).total_cmp(&(b.1 + 0.0)))
    });
    let mut scores = vec![0.0; values.len()];
    for (place, at) in order.into_iter().enumerate() {
        scores[at] = 1.0 / (k + (place + 1) as f64);
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_normalization_spans_the_finite_values() {
        assert_eq!(linear(&[2.0, 4.0, 3.0]), [0.0, 1.0, 0.5]);
        assert_eq!(linear(&[7.0, 7.0]), [0.5, 0.5]);
        let wild = linear(&[1.0, f64::NAN, 3.0, f64::INFINITY, 1e300]);
        assert_eq!((wild[0], wild[2]), (0.0, 1.0));
        assert!(wild[1].is_nan() && wild[3].is_nan() && wild[4] > 1e299);
        assert!(linear(&[f64::NAN])[0].is_nan() && linear(&[]).is_empty());
    }

    #[test]
    fn reciprocal_ranks_are_stable_and_leave_what_is_no_number_for_the_end() {
        let scores = reciprocal(&[1.0, f64::NAN, 5.0, 1.0], 60.0);
        assert_eq!(scores, [1.0 / 62.0, 1.0 / 64.0, 1.0 / 61.0, 1.0 / 63.0]);
        assert_eq!(reciprocal(&[0.0, -0.0], 1.0), [0.5, 1.0 / 3.0]);
    }
}
