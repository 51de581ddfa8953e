//! `distance(position)` and `closeness(position)`: how far the document's nearest place is from the query's.
//!
//! distance = the great-circle distance (haversine, mean radius of the earth 6371.0088 km) in micro-degrees along the
//! surface, km · 10⁶ · 180 / (π · 6371.0088); `.km` the same in kilometres; `.index`, `.latitude`, `.longitude` tell
//! which of the document's places it is, in degrees. Without a place on either side: 6400000000, 40000, −1, 90, −180.
//! closeness = max(0, 1 − distance / maxDistance); `.logscale` = (ln(m+s) − ln(d+s)) / (ln(m+s) − ln(s)) with
//! m = maxDistance (9013305, about 1000 km), d the distance held within 0…m, and s = 45066.525, or h²/(m−2h) if
//! `halfResponse` h is set; these are the properties `closeness(position).maxDistance` and `.halfResponse`.
//!
//! Places of the query are the points of its `geoLocation` operators: those on the field itself if there are any, else
//! all of them. Source: distancefeature.cpp, closenessfeature.cpp, geo_gcd.cpp; ranking.md §4.8.
use brooklet_document::DataType;
use brooklet_rank::{FeatureName, FeatureType};
use brooklet_schema::Schema;
use brooklet_segment::column::number::{SeveralBlock, SingleBlock, Values};
use brooklet_segment::layout::{Collection, ColumnKind, ColumnSpec, NumberKind, position_of_bits};
use brooklet_segment::{BlockSource, Halt};
use brooklet_task::Rejection;

use super::feature::{Document, DocumentFeature, refuse};
use crate::plan::SchemaPlan;
use crate::plan::condition::{PositionTest, Test};
use crate::ranking::geodesy::{Nearest, nearest};

const DISTANCES: [&str; 5] = ["out", "index", "latitude", "longitude", "km"];
const CLOSENESSES: [&str; 2] = ["out", "logscale"];
const MAX_DISTANCE: f64 = 9_013_305.0;
const SCALE_DISTANCE: f64 = 5.0 * 9_013.305;

enum Output {
    Distance(usize),
    Closeness { max_distance: f64, scale: f64, is_logarithmic: bool },
}

pub(in crate::ranking) struct Geo {
    spec: Option<ColumnSpec>,
    /// Latitudes and longitudes of the query, in degrees.
    places: Vec<(f64, f64)>,
    output: Output,
}

/// The field a feature names: `name(field)` or `name(field,field)`.
fn field_of(feature: &FeatureName) -> Option<&str> {
    match &feature.parameters[..] {
        [field] => Some(field),
        [kind, field] if kind == "field" => Some(field),
        _ => None,
    }
}

/// The type of the feature, if it is one of a field of positions.
pub(crate) fn feature_type(feature: &FeatureName, schema: &Schema) -> Option<Result<FeatureType, Rejection>> {
    let field = schema.field(field_of(feature)?)?;
    if *field.data_type.element() != DataType::Position {
        return None;
    }
    let outputs: &[&str] = if feature.name == "distance" { &DISTANCES } else { &CLOSENESSES };
    Some(match &feature.output {
        _ if !field.indexing.attribute => Err(refuse(feature, "takes an attribute")),
        Some(output) if !outputs.contains(&output.as_str()) => Err(refuse(feature, "has no such output")),
        _ => Ok(FeatureType::Number),
    })
}

/// Makes the feature ready; nothing if it is not one of a field of positions.
#[inline(never)]
pub(in crate::ranking) fn bind(feature: &FeatureName, plan: &SchemaPlan) -> Result<Option<Geo>, Rejection> {
    let Some(Ok(_)) = feature_type(feature, &plan.schema.schema) else { return Ok(None) };
    let field = field_of(feature).unwrap_or_default();
    let spec = plan.schema.column(field, |kind| matches!(kind, ColumnKind::Positions { .. })).cloned();
    let output = match feature.name.as_str() {
        "distance" => {
            let output = DISTANCES.iter().position(|output| Some(*output) == feature.output.as_deref());
            Output::Distance(output.unwrap_or(0))
        }
        _ => closeness(feature, plan)?,
    };
    Ok(Some(Geo { spec, places: places(field, plan), output }))
}

/// The query's places: those on the field if there are any.
pub(crate) fn places(field: &str, plan: &SchemaPlan) -> Vec<(f64, f64)> {
    let of_leaf = |own: bool| {
        let targets = plan.leaves.iter().flat_map(|leaf| &leaf.targets);
        let targets = targets.filter(move |target| (target.spec.field == field) == own);
        targets.filter_map(|target| match &target.test {
            Test::Position(PositionTest::Circle { latitude, longitude, .. }) => {
                Some((f64::from(*latitude) / 1e6, f64::from(*longitude) / 1e6))
            }
            _ => None,
        })
    };
    let own: Vec<_> = of_leaf(true).collect();
    if own.is_empty() { of_leaf(false).collect() } else { own }
}

fn closeness(feature: &FeatureName, plan: &SchemaPlan) -> Result<Output, Rejection> {
    let base = FeatureName { output: None, ..feature.clone() };
    let number = |name: &str| {
        let property = format!("{base}.{name}");
        let given = plan.rank_properties.values(&property).last();
        let parsed = given.map(|text| text.trim().parse::<f64>().map_err(|_| not_a_number(&property, text)));
        parsed.transpose()
    };
    let max_distance = number("maxDistance")?.unwrap_or(MAX_DISTANCE).max(1.0);
    let scale = number("halfResponse")?.map_or(SCALE_DISTANCE, |half| {
        let half = half.max(1.0);
        let half = if half >= max_distance / 2.0 { max_distance / 2.0 - 1.0 } else { half };
        half * half / (max_distance - 2.0 * half)
    });
    Ok(Output::Closeness { max_distance, scale, is_logarithmic: feature.output.as_deref() == Some("logscale") })
}

fn not_a_number(property: &str, text: &str) -> Rejection {
    let message = format!("the rank property '{property}' is '{}', which is not a number", Rejection::quote(text));
    Rejection::new(brooklet_task::Code::IllegalQuery, message)
}

impl DocumentFeature for Geo {
    fn number(&self, document: &mut Document<'_>) -> Result<f64, Halt> {
        let positions = match &self.spec {
            Some(spec) if !self.places.is_empty() => positions(spec, document)?,
            _ => Vec::new(),
        };
        let nearest = nearest(&self.places, &positions);
        Ok(match self.output {
            Output::Distance(output) => {
                let Nearest { index, latitude, longitude, microdegrees, km } = nearest;
                [microdegrees, index, latitude, longitude, km][output]
            }
            Output::Closeness { max_distance, is_logarithmic: false, .. } => {
                (1.0 - nearest.microdegrees / max_distance).max(0.0)
            }
            Output::Closeness { max_distance, scale, .. } => logscale(nearest.microdegrees, max_distance, scale),
        })
    }
}

fn logscale(distance: f64, max_distance: f64, scale: f64) -> f64 {
    let most = libm::log(max_distance + scale);
    (most - libm::log(distance.clamp(0.0, max_distance) + scale)) / (most - libm::log(scale))
}

/// Longitudes and latitudes of the document, in micro-degrees.
pub(crate) fn positions(spec: &ColumnSpec, document: &mut Document<'_>) -> Result<Vec<(i32, i32)>, Halt> {
    let spot = document.spot;
    let segment = &spot.at().segment;
    let column = segment.header.column(spec);
    let (Some(column), ColumnKind::Positions { collection }) = (column, &spec.kind) else { return Ok(Vec::new()) };
    let Some(part) = column.parts.first() else { return Ok(Vec::new()) };
    let index = part.index_of(spot.ordinal);
    let (first, rows) = part.span_of(index);
    let block = document.reads.segment(segment).block(part.first_block + index)?;
    let at = (spot.ordinal - first) as usize;
    let position = |values: &Values<'_>, at: usize| position_of_bits(values.integer(at));
    if *collection == Collection::Single {
        let block = SingleBlock::read(block.bytes(), rows, NumberKind::Int64)?;
        return Ok(block.has(at).then(|| position(&block.values, at)).into_iter().collect());
    }
    let block = SeveralBlock::read(block.bytes(), rows, NumberKind::Int64, *collection)?;
    Ok(block.range(at).map(|at| position(&block.values, at)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::geodesy::NOWHERE;

    const OSLO: (f64, f64) = (59.913_869, 10.752_245);

    #[test]
    fn the_first_of_the_nearest_places_counts() {
        let trondheim = (10_395_053, 63_430_515);
        let bergen = (5_322_054, 60_391_263);
        let found = nearest(&[OSLO], &[trondheim, bergen, bergen]);
        assert_eq!((found.index, found.latitude, found.longitude), (1.0, 60.391_263, 5.322_054));
        // The usual figure for the way from Oslo to Bergen.
        assert!((found.km - 305.0).abs() < 1.0, "{found:?}");
        assert!((found.microdegrees / found.km - 8_993.2).abs() < 0.1, "{found:?}");
        assert_eq!(nearest(&[OSLO], &[]), NOWHERE);
        assert_eq!(nearest(&[], &[bergen]), NOWHERE);
    }

    #[test]
    fn half_response_is_half() {
        let half = 593_861.739;
        let scale = half * half / (MAX_DISTANCE - 2.0 * half);
        assert!((logscale(half, MAX_DISTANCE, scale) - 0.5).abs() < 1e-12);
        assert!((scale / SCALE_DISTANCE - 1.0).abs() < 1e-6, "the two defaults are one: {scale}");
        assert_eq!(logscale(0.0, MAX_DISTANCE, scale), 1.0);
        assert_eq!(logscale(1e12, MAX_DISTANCE, scale), 0.0);
    }
}
