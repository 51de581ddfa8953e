//! Which rank features there are, who computes each, and how a name becomes an executor.

use super::call::Call;
use crate::features::environment::FeatureEnvironment;
use crate::features::prepared::Prepared;
use crate::operation::function_names;
use brooklet_task::{Code, Rejection, did_you_mean};

type Prepare = fn(&Call<'_, '_>) -> Result<Prepared, Rejection>;

/// Who computes a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// This module, from match data: [`prepare`] knows it.
    MatchData,
    /// The search crate, from the document's values, the query's inputs, the clock or the phases.
    Document,
    /// Nobody in this release; Vespa knows it.
    Unsupported,
}

/// Features computed here.
const MATCH_FEATURES: &[(&str, Prepare)] = &[
    ("attributeMatch", super::attribute_match::prepare),
    ("averageFieldLength", super::group_statistics::prepare_length),
    ("bm25", super::bm25::prepare),
    ("bm25_for_labels", super::labels::prepare_bm25),
    ("elementCompleteness", super::element_completeness::prepare),
    ("elementSimilarity", super::element_similarity::prepare),
    ("elementwise", super::elementwise::prepare),
    ("fieldInfo", super::field_info::prepare),
    ("fieldLength", super::field_length::prepare),
    ("fieldMatch", super::field_match::prepare),
    ("fieldTermMatch", super::field_term_match::prepare),
    ("flowCompleteness", super::flow_completeness::prepare),
    ("jaroWinklerDistance", super::jaro_winkler_distance::prepare),
    ("match", super::match_score::prepare),
    ("matchCount", super::matches::prepare_count),
    ("matches", super::matches::prepare),
    ("matches_for_labels", super::labels::prepare_matches),
    ("nativeAttributeMatch", super::native_attribute_match::prepare),
    ("nativeDotProduct", super::native_dot_product::prepare),
    ("nativeFieldMatch", super::native_field_match::prepare),
    ("nativeProximity", super::native_proximity::prepare),
    ("nativeRank", super::native_rank::prepare),
    ("num_docs", super::group_statistics::prepare_documents),
    ("num_docs_indexed", super::group_statistics::prepare_documents),
    ("proximity", super::proximity::prepare),
    ("queryCompleteness", super::query_completeness::prepare),
    ("queryTermCount", super::term::prepare_count),
    ("queryTermDocumentFrequency", super::group_statistics::prepare_frequency),
    ("reverseProximity", super::proximity::prepare_reverse),
    ("subqueries", super::value::prepare_subqueries),
    ("term", super::term::prepare),
    ("termDistance", super::term_distance::prepare),
    ("termEditDistance", super::term_edit_distance::prepare),
    ("termFieldMd", super::term_field_md::prepare),
    ("textSimilarity", super::text_similarity::prepare),
    ("value", super::value::prepare),
];

/// Features the search crate computes.
const DOCUMENT_FEATURES: &[&str] = &[
    "age",
    "attribute",
    "closeness",
    "closest",
    "constant",
    "customTokenInputIds",
    "distance",
    "distanceToPath",
    "dotProduct",
    "euclideanDistance",
    "firstPhase",
    "firstPhaseRank",
    "foreach",
    "freshness",
    "globalSequence",
    "internalMaxReduceProdJoin",
    "itemRawScore",
    "lightgbm",
    "maxReduceProdJoin",
    "now",
    "onnx",
    "onnxModel",
    "query",
    "random",
    "randomNormal",
    "randomNormalStable",
    "rawScore",
    "relevanceScore",
    "secondPhase",
    "tensorFromLabels",
    "tensorFromLabelsWithOffset",
    "tensorFromStructs",
    "tensorFromWeightedSet",
    "tokenAttentionMask",
    "tokenInputIds",
    "tokenTypeIds",
    "xgboost",
];

/// Features of Vespa that this release refuses, and why.
const UNSUPPORTED_FEATURES: &[(&str, &str)] =
    &[("debugAttributeWait", "it wastes time on purpose"), ("debugWait", "it wastes time on purpose")];

/// Who computes the feature called `name`; `None` if Vespa has no such feature.
#[must_use]
pub fn home(name: &str) -> Option<Home> {
    if MATCH_FEATURES.iter().any(|(known, _)| *known == name) {
        Some(Home::MatchData)
    } else if DOCUMENT_FEATURES.contains(&name) {
        Some(Home::Document)
    } else if UNSUPPORTED_FEATURES.iter().any(|(known, _)| *known == name) {
        Some(Home::Unsupported)
    } else {
        None
    }
}

/// Makes the match feature `name(parameters)` ready for the query of `environment`. Parameters are texts as written in
/// the expression, trimmed or not.
///
/// # Errors
/// If the feature is unknown or not supported, or its parameters or rank properties do not fit the schema.
pub fn prepare(name: &str, parameters: &[String], environment: &FeatureEnvironment<'_>) -> Result<Prepared, Rejection> {
    let Some((_, prepare)) = MATCH_FEATURES.iter().find(|(known, _)| *known == name) else {
        return Err(not_a_match_feature(name));
    };
    let parameters: Vec<String> = parameters.iter().map(|parameter| parameter.trim().to_owned()).collect();
    Call { name, parameters: &parameters, environment }.prepare_with(*prepare)
}

/// Functions of tensors that may be meant by a name that is no feature.
const TENSOR_FUNCTIONS: &[&str] =
    &["avg", "cell_cast", "concat", "count", "join", "map", "median", "merge", "prod", "reduce", "rename", "sum"];

/// The rejection of a `name` that [`prepare`] does not know.
#[inline(never)]
fn not_a_match_feature(name: &str) -> Rejection {
    let quoted = Rejection::quote(name);
    match home(name) {
        Some(Home::Unsupported) => {
            let reasons = UNSUPPORTED_FEATURES.iter().find(|(known, _)| *known == name);
            let why = reasons.map_or(String::new(), |(_, why)| format!(": {why}"));
            Rejection::new(Code::Unsupported, format!("Rank feature '{quoted}' is not supported by this release{why}"))
        }
        Some(_) => Rejection::new(
            Code::Internal,
            format!("Rank feature '{quoted}' is computed from the document's values, not from match data"),
        ),
        None => {
            let names = MATCH_FEATURES.iter().map(|(known, _)| *known).chain(DOCUMENT_FEATURES.iter().copied());
            let hint = did_you_mean(name, names.chain(function_names()).chain(TENSOR_FUNCTIONS.iter().copied()));
            Rejection::new(Code::InvalidApplication, format!("Unknown rank feature '{quoted}'{hint}"))
        }
    }
}
