//! What a function of a model is given: a tensor whose sizes the model may leave open, and how it is read from a text.
use std::fmt;
use std::sync::Arc;

use brooklet_document::{CellType, Dimension, Tensor, TensorType, parse_literal};
use brooklet_rank::{Value, text_hash};
use brooklet_schema::OnnxSize;
use brooklet_task::Code;

use super::values::tensor_value;

/// The type of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentType {
    cell: CellType,
    /// In the order of their names, as those of tensors.
    dimensions: Vec<(String, Extent)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Mapped,
    Size(usize),
    /// As large as what is given.
    Open,
}

impl ArgumentType {
    /// A number.
    pub(crate) fn number() -> ArgumentType {
        ArgumentType { cell: CellType::Double, dimensions: Vec::new() }
    }

    pub(crate) fn of_tensor(of: &TensorType) -> ArgumentType {
        let extent = |dimension: &Dimension| dimension.size.map_or(Extent::Mapped, Extent::Size);
        let dimensions = of.dimensions.iter().map(|dimension| (dimension.name.clone(), extent(dimension)));
        ArgumentType { cell: of.cell, dimensions: dimensions.collect() }
    }

    /// An input of an ONNX model, with cells that hold its elements.
    pub(crate) fn of_onnx(cell: CellType, element: u32, sizes: &[OnnxSize]) -> ArgumentType {
        // What the reference has no cells for it tells as numbers.
        let cell = if matches!(element, 2 | 5 | 9) { CellType::Double } else { cell };
        let extent = |size: &OnnxSize| match size {
            OnnxSize::Known(size) => Extent::Size(*size),
            OnnxSize::Named(_) | OnnxSize::Unknown => Extent::Open,
        };
        let dimensions = sizes.iter().enumerate().map(|(number, size)| (format!("d{number}"), extent(size)));
        ArgumentType { cell, dimensions: dimensions.collect() }
    }

    /// The value that a text says. For a number any text will do: what is none is a text, which has a hash.
    pub(crate) fn read(&self, text: &str) -> Option<Value> {
        let literal = text.trim();
        let spelled = self.to_string();
        // Sizes that are open can be left so where the type is named.
        let value = literal.strip_prefix(spelled.as_str()).and_then(|rest| rest.trim_start().strip_prefix(':'));
        let value = value.unwrap_or(literal);
        let of = Arc::new(self.type_of(value)?);
        match parse_literal(value, Some(&of), Code::InvalidQueryParameter) {
            Ok(tensor) => Some(tensor_value(tensor)),
            Err(_) => self.dimensions.is_empty().then(|| Value::Number(text_hash(text))),
        }
    }

    /// What stands for an argument that is not given: a number that is none, unless something is said.
    pub(crate) fn take(&self, missing: Option<&Tensor>) -> Option<Value> {
        match missing {
            Some(tensor) => self.holds(&tensor.tensor_type).then(|| tensor_value(tensor.clone())),
            None => (*self == ArgumentType::number()).then_some(Value::Number(f64::NAN)),
        }
    }

    /// Whether a tensor of a type can be given.
    fn holds(&self, of: &TensorType) -> bool {
        let fits = |((name, extent), dimension): (&(String, Extent), &Dimension)| {
            let size = match extent {
                Extent::Mapped => None,
                Extent::Size(size) => Some(*size),
                Extent::Open => dimension.size,
            };
            *name == dimension.name && size == dimension.size && (*extent == Extent::Mapped || size.is_some())
        };
        self.cell == of.cell
            && self.dimensions.len() == of.dimensions.len()
            && self.dimensions.iter().zip(&of.dimensions).all(fits)
    }

    /// The type of what a text gives: sizes that are open are as large as that.
    fn type_of(&self, value: &str) -> Option<TensorType> {
        let open = self.dimensions.iter().any(|(_, extent)| *extent == Extent::Open);
        let found = if !open {
            Vec::new()
        } else if value.starts_with('[') {
            nested_sizes(value, self.dimensions.len())?
        } else {
            self.labelled_sizes(value)?
        };
        let dimensions = self.dimensions.iter().enumerate().map(|(number, (name, extent))| Dimension {
            name: name.clone(),
            size: match extent {
                Extent::Mapped => None,
                Extent::Size(size) => Some(*size),
                Extent::Open => found.get(number).copied(),
            },
        });
        let of = TensorType::new(self.cell, dimensions.collect());
        of.checked_dense_size().map(|_| of)
    }

    /// The sizes of a tensor whose cells have addresses: one more than the largest index.
    fn labelled_sizes(&self, value: &str) -> Option<Vec<usize>> {
        let dimensions = self.dimensions.iter().map(|(name, _)| Dimension { name: name.clone(), size: None });
        let sparse = Arc::new(TensorType::new(CellType::Double, dimensions.collect()));
        let tensor = parse_literal(value, Some(&sparse), Code::InvalidQueryParameter).ok()?;
        let mut sizes = vec![0; self.dimensions.len()];
        for address in &tensor.addresses {
            for (size, label) in sizes.iter_mut().zip(address) {
                *size = label.parse::<usize>().ok()?.checked_add(1)?.max(*size);
            }
        }
        sizes.iter().all(|size| *size > 0).then_some(sizes)
    }
}

impl fmt::Display for ArgumentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cell = if self.cell == CellType::Double { String::new() } else { format!("<{}>", self.cell.name()) };
        let dimensions: Vec<String> = self
            .dimensions
            .iter()
            .map(|(name, extent)| match extent {
                Extent::Mapped => format!("{name}{{}}"),
                Extent::Size(size) => format!("{name}[{size}]"),
                Extent::Open => format!("{name}[]"),
            })
            .collect();
        write!(f, "tensor{cell}({})", dimensions.join(","))
    }
}

/// The sizes of nested brackets, by what stands first at each depth; nothing if they are not as deep as there are dimensions.
fn nested_sizes(text: &str, depth: usize) -> Option<Vec<usize>> {
    let mut sizes = vec![1; depth];
    // Whether the first of its depth was closed.
    let mut closed = vec![false; depth];
    let mut at = 0usize;
    let mut deepest = 0usize;
    for sign in text.chars() {
        match sign {
            '[' => {
                at += 1;
                deepest = deepest.max(at);
            }
            ']' => {
                at = at.checked_sub(1)?;
                if let Some(first) = closed.get_mut(at) {
                    *first = true;
                }
            }
            ',' => {
                let depth = at.checked_sub(1)?;
                if !*closed.get(depth)? {
                    sizes[depth] += 1;
                }
            }
            _ => {}
        }
    }
    (deepest == depth).then_some(sizes)
}
