//! Boost tables of the native rank features: a function of a whole number, sampled once.
//!
//! expdecay(w,t) = w·e^(−x/t); loggrowth(w,t,s) = w·ln(1 + x/s) + t; linear(w,t) = w·x + t; for x from 0 to 255, or as
//! many as one more argument says. Beyond the last x the last value holds.

use super::properties::{Properties, parse_number};
use crate::features::environment::FeatureEnvironment;
use crate::features::properties::refuse;
use crate::match_data::FieldInfo;
use brooklet_task::Rejection;

const SIZE: usize = 256;
const SIZE_MAX: usize = 65_536;

/// A sampled function.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    values: Vec<f64>,
    max: f64,
}

impl Table {
    /// The table described by `text`.
    pub fn parse(text: &str) -> Result<Table, Rejection> {
        let wrong = || refuse(format!("'{}' is not a table such as expdecay(8000,12.5)", Rejection::quote(text)));
        let (function, rest) = text.trim().split_once('(').ok_or_else(wrong)?;
        let arguments = rest.strip_suffix(')').ok_or_else(wrong)?;
        let arguments: Option<Vec<f64>> = arguments.split(',').map(|argument| parse_number(argument.trim())).collect();
        let arguments = arguments.ok_or_else(wrong)?;
        let values: Vec<f64> = match (function.trim(), arguments.as_slice()) {
            ("expdecay", [w, t, size @ ..]) => sample(size, |x| w * libm::exp(-(x / t))),
            ("loggrowth", [w, t, s, size @ ..]) => sample(size, |x| w * libm::log(1.0 + x / s) + t),
            ("linear", [w, t, size @ ..]) => sample(size, |x| w * x + t),
            _ => None,
        }
        .ok_or_else(wrong)?;
        if values.iter().any(|value| !value.is_finite()) {
            return Err(refuse(format!("the table '{}' has values that are not finite", Rejection::quote(text))));
        }
        let max = values.iter().copied().fold(f64::MIN, f64::max);
        Ok(Table { values, max })
    }

    /// The value at `x`.
    pub fn get(&self, x: u64) -> f64 {
        let index = usize::try_from(x).unwrap_or(usize::MAX).min(self.values.len() - 1);
        self.values[index]
    }

    /// The value for the part `numerator`/`denominator` of the table's range.
    pub fn get_part(&self, numerator: u64, denominator: u64) -> f64 {
        let last = self.values.len() as u64 - 1;
        self.get((numerator * last).checked_div(denominator).unwrap_or(0))
    }

    /// The largest value.
    pub fn max(&self) -> f64 {
        self.max
    }
}

fn sample(size: &[f64], function: impl Fn(f64) -> f64) -> Option<Vec<f64>> {
    let size = match size {
        [] => SIZE,
        [size] if (1.0..=SIZE_MAX as f64).contains(size) && size.fract() == 0.0 => *size as usize,
        _ => return None,
    };
    Some((0..size).map(|x| function(x as f64)).collect())
}

/// The properties of a native rank feature for one field, the most specific first: `feature.name.field`,
/// `feature(field).name`, `feature.name`.
pub struct FieldProperties<'e> {
    field: &'e FieldInfo,
    feature: &'static str,
    general: Properties<'e>,
    of_field: Properties<'e>,
}

impl<'e> FieldProperties<'e> {
    /// The properties of `feature` for `field`.
    pub fn new(
        environment: &FeatureEnvironment<'e>,
        feature: &'static str,
        field: &'e FieldInfo,
    ) -> FieldProperties<'e> {
        FieldProperties {
            field,
            feature,
            general: Properties::new(environment, feature.to_owned()),
            of_field: Properties::new(environment, format!("{feature}({})", field.name)),
        }
    }

    /// The text of the most specific property.
    pub fn text(&self, name: &str) -> Option<&'e str> {
        let qualified = format!("{name}.{}", self.field.name);
        self.general.text(&qualified).or_else(|| self.of_field.text(name)).or_else(|| self.general.text(name))
    }

    /// The number of the most specific property.
    pub fn number(&self, name: &str) -> Result<Option<f64>, Rejection> {
        self.parse(name, self.text(name))
    }

    /// The number of a property that only a single field can have: here `feature(field).name` comes first.
    pub fn own_number(&self, name: &str) -> Result<Option<f64>, Rejection> {
        let qualified = format!("{name}.{}", self.field.name);
        self.parse(name, self.of_field.text(name).or_else(|| self.general.text(&qualified)))
    }

    fn parse(&self, name: &str, text: Option<&str>) -> Result<Option<f64>, Rejection> {
        let Some(text) = text else { return Ok(None) };
        let message = || {
            let text = Rejection::quote(text);
            refuse(format!(
                "rank property '{}.{name}' of field '{}' must be a number, but is '{text}'",
                self.feature, self.field.name
            ))
        };
        parse_number(text).map(Some).ok_or_else(message)
    }

    /// The table of the most specific property, or else the one of the field's rank type.
    pub fn table(&self, name: &str) -> Result<Table, Rejection> {
        match self.text(name) {
            Some(text) => Table::parse(text),
            None => Table::parse(rank_type_table(&self.field.rank_type, name)?),
        }
    }
}

/// What a rank type means for a feature's table.
fn rank_type_table(rank_type: &str, table: &str) -> Result<&'static str, Rejection> {
    Ok(match (rank_type, table) {
        ("empty", _) => "linear(0,0)",
        ("identity", "firstOccurrenceTable") => "expdecay(100,12.50)",
        ("identity", "proximityTable") => "expdecay(5000,3)",
        ("identity", "reverseProximityTable") => "expdecay(3000,3)",
        ("tags", "weightTable") => "loggrowth(38,50,1)",
        ("about" | "tags", "firstOccurrenceTable") => "expdecay(8000,12.50)",
        ("about" | "tags" | "identity", "occurrenceCountTable") => "loggrowth(1500,4000,19)",
        ("about" | "tags", "proximityTable") => "expdecay(500,3)",
        ("about" | "tags", "reverseProximityTable") => "expdecay(400,3)",
        ("about" | "identity", "weightTable") => "linear(1,0)",
        _ => return Err(refuse(format!("unknown rank type '{}'", Rejection::quote(rank_type)))),
    })
}

/// What the weighted sums of two tables are divided by so that they end at 1: their largest, or 1 if that is 0 or
/// `nativeRank.useTableNormalization` is `false`.
pub fn normalizer(environment: &FeatureEnvironment<'_>, largest: f64) -> Result<f64, Rejection> {
    Ok(if !is_normalized(environment)? || largest == 0.0 { 1.0 } else { largest })
}

/// Whether tables are normalized.
pub fn is_normalized(environment: &FeatureEnvironment<'_>) -> Result<bool, Rejection> {
    Properties::new(environment, "nativeRank".to_owned()).flag("useTableNormalization", true)
}

/// A field's weight as the native features count it.
pub fn field_weight(field: &FieldInfo) -> f64 {
    f64::from(field.weight.max(0))
}
