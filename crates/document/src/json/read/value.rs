//! Reads the value of one field by its type, and remembers the way to the value it is at.
use std::borrow::Cow;
use std::collections::BTreeMap;

use brooklet_task::bytes::Writer;
use brooklet_task::limits::ELEMENTS;
use brooklet_task::{Rejection, nearest_name};

use super::number::{parse_byte, parse_int, parse_long};
use super::options::ReadOptions;
use super::position::{read_position, read_position_object};
use super::refusal::{check_key, refusal};
use super::tensor::{TensorSource, read_tensor};
use crate::encode::encode_value;
use crate::json::base64::decode_base64;
use crate::json::number::{parse_double, parse_float};
use crate::json::{JsonKind, Lexer, UniqueNames};
use crate::legal_text::first_illegal;
use crate::{DataType, DocumentId, StructType, Value};

type Reads<T> = Result<T, Rejection>;

/// Reads values; what is wrong with one is told with its path.
pub(in crate::json) struct ValueReader {
    pub(super) options: ReadOptions,
    /// Paths of undefined struct members that were passed over.
    pub(super) ignored: Vec<String>,
    path: Path,
}

/// Where in `fields` the reader is: names and indexes, made into text only when needed.
#[derive(Default)]
struct Path(Vec<ValueStep>);

enum ValueStep {
    Name(String),
    Index(usize),
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                ValueStep::Name(name) if i == 0 => f.write_str(&Rejection::quote(name))?,
                ValueStep::Name(name) => write!(f, ".{}", Rejection::quote(name))?,
                ValueStep::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl ValueReader {
    pub(in crate::json) fn new(options: ReadOptions) -> ValueReader {
        ValueReader { options, ignored: Vec::new(), path: Path::default() }
    }

    /// Reads the value of the named field.
    ///
    /// # Errors
    /// If it does not fit the type: `Could not parse field 'f' of type int: …`, with the path if it lies deeper.
    pub(in crate::json) fn field(&mut self, name: &str, data_type: &DataType, json: &mut Lexer) -> Reads<Value> {
        self.path.0.clear();
        self.path.0.push(ValueStep::Name(name.to_owned()));
        self.value(data_type, json).map_err(|mut error| {
            if error.span.is_none() {
                error = error.within(&format!("Could not parse field '{name}' of type {data_type}"));
                if self.path.0.len() > 1 {
                    error.message.push_str(&format!(" (at fields.{})", self.path));
                }
            }
            error
        })
    }

    /// Reads a value of an update of the named field; only its path is told with what is wrong with it.
    pub(super) fn bare(&mut self, name: &str, data_type: &DataType, json: &mut Lexer) -> Reads<Value> {
        self.path.0.clear();
        self.path.0.push(ValueStep::Name(name.to_owned()));
        self.value(data_type, json).map_err(|mut error| {
            if error.span.is_none() && self.path.0.len() > 1 {
                error.message.push_str(&format!(" (at fields.{})", self.path));
            }
            error
        })
    }

    fn value(&mut self, data_type: &DataType, json: &mut Lexer) -> Reads<Value> {
        match data_type {
            DataType::Array(element) => self.array(element, json),
            DataType::WeightedSet { element, .. } => self.weighted_set(element, json),
            DataType::Map(key, value) => self.map(key, value, json),
            DataType::Struct(of) => self.structure(of, json),
            DataType::Tensor(of) => read_tensor(of, json, TensorSource::Document).map(Value::Tensor),
            DataType::Position if json.kind()? == JsonKind::Object => read_position_object(json),
            single => self.single(single, json),
        }
    }

    fn single(&self, data_type: &DataType, json: &mut Lexer) -> Reads<Value> {
        let kind = json.kind()?;
        if !kind.is_scalar() {
            return Err(refusal(&format!("Expected a value of type {data_type} but got {}", kind.noun())));
        }
        if self.options.strict {
            check_kind(data_type, kind, json)?;
        }
        if kind == JsonKind::Number && *data_type == DataType::Double {
            let start = json.clone();
            let number = json.double()?;
            return if number.is_finite() { Ok(Value::Double(number)) } else { Err(too_large(start)) };
        }
        single_from_text(data_type, json.scalar_text()?)
    }

    #[inline(never)]
    fn array(&mut self, element: &DataType, json: &mut Lexer) -> Reads<Value> {
        expect(JsonKind::Array, "an array", json)?;
        json.begin_array()?;
        let mut elements = Vec::new();
        self.path.0.push(ValueStep::Index(0));
        while json.next_element()? {
            self.at_index(elements.len());
            check_count(elements.len())?;
            if json.kind()? == JsonKind::Null {
                return Err(refusal("Illegal null value for array entry"));
            }
            elements.push(self.value(element, json)?);
        }
        self.path.0.pop();
        Ok(Value::Array(elements))
    }

    #[inline(never)]
    fn weighted_set(&mut self, element: &DataType, json: &mut Lexer) -> Reads<Value> {
        expect(JsonKind::Object, "an object of keys with weights", json)?;
        let mut entries = Entries::default();
        json.begin_object()?;
        while let Some(key) = json.next_key()? {
            self.path.0.push(ValueStep::Name(key.clone().into_owned()));
            check_count(entries.values.len())?;
            if self.options.strict {
                expect(JsonKind::Number, "a weight", json)?;
            }
            let weight = read_weight(json)?;
            entries.add_text(key, element, weight)?;
            self.path.0.pop();
        }
        Ok(Value::WeightedSet(entries.values))
    }

    #[inline(never)]
    fn map(&mut self, key_type: &DataType, value_type: &DataType, json: &mut Lexer) -> Reads<Value> {
        let mut entries = Entries::default();
        match json.kind()? {
            JsonKind::Object => {
                json.begin_object()?;
                while let Some(key) = json.next_key()? {
                    self.path.0.push(ValueStep::Name(key.clone().into_owned()));
                    check_count(entries.values.len())?;
                    let value = self.value(value_type, json)?;
                    entries.add_text(key, key_type, value)?;
                    self.path.0.pop();
                }
            }
            JsonKind::Array => {
                json.begin_array()?;
                self.path.0.push(ValueStep::Index(0));
                for index in 0.. {
                    if !json.next_element()? {
                        break;
                    }
                    self.at_index(index);
                    check_count(index)?;
                    let (key, value) = self.map_entry(key_type, value_type, json)?;
                    if !entries.add(key, value) {
                        return Err(refusal("Duplicate key in a map"));
                    }
                }
                self.path.0.pop();
            }
            other => {
                return Err(refusal(&format!("Expected an object or an array of entries but got {}", other.noun())));
            }
        }
        Ok(Value::Map(entries.values))
    }

    /// `{"key":…,"value":…}`
    #[inline(never)]
    fn map_entry(&mut self, key_type: &DataType, value_type: &DataType, json: &mut Lexer) -> Reads<(Value, Value)> {
        expect(JsonKind::Object, "an object with 'key' and 'value'", json)?;
        json.begin_object()?;
        let mut seen = UniqueNames::default();
        let (mut key, mut value) = (None, None);
        while let Some(member) = json.next_key()? {
            check_key(&mut seen, &member)?;
            match &*member {
                "key" => key = Some(self.single(key_type, json)?),
                "value" => {
                    self.path.0.push(ValueStep::Name("value".to_owned()));
                    value = Some(self.value(value_type, json)?);
                    self.path.0.pop();
                }
                other => {
                    return Err(refusal(&format!("Unexpected member '{}' of a map entry", Rejection::quote(other))));
                }
            }
        }
        key.zip(value).ok_or_else(|| refusal("Missing key or value for map entry."))
    }

    #[inline(never)]
    fn structure(&mut self, of: &StructType, json: &mut Lexer) -> Reads<Value> {
        // The reference implementation takes an empty array for an empty struct.
        if json.kind()? == JsonKind::Array
            && json.clone().skip_value()?.bytes().all(|byte| b"[] \t\r\n".contains(&byte))
        {
            json.begin_array()?;
            if !json.next_element()? {
                return Ok(Value::Struct(Vec::new()));
            }
        }
        expect(JsonKind::Object, "an object", json)?;
        json.begin_object()?;
        let mut members = Vec::new();
        let mut seen = UniqueNames::default();
        while let Some(name) = json.next_key()? {
            self.path.0.push(ValueStep::Name(name.clone().into_owned()));
            check_key(&mut seen, &name)?;
            match of.field(&name) {
                Some(_) if json.kind()? == JsonKind::Null => json.null()?,
                Some(field) => {
                    let value = self.value(&field.data_type, json);
                    let wrap = |error: Rejection| match error.span {
                        None => error.within(&format!("Could not parse field '{name}' of type {}", field.data_type)),
                        Some(_) => error,
                    };
                    members.push((field.name.clone(), value.map_err(wrap)?));
                }
                None if self.options.ignore_undefined_fields => {
                    self.ignored.push(self.path.to_string());
                    json.skip_value()?;
                }
                None => return Err(undefined_member(&name, of)),
            }
            self.path.0.pop();
        }
        Ok(Value::Struct(members))
    }

    fn at_index(&mut self, index: usize) {
        if let Some(step) = self.path.0.last_mut() {
            *step = ValueStep::Index(index);
        }
    }
}

/// Entries with keys, each value of a key once; the last one given wins, at the place of the first.
struct Entries<T> {
    values: Vec<(Value, T)>,
    /// Place in `values` by the encoded key: of the first entries, as many as were looked for.
    places: BTreeMap<Vec<u8>, usize>,
    texts: UniqueNames,
}

impl<T> Default for Entries<T> {
    fn default() -> Entries<T> {
        Entries { values: Vec::new(), places: BTreeMap::new(), texts: UniqueNames::default() }
    }
}

impl<T> Entries<T> {
    /// Adds an entry whose key is the text of a JSON key. The same text twice is refused; another spelling of the same
    /// key (`1` and `01`) is not.
    fn add_text(&mut self, key: Cow<str>, key_type: &DataType, value: T) -> Reads<()> {
        if !self.texts.first_time(&key) {
            return Err(refusal(&format!("Duplicate key '{}'", Rejection::quote(&key))));
        }
        let spelled = |number: i64| itoa::Buffer::new().format(number) == key;
        let (read, is_own_spelling) = match single_from_text(key_type, Cow::Borrowed(&key))? {
            Value::Byte(number) => (Value::Byte(number), spelled(number.into())),
            Value::Int(number) => (Value::Int(number), spelled(number.into())),
            Value::Long(number) => (Value::Long(number), spelled(number)),
            Value::String(text) => (Value::String(text), true),
            other => (other, false),
        };
        // Where every key so far is spelled in the one way that is its own, another text is another key.
        if is_own_spelling && self.places.is_empty() {
            self.values.push((read, value));
        } else {
            self.add(read, value);
        }
        Ok(())
    }

    /// Adds an entry; false if it replaced one.
    fn add(&mut self, key: Value, value: T) -> bool {
        for (place, (key, _)) in self.values.iter().enumerate().skip(self.places.len()) {
            self.places.insert(encoded(key), place);
        }
        let place = *self.places.entry(encoded(&key)).or_insert(self.values.len());
        match self.values.get_mut(place) {
            Some(entry) => entry.1 = value,
            None => {
                self.values.push((key, value));
                return true;
            }
        }
        false
    }
}

fn encoded(key: &Value) -> Vec<u8> {
    let mut encoded = Writer::new();
    encode_value(key, &mut encoded);
    encoded.finish()
}

/// The value that a text stands for in a field of a single value: what a key of a map is read by.
///
/// # Errors
/// If it does not fit the type, or the type has parts.
pub(crate) fn value_from_text(data_type: &DataType, text: &str) -> Reads<Value> {
    single_from_text(data_type, Cow::Borrowed(text))
}

/// The value that a text stands for in a field of a single value.
fn single_from_text(data_type: &DataType, text: Cow<str>) -> Reads<Value> {
    let not_a_number = || refusal(&format!("For input string: \"{}\"", Rejection::quote(&text)));
    Ok(match data_type {
        DataType::Int => Value::Int(parse_int(&text)?),
        DataType::Long => Value::Long(parse_long(&text)?),
        DataType::Byte => Value::Byte(parse_byte(&text)?),
        DataType::Bool => Value::Bool(text.eq_ignore_ascii_case("true")),
        DataType::Float | DataType::Float16 => Value::Float(parse_float(&text).ok_or_else(not_a_number)?),
        DataType::Double => Value::Double(parse_double(&text).ok_or_else(not_a_number)?),
        DataType::Raw => Value::Raw(decode_base64(&text).map_err(|error| refusal(error.message()))?),
        DataType::Position => read_position(&text)?,
        DataType::String | DataType::Predicate | DataType::Uri | DataType::Reference(_) => {
            check_text(data_type, &text)?;
            Value::String(text.into_owned())
        }
        composite => return Err(refusal(&format!("A value of type {composite} cannot be read from a text"))),
    })
}

fn check_text(data_type: &DataType, text: &str) -> Reads<()> {
    if let Some(code) = first_illegal(text) {
        return Err(refusal(&format!("The string field value contains illegal code point 0x{code:X}")));
    }
    match data_type {
        DataType::Reference(target) if !text.is_empty() => {
            let id = DocumentId::parse(text)?;
            if id.document_type() == target {
                return Ok(());
            }
            let message = format!(
                "Can't assign document ID '{id}' (of type '{}') to reference of document type '{target}'",
                id.document_type()
            );
            Err(refusal(&message))
        }
        _ => Ok(()),
    }
}

/// A weight of a weighted set.
pub(super) fn read_weight(json: &mut Lexer) -> Reads<i32> {
    let kind = json.kind()?;
    if !kind.is_scalar() {
        return Err(refusal(&format!("Expected a weight but got {}", kind.noun())));
    }
    parse_int(&json.scalar_text()?)
}

/// With strict reading, only a value's own JSON type is taken.
fn check_kind(data_type: &DataType, kind: JsonKind, json: &Lexer) -> Reads<()> {
    let allowed = match data_type {
        DataType::Int | DataType::Long | DataType::Byte => kind == JsonKind::Number,
        DataType::Float | DataType::Double | DataType::Float16 => {
            let word = || json.clone().string().is_ok_and(|word| ["NaN", "Infinity", "-Infinity"].contains(&&*word));
            kind == JsonKind::Number || (kind == JsonKind::String && word())
        }
        DataType::Bool => {
            let word = || json.clone().string().is_ok_and(|word| word == "true");
            kind == JsonKind::Bool || (kind == JsonKind::String && word())
        }
        _ => kind == JsonKind::String,
    };
    let message = || format!("Expected a value of type {data_type} but got {} (strict)", kind.noun());
    if allowed { Ok(()) } else { Err(refusal(&message())) }
}

fn too_large(mut json: Lexer) -> Rejection {
    refusal(&format!("For input string: \"{}\" (out of range)", json.number().unwrap_or_default()))
}

fn expect(kind: JsonKind, what: &str, json: &mut Lexer) -> Reads<()> {
    match json.kind()? {
        found if found == kind => Ok(()),
        found => Err(refusal(&format!("Expected {what} but got {}", found.noun()))),
    }
}

fn check_count(before: usize) -> Reads<()> {
    if before < ELEMENTS { Ok(()) } else { Err(refusal(&format!("More entries than the limit of {ELEMENTS}"))) }
}

fn undefined_member(name: &str, of: &StructType) -> Rejection {
    let hint = match nearest_name(name, of.fields.iter().map(|field| field.name.as_str())) {
        Some(nearest) => format!(". Did you mean '{nearest}'?"),
        None => String::new(),
    };
    refusal(&format!("Field '{}' is not defined in struct type '{}'{hint}", Rejection::quote(name), of.name))
}
