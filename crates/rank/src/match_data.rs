//! What matching found out about one document, in the form ranking reads: for every (query term, field) the
//! occurrences.
//!
//! The search crate matches term by term and column by column, then ranks document by document: for each surviving
//! document it [resets](MatchData::reset) one `MatchData` and [fills](MatchData::record) it again. Nothing here knows
//! how matching works or what a feature computes.

use std::collections::BTreeMap;

/// A searchable field of the schema being ranked, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub u32);

/// How a field takes part in ranking. A field with `attribute` in its indexing is an attribute, even if it is also
/// an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Tokenised text with positions.
    Index,
    /// A value.
    Attribute,
}

/// The number of values a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    /// One value.
    Single,
    /// A list of values.
    Array,
    /// Values with weights.
    WeightedSet,
}

/// What rank features need to know of a field, after the rank profile's own settings were applied.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldInfo {
    /// Its number.
    pub id: FieldId,
    /// Its name as feature parameters spell it.
    pub name: String,
    /// Index or attribute.
    pub kind: FieldKind,
    /// Single, array or weighted set.
    pub collection: Collection,
    /// `rank: filter`: only whether it matched is known.
    pub is_filter: bool,
    /// `rank-type`: `about` (the default), `identity`, `tags` or `empty`.
    pub rank_type: String,
    /// `weight`, 100 unless set.
    pub weight: i32,
    /// `element-gap`: words between two elements; `None` is infinity (the default).
    pub element_gap: Option<u32>,
    /// Whether terms can match it: not tensors and raw bytes.
    pub is_matchable: bool,
}

impl FieldInfo {
    /// A single-valued field with every setting at its default.
    #[must_use]
    pub fn new(id: FieldId, name: &str, kind: FieldKind) -> FieldInfo {
        FieldInfo {
            id,
            name: name.to_owned(),
            kind,
            collection: Collection::Single,
            is_filter: false,
            rank_type: "about".to_owned(),
            weight: 100,
            element_gap: None,
            is_matchable: true,
        }
    }
}

/// In how many documents a term occurs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DocumentFrequency {
    /// Documents with the term.
    pub frequency: f64,
    /// Documents counted.
    pub count: f64,
}

/// One term (or phrase, or operator that counts as one term) of the query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryTerm {
    /// Weight in percent.
    pub weight: i32,
    /// The `significance` annotation.
    pub significance: Option<f64>,
    /// The `documentFrequency` annotation, or a significance model's answer; it wins over `significance`.
    pub document_frequency: Option<DocumentFrequency>,
    /// The `id` annotation, by which other terms are connected to this one.
    pub id: Option<i64>,
    /// The `connectivity` annotation: the id of another term, and how connected this one is to it.
    pub connectivity: Option<(i64, f64)>,
    /// The `label` annotation.
    pub label: Option<String>,
    /// Unranked terms (`{ranked: false}`) are invisible to every feature and have no number in `term(n)`.
    pub ranked: bool,
    /// Words of a phrase; 1 for anything else.
    pub words: u32,
    /// The fields it searches, each once.
    pub fields: Vec<FieldId>,
    /// Of a word that is searched with its variants the unranked term of the exact word, by its place among all terms:
    /// `bm25` counts it beside the term.
    pub exact: Option<usize>,
}

impl QueryTerm {
    /// An ordinary ranked word that searches `fields`.
    #[must_use]
    pub fn new(fields: Vec<FieldId>) -> QueryTerm {
        QueryTerm {
            weight: 100,
            significance: None,
            document_frequency: None,
            id: None,
            connectivity: None,
            label: None,
            ranked: true,
            words: 1,
            fields,
            exact: None,
        }
    }
}

/// Where a [`MatchData`] keeps the hits of one term in one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// The terms of a query in the order of the query, and the slot of every (term, field).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryTerms {
    terms: Vec<QueryTerm>,
    first_slots: Vec<u32>,
    slots: u32,
}

impl QueryTerms {
    /// Numbers the slots of `terms`: consecutively, by term and then by the order of its fields.
    #[must_use]
    pub fn new(terms: Vec<QueryTerm>) -> QueryTerms {
        let mut first_slots = Vec::with_capacity(terms.len());
        let mut slots = 0;
        for term in &terms {
            first_slots.push(slots);
            slots += term.fields.len() as u32;
        }
        QueryTerms { terms, first_slots, slots }
    }

    /// All terms, ranked or not.
    #[must_use]
    pub fn all(&self) -> &[QueryTerm] {
        &self.terms
    }

    /// The number of slots.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// The slot of the term at `index` in `field`, if the term searches it.
    #[must_use]
    pub fn slot(&self, index: usize, field: FieldId) -> Option<Slot> {
        let place = self.terms.get(index)?.fields.iter().position(|candidate| *candidate == field)?;
        Some(Slot(self.first_slots[index] + place as u32))
    }

    /// The term of the exact word, where `ranked` finds its variants too.
    #[must_use]
    pub fn exact(&self, ranked: &RankedTerm<'_>) -> Option<RankedTerm<'_>> {
        let index = ranked.term.exact?;
        let (term, first_slot) = (self.terms.get(index)?, *self.first_slots.get(index)?);
        Some(RankedTerm { term, number: ranked.number, index, first_slot })
    }

    /// The ranked terms in query order: these are what features call the query's terms.
    pub fn ranked_terms(&self) -> impl Iterator<Item = RankedTerm<'_>> {
        let terms = self.terms.iter().zip(&self.first_slots);
        let numbered = terms.enumerate().filter(|(_, (term, _))| term.ranked);
        let counted = numbered.enumerate();
        counted.map(|(number, (index, (term, first_slot)))| RankedTerm { term, number, index, first_slot: *first_slot })
    }
}

/// A ranked term with its slots.
#[derive(Clone, Copy, Debug)]
pub struct RankedTerm<'a> {
    /// The term.
    pub term: &'a QueryTerm,
    /// Its place among the ranked terms: the n of `term(n)`.
    pub number: usize,
    /// Its place among [`QueryTerms::all`].
    pub index: usize,
    first_slot: u32,
}

impl<'a> RankedTerm<'a> {
    /// The term's slot in `field`, if it searches that field.
    #[must_use]
    pub fn slot(&self, field: FieldId) -> Option<Slot> {
        self.slots().find(|(searched, _)| *searched == field).map(|(_, slot)| slot)
    }

    /// Every field the term searches, with its slot.
    pub fn slots(&self) -> impl Iterator<Item = (FieldId, Slot)> + use<'a> {
        let first = self.first_slot;
        self.term.fields.iter().enumerate().map(move |(place, field)| (*field, Slot(first + place as u32)))
    }
}

/// One place where a term was found. The occurrence of a phrase is where its first word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// Which element of the array or weighted set, from 0; 0 for a single value.
    pub element: u32,
    /// Which token of the element, from 0.
    pub position: u32,
    /// Tokens of the element.
    pub element_length: u32,
    /// Weight of the element in a weighted set, otherwise 1.
    pub element_weight: i32,
}

/// The hits of one term in one field of the current document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermHits<'a> {
    /// Sorted by element, then position; empty if there is no position data.
    pub occurrences: &'a [Occurrence],
    /// Tokens of the field, all elements together.
    pub field_length: u32,
    /// What an operator such as nearestNeighbor or dotProduct says about the document; 0 for terms.
    pub raw_score: f64,
}

impl TermHits<'_> {
    /// Whether it is known where the term was found: filters, `in` and weighted sets only know that it was.
    #[must_use]
    pub fn has_positions(&self) -> bool {
        !self.occurrences.is_empty()
    }

    /// Weight of the first element with a hit, 1 if there is no position data.
    #[must_use]
    pub fn element_weight(&self) -> i32 {
        self.occurrences.first().map_or(1, |first| first.element_weight)
    }

    /// Tokens of the longest element that has a hit, `None` without position data.
    #[must_use]
    pub fn longest_element(&self) -> Option<u32> {
        self.occurrences.iter().map(|occurrence| occurrence.element_length).max()
    }
}

/// What an attribute of the document holds, whether or not a term matched it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttributeContent {
    /// How many values: elements of an array, keys of a weighted set, 1 for a single value.
    pub values: u32,
    /// The sum of a weighted set's weights.
    pub weights: i64,
}

#[derive(Clone, Copy, Debug, Default)]
struct SlotHits {
    matched: bool,
    start: u32,
    end: u32,
    field_length: u32,
    raw_score: f64,
}

/// Everything matching knows about one document. It is filled again for every document and does not allocate once it
/// has seen the largest of them.
#[derive(Clone, Debug, Default)]
pub struct MatchData {
    slots: Vec<SlotHits>,
    matched: Vec<u32>,
    occurrences: Vec<Occurrence>,
    /// The longest run of occurrences at no place in particular: where it begins and ends.
    somewhere: (u32, u32),
    contents: Vec<(FieldId, AttributeContent)>,
}

/// An occurrence at no place in particular.
const SOMEWHERE: Occurrence = Occurrence { element: 0, position: 0, element_length: 1, element_weight: 1 };

impl MatchData {
    /// Data of a document that no term matched.
    #[must_use]
    pub fn new(terms: &QueryTerms) -> MatchData {
        MatchData { slots: vec![SlotHits::default(); terms.slots()], ..MatchData::default() }
    }

    /// Forgets the document, keeps the memory.
    pub fn reset(&mut self) {
        for slot in self.matched.drain(..) {
            self.slots[slot as usize] = SlotHits::default();
        }
        self.occurrences.clear();
        self.somewhere = (0, 0);
        self.contents.clear();
    }

    /// The term of `slot` matched, at `occurrences` (sorted by element and position), in a field of `field_length` tokens,
    /// 0 where they are no places of it, as those of `weightedSet`.
    /// A hit in an attribute is one occurrence for each element that matched, of length 1. No occurrences mean that only
    /// the match is known: so it must be for filter fields, `{usePositionData:false}`, `in` and weighted operators.
    /// Recording a slot again replaces what was recorded.
    ///
    /// # Panics
    /// If `slot` is not one of the query the data was made for.
    pub fn record(&mut self, slot: Slot, occurrences: &[Occurrence], field_length: u32) {
        debug_assert!(
            occurrences.is_sorted_by_key(|occurrence| (occurrence.element, occurrence.position)),
            "occurrences must be sorted by element and position"
        );
        let start = self.occurrences.len() as u32;
        self.occurrences.extend_from_slice(occurrences);
        let end = self.occurrences.len() as u32;
        let hits = self.matched_slot(slot);
        (hits.start, hits.end, hits.field_length) = (start, end, field_length);
    }

    /// The same where no more matters than how many occurrences there are: terms share them.
    ///
    /// # Panics
    /// If `slot` is not one of the query the data was made for.
    pub fn record_count(&mut self, slot: Slot, count: u32, field_length: u32) {
        let (start, end) = self.somewhere;
        if end - start < count {
            let start = self.occurrences.len();
            self.occurrences.resize(start + count as usize, SOMEWHERE);
            self.somewhere = (start as u32, start as u32 + count);
        }
        let start = self.somewhere.0;
        let hits = self.matched_slot(slot);
        (hits.start, hits.end, hits.field_length) = (start, start + count, field_length);
    }

    /// How many occurrences are recorded, shared ones once.
    #[must_use]
    pub fn occurrences(&self) -> usize {
        self.occurrences.len()
    }

    /// The operator of `slot` matched and gives the document this raw score.
    ///
    /// # Panics
    /// If `slot` is not one of the query the data was made for.
    pub fn record_raw_score(&mut self, slot: Slot, raw_score: f64) {
        self.matched_slot(slot).raw_score = raw_score;
    }

    /// The document's attribute `field` holds this. Needed of the collections that
    /// [`FeatureSet::counted_attributes`](crate::features::FeatureSet::counted_attributes) names; a field that is not
    /// recorded counts as empty, or as one value if it is single.
    pub fn record_content(&mut self, field: FieldId, content: AttributeContent) {
        self.contents.push((field, content));
    }

    /// What [`MatchData::record_content`] was told of `field`.
    #[must_use]
    pub fn content(&self, field: FieldId) -> Option<AttributeContent> {
        self.contents.iter().find(|(recorded, _)| *recorded == field).map(|(_, content)| *content)
    }

    /// What was found for `slot`; `None` if its term did not match.
    #[must_use]
    pub fn hits(&self, slot: Slot) -> Option<TermHits<'_>> {
        let hits = self.slots.get(slot.0 as usize).filter(|hits| hits.matched)?;
        Some(TermHits {
            occurrences: &self.occurrences[hits.start as usize..hits.end as usize],
            field_length: hits.field_length,
            raw_score: hits.raw_score,
        })
    }

    fn matched_slot(&mut self, slot: Slot) -> &mut SlotHits {
        let hits = &mut self.slots[slot.0 as usize];
        if !hits.matched {
            hits.matched = true;
            self.matched.push(slot.0);
        }
        hits
    }
}

/// Numbers about all documents of a group, where they are known: streaming search has none unless the rank property
/// `brooklet.statistics` is `group`.
pub trait Statistics {
    /// Mean number of tokens of a field, over the documents that have any.
    fn average_field_length(&self, field: FieldId) -> Option<f64> {
        let _ = field;
        None
    }

    /// In how many documents the term at `index` (of [`QueryTerms::all`]) occurs: in this field, or in any it searches.
    fn document_frequency(&self, index: usize, field: Option<FieldId>) -> Option<DocumentFrequency> {
        let _ = (index, field);
        None
    }

    /// The number of documents.
    fn documents(&self) -> Option<f64> {
        None
    }
}

/// Streaming search as it is: nothing is known in advance.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStatistics;

impl Statistics for NoStatistics {}

/// Rank properties of the profile, overlaid with those of the request. A property named several times has several
/// values (`fieldMatch(f).proximityTable` is the only one that means something by it); all others mean their first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankProperties(BTreeMap<String, Vec<String>>);

impl RankProperties {
    /// Adds a value of `name` after those it has.
    pub fn append(&mut self, name: &str, value: &str) {
        self.0.entry(name.to_owned()).or_default().push(value.to_owned());
    }

    /// Makes `value` the only value of `name`, as a request does.
    pub fn replace(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), vec![value.to_owned()]);
    }

    /// What the names that begin with `prefix` go on with, and their values, in the order of the names.
    pub fn beginning<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a [String])> {
        let from = self.0.range(prefix.to_owned()..);
        from.map_while(move |(name, values)| Some((name.strip_prefix(prefix)?, values.as_slice())))
    }

    /// All values of `name` in order; none if it is not set.
    #[must_use]
    pub fn values(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for RankProperties {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> RankProperties {
        let mut properties = RankProperties::default();
        for (name, value) in pairs {
            properties.append(name.as_ref(), value.as_ref());
        }
        properties
    }
}
