//! Rows of `yql`, `select-json` and `simple-query`: the tree, in both of its printed forms and whole. Rows of `grouping`: the canonical
//! text, and the requests made of it.
use std::collections::BTreeMap;

use brooklet_query::grouping::{Defaults, parse_grouping, resolve};
use brooklet_query::simple::Grammar;
use brooklet_query::surroundings::UserQuery;
use brooklet_query::tree::Item;
use brooklet_query::{Form, Select, parse_select, parse_yql, simple, tree_text, yql_text};
use serde_json::Value as Json;

use crate::fixture::{RequestParameters, surroundings, user_query};
use crate::row::{needed, outcome, text};

fn tree(item: &Item) -> String {
    format!("{}\n{}\n{item:?}", tree_text(item), yql_text(item, Form::Reference))
}

/// A row of `yql`.
pub(crate) fn statement(row: &Json) -> String {
    let parameters = row.get("params").and_then(Json::as_object).into_iter().flatten();
    let value = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let parameters: BTreeMap<String, String> = parameters.map(|(name, given)| (name.clone(), value(given))).collect();
    let given = RequestParameters(parameters);
    let query = given.0.get("query").map(|text| user_query(text));
    let parsed = parse_yql(needed(row, "yql"), &surroundings(&given, query));
    outcome(parsed.map(|query| format!("{}\n{query:?}", tree(&query.item))))
}

/// A row of `select-json`.
pub(crate) fn select(row: &Json) -> String {
    let filter = text(row, "where").unwrap_or("true");
    let select = Select { filter, grouping: text(row, "grouping"), fields: text(row, "fields") };
    let parsed = parse_select(&select, &surroundings(&RequestParameters::default(), None));
    outcome(parsed.map(|query| format!("{}\n{query:?}", tree(&query.item))))
}

/// A row of `simple-query`.
pub(crate) fn simple_query(row: &Json) -> String {
    let name = needed(row, "type");
    let Some(grammar) = Grammar::named(name) else { return format!("no type {name}") };
    let query = UserQuery {
        text: needed(row, "query"),
        grammar,
        filter: text(row, "filter"),
        default_index: text(row, "default_index"),
    };
    let given = RequestParameters::default();
    outcome(simple::parse_user_query(&query, &surroundings(&given, None)).map(|item| tree(&item)))
}

/// A row of `grouping`.
pub(crate) fn grouping(row: &Json) -> String {
    let text = needed(row, "expr");
    outcome(parse_grouping(text).map(|operations| {
        let requests = operations.iter().map(|operation| {
            format!(
                "{operation}\n{}",
                outcome(resolve(operation, text, &Defaults::default()).map(|it| format!("{it:?}")))
            )
        });
        requests.collect::<Vec<_>>().join("\n")
    }))
}
