//! Bitmaps against sets, byte search against windows, checksums against published values.

use crate::config;
use brooklet_kernel::{
    Bitmap, Needle, checksum, collect_places, each_pair, each_place, each_place_of, hash128, write_places,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn set() -> impl Strategy<Value = (usize, BTreeSet<usize>, BTreeSet<usize>)> {
    (1usize..300).prop_flat_map(|len| {
        let numbers = || prop::collection::btree_set(0..len, 0..len.min(60));
        (Just(len), numbers(), numbers())
    })
}

fn bitmap(len: usize, numbers: &BTreeSet<usize>) -> Bitmap {
    let mut bitmap = Bitmap::none(len);
    for number in numbers {
        bitmap.set(*number);
    }
    bitmap
}

/// Places near each other, far apart, and both.
fn places() -> impl Strategy<Value = Vec<u32>> {
    let one = prop_oneof![8 => 0u32..3_000, 2 => 0u32..200_000, 1 => 0..u32::MAX];
    prop_oneof![prop::collection::vec(0u32..3_000, 0..400), prop::collection::vec(one, 0..400)]
}

/// Places by the definition, a byte after the other, up to the first that is none; whether there is no such.
fn naive_places(bytes: &[u8], end: u32) -> (Vec<u32>, bool) {
    let (mut places, mut next, mut distance, mut whole) = (Vec::new(), 0u64, 0u64, true);
    let width = match bytes.first() {
        None => return (places, true),
        Some(width @ 1..=4) => usize::from(*width),
        Some(_) => return (places, false),
    };
    for bytes in bytes[1..].chunks(width) {
        if bytes.len() < width {
            return (places, false);
        }
        let number = bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        distance += number;
        whole = bytes.iter().any(|byte| *byte != 0xff);
        if whole {
            if next + distance >= u64::from(end) {
                return (places, false);
            }
            places.push((next + distance) as u32);
            (next, distance) = (next + distance + 1, 0);
        }
    }
    (places, whole)
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn bitmaps_are_sets((len, a, b) in set(), number in 0usize..400) {
        let (left, right) = (bitmap(len, &a), bitmap(len, &b));
        let numbers = |bitmap: &Bitmap| {
            let mut all = BTreeSet::new();
            bitmap.ones().for_each(|number| assert!(all.insert(number)));
            // One by one they are the same as in one go.
            let mut ones = bitmap.ones();
            assert!(all.iter().all(|number| ones.next() == Some(*number)) && ones.next().is_none());
            all
        };
        prop_assert_eq!(&numbers(&left), &a);
        prop_assert_eq!(left.count(), a.len());
        prop_assert_eq!(left.is_empty(), a.is_empty());
        prop_assert_eq!(left.get(number), a.contains(&number));
        prop_assert_eq!(left.rank(number), a.range(..number).count());
        prop_assert_eq!(left.next_set(number), a.range(number..).next().copied());
        let runs: Vec<_> = left.runs().collect();
        prop_assert!(runs.iter().all(|run| !run.is_empty()) && runs.windows(2).all(|two| two[0].end < two[1].start));
        prop_assert!(runs.into_iter().flatten().eq(left.ones()));
        let with = |change: fn(&mut Bitmap, &Bitmap)| { let mut result = left.clone(); change(&mut result, &right); numbers(&result) };
        prop_assert_eq!(with(Bitmap::and), &a & &b);
        prop_assert_eq!(with(Bitmap::or), &a | &b);
        prop_assert_eq!(with(Bitmap::and_not), &a - &b);
        let mut complement = left.clone();
        complement.not();
        prop_assert_eq!(numbers(&complement), (0..len).filter(|number| !a.contains(number)).collect());
        complement.or(&left);
        prop_assert_eq!(complement, Bitmap::all(len));
        let mut cleared = left.clone();
        cleared.clear(number);
        prop_assert_eq!(numbers(&cleared), a.iter().copied().filter(|other| *other != number).collect());
    }

    #[test]
    fn bitmaps_are_filled_from_bytes_and_from_numbers(bytes in prop::collection::vec(0u8..3, 0..300), again in prop::collection::vec(0usize..300, 0..40)) {
        let bitmap = Bitmap::of_nonzero(&bytes);
        prop_assert_eq!(bitmap.len(), bytes.len());
        let expected: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
        prop_assert_eq!(bitmap.ones().collect::<Vec<_>>(), expected.clone());
        let more = again.into_iter().filter(|number| *number < bytes.len());
        let mut filled = Bitmap::none(bytes.len());
        let mut set: BTreeSet<usize> = expected.into_iter().collect();
        {
            let mut filler = filled.filler();
            set.iter().copied().chain(more.clone()).for_each(|number| filler.set(number));
        }
        set.extend(more);
        prop_assert_eq!(filled.ones().collect::<BTreeSet<_>>(), set);
    }

    #[test]
    fn bitmaps_take_the_numbers_of_values(
        values in prop::collection::vec(-9i32..9, 0..300),
        before in set(),
        begins in 0usize..3,
        low in -10i32..10,
        width in 0i32..12,
        presence: u64,
    ) {
        let (first, high) = (64 * begins, low + width);
        // Bits beyond the values mean nothing.
        let present: Vec<u64> = (0..values.len().div_ceil(64)).map(|word| presence.rotate_left(word as u32 * 7)).collect();
        let length = (first + values.len()).max(before.0);
        let mut filled = bitmap(length, &before.1);
        filled.set_where(first, &values, &present, |value| (low <= value) & (value <= high));
        let holds = |at: &usize| present[at / 64] >> (at % 64) & 1 == 1 && (low..=high).contains(&values[*at]);
        let mut expected: BTreeSet<usize> = (0..values.len()).filter(holds).map(|at| first + at).collect();
        expected.extend(&before.1);
        prop_assert_eq!(filled, bitmap(length, &expected));
        let doubles: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        let mut again = bitmap(length, &before.1);
        again.set_where(first, &doubles, &present, |value| (f64::from(low)..=f64::from(high)).contains(&value));
        prop_assert_eq!(again, bitmap(length, &expected));
    }

    #[test]
    fn pairs_are_windows(numbers in prop::collection::vec(0u16..4, 0..400), one in 0u16..4, two in 0u16..4) {
        let numbers: Vec<u16> = numbers.into_iter().map(|number| number * 0x5555).collect();
        let (one, two) = (one * 0x5555, two * 0x5555);
        let mut found = Vec::new();
        each_pair(&numbers, (one, two), |at| found.push(at));
        let mut wide = Vec::new();
        let wider: Vec<u32> = numbers.iter().map(|number| u32::from(*number) << 8).collect();
        each_pair(&wider, (u32::from(one) << 8, u32::from(two) << 8), |at| wide.push(at));
        prop_assert_eq!(&wide, &found);
        let windows = numbers.windows(2).enumerate().filter(|(_, pair)| **pair == [one, two]);
        prop_assert_eq!(found, windows.map(|(at, _)| at).collect::<Vec<_>>());
    }

    #[test]
    fn places_come_back(mut places in places(), less in 0u32..3) {
        places.sort_unstable();
        places.dedup();
        let mut bytes = Vec::new();
        write_places(&places, &mut bytes);
        // What does not fit into the bytes of a distance takes no more than the others.
        prop_assert!(bytes.len() <= 1 + places.len() * 8);
        let mut read = Vec::new();
        let end = places.last().map_or(0, |last| last + 1).saturating_sub(less);
        let whole = each_place(&bytes, end, |place| read.push(place));
        prop_assert_eq!(whole, places.iter().all(|place| *place < end));
        prop_assert_eq!(collect_places(&bytes, end, &mut vec![7]), whole);
        if whole {
            prop_assert_eq!(read, places);
        }
    }

    #[test]
    fn any_bytes_are_places_or_refused(
        bytes in prop::collection::vec(prop_oneof![4 => 0u8..4, 1 => Just(0xff), 1 => any::<u8>()], 0..60),
        end: u32,
        low in 0u32..4_000,
        width in 0u8..6,
        higher in 0u32..20,
    ) {
        let bytes = [&[width][..], &bytes].concat();
        for (bytes, end) in [(&bytes[..], end), (&bytes, low), (&bytes[..1], end), (&[], end)] {
            let (expected, expected_whole) = naive_places(bytes, end);
            let (mut read, mut collected, mut even) = (Vec::new(), vec![7], Vec::new());
            let whole = each_place(bytes, end, |place| read.push(place));
            prop_assert_eq!(whole, expected_whole);
            prop_assert_eq!(collect_places(bytes, end, &mut collected), whole);
            let mut wanted = Bitmap::none(500);
            (0..500).step_by(2).for_each(|number| wanted.set(number));
            prop_assert_eq!(each_place_of(bytes, end, (&wanted, higher), |number| even.push(number)), whole);
            prop_assert!(read.iter().all(|place| *place < end) && even.iter().all(|number| *number < 500));
            if whole {
                prop_assert_eq!(&read, &expected);
                prop_assert_eq!(&collected[1..], &expected[..]);
                let numbers = expected.iter().filter_map(|place| place.checked_sub(higher));
                prop_assert_eq!(even, numbers.filter(|number| *number < 500 && number % 2 == 0).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn bytes_are_read_as_written((len, a, _) in set(), junk: u8) {
        let bitmap = bitmap(len, &a);
        let mut bytes = vec![junk];
        bitmap.write_bytes(&mut bytes);
        prop_assert_eq!(bytes.len(), 1 + Bitmap::byte_len(len));
        prop_assert_eq!(Bitmap::from_bytes(len, &bytes[1..]), Some(bitmap));
        prop_assert_eq!(Bitmap::from_bytes(len, &bytes), None);
        if !len.is_multiple_of(8) {
            *bytes.last_mut().expect("bytes") |= 0x80;
            prop_assert_eq!(Bitmap::from_bytes(len, &bytes[1..]), None);
        }
    }

    #[test]
    fn needles_are_found(haystack in "[ab]{0,60}", needle in "[ab]{1,5}") {
        let starts = haystack.as_bytes().windows(needle.len()).enumerate();
        let all: Vec<usize> = starts.filter(|(_, part)| *part == needle.as_bytes()).map(|(at, _)| at).collect();
        let mut apart: Vec<usize> = Vec::new();
        for start in &all {
            if apart.last().is_none_or(|last| last + needle.len() <= *start) {
                apart.push(*start);
            }
        }
        let needle = Needle::new(needle.as_bytes());
        prop_assert_eq!(needle.find(haystack.as_bytes()), all.first().copied());
        prop_assert_eq!(needle.find_all(haystack.as_bytes()).collect::<Vec<_>>(), apart);
    }

    #[test]
    fn checksums_see_every_bit(mut bytes in prop::collection::vec(any::<u8>(), 1..600), at: usize, bit in 0u8..8, seed: u64) {
        let (before, wide) = (checksum(seed, &bytes), hash128(seed, &bytes));
        prop_assert_ne!(before, checksum(seed ^ 1, &bytes));
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        prop_assert_ne!(before, checksum(seed, &bytes));
        prop_assert_ne!(wide, hash128(seed, &bytes));
    }
}

#[test]
fn empty_needles_and_sets() {
    assert_eq!(Needle::new(b"").find_all(b"ab").collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(Needle::new(b"").bytes(), b"");
    let mut none = Bitmap::none(0);
    none.not();
    assert_eq!((none.count(), none.len(), none.ones().next(), none.rank(9)), (0, 0, None, 0));
    assert_eq!(Bitmap::from_bytes(0, &[]), Some(Bitmap::all(0)));
}

#[test]
fn checksums_are_those_of_xxh3() {
    assert_eq!(checksum(0, b""), 0x2d06_8005_38d3_94c2);
    assert_eq!(hash128(0, b""), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
}
