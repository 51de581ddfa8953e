//! Bitmaps against sets, byte search against windows, checksums against published values.

use crate::config;
use brooklet_kernel::{Bitmap, Needle, checksum, each_pair, hash128};
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
        prop_assert_eq!(needle.find_overlapping(haystack.as_bytes()).collect::<Vec<_>>(), all);
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
    assert_eq!(Needle::new(b"").find_overlapping(b"ab").collect::<Vec<_>>(), [0, 1, 2]);
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
