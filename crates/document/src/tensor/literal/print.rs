//! Prints tensors in their canonical text form.
use super::{CellType, Tensor, print_double, print_float};

impl std::fmt::Display for Tensor {
    /// `tensor<float>(k{},x[2]):{a:[1.0, 2.0]}`: type, then the shortest form of the value that reads back.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = format!("{}:", self.tensor_type);
        match self.tensor_type.mapped().count() {
            0 if self.tensor_type.dimensions.is_empty() => print_braces(&mut out, self.cells.iter(), |out, value| {
                print_cell(self.tensor_type.cell, *value, out);
            }),
            0 => self.print_dense(&self.cells, &mut out),
            1 => print_braces(&mut out, self.subspaces(), |out, (address, cells)| {
                print_label(&address[0], out);
                out.push(':');
                self.print_dense(cells, out);
            }),
            _ => self.print_cells(&mut out),
        }
        f.write_str(&out)
    }
}

impl Tensor {
    /// The sizes of the indexed dimensions.
    fn sizes(&self) -> Vec<usize> {
        self.tensor_type.indexed().filter_map(|dimension| dimension.size).collect()
    }

    fn print_dense(&self, cells: &[f64], out: &mut String) {
        print_nested(self.tensor_type.cell, &self.sizes(), cells, out);
    }

    /// `{{k:a,l:b,x:0}:1.0, …}`
    fn print_cells(&self, out: &mut String) {
        let sizes = self.sizes();
        let cells =
            self.subspaces().flat_map(|(address, cells)| cells.iter().enumerate().map(move |cell| (address, cell)));
        print_braces(out, cells, |out, (address, (offset, value))| {
            let mut labels = address.iter();
            let mut indexes = indexes(&sizes, offset).into_iter();
            out.push('{');
            for (i, dimension) in self.tensor_type.dimensions.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                out.push_str(&dimension.name);
                out.push(':');
                match dimension.size {
                    Some(_) => out.push_str(&indexes.next().unwrap_or(0).to_string()),
                    None => print_label(labels.next().map_or("", String::as_str), out),
                }
            }
            out.push_str("}:");
            print_cell(self.tensor_type.cell, *value, out);
        });
    }
}

/// The index in each dimension of the cell at `offset` in row-major order.
pub(crate) fn indexes(sizes: &[usize], mut offset: usize) -> Vec<usize> {
    let mut indexes: Vec<usize> = sizes
        .iter()
        .rev()
        .map(|size| {
            let index = offset % size;
            offset /= size;
            index
        })
        .collect();
    indexes.reverse();
    indexes
}

fn print_braces<T>(out: &mut String, items: impl Iterator<Item = T>, mut print: impl FnMut(&mut String, T)) {
    out.push('{');
    for (i, item) in items.enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        print(out, item);
    }
    out.push('}');
}

fn print_nested(cell: CellType, sizes: &[usize], cells: &[f64], out: &mut String) {
    let Some((_, inner)) = sizes.split_first() else {
        return cells.iter().for_each(|value| print_cell(cell, *value, out));
    };
    let size = inner.iter().product::<usize>().max(1);
    out.push('[');
    for (i, part) in cells.chunks(size).enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        print_nested(cell, inner, part, out);
    }
    out.push(']');
}

fn print_cell(cell: CellType, value: f64, out: &mut String) {
    match cell {
        CellType::Double => print_double(value, out),
        CellType::Float | CellType::Bfloat16 => print_float(value as f32, out),
        CellType::Int8 => out.push_str(&(value as i64).to_string()),
    }
}

/// A label, in quotes unless it is a plain word. There are no escapes, so a label with both kinds of quotes cannot be
/// read back.
fn print_label(label: &str, out: &mut String) {
    let plain = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_@$".contains(&byte));
    let quote = match label {
        _ if plain => "",
        _ if label.contains('\'') => "\"",
        _ => "'",
    };
    out.push_str(quote);
    out.push_str(label);
    out.push_str(quote);
}
