//! `averageFieldLength(field)`, `num_docs_indexed`, `num_docs` and `queryTermDocumentFrequency(field)`: numbers about all
//! documents.
//!
//! Streaming search knows none: 100, 1 and 0. With the rank property `brooklet.statistics: group` they are the group's.
//! queryTermDocumentFrequency is a `tensor(term{})` with a cell for every ranked term that searches the field, labelled
//! with the term's number; the query's own document frequency wins.

use super::call::Call;
use super::labels::{mapped_tensor, mapped_type};
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::MatchData;
use brooklet_document::{CellType, Tensor};
use brooklet_kernel::sort_by;
use brooklet_task::Rejection;

struct Known(f64);

struct KnownTensor(Tensor);

/// Makes `averageFieldLength` ready.
pub fn prepare_length(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_index_field()?;
    let measured = call.environment.statistics.average_field_length(field.id);
    Ok(call.ready(&["out"], Known(measured.unwrap_or(100.0))))
}

/// Makes `num_docs_indexed` or `num_docs` ready.
pub fn prepare_documents(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    call.takes(0..=0)?;
    Ok(call.ready(&["out"], Known(call.environment.statistics.documents().unwrap_or(1.0))))
}

/// Makes `queryTermDocumentFrequency` ready.
pub fn prepare_frequency(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_index_field()?;
    let mut cells: Vec<(String, f64)> = Vec::new();
    for (ranked, _) in call.environment.terms_of_field(field.id) {
        let measured = || call.environment.statistics.document_frequency(ranked.index, Some(field.id));
        let documents = ranked.term.document_frequency.or_else(measured);
        cells.push((ranked.number.to_string(), documents.map_or(0.0, |documents| documents.frequency)));
    }
    sort_by(&mut cells, |left, right| left.0.cmp(&right.0));
    let of = mapped_type(CellType::Double, "term");
    Ok(call.ready_tensor("out", of.clone(), KnownTensor(mapped_tensor(&of, cells))))
}

impl Executor for Known {
    fn execute(&mut self, _data: &MatchData, outputs: &mut [f64]) {
        outputs[0] = self.0;
    }
}

impl Executor for KnownTensor {
    fn execute(&mut self, _data: &MatchData, _outputs: &mut [f64]) {}

    fn tensor(&mut self, _data: &MatchData) -> Option<Tensor> {
        Some(self.0.clone())
    }
}
