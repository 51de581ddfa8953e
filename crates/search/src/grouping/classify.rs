//! From values to the ids of groups: as they are, in ranges of one width, or in ranges that are given.
use std::rc::Rc;

use brooklet_query::grouping::tree::{Bound, Bucket};

use super::bound::Classifier;
use super::datum::{Datum, End, Key, Sortable};

/// The id of the group of a value.
pub(super) fn key_of(by: &Classifier, value: &Datum) -> Option<Key> {
    match by {
        Classifier::Value(_) => Key::new(value),
        Classifier::LongWidth(_, width) => Some(long_bucket(value.long(), *width)),
        Classifier::DoubleWidth(_, width) => Some(double_bucket(value.double(), *width)),
        Classifier::Buckets(_, buckets) => Some(bucket_of(buckets, value)),
    }
}

/// A number that tells the groups of a list apart, with one for the type of the value; nothing if only the id can.
pub(super) fn code_of(by: &Classifier, value: &Datum) -> Option<(u8, i64)> {
    Some(match (by, value) {
        (Classifier::Buckets(_, buckets), value) => (0, place_of(buckets, value).map_or(-1, |at| at as i64)),
        (Classifier::LongWidth(_, width), value) => match long_bucket(value.long(), *width) {
            Key::LongBucket(from, _) => (1, from),
            _ => return None,
        },
        (Classifier::DoubleWidth(_, width), value) => match double_bucket(value.double(), *width) {
            Key::DoubleBucket(from, _) => (5, from.bits() as i64),
            _ => return None,
        },
        (Classifier::Value(_), Datum::Bool(flag)) => (2, i64::from(*flag)),
        (Classifier::Value(_), Datum::Long(value)) => (3, *value),
        (Classifier::Value(_), Datum::Double(value)) => (4, Sortable::new(*value).bits() as i64),
        _ => return None,
    })
}

fn long_bucket(value: i64, width: i64) -> Key {
    if width <= 0 {
        return Key::LongBucket(value, value);
    }
    let (value, width) = (i128::from(value), i128::from(width));
    let from = value.div_euclid(width) * width;
    let within = |limit: i128| limit.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    Key::LongBucket(within(from), within(from + width))
}

fn double_bucket(value: f64, width: f64) -> Key {
    if width <= 0.0 || width.is_nan() || !value.is_finite() {
        return Key::DoubleBucket(Sortable::new(value), Sortable::new(value));
    }
    let index = (value / width).floor();
    Key::DoubleBucket(Sortable::new(index * width), Sortable::new((index + 1.0) * width))
}

/// The bucket a value is in, if it is in one.
fn place_of(buckets: &[Bucket], value: &Datum) -> Option<usize> {
    let inside = |bucket: &Bucket| {
        let below = |bound: &Bound| match bound {
            Bound::Infinite => None,
            Bound::Long(bound) => Some(value.long() < *bound),
            Bound::Double(bound) => Some(value.double() < *bound),
            Bound::Text(bound) => Some(value.bytes()[..] < *bound.as_bytes()),
            Bound::Raw(bound) => Some(binary(value) < *bound),
        };
        !below(&bucket.from).unwrap_or(false) && below(&bucket.to).unwrap_or(true)
    };
    let is_nan = matches!(value, Datum::Double(value) if value.is_nan());
    if is_nan { None } else { buckets.iter().position(inside) }
}

/// The id of the bucket a value is in; [`Key::Null`] outside all of them.
fn bucket_of(buckets: &[Bucket], value: &Datum) -> Key {
    let Some(bucket) = place_of(buckets, value).map(|at| &buckets[at]) else { return Key::Null };
    let bytes = |bound: &Bound| -> Option<Rc<[u8]>> {
        match bound {
            Bound::Text(text) => Some(Rc::from(text.as_bytes())),
            Bound::Raw(bytes) => Some(Rc::from(&bytes[..])),
            _ => None,
        }
    };
    let end = |bound: &Bound| bytes(bound).map_or(End::Infinite, End::At);
    match (&bucket.from, &bucket.to) {
        (Bound::Long(from), Bound::Long(to)) => Key::LongBucket(*from, *to),
        (Bound::Long(from), _) => Key::LongBucket(*from, i64::MAX),
        (_, Bound::Long(to)) => Key::LongBucket(i64::MIN, *to),
        (Bound::Double(from), Bound::Double(to)) => Key::DoubleBucket(Sortable::new(*from), Sortable::new(*to)),
        (Bound::Double(from), _) => Key::DoubleBucket(Sortable::new(*from), Sortable::new(f64::INFINITY)),
        (_, Bound::Double(to)) => Key::DoubleBucket(Sortable::new(f64::NEG_INFINITY), Sortable::new(*to)),
        (Bound::Raw(_), to) | (Bound::Infinite, to @ Bound::Raw(_)) => Key::RawBucket(bytes(&bucket.from), end(to)),
        (_, to) => Key::TextBucket(bytes(&bucket.from), end(to)),
    }
}

fn binary(value: &Datum) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.binary(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_cut_numbers_below_zero_too() {
        assert_eq!(long_bucket(7, 3), Key::LongBucket(6, 9));
        assert_eq!(long_bucket(-1, 3), Key::LongBucket(-3, 0));
        assert_eq!(long_bucket(-3, 3), Key::LongBucket(-3, 0));
        assert_eq!(long_bucket(-4, 3), Key::LongBucket(-6, -3));
        assert_eq!(long_bucket(5, 0), Key::LongBucket(5, 5));
        assert_eq!(long_bucket(i64::MAX, 10), Key::LongBucket(9_223_372_036_854_775_800, i64::MAX));
        assert_eq!(long_bucket(i64::MIN, 10), Key::LongBucket(i64::MIN, -9_223_372_036_854_775_800));
        assert_eq!(double_bucket(-0.5, 1.0), Key::DoubleBucket(Sortable::new(-1.0), Sortable::new(0.0)));
    }
}
