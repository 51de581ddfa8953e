//! Types of tensors: their cells and their dimensions.
use brooklet_kernel::sort;

use super::bits::{bits_f32, nearest_f32};

/// How a cell is stored. Cells are held as f64 here, already rounded to their type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellType {
    /// 64-bit float.
    Double,
    /// 32-bit float.
    Float,
    /// The upper 16 bits of a float32: rounding is truncation.
    Bfloat16,
    /// 8-bit integer.
    Int8,
}

impl CellType {
    /// Name in a type's text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CellType::Double => "double",
            CellType::Float => "float",
            CellType::Bfloat16 => "bfloat16",
            CellType::Int8 => "int8",
        }
    }

    /// Bytes of one cell.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            CellType::Double => 8,
            CellType::Float => 4,
            CellType::Bfloat16 => 2,
            CellType::Int8 => 1,
        }
    }

    /// `value` as this type holds it: float is nearest, bfloat16 is float with the low 16 bits dropped,
    /// int8 truncates toward zero and wraps.
    #[must_use]
    pub fn round(self, value: f64) -> f64 {
        match self {
            CellType::Double => value,
            CellType::Float => f64::from(nearest_f32(value)),
            CellType::Bfloat16 => f64::from(f32::from_bits(bits_f32(value) & 0xffff_0000)),
            CellType::Int8 => f64::from(value as i64 as i8),
        }
    }

    /// The same for each of `values`. Float, which nearly all are, has a loop of its own that is made vector code of.
    pub fn round_all(self, values: &mut [f64]) {
        match self {
            CellType::Double => {}
            CellType::Float => values.iter_mut().for_each(|value| *value = f64::from(nearest_f32(*value))),
            _ => values.iter_mut().for_each(|value| *value = self.round(*value)),
        }
    }
}

/// One dimension of a type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// Its size if indexed (`x[3]`), nothing if mapped (`x{}`).
    pub size: Option<usize>,
}

impl Dimension {
    /// Whether labels are free (`x{}`).
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.size.is_none()
    }
}

/// The type of a tensor: its cell type and its dimensions, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Type of the cells.
    pub cell: CellType,
    /// The dimensions, sorted by name, no name twice.
    pub dimensions: Vec<Dimension>,
}

impl TensorType {
    /// A type; dimensions are sorted here.
    #[must_use]
    pub fn new(cell: CellType, mut dimensions: Vec<Dimension>) -> TensorType {
        sort(&mut dimensions);
        TensorType { cell, dimensions }
    }

    /// The type of a plain number.
    #[must_use]
    pub fn scalar() -> TensorType {
        TensorType { cell: CellType::Double, dimensions: Vec::new() }
    }

    /// The indexed dimensions, in order.
    pub fn indexed(&self) -> impl Iterator<Item = &Dimension> {
        self.dimensions.iter().filter(|dimension| !dimension.is_mapped())
    }

    /// The mapped dimensions, in order.
    pub fn mapped(&self) -> impl Iterator<Item = &Dimension> {
        self.dimensions.iter().filter(|dimension| dimension.is_mapped())
    }

    /// Cells of one dense subspace.
    #[must_use]
    pub fn dense_size(&self) -> usize {
        self.indexed().map(|dimension| dimension.size.unwrap_or(1)).product()
    }
}

impl std::fmt::Display for TensorType {
    /// `tensor<float>(a{},x[3])`; `<double>` is left out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor")?;
        if self.cell != CellType::Double {
            write!(f, "<{}>", self.cell.name())?;
        }
        f.write_str("(")?;
        for (i, dimension) in self.dimensions.iter().enumerate() {
            let separator = if i > 0 { "," } else { "" };
            match dimension.size {
                Some(size) => write!(f, "{separator}{}[{size}]", dimension.name)?,
                None => write!(f, "{separator}{}{{}}", dimension.name)?,
            }
        }
        f.write_str(")")
    }
}
