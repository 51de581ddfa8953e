//! The values a dotted path names in a document: of a field, or of a part of structs, arrays and maps.
use brooklet_document::{Document, Value};

/// Where a value stands in its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValuePlace {
    /// Which element of the outermost array, weighted set or map on the path, from 0; 0 outside of any.
    pub element: u32,
    /// Weight of a weighted set's element, otherwise 1.
    pub weight: i32,
}

/// Calls `each` for every single value at `path` (`field`, `structs.name`, `map.value.name`), in the order of the
/// document. Parts that are not set are passed over, but their element counts.
pub fn each_value(document: &Document, path: &str, each: &mut dyn FnMut(&Value, ValuePlace)) {
    let (field, rest) = split(path);
    if let Some(value) = document.field(field) {
        walk(value, rest, None, 1, each);
    }
}

/// How many values there are at `path`. An array within an array has them beside those of the others.
#[must_use]
pub fn count_values(document: &Document, path: &str) -> usize {
    let mut count = 0;
    each_value(document, path, &mut |_, _| count += 1);
    count
}

fn split(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}

fn walk(value: &Value, path: &str, element: Option<u32>, weight: i32, each: &mut dyn FnMut(&Value, ValuePlace)) {
    let of = |place: usize| element.or(Some(place as u32));
    match value {
        Value::Array(elements) => {
            for (place, inner) in elements.iter().enumerate() {
                walk(inner, path, of(place), 1, each);
            }
        }
        Value::WeightedSet(entries) => {
            for (place, (key, weight)) in entries.iter().enumerate() {
                walk(key, path, of(place), *weight, each);
            }
        }
        Value::Map(entries) => {
            let (part, rest) = split(path);
            for (place, (key, value)) in entries.iter().enumerate() {
                match part {
                    "key" => walk(key, rest, of(place), 1, each),
                    "value" => walk(value, rest, of(place), 1, each),
                    _ => {}
                }
            }
        }
        Value::Struct(fields) => {
            let (part, rest) = split(path);
            if let Some((_, inner)) = fields.iter().find(|(name, _)| name == part) {
                walk(inner, rest, element, weight, each);
            }
        }
        single if path.is_empty() => each(single, ValuePlace { element: element.unwrap_or(0), weight }),
        _ => {}
    }
}
