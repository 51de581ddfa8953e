//! What a trace tells of a request before it is run, each message from a level on (query-api §2.3; streaming-mode, trace).
use brooklet_query::sorting::{Direction, SortBy, SortFunction, SortKey};
use brooklet_query::tree::{Item, Operator, Term, TermKind};
use brooklet_query::{Form, Query, tree_text, yql_text};

use super::SchemaPlan;
use crate::asked::properties::Properties;

/// The messages: of the query as it was read, then of each searched schema.
pub(super) fn trace_plan(
    (query, properties): (&Query, &Properties),
    schemas: &[SchemaPlan],
    sorting: &[SortKey],
    (hits, offset, timeout_ms): (usize, usize, u32),
) -> Vec<(i32, String)> {
    let mut messages = Vec::new();
    let shows_query = properties.is_on("trace.query", true);
    if properties.value("yql").is_some() && shows_query {
        remarks(&query.item, schemas, &mut messages);
        messages.push((2, format!("YQL query parsed: [{}]", tree_text(&query.item))));
    }
    if shows_query {
        messages.push((2, format!("Query parsed to: {}", yql_text(&query.item, Form::Reference))));
    }
    for of in schemas {
        let (cluster, schema, class) = (&of.schema.cluster, &of.schema.schema.name, &of.summary_class);
        messages.push((4, format!("Routing to search cluster {cluster} and document type {schema}")));
        let asked = if shows_query { format!(" query=[{}]", tree_text(&of.item)) } else { String::new() };
        let further = [sort_spec(sorting), features(properties)].concat();
        let (profile, freshness) = (&of.profile.profile.name, properties.value("ranking.freshness"));
        let freshness = freshness.map_or_else(String::new, |time| format!(" freshness={time}"));
        let caches = if properties.is_on("groupingSessionCache", true) { " groupingSessionCache=true" } else { "" };
        messages.push((
            1,
            format!(
                "{cluster} search to dispatch:{asked} timeout={timeout_ms}ms offset={offset} hits={hits} \
                 rankprofile[{profile}]{freshness}{}{caches}{} restrict=[{schema}]",
                further[0], further[1]
            ),
        ));
        messages.push((
            6,
            match properties.value("presentation.summary") {
                Some(_) => format!("doSearch2(): Summary class has been specified in query: {class}"),
                None => format!("doSearch2(): No summary class specified in query, using default: {class}"),
            },
        ));
        messages.push((7, format!("doSearch2(): query docsum class={class}, default docsum class=default")));
        messages.push((8, format!("offset={offset}, hits={hits}")));
    }
    messages
}

/// The order as the reference writes it: signs, functions, names.
fn sort_spec(sorting: &[SortKey]) -> Vec<String> {
    let key = |key: &SortKey| {
        let name = match &key.by {
            SortBy::Attribute(name) => name.as_str(),
            SortBy::Relevance => "[rank]",
            SortBy::DocumentId => "[docid]",
            SortBy::Source => "[source]",
        };
        let sign = if key.direction == Some(Direction::Descending) { '-' } else { '+' };
        match &key.function {
            None => format!("{sign}{name}"),
            Some(SortFunction::Raw) => format!("{sign}raw({name})"),
            Some(SortFunction::Lowercase) => format!("{sign}lowercase({name})"),
            Some(SortFunction::Uca { locale, .. }) => {
                format!("{sign}uca({name}{})", locale.as_ref().map_or_else(String::new, |locale| format!(",{locale}")))
            }
        }
    };
    let keys: Vec<String> = sorting.iter().map(key).collect();
    vec![if keys.is_empty() { String::new() } else { format!(" sortspec=[{}]", keys.join(", ")) }]
}

/// Rank properties and features of the request.
#[inline(never)]
fn features(properties: &Properties) -> Vec<String> {
    let set = |name: &str, values: Vec<String>| match values.is_empty() {
        true => String::new(),
        false => format!(" {name}={{{}}}", values.join(", ")),
    };
    let given = properties.rank_properties().map(|(_, name, value)| format!("{name}=[{value}]"));
    let inputs = properties.inputs().map(|(_, name, value)| format!("query({name})={}", &**value));
    let overrides = properties.overrides().map(|(name, value, _)| format!("{name}={value}"));
    vec![[set("rankproperties", given.collect()), set("rankfeatures", inputs.chain(overrides).collect())].concat()]
}

/// What is said of terms that compare otherwise than one may think.
fn remarks(item: &Item, schemas: &[SchemaPlan], messages: &mut Vec<(i32, String)>) {
    let field = |name: &str| schemas.iter().find_map(|of| of.schema.schema.query_field(name));
    let (name, is_exact) = match &item.operator {
        Operator::Term(Term { field, kind: TermKind::Exact, .. }) => (field, true),
        Operator::Regex(regex) => (&regex.field, false),
        _ => return item.children().into_iter().for_each(|child| remarks(child, schemas, messages)),
    };
    let Some(roles) = field(name).map(|field| field.indexing) else { return };
    if is_exact && roles.attribute && !roles.index {
        let only = "'contains' will only match exactly (unless fuzzy is used)";
        messages.push((2, format!("Field '{name}' is an attribute, {only}")));
    }
    if !is_exact && roles.index && !roles.attribute {
        let never = "non-literal regular expressions will not be matched";
        messages.push((1, format!("Field '{name}' is indexed, {never}")));
    }
}
