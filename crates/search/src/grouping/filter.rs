//! Filters of groupings are bound to a schema.
use std::rc::Rc;

use brooklet_query::grouping::tree::{Expression, Filter, Number};
use brooklet_task::{Code, Rejection, limits};
use brooklet_text::Pattern;

use super::bind::{Bind, Binder};
use super::bound::BoundFilter;

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
        Pattern::whole(pattern, true).map_err(|fault| {
            let message = format!("Invalid regex pattern: {} ({fault})", Rejection::quote(pattern));
            self.refuse(of, Code::BadRequest, message)
        })
    }
}
