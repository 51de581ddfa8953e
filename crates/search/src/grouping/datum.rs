//! Values while documents are grouped, and the ids of groups. All conversions are those of the reference's content node.
use std::cmp::Ordering;
use std::rc::Rc;

/// A value of one document, or of a group.
#[derive(Clone, Debug)]
pub(crate) enum Datum {
    /// No value: nothing is grouped or aggregated.
    Nothing,
    Bool(bool),
    Long(i64),
    Double(f64),
    /// UTF-8, compared by bytes.
    Text(Rc<[u8]>),
    Raw(Rc<[u8]>),
    /// Several values, in order.
    Several(Rc<[Datum]>),
}

impl Datum {
    /// What no value of the type of `like` is greater than if `above`, or less than.
    pub(crate) fn beyond(like: Option<&Datum>, above: bool) -> Datum {
        let bytes = || if above { Rc::from([u8::MAX]) } else { Rc::from([]) };
        match like {
            Some(Datum::Double(_)) => Datum::Double(if above { f64::MAX } else { f64::MIN }),
            Some(Datum::Text(_)) => Datum::Text(bytes()),
            Some(Datum::Raw(_)) => Datum::Raw(bytes()),
            _ => Datum::Long(if above { i64::MAX } else { i64::MIN }),
        }
    }

    pub(crate) fn text(text: &str) -> Datum {
        Datum::Text(Rc::from(text.as_bytes()))
    }

    pub(crate) fn several(values: Vec<Datum>) -> Datum {
        Datum::Several(Rc::from(values))
    }

    /// Its elements: itself, unless it is several or nothing.
    pub(crate) fn elements(&self) -> &[Datum] {
        match self {
            Datum::Nothing => &[],
            Datum::Several(values) => values,
            single => std::slice::from_ref(single),
        }
    }

    /// Whole number: doubles round half away from zero, texts by their leading number, bytes are one in big-endian order.
    pub(crate) fn long(&self) -> i64 {
        match self {
            Datum::Nothing => 0,
            Datum::Bool(flag) => i64::from(*flag),
            Datum::Long(value) => *value,
            Datum::Double(value) => round(*value),
            Datum::Text(bytes) => leading_long(bytes),
            Datum::Raw(bytes) => i64::from_be_bytes(first_eight(bytes)),
            Datum::Several(values) => values.first().map_or(0, Datum::long),
        }
    }

    /// Whether it is added up in whole numbers; all else, texts too, is added up as doubles.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Datum::Bool(_) | Datum::Long(_))
    }

    /// Number with a fraction.
    pub(crate) fn double(&self) -> f64 {
        match self {
            Datum::Nothing => 0.0,
            Datum::Bool(flag) => f64::from(u8::from(*flag)),
            Datum::Long(value) => *value as f64,
            Datum::Double(value) => *value,
            Datum::Text(bytes) => leading_double(bytes),
            Datum::Raw(bytes) => f64::from_be_bytes(first_eight(bytes)),
            Datum::Several(values) => values.first().map_or(0.0, Datum::double),
        }
    }

    /// The place of its type among those that compare as equal.
    pub(crate) fn width(&self) -> u8 {
        match self {
            Datum::Nothing => 0,
            Datum::Bool(_) => 1,
            Datum::Long(_) | Datum::Text(_) => 2,
            Datum::Double(_) | Datum::Raw(_) => 3,
            Datum::Several(_) => 4,
        }
    }

    /// Bytes it takes beside its own size.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Datum::Text(bytes) | Datum::Raw(bytes) => bytes.len() + 16,
            Datum::Several(values) => values.iter().map(|value| size_of::<Datum>() + value.heap_bytes()).sum(),
            _ => 0,
        }
    }

    /// As a text: doubles with six significant digits.
    pub(crate) fn bytes(&self) -> Rc<[u8]> {
        match self {
            Datum::Text(bytes) | Datum::Raw(bytes) => bytes.clone(),
            Datum::Nothing => Rc::from(&b""[..]),
            Datum::Bool(flag) => Rc::from(if *flag { &b"true"[..] } else { &b"false"[..] }),
            Datum::Long(value) => Rc::from(value.to_string().into_bytes()),
            Datum::Double(value) => Rc::from(general(*value).into_bytes()),
            Datum::Several(values) => values.first().map_or_else(|| Rc::from(&b""[..]), Datum::bytes),
        }
    }

    /// Its binary form: numbers big-endian.
    pub(crate) fn binary(&self, out: &mut Vec<u8>) {
        match self {
            Datum::Nothing => {}
            Datum::Bool(flag) => out.push(u8::from(*flag)),
            Datum::Long(value) => out.extend(value.to_be_bytes()),
            Datum::Double(value) => out.extend(value.to_be_bytes()),
            Datum::Text(bytes) | Datum::Raw(bytes) => out.extend_from_slice(bytes),
            Datum::Several(values) => values.iter().for_each(|value| value.binary(out)),
        }
    }

    /// The order of two values: numbers by size with NaN first, all else by bytes.
    pub(crate) fn compare(&self, other: &Datum) -> Ordering {
        match (self, other) {
            (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
            (Datum::Long(a), Datum::Long(b)) => a.cmp(b),
            (Datum::Text(a) | Datum::Raw(a), Datum::Text(b) | Datum::Raw(b)) => a.cmp(b),
            (Datum::Several(a), Datum::Several(b)) => {
                let pairs = a.iter().zip(b.iter()).map(|(a, b)| a.compare(b));
                pairs.into_iter().find(|order| order.is_ne()).unwrap_or(a.len().cmp(&b.len()))
            }
            (Datum::Nothing, Datum::Nothing) => Ordering::Equal,
            (Datum::Nothing, _) => Ordering::Less,
            (_, Datum::Nothing) => Ordering::Greater,
            (a, b) => compare_doubles(a.double(), b.double()),
        }
    }
}

/// By size, NaN before everything; zeros are equal.
pub(crate) fn compare_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

/// The nearest whole number, halves away from zero; NaN is the smallest.
pub(crate) fn round(value: f64) -> i64 {
    if value.is_nan() { i64::MIN } else { value.round() as i64 }
}

/// The first eight bytes, those that are missing 0.
fn first_eight(bytes: &[u8]) -> [u8; 8] {
    std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0))
}

/// What C's `strtoll` with base 0 reads.
fn leading_long(bytes: &[u8]) -> i64 {
    let start = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut rest = &bytes[start..];
    let negative = rest.first() == Some(&b'-');
    if negative || rest.first() == Some(&b'+') {
        rest = &rest[1..];
    }
    let (radix, digits) = match rest {
        [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => (16, &rest[2..]),
        [b'0', ..] => (8, rest),
        _ => (10, rest),
    };
    let mut value: i128 = 0;
    for digit in digits.iter().map_while(|byte| char::from(*byte).to_digit(radix)) {
        value = (value * i128::from(radix) + i128::from(digit)).min(i128::from(u64::MAX));
    }
    (if negative { -value } else { value }).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// What C's `strtod` reads.
fn leading_double(bytes: &[u8]) -> f64 {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['-', '+']));
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let lower = text[sign..].get(..3).map(str::to_ascii_lowercase);
    match lower.as_deref() {
        Some("inf") => return if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY },
        Some("nan") => return f64::NAN,
        _ => {}
    }
    if let Some(value) = hexadecimal(&text.as_bytes()[sign..]) {
        return if text.starts_with('-') { -value } else { value };
    }
    let mut end = sign + digits(sign);
    let mut found = end - sign;
    if text[end..].starts_with('.') {
        let fraction = digits(end + 1);
        found += fraction;
        end += 1 + fraction;
    }
    if found == 0 {
        return 0.0;
    }
    if text[end..].starts_with(['e', 'E']) {
        let signed = usize::from(text[end + 1..].starts_with(['-', '+']));
        let exponent = digits(end + 1 + signed);
        end += if exponent > 0 { 1 + signed + exponent } else { 0 };
    }
    text[..end].parse().unwrap_or(0.0)
}

/// A number in hexadecimal digits, as C reads it: `0x`, digits with a point among them, and after a `p` the power of two
/// that they are multiplied by.
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let [b'0', b'x' | b'X', rest @ ..] = text else { return None };
    // More digits than a double holds only move the point, but for whether anything is below them.
    let (mut value, mut power, mut digits, mut at, mut point) = (0u64, 0i32, 0usize, 0, false);
    while let Some(byte) = rest.get(at) {
        match char::from(*byte).to_digit(16) {
            Some(digit) => {
                digits += 1;
                let room = value >> 60 == 0;
                value = if room { value << 4 | u64::from(digit) } else { value | u64::from(digit != 0) };
                power = power.saturating_add(4 * (i32::from(!room) - i32::from(point)));
            }
            None if *byte == b'.' && !point => point = true,
            None => break,
        }
        at += 1;
    }
    if digits == 0 {
        return None;
    }
    if let [b'p' | b'P', exponent @ ..] = &rest[at..] {
        let signed = usize::from(matches!(exponent, [b'+' | b'-', ..]));
        let length = exponent[signed..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = exponent[signed..signed + length]
            .iter()
            .fold(0i32, |number, digit| number.saturating_mul(10).saturating_add(i32::from(digit - b'0')));
        power = power.saturating_add(if exponent.first() == Some(&b'-') { -number } else { number });
    }
    Some(libm::scalbn(value as f64, power))
}

/// C's `%g`: six significant digits, with an exponent below 10⁻⁴ and from 10⁶ on.
pub(crate) fn general(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        return trimmed(&format!("{value:.*}", (5 - exponent) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

/// The id of a group, in the order groups have when nothing else orders them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Outside all buckets.
    Null,
    Bool(bool),
    Long(i64),
    Double(Sortable),
    Text(Rc<[u8]>),
    Raw(Rc<[u8]>),
    LongBucket(i64, i64),
    DoubleBucket(Sortable, Sortable),
    /// Nothing as `from` is below all, nothing as `to` above all.
    TextBucket(Option<Rc<[u8]>>, End<Rc<[u8]>>),
    RawBucket(Option<Rc<[u8]>>, End<Rc<[u8]>>),
}

/// The upper end of a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum End<T> {
    At(T),
    Infinite,
}

/// A double with an order and an identity: there is one zero and one NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Sortable(u64);

impl Sortable {
    pub(crate) fn new(value: f64) -> Sortable {
        if value.is_nan() {
            return Sortable(0);
        }
        // Adding zero makes -0 a 0.
        let bits = (value + 0.0).to_bits();
        Sortable(if bits >> 63 == 1 { !bits } else { bits | 1 << 63 })
    }

    /// Numbers in the same order.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn value(self) -> f64 {
        match self.0 {
            0 => f64::NAN,
            key => f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key }),
        }
    }
}

impl Key {
    /// The id of the group of a value.
    pub(crate) fn new(value: &Datum) -> Option<Key> {
        Some(match value {
            Datum::Nothing | Datum::Several(_) => return None,
            Datum::Bool(flag) => Key::Bool(*flag),
            Datum::Long(value) => Key::Long(*value),
            Datum::Double(value) => Key::Double(Sortable::new(*value)),
            Datum::Text(bytes) => Key::Text(bytes.clone()),
            Datum::Raw(bytes) => Key::Raw(bytes.clone()),
        })
    }

    /// Bytes it takes beside its own size.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Key::Text(bytes) | Key::Raw(bytes) => bytes.len() + 16,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_texts_and_texts_numbers_as_in_c() {
        for (value, text) in [
            (1.234_567_89, "1.23457"),
            (1e6, "1e+06"),
            (999_999.0, "999999"),
            (999_999.5, "1e+06"),
            (0.0001, "0.0001"),
            (0.00001234567, "1.23457e-05"),
            (0.0, "0"),
            (-2.5, "-2.5"),
            (1e300, "1e+300"),
            (100.0, "100"),
        ] {
            assert_eq!(general(value), text);
        }
        for (text, long, double) in [
            ("0x10", 16, 16.0),
            ("0x", 0, 0.0),
            ("-0X1.8p1z", -1, -3.0),
            ("0x.8", 0, 0.5),
            ("0x1p-2", 1, 0.25),
            ("0xfffffffffffffffff", i64::MAX, 295_147_905_179_352_825_856.0),
            ("infinity", 0, f64::INFINITY),
            ("-1e999", -1, f64::NEG_INFINITY),
            ("010", 8, 10.0),
            ("12abc", 12, 12.0),
            (" -7.5e1x", -7, -75.0),
            ("abc", 0, 0.0),
            ("", 0, 0.0),
            ("99999999999999999999", i64::MAX, 1e20),
            ("-", 0, 0.0),
            ("1e", 1, 1.0),
            ("é", 0, 0.0),
        ] {
            assert_eq!((Datum::text(text).long(), Datum::text(text).double()), (long, double), "{text}");
        }
    }

    #[test]
    fn doubles_keep_their_order_as_ids() {
        let values = [f64::NAN, f64::NEG_INFINITY, -1.5, -0.0, 1e-300, 2.0, f64::INFINITY];
        assert!(values.map(Sortable::new).is_sorted());
        assert_eq!(Sortable::new(-0.0), Sortable::new(0.0));
        assert!(values[1..].iter().all(|value| Sortable::new(*value).value() == *value));
        assert!(Sortable::new(-f64::NAN).value().is_nan());
    }

    #[test]
    fn halves_round_away_from_zero() {
        assert_eq!([2.5, -2.5, 0.4, f64::NAN, 1e300].map(round), [3, -3, 0, i64::MIN, i64::MAX]);
    }
}
