//! Prints tensors in their canonical text form.
use super::{CellType, Tensor, print_double, print_float};
use crate::progress::{MARK_WORK, NUMBER_WORK, Progress};
use crate::tensor::Places;

impl std::fmt::Display for Tensor {
    /// `tensor<float>(k{},x[2]):{a:[1.0, 2.0]}`: type, then the shortest form of the value that reads back.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.print(&mut Progress::endless(), &mut out);
        f.write_str(&out)
    }
}

impl Tensor {
    /// Appends the canonical text form as far as a step comes. Returns whether all of it is written.
    pub fn print(&self, progress: &mut Progress, out: &mut String) -> bool {
        if !progress.is_begun() {
            out.push_str(&self.tensor_type.to_string());
            out.push(':');
        }
        let places = Places::of(&self.tensor_type);
        match self.tensor_type.mapped().count() {
            0 if self.tensor_type.dimensions.is_empty() => {
                print_list("{}", self.cells.len(), progress, out, |progress, out, at| {
                    print_cell(self.tensor_type.cell, self.cells[at], progress, out)
                })
            }
            0 => self.print_nested(places.sizes(), &self.cells, progress, out),
            1 => print_list("{}", self.addresses.len(), progress, out, |progress, out, at| {
                let (address, cells) = self.subspace(at);
                if !progress.is_begun() {
                    print_label(&address[0], progress, out);
                    out.push(':');
                }
                self.print_nested(places.sizes(), cells, progress, out)
            }),
            _ => self.print_cells(&places, progress, out),
        }
    }

    /// `{{k:a,l:b,x:0}:1.0, …}`
    fn print_cells(&self, places: &Places, progress: &mut Progress, out: &mut String) -> bool {
        print_list("{}", self.cells.len(), progress, out, |progress, out, at| {
            let (address, offset) = places.of_cell(self, at);
            let mut labels = address.iter();
            let mut indexes = places.indexes(offset);
            out.push('{');
            for (i, dimension) in self.tensor_type.dimensions.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                out.push_str(&dimension.name);
                out.push(':');
                match dimension.size {
                    Some(_) => out.push_str(itoa::Buffer::new().format(indexes.next().unwrap_or(0))),
                    None => print_label(labels.next().map_or("", String::as_str), progress, out),
                }
            }
            out.push_str("}:");
            print_cell(self.tensor_type.cell, self.cells[at], progress, out)
        })
    }

    fn print_nested(&self, sizes: &[usize], cells: &[f64], progress: &mut Progress, out: &mut String) -> bool {
        let cell = self.tensor_type.cell;
        let Some((_, inner)) = sizes.split_first() else {
            return cells.iter().all(|value| print_cell(cell, *value, progress, out));
        };
        let size = inner.iter().product::<usize>().max(1);
        print_list("[]", cells.len().div_ceil(size), progress, out, |progress, out, at| {
            self.print_nested(inner, &cells[at * size..cells.len().min((at + 1) * size)], progress, out)
        })
    }
}

/// Prints parts between two marks.
fn print_list(
    marks: &str,
    count: usize,
    progress: &mut Progress,
    out: &mut String,
    mut part: impl FnMut(&mut Progress, &mut String, usize) -> bool,
) -> bool {
    let (begin, end) = marks.split_at(1);
    if !progress.is_begun() {
        out.push_str(begin);
    }
    let is_whole = progress.parts(count, |progress, at| {
        if at > 0 && !progress.is_begun() {
            out.push_str(", ");
        }
        part(progress, out, at)
    });
    if is_whole {
        out.push_str(end);
    }
    is_whole
}

fn print_cell(cell: CellType, value: f64, progress: &mut Progress, out: &mut String) -> bool {
    progress.work(NUMBER_WORK);
    match cell {
        CellType::Double => print_double(value, out),
        CellType::Float | CellType::Bfloat16 => print_float(value as f32, out),
        CellType::Int8 => out.push_str(itoa::Buffer::new().format(value as i64)),
    }
    true
}

/// A label, in quotes unless it is a plain word. There are no escapes, so a label with both kinds of quotes cannot be
/// read back.
fn print_label(label: &str, progress: &mut Progress, out: &mut String) {
    progress.work(MARK_WORK + label.len());
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
