//! What is shown of a hit: the fields of its summary class, and the features the profile lists.
pub(crate) mod snippet;

use brooklet_document::json::{MapFormat, Render, render_tensor, render_value};
use brooklet_document::{Document, Format, Value, ValueWriter};
use brooklet_rank::Value as Feature;
use brooklet_schema::{Schema, SummaryClass, SummaryField, SummaryTransform};
use brooklet_segment::{Halt, read_document};
use brooklet_task::{Code, Rejection};

use crate::deployed::DeployedSchema;
use crate::plan::{Plan, Presentation, SchemaPlan};
use crate::ranking::{Ranker, Spot};
use crate::reads::Reads;
use snippet::Highlighter;

/// Names in a field list that are no fields of a schema.
const SPECIAL: [&str; 5] = ["documentid", "sddocname", "matchfeatures", "summaryfeatures", "rankfeatures"];

/// Refuses a field list that names what no searched schema has.
pub(crate) fn check_fields(plan: &Plan) -> Result<(), Rejection> {
    let known = |name: &str| {
        SPECIAL.contains(&name)
            || plan.schemas.iter().any(|of| {
                let schema = &of.schema.schema;
                schema.field(name).is_some() || schema.summary_classes.iter().any(|class| class.field(name).is_some())
            })
    };
    match plan.fields.iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("Field '{}' does not exist", Rejection::quote(name));
            Err(Rejection::new(Code::InvalidQueryParameter, message))
        }
    }
}

/// What summaries of one schema need, made once.
pub(crate) struct Summarizer {
    fields: Vec<(SummaryField, Option<Highlighter>)>,
    with_type: bool,
    /// The default class shows the id without declaring it.
    with_id: bool,
    match_features: bool,
    summary_features: bool,
}

impl Summarizer {
    pub(crate) fn new(plan: &Plan, of: &SchemaPlan) -> Summarizer {
        let schema = &of.schema.schema;
        let class = schema.summary_class(&of.summary_class);
        let listed = |name: &str| plan.fields.is_empty() || plan.fields.iter().any(|field| field == name);
        let fields = if plan.fields.is_empty() {
            class.map_or_else(Vec::new, |class| fields_of(schema, class))
        } else {
            plan.fields.iter().filter_map(|name| find_field(&of.schema, class, name)).collect()
        };
        let omits = class.is_some_and(|class| class.omit_summary_features);
        Summarizer {
            fields: fields
                .into_iter()
                .map(|field| (highlighter(&field, plan, of), field))
                .map(|(h, f)| (f, h))
                .collect(),
            with_type: if plan.fields.is_empty() { of.summary_class == "default" } else { listed("sddocname") },
            with_id: plan.fields.is_empty()
                && of.summary_class == "default"
                && class.is_none_or(|class| class.field("documentid").is_none()),
            match_features: !of.profile.match_features.is_empty() && listed("matchfeatures"),
            summary_features: !of.profile.summary_features.is_empty()
                && if plan.fields.is_empty() { !omits } else { listed("summaryfeatures") },
        }
    }

    /// Writes the `fields` object of a hit; nothing if it would be empty.
    pub(crate) fn fields(
        &self,
        format: Format,
        presentation: &Presentation,
        of: &SchemaPlan,
        id: &str,
        spot: Spot<'_>,
        ranker: &mut Ranker,
        reads: &mut Reads,
    ) -> Result<Option<Vec<u8>>, Halt> {
        let document = self.document(id, spot, reads);
        let match_features = if self.match_features { ranker.match_features(spot, reads).map(Some) } else { Ok(None) };
        let summary_features =
            if self.summary_features { ranker.summary_features(spot, reads).map(Some) } else { Ok(None) };
        // All three note what they miss before the first of them halts.
        let (document, match_features, summary_features) = (document?, match_features?, summary_features?);
        let mut any = false;
        let written = format.written(|out| {
            out.begin_object();
            if self.with_type {
                out.key("sddocname");
                out.string(&of.schema.schema.name);
                any = true;
            }
            if self.with_id {
                out.key("documentid");
                out.string(id);
                any = true;
            }
            for (field, highlighter) in &self.fields {
                any |= write_field(field, highlighter.as_ref(), &document, id, presentation, out);
            }
            for (name, programs, values) in [
                ("matchfeatures", &of.profile.match_features, match_features),
                ("summaryfeatures", &of.profile.summary_features, summary_features),
            ] {
                if let Some(values) = values {
                    out.key(name);
                    write_features(programs.iter().map(|(text, _)| text.as_str()), &values, presentation, out);
                    any = true;
                }
            }
            out.end_object();
        });
        Ok(any.then_some(written))
    }

    /// The stored fields the summary shows; without any, nothing is read.
    fn document(&self, id: &str, spot: Spot<'_>, reads: &mut Reads) -> Result<Document, Halt> {
        let wanted =
            |name: &str| self.fields.iter().any(|(field, _)| field.sources.iter().any(|source| source == name));
        let reads_source =
            self.fields.iter().any(|(field, _)| field.sources.iter().any(|source| source != "documentid"));
        if !reads_source {
            return Ok(Document { id: id.to_owned(), fields: Vec::new() });
        }
        let segment = &spot.views[spot.view].segment;
        read_document(&segment.header, spot.ordinal, &wanted, &mut reads.of(segment))
    }
}

/// The fields of a class. The default one also has those that are declared in any other (query-api, summaries).
fn fields_of(schema: &Schema, class: &SummaryClass) -> Vec<SummaryField> {
    let mut fields = class.fields.clone();
    if class.name == "default" {
        for field in schema.summary_classes.iter().flat_map(|other| &other.fields) {
            if field.name != "documentid" && fields.iter().all(|known| known.name != field.name) {
                fields.push(field.clone());
            }
        }
    }
    fields
}

/// The summary field a name in a field list means: that of the class, else of any class, else the field itself.
fn find_field(schema: &DeployedSchema, class: Option<&SummaryClass>, name: &str) -> Option<SummaryField> {
    let declared = class.and_then(|class| class.field(name));
    let anywhere = || schema.schema.summary_classes.iter().find_map(|class| class.field(name));
    if let Some(field) = declared.or_else(anywhere) {
        return Some(field.clone());
    }
    let plain = |name: &str| SummaryField {
        name: name.to_owned(),
        sources: vec![name.to_owned()],
        transform: SummaryTransform::Full,
    };
    (name == "documentid" || schema.schema.fields.iter().any(|field| field.name == name)).then(|| plain(name))
}

fn highlighter(field: &SummaryField, plan: &Plan, of: &SchemaPlan) -> Option<Highlighter> {
    let marked = match field.transform {
        SummaryTransform::Dynamic => true,
        SummaryTransform::Bolding => plan.presentation.bolding,
        _ => false,
    };
    let source = of.schema.schema.field(field.sources.first()?)?;
    if !marked {
        return None;
    }
    let schema = &of.schema.schema;
    let in_index = |index: &str| {
        let index = brooklet_query::tree::index_of(index);
        let set = schema.field_set(index).is_some_and(|set| set.fields.contains(&source.name));
        set || schema.query_field(index).is_some_and(|field| field.name == source.name)
    };
    let substring = source.matching.mode == brooklet_schema::MatchMode::Substring;
    Some(Highlighter::new(&of.item, source.normalizing(), substring, &in_index))
}

/// Writes a field of a hit, if it has a value.
fn write_field(
    field: &SummaryField,
    highlighter: Option<&Highlighter>,
    document: &Document,
    id: &str,
    presentation: &Presentation,
    out: &mut dyn ValueWriter,
) -> bool {
    if field.sources.iter().any(|source| source == "documentid") {
        out.key(&field.name);
        out.string(id);
        return true;
    }
    let Some(value) = field.sources.iter().find_map(|source| document.field(source)) else { return false };
    let render = render_of(presentation);
    let shown = highlighter.map_or_else(
        || value.clone(),
        |highlighter| {
            highlighted(value, highlighter, field.transform == SummaryTransform::Dynamic, presentation.bolding)
        },
    );
    let hidden = match &shown {
        Value::String(text) => text.is_empty(),
        other => other.is_empty_collection(),
    };
    if hidden {
        return false;
    }
    out.key(&field.name);
    write_value(&shown, &render, out);
    true
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

fn highlighted(value: &Value, highlighter: &Highlighter, dynamic: bool, marks: bool) -> Value {
    match value {
        Value::String(text) if dynamic => Value::String(highlighter.dynamic(text, marks)),
        Value::String(text) => Value::String(highlighter.bolded(text, marks)),
        Value::Array(elements) => {
            Value::Array(elements.iter().map(|element| highlighted(element, highlighter, dynamic, marks)).collect())
        }
        other => other.clone(),
    }
}

fn render_of(presentation: &Presentation) -> Render {
    let format = |as_objects: bool| if as_objects { MapFormat::Object } else { MapFormat::Array };
    Render {
        maps: format(presentation.json_maps),
        weighted_sets: format(presentation.json_wsets),
        ..Render::result(presentation.tensors)
    }
}

fn write_features<'a>(
    names: impl Iterator<Item = &'a str>,
    values: &[Feature],
    presentation: &Presentation,
    out: &mut dyn ValueWriter,
) {
    out.begin_object();
    for (name, value) in names.zip(values) {
        out.key(name);
        match value {
            Feature::Number(number) => out.double(*number),
            Feature::Tensor(tensor) => render_tensor(tensor, &render_of(presentation), out),
        }
    }
    out.end_object();
}
