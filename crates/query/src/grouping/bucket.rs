//! Buckets of `predefined`: every one becomes a range from its first value to the first after it; they have one type,
//! ascend and do not overlap.
use std::cmp::Ordering;

use super::tree::{Bound, Bucket};

/// An end of a bucket as written.
pub(super) struct End {
    pub value: Bound,
    pub inclusive: bool,
}

/// The buckets of one list so far.
#[derive(Default)]
pub(super) struct Buckets {
    pub list: Vec<Bucket>,
}

impl Buckets {
    /// Adds the next bucket; says why it cannot be one.
    pub fn push(&mut self, from: End, to: End) -> Result<(), String> {
        let of_type = match (kind(&from.value), kind(&to.value)) {
            (None, None) => return Err("Bucket type mismatch, cannot both be infinity.".to_owned()),
            (Some(from), Some(to)) if from != to => return Err(mismatch(from, to)),
            (Some(of_type), _) | (None, Some(of_type)) => of_type,
        };
        if let Some(last) = self.list.last() {
            let before = kind(&last.from).or(kind(&last.to)).unwrap_or(of_type);
            if before != of_type {
                return Err(mismatch(before, of_type));
            }
        }
        let from = if from.inclusive { from.value } else { successor(from.value) };
        let to = if to.inclusive { successor(to.value) } else { to.value };
        if compare(&from, &to) == Ordering::Greater {
            return Err("Bucket to-value cannot be less than from-value.".to_owned());
        }
        let bucket = Bucket { from, to };
        if let Some(last) = self.list.last()
            && !follows(last, &bucket)
        {
            return Err(format!("Buckets must be monotonically increasing, got {last} before {bucket}."));
        }
        self.list.push(bucket);
        Ok(())
    }
}

fn mismatch(expected: &str, got: &str) -> String {
    format!("Bucket type mismatch, expected '{expected}' got '{got}'.")
}

fn kind(bound: &Bound) -> Option<&'static str> {
    Some(match bound {
        Bound::Infinite => return None,
        Bound::Long(_) => "LongValue",
        Bound::Double(_) => "DoubleValue",
        Bound::Text(_) => "StringValue",
        Bound::Raw(_) => "RawValue",
    })
}

/// The least value above this one.
fn successor(bound: Bound) -> Bound {
    match bound {
        Bound::Infinite => Bound::Infinite,
        Bound::Long(value) => Bound::Long(value.saturating_add(1)),
        Bound::Double(value) => Bound::Double(value.next_up()),
        Bound::Text(text) => Bound::Text(text + " "),
        Bound::Raw(mut bytes) => {
            bytes.push(0);
            Bound::Raw(bytes)
        }
    }
}

/// The order of a `from` and a `to`, of which the infinite ones are the least and the greatest.
fn compare(from: &Bound, to: &Bound) -> Ordering {
    match (from, to) {
        (Bound::Long(from), Bound::Long(to)) => from.cmp(to),
        (Bound::Double(from), Bound::Double(to)) => from.partial_cmp(to).unwrap_or(Ordering::Less),
        (Bound::Text(from), Bound::Text(to)) => from.cmp(to),
        (Bound::Raw(from), Bound::Raw(to)) => from.cmp(to),
        _ => Ordering::Less,
    }
}

fn follows(last: &Bucket, next: &Bucket) -> bool {
    !matches!(last.to, Bound::Infinite)
        && !matches!(next.from, Bound::Infinite)
        && compare(&last.to, &next.from) != Ordering::Greater
}
