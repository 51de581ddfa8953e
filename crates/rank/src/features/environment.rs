//! What a feature may look at while it is prepared.

use brooklet_task::{Code, Rejection, did_you_mean};

use crate::match_data::{
    FieldId, FieldInfo, FieldKind, NoStatistics, QueryTerms, RankProperties, RankedTerm, Slot, Statistics,
};

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
            let hint = did_you_mean(name, self.fields.iter().map(|field| field.name.as_str()));
            let message = format!("Field '{}' was not found in the schema{hint}", Rejection::quote(name));
            Rejection::new(Code::InvalidApplication, message)
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
        self.query.all().is_empty() || self.query.ranked_terms().any(|ranked| ranked.slot(field).is_some())
    }

    /// The ranked terms that search `field`, with their slots in it.
    pub fn terms_of_field(&self, field: FieldId) -> impl Iterator<Item = (RankedTerm<'a>, Slot)> + use<'a> {
        self.query.ranked_terms().filter_map(move |ranked| ranked.slot(field).map(|slot| (ranked, slot)))
    }
}
