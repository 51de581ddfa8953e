//! Renders tensors in the six forms of `format.tensors`.
use super::spec::{Render, TensorFormat};
use crate::tensor::{indexes, print_hex};
use crate::{CellType, Tensor, ValueWriter};

/// Writes a tensor.
pub fn render_tensor(tensor: &Tensor, render: &Render, out: &mut dyn ValueWriter) {
    let format = render.tensors;
    let printer = Printer {
        tensor,
        format,
        narrow: render.narrow_cells,
        sizes: tensor.tensor_type.indexed().filter_map(|d| d.size).collect(),
    };
    if !format.has_type() {
        return printer.content(out);
    }
    out.begin_object();
    out.key("type");
    out.string(&tensor.tensor_type.to_string());
    out.key(printer.content_name());
    printer.content(out);
    out.end_object();
}

struct Printer<'a> {
    tensor: &'a Tensor,
    format: TensorFormat,
    narrow: bool,
    sizes: Vec<usize>,
}

impl Printer<'_> {
    fn mapped_dimensions(&self) -> usize {
        self.tensor.tensor_type.mapped().count()
    }

    fn content_name(&self) -> &'static str {
        match (self.format.is_long(), self.mapped_dimensions(), self.sizes.len()) {
            (true, ..) => "cells",
            (false, 0, _) => "values",
            (false, _, 0) => "cells",
            (false, ..) => "blocks",
        }
    }

    fn content(&self, out: &mut dyn ValueWriter) {
        match (self.format.is_long(), self.mapped_dimensions(), self.sizes.len()) {
            (true, ..) => self.addressed_cells(out),
            (false, 0, _) => self.dense(&self.tensor.cells, out),
            (false, 1, indexed) => self.write_labelled(indexed > 0, out),
            (false, _, 0) => self.addressed_cells(out),
            (false, ..) => self.addressed_blocks(out),
        }
    }

    /// `[{"address":{"x":"0"},"value":1.0},…]`
    fn addressed_cells(&self, out: &mut dyn ValueWriter) {
        out.begin_array();
        for (labels, cells) in self.tensor.subspaces() {
            for (offset, value) in cells.iter().enumerate() {
                out.begin_object();
                self.address(labels, Some(offset), out);
                out.key("value");
                self.cell(*value, out);
                out.end_object();
            }
        }
        out.end_array();
    }

    /// `[{"address":{"k":"a"},"values":[…]},…]`
    fn addressed_blocks(&self, out: &mut dyn ValueWriter) {
        out.begin_array();
        for (labels, cells) in self.tensor.subspaces() {
            out.begin_object();
            self.address(labels, None, out);
            out.key("values");
            self.dense(cells, out);
            out.end_object();
        }
        out.end_array();
    }

    /// `{"a":1.0}` or `{"a":[…]}`
    fn write_labelled(&self, blocks: bool, out: &mut dyn ValueWriter) {
        out.begin_object();
        for (labels, cells) in self.tensor.subspaces() {
            out.key(labels.first().map_or("", String::as_str));
            if blocks {
                self.dense(cells, out);
            } else {
                cells.iter().for_each(|value| self.cell(*value, out));
            }
        }
        out.end_object();
    }

    /// Writes the `address` member; with `offset` that of a cell, without that of a whole subspace.
    fn address(&self, labels: &[String], offset: Option<usize>, out: &mut dyn ValueWriter) {
        let mut labels = labels.iter();
        let mut indexes = offset.map(|offset| indexes(&self.sizes, offset).into_iter());
        out.key("address");
        out.begin_object();
        for dimension in &self.tensor.tensor_type.dimensions {
            if dimension.is_mapped() {
                out.key(&dimension.name);
                out.string(labels.next().map_or("", String::as_str));
            } else if let Some(index) = indexes.as_mut().and_then(Iterator::next) {
                out.key(&dimension.name);
                out.string(&index.to_string());
            }
        }
        out.end_object();
    }

    fn dense(&self, cells: &[f64], out: &mut dyn ValueWriter) {
        if self.format.is_hex() {
            let mut digits = String::new();
            print_hex(self.tensor.tensor_type.cell, cells, &mut digits);
            return out.string(&digits);
        }
        if self.sizes.is_empty() {
            return self.write_nested(&[1], cells, out);
        }
        self.write_nested(&self.sizes, cells, out);
    }

    fn write_nested(&self, sizes: &[usize], cells: &[f64], out: &mut dyn ValueWriter) {
        let Some((_, inner)) = sizes.split_first() else {
            return cells.iter().for_each(|value| self.cell(*value, out));
        };
        out.begin_array();
        for part in cells.chunks(inner.iter().product::<usize>().max(1)) {
            self.write_nested(inner, part, out);
        }
        out.end_array();
    }

    /// One cell; what is no finite number is null.
    fn cell(&self, value: f64, out: &mut dyn ValueWriter) {
        match self.tensor.tensor_type.cell {
            _ if !value.is_finite() => out.null(),
            CellType::Int8 => out.integer(value as i64),
            CellType::Float | CellType::Bfloat16 if self.narrow => out.float(value as f32),
            _ => out.double(value),
        }
    }
}
