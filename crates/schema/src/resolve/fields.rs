//! Fields with their parts.
use std::collections::BTreeMap;

use brooklet_document::DataType;
use brooklet_task::{Rejection, did_you_mean};

use super::matching::{match_settings, rank_mode, sorting};
use super::outcome::Resolved;
use super::types::{Structs, legal_name};
use crate::field::{Field, Origin, Roles, WEIGHT};
use crate::indexing::Script;
use crate::indexing::analyze::ScriptOwner;
use crate::match_settings::MatchKind;
use crate::place::SourcePlace;
use crate::remarks::Remarks;
use crate::sd::tree::{DictionaryTree, FieldBody, FieldTree, MatchTree, Name, TransformTree};

/// Resolves the fields of one schema, gathering what is to be said about them.
pub(super) struct FieldResolver<'t, 's> {
    schema: &'t str,
    structs: &'s mut Structs<'t>,
    /// What holds wherever the schema is served.
    pub(super) remarks: Remarks,
    /// Fields with an index of vectors, which streaming mode does not have.
    pub(super) hnsw_fields: Vec<String>,
    /// Fields with `attribute: fast-search`.
    pub(super) fast_search_fields: Vec<String>,
}

/// The struct-fields of a field, by their path below it.
type Bodies<'b> = BTreeMap<String, (&'b Name, &'b FieldBody)>;

impl<'t, 's> FieldResolver<'t, 's> {
    pub(super) fn new(schema: &'t str, structs: &'s mut Structs<'t>) -> FieldResolver<'t, 's> {
        FieldResolver {
            schema,
            structs,
            remarks: Remarks::default(),
            hnsw_fields: Vec::new(),
            fast_search_fields: Vec::new(),
        }
    }

    /// A field of the document or of the schema.
    pub(super) fn field(&mut self, tree: &FieldTree, origin: Origin) -> Resolved<Field> {
        legal_name(&tree.name, self.schema)?;
        let data_type = self.field_type(tree)?;
        let script = match origin {
            Origin::Document => self.script(&tree.name, &tree.name.text, &tree.body)?,
            // Checked when all fields of the document are known.
            Origin::Schema => tree.body.indexing.clone().unwrap_or_default(),
        };
        self.remarks.objections.extend(script.conflict().map(|output| {
            let (schema, name) = (self.schema, &tree.name.text);
            let message =
                format!("Invalid expression '{output}': Attempting to assign conflicting values to field '{name}'");
            output.place.reject(format!("For schema '{schema}', field '{name}': {message}"))
        }));
        self.remarks.objections.extend(misfit(self.schema, &tree.name, &data_type, script.roles(&tree.name.text)));
        let (roles, script) = self.roles(&tree.name, &data_type, script);
        self.check(tree, &data_type, roles)?;
        if tree.body.mutable && origin == Origin::Document {
            let (name, schema) = (&tree.name.text, self.schema);
            let message =
                format!("Field '{name}' in '{schema}' cannot be marked mutable as it is inside the document clause.");
            self.remarks.object(tree.name.place.reject(message));
        }
        let mut field = resolve_type(tree.name.text.clone(), data_type, origin, &tree.body, None, roles);
        field.script = script;
        field.parts = self.parts(&field, &tree.body)?;
        Ok(field)
    }

    fn field_type(&mut self, tree: &FieldTree) -> Resolved<DataType> {
        let mut data_type = self.structs.data_type(&tree.data_type)?;
        let body = &tree.body;
        if let DataType::WeightedSet { create_if_nonexistent, remove_if_zero, .. } = &mut data_type {
            *create_if_nonexistent |= body.create_if_nonexistent;
            *remove_if_zero |= body.remove_if_zero;
        } else if body.create_if_nonexistent || body.remove_if_zero {
            let message = format!("field '{}' is no weightedset, so it has no such settings", tree.name.text);
            return Err(tree.name.place.reject(message));
        }
        Ok(data_type)
    }

    fn script(&self, name: &Name, field: &str, body: &FieldBody) -> Resolved<Script> {
        let Some(script) = &body.indexing else { return Ok(Script::default()) };
        script.check(&ScriptOwner { schema: self.schema, field, own: &name.text })?;
        Ok(script.clone().with_input(&name.text))
    }

    /// The roles of a field, and its script: an index of numbers is an attribute.
    fn roles(&mut self, name: &Name, data_type: &DataType, script: Script) -> (Roles, Script) {
        let mut roles = script.roles(&name.text);
        let element = data_type.element();
        if !roles.index || !(element.is_numeric() || *element == DataType::Bool) {
            return (roles, script);
        }
        roles.index = false;
        roles.attribute = true;
        self.remarks.warn(format!(
            "For schema '{}', field '{}': Changed to attribute because numerical indexes (field has type {data_type}) is not \
             currently supported. Index-only settings may fail. Ignore this warning for streaming search.",
            self.schema, name.text
        ));
        (roles, script.with_attribute_for_index())
    }

    fn check(&mut self, tree: &FieldTree, data_type: &DataType, roles: Roles) -> Resolved<()> {
        let (name, body) = (&tree.name, &tree.body);
        let about = format!("For schema '{}', field '{}'", self.schema, name.text);
        if body.matching.kind == Some(MatchKind::Gram) && roles.attribute && !roles.index {
            let message = "gram matching is not supported with attributes, use 'index' in indexing";
            return Err(name.place.reject(format!("{about}: {message}")));
        }
        if let Some(place) = body.attribute_settings.as_ref().filter(|_| !roles.attribute) {
            let message = format!("Attribute '{0}' in field '{0}' is not created by the indexing statement", name.text);
            self.remarks.object(place.reject(message));
        }
        if let DataType::Tensor(of) = data_type {
            if roles.index && !roles.attribute {
                let message = "A tensor that has an index must also be an attribute.";
                return Err(name.place.reject(format!("{about}: {message}")));
            }
            if roles.index && of.indexed().count() != 1 {
                self.remarks.object(name.place.reject(format!(
                    "{about}: A tensor of type '{of}' does not support having an 'index'. Currently, only tensors with 1 \
                     indexed dimension or 1 mapped + 1 indexed dimension support that."
                )));
            }
            if roles.index || body.hnsw {
                self.hnsw_fields.push(name.text.clone());
            }
        } else if let Some((_, place)) = &body.distance_metric {
            self.remarks.warn(format!("{place}: {about}: distance-metric has no effect, the field is no tensor"));
        }
        let bolded = body.bolding == Some(true) || body.summaries.iter().any(|summary| summary.bolding == Some(true));
        if bolded && !data_type.element().is_text() {
            let message = format!("'bolding: on' for non-text field '{}' ({data_type}) is not allowed", name.text);
            return Err(name.place.reject(message));
        }
        let dynamic = body.summaries.iter().any(|summary| matches!(summary.transform, TransformTree::Dynamic));
        if dynamic && !data_type.element().is_text() {
            let message = format!("'summary: dynamic' for non-text field '{}' ({data_type}) is not allowed", name.text);
            self.remarks.object(name.place.reject(message));
        }
        let gram_size = match body.matching.gram_size {
            Some(0) => Some(format!("Illegal gram size in field '{}': Must be at least 1", name.text)),
            Some(_) if body.matching.kind != Some(MatchKind::Gram) => {
                Some(format!("{about}: gram-size can only be set when the matching mode is 'gram'"))
            }
            _ => None,
        };
        self.remarks.objections.extend(gram_size.map(|message| name.place.reject(message)));
        if body.fast_search && roles.attribute {
            self.fast_search_fields.push(name.text.clone());
        }
        if roles.attribute && body.matching.cased.is_some() && data_type.element().is_numeric() {
            let word = if body.matching.cased == Some(true) { "cased" } else { "uncased" };
            self.remarks.warn(format!("{about}: 'match: {word}' is only used for string fields, ignoring it."));
        }
        if *data_type == DataType::Predicate && body.said.contains("index") && body.arity.is_none_or(|arity| arity < 2)
        {
            let message = format!("{about}: the index of a predicate needs an arity above 1");
            self.remarks.object(name.place.reject(message));
        }
        self.remarks.objections.extend(misused_dictionary(body, &about, data_type, roles));
        let cased = body.matching.cased.unwrap_or(false);
        check_dictionary(&body.dictionary, &about, &name.place, data_type.element().is_text(), cased)
    }

    /// All parts of a struct, array of structs or map, in the order of the type.
    fn parts(&mut self, field: &Field, body: &FieldBody) -> Resolved<Vec<Field>> {
        let mut bodies = Bodies::new();
        flatten(&body.struct_fields, "", &mut bodies)?;
        let mut paths = Vec::new();
        part_types(&field.data_type, "", &mut paths);
        let mut parts = Vec::new();
        for (path, data_type) in &paths {
            let inner = bodies.remove(path.as_str());
            parts.push(self.part(field, body, path, data_type, inner)?);
        }
        let Some((path, (name, _))) = bodies.pop_first() else { return Ok(parts) };
        let hint = did_you_mean(&path, paths.iter().map(|(path, _)| path.as_str()));
        let message = format!("field '{}' of type {} has no part '{path}'{hint}", field.name, field.data_type);
        Err(name.place.reject(message))
    }

    fn part(
        &self,
        field: &Field,
        around: &FieldBody,
        path: &str,
        data_type: &DataType,
        inner: Option<(&Name, &FieldBody)>,
    ) -> Resolved<Field> {
        let nothing = FieldBody::default();
        let name = format!("{}.{path}", field.name);
        let body = inner.map_or(&nothing, |(_, body)| body);
        let script = match inner {
            Some((own, body)) => self.script(own, &name, body)?,
            None => Script::default(),
        };
        let own = inner.map_or(Roles::default(), |(own, _)| script.roles(&own.text));
        let roles = Roles { index: own.index || field.indexing.index, ..own };
        let mut part = resolve_type(name, data_type.clone(), field.origin, body, Some(&around.matching), roles);
        part.script = script;
        Ok(part)
    }
}

/// An objection to outputs that fields of a type do not have.
fn misfit(schema: &str, name: &Name, data_type: &DataType, roles: Roles) -> Option<Rejection> {
    let (element, field) = (data_type.element(), &name.text);
    let about = format!("For schema '{schema}', field '{field}'");
    let (is_single, is_struct) = (element == data_type, matches!(element, DataType::Struct(_)));
    let message = match element {
        DataType::Bool if roles.index => {
            format!(
                "Invalid schema '{schema}': field '{field}': Don't know which index type to convert datatype bool to"
            )
        }
        DataType::Position if roles.index => {
            format!(
                "{about}: Indexing of data type '{data_type}' is not supported, replace 'index' statement with 'attribute'."
            )
        }
        DataType::Raw if roles.index && is_single => format!("{about}: Indexing of RAW fields is not supported."),
        DataType::Raw if roles.attribute && !is_single => {
            format!("{about}: Only single value raw attribute fields are supported")
        }
        DataType::Uri if roles.attribute && is_single => {
            format!("Error in field '{field}' in schema '{schema}': uri type fields cannot be attributes")
        }
        DataType::Predicate if !is_single => format!("{about}: Collections of predicates are not allowed."),
        DataType::Predicate if roles.index => format!("{about}: Use 'attribute' instead of 'index'."),
        DataType::Uri | DataType::Array(_) | DataType::WeightedSet { .. } if roles.attribute && !is_single => {
            format!("{about}: Incompatible types. Expected {data_type} for attribute '{field}', got Array<string>.")
        }
        DataType::Map(..) | DataType::Struct(_) if roles.attribute && !(is_single && is_struct) => {
            let shown = data_type.to_string().replacen("Array<", "array<", 1).replacen("Map<", "map<", 1);
            format!(
                "For schema '{schema}': Field '{field}' of type '{shown}' cannot be an attribute. Instead specify the struct \
                 fields to be searchable as attribute"
            )
        }
        _ => return None,
    };
    Some(name.place.reject(message))
}

/// A field or part from what was said about it.
fn resolve_type(
    name: String,
    data_type: DataType,
    origin: Origin,
    body: &FieldBody,
    around: Option<&MatchTree>,
    indexing: Roles,
) -> Field {
    let matching = match_settings(&body.matching, around, &data_type, indexing);
    Field {
        name,
        origin,
        indexing,
        script: Script::default(),
        rank: rank_mode(body.rank, &matching),
        rank_type: body.rank_type.unwrap_or_default(),
        weight: body.weight.unwrap_or(WEIGHT),
        distance_metric: body.distance_metric.as_ref().map(|(metric, _)| *metric).unwrap_or_default(),
        sorting: sorting(&body.sorting),
        aliases: body.aliases.clone(),
        index_aliases: body.index_aliases.clone(),
        phrase_segmenting: body.phrase_segmenting,
        mutable: body.mutable,
        parts: Vec::new(),
        data_type,
        matching,
    }
}

/// An objection to a dictionary of a kind that the attribute cannot have.
fn misused_dictionary(body: &FieldBody, about: &str, data_type: &DataType, roles: Roles) -> Option<Rejection> {
    let place = body.dictionary.kind.as_ref().filter(|_| roles.attribute)?;
    let element = data_type.element();
    let message = match element {
        _ if element.is_numeric() && body.fast_search => return None,
        _ if element.is_numeric() => "You must specify 'attribute:fast-search' to allow dictionary control",
        DataType::String => return None,
        _ => "You can only specify 'dictionary:' for numeric or string fields",
    };
    Some(place.reject(format!("{about}: {message}")))
}

/// A dictionary has no effect, but one that contradicts the match is refused as elsewhere.
fn check_dictionary(
    tree: &DictionaryTree,
    about: &str,
    place: &SourcePlace,
    is_text: bool,
    cased: bool,
) -> Resolved<()> {
    if !is_text {
        return Ok(());
    }
    if let (Some(place), false) = (&tree.hash, cased) {
        return Err(place.reject(format!("{about}: hash dictionary require cased match")));
    }
    match tree.cased {
        Some(dictionary) if dictionary != cased => {
            let word = |cased: bool| if cased { "CASED" } else { "UNCASED" };
            let message = format!(
                "{about}: Dictionary casing '{}' does not match field match casing '{}'",
                word(dictionary),
                word(cased)
            );
            Err(place.reject(message))
        }
        _ => Ok(()),
    }
}

/// Puts struct-fields, and those inside them, under their path.
fn flatten<'b>(trees: &'b [crate::sd::tree::StructFieldTree], prefix: &str, bodies: &mut Bodies<'b>) -> Resolved<()> {
    for tree in trees {
        let path = format!("{prefix}{}", tree.name.text);
        flatten(&tree.body.struct_fields, &format!("{path}."), bodies)?;
        if let Some((first, _)) = bodies.insert(path, (&tree.name, &tree.body)) {
            return Err(crate::sd::settings::duplicate(&tree.name, first, "struct-field"));
        }
    }
    Ok(())
}

/// Paths and types of all parts of a type, each before its own parts.
fn part_types(of: &DataType, prefix: &str, paths: &mut Vec<(String, DataType)>) {
    let mut add = |name: &str, of: &DataType| {
        let path = format!("{prefix}{name}");
        paths.push((path.clone(), of.clone()));
        part_types(of, &format!("{path}."), paths);
    };
    match of {
        DataType::Array(element) => part_types(element, prefix, paths),
        DataType::Struct(of) => of.fields.iter().for_each(|field| add(&field.name, &field.data_type)),
        DataType::Map(key, value) => {
            add("key", key);
            add("value", value);
        }
        _ => {}
    }
}
