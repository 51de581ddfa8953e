//! From operations to requests. Every operation takes a value of a *level*: 0 a hit, 1 a list of hits, 2 a list of
//! groups. `group` raises it by one, `each` lowers it by one; expressions of a level are made of what is one below.
use brooklet_task::limits::GROUPING_LEVELS;
use brooklet_task::{Code, Rejection};

use super::request::{Defaults, Group, GroupList, GroupValue, HitList, Order, Output, Request};
use super::tree::{Expression, ExpressionKind, Filter, Function, Operation, UNLIMITED};

type Resolved<T> = Result<T, Rejection>;

/// Makes a request of an operation as it was parsed from `text`.
///
/// # Errors
/// If an operation or expression does not fit its level, a name is used twice, or there may be more groups and hits than
/// [`Defaults::global_max_groups`] allows.
pub fn resolve(operation: &Operation, text: &str, defaults: &Defaults) -> Resolved<Request> {
    let resolver = Resolver { text, defaults };
    let mut request = Request { root: Group::default(), all_documents: false };
    match operation.documents.as_deref() {
        None | Some("$query") => {}
        Some("true") => request.all_documents = true,
        Some(other) => {
            let message = format!("Operation 'where' does not support '{}'.", Rejection::quote(other));
            return Err(resolver.refuse(operation, message));
        }
    }
    let state = State { level: 1, ..State::default() };
    resolver.operation(operation, state, &mut request.root, true)?;
    resolver.check_total(operation, &request.root)?;
    Ok(request)
}

/// What operations hand down to those inside.
#[derive(Clone, Default)]
struct State<'a> {
    level: usize,
    /// The grouping in effect: made, and waiting for an `each`.
    group_by: Option<&'a Expression>,
    filter: Option<&'a Filter>,
    order: Vec<&'a Expression>,
    max: Option<i32>,
    label: Option<&'a str>,
    top: Option<u32>,
    /// Lists of groups around.
    groups: usize,
}

struct Resolver<'a> {
    text: &'a str,
    defaults: &'a Defaults,
}

impl Resolver<'_> {
    fn refuse(&self, operation: &Operation, message: String) -> Rejection {
        Rejection::at(Code::BadRequest, message, self.text, operation.place.start)
    }

    fn operation<'a>(
        &self,
        operation: &'a Operation,
        mut state: State<'a>,
        target: &mut Group,
        is_root: bool,
    ) -> Resolved<()> {
        self.check(operation, &state, is_root)?;
        let was = state.level;
        state.level -= usize::from(operation.each);
        if operation.each && was == 2 {
            return self.groups(operation, state, target);
        }
        self.say(operation, &mut state)?;
        self.outputs(operation, &state, target)?;
        self.children(operation, &state, target)
    }

    /// What an operation may not do at its level.
    #[inline(never)]
    fn check(&self, operation: &Operation, state: &State<'_>, is_root: bool) -> Resolved<()> {
        let name = || Rejection::quote(&operation.to_string());
        let mut level = state.level;
        if operation.each && level == 0 {
            return Err(self.refuse(operation, format!("Operation '{}' cannot operate on single hit.", name())));
        }
        if state.level == 2 && state.group_by.is_none() {
            return Err(self.refuse(operation, "Can not create anonymous list of groups.".to_owned()));
        }
        level -= usize::from(operation.each);
        if let Some(by) = &operation.group_by {
            if level == 0 {
                return Err(self.refuse(operation, format!("Operation '{}' cannot group single hit.", name())));
            }
            self.expression(by, level - 1)?;
            if holds_summary(by) {
                return Err(self.refuse(operation, "Can not convert 'summary()' to an expression.".to_owned()));
            }
            if level == 2 {
                return Err(self.refuse(operation, "Can not group list of groups.".to_owned()));
            }
            level += 1;
        } else if !operation.each && level == 2 {
            return Err(self.refuse(operation, "Can not create anonymous list of groups.".to_owned()));
        }
        if operation.max.is_some_and(|max| max >= 0) && level == 0 {
            return Err(self.refuse(operation, format!("Operation '{}' cannot apply max to single hit.", name())));
        }
        if !operation.order.is_empty() {
            if level == 0 {
                return Err(self.refuse(operation, format!("Operation '{}' cannot order single hit.", name())));
            }
            operation.order.iter().try_for_each(|by| self.expression(by, level - 1))?;
            if level != 2 {
                let message = format!("Can not order {} content.", description(level));
                return Err(self.refuse(operation, message));
            }
        }
        if operation.documents.is_some() && (!is_root || operation.group_by.is_some()) {
            return Err(self.refuse(operation, "Can not apply 'where' to non-root group.".to_owned()));
        }
        operation.outputs.iter().try_for_each(|output| self.expression(output, level))
    }

    /// Takes what an operation says into the state of those inside.
    fn say<'a>(&self, operation: &'a Operation, state: &mut State<'a>) -> Resolved<()> {
        if let Some(label) = &operation.label {
            state.label = Some(label);
        }
        if operation.filter.is_some() {
            state.filter = operation.filter.as_ref();
        }
        if let Some(by) = &operation.group_by {
            state.groups += 1;
            if state.groups > GROUPING_LEVELS {
                let message = format!("The grouping has more than {GROUPING_LEVELS} levels of groups.");
                return Err(self.refuse(operation, message));
            }
            state.group_by = Some(by);
            state.level += 1;
        }
        state.order.extend(&operation.order);
        match operation.max.filter(|max| *max >= 0) {
            Some(UNLIMITED) if state.level != 1 || operation.each => state.max = Some(UNLIMITED),
            Some(UNLIMITED) | None => {}
            // Without a grouping in effect it says how many documents are looked at, not how many are shown.
            Some(max) if !operation.each && state.level == 1 => {
                state.top = Some(state.top.map_or(max as u32, |top| top.min(max as u32)));
            }
            Some(max) => state.max = Some(max),
        }
        Ok(())
    }

    fn children<'a>(&self, operation: &'a Operation, state: &State<'a>, target: &mut Group) -> Resolved<()> {
        operation.children.iter().try_for_each(|child| self.operation(child, state.clone(), target, false))
    }

    /// `each` over a list of groups: a list with a group for all its own.
    #[inline(never)]
    fn groups<'a>(&self, operation: &'a Operation, mut state: State<'a>, target: &mut Group) -> Resolved<()> {
        let Some(by) = state.group_by.take() else { return Ok(()) };
        let label = operation.label.clone().unwrap_or_else(|| by.to_string());
        if target.lists.iter().any(|list| list.label.as_ref() == Some(&label)) {
            let message = format!("Can not use group list label '{label}' for multiple siblings.");
            return Err(self.refuse(operation, message));
        }
        let mut list = GroupList {
            label: Some(label),
            by: by.clone(),
            filter: state.filter.take().cloned(),
            max: limit_of(state.max.take(), self.defaults.max_groups),
            order: state.order.drain(..).map(order).collect(),
            group: Group::default(),
            top: state.top,
        };
        state.label = None;
        self.say(operation, &mut state)?;
        state.label = None;
        self.outputs(operation, &state, &mut list.group)?;
        self.children(operation, &state, &mut list.group)?;
        list.top = widest(&list.group, &state, operation.children.is_empty());
        target.lists.push(list);
        Ok(())
    }

    fn outputs(&self, operation: &Operation, state: &State<'_>, target: &mut Group) -> Resolved<()> {
        for output in &operation.outputs {
            match (&output.kind, state.level) {
                (ExpressionKind::Summary(class), _) => self.hits(operation, output, class.as_deref(), state, target)?,
                (kind, level) => {
                    let what = match (kind, level) {
                        (ExpressionKind::Count, 2) => GroupValue::CountGroups(hidden_list(state, target)),
                        (ExpressionKind::Aggregate(..) | ExpressionKind::Quantiles(..), 2) => {
                            return Err(self.refuse(operation, "Can not aggregate on list of groups.".to_owned()));
                        }
                        (ExpressionKind::Count, _) => GroupValue::Count,
                        (ExpressionKind::Aggregate(aggregator, of), _) => {
                            GroupValue::Aggregate(*aggregator, (**of).clone())
                        }
                        (ExpressionKind::Quantiles(quantiles, of), _) => {
                            GroupValue::Quantiles(quantiles.clone(), (**of).clone())
                        }
                        _ => {
                            let message = format!("Can not convert '{output}' to an aggregator.");
                            return Err(self.refuse(operation, message));
                        }
                    };
                    let label = output.label.clone().unwrap_or_else(|| output.to_string());
                    if target.outputs.iter().any(|known| known.label == label) {
                        let message = format!("Can not use output label '{label}' for multiple siblings.");
                        return Err(self.refuse(operation, message));
                    }
                    target.outputs.push(Output { label, what, top: state.top });
                }
            }
        }
        Ok(())
    }

    fn hits(
        &self,
        operation: &Operation,
        output: &Expression,
        class: Option<&str>,
        state: &State<'_>,
        target: &mut Group,
    ) -> Resolved<()> {
        if output.label.is_some() {
            return Err(self.refuse(operation, format!("Can not label expression '{output}'.")));
        }
        let label = state.label.unwrap_or("hits").to_owned();
        if target.hits.iter().any(|list| list.label == label) {
            let message = format!("Can not use hit list label '{label}' for multiple siblings.");
            return Err(self.refuse(operation, message));
        }
        let max = limit_of(state.max, self.defaults.max_hits);
        target.hits.push(HitList { label, max, summary: class.map(str::to_owned), top: state.top });
        Ok(())
    }

    /// Refuses expressions that need what is not there at this level.
    fn expression(&self, expression: &Expression, level: usize) -> Resolved<()> {
        let refuse = |message: String| Err(Rejection::at(Code::BadRequest, message, self.text, expression.place.start));
        let not_here = || {
            let name = Rejection::quote(&expression.to_string());
            refuse(format!("Expression '{name}' not applicable for {}.", description(level)))
        };
        match &expression.kind {
            ExpressionKind::Field(..)
            | ExpressionKind::Relevance
            | ExpressionKind::DocumentIdSpecific
            | ExpressionKind::Summary(_)
                if level != 0 =>
            {
                not_here()
            }
            ExpressionKind::ArrayAt(..) | ExpressionKind::InterpolatedLookup(..) | ExpressionKind::GeoDistance(..)
                if level != 0 =>
            {
                not_here()
            }
            ExpressionKind::Count if level == 0 => not_here(),
            ExpressionKind::Aggregate(_, of) | ExpressionKind::Quantiles(_, of) if level > 0 => {
                self.expression(of, level - 1)
            }
            ExpressionKind::Aggregate(..) | ExpressionKind::Quantiles(..) => not_here(),
            _ => expression.children().into_iter().try_for_each(|child| self.expression(child, level)),
        }
    }

    /// Refuses what may lead to more groups and hits than are allowed.
    fn check_total(&self, operation: &Operation, root: &Group) -> Resolved<()> {
        let Some(limit) = self.defaults.global_max_groups else { return Ok(()) };
        let unbounded = |what: &str| {
            format!(
                "Cannot return unbounded number of {what} when 'grouping.globalMaxGroups' is enabled. \
                 Give every list a max(…), or set the default in a query profile."
            )
        };
        let total = total(root, 1).map_err(|what| self.refuse(operation, unbounded(what)))?;
        if total <= limit {
            return Ok(());
        }
        let message = format!(
            "The theoretical total number of groups and summaries in grouping query exceeds \
             'grouping.globalMaxGroups' ( {total} > {limit} ). Lower the max(…) of its lists."
        );
        Err(self.refuse(operation, message))
    }
}

/// Groups and hits below a group that there may be `times` of; what is not bounded if it is not.
fn total(group: &Group, times: u64) -> Result<u64, &'static str> {
    let mut sum = 0u64;
    for list in &group.hits {
        let max = list.max.ok_or("summaries")?;
        sum = sum.saturating_add(times.saturating_mul(u64::from(max)));
    }
    for list in group.lists.iter().filter(|list| list.label.is_some()) {
        let mut max = list.max.map(u64::from);
        if let ExpressionKind::Predefined(_, buckets) = &list.by.kind {
            let buckets = buckets.len() as u64 + 1;
            max = Some(max.map_or(buckets, |max| max.min(buckets)));
        }
        let groups = times.saturating_mul(max.ok_or("groups")?);
        sum = sum.saturating_add(groups).saturating_add(total(&list.group, groups)?);
    }
    Ok(sum)
}

/// Of how many documents a list is made: if a part of it takes all of them, of all.
fn widest(group: &Group, state: &State<'_>, is_leaf: bool) -> Option<u32> {
    let tops = || {
        let hits = group.hits.iter().map(|list| list.top);
        hits.chain(group.lists.iter().map(|list| list.top))
    };
    if is_leaf || tops().next().is_none() || tops().any(|top| top.is_none()) {
        return state.top;
    }
    tops().flatten().max()
}

/// The index of a list of the grouping in effect that nobody shows.
fn hidden_list(state: &State<'_>, target: &mut Group) -> usize {
    if let Some(by) = state.group_by {
        let same = |list: &GroupList| list.label.is_none() && list.by == *by && list.filter.as_ref() == state.filter;
        if let Some(known) = target.lists.iter().position(same) {
            return known;
        }
        target.lists.push(GroupList {
            label: None,
            by: by.clone(),
            filter: state.filter.cloned(),
            max: None,
            order: Vec::new(),
            group: Group::default(),
            top: state.top,
        });
    }
    target.lists.len().saturating_sub(1)
}

fn holds_summary(expression: &Expression) -> bool {
    matches!(expression.kind, ExpressionKind::Summary(_)) || expression.children().into_iter().any(holds_summary)
}

fn order(by: &Expression) -> Order {
    match &by.kind {
        ExpressionKind::Call(Function::Neg, of) if of.len() == 1 => Order { by: of[0].clone(), descending: true },
        _ => Order { by: by.clone(), descending: false },
    }
}

fn limit_of(max: Option<i32>, default: Option<u32>) -> Option<u32> {
    match max {
        None => default,
        Some(UNLIMITED) => None,
        Some(max) => Some(max as u32),
    }
}

fn description(level: usize) -> &'static str {
    match level {
        0 => "single hit",
        1 => "single group",
        _ => "list of groups",
    }
}
