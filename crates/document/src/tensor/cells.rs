//! Cells as bytes: little endian in the width of their cell type.
use brooklet_task::Rejection;

use super::CellType;
use super::bits::{bits_f32, bits_f64, nearest_f32, widen_bfloat16};

/// Appends `cells`, which are rounded to `cell` on the way.
pub fn cells_to_bytes(cell: CellType, cells: &[f64], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + cells.len() * cell.bytes(), 0);
    let room = &mut out[start..];
    match cell {
        CellType::Double => write_cells(cells, room, |value| bits_f64(value).to_le_bytes()),
        CellType::Float => write_cells(cells, room, |value| nearest_f32(value).to_le_bytes()),
        CellType::Bfloat16 => write_cells(cells, room, |value| ((bits_f32(value) >> 16) as u16).to_le_bytes()),
        CellType::Int8 => write_cells(cells, room, |value| [value as i64 as u8]),
    }
}

/// Each cell as so many bytes. The room is made before, so that nothing is asked for each of them.
fn write_cells<const N: usize>(cells: &[f64], room: &mut [u8], bytes: impl Fn(f64) -> [u8; N]) {
    room.as_chunks_mut().0.iter_mut().zip(cells).for_each(|(place, cell)| *place = bytes(*cell));
}

/// Reads cells that [`cells_to_bytes`] wrote.
///
/// # Errors
/// If the number of bytes is not a multiple of the width.
pub fn cells_from_bytes(cell: CellType, bytes: &[u8]) -> Result<Vec<f64>, Rejection> {
    if !bytes.len().is_multiple_of(cell.bytes()) {
        return Err(Rejection::corrupt(format!("{} bytes are no whole number of {} cells", bytes.len(), cell.name())));
    }
    Ok(match cell {
        CellType::Double => bytes.as_chunks().0.iter().map(|bits| f64::from_le_bytes(*bits)).collect(),
        CellType::Float => bytes.as_chunks().0.iter().map(|bits| f64::from(f32::from_le_bytes(*bits))).collect(),
        CellType::Bfloat16 => {
            bytes.as_chunks().0.iter().map(|bits| widen_bfloat16(u16::from_le_bytes(*bits))).collect()
        }
        CellType::Int8 => bytes.iter().map(|&bits| f64::from(bits as i8)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_back_as_their_type_rounds_them() {
        let cells = [0.0, -0.0, 1.0, 0.1, -3.7, 300.0, 1e40, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310];
        for cell in [CellType::Double, CellType::Float, CellType::Bfloat16, CellType::Int8] {
            let mut bytes = Vec::new();
            cells_to_bytes(cell, &cells, &mut bytes);
            assert_eq!(bytes.len(), cells.len() * cell.bytes());
            for (back, value) in cells_from_bytes(cell, &bytes).unwrap().into_iter().zip(cells) {
                assert_eq!(bits_f64(back), bits_f64(cell.round(value)), "{value} as {}", cell.name());
            }
        }
    }

    #[test]
    fn half_a_cell_is_refused() {
        assert!(cells_from_bytes(CellType::Float, &[0; 7]).is_err());
    }
}
