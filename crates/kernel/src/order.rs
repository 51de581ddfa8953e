//! Sorting with one copy of the code. The standard library's sorts are made anew for each type and comparison, seven
//! kilobytes each time, and most lists of a search or a deployment have a few entries. Here the numbers of their places
//! are sorted, by a comparison that is handed over, and then each entry is moved to where it belongs.
//!
//! The order is that of a stable sort of the standard library, in which entries that compare as equal stay as they stood.
//! A comparison is a call, and reads both entries where they are: what sorts many numbers while documents are matched,
//! scanned or ranked takes the standard library's.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sorts a list by a comparison.
pub fn sort_by<T>(list: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    if list.len() > 1 {
        let mut places = in_order(list.len(), &mut |one, other| compare(&list[one], &list[other]));
        arrange(&mut places, &mut |one, other| list.swap(one, other));
    }
}

/// Sorts a list by a key of its entries.
pub fn sort_by_key<T, Key: Ord>(list: &mut [T], mut key: impl FnMut(&T) -> Key) {
    sort_by(list, |one, other| key(one).cmp(&key(other)));
}

/// Sorts a list.
pub fn sort<T: Ord>(list: &mut [T]) {
    sort_by(list, T::cmp);
}

/// A map of pairs, of which the last of a key stays. `collect` sorts them first, with a sort of its own for each type.
pub fn map_of<Key: Ord, Value>(pairs: impl Iterator<Item = (Key, Value)>) -> BTreeMap<Key, Value> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

/// A set of entries: see [`map_of`].
pub fn set_of<Entry: Ord>(entries: impl Iterator<Item = Entry>) -> BTreeSet<Entry> {
    let mut set = BTreeSet::new();
    set.extend(entries);
    set
}

/// The places of a list in the order of what stands there.
fn in_order(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..length).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

/// Has each place get what stands at the place that is listed for it, one circle of places after the other.
fn arrange(places: &mut [usize], swap: &mut dyn FnMut(usize, usize)) {
    for first in 0..places.len() {
        let mut at = first;
        loop {
            let from = std::mem::replace(&mut places[at], at);
            if from == first {
                break;
            }
            swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Few keys, so that many are equal: which of them stands first is told by the second number.
        #[test]
        fn entries_stand_as_the_standard_library_has_them(keys in proptest::collection::vec(0u8..20, 0..200)) {
            let given: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let (mut expected, mut sorted) = (given.clone(), given.clone());
            expected.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
            sort_by_key(&mut sorted, |(key, _)| std::cmp::Reverse(*key));
            prop_assert_eq!(&sorted, &expected);
            sort(&mut sorted);
            expected.sort();
            prop_assert_eq!(sorted, expected);
            prop_assert_eq!(map_of(given.iter().copied()), given.iter().copied().collect());
            prop_assert_eq!(set_of(given.iter().copied()), given.iter().copied().collect());
        }
    }
}
