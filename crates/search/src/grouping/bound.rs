//! A request bound to a schema: what is evaluated for the documents of every group.
use std::rc::Rc;

use brooklet_query::grouping::tree::Bucket;
use brooklet_text::Pattern;

use super::program::Program;
use super::spec::{InputSpec, Type};

/// A request bound to a schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundGrouping {
    pub(crate) inputs: Vec<InputSpec>,
    pub(crate) tables: Vec<BoundTable>,
    /// Whether ids of documents are asked for.
    pub(crate) with_ids: bool,
    /// Why documents are in no group though the request fits the schema.
    pub(crate) failures: Vec<String>,
}

/// What is evaluated for the documents of every group of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundTable {
    /// For each total the expression; nothing for counts.
    pub(crate) totals: Vec<Option<Program>>,
    pub(crate) lists: Vec<BoundList>,
}

/// What tells the documents of a list apart.
#[derive(Clone, Debug)]
pub(crate) struct BoundList {
    pub(crate) by: Classifier,
    pub(crate) filter: Option<BoundFilter>,
    /// Inputs that go through the same field as the expression, element by element.
    pub(crate) along: Option<Rc<[usize]>>,
    /// Whether groups inside see only the elements that led into theirs.
    pub(crate) in_step: bool,
    /// Whether the filter is asked about every element.
    pub(crate) filter_each: bool,
}

/// How the value of an expression becomes the id of a group.
#[derive(Clone, Debug)]
pub(crate) enum Classifier {
    Value(Program),
    LongWidth(Program, i64),
    DoubleWidth(Program, f64),
    Buckets(Program, Vec<Bucket>),
}

impl Classifier {
    pub(crate) fn program(&self) -> &Program {
        match self {
            Classifier::Value(program)
            | Classifier::LongWidth(program, _)
            | Classifier::DoubleWidth(program, _)
            | Classifier::Buckets(program, _) => program,
        }
    }
}

/// A bound filter.
#[derive(Clone, Debug)]
pub(crate) enum BoundFilter {
    Regex(Rc<Pattern>, Program),
    Range { low: f64, high: f64, of: Program, with_low: bool, with_high: bool },
    IsTrue(Program),
    Not(Box<BoundFilter>),
    And(Vec<BoundFilter>),
    Or(Vec<BoundFilter>),
}

/// What the filters are asked that they cannot answer: `istrue` knows only a bool, and never means "not zero".
pub(crate) fn failures(bound: &BoundGrouping) -> Vec<String> {
    let lists = bound.tables.iter().flat_map(|table| &table.lists);
    let mut failures = Vec::new();
    for (list, filter) in lists.filter_map(|list| Some((list, list.filter.as_ref()?))) {
        let mut asked = Vec::new();
        filter.switches(&mut asked);
        for program in asked {
            let several = program.several && !list.filter_each;
            let failure = match (program.of, several) {
                (Type::Bool, false) => continue,
                (of, false) => format!("istrue() requires input to be type bool, got {}", of.name()),
                (of, true) => format!("istrue() requires input to be type bool, got several of type {}", of.name()),
            };
            if !failures.contains(&failure) {
                failures.push(failure);
            }
        }
    }
    failures
}

impl BoundFilter {
    /// What is asked to be true.
    fn switches<'a>(&'a self, found: &mut Vec<&'a Program>) {
        match self {
            BoundFilter::IsTrue(of) => found.push(of),
            BoundFilter::Not(of) => of.switches(found),
            BoundFilter::And(filters) | BoundFilter::Or(filters) => {
                filters.iter().for_each(|filter| filter.switches(found));
            }
            BoundFilter::Regex(..) | BoundFilter::Range { .. } => {}
        }
    }

    pub(crate) fn programs<'a>(&'a self, found: &mut Vec<&'a Program>) {
        match self {
            BoundFilter::Regex(_, of) | BoundFilter::IsTrue(of) | BoundFilter::Range { of, .. } => found.push(of),
            BoundFilter::Not(of) => of.programs(found),
            BoundFilter::And(filters) | BoundFilter::Or(filters) => {
                filters.iter().for_each(|filter| filter.programs(found));
            }
        }
    }
}
