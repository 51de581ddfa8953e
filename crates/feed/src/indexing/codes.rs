//! Numbers as digits of base 16 and 64, hashes of texts, and bits of tensors, as the indexing language has them.
use std::hash::Hasher;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use brooklet_document::{DataType, Tensor, TensorBuilder, Value};
use brooklet_schema::indexing::packed_type;
use brooklet_task::{Code, Rejection};
use siphasher::sip::SipHasher24;

use super::convert::invalid;

/// The key of hashes, which everybody knows: 00 01 … 0f.
const KEY: (u64, u64) = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
/// Digits of base 64 that a number has at most.
const BASE64_DIGITS_MAX: usize = 12;
const HEX_DIGITS_MAX: usize = 16;
/// Padding may be there, or not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The 64 bits of a text's hash: SipHash-2-4 of its UTF-8.
pub(super) fn hash(text: &str) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(KEY.0, KEY.1);
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// The number a text of digits of base 16 is; sixteen of them wrap to negative numbers.
pub(super) fn hex_decode(text: &str) -> Result<Value, Rejection> {
    if text.is_empty() {
        return Ok(Value::Long(i64::MIN));
    }
    let illegal = || invalid(format!("Illegal hex value '{}'", Rejection::quote(text)));
    let (negative, digits) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(illegal());
    }
    let outside = || invalid(format!("Hex value '{}' is out of range", Rejection::quote(text)));
    let significant = digits.trim_start_matches('0');
    if significant.len() > HEX_DIGITS_MAX {
        return Err(outside());
    }
    let bits = if significant.is_empty() { 0 } else { u64::from_str_radix(significant, 16).map_err(|_| illegal())? };
    Ok(Value::Long(if negative { (bits as i64).wrapping_neg() } else { bits as i64 }))
}

/// The number of up to eight bytes in base 64, the least significant first.
pub(super) fn base64_decode(text: &str) -> Result<Value, Rejection> {
    if text.is_empty() {
        return Ok(Value::Long(i64::MIN));
    }
    if text.len() > BASE64_DIGITS_MAX {
        return Err(invalid(format!("Base64 value '{}' is out of range", Rejection::quote(text))));
    }
    let illegal = |_| invalid(format!("Illegal base64 value '{}'", Rejection::quote(text)));
    let bytes = BASE64.decode(text).map_err(illegal)?;
    let number = bytes.iter().take(8).rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    Ok(Value::Long(number as i64))
}

/// The eight bytes of a number in base 64, the least significant first.
pub(super) fn base64_encode(number: i64) -> String {
    BASE64.encode(number.to_le_bytes())
}

/// A tensor whose cells are 1 where they are above a bound, else 0.
pub(super) fn binarize(mut tensor: Tensor, bound: f64) -> Value {
    tensor.cells.iter_mut().for_each(|cell| *cell = f64::from(u8::from(*cell > bound)));
    Value::Tensor(tensor)
}

/// A tensor of bytes, of eight cells each: a bit is set where the cell is above 0, the first cell's is the highest.
pub(super) fn pack_bits(tensor: &Tensor, field: &DataType) -> Result<Value, Rejection> {
    let packed = packed_type(&tensor.tensor_type)
        .ok_or_else(|| invalid(format!("Require a tensor with one dense dimension, but got {}", tensor.tensor_type)))?;
    let packed = match field {
        DataType::Tensor(target) if target.dimensions == packed.dimensions => target.clone(),
        _ => packed.into(),
    };
    let width = tensor.tensor_type.dense_size().max(1);
    let mut builder = TensorBuilder::new(packed, Code::InvalidDocument);
    for (address, cells) in tensor.addresses.iter().zip(tensor.cells.chunks(width)) {
        let byte = |bits: &[f64]| {
            let bit = |at: usize| u8::from(bits.get(at).is_some_and(|cell| *cell > 0.0));
            (0..8).fold(0u8, |byte, at| byte << 1 | bit(at))
        };
        builder.block(address.clone(), cells.chunks(8).map(|bits| f64::from(byte(bits) as i8)).collect())?;
    }
    Ok(Value::Tensor(builder.finish()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(made: Result<Value, Rejection>) -> Result<i64, String> {
        match made {
            Ok(Value::Long(number)) => Ok(number),
            other => Err(other.map(|_| String::new()).unwrap_or_else(|rejection| rejection.message)),
        }
    }

    /// Recorded from the reference implementation's own expressions.
    #[test]
    fn digits_are_numbers() {
        for (text, number) in [
            ("ff", 255),
            ("FF", 255),
            ("-1", -1),
            ("+a", 10),
            ("", i64::MIN),
            ("7fffffffffffffff", i64::MAX),
            ("ffffffffffffffff", -1),
            ("8000000000000000", i64::MIN),
        ] {
            assert_eq!(long(hex_decode(text)), Ok(number), "{text}");
        }
        for text in ["xyz", " a", "0x1", "-", "ä"] {
            assert_eq!(long(hex_decode(text)), Err(format!("Illegal hex value '{text}'")));
        }
        assert!(long(hex_decode("10000000000000000")).unwrap_err().ends_with("is out of range"));
        for (text, number) in [
            ("", i64::MIN),
            ("AQ==", 1),
            ("AQ", 1),
            ("AAAAAAAAAIA=", i64::MIN),
            ("AQIDBAUGBwg=", 578_437_695_752_307_201),
            ("AQIDBAUGBwgJ", 578_437_695_752_307_201),
        ] {
            assert_eq!(long(base64_decode(text)), Ok(number), "{text}");
        }
        assert!(long(base64_decode("AQIDBAUGBwgJCg==")).unwrap_err().ends_with("is out of range"));
        for text in ["!!", " AQ==", "A"] {
            assert_eq!(long(base64_decode(text)), Err(format!("Illegal base64 value '{text}'")));
        }
        for (number, text) in [(0, "AAAAAAAAAAA="), (1, "AQAAAAAAAAA="), (-1, "//////////8="), (255, "/wAAAAAAAAA=")] {
            assert_eq!(base64_encode(number), text);
        }
    }

    /// Recorded from Guava, with which the reference implementation hashes.
    #[test]
    fn hashes_are_those_of_the_reference() {
        for (text, long, int) in [
            ("", 8_246_050_544_436_514_353, -586_281_423),
            ("hello", 22_433_990_042_967_937, 1_466_425_217),
            ("æøå", 5_070_281_149_295_271_058, 2_132_450_450),
        ] {
            assert_eq!((hash(text) as i64, hash(text) as i32), (long, int), "{text}");
        }
    }
}
