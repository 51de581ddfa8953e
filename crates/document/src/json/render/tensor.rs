//! Renders tensors in the six forms of `format.tensors`.
use crate::json::JsonWriter;
use crate::tensor::{indexes, print_hex};
use crate::{CellType, Tensor};

/// The form of a tensor in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TensorFormat {
    /// `{"type":…,"values":[…]}`, and likewise with `cells` or `blocks`.
    #[default]
    Short,
    /// `{"type":…,"cells":[{"address":…,"value":…},…]}`
    Long,
    /// What is in `short`, without type.
    ShortValue,
    /// What is in `long`, without type.
    LongValue,
    /// As `short` with dense cells in hexadecimal digits.
    Hex,
    /// What is in `hex`, without type.
    HexValue,
}

impl TensorFormat {
    /// The form with that name in parameters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<TensorFormat> {
        Some(match name {
            "short" => TensorFormat::Short,
            "long" => TensorFormat::Long,
            "short-value" => TensorFormat::ShortValue,
            "long-value" => TensorFormat::LongValue,
            "hex" => TensorFormat::Hex,
            "hex-value" => TensorFormat::HexValue,
            _ => return None,
        })
    }

    fn is_long(self) -> bool {
        matches!(self, TensorFormat::Long | TensorFormat::LongValue)
    }

    fn is_hex(self) -> bool {
        matches!(self, TensorFormat::Hex | TensorFormat::HexValue)
    }

    fn has_type(self) -> bool {
        matches!(self, TensorFormat::Short | TensorFormat::Long | TensorFormat::Hex)
    }
}

/// Writes a tensor.
pub fn render_tensor(tensor: &Tensor, format: TensorFormat, json: &mut JsonWriter) {
    let printer = Printer { tensor, format, sizes: tensor.tensor_type.indexed().filter_map(|d| d.size).collect() };
    if !format.has_type() {
        return printer.content(json);
    }
    json.begin_object();
    json.key("type");
    json.string(&tensor.tensor_type.to_string());
    json.key(printer.content_name());
    printer.content(json);
    json.end_object();
}

struct Printer<'a> {
    tensor: &'a Tensor,
    format: TensorFormat,
    sizes: Vec<usize>,
}

impl Printer<'_> {
    fn mapped(&self) -> usize {
        self.tensor.tensor_type.mapped().count()
    }

    fn content_name(&self) -> &'static str {
        match (self.format.is_long(), self.mapped(), self.sizes.len()) {
            (true, ..) => "cells",
            (false, 0, _) => "values",
            (false, _, 0) => "cells",
            (false, ..) => "blocks",
        }
    }

    fn content(&self, json: &mut JsonWriter) {
        match (self.format.is_long(), self.mapped(), self.sizes.len()) {
            (true, ..) => self.addressed_cells(json),
            (false, 0, _) => self.dense(&self.tensor.cells, json),
            (false, 1, indexed) => self.labelled(indexed > 0, json),
            (false, _, 0) => self.addressed_cells(json),
            (false, ..) => self.addressed_blocks(json),
        }
    }

    /// `[{"address":{"x":"0"},"value":1.0},…]`
    fn addressed_cells(&self, json: &mut JsonWriter) {
        json.begin_array();
        for (labels, cells) in self.tensor.subspaces() {
            for (offset, value) in cells.iter().enumerate() {
                json.begin_object();
                self.address(labels, Some(offset), json);
                json.key("value");
                self.cell(*value, json);
                json.end_object();
            }
        }
        json.end_array();
    }

    /// `[{"address":{"k":"a"},"values":[…]},…]`
    fn addressed_blocks(&self, json: &mut JsonWriter) {
        json.begin_array();
        for (labels, cells) in self.tensor.subspaces() {
            json.begin_object();
            self.address(labels, None, json);
            json.key("values");
            self.dense(cells, json);
            json.end_object();
        }
        json.end_array();
    }

    /// `{"a":1.0}` or `{"a":[…]}`
    fn labelled(&self, blocks: bool, json: &mut JsonWriter) {
        json.begin_object();
        for (labels, cells) in self.tensor.subspaces() {
            json.key(labels.first().map_or("", String::as_str));
            if blocks {
                self.dense(cells, json);
            } else {
                cells.iter().for_each(|value| self.cell(*value, json));
            }
        }
        json.end_object();
    }

    /// Writes the `address` member; with `offset` that of a cell, without that of a whole subspace.
    fn address(&self, labels: &[String], offset: Option<usize>, json: &mut JsonWriter) {
        let mut labels = labels.iter();
        let mut indexes = offset.map(|offset| indexes(&self.sizes, offset).into_iter());
        json.key("address");
        json.begin_object();
        for dimension in &self.tensor.tensor_type.dimensions {
            if dimension.is_mapped() {
                json.key(&dimension.name);
                json.string(labels.next().map_or("", String::as_str));
            } else if let Some(index) = indexes.as_mut().and_then(Iterator::next) {
                json.key(&dimension.name);
                json.string(&index.to_string());
            }
        }
        json.end_object();
    }

    fn dense(&self, cells: &[f64], json: &mut JsonWriter) {
        if self.format.is_hex() {
            let mut digits = String::new();
            print_hex(self.tensor.tensor_type.cell, cells, &mut digits);
            return json.string(&digits);
        }
        if self.sizes.is_empty() {
            return self.nested(&[1], cells, json);
        }
        self.nested(&self.sizes, cells, json);
    }

    fn nested(&self, sizes: &[usize], cells: &[f64], json: &mut JsonWriter) {
        let Some((_, inner)) = sizes.split_first() else {
            return cells.iter().for_each(|value| self.cell(*value, json));
        };
        json.begin_array();
        for part in cells.chunks(inner.iter().product::<usize>().max(1)) {
            self.nested(inner, part, json);
        }
        json.end_array();
    }

    /// One cell; what is no finite number is null.
    fn cell(&self, value: f64, json: &mut JsonWriter) {
        match self.tensor.tensor_type.cell {
            _ if !value.is_finite() => json.null(),
            CellType::Int8 => json.integer(value as i64),
            _ => json.double(value),
        }
    }
}
