//! What is shown of a hit: the fields of its summary class, and the features the profile lists.
mod attributes;
mod class_fields;
mod elements;
mod field_markup;
mod highlighted;
pub(crate) mod places;
mod shown_field;
pub(crate) mod snippet;
mod sources;
mod tokens;

use std::rc::Rc;

use brooklet_document::json::write_tensor;
use brooklet_document::{Document, Format, FormatWriter, NUMBER_WORK, Progress, Value, ValueWriter};
use brooklet_kernel::sort;
use brooklet_rank::{Program, Value as Feature};
use brooklet_schema::SummaryTransform;
use brooklet_segment::layout::ColumnSpec;
use brooklet_segment::{Gaps, Halt, read_document};
use brooklet_task::{Code, Issues, Rejection, nearest_name};

use crate::deployed::DeployedSchema;
use crate::found::model_runs::WantedRuns;
use crate::markup::Markup;
use crate::plan::listing::listing;
use crate::plan::{Plan, Presentation, SchemaPlan};
use crate::ranking::Ranker;
use crate::ranking::spot::Spot;
use crate::resident::reads::Reads;
use class_fields::{DOCUMENT_ID, shown_fields};
use elements::selected_elements;
use field_markup::text_field;
use highlighted::Marking;
use shown_field::{FieldContent, How, ShownField, render_of, selecting, shown_field};
pub(crate) use snippet::Marks;
use sources::top_of;

const MATCH_FEATURES: &str = "matchfeatures";

/// Bytes of texts that a step looks through at least where it goes on with a hit.
const WORK_LEAST: usize = 1 << 17;

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
    /// The view and ordinal of a document whose texts are too long for a step, and its content as far as that came.
    begun: Option<((usize, u32), Content)>,
}

/// What is shown of one hit, read and computed.
struct Content {
    document: Document,
    fields: Vec<FieldContent>,
    /// How many of them have their marks, and how far those of the next one came.
    marked: usize,
    marking: Marking,
    /// What is written of them, and how far that came.
    written: Written,
    progress: Progress,
    /// Whether that has any member.
    is_any: bool,
    /// Names of the objects of features, names of the features, their values.
    features: Vec<(&'static str, Vec<String>, Vec<Feature>)>,
}

/// The object of the fields of a hit, or what it is as markup.
enum Written {
    Nothing,
    Object(FormatWriter),
    Markup(Markup),
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
            begun: None,
        })
    }

    /// Writes the `fields` object of a hit; nothing if it would be empty. Where its texts are too long for a step it rests,
    /// with nothing missing, and goes on when it is asked for the same hit again.
    pub(crate) fn fields(
        &mut self,
        format: Format,
        of: &SchemaPlan,
        id: &str,
        spot: Spot<'_>,
        ranker: &mut Ranker,
        reads: &mut Reads,
    ) -> Result<Option<Vec<u8>>, Halt> {
        let place = (spot.view, spot.ordinal);
        let begun = self.begun.take().filter(|(begun, _)| *begun == place);
        // Whatever else a step does again for a hit, it comes further with the texts.
        let work_least = if begun.is_some() { WORK_LEAST } else { 0 };
        let mut content = match begun {
            Some((_, content)) => content,
            None => self.content(of, id, spot, ranker, reads)?,
        };
        let work = reads.work_left();
        *work = work_least.max(*work);
        let mut is_whole = self.mark(&mut content, work);
        if is_whole {
            content.progress.may_do(*work);
            is_whole = match self.presentation.is_markup {
                true => self.write_markup(of, id, &mut content),
                false => self.write(format, of, id, &mut content),
            };
            *work = content.progress.work_left();
        }
        if !is_whole {
            self.begun = Some((place, content));
            return Err(Halt::Missing);
        }
        Ok(match content.written {
            Written::Nothing => None,
            Written::Object(object) => content.is_any.then(|| object.finish()),
            Written::Markup(markup) => Some(markup.finish()),
        })
    }

    /// Marks the fields that are shown so. Returns whether there was enough work left for all of them.
    fn mark(&self, content: &mut Content, work: &mut usize) -> bool {
        let Content { document, fields, marked, marking, .. } = content;
        for (shown, field) in self.fields.iter().zip(fields).skip(*marked) {
            if let How::Highlighted(highlighter, dynamic) = &shown.how
                && let Some(value) = shown.value(document)
            {
                let marks = self.presentation.marks;
                let Some(value) = marking.highlight(&value, highlighter, *dynamic, marks, work) else { return false };
                field.value = Some(shown.joined(value, *dynamic, marks));
            }
            *marked += 1;
        }
        true
    }

    /// Writes the object of the fields: what the hit is, what it shows, what was computed. Returns whether there was enough work left.
    fn write(&self, format: Format, of: &SchemaPlan, id: &str, content: &mut Content) -> bool {
        let Content { document, fields, features, written, progress, is_any, .. } = content;
        if !matches!(written, Written::Object(_)) {
            *is_any = self.with_type || self.with_id || !features.is_empty();
            *written = Written::Object(self.begin(format, of, id));
        }
        let Written::Object(writer) = written else { return true };
        let out = writer.out();
        let count = fields.len();
        let is_whole = progress.parts(count + features.len(), |progress, at| {
            if at < count {
                let (has_value, is_whole) =
                    self.fields[at].write(&mut fields[at], (document, id), of, &self.presentation, progress, out);
                *is_any |= has_value;
                return is_whole;
            }
            let (name, names, values) = &features[at - count];
            if !progress.is_begun() {
                out.key(name);
            }
            write_features(names, values, &self.presentation, progress, out)
        });
        if is_whole {
            out.end_object();
        }
        is_whole
    }

    /// Begins the object of the fields.
    fn begin(&self, format: Format, of: &SchemaPlan, id: &str) -> FormatWriter {
        let mut writer = format.writer();
        let out = writer.out();
        out.begin_object();
        if self.with_type {
            out.key("sddocname");
            out.string(&of.schema.schema.name);
        }
        if self.with_id {
            out.key(DOCUMENT_ID);
            out.string(id);
        }
        writer
    }

    /// Writes the fields as markup: what the match tells, the type, then the fields in their order, then what else was computed.
    /// Returns whether there was enough work left.
    #[inline(never)]
    fn write_markup(&self, of: &SchemaPlan, id: &str, content: &mut Content) -> bool {
        let Content { document, fields, features, written, progress, .. } = content;
        let objects = |is_of_match: bool, out: &mut Markup| {
            for (name, names, values) in features.iter().filter(|(name, ..)| (*name == MATCH_FEATURES) == is_of_match) {
                let json = Format::Json.write_with(|json| {
                    write_features(names, values, &self.presentation, &mut Progress::endless(), json);
                });
                text_field(name, &String::from_utf8_lossy(&json), out);
            }
        };
        if !matches!(written, Written::Markup(_)) {
            let mut out = Markup::piece();
            objects(true, &mut out);
            if self.with_type {
                text_field("sddocname", &of.schema.schema.name, &mut out);
            }
            if self.with_id {
                text_field(DOCUMENT_ID, id, &mut out);
            }
            *written = Written::Markup(out);
        }
        let Written::Markup(out) = written else { return true };
        let is_whole = progress.parts(fields.len(), |progress, at| {
            self.fields[at].write_markup(&mut fields[at], (document, id), progress, out)
        });
        if is_whole {
            objects(false, out);
        }
        is_whole
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
        let mut fields = Vec::with_capacity(self.fields.len());
        for (shown, matched) in self.fields.iter().zip(matched) {
            let elements = match shown.how {
                How::Selected(Some(index)) => {
                    Some(summary_features.get(index).map(selected_elements).unwrap_or_default())
                }
                _ => matched?,
            };
            fields.push(FieldContent { elements, value: None });
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
        Ok(Content {
            document,
            fields,
            marked: 0,
            marking: Marking::default(),
            written: Written::Nothing,
            progress: Progress::default(),
            is_any: false,
            features,
        })
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

/// Writes an object of features as far as a step comes. Returns whether all of it is written.
fn write_features(
    names: &[String],
    values: &[Feature],
    presentation: &Presentation,
    progress: &mut Progress,
    out: &mut dyn ValueWriter,
) -> bool {
    if !progress.is_begun() {
        out.begin_object();
    }
    let is_whole = progress.parts(names.len().min(values.len()), |progress, at| {
        if !progress.is_begun() {
            out.key(&names[at]);
        }
        match &values[at] {
            Feature::Number(number) => {
                out.double(*number);
                progress.work(NUMBER_WORK);
                true
            }
            Feature::Tensor(tensor) => write_tensor(tensor, &render_of(presentation), progress, out),
        }
    });
    if is_whole {
        out.end_object();
    }
    is_whole
}
