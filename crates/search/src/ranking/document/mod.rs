//! Rank features that are computed from a document's values, its id, or the query's vectors: one file per family.
//!
//! [`feature_type`] is the check at deploy, [`bind`] makes a feature ready for a query.
mod closest;
pub(super) mod geo;
mod path;
mod random;
mod tensor_from;
mod vectors;

use brooklet_document::{DataType, Tensor};
use brooklet_rank::{FeatureName, FeatureType};
use brooklet_schema::Schema;
use brooklet_segment::Halt;
use brooklet_task::{Code, Rejection};

use super::Spot;
use crate::plan::SchemaPlan;
use crate::reads::Reads;
pub(crate) use geo::{microdegrees_between, places as query_places};

/// The document looked at.
pub(super) struct Document<'a> {
    pub(super) plan: &'a SchemaPlan,
    pub(super) spot: Spot<'a>,
    pub(super) reads: &'a mut Reads,
}

/// A feature made ready for a query.
pub(super) trait DocumentFeature {
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

/// The type of a feature that is computed here; nothing if it is another's.
pub(crate) fn feature_type(feature: &FeatureName, schema: &Schema) -> Option<Result<FeatureType, Rejection>> {
    Some(match feature.name.as_str() {
        "closest" => closest::feature_type(feature, schema),
        "distanceToPath" => path::feature_type(feature, schema),
        "random" | "randomNormal" | "randomNormalStable" | "globalSequence" => random::feature_type(feature),
        "tensorFromLabels" | "tensorFromLabelsWithOffset" | "tensorFromStructs" | "tensorFromWeightedSet" => {
            tensor_from::feature_type(feature, schema)
        }
        "dotProduct" | "euclideanDistance" | "maxReduceProdJoin" | "internalMaxReduceProdJoin" => {
            vectors::feature_type(feature, schema)
        }
        _ => return None,
    })
}

pub(crate) use geo::feature_type as position_feature_type;

/// Makes a feature ready; nothing if it is another's.
pub(super) fn bind(
    feature: &FeatureName,
    plan: &SchemaPlan,
    now: i64,
) -> Result<Option<Box<dyn DocumentFeature>>, Rejection> {
    Ok(Some(match feature.name.as_str() {
        "closest" => Box::new(closest::bind(feature, plan)),
        "distanceToPath" => Box::new(path::bind(feature, plan)),
        "random" | "randomNormal" | "randomNormalStable" | "globalSequence" => {
            Box::new(random::bind(feature, plan, now)?)
        }
        "tensorFromLabels" | "tensorFromLabelsWithOffset" | "tensorFromStructs" | "tensorFromWeightedSet" => {
            tensor_from::bind(feature, plan)?
        }
        "dotProduct" | "euclideanDistance" | "maxReduceProdJoin" | "internalMaxReduceProdJoin" => {
            Box::new(vectors::bind(feature, plan))
        }
        _ => return Ok(None),
    }))
}

/// Requires a number of parameters.
fn takes(feature: &FeatureName, least: usize, most: usize) -> Result<(), Rejection> {
    match (least..=most).contains(&feature.parameters.len()) {
        true => Ok(()),
        false => Err(refuse(feature, &format!("takes {least} to {most} parameters"))),
    }
}

/// The type of a field whose values ranking can read.
fn attribute_type<'s>(feature: &FeatureName, name: &str, schema: &'s Schema) -> Result<&'s DataType, Rejection> {
    let field = schema.field(name).ok_or_else(|| {
        let message =
            format!("names the field '{}', which schema '{}' does not have", Rejection::quote(name), schema.name);
        refuse(feature, &message)
    })?;
    Ok(&field.data_type)
}

/// An application that cannot be deployed.
fn refuse(feature: &FeatureName, why: &str) -> Rejection {
    Rejection::new(
        Code::InvalidApplication,
        format!("invalid rank feature '{}': it {why}", Rejection::quote(&feature.to_string())),
    )
}
