//! `distanceToPath(position).{distance,traveled,product}`: how far a document is from a way that the request gives.
//!
//! The property `distanceToPath(position).path` is `(x1,y1,x2,y2,…)` in the units of positions, micro-degrees with x the
//! longitude. Over all pieces of the way and all positions of the document, the closest point of the piece decides:
//! distance = euclidean; traveled = share of the way's length before that point; product = piece × (point − position).
//! Without a way or position: 6400000000, 1, 0.
use brooklet_document::{DataType, Value};
use brooklet_rank::{FeatureName, FeatureType};
use brooklet_schema::Schema;
use brooklet_segment::{Halt, read_document};
use brooklet_task::Rejection;

use super::feature::{Document, DocumentFeature, attribute_type, refuse, takes};
use crate::plan::SchemaPlan;

const NO_DISTANCE: f64 = 6_400_000_000.0;

pub(super) struct DistanceToPath {
    field: String,
    path: Vec<(f64, f64)>,
    output: usize,
}

const OUTPUTS: [&str; 3] = ["distance", "traveled", "product"];

pub(super) fn feature_type(feature: &FeatureName, schema: &Schema) -> Result<FeatureType, Rejection> {
    takes(feature, 1, 1)?;
    match attribute_type(feature, &feature.parameters[0], schema)?.element() {
        DataType::Position => {}
        _ => return Err(refuse(feature, "takes a field of positions")),
    }
    match &feature.output {
        Some(output) if !OUTPUTS.contains(&output.as_str()) => Err(refuse(feature, "has no such output")),
        _ => Ok(FeatureType::Number),
    }
}

#[inline(never)]
pub(super) fn bind(feature: &FeatureName, plan: &SchemaPlan) -> DistanceToPath {
    let field = feature.parameters.first().cloned().unwrap_or_default();
    let given = plan.rank_properties.values(&format!("distanceToPath({field}).path")).first();
    let inside = given.and_then(|text| text.trim().strip_prefix('(')?.strip_suffix(')'));
    let numbers: Vec<f64> = inside
        .map_or_else(Vec::new, |text| text.split(',').map(|number| number.trim().parse().unwrap_or(0.0)).collect());
    let output = OUTPUTS.iter().position(|output| Some(*output) == feature.output.as_deref()).unwrap_or(0);
    DistanceToPath { field, path: numbers.chunks_exact(2).map(|point| (point[0], point[1])).collect(), output }
}

impl DocumentFeature for DistanceToPath {
    fn number(&self, document: &mut Document<'_>) -> Result<f64, Halt> {
        if self.path.len() < 2 {
            return Ok([NO_DISTANCE, 1.0, 0.0][self.output]);
        }
        let segment = &document.spot.at().segment;
        let keep = |name: &str| name == self.field;
        let read = read_document(&segment.header, document.spot.ordinal, &keep, &mut document.reads.segment(segment))?;
        let mut positions = Vec::new();
        match read.field(&self.field) {
            Some(Value::Position { x, y }) => positions.push((f64::from(*x), f64::from(*y))),
            Some(Value::Array(values)) => positions.extend(values.iter().filter_map(|value| match value {
                Value::Position { x, y } => Some((f64::from(*x), f64::from(*y))),
                _ => None,
            })),
            _ => {}
        }
        Ok(along(&self.path, &positions).map_or([NO_DISTANCE, 1.0, 0.0], |found| found)[self.output])
    }
}

/// Distance, share of the way, and product of the closest point.
fn along(path: &[(f64, f64)], positions: &[(f64, f64)]) -> Option<[f64; 3]> {
    let (mut trip, mut best): (f64, Option<[f64; 3]>) = (0.0, None);
    for piece in path.windows(2) {
        let ((x1, y1), (x2, y2)) = (piece[0], piece[1]);
        let (width, height) = (x2 - x1, y2 - y1);
        let square = width * width + height * height;
        let length = square.sqrt();
        for (x, y) in positions {
            let share =
                if length < 1e-6 { 0.0 } else { (((x - x1) * width + (y - y1) * height) / square).clamp(0.0, 1.0) };
            let (dx, dy) =
                if share == 1.0 { (x2 - x, y2 - y) } else { (x1 + share * width - x, y1 + share * height - y) };
            let squared = dx * dx + dy * dy;
            if best.is_none_or(|[least, ..]| squared < least) {
                best = Some([squared, trip + share * length, width * dy - height * dx]);
            }
        }
        trip += length;
    }
    best.map(|[squared, at, product]| [squared.sqrt(), if trip > 0.0 { at / trip } else { 0.0 }, product])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_point_of_the_way_decides() {
        let path = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)];
        assert_eq!(along(&path, &[(5.0, 3.0)]), Some([3.0, 0.25, -30.0]));
        assert_eq!(along(&path, &[(12.0, 5.0), (100.0, 100.0)]), Some([2.0, 0.75, 20.0]));
        assert_eq!(along(&path, &[(-3.0, -4.0)]), Some([5.0, 0.0, 40.0]));
        assert_eq!(along(&path, &[]), None);
    }
}
