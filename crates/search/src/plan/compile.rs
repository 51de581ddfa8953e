//! From the parameters of a request to a plan.
use std::rc::Rc;

use brooklet_document::DataType;
use brooklet_document::embedding::Embeddings;
use brooklet_document::json::TensorFormat;
use brooklet_query::{Query, within_place};
use brooklet_rank::match_data::{FieldInfo, RankProperties};
use brooklet_schema::{Field, Schema, SignificanceModel};
use brooklet_task::{Code, Issues, Rejection, limits, nearest_name};

use super::bind::bind;
use super::collapse::Collapse;
use super::inputs::Inputs;
use super::phases::{Phases, RERANK};
use super::sorting::bind_order;
use super::traced::trace_plan;
use super::{Plan, Presentation, SchemaPlan};
use crate::asked::period::Period;
use crate::asked::properties::Properties;
use crate::deployed::analysis::Analysis;
use crate::deployed::{Deployed, DeployedProfile, DeployedSchema};
use crate::found::model_runs::GivenOutputs;
use crate::grouping;
use crate::ranking::NOW;
use crate::summary::{Marks, report_selections};

const MORE: &str = "https://docs.vespa.ai/en/reference/api/query.html#native-execution-parameters";

/// What is compiled: the tree of a request, what else its parameters say, what the host gave for it, and the time.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) query: &'a Query,
    pub(crate) properties: &'a Properties,
    pub(crate) embeddings: &'a Embeddings,
    pub(crate) models: &'a Rc<GivenOutputs>,
    /// Seconds since 1970 UTC.
    pub(crate) now: i64,
}

/// Compiles a request. Whether it may be answered from a partition is [`Scope`](crate::asked::scope::Scope)'s to say.
pub(crate) fn compile(deployed: &Deployed, asking: Asking<'_>) -> Result<Plan, Rejection> {
    let Asking { query, properties, models, now, .. } = asking;
    let (hits, offset) = window(query, properties)?;
    let mut issues = Issues::default();
    let mut schemas = Vec::new();
    let searched = with_summary(searched_schemas(deployed, &query.sources, properties)?, properties, &mut issues)?;
    check_place(&searched, properties)?;
    let significance = significance_model(deployed, &searched, properties)?;
    // Where nothing is asked nothing is bound; what the parameters say for themselves is read all the same.
    let is_null = query.item.holds_null();
    if is_null {
        within_place(query.item.clone(), properties, None)?;
    }
    for schema in searched.iter().filter(|_| !is_null) {
        let sole = searched.len() == 1;
        schemas.push(for_schema(schema, asking, sole, significance, &mut issues)?);
    }
    let timeout_ms = timeout_of_searched(deployed, query, &searched, properties)?;
    let sorting = match properties.value("ranking.sorting") {
        _ if !query.order_by.is_empty() => query.order_by.clone(),
        Some(sorting) if !sorting.trim().is_empty() => brooklet_query::parse_sorting(sorting)?,
        _ => Vec::new(),
    };
    let language = ["model.locale", "model.language"].into_iter().find_map(|name| properties.value(name));
    let mut order = bind_order(&sorting, &searched, language.filter(|language| !language.is_empty()), &mut issues)?;
    let collapse = Collapse::from_properties(properties)?;
    collapse.check(searched.iter().map(|schema| &**schema))?;
    order.keys.iter_mut().zip(&searched).for_each(|(keys, schema)| keys.extend(collapse.keys(schema)));
    let grouping = grouping::plan(&query.grouping, properties, &searched, deployed.seal_key, now, &mut issues)?;
    if !order.descending.is_empty() {
        // Where hits are not ordered by relevance there are no best ones: the second phase scores them all.
        schemas.iter_mut().for_each(|of| of.phases.second = None);
        if schemas.iter().any(|of| of.phases.global.is_some()) {
            return Err(Rejection::new(Code::IllegalQuery, "Sorting is not supported with global phase"));
        }
    }
    let fields = select_names(&query.fields);
    schemas.iter().for_each(|of| report_selections(of, &fields, &mut issues));
    let presentation = presentation(properties)?;
    let traced = match presentation.trace_level {
        ..=0 => Vec::new(),
        _ => trace_plan((query, properties), &schemas, &sorting, (hits, offset, timeout_ms)),
    };
    let (period, drop_limit) = (Period::from_properties(properties)?, properties.number("ranking.rankScoreDropLimit")?);
    let soft_timeout_ms = soft_timeout(properties, timeout_ms)?;
    // Last: a wrong parameter is the caller's mistake whether or not a query stands beside it.
    if is_null {
        let message = "The query has nothing to search for: no 'yql', 'query' or 'select.where', or an empty one";
        return Err(Rejection::new(Code::NullQuery, message));
    }
    Ok(Plan {
        schemas: schemas.into_iter().map(Rc::new).collect(),
        models: models.clone(),
        hits,
        offset,
        order,
        collapse,
        grouping: grouping.requests,
        seal: grouping.seal,
        zone: grouping.zone,
        issues,
        period,
        fields,
        rank_score_drop_limit: drop_limit,
        presentation,
        timeout_ms,
        soft_timeout_ms,
        traced,
    })
}

/// Share of the timeout after which a search that takes partial results ends: the rest is for showing what was found.
const SOFT_TIMEOUT_FACTOR: f64 = 0.7;

/// What the query selects: each field once, however often it names it.
fn select_names(names: &[String]) -> Vec<String> {
    let mut fields: Vec<String> = Vec::new();
    for name in names.iter().filter(|name| *name != "*") {
        if !fields.contains(name) {
            fields.push(name.clone());
        }
    }
    fields
}

/// When a search ends with what it has (an extension: streaming mode gives all or nothing).
fn soft_timeout(properties: &Properties, timeout_ms: u32) -> Result<Option<f64>, Rejection> {
    let factor = properties.number("ranking.softtimeout.factor")?.unwrap_or(SOFT_TIMEOUT_FACTOR);
    if !(0.0..=1.0).contains(&factor) {
        return Err(properties.refuse("ranking.softtimeout.factor", &format!("{factor} is not between 0 and 1")));
    }
    Ok(properties.is_on("brooklet.partial", false).then(|| factor * f64::from(timeout_ms)))
}

/// Milliseconds a request may take, before it is compiled: what has to be had first counts too.
pub(crate) fn timeout_ms(deployed: &Deployed, query: &Query, properties: &Properties) -> Result<u32, Rejection> {
    timeout_of_searched(deployed, query, &searched_schemas(deployed, &query.sources, properties)?, properties)
}

fn timeout_of_searched(
    deployed: &Deployed,
    query: &Query,
    searched: &[Rc<DeployedSchema>],
    properties: &Properties,
) -> Result<u32, Rejection> {
    if let Some(timeout_ms) = query.timeout_ms {
        return Ok(timeout_ms.min(limits::TIMEOUT_MAX_MS));
    }
    let mut of_clusters = searched.iter().filter_map(|of| deployed.application.cluster_of(&of.schema));
    let by_cluster = of_clusters.find_map(|cluster| cluster.query_timeout_ms);
    Ok(properties.timeout_ms()?.or(by_cluster).unwrap_or(limits::TIMEOUT_MS))
}

/// The field that a place beside the query is about: the one that `pos.attribute` names, or the last of positions.
fn position_field<'s>(schema: &'s Schema, properties: &Properties) -> Option<&'s str> {
    let named = properties.value("pos.attribute").map(str::trim).filter(|name| !name.is_empty());
    let is_meant = |field: &&Field| {
        *field.data_type.element() == DataType::Position
            && field.indexing.searchable()
            && named.is_none_or(|name| field.name == name)
    };
    schema.fields.iter().rev().find(is_meant).map(|field| field.name.as_str())
}

/// Refuses a place in a field that no searched schema has.
fn check_place(searched: &[Rc<DeployedSchema>], properties: &Properties) -> Result<(), Rejection> {
    let Some(named) = properties.value("pos.attribute").filter(|name| !name.trim().is_empty()) else { return Ok(()) };
    if searched.iter().any(|of| position_field(&of.schema, properties).is_some()) {
        return Ok(());
    }
    let message = format!("Error in pos parameters: there is no field '{}' of positions", Rejection::quote(named));
    Err(Rejection::new(Code::InvalidQueryParameter, message))
}

/// How many hits, from which.
fn window(query: &Query, properties: &Properties) -> Result<(usize, usize), Rejection> {
    let illegal = |code: Code, message: String| Err(Rejection::new(code, message));
    let hits_most = of_profile(properties, "maxHits", (limits::HITS, limits::HITS_OF_PROFILE))?;
    let offset_most = of_profile(properties, "maxOffset", (limits::OFFSET, limits::OFFSET_OF_PROFILE))?;
    let hits = match query.hits {
        Some(hits) if hits as usize > hits_most => {
            let message = format!("Requested {hits} hits returned, but max hits allowed is {hits_most}.");
            return illegal(Code::InvalidQueryParameter, message);
        }
        Some(hits) => hits as usize,
        None => properties.count("hits")?.unwrap_or(10),
    };
    let offset = match query.offset {
        Some(offset) => offset as usize,
        None => properties.count("offset")?.unwrap_or(0),
    };
    if hits > hits_most {
        let message = format!("{hits} hits requested, configured limit: {hits_most}. See {MORE}");
        return illegal(Code::IllegalQuery, message);
    }
    if offset > offset_most {
        let message = format!("Offset of {offset} requested, configured limit: {offset_most}. See {MORE}");
        return illegal(Code::IllegalQuery, message);
    }
    Ok((hits, offset))
}

/// A limit that the query profile may set, up to `most`; a request cannot.
fn of_profile(properties: &Properties, name: &str, (otherwise, most): (usize, usize)) -> Result<usize, Rejection> {
    let Some(limit) = properties.count(name)? else { return Ok(otherwise) };
    if !properties.is_of_profile(name) {
        return Err(Rejection::new(Code::BadRequest, format!("{name} must be specified in a query profile.")));
    }
    Ok(limit.min(most))
}

/// The schemas that sources and restrictions leave.
pub(crate) fn searched_schemas(
    deployed: &Deployed,
    sources: &[String],
    properties: &Properties,
) -> Result<Vec<Rc<DeployedSchema>>, Rejection> {
    let list = |name: &str| {
        let names = properties.value(name).unwrap_or("").split(',').map(str::trim);
        names.filter(|name| !name.is_empty() && *name != "*").map(str::to_owned).collect::<Vec<_>>()
    };
    // What is only stored is no source.
    let all = deployed.schemas.iter().filter(|schema| !schema.schema.document_only);
    let all: Vec<Rc<DeployedSchema>> = all.cloned().collect();
    let mut schemas = all.clone();
    // A name that is both means the schema: clusters are often called as their main schema. Of a schema that several clusters
    // have it means that of the cluster.
    let known = |schema: &DeployedSchema, name: &str| {
        let is_schema = schema.schema.name == name;
        let is_cluster = schema.cluster == name;
        let has_own = |of: &&Rc<DeployedSchema>| of.cluster == name && of.schema.name == name;
        match deployed.schemas.iter().find(has_own) {
            Some(own) if own.schema.is_shared => is_schema && is_cluster,
            _ => is_schema || (is_cluster && deployed.schema(name).is_none()),
        }
    };
    let lists = [(sources.to_vec(), true), (list("model.sources"), true), (list("model.restrict"), false)];
    for (names, or_cluster) in lists {
        // A restriction names schemas only.
        let known = |schema: &DeployedSchema, name: &str| {
            if or_cluster { known(schema, name) } else { schema.schema.name == name }
        };
        if let Some(name) = names.iter().find(|name| !all.iter().any(|schema| known(schema, name))) {
            let mut valid: Vec<&str> = all.iter().map(|schema| schema.schema.name.as_str()).collect();
            valid.dedup();
            let hint = nearest_name(name, valid.iter().copied()).map(|near| format!(" Did you mean '{near}'?"));
            let (shown, valid, hint) = (Rejection::quote(name), valid.join(", "), hint.unwrap_or_default());
            let message = format!("Could not resolve source ref '{shown}'. Valid source refs are {valid}.{hint}");
            return Err(Rejection::new(Code::InvalidQueryParameter, message));
        }
        if !names.is_empty() {
            schemas.retain(|schema| names.iter().any(|name| known(schema, name)));
        }
    }
    Ok(schemas)
}

/// The rank profile that a query asks for.
fn requested_profile<'s>(schema: &'s DeployedSchema, name: &str) -> Result<&'s Rc<DeployedProfile>, Rejection> {
    if let Some(profile) = schema.profile(name) {
        return Ok(profile);
    }
    if let Some(why) = schema.uncompiled.get(name) {
        return Err(schema.unusable("rank profile", name, why));
    }
    let names: Vec<&str> = schema.profiles.iter().map(|profile| profile.profile.name.as_str()).collect();
    let message = format!(
        "schema '{}' does not contain requested rank profile '{}' (it has {})",
        schema.schema.name,
        Rejection::quote(name),
        names.join(", ")
    );
    Err(Rejection::new(Code::InvalidQueryParameter, message))
}

/// The schemas that have the document-summary of the request. Of several those that lack it are told of, and leave their
/// hits out; it is refused if none has it.
fn with_summary(
    searched: Vec<Rc<DeployedSchema>>,
    properties: &Properties,
    issues: &mut Issues,
) -> Result<Vec<Rc<DeployedSchema>>, Rejection> {
    let name = properties.value("presentation.summary").unwrap_or("default");
    let has_it = |of: &Rc<DeployedSchema>| of.schema.summary_class(name).is_some();
    if !searched.iter().any(has_it) {
        return searched.first().map_or_else(|| Ok(Vec::new()), |of| check_summary(of, name).map(|()| Vec::new()));
    }
    let (having, lacking): (Vec<_>, Vec<_>) = searched.into_iter().partition(has_it);
    for of in &lacking {
        if let Err(Rejection { code, message, .. }) = check_summary(of, name) {
            issues.report(code, message);
        }
    }
    Ok(having)
}

/// Refuses a document-summary that is not there, or cannot be shown.
fn check_summary(schema: &DeployedSchema, name: &str) -> Result<(), Rejection> {
    if schema.schema.summary_class(name).is_none() {
        let names: Vec<&str> = schema.schema.summary_classes.iter().map(|class| class.name.as_str()).collect();
        let message = format!(
            "Summary '{}' does not exist (schema '{}' has {})",
            Rejection::quote(name),
            schema.schema.name,
            names.join(", ")
        );
        return Err(Rejection::new(Code::IllegalQuery, message));
    }
    schema.check_served(name)
}

fn for_schema(
    schema: &Rc<DeployedSchema>,
    Asking { query, properties, embeddings, models, now }: Asking<'_>,
    sole: bool,
    significance: Option<&SignificanceModel>,
    issues: &mut Issues,
) -> Result<SchemaPlan, Rejection> {
    let profile_name = properties.value("ranking.profile").unwrap_or("default");
    let summary = properties.value("presentation.summary").unwrap_or("default");
    let profile = requested_profile(schema, profile_name)?;
    check_summary(schema, summary)?;
    let inputs = Inputs::bind(properties, profile, embeddings)?;
    let mut rank_properties = profile.properties.clone();
    properties.rank_properties().for_each(|(_, name, value)| Rc::make_mut(&mut rank_properties).replace(name, value));
    if let Some(time) = freshness(properties, now)? {
        Rc::make_mut(&mut rank_properties).replace(NOW, &time.to_string());
    }
    // What the request says nothing of is as it was when the profile was compiled.
    let analysis = match Rc::ptr_eq(&rank_properties, &profile.properties) {
        true => profile.analysis.clone(),
        false => Rc::new(Analysis::from_properties(&rank_properties)?),
    };
    let binding = (sole, profile.ranks_words());
    let item = within_place(query.item.clone(), properties, position_field(&schema.schema, properties))?;
    let bound = bind(&item, (schema, &analysis), binding, (&inputs, significance), statement(properties), issues)?;
    Ok(SchemaPlan {
        schema: schema.clone(),
        root: bound.root,
        leaves: bound.leaves,
        nearest: bound.nearest,
        near: bound.near,
        same_elements: bound.same_elements,
        labeled: bound.labeled,
        terms: bound.terms,
        phases: Phases::new(&profile.profile, is_limited(&rank_properties), properties)?,
        profile: profile.clone(),
        fields: with_gaps(properties, profile)?,
        rank_properties,
        analysis,
        forgiven: Vec::new(),
        inputs,
        summary_class: summary.to_owned(),
        models: models.clone(),
        item,
    })
}

/// The text of the query: what places are in.
fn statement(properties: &Properties) -> Option<&str> {
    let texts = ["yql", "select.where", "model.queryString"].map(|name| properties.value(name));
    texts.into_iter().flatten().find(|text| !text.trim().is_empty())
}

/// The fields as ranking and matching know them, where the request gives other gaps between their elements.
fn with_gaps(properties: &Properties, profile: &DeployedProfile) -> Result<Option<Rc<[FieldInfo]>>, Rejection> {
    const PREFIX: &str = "ranking.elementGap.";
    let mut fields: Option<Vec<FieldInfo>> = None;
    for (field, text) in properties.beginning(PREFIX) {
        let gap = match text {
            "infinity" => None,
            number => Some(number.parse::<i32>().map(|gap| gap.max(0) as u32).map_err(|_| {
                let (name, text) = (Rejection::quote(field), Rejection::quote(text));
                let reason =
                    format!("Element gap value for field '{name}' could not be converted from '{text}' to integer");
                properties.refuse(&format!("{PREFIX}{field}"), &reason)
            })?),
        };
        let known = fields.get_or_insert_with(|| profile.fields.clone()).iter_mut().find(|known| known.name == field);
        if let Some(known) = known {
            known.element_gap = gap;
        }
    }
    Ok(fields.map(Rc::from))
}

/// The significance model for the words of the query, if the request or the rank profile of its schemas wants one.
fn significance_model<'d>(
    deployed: &'d Deployed,
    searched: &[Rc<DeployedSchema>],
    properties: &Properties,
) -> Result<Option<&'d SignificanceModel>, Rejection> {
    const NAME: &str = "ranking.significance.useModel";
    let profile = properties.value("ranking.profile").unwrap_or("default");
    let of_schema =
        |schema: &Rc<DeployedSchema>| schema.profile(profile).is_some_and(|profile| profile.profile.significance_model);
    let wanted = match properties.value(NAME) {
        Some(_) => properties.is_on(NAME, false),
        None => {
            let wanted = searched.iter().any(of_schema);
            if wanted && !searched.iter().all(of_schema) {
                let names: Vec<&str> = searched.iter().map(|schema| schema.schema.name.as_str()).collect();
                let message = format!(
                    "Inconsistent 'significance' configuration for the rank profile '{}' in the schemas [{}]. \
                     Use 'restrict' to limit the query to a subset of schemas",
                    Rejection::quote(profile),
                    names.join(", ")
                );
                return Err(Rejection::new(Code::IllegalQuery, message));
            }
            wanted
        }
    };
    let language = properties.value("model.language").filter(|tag| !tag.is_empty());
    wanted.then(|| deployed.application.significance.model(language).map(AsRef::as_ref)).transpose()
}

/// The time `ranking.freshness` gives: seconds since 1970, `now`, or `now-N`.
fn freshness(properties: &Properties, now: i64) -> Result<Option<i64>, Rejection> {
    const NAME: &str = "ranking.freshness";
    let Some(text) = properties.value(NAME).map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let time = match text.strip_prefix("now") {
        Some("") => Some(now),
        Some(before) => {
            before.strip_prefix('-').and_then(|seconds| seconds.parse::<u32>().ok()).map(|ago| now - i64::from(ago))
        }
        None => text.parse::<i64>().ok(),
    };
    let refused = || {
        let message = format!("Datetime reference could not be converted from '{}' to long", Rejection::quote(text));
        Rejection::new(Code::InvalidQueryParameter, message)
    };
    time.map(Some).ok_or_else(refused)
}

/// Whether the second phase is limited to the best hits.
fn is_limited(properties: &RankProperties) -> bool {
    properties.values(RERANK).last().is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

fn presentation(properties: &Properties) -> Result<Presentation, Rejection> {
    let tensors = match properties.value("presentation.format.tensors") {
        None => TensorFormat::Short,
        Some(name) => TensorFormat::from_name(name).ok_or_else(|| {
            let known = "Value must be 'long', 'short', 'long-value', or 'short-value'";
            properties.refuse("presentation.format.tensors", &format!("{known}, not '{}'", Rejection::quote(name)))
        })?,
    };
    let is_markup = properties.is_markup();
    Ok(Presentation {
        tensors,
        is_markup,
        json_maps: properties.is_on("renderer.json.jsonMaps", true),
        json_wsets: properties.is_on("renderer.json.jsonWsets", true),
        timing: properties.is_on("presentation.timing", false),
        trace_level: properties.integer("trace.level")?.unwrap_or(0),
        trace_timestamps: properties.is_on("trace.timestamps", false),
        marks: match (properties.is_on("presentation.bolding", true), properties.is_on("brooklet.controlMarks", false))
        {
            (false, _) => Marks::None,
            // Marks are told from the text until that is escaped.
            (true, false) if is_markup => Marks::Controls,
            (true, false) => Marks::Elements,
            (true, true) => Marks::Controls,
        },
        list_features: properties.is_on("ranking.listFeatures", false),
        explain: properties.is_on("explain", false),
        explain_id: properties.value("explain.id").filter(|id| !id.is_empty()).map(str::to_owned),
    })
}
