//! The query's own features: `query(x)`, with the types and defaults of the rank profile.
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use brooklet_document::embedding::Embeddings;
use brooklet_document::json::read_query_tensor;
use brooklet_document::{Tensor, TensorType, parse_literal};
use brooklet_rank::{FeatureName, FeatureType, Value};
use brooklet_schema::InputType;
use brooklet_task::{Code, Rejection};

use crate::asked::embedded_inputs;
use crate::asked::properties::Properties;
use crate::deployed::DeployedProfile;
use crate::deployed::values::{tensor_value, value_of};

/// Values of `query(x)` by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    values: BTreeMap<String, Value>,
    /// Those that only stand for a declared input which nobody set: zero, or a tensor without cells of its own.
    unset: BTreeSet<String>,
    /// Texts of values that stand for other features, by the feature's name without spaces.
    overrides: BTreeMap<String, String>,
}

impl Inputs {
    /// Reads what the request gave (name → text as written) for a profile.
    pub(crate) fn bind(
        properties: &Properties,
        profile: &DeployedProfile,
        embeddings: &Embeddings,
    ) -> Result<Inputs, Rejection> {
        let mut inputs = Inputs::default();
        for input in &profile.profile.inputs {
            let value = match (&input.default, &input.input_type) {
                (Some(default), _) => value_of(default),
                (None, InputType::Tensor(of)) => Value::Tensor(Rc::new(Tensor::empty(of.clone()))),
                (None, InputType::Number) => Value::Number(0.0),
                (None, InputType::Text) => Value::Number(brooklet_rank::text_hash("")),
            };
            if input.default.is_none() {
                inputs.unset.insert(input.name.clone());
            }
            inputs.values.insert(input.name.clone(), value);
        }
        for (parameter, name, text) in properties.inputs() {
            let declared = profile.profile.input(name).map(|input| &input.input_type);
            if let (Some(InputType::Tensor(of)), Some(cells)) = (declared, text.cells())
                && let Some(tensor) = Tensor::of_floats(of, cells)
            {
                inputs.set(name.to_owned(), tensor_value(tensor));
                continue;
            }
            if let Some(InputType::Tensor(of)) = declared
                && let Some(made) = embedded_inputs::read(text, of, properties, embeddings)
            {
                let tensor = made.map_err(|refusal| refusal.within(&format!("query({})", Rejection::quote(name))))?;
                inputs.set(name.to_owned(), tensor_value(tensor));
                continue;
            }
            let value =
                read(text, declared).map_err(|reason| cannot_set(parameter, name, text, declared, profile, reason))?;
            inputs.set(name.to_owned(), value);
        }
        inputs.take_rank_properties(properties, profile)?;
        for (feature, text, given) in properties.overrides() {
            // Functions are part of the expressions that call them.
            if feature.starts_with("rankingExpression(")
                || ["firstPhase", "secondPhase", "globalPhase"].contains(&feature)
            {
                let message =
                    format!("'{}': only features can be given values, not functions", Rejection::quote(given));
                return Err(Rejection::new(Code::Unsupported, message));
            }
            inputs.overrides.insert(without_spaces(feature), text.trim().to_owned());
        }
        Ok(inputs)
    }

    /// The value that the request gives for a feature instead of what would be computed.
    ///
    /// # Errors
    /// If it is not of the feature's type.
    pub(crate) fn instead_of(&self, name: &FeatureName, of: &FeatureType) -> Result<Option<Value>, Rejection> {
        if self.overrides.is_empty() {
            return Ok(None);
        }
        let name = name.to_string();
        let Some(text) = self.overrides.get(&without_spaces(&name)) else { return Ok(None) };
        let refuse = |because: String| {
            let message = format!("Could not set 'ranking.features.{name}' to '{}': {because}", Rejection::quote(text));
            Rejection::new(Code::IllegalQuery, message)
        };
        match of {
            FeatureType::Tensor(of) => {
                let tensor = read_query_tensor(of, text).map_err(|rejection| refuse(rejection.message))?;
                Ok(Some(tensor_value(tensor)))
            }
            _ => number(text).map(|number| Some(Value::Number(number))).ok_or_else(|| refuse("it is no number".into())),
        }
    }

    /// `query(x)` reads the rank property x of the request, which goes before an input of that name. What belongs to
    /// another feature (`bm25(title).k1`) is no input.
    fn take_rank_properties(&mut self, properties: &Properties, profile: &DeployedProfile) -> Result<(), Rejection> {
        for (parameter, name, text) in properties.rank_properties() {
            if name.contains('(') {
                continue;
            }
            let declared = profile.profile.input(name).map(|input| &input.input_type);
            let value =
                read(text, declared).map_err(|reason| cannot_set(parameter, name, text, declared, profile, reason))?;
            self.set(name.to_owned(), value);
        }
        Ok(())
    }

    fn set(&mut self, name: String, value: Value) {
        self.unset.remove(&name);
        self.values.insert(name, value);
    }

    /// What an expression sees: what the request gave, the declared default, or nothing's value.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Whether the request or a declared default gave a value. Neighbours of a vector that nobody gave would be any
    /// documents at all.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.values.contains_key(name) && !self.unset.contains(name)
    }

    /// The dense values of a query tensor with exactly the dimension of a field.
    pub(crate) fn vector(&self, name: &str, field: &TensorType) -> Option<&[f64]> {
        let Some(Value::Tensor(tensor)) = self.value(name) else { return None };
        let same = tensor.tensor_type.dimensions.len() == 1 && tensor.tensor_type.indexed().eq(field.indexed());
        same.then_some(&tensor.cells[..])
    }
}

fn read(text: &str, declared: Option<&InputType>) -> Result<Value, Option<Rejection>> {
    let trimmed = text.trim();
    match declared {
        Some(InputType::Tensor(of)) => {
            let tensor = read_query_tensor(of, trimmed).map_err(Some)?;
            Ok(tensor_value(tensor))
        }
        Some(InputType::Text) => Ok(Value::Number(brooklet_rank::text_hash(trimmed.trim_matches(['"', '\''])))),
        Some(InputType::Number) => number(trimmed).map(Value::Number).ok_or(None),
        None => match number(trimmed) {
            Some(number) => Ok(Value::Number(number)),
            None if trimmed.starts_with("tensor") => {
                Ok(tensor_value(parse_literal(trimmed, None, Code::IllegalQuery).map_err(Some)?))
            }
            None => Ok(Value::Number(brooklet_rank::text_hash(trimmed.trim_matches(['"', '\''])))),
        },
    }
}

fn without_spaces(name: &str) -> String {
    name.chars().filter(|c| *c != ' ').collect()
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

fn cannot_set(
    parameter: &str,
    name: &str,
    text: &str,
    declared: Option<&InputType>,
    profile: &DeployedProfile,
    reason: Option<Rejection>,
) -> Rejection {
    let declared = match declared {
        Some(InputType::Tensor(of)) => of.to_string(),
        _ => "double".to_owned(),
    };
    let because = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    let value = Rejection::quote(text);
    let profile = &profile.profile.name;
    let shown = if parameter.starts_with("input.") { format!("input.query({name})") } else { parameter.to_owned() };
    Rejection::new(
        Code::IllegalQuery,
        format!(
            "Could not set '{shown}' to '{value}': This input is declared in rank profile '{profile}' as {declared}{because}"
        ),
    )
}
