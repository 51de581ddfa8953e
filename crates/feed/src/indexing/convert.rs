//! Conversions between values in scripts.
use brooklet_document::json::JsonWriter;
use brooklet_document::{DataType, Value};
use brooklet_schema::indexing::{Arithmetic, Comparison};
use brooklet_task::{Code, Rejection};

type Made = Result<Value, Rejection>;

pub(super) fn invalid(message: impl Into<String>) -> Rejection {
    Rejection::new(Code::InvalidDocument, message)
}

/// The text of a value, as `to_string` and `.` have it.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Long(number) => number.to_string(),
        Value::Byte(number) => number.to_string(),
        Value::Bool(is) => is.to_string(),
        Value::Float(number) => json_text(|json| json.float(*number)),
        Value::Double(number) => json_text(|json| json.double(*number)),
        Value::Array(elements) => elements.iter().map(text_of).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

/// A number as JSON has it.
fn json_text(write: impl Fn(&mut JsonWriter)) -> String {
    let mut json = JsonWriter::new();
    write(&mut json);
    json.finish().trim_matches('"').to_owned()
}

/// The number of a value, or of the text it is.
fn number_of(value: &Value) -> Result<f64, Rejection> {
    Ok(match value {
        Value::Int(number) => f64::from(*number),
        Value::Long(number) => *number as f64,
        Value::Byte(number) => f64::from(*number),
        Value::Bool(is) => f64::from(u8::from(*is)),
        Value::Float(number) => f64::from(*number),
        Value::Double(number) => *number,
        other => {
            let text = text_of(other);
            return text.trim().parse().map_err(|_| invalid(format!("'{}' is no number", Rejection::quote(&text))));
        }
    })
}

/// The whole number of a value: texts must be whole, fractions are cut.
fn whole_of(value: &Value) -> Result<i64, Rejection> {
    match value {
        Value::Long(number) => Ok(*number),
        Value::String(text) => {
            text.trim().parse().map_err(|_| invalid(format!("'{}' is no whole number", Rejection::quote(text))))
        }
        // Beyond the range the nearest end, as numbers are cast in Java.
        other => number_of(other).map(|number| number as i64),
    }
}

/// A value as the number, text or truth of another type.
pub(super) fn convert(value: &Value, to: &DataType) -> Made {
    let outside = || invalid(format!("{} does not fit into {to}", text_of(value)));
    Ok(match to {
        DataType::Int => Value::Int(i32::try_from(whole_of(value)?).map_err(|_| outside())?),
        DataType::Byte => Value::Byte(i8::try_from(whole_of(value)?).map_err(|_| outside())?),
        DataType::Long => Value::Long(whole_of(value)?),
        DataType::Float => Value::Float(number_of(value)? as f32),
        DataType::Double => Value::Double(number_of(value)?),
        DataType::Bool => Value::Bool(match value {
            Value::String(text) => !text.is_empty() && !text.eq_ignore_ascii_case("false"),
            Value::Array(elements) => !elements.is_empty(),
            other => number_of(other)? != 0.0,
        }),
        _ => Value::String(text_of(value)),
    })
}

/// `left op right`, in the wider of the two types; whole numbers wrap, and dividing them by nothing is an error.
pub(super) fn arithmetic(operator: Arithmetic, left: &Value, right: &Value) -> Made {
    let is_fraction = |value: &Value| matches!(value, Value::Float(_) | Value::Double(_));
    if is_fraction(left) || is_fraction(right) {
        let (a, b) = (number_of(left)?, number_of(right)?);
        let result = match operator {
            Arithmetic::Add => a + b,
            Arithmetic::Subtract => a - b,
            Arithmetic::Multiply => a * b,
            Arithmetic::Divide => a / b,
            Arithmetic::Remainder => a % b,
        };
        let is_double = matches!(left, Value::Double(_)) || matches!(right, Value::Double(_));
        return Ok(if is_double { Value::Double(result) } else { Value::Float(result as f32) });
    }
    let (a, b) = (whole_of(left)?, whole_of(right)?);
    let by_nothing = || invalid("a division by zero");
    let result = match operator {
        Arithmetic::Add => a.wrapping_add(b),
        Arithmetic::Subtract => a.wrapping_sub(b),
        Arithmetic::Multiply => a.wrapping_mul(b),
        Arithmetic::Divide => a.checked_div(b).ok_or_else(by_nothing)?,
        Arithmetic::Remainder => a.checked_rem(b).ok_or_else(by_nothing)?,
    };
    let is_long = matches!(left, Value::Long(_)) || matches!(right, Value::Long(_));
    Ok(if is_long { Value::Long(result) } else { Value::Int(result as i32) })
}

/// Whether `left comparison right` holds: numbers by value, all else by text.
pub(super) fn compares(comparison: Comparison, left: &Value, right: &Value) -> bool {
    let is_text = |value: &Value| matches!(value, Value::String(_));
    let order = match (number_of(left), number_of(right)) {
        (Ok(a), Ok(b)) if !is_text(left) && !is_text(right) => a.partial_cmp(&b),
        _ => Some(text_of(left).cmp(&text_of(right))),
    };
    order.is_some_and(|order| match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}

/// Seconds since 1970 of a time as ISO 8601 writes it: `2026-01-31T12:00:00Z`, with fractions and offsets.
#[inline(never)]
pub(super) fn epoch_second(text: &str) -> Made {
    let malformed = || invalid(format!("'{}' is no time such as 2026-01-31T12:00:00Z", Rejection::quote(text)));
    let (date, time) = text.split_once(['T', 't']).ok_or_else(malformed)?;
    let at = time.rfind(['Z', 'z', '+', '-']).ok_or_else(malformed)?;
    let (clock, zone) = time.split_at(at);
    let parts = |text: &str, separator: char| -> Option<Vec<i64>> {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        text.split(separator).map(|part| digits(part).then(|| part.parse().ok())?).collect()
    };
    let [year, month, day] = *parts(date, '-').ok_or_else(malformed)? else { return Err(malformed()) };
    let clock = clock.split('.').next().unwrap_or_default();
    let (hour, minute, second) = match *parts(clock, ':').ok_or_else(malformed)? {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return Err(malformed()),
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return Err(malformed()),
    };
    if !(0..=9999).contains(&year) || !(1..=days_of_month).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return Err(malformed());
    }
    let offset = match zone {
        "Z" | "z" => 0,
        signed => {
            let sign = if signed.starts_with('-') { -1 } else { 1 };
            match *parts(&signed[1..], ':').ok_or_else(malformed)? {
                [hours] if hours <= 18 => sign * hours * 3600,
                [hours, minutes] if hours <= 18 && minutes <= 59 => sign * (hours * 60 + minutes) * 60,
                _ => return Err(malformed()),
            }
        }
    };
    Ok(Value::Long(days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset))
}

/// Days from 1 January 1970 to a day of the Gregorian calendar; years are counted from March, so that the leap day is
/// the last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let in_era = year.rem_euclid(400);
    let from_march = (month + 9) % 12;
    let in_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds() {
        let at = |text: &str| epoch_second(text).map_err(|rejection| rejection.message);
        assert_eq!(at("1970-01-01T00:00:00Z"), Ok(Value::Long(0)));
        assert_eq!(at("2000-02-29T12:00:00.123+01:00"), Ok(Value::Long(951_822_000)));
        assert_eq!(at("1969-12-31T23:59Z"), Ok(Value::Long(-60)));
        for text in ["", "2000-02-30T00:00:00Z", "2001-02-29T00:00Z", "2000-01-01", "2000-01-01T24:00:00Z", "a-b-cTdZ"]
        {
            assert!(at(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_convert_where_they_fit() {
        let text = |text: &str| Value::String(text.to_owned());
        assert_eq!(convert(&text(" 12 "), &DataType::Int), Ok(Value::Int(12)));
        assert_eq!(convert(&Value::Double(-1.9), &DataType::Long), Ok(Value::Long(-1)));
        assert_eq!(convert(&text("9007199254740993"), &DataType::Long), Ok(Value::Long(9_007_199_254_740_993)));
        assert!(convert(&text("1.5"), &DataType::Int).is_err());
        assert!(convert(&Value::Long(1 << 40), &DataType::Int).is_err());
        assert_eq!(arithmetic(Arithmetic::Divide, &Value::Int(7), &Value::Long(2)), Ok(Value::Long(3)));
        assert!(arithmetic(Arithmetic::Remainder, &Value::Int(7), &Value::Int(0)).is_err());
        assert!(compares(Comparison::Less, &Value::Int(9), &Value::Double(10.0)));
        assert!(!compares(Comparison::Less, &text("9"), &text("10")));
    }
}
