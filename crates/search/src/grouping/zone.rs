//! Time zones by their names: how many seconds they are ahead of UTC at a time.

/// The offset of a zone, seconds; without a name that of UTC.
///
/// # Errors
/// Why there is no such zone.
pub(crate) fn offset_of(name: Option<&str>, _now: i64) -> Result<i64, String> {
    let name = name.map_or("", str::trim);
    if ["", "utc", "gmt", "z"].contains(&name.to_ascii_lowercase().as_str()) {
        return Ok(0);
    }
    let unknown = || format!("'{}' is not a known time zone", brooklet_task::Rejection::quote(name));
    let rest = ["UTC", "GMT", "UT"].iter().find_map(|zone| name.strip_prefix(zone)).unwrap_or(name);
    fixed(rest).ok_or_else(unknown)
}

/// `+2`, `-03:30`, `+0530`
fn fixed(text: &str) -> Option<i64> {
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
    use super::offset_of;

    #[test]
    fn fixed_offsets() {
        for (name, offset) in
            [("utc", 0), ("UTC", 0), ("GMT+2", 7_200), ("GMT-03:30", -12_600), ("+05:30", 19_800), ("UTC+0530", 19_800)]
        {
            assert_eq!(offset_of(Some(name), 0), Ok(offset), "{name}");
        }
        assert_eq!(offset_of(None, 0), Ok(0));
        for wrong in ["bogus", "GMT+24", "+1:5", "GMT+", "2"] {
            assert!(offset_of(Some(wrong), 0).is_err(), "{wrong}");
        }
    }
}
