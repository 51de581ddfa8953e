//! What a summary can show of a field of positions beside its value: `field.position`, which is the same, and
//! `field.distance`, how far its nearest place is from the nearest of the query's.
use brooklet_document::{DataType, Value};
use brooklet_schema::Schema;

use crate::ranking::geodesy::microdegrees_between;

/// A part of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Position,
    Distance,
}

/// The field of positions that a source of a summary is a part of, and which.
pub(crate) fn part_of(schema: &Schema, source: &str) -> Option<(String, Part)> {
    let (name, part) = source.rsplit_once('.')?;
    let part = match part {
        "position" => Part::Position,
        "distance" => Part::Distance,
        _ => return None,
    };
    let field = schema.field(name)?;
    (*field.data_type.element() == DataType::Position).then(|| (name.to_owned(), part))
}

/// Whole micro-degrees along the surface from the nearest of some places (latitude and longitude in degrees) to the
/// nearest position of a value; nothing if there is none on either side.
pub(super) fn distance(value: &Value, places: &[(f64, f64)]) -> Option<Value> {
    let position = |value: &Value| match value {
        Value::Position { x, y } => Some((*x, *y)),
        _ => None,
    };
    let positions: Vec<(i32, i32)> = match value {
        Value::Array(elements) => elements.iter().filter_map(position).collect(),
        single => position(single).into_iter().collect(),
    };
    microdegrees_between(places, &positions).map(|distance| Value::Long(distance as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Micro-degrees on the equator and along a meridian are those of the coordinates.
    #[test]
    fn distances_are_micro_degrees() {
        let at = |y: i32, x: i32| Value::Position { x, y };
        let of = |value: &Value, places: &[(f64, f64)]| match distance(value, places) {
            Some(Value::Long(distance)) => Some(distance),
            None => None,
            other => panic!("{other:?}"),
        };
        let trondheim = (63.4, 10.4);
        assert_eq!(of(&at(63_400_000, 10_400_000), &[trondheim]), Some(0));
        let close = |found: Option<i64>, expected: i64| found.is_some_and(|found| (found - expected).abs() <= 1);
        assert!(close(of(&at(64_400_000, 10_400_000), &[trondheim]), 1_000_000));
        assert!(close(of(&at(0, 20_000_000), &[(0.0, 17.5)]), 2_500_000));
        // The nearest pair counts, whichever it is.
        let several = Value::Array(vec![at(0, 90_000_000), at(1_000_000, 0), at(0, 3_000_000)]);
        assert!(close(of(&several, &[(-40.0, 0.0), (0.0, 3.5)]), 500_000));
        // Across the date line.
        assert!(close(of(&at(0, 179_500_000), &[(0.0, -179.5)]), 1_000_000));
        // A degree is 111.195 km on a sphere of 6371.0088 km.
        let london_to_paris = of(&at(48_856_600, 2_352_200), &[(51.5074, -0.1278)]).unwrap();
        let km = london_to_paris as f64 * 111.195_08e-6;
        assert!((km - 343.6).abs() < 0.5, "{km} km");
        assert_eq!(of(&at(1, 1), &[]), None);
        assert_eq!(of(&Value::Array(Vec::new()), &[trondheim]), None);
        assert_eq!(of(&Value::Int(3), &[trondheim]), None);
    }
}
