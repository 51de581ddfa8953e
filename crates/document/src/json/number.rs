//! Numbers as text: read to the nearest float64, printed as Java prints them.

/// A number token and what was learnt about it while its end was looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberToken<'a> {
    /// The token.
    pub text: &'a str,
    /// The digits as one integer; only meaningful if there are at most 19.
    mantissa: u64,
    /// The value is `mantissa` times ten to this power.
    exponent: i64,
    /// Digits, leading zeros counted too.
    digits: usize,
    negative: bool,
}

/// Powers of ten that float64 holds exactly.
pub(super) const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

impl NumberToken<'_> {
    /// The nearest float64.
    ///
    /// A mantissa below 2^53 and a power of ten up to 22 are both exact, so their product or quotient is rounded once
    /// (Clinger's fast path); all else goes the standard library's slower, equally exact way.
    #[inline]
    pub fn value(&self) -> f64 {
        let power = self.exponent.unsigned_abs() as usize;
        if self.digits <= 19 && self.mantissa <= 1 << 53 && power < POWERS.len() {
            let mantissa = self.mantissa as f64;
            let value = if self.exponent < 0 { mantissa / POWERS[power] } else { mantissa * POWERS[power] };
            return if self.negative { -value } else { value };
        }
        self.text.parse().unwrap_or(f64::NAN)
    }
}

/// The number at the start of `text` by JSON's grammar, if there is one.
#[inline]
pub(super) fn scan_number(text: &str) -> Option<NumberToken<'_>> {
    let bytes = text.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let mut mantissa = 0;
    let mut at = start + scan_digits(&bytes[start..], &mut mantissa);
    let mut digits = at - start;
    if digits == 0 || (digits > 1 && bytes[start] == b'0') {
        return None;
    }
    let mut exponent = 0;
    if bytes.get(at) == Some(&b'.') {
        let fraction = scan_digits(&bytes[at + 1..], &mut mantissa);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
        digits += fraction;
        exponent = -(fraction as i64);
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let (power, length) = scan_exponent(&bytes[at + 1..])?;
        at += 1 + length;
        exponent += power;
    }
    Some(NumberToken { text: &text[..at], mantissa, exponent, digits, negative })
}

/// Counts the digits at the start of `bytes` and appends them to `mantissa`, eight at a time while there are eight.
#[inline]
fn scan_digits(bytes: &[u8], mantissa: &mut u64) -> usize {
    let mut at = 0;
    while let Some(chunk) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        if !eight_digits(word) {
            break;
        }
        *mantissa = mantissa.wrapping_mul(100_000_000).wrapping_add(value_of_eight(word));
        at += 8;
    }
    while let Some(byte @ b'0'..=b'9') = bytes.get(at) {
        *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        at += 1;
    }
    at
}

/// Whether all eight bytes are ASCII digits.
#[inline]
fn eight_digits(word: u64) -> bool {
    let high_nibbles = word & 0xf0f0_f0f0_f0f0_f0f0;
    let carried = word.wrapping_add(0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0;
    high_nibbles == 0x3030_3030_3030_3030 && carried == high_nibbles
}

/// The number that eight ASCII digits (the first in the lowest byte) write: pairs, then fours, then all eight.
#[inline]
fn value_of_eight(word: u64) -> u64 {
    value_of_digits(word - 0x3030_3030_3030_3030)
}

/// The same of eight digits that are numbers already.
#[inline]
pub(super) fn value_of_digits(ones: u64) -> u64 {
    let pairs = (ones * 10 + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

/// The signed exponent at the start of `bytes`, cut off far outside of float64's range, and its length.
fn scan_exponent(bytes: &[u8]) -> Option<(i64, usize)> {
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let length = bytes[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 {
        return None;
    }
    let digits = &bytes[sign..sign + length];
    let power = digits.iter().fold(0i64, |power, digit| (power * 10 + i64::from(digit - b'0')).min(1_000_000));
    Some((if bytes[0] == b'-' { -power } else { power }, sign + length))
}

/// Reads a number as Java's `Double.parseDouble` does, except for hexadecimal ones: spaces around it, a sign, digits,
/// a fraction, an exponent, an ending `d` or `f`; or `NaN` or `Infinity` with a sign.
#[must_use]
pub fn parse_double(text: &str) -> Option<f64> {
    parse_java(text, |digits| digits.parse().ok())
}

/// The same for float32, rounded once.
#[must_use]
pub(crate) fn parse_float(text: &str) -> Option<f32> {
    parse_java(text, |digits| digits.parse().ok())
}

fn parse_java<T: std::ops::Neg<Output = T> + From<f32>>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
    let text = text.trim_matches(|c: char| c <= ' ');
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits {
        // Whatever its sign, it is one: a key of a map, too.
        "NaN" => return Some(T::from(f32::NAN)),
        "Infinity" => T::from(f32::INFINITY),
        _ => {
            let digits = digits.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(digits);
            // The standard library also reads words such as "inf" and a second sign, which Java does not.
            if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
                return None;
            }
            parse(digits)?
        }
    };
    Some(if negative { -value } else { value })
}

/// Numbers that Java prints as plain decimals, which is how the fewest digits are written of them.
const PLAIN: std::ops::Range<f64> = 1e-3..1e7;

/// Appends `value` as Java's `Double.toString` prints it (since release 19: the fewest digits that tell it apart, of two
/// such the nearest, of two equally near the even one).
pub fn print_double(value: f64, out: &mut String) {
    let mut buffer = zmij::Buffer::new();
    if PLAIN.contains(&value.abs()) || value == 0.0 {
        return out.push_str(buffer.format_finite(value));
    }
    if let Some(word) = non_finite(value) {
        return out.push_str(word);
    }
    if value.abs() < f64::MIN_POSITIVE {
        let with_two = format!("{value:.1e}");
        let is_same = with_two.parse() == Ok(value);
        return print_scientific(two_digits(buffer.format_finite(value), &with_two, is_same), out);
    }
    print_scientific(buffer.format_finite(value), out);
}

/// Appends `value` as Java's `Float.toString` prints it.
pub fn print_float(value: f32, out: &mut String) {
    let mut buffer = zmij::Buffer::new();
    if PLAIN.contains(&f64::from(value.abs())) || value == 0.0 {
        return out.push_str(buffer.format_finite(value));
    }
    if let Some(word) = non_finite(f64::from(value)) {
        return out.push_str(word);
    }
    if value.abs() < f32::MIN_POSITIVE {
        let with_two = format!("{value:.1e}");
        let is_same = with_two.parse() == Ok(value);
        return print_scientific(two_digits(buffer.format_finite(value), &with_two, is_same), out);
    }
    print_scientific(buffer.format_finite(value), out);
}

fn non_finite(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        _ => None,
    }
}

/// Java never prints fewer than two digits, and for the smallest numbers takes the second from the value (`4.9E-324`).
fn two_digits<'a>(shortest: &'a str, with_two: &'a str, is_same: bool) -> &'a str {
    let one_digit =
        shortest.bytes().take_while(|byte| *byte != b'e').filter(|byte| matches!(byte, b'1'..=b'9')).count();
    if one_digit == 1 && is_same { with_two } else { shortest }
}

/// Turns the fewest digits, as a plain decimal or with an exponent, into Java's form with one: `1.25E-7`.
fn print_scientific(shortest: &str, out: &mut String) {
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat();
    let significant = digits.trim_start_matches('0');
    let power = exponent + whole.len() as i32 - 1 - (digits.len() - significant.len()) as i32;
    let (first, rest) = significant.split_at(significant.len().min(1));
    out.push_str(sign);
    out.push_str(first);
    out.push('.');
    out.push_str(match rest.trim_end_matches('0') {
        "" => "0",
        rest => rest,
    });
    out.push('E');
    out.push_str(itoa::Buffer::new().format(power));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(value: f64) -> String {
        let mut out = String::new();
        print_double(value, &mut out);
        out
    }

    fn float(value: f32) -> String {
        let mut out = String::new();
        print_float(value, &mut out);
        out
    }

    #[test]
    fn doubles_are_printed_as_java_prints_them() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-12.5, "-12.5"),
            (1000.0, "1000.0"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (1e30, "1.0E30"),
            (0.001, "0.001"),
            (0.012, "0.012"),
            (0.00099, "9.9E-4"),
            (1e-7, "1.0E-7"),
            (123_456.789, "123456.789"),
            (16_777_216.0, "1.6777216E7"),
            (f64::from(0.1f32), "0.10000000149011612"),
            (5e-324, "4.9E-324"),
            (2e23, "2.0E23"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double(value), text);
        }
        assert_eq!((float(0.1), float(1e-45), float(1.5e10)), ("0.1".into(), "1.4E-45".into(), "1.5E10".into()));
    }

    #[test]
    fn what_is_printed_is_the_number_in_the_fewest_digits() {
        let mut bits = 1u64;
        let mut next = || {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            bits
        };
        let digits = |text: &str| {
            let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
            let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
            digits.trim_matches('0').len()
        };
        for _ in 0..100_000 {
            // Of all sizes, and of those that most are of.
            let spread = [f64::from_bits(next()), f64::from_bits((1005 + next() % 50) << 52 | next() >> 12)];
            for value in spread.into_iter().filter(|value| value.is_normal()) {
                let (printed, known) = (double(value), format!("{value:e}"));
                assert_eq!((printed.parse(), digits(&printed)), (Ok(value), digits(&known)), "{printed} {known}");
                assert_eq!(printed.contains('E'), !PLAIN.contains(&value.abs()), "{printed}");
                let narrow = value as f32;
                if narrow.is_normal() {
                    let (printed, known) = (float(narrow), format!("{narrow:e}"));
                    assert_eq!((printed.parse(), digits(&printed)), (Ok(narrow), digits(&known)), "{printed} {known}");
                }
            }
        }
        // Equally near are 2013950.2 and 2013950.3.
        assert_eq!((float(8_055_801.0 / 4.0), float(-33_554_448.0)), ("2013950.2".into(), "-3.355445E7".into()));
        assert_eq!((double(123_456_789.5), double(-0.000_123)), ("1.234567895E8".into(), "-1.23E-4".into()));
    }

    #[test]
    fn java_number_words_are_read_and_others_are_not() {
        assert_eq!(parse_double(" 1.5e3 "), Some(1500.0));
        assert_eq!(parse_double("-Infinity"), Some(f64::NEG_INFINITY));
        assert_eq!((parse_double("+.5"), parse_double("5."), parse_double("2f")), (Some(0.5), Some(5.0), Some(2.0)));
        assert!(parse_double("NaN").is_some_and(f64::is_nan));
        assert_eq!(parse_float("1e300"), Some(f32::INFINITY));
        for word in ["", "inf", "nan", "true", "0x10", "1e", "--1", "+-1", "infinity", "1 2", "."] {
            assert_eq!(parse_double(word), None, "{word}");
        }
    }
}
