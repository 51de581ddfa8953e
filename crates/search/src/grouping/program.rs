//! Expressions bound to a schema, and their evaluation over one document.
use std::rc::Rc;

use brooklet_document::selection::md5;
use brooklet_kernel::sort_by;
use brooklet_query::grouping::tree::{Function, Math, Time};

use super::datum::{Datum, general};
use super::inputs::{Inputs, Selection};
use super::numeric::Operator;
use super::spec::Type;
use super::{numeric, time};
use crate::plan::collation::Collation;

/// A bound expression with its type.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) node: Node,
    pub(crate) of: Type,
    /// Whether it may yield several values.
    pub(crate) several: bool,
}

/// A node of a bound expression.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Constant(Datum),
    /// Index of an input.
    Input(usize),
    Relevance,
    DocumentId,
    /// Joins its arguments from the left, in whole numbers or not.
    Numeric(Operator, bool, Vec<Node>),
    /// The mean of its arguments.
    Mean(Vec<Node>),
    Negate(Box<Node>),
    /// Least or greatest of texts.
    Extreme(bool, Vec<Node>),
    Math(Math, Vec<Node>),
    Time(Time, Box<Node>),
    /// All elements of all arguments, one after the other: as texts, or in their binary form.
    Join(Vec<Node>, bool),
    Length(Box<Node>),
    ToDouble(Box<Node>),
    ToLong(Box<Node>),
    ToText(Box<Node>),
    /// The text of a value as bytes.
    ToRaw(Box<Node>),
    /// The last bytes of a whole number: its binary form where its type has fewer than eight.
    Narrow(usize, Box<Node>),
    Size(Box<Node>),
    Sort(Box<Node>),
    Reverse(Box<Node>),
    Subject(Box<Node>),
    /// Longitude or, if set, latitude of a place on the curve.
    Curve(bool, Box<Node>),
    Md5(usize, Box<Node>),
    /// What texts are ordered by in a language.
    Collate(Collation, Box<Node>),
    XorBits(usize, Box<Node>),
    At(Box<Node>, Box<Node>),
    Lookup(Box<Node>, Box<Node>),
    /// From places (two numbers each) to a place, in miles if set.
    Distance(Box<Node>, Box<[Node; 2]>, bool),
}

/// The document that is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Document<'a> {
    pub(crate) inputs: &'a Inputs,
    /// Its place in the inputs.
    pub(crate) at: usize,
    pub(crate) score: f64,
    /// Seconds added to times.
    pub(crate) zone: i64,
    /// The elements of a field that are looked at instead of all.
    pub(crate) selection: Option<&'a Selection<'a>>,
}

impl Node {
    /// The value for a document.
    pub(crate) fn value(&self, of: &Document<'_>) -> Datum {
        match self {
            Node::Constant(value) => value.clone(),
            Node::Input(index) => of.inputs.value(*index, of.at, of.selection),
            Node::Relevance => Datum::Double(of.score),
            Node::DocumentId => Datum::text(id_part(of.inputs.id(of.at))),
            Node::Numeric(operator, double, arguments) => {
                join_values(arguments, of, &|a, b| numeric::apply(*operator, *double, a, b), &|value| {
                    if *double { Datum::Double(value.double()) } else { Datum::Long(value.long()) }
                })
            }
            Node::Mean(arguments) => {
                let add = |a: &Datum, b: &Datum| Datum::Double(a.double() + b.double());
                let count = arguments.len() as f64;
                let sum = join_values(arguments, of, &add, &|value| Datum::Double(value.double()));
                each(&sum, &|value| Datum::Double(value.double() / count))
            }
            Node::Negate(value) => each(&value.value(of), &numeric::negate),
            Node::Extreme(greatest, arguments) => join_values(
                arguments,
                of,
                &|a, b| if (b.compare(a).is_gt()) == *greatest { b.clone() } else { a.clone() },
                &Datum::clone,
            ),
            Node::Join(arguments, raw) => {
                let mut bytes = Vec::new();
                for argument in arguments {
                    let value = argument.value(of);
                    if *raw {
                        value.binary(&mut bytes);
                    } else {
                        value.elements().iter().for_each(|element| bytes.extend_from_slice(&element.bytes()));
                    }
                }
                if *raw { Datum::Raw(Rc::from(bytes)) } else { Datum::Text(Rc::from(bytes)) }
            }
            Node::Size(value) => match value.value(of) {
                Datum::Several(values) => Datum::Long(values.len() as i64),
                Datum::Nothing => Datum::Long(0),
                _ => Datum::Long(1),
            },
            Node::Sort(value) => arrange_list(value.value(of), |values| sort_by(values, Datum::compare)),
            Node::Reverse(value) => arrange_list(value.value(of), <[Datum]>::reverse),
            Node::At(values, index) => element(&values.value(of), index.value(of).long()),
            Node::Lookup(values, at) => {
                let values = values.value(of);
                each(&at.value(of), &|at| Datum::Double(numeric::lookup(values.elements(), at.double())))
            }
            Node::Distance(places, from, miles) => {
                let from = [from[0].value(of).double(), from[1].value(of).double()];
                numeric::distance(&places.value(of), from, *miles)
            }
            _ => self.unary(of),
        }
    }

    /// Functions of each element.
    fn unary(&self, of: &Document<'_>) -> Datum {
        match self {
            Node::Math(function, arguments) => match &arguments[..] {
                [a, b] => pairs(&a.value(of), &b.value(of), &|a, b| {
                    Datum::Double(numeric::math(*function, a.double(), b.double()))
                }),
                _ => each(&arguments[0].value(of), &|a| Datum::Double(numeric::math(*function, a.double(), 0.0))),
            },
            Node::Time(part, value) => {
                each(&value.value(of), &|value| time::part(*part, value.long().saturating_add(of.zone)))
            }
            Node::Length(value) => each(&value.value(of), &|value| Datum::Long(value.bytes().len() as i64)),
            Node::ToDouble(value) => each(&value.value(of), &|value| Datum::Double(value.double())),
            Node::ToLong(value) => each(&value.value(of), &|value| Datum::Long(value.long())),
            Node::ToText(value) => each(&value.value(of), &|value| Datum::Text(value.bytes())),
            Node::ToRaw(value) => each(&value.value(of), &|value| Datum::Raw(value.bytes())),
            Node::Narrow(bytes, value) => {
                each(&value.value(of), &|value| Datum::Raw(Rc::from(&value.long().to_be_bytes()[8 - bytes..])))
            }
            Node::Subject(value) => each(&value.value(of), &|value| Datum::Text(subject(&value.bytes()))),
            Node::Curve(latitude, value) => {
                each(&value.value(of), &|value| Datum::Long(numeric::on_curve(value.long(), *latitude)))
            }
            Node::Collate(collation, value) => each(&value.value(of), &|value| {
                let mut key = collation.key(&String::from_utf8_lossy(&value.bytes()));
                // As ICU closes a key: ids and lengths have this byte too.
                key.push(0);
                Datum::Raw(Rc::from(key))
            }),
            Node::Md5(bytes, value) => Datum::Raw(Rc::from(&md5(&binary(&value.value(of)))[..*bytes])),
            Node::XorBits(bytes, value) => {
                let (binary, mut out) = (binary(&value.value(of)), vec![0; *bytes]);
                let mut whole = binary.chunks_exact(*bytes);
                for part in &mut whole {
                    out.iter_mut().zip(part).for_each(|(out, byte)| *out ^= byte);
                }
                // What is left over takes the place of the first bytes: the content node does not join it in.
                let rest = whole.remainder();
                out[..rest.len()].copy_from_slice(rest);
                Datum::Raw(Rc::from(out))
            }
            _ => Datum::Nothing,
        }
    }

    /// The inputs it reads.
    pub(crate) fn inputs(&self, found: &mut Vec<usize>) {
        if let Node::Input(index) = self {
            found.push(*index);
        }
        self.children().into_iter().for_each(|child| child.inputs(found));
    }

    /// Whether it holds a node for which `is` is true.
    pub(crate) fn holds(&self, is: &dyn Fn(&Node) -> bool) -> bool {
        is(self) || self.children().into_iter().any(|child| child.holds(is))
    }

    fn children(&self) -> Vec<&Node> {
        match self {
            Node::Constant(_) | Node::Input(_) | Node::Relevance | Node::DocumentId => Vec::new(),
            Node::Numeric(_, _, nodes)
            | Node::Mean(nodes)
            | Node::Extreme(_, nodes)
            | Node::Math(_, nodes)
            | Node::Join(nodes, _) => nodes.iter().collect(),
            Node::At(a, b) | Node::Lookup(a, b) => vec![a, b],
            Node::Distance(a, point, _) => vec![a, &point[0], &point[1]],
            Node::Negate(of)
            | Node::Time(_, of)
            | Node::Length(of)
            | Node::ToDouble(of)
            | Node::ToLong(of)
            | Node::ToText(of)
            | Node::ToRaw(of)
            | Node::Narrow(_, of)
            | Node::Size(of)
            | Node::Sort(of)
            | Node::Reverse(of)
            | Node::Subject(of)
            | Node::Curve(_, of)
            | Node::Md5(_, of)
            | Node::Collate(_, of)
            | Node::XorBits(_, of) => vec![of],
        }
    }
}

/// `function` of every element.
pub(crate) fn each(value: &Datum, function: &dyn Fn(&Datum) -> Datum) -> Datum {
    match value {
        Datum::Nothing => Datum::Nothing,
        Datum::Several(values) => Datum::several(values.iter().map(function).collect()),
        single => function(single),
    }
}

/// Joins the values of arguments from the left, each of them converted, what has no partner too.
fn join_values(
    arguments: &[Node],
    of: &Document<'_>,
    join: &dyn Fn(&Datum, &Datum) -> Datum,
    convert: &dyn Fn(&Datum) -> Datum,
) -> Datum {
    let mut values = arguments.iter().map(|argument| each(&argument.value(of), convert));
    let first = values.next().unwrap_or(Datum::Nothing);
    values.fold(first, |left, right| pairs(&left, &right, join))
}

/// Joins two values element by element. One element goes with all of the other side; else the tail of the longer side is
/// taken as it is. An empty right side changes nothing, and an empty left side stays empty beside one element.
pub(crate) fn pairs(left: &Datum, right: &Datum, join: &dyn Fn(&Datum, &Datum) -> Datum) -> Datum {
    if !matches!((left, right), (Datum::Several(_), _) | (_, Datum::Several(_))) {
        return match (left, right) {
            (Datum::Nothing, _) | (_, Datum::Nothing) => Datum::Nothing,
            (left, right) => join(left, right),
        };
    }
    let (lefts, rights) = (left.elements(), right.elements());
    let values = match (lefts, rights) {
        (_, []) => return left.clone(),
        ([], [_]) => Vec::new(),
        (lefts, [right]) => lefts.iter().map(|left| join(left, right)).collect(),
        ([left], rights) => rights.iter().map(|right| join(left, right)).collect(),
        (lefts, rights) => {
            let mut values: Vec<Datum> = lefts.iter().zip(rights).map(|(left, right)| join(left, right)).collect();
            let tail = if lefts.len() > rights.len() { &lefts[rights.len()..] } else { &rights[lefts.len()..] };
            values.extend_from_slice(tail);
            values
        }
    };
    Datum::several(values)
}

fn arrange_list(value: Datum, arrange: impl FnOnce(&mut [Datum])) -> Datum {
    let Datum::Several(values) = value else { return value };
    let mut values = values.to_vec();
    arrange(&mut values);
    Datum::several(values)
}

fn element(values: &Datum, index: i64) -> Datum {
    let values = values.elements();
    let last = values.len().saturating_sub(1);
    values.get(usize::try_from(index).unwrap_or(0).min(last)).cloned().unwrap_or(Datum::Nothing)
}

/// The binary form of a value; of several that of each, one after the other.
fn binary(value: &Datum) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.binary(&mut bytes);
    bytes
}

/// Without the prefix that an answer or a forwarded mail has: `Re: `, `RE: `, `Fw: `, `Fwd: ` and their like.
fn subject(text: &Rc<[u8]>) -> Rc<[u8]> {
    let length = match &text[..] {
        [b'R', b'e' | b'E', b':', b' ', ..] | [b'F', b'w' | b'W', b':', b' ', ..] => 4,
        [b'F', b'w' | b'W', b'd' | b'D', b':', b' ', ..] => 5,
        _ => return text.clone(),
    };
    Rc::from(&text[length..])
}

/// The part of a document id that the user chose.
fn id_part(id: &str) -> &str {
    id.splitn(5, ':').nth(4).unwrap_or(id)
}

/// A value as a filter matches it: the text of a number is that of C.
pub(crate) fn matched_text(value: &Datum) -> String {
    match value {
        Datum::Double(value) => general(*value),
        value => String::from_utf8_lossy(&value.bytes()).into_owned(),
    }
}

/// The operator of a function that joins numbers, if it is one.
pub(crate) fn operator(function: Function) -> Option<Operator> {
    Some(match function {
        Function::Add => Operator::Add,
        Function::Sub => Operator::Sub,
        Function::Mul => Operator::Mul,
        Function::Div => Operator::Div,
        Function::Mod => Operator::Mod,
        Function::Min => Operator::Min,
        Function::Max => Operator::Max,
        Function::And => Operator::And,
        Function::Or => Operator::Or,
        Function::Xor => Operator::Xor,
        _ => return None,
    })
}
