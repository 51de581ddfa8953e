//! `elementwise(bm25(field),dimension[,cell type])` and `elementwise(matches(field),…)`: a feature of each element.
//!
//! A tensor with one mapped dimension, labels being the numbers of the elements with a hit; cells are double unless
//! said. bm25 takes the tokens of the element as length, and `k1`, `b` and `averageElementLength` (100) from the rank
//! properties `elementwise(bm25(field)).…`; matches is 1.

use super::bm25::terms_of;
use super::call::Call;
use super::labels::{mapped_tensor, mapped_type};
use super::properties::Properties;
use crate::features::prepared::{Executor, Prepared};
use crate::features::properties::refuse;
use crate::features::term_sum::{Scale, Term};
use crate::match_data::MatchData;
use brooklet_document::{CellType, Tensor, TensorType};
use brooklet_task::Rejection;
use std::collections::BTreeMap;
use std::sync::Arc;

struct Elementwise {
    of: Arc<TensorType>,
    terms: Vec<Term>,
    /// Nothing: 1 for each element with a hit.
    scale: Option<Scale>,
}

/// Makes `elementwise` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(2..=3)?;
    let inner = call.parameters[0].strip_suffix(')').and_then(|inner| inner.split_once('('));
    let (name, field) = inner.filter(|(name, _)| matches!(*name, "bm25" | "matches")).ok_or_else(|| {
        refuse(format!("bm25(field) or matches(field) is expected, not '{}'", Rejection::quote(&call.parameters[0])))
    })?;
    let field = call.environment.index_field(field.trim())?;
    let cell = match call.parameters.get(2) {
        None => CellType::Double,
        Some(cell) => {
            CellType::from_name(cell).ok_or_else(|| refuse(format!("'{}' is no cell type", Rejection::quote(cell))))?
        }
    };
    let dimension = &call.parameters[1];
    if TensorType::parse(&format!("tensor({dimension}{{}})")).is_err() {
        return Err(refuse(format!("'{}' is no name of a dimension", Rejection::quote(dimension))));
    }
    let properties = Properties::new(call.environment, format!("elementwise(bm25({}))", field.name));
    let scale = Scale::new(&properties, "averageElementLength", None)?;
    let of = mapped_type(cell, dimension);
    let executor = Elementwise {
        of: of.clone(),
        terms: terms_of(field, call.environment).map(|(_, term)| term).collect(),
        scale: (name == "bm25").then_some(scale),
    };
    Ok(call.ready_tensor("score", of, executor))
}

impl Executor for Elementwise {
    fn execute(&mut self, _data: &MatchData, _outputs: &mut [f64]) {}

    fn tensor(&mut self, data: &MatchData) -> Option<Tensor> {
        let mut scores: BTreeMap<String, f64> = BTreeMap::new();
        for term in &self.terms {
            let occurrences = data.hits(term.slot).map_or(&[][..], |hits| hits.occurrences);
            for of_element in occurrences.chunk_by(|left, right| left.element == right.element) {
                let cell = scores.entry(of_element[0].element.to_string()).or_insert(0.0);
                match &self.scale {
                    Some(scale) => {
                        let length = f64::from(of_element[0].element_length);
                        *cell += scale.score(term, of_element.len() as f64, length);
                    }
                    None => *cell = 1.0,
                }
            }
        }
        Some(mapped_tensor(&self.of, scores))
    }
}
