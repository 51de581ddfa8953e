//! Reads CBOR that is given in hexadecimal digits, as JSON: enough of RFC 8949 for answers, made for the tests alone.
use serde_json::{Map, Number, Value as Json};

/// What the digits mean; nothing if they are not one well-formed item, or have what JSON cannot say.
pub fn read(digits: &str) -> Option<Json> {
    let pairs: Vec<&str> = digits.as_bytes().chunks(2).map(std::str::from_utf8).collect::<Result<_, _>>().ok()?;
    let bytes: Vec<u8> = pairs.iter().map(|pair| u8::from_str_radix(pair, 16)).collect::<Result<_, _>>().ok()?;
    let mut rest = bytes.as_slice();
    let item = item(&mut rest)?;
    rest.is_empty().then_some(item)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn argument(low: u8, rest: &mut &[u8]) -> Option<u64> {
    let length = match low {
        0..24 => return Some(u64::from(low)),
        24 => 1,
        25 => 2,
        26 => 4,
        27 => 8,
        _ => return None,
    };
    Some(take(rest, length)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn ends(rest: &mut &[u8]) -> bool {
    let ends = rest.first() == Some(&0xff);
    if ends {
        *rest = &rest[1..];
    }
    ends
}

fn item(rest: &mut &[u8]) -> Option<Json> {
    let head = take(rest, 1)?[0];
    let low = head & 0x1f;
    Some(match (head >> 5, low) {
        (0, _) => Json::from(argument(low, rest)?),
        (1, _) => Json::from(!i64::try_from(argument(low, rest)?).ok()?),
        (3, _) => {
            let length = argument(low, rest)?;
            Json::from(std::str::from_utf8(take(rest, length as usize)?).ok()?)
        }
        (4, 31) => {
            let mut elements = Vec::new();
            while !ends(rest) {
                elements.push(item(rest)?);
            }
            Json::Array(elements)
        }
        (5, 31) => {
            let mut members = Map::new();
            while !ends(rest) {
                let Json::String(key) = item(rest)? else { return None };
                members.insert(key, item(rest)?);
            }
            Json::Object(members)
        }
        (7, 20 | 21) => Json::Bool(low == 21),
        (7, 22) => Json::Null,
        (7, 26) => float(f64::from(f32::from_bits(argument(low, rest)? as u32))),
        (7, 27) => float(f64::from_bits(argument(low, rest)?)),
        _ => return None,
    })
}

/// A float; what JSON has no number for becomes its name.
fn float(number: f64) -> Json {
    Number::from_f64(number).map_or_else(|| Json::from(number.to_string()), Json::Number)
}
