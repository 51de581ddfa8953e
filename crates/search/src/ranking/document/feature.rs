//! A feature of the values of a document, and how what is wrong with one is told.
use brooklet_document::{DataType, Tensor};
use brooklet_rank::FeatureName;
use brooklet_schema::Schema;
use brooklet_segment::Halt;
use brooklet_task::{Code, Rejection};

use crate::plan::SchemaPlan;
use crate::ranking::spot::Spot;
use crate::resident::reads::Reads;

/// The document looked at.
pub(crate) struct Document<'a> {
    pub(crate) plan: &'a SchemaPlan,
    pub(crate) spot: Spot<'a>,
    pub(crate) reads: &'a mut Reads,
}

/// A feature made ready for a query.
pub(crate) trait DocumentFeature {
    /// Its value, if it is a number.
    fn number(&self, document: &mut Document<'_>) -> Result<f64, Halt> {
        let _ = document;
        Ok(f64::NAN)
    }

    /// Its value, if it is a tensor; nothing is an empty one.
    fn tensor(&self, document: &mut Document<'_>) -> Result<Option<Tensor>, Halt> {
        let _ = document;
        Ok(None)
    }
}

/// Requires a number of parameters.
pub(crate) fn takes(feature: &FeatureName, least: usize, most: usize) -> Result<(), Rejection> {
    match (least..=most).contains(&feature.parameters.len()) {
        true => Ok(()),
        false => Err(refuse(feature, &format!("takes {least} to {most} parameters"))),
    }
}

/// The type of a field whose values ranking can read.
pub(crate) fn attribute_type<'s>(
    feature: &FeatureName,
    name: &str,
    schema: &'s Schema,
) -> Result<&'s DataType, Rejection> {
    let field = schema.field(name).ok_or_else(|| {
        let message =
            format!("names the field '{}', which schema '{}' does not have", Rejection::quote(name), schema.name);
        refuse(feature, &message)
    })?;
    Ok(&field.data_type)
}

/// An application that cannot be deployed.
pub(crate) fn refuse(feature: &FeatureName, why: &str) -> Rejection {
    Rejection::new(
        Code::InvalidApplication,
        format!("invalid rank feature '{}': it {why}", Rejection::quote(&feature.to_string())),
    )
}
