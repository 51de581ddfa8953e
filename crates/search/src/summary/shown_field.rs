//! A field as a hit shows it: which of its values are shown, and what is done to them.
use std::borrow::Cow;
use std::collections::BTreeSet;

use brooklet_document::json::{MapFormat, Render, write_map, write_value};
use brooklet_document::{Document, Progress, Value, ValueWriter};
use brooklet_schema::{Field, SummaryField, SummaryTransform};
use brooklet_segment::Halt;

use super::class_fields::DOCUMENT_ID;
use super::elements::{self, is_empty, only};
use super::field_markup;
use super::highlighted::highlighter;
use super::places;
use super::snippet::{Highlighter, Marks};
use super::sources::{SEPARATOR, parts_of_field, pieces, value_of, with_parts};
use super::tokens::tokens;
use crate::deployed::compile::selection_text;
use crate::markup::Markup;
use crate::plan::{Plan, Presentation, SchemaPlan};
use crate::ranking::document::query_places;
use crate::ranking::spot::Spot;
use crate::resident::reads::Reads;

/// A field as a hit shows it.
pub(super) struct ShownField {
    pub(super) field: SummaryField,
    pub(super) how: How,
}

/// What is done to the value of a field.
pub(super) enum How {
    AsItIs,
    Highlighted(Highlighter, bool),
    /// Only the elements that matched.
    Matched,
    /// Only the elements that the summary feature with this index selects; all if the profile does not list it.
    Selected(Option<usize>),
    /// The words of a text in this field.
    Tokens(Field),
    /// How far the nearest place of the value is from these places of the query.
    Distance(Vec<(f64, f64)>),
}

/// What of a field is shown, where that is not its value.
pub(super) struct FieldContent {
    /// The elements it shows, if it shows only some.
    pub(super) elements: Option<BTreeSet<u32>>,
    /// The value it shows, if that is made of what is stored: with marks, of some elements, of parts.
    pub(super) value: Option<Value>,
}

impl ShownField {
    /// The elements that are shown because they matched; nothing if it is not that which decides.
    pub(super) fn matched_elements_of(
        &self,
        of: &SchemaPlan,
        spot: Spot<'_>,
        reads: &mut Reads,
    ) -> Result<Option<BTreeSet<u32>>, Halt> {
        match (&self.how, self.field.sources.first()) {
            (How::Matched, Some(source)) => elements::matched_elements(of, source, spot, reads).map(Some),
            _ => Ok(None),
        }
    }

    /// Keeps the value that it shows if that is made: it is made once, however many steps it takes to write it.
    fn keep_made(&self, field: &mut FieldContent, document: &Document) {
        if let Some(Cow::Owned(value)) = self.shown_value(field, document) {
            field.value = Some(value);
        }
    }

    /// Writes the field, if it has a value, as far as a step comes. Returns whether it has one, and whether all of it is written.
    pub(super) fn write(
        &self,
        field: &mut FieldContent,
        (document, id): (&Document, &str),
        of: &SchemaPlan,
        presentation: &Presentation,
        progress: &mut Progress,
        out: &mut dyn ValueWriter,
    ) -> (bool, bool) {
        if self.is_id() {
            out.key(&self.field.name);
            out.string(id);
            return (true, true);
        }
        let is_text = !of.schema.schema.raw_as_base64_in_summary;
        if !progress.is_begun() {
            self.keep_made(field, document);
            if is_text && let Some(Value::Raw(bytes)) = self.shown_value(field, document).as_deref() {
                field.value = Some(Value::String(String::from_utf8_lossy(bytes).into_owned()));
            }
        }
        let Some(value) = self.shown_value(field, document) else { return (false, true) };
        if !progress.is_begun() {
            out.key(&self.field.name);
        }
        (true, write_shown(&value, &render_of(presentation), progress, out))
    }

    /// Writes the field as markup, if it has a value, as far as a step comes. Returns whether all of it is written.
    pub(super) fn write_markup(
        &self,
        field: &mut FieldContent,
        (document, id): (&Document, &str),
        progress: &mut Progress,
        out: &mut Markup,
    ) -> bool {
        if self.is_id() {
            field_markup::text_field(&self.field.name, id, out);
            return true;
        }
        if !progress.is_begun() {
            self.keep_made(field, document);
        }
        let value = self.shown_value(field, document);
        value.is_none_or(|value| field_markup::field(&self.field.name, &value, progress, out))
    }

    /// Whether it shows the id of the document.
    pub(super) fn is_id(&self) -> bool {
        self.field.sources.iter().any(|source| source == DOCUMENT_ID)
    }

    /// The value that is shown, with only the elements that are.
    pub(super) fn shown_value<'a>(&self, field: &'a FieldContent, document: &'a Document) -> Option<Cow<'a, Value>> {
        let value = match (&field.value, &self.how, &field.elements) {
            (Some(value), ..) => Cow::Borrowed(value),
            (None, How::Highlighted(..), _) => return None,
            (None, _, Some(elements)) => Cow::Owned(only(&*self.value(document)?, elements)),
            (None, _, None) => self.value(document)?,
        };
        (!is_empty(&value)).then_some(value)
    }

    /// A marked value as it is shown: what stands between the pieces of one text is known here.
    pub(super) fn joined(&self, value: Value, dynamic: bool, marks: Marks) -> Value {
        match value {
            Value::String(text) if self.field.sources.len() > 1 => {
                let separator = marks.separator().unwrap_or(if dynamic { "..." } else { "" });
                Value::String(text.replace(SEPARATOR, separator))
            }
            other => other,
        }
    }

    /// The value of the source. All values of several sources are pieces of one text.
    pub(super) fn value<'a>(&self, document: &'a Document) -> Option<Cow<'a, Value>> {
        if let (How::AsItIs, Some(parts)) = (&self.how, parts_of_field(&self.field.name, &self.field.sources)) {
            return document.field(&self.field.name).map(|value| Cow::Owned(with_parts(value, &parts)));
        }
        let mut values = self.field.sources.iter().filter_map(|source| value_of(document, source));
        let several = self.field.sources.len() > 1;
        match &self.how {
            How::Highlighted(..) if several => pieces(values, SEPARATOR).map(|text| Cow::Owned(Value::String(text))),
            How::Highlighted(..) => values.next(),
            How::AsItIs if several => pieces(values, " ").map(|text| Cow::Owned(Value::String(text))),
            How::Tokens(field) => values.find(|value| !is_empty(value)).map(|value| Cow::Owned(tokens(&value, field))),
            How::Distance(places) => values.find_map(|value| places::distance(&value, places)).map(Cow::Owned),
            _ => values.find(|value| !is_empty(value)),
        }
    }
}

/// The field, and what is done to its value. Of a part of a position it is the position that is read.
pub(super) fn shown_field(mut field: SummaryField, plan: &Plan, of: &SchemaPlan) -> ShownField {
    let part = field.sources.first().and_then(|source| places::part_of(&of.schema.schema, source));
    let Some((position, part)) = part else { return ShownField { how: how(&field, plan, of), field } };
    let how = match part {
        places::Part::Position => How::AsItIs,
        places::Part::Distance => How::Distance(query_places(&position, of)),
    };
    field.sources = vec![position];
    ShownField { field, how }
}

fn how(field: &SummaryField, plan: &Plan, of: &SchemaPlan) -> How {
    let source = field.sources.first().and_then(|source| of.schema.schema.field(source));
    match &field.transform {
        SummaryTransform::Full => How::AsItIs,
        SummaryTransform::Dynamic => {
            How::Highlighted(highlighter(field, of).with(of.schema.snippets.of(&field.name)), true)
        }
        // Pieces of several sources stand otherwise in a text that is marked, even where no marks are wanted.
        SummaryTransform::Bolding if plan.presentation.marks != Marks::None || field.sources.len() > 1 => {
            How::Highlighted(highlighter(field, of), false)
        }
        SummaryTransform::Bolding => How::AsItIs,
        SummaryTransform::MatchedElementsOnly => How::Matched,
        SummaryTransform::SelectElementsBy(feature) => How::Selected(selecting(feature, of)),
        SummaryTransform::Tokens => source.cloned().map_or(How::AsItIs, How::Tokens),
    }
}

/// Which of the profile's summary features selects elements by this name: both mean the same in canonical text.
pub(super) fn selecting(feature: &str, of: &SchemaPlan) -> Option<usize> {
    let canonical = selection_text(feature);
    of.profile.summary_features.iter().position(|(text, _)| selection_text(text) == canonical)
}

/// Writes the value of a field. A map whose keys are texts is an object here whatever was asked for maps, which holds
/// for other keys and for maps inside values (query-api, `renderer.json.jsonMaps`).
fn write_shown(value: &Value, render: &Render, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
    match value {
        Value::Map(entries) if entries.iter().all(|(key, _)| matches!(key, Value::String(_))) => {
            write_map(entries, MapFormat::Object, render, progress, out)
        }
        value => write_value(value, render, progress, out),
    }
}

pub(super) fn render_of(presentation: &Presentation) -> Render {
    let format = |as_objects: bool| if as_objects { MapFormat::Object } else { MapFormat::Array };
    Render {
        maps: format(presentation.json_maps),
        weighted_sets: format(presentation.json_wsets),
        ..Render::result(presentation.tensors)
    }
}
