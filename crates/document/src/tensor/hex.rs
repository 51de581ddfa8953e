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
    let values = nibbles(digits).map_err(|at| builder.refuse(format!("Not a hexadecimal digit at offset {at}")))?;
    if values.len() % size != 0 || (tensor_type.cell == CellType::Int8 && values.len() != 2 * size) {
        let expected = size * tensor_type.cell.bytes() * 2;
        let message =
            format!("Unexpected hex length: Expected {expected} hex digits for {tensor_type} but got {}", values.len());
        return Err(builder.refuse(message));
    }
    let width = values.len() / size;
    let decode: fn(u64) -> f64 = match width {
        2 => |bits| f64::from(bits as u8 as i8),
        4 => |bits| widen_bfloat16(bits as u16),
        8 => |bits| f64::from(f32::from_bits(bits as u32)),
        16 => f64::from_bits,
        _ => {
            let message = format!("Unexpected hex digits per cell: Expecting 2, 4, 8 or 16, but was {width}");
            return Err(builder.refuse(message));
        }
    };
    let cell = |digits: &[u8]| decode(digits.iter().fold(0, |bits, digit| bits << 4 | u64::from(*digit)));
    Ok(values.chunks(width).map(cell).collect())
}

/// The values of hexadecimal digits, or the offset of what is none.
fn nibbles(digits: &str) -> Result<Vec<u8>, usize> {
    let nibble = |(at, digit): (usize, char)| digit.to_digit(16).map(|value| value as u8).ok_or(at);
    digits.char_indices().map(nibble).collect()
}

/// Appends cells as upper-case hexadecimal digits.
pub(crate) fn print_hex(cell: CellType, cells: &[f64], out: &mut String) {
    for &value in cells {
        let (bits, width) = match cell {
            CellType::Double => (bits_f64(value), 16),
            CellType::Float => (u64::from(bits_f32(value)), 8),
            CellType::Bfloat16 => (u64::from(bits_f32(value) >> 16), 4),
            CellType::Int8 => (u64::from(value as i64 as u8), 2),
        };
        for digit in (0..width).rev() {
            let nibble = (bits >> (4 * digit)) as u32 & 0xf;
            out.extend(char::from_digit(nibble, 16).map(|digit| digit.to_ascii_uppercase()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use brooklet_task::Code;

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
    }
}
