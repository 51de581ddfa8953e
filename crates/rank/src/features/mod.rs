//! Rank features computed from match data: one file per feature (or family), each with its formula.
//!
//! A feature is prepared once per query ([`prepare`], or [`FeatureSet::prepare`] for all a program needs) and executed
//! for every document. Features made from document values alone (`attribute`, `query`, `closeness`, `now` …) belong to
//! the search crate; the arithmetic they share is in [`age`] and [`crate::distance`].
//!
//! Preparing with an empty query is the check at deployment: whatever is wrong with a feature's name, parameters or
//! properties is found without any term.

pub mod age;
pub mod registry;

mod attribute_match;
pub mod bm25;
mod call;
mod element_completeness;
mod element_similarity;
mod elementwise;
mod feature_set;
mod field_info;
mod field_length;
mod field_match;
mod field_term_match;
mod flow_completeness;
mod group_statistics;
mod jaro_winkler_distance;
mod labels;
mod match_score;
mod matches;
mod native_attribute_match;
mod native_dot_product;
mod native_field_match;
mod native_proximity;
mod native_rank;
mod properties;
mod proximity;
mod query_completeness;
mod table;
mod term;
mod term_distance;
mod term_edit_distance;
mod term_field_md;
mod text_similarity;
mod value;

pub use feature_set::{FeatureRequest, FeatureSet};
pub use registry::{Home, home, prepare};

use crate::match_data::{
    FieldId, FieldInfo, FieldKind, MatchData, NoStatistics, QueryTerms, RankProperties, RankedTerm, Slot, Statistics,
};
use brooklet_document::{Tensor, TensorType};
use brooklet_task::{Code, Rejection};
use std::sync::Arc;

/// A feature made ready for one query.
pub trait Executor {
    /// Computes all outputs for the document in `data`; `outputs` has the length of [`Prepared::outputs`].
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]);

    /// The value of a feature that is a tensor ([`Prepared::tensor_type`]); nothing of one that is numbers.
    fn tensor(&mut self, data: &MatchData) -> Option<Tensor> {
        let _ = data;
        None
    }

    /// The feature as a sum over terms, if that is what it is: it can be computed a term at a time then.
    fn bm25(&self) -> Option<&bm25::Bm25> {
        None
    }

    /// The attributes whose [content](MatchData::record_content) must be recorded for the feature.
    fn counted_attributes(&self) -> Vec<FieldId> {
        Vec::new()
    }
}

/// A feature made ready for one query, with the names of what it computes.
pub struct Prepared {
    /// `name(parameters)`, for messages.
    pub text: String,
    /// Names of the outputs; the first is the one meant by a feature without `.output`.
    pub outputs: Vec<String>,
    /// The type of the value, if it is a tensor instead of numbers; it has one output then.
    pub tensor_type: Option<Arc<TensorType>>,
    /// What computes them.
    pub executor: Box<dyn Executor>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Prepared").field("text", &self.text).field("outputs", &self.outputs).finish()
    }
}

impl Prepared {
    /// Index of the output called `name`, or of the first if there is no name.
    ///
    /// # Errors
    /// If there is no such output.
    pub fn output(&self, name: Option<&str>) -> Result<usize, Rejection> {
        let Some(name) = name else { return Ok(0) };
        self.outputs.iter().position(|output| output == name).ok_or_else(|| {
            let known = self.outputs.join(", ");
            let message =
                format!("Rank feature '{}' has no output '{}' (it has {known})", self.text, Rejection::quote(name));
            Rejection::new(Code::InvalidApplication, message)
        })
    }
}

/// Everything a feature may look at while it is prepared.
#[derive(Clone, Copy)]
pub struct FeatureEnvironment<'a> {
    /// The schema's fields.
    pub fields: &'a [FieldInfo],
    /// The query's terms; empty when an application is checked at deployment.
    pub query: &'a QueryTerms,
    /// Rank properties of the profile, overlaid with those of the request.
    pub properties: &'a RankProperties,
    /// What is known of the group as a whole.
    pub statistics: &'a dyn Statistics,
}

impl<'a> FeatureEnvironment<'a> {
    /// An environment without statistics, which is streaming search as it is.
    #[must_use]
    pub fn new(
        fields: &'a [FieldInfo],
        query: &'a QueryTerms,
        properties: &'a RankProperties,
    ) -> FeatureEnvironment<'a> {
        FeatureEnvironment { fields, query, properties, statistics: &NoStatistics }
    }

    /// The field called `name`.
    ///
    /// # Errors
    /// If the schema has none.
    pub fn field(&self, name: &str) -> Result<&'a FieldInfo, Rejection> {
        self.fields.iter().find(|field| field.name == name).ok_or_else(|| {
            Rejection::new(
                Code::InvalidApplication,
                format!("Field '{}' was not found in the schema", Rejection::quote(name)),
            )
        })
    }

    /// The field called `name`, which must be searched as tokenised text.
    ///
    /// # Errors
    /// If the schema has no such field, or it is an attribute.
    pub fn index_field(&self, name: &str) -> Result<&'a FieldInfo, Rejection> {
        self.field_of_kind(name, FieldKind::Index, "an index field")
    }

    /// The field called `name`, which must be an attribute.
    ///
    /// # Errors
    /// If the schema has no such field, or it is an index.
    pub fn attribute_field(&self, name: &str) -> Result<&'a FieldInfo, Rejection> {
        self.field_of_kind(name, FieldKind::Attribute, "an attribute field")
    }

    fn field_of_kind(&self, name: &str, kind: FieldKind, wanted: &str) -> Result<&'a FieldInfo, Rejection> {
        let field = self.field(name)?;
        if field.kind == kind {
            return Ok(field);
        }
        Err(Rejection::new(Code::InvalidApplication, format!("Field '{}' is not {wanted}", field.name)))
    }

    /// Whether a feature has to be ready for hits in `field`: some ranked term searches it, or there is no query
    /// because an application is checked.
    #[must_use]
    pub fn may_be_hit(&self, field: FieldId) -> bool {
        self.query.all().is_empty() || self.query.ranked().any(|ranked| ranked.slot(field).is_some())
    }

    /// The ranked terms that search `field`, with their slots in it.
    pub fn terms_of_field(&self, field: FieldId) -> impl Iterator<Item = (RankedTerm<'a>, Slot)> + use<'a> {
        self.query.ranked().filter_map(move |ranked| ranked.slot(field).map(|slot| (ranked, slot)))
    }
}
