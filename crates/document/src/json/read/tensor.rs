//! Reads tensors from JSON in all their forms: `values`, `cells`, `blocks`, or the value itself.
//!
//! Documents and queries are read by two decoders in the reference implementation, which differ in little: see
//! [`TensorSource`]. Which form an object has is told by its keys, in any order; two forms together are refused.
use std::sync::Arc;

use brooklet_task::limits::{QUERY_TENSOR_CELLS, TENSOR_CELLS};
use brooklet_task::{Code, Rejection};

use super::refusal::{check_key, refusal};
use crate::json::{JsonKind, Lexer, UniqueNames};
use crate::tensor::{GivenCell, Labels, parse_hex};
use crate::{Tensor, TensorBuilder, TensorType, parse_cell, parse_literal};

type Reads<T> = Result<T, Rejection>;

/// Where a tensor comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorSource {
    /// A document: `{}` is a dense tensor of zeros, labels may be numbers, and null is no cell.
    Document,
    /// A query input or constant: a dense tensor needs values, labels are strings, and null is NaN.
    Query,
}

/// Reads a tensor of the given type; the lexer stands before its value.
///
/// # Errors
/// If the JSON is broken (with its place), or no tensor of the type (without).
pub fn read_tensor(tensor_type: &Arc<TensorType>, json: &mut Lexer, source: TensorSource) -> Reads<Tensor> {
    let (limit, code) = match source {
        TensorSource::Document => (TENSOR_CELLS, Code::InvalidDocument),
        TensorSource::Query => (QUERY_TENSOR_CELLS, Code::InvalidQueryParameter),
    };
    if tensor_type.checked_dense_size().is_none_or(|size| size > limit) {
        return Err(Rejection::new(code, format!("{tensor_type} has more cells than the limit of {limit}")));
    }
    let builder = TensorBuilder::new(tensor_type.clone(), code).at_most(limit);
    let has_mapped = tensor_type.mapped().next().is_some();
    let has_indexed = tensor_type.indexed().next().is_some();
    let mut reader = TensorReader { builder, source, has_mapped, has_indexed };
    reader.tensor(json).map_err(|mut error| {
        if error.span.is_none() {
            error.code = code;
        }
        error
    })?;
    reader.builder.finish()
}

/// Reads a tensor given with a query as text: as JSON if it is JSON, and in the text form (or hexadecimal digits) if not.
/// What is both, such as `[1,2,3]` and `{"a":1}`, means the same in both.
///
/// # Errors
/// If the text is no tensor of the type.
pub fn read_query_tensor(tensor_type: &Arc<TensorType>, text: &str) -> Reads<Tensor> {
    let code = Code::InvalidQueryParameter;
    let json = Lexer::new(text, code);
    let is_json = || {
        let mut ahead = json.clone();
        ahead.skip_value().and_then(|_| ahead.end()).is_ok()
    };
    if text.trim_start().starts_with(['{', '[']) && is_json() {
        return read_tensor(tensor_type, &mut json.clone(), TensorSource::Query);
    }
    parse_literal(text, Some(tensor_type), code)
}

/// Reads the operands of a modify update, `form` being the member they stand in: cells one by one, or blocks.
///
/// # Errors
/// As [`read_tensor`].
pub(super) fn read_given_cells(tensor_type: &Arc<TensorType>, form: &str, json: &mut Lexer) -> Reads<Vec<GivenCell>> {
    let mut reader = TensorReader::of_document(tensor_type)?;
    if form == "blocks" {
        reader.blocks(json)?
    } else {
        reader.cells(json)?
    }
    reader.builder.given_cells()
}

/// Reads `{"addresses":[{"x":"a"},…]}` with labels of mapped dimensions; a dimension that is not named matches all.
///
/// # Errors
/// If there is something else, or a dimension that is not mapped.
#[inline(never)]
pub(super) fn read_addresses(tensor_type: &Arc<TensorType>, json: &mut Lexer) -> Reads<Vec<Vec<Option<String>>>> {
    let reader = TensorReader::of_document(tensor_type)?;
    expect(JsonKind::Object, "an object with 'addresses'", json)?;
    json.begin_object()?;
    let mut addresses = Vec::new();
    let mut seen = UniqueNames::default();
    while let Some(key) = json.next_key()? {
        check_key(&mut seen, &key)?;
        if &*key != "addresses" {
            return Err(refusal(&format!("Unknown JSON string '{}' in a remove update", Rejection::quote(&key))));
        }
        expect(JsonKind::Array, "'addresses' to contain an array", json)?;
        json.begin_array()?;
        while json.next_element()? {
            if addresses.len() == TENSOR_CELLS {
                return Err(refusal(&format!("More addresses than the limit of {TENSOR_CELLS}")));
            }
            let labels = reader.address(json)?;
            let mut address = Vec::new();
            for (dimension, label) in tensor_type.dimensions.iter().zip(labels) {
                if dimension.is_mapped() {
                    address.push(label);
                } else if label.is_some() {
                    let message = format!(
                        "Indexed dimension address '{}' should not be specified in remove update",
                        dimension.name
                    );
                    return Err(refusal(&message));
                }
            }
            if address.iter().all(Option::is_none) {
                return Err(refusal("An address of a remove update names no dimension"));
            }
            addresses.push(address);
        }
    }
    Ok(addresses)
}

struct TensorReader {
    builder: TensorBuilder,
    source: TensorSource,
    has_mapped: bool,
    has_indexed: bool,
}

/// The forms an object can have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Cells,
    Values,
    Blocks,
    Direct,
}

impl TensorReader {
    fn of_document(tensor_type: &Arc<TensorType>) -> Reads<TensorReader> {
        let code = Code::InvalidDocument;
        if tensor_type.checked_dense_size().is_none_or(|size| size > TENSOR_CELLS) {
            let message = format!("{tensor_type} has more cells than the limit of {TENSOR_CELLS}");
            return Err(Rejection::new(code, message));
        }
        let builder = TensorBuilder::new(tensor_type.clone(), code).at_most(TENSOR_CELLS);
        let has_mapped = tensor_type.mapped().next().is_some();
        let has_indexed = tensor_type.indexed().next().is_some();
        Ok(TensorReader { builder, source: TensorSource::Document, has_mapped, has_indexed })
    }

    #[inline(never)]
    fn tensor(&mut self, json: &mut Lexer) -> Reads<()> {
        match json.kind()? {
            JsonKind::Object => self.object(json),
            JsonKind::Array if has_objects(json)? => self.cells(json),
            JsonKind::Array if self.has_mapped && self.has_indexed => self.blocks(json),
            JsonKind::Array if self.has_mapped => self.cells(json),
            JsonKind::Array | JsonKind::String if !self.has_mapped => self.values(json),
            other => Err(refusal(&format!("Expected an object or an array, but got {}", other.noun()))),
        }
    }

    #[inline(never)]
    fn object(&mut self, json: &mut Lexer) -> Reads<()> {
        json.begin_object()?;
        let mut seen = UniqueNames::default();
        let mut form = None;
        while let Some(key) = json.next_key()? {
            let here = match &*key {
                "type" if json.kind()? == JsonKind::String => {
                    check_key(&mut seen, &key)?;
                    json.string()?;
                    continue;
                }
                // After a label all else are labels, whatever they say.
                _ if form == Some(Form::Direct) => Form::Direct,
                "cells" if !is_primitive(json)? => Form::Cells,
                "values" if !self.has_mapped => Form::Values,
                "blocks" if self.has_indexed || !is_primitive(json)? => Form::Blocks,
                _ => Form::Direct,
            };
            if form.is_some_and(|form| form != here) || (form == Some(here) && here != Form::Direct) {
                return Err(refusal("A tensor has only one of 'cells', 'values', 'blocks' and direct values"));
            }
            form = Some(here);
            match here {
                Form::Cells => self.cells(json)?,
                Form::Values => self.values(json)?,
                Form::Blocks => self.blocks(json)?,
                Form::Direct => self.read_labelled(key.into_owned(), json)?,
            }
        }
        if form.is_none() && !self.has_mapped && self.source == TensorSource::Query {
            return Err(refusal("Expected values to be an array, not an object"));
        }
        Ok(())
    }

    /// `[{"address":…,"value":…},…]` or `{"a":1,…}`
    fn cells(&mut self, json: &mut Lexer) -> Reads<()> {
        if json.kind()? == JsonKind::Object {
            json.begin_object()?;
            while let Some(label) = json.next_key()? {
                let address = self.single_label(label.into_owned())?;
                let value = self.number(json)?;
                self.builder.cell(address, value)?;
            }
            return Ok(());
        }
        expect(JsonKind::Array, "'cells' to contain an array or an object", json)?;
        json.begin_array()?;
        while json.next_element()? {
            expect(JsonKind::Object, "the cells of a tensor to be objects", json)?;
            let (address, value) = self.read_address("value", json, |reader, json| reader.number(json))?;
            let missing = |field| format!("Expected an object in a tensor 'cells' array to contain {field} field");
            let address = address.ok_or_else(|| refusal(&missing("an 'address'")))?;
            let value = value.ok_or_else(|| refusal(&missing("a 'value'")))?;
            self.builder.cell(address, value)?;
        }
        Ok(())
    }

    /// `[{"address":…,"values":[…]},…]` or `{"a":[…],…}`
    fn blocks(&mut self, json: &mut Lexer) -> Reads<()> {
        if !(self.has_mapped && self.has_indexed) {
            return Err(refusal(
                "Blocks of values can only be used with mixed (sparse and dense) tensors. \
                 Use an array of cell values instead.",
            ));
        }
        if json.kind()? == JsonKind::Object {
            json.begin_object()?;
            while let Some(label) = json.next_key()? {
                self.read_labelled(label.into_owned(), json)?;
            }
            return Ok(());
        }
        expect(JsonKind::Array, "'blocks' to contain an array or an object", json)?;
        json.begin_array()?;
        while json.next_element()? {
            expect(JsonKind::Object, "an item in a blocks array to be an object", json)?;
            let (address, cells) = self.read_address("values", json, |reader, json| reader.dense(json))?;
            let missing = |field| format!("Expected a block of a tensor to contain {field} field");
            let address = address.ok_or_else(|| refusal(&missing("an 'address'")))?;
            let cells = cells.ok_or_else(|| refusal(&missing("a 'values'")))?;
            let address = self.mapped_only(address)?;
            self.builder.block(address, cells)?;
        }
        Ok(())
    }

    fn values(&mut self, json: &mut Lexer) -> Reads<()> {
        let cells = self.dense(json)?;
        self.builder.block(Vec::new(), cells)
    }

    /// A value under a single label: a number, or a dense subspace for a type that also has indexed dimensions.
    fn read_labelled(&mut self, label: String, json: &mut Lexer) -> Reads<()> {
        if self.has_mapped && self.has_indexed {
            if self.builder.tensor_type().mapped().count() != 1 {
                return Err(self.several_dimensions());
            }
            let cells = self.dense(json)?;
            return self.builder.block(vec![label], cells);
        }
        let address = self.single_label(label)?;
        let value = self.number(json)?;
        self.builder.cell(address, value)
    }

    fn single_label(&self, label: String) -> Reads<Labels> {
        if self.builder.tensor_type().dimensions.len() == 1 {
            Ok(vec![Some(label)])
        } else {
            Err(self.several_dimensions())
        }
    }

    fn several_dimensions(&self) -> Rejection {
        refusal(&format!("Expected a tensor with a single dimension but got {}", self.builder.tensor_type()))
    }

    /// An object with `address` and another member, in any order.
    #[inline(never)]
    fn read_address<T>(
        &self,
        member: &str,
        json: &mut Lexer,
        read: impl Fn(&TensorReader, &mut Lexer) -> Reads<T>,
    ) -> Reads<(Option<Labels>, Option<T>)> {
        json.begin_object()?;
        let (mut address, mut value) = (None, None);
        let mut seen = UniqueNames::default();
        while let Some(key) = json.next_key()? {
            check_key(&mut seen, &key)?;
            match &*key {
                "address" => address = Some(self.address(json)?),
                key if key == member => value = Some(read(self, json)?),
                _ => drop(json.skip_value()?),
            }
        }
        Ok((address, value))
    }

    fn address(&self, json: &mut Lexer) -> Reads<Labels> {
        expect(JsonKind::Object, "an 'address' object", json)?;
        let tensor_type = self.builder.tensor_type();
        let mut labels: Labels = vec![None; tensor_type.dimensions.len()];
        json.begin_object()?;
        while let Some(name) = json.next_key()? {
            let place = tensor_type.dimensions.iter().position(|dimension| dimension.name == *name);
            let unknown =
                || refusal(&format!("{tensor_type} does not contain dimension '{}'", Rejection::quote(&name)));
            let place = place.ok_or_else(unknown)?;
            let kind = json.kind()?;
            // Of a document every scalar is read by its text, also `true` and `null`.
            if !(kind == JsonKind::String || (kind.is_scalar() && self.source == TensorSource::Document)) {
                return Err(refusal(&format!(
                    "Expected a label of dimension '{name}' to be a string, not {}",
                    kind.noun()
                )));
            }
            if labels[place].replace(json.scalar_text()?.into_owned()).is_some() {
                return Err(refusal(&format!("Duplicate key '{name}'")));
            }
        }
        Ok(labels)
    }

    /// The labels of a block's address, which names mapped dimensions only.
    fn mapped_only(&self, labels: Labels) -> Reads<Vec<String>> {
        let tensor_type = self.builder.tensor_type();
        let mut address = Vec::new();
        for (dimension, label) in tensor_type.dimensions.iter().zip(labels) {
            match (dimension.is_mapped(), label) {
                (true, Some(label)) => address.push(label),
                (false, None) => {}
                (true, None) => {
                    let message = format!("Missing a label for dimension '{}' for {tensor_type}", dimension.name);
                    return Err(refusal(&message));
                }
                (false, Some(_)) => {
                    let message = format!("The address of a block has no label for dimension '{}'", dimension.name);
                    return Err(refusal(&message));
                }
            }
        }
        Ok(address)
    }

    /// The cells of one dense subspace: an array, nested or not, or hexadecimal digits.
    fn dense(&self, json: &mut Lexer) -> Reads<Vec<f64>> {
        match json.kind()? {
            JsonKind::String => parse_hex(&json.string()?, &self.builder),
            JsonKind::Array => {
                let mut cells = Vec::with_capacity(self.builder.dense_size());
                self.read_nested(json, &mut cells)?;
                if cells.is_empty() {
                    return Err(refusal("The 'values' array does not contain any values"));
                }
                Ok(cells)
            }
            other => Err(refusal(&format!("Expected values to be an array, not {}", other.noun()))),
        }
    }

    fn read_nested(&self, json: &mut Lexer, cells: &mut Vec<f64>) -> Reads<()> {
        json.begin_array()?;
        loop {
            json.plain_numbers(self.builder.dense_size() - cells.len(), cells);
            if !json.next_element()? {
                break;
            }
            match json.kind()? {
                JsonKind::Number => cells.push(json.double()?),
                JsonKind::Array => self.read_nested(json, cells)?,
                _ => cells.push(self.number(json)?),
            }
            if cells.len() > self.builder.dense_size() {
                let expected = self.builder.dense_size();
                let more = self.builder.tensor_type();
                return Err(refusal(&format!("Expected {expected} values, but got more in a tensor of type {more}")));
            }
        }
        Ok(())
    }

    /// One cell: a number, or a string with one.
    fn number(&self, json: &mut Lexer) -> Reads<f64> {
        match json.kind()? {
            JsonKind::Number => json.double(),
            JsonKind::String => {
                let text = json.string()?;
                parse_cell(&text).ok_or_else(|| refusal(&format!("For input string: \"{}\"", Rejection::quote(&text))))
            }
            JsonKind::Null if self.source == TensorSource::Query => json.null().map(|()| f64::NAN),
            other => Err(refusal(&format!("Expected a number but got {}", other.noun()))),
        }
    }
}

fn expect(kind: JsonKind, what: &str, json: &mut Lexer) -> Reads<()> {
    match json.kind()? {
        found if found == kind => Ok(()),
        found => Err(refusal(&format!("Expected {what}, not {}", found.noun()))),
    }
}

/// Whether the array ahead begins with an object.
fn has_objects(json: &Lexer) -> Reads<bool> {
    let mut ahead = json.clone();
    ahead.begin_array()?;
    Ok(ahead.next_element()? && ahead.kind()? == JsonKind::Object)
}

/// Whether the value ahead is a cell or begins with one: then `cells` is a label, not the form of that name.
fn is_primitive(json: &Lexer) -> Reads<bool> {
    let mut ahead = json.clone();
    match ahead.kind()? {
        JsonKind::Number | JsonKind::String => Ok(true),
        JsonKind::Array => {
            ahead.begin_array()?;
            Ok(ahead.next_element()? && matches!(ahead.kind()?, JsonKind::Number | JsonKind::String))
        }
        _ => Ok(false),
    }
}
