//! The run of one field's script. A value flows from expression to expression; nothing stays nothing.
use std::collections::BTreeMap;

use brooklet_document::embedding::{Embedding, EmbeddingWanted, Embeddings, embedded, embedded_array, values_wanted};
use brooklet_document::json::{FieldTypes, ReadOptions, read_values};
use brooklet_document::{DataType, DocumentId, TensorType, Value};
use brooklet_schema::indexing::{Argument, Condition, Constant, Expression, ExpressionKind, Script, Statement};
use brooklet_schema::indexing::{embed_arguments, generate_argument, generated_type};
use brooklet_schema::{Field, GeneratorConfig, Schema};
use brooklet_task::{Code, Rejection, limits};
use brooklet_text::{CHUNK_LENGTH, fixed_length, sentences};

use super::convert::{arithmetic, compares, converted, epoch_second, invalid, text_of};

type Flow = Result<Option<Value>, Rejection>;

/// The run.
pub(super) struct Run<'a> {
    id: &'a str,
    schema: &'a Schema,
    field: &'a Field,
    fields: &'a [(String, Value)],
    embeddings: &'a Embeddings,
    variables: BTreeMap<String, Value>,
    /// What was put out.
    pub(super) output: Option<Value>,
    /// Texts whose embeddings are not there.
    pub(super) wanted: Vec<EmbeddingWanted>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        (id, schema): (&'a str, &'a Schema),
        field: &'a Field,
        fields: &'a [(String, Value)],
        embeddings: &'a Embeddings,
    ) -> Run<'a> {
        let (variables, output, wanted) = (BTreeMap::new(), None, Vec::new());
        Run { id, schema, field, fields, embeddings, variables, output, wanted }
    }

    pub(super) fn statement(&mut self, statement: &Statement, mut value: Option<Value>) -> Flow {
        for (index, expression) in statement.expressions.iter().enumerate() {
            value = match (&expression.kind, value) {
                (ExpressionKind::Function("generate", arguments), Some(input)) => {
                    let target = generated_type(&self.field.data_type, &statement.expressions[index + 1..]);
                    self.generate(generate_argument(arguments), &text_of(&input), target)?
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
            Some(Embedding::Text(answer)) => match generated_value(self.id, &member, target, answer) {
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

    /// A statement on each element; elements it makes nothing of are left out.
    fn for_each(&mut self, statement: &Statement, value: Option<Value>) -> Flow {
        let Some(Value::Array(elements)) = value else { return Ok(None) };
        let mut made = Vec::with_capacity(elements.len());
        for element in elements {
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
            return Ok(Some(Value::String(self.id.to_owned())));
        }
        if let ("get_var", [Argument::Name(variable)]) = (name, arguments) {
            return Ok(self.variables.get(variable).cloned());
        }
        let Some(value) = value else { return Ok(None) };
        if name == "embed" {
            return self.embed(arguments, &value);
        }
        let text = || text_of(&value);
        let to = |data_type: DataType| converted(&value, &data_type).map(Some);
        let texts =
            |texts: Vec<&str>| Value::Array(texts.into_iter().map(|text| Value::String(text.to_owned())).collect());
        match (name, arguments) {
            ("chunk", _) => chunks(&text(), arguments).map(Some),
            ("lowercase", _) => {
                let mut lower = String::new();
                brooklet_text::lowercase(&text(), &mut lower);
                self.text(lower).map(Some)
            }
            ("trim", _) => Ok(Some(Value::String(text().trim().to_owned()))),
            ("substring", [Argument::Number(from), Argument::Number(to)]) => {
                substring(&text(), from, to).map(|text| Some(Value::String(text)))
            }
            ("split", [Argument::Text(separator)]) => Ok(Some(texts(split(&text(), separator)))),
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

    /// The tensor of a text or of an array of texts; nothing as long as embeddings are missing.
    #[inline(never)]
    fn embed(&mut self, arguments: &[Argument], value: &Value) -> Flow {
        let DataType::Tensor(target) = &self.field.data_type else { return Ok(None) };
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
            (_, Some(embedding)) => embedded(target, embedding)?,
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

/// Texts between separators; those at the end that are empty are left out, as Java's `split` does.
fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    if separator.is_empty() {
        return text.char_indices().map(|(at, character)| &text[at..at + character.len_utf8()]).collect();
    }
    let mut parts: Vec<&str> = text.split(separator).collect();
    while parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    parts
}

/// The UTF-16 units `from` (included) to `to` (excluded) of a text, cut where it ends.
fn substring(text: &str, from: &str, to: &str) -> Result<String, Rejection> {
    let number =
        |digits: &str| digits.parse::<usize>().map_err(|_| invalid(format!("'{digits}' is no place in a text")));
    let (from, to) = (number(from)?, number(to)?);
    let units: Vec<u16> = text.encode_utf16().skip(from).take(to.saturating_sub(from)).collect();
    Ok(String::from_utf16_lossy(&units))
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
