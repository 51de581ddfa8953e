//! `bm25_for_labels(field)` and `matches_for_labels[(field)]`: what the terms of each label of the query found.
//!
//! A `tensor<float>(label{})`: the bm25 of the field over the terms with that label where it is not 0, or 1 for each
//! label with a term that hit the field (any field, without one). Properties are those of `bm25(field)`.

use super::bm25::{scale_of, terms_of};
use super::call::Call;
use crate::features::prepared::{Executor, Prepared};
use crate::features::term_sum::{Scale, Term};
use crate::match_data::{MatchData, Slot};
use brooklet_document::{CellType, Dimension, Tensor, TensorType};
use brooklet_task::Rejection;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A `tensor<cell>(name{})`.
pub fn mapped_type(cell: CellType, name: &str) -> Arc<TensorType> {
    Arc::new(TensorType::new(cell, vec![Dimension { name: name.to_owned(), size: None }]))
}

/// A tensor of one mapped dimension, from cells in the order of their labels.
pub fn mapped_tensor(of: &Arc<TensorType>, cells: impl IntoIterator<Item = (String, f64)>) -> Tensor {
    let mut tensor = Tensor::empty(of.clone());
    for (label, cell) in cells {
        tensor.addresses.push(vec![label]);
        tensor.cells.push(of.cell.round(cell));
    }
    tensor
}

struct Bm25ForLabels {
    of: Arc<TensorType>,
    labels: BTreeMap<String, Vec<Term>>,
    scale: Scale,
}

struct MatchesForLabels {
    of: Arc<TensorType>,
    labels: BTreeMap<String, Vec<Slot>>,
}

/// Makes `bm25_for_labels` ready.
pub fn prepare_bm25(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_index_field()?;
    let scale = scale_of(field, call.environment)?;
    let mut labels: BTreeMap<String, Vec<Term>> = BTreeMap::new();
    for (ranked, term) in terms_of(field, call.environment) {
        if let Some(label) = &ranked.term.label {
            labels.entry(label.clone()).or_default().push(term);
        }
    }
    let of = mapped_type(CellType::Float, "label");
    Ok(call.ready_tensor("score", of.clone(), Bm25ForLabels { of, labels, scale }))
}

/// Makes `matches_for_labels` ready.
pub fn prepare_matches(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(0..=1)?;
    let only = call.parameters.first().map(|name| call.environment.field(name)).transpose()?;
    let mut labels: BTreeMap<String, Vec<Slot>> = BTreeMap::new();
    for ranked in call.environment.query.ranked_terms() {
        let Some(label) = &ranked.term.label else { continue };
        let slots = ranked.slots().filter(|(field, _)| only.is_none_or(|only| only.id == *field));
        labels.entry(label.clone()).or_default().extend(slots.map(|(_, slot)| slot));
    }
    let of = mapped_type(CellType::Float, "label");
    Ok(call.ready_tensor("out", of.clone(), MatchesForLabels { of, labels }))
}

impl Executor for Bm25ForLabels {
    fn execute(&mut self, _data: &MatchData, _outputs: &mut [f64]) {}

    fn tensor(&mut self, data: &MatchData) -> Option<Tensor> {
        let scores = self.labels.iter().map(|(label, terms)| {
            let score = terms.iter().map(|term| self.scale.of_document(term, data)).fold(0.0, |sum, score| sum + score);
            (label.clone(), score)
        });
        Some(mapped_tensor(&self.of, scores.filter(|(_, score)| *score != 0.0)))
    }
}

impl Executor for MatchesForLabels {
    fn execute(&mut self, _data: &MatchData, _outputs: &mut [f64]) {}

    fn tensor(&mut self, data: &MatchData) -> Option<Tensor> {
        let hit = self.labels.iter().filter(|(_, slots)| slots.iter().any(|slot| data.hits(*slot).is_some()));
        Some(mapped_tensor(&self.of, hit.map(|(label, _)| (label.clone(), 1.0))))
    }
}
