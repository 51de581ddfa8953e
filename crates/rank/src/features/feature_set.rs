//! The features one program needs: each prepared once, however many of its outputs are asked for, and executed at most
//! once per document and only if the program reads it.

use super::prepare;
use crate::features::environment::FeatureEnvironment;
use crate::features::prepared::Prepared;
use crate::features::term_sum::Bm25;
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
}

/// What is known of one document.
#[derive(Debug, Default)]
struct Computed {
    /// By entry: whether its values stand in `values`.
    entries: Vec<bool>,
    values: Vec<f64>,
    /// The tensor of each entry.
    tensors: Vec<Option<Rc<Tensor>>>,
}

/// The features a program needs, made ready for one query.
#[derive(Debug, Default)]
pub struct FeatureSet {
    entries: Vec<Entry>,
    /// The number of values of all entries.
    width: usize,
    /// By place: several documents can be asked about in turn.
    computed: Vec<Computed>,
    place: usize,
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
        set.next_document(0);
        Ok(set)
    }

    fn add(&mut self, prepared: Prepared) -> usize {
        let first_value = self.width;
        self.width += prepared.outputs.len();
        self.entries.push(Entry { prepared, first_value });
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

    /// Forgets the values of the document at this place, which is asked about from now on. To be called whenever its match
    /// data changes, and before it is asked about for the first time.
    pub fn next_document(&mut self, place: usize) {
        if self.computed.len() <= place {
            self.computed.resize_with(place + 1, Computed::default);
        }
        let computed = &mut self.computed[place];
        computed.entries.clear();
        computed.entries.resize(self.entries.len(), false);
        computed.values.resize(self.width, 0.0);
        computed.tensors.clear();
        computed.tensors.resize(self.entries.len(), None);
        self.place = place;
    }

    /// The document at this place, which [`FeatureSet::next_document`] knows, is asked about from now on.
    pub fn turn_to(&mut self, place: usize) {
        self.place = place;
    }

    /// The value of request number `request` if that is a tensor; a number is a tensor without dimensions.
    ///
    /// # Panics
    /// If there is no such request.
    pub fn tensor(&mut self, request: usize, data: &MatchData) -> Rc<Tensor> {
        let (index, _) = self.requests[request];
        if let Some(known) = &self.computed[self.place].tensors[index] {
            return known.clone();
        }
        let made = self.entries[index].prepared.executor.tensor(data);
        let made = Rc::new(made.unwrap_or_else(|| Tensor::scalar(self.number(request, data))));
        self.computed[self.place].tensors[index] = Some(made.clone());
        made
    }

    /// The value of request number `request` for the document in `data`.
    ///
    /// # Panics
    /// If there is no such request.
    pub fn number(&mut self, request: usize, data: &MatchData) -> f64 {
        let (index, value) = self.requests[request];
        let (entry, computed) = (&mut self.entries[index], &mut self.computed[self.place]);
        if !std::mem::replace(&mut computed.entries[index], true) {
            let outputs = &mut computed.values[entry.first_value..entry.first_value + entry.prepared.outputs.len()];
            entry.prepared.executor.execute(data, outputs);
        }
        computed.values[value]
    }
}
