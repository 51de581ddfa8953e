//! Numbers as lists of cells have them in JSON, four at a time: `0.123456,-0.02,…`.

use crate::arch::Selected;
use crate::lanes::{Lanes, Parts};
use std::hint::black_box;

/// Where the commas after four numbers are looked for.
const COMMAS: usize = 64;
/// The same with what may be read beyond: a number begins in front of the last comma, and eleven bytes of it are read.
const WINDOW: usize = COMMAS + 16;
/// Most digits after the point: as many as one word has bytes.
const FRACTION_MAX: usize = 8;
/// Most numbers of one call: room is made for all of them before the first is read.
const NUMBERS_MAX: usize = 512;
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Powers of ten by the digits of a fraction; from 64 on the same negated, for numbers with a minus. Where no number has
/// so many digits there is a NaN, which makes the result one.
static POWERS: [f64; 2 * COMMAS] = {
    let mut powers = [f64::NAN; 2 * COMMAS];
    let mut power = 1.0;
    let mut digits = 1;
    while digits <= FRACTION_MAX {
        power *= 10.0;
        powers[digits] = power;
        powers[COMMAS + digits] = -power;
        digits += 1;
    }
    powers
};

/// Appends the numbers at the beginning of `bytes` to `out`, in groups of four, `most` and 512 at most, and returns the
/// bytes they take with the comma after each. A number is `-?d.d…` with one digit before the point and one to eight after it,
/// and one space before it if all of its group have one; its value is the nearest float64, as the division of two
/// integers below 2^53 gives it. The first group with anything else ends it, as do the last 80 bytes.
pub fn read_decimals(bytes: &[u8], most: usize, out: &mut Vec<f64>) -> usize {
    // Hidden from the optimiser, which otherwise packs the steps of four numbers into lanes, at twice the time.
    let four = black_box(4);
    let before = out.len();
    out.resize(before + most.min(NUMBERS_MAX) / 4 * 4, 0.0);
    let (groups, _) = out[before..].as_chunks_mut();
    let (mut at, mut read) = (0, before);
    for group in groups {
        let Some(window) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { break };
        let (parts, length) = split(window, four);
        let Some(numbers) = Selected::decimals(&parts) else { break };
        *group = numbers;
        at += length;
        read += 4;
    }
    out.truncate(read);
    at
}

/// What stands between the first commas, taken for numbers, and where the last of those commas ends. Four numbers take 52
/// bytes at most: where a comma is missing in the window, one of them is too long.
#[inline(always)]
fn split(window: &[u8; WINDOW], four: usize) -> (Parts, usize) {
    let mut parts = Parts { heads: [0; 4], fractions: [0; 4], powers: [f64::NAN; 4] };
    let mut commas = commas(window);
    let space = usize::from(window[0] == b' ');
    let mut next = 0;
    for i in 0..four.min(4) {
        let start = next + space;
        let end = commas.trailing_zeros() as usize;
        commas &= commas.wrapping_sub(1);
        next = end + 1;
        let negative = usize::from(window[start] == b'-');
        let [head, point, fraction @ ..]: [u8; 10] = *window[start + negative..].first_chunk().unwrap_or(&[0; 10]);
        let digits = end.wrapping_sub(start + negative + 2);
        parts.heads[i] = u32::from(head) | u32::from(point) << 8;
        parts.fractions[i] = (u64::from_le_bytes(fraction) ^ ZEROS) << (digits.wrapping_neg() << 3 & 63);
        parts.powers[i] = POWERS[digits % COMMAS + negative * COMMAS];
    }
    (parts, next)
}

/// A bit for each byte of the window that is a comma, the first one lowest.
#[inline(always)]
fn commas(window: &[u8; WINDOW]) -> u64 {
    let (lanes, _) = window[..COMMAS].as_chunks();
    lanes.iter().rev().fold(0, |all, lanes| all << 16 | u64::from(Selected::equal_bytes(lanes, b',')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the beginning of a list reads as, by the standard library.
    fn naive(text: &str, most: usize) -> (Vec<f64>, usize) {
        let mut numbers = Vec::new();
        let mut taken = 0;
        while numbers.len() + 4 <= most && text.len() - taken >= WINDOW {
            let rest = &text[taken..];
            let space = usize::from(rest.starts_with(' '));
            let group: Vec<&str> = rest.split_inclusive(',').take(4).collect();
            let values: Option<Vec<f64>> = group.iter().map(|token| plain(token.strip_suffix(',')?, space)).collect();
            let length: usize = group.iter().map(|token| token.len()).sum();
            let Some(values) = values.filter(|values| values.len() == 4) else { break };
            numbers.extend(values);
            taken += length;
        }
        (numbers, taken)
    }

    fn plain(token: &str, spaces: usize) -> Option<f64> {
        let text = token.strip_prefix(&" "[..spaces])?;
        let (whole, fraction) = text.strip_prefix('-').unwrap_or(text).split_once('.')?;
        let digits = |text: &str, most| (1..=most).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
        (digits(whole, 1) && digits(fraction, FRACTION_MAX)).then(|| text.parse().ok())?
    }

    fn read(text: &str, most: usize) -> (Vec<f64>, usize) {
        let mut out = vec![0.5];
        let taken = read_decimals(text.as_bytes(), most, &mut out);
        assert_eq!(out.remove(0), 0.5);
        (out, taken)
    }

    fn bits((numbers, taken): (Vec<f64>, usize)) -> (Vec<u64>, usize) {
        (numbers.into_iter().map(f64::to_bits).collect(), taken)
    }

    /// As long as a window needs it.
    fn padded(text: &str) -> String {
        format!("{text}{:WINDOW$}", "]}")
    }

    #[test]
    fn groups_of_four_are_read() {
        let (numbers, taken) = read(&padded("0.1,-0.25,9.87654321,-0.0,0.5,0.5,0.5]"), 8);
        assert_eq!((numbers.as_slice(), taken), (&[0.1, -0.25, 9.876_543_21, 0.0][..], 26));
        assert!(numbers[3].is_sign_negative());
        assert_eq!(read(&padded(" 0.1, -0.2, 0.3, 1.5,"), 7), (vec![0.1, -0.2, 0.3, 1.5], 21));
        assert_eq!(read(&padded("0.1,0.2,0.3,0.4,"), 3), (vec![], 0), "no more than asked for");
        assert_eq!(read("0.1,0.2,0.3,0.4,", 4), (vec![], 0), "too close to the end");
    }

    #[test]
    fn everything_else_is_left() {
        for strange in [
            "0.123456789",
            "0.",
            ".5",
            "-.5",
            "00.5",
            "12.5",
            "1",
            "-1",
            "",
            "-",
            "1e5",
            "0.5e1",
            "0.5E1",
            "+0.5",
            "--0.5",
            " 0.5",
            "0.5 ",
            "0.5\0",
            "0,5",
            "null",
            "\"0.5\"",
            "0.5]",
            "0.\u{663}",
            "0x1.5",
            "0.1_0",
            "1.5:",
        ] {
            for place in 0..4 {
                let mut list = ["0.5"; 4];
                list[place] = strange;
                let text = padded(&format!("{},", list.join(",")));
                assert_eq!(bits(read(&text, 4)), bits(naive(&text, 4)), "{text}");
                if strange != "0,5" && !(strange == " 0.5" && place == 0) {
                    assert_eq!(read(&text, 4).1, 0, "{text}");
                }
            }
        }
    }

    #[test]
    fn the_longest_numbers_fit_into_a_window() {
        let text = padded(&" -0.12345678,".repeat(8));
        assert_eq!(read(&text, 8), (vec![-0.123_456_78; 8], 104));
        // The last comma is just outside.
        let text = padded(&format!("0.1,0.2,0.3,{:049}.5,", 0));
        assert_eq!(read(&text, 4), (vec![], 0));
    }

    #[test]
    fn a_long_list_is_read_in_pieces() {
        let text = "0.5,".repeat(2_000);
        assert_eq!(read(&text, 2_000), (vec![0.5; NUMBERS_MAX], 4 * NUMBERS_MAX));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(20_000)))]

        #[test]
        fn lists_are_read_as_the_standard_library_reads_them(
            list in prop::collection::vec("-?[0-9]\\.[0-9]{1,8}", 1..30),
            space in any::<bool>(),
            most in 0usize..40,
        ) {
            let text = padded(&format!("{}{},", &" "[..usize::from(space)], list.join(if space { ", " } else { "," })));
            let (numbers, taken) = read(&text, most);
            prop_assert_eq!(numbers.len(), most.min(list.len()) / 4 * 4);
            prop_assert_eq!(bits((numbers, taken)), bits(naive(&text, most)));
        }

        #[test]
        fn lists_with_anything_in_them_are_read_as_far_as_they_go(
            list in prop::collection::vec("-?[0-9]\\.[0-9]{1,8}|-?[0-9]?\\.?[0-9]{0,10}|[ -9]{0,12}|\\PC{0,6}", 1..14),
            most in 0usize..20,
        ) {
            let text = padded(&format!("{},", list.join(",")));
            prop_assert_eq!(bits(read(&text, most)), bits(naive(&text, most)));
        }

        #[test]
        fn any_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), most in 0usize..20) {
            let mut out = Vec::new();
            let taken = read_decimals(&bytes, most, &mut out);
            prop_assert!(taken <= bytes.len() && out.len() <= most);
        }
    }
}
