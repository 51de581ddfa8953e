//! `ranking.listFeatures`: the features that are listed when nothing says which (streaming-mode, feature listing), and
//! those that the profile names. What this release does not compute is left out.
use std::rc::Rc;

use brooklet_document::DataType;
use brooklet_rank::features::{attribute_match, element_completeness, field_match, text_similarity};
use brooklet_rank::match_data::FieldKind;
use brooklet_task::Rejection;

use super::SchemaPlan;
use crate::deployed::compile::with_features;
use crate::deployed::{DeployedProfile, DeployedSchema};
use crate::ranking::Ranker;

/// Terms whose features are listed, unless a rank property says how many.
const TERMS: u32 = 5;
const TERMS_MAX: u32 = 1_000;

const OF_QUERY: [&str; 6] =
    ["firstPhase", "nativeRank", "nativeFieldMatch", "nativeProximity", "nativeAttributeMatch", "queryTermCount"];
const OF_TERM: [&str; 3] = ["connectedness", "significance", "weight"];
const OF_TERM_IN_FIELD: [&str; 3] = ["firstPosition", "occurrences", "weight"];
const FIELD_MATCH_OF_FILTER: [&str; 5] = ["completeness", "queryCompleteness", "weight", "matches", "degradedMatches"];

/// The plan with the listed features as the match-features of its profile, and what computes them.
pub(crate) fn listing(of: &SchemaPlan, now: i64) -> Result<(Rc<SchemaPlan>, Ranker), Rejection> {
    let names = names(&of.schema, &of.profile);
    let profile = Rc::new(with_features(&of.schema.schema, &of.profile, &names)?);
    let plan = Rc::new(SchemaPlan { profile, ..of.clone() });
    let ranker = Ranker::new(&plan, now)?;
    Ok((plan, ranker))
}

/// What is listed, in the order it is shown.
#[inline(never)]
fn names(schema: &DeployedSchema, profile: &DeployedProfile) -> Vec<String> {
    let mut names = Vec::new();
    if !profile.profile.ignore_default_rank_features {
        of_query(profile, &mut names);
        for field in &profile.fields {
            let is_tensor = schema
                .schema
                .query_field(&field.name)
                .is_some_and(|field| matches!(field.data_type.element(), DataType::Tensor(_)));
            let searchable = schema.schema.query_field(&field.name).is_some_and(|field| field.searchable());
            match field.kind {
                _ if !searchable => {}
                FieldKind::Index => of_index(&field.name, field.is_filter, profile, &mut names),
                FieldKind::Attribute => of_attribute(&field.name, is_tensor, &mut names),
            }
        }
    }
    let named = profile.profile.rank_features.iter().map(|feature| feature.text.to_string());
    let new: Vec<String> = named.filter(|name| !names.contains(name)).collect();
    names.extend(new);
    names
}

fn of_query(profile: &DeployedProfile, names: &mut Vec<String>) {
    names.extend(OF_QUERY.map(str::to_owned));
    for term in 0..terms(profile, "term.numTerms") {
        names.extend(OF_TERM.map(|output| format!("term({term}).{output}")));
    }
}

fn terms(profile: &DeployedProfile, property: &str) -> u32 {
    let said = profile.properties.values(property).first().and_then(|value| value.trim().parse().ok());
    said.unwrap_or(TERMS).min(TERMS_MAX)
}

#[inline(never)]
fn of_index(field: &str, is_filter: bool, profile: &DeployedProfile, names: &mut Vec<String>) {
    names.extend([format!("matches({field})"), format!("bm25({field})"), format!("fieldMatch({field})")]);
    // The first of its outputs is the one it has without a name.
    let outputs = if is_filter { &FIELD_MATCH_OF_FILTER } else { &field_match::OUTPUTS[1..] };
    names.extend(outputs.iter().map(|output| format!("fieldMatch({field}).{output}")));
    for term in 0..terms(profile, "fieldTermMatch.numTerms") {
        names.extend(OF_TERM_IN_FIELD.map(|output| format!("fieldTermMatch({field},{term}).{output}")));
    }
    if !is_filter {
        names.extend(
            element_completeness::OUTPUTS.iter().map(|output| format!("elementCompleteness({field}).{output}")),
        );
        names.extend(text_similarity::OUTPUTS.iter().map(|output| format!("textSimilarity({field}).{output}")));
    }
}

fn of_attribute(field: &str, is_tensor: bool, names: &mut Vec<String>) {
    names.push(format!("matches({field})"));
    if !is_tensor {
        names.push(format!("attributeMatch({field})"));
        names.extend(attribute_match::OUTPUTS.iter().map(|output| format!("attributeMatch({field}).{output}")));
    }
}
