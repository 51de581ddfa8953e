//! What parameters put beside the query: a place (`pos.*`) and a wand (`wand.*`), as items of their own.
use brooklet_task::{Code, Rejection};

use crate::annotations::Annotations;
use crate::geo::{Axis, Coordinate, RADIUS_MAX_MICRODEGREES, limit_microdegrees, microdegrees, parse_distance};
use crate::limited::check_tree;
use crate::surroundings::{Index, Indexes, Parameters, ValueKind};
use crate::tree::{GeoBoundingBox, GeoLocation, Item, Key, Operator, Term, Wand, WeakAnd, Weighted, WeightedToken};
use crate::yql::weighted_tokens;

/// The radius of a circle that says none.
const RADIUS: &str = "50 km";

/// How many hits a wand aims at that says nothing.
const HEAP_SIZE: u32 = 100;

/// A parameter with a value that says something.
fn value_of<'p>(parameters: &'p dyn Parameters, name: &str) -> Option<&'p str> {
    parameters.get(name).map(str::trim).filter(|text| !text.is_empty())
}

/// The query within the place that `pos.ll` or `pos.xy`, `pos.radius` and `pos.bb` name, in a field of positions. It is as it was
/// without a place, or without a field.
///
/// # Errors
/// If there is no reading them, or if there are two centres.
pub fn within_place(query: Item, parameters: &dyn Parameters, field: Option<&str>) -> Result<Item, Rejection> {
    let (centre, edges) = (value_of(parameters, "pos.ll"), value_of(parameters, "pos.bb"));
    let flat = value_of(parameters, "pos.xy");
    let refuse = |why: String| Rejection::new(Code::InvalidQueryParameter, format!("Error in pos parameters: {why}"));
    let radius = value_of(parameters, "pos.radius").unwrap_or(RADIUS);
    let circle = match (centre, flat) {
        (Some(_), Some(_)) => {
            return Err(refuse("Cannot handle both lat/long and xy coords at the same time".to_owned()));
        }
        (None, Some(text)) => Some(flat_circle(text, radius).map_err(refuse)?),
        (centre, None) => centre.map(|text| circle(text, radius)).transpose().map_err(refuse)?,
    };
    let area = edges.map(area).transpose().map_err(refuse)?;
    let (Some(field), true) = (field, circle.is_some() || area.is_some()) else { return Ok(query) };
    let (mut all, mut ranked) = (vec![query], None);
    if let Some((latitude_microdegrees, longitude_microdegrees, radius_microdegrees)) = circle {
        let field = field.to_owned();
        let location = GeoLocation {
            field,
            latitude_microdegrees,
            longitude_microdegrees,
            radius_microdegrees,
            is_flat: flat.is_some(),
        };
        let item = Item::from(Operator::GeoLocation(location));
        // Everything is within a circle without an end, which ranking measures distances from.
        if radius_microdegrees.is_some() { all.push(item) } else { ranked = Some(item) }
    }
    if let Some([north_microdegrees, south_microdegrees, east_microdegrees, west_microdegrees]) = area {
        let field = field.to_owned();
        all.push(Item::from(Operator::GeoBoundingBox(GeoBoundingBox {
            field,
            south_microdegrees,
            west_microdegrees,
            north_microdegrees,
            east_microdegrees,
        })));
    }
    let found = match all.len() {
        1 => all.remove(0),
        _ => Item::from(Operator::And(all)),
    };
    Ok(match ranked {
        Some(item) => Item::from(Operator::Rank(vec![found, item])),
        None => found,
    })
}

/// Latitude and longitude of a centre, in either order, and the radius.
fn circle(centre: &str, radius: &str) -> Result<(i32, i32, Option<u32>), String> {
    let parts: Vec<&str> = centre.split([';', ' ']).filter(|part| !part.is_empty()).collect();
    let unreadable = || format!("Unable to parse lat/long string '{}'", Rejection::quote(centre));
    let [first, second] = parts[..] else { return Err(unreadable()) };
    let read = |text: &str| direction(text).ok_or_else(unreadable);
    let (first, second) = (read(first)?, read(second)?);
    let (latitude, longitude) = match (first.axis, second.axis) {
        (Some(Axis::Latitude), Some(Axis::Longitude)) => (first, second),
        (Some(Axis::Longitude), Some(Axis::Latitude)) => (second, first),
        _ => return Err(unreadable()),
    };
    let radius = radius_of(radius)?;
    Ok((microdegrees(latitude, Axis::Latitude)?, microdegrees(longitude, Axis::Longitude)?, radius))
}

/// Latitude and longitude of a centre in micro-degrees, written as `longitude;latitude`, and the radius.
fn flat_circle(centre: &str, radius: &str) -> Result<(i32, i32, Option<u32>), String> {
    let wrong = || format!("pos.xy must be in the format 'digits;digits' but was: '{}'", Rejection::quote(centre));
    let (longitude, latitude) = centre.split_once(';').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<i32>().map_err(|_| wrong());
    Ok((number(latitude)?, number(longitude)?, radius_of(radius)?))
}

/// A radius with its unit, or in micro-degrees without one; none if it is negative.
fn radius_of(text: &str) -> Result<Option<u32>, String> {
    match text.parse::<i64>() {
        Ok(number) => Ok(u32::try_from(number.min(RADIUS_MAX_MICRODEGREES.into())).ok()),
        Err(_) => parse_distance(text),
    }
}

/// A coordinate with its direction: degrees, or degrees and minutes parted by the direction, `o` or `°`.
fn direction(text: &str) -> Option<Coordinate> {
    let at = text.find(['N', 'S', 'E', 'W'])?;
    let (before, letter, after) = (&text[..at], &text[at..=at], &text[at + 1..]);
    let (degrees, minutes) = match (before, after) {
        ("", one) | (one, "") => one.split_once(['o', '°']).unwrap_or((one, "0")),
        both => both,
    };
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        text.parse::<f64>().ok().filter(|_| is_number)
    };
    let value = number(degrees)? + number(minutes)? / 60.0;
    let axis = if matches!(letter, "N" | "S") { Axis::Latitude } else { Axis::Longitude };
    let degrees = if matches!(letter, "S" | "W") { -value } else { value };
    Some(Coordinate { degrees, axis: Some(axis) })
}

/// North, south, east and west of an area.
#[inline(never)]
fn area(text: &str) -> Result<[i32; 4], String> {
    const NAMES: [char; 4] = ['n', 's', 'e', 'w'];
    let mut limits: [Option<i32>; 4] = [None; 4];
    for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once(['=', ':']).unwrap_or((part, ""));
        let letter = name.chars().next().unwrap_or(' ').to_ascii_lowercase();
        let at = NAMES.iter().position(|known| *known == letter);
        let at = at.ok_or_else(|| format!("unknown limit '{}' of a bounding box", Rejection::quote(name)))?;
        let degrees: f64 = value.trim().parse().map_err(|_| number_format(value))?;
        let axis = if at < 2 { Axis::Latitude } else { Axis::Longitude };
        let limit = limit_microdegrees(Coordinate { degrees, axis: None }, axis)?;
        if limits[at].replace(limit).is_some() {
            return Err(format!("multiple limits for '{letter}' boundary"));
        }
    }
    let [Some(north), Some(south), Some(east), Some(west)] = limits else {
        let has: Vec<String> =
            NAMES.iter().zip(&limits).map(|(name, limit)| format!("{name}={}", limit.is_some())).collect();
        return Err(format!("Missing bounding box limits, {}", has.join(" ")));
    };
    if west > east {
        return Err("Cannot have w > e".to_owned());
    }
    if south > north {
        return Err("Cannot have s > n".to_owned());
    }
    Ok([north, south, east, west])
}

/// The item that `wand.field`, `wand.tokens` and what goes with them make, if they do.
///
/// # Errors
/// If no searched schema has the field, or there is no reading them.
pub fn wand_beside(parameters: &dyn Parameters, indexes: &dyn Indexes) -> Result<Option<Item>, Rejection> {
    let refuse = |message: String| Rejection::new(Code::InvalidQueryParameter, message);
    let (Some(field), Some(tokens)) = (value_of(parameters, "wand.field"), value_of(parameters, "wand.tokens")) else {
        return Ok(None);
    };
    let index = indexes
        .index(field)
        .ok_or_else(|| refuse(format!("Field '{}' was not found in any searched schema", Rejection::quote(field))))?;
    let text = Rejection::quote(tokens);
    let mut tokens = match tokens.starts_with('{') {
        true => weighted_tokens(tokens)
            .map_err(|why| refuse(format!("'{text}' is not a legal sparse vector string: {why}")))?,
        false => return Err(refuse(format!("'{text}' is not a legal sparse vector string"))),
    };
    if tokens.is_empty() {
        return Ok(None);
    }
    let kind = value_of(parameters, "wand.type").unwrap_or("vespa");
    if matches!(kind, "parallel" | "dotProduct") && index.values == ValueKind::Integer {
        for token in &mut tokens {
            if let Key::Text(text) = &token.key {
                token.key = Key::Integer(text.parse().map_err(|_| refuse(number_format(text)))?);
            }
        }
    }
    let number = |name: &str, otherwise: f64| {
        let text = value_of(parameters, name);
        text.map_or(Ok(otherwise), |text| text.parse::<f64>().map_err(|_| refuse(number_format(text))))
    };
    let heap_size = value_of(parameters, "wand.heapSize");
    let heap_size = heap_size.map(|text| text.parse::<u32>().map_err(|_| refuse(number_format(text)))).transpose()?;
    let target_hits = Some(heap_size.unwrap_or(HEAP_SIZE));
    let (threshold, boost) = (number("wand.scoreThreshold", 0.0)?, number("wand.thresholdBoostFactor", 1.0)?);
    let weighted = Weighted { field: field.to_owned(), tokens };
    let item = Item::from(match kind {
        "or" => Operator::Or(words(&weighted, &index)),
        "parallel" => Operator::Wand(Wand {
            weighted,
            target_hits,
            total_target_hits: None,
            score_threshold: Some(threshold),
            threshold_boost_factor: Some(boost),
        }),
        "dotProduct" => Operator::DotProduct(weighted),
        _ => Operator::WeakAnd(WeakAnd { items: words(&weighted, &index), target_hits, total_target_hits: None }),
    });
    check_tree(&item).map_err(|large| refuse(large.message))?;
    Ok(Some(item))
}

/// A term for each token, of its weight.
fn words(of: &Weighted, index: &Index) -> Vec<Item> {
    let word = |token: &WeightedToken| {
        let text = match &token.key {
            Key::Text(text) => text.clone(),
            Key::Integer(number) => number.to_string(),
        };
        let term = Term { field: of.field.clone(), text, kind: index.matching.term_kind() };
        let annotations = Annotations { weight: token.weight, ..Annotations::default() };
        Item { annotations, ..Item::from(Operator::Term(term)) }
    };
    of.tokens.iter().map(word).collect()
}

fn number_format(text: &str) -> String {
    format!("For input string: \"{}\"", Rejection::quote(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centres_are_read_in_any_order_and_form() {
        for text in ["N37.4;W122.0", "W122;37.4N", "37N24;122W0", "37o24N 122°0W", "N37.4 W122"] {
            assert_eq!(circle(text, "1000"), Ok((37_400_000, -122_000_000, Some(1_000))), "{text}");
        }
        assert_eq!(circle("37N24.983;122W01.481", "-1 km").unwrap(), (37_416_383, -122_024_683, None));
        assert_eq!(circle("N1;E1", "1km").unwrap().2, Some(9_013));
        assert_eq!(circle("N1;E1", "-5").unwrap().2, None);
        for wrong in ["", "N37.4", "37.4;122", "N1;N2", "N-1;E2", "N1;E2;E3", "Nx;E1", "91N;1E", "1N;181E"] {
            assert!(circle(wrong, "1km").is_err(), "{wrong}");
        }
        assert!(circle("N1;E1", "1 furlong").is_err());
    }

    #[test]
    fn areas_need_all_their_edges_once() {
        assert_eq!(area("n=40.2,s=40.1,e=-74.7,w=-74.8"), Ok([40_200_000, 40_100_000, -74_700_000, -74_800_000]));
        assert_eq!(area("West:-1 East:1 north:2.0000005 S:1"), Ok([2_000_001, 1_000_000, 1_000_000, -1_000_000]));
        assert_eq!(area("n=90.5,s=0,e=190,w=0"), Ok([90_500_000, 0, 190_000_000, 0]));
        for (wrong, why) in [
            ("n=1,s=0", "Missing bounding box limits, n=true s=true e=false w=false"),
            ("n=1,s=0,e=1,w=2", "Cannot have w > e"),
            ("n=0,s=1,e=1,w=0", "Cannot have s > n"),
            ("n=1,s=0,e=1,w=0,n=1", "multiple limits for 'n' boundary"),
            ("n=x,s=0,e=1,w=0", "For input string: \"x\""),
            ("n=2148,s=0,e=1,w=0", "a limit of 2148 degrees is out of range"),
            ("q=1", "unknown limit 'q' of a bounding box"),
        ] {
            assert_eq!(area(wrong), Err(why.to_owned()));
        }
    }
}
