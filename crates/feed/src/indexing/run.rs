//! The run of one field's script. A value flows from expression to expression; nothing stays nothing.
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::embedding::{Embedding, EmbeddingWanted, Embeddings, embedded_array, tensor_of, values_wanted};
use brooklet_document::json::{FieldTypes, ReadOptions, read_values};
use brooklet_document::{DataType, DocumentId, TensorType, Value};
use brooklet_schema::indexing::{Argument, Condition, Constant, Expression, ExpressionKind, Script, Statement};
use brooklet_schema::indexing::{embed_arguments, embedded_type, generate_argument, generated_type};
use brooklet_schema::{Field, GeneratorConfig, Schema};
use brooklet_task::{Code, Rejection, limits};
use brooklet_text::{CHUNK_LENGTH, Pattern, fixed_length, sentences};

use super::codes::{base64_decode, base64_encode, binarize, hash, hex_decode, pack_bits};
use super::convert::{arithmetic, compares, convert, epoch_second, invalid, text_of};
use super::write::Write;

/// Steps of an expression that a split may look at: a text of the largest size under a usual expression.
const SPLIT_WORK_MAX: usize = 1 << 27;

type Flow = Result<Option<Value>, Rejection>;

/// The run.
pub(super) struct Run<'a> {
    write: Write<'a>,
    schema: &'a Schema,
    field: &'a Field,
    fields: &'a [(String, Value)],
    embeddings: &'a Embeddings,
    variables: BTreeMap<String, Value>,
    /// Random numbers that were made.
    randoms: u64,
    /// What was put out.
    pub(super) output: Option<Value>,
    /// Texts whose embeddings are not there.
    pub(super) wanted: Vec<EmbeddingWanted>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        (write, schema): (Write<'a>, &'a Schema),
        field: &'a Field,
        fields: &'a [(String, Value)],
        embeddings: &'a Embeddings,
    ) -> Run<'a> {
        let (variables, output, wanted) = (BTreeMap::new(), None, Vec::new());
        Run { write, schema, field, fields, embeddings, variables, randoms: 0, output, wanted }
    }

    pub(super) fn statement(&mut self, statement: &Statement, mut value: Option<Value>) -> Flow {
        for (index, expression) in statement.expressions.iter().enumerate() {
            value = match (&expression.kind, value) {
                (ExpressionKind::Function("generate", arguments), Some(input)) => {
                    let target = generated_type(&self.field.data_type, &statement.expressions[index + 1..]);
                    self.generate(generate_argument(arguments), &text_of(&input), target)?
                }
                (ExpressionKind::Function("embed", arguments), Some(input)) => {
                    let target = embedded_type(&self.field.data_type, &statement.expressions[index + 1..]);
                    target.map_or(Ok(None), |target| self.embed(arguments, &input, &target))?
                }
                (_, value) => self.expression(expression, value)?,
            };
        }
        Ok(value)
    }

    /// What a language model makes of a text; nothing as long as it has not answered, or if its answer is no such value.
    fn generate(&mut self, id: &str, input: &str, target: &DataType) -> Flow {
        let Some(generator) = GeneratorConfig::find(&self.schema.generators, id) else { return Ok(None) };
        let member = format!("{}.{}", self.schema.name, self.field.name);
        let json_schema = generator.answer_schema(&member, target);
        let text = format!("{json_schema}\n{}", generator.prompt(input, &json_schema));
        let wanted = EmbeddingWanted { embedder: generator.id.clone(), is_query: false, values: 0, text };
        match self.embeddings.get(&wanted) {
            None => {
                self.wanted.push(wanted);
                Ok(None)
            }
            Some(Embedding::Text(answer)) if !generator.answers_json => self.text(answer.clone()).map(Some),
            Some(Embedding::Text(answer)) => match generated_value(self.write.id, &member, target, answer) {
                Err(rejection) if generator.fails => {
                    let text =
                        format!("the answer of the generator '{}' is no value: {}", generator.id, rejection.message);
                    Err(Rejection::new(Code::Internal, text))
                }
                read => Ok(read.ok().flatten()),
            },
            Some(_) => Err(invalid(format!("'{}' is no generator", generator.id))),
        }
    }

    fn script(&mut self, script: &Script, value: &Option<Value>) -> Result<(), Rejection> {
        script.statements.iter().try_for_each(|statement| self.statement(statement, value.clone()).map(|_| ()))
    }

    fn expression(&mut self, expression: &Expression, value: Option<Value>) -> Flow {
        match &expression.kind {
            ExpressionKind::Output(..) => self.put_out(value),
            ExpressionKind::Input(path) => Ok(self.input(path)),
            ExpressionKind::Constant(constant) => Ok(Some(constant_value(constant))),
            ExpressionKind::Choice(of) => {
                for one in of {
                    let made = self.expression(one, value.clone())?;
                    if made.is_some() {
                        return Ok(made);
                    }
                }
                Ok(None)
            }
            ExpressionKind::Concatenate(of) => self.concatenate(of, &value),
            ExpressionKind::Arithmetic(operator, left, right) => {
                let (left, right) = (self.expression(left, value.clone())?, self.expression(right, value)?);
                left.zip(right).map(|(left, right)| arithmetic(*operator, &left, &right)).transpose()
            }
            ExpressionKind::Group(statement) => self.statement(statement, value),
            ExpressionKind::Block(script) | ExpressionKind::Guard(script) => {
                self.script(script, &value).map(|()| value)
            }
            ExpressionKind::If(condition) => self.condition(condition, value),
            ExpressionKind::Switch(cases, default) => {
                let text = value.as_ref().map(text_of);
                let case = cases.iter().find(|(case, _)| Some(case) == text.as_ref()).map(|(_, statement)| statement);
                if let (Some(statement), true) = (case.or(default.as_ref()), value.is_some()) {
                    self.statement(statement, value.clone())?;
                }
                Ok(value)
            }
            ExpressionKind::SelectInput(cases) => {
                for (field, statement) in cases {
                    let input = self.input(field);
                    if input.is_some() {
                        return self.statement(statement, input).map(|_| None);
                    }
                }
                Ok(None)
            }
            ExpressionKind::ForEach(statement) => self.for_each(statement, value),
            ExpressionKind::Function(name, arguments) => self.function(name, arguments, value),
        }
    }

    /// A statement on each element, key, entry or member; what it makes nothing of is left out.
    fn for_each(&mut self, statement: &Statement, value: Option<Value>) -> Flow {
        let of = match value {
            Some(Value::Array(elements)) => elements,
            Some(Value::Map(entries)) => {
                entries.into_iter().map(|(key, value)| Value::Map(vec![(key, value)])).collect()
            }
            Some(Value::WeightedSet(entries)) => {
                let mut made: Vec<(Value, i32)> = Vec::with_capacity(entries.len());
                for (key, weight) in entries {
                    let Some(key) = self.statement(statement, Some(key))? else { continue };
                    match made.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, last)) => *last = weight,
                        None => made.push((key, weight)),
                    }
                }
                return Ok(Some(Value::WeightedSet(made)));
            }
            Some(Value::Struct(members)) => {
                let mut made = Vec::with_capacity(members.len());
                for (name, member) in members {
                    made.extend(self.statement(statement, Some(member))?.map(|member| (name, member)));
                }
                return Ok(Some(Value::Struct(made)));
            }
            _ => return Ok(None),
        };
        let mut made = Vec::with_capacity(of.len());
        for element in of {
            made.extend(self.statement(statement, Some(element))?);
        }
        Ok(Some(Value::Array(made)))
    }

    #[inline(never)]
    fn condition(&mut self, condition: &Condition, value: Option<Value>) -> Flow {
        let left = self.expression(&condition.left, value.clone())?;
        let right = self.expression(&condition.right, value.clone())?;
        // Nothing compares with nothing, so neither branch is run.
        if let (Some(left), Some(right)) = (left, right) {
            let holds = compares(condition.comparison, &left, &right);
            let script = if holds { Some(&condition.then) } else { condition.otherwise.as_ref() };
            script.map_or(Ok(()), |script| self.script(script, &value))?;
        }
        Ok(value)
    }

    #[inline(never)]
    fn concatenate(&mut self, of: &[Expression], value: &Option<Value>) -> Flow {
        let mut parts = Vec::with_capacity(of.len());
        for one in of {
            parts.push(self.expression(one, value.clone())?);
        }
        let is_array = parts.iter().flatten().all(|part| matches!(part, Value::Array(_)));
        if is_array && parts.iter().any(Option::is_some) {
            let elements = parts.into_iter().flatten().flat_map(|part| match part {
                Value::Array(elements) => elements,
                other => vec![other],
            });
            return Ok(Some(Value::Array(elements.collect())));
        }
        let Some(parts) = parts.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        self.text(parts.iter().map(text_of).collect()).map(Some)
    }

    /// A text a script made; repeated concatenation must not fill the memory.
    fn text(&self, text: String) -> Result<Value, Rejection> {
        if text.len() > limits::JSON_STRING {
            let (bytes, most) = (text.len(), limits::JSON_STRING);
            return Err(invalid(format!("the text has {bytes} bytes, at most {most} are allowed")));
        }
        Ok(Value::String(text))
    }

    #[inline(never)]
    fn function(&mut self, name: &str, arguments: &[Argument], value: Option<Value>) -> Flow {
        if name == "documentid" {
            return Ok(Some(Value::String(self.write.id.to_owned())));
        }
        if let ("get_var", [Argument::Name(variable)]) = (name, arguments) {
            return Ok(self.variables.get(variable).cloned());
        }
        if name == "now" {
            return Ok(Some(Value::Long((self.write.time / 1_000_000) as i64)));
        }
        if name == "random" {
            return Ok(self.random(arguments, value.as_ref()));
        }
        let Some(value) = value else { return Ok(None) };
        match (name, arguments, &self.field.data_type) {
            ("embed", _, DataType::Tensor(target)) => return self.embed(arguments, &value, &target.clone()),
            ("set_var", [Argument::Name(variable)], _) => {
                self.variables.insert(variable.clone(), value.clone());
                return Ok(Some(value));
            }
            ("get_field" | "get_value", [Argument::Name(of)], _) => return Ok(member(&value, of)),
            _ => {}
        }
        let text = || text_of(&value);
        let to = |data_type: DataType| convert(&value, &data_type).map(Some);
        let texts =
            |texts: Vec<&str>| Value::Array(texts.into_iter().map(|text| Value::String(text.to_owned())).collect());
        match (name, arguments) {
            ("chunk", _) => chunks(&text(), arguments).map(Some),
            ("lowercase", _) => {
                let mut lower = String::new();
                brooklet_text::lowercase(&text(), &mut lower);
                self.text(lower).map(Some)
            }
            ("trim", _) => Ok(Some(Value::String(text().trim_matches(|c| c <= ' ').to_owned()))),
            (
                "hexdecode" | "hex_decode" | "base64decode" | "hexencode" | "hex_encode" | "base64encode" | "hash"
                | "binarize" | "pack_bits",
                _,
            ) => self.run_code(name, arguments, value),
            ("to_wset", _) => Ok(Some(Value::WeightedSet(vec![(value, 1)]))),
            ("to_uri", _) => Ok(Some(value)),
            ("substring", [Argument::Number(from), Argument::Number(to)]) => {
                substring(&text(), from, to).map(|text| Some(Value::String(text)))
            }
            ("split", [Argument::Text(pattern)]) => Ok(Some(texts(split(&text(), pattern)?))),
            ("join", [Argument::Text(separator)]) => {
                let Value::Array(elements) = &value else { return Ok(Some(value)) };
                self.text(elements.iter().map(text_of).collect::<Vec<_>>().join(separator)).map(Some)
            }
            ("to_array", _) => Ok(Some(Value::Array(vec![value]))),
            ("to_epoch_second", _) => epoch_second(&text()).map(Some),
            ("to_bool", _) => to(DataType::Bool),
            ("to_byte", _) => to(DataType::Byte),
            ("to_double", _) => to(DataType::Double),
            ("to_float", _) => to(DataType::Float),
            ("to_int", _) => to(DataType::Int),
            ("to_long", _) => to(DataType::Long),
            ("to_string", _) => to(DataType::String),
            // Prepares terms for an index that streaming mode does not have.
            _ => Ok(Some(value)),
        }
    }

    /// A value as digits, a number of digits or of a text, or bits of a tensor.
    fn run_code(&self, name: &str, arguments: &[Argument], value: Value) -> Flow {
        let text = || text_of(&value);
        match name {
            "hexdecode" | "hex_decode" => hex_decode(&text()).map(Some),
            "base64decode" => base64_decode(&text()).map(Some),
            "hexencode" | "hex_encode" | "base64encode" => Ok(match &value {
                Value::Long(number) if name == "base64encode" => Some(Value::String(base64_encode(*number))),
                Value::Long(number) => Some(Value::String(format!("{number:x}"))),
                _ => None,
            }),
            "hash" => Ok(Some(match self.field.data_type.element() {
                DataType::Int => Value::Int(hash(&text()) as i32),
                _ => Value::Long(hash(&text()) as i64),
            })),
            "binarize" | "pack_bits" => match value {
                Value::Tensor(tensor) if name == "pack_bits" => pack_bits(&tensor, &self.field.data_type).map(Some),
                Value::Tensor(tensor) => Ok(Some(binarize(tensor, bound_of(arguments)))),
                _ => Ok(None),
            },
            _ => Ok(Some(value)),
        }
    }

    /// A number from 0 on and below the one that is named or given; the core has no chance of its own, so it is drawn
    /// from what is written when.
    fn random(&mut self, arguments: &[Argument], value: Option<&Value>) -> Option<Value> {
        let most = match (arguments, value) {
            ([Argument::Number(most)], _) => most.parse().ok()?,
            (_, Some(Value::Int(most))) => *most,
            _ => return None,
        };
        self.randoms += 1;
        let (Write { id, time }, field, count) = (self.write, &self.field.name, self.randoms);
        let drawn = hash(&format!("{id} {time} {field} {count}")) >> 1;
        (most > 0).then(|| Value::Int((drawn % most as u64) as i32))
    }

    /// The tensor of a text or of an array of texts; nothing as long as embeddings are missing.
    #[inline(never)]
    fn embed(&mut self, arguments: &[Argument], value: &Value, target: &Arc<TensorType>) -> Flow {
        let (embedder, elements) = embed_arguments(arguments);
        let wanted = |value: &Value| EmbeddingWanted {
            embedder: embedder.to_owned(),
            is_query: false,
            values: values_wanted(target),
            text: text_of(value),
        };
        let all: Vec<EmbeddingWanted> = match value {
            Value::Array(texts) => texts.iter().map(wanted).collect(),
            text => vec![wanted(text)],
        };
        let found: Vec<_> = all.iter().filter_map(|wanted| self.embeddings.get(wanted)).collect();
        if found.len() < all.len() {
            self.wanted.extend(all.into_iter().filter(|wanted| self.embeddings.get(wanted).is_none()));
            return Ok(None);
        }
        let tensor = match (value, found.first()) {
            (Value::Array(_), _) => embedded_array(target, dimension_of_elements(target, elements), &found)?,
            (_, Some(embedding)) => tensor_of(target, embedding)?,
            (_, None) => return Ok(None),
        };
        Ok(Some(Value::Tensor(tensor)))
    }

    fn put_out(&mut self, value: Option<Value>) -> Flow {
        let Some(made) = &value else { return Ok(None) };
        match &self.output {
            Some(before) if before != made => Err(invalid(format!("field '{}' is given two values", self.field.name))),
            _ => {
                self.output = (!made.is_empty_collection()).then(|| made.clone());
                Ok(value)
            }
        }
    }

    fn input(&self, path: &str) -> Option<Value> {
        let mut parts = path.split('.');
        let name = parts.next()?;
        let mut value = self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)?;
        for part in parts {
            let Value::Struct(fields) = value else { return None };
            value = fields.iter().find(|(field, _)| field == part).map(|(_, value)| value)?;
        }
        Some(value.clone())
    }
}

/// The member of an answer, an object, that is the value; nothing if it is null.
fn generated_value(id: &str, member: &str, target: &DataType, answer: &str) -> Flow {
    struct Member<'m>(&'m str, &'m DataType);
    impl FieldTypes for Member<'_> {
        fn data_type(&self, field: &str) -> Option<&DataType> {
            (field == self.0).then_some(self.1)
        }
        fn names(&self) -> Vec<&str> {
            vec![self.0]
        }
    }
    let options = ReadOptions { ignore_undefined_fields: true, ..ReadOptions::default() };
    let values = read_values(&Member(member, target), &DocumentId::parse(id)?, answer.as_bytes(), options)?;
    Ok(values.into_iter().next().map(|(_, value)| value))
}

/// The dimension an `embed` names for the elements of an array, or the only mapped one.
fn dimension_of_elements<'a>(target: &'a TensorType, named: &'a str) -> &'a str {
    match target.mapped().next() {
        Some(only) if named.is_empty() || target.mapped().count() == 1 => &only.name,
        _ => named,
    }
}

fn chunks(text: &str, arguments: &[Argument]) -> Result<Value, Rejection> {
    let pieces = match arguments {
        [Argument::Name(name), Argument::Number(length)] if name == "fixed-length" => {
            fixed_length(text, length.parse().unwrap_or(CHUNK_LENGTH))
        }
        [Argument::Name(name)] if name == "fixed-length" => fixed_length(text, CHUNK_LENGTH),
        _ => sentences(text),
    };
    if pieces.len() > limits::ELEMENTS {
        return Err(invalid(format!("{} chunks are too many", pieces.len())));
    }
    Ok(Value::Array(pieces.into_iter().map(|piece| Value::String(piece.to_owned())).collect()))
}

/// The pieces of a text between places of an expression; none of an empty text.
fn split<'t>(text: &'t str, pattern: &str) -> Result<Vec<&'t str>, Rejection> {
    let compiled = Pattern::new(pattern, true).map_err(|fault| invalid(fault.to_string()))?;
    let mut work = SPLIT_WORK_MAX;
    compiled
        .pieces(text, &mut work)
        .map_err(|_| invalid(format!("the text is too long to be split by \"{}\"", Rejection::quote(pattern))))
}

/// A member of a struct; `key` or `value` of a map's only entry; the value under a key of a map.
fn member(value: &Value, of: &str) -> Option<Value> {
    match value {
        Value::Struct(members) => members.iter().find(|(name, _)| name == of).map(|(_, member)| member.clone()),
        Value::Map(entries) => match (&entries[..], of) {
            ([(key, _)], "key") => Some(key.clone()),
            ([(_, value)], "value") => Some(value.clone()),
            _ => entries.iter().find(|(key, _)| text_of(key) == of).map(|(_, value)| value.clone()),
        },
        _ => None,
    }
}

/// The bound of `binarize`.
fn bound_of(arguments: &[Argument]) -> f64 {
    match arguments {
        [Argument::Number(bound)] => bound.trim_end_matches(['f', 'F']).parse().unwrap_or_default(),
        _ => 0.0,
    }
}

/// The characters `from` (included) to `to` (excluded) of a text, cut where it ends.
fn substring(text: &str, from: &str, to: &str) -> Result<String, Rejection> {
    let number =
        |digits: &str| digits.parse::<usize>().map_err(|_| invalid(format!("'{digits}' is no place in a text")));
    let (from, to) = (number(from)?, number(to)?);
    Ok(text.chars().skip(from).take(to.saturating_sub(from)).collect())
}

fn constant_value(constant: &Constant) -> Value {
    match constant {
        Constant::Text(text) => Value::String(text.clone()),
        Constant::Bool(is) => Value::Bool(*is),
        Constant::Int(number) => Value::Int(*number),
        Constant::Long(number) => Value::Long(*number),
        Constant::Float(number) => Value::Float(*number),
        Constant::Double(number) => Value::Double(*number),
    }
}
