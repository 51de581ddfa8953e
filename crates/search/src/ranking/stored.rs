//! Values of fields that no column holds: in streaming mode ranking can ask for every field. They are read from the stored
//! document.
use brooklet_document::{DataType, Value as DocumentValue};
use brooklet_rank::features::age::{Freshness, age};
use brooklet_rank::{FeatureName, Value, text_hash};
use brooklet_segment::layout::{ColumnKind, ColumnSpec};
use brooklet_segment::{Halt, read_document};

use super::bound::{AttributeFeature, FeatureOrigin, KeyOutput, Stored};
use super::spot::Spot;
use super::values::{Item, items};
use crate::plan::SchemaPlan;
use crate::resident::reads::Reads;

/// Where the value of `attribute(field…)` comes from.
pub(super) fn bind(name: &FeatureName, plan: &SchemaPlan) -> FeatureOrigin {
    let field = name.parameters.first().map_or("", String::as_str);
    let of = plan.schema.schema.field(field).map(|field| &field.data_type);
    let given = |number: f64| FeatureOrigin::Given(Value::Number(number));
    let (output, place) = (name.output.as_deref(), name.parameters.get(1));
    let asked = match (output, place, of) {
        (Some("count"), None, Some(DataType::Array(_) | DataType::WeightedSet { .. })) => AttributeFeature::Count,
        (Some("count"), None, _) => return given(1.0),
        (_, Some(key), Some(DataType::WeightedSet { .. })) if output != Some("count") => {
            AttributeFeature::Key(key.clone(), KeyOutput::named(output))
        }
        (Some(output), ..) if output != "value" => return given(0.0),
        (_, Some(index), Some(DataType::Array(_))) => AttributeFeature::Element(index.parse().unwrap_or(usize::MAX)),
        (_, Some(_), _) => return given(0.0),
        (_, None, Some(DataType::Array(_) | DataType::WeightedSet { .. } | DataType::Map(..))) => return given(0.0),
        (_, None, Some(DataType::String | DataType::Uri)) => AttributeFeature::Value(text_hash("")),
        (_, None, _) => AttributeFeature::Value(f64::NAN),
    };
    FeatureOrigin::Stored(Stored { field: field.to_owned(), asked })
}

/// Where the age of a field's time comes from; nothing if it is no number.
pub(super) fn bind_age(field: &str, plan: &SchemaPlan, now: i64) -> Option<FeatureOrigin> {
    is_number(field, plan)
        .then(|| FeatureOrigin::Stored(Stored { field: field.to_owned(), asked: AttributeFeature::Age { now } }))
}

/// Where the freshness of a field's time comes from; nothing if it is no number.
pub(super) fn bind_freshness(
    field: &str,
    plan: &SchemaPlan,
    now: i64,
    (freshness, logscale): (Freshness, bool),
) -> Option<FeatureOrigin> {
    let asked = AttributeFeature::Freshness { now, freshness, logscale };
    is_number(field, plan).then(|| FeatureOrigin::Stored(Stored { field: field.to_owned(), asked }))
}

fn is_number(field: &str, plan: &SchemaPlan) -> bool {
    use DataType::{Byte, Double, Float, Int, Long};
    let of = plan.schema.schema.field(field).map(|field| &field.data_type);
    matches!(of, Some(Byte | Int | Long | Float | Double))
}

/// Where the values of a field are.
pub(super) enum Values {
    Column(ColumnSpec),
    Stored(String),
}

impl Values {
    /// Those of a field.
    pub(super) fn from_field(plan: &SchemaPlan, field: &str) -> Values {
        value_column(plan, field).map_or_else(|| Values::Stored(field.to_owned()), Values::Column)
    }

    /// All values of a document, each with its weight (1 outside of weighted sets), in their order.
    pub(super) fn items(&self, spot: Spot<'_>, reads: &mut Reads) -> Result<Vec<(Item, i32)>, Halt> {
        let field = match self {
            Values::Column(spec) => return items(spec, spot, reads),
            Values::Stored(field) => field,
        };
        let segment = &spot.at().segment;
        let document =
            read_document(&segment.header, spot.ordinal, &|name| name == field, &mut reads.segment(segment))?;
        Ok(match document.field(field) {
            Some(DocumentValue::Array(elements)) => {
                elements.iter().filter_map(|element| Some((item(element)?, 1))).collect()
            }
            Some(DocumentValue::WeightedSet(entries)) => {
                entries.iter().filter_map(|(key, weight)| Some((item(key)?, *weight))).collect()
            }
            value => value.and_then(item).into_iter().map(|item| (item, 1)).collect(),
        })
    }
}

impl Stored {
    pub(super) fn number(&self, spot: Spot<'_>, reads: &mut Reads) -> Result<f64, Halt> {
        let segment = &spot.at().segment;
        let keep = |name: &str| name == self.field;
        let document = read_document(&segment.header, spot.ordinal, &keep, &mut reads.segment(segment))?;
        Ok(match (&self.asked, document.field(&self.field)) {
            (AttributeFeature::Age { now }, value) => age(*now, time(value)),
            (AttributeFeature::Freshness { now, freshness, logscale }, value) => {
                let seconds = age(*now, time(value));
                if *logscale { freshness.logscale(seconds) } else { freshness.linear(seconds) }
            }
            (AttributeFeature::Value(unset), None) => *unset,
            (AttributeFeature::Value(_), Some(value)) => number(value),
            (AttributeFeature::Count, Some(DocumentValue::Array(elements))) => elements.len() as f64,
            (AttributeFeature::Count, Some(DocumentValue::WeightedSet(entries))) => entries.len() as f64,
            (AttributeFeature::Element(index), Some(DocumentValue::Array(elements))) => {
                elements.get(*index).map_or(0.0, number)
            }
            (AttributeFeature::Key(key, output), Some(DocumentValue::WeightedSet(entries))) => {
                let found = entries.iter().find(|(known, _)| item(known).is_some_and(|known| known.label() == *key));
                found.map_or(0.0, |(known, weight)| match output {
                    KeyOutput::Value => number(known),
                    KeyOutput::Weight => f64::from(*weight),
                    KeyOutput::Contains => 1.0,
                })
            }
            _ => 0.0,
        })
    }
}

/// A value as a number: texts by their hash. The smallest long is not set, as in a column.
fn number(value: &DocumentValue) -> f64 {
    match value {
        DocumentValue::String(text) => text_hash(text),
        DocumentValue::Int(number) => f64::from(*number),
        DocumentValue::Long(number) if *number != i64::MIN => *number as f64,
        DocumentValue::Byte(number) => f64::from(*number),
        DocumentValue::Bool(flag) => f64::from(u8::from(*flag)),
        DocumentValue::Float(number) => f64::from(*number),
        DocumentValue::Double(number) => *number,
        _ => f64::NAN,
    }
}

/// A time in whole seconds; nothing if it is not set.
fn time(value: Option<&DocumentValue>) -> Option<i64> {
    let seconds = value.map_or(f64::NAN, number);
    (!seconds.is_nan()).then_some(seconds as i64)
}

/// A value as one of several.
fn item(value: &DocumentValue) -> Option<Item> {
    Some(match value {
        DocumentValue::String(text) => Item::Text(text.clone()),
        DocumentValue::Int(number) => Item::Integer(i64::from(*number)),
        DocumentValue::Long(number) => Item::Integer(*number),
        DocumentValue::Byte(number) => Item::Integer(i64::from(*number)),
        DocumentValue::Bool(flag) => Item::Integer(i64::from(*flag)),
        DocumentValue::Float(number) => Item::Float(f64::from(*number)),
        DocumentValue::Double(number) => Item::Float(*number),
        _ => return None,
    })
}

/// The column of a field's values; an attribute has one.
pub(crate) fn value_column(plan: &SchemaPlan, field: &str) -> Option<ColumnSpec> {
    let values = |kind: &ColumnKind| matches!(kind, ColumnKind::Numbers { .. } | ColumnKind::Strings { .. });
    plan.schema.column(field, values).cloned()
}
