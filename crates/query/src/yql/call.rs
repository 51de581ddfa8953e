//! Functions that stand for themselves: ranges, weighted lists, vectors, positions, predicates.
use std::collections::BTreeMap;

use super::build::{Builder, Within, field_name, hit_limit, item, number_item};
use super::scope::{Built, Scope, fault};
use super::syntax::{Node, NodeKind};
use crate::annotations::Annotations;
use crate::geo::{Axis, Coordinate, limit_microdegrees, microdegrees, parse_coordinate, parse_distance};
use crate::number::Range;
use crate::tree::{
    Bound, GeoBoundingBox, GeoLocation, Item, Key, Labeled, NearestNeighbor, Number, Operator, Predicate, Wand,
    WeakAnd, Weighted, WeightedToken,
};

/// The annotations of an approximate index, without their prefix `hnsw.`. A scan has no use for them.
const HNSW: [&str; 7] = [
    "exploreAdditionalHits",
    "approximateThreshold",
    "explorationSlack",
    "filterFirstExploration",
    "filterFirstThreshold",
    "postFilterThreshold",
    "targetHitsMaxAdjustmentFactor",
];
/// The subqueries of a predicate attribute that names none.
const ALL_SUBQUERIES: u64 = u64::MAX;

fn expect<'n, const N: usize>(arguments: &'n [Node], scope: &Scope<'_>) -> Built<&'n [Node; N]> {
    let count = arguments.len();
    arguments.try_into().map_err(|_| fault(scope.node, format!("Expected {N} arguments, got {count}.")))
}

/// `targetHits`, or its older name.
pub(super) fn target_hits(scope: &Scope<'_>) -> Built<Option<u32>> {
    Ok(scope.count("targetHits")?.or(scope.count("targetNumHits")?))
}

impl Builder<'_> {
    pub fn range(&mut self, arguments: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let [field, low, high] = expect(arguments, scope)?;
        let (low, high) = (range_number(low)?, range_number(high)?);
        let (low_open, high_open) = match scope.text("bounds")? {
            None => (false, false),
            Some("open") => (true, true),
            Some("leftOpen") => (true, false),
            Some("rightOpen") => (false, true),
            Some(other) => {
                return Err(fault(scope.node, format!("Expected open, leftOpen or rightOpen, got {other}.")));
            }
        };
        let field = self.field(field, within)?;
        let annotations = self.note_annotations(scope.leaf_annotations()?, scope.node);
        let hit_limit = hit_limit(scope)?;
        let range = Range { low: bound(low, low_open), high: bound(high, high_open), hit_limit };
        Ok(number_item(range.on(&field, None), annotations, scope.node))
    }

    pub fn weak_and(&mut self, arguments: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let weak = WeakAnd {
            items: self.all(arguments, scope, within)?,
            target_hits: target_hits(scope)?,
            total_target_hits: scope.count("totalTargetHits")?,
        };
        Ok(item(Operator::WeakAnd(weak), Annotations::default(), scope.node))
    }

    pub fn non_empty(&mut self, arguments: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let [argument] = expect(arguments, scope)?;
        let inner = self.expression(&scope.below(argument), within)?;
        match emptiness(&inner) {
            Some(message) => Err(fault(scope.node, message)),
            None => Ok(inner),
        }
    }

    pub fn build_labeled(&mut self, arguments: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let [argument, label, score] = expect(arguments, scope)?;
        let label = literal(label)?.to_owned();
        let number = match &score.kind {
            NodeKind::Integer(number) => Some(*number as f64),
            NodeKind::Float(number) => Some(*number),
            NodeKind::Parameter(name) => crate::number::parse_number(self.parameter(name, score)?).map(Number::as_f64),
            _ => None,
        };
        let score = number.ok_or_else(|| fault(score, "Expected a number as the label score."))?;
        let labeled = Labeled { item: Box::new(self.expression(&scope.below(argument), within)?), label, score };
        Ok(item(Operator::Labeled(labeled), Annotations::default(), scope.node))
    }

    pub fn build_weighted(
        &mut self,
        name: &str,
        arguments: &[Node],
        scope: &Scope<'_>,
        within: Within<'_>,
    ) -> Built<Item> {
        let [field, list] = expect(arguments, scope)?;
        let field = self.field(field, within)?;
        let weighted = Weighted { field, tokens: self.weighted_tokens(list)? };
        let annotations = self.note_annotations(scope.leaf_annotations()?, scope.node);
        let operator = match name {
            "weightedSet" => Operator::WeightedSet(weighted),
            "dotProduct" => Operator::DotProduct(weighted),
            _ => Operator::Wand(Wand {
                weighted,
                target_hits: target_hits(scope)?,
                total_target_hits: scope.count("totalTargetHits")?,
                score_threshold: scope.number("scoreThreshold")?,
                threshold_boost_factor: scope.number("thresholdBoostFactor")?,
            }),
        };
        Ok(item(operator, annotations, scope.node))
    }

    fn weighted_tokens(&self, list: &Node) -> Built<Vec<WeightedToken>> {
        let mut tokens = BTreeMap::new();
        match &list.kind {
            NodeKind::Map(entries) => {
                for (key, weight) in entries {
                    tokens.insert(Key::Text(key.clone()), weight_of(weight)?);
                }
            }
            NodeKind::Array(pairs) => {
                for pair in pairs {
                    let NodeKind::Array(pair_elements) = &pair.kind else {
                        return Err(fault(pair, format!("Expected item and weight, got {}.", pair.value_name())));
                    };
                    let [Node { kind: NodeKind::Integer(key), .. }, weight] = pair_elements.as_slice() else {
                        return Err(fault(pair, "Expected item and weight, both integers."));
                    };
                    tokens.insert(Key::Integer(*key), weight_of(weight)?);
                }
            }
            NodeKind::Parameter(name) => {
                let list = super::list::parse_weighted(self.parameter(name, list)?)?;
                tokens.extend(list.into_iter().map(|token| (token.key, token.weight)));
            }
            _ => return Err(fault(list, format!("Expected ARRAY or MAP, got {}.", list.kind_name()))),
        }
        Ok(tokens.into_iter().map(|(key, weight)| WeightedToken { key, weight }).collect())
    }

    pub fn nearest_neighbor(&mut self, arguments: &[Node], scope: &Scope<'_>) -> Built<Item> {
        let [field, query_tensor] = expect(arguments, scope)?;
        let mut hnsw = Vec::new();
        for name in HNSW {
            if let Some(value) = scope.number(&format!("hnsw.{name}"))? {
                hnsw.push((name.to_owned(), value));
            }
        }
        let neighbor = NearestNeighbor {
            field: field_name(field)?.to_owned(),
            query_tensor: literal(query_tensor)?.to_owned(),
            target_hits: target_hits(scope)?,
            total_target_hits: scope.count("totalTargetHits")?,
            min_target_hits: scope.count("minTargetHits")?,
            distance_threshold: scope.number("distanceThreshold")?,
            approximate: scope.boolean("approximate")?,
            hnsw,
        };
        let annotations = self.note_annotations(scope.leaf_annotations()?, scope.node);
        Ok(item(Operator::NearestNeighbor(neighbor), annotations, scope.node))
    }

    pub fn geo_location(&mut self, arguments: &[Node], scope: &Scope<'_>) -> Built<Item> {
        let [field, first, second, radius] = expect(arguments, scope)?;
        let (first_degrees, second_degrees) = (self.coordinate(first)?, self.coordinate(second)?);
        let axes = (first_degrees.axis.unwrap_or(Axis::Latitude), second_degrees.axis.unwrap_or(Axis::Longitude));
        let (latitude, longitude) = match axes {
            (Axis::Latitude, Axis::Longitude) => (first_degrees, second_degrees),
            (Axis::Longitude, Axis::Latitude) => (second_degrees, first_degrees),
            _ => return Err(fault(scope.node, "Invalid geoLocation coordinates: both are on one axis.")),
        };
        let location = GeoLocation {
            field: field_name(field)?.to_owned(),
            latitude_microdegrees: microdegrees(latitude, Axis::Latitude)?,
            longitude_microdegrees: microdegrees(longitude, Axis::Longitude)?,
            radius_microdegrees: parse_distance(&self.scalar_text(radius)?)?,
            is_flat: false,
        };
        let annotations = Annotations { label: scope.text("label")?.map(str::to_owned), ..Annotations::default() };
        Ok(item(Operator::GeoLocation(location), annotations, scope.node))
    }

    pub fn geo_bounding_box(&mut self, arguments: &[Node], scope: &Scope<'_>) -> Built<Item> {
        let [field, south, west, north, east] = expect(arguments, scope)?;
        let area = GeoBoundingBox {
            field: field_name(field)?.to_owned(),
            south_microdegrees: limit_microdegrees(self.coordinate(south)?, Axis::Latitude)?,
            west_microdegrees: limit_microdegrees(self.coordinate(west)?, Axis::Longitude)?,
            north_microdegrees: limit_microdegrees(self.coordinate(north)?, Axis::Latitude)?,
            east_microdegrees: limit_microdegrees(self.coordinate(east)?, Axis::Longitude)?,
        };
        if area.south_microdegrees > area.north_microdegrees {
            return Err(fault(scope.node, "Cannot have s > n"));
        }
        if area.west_microdegrees > area.east_microdegrees {
            return Err(fault(scope.node, "Cannot have w > e"));
        }
        Ok(item(Operator::GeoBoundingBox(area), Annotations::default(), scope.node))
    }

    fn coordinate(&self, node: &Node) -> Built<Coordinate> {
        let plain = |degrees| Ok(Coordinate { degrees, axis: None });
        match &node.kind {
            NodeKind::Integer(number) => plain(*number as f64),
            NodeKind::Float(number) => plain(*number),
            NodeKind::Negate(inner) => {
                self.coordinate(inner).map(|inner| Coordinate { degrees: -inner.degrees, ..inner })
            }
            _ => parse_coordinate(&self.scalar_text(node)?).map_err(|message| fault(node, message)),
        }
    }

    fn scalar_text(&self, node: &Node) -> Built<String> {
        match &node.kind {
            NodeKind::Integer(number) => Ok(number.to_string()),
            NodeKind::Float(number) => Ok(crate::number::display_float(*number)),
            _ => self.text_of(node),
        }
    }

    pub fn predicate(&mut self, arguments: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let [field, attributes, ranges] = expect(arguments, scope)?;
        let mut predicate = Predicate { field: self.field(field, within)?, attributes: Vec::new(), ranges: Vec::new() };
        for (key, value, subqueries) in features(attributes, ALL_SUBQUERIES)? {
            let NodeKind::Text(text) = &value.kind else {
                return Err(fault(value, format!("Expected a string, got {}.", value.value_name())));
            };
            predicate.attributes.push((key.to_owned(), text.clone(), subqueries));
        }
        for (key, value, subqueries) in features(ranges, ALL_SUBQUERIES)? {
            let NodeKind::Integer(number) = value.kind else {
                return Err(fault(value, format!("Expected an integer, got {}.", value.value_name())));
            };
            predicate.ranges.push((key.to_owned(), number, subqueries));
        }
        let annotations = self.note_annotations(scope.leaf_annotations()?, scope.node);
        Ok(item(Operator::Predicate(predicate), annotations, scope.node))
    }
}

/// A name given as a literal or as it is.
fn literal(node: &Node) -> Built<&str> {
    field_name(node)
}

fn weight_of(node: &Node) -> Built<i32> {
    match node.kind {
        NodeKind::Integer(weight) => {
            i32::try_from(weight).map_err(|_| fault(node, format!("The weight {weight} does not fit 32 bits.")))
        }
        _ => Err(fault(node, format!("Expected an integer weight, got {}.", node.value_name()))),
    }
}

/// A bound of a range: a number, or infinite.
fn range_number(node: &Node) -> Built<Number> {
    match &node.kind {
        NodeKind::Integer(number) => Ok(Number::Integer(*number)),
        NodeKind::Float(number) if number.is_finite() => Ok(Number::Float(*number)),
        NodeKind::Field(name) if name == "Infinity" => Ok(Number::Float(f64::INFINITY)),
        NodeKind::Field(name) => {
            Err(fault(node, format!("Expected a numerical argument (or 'Infinity') to range but got '{name}'")))
        }
        NodeKind::Negate(inner) => Ok(match range_number(inner)? {
            Number::Integer(number) => Number::Integer(number.wrapping_neg()),
            Number::Float(number) => Number::Float(-number),
        }),
        _ => Err(fault(node, format!("Expected a numerical argument to range but got {}", node.value_name()))),
    }
}

/// A bound; infinite numbers bound nothing, on whichever side.
fn bound(number: Number, open: bool) -> Bound {
    match number {
        Number::Float(value) if value.is_infinite() => Bound::Unbounded,
        _ if open => Bound::Exclusive(number),
        _ => Bound::Inclusive(number),
    }
}

/// The attributes of a predicate query with their subqueries: `{"0x3": {…}}` and `{"[0,1]": {…}}` name some.
fn features(map: &Node, subqueries: u64) -> Built<Vec<(&str, &Node, u64)>> {
    let NodeKind::Map(entries) = &map.kind else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (key, value) in entries {
        match &value.kind {
            NodeKind::Array(values) => found.extend(values.iter().map(|value| (key.as_str(), value, subqueries))),
            NodeKind::Map(_) => found.extend(features(value, subquery_bits(key, value)?)?),
            _ => found.push((key.as_str(), value, subqueries)),
        }
    }
    Ok(found)
}

fn subquery_bits(key: &str, node: &Node) -> Built<u64> {
    let listed = |list: &str| {
        list.split(',').try_fold(0u64, |bits, bit| {
            bit.trim().parse::<u32>().ok().and_then(|bit| 1u64.checked_shl(bit)).map(|bit| bits | bit)
        })
    };
    let hexadecimal = key.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let list = key.strip_prefix('[').and_then(|list| list.strip_suffix(']')).and_then(listed);
    hexadecimal.or(list).ok_or_else(|| {
        let quoted = brooklet_task::Rejection::quote(key);
        fault(node, format!("Expected subqueries like '0x3' or '[0,1]', got '{quoted}'."))
    })
}

/// What is empty in an item of `nonEmpty`, if anything is.
fn emptiness(item: &Item) -> Option<String> {
    let children = item.children();
    let composite = match &item.operator {
        Operator::Null => return Some("Got NullItem inside nonEmpty().".to_owned()),
        Operator::And(_) => "AND",
        Operator::Or(_) => "OR",
        Operator::Rank(_) => "RANK",
        Operator::WeakAnd(_) => "WEAKAND",
        Operator::Phrase(_) => "PHRASE",
        _ => "",
    };
    if !composite.is_empty() && children.is_empty() {
        return Some(format!("Empty composite operator ({composite}) inside nonEmpty()"));
    }
    children.into_iter().find_map(emptiness)
}
