//! Time zones by their names: how many seconds they are ahead of UTC at a time. Fixed offsets are read here; what a named
//! zone is ahead the host knows, whose tables of zones are kept up to date.

use brooklet_task::Rejection;

/// Longest name of a zone, bytes; those of the tz database are far shorter.
const NAME_BYTES: usize = 64;

/// No zone is farther from UTC than a day, seconds.
const OFFSET_MAX: i64 = 86_400;

/// What time it is for a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Seconds since 1970, UTC.
    pub(crate) now: i64,
    /// Seconds that times are shifted by.
    pub(crate) zone: i64,
}

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    /// So many seconds ahead of UTC at all times.
    Fixed(i64),
    /// The host is asked.
    Named(String),
}

/// The zone of this name; without a name UTC.
///
/// # Errors
/// Why there cannot be such a zone.
pub(crate) fn zone_of(name: Option<&str>) -> Result<Zone, String> {
    let name = name.map_or("", str::trim);
    if ["", "utc", "gmt", "z"].contains(&name.to_ascii_lowercase().as_str()) {
        return Ok(Zone::Fixed(0));
    }
    let rest = ["UTC", "GMT", "UT"].iter().find_map(|zone| name.strip_prefix(zone)).unwrap_or(name);
    if let Some(offset) = fixed_offset(rest) {
        return Ok(Zone::Fixed(offset));
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-/".contains(&byte);
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(is_part);
    if is_name && name.len() <= NAME_BYTES { Ok(Zone::Named(name.to_owned())) } else { Err(unknown_zone(name)) }
}

/// How many seconds a zone is ahead of UTC, as the host says it; nothing if there is no such zone.
pub(crate) fn zone_offset(answer: &[u8]) -> Result<Option<i64>, Rejection> {
    match answer {
        [] => Ok(None),
        &[a, b, c, d] => Ok(Some(i64::from(i32::from_le_bytes([a, b, c, d])).clamp(-OFFSET_MAX, OFFSET_MAX))),
        _ => Err(Rejection::corrupt("an offset of a time zone that is no number")),
    }
}

/// Why a zone is refused.
pub(crate) fn unknown_zone(name: &str) -> String {
    format!("'{}' is not a known time zone", Rejection::quote(name))
}

/// `+2`, `-03:30`, `+0530`
fn fixed_offset(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = &text[1..];
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return None,
        None if digits.len() == 4 => digits.split_at(2),
        None => (digits, "00"),
    };
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i64>().ok()).flatten();
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3_600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::{Zone, zone_of};

    #[test]
    fn fixed_offsets_and_names() {
        for (name, offset) in
            [("utc", 0), ("UTC", 0), ("GMT+2", 7_200), ("GMT-03:30", -12_600), ("+05:30", 19_800), ("UTC+0530", 19_800)]
        {
            assert_eq!(zone_of(Some(name)), Ok(Zone::Fixed(offset)), "{name}");
        }
        assert_eq!(zone_of(None), Ok(Zone::Fixed(0)));
        for name in ["Europe/Oslo", "America/Port-au-Prince", "Etc/GMT+5", "EST5EDT"] {
            assert_eq!(zone_of(Some(name)), Ok(Zone::Named(name.to_owned())));
        }
        for wrong in ["+1:5", "2", "Europe Oslo", "\u{e9}", &"x".repeat(65)] {
            assert!(zone_of(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
