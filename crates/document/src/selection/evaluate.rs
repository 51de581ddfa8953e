//! Evaluates a selection on a document.
use std::borrow::Cow;

use brooklet_task::Rejection;

use super::bindings::{Budget, FUNCTION_BYTES, Outcomes, PLAIN_ELEMENTS, PatternWork, WILDCARD_BYTES, and, merge, or};
use super::datum::{Datum, calculate, call, compare};
use super::hash::{bucket, global_id_text};
use super::tree::{Comparison, FieldReference, IdPart, Literal, Node, Operator};
use super::{Outcome, Subject};
use crate::Location;

/// The outcome of the whole.
pub(super) fn evaluate(root: &Node, subject: &Subject) -> Result<Outcome, Rejection> {
    let mut evaluation = Evaluation { subject, budget: Budget::default(), work: PatternWork::default() };
    Ok(evaluation.logic(root)?.combine())
}

struct Evaluation<'a> {
    subject: &'a Subject<'a>,
    budget: Budget,
    work: PatternWork,
}

impl<'a> Evaluation<'a> {
    fn logic(&mut self, node: &'a Node) -> Result<Outcomes, Rejection> {
        match node {
            Node::Any(parts) => self.chain(parts, or, Outcome::True),
            Node::All(parts) => self.chain(parts, and, Outcome::False),
            Node::Not(inner) => Ok(match self.logic(inner)?.combine() {
                Outcome::True => Outcome::False.into(),
                Outcome::False => Outcome::True.into(),
                Outcome::Invalid => Outcome::Invalid.into(),
            }),
            Node::Compare(comparison) => self.comparison(comparison),
            Node::Type(name) => Ok(truth(self.subject.id.document_type() == name).into()),
            Node::Field(_) | Node::Id(_) => Ok(presence(&self.value(node)?).into()),
            value => Ok(match self.value(value)? {
                Datum::Int(0) => Outcome::False.into(),
                Datum::Float(number) => truth(number != 0.0).into(),
                other => presence(&other).into(),
            }),
        }
    }

    /// `and` or `or` over several; `decided` is the outcome that no further part can change.
    fn chain(
        &mut self,
        parts: &'a [Node],
        combine: fn(Outcome, Outcome) -> Outcome,
        decided: Outcome,
    ) -> Result<Outcomes, Rejection> {
        let Some((first, rest)) = parts.split_first() else { return Ok(decided.into()) };
        let mut outcomes = self.logic(first)?;
        for part in rest {
            if decided == Outcome::False && outcomes.combine() == Outcome::False {
                return Ok(Outcome::False.into());
            }
            if decided == Outcome::True && outcomes.combine() == Outcome::True {
                return Ok(Outcome::True.into());
            }
            let other = self.logic(part)?;
            outcomes = outcomes.with(&other, combine, &mut self.budget)?;
        }
        Ok(outcomes)
    }

    fn comparison(&mut self, comparison: &'a Comparison) -> Result<Outcomes, Rejection> {
        let outcomes = self.compare(comparison)?;
        self.work.check()?;
        Ok(outcomes)
    }

    fn compare(&mut self, comparison: &'a Comparison) -> Result<Outcomes, Rejection> {
        let left = self.value(&comparison.left)?;
        take_each(&left, &mut self.budget)?;
        if let (Some(pattern), Operator::Regex) = (&comparison.pattern, comparison.operator) {
            return Ok(each(&left, &mut |datum| match datum {
                Datum::Text(text) => truth(self.work.is_in(pattern, text)),
                _ => Outcome::Invalid,
            }));
        }
        let right = self.value(&comparison.right)?;
        take_each(&right, &mut self.budget)?;
        let operator = comparison.operator;
        if operator == Operator::Glob {
            self.budget.take(text_bytes(&left) / WILDCARD_BYTES)?;
        }
        let work = &self.work;
        match (&left, &right) {
            (Datum::Many(lefts), Datum::Many(rights)) => {
                self.budget.take(lefts.len().saturating_mul(rights.len()))?;
                let mut outcomes = Outcomes::none();
                for (bindings, left) in lefts {
                    for (others, right) in rights {
                        if let Some(both) = merge(bindings, others) {
                            outcomes.add(both, compare_nested(operator, left, right, work));
                        }
                    }
                }
                Ok(outcomes)
            }
            (Datum::Many(_), right) => Ok(each(&left, &mut |left| compare_nested(operator, left, right, work))),
            (left, Datum::Many(_)) => Ok(each(&right, &mut |right| compare_nested(operator, left, right, work))),
            (left, right) => Ok(compare(operator, left, right, work).into()),
        }
    }

    fn value(&mut self, node: &'a Node) -> Result<Datum<'a>, Rejection> {
        Ok(match node {
            Node::Literal(literal) => match literal {
                Literal::Null => Datum::Null,
                Literal::Bool(flag) => Datum::Int(i64::from(*flag)),
                Literal::Int(number) => Datum::Int(*number),
                Literal::Float(number) => Datum::Float(*number),
                Literal::Text(text) => Datum::Text(Cow::Borrowed(text)),
            },
            Node::Now => Datum::Int(self.subject.now),
            Node::Id(part) => self.id(*part),
            Node::Field(reference) => self.field(reference),
            Node::Version(types) if types.contains(self.subject.id.document_type()) => Datum::Int(0),
            Node::Chain(first, rest) => {
                let mut value = self.value(first)?;
                for (operator, operand) in rest {
                    let operand = self.value(operand)?;
                    value = calculate(*operator, value, operand)?;
                }
                value
            }
            Node::Call(argument, functions) => {
                let mut argument = self.value(argument)?;
                for function in functions {
                    self.budget.take(text_bytes(&argument) / FUNCTION_BYTES)?;
                    argument = call(*function, argument);
                }
                argument
            }
            // What is true or false is no value: nothing compares with it.
            Node::Any(_) | Node::All(_) | Node::Not(_) | Node::Compare(_) | Node::Type(_) | Node::Version(_) => {
                Datum::Invalid
            }
        })
    }

    fn field(&self, reference: &'a FieldReference) -> Datum<'a> {
        if !reference.types.contains(self.subject.id.document_type()) {
            return Datum::Invalid;
        }
        match self.subject.fields.iter().find(|(name, _)| *name == reference.path.field) {
            Some((_, value)) => Datum::at(value, &reference.path.steps),
            None => Datum::Null,
        }
    }

    fn id(&self, part: IdPart) -> Datum<'a> {
        let id = self.subject.id;
        let text = |text: &'a str| Datum::Text(Cow::Borrowed(text));
        match (part, id.location()) {
            (IdPart::Whole, _) => text(id.as_str()),
            (IdPart::Scheme, _) => text("id"),
            (IdPart::Namespace, _) => text(id.namespace()),
            (IdPart::Type, _) => text(id.document_type()),
            (IdPart::Specific, _) => text(id.local()),
            (IdPart::User, Location::Number(number)) => Datum::Int(*number),
            (IdPart::Group, Location::Group(group)) => text(group),
            (IdPart::User | IdPart::Group, _) => Datum::Invalid,
            (IdPart::Bucket, _) => Datum::Bucket(bucket(id)),
            (IdPart::Gid, _) => Datum::Text(Cow::Owned(global_id_text(id))),
        }
    }
}

fn truth(holds: bool) -> Outcome {
    if holds { Outcome::True } else { Outcome::False }
}

/// Takes from the budget what it costs to compare every one of several values.
fn take_each(datum: &Datum, budget: &mut Budget) -> Result<(), Rejection> {
    let Datum::Many(values) = datum else { return Ok(()) };
    let is_bound = values.first().is_some_and(|(bindings, _)| !bindings.is_empty());
    budget.take(if is_bound { values.len() } else { values.len() / PLAIN_ELEMENTS })?;
    values.iter().try_for_each(|(_, value)| take_each(value, budget))
}

/// Bytes of the text that a value is, or of those that several are.
fn text_bytes(datum: &Datum) -> usize {
    match datum {
        Datum::Text(text) => text.len(),
        Datum::Many(values) => values.iter().map(|(_, value)| text_bytes(value)).sum(),
        _ => 0,
    }
}

/// The outcome of a comparison of every one of several values, or of the only one.
fn each(datum: &Datum, outcome: &mut dyn FnMut(&Datum) -> Outcome) -> Outcomes {
    let Datum::Many(values) = datum else { return outcome(datum).into() };
    let mut outcomes = Outcomes::none();
    for (bindings, value) in values {
        let found = match value {
            Datum::Many(_) => each(value, outcome).combine(),
            single => outcome(single),
        };
        outcomes.add(bindings.clone(), found);
    }
    outcomes
}

/// A comparison whose sides may be collections in collections: true if any element matches.
fn compare_nested(operator: Operator, left: &Datum, right: &Datum, work: &PatternWork) -> Outcome {
    match (left, right) {
        (Datum::Many(_), right) => each(left, &mut |left| compare_nested(operator, left, right, work)).combine(),
        (left, Datum::Many(_)) => each(right, &mut |right| compare_nested(operator, left, right, work)).combine(),
        (left, right) => compare(operator, left, right, work),
    }
}

/// What a field or an id says where true or false is expected: whether it is there.
fn presence(datum: &Datum) -> Outcome {
    match datum {
        Datum::Invalid => Outcome::Invalid,
        Datum::Null => Outcome::False,
        _ => Outcome::True,
    }
}
