//! Scripts of fields outside the document: what they may do, and the types of what they make. A type is followed from
//! expression to expression, so that a feed can only fail by its values.
use std::sync::Arc;

use brooklet_document::DataType;
use brooklet_task::Rejection;

use super::analyze::WITHOUT_EFFECT;
use super::{Argument, Condition, Constant, Expression, ExpressionKind, Script, Statement};
use crate::field::Field;
use crate::generator::can_be_generated;
use crate::place::SourcePlace;
use crate::suggest::did_you_mean;

/// Characters with a meaning in a regular expression: `split` takes a plain text only.
const PATTERN_CHARACTERS: &[char] = &['\\', '^', '$', '.', '|', '?', '*', '+', '(', ')', '[', ']', '{', '}'];

/// The type of a value in a script; nothing where there is none yet, or where it depends on the branch taken.
type MadeType = Option<DataType>;
type Checked = Result<MadeType, Rejection>;

/// A field outside the document, and the fields its script may read.
pub(crate) struct MadeField<'a> {
    pub(crate) schema: &'a str,
    pub(crate) field: &'a Field,
    pub(crate) document: &'a [Field],
}

impl MadeField<'_> {
    /// Checks the field's script.
    ///
    /// # Errors
    /// If it reads a field that is not there, does what is not supported, or makes a value of another type.
    pub(crate) fn check(&self) -> Result<(), Rejection> {
        self.script(&self.field.script, &None)
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
            let after = rest.iter().find(|next| !matches!(next.kind, ExpressionKind::Output(..)));
            if let (ExpressionKind::Function("embed", _), Some(other)) = (&expression.kind, after) {
                return Err(self.unsupported(&other.place, &format!("{other}' after 'embed")));
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
            ExpressionKind::ForEach(statement) => match value {
                Some(DataType::Array(element)) => {
                    let made = self.statement(statement, Some((*element).clone()))?;
                    Ok(made.map(|made| DataType::Array(Arc::new(made))))
                }
                _ => Err(self.reject(place, "for_each needs an array")),
            },
            ExpressionKind::Function(name, arguments) => self.function(place, name, arguments, value),
        }
    }

    #[inline(never)]
    fn function(&self, place: &SourcePlace, name: &str, arguments: &[Argument], value: MadeType) -> Checked {
        let text = || self.expect(place, name, &value, &DataType::String);
        match name {
            _ if WITHOUT_EFFECT.contains(&name) => Ok(value),
            "embed" => self.embed(place, arguments, &value).map(Some),
            "chunk" => {
                text()?;
                self.chunk(place, arguments)?;
                Ok(Some(DataType::Array(Arc::new(DataType::String))))
            }
            "lowercase" | "trim" | "substring" => text().map(|()| Some(DataType::String)),
            "to_epoch_second" => text().map(|()| Some(DataType::Long)),
            "split" => {
                text()?;
                match arguments {
                    [Argument::Text(pattern)] if pattern.contains(PATTERN_CHARACTERS) => {
                        Err(self.unsupported(place, &format!("split \"{}\"", Rejection::quote(pattern))))
                    }
                    _ => Ok(Some(DataType::Array(Arc::new(DataType::String)))),
                }
            }
            "join" => match &value {
                Some(DataType::Array(_)) => Ok(Some(DataType::String)),
                _ => Err(self.reject(place, "join needs an array")),
            },
            "to_array" => value
                .map(|element| Some(DataType::Array(Arc::new(element))))
                .ok_or_else(|| self.reject(place, "to_array needs a value")),
            "to_bool" => Ok(Some(DataType::Bool)),
            "to_byte" => Ok(Some(DataType::Byte)),
            "to_double" => Ok(Some(DataType::Double)),
            "to_float" => Ok(Some(DataType::Float)),
            "to_int" => Ok(Some(DataType::Int)),
            "to_long" => Ok(Some(DataType::Long)),
            "to_string" => Ok(Some(DataType::String)),
            "documentid" => Ok(Some(DataType::String)),
            other => Err(self.unsupported(place, other)),
        }
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
    fn embed(&self, place: &SourcePlace, arguments: &[Argument], value: &MadeType) -> Result<DataType, Rejection> {
        let DataType::Tensor(target) = &self.field.data_type else {
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
                let text = format!("embed cannot make {} of {}", self.field.data_type, shown(value));
                return Err(self.reject(place, &text));
            }
            _ => {
                return Err(
                    self.reject(place, &format!("embed needs a text or an array of texts, not {}", shown(value)))
                );
            }
        }
        Ok(self.field.data_type.clone())
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
            return Err(self.unsupported(place, &format!("an output to field '{}'", Rejection::quote(to))));
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
        Err(self.reject(place, &format!("{what} needs a value of type {wanted}, not {}", shown(value))))
    }

    fn reject(&self, place: &SourcePlace, what: &str) -> Rejection {
        place.reject(format!("For schema '{}', field '{}': {what}", self.schema, self.field.name))
    }

    fn unsupported(&self, place: &SourcePlace, what: &str) -> Rejection {
        let (schema, field) = (self.schema, &self.field.name);
        place.unsupported(format!("For schema '{schema}', field '{field}': indexing expression '{what}'"))
    }
}

fn shown(value: &MadeType) -> String {
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

/// An embedding expression of a script: `embed [component] [dimension of the elements of an array]`.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbedCall {
    /// The component that embeds; empty if the only one is meant.
    pub embedder: String,
    /// Where it was written.
    pub place: SourcePlace,
}

/// A generating expression of a script: `generate [component]`.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateCall {
    /// The component that generates; empty if the only one is meant.
    pub generator: String,
    /// The type of the value it is to generate.
    pub target: DataType,
    /// Where it was written.
    pub place: SourcePlace,
}

/// The type of the value that `generate` makes, given what follows it in its statement: that of the field if it is put
/// out, otherwise a text.
#[must_use]
pub fn generated_type<'t>(field: &'t DataType, rest: &[Expression]) -> &'t DataType {
    match rest.first().map(|next| &next.kind) {
        Some(ExpressionKind::Output(..)) => field,
        _ => &DataType::String,
    }
}

/// The component that a `generate` names; empty where it names none.
#[must_use]
pub fn generate_argument(arguments: &[Argument]) -> &str {
    embed_arguments(arguments).0
}

impl Script {
    /// Whether a model has to be asked before its value can be made.
    #[must_use]
    pub fn asks_models(&self) -> bool {
        !self.embed_calls().is_empty() || !self.generate_calls(&DataType::String).is_empty()
    }

    /// What is cut into pieces, and how, as the canonical text of the script says it: the same for fields of the same
    /// pieces. Nothing where a script cuts nothing.
    #[must_use]
    pub fn pieces(&self) -> Option<String> {
        self.statements.iter().find_map(|Statement { expressions, .. }| {
            let cuts = |one: &Expression| matches!(one.kind, ExpressionKind::Function("chunk", _));
            let cut = expressions.iter().position(cuts)?;
            let steps: Vec<String> = expressions[..=cut].iter().map(ToString::to_string).collect();
            Some(steps.join(" | "))
        })
    }

    /// All generating expressions, at any depth, of the script of a field of that type.
    #[must_use]
    pub fn generate_calls(&self, field: &DataType) -> Vec<GenerateCall> {
        let mut calls = Vec::new();
        self.each_expression(&mut |expression, rest| {
            if let ExpressionKind::Function("generate", arguments) = &expression.kind {
                let (generator, target) =
                    (generate_argument(arguments).to_owned(), generated_type(field, rest).clone());
                calls.push(GenerateCall { generator, target, place: expression.place.clone() });
            }
        });
        calls
    }

    /// Shows every expression, at any depth, and what follows it in its statement.
    fn each_expression<'s>(&'s self, visit: &mut dyn FnMut(&'s Expression, &'s [Expression])) {
        self.statements.iter().for_each(|statement| walk(&statement.expressions, visit));
    }

    /// All embedding expressions, at any depth.
    #[must_use]
    pub fn embed_calls(&self) -> Vec<EmbedCall> {
        let mut calls = Vec::new();
        self.each_expression(&mut |expression, _| {
            if let ExpressionKind::Function("embed", arguments) = &expression.kind {
                let embedder = embed_arguments(arguments).0.to_owned();
                calls.push(EmbedCall { embedder, place: expression.place.clone() });
            }
        });
        calls
    }
}

/// Shows every expression of a statement, at any depth, and what follows it in its own statement.
fn walk<'s>(expressions: &'s [Expression], visit: &mut dyn FnMut(&'s Expression, &'s [Expression])) {
    for (index, expression) in expressions.iter().enumerate() {
        visit(expression, &expressions[index + 1..]);
        expression.kind.statements().into_iter().for_each(|inner| walk(&inner.expressions, visit));
        match &expression.kind {
            ExpressionKind::Choice(of) | ExpressionKind::Concatenate(of) => {
                of.iter().for_each(|one| walk(std::slice::from_ref(one), visit));
            }
            ExpressionKind::Arithmetic(_, left, right) => {
                [left, right].into_iter().for_each(|one| walk(std::slice::from_ref(one), visit));
            }
            ExpressionKind::If(condition) => {
                [&condition.left, &condition.right].into_iter().for_each(|one| walk(std::slice::from_ref(one), visit));
            }
            _ => {}
        }
    }
}

/// The component and the dimension of elements that an `embed` names; empty where it names none.
#[must_use]
pub fn embed_arguments(arguments: &[Argument]) -> (&str, &str) {
    let name = |index: usize| match arguments.get(index) {
        Some(Argument::Name(name)) => name.as_str(),
        _ => "",
    };
    (name(0), name(1))
}
