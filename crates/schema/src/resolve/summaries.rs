//! Summary classes: the implicit `default`, what fields say about their summaries, and the explicit classes.
use brooklet_task::did_you_mean;

use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::DataType;
use brooklet_kernel::{map_of, sort_by_key};

use super::order;
use super::outcome::Resolved;
use super::types::Structs;
use crate::field::Field;
use crate::remarks::Remarks;
use crate::schema::Schema;
use crate::sd::tree::{FieldBody, Name, SchemaTree, SummaryClassTree, SummaryTree, TransformTree};
use crate::summary_class::{SummaryClass, SummaryField, SummaryTransform};

/// Summary fields of all classes of a schema: inherited ones count for each class that has them.
const FIELDS_MAX: usize = 100_000;

/// A summary field that a field's own body speaks of, and the classes it is sent to.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    summary: SummaryField,
    /// Whether it is only there because the field has `summary`.
    implicit: bool,
    classes: Vec<String>,
}

/// What each field sends to summary classes; documents inherit it with the fields.
pub(crate) type SentByField = BTreeMap<String, Vec<Sent>>;

/// What the fields of a schema send to summary classes: those of its own tree, and what `inherited` ones send.
pub(super) fn sent(tree: &SchemaTree, schema: &Schema, inherited: &[&SentByField]) -> Resolved<SentByField> {
    let own = tree.document.iter().flat_map(|document| &document.fields).chain(&tree.fields);
    let bodies = map_of(own.map(|field| (field.name.text.as_str(), &field.body)));
    let mut all = SentByField::new();
    for field in &schema.fields {
        let sent = match bodies.get(field.name.as_str()) {
            Some(body) => sent_by(field, body, schema)?,
            // Of several documents that have the field, the last says what it is.
            None => inherited.iter().rev().find_map(|sent| sent.get(&field.name)).cloned().unwrap_or_default(),
        };
        all.insert(field.name.clone(), sent);
    }
    Ok(all)
}

fn sent_by(field: &Field, body: &FieldBody, schema: &Schema) -> Resolved<Vec<Sent>> {
    let to_default = || vec!["default".to_owned()];
    let mut sent = Vec::new();
    if field.indexing.summary && !body.summaries.iter().any(|summary| summary.name.text == field.name) {
        let bolding = body.bolding == Some(true);
        let transform = if bolding { SummaryTransform::Bolding } else { SummaryTransform::Full };
        let sources = vec![field.name.clone()];
        sent.push(Sent {
            summary: SummaryField { name: field.name.clone(), sources, transform },
            implicit: true,
            classes: to_default(),
        });
    }
    for tree in &body.summaries {
        let mut summary = summary_field(tree, body.bolding);
        if tree.sources.is_empty() {
            summary.sources = vec![field.name.clone()];
        }
        check_transform(&summary, &tree.name, schema)?;
        let is_own = tree.name.text == field.name && field.indexing.summary;
        let mut classes = if tree.destinations.is_empty() || is_own { to_default() } else { Vec::new() };
        classes.extend(tree.destinations.iter().map(|name| name.text.clone()));
        sent.push(Sent { summary, implicit: false, classes });
    }
    Ok(sent)
}

/// The types that summary fields are given, by their names; of those that are no types, nothing.
pub(super) fn declared_types(tree: &SchemaTree, structs: &mut Structs<'_>) -> Vec<(Name, DataType)> {
    let of_fields = tree.document.iter().flat_map(|document| &document.fields).chain(&tree.fields);
    let in_fields = of_fields.flat_map(|field| &field.body.summaries);
    let all = in_fields.chain(tree.summaries.iter().flat_map(|class| &class.fields));
    let typed = all.filter_map(|summary| Some((summary.name.clone(), summary.data_type.as_ref()?)));
    typed.filter_map(|(name, of)| Some((name, structs.data_type(of).ok()?))).collect()
}

/// Types have no effect, but all declarations of a summary field must have the same.
pub(super) fn check_types(schema: &Schema, declared: &[(Name, DataType)], remarks: &mut Remarks) {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    for (name, of) in declared {
        let first = known.entry(&name.text).or_insert_with(|| {
            schema.field(&name.text).map_or_else(|| of.to_string(), |field| field.data_type.to_string())
        });
        if *first != of.to_string() {
            remarks.object(name.place.reject(format!(
                "summary '{}' of type {of} is inconsistent with one of type {first} in schema '{}': All declarations of the same \
                 summary field must have the same type",
                name.text, schema.name
            )));
        }
    }
}

/// The classes of a schema: `default` first, then the explicit ones, then those of the inherited schema.
pub(super) fn classes(
    tree: &SchemaTree,
    schema: &Schema,
    sent: &SentByField,
    parent: Option<&Arc<Schema>>,
    remarks: &mut Remarks,
) -> Resolved<Vec<SummaryClass>> {
    let builder = Classes { tree, schema, parent };
    let mut implicit = builder.implicit(sent);
    implicit.values_mut().for_each(|class| builder.leave_out_sources(class, sent));
    let parents = tree.summaries.iter().map(|class| builder.parents(class)).collect::<Resolved<Vec<_>>>()?;
    let order = order::parents_first(&parents).map_err(|index| {
        let name = &tree.summaries[index].name;
        name.place.reject(format!("document-summary '{}' inherits itself", name.text))
    })?;
    let mut done: Vec<SummaryClass> = implicit.into_values().collect();
    sort_by_key(&mut done, |class| class.name != "default");
    let mut total = 0;
    for index in order {
        builder.explicit(&tree.summaries[index], &mut done, remarks)?;
        total += done.last().map_or(0, |class| class.fields.len());
        if total > FIELDS_MAX {
            return Err(tree.name.place.reject(format!("the document-summaries have more than {FIELDS_MAX} fields")));
        }
    }
    done.iter_mut().filter(|class| class.name == "default").for_each(|class| builder.leave_out_sources(class, sent));
    for class in parent.into_iter().flat_map(|parent| &parent.summary_classes) {
        match done.iter_mut().find(|own| own.name == class.name) {
            None => done.push(class.clone()),
            Some(own) if own.name == "default" => own.fields = merge_fields(&class.fields, &own.fields),
            Some(_) => {}
        }
    }
    done.iter().try_for_each(|class| builder.check(class))?;
    Ok(done)
}

struct Classes<'a> {
    tree: &'a SchemaTree,
    schema: &'a Schema,
    parent: Option<&'a Arc<Schema>>,
}

impl Classes<'_> {
    /// What the fields send: `default` has all fields with `summary`.
    fn implicit(&self, sent: &SentByField) -> BTreeMap<String, SummaryClass> {
        let mut classes = BTreeMap::new();
        class_of(&mut classes, "default");
        for Sent { summary, classes: names, .. } in
            self.schema.fields.iter().filter_map(|field| sent.get(&field.name)).flatten()
        {
            names.iter().for_each(|name| add(class_of(&mut classes, name), summary.clone()));
        }
        classes
    }

    /// Leaves out of a class what is shown there under another name, unless it is listed too: nobody asked for both.
    fn leave_out_sources(&self, class: &mut SummaryClass, sent: &SentByField) {
        let trees = || self.tree.summaries.iter().filter(|tree| tree.name.text == class.name);
        let listed = |name: &str| trees().any(|tree| tree.fields.iter().any(|field| field.name.text == name));
        let is_implicit = |name: &str| {
            sent.get(name).is_some_and(|sent| sent.iter().any(|of| of.implicit && of.summary.name == name))
                && !listed(name)
        };
        let explicit = class.fields.iter().filter(|field| !is_implicit(&field.name));
        let hidden: Vec<String> = explicit
            .flat_map(|field| field.sources.iter().filter(|source| **source != field.name))
            .filter(|source| is_implicit(source))
            .cloned()
            .collect();
        class.fields.retain(|field| !hidden.contains(&field.name));
    }

    /// Indexes of the classes of this file a class inherits. Those of the inherited schema, and `default`, are done.
    fn parents(&self, class: &SummaryClassTree) -> Resolved<Vec<usize>> {
        let mut parents = Vec::new();
        for name in &class.inherits {
            match self.tree.summaries.iter().position(|other| other.name.text == name.text) {
                Some(index) => parents.push(index),
                None if name.text == "default" || self.inherited_class(&name.text).is_some() => {}
                None => {
                    let (own, schema) = (&class.name.text, &self.schema.name);
                    let known = self.tree.summaries.iter().map(|other| other.name.text.as_str());
                    let hint = did_you_mean(&name.text, known.chain(["default"]));
                    let message = format!(
                        "document-summary '{own}' in schema '{schema}' inherits '{}', but this is not present in schema \
                         '{schema}'{hint}",
                        name.text
                    );
                    return Err(name.place.reject(message));
                }
            }
        }
        Ok(parents)
    }

    fn inherited_class(&self, class: &str) -> Option<&SummaryClass> {
        self.parent.and_then(|parent| parent.summary_class(class))
    }

    /// Puts an explicit class last into `done`, with what it inherits and what fields sent to it.
    #[inline(never)]
    fn explicit(&self, tree: &SummaryClassTree, done: &mut Vec<SummaryClass>, remarks: &mut Remarks) -> Resolved<()> {
        let found = done.iter().position(|class| class.name == tree.name.text);
        let mut class = found.map_or_else(SummaryClass::default, |index| done.remove(index));
        class.name = tree.name.text.clone();
        class.inherits = tree.inherits.iter().map(|name| name.text.clone()).collect();
        class.from_disk |= tree.from_disk;
        class.omit_summary_features |= tree.omit_summary_features;
        for name in &tree.inherits {
            let own = done.iter().find(|other| other.name == name.text);
            let Some(parent) = own.or_else(|| self.inherited_class(&name.text)) else { continue };
            class.fields = merge_fields(&parent.fields, &class.fields);
            class.omit_summary_features |= parent.omit_summary_features;
        }
        for summary in &tree.fields {
            let mut field = summary_field(summary, None);
            if summary.transform == TransformTree::Unsaid && summary.bolding.is_none() {
                field.transform = self.said_elsewhere(&field, &class, done);
            }
            if summary.data_type.is_some() {
                remarks.warn(format!(
                    "For schema '{}', document-summary '{}', summary field '{}': Specifying the type is deprecated, ignored \
                     and will be an error in Vespa 9. Remove the type specification to silence this warning.",
                    self.schema.name, class.name, field.name
                ));
            }
            check_transform(&field, &summary.name, self.schema)?;
            self.check_sources(&class.name, &field, &summary.name)?;
            if self.has_value(&class.name, &field, remarks) {
                add(&mut class, field);
            }
        }
        if class.name == "default" {
            done.insert(0, class)
        } else {
            done.push(class)
        }
        Ok(())
    }

    /// What the field itself, or the same summary field of `default`, says about the transform.
    fn said_elsewhere(&self, field: &SummaryField, class: &SummaryClass, done: &[SummaryClass]) -> SummaryTransform {
        let default = done.iter().find(|class| class.name == "default");
        let known = class.field(&field.name).or_else(|| default.and_then(|default| default.field(&field.name)));
        known
            .filter(|known| known.sources == field.sources)
            .map_or(SummaryTransform::Full, |known| known.transform.clone())
    }

    fn check_sources(&self, class: &str, field: &SummaryField, name: &Name) -> Resolved<()> {
        let missing = field.sources.iter().find(|source| !self.is_source(source));
        let Some(source) = missing else { return Ok(()) };
        let hint = did_you_mean(source, self.schema.all_fields().map(|field| field.name.as_str()));
        let schema = &self.schema.name;
        Err(name.place.reject(format!(
            "For schema '{schema}', summary class '{class}', summary field '{}': there is no valid source '{source}'{hint}",
            field.name
        )))
    }

    /// Whether a class can show a field: one that is neither `summary` nor `attribute` has nothing to show, and is left out.
    fn has_value(&self, class: &str, field: &SummaryField, remarks: &mut Remarks) -> bool {
        let [source] = &field.sources[..] else { return true };
        let Some(of) = self.schema.field(source) else { return true };
        let top = self.schema.field(source.split('.').next().unwrap_or(source)).unwrap_or(of);
        if [of, top].iter().any(|of| of.indexing.summary || of.indexing.attribute || !of.parts.is_empty()) {
            return true;
        }
        remarks.warn(format!(
            "For schema '{}', document-summary '{class}': Ignoring summary field '{}': field '{source}' is not creating a summary \
             value in its indexing statement",
            self.schema.name, field.name
        ));
        false
    }

    fn is_source(&self, source: &str) -> bool {
        const BUILT_IN: &[&str] = &["documentid", "summaryfeatures", "rankfeatures", "matchfeatures"];
        let position = source.strip_suffix(".position").or_else(|| source.strip_suffix(".distance"));
        let of_position = position.and_then(|name| self.schema.field(name));
        BUILT_IN.contains(&source)
            || self.schema.field(source).is_some()
            || of_position.is_some_and(|field| *field.data_type.element() == DataType::Position)
    }

    /// Checks what fields sent to a class, which has no place of its own.
    fn check(&self, class: &SummaryClass) -> Resolved<()> {
        class.fields.iter().try_for_each(|field| self.check_sources(&class.name, field, &self.tree.name))
    }
}

fn class_of<'c>(classes: &'c mut BTreeMap<String, SummaryClass>, name: &str) -> &'c mut SummaryClass {
    classes.entry(name.to_owned()).or_insert_with(|| SummaryClass { name: name.to_owned(), ..SummaryClass::default() })
}

fn check_transform(field: &SummaryField, name: &Name, schema: &Schema) -> Resolved<()> {
    let Some(source) = field.sources.first().and_then(|source| schema.field(source)) else { return Ok(()) };
    let of = &source.data_type;
    match field.transform {
        SummaryTransform::Bolding if !of.element().is_text() => {
            Err(name.place.reject(format!("'bolding: on' for non-text field '{}' ({of}) is not allowed", source.name)))
        }
        SummaryTransform::Tokens if !of.element().is_text() => Err(name.place.reject(format!(
            "For schema '{}', summary field '{}': 'tokens' is only supported for text fields, not for a field of type {of}",
            schema.name, field.name
        ))),
        SummaryTransform::MatchedElementsOnly | SummaryTransform::SelectElementsBy(_)
            if !matches!(of, DataType::Array(_) | DataType::WeightedSet { .. } | DataType::Map(..)) =>
        {
            Err(name.place.reject(format!(
                "For schema '{}', summary field '{}': elements can be selected only in an array, weightedset or map, not in a \
                 field of type {of}",
                schema.name, field.name
            )))
        }
        _ => Ok(()),
    }
}

/// Adds a field, in the place of one of the same name if there is one.
fn add(class: &mut SummaryClass, field: SummaryField) {
    match class.fields.iter_mut().find(|other| other.name == field.name) {
        Some(other) => *other = field,
        None => class.fields.push(field),
    }
}

/// The fields of `first`, with those of `second` added or in their place.
fn merge_fields(first: &[SummaryField], second: &[SummaryField]) -> Vec<SummaryField> {
    let mut class = SummaryClass { fields: first.to_vec(), ..SummaryClass::default() };
    second.iter().for_each(|field| add(&mut class, field.clone()));
    class.fields
}

fn summary_field(tree: &SummaryTree, bolding: Option<bool>) -> SummaryField {
    let transform = match &tree.transform {
        TransformTree::Dynamic => SummaryTransform::Dynamic,
        TransformTree::MatchedElementsOnly => SummaryTransform::MatchedElementsOnly,
        TransformTree::Tokens => SummaryTransform::Tokens,
        TransformTree::SelectElementsBy(feature) => SummaryTransform::SelectElementsBy(feature.clone()),
        TransformTree::Unsaid | TransformTree::Full if tree.bolding.or(bolding) == Some(true) => {
            SummaryTransform::Bolding
        }
        TransformTree::Unsaid | TransformTree::Full => SummaryTransform::Full,
    };
    let mut sources: Vec<String> = tree.sources.iter().map(|name| name.text.clone()).collect();
    if sources.is_empty() {
        sources.push(tree.name.text.clone());
    }
    SummaryField { name: tree.name.text.clone(), sources, transform }
}
