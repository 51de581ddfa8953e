//! A request as tables: one for the root and one for every list of groups, parents first. A table holds all groups of its
//! list, whichever group they are in.
use brooklet_query::grouping::tree::{Expression, ExpressionKind, Filter};
use brooklet_query::grouping::{Group, GroupValue, HitList, Order, Request};

/// What is made of every group of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Template {
    /// What is added up, for being shown or for the order.
    pub(crate) totals: Vec<Total>,
    /// Labels of what is shown, with the index of its total.
    pub(crate) shown: Vec<(String, usize)>,
    pub(crate) hits: Vec<HitList>,
    pub(crate) lists: Vec<ListTemplate>,
}

/// Something added up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Total {
    pub(crate) what: GroupValue,
    /// Only the first so many documents count.
    pub(crate) top: Option<u32>,
}

/// A list of groups in every group of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListTemplate {
    pub(crate) label: Option<String>,
    pub(crate) by: Expression,
    pub(crate) filter: Option<Filter>,
    pub(crate) max: Option<u32>,
    pub(crate) order: Vec<Order>,
    pub(crate) top: Option<u32>,
    /// The table of its groups.
    pub(crate) table: usize,
}

/// The tables of a request.
pub(crate) fn templates(request: &Request) -> Vec<Template> {
    let mut tables = Vec::new();
    add(&request.root, &[], &mut tables);
    tables
}

fn add(group: &Group, order: &[Order], tables: &mut Vec<Template>) -> usize {
    let index = tables.len();
    tables.push(Template::default());
    let mut template = Template { hits: group.hits.clone(), ..Template::default() };
    for output in &group.outputs {
        let total = template.total(&output.what, output.top);
        template.shown.push((output.label.clone(), total));
    }
    order.iter().for_each(|order| add_aggregates(&order.by, &mut template));
    for list in &group.lists {
        let table = add(&list.group, &list.order, tables);
        template.lists.push(ListTemplate {
            label: list.label.clone(),
            by: list.by.clone(),
            filter: list.filter.clone(),
            max: list.max,
            order: list.order.clone(),
            top: list.top,
            table,
        });
    }
    tables[index] = template;
    index
}

impl Template {
    /// The index of a total, which is added if there is none like it.
    fn total(&mut self, what: &GroupValue, top: Option<u32>) -> usize {
        let total = Total { what: what.clone(), top };
        self.totals.iter().position(|known| same(known, &total)).unwrap_or_else(|| {
            self.totals.push(total);
            self.totals.len() - 1
        })
    }

    /// The indices of the totals that an order is made of.
    pub(crate) fn totals_of(&self, order: &Expression) -> Vec<usize> {
        match self.total_of(order) {
            Some(total) => vec![total],
            None => order.children().into_iter().flat_map(|child| self.totals_of(child)).collect(),
        }
    }

    /// The index of the total an aggregate of an order is.
    pub(crate) fn total_of(&self, aggregate: &Expression) -> Option<usize> {
        let total = Total { what: what_of(aggregate)?, top: None };
        self.totals.iter().position(|known| same(known, &total))
    }
}

/// Whether two totals are one: where they were written does not matter.
fn same(a: &Total, b: &Total) -> bool {
    let text = |what: &GroupValue| match what {
        GroupValue::Aggregate(_, of) | GroupValue::Quantiles(_, of) => of.to_string(),
        _ => String::new(),
    };
    let kind = match (&a.what, &b.what) {
        (GroupValue::Count, GroupValue::Count) => true,
        (GroupValue::CountGroups(a), GroupValue::CountGroups(b)) => a == b,
        (GroupValue::Aggregate(a, _), GroupValue::Aggregate(b, _)) => a == b,
        (GroupValue::Quantiles(a, _), GroupValue::Quantiles(b, _)) => a == b,
        _ => false,
    };
    kind && a.top == b.top && text(&a.what) == text(&b.what)
}

fn add_aggregates(expression: &Expression, template: &mut Template) {
    match what_of(expression) {
        Some(what) => {
            template.total(&what, None);
        }
        None => expression.children().into_iter().for_each(|child| add_aggregates(child, template)),
    }
}

fn what_of(expression: &Expression) -> Option<GroupValue> {
    Some(match &expression.kind {
        ExpressionKind::Count => GroupValue::Count,
        ExpressionKind::Aggregate(aggregator, of) => GroupValue::Aggregate(*aggregator, (**of).clone()),
        ExpressionKind::Quantiles(quantiles, of) => GroupValue::Quantiles(quantiles.clone(), (**of).clone()),
        _ => return None,
    })
}

/// How many documents of a schema count where only the first ones do.
pub(crate) fn most(templates: &[Template]) -> Option<u32> {
    let tops = templates.iter().flat_map(|template| {
        let totals = template.totals.iter().filter_map(|total| total.top);
        let hits = template.hits.iter().filter_map(|list| list.top);
        totals.chain(hits).chain(template.lists.iter().filter_map(|list| list.top))
    });
    tops.max()
}

/// The summary classes of hits among the first documents, each once.
pub(crate) fn classes(templates: &[Template]) -> Vec<Option<String>> {
    let mut classes = Vec::new();
    for list in templates.iter().flat_map(|template| &template.hits).filter(|list| list.top.is_some()) {
        if !classes.contains(&list.summary) {
            classes.push(list.summary.clone());
        }
    }
    classes
}
