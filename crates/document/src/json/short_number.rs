//! Plain numbers in long lists, such as the cells of an embedding: read four at a time where they are short, else a word of
//! eight digits at a time, and never refused here. Whatever is not `-?digits(.digits)?` of at most 19 digits without
//! leading zeros is left to the lexer.
//!
//! The value is the nearest float64. With a mantissa below 2^53 one division of exact numbers gives it (Clinger's fast
//! path); else the mantissa is multiplied by 128 bits of the power of five, as in "Number Parsing at a Gigabyte per
//! Second" (Lemire 2021, after Eisel), which for powers down to 10^-27 is always enough.
use brooklet_kernel::read_decimals;

use super::lex::{Lexer, after_space};
use super::number::{POWERS, value_of_digits};

/// Numbers of a list that are read one by one where four at a time cannot be, at first.
const SINGLE_NUMBERS: usize = 8;

/// Fraction digits that a number may have here; the powers of five below are as many.
const FRACTION_MAX: usize = 27;
const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
/// Mantissas below them take that many digits more: 19 fit into 64 bits whatever they are.
const ROOM: [u64; 9] = {
    let mut room = [10_000_000_000_000_000_000; 9];
    let mut digits = 0;
    while digits < room.len() {
        room[digits] /= TENS[digits];
        digits += 1;
    }
    room
};

impl Lexer<'_> {
    /// Appends the elements that come next in the innermost array as long as they are plain numbers, `most` of them at
    /// most. What stopped it is found by [`Lexer::next_element`]; nothing is refused here.
    pub fn plain_numbers(&mut self, most: usize, out: &mut Vec<f64>) {
        let most = out.len() + most;
        // Numbers that are read one by one before four at a time are tried again: more and more where those are rare.
        let mut single = SINGLE_NUMBERS;
        while out.len() < most {
            let Some(at) = self.next_plain() else { return };
            let taken = read_decimals(&self.text.as_bytes()[at..], most - out.len(), out);
            if taken > 0 {
                // The comma after the last of them is the next one's.
                self.pass_element(at + taken - 1);
                single = SINGLE_NUMBERS;
                continue;
            }
            for _ in 0..single.min(most - out.len()) {
                let Some(at) = self.next_plain() else { return };
                let Some((number, end)) = short_number(self.text.as_bytes(), after_space(self.text.as_bytes(), at))
                else {
                    return;
                };
                out.push(number);
                self.pass_element(end);
            }
            single *= 2;
        }
    }

    /// Where the next element of the innermost array begins, spaces included, if there is a comma before it or it is the
    /// first.
    #[inline]
    fn next_plain(&self) -> Option<usize> {
        if self.at_first {
            return Some(self.at);
        }
        let at = after_space(self.text.as_bytes(), self.at);
        (self.text.as_bytes().get(at) == Some(&b',')).then_some(at + 1)
    }

    #[inline]
    fn pass_element(&mut self, end: usize) {
        self.at = end;
        self.at_first = false;
    }
}

/// The number at `start`, and where it ends; nothing if it is not a plain one. Some bytes must follow it.
#[inline]
pub(super) fn short_number(bytes: &[u8], start: usize) -> Option<(f64, usize)> {
    let negative = *bytes.get(start)? == b'-';
    let at = start + usize::from(negative);
    let window = bytes.get(at..).and_then(|rest| rest.first_chunk());
    let (mantissa, fraction, end) = match window.and_then(one_digit_and_fraction) {
        Some((mantissa, fraction)) => (mantissa, fraction, at + 2 + fraction),
        None => any_number(bytes, at)?,
    };
    if *bytes.get(end)? | 0x20 == b'e' {
        return None;
    }
    // Half of the cells are negative, and nobody can guess which: no jump depends on it.
    let sign = u64::from(negative) << 63;
    Some((f64::from_bits(divide(mantissa, fraction).to_bits() ^ sign), end))
}

/// Mantissa and digits of the fraction of `d.ddd`, with less than 24 of the latter: what nearly all cells are. All of it
/// stands in one window, so nothing has to be looked for.
#[inline]
fn one_digit_and_fraction(window: &[u8; 32]) -> Option<(u64, usize)> {
    let whole = window[0].wrapping_sub(b'0');
    if whole > 9 || window[1] != b'.' {
        return None;
    }
    let mut mantissa = u64::from(whole);
    let mut fraction = append(window[2..10].first_chunk()?, &mut mantissa)?;
    if fraction == 8 {
        fraction += append(window[10..18].first_chunk()?, &mut mantissa)?;
        if fraction == 16 {
            fraction += append(window[18..26].first_chunk()?, &mut mantissa)?;
        }
    }
    (fraction > 0 && fraction < 24).then_some((mantissa, fraction))
}

/// Mantissa, digits of the fraction, and the end of any plain number at `at`.
fn any_number(bytes: &[u8], at: usize) -> Option<(u64, usize, usize)> {
    let mut mantissa = 0;
    let whole = append(bytes.get(at..)?.first_chunk()?, &mut mantissa)?;
    // A leading zero stands alone.
    if whole == 0 || whole == 8 || (whole > 1 && bytes[at] == b'0') {
        return None;
    }
    let mut end = at + whole;
    let mut fraction = 0;
    if *bytes.get(end)? == b'.' {
        end += 1;
        loop {
            let more = append(bytes.get(end..)?.first_chunk()?, &mut mantissa)?;
            end += more;
            fraction += more;
            if more < 8 || fraction > FRACTION_MAX {
                break;
            }
        }
        if fraction == 0 || fraction > FRACTION_MAX {
            return None;
        }
    }
    Some((mantissa, fraction, end))
}

/// Appends the digits at the beginning of eight bytes to the mantissa; says how many. Nothing if they make it too large.
#[inline]
fn append(bytes: &[u8; 8], mantissa: &mut u64) -> Option<usize> {
    let word = u64::from_le_bytes(*bytes);
    let ones = word ^ 0x3030_3030_3030_3030;
    // The high bit of each byte that is no digit; those after the first such byte may be false.
    let others = (ones.wrapping_add(0x7676_7676_7676_7676) | ones) & 0x8080_8080_8080_8080;
    let count = (others.trailing_zeros() / 8) as usize;
    if count == 0 {
        return Some(0);
    }
    // The digits move to the end of the word; zeros before them change nothing.
    let value = value_of_digits(ones << (64 - 8 * count));
    if *mantissa >= ROOM[count] {
        return None;
    }
    *mantissa = *mantissa * TENS[count] + value;
    Some(count)
}

/// The float64 nearest to `mantissa` / 10^`fraction`.
#[inline]
fn divide(mantissa: u64, fraction: usize) -> f64 {
    if mantissa <= 1 << 53 && fraction < POWERS.len() {
        return mantissa as f64 / POWERS[fraction];
    }
    divided_wide(mantissa, fraction)
}

/// The same for mantissas that a float64 does not hold. `mantissa` is not 0, `fraction` at most [`FRACTION_MAX`].
fn divided_wide(mantissa: u64, fraction: usize) -> f64 {
    const MANTISSA_BITS: u32 = 52;
    const SHIFT: u32 = 64 - MANTISSA_BITS - 3;
    let leading = mantissa.leading_zeros();
    let shifted = mantissa << leading;
    let five = RECIPROCALS_OF_FIVE[fraction];
    let mut product = u128::from(shifted) * (five >> 64);
    // Only where the bits below could carry into those that count are the other 64 looked at.
    if (product >> 64) as u64 & (u64::MAX >> (MANTISSA_BITS + 3)) == u64::MAX >> (MANTISSA_BITS + 3) {
        product = product.wrapping_add((u128::from(shifted) * (five & u128::from(u64::MAX))) >> 64);
    }
    let (low, high) = (product as u64, (product >> 64) as u64);
    let upper = (high >> 63) as u32;
    let mut bits = high >> (upper + SHIFT);
    let power_of_two = ((-(fraction as i32) * (152_170 + 65_536)) >> 16) + 63;
    let mut exponent = power_of_two + upper as i32 - leading as i32 + 1_023;
    // Exactly between two float64s: to the even one. The product is exact for so small powers only.
    if low <= 1 && fraction <= 4 && bits & 3 == 1 && bits << (upper + SHIFT) == high {
        bits &= !1;
    }
    bits = (bits + (bits & 1)) >> 1;
    if bits >= 2 << MANTISSA_BITS {
        bits = 1 << MANTISSA_BITS;
        exponent += 1;
    }
    f64::from_bits(bits & !(1 << MANTISSA_BITS) | (exponent as u64) << MANTISSA_BITS)
}

/// 5^-n as 128 bits, the first of them set, rounded up; for n = 0 exactly one.
const RECIPROCALS_OF_FIVE: [u128; FRACTION_MAX + 1] = reciprocals_of_five();

const fn reciprocals_of_five() -> [u128; FRACTION_MAX + 1] {
    let mut all = [1 << 127; FRACTION_MAX + 1];
    let mut power: u128 = 1;
    let mut index = 1;
    while index <= FRACTION_MAX {
        power *= 5;
        // 2^(bits of the power + 127) / power, a binary digit at a time.
        let bits = 128 - power.leading_zeros();
        let (mut quotient, mut rest) = (0u128, 1u128);
        let mut left = bits + 127;
        while left > 0 {
            rest <<= 1;
            quotient <<= 1;
            if rest >= power {
                rest -= power;
                quotient |= 1;
            }
            left -= 1;
        }
        all[index] = quotient + 1;
        index += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<(f64, usize)> {
        short_number(format!("{text},        ").as_bytes(), 0)
    }

    fn assert_nearest(text: &str) {
        let (value, length) = read(text).unwrap_or_else(|| panic!("{text} is a plain number"));
        let expected: f64 = text.parse().expect("a number");
        assert_eq!((value.to_bits(), length), (expected.to_bits(), text.len()), "{text}");
    }

    #[test]
    fn plain_numbers_are_read_to_the_nearest_double() {
        for text in [
            "0",
            "-0",
            "7",
            "-1234567",
            "0.5",
            "-0.0",
            "0.000000000000000001",
            "0.1234567",
            "0.12345678",
            "0.123456789",
            "-0.03456789255142212",
            "0.9999999999999999",
            "1.7976931348623157",
            "9007199254740993.0",
            "9.007199254740993",
            "0.9007199254740993",
            "184467.4407370955161",
            "0.0000012345678901234567",
            "0.0000000000000000018",
            "1234567.123456789012",
        ] {
            if text.starts_with("9007199254740993") {
                assert_eq!(read(text), None, "{text} has more than seven digits before its point");
            } else {
                assert_nearest(text);
            }
        }
    }

    #[test]
    fn everything_else_is_left_to_the_lexer() {
        for text in [
            "",
            "-",
            ".5",
            "-.5",
            "1.",
            "01",
            "-01.5",
            "1e5",
            "1.5E-3",
            "12345678",
            "0.12345678901234567890",
            "0.0000000000000000000000000001",
            "+1",
            "NaN",
            "\"1\"",
            "[",
            "null",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(short_number(b"1.5", 0), None, "too close to the end to be read by words");
        assert_eq!(short_number(b"", 0), None);
        assert_eq!(short_number(b"1,2,3", 9), None);
    }

    #[test]
    fn halves_between_doubles_are_rounded_as_the_standard_library_rounds() {
        // Around each: numbers with up to 19 digits that are exactly, or nearly, between two neighbours.
        for base in [1u64 << 53, (1 << 53) + 2, (1 << 54) + 4, (1 << 60) + 128, 9_999_999_999_999_999_999] {
            for near in -3i64..=3 {
                let mantissa = base.saturating_add_signed(near);
                for fraction in 0..=18 {
                    let text = format!("{mantissa}e-{fraction}");
                    let expected: f64 = text.parse().expect("a number");
                    assert_eq!(divide(mantissa, fraction).to_bits(), expected.to_bits(), "{text}");
                }
            }
        }
    }

    #[test]
    fn lists_of_all_kinds_of_numbers_are_read_to_their_end() {
        let numbers: Vec<f64> =
            (0..3_000).map(|at| if at / 5 % 2 == 0 { 0.25 } else { f64::from(at) / 7_000.0 }).collect();
        let text = format!("[{}] ", numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(","));
        let mut json = Lexer::new(&text, brooklet_task::Code::InvalidDocument);
        json.begin_array().unwrap();
        let mut read = Vec::new();
        while json.next_element().unwrap() {
            read.push(json.double().unwrap());
            json.plain_numbers(numbers.len() - read.len(), &mut read);
        }
        assert_eq!(read, numbers);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(20_000)))]

        #[test]
        fn any_digits_are_read_as_the_standard_library_reads_them(
            negative in any::<bool>(),
            whole in 0u64..10_000_000,
            fraction in "[0-9]{1,12}",
            more in "[0-9]{0,6}",
        ) {
            let text = format!("{}{whole}.{fraction}{more}", if negative { "-" } else { "" });
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            if digits.trim_start_matches('0').len() <= 19 {
                assert_nearest(&text);
            } else {
                prop_assert_eq!(read(&text), None);
            }
        }

        #[test]
        fn any_double_that_is_printed_comes_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            let text = format!("{}", value % 1.0e6);
            if let Some((back, length)) = read(&text) {
                prop_assert_eq!((back.to_bits(), length), ((value % 1.0e6).to_bits(), text.len()));
            }
        }

        #[test]
        fn any_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..40), start in 0usize..50) {
            let _ = short_number(&bytes, start);
        }
    }
}
