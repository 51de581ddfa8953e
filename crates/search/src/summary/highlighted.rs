//! Texts in which that which matched is marked: what is looked for in them, and how values are shown so.
use brooklet_document::Value;
use brooklet_query::annotations::Typed;
use brooklet_schema::{Field, MatchMode, Normalizing, SummaryField};
use brooklet_text::Variety;

use super::snippet::{Highlighter, Highlighting, Marks};
use crate::plan::SchemaPlan;

/// What is looked for in the texts of a field.
pub(super) fn highlighter(field: &SummaryField, of: &SchemaPlan) -> Highlighter {
    let schema = &of.schema.schema;
    let sources: Vec<&Field> = field.sources.iter().filter_map(|source| schema.field(source)).collect();
    let in_index = |index: &str| {
        let index = brooklet_query::tree::index_of(index);
        let set = schema.query_field_set(index);
        let of_query = schema.query_field(index);
        sources.iter().any(|source| {
            set.is_some_and(|set| set.fields.contains(&source.name))
                || of_query.is_some_and(|field| field.name == source.name)
        })
    };
    let normalizing = sources.first().map_or(Normalizing::LowercaseAndFold, |source| source.normalizing());
    let substring = sources.iter().any(|source| source.matching.mode == MatchMode::Substring);
    let (analysis, first) = (&of.analysis, sources.first());
    let segments = first.is_some_and(|source| analysis.segments(source));
    let variety = |word: &str, stems: bool, typed: Typed| {
        let Some(source) = first else { return Variety::default() };
        let forgiven = of.forgiven.iter().find(|forgiven| forgiven.word == word && typed != Typed::No);
        let slips = forgiven.filter(|_| stems && analysis.forgives(source)).map_or(0, |forgiven| forgiven.slips);
        Variety { slips, ..analysis.variety(source, stems, typed) }
    };
    Highlighter::new(&of.item, normalizing, substring, &in_index).understanding(&variety, segments)
}

/// How far the marks of a value came.
#[derive(Default)]
pub(super) struct Marking {
    /// The elements that have theirs.
    elements: Vec<Value>,
    /// The element that gets them.
    element: Option<Box<Marking>>,
    text: Option<Highlighting>,
}

impl Marking {
    /// The value with its marks; nothing while there is too little work left: another call with the value goes on.
    pub(super) fn highlight(
        &mut self,
        value: &Value,
        highlighter: &Highlighter,
        dynamic: bool,
        marks: Marks,
        work: &mut usize,
    ) -> Option<Value> {
        Some(match value {
            Value::String(text) if dynamic => Value::String(highlighter.dynamic(text, marks, &mut self.text, work)?),
            Value::String(text) => Value::String(highlighter.embolden(text, marks, &mut self.text, work)?),
            Value::Array(elements) => {
                while let Some(element) = elements.get(self.elements.len()) {
                    let marking = self.element.get_or_insert_with(Default::default);
                    self.elements.push(marking.highlight(element, highlighter, dynamic, marks, work)?);
                    self.element = None;
                }
                Value::Array(std::mem::take(&mut self.elements))
            }
            other => other.clone(),
        })
    }
}
