//! `tensorFromLabels(source[,dimension])`, `tensorFromWeightedSet(source[,dimension])`,
//! `tensorFromLabelsWithOffset(source,labels,offsets)` and `tensorFromStructs(attribute(f),key…,value,cell type)`.
//!
//! The source is `attribute(field)`, or `query(name)`: then the property `NAME` of the request, written `[a,b]` or
//! `{a:1,b:2}`. Labels: a cell of 1 for each value of a string or integer attribute, single or array; the dimension is
//! called as the attribute unless said. Weighted set: the weights. With offset: labelled with the value and its index.
//! Structs: up to three fields of an array of structs as labels, one as cell; elements that lack one are left out.
//! Cells are double but for the last, which says. Of equal labels the last counts.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::{CellType, DataType, Dimension, Tensor, TensorType, Value};
use brooklet_rank::{FeatureName, FeatureType};
use brooklet_schema::Schema;
use brooklet_segment::{Halt, read_document};
use brooklet_task::Rejection;

use super::super::stored::Values;
use super::feature::{Document, DocumentFeature, attribute_type, refuse, takes};
use crate::plan::SchemaPlan;

/// What a feature is made of, checked.
struct Made {
    source: Source,
    /// Names of dimensions in the order of the labels that are made.
    dimensions: Vec<String>,
    of: Arc<TensorType>,
}

enum Source {
    Attribute(String),
    Query(String),
}

pub(super) fn feature_type(feature: &FeatureName, schema: &Schema) -> Result<FeatureType, Rejection> {
    let made = made(feature)?;
    let Source::Attribute(name) = &made.source else { return Ok(FeatureType::Tensor(made.of)) };
    let data_type = attribute_type(feature, name, schema)?;
    let is_label = |of: &DataType| {
        matches!(of, DataType::String | DataType::Byte | DataType::Int | DataType::Long | DataType::Bool)
    };
    let fits = match (feature.name.as_str(), data_type) {
        ("tensorFromWeightedSet", DataType::WeightedSet { .. }) => is_label(data_type.element()),
        ("tensorFromStructs", DataType::Array(of)) => return structs(feature, of, made),
        ("tensorFromWeightedSet" | "tensorFromStructs", _) | (_, DataType::WeightedSet { .. }) => false,
        _ => is_label(data_type.element()),
    };
    match fits {
        true => Ok(FeatureType::Tensor(made.of)),
        false => Err(refuse(feature, &format!("cannot be made of a field of type {data_type}"))),
    }
}

/// Checks that the structs have the fields.
fn structs(feature: &FeatureName, of: &DataType, made: Made) -> Result<FeatureType, Rejection> {
    let DataType::Struct(of) = of else { return Err(refuse(feature, "needs an array of structs")) };
    let keys = feature.parameters.len() - 2;
    for name in &feature.parameters[1..=keys] {
        if !of.fields.iter().any(|field| field.name == *name) {
            return Err(refuse(
                feature,
                &format!("names '{}', which struct '{}' does not have", Rejection::quote(name), of.name),
            ));
        }
    }
    Ok(FeatureType::Tensor(made.of))
}

/// Reads the parameters.
fn made(feature: &FeatureName) -> Result<Made, Rejection> {
    let (least, most) = match feature.name.as_str() {
        "tensorFromStructs" => (4, 6),
        "tensorFromLabelsWithOffset" => (3, 3),
        _ => (1, 2),
    };
    takes(feature, least, most)?;
    let inside = |name: &str| feature.parameters[0].strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    let source = match (inside("attribute"), inside("query")) {
        (Some(name), _) => Source::Attribute(name.trim().to_owned()),
        (_, Some(name)) if feature.name != "tensorFromStructs" => Source::Query(name.trim().to_owned()),
        _ => return Err(refuse(feature, "takes attribute(name) or query(name) first")),
    };
    let parameters = &feature.parameters;
    let (dimensions, cell) = match (feature.name.as_str(), &source) {
        ("tensorFromStructs", _) => {
            let cell = CellType::from_name(&parameters[parameters.len() - 1]);
            (
                parameters[1..parameters.len() - 2].to_vec(),
                cell.ok_or_else(|| refuse(feature, "takes a cell type last"))?,
            )
        }
        (_, Source::Attribute(name) | Source::Query(name)) if parameters.len() == 1 => {
            (vec![name.clone()], CellType::Double)
        }
        _ => (parameters[1..].to_vec(), CellType::Double),
    };
    let mapped = dimensions.iter().map(|name| Dimension { name: name.clone(), size: None }).collect();
    let of = TensorType::new(cell, mapped);
    match TensorType::parse(&of.to_string()) {
        Ok(parsed) if parsed == of => Ok(Made { source, dimensions, of: Arc::new(of) }),
        _ => Err(refuse(feature, "has names of dimensions that are none, or the same")),
    }
}

#[inline(never)]
pub(super) fn bind(feature: &FeatureName, plan: &SchemaPlan) -> Result<Box<dyn DocumentFeature>, Rejection> {
    let made = made(feature)?;
    if feature.name == "tensorFromStructs" {
        let Source::Attribute(field) = made.source else { return Err(refuse(feature, "takes attribute(name)")) };
        let value = feature.parameters[feature.parameters.len() - 2].clone();
        return Ok(Box::new(FromStructs { field, keys: made.dimensions, value, of: made.of }));
    }
    let with_offset = feature.name == "tensorFromLabelsWithOffset";
    let weighted = feature.name == "tensorFromWeightedSet";
    Ok(match made.source {
        Source::Attribute(field) => Box::new(FromValues {
            values: Values::from_field(plan, &field),
            dimensions: made.dimensions,
            of: made.of,
            weighted,
            with_offset,
        }),
        Source::Query(name) => {
            let text = plan.rank_properties.values(&name).first().map_or("", |text| text.trim());
            let cells = write_labels(text, weighted).into_iter().enumerate().map(|(index, (label, cell))| {
                (if with_offset { vec![label, index.to_string()] } else { vec![label] }, cell)
            });
            Box::new(GivenTensor(tensor(&made.of, &made.dimensions, cells.collect())))
        }
    })
}

/// The labels of a text `[a,b]` or `{a:1}`, and their cells.
fn write_labels(text: &str, weighted: bool) -> Vec<(String, f64)> {
    let inside = text.trim_matches(['[', ']', '(', ')', '{', '}']);
    let parts = inside.split(',').map(str::trim).filter(|part| !part.is_empty());
    let entries = parts.filter_map(|part| match weighted {
        true => part.rsplit_once(':').and_then(|(key, value)| Some((key.trim(), value.trim().parse().ok()?))),
        false => Some((part, 1.0)),
    });
    entries.map(|(label, cell)| (label.trim_matches(['"', '\'']).to_owned(), cell)).collect()
}

/// A tensor of cells whose labels are in the order of `dimensions`; of equal addresses the last counts.
fn tensor(of: &Arc<TensorType>, dimensions: &[String], cells: Vec<(Vec<String>, f64)>) -> Tensor {
    let mut sorted: BTreeMap<Vec<String>, f64> = BTreeMap::new();
    for (labels, cell) in cells {
        let place = |dimension: &Dimension| dimensions.iter().position(|name| *name == dimension.name).unwrap_or(0);
        let address = of.dimensions.iter().map(|dimension| labels[place(dimension)].clone()).collect();
        sorted.insert(address, of.cell.round(cell));
    }
    let (addresses, cells) = sorted.into_iter().unzip();
    Tensor { tensor_type: of.clone(), addresses, cells }
}

/// The tensor the request gave.
struct GivenTensor(Tensor);

impl DocumentFeature for GivenTensor {
    fn tensor(&self, _document: &mut Document<'_>) -> Result<Option<Tensor>, Halt> {
        Ok(Some(self.0.clone()))
    }
}

struct FromValues {
    values: Values,
    dimensions: Vec<String>,
    of: Arc<TensorType>,
    weighted: bool,
    with_offset: bool,
}

impl DocumentFeature for FromValues {
    fn tensor(&self, document: &mut Document<'_>) -> Result<Option<Tensor>, Halt> {
        let items = self.values.items(document.spot, document.reads)?;
        let cells = items.iter().enumerate().map(|(index, (item, weight))| {
            let labels = if self.with_offset { vec![item.label(), index.to_string()] } else { vec![item.label()] };
            (labels, if self.weighted { f64::from(*weight) } else { 1.0 })
        });
        Ok(Some(tensor(&self.of, &self.dimensions, cells.collect())))
    }
}

struct FromStructs {
    field: String,
    keys: Vec<String>,
    value: String,
    of: Arc<TensorType>,
}

impl DocumentFeature for FromStructs {
    fn tensor(&self, document: &mut Document<'_>) -> Result<Option<Tensor>, Halt> {
        let segment = &document.spot.at().segment;
        let keep = |name: &str| name == self.field;
        let read = read_document(&segment.header, document.spot.ordinal, &keep, &mut document.reads.segment(segment))?;
        let Some(Value::Array(elements)) = read.field(&self.field) else { return Ok(None) };
        let cells = elements.iter().filter_map(|element| {
            let Value::Struct(fields) = element else { return None };
            let value = |name: &String| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value);
            let labels = self.keys.iter().map(|key| label(value(key)?)).collect::<Option<Vec<String>>>()?;
            Some((labels, number(value(&self.value)?)?))
        });
        Ok(Some(tensor(&self.of, &self.keys, cells.collect())))
    }
}

fn label(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        Value::Long(number) => Some(number.to_string()),
        Value::Byte(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(u8::from(*flag).to_string()),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(f64::from(*number)),
        Value::Long(number) => Some(*number as f64),
        Value::Byte(number) => Some(f64::from(*number)),
        Value::Float(number) => Some(f64::from(*number)),
        Value::Double(number) => Some(*number),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        _ => None,
    }
}
