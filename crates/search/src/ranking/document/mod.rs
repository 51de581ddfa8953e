//! Rank features that are computed from a document's values, its id, or the query's vectors: one file per family.
//!
//! [`feature_type`] is the check at deploy, [`bind`] makes a feature ready for a query.
mod closest;
pub(crate) mod feature;
pub(crate) mod geo;
mod path;
mod random;
mod tensor_from;
mod vectors;

use brooklet_rank::{FeatureName, FeatureType};
use brooklet_schema::Schema;
use brooklet_task::Rejection;

use crate::plan::SchemaPlan;
use feature::DocumentFeature;

pub(crate) use geo::feature_type as position_feature_type;
pub(crate) use geo::places as query_places;

/// The type of a feature that is computed here; nothing if it is another's.
#[inline(never)]
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

/// Makes a feature ready; nothing if it is another's.
#[inline(never)]
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
