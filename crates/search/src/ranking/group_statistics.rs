//! Numbers about the documents of a group, exactly, for profiles with the rank property `brooklet.statistics: group`.
//!
//! In how many documents a term occurs is what matching found: every leaf was matched against every document that is
//! alive. How long a field is on average is read from the bounds of its words, over the documents that have any. A phrase
//! is one term, as in bm25; numbers and values have document frequencies as well.
use std::collections::BTreeMap;

use brooklet_kernel::sort;
use brooklet_rank::match_data::{DocumentFrequency, FieldId, RankProperties, Statistics};
use brooklet_segment::column::text::Text;
use brooklet_segment::layout::ColumnKind;
use brooklet_segment::{BlockSource, Gaps, Halt};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Code, Rejection};

use crate::matching::found::{LeafHits, ViewMatch};
use crate::plan::SchemaPlan;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// The rank property that asks for them.
const PROPERTY: &str = "brooklet.statistics";

/// Whether rank properties ask for them.
pub(crate) fn is_asked(properties: &RankProperties) -> bool {
    properties.values(PROPERTY).first().is_some_and(|value| value.trim() == "group")
}

/// Refuses a value of the property that means nothing.
pub(crate) fn check(properties: &RankProperties) -> Result<(), Rejection> {
    match properties.values(PROPERTY).first().map(|value| value.trim()) {
        None | Some("group" | "reference") => Ok(()),
        Some(other) => {
            let message =
                format!("Rank property '{PROPERTY}' must be 'group' or 'reference', not '{}'", Rejection::quote(other));
            Err(Rejection::new(Code::InvalidApplication, message))
        }
    }
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupStatistics {
    documents: u64,
    /// By term: documents that match it in any field.
    of_terms: BTreeMap<usize, u64>,
    /// By term and field.
    of_fields: BTreeMap<(usize, FieldId), u64>,
    /// Words of the documents that have any, and how many these are.
    lengths: BTreeMap<FieldId, (u64, u64)>,
}

impl GroupStatistics {
    /// Adds the numbers of other documents of the group.
    pub(crate) fn add(&mut self, other: GroupStatistics) {
        self.documents += other.documents;
        other.of_terms.into_iter().for_each(|(term, count)| *self.of_terms.entry(term).or_default() += count);
        other.of_fields.into_iter().for_each(|(place, count)| *self.of_fields.entry(place).or_default() += count);
        for (field, (words, documents)) in other.lengths {
            let lengths = self.lengths.entry(field).or_default();
            *lengths = (lengths.0 + words, lengths.1 + documents);
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.varint(self.documents);
        writer.varint(self.of_terms.len() as u64);
        for (term, count) in &self.of_terms {
            [*term as u64, *count].into_iter().for_each(|number| writer.varint(number));
        }
        writer.varint(self.of_fields.len() as u64);
        for ((term, field), count) in &self.of_fields {
            [*term as u64, u64::from(field.0), *count].into_iter().for_each(|number| writer.varint(number));
        }
        writer.varint(self.lengths.len() as u64);
        for (field, (words, documents)) in &self.lengths {
            [u64::from(field.0), *words, *documents].into_iter().for_each(|number| writer.varint(number));
        }
    }

    #[inline(never)]
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<GroupStatistics, Rejection> {
        let mut statistics = GroupStatistics { documents: reader.varint()?, ..GroupStatistics::default() };
        for _ in 0..reader.count(2)? {
            let term = reader.varint()? as usize;
            statistics.of_terms.insert(term, reader.varint()?);
        }
        for _ in 0..reader.count(3)? {
            let place = (reader.varint()? as usize, FieldId(reader.varint()? as u32));
            statistics.of_fields.insert(place, reader.varint()?);
        }
        for _ in 0..reader.count(3)? {
            let field = FieldId(reader.varint()? as u32);
            statistics.lengths.insert(field, (reader.varint()?, reader.varint()?));
        }
        Ok(statistics)
    }
}

impl Statistics for GroupStatistics {
    fn average_field_length(&self, field: FieldId) -> Option<f64> {
        let (words, documents) = self.lengths.get(&field).copied()?;
        (documents > 0).then(|| words as f64 / documents as f64)
    }

    fn document_frequency(&self, index: usize, field: Option<FieldId>) -> Option<DocumentFrequency> {
        let frequency = match field {
            Some(field) => self.of_fields.get(&(index, field)),
            None => self.of_terms.get(&index),
        };
        frequency.map(|frequency| DocumentFrequency { frequency: *frequency as f64, count: self.documents as f64 })
    }

    fn documents(&self) -> Option<f64> {
        Some(self.documents as f64)
    }
}

/// Counts. All missing blocks are noted before it halts.
pub(crate) fn count(
    plan: &SchemaPlan,
    views: &[View],
    matches: &[ViewMatch],
    reads: &mut Reads,
) -> Result<GroupStatistics, Halt> {
    let mut statistics = GroupStatistics {
        documents: views.iter().map(|view| view.alive.count() as u64).sum(),
        ..GroupStatistics::default()
    };
    for (number, leaf) in plan.leaves.iter().enumerate() {
        for (view, matched) in views.iter().zip(matches) {
            let found = &matched.leaves[number];
            let of_leaf = found.documents.count() as u64;
            *statistics.of_terms.entry(leaf.term).or_default() += of_leaf;
            for (target, found) in leaf.targets.iter().zip(&found.found) {
                // What one target found is all that was found.
                let count = if leaf.targets.len() == 1 { of_leaf } else { count_alive(found, view) };
                *statistics.of_fields.entry((leaf.term, target.field)).or_default() += count;
            }
        }
    }
    let mut gaps = Gaps::default();
    for field in searched_fields(plan) {
        if let Some(lengths) = gaps.note(lengths_of(plan, field, views, reads))? {
            statistics.lengths.extend(lengths.map(|lengths| (field, lengths)));
        }
    }
    gaps.check()?;
    Ok(statistics)
}

/// The documents that are alive.
fn count_alive(found: &LeafHits, view: &View) -> u64 {
    let (mut last, mut count) = (None, 0);
    found.for_each_document(|ordinal| {
        count += u64::from(last != Some(ordinal) && view.alive.get(ordinal as usize));
        last = Some(ordinal);
    });
    count
}

/// The fields that terms search, each once.
fn searched_fields(plan: &SchemaPlan) -> Vec<FieldId> {
    let mut fields: Vec<FieldId> = plan.terms.all().iter().flat_map(|term| term.fields.iter().copied()).collect();
    sort(&mut fields);
    fields.dedup();
    fields
}

/// The number of words of a field, and of the documents that have any; nothing if it has no words.
fn lengths_of(
    plan: &SchemaPlan,
    field: FieldId,
    views: &[View],
    reads: &mut Reads,
) -> Result<Option<(u64, u64)>, Halt> {
    let name = &plan.profile.fields[field.0 as usize].name;
    let Some(spec) = plan.schema.column(name, |kind| matches!(kind, ColumnKind::Text { .. })) else { return Ok(None) };
    let (mut words, mut documents) = (0u64, 0u64);
    let mut gaps = Gaps::default();
    for view in views {
        let Some(column) = view.segment.header.column(spec) else { continue };
        let lengths = Text::from_column(column)?.lengths();
        let part = &lengths.part;
        for index in 0..part.blocks() {
            let Some(block) = gaps.note(reads.segment(&view.segment).block(part.first_block + index))? else {
                continue;
            };
            let first = part.span_of(index).0 as usize;
            let of_block = lengths.read(index, block.bytes())?.sum_of(|row| view.alive.bits_from(first + row));
            (words, documents) = (words + of_block.0, documents + of_block.1);
        }
    }
    gaps.check()?;
    Ok(Some((words, documents)))
}
