//! Reads places: `{"lat":63.4,"lng":10.4}`, `{"x":10400000,"y":63400000}`, `"N63.4;E10.4"`, `"10400000;63400000"`.
use brooklet_task::Rejection;

use super::number::parse_int;
use super::refusal::{check_key, refusal};
use crate::Value;
use crate::json::number::parse_double;
use crate::json::{Lexer, UniqueNames};

const MICRODEGREES: f64 = 1e6;

/// Reads the object form.
#[inline(never)]
pub(super) fn read_position_object(json: &mut Lexer) -> Result<Value, Rejection> {
    json.begin_object()?;
    let mut seen = UniqueNames::default();
    let (mut x, mut y) = (None, None);
    while let Some(key) = json.next_key()? {
        check_key(&mut seen, &key)?;
        let kind = json.kind()?;
        if !kind.is_scalar() {
            return Err(refusal(&format!(
                "Expected a coordinate '{}' but got {}",
                Rejection::quote(&key),
                kind.noun()
            )));
        }
        let text = json.scalar_text()?;
        let before = match &*key {
            "lat" | "latitude" => y.replace(round_degrees(&text)?),
            "lng" | "longitude" => x.replace(round_degrees(&text)?),
            "x" => x.replace(parse_int(&text)?),
            "y" => y.replace(parse_int(&text)?),
            other => {
                let shown = Rejection::quote(other);
                return Err(refusal(&format!("Unexpected attribute name in geo position field: '{shown}'")));
            }
        };
        if before.is_some() {
            return Err(refusal(&format!("A coordinate of a geo position is given twice, again as '{key}'")));
        }
    }
    let y = y.ok_or_else(|| refusal("Missing 'lat' attribute in geo position field"))?;
    let x = x.ok_or_else(|| refusal("Missing 'lng' attribute in geo position field"))?;
    Ok(Value::Position { x, y })
}

/// Degrees as micro-degrees, rounded half up.
fn round_degrees(text: &str) -> Result<i32, Rejection> {
    let degrees =
        parse_double(text).ok_or_else(|| refusal(&format!("For input string: \"{}\"", Rejection::quote(text))))?;
    fitting((degrees * MICRODEGREES + 0.5).floor(), text)
}

fn fitting(microdegrees: f64, text: &str) -> Result<i32, Rejection> {
    let fits = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&microdegrees);
    let outside = || refusal(&format!("'{}' degrees are out of range", Rejection::quote(text)));
    if fits { Ok(microdegrees as i32) } else { Err(outside()) }
}

/// Reads the string forms: two micro-degrees `x;y`, or two angles with a compass direction each, in either order.
#[inline(never)]
pub(super) fn read_position(text: &str) -> Result<Value, Rejection> {
    let wrong =
        |cause: &str| refusal(&format!("Could not parse '{}' as geo coordinates: {cause}", Rejection::quote(text)));
    if let Some((x, y)) = text.split_once(';')
        && let (Ok(x), Ok(y)) = (parse_int(x.trim()), parse_int(y.trim()))
    {
        return Ok(Value::Position { x, y });
    }
    let (mut x, mut y) = (None, None);
    for field in text.split([';', ' ']).filter(|field| !field.is_empty()) {
        let (direction, degrees) = angle(field).map_err(wrong)?;
        let sign = if matches!(direction, 'S' | 'W') { -1.0 } else { 1.0 };
        let (coordinate, limit, name) =
            if matches!(direction, 'N' | 'S') { (&mut y, 90.0, "latitude") } else { (&mut x, 180.0, "longitude") };
        if degrees > limit {
            return Err(wrong(&format!("out of range [-{limit},{limit}]")));
        }
        if coordinate.replace(fitting((sign * degrees * MICRODEGREES).trunc(), field)?).is_some() {
            return Err(wrong(&format!("{name} is given twice")));
        }
    }
    let y = y.ok_or_else(|| wrong("missing latitude"))?;
    let x = x.ok_or_else(|| wrong("missing longitude"))?;
    Ok(Value::Position { x, y })
}

/// `N63.4`, `63.4N` or `N63°24'30.5"` (also with `o` for the degree sign): direction and degrees.
#[inline(never)]
fn angle(field: &str) -> Result<(char, f64), &'static str> {
    let direction = |c: char| matches!(c, 'N' | 'S' | 'E' | 'W');
    let (found, number) = if let Some(rest) = field.strip_prefix(direction) {
        (field.chars().next(), rest)
    } else {
        (
            field.chars().next_back(),
            field.strip_suffix(direction).ok_or("end of field without any compass direction seen")?,
        )
    };
    let (degrees, rest) = number.split_once(['°', 'o']).unwrap_or((number, ""));
    let (minutes, seconds) = rest.split_once('\'').unwrap_or((rest, ""));
    let mut total = 0.0;
    for (part, text, scale) in [(0, degrees, 1.0), (1, minutes, 60.0), (2, seconds.trim_end_matches('"'), 3600.0)] {
        if part > 0 && text.trim().is_empty() {
            continue;
        }
        let digits = text.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let value = parse_double(text).filter(|_| digits).ok_or("a part of an angle is not a number")?;
        if part > 0 && value >= 60.0 {
            return Err("minutes and seconds must be below 60");
        }
        total += value / scale;
    }
    Ok((found.unwrap_or('N'), total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_truncated_to_microdegrees() {
        let place = |x, y| Ok(Value::Position { x, y });
        assert_eq!(read_position("N37.4;W122.0"), place(-122_000_000, 37_400_000));
        assert_eq!(read_position("63.1N;10.2E"), place(10_200_000, 63_100_000));
        assert_eq!(read_position("E10.0000019;S1.5"), place(10_000_001, -1_500_000));
        assert_eq!(read_position("N37.4 W122.0"), place(-122_000_000, 37_400_000));
        assert_eq!(read_position(" N37.4; W122.0 "), place(-122_000_000, 37_400_000));
        assert_eq!(read_position("-122000000;37400000"), place(-122_000_000, 37_400_000));
        assert_eq!(read_position("N37°30'36\";W122o15'"), place(-122_250_000, 37_510_000));
    }

    #[test]
    fn half_places_are_refused() {
        for bad in [
            "",
            "N1",
            "E1",
            "63.5;10.5",
            "N1;N2",
            "N91;E1",
            "N1;E181",
            "N1;E1;E1",
            "Nx;E1",
            "N1°70';E1",
            "N-1;E1",
            "N;E",
            "N 1;E 2",
        ] {
            assert!(read_position(bad).is_err(), "{bad}");
        }
    }
}
