//! From the groupings of a query to requests bound to its schemas.
use std::rc::Rc;

use brooklet_query::RawGrouping;
use brooklet_query::grouping::{Defaults, parse_grouping, resolve};
use brooklet_task::{Code, Issues, Rejection, Span};

use super::bind::{Fault, bind};
use super::continuation::{Offsets, Seal};
use super::planned::PlannedGrouping;
use super::program::{Node, Program};
use super::template::{Template, most, templates};
use super::zone::{Clock, Zone, zone_of};
use crate::asked::properties::Properties;
use crate::deployed::DeployedSchema;

/// A request as it was parsed, with the continuations it was given.
struct Parsed {
    text: String,
    operation: brooklet_query::grouping::Operation,
    continuations: Vec<String>,
}

/// The groupings of a query.
pub(crate) struct Planned {
    pub(crate) requests: Vec<PlannedGrouping>,
    pub(crate) seal: Seal,
    /// The time zone that the host is asked for, if it is one by name.
    pub(crate) zone: Option<String>,
}

/// Binds the groupings of a query: those of its statement, and those of the parameter `select`.
///
/// # Errors
/// If one cannot be parsed or resolved, or a continuation is none of this query. What does not fit a schema is told, and
/// left out for it.
pub(crate) fn plan(
    raw: &[RawGrouping],
    properties: &Properties,
    schemas: &[Rc<DeployedSchema>],
    key: [u8; 16],
    now: i64,
    issues: &mut Issues,
) -> Result<Planned, Rejection> {
    let requests = parse(raw, properties)?;
    let seal = Seal { key, about: about(&requests, properties) };
    if requests.is_empty() {
        return Ok(Planned { requests: Vec::new(), seal, zone: None });
    }
    bind_requests(&requests, seal, properties, schemas, now, issues)
}

/// Resolves requests and binds them to schemas. Large, and of its own so that a query without groupings does not have its
/// host's engine compile it.
#[inline(never)]
fn bind_requests(
    requests: &[Parsed],
    seal: Seal,
    properties: &Properties,
    schemas: &[Rc<DeployedSchema>],
    now: i64,
    issues: &mut Issues,
) -> Result<Planned, Rejection> {
    let defaults = defaults(properties)?;
    let zone = zone_of(properties.value("timezone")).map_err(|reason| properties.refuse("timezone", &reason))?;
    let (zone, asked) = match zone {
        Zone::Fixed(offset) => (offset, None),
        Zone::Named(name) => (0, Some(name)),
    };
    let clock = Clock { now, zone };
    let mut planned = Vec::with_capacity(requests.len());
    for (number, request) in requests.iter().enumerate() {
        let offsets = Offsets::read(&request.continuations, number, &seal)?;
        let resolved = resolve(&request.operation, &request.text, &defaults)?;
        let templates: Rc<[Template]> = Rc::from(templates(&resolved));
        check_classes(&templates, schemas)?;
        let has_hits = templates.iter().any(|template| !template.hits.is_empty());
        let mut planned_request = PlannedGrouping {
            firsts: most(&templates),
            with_scores: templates.len() > 1 || has_hits,
            all_documents: resolved.all_documents,
            bound: Vec::new(),
            templates,
            clock,
            offsets,
        };
        for schema in schemas {
            let bound = if resolved.all_documents && has_hits {
                unfit(number, "You cannot collect hits with an all aggregator yet.", issues)
            } else {
                match bind(&planned_request.templates, schema, &request.text, now) {
                    Ok(bound) => {
                        for failure in &bound.failures {
                            let message = format!("Grouping number {number} leaves out documents: {failure}");
                            issues.report(Code::ErrorInReply, message);
                        }
                        Some(bound)
                    }
                    Err(Fault::Unfit(message)) => unfit(number, &message, issues),
                    Err(Fault::Refused(rejection)) => return Err(rejection),
                }
            };
            planned_request.with_scores |= bound.as_ref().is_some_and(|bound| {
                let scored = |program: &Program| program.node.holds(&|node| matches!(node, Node::Relevance));
                bound.tables.iter().flat_map(|table| &table.totals).flatten().any(scored)
            });
            planned_request.bound.push(bound);
        }
        planned.push(planned_request);
    }
    Ok(Planned { requests: planned, seal, zone: asked })
}

/// Tells that a request does not fit a schema.
fn unfit<T>(number: usize, message: &str, issues: &mut Issues) -> Option<T> {
    issues.report(Code::ErrorInReply, format!("Could not locate field for grouping number {number} : {message}"));
    None
}

fn parse(raw: &[RawGrouping], properties: &Properties) -> Result<Vec<Parsed>, Rejection> {
    let mut requests = Vec::new();
    let of_parameters = || properties.value("continue").unwrap_or("").split_whitespace().map(str::to_owned).collect();
    let in_yql = properties.value("yql").is_some_and(|yql| !yql.trim().is_empty());
    for grouping in raw {
        let is_select = properties.value("select") == Some(&grouping.text);
        let within = |rejection: Rejection| match (is_select, properties.value("select.grouping")) {
            (true, _) => Rejection { code: Code::BadRequest, ..rejection },
            (false, Some(_)) if !in_yql => {
                let rejection = rejection.within("Could not set 'select.grouping'");
                Rejection { code: Code::IllegalQuery, ..rejection }
            }
            _ => rejection.within("Could not create query from YQL"),
        };
        let operations = parse_grouping(&grouping.text).map_err(|rejection| {
            // Where it stands in the statement it is part of.
            let span = rejection.span.map(|span| Span { offset: span.offset + grouping.place.start, ..span });
            within(Rejection { span, ..rejection })
        })?;
        if operations.is_empty() && !is_select {
            return Err(within(Rejection::new(Code::BadRequest, "Expected 1 operation, got 0.")));
        }
        for operation in operations {
            let (text, own) = (grouping.text.clone(), &grouping.continuations);
            let continuations = if own.is_empty() { of_parameters() } else { own.clone() };
            requests.push(Parsed { text, operation, continuations });
        }
    }
    Ok(requests)
}

/// What continuations are bound to: the searched groups, and what was asked.
fn about(requests: &[Parsed], properties: &Properties) -> Vec<u8> {
    let mut about = Vec::new();
    let mut add = |text: &str| {
        about.extend((text.len() as u64).to_le_bytes());
        about.extend_from_slice(text.as_bytes());
    };
    for name in ["streaming.groupname", "streaming.userid", "streaming.selection"] {
        add(properties.value(name).unwrap_or_default());
    }
    requests.iter().for_each(|request| add(&request.operation.to_string()));
    about
}

fn defaults(properties: &Properties) -> Result<Defaults, Rejection> {
    let mut defaults = Defaults::default();
    for (name, value) in
        [("grouping.defaultMaxGroups", &mut defaults.max_groups), ("grouping.defaultMaxHits", &mut defaults.max_hits)]
    {
        if let Some(number) = properties.number(name)? {
            // Below zero: no limit.
            *value = (number >= 0.0).then_some(number as u32);
        }
    }
    if let Some(factor) = properties.number("grouping.defaultPrecisionFactor")? {
        defaults.precision_factor = factor;
    }
    let global = "grouping.globalMaxGroups";
    if properties.value(global).is_some() && !properties.is_of_profile(global) {
        let message = "grouping.globalMaxGroups must be specified in a query profile.";
        return Err(Rejection::new(Code::IllegalQuery, message));
    }
    if let Some(number) = properties.number(global)? {
        // Below zero: what groups take is bounded by memory alone.
        defaults.global_max_groups = (number >= 0.0).then_some(number as u64);
    }
    Ok(defaults)
}

/// Refuses a summary class that no schema has, or that one has and cannot show.
fn check_classes(templates: &[Template], schemas: &[Rc<DeployedSchema>]) -> Result<(), Rejection> {
    let named = templates.iter().flat_map(|template| &template.hits).filter_map(|list| list.summary.as_deref());
    for name in named {
        if !schemas.iter().any(|schema| schema.schema.summary_class(name).is_some()) {
            let message = format!("Summary '{}' does not exist", Rejection::quote(name));
            return Err(Rejection::new(Code::IllegalQuery, message));
        }
        schemas.iter().try_for_each(|schema| schema.check_served(name))?;
    }
    Ok(())
}
