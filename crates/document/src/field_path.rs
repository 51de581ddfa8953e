//! Paths to a part of a document: `people[0].name`, `props{color}`, `weights.key`.
//!
//! Selections and updates write them differently but mean the same; here a path is resolved against the type of its
//! field, so that whoever walks it never meets a step that does not fit.
use brooklet_task::{Code, Rejection, nearest_name};

use crate::json::{FieldTypes, value_from_text};
use crate::{DataType, Value};

/// A step as written, before types are known.
#[derive(Clone, Debug, PartialEq)]
pub enum WrittenStep {
    /// `.name`
    Name(String),
    /// `[3]`
    Index(usize),
    /// `[$x]`
    IndexVariable(String),
    /// `{key}` or `{"key"}`, without quotes and escapes.
    Key(String),
    /// `{$x}`
    KeyVariable(String),
}

/// A step that fits the type it is taken from.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A member of a struct; of a position `x` or `y`.
    Member(String),
    /// An element of an array.
    Index(usize),
    /// Every element of an array, the variable standing for its index.
    EachIndex(String),
    /// The value of a key of a map, or the weight of a key of a weighted set.
    Key(Value),
    /// Every value of a map or weight of a weighted set, the variable standing for its key.
    EachKey(String),
    /// Every key of a map or weighted set.
    Keys,
    /// Every value of a map or weight of a weighted set.
    Values,
    /// Every element of an array, without a variable: `people.name`.
    Elements,
}

/// A path that fits its document type.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldPath {
    /// The field.
    pub field: String,
    /// Its type.
    pub field_type: DataType,
    /// The steps from its value.
    pub steps: Vec<Step>,
    /// The type of what the path leads to.
    pub data_type: DataType,
}

/// Steps a path may have: types nest less deeply, but iteration over arrays adds steps of its own.
const STEPS: usize = 64;

impl FieldPath {
    /// Fits the steps to the type of the field.
    ///
    /// # Errors
    /// If there is no such field, or a step leads nowhere; with `code`.
    pub fn resolve(
        field: &str,
        written: &[WrittenStep],
        types: &dyn FieldTypes,
        document_type: &str,
        code: Code,
    ) -> Result<FieldPath, Rejection> {
        let refused = |message: String| Rejection::new(code, message);
        let data_type = types.data_type(field).ok_or_else(|| {
            let hint = hint(field, types.names());
            let field = Rejection::quote(field);
            refused(format!("Field '{field}' not found in document type '{document_type}'{hint}"))
        })?;
        if written.len() > STEPS {
            return Err(refused(format!("A field path has more than {STEPS} steps")));
        }
        let mut path = FieldPath {
            field: field.to_owned(),
            field_type: data_type.clone(),
            steps: Vec::new(),
            data_type: data_type.clone(),
        };
        for step in written {
            path.take(step).map_err(refused)?;
        }
        Ok(path)
    }

    fn take(&mut self, written: &WrittenStep) -> Result<(), String> {
        let (step, data_type) = match (&self.data_type, written) {
            (DataType::Array(element), WrittenStep::Index(index)) => (Step::Index(*index), (**element).clone()),
            (DataType::Array(element), WrittenStep::IndexVariable(name)) => {
                (Step::EachIndex(name.clone()), (**element).clone())
            }
            (DataType::Array(element), WrittenStep::Name(_)) => {
                self.data_type = (**element).clone();
                self.steps.push(Step::Elements);
                return if matches!(self.data_type, DataType::Array(_)) {
                    Err(no_step(written, &self.data_type))
                } else {
                    self.take(written)
                };
            }
            (DataType::Map(key, value), _) => key_step(written, key, value)?,
            (DataType::WeightedSet { element, .. }, _) => key_step(written, element, &DataType::Int)?,
            (DataType::Struct(of), WrittenStep::Name(name)) => match of.field(name) {
                Some(field) => (Step::Member(name.clone()), field.data_type.clone()),
                None => {
                    let hint = hint(name, of.fields.iter().map(|field| field.name.as_str()));
                    return Err(format!(
                        "Field '{}' not found in struct type '{}'{hint}",
                        Rejection::quote(name),
                        of.name
                    ));
                }
            },
            (DataType::Position, WrittenStep::Name(name)) if name == "x" || name == "y" => {
                (Step::Member(name.clone()), DataType::Int)
            }
            (other, _) => return Err(no_step(written, other)),
        };
        self.steps.push(step);
        self.data_type = data_type;
        Ok(())
    }
}

/// A step from a map or weighted set.
fn key_step(written: &WrittenStep, key: &DataType, value: &DataType) -> Result<(Step, DataType), String> {
    Ok(match written {
        WrittenStep::Key(text) => {
            let parsed = value_from_text(key, text).map_err(|error| error.message)?;
            (Step::Key(parsed), value.clone())
        }
        WrittenStep::KeyVariable(name) => (Step::EachKey(name.clone()), value.clone()),
        WrittenStep::Name(name) if name == "key" => (Step::Keys, key.clone()),
        WrittenStep::Name(name) if name == "value" => (Step::Values, value.clone()),
        other => return Err(no_step(other, &DataType::Map(key.clone().into(), value.clone().into()))),
    })
}

fn no_step(written: &WrittenStep, data_type: &DataType) -> String {
    format!("A value of type {data_type} has no part '{written}'")
}

fn hint<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest_name(name, names).map_or_else(String::new, |near| format!(". Did you mean '{near}'?"))
}

impl std::fmt::Display for WrittenStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WrittenStep::Name(name) => write!(f, ".{}", Rejection::quote(name)),
            WrittenStep::Index(index) => write!(f, "[{index}]"),
            WrittenStep::IndexVariable(name) => write!(f, "[${}]", Rejection::quote(name)),
            WrittenStep::Key(key) => write!(f, "{{{}}}", Rejection::quote(key)),
            WrittenStep::KeyVariable(name) => write!(f, "{{${}}}", Rejection::quote(name)),
        }
    }
}
