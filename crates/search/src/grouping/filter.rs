//! Filters of groupings: bound to a schema, and what they are asked that they cannot answer.
use std::rc::Rc;

use brooklet_query::grouping::tree::{Expression, Filter, Number};
use brooklet_task::{Code, Rejection, limits};
use brooklet_text::Pattern;

use super::bind::{Bind, Binder, BoundGrouping};
use super::program::{Program, Type};

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
pub(super) fn failures(bound: &BoundGrouping) -> Vec<String> {
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

    pub(super) fn programs<'a>(&'a self, found: &mut Vec<&'a Program>) {
        match self {
            BoundFilter::Regex(_, of) | BoundFilter::IsTrue(of) | BoundFilter::Range { of, .. } => found.push(of),
            BoundFilter::Not(of) => of.programs(found),
            BoundFilter::And(filters) | BoundFilter::Or(filters) => {
                filters.iter().for_each(|filter| filter.programs(found));
            }
        }
    }
}

impl Binder<'_> {
    pub(super) fn filter(&mut self, filter: &Filter) -> Bind<BoundFilter> {
        let mut all = |filters: &[Filter]| filters.iter().map(|filter| self.filter(filter)).collect::<Bind<_>>();
        Ok(match filter {
            Filter::And(filters) => BoundFilter::And(all(filters)?),
            Filter::Or(filters) => BoundFilter::Or(all(filters)?),
            Filter::Not(filter) => BoundFilter::Not(Box::new(self.filter(filter)?)),
            Filter::IsTrue(of) => BoundFilter::IsTrue(self.program(of)?),
            Filter::Regex(pattern, of) => BoundFilter::Regex(Rc::new(self.regex(pattern, of)?), self.program(of)?),
            Filter::Range { low, high, of, with_low, with_high } => {
                let number = |number: &Number| match number {
                    Number::Long(value) => *value as f64,
                    Number::Double(value) => *value,
                };
                let (low, high, of) = (number(low), number(high), self.program(of)?);
                BoundFilter::Range { low, high, of, with_low: *with_low, with_high: *with_high }
            }
        })
    }

    fn regex(&self, pattern: &str, of: &Expression) -> Bind<Pattern> {
        if pattern.len() > limits::PATTERN_BYTES {
            let message = format!("A pattern of a filter is longer than {} bytes", limits::PATTERN_BYTES);
            return Err(self.refuse(of, Code::BadRequest, message));
        }
        // It must match the whole text; by itself it is compiled for the place of a fault.
        let compiled = Pattern::new(pattern, true).and_then(|_| Pattern::new(&format!(r"\A(?:{pattern})\z"), true));
        compiled.map_err(|fault| {
            let message = format!("Invalid regex pattern: {} ({fault})", Rejection::quote(pattern));
            self.refuse(of, Code::BadRequest, message)
        })
    }
}
