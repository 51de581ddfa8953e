//! The features one program needs: each prepared once, however many of its outputs are asked for, and executed at most
//! once per document and only if the program reads it.

use super::bm25::Bm25;
use super::{FeatureEnvironment, Prepared, prepare};
use crate::match_data::{FieldId, MatchData};
use brooklet_document::Tensor;
use brooklet_task::Rejection;
use std::rc::Rc;

/// A feature as an expression names it: `name(parameters).output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureRequest<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its parameters as written.
    pub parameters: &'a [String],
    /// Which of its outputs; `None` is the first.
    pub output: Option<&'a str>,
}

#[derive(Debug)]
struct Entry {
    prepared: Prepared,
    first_value: usize,
    is_computed: bool,
    tensor: Option<Rc<Tensor>>,
}

/// The features a program needs, made ready for one query.
#[derive(Debug, Default)]
pub struct FeatureSet {
    entries: Vec<Entry>,
    values: Vec<f64>,
    /// For each request: its entry and its place in `values`.
    requests: Vec<(usize, usize)>,
}

impl FeatureSet {
    /// Prepares `requests`; [`FeatureSet::number`] knows them by their order.
    ///
    /// # Errors
    /// If a feature is unknown, not supported, or wrongly used.
    pub fn prepare<'r>(
        requests: impl IntoIterator<Item = FeatureRequest<'r>>,
        environment: &FeatureEnvironment<'_>,
    ) -> Result<FeatureSet, Rejection> {
        let mut set = FeatureSet::default();
        let mut seen: Vec<(&str, &[String])> = Vec::new();
        for request in requests {
            let key = (request.name, request.parameters);
            let index = match seen.iter().position(|other| *other == key) {
                Some(index) => index,
                None => {
                    let prepared = prepare(request.name, request.parameters, environment)?;
                    seen.push(key);
                    set.add(prepared)
                }
            };
            let entry = &set.entries[index];
            set.requests.push((index, entry.first_value + entry.prepared.output(request.output)?));
        }
        Ok(set)
    }

    fn add(&mut self, prepared: Prepared) -> usize {
        let first_value = self.values.len();
        self.values.resize(first_value + prepared.outputs.len(), 0.0);
        self.entries.push(Entry { prepared, first_value, is_computed: false, tensor: None });
        self.entries.len() - 1
    }

    /// The attributes whose [content](MatchData::record_content) must be recorded for every document; may repeat.
    pub fn counted_attributes(&self) -> impl Iterator<Item = FieldId> {
        self.entries.iter().flat_map(|entry| entry.prepared.executor.counted_attributes())
    }

    /// Request number `request` as a sum over terms, if that is what it is.
    ///
    /// # Panics
    /// If there is no such request.
    #[must_use]
    pub fn bm25(&self, request: usize) -> Option<&Bm25> {
        self.entries[self.requests[request].0].prepared.executor.bm25()
    }

    /// Forgets the previous document's values. To be called whenever the match data changes.
    pub fn next_document(&mut self) {
        for entry in &mut self.entries {
            entry.is_computed = false;
            entry.tensor = None;
        }
    }

    /// The value of request number `request` if that is a tensor; a number is a tensor without dimensions.
    ///
    /// # Panics
    /// If there is no such request.
    pub fn tensor(&mut self, request: usize, data: &MatchData) -> Rc<Tensor> {
        let (index, _) = self.requests[request];
        if let Some(known) = &self.entries[index].tensor {
            return known.clone();
        }
        let made = self.entries[index].prepared.executor.tensor(data);
        let made = Rc::new(made.unwrap_or_else(|| Tensor::scalar(self.number(request, data))));
        self.entries[index].tensor = Some(made.clone());
        made
    }

    /// The value of request number `request` for the document in `data`.
    ///
    /// # Panics
    /// If there is no such request.
    pub fn number(&mut self, request: usize, data: &MatchData) -> f64 {
        let (index, value) = self.requests[request];
        let entry = &mut self.entries[index];
        if !entry.is_computed {
            let outputs = &mut self.values[entry.first_value..entry.first_value + entry.prepared.outputs.len()];
            entry.prepared.executor.execute(data, outputs);
            entry.is_computed = true;
        }
        self.values[value]
    }
}
