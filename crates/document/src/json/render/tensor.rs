//! Renders tensors in the six forms of `format.tensors`.
use super::spec::{Render, TensorFormat};
use crate::progress::{MARK_WORK, NUMBER_WORK, PIECE_BYTES, Progress};
use crate::tensor::{Places, hex_width, print_hex};
use crate::{CellType, Tensor, ValueWriter};

/// Writes a tensor.
pub fn render_tensor(tensor: &Tensor, render: &Render, out: &mut dyn ValueWriter) {
    write_tensor(tensor, render, &mut Progress::endless(), out);
}

/// Writes a tensor as far as a step comes. Returns whether all of it is written.
pub fn write_tensor(tensor: &Tensor, render: &Render, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
    let format = render.tensors;
    let printer = Printer { tensor, format, narrow: render.narrow_cells, places: Places::of(&tensor.tensor_type) };
    if !format.has_type() {
        return printer.content(progress, out);
    }
    if !progress.is_begun() {
        out.begin_object();
        out.key("type");
        out.string(&tensor.tensor_type.to_string());
        out.key(printer.content_name());
    }
    let is_whole = printer.content(progress, out);
    if is_whole {
        out.end_object();
    }
    is_whole
}

struct Printer<'a> {
    tensor: &'a Tensor,
    format: TensorFormat,
    narrow: bool,
    places: Places,
}

impl Printer<'_> {
    fn mapped_dimensions(&self) -> usize {
        self.tensor.tensor_type.mapped().count()
    }

    fn content_name(&self) -> &'static str {
        match (self.format.is_long(), self.mapped_dimensions(), self.places.sizes().len()) {
            (true, ..) => "cells",
            (false, 0, _) => "values",
            (false, _, 0) => "cells",
            (false, ..) => "blocks",
        }
    }

    fn content(&self, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
        match (self.format.is_long(), self.mapped_dimensions(), self.places.sizes().len()) {
            (true, ..) => self.addressed_cells(progress, out),
            (false, 0, _) => self.dense(&self.tensor.cells, progress, out),
            (false, 1, indexed) => self.write_labelled(indexed > 0, progress, out),
            (false, _, 0) => self.addressed_cells(progress, out),
            (false, ..) => self.addressed_blocks(progress, out),
        }
    }

    /// `[{"address":{"x":"0"},"value":1.0},…]`
    fn addressed_cells(&self, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
        array(self.tensor.cells.len(), progress, out, |progress, out, at| {
            let (labels, offset) = self.places.of_cell(self.tensor, at);
            out.begin_object();
            self.address(labels, Some(offset), progress, out);
            out.key("value");
            self.cell(self.tensor.cells[at], progress, out);
            out.end_object();
            true
        })
    }

    /// `[{"address":{"k":"a"},"values":[…]},…]`
    fn addressed_blocks(&self, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
        array(self.tensor.addresses.len(), progress, out, |progress, out, at| {
            let (labels, cells) = self.tensor.subspace(at);
            if !progress.is_begun() {
                out.begin_object();
                self.address(labels, None, progress, out);
                out.key("values");
            }
            let is_whole = self.dense(cells, progress, out);
            if is_whole {
                out.end_object();
            }
            is_whole
        })
    }

    /// `{"a":1.0}` or `{"a":[…]}`
    fn write_labelled(&self, blocks: bool, progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
        if !progress.is_begun() {
            out.begin_object();
        }
        let is_whole = progress.parts(self.tensor.addresses.len(), |progress, at| {
            let (labels, cells) = self.tensor.subspace(at);
            if !progress.is_begun() {
                let label = labels.first().map_or("", String::as_str);
                out.key(label);
                progress.work(MARK_WORK + label.len());
            }
            if blocks {
                return self.dense(cells, progress, out);
            }
            cells.iter().for_each(|value| self.cell(*value, progress, out));
            true
        });
        if is_whole {
            out.end_object();
        }
        is_whole
    }

    /// Writes the `address` member; with `offset` that of a cell, without that of a whole subspace.
    fn address(&self, labels: &[String], offset: Option<usize>, progress: &mut Progress, out: &mut dyn ValueWriter) {
        let mut labels = labels.iter();
        let mut indexes = offset.map(|offset| self.places.indexes(offset));
        out.key("address");
        out.begin_object();
        for dimension in &self.tensor.tensor_type.dimensions {
            if dimension.is_mapped() {
                let label = labels.next().map_or("", String::as_str);
                out.key(&dimension.name);
                out.string(label);
                progress.work(MARK_WORK + label.len());
            } else if let Some(index) = indexes.as_mut().and_then(Iterator::next) {
                out.key(&dimension.name);
                out.string(itoa::Buffer::new().format(index));
                progress.work(MARK_WORK);
            }
        }
        out.end_object();
        progress.work(MARK_WORK);
    }

    fn dense(&self, cells: &[f64], progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
        if self.format.is_hex() {
            return self.digits(cells, progress, out);
        }
        if self.places.sizes().is_empty() {
            return self.write_nested(&[1], cells, progress, out);
        }
        self.write_nested(self.places.sizes(), cells, progress, out)
    }

    fn digits(&self, cells: &[f64], progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
        let cell = self.tensor.tensor_type.cell;
        let (width, of_piece) = (hex_width(cell), PIECE_BYTES / hex_width(cell));
        if !progress.is_begun() {
            out.begin_string(cells.len() * width);
        }
        let is_whole = progress.parts(cells.len().div_ceil(of_piece), |progress, at| {
            let piece = &cells[at * of_piece..cells.len().min((at + 1) * of_piece)];
            let mut digits = String::with_capacity(piece.len() * width);
            print_hex(cell, piece, &mut digits);
            progress.work(2 * digits.len());
            out.piece(&digits);
            true
        });
        if is_whole {
            out.end_string();
        }
        is_whole
    }

    fn write_nested(&self, sizes: &[usize], cells: &[f64], progress: &mut Progress, out: &mut dyn ValueWriter) -> bool {
        let Some((_, inner)) = sizes.split_first() else {
            cells.iter().for_each(|value| self.cell(*value, progress, out));
            return true;
        };
        let size = inner.iter().product::<usize>().max(1);
        array(cells.len().div_ceil(size), progress, out, |progress, out, at| {
            self.write_nested(inner, &cells[at * size..cells.len().min((at + 1) * size)], progress, out)
        })
    }

    /// One cell; what is no finite number is null.
    fn cell(&self, value: f64, progress: &mut Progress, out: &mut dyn ValueWriter) {
        progress.work(NUMBER_WORK);
        match self.tensor.tensor_type.cell {
            _ if !value.is_finite() => out.null(),
            CellType::Int8 => out.integer(value as i64),
            CellType::Float | CellType::Bfloat16 if self.narrow => out.float(value as f32),
            _ => out.double(value),
        }
    }
}

/// Writes an array of so many elements.
fn array(
    count: usize,
    progress: &mut Progress,
    out: &mut dyn ValueWriter,
    mut element: impl FnMut(&mut Progress, &mut dyn ValueWriter, usize) -> bool,
) -> bool {
    if !progress.is_begun() {
        out.begin_array();
    }
    let is_whole = progress.parts(count, |progress, at| element(progress, &mut *out, at));
    if is_whole {
        out.end_array();
    }
    is_whole
}
