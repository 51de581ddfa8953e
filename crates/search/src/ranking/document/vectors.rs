//! `dotProduct(attribute,vector)`, `euclideanDistance(attribute,vector)` and `maxReduceProdJoin(attribute,vector)`: an
//! attribute against a vector in the request's rank properties.
//!
//! The vector is the property `dotProduct.NAME` (`euclideanDistance.NAME`; for the third just `NAME`): `{key:value,…}`,
//! or `[v0,v1,…]` (also separated by spaces) for keys 0, 1, …. Braces may be parentheses.
//! dotProduct: Σ weight·value over the keys of a weighted set, Σ element·value over the indexes of an array.
//! euclideanDistance: √Σ(element − value)² over the indexes both have. maxReduceProdJoin: the largest value whose key is
//! an element of the array of integers. Without a vector: 0.
use std::collections::BTreeMap;

use brooklet_document::DataType;
use brooklet_kernel::map_of;
use brooklet_rank::{FeatureName, FeatureType};
use brooklet_schema::Schema;
use brooklet_segment::Halt;
use brooklet_task::Rejection;

use super::super::stored::Values;
use super::super::values::Item;
use super::feature::{Document, DocumentFeature, attribute_type, refuse, takes};
use crate::plan::SchemaPlan;

/// Entries of a vector.
const ENTRIES_MAX: usize = 10_000;

enum Operation {
    WeightedSum,
    ArraySum,
    Distance,
    Largest,
}

pub(super) struct AgainstVector {
    values: Values,
    operation: Operation,
    /// By key; those of arrays are indexes.
    vector: BTreeMap<String, f64>,
}

pub(super) fn feature_type(feature: &FeatureName, schema: &Schema) -> Result<FeatureType, Rejection> {
    takes(feature, 2, 2)?;
    let data_type = attribute_type(feature, &feature.parameters[0], schema)?;
    let fits = match (feature.name.as_str(), data_type) {
        ("dotProduct", DataType::WeightedSet { .. }) => true,
        ("dotProduct" | "euclideanDistance", DataType::Array(of)) => is_number(of),
        ("maxReduceProdJoin" | "internalMaxReduceProdJoin", DataType::Array(of)) => {
            matches!(**of, DataType::Int | DataType::Long | DataType::Byte)
        }
        _ => false,
    };
    if fits {
        Ok(FeatureType::Number)
    } else {
        Err(refuse(feature, &format!("cannot be made of a field of type {data_type}")))
    }
}

fn is_number(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Byte | DataType::Int | DataType::Long | DataType::Float | DataType::Double)
}

pub(super) fn bind(feature: &FeatureName, plan: &SchemaPlan) -> AgainstVector {
    let (mut field, name) = (feature.parameters[0].clone(), &feature.parameters[1]);
    let properties = &plan.rank_properties;
    if let Some(other) = properties.values(&format!("dotProduct.{field}.override.name")).first()
        && feature.name == "dotProduct"
        && !other.is_empty()
    {
        field = other.clone();
    }
    let is_set =
        matches!(plan.schema.schema.field(&field).map(|field| &field.data_type), Some(DataType::WeightedSet { .. }));
    let (key, operation) = match feature.name.as_str() {
        "dotProduct" if is_set => (format!("dotProduct.{name}"), Operation::WeightedSum),
        "dotProduct" => (format!("dotProduct.{name}"), Operation::ArraySum),
        "euclideanDistance" => (format!("euclideanDistance.{name}"), Operation::Distance),
        _ => (name.clone(), Operation::Largest),
    };
    let vector = properties.values(&key).first().map_or_else(BTreeMap::new, |text| read_vector(text));
    AgainstVector { values: Values::from_field(plan, &field), operation, vector }
}

/// The entries of a vector as written; a part that is none is passed over.
#[inline(never)]
fn read_vector(text: &str) -> BTreeMap<String, f64> {
    let text = text.trim();
    let is_array = text.starts_with('[') || text.starts_with('(') && !text.contains(':');
    let inside = text.trim_matches(['[', ']', '(', ')', '{', '}']);
    let parts = inside.split(|c: char| c == ',' || is_array && c.is_whitespace());
    let parts = parts.map(str::trim).filter(|part| !part.is_empty()).take(ENTRIES_MAX);
    let entry = |(index, part): (usize, &str)| {
        if is_array {
            return Some((index.to_string(), part.parse().ok()?));
        }
        let (key, value) = part.rsplit_once(':')?;
        Some((key.trim().trim_matches(['"', '\'']).to_owned(), value.trim().parse().ok()?))
    };
    map_of(parts.enumerate().filter_map(entry))
}

impl DocumentFeature for AgainstVector {
    fn number(&self, document: &mut Document<'_>) -> Result<f64, Halt> {
        if self.vector.is_empty() {
            return Ok(0.0);
        }
        let items = self.values.items(document.spot, document.reads)?;
        let of_index = items
            .iter()
            .enumerate()
            .filter_map(|(index, (item, _))| Some((item.number()?, *self.vector.get(&index.to_string())?)));
        Ok(match self.operation {
            Operation::WeightedSum => {
                let products = items
                    .iter()
                    .filter_map(|(item, weight)| Some(f64::from(*weight) * self.vector.get(&item.label())?));
                products.fold(0.0, |sum, product| sum + product)
            }
            Operation::ArraySum => of_index.fold(0.0, |sum, (element, value)| sum + element * value),
            Operation::Distance => {
                of_index.fold(0.0, |sum, (element, value)| sum + (element - value) * (element - value)).sqrt()
            }
            Operation::Largest => {
                let values = items.iter().filter(|(item, _)| matches!(item, Item::Integer(_)));
                let values = values.filter_map(|(item, _)| self.vector.get(&item.label()).copied());
                values.reduce(f64::max).unwrap_or(0.0)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_written_in_several_ways() {
        let read = |text: &str| read_vector(text).into_iter().collect::<Vec<_>>();
        let two = vec![("0".to_owned(), 1.5), ("1".to_owned(), -2.0)];
        assert_eq!(read("[1.5,-2]"), two);
        assert_eq!(read(" [1.5 -2] "), two);
        assert_eq!(read("(1.5 -2)"), two);
        assert_eq!(read("{a:1, 'b c':2.5, wrong, x:y}"), vec![("a".to_owned(), 1.0), ("b c".to_owned(), 2.5)]);
        assert_eq!(read("(12:3)"), vec![("12".to_owned(), 3.0)]);
        assert_eq!(read(""), vec![]);
    }
}
