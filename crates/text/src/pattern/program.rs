//! From a regular expression to a program: the expression is parsed, its classes and conditions are numbered, and
//! repetitions are written out, as many steps as are allowed.
use std::collections::BTreeMap;

use regex_syntax::ast::{
    AssertionKind, Ast, ClassAsciiKind, ClassPerlKind, ClassSet, ClassSetItem, Flag, Flags, RepetitionKind,
    RepetitionRange, Span, parse,
};

use super::class::Class;

/// Steps of a program. A character of a value is compared with each of them at worst.
const STEPS_MAX: usize = 6_000;
/// Parts that are looked at while repetitions are written out: those that make no step cost time as well.
const PARTS_MAX: usize = 4 * STEPS_MAX;
/// Groups of an expression inside of groups (L-regex).
pub(super) const NESTING: u32 = 50;
/// What a group is at most in the parser's count: alternatives, of which one is several parts, of which one is repeated.
const PARTS_OF_GROUP: u32 = 4;

/// What is done at a place of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    /// The next character must be in the class.
    Class { class: u32, next: u32 },
    /// Either way may be right.
    Split(u32, u32),
    /// Something must be so at this place.
    Look { look: Look, next: u32 },
    /// The expression was found.
    Match,
}

/// What a place can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Start,
    End,
    LineStart,
    LineEnd,
    Word(AssertionWord),
}

/// Where words begin and end; words are of ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AssertionWord {
    Edge,
    NoEdge,
    Begins,
    Ends,
    NoneBefore,
    NoneAfter,
}

impl Look {
    /// Whether it is so between two characters.
    pub(super) fn holds(self, before: Option<char>, after: Option<char>) -> bool {
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        match self {
            Look::Start => before.is_none(),
            Look::End => after.is_none(),
            Look::LineStart => before.is_none_or(|c| c == '\n'),
            Look::LineEnd => after.is_none_or(|c| c == '\n'),
            Look::Word(word) => {
                let (before, after) = (is_word(before), is_word(after));
                match word {
                    AssertionWord::Edge => before != after,
                    AssertionWord::NoEdge => before == after,
                    AssertionWord::Begins => !before && after,
                    AssertionWord::Ends => before && !after,
                    AssertionWord::NoneBefore => !before,
                    AssertionWord::NoneAfter => !after,
                }
            }
        }
    }
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Instruction>,
    pub(super) classes: Vec<Class>,
    pub(super) start: u32,
    /// The characters that what is found can begin with; nothing if it can be empty.
    pub(super) firsts: Option<Class>,
    /// Whether it can begin nowhere but where the value does.
    pub(super) only_at_start: bool,
}

/// Why a text is not an expression, and at which byte it goes wrong; nowhere if all of it is too large.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) reason: String,
    pub(super) at: Option<usize>,
}

impl Fault {
    fn at(span: &Span, reason: impl Into<String>) -> Fault {
        Fault { reason: reason.into(), at: Some(span.start.offset) }
    }
}

impl Program {
    /// Compiles an expression with so many groups inside of groups at most. If no letters are told apart by case, those of ASCII.
    #[inline(never)]
    pub(super) fn new(pattern: &str, cased: bool, nesting: u32) -> Result<Program, Fault> {
        let parsed = parse::ParserBuilder::new().nest_limit(PARTS_OF_GROUP * (nesting + 1)).build().parse(pattern);
        let ast = parsed.map_err(|error| Fault::at(error.span(), error.kind().to_string()))?;
        let mut reader = Reader { folds: !cased, nesting, ..Reader::default() };
        let node = reader.node(&ast)?;
        let mut writer = Writer { steps: vec![Instruction::Match], parts: 0 };
        let too_large = |TooLarge| Fault { reason: "it is too large when compiled".to_owned(), at: None };
        let start = writer.write(&node, 0).map_err(too_large)?;
        let classes = reader.classes();
        let firsts = firsts(&writer.steps, &classes, start);
        let only_at_start = !passes(&writer.steps, start, |look| look != Look::Start);
        Ok(Program { steps: writer.steps, classes, start, firsts, only_at_start })
    }
}

/// An expression without its spelling.
enum Node {
    Class(u32),
    Look(Look),
    All(Vec<Node>),
    Any(Vec<Node>),
    /// `greedy`: more is preferred to less, which only says where it ends, not whether it is found.
    Repeat {
        of: Box<Node>,
        least: u32,
        most: Option<u32>,
        greedy: bool,
    },
}

/// Makes nodes of what was parsed.
#[derive(Default)]
struct Reader {
    /// How many groups may still stand inside of this one.
    nesting: u32,
    folds: bool,
    lines: bool,
    dot_is_any: bool,
    numbers: BTreeMap<Class, u32>,
}

impl Reader {
    fn classes(self) -> Vec<Class> {
        let mut classes = vec![Class::default(); self.numbers.len()];
        self.numbers.into_iter().for_each(|(class, number)| classes[number as usize] = class);
        classes
    }

    fn node(&mut self, ast: &Ast) -> Result<Node, Fault> {
        Ok(match ast {
            Ast::Empty(_) => Node::All(Vec::new()),
            Ast::Flags(flags) => {
                self.set(&flags.flags)?;
                Node::All(Vec::new())
            }
            Ast::Literal(literal) => {
                let code = u32::from(literal.c);
                self.class(Class::new(vec![(code, code)]), false)
            }
            Ast::Dot(_) => {
                let line_end = Class::new(if self.dot_is_any { Vec::new() } else { vec![(10, 10)] });
                self.number(line_end.negate())
            }
            Ast::Assertion(assertion) => Node::Look(self.look(&assertion.kind)),
            Ast::ClassUnicode(class) => return Err(unicode(&class.span)),
            Ast::ClassPerl(class) => self.class(perl(&class.kind), class.negated),
            Ast::ClassBracketed(class) => {
                let ClassSet::Item(item) = &class.kind else {
                    return Err(Fault::at(class.kind.span(), "operations on classes are not supported"));
                };
                let mut set = Class::default();
                items(item, &mut set)?;
                self.class(set, class.negated)
            }
            Ast::Repetition(repetition) => {
                let (least, most) = match &repetition.op.kind {
                    RepetitionKind::ZeroOrOne => (0, Some(1)),
                    RepetitionKind::ZeroOrMore => (0, None),
                    RepetitionKind::OneOrMore => (1, None),
                    RepetitionKind::Range(RepetitionRange::Exactly(times)) => (*times, Some(*times)),
                    RepetitionKind::Range(RepetitionRange::AtLeast(times)) => (*times, None),
                    RepetitionKind::Range(RepetitionRange::Bounded(least, most)) => (*least, Some(*most)),
                };
                Node::Repeat { of: Box::new(self.node(&repetition.ast)?), least, most, greedy: repetition.greedy }
            }
            Ast::Group(group) => {
                let deep = || Fault::at(&group.span, format!("groups nest more than {NESTING} levels deep"));
                self.nesting = self.nesting.checked_sub(1).ok_or_else(deep)?;
                let outside = (self.folds, self.lines, self.dot_is_any);
                group.flags().map_or(Ok(()), |flags| self.set(flags))?;
                let node = self.node(&group.ast)?;
                (self.folds, self.lines, self.dot_is_any) = outside;
                self.nesting += 1;
                node
            }
            Ast::Alternation(of) => Node::Any(self.nodes(&of.asts)?),
            Ast::Concat(of) => Node::All(self.nodes(&of.asts)?),
        })
    }

    fn nodes(&mut self, asts: &[Ast]) -> Result<Vec<Node>, Fault> {
        asts.iter().map(|ast| self.node(ast)).collect()
    }

    fn set(&mut self, flags: &Flags) -> Result<(), Fault> {
        for flag in [Flag::Unicode, Flag::CRLF] {
            if flags.flag_state(flag).is_some() {
                return Err(Fault::at(&flags.span, "the flags u and R are not supported"));
            }
        }
        self.folds = flags.flag_state(Flag::CaseInsensitive).unwrap_or(self.folds);
        self.lines = flags.flag_state(Flag::MultiLine).unwrap_or(self.lines);
        self.dot_is_any = flags.flag_state(Flag::DotMatchesNewLine).unwrap_or(self.dot_is_any);
        Ok(())
    }

    fn look(&self, kind: &AssertionKind) -> Look {
        match kind {
            AssertionKind::StartLine if self.lines => Look::LineStart,
            AssertionKind::EndLine if self.lines => Look::LineEnd,
            AssertionKind::StartLine | AssertionKind::StartText => Look::Start,
            AssertionKind::EndLine | AssertionKind::EndText => Look::End,
            AssertionKind::WordBoundary => Look::Word(AssertionWord::Edge),
            AssertionKind::NotWordBoundary => Look::Word(AssertionWord::NoEdge),
            AssertionKind::WordBoundaryStart | AssertionKind::WordBoundaryStartAngle => {
                Look::Word(AssertionWord::Begins)
            }
            AssertionKind::WordBoundaryEnd | AssertionKind::WordBoundaryEndAngle => Look::Word(AssertionWord::Ends),
            AssertionKind::WordBoundaryStartHalf => Look::Word(AssertionWord::NoneBefore),
            AssertionKind::WordBoundaryEndHalf => Look::Word(AssertionWord::NoneAfter),
        }
    }

    /// A class as it is written: both cases are in it before it is negated.
    fn class(&mut self, class: Class, negated: bool) -> Node {
        let class = if self.folds { class.in_both_cases() } else { class };
        self.number(if negated { class.negate() } else { class })
    }

    fn number(&mut self, class: Class) -> Node {
        let next = self.numbers.len() as u32;
        Node::Class(*self.numbers.entry(class).or_insert(next))
    }
}

fn unicode(span: &Span) -> Fault {
    Fault::at(span, "classes of characters by their Unicode property (\\p) are not supported")
}

/// Adds what stands in brackets to a set.
fn items(item: &ClassSetItem, set: &mut Class) -> Result<(), Fault> {
    let mut ranges = Vec::new();
    let mut rest = vec![item];
    while let Some(item) = rest.pop() {
        match item {
            ClassSetItem::Empty(_) => {}
            ClassSetItem::Literal(literal) => ranges.push((u32::from(literal.c), u32::from(literal.c))),
            ClassSetItem::Range(range) => ranges.push((u32::from(range.start.c), u32::from(range.end.c))),
            ClassSetItem::Ascii(class) => {
                let named =
                    Class::new(ascii(&class.kind).iter().map(|(a, b)| (u32::from(*a), u32::from(*b))).collect());
                set.add(&if class.negated { named.negate() } else { named });
            }
            ClassSetItem::Perl(class) => {
                let named = perl(&class.kind);
                set.add(&if class.negated { named.negate() } else { named });
            }
            ClassSetItem::Unicode(class) => return Err(unicode(&class.span)),
            ClassSetItem::Bracketed(class) => {
                return Err(Fault::at(&class.span, "classes inside of classes are not supported"));
            }
            ClassSetItem::Union(union) => rest.extend(&union.items),
        }
    }
    set.add(&Class::new(ranges));
    Ok(())
}

fn perl(kind: &ClassPerlKind) -> Class {
    let kind = match kind {
        ClassPerlKind::Digit => ClassAsciiKind::Digit,
        ClassPerlKind::Space => ClassAsciiKind::Space,
        ClassPerlKind::Word => ClassAsciiKind::Word,
    };
    Class::new(ascii(&kind).iter().map(|(a, b)| (u32::from(*a), u32::from(*b))).collect())
}

fn ascii(kind: &ClassAsciiKind) -> &'static [(char, char)] {
    match kind {
        ClassAsciiKind::Alnum => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        ClassAsciiKind::Alpha => &[('A', 'Z'), ('a', 'z')],
        ClassAsciiKind::Ascii => &[('\0', '\x7f')],
        ClassAsciiKind::Blank => &[('\t', '\t'), (' ', ' ')],
        ClassAsciiKind::Cntrl => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        ClassAsciiKind::Digit => &[('0', '9')],
        ClassAsciiKind::Graph => &[('!', '~')],
        ClassAsciiKind::Lower => &[('a', 'z')],
        ClassAsciiKind::Print => &[(' ', '~')],
        ClassAsciiKind::Punct => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        ClassAsciiKind::Space => &[('\t', '\r'), (' ', ' ')],
        ClassAsciiKind::Upper => &[('A', 'Z')],
        ClassAsciiKind::Word => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        ClassAsciiKind::Xdigit => &[('0', '9'), ('A', 'F'), ('a', 'f')],
    }
}

struct TooLarge;

/// Writes steps, the last first: each knows where it goes on.
struct Writer {
    steps: Vec<Instruction>,
    parts: usize,
}

impl Writer {
    fn push(&mut self, step: Instruction) -> Result<u32, TooLarge> {
        self.steps.push(step);
        if self.steps.len() > STEPS_MAX { Err(TooLarge) } else { Ok(self.steps.len() as u32 - 1) }
    }

    /// Where the steps of a node begin that go on at `next`.
    fn write(&mut self, node: &Node, next: u32) -> Result<u32, TooLarge> {
        self.parts += 1;
        if self.parts > PARTS_MAX {
            return Err(TooLarge);
        }
        match node {
            Node::Class(class) => self.push(Instruction::Class { class: *class, next }),
            Node::Look(look) => self.push(Instruction::Look { look: *look, next }),
            Node::All(nodes) => nodes.iter().rev().try_fold(next, |next, node| self.write(node, next)),
            Node::Any(nodes) => {
                let mut entry = None;
                for node in nodes.iter().rev() {
                    let own = self.write(node, next)?;
                    entry = Some(match entry {
                        Some(others) => self.push(Instruction::Split(own, others))?,
                        None => own,
                    });
                }
                Ok(entry.unwrap_or(next))
            }
            Node::Repeat { of, least, most, greedy } => self.repeat(of, (*least, *most), *greedy, next),
        }
    }

    fn repeat(
        &mut self,
        of: &Node,
        (least, most): (u32, Option<u32>),
        greedy: bool,
        next: u32,
    ) -> Result<u32, TooLarge> {
        let mut entry = next;
        let split = |more, less| if greedy { Instruction::Split(more, less) } else { Instruction::Split(less, more) };
        match most {
            None => {
                let again = self.push(Instruction::Split(next, next))?;
                let body = self.write(of, again)?;
                self.steps[again as usize] = split(body, next);
                entry = if least == 0 { again } else { body };
            }
            Some(most) => {
                for _ in least..most {
                    let body = self.write(of, entry)?;
                    entry = self.push(split(body, next))?;
                }
            }
        }
        let written = u32::from(most.is_none());
        for _ in written..least {
            entry = self.write(of, entry)?;
        }
        Ok(entry)
    }
}

/// Whether a character or the end is reached from a step through conditions of which `may_hold` says so.
fn passes(steps: &[Instruction], start: u32, may_hold: impl Fn(Look) -> bool) -> bool {
    let mut passes = false;
    reach(steps, start, may_hold, |_| passes = true);
    passes
}

/// The characters that a way from `start` can begin with; nothing if one can end without any.
fn firsts(steps: &[Instruction], classes: &[Class], start: u32) -> Option<Class> {
    let (mut numbers, mut ends) = (vec![false; classes.len()], false);
    reach(
        steps,
        start,
        |_| true,
        |class| match class {
            Some(class) => numbers[class as usize] = true,
            None => ends = true,
        },
    );
    let mut firsts = Class::default();
    let met = classes.iter().zip(&numbers).filter(|(_, met)| **met);
    met.for_each(|(class, _)| firsts.add(class));
    (!ends).then_some(firsts)
}

/// Tells `each` the classes that are reached without a character, and nothing where the end is.
fn reach(steps: &[Instruction], start: u32, may_hold: impl Fn(Look) -> bool, mut each: impl FnMut(Option<u32>)) {
    let (mut seen, mut rest) = (vec![false; steps.len()], vec![start]);
    while let Some(step) = rest.pop() {
        if std::mem::replace(&mut seen[step as usize], true) {
            continue;
        }
        match steps[step as usize] {
            Instruction::Class { class, .. } => each(Some(class)),
            Instruction::Split(one, other) => rest.extend([one, other]),
            Instruction::Look { look, next } if may_hold(look) => rest.push(next),
            Instruction::Look { .. } => {}
            Instruction::Match => each(None),
        }
    }
}
