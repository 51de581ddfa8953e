//! Binds requests to a schema: fields are found, types are checked. What does not fit is told, and the request is left out
//! for that schema, as the reference's content node does.
use std::rc::Rc;

use brooklet_document::DataType;
use brooklet_query::grouping::GroupValue;
use brooklet_query::grouping::tree::{Expression, ExpressionKind, Function, MapKey, Number, Path};
use brooklet_segment::layout::ColumnKind;
use brooklet_task::{Code, Rejection, Span, limits};

use super::bound::{BoundGrouping, BoundList, BoundTable, Classifier, failures};
use super::datum::Datum;
use super::program::{Node, Program, operator};
use super::spec::{From, InputSpec, Type, ValueStep};
use super::template::{ListTemplate, Template};
use super::walk::{Walk, type_of, width_of};
use crate::deployed::DeployedSchema;
use crate::plan::collation;
use crate::plan::collation::{Collation, Strength};

/// Why a request cannot be bound.
pub(crate) enum Fault {
    /// To this schema; the rest is answered.
    Unfit(String),
    /// At all.
    Refused(Rejection),
}

pub(super) type Bind<T> = Result<T, Fault>;

/// Binds a request. `text` is what it was parsed from.
#[inline(never)]
pub(crate) fn bind(templates: &[Template], schema: &DeployedSchema, text: &str, now: i64) -> Bind<BoundGrouping> {
    let mut binder = Binder { leaves: Leaves::Schema(schema), text, now, bound: BoundGrouping::default() };
    for template in templates {
        let totals = template.totals.iter().map(|total| match &total.what {
            GroupValue::Count | GroupValue::CountGroups(_) => Ok(None),
            GroupValue::Aggregate(_, of) => binder.program(of).map(Some),
            GroupValue::Quantiles(_, of) => {
                let program = binder.program(of)?;
                binder.numbers(std::slice::from_ref(&program), of)?;
                Ok(Some(program))
            }
        });
        let totals = totals.collect::<Bind<_>>()?;
        let lists = template.lists.iter().map(|list| binder.list(list)).collect::<Bind<_>>()?;
        binder.bound.tables.push(BoundTable { totals, lists });
    }
    let mut bound = binder.bound;
    let is_id = |node: &Node| matches!(node, Node::DocumentId);
    let with_ids = programs(&bound).any(|program| program.node.holds(&is_id));
    bound.with_ids = with_ids;
    go_along(&mut bound);
    bound.failures = failures(&bound);
    Ok(bound)
}

/// Binds an expression of aggregates, whose values are the inputs.
pub(crate) fn bind_order(
    template: &Template,
    types: &[Type],
    expression: &Expression,
    now: i64,
) -> Result<Program, Rejection> {
    let leaves = Leaves::Totals(template, types);
    let mut binder = Binder { leaves, text: "", now, bound: BoundGrouping::default() };
    binder.program(expression).map_err(|fault| match fault {
        Fault::Unfit(message) => Rejection::new(Code::BadRequest, message),
        Fault::Refused(rejection) => rejection,
    })
}

fn programs(bound: &BoundGrouping) -> impl Iterator<Item = &Program> {
    bound.tables.iter().flat_map(|table| {
        let lists = table.lists.iter().flat_map(|list| {
            let mut filters = Vec::new();
            list.filter.iter().for_each(|filter| filter.programs(&mut filters));
            filters.push(list.by.program());
            filters
        });
        table.totals.iter().flatten().chain(lists)
    })
}

/// Finds out, once all inputs are known, which lists go through a field element by element.
fn go_along(bound: &mut BoundGrouping) {
    let BoundGrouping { inputs, tables, .. } = bound;
    for list in tables.iter_mut().flat_map(|table| &mut table.lists) {
        let program = list.by.program();
        let moved = |node: &Node| matches!(node, Node::Sort(_) | Node::Reverse(_));
        let mut read = Vec::new();
        program.node.inputs(&mut read);
        read.retain(|input| inputs[*input].several);
        let field = read.first().map(|input| inputs[*input].field.clone());
        let Some(field) = field.filter(|_| program.several && !program.node.holds(&moved)) else { continue };
        if read.iter().any(|input| inputs[*input].field != field) {
            continue;
        }
        let along: Vec<usize> =
            (0..inputs.len()).filter(|input| inputs[*input].several && inputs[*input].field == field).collect();
        let mut filtered = Vec::new();
        let mut of_filter = Vec::new();
        list.filter.iter().for_each(|filter| filter.programs(&mut of_filter));
        of_filter.iter().for_each(|program| program.node.inputs(&mut filtered));
        list.filter_each = filtered.iter().any(|input| along.contains(input));
        list.in_step =
            along.iter().any(|input| matches!(&inputs[*input].from, From::Source(steps) if !steps.is_empty()));
        list.along = Some(Rc::from(along));
    }
}

enum Leaves<'a> {
    Schema(&'a DeployedSchema),
    Totals(&'a Template, &'a [Type]),
}

pub(super) struct Binder<'a> {
    leaves: Leaves<'a>,
    text: &'a str,
    now: i64,
    bound: BoundGrouping,
}

impl Binder<'_> {
    fn unfit(&self, of: &Expression, message: &str) -> Fault {
        let span = Span::locate(self.text, of.place.start);
        Fault::Unfit(format!("{message} (line {}, column {})", span.line, span.column))
    }

    pub(super) fn refuse(&self, of: &Expression, code: Code, message: String) -> Fault {
        Fault::Refused(Rejection::at(code, message, self.text, of.place.start))
    }

    fn list(&mut self, list: &ListTemplate) -> Bind<BoundList> {
        let by = self.classifier(&list.by)?;
        let filter = list.filter.as_ref().map(|filter| self.filter(filter)).transpose()?;
        Ok(BoundList { by, filter, along: None, in_step: false, filter_each: false })
    }

    fn classifier(&mut self, by: &Expression) -> Bind<Classifier> {
        match &by.kind {
            ExpressionKind::FixedWidth(of, width) => {
                let program = self.program(of)?;
                match program.of {
                    Type::Long => {
                        let width = match width {
                            Number::Long(width) => *width,
                            Number::Double(width) => super::datum::round(*width),
                        };
                        Ok(Classifier::LongWidth(program, width))
                    }
                    Type::Double => {
                        let width = match width {
                            Number::Long(width) => *width as f64,
                            Number::Double(width) => *width,
                        };
                        Ok(Classifier::DoubleWidth(program, width))
                    }
                    _ => Err(self.unfit(of, &format!("fixedwidth takes a number, which '{of}' is not"))),
                }
            }
            ExpressionKind::Predefined(of, buckets) => Ok(Classifier::Buckets(self.program(of)?, buckets.clone())),
            _ => Ok(Classifier::Value(self.program(by)?)),
        }
    }

    /// Requires numbers.
    fn numbers(&self, programs: &[Program], of: &Expression) -> Bind<()> {
        match programs.iter().all(|program| program.of.is_number()) {
            true => Ok(()),
            false => Err(self.unfit(of, &format!("'{of}' is made of something that is no number"))),
        }
    }

    pub(super) fn program(&mut self, of: &Expression) -> Bind<Program> {
        let single = |node: Node, of: Type| Program { node, of, several: false };
        Ok(match &of.kind {
            ExpressionKind::Number(Number::Long(value)) => single(Node::Constant(Datum::Long(*value)), Type::Long),
            ExpressionKind::Number(Number::Double(value)) => {
                single(Node::Constant(Datum::Double(*value)), Type::Double)
            }
            ExpressionKind::Text(text) => single(Node::Constant(Datum::text(text)), Type::Text),
            ExpressionKind::Now => single(Node::Constant(Datum::Long(self.now)), Type::Long),
            ExpressionKind::Relevance => single(Node::Relevance, Type::Double),
            ExpressionKind::DocumentIdSpecific => single(Node::DocumentId, Type::Text),
            ExpressionKind::Field(path, _) => self.field(path, of)?,
            ExpressionKind::Call(function, arguments) => self.call(*function, arguments, of)?,
            ExpressionKind::DebugWait(inner, ..) => self.program(inner)?,
            ExpressionKind::Md5(inner, bits) => {
                let bytes = (bits.clamp(&0, &128).unsigned_abs() as usize).div_ceil(8);
                let inner = self.binary(inner)?;
                single(Node::Md5(bytes, Box::new(inner.node)), Type::Raw)
            }
            ExpressionKind::XorBit(inner, bits) => {
                let bytes = bits.unsigned_abs() as usize / 8 + usize::from(bits % 8 != 0);
                if *bits < 1 || bytes > limits::GROUPING_BYTES {
                    let message = format!("xorbit takes 1 to {} bits, not {bits}", 8 * limits::GROUPING_BYTES);
                    return Err(self.refuse(of, Code::BadRequest, message));
                }
                let inner = self.binary(inner)?;
                single(Node::XorBits(bytes, Box::new(inner.node)), Type::Raw)
            }
            ExpressionKind::ArrayAt(path, index) => {
                let (values, index) = (self.field(path, of)?, self.program(index)?);
                single(Node::At(Box::new(values.node), Box::new(index.node)), values.of)
            }
            ExpressionKind::InterpolatedLookup(path, at) => {
                let (values, at) = (self.field(path, of)?, self.program(at)?);
                let several = at.several;
                Program { node: Node::Lookup(Box::new(values.node), Box::new(at.node)), of: Type::Double, several }
            }
            ExpressionKind::GeoDistance(path, point, miles) => {
                let places = self.places(path, of)?;
                let point = Box::new([self.program(&point[0])?.node, self.program(&point[1])?.node]);
                single(Node::Distance(Box::new(places), point, *miles), Type::Double)
            }
            ExpressionKind::Uca(inner, locale, strength) => {
                let strength = strength.as_deref().map_or(Strength::Primary, collation::named_strength);
                let collation = Collation::new(locale, strength)
                    .map_err(|rejection| self.refuse(of, rejection.code, rejection.message))?;
                self.unary(inner, Some(Type::Raw), |node| Node::Collate(collation, node))?
            }
            ExpressionKind::FixedWidth(..) | ExpressionKind::Predefined(..) => {
                let message = format!("'{of}' can only be what group(…) groups by");
                return Err(self.refuse(of, Code::BadRequest, message));
            }
            ExpressionKind::Count
            | ExpressionKind::Aggregate(..)
            | ExpressionKind::Quantiles(..)
            | ExpressionKind::Summary(_) => self.total(of)?,
        })
    }

    /// An aggregate, where expressions are made of them.
    fn total(&self, of: &Expression) -> Bind<Program> {
        if let Leaves::Totals(template, types) = &self.leaves
            && let Some(index) = template.total_of(of)
        {
            return Ok(Program { node: Node::Input(index), of: types[index], several: false });
        }
        Err(self.refuse(of, Code::BadRequest, format!("Expression '{of}' not applicable for single hit.")))
    }

    fn unary(&mut self, of: &Expression, to: Option<Type>, make: impl FnOnce(Box<Node>) -> Node) -> Bind<Program> {
        let inner = self.program(of)?;
        Ok(Program { node: make(Box::new(inner.node)), of: to.unwrap_or(inner.of), several: inner.several })
    }

    /// An expression whose binary form is asked for: the whole numbers of a field have the width of its type, what is
    /// calculated has eight bytes.
    fn binary(&mut self, of: &Expression) -> Bind<Program> {
        let program = self.program(of)?;
        let bytes = self.width(&program.node);
        if program.of != Type::Long || bytes >= 8 {
            return Ok(program);
        }
        Ok(Program { node: Node::Narrow(bytes, Box::new(program.node)), of: Type::Raw, several: program.several })
    }

    /// Bytes of a whole number that a node yields.
    fn width(&self, node: &Node) -> usize {
        match node {
            Node::Input(index) => self.bound.inputs.get(*index).map_or(8, |input| input.bytes),
            Node::Sort(of) | Node::Reverse(of) | Node::At(of, _) => self.width(of),
            _ => 8,
        }
    }

    fn call(&mut self, function: Function, arguments: &[Expression], of: &Expression) -> Bind<Program> {
        let first = &arguments[0];
        match function {
            Function::StrLen => self.unary(first, Some(Type::Long), Node::Length),
            Function::ToDouble => self.unary(first, Some(Type::Double), Node::ToDouble),
            Function::ToLong => self.unary(first, Some(Type::Long), Node::ToLong),
            Function::ToString => self.unary(first, Some(Type::Text), Node::ToText),
            Function::ToRaw => self.unary(first, Some(Type::Raw), Node::ToRaw),
            Function::Sort => self.unary(first, None, Node::Sort),
            Function::Reverse => self.unary(first, None, Node::Reverse),
            Function::NormalizeSubject => self.unary(first, Some(Type::Text), Node::Subject),
            Function::ZCurveX => self.unary(first, Some(Type::Long), |node| Node::Curve(false, node)),
            Function::ZCurveY => self.unary(first, Some(Type::Long), |node| Node::Curve(true, node)),
            Function::Time(part) => {
                let of_part = if part == brooklet_query::grouping::tree::Time::Date { Type::Text } else { Type::Long };
                self.unary(first, Some(of_part), |node| Node::Time(part, node))
            }
            Function::Size => {
                let inner = self.program(first)?;
                Ok(Program { node: Node::Size(Box::new(inner.node)), of: Type::Long, several: false })
            }
            _ => self.bind_joined(function, arguments, of),
        }
    }

    /// Functions of several arguments, and those that keep numbers numbers.
    fn bind_joined(&mut self, function: Function, arguments: &[Expression], of: &Expression) -> Bind<Program> {
        let raw = function == Function::Cat;
        let argument = |argument| if raw { self.binary(argument) } else { self.program(argument) };
        let programs = arguments.iter().map(argument).collect::<Bind<Vec<_>>>()?;
        let is_text = matches!(function, Function::StrCat | Function::Cat);
        let several = !is_text && programs.iter().any(|program| program.several);
        let texts = programs.iter().all(|program| !program.of.is_number());
        let double = programs.iter().any(|program| program.of == Type::Double);
        let of_first = programs[0].of;
        let extreme = matches!(function, Function::Min | Function::Max) && texts;
        if !is_text && !extreme {
            self.numbers(&programs, of)?;
        }
        let mut nodes: Vec<Node> = programs.into_iter().map(|program| program.node).collect();
        let number = if double { Type::Double } else { Type::Long };
        let (node, of) = match function {
            Function::StrCat => (Node::Join(nodes, false), Type::Text),
            Function::Cat => (Node::Join(nodes, true), Type::Raw),
            Function::Neg => (Node::Negate(Box::new(nodes.remove(0))), number),
            Function::Avg => (Node::Mean(nodes), Type::Double),
            Function::Math(math) => (Node::Math(math, nodes), Type::Double),
            Function::And | Function::Or | Function::Xor => {
                let operator = operator(function).unwrap_or(super::numeric::Operator::And);
                (Node::Numeric(operator, false, nodes), Type::Long)
            }
            Function::Min | Function::Max if extreme => (Node::Extreme(function == Function::Max, nodes), of_first),
            _ => {
                let operator = operator(function).unwrap_or(super::numeric::Operator::Add);
                (Node::Numeric(operator, double, nodes), number)
            }
        };
        Ok(Program { node, of, several })
    }

    fn input(&mut self, spec: InputSpec) -> Program {
        let (of, several) = (spec.of, spec.several);
        let known = self.bound.inputs.iter().position(|known| *known == spec);
        let index = known.unwrap_or_else(|| {
            self.bound.inputs.push(spec);
            self.bound.inputs.len() - 1
        });
        Program { node: Node::Input(index), of, several }
    }

    fn not_found(&self, path: &Path, of: &Expression) -> Fault {
        self.unfit(of, &format!("there is no field '{path}'"))
    }

    fn field(&mut self, path: &Path, of: &Expression) -> Bind<Program> {
        let Leaves::Schema(schema) = self.leaves else { return self.total(of) };
        let mut names = path.name.split('.');
        let field = names.next().unwrap_or_default();
        if let Some(place) = field.strip_suffix("_zcurve")
            && schema.schema.field(field).is_none()
            && let Some(found) =
                schema.schema.field(place).filter(|found| *found.data_type.element() == DataType::Position)
        {
            let several = found.data_type != DataType::Position;
            let from = From::Source(vec![ValueStep::Curve]);
            return Ok(self.input(InputSpec { field: found.name.clone(), of: Type::Long, bytes: 8, several, from }));
        }
        let Some(found) = schema.schema.field_or_alias(field) else { return Err(self.not_found(path, of)) };
        let mut walk = Walk { of: found.data_type.clone(), steps: Vec::new(), several: false };
        for name in names {
            walk.step(name).ok_or_else(|| self.not_found(path, of))?;
        }
        match &path.key {
            Some(MapKey::Field(source)) => {
                let message = format!("the key of '{path}' cannot be taken from '{source}' in streaming mode");
                return Err(self.unfit(of, &message));
            }
            Some(MapKey::Text(key)) => walk.entry(key).ok_or_else(|| self.not_found(path, of))?,
            None => {}
        }
        for name in path.rest.split('.').filter(|name| !name.is_empty()) {
            walk.step(name).ok_or_else(|| self.not_found(path, of))?;
        }
        walk.elements();
        let Some(of_value) = type_of(&walk.of) else {
            return Err(self.unfit(of, &format!("'{path}' is of type {}, which cannot be grouped", walk.of)));
        };
        let columns = |kind: &ColumnKind| matches!(kind, ColumnKind::Numbers { .. } | ColumnKind::Strings { .. });
        let column = schema.column(&found.name, columns).filter(|_| walk.steps.is_empty() && found.indexing.attribute);
        let from = column.map_or_else(|| From::Source(walk.steps.clone()), |column| From::Column(column.clone()));
        let bytes = width_of(&walk.of);
        Ok(self.input(InputSpec { field: found.name.clone(), of: of_value, bytes, several: walk.several, from }))
    }

    /// The places of a field.
    fn places(&mut self, path: &Path, of: &Expression) -> Bind<Node> {
        let Leaves::Schema(schema) = self.leaves else { return self.total(of).map(|program| program.node) };
        let name = path.to_string();
        let found = schema.schema.field(&name).filter(|field| *field.data_type.element() == DataType::Position);
        let Some(found) = found else {
            return Err(self.unfit(of, &format!("there is no field '{name}' of positions")));
        };
        let (field, from) = (found.name.clone(), From::Source(vec![ValueStep::Place]));
        Ok(self.input(InputSpec { field, of: Type::Double, bytes: 8, several: true, from }).node)
    }
}
