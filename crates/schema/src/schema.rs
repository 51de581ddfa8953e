//! A schema, resolved: what the rest of the house asks about a document type.
use std::sync::Arc;

use brooklet_document::json::FieldTypes;
use brooklet_document::{DataType, StructType};
use brooklet_task::did_you_mean;

use crate::field::{Field, FieldSet};
use crate::generator::GeneratorConfig;
use crate::rank_profile::RankProfile;
use crate::summary_class::{SummaryClass, SummaryTransform};

/// A document type and how it is searched, ranked and shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// Its name, and that of its document type.
    pub name: String,
    /// Number of the deployment that it came with; 0 where that is not known. A schema that was removed and came again has
    /// another, and none of the documents of before.
    pub life: u32,
    /// Number of the last deployment that gave a field another type than it had before, or one that was removed back; 0: none did.
    pub retyped: u32,
    /// Fields of the document in order, inherited ones first, then those outside the document.
    pub fields: Vec<Field>,
    /// Struct types, inherited ones included.
    pub structs: Vec<Arc<StructType>>,
    /// Field sets.
    pub field_sets: Vec<FieldSet>,
    /// Rank profiles; `default` and `unranked` always exist.
    pub rank_profiles: Vec<RankProfile>,
    /// Summary classes; `default` always exists.
    pub summary_classes: Vec<SummaryClass>,
    /// Document types whose fields were inherited, nearest first: a selection by their name selects this type too.
    pub document_inherits: Vec<String>,
    /// The field generators of the application, if a script calls one.
    pub generators: Vec<Arc<GeneratorConfig>>,
    /// `raw` fields are shown as base64 (always, unless the schema says otherwise).
    pub raw_as_base64_in_summary: bool,
    /// Only a document: it can be stored and got, not queried.
    pub document_only: bool,
    /// The content cluster that has its documents. A document type in several is a schema for each of them.
    pub cluster: String,
    /// Other clusters of the application have documents of the type too.
    pub is_shared: bool,
    /// Its documents are stored under ids that name the cluster: another one has, or had, those that do not.
    pub is_marked: bool,
}

impl Schema {
    /// The field, or part of one (`people.name`), of that name. Aliases are not looked at.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        let top = name.split('.').next().unwrap_or(name);
        let field = self.fields.iter().find(|field| field.name == top)?;
        if top.len() == name.len() { Some(field) } else { field.part(name) }
    }

    /// The field a query means by `name`: a field, a part of one, or an alias of either; where nothing has this very name,
    /// what has it in lower case (yql, names of fields).
    #[must_use]
    pub fn query_field(&self, name: &str) -> Option<&Field> {
        if let Some(field) = self.field_or_alias(name) {
            return Some(field);
        }
        if self.field_set(name).is_some() || self.aliased_set(name).is_some() {
            return None;
        }
        let is_it = |known: &String| is_in_lower_case(known, name);
        self.all_fields().find(|field| is_it(&field.name) || field.aliases.iter().any(is_it))
    }

    /// The field set a query means by `name`, or by an alias of it; likewise in lower case.
    #[must_use]
    pub fn query_field_set(&self, name: &str) -> Option<&FieldSet> {
        if let Some(set) = self.field_set(name) {
            return Some(set);
        }
        if self.field_or_alias(name).is_some() {
            return None;
        }
        let in_lower_case = || self.field_sets.iter().find(|set| is_in_lower_case(&set.name, name));
        self.aliased_set(name).or_else(in_lower_case)
    }

    /// The field, or part of one, of exactly that name or alias.
    #[must_use]
    pub fn field_or_alias(&self, name: &str) -> Option<&Field> {
        let of_alias = || self.all_fields().find(|field| field.aliases.iter().any(|alias| alias == name));
        let of_index = || self.index_alias(name).and_then(|index| self.field(index));
        self.field(name).or_else(of_alias).or_else(of_index)
    }

    fn aliased_set(&self, name: &str) -> Option<&FieldSet> {
        self.index_alias(name).and_then(|index| self.field_set(index))
    }

    /// The index that some field gives this name (`alias default: song`).
    fn index_alias(&self, name: &str) -> Option<&str> {
        let mut given = self.fields.iter().flat_map(|field| &field.index_aliases);
        given.find(|(_, alias)| alias == name).map(|(index, _)| index.as_str())
    }

    /// All fields and all parts of fields, each field before its parts.
    pub fn all_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().flat_map(|field| std::iter::once(field).chain(&field.parts))
    }

    /// `; did you mean 'x'?`, the end of a sentence, where a field or a part of one has nearly this name.
    #[must_use]
    pub fn field_hint(&self, name: &str) -> String {
        did_you_mean(name, self.all_fields().map(|field| field.name.as_str()))
    }

    /// The fields whose values are made by their scripts.
    pub fn made_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields
            .iter()
            .filter(|field| field.origin == crate::field::Origin::Schema && !field.script.statements.is_empty())
    }

    /// The type of a field that can be fed (declared in the document).
    #[must_use]
    pub fn document_field_type(&self, name: &str) -> Option<&DataType> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        (field.origin == crate::field::Origin::Document).then_some(&field.data_type)
    }

    /// The field set of that name.
    #[must_use]
    pub fn field_set(&self, name: &str) -> Option<&FieldSet> {
        self.field_sets.iter().find(|set| set.name == name)
    }

    /// The rank profile of that name.
    #[must_use]
    pub fn rank_profile(&self, name: &str) -> Option<&RankProfile> {
        self.rank_profiles.iter().find(|profile| profile.name == name)
    }

    /// Whether hits show less of a field than is stored, or something else: a teaser, tokens, the elements that matched.
    #[must_use]
    pub fn is_abridged(&self, field: &str) -> bool {
        use SummaryTransform::{Dynamic, MatchedElementsOnly, Tokens};
        let shown = self.summary_class("default").and_then(|class| class.field(field));
        shown.is_some_and(|shown| matches!(shown.transform, Dynamic | MatchedElementsOnly | Tokens))
    }

    /// The summary class of that name.
    #[must_use]
    pub fn summary_class(&self, name: &str) -> Option<&SummaryClass> {
        self.summary_classes.iter().find(|class| class.name == name)
    }
}

fn is_in_lower_case(known: &str, name: &str) -> bool {
    known.len() == name.len() && known.to_lowercase() == name.to_lowercase()
}

/// What can be fed and selected: the fields declared in the document.
impl FieldTypes for Schema {
    fn data_type(&self, field: &str) -> Option<&DataType> {
        self.document_field_type(field)
    }

    fn names(&self) -> Vec<&str> {
        let fields = self.fields.iter().filter(|field| field.origin == crate::field::Origin::Document);
        fields.map(|field| field.name.as_str()).collect()
    }
}
