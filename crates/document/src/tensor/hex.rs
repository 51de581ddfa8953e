//! Dense cells as hexadecimal digits, most significant first, in the width of a cell type.
use super::{CellType, TensorBuilder, bits_f32, bits_f64, widen_bfloat16};
use brooklet_task::Rejection;

/// Reads the cells of one dense subspace. The width tells how a cell is coded, whatever the tensor's own cell type;
/// only int8 tensors take nothing but int8 digits.
pub(crate) fn parse_hex(digits: &str, builder: &TensorBuilder) -> Result<Vec<f64>, Rejection> {
    let tensor_type = builder.tensor_type();
    let size = builder.dense_size();
    if digits.is_empty() {
        return Err(builder.refuse("The values string does not contain any values".to_owned()));
    }
    // All at once, in vectors: which one it is matters only where one is none.
    let strange = digits.bytes().fold(0, |any, digit| any | u8::from(!digit.is_ascii_hexdigit()));
    if strange != 0
        && let Some((at, _)) = digits.char_indices().find(|(_, digit)| !digit.is_ascii_hexdigit())
    {
        return Err(builder.refuse(format!("Not a hexadecimal digit at offset {at}")));
    }
    if !digits.len().is_multiple_of(size) || (tensor_type.cell == CellType::Int8 && digits.len() != 2 * size) {
        let expected = size * tensor_type.cell.bytes() * 2;
        let message =
            format!("Unexpected hex length: Expected {expected} hex digits for {tensor_type} but got {}", digits.len());
        return Err(builder.refuse(message));
    }
    let digits = digits.as_bytes();
    match digits.len() / size {
        2 => Ok(cells(digits, |cell: &[u8; 2]| f64::from(bits_of(cell) as u8 as i8))),
        4 => Ok(cells(digits, |cell: &[u8; 4]| widen_bfloat16(bits_of(cell) as u16))),
        8 => Ok(cells(digits, |cell: &[u8; 8]| f64::from(f32::from_bits(bits_of_eight(*cell))))),
        16 => Ok(cells(digits, |cell: &[u8; 16]| {
            let halves = cell.as_chunks().0.iter();
            f64::from_bits(halves.fold(0, |bits, half| bits << 32 | u64::from(bits_of_eight(*half))))
        })),
        width => {
            let message = format!("Unexpected hex digits per cell: Expecting 2, 4, 8 or 16, but was {width}");
            Err(builder.refuse(message))
        }
    }
}

fn cells<const WIDTH: usize>(digits: &[u8], decode: impl Fn(&[u8; WIDTH]) -> f64) -> Vec<f64> {
    digits.as_chunks().0.iter().map(decode).collect()
}

/// The bits that eight hexadecimal digits stand for, all of them at once.
#[inline(always)]
fn bits_of_eight(digits: [u8; 8]) -> u32 {
    let text = u64::from_le_bytes(digits);
    let nibbles = (text & 0x0f0f_0f0f_0f0f_0f0f) + 9 * (text >> 6 & 0x0101_0101_0101_0101);
    // Neighbours join: the first, which lies lower, counts more.
    let bytes = (nibbles << 4 | nibbles >> 8) & 0x00ff_00ff_00ff_00ff;
    let halves = (bytes << 8 | bytes >> 16) & 0x0000_ffff_0000_ffff;
    (halves << 16 | halves >> 32) as u32
}

/// The bits that a few hexadecimal digits stand for.
#[inline(always)]
fn bits_of(digits: &[u8]) -> u32 {
    // '0' to '9' end in their value, letters in one less than ten below it, and only they have the bit of 64.
    digits.iter().fold(0, |bits, digit| bits << 4 | u32::from((digit & 15) + 9 * (digit >> 6)))
}

/// Digits of a cell.
pub(crate) fn hex_width(cell: CellType) -> usize {
    2 * cell.bytes()
}

/// Appends cells as upper-case hexadecimal digits.
pub(crate) fn print_hex(cell: CellType, cells: &[f64], out: &mut String) {
    let width = hex_width(cell);
    for &value in cells {
        let bits = match cell {
            CellType::Double => bits_f64(value),
            CellType::Float => u64::from(bits_f32(value)),
            CellType::Bfloat16 => u64::from(bits_f32(value) >> 16),
            CellType::Int8 => u64::from(value as i64 as u8),
        };
        let nibbles = (0..width).rev().map(|digit| (bits >> (4 * digit)) as usize & 0xf);
        out.extend(nibbles.map(|nibble| char::from(b"0123456789ABCDEF"[nibble])));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use brooklet_task::Code;
    use proptest::prelude::*;

    use super::*;

    fn parse(tensor_type: &str, digits: &str) -> Result<Vec<f64>, String> {
        let builder = TensorBuilder::new(Arc::new(tensor_type.parse().unwrap()), Code::InvalidDocument);
        parse_hex(digits, &builder).map_err(|rejection| rejection.message)
    }

    #[test]
    fn the_width_tells_how_cells_are_coded() {
        assert_eq!(parse("tensor<float>(x[2])", "01fF"), Ok(vec![1.0, -1.0]));
        assert_eq!(parse("tensor<float>(x[2])", "3F80C000"), Ok(vec![1.0, -2.0]));
        assert_eq!(parse("tensor(x[2])", "3F80000040000000"), Ok(vec![1.0, 2.0]));
        assert_eq!(parse("tensor<int8>(x[2])", "0180"), Ok(vec![1.0, -128.0]));
        let wide = parse("tensor<int8>(x[2])", "3F80C000").unwrap_err();
        assert_eq!(wide, "Unexpected hex length: Expected 4 hex digits for tensor<int8>(x[2]) but got 8");
        assert_eq!(parse("tensor(x[2])", "0g").unwrap_err(), "Not a hexadecimal digit at offset 1");
        assert!(parse("tensor(x[2])", "010").is_err());
        assert!(parse("tensor(x[1])", &"0".repeat(32)).is_err());
        assert_eq!(parse("tensor(x[2])", "00ü").unwrap_err(), "Not a hexadecimal digit at offset 2");
        assert_eq!(parse("tensor(x[2])", "0\u{10}").unwrap_err(), "Not a hexadecimal digit at offset 1");
        assert_eq!(parse("tensor(x[2])", "0@").unwrap_err(), "Not a hexadecimal digit at offset 1");
    }

    #[test]
    fn every_byte_is_read_in_either_case() {
        for byte in 0..=u8::MAX {
            for digits in [format!("{byte:02x}"), format!("{byte:02X}")] {
                assert_eq!(parse("tensor<int8>(x[1])", &digits), Ok(vec![f64::from(byte as i8)]));
            }
        }
    }

    proptest! {
        #[test]
        fn eight_digits_at_once_are_what_they_are_one_by_one(bits: u32, case in prop::collection::vec(any::<bool>(), 8)) {
            let digits = format!("{bits:08x}").into_bytes();
            let digits = digits.iter().zip(case).map(|(digit, upper)| if upper { digit.to_ascii_uppercase() } else { *digit });
            let digits: Vec<u8> = digits.collect();
            prop_assert_eq!((bits_of_eight(digits[..].try_into().unwrap()), bits_of(&digits)), (bits, bits));
        }

        #[test]
        fn what_is_printed_is_read_again(bits in prop::collection::vec(any::<u64>(), 1..40)) {
            for (cell, text, of) in [
                (CellType::Double, "", f64::from_bits as fn(u64) -> f64),
                (CellType::Float, "<float>", |bits| f64::from(f32::from_bits(bits as u32))),
                (CellType::Bfloat16, "<bfloat16>", |bits| widen_bfloat16(bits as u16)),
                (CellType::Int8, "<int8>", |bits| f64::from(bits as i8)),
            ] {
                let cells: Vec<f64> = bits.iter().map(|bits| of(*bits)).filter(|number| number.is_finite()).collect();
                let mut digits = String::new();
                print_hex(cell, &cells, &mut digits);
                if !cells.is_empty() {
                    prop_assert_eq!(parse(&format!("tensor{text}(x[{}])", cells.len()), &digits), Ok(cells));
                }
            }
        }
    }
}
