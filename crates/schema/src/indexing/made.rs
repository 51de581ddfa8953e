//! Scripts of fields outside the document: what they may do, and the types of what they make. A type is followed from
//! expression to expression, so that a feed can only fail by its values.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use brooklet_document::{DataType, TensorType};
use brooklet_task::{Rejection, did_you_mean};
use brooklet_text::Pattern;

use super::analyze::WITHOUT_EFFECT;
use super::calls::{embed_arguments, embedded_type, generated_type, packed_type};
use super::{Argument, Condition, Constant, Expression, ExpressionKind, Script, Statement};
use crate::field::Field;
use crate::generator::can_be_generated;
use crate::place::SourcePlace;

/// The type of a value in a script; nothing where there is none yet, or where it depends on the branch taken.
type MadeType = Option<DataType>;
type Checked = Result<MadeType, Rejection>;

/// A field outside the document, and the fields its script may read.
pub(crate) struct MadeField<'a> {
    pub(crate) schema: &'a str,
    pub(crate) field: &'a Field,
    pub(crate) document: &'a [Field],
    /// The types of what `set_var` kept so far.
    pub(crate) variables: RefCell<BTreeMap<String, DataType>>,
}

impl MadeField<'_> {
    /// Checks the field's script.
    ///
    /// # Errors
    /// If it reads a field that is not there, does what is not supported, or makes a value of another type.
    pub(crate) fn check(&self) -> Result<(), Rejection> {
        self.script(&self.field.script, &None)?;
        if let (true, Some(varying)) = (self.field.script.asks_models(), self.field.script.varying()) {
            let ExpressionKind::Function(name, _) = varying.kind else { return Ok(()) };
            return Err(self.unsupported_expression(
                &varying.place,
                &format!("{name}' beside one that asks a model, as in '{varying}"),
            ));
        }
        Ok(())
    }

    fn script(&self, script: &Script, value: &MadeType) -> Result<(), Rejection> {
        script.statements.iter().try_for_each(|statement| self.statement(statement, value.clone()).map(|_| ()))
    }

    fn statement(&self, statement: &Statement, mut value: MadeType) -> Checked {
        for (index, expression) in statement.expressions.iter().enumerate() {
            let rest = &statement.expressions[index + 1..];
            if let ExpressionKind::Function("generate", _) = expression.kind {
                value = Some(self.generate(&expression.place, generated_type(&self.field.data_type, rest), &value)?);
                continue;
            }
            if let ExpressionKind::Function("embed", arguments) = &expression.kind {
                let shapes = |kind: &ExpressionKind| {
                    matches!(kind, ExpressionKind::Output(..) | ExpressionKind::Function("binarize" | "pack_bits", _))
                };
                if let Some(other) = rest.iter().find(|next| !shapes(&next.kind)) {
                    return Err(self.unsupported_expression(&other.place, &format!("{other}' after 'embed")));
                }
                let target = embedded_type(&self.field.data_type, rest);
                value = Some(self.embed(&expression.place, arguments, &value, target)?);
                continue;
            }
            value = self.expression(expression, value)?;
        }
        Ok(value)
    }

    fn expression(&self, expression: &Expression, value: MadeType) -> Checked {
        let place = &expression.place;
        match &expression.kind {
            ExpressionKind::Output(_, to) => self.output(place, to, value),
            ExpressionKind::Input(from) => self.input(place, from).map(Some),
            ExpressionKind::Constant(constant) => Ok(Some(constant_type(constant))),
            ExpressionKind::Choice(of) => self.choice(of, &value),
            ExpressionKind::Concatenate(of) => self.concatenation(of, &value),
            ExpressionKind::Arithmetic(_, left, right) => {
                let (left, right) = (self.expression(left, value.clone())?, self.expression(right, value)?);
                match (left, right) {
                    (Some(left), Some(right)) if left.is_numeric() && right.is_numeric() => {
                        Ok(Some(wider(left, right)))
                    }
                    _ => Err(self.reject(place, "arithmetic needs numbers on both sides")),
                }
            }
            ExpressionKind::Group(statement) => self.statement(statement, value),
            ExpressionKind::Block(script) | ExpressionKind::Guard(script) => {
                self.script(script, &value).map(|()| value)
            }
            ExpressionKind::If(condition) => self.condition(condition, value),
            ExpressionKind::Switch(cases, default) => {
                self.expect(place, "switch", &value, &DataType::String)?;
                let all = cases.iter().map(|(_, statement)| statement).chain(default);
                all.into_iter().try_for_each(|statement| self.statement(statement, value.clone()).map(|_| ()))?;
                Ok(value)
            }
            ExpressionKind::SelectInput(cases) => {
                for (field, statement) in cases {
                    self.statement(statement, Some(self.input(place, field)?))?;
                }
                Ok(None)
            }
            ExpressionKind::ForEach(statement) => self.for_each(place, statement, value),
            ExpressionKind::Function(name, arguments) => self.function(place, name, arguments, value),
        }
    }

    /// A statement on each element, key, entry or member.
    fn for_each(&self, place: &SourcePlace, statement: &Statement, value: MadeType) -> Checked {
        let made = |element: DataType| self.statement(statement, Some(element));
        match value {
            Some(DataType::Array(element)) => Ok(made((*element).clone())?.map(|made| DataType::Array(Arc::new(made)))),
            Some(DataType::WeightedSet { element, create_if_nonexistent, remove_if_zero }) => {
                Ok(made((*element).clone())?.map(|made| DataType::WeightedSet {
                    element: Arc::new(made),
                    create_if_nonexistent,
                    remove_if_zero,
                }))
            }
            Some(map @ DataType::Map(..)) => Ok(made(map)?.map(|made| DataType::Array(Arc::new(made)))),
            Some(DataType::Struct(of)) => {
                for field in &of.fields {
                    let member = made(field.data_type.clone())?;
                    if member.as_ref().is_some_and(|member| *member != field.data_type) {
                        let (name, other) = (&field.name, type_text(&member));
                        return Err(self.reject(place, &format!("for_each makes {other} of the member '{name}'")));
                    }
                }
                Ok(Some(DataType::Struct(of)))
            }
            other => Err(self.reject(
                place,
                &format!("Expected Array, Struct, WeightedSet or Map input, got {}", type_text(&other)),
            )),
        }
    }

    #[inline(never)]
    fn function(&self, place: &SourcePlace, name: &str, arguments: &[Argument], value: MadeType) -> Checked {
        let text = || self.expect(place, name, &value, &DataType::String);
        let long = || self.expect(place, name, &value, &DataType::Long);
        match name {
            "set_language" | "ngram" | "exact" => text().map(|()| value),
            "passthrough" | "optimize_predicate" => Err(self.unsupported_expression(place, name)),
            _ if WITHOUT_EFFECT.contains(&name) => Ok(value),
            "embed" => self.embed(place, arguments, &value, embedded_type(&self.field.data_type, &[])).map(Some),
            "chunk" => {
                text()?;
                self.chunk(place, arguments)?;
                Ok(Some(DataType::Array(Arc::new(DataType::String))))
            }
            "lowercase" | "trim" => text().map(|()| Some(DataType::String)),
            "substring" => {
                text()?;
                let number = |argument: &Argument| match argument {
                    Argument::Number(digits) => digits.parse::<u32>().ok(),
                    _ => None,
                };
                match arguments.iter().map(number).collect::<Option<Vec<_>>>().as_deref() {
                    Some([from, to]) if from <= to => Ok(Some(DataType::String)),
                    _ => Err(self.reject(place, "substring is followed by its first character and one not before it")),
                }
            }
            "to_epoch_second" | "hexdecode" | "hex_decode" | "base64decode" => text().map(|()| Some(DataType::Long)),
            "hexencode" | "hex_encode" | "base64encode" => long().map(|()| Some(DataType::String)),
            "hash" => {
                text()?;
                self.hash(place).map(Some)
            }
            "now" => Ok(Some(DataType::Long)),
            "random" => match (arguments, &value) {
                ([Argument::Number(most)], _) if !matches!(most.parse::<i32>(), Ok(1..)) => {
                    Err(self.reject(place, "random is followed by a positive number"))
                }
                ([_], _) | ([], Some(DataType::Int)) => Ok(Some(DataType::Int)),
                _ => self.expect(place, name, &value, &DataType::Int).map(|()| Some(DataType::Int)),
            },
            "set_var" => {
                let Some(kept) = &value else { return Err(self.reject(place, "set_var needs a value")) };
                self.variables.borrow_mut().insert(name_of(arguments).to_owned(), kept.clone());
                Ok(value)
            }
            "get_var" => {
                let variable = name_of(arguments);
                let kept = self.variables.borrow().get(variable).cloned();
                let missing = || self.reject(place, &format!("Variable '{}' not found", Rejection::quote(variable)));
                kept.map(Some).ok_or_else(missing)
            }
            "get_field" | "get_value" => self.member(place, name, name_of(arguments), &value).map(Some),
            "binarize" | "pack_bits" => self.bits(place, name, &value).map(Some),
            "split" => {
                text()?;
                match arguments {
                    [Argument::Text(pattern)] => {
                        let compiled = Pattern::new(pattern, true);
                        compiled.map(|_| Some(DataType::Array(Arc::new(DataType::String)))).map_err(|fault| {
                            self.reject(place, &format!("split \"{}\": {fault}", Rejection::quote(pattern)))
                        })
                    }
                    _ => Err(self.reject(place, "split is followed by a text in quotes")),
                }
            }
            _ => self.conversion(place, name, arguments, value),
        }
    }

    fn conversion(&self, place: &SourcePlace, name: &str, arguments: &[Argument], value: MadeType) -> Checked {
        match name {
            "join" => match &value {
                Some(DataType::Array(_)) => Ok(Some(DataType::String)),
                _ => Err(self.reject(place, "join needs an array")),
            },
            "to_array" => value
                .map(|element| Some(DataType::Array(Arc::new(element))))
                .ok_or_else(|| self.reject(place, "to_array needs a value")),
            "to_wset" => self.weighted_set(place, arguments, value).map(Some),
            "to_uri" => self.expect(place, name, &value, &DataType::String).map(|()| Some(DataType::Uri)),
            "to_bool" => Ok(Some(DataType::Bool)),
            "to_byte" => Ok(Some(DataType::Byte)),
            "to_double" => Ok(Some(DataType::Double)),
            "to_float" => Ok(Some(DataType::Float)),
            "to_int" => Ok(Some(DataType::Int)),
            "to_long" => Ok(Some(DataType::Long)),
            "to_string" => Ok(Some(DataType::String)),
            "documentid" => Ok(Some(DataType::String)),
            other => Err(self.unsupported_expression(place, other)),
        }
    }

    /// The type of a hash: what the field's elements are.
    fn hash(&self, place: &SourcePlace) -> Result<DataType, Rejection> {
        match self.field.data_type.element() {
            made @ (DataType::Int | DataType::Long) => Ok(made.clone()),
            other => Err(self.reject(place, &format!("An {other} output is required, but this produces int or long"))),
        }
    }

    /// The type of a member of a struct, of an entry of a map, or of the value under a key of a map.
    fn member(&self, place: &SourcePlace, name: &str, of: &str, value: &MadeType) -> Result<DataType, Rejection> {
        let quoted = Rejection::quote(of);
        match (name, value) {
            ("get_field", Some(DataType::Struct(fields))) => fields
                .field(of)
                .map(|field| field.data_type.clone())
                .ok_or_else(|| self.reject(place, &format!("{} has no field '{quoted}'", type_text(value)))),
            ("get_field", Some(DataType::Map(key, _))) if of == "key" => Ok((**key).clone()),
            ("get_field", Some(DataType::Map(_, member))) if of == "value" => Ok((**member).clone()),
            ("get_value", Some(DataType::Map(key, member))) if **key == DataType::String => Ok((**member).clone()),
            ("get_value", Some(DataType::Map(..))) => {
                Err(self.unsupported_expression(place, "get_value of keys that are no text"))
            }
            ("get_value", _) => Err(self.reject(place, &format!("Expected a Map input, got {}", type_text(value)))),
            _ => Err(self.reject(place, &format!("Expected a struct input, got {}", type_text(value)))),
        }
    }

    /// The type of a tensor after `binarize` or `pack_bits`.
    fn bits(&self, place: &SourcePlace, name: &str, value: &MadeType) -> Result<DataType, Rejection> {
        let Some(DataType::Tensor(given)) = value else {
            let wanted = if name == "pack_bits" { "a tensor with one dense dimension" } else { "a tensor" };
            return Err(self.reject(place, &format!("Require {wanted}, but got {}", type_text(value))));
        };
        if name == "binarize" {
            return Ok(DataType::Tensor(given.clone()));
        }
        let packed = packed_type(given).ok_or_else(|| {
            self.reject(place, &format!("Require a tensor with one dense dimension, but got {}", type_text(value)))
        })?;
        let same = |other: &TensorType| other.dimensions == packed.dimensions;
        Ok(match &self.field.data_type {
            // Cells of another type hold the bytes as well.
            DataType::Tensor(target) if same(target) => DataType::Tensor(target.clone()),
            _ => DataType::Tensor(Arc::new(packed)),
        })
    }

    fn weighted_set(
        &self,
        place: &SourcePlace,
        arguments: &[Argument],
        value: MadeType,
    ) -> Result<DataType, Rejection> {
        let has = |setting: &str| arguments.iter().any(|one| matches!(one, Argument::Name(name) if name == setting));
        let known = ["create_if_non_existent", "remove_if_zero"];
        if arguments.iter().any(|one| !matches!(one, Argument::Name(name) if known.contains(&name.as_str()))) {
            return Err(self.reject(place, "to_wset is followed by create_if_non_existent, remove_if_zero, or nothing"));
        }
        let element = value.ok_or_else(|| self.reject(place, "to_wset needs a value"))?;
        // What increments do with the set is the field's to say.
        let (mut create, mut remove) = (has(known[0]), has(known[1]));
        if let DataType::WeightedSet { create_if_nonexistent, remove_if_zero, .. } = &self.field.data_type {
            (create, remove) = (*create_if_nonexistent, *remove_if_zero);
        }
        let element = Arc::new(element);
        Ok(DataType::WeightedSet { element, create_if_nonexistent: create, remove_if_zero: remove })
    }

    /// The type a language model is asked for.
    fn generate(&self, place: &SourcePlace, target: &DataType, value: &MadeType) -> Result<DataType, Rejection> {
        self.expect(place, "generate", value, &DataType::String)?;
        if !can_be_generated(target) {
            return Err(self.reject(place, &format!("a language model generates no value of type {target}")));
        }
        Ok(target.clone())
    }

    /// The type an embedder makes: that of the field, which must fit what it is given.
    fn embed(
        &self,
        place: &SourcePlace,
        arguments: &[Argument],
        value: &MadeType,
        target: Option<Arc<TensorType>>,
    ) -> Result<DataType, Rejection> {
        let Some(target) = target else {
            return Err(self.reject(place, "embed makes a tensor, which the field's type is not"));
        };
        let (mapped, indexed) = (target.mapped().count(), target.indexed().count());
        let (_, elements) = embed_arguments(arguments);
        // One vector; one for each token; a weight for each label; each of them once for every element of an array.
        let fits = |mapped: usize| matches!((mapped, indexed), (0 | 1, 1) | (1, 0));
        let names_elements = target.mapped().any(|dimension| dimension.name == elements) || mapped == 1;
        match value {
            Some(DataType::String) if fits(mapped) => {}
            Some(DataType::Array(of)) if **of == DataType::String && names_elements && fits(mapped - 1) => {}
            Some(DataType::Array(of)) if **of == DataType::String && mapped == 2 => {
                return Err(
                    self.reject(place, "embed is followed by the name of the dimension for the array's elements")
                );
            }
            Some(DataType::String | DataType::Array(_)) => {
                let text = format!("embed cannot make {} of {}", self.field.data_type, type_text(value));
                return Err(self.reject(place, &text));
            }
            _ => {
                return Err(
                    self.reject(place, &format!("embed needs a text or an array of texts, not {}", type_text(value)))
                );
            }
        }
        Ok(DataType::Tensor(target))
    }

    fn chunk(&self, place: &SourcePlace, arguments: &[Argument]) -> Result<(), Rejection> {
        match arguments {
            [Argument::Name(name)] if name == "sentence" || name == "fixed-length" => Ok(()),
            [Argument::Name(name), Argument::Number(length)] if name == "fixed-length" => match length.parse::<u32>() {
                Ok(1..) => Ok(()),
                _ => Err(self.reject(place, "the length of chunks is a positive number")),
            },
            _ => Err(self.reject(place, "chunk is followed by 'sentence', or by 'fixed-length' and a length")),
        }
    }

    fn condition(&self, condition: &Condition, value: MadeType) -> Checked {
        self.expression(&condition.left, value.clone())?;
        self.expression(&condition.right, value.clone())?;
        self.script(&condition.then, &value)?;
        condition.otherwise.iter().try_for_each(|otherwise| self.script(otherwise, &value))?;
        Ok(value)
    }

    fn choice(&self, of: &[Expression], value: &MadeType) -> Checked {
        let mut made: MadeType = None;
        for expression in of {
            let next = self.expression(expression, value.clone())?;
            match (&made, next) {
                (Some(first), Some(next)) if *first != next => {
                    return Err(self.reject(&expression.place, &format!("a choice between {first} and {next}")));
                }
                (None, next) => made = next,
                _ => {}
            }
        }
        Ok(made)
    }

    fn concatenation(&self, of: &[Expression], value: &MadeType) -> Checked {
        let kinds = of.iter().map(|expression| self.expression(expression, value.clone()));
        let kinds: Vec<MadeType> = kinds.collect::<Result<_, _>>()?;
        match &kinds[..] {
            [first @ Some(DataType::Array(_)), rest @ ..] if rest.iter().all(|kind| kind == first) => Ok(first.clone()),
            _ => Ok(Some(DataType::String)),
        }
    }

    fn output(&self, place: &SourcePlace, to: &str, value: MadeType) -> Checked {
        if to != self.field.name {
            return Err(self.unsupported_expression(place, &format!("an output to field '{}'", Rejection::quote(to))));
        }
        match &value {
            Some(made) if *made != self.field.data_type => {
                let text = format!("the field is of type {}, its script makes {made}", self.field.data_type);
                Err(self.reject(place, &text))
            }
            None => Err(self.reject(place, "there is no value to put out")),
            _ => Ok(value),
        }
    }

    fn input(&self, place: &SourcePlace, path: &str) -> Result<DataType, Rejection> {
        let mut parts = path.split('.');
        let name = parts.next().unwrap_or_default();
        let Some(field) = self.document.iter().find(|field| field.name == name) else {
            let hint = did_you_mean(name, self.document.iter().map(|field| field.name.as_str()));
            return Err(self.reject(place, &format!("the document has no field '{}'{hint}", Rejection::quote(name))));
        };
        let mut found = field.data_type.clone();
        for part in parts {
            let inner = match &found {
                DataType::Struct(of) => of.field(part).map(|field| field.data_type.clone()),
                _ => None,
            };
            let missing = || self.reject(place, &format!("{found} has no field '{}'", Rejection::quote(part)));
            found = inner.ok_or_else(missing)?;
        }
        Ok(found)
    }

    fn expect(&self, place: &SourcePlace, what: &str, value: &MadeType, wanted: &DataType) -> Result<(), Rejection> {
        if value.as_ref() == Some(wanted) {
            return Ok(());
        }
        Err(self.reject(place, &format!("{what} needs a value of type {wanted}, not {}", type_text(value))))
    }

    fn reject(&self, place: &SourcePlace, what: &str) -> Rejection {
        place.reject(format!("For schema '{}', field '{}': {what}", self.schema, self.field.name))
    }

    fn unsupported_expression(&self, place: &SourcePlace, what: &str) -> Rejection {
        let (schema, field) = (self.schema, &self.field.name);
        place.unsupported_here(format!("For schema '{schema}', field '{field}': indexing expression '{what}'"))
    }
}

/// The name that is a function's first argument.
fn name_of(arguments: &[Argument]) -> &str {
    embed_arguments(arguments).0
}

fn type_text(value: &MadeType) -> String {
    value.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

fn constant_type(constant: &Constant) -> DataType {
    match constant {
        Constant::Text(_) => DataType::String,
        Constant::Bool(_) => DataType::Bool,
        Constant::Int(_) => DataType::Int,
        Constant::Long(_) => DataType::Long,
        Constant::Float(_) => DataType::Float,
        Constant::Double(_) => DataType::Double,
    }
}

/// The type of the result of arithmetic: double if one is, then float, then long.
fn wider(left: DataType, right: DataType) -> DataType {
    let has = |wanted: &DataType| left == *wanted || right == *wanted;
    if has(&DataType::Double) {
        DataType::Double
    } else if has(&DataType::Float) || has(&DataType::Float16) {
        DataType::Float
    } else if has(&DataType::Long) {
        DataType::Long
    } else {
        DataType::Int
    }
}
