//! Positions and distances as queries write them: `63.5`, `"N63.5"`, `"10o30'E"`, `"200 km"`.
//! Everything becomes millionths of a degree, which is what positions are stored in.

/// Which way a coordinate said it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    Latitude,
    Longitude,
}

/// A coordinate in degrees and, if its text named a direction, its axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coordinate {
    pub degrees: f64,
    pub axis: Option<Axis>,
}

/// Metres from pole to pole along the surface: half the circumference of the sphere distances are measured on.
const HALF_CIRCUMFERENCE_M: f64 = std::f64::consts::PI * 6_356_752.0;
const METRES_PER_MILE: f64 = 1_609.344;

/// A coordinate as text: degrees, optionally minutes after `o`, `°` or `'`-style marks, and N, S, E or W at either end.
pub(crate) fn parse_coordinate(text: &str) -> Result<Coordinate, String> {
    let mut rest = text.trim();
    let mut direction = None;
    if let Some(letter) = rest.chars().next().and_then(direction_of) {
        direction = Some(letter);
        rest = &rest[1..];
    } else if let Some(letter) = rest.chars().next_back().and_then(direction_of) {
        direction = Some(letter);
        rest = &rest[..rest.len() - 1];
    }
    let (negative, digits) = rest.strip_prefix('-').map_or((false, rest), |digits| (true, digits));
    let parts: Vec<&str> = digits.split_terminator(['o', '°', '\'', '"']).collect();
    if parts.is_empty() || parts.len() > 3 {
        return Err(format!("'{text}' is not a coordinate"));
    }
    let mut degrees = 0.0;
    for (part, divisor) in parts.iter().zip([1.0, 60.0, 3600.0]) {
        degrees += parse_decimal(part).ok_or_else(|| format!("'{text}' is not a coordinate"))? / divisor;
    }
    if negative != matches!(direction, Some(('S' | 'W', _))) {
        degrees = -degrees;
    }
    Ok(Coordinate { degrees, axis: direction.map(|(_, axis)| axis) })
}

fn direction_of(letter: char) -> Option<(char, Axis)> {
    match letter {
        'N' | 'S' => Some((letter, Axis::Latitude)),
        'E' | 'W' => Some((letter, Axis::Longitude)),
        _ => None,
    }
}

fn parse_decimal(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let decimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let exponent = exponent.parse::<i8>().is_ok();
    (decimal && exponent).then(|| text.parse().ok()).flatten()
}

/// The coordinate of a centre in millionths of a degree, checked against its axis, the rest cut off. One that names no
/// direction may lie a tenth of a degree beyond the pole or the date line, as the reference implementation has it.
pub(crate) fn microdegrees(coordinate: Coordinate, axis: Axis) -> Result<i32, String> {
    let slack = if coordinate.axis.is_some() { 0.0 } else { 0.1 };
    check(coordinate.degrees, axis, slack)?;
    Ok(whole_microdegrees(coordinate.degrees) as i32)
}

/// The limit of an area in millionths of a degree, rounded, halves up. One that names a direction is checked against its
/// axis; any other may lie beyond all places, as the edge of a map does that shows more than the earth.
pub(crate) fn limit_microdegrees(limit: Coordinate, axis: Axis) -> Result<i32, String> {
    if limit.axis.is_some() {
        check(limit.degrees, axis, 0.0)?;
    }
    let microdegrees = (limit.degrees * 1e6 + 0.5).floor();
    if !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&microdegrees) {
        return Err(format!("a limit of {} degrees is out of range", limit.degrees));
    }
    Ok(microdegrees as i32)
}

fn check(degrees: f64, axis: Axis, slack: f64) -> Result<(), String> {
    let (limit, name) = match axis {
        Axis::Latitude => (90.0, "n/s"),
        Axis::Longitude => (180.0, "e/w"),
    };
    if degrees.is_nan() || degrees.abs() > limit + slack {
        return Err(format!("{name} location must be in range [-{limit},+{limit}]"));
    }
    Ok(())
}

/// Whole millionths of a degree, the rest cut off; nudged so that what was written with six decimals stays what it is.
fn whole_microdegrees(degrees: f64) -> f64 {
    degrees * 1e6 + 1e-3_f64.copysign(degrees)
}

/// The longest radius there is, as the reference implementation has it. It is measured on a plane, where more than half a
/// circle may lie between two places.
pub(crate) const RADIUS_MAX_MICRODEGREES: u32 = i32::MAX as u32;

/// A distance with its unit, in millionths of a degree; `None` for no limit (a negative number).
pub(crate) fn parse_distance(text: &str) -> Result<Option<u32>, String> {
    let text = text.trim();
    let unit_at = text
        .rfind(|c: char| !c.is_ascii_alphabetic())
        .map_or(0, |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    let (number, unit) = text.split_at(unit_at);
    let degrees_per_unit = match unit {
        "km" => 180_000.0 / HALF_CIRCUMFERENCE_M,
        "m" => 180.0 / HALF_CIRCUMFERENCE_M,
        "miles" | "mi" => METRES_PER_MILE * 180.0 / HALF_CIRCUMFERENCE_M,
        "deg" | "d" => 1.0,
        _ => return Err(format!("missing unit for distance: {text}")),
    };
    let number = number.trim();
    let (negative, digits) = number.strip_prefix('-').map_or((false, number), |digits| (true, digits));
    let value = parse_decimal(digits).ok_or_else(|| format!("'{text}' is not a distance"))?;
    if negative {
        return Ok(None);
    }
    Ok(Some((whole_microdegrees(value * degrees_per_unit) as u32).min(RADIUS_MAX_MICRODEGREES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_have_units() {
        assert_eq!(parse_distance("200 km"), Ok(Some(1_802_674)));
        assert_eq!(parse_distance("200 miles"), Ok(Some(2_901_123)));
        assert_eq!(parse_distance("1km"), Ok(Some(9_013)));
        assert_eq!(parse_distance("1e3 m"), Ok(Some(9_013)));
        assert_eq!(parse_distance("2.5deg"), Ok(Some(2_500_000)));
        assert_eq!(parse_distance("-1 m"), Ok(None));
        assert_eq!(parse_distance("350 deg"), Ok(Some(350_000_000)));
        assert_eq!(parse_distance("1e99 km"), Ok(Some(RADIUS_MAX_MICRODEGREES)));
        for wrong in ["200", "200 furlong", "2 KM", "km", "x km", "", "1 2 km"] {
            assert!(parse_distance(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn coordinates_may_name_their_direction() {
        assert_eq!(parse_coordinate("63.5N"), Ok(Coordinate { degrees: 63.5, axis: Some(Axis::Latitude) }));
        assert_eq!(parse_coordinate("W10o30"), Ok(Coordinate { degrees: -10.5, axis: Some(Axis::Longitude) }));
        assert_eq!(parse_coordinate("-7"), Ok(Coordinate { degrees: -7.0, axis: None }));
        for wrong in ["", "N", "x", "1 2", "1o2o3o4", "--1", "N1S"] {
            assert!(parse_coordinate(wrong).is_err(), "{wrong}");
        }
        let plain = |degrees| Coordinate { degrees, axis: None };
        assert_eq!(microdegrees(plain(1.23456789), Axis::Latitude), Ok(1_234_567));
        assert_eq!(microdegrees(plain(2.9011229999999997), Axis::Latitude), Ok(2_901_123));
        assert_eq!(limit_microdegrees(plain(1.23456789), Axis::Latitude), Ok(1_234_568));
        assert_eq!(limit_microdegrees(plain(-1.5e-6), Axis::Longitude), Ok(-1));
    }

    /// As the reference implementation answers: 90.1 and 180.1 are taken and what is beyond is not, but for areas; with a
    /// letter 90 and 180 are the last.
    #[test]
    fn coordinates_may_lie_a_little_beyond() {
        let plain = |degrees| Coordinate { degrees, axis: None };
        for (axis, last) in [(Axis::Latitude, 90), (Axis::Longitude, 180)] {
            let (last, beyond) = (f64::from(last), last * 1_000_000 + 100_000);
            assert_eq!(microdegrees(plain(last + 0.1), axis), Ok(beyond));
            assert_eq!(microdegrees(plain(-last - 0.1), axis), Ok(-beyond));
            for degrees in [last + 0.100_000_1, -last - 0.5, f64::NAN, f64::INFINITY] {
                assert!(microdegrees(plain(degrees), axis).is_err(), "{degrees}");
            }
            let lettered = |degrees| Coordinate { degrees, axis: Some(axis) };
            assert!(microdegrees(lettered(last), axis).is_ok() && limit_microdegrees(lettered(-last), axis).is_ok());
            assert!(microdegrees(lettered(last + 1e-7), axis).is_err());
            assert!(limit_microdegrees(lettered(-last - 1e-7), axis).is_err());
            assert_eq!(limit_microdegrees(plain(last + 0.5), axis), Ok(beyond + 400_000));
            assert_eq!(limit_microdegrees(plain(2_147.483_647), axis), Ok(i32::MAX));
            for degrees in [2_147.483_648, -2_147.483_649, f64::NAN, f64::INFINITY] {
                assert!(limit_microdegrees(plain(degrees), axis).is_err(), "{degrees}");
            }
        }
    }
}
