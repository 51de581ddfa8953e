//! Syntax trees to schemas: inheritance, types, defaults. Refuses what contradicts itself; what only streaming mode
//! forbids is `validate`'s.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_task::limits::FIELDS;
use brooklet_task::{Rejection, did_you_mean};

use crate::field::{Field, Origin};
use crate::indexing::made::MadeField;
use crate::place::SourcePlace;
use crate::rank_profile::RankProfile;
use crate::remarks::Remarks;
use crate::schema::Schema;
use crate::sd::settings::duplicate;
use crate::sd::tree::{Name, SchemaTree};

mod agreement;
mod field_sets;
mod fields;
mod matching;
mod order;
mod outcome;
pub(crate) mod profiles;
mod summaries;
mod tuning;
mod types;
mod values;

use fields::FieldResolver;
use outcome::Resolved;
use types::Structs;

/// Parts of all fields of a schema.
const PARTS_MAX: usize = 4_096;

/// A schema, and what is to be said about it once it is known which cluster serves it.
#[derive(Debug)]
pub(crate) struct ResolvedSchema {
    pub(crate) schema: Arc<Schema>,
    /// Place of its name.
    pub(crate) place: SourcePlace,
    /// What holds wherever it is served.
    pub(crate) remarks: Remarks,
    /// Fields with `index { hnsw }` or `index` on a tensor.
    pub(crate) hnsw_fields: Vec<String>,
    /// Fields with `attribute: fast-search`.
    fast_search_fields: Vec<String>,
    /// Names of imported fields.
    pub(crate) imports: Vec<Name>,
    /// What its fields send to summary classes, for those that inherit them.
    sent: summaries::SentByField,
}

/// Resolves all schemas of a package.
///
/// # Errors
/// If one of them is contradictory, or they contradict each other.
pub(crate) fn schemas(trees: &[SchemaTree]) -> Resolved<Vec<ResolvedSchema>> {
    crate::sd::settings::unique(trees.iter().map(|tree| &tree.name), "schema")?;
    let parents = trees.iter().map(|tree| parents_of(tree, trees)).collect::<Resolved<Vec<_>>>()?;
    let order = order::parents_first(&parents).map_err(|index| {
        let name = &trees[index].name;
        name.place.reject(format!("schema '{}' inherits itself", name.text))
    })?;
    let mut done: BTreeMap<&str, ResolvedSchema> = BTreeMap::new();
    for index in order {
        let tree = &trees[index];
        let resolved = schema(tree, &done)?;
        done.insert(&tree.name.text, resolved);
    }
    Ok(done.into_values().collect())
}

/// Indexes of the schemas whose schema or document this one inherits.
fn parents_of(tree: &SchemaTree, trees: &[SchemaTree]) -> Resolved<Vec<usize>> {
    let documents = tree.document.iter().flat_map(|document| &document.inherits);
    let mut parents = Vec::new();
    for (name, what) in
        tree.inherits.iter().map(|name| (name, "schema")).chain(documents.map(|name| (name, "document")))
    {
        if what == "document" && name.text == "document" {
            continue; // The root type, which every document has anyway.
        }
        let Some(parent) = trees.iter().position(|other| other.name.text == name.text) else {
            let hint = did_you_mean(&name.text, trees.iter().map(|other| other.name.text.as_str()));
            let owner = &tree.name.text;
            let message =
                format!("{what} '{owner}' inherits '{}', but this is not found{hint}", Rejection::quote(&name.text));
            return Err(name.place.reject(message));
        };
        parents.push(parent);
    }
    Ok(parents)
}

fn schema(tree: &SchemaTree, done: &BTreeMap<&str, ResolvedSchema>) -> Resolved<ResolvedSchema> {
    let name = &tree.name.text;
    let Some(document) = &tree.document else {
        return Err(tree.name.place.reject(format!("schema '{name}' has no document")));
    };
    if document.name.text != *name {
        let message = format!("document '{}' must have the name of its schema, '{name}'", document.name.text);
        return Err(document.name.place.reject(message));
    }
    let parent = tree.inherits.as_ref().map(|parent| (parent, &done[parent.text.as_str()].schema));
    if let Some((parent, _)) = parent
        && !document.inherits.iter().any(|inherited| inherited.text == parent.text)
    {
        let message = format!("schema '{name}' inherits '{0}', so its document must inherit '{0}' too", parent.text);
        return Err(parent.place.reject(message));
    }
    let parent = parent.map(|(_, schema)| schema);
    let inherited: Vec<&Arc<Schema>> = inherited_documents(tree, done).map(|of| &of.schema).collect();
    let mut structs = Structs::resolve(tree, &inherited)?;
    let mut resolver = FieldResolver::new(name, &mut structs);
    let mut fields = inherited_fields(tree, &inherited, parent)?;
    check_names(tree, &fields)?;
    let own = document.fields.iter().map(|field| (field, Origin::Document));
    for (field, origin) in own.chain(tree.fields.iter().map(|field| (field, Origin::Schema))) {
        add(&mut fields, resolver.field(field, origin)?, tree).map_err(|message| field.name.place.reject(message))?;
        check_count(tree, &fields)?;
    }
    let FieldResolver { mut remarks, mut hnsw_fields, mut fast_search_fields, .. } = resolver;
    check_ids(tree, &fields, &mut remarks);
    let declared = summaries::declared_types(tree, &mut structs);
    remarks.objections.append(&mut structs.objections);
    check_aliases(tree, &fields, &mut remarks);
    check_made(name, &fields)?;
    check_inputs(name, &fields, &mut remarks);
    let is_own = |name: &String| document.fields.iter().chain(&tree.fields).any(|field| field.name.text == *name);
    for of in inherited_documents(tree, done) {
        hnsw_fields.extend(of.hnsw_fields.iter().filter(|name| !is_own(name)).cloned());
        fast_search_fields.extend(of.fast_search_fields.iter().filter(|name| !is_own(name)).cloned());
    }
    remarks.add(tree.remarks.clone());
    let mut schema = Schema {
        name: name.clone(),
        fields,
        structs: structs.into_types(),
        document_inherits: ancestors(&inherited),
        raw_as_base64_in_summary: tree.raw_as_base64.or(parent.map(|of| of.raw_as_base64_in_summary)).unwrap_or(true),
        document_only: tree.document_only,
        ..Schema::default()
    };
    schema.field_sets = field_sets::field_sets(tree, &schema, parent, &mut remarks)?;
    let inherited_sent: Vec<_> = inherited_documents(tree, done).map(|of| &of.sent).collect();
    let sent = summaries::sent(tree, &schema, &inherited_sent)?;
    schema.summary_classes = summaries::classes(tree, &schema, &sent, parent, &mut remarks)?;
    summaries::check_types(&schema, &declared, &mut remarks);
    let further = further_profiles(&schema.document_inherits, done);
    schema.rank_profiles = profiles::profiles(tree, &schema, (parent, &further), &mut remarks)?;
    tuning::check(tree, &schema, &fast_search_fields, &mut remarks);
    remarks.warnings.extend(tree.indexes.iter().map(|index| {
        format!("{}: index '{}' outside a field has no effect in streaming search", index.place, index.text)
    }));
    Ok(ResolvedSchema {
        schema: Arc::new(schema),
        place: tree.name.place.clone(),
        remarks,
        hnsw_fields,
        fast_search_fields,
        imports: tree.imports.clone(),
        sent,
    })
}

fn inherited_documents<'d>(
    tree: &'d SchemaTree,
    done: &'d BTreeMap<&str, ResolvedSchema>,
) -> impl Iterator<Item = &'d ResolvedSchema> {
    let names = tree.document.iter().flat_map(|document| &document.inherits);
    names.filter_map(|name| done.get(name.text.as_str()))
}

/// Rank profiles of the schemas whose documents are inherited: a profile may inherit them, and none is asked for by itself.
fn further_profiles<'d>(documents: &[String], done: &'d BTreeMap<&str, ResolvedSchema>) -> Vec<&'d RankProfile> {
    let schemas = documents.iter().filter_map(|name| done.get(name.as_str()));
    schemas.flat_map(|of| &of.schema.rank_profiles).collect()
}

/// Document types inherited, nearest first, each once.
fn ancestors(inherited: &[&Arc<Schema>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let further = inherited.iter().flat_map(|schema| schema.document_inherits.iter());
    for name in inherited.iter().map(|schema| &schema.name).chain(further) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Fields of the inherited documents, and those an inherited schema has outside its document.
fn inherited_fields(
    tree: &SchemaTree,
    inherited: &[&Arc<Schema>],
    parent: Option<&Arc<Schema>>,
) -> Resolved<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    let documents = inherited.iter().flat_map(|schema| schema.fields.iter().filter(|f| f.origin == Origin::Document));
    let outside = parent.into_iter().flat_map(|schema| schema.fields.iter().filter(|f| f.origin == Origin::Schema));
    for field in documents.chain(outside) {
        add(&mut fields, field.clone(), tree).map_err(|message| tree.name.place.reject(message))?;
    }
    Ok(fields)
}

/// Adds a field, in the place of the one of its name that is inherited, if there is one: what is said last holds, of the same
/// type, as a document is read as one of the inherited type too.
fn add(fields: &mut Vec<Field>, field: Field, tree: &SchemaTree) -> Result<(), String> {
    let Some(other) = fields.iter_mut().find(|other| other.name == field.name) else {
        fields.push(field);
        return Ok(());
    };
    if other.origin != field.origin {
        return Err(format!("field '{}' is inherited already", field.name));
    }
    if other.data_type != field.data_type {
        let (name, own, inherited) = (&field.name, &field.data_type, &other.data_type);
        let document = &tree.name.text;
        return Err(format!(
            "field '{name}' of document '{document}' is of type {own}, but is inherited as {inherited}"
        ));
    }
    *other = field;
    Ok(())
}

/// Checks the scripts of the fields outside the document, against the fields in it.
fn check_made(schema: &str, fields: &[Field]) -> Resolved<()> {
    let document: Vec<Field> = fields.iter().filter(|field| field.origin == Origin::Document).cloned().collect();
    let made = fields.iter().filter(|field| field.origin == Origin::Schema);
    let check = |field| MadeField { schema, field, document: &document, variables: RefCell::default() }.check();
    made.into_iter().try_for_each(check)
}

/// Objects to what scripts of the document compare that is no field of the document: there is nothing else that they read.
fn check_inputs(schema: &str, fields: &[Field], remarks: &mut Remarks) {
    let document = || fields.iter().filter(|field| field.origin == Origin::Document);
    for field in document() {
        for (input, place) in field.script.inputs() {
            if !document().any(|other| other.name == input) {
                let hint = did_you_mean(input, document().map(|other| other.name.as_str()));
                let about = format!("For schema '{schema}', field '{}'", field.name);
                remarks.object(place.reject(format!("{about}: '{input}' is no field of the document{hint}")));
            }
        }
    }
}

/// Refuses more fields, or more parts of fields, than a schema can have.
fn check_count(tree: &SchemaTree, fields: &[Field]) -> Resolved<()> {
    if fields.len() > FIELDS {
        return Err(tree.name.place.reject(format!("a schema has at most {FIELDS} fields")));
    }
    if fields.iter().map(|field| field.parts.len()).sum::<usize>() > PARTS_MAX {
        return Err(tree.name.place.reject(format!("the structs of a schema have at most {PARTS_MAX} parts")));
    }
    Ok(())
}

/// No two fields have the same further name, and none has the name of a field.
fn check_aliases(tree: &SchemaTree, fields: &[Field], remarks: &mut Remarks) {
    let mut seen = std::collections::BTreeSet::new();
    let of_others = |field: &'_ Field| field.index_aliases.clone().into_iter().map(|(_, alias)| alias);
    for alias in fields.iter().flat_map(|field| field.aliases.iter().cloned().chain(of_others(field))) {
        let reason = match fields.iter().find(|field| field.name == alias) {
            Some(field) if field.indexing.attribute => "is illegal since it is the name of an attribute",
            Some(_) => "is illegal since it is the name of an index",
            None if !seen.insert(alias.clone()) => "specified more than once",
            None => continue,
        };
        let message = format!("For schema '{}': alias '{alias}' {reason}.", tree.name.text);
        remarks.object(tree.name.place.reject(message));
    }
}

/// Ids that fields cannot have.
const IDS_RESERVED: std::ops::RangeInclusive<i64> = 100..=127;

/// No two fields of a document have the same id, and none has one that is not for fields.
fn check_ids(tree: &SchemaTree, fields: &[Field], remarks: &mut Remarks) {
    let mut seen: BTreeMap<i64, &Name> = BTreeMap::new();
    let of = |name: &Name| {
        let field = fields.iter().find(|field| field.name == name.text);
        field.map_or_else(String::new, |field| field.data_type.to_string())
    };
    for field in tree.document.iter().flat_map(|document| &document.fields) {
        if let Some(id) = field.id.filter(|id| *id < 0 || IDS_RESERVED.contains(id)) {
            let (name, lowest, highest) = (&field.name, IDS_RESERVED.start(), IDS_RESERVED.end());
            let message =
                format!("field '{}' cannot have the id {id}: not below 0, nor from {lowest} to {highest}", name.text);
            remarks.object(name.place.reject(message));
        }
        let Some(first) = field.id.and_then(|id| seen.insert(id, &field.name)) else { continue };
        remarks.object(field.name.place.reject(format!(
            "Couldn't set id of field '{}' of type {} to {}, field '{}' of type {} already has this id in document type '{}'",
            field.name.text,
            of(&field.name),
            field.id.unwrap_or_default(),
            first.text,
            of(first),
            tree.name.text
        )));
    }
    let structs = tree.document.iter().flat_map(|document| &document.structs).chain(&tree.structs);
    for of in structs {
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = of.fields.iter().find(|field| field.id.is_some_and(|id| !seen.insert(id))) {
            let (name, of) = (&twice.name, &of.name.text);
            let message = format!("Couldn't set id of field '{}': another field of struct '{of}' has it", name.text);
            remarks.object(name.place.reject(message));
        }
    }
}

/// Refuses names that occur twice, in whatever case, or are inherited in another.
fn check_names(tree: &SchemaTree, inherited: &[Field]) -> Resolved<()> {
    let schema = &tree.name.text;
    let mut seen: BTreeMap<String, &Name> = BTreeMap::new();
    let document = tree.document.iter().flat_map(|document| &document.fields).map(|field| (&field.name, true));
    for (name, in_document) in document.chain(tree.fields.iter().map(|field| (&field.name, false))) {
        // The same name is that of the same field, which is declared again.
        if inherited.iter().any(|field| field.name != name.text && field.name.eq_ignore_ascii_case(&name.text)) {
            return Err(name.place.reject(format!("field '{}' is inherited already", name.text)));
        }
        let Some(first) = seen.insert(name.text.to_lowercase(), name) else { continue };
        if first.text == name.text && in_document {
            return Err(duplicate(name, first, "field"));
        }
        let message = if in_document {
            format!(
                "document '{schema}' error: Duplicate (case insensitively) field '{}' in document type '{schema}'",
                name.text
            )
        } else {
            format!("schema '{schema}' error: duplicate field '{}': Also defined as a document field", name.text)
        };
        return Err(name.place.reject(format!("{message}, at {}", first.place)));
    }
    Ok(())
}
