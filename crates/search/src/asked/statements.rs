//! What a request asks, parsed now or before.
use std::rc::Rc;

use brooklet_query::Query;
use brooklet_task::Rejection;

use super::properties::{Properties, Property};
use crate::deployed::statements::Statements;

/// Longer statements, their parameters included, are not kept: of such there are many, and seldom one twice.
const STATEMENT_BYTES_MAX: usize = 2 << 10;
/// Beginnings of names that no parser asks for, unless a statement refers to parameters by name.
const BESIDE: [&str; 2] = ["input.query(", "streaming."];

/// What `parse` makes of these parameters.
///
/// # Errors
/// What it refuses, which is not kept.
pub(crate) fn parse_statement(
    statements: &Statements,
    properties: &Properties,
    parse: impl FnOnce() -> Result<Query, Rejection>,
) -> Result<Rc<Query>, Rejection> {
    let Some(key) = key(properties) else { return parse().map(Rc::new) };
    if let Some(known) = statements.find(&key) {
        return Ok(known);
    }
    let query = Rc::new(parse()?);
    statements.keep(key, &query);
    Ok(query)
}

/// All that parsing depends on, beside what is deployed; nothing if it is long.
fn key(properties: &Properties) -> Option<Vec<u8>> {
    let refers = properties.entries.iter().any(|known| !is_beside(known) && known.value.contains('@'));
    let mut key = Vec::new();
    for known in properties.entries.iter().filter(|known| refers || !is_beside(known)) {
        let source = [known.source as u8];
        for part in [known.name.as_bytes(), known.given.as_bytes(), known.value.as_bytes(), &source] {
            key.extend_from_slice(&(part.len() as u32).to_le_bytes());
            key.extend_from_slice(part);
        }
        if key.len() > STATEMENT_BYTES_MAX {
            return None;
        }
    }
    Some(key)
}

fn is_beside(property: &Property) -> bool {
    BESIDE.iter().any(|beginning| property.name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployed::statements::STATEMENTS;
    use brooklet_query::tree::{Item, Operator};

    fn asked(statements: &Statements, pairs: &[(&str, &str)]) -> Rc<Query> {
        let properties = Properties::read(pairs.iter().copied(), b"").unwrap();
        parse_statement(statements, &properties, || Ok(Query::new(Item::from(Operator::True)))).unwrap()
    }

    #[test]
    fn a_statement_is_parsed_once_for_all_vectors_and_groups() {
        let statements = Statements::default();
        let yql = ("yql", "select * from a where nearestNeighbor(v, q)");
        let first = asked(&statements, &[yql, ("input.query(q)", "[1]"), ("streaming.groupname", "a")]);
        let second = asked(&statements, &[yql, ("input.query(q)", "[2]"), ("streaming.groupname", "b")]);
        assert!(Rc::ptr_eq(&first, &second));
        let other = asked(&statements, &[yql, ("input.query(q)", "[2]"), ("default-index", "title")]);
        assert!(!Rc::ptr_eq(&first, &other));
        let other = asked(&statements, &[("yql", "select * from a where true")]);
        assert!(!Rc::ptr_eq(&first, &other));
    }

    #[test]
    fn parameters_that_a_statement_may_refer_to_belong_to_it() {
        let statements = Statements::default();
        let yql = ("yql", "select * from a where title contains @streaming.groupname");
        let first = asked(&statements, &[yql, ("streaming.groupname", "a")]);
        let second = asked(&statements, &[yql, ("streaming.groupname", "b")]);
        assert!(!Rc::ptr_eq(&first, &second));
    }

    #[test]
    fn refusals_and_long_statements_are_not_kept_and_few_others() {
        let statements = Statements::default();
        let properties = Properties::read([("yql", "?")], b"").unwrap();
        let refusal = Rejection::new(brooklet_task::Code::IllegalQuery, "no");
        assert!(parse_statement(&statements, &properties, || Err(refusal)).is_err());
        asked(&statements, &[("yql", &"a".repeat(STATEMENT_BYTES_MAX))]);
        assert_eq!(statements.len(), 0);
        let first = asked(&statements, &[("yql", "first")]);
        let second = asked(&statements, &[("yql", "second")]);
        (3..=STATEMENTS).for_each(|number| drop(asked(&statements, &[("yql", &number.to_string())])));
        assert!(Rc::ptr_eq(&first, &asked(&statements, &[("yql", "first")])), "which is the one asked last now");
        asked(&statements, &[("yql", "one more")]);
        assert_eq!(statements.len(), STATEMENTS);
        assert!(Rc::ptr_eq(&first, &asked(&statements, &[("yql", "first")])));
        assert!(!Rc::ptr_eq(&second, &asked(&statements, &[("yql", "second")])));
    }
}
