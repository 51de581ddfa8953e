//! What is shown of a hit: the fields of its summary class, and the features the profile lists.
mod attributes;
mod class_fields;
mod elements;
mod field_markup;
mod highlighted;
pub(crate) mod places;
pub(crate) mod snippet;
mod sources;
mod tokens;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;

use brooklet_document::json::{MapFormat, Render, nearest_name, render_tensor, render_value};
use brooklet_document::{Document, Format, Value, ValueWriter};
use brooklet_kernel::sort;
use brooklet_rank::{Program, Value as Feature};
use brooklet_schema::{Field, SummaryField, SummaryTransform};
use brooklet_segment::layout::ColumnSpec;
use brooklet_segment::{Gaps, Halt, read_document};
use brooklet_task::{Code, Issues, Rejection};

use crate::deployed::DeployedSchema;
use crate::deployed::compile::selection_text;
use crate::found::model_runs::WantedRuns;
use crate::markup::Markup;
use crate::plan::listing::listing;
use crate::plan::{Plan, Presentation, SchemaPlan};
use crate::ranking::Ranker;
use crate::ranking::document::query_places;
use crate::ranking::spot::Spot;
use crate::resident::reads::Reads;
use class_fields::{DOCUMENT_ID, shown_fields};
use elements::{is_empty, only, selected_elements};
use field_markup::text_field;
use highlighted::{highlight, highlighter};
use snippet::Highlighter;
pub(crate) use snippet::Marks;
use sources::{SEPARATOR, parts_of_field, pieces, top_of, value_of, with_parts};
use tokens::tokens;

const MATCH_FEATURES: &str = "matchfeatures";

/// Names in a field list that are no fields of a schema.
const SPECIAL: [&str; 5] = [DOCUMENT_ID, "sddocname", "matchfeatures", "summaryfeatures", "rankfeatures"];

/// Refuses a field list that names what no searched schema has.
pub(crate) fn check_fields(plan: &Plan) -> Result<(), Rejection> {
    let known = |name: &str| {
        SPECIAL.contains(&name)
            || plan.schemas.iter().any(|of| {
                let schema = &of.schema.schema;
                schema.field(name).is_some()
                    || places::part_of(schema, name).is_some()
                    || schema.summary_classes.iter().any(|class| class.field(name).is_some())
            })
    };
    match plan.fields.iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            let fields = plan.schemas.iter().flat_map(|of| of.schema.schema.fields.iter());
            let hint = match nearest_name(name, fields.map(|field| field.name.as_str())) {
                Some(near) => format!(". Did you mean '{near}'?"),
                None => String::new(),
            };
            let message = format!("Field '{}' does not exist{hint}", Rejection::quote(name));
            Err(Rejection::new(Code::InvalidQueryParameter, message))
        }
    }
}

/// Tells which fields of the summary show all their elements, because the profile does not list what selects them.
pub(crate) fn report_selections(of: &SchemaPlan, named: &[String], issues: &mut Issues) {
    for field in shown_fields(of, of.schema.schema.summary_class(&of.summary_class), named) {
        if let SummaryTransform::SelectElementsBy(feature) = &field.transform
            && selecting(feature, of).is_none()
        {
            let message = format!(
                "Summary field '{}' shows all elements: rank profile '{}' does not list '{feature}' in summary-features",
                field.name, of.profile.profile.name
            );
            issues.report(Code::ErrorInReply, message);
        }
    }
}

/// A field as a hit shows it.
struct ShownField {
    field: SummaryField,
    how: How,
}

/// What is done to the value of a field.
enum How {
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

/// What summaries of one schema need, made once.
pub(crate) struct Summarizer {
    presentation: Presentation,
    fields: Vec<ShownField>,
    /// The stored fields that are shown, in order.
    sources: Vec<String>,
    /// The columns of all of them, if each has one that its value can be put together from.
    columns: Option<Vec<ColumnSpec>>,
    /// Whether the name of the schema is shown: in every class, and of a field list if it is there.
    with_type: bool,
    /// The default class shows the id without declaring it.
    with_id: bool,
    match_features: bool,
    summary_features: bool,
    /// What computes all features, if they are shown.
    listing: Option<(Rc<SchemaPlan>, Ranker)>,
}

/// What is shown of one hit, read and computed.
struct Content {
    document: Document,
    /// For each field the elements it shows, if it shows only some.
    elements: Vec<Option<BTreeSet<u32>>>,
    /// Names of the objects of features, names of the features, their values.
    features: Vec<(&'static str, Vec<String>, Vec<Feature>)>,
}

impl Summarizer {
    /// The runs of models that were lacking since this was last asked.
    pub(crate) fn take_wanted(&mut self) -> Result<WantedRuns, Rejection> {
        self.listing.as_mut().map_or_else(|| Ok(WantedRuns::default()), |(_, ranker)| ranker.take_wanted())
    }

    /// That of the request: its class, or the fields it lists.
    pub(crate) fn new(plan: &Plan, of: &SchemaPlan, now: i64) -> Result<Summarizer, Rejection> {
        Summarizer::of_class(plan, of, &of.summary_class, now)
    }

    /// That of a class. A field list holds for every hit, also for grouped ones of a class of their own. It leaves match
    /// features alone, which come with the hit; all other features come with the summary.
    pub(crate) fn of_class(plan: &Plan, of: &SchemaPlan, name: &str, now: i64) -> Result<Summarizer, Rejection> {
        let schema = &of.schema.schema;
        let named = &plan.fields[..];
        let class = schema.summary_class(name);
        let listed = |name: &str| named.is_empty() || named.iter().any(|field| field == name);
        let fields = shown_fields(of, class, named);
        let omits = class.is_some_and(|class| class.omit_summary_features);
        let lists = plan.presentation.list_features && listed("rankfeatures");
        let fields: Vec<_> = fields.into_iter().map(|field| shown_field(field, plan, of)).collect();
        let mut sources: Vec<String> = fields.iter().flat_map(|shown| shown.field.sources.iter().cloned()).collect();
        sources.retain(|source| source != DOCUMENT_ID);
        let of_parts = sources.iter().any(|source| top_of(source).len() < source.len());
        sources.iter_mut().for_each(|source| *source = top_of(source).to_owned());
        sort(&mut sources);
        sources.dedup();
        let columns = sources.iter().map(|source| attributes::column_of(&of.schema, source).cloned());
        Ok(Summarizer {
            presentation: plan.presentation.clone(),
            columns: columns.collect::<Option<Vec<_>>>().filter(|_| !of_parts),
            fields,
            sources,
            with_type: listed("sddocname"),
            with_id: named.is_empty()
                && name == "default"
                && class.is_none_or(|class| class.field(DOCUMENT_ID).is_none()),
            match_features: !of.profile.match_features.is_empty(),
            summary_features: !of.profile.summary_features.is_empty()
                && if named.is_empty() { !omits } else { listed("summaryfeatures") },
            listing: lists.then(|| listing(of, now)).transpose()?,
        })
    }

    /// Writes the `fields` object of a hit; nothing if it would be empty.
    pub(crate) fn fields(
        &mut self,
        format: Format,
        of: &SchemaPlan,
        id: &str,
        spot: Spot<'_>,
        ranker: &mut Ranker,
        reads: &mut Reads,
    ) -> Result<Option<Vec<u8>>, Halt> {
        let content = self.content(of, id, spot, ranker, reads)?;
        if self.presentation.is_markup {
            return Ok(Some(self.markup(of, id, &content)));
        }
        let presentation = &self.presentation;
        let mut any = false;
        let written = format.write_with(|out| {
            out.begin_object();
            if self.with_type {
                out.key("sddocname");
                out.string(&of.schema.schema.name);
                any = true;
            }
            if self.with_id {
                out.key(DOCUMENT_ID);
                out.string(id);
                any = true;
            }
            for (shown, elements) in self.fields.iter().zip(&content.elements) {
                any |= shown.write(elements.as_ref(), &content.document, id, of, presentation, out);
            }
            for (name, names, values) in &content.features {
                out.key(name);
                write_features(names, values, presentation, out);
                any = true;
            }
            out.end_object();
        });
        Ok(any.then_some(written))
    }

    /// The fields as markup: what the match tells, the type, then the fields in their order, then what else was computed.
    #[inline(never)]
    fn markup(&self, of: &SchemaPlan, id: &str, content: &Content) -> Vec<u8> {
        let mut out = Markup::piece();
        let (matched, computed): (Vec<_>, Vec<_>) =
            content.features.iter().partition(|(name, ..)| *name == MATCH_FEATURES);
        let objects = |features: Vec<&(&'static str, Vec<String>, Vec<Feature>)>, out: &mut Markup| {
            for (name, names, values) in features {
                let json = Format::Json.write_with(|json| write_features(names, values, &self.presentation, json));
                text_field(name, &String::from_utf8_lossy(&json), out);
            }
        };
        objects(matched, &mut out);
        if self.with_type {
            text_field("sddocname", &of.schema.schema.name, &mut out);
        }
        if self.with_id {
            text_field(DOCUMENT_ID, id, &mut out);
        }
        for (shown, elements) in self.fields.iter().zip(&content.elements) {
            if shown.is_id() {
                text_field(&shown.field.name, id, &mut out);
            } else if let Some(value) = shown.shown_value(elements.as_ref(), &content.document, &self.presentation) {
                field_markup::field(&shown.field.name, &value, &mut out);
            }
        }
        objects(computed, &mut out);
        out.finish()
    }

    /// Reads and computes what is shown. All of it notes what it misses before the first of it halts.
    fn content(
        &mut self,
        of: &SchemaPlan,
        id: &str,
        spot: Spot<'_>,
        ranker: &mut Ranker,
        reads: &mut Reads,
    ) -> Result<Content, Halt> {
        let document = self.document(&of.schema, id, spot, reads);
        let selects = self.fields.iter().any(|shown| matches!(shown.how, How::Selected(Some(_))));
        let summary_features =
            if self.summary_features || selects { ranker.summary_features(spot, reads) } else { Ok(Vec::new()) };
        let match_features = if self.match_features { ranker.match_features(spot, reads) } else { Ok(Vec::new()) };
        let rank_features = match &mut self.listing {
            Some((plan, lister)) => {
                lister.learn_from(ranker)?;
                lister.match_features(spot, reads).map(|values| Some((plan.clone(), values)))
            }
            None => Ok(None),
        };
        let matched: Vec<_> = self.fields.iter().map(|shown| shown.matched_elements_of(of, spot, reads)).collect();
        let (document, summary_features) = (document?, summary_features?);
        let mut elements = Vec::with_capacity(self.fields.len());
        for (shown, matched) in self.fields.iter().zip(matched) {
            elements.push(match shown.how {
                How::Selected(Some(index)) => {
                    Some(summary_features.get(index).map(selected_elements).unwrap_or_default())
                }
                _ => matched?,
            });
        }
        let mut features = Vec::new();
        let profile = &of.profile;
        let names = |programs: &[(String, Program)]| programs.iter().map(|(text, _)| text.clone()).collect();
        for (shown, name, programs, values) in [
            (self.match_features, MATCH_FEATURES, &profile.match_features, match_features?),
            (self.summary_features, "summaryfeatures", &profile.summary_features, summary_features),
        ] {
            if shown {
                features.push((name, names(programs), values));
            }
        }
        if let Some((plan, values)) = rank_features? {
            features.push(("rankfeatures", names(&plan.profile.match_features), values));
        }
        Ok(Content { document, elements, features })
    }

    /// The stored fields the summary shows. Without any nothing is read, and of attributes alone only their columns are.
    fn document(&self, schema: &DeployedSchema, id: &str, spot: Spot<'_>, reads: &mut Reads) -> Result<Document, Halt> {
        if let Some(columns) = &self.columns {
            return Ok(Document { id: id.to_owned(), fields: attribute_values(schema, columns, spot, reads)? });
        }
        let segment = &spot.at().segment;
        let document = read_document(
            &segment.header,
            spot.ordinal,
            &|name| self.sources.iter().any(|source| source == name),
            &mut reads.segment(segment),
        )?;
        let text = |(_, value): &(String, Value)| if let Value::String(text) = value { text.len() } else { 0 };
        reads.work(document.fields.iter().map(text).sum());
        Ok(document)
    }
}

/// The values of attributes.
fn attribute_values(
    schema: &DeployedSchema,
    columns: &[ColumnSpec],
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Vec<(String, Value)>, Halt> {
    let mut fields = Vec::new();
    let mut gaps = Gaps::default();
    for spec in columns {
        let value = gaps.note(attributes::read(schema, spec, spot, reads))?.flatten();
        fields.extend(value.map(|value| (spec.field.clone(), value)));
    }
    gaps.check()?;
    Ok(fields)
}

impl ShownField {
    /// The elements that are shown because they matched; nothing if it is not that which decides.
    fn matched_elements_of(
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

    /// Writes the field, if it has a value.
    fn write(
        &self,
        elements: Option<&BTreeSet<u32>>,
        document: &Document,
        id: &str,
        of: &SchemaPlan,
        presentation: &Presentation,
        out: &mut dyn ValueWriter,
    ) -> bool {
        if self.is_id() {
            out.key(&self.field.name);
            out.string(id);
            return true;
        }
        let Some(value) = self.shown_value(elements, document, presentation) else { return false };
        out.key(&self.field.name);
        match &*value {
            Value::Raw(bytes) if !of.schema.schema.raw_as_base64_in_summary => {
                out.string(&String::from_utf8_lossy(bytes));
            }
            value => write_value(value, &render_of(presentation), out),
        }
        true
    }

    /// Whether it shows the id of the document.
    fn is_id(&self) -> bool {
        self.field.sources.iter().any(|source| source == DOCUMENT_ID)
    }

    /// The value that is shown, with only the elements that are.
    fn shown_value<'a>(
        &self,
        elements: Option<&BTreeSet<u32>>,
        document: &'a Document,
        presentation: &Presentation,
    ) -> Option<Cow<'a, Value>> {
        let value = self.value(document, presentation)?;
        let value = match elements {
            Some(elements) => Cow::Owned(only(&value, elements)),
            None => value,
        };
        (!is_empty(&value)).then_some(value)
    }

    /// The value of the source. All values of several sources are pieces of one text.
    fn value<'a>(&self, document: &'a Document, presentation: &Presentation) -> Option<Cow<'a, Value>> {
        if let (How::AsItIs, Some(parts)) = (&self.how, parts_of_field(&self.field.name, &self.field.sources)) {
            return document.field(&self.field.name).map(|value| Cow::Owned(with_parts(value, &parts)));
        }
        let mut values = self.field.sources.iter().filter_map(|source| value_of(document, source));
        let several = self.field.sources.len() > 1;
        match &self.how {
            How::Highlighted(highlighter, dynamic) if several => {
                let text = pieces(values, SEPARATOR)?;
                let marked = highlight(&Value::String(text), highlighter, *dynamic, presentation.marks);
                let separator = presentation.marks.separator().unwrap_or(if *dynamic { "..." } else { "" });
                let Value::String(text) = marked else { return None };
                Some(Cow::Owned(Value::String(text.replace(SEPARATOR, separator))))
            }
            How::Highlighted(highlighter, dynamic) => {
                values.next().map(|value| Cow::Owned(highlight(&value, highlighter, *dynamic, presentation.marks)))
            }
            How::AsItIs if several => pieces(values, " ").map(|text| Cow::Owned(Value::String(text))),
            How::Tokens(field) => values.find(|value| !is_empty(value)).map(|value| Cow::Owned(tokens(&value, field))),
            How::Distance(places) => values.find_map(|value| places::distance(&value, places)).map(Cow::Owned),
            _ => values.find(|value| !is_empty(value)),
        }
    }
}

/// Which of the profile's summary features selects elements by this name: both mean the same in canonical text.
fn selecting(feature: &str, of: &SchemaPlan) -> Option<usize> {
    let canonical = selection_text(feature);
    of.profile.summary_features.iter().position(|(text, _)| selection_text(text) == canonical)
}

/// The field, and what is done to its value. Of a part of a position it is the position that is read.
fn shown_field(mut field: SummaryField, plan: &Plan, of: &SchemaPlan) -> ShownField {
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

/// Writes the value of a field. A map whose keys are texts is an object here whatever was asked for maps, which holds
/// for other keys and for maps inside values (query-api, `renderer.json.jsonMaps`).
fn write_value(value: &Value, render: &Render, out: &mut dyn ValueWriter) {
    let Value::Map(entries) = value else { return render_value(value, render, out) };
    if entries.iter().any(|(key, _)| !matches!(key, Value::String(_))) {
        return render_value(value, render, out);
    }
    out.begin_object();
    for (key, value) in entries {
        if let Value::String(key) = key {
            out.key(key);
            render_value(value, render, out);
        }
    }
    out.end_object();
}

fn render_of(presentation: &Presentation) -> Render {
    let format = |as_objects: bool| if as_objects { MapFormat::Object } else { MapFormat::Array };
    Render {
        maps: format(presentation.json_maps),
        weighted_sets: format(presentation.json_wsets),
        ..Render::result(presentation.tensors)
    }
}

fn write_features(names: &[String], values: &[Feature], presentation: &Presentation, out: &mut dyn ValueWriter) {
    out.begin_object();
    for (name, value) in names.iter().zip(values) {
        out.key(name);
        match value {
            Feature::Number(number) => out.double(*number),
            Feature::Tensor(tensor) => render_tensor(tensor, &render_of(presentation), out),
        }
    }
    out.end_object();
}
