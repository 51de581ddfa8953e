//! Which parameters the reference knows, what values they take, and what they do here: they have their effect, or none in
//! streaming mode, or are refused by name. A mistyped name or value would change an answer silently.
//!
//! What a parameter means stands where it is used. `test-vectors/parameters.json` has a row for each, which shows that what
//! is said here is so.

/// What a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Any JSON.
    Anything,
    /// A text, which a number or a switch is too.
    Text,
    /// The tag of a language: a text without blanks.
    Tag,
    /// `true`, or nothing, which is on; anything else is off.
    Switch,
    /// A whole number of 32 bits.
    Integer,
    /// The same, 1 at least.
    Positive,
    /// A whole number of 64 bits.
    Long,
    Number,
    /// A number from 0 to 1.
    Share,
}

/// What a parameter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// What it does in the reference.
    Done,
    /// Nothing, as in streaming mode; its value is checked.
    None,
    /// It would change the answer, and is refused: what to do instead.
    Refused(&'static str),
}

/// Names whose parts are checked, with what may stand behind any of them.
pub(crate) const GROUPS: [(&str, &[&str]); 4] = [
    ("model.", &[]),
    ("presentation.", &[]),
    ("ranking.", &["features.", "properties.", "elementGap."]),
    ("trace.", &[]),
];

pub(crate) static KNOWN: [(&str, Takes, Effect); 126] = [
    ("collapse.summary", Takes::Text, Effect::None),
    ("collapsefield", Takes::Text, Effect::Done),
    ("collapsesize", Takes::Integer, Effect::Done),
    ("continue", Takes::Text, Effect::Done),
    ("grouping.defaultMaxGroups", Takes::Text, Effect::Done),
    ("grouping.defaultMaxHits", Takes::Text, Effect::Done),
    ("grouping.defaultPrecisionFactor", Takes::Text, Effect::None),
    ("grouping.globalMaxGroups", Takes::Text, Effect::Done),
    ("groupingSessionCache", Takes::Switch, Effect::None),
    ("hitcountestimate", Takes::Switch, Effect::None),
    ("hits", Takes::Integer, Effect::Done),
    ("jsoncallback", Takes::Text, Effect::Done),
    ("maxHits", Takes::Integer, Effect::Done),
    ("maxOffset", Takes::Integer, Effect::Done),
    ("metrics.ignore", Takes::Switch, Effect::None),
    ("model.defaultIndex", Takes::Text, Effect::Done),
    ("model.encoding", Takes::Text, Effect::None),
    ("model.filter", Takes::Text, Effect::Done),
    ("model.language", Takes::Tag, Effect::Done),
    ("model.locale", Takes::Tag, Effect::Done),
    ("model.queryString", Takes::Text, Effect::Done),
    ("model.restrict", Takes::Text, Effect::Done),
    ("model.searchGroup", Takes::Integer, Effect::None),
    ("model.searchPath", Takes::Text, Effect::None),
    ("model.sources", Takes::Text, Effect::Done),
    ("model.type", Takes::Text, Effect::Done),
    ("model.type.composite", Takes::Text, Effect::Done),
    ("model.type.isYqlDefault", Takes::Switch, Effect::Done),
    ("model.type.profile", Takes::Text, Effect::None),
    ("model.type.syntax", Takes::Text, Effect::Done),
    ("model.type.tokenization", Takes::Text, Effect::Done),
    ("noCache", Takes::Switch, Effect::None),
    ("offset", Takes::Integer, Effect::Done),
    ("pos.attribute", Takes::Text, Effect::Done),
    ("pos.bb", Takes::Text, Effect::Done),
    ("pos.ll", Takes::Text, Effect::Done),
    ("pos.radius", Takes::Text, Effect::Done),
    ("pos.units", Takes::Text, Effect::None),
    ("pos.xy", Takes::Text, Effect::Done),
    ("presentation.bolding", Takes::Switch, Effect::Done),
    ("presentation.format", Takes::Text, Effect::Done),
    ("presentation.format.tensors", Takes::Text, Effect::Done),
    ("presentation.summary", Takes::Text, Effect::Done),
    ("presentation.summaryFields", Takes::Text, Effect::Done),
    ("presentation.timing", Takes::Switch, Effect::Done),
    ("queryProfile", Takes::Text, Effect::Done),
    ("ranking.freshness", Takes::Text, Effect::Done),
    ("ranking.globalPhase.rankScoreDropLimit", Takes::Number, Effect::Done),
    ("ranking.globalPhase.rerankCount", Takes::Integer, Effect::Done),
    ("ranking.keepRankCount", Takes::Integer, Effect::None),
    ("ranking.listFeatures", Takes::Switch, Effect::Done),
    ("ranking.location", Takes::Text, Effect::Refused("write geoLocation() in YQL")),
    ("ranking.matchPhase.ascending", Takes::Switch, Effect::None),
    ("ranking.matchPhase.attribute", Takes::Text, Effect::None),
    ("ranking.matchPhase.diversity.attribute", Takes::Text, Effect::None),
    ("ranking.matchPhase.diversity.cutoff.factor", Takes::Number, Effect::None),
    ("ranking.matchPhase.diversity.cutoff.strategy", Takes::Text, Effect::None),
    ("ranking.matchPhase.diversity.minGroups", Takes::Long, Effect::None),
    ("ranking.matchPhase.maxFilterCoverage", Takes::Number, Effect::None),
    ("ranking.matchPhase.maxHits", Takes::Long, Effect::None),
    ("ranking.matchPhase.totalMaxHits", Takes::Long, Effect::None),
    ("ranking.matching.annTimeout.enable", Takes::Switch, Effect::None),
    ("ranking.matching.annTimeout.factor", Takes::Number, Effect::None),
    ("ranking.matching.approximateThreshold", Takes::Number, Effect::None),
    ("ranking.matching.explorationSlack", Takes::Number, Effect::None),
    ("ranking.matching.filterFirstExploration", Takes::Number, Effect::None),
    ("ranking.matching.filterFirstThreshold", Takes::Number, Effect::None),
    ("ranking.matching.filterThreshold", Takes::Share, Effect::None),
    ("ranking.matching.lazyFilter", Takes::Switch, Effect::None),
    ("ranking.matching.minHitsPerThread", Takes::Integer, Effect::None),
    ("ranking.matching.numSearchPartitions", Takes::Integer, Effect::None),
    ("ranking.matching.numThreadsPerSearch", Takes::Positive, Effect::None),
    ("ranking.matching.postFilterThreshold", Takes::Number, Effect::None),
    ("ranking.matching.targetHitsMaxAdjustmentFactor", Takes::Number, Effect::None),
    ("ranking.matching.termwiseLimit", Takes::Share, Effect::None),
    ("ranking.matching.weakand.adjustTarget", Takes::Number, Effect::None),
    ("ranking.matching.weakand.allowDropAll", Takes::Switch, Effect::None),
    ("ranking.matching.weakand.stopwordLimit", Takes::Number, Effect::None),
    ("ranking.profile", Takes::Text, Effect::Done),
    ("ranking.queryCache", Takes::Switch, Effect::None),
    ("ranking.rankScoreDropLimit", Takes::Number, Effect::Done),
    ("ranking.rerankCount", Takes::Integer, Effect::None),
    ("ranking.secondPhase.rankScoreDropLimit", Takes::Number, Effect::Done),
    ("ranking.secondPhase.rerankCount", Takes::Integer, Effect::Done),
    ("ranking.secondPhase.totalRerankCount", Takes::Integer, Effect::None),
    ("ranking.significance.useModel", Takes::Switch, Effect::Done),
    ("ranking.softtimeout.enable", Takes::Switch, Effect::None),
    ("ranking.softtimeout.factor", Takes::Number, Effect::None),
    ("ranking.softtimeout.tailcost", Takes::Number, Effect::None),
    ("ranking.sorting", Takes::Text, Effect::Done),
    ("ranking.totalKeepRankCount", Takes::Integer, Effect::None),
    ("recall", Takes::Text, Effect::Done),
    ("renderer.json.jsonMaps", Takes::Switch, Effect::Done),
    ("renderer.json.jsonWsets", Takes::Switch, Effect::Done),
    ("searchChain", Takes::Text, Effect::Done),
    ("select", Takes::Text, Effect::Done),
    ("select.fields", Takes::Anything, Effect::Done),
    ("select.grouping", Takes::Anything, Effect::Done),
    ("select.where", Takes::Anything, Effect::Done),
    ("sorting.degrading", Takes::Switch, Effect::None),
    ("streaming.fromtimestamp", Takes::Text, Effect::Done),
    ("streaming.groupname", Takes::Text, Effect::Done),
    ("streaming.maxbucketspervisitor", Takes::Integer, Effect::None),
    ("streaming.priority", Takes::Text, Effect::None),
    ("streaming.selection", Takes::Text, Effect::Done),
    ("streaming.totimestamp", Takes::Text, Effect::Done),
    ("streaming.userid", Takes::Text, Effect::Done),
    ("timeout", Takes::Text, Effect::Done),
    ("timezone", Takes::Text, Effect::Done),
    ("trace.explainLevel", Takes::Integer, Effect::None),
    ("trace.level", Takes::Integer, Effect::Done),
    ("trace.profile", Takes::Switch, Effect::None),
    ("trace.profileDepth", Takes::Integer, Effect::None),
    ("trace.query", Takes::Switch, Effect::Done),
    ("trace.timestamps", Takes::Switch, Effect::Done),
    ("unique", Takes::Text, Effect::None),
    ("user", Takes::Text, Effect::None),
    ("wand.field", Takes::Text, Effect::Done),
    ("wand.heapSize", Takes::Text, Effect::None),
    ("wand.hits", Takes::Integer, Effect::None),
    ("wand.scoreThreshold", Takes::Text, Effect::Done),
    ("wand.thresholdBoostFactor", Takes::Text, Effect::None),
    ("wand.tokens", Takes::Text, Effect::Done),
    ("wand.type", Takes::Text, Effect::Done),
    ("weakAnd.replace", Takes::Switch, Effect::None),
    ("yql", Takes::Text, Effect::Done),
];

/// A parameter by its full name, if it is known.
pub(crate) fn known_parameter(name: &str) -> Option<&'static (&'static str, Takes, Effect)> {
    let found = KNOWN.binary_search_by_key(&name, |(known, _, _)| known);
    found.ok().map(|index| &KNOWN[index])
}

/// The full name of one that is known, with any of its letters in lower case.
pub(crate) fn in_any_case(name: &str) -> Option<&'static str> {
    KNOWN.iter().map(|(known, _, _)| *known).find(|known| known.eq_ignore_ascii_case(name))
}
