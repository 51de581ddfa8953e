//! Which parameters there are below `model.`, `presentation.`, `ranking.` and `trace.`, and what values they take: names
//! that the reference does not know are refused as it refuses them. A mistyped name would change an answer silently.
//!
//! What a parameter means stands where it is used; many mean nothing in streaming mode, and are only checked.
use brooklet_task::{Code, Rejection};

use crate::request::Properties;

/// What a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Anything,
    /// A whole number of 32 bits.
    Integer,
    /// A whole number of 64 bits.
    Long,
    Number,
    /// Nothing yet: it would change the answer.
    Nothing,
}

/// Names whose parts are checked, with what may stand behind any of them.
const GROUPS: [(&str, &[&str]); 4] = [
    ("model.", &[]),
    ("presentation.", &[]),
    ("ranking.", &["features.", "properties.", "elementGap."]),
    ("trace.", &[]),
];

const KNOWN: [(&str, Takes); 67] = [
    ("model.defaultIndex", Takes::Anything),
    ("model.encoding", Takes::Anything),
    ("model.filter", Takes::Anything),
    ("model.language", Takes::Anything),
    ("model.locale", Takes::Anything),
    ("model.queryString", Takes::Anything),
    ("model.restrict", Takes::Anything),
    ("model.searchGroup", Takes::Integer),
    ("model.searchPath", Takes::Anything),
    ("model.sources", Takes::Anything),
    ("model.type", Takes::Anything),
    ("model.type.composite", Takes::Anything),
    ("model.type.isYqlDefault", Takes::Anything),
    ("model.type.profile", Takes::Anything),
    ("model.type.syntax", Takes::Anything),
    ("model.type.tokenization", Takes::Anything),
    ("presentation.bolding", Takes::Anything),
    ("presentation.format", Takes::Anything),
    ("presentation.format.tensors", Takes::Anything),
    ("presentation.summary", Takes::Anything),
    ("presentation.summaryFields", Takes::Anything),
    ("presentation.timing", Takes::Anything),
    ("ranking.freshness", Takes::Anything),
    ("ranking.globalPhase.rankScoreDropLimit", Takes::Number),
    ("ranking.globalPhase.rerankCount", Takes::Integer),
    ("ranking.keepRankCount", Takes::Integer),
    ("ranking.listFeatures", Takes::Anything),
    ("ranking.location", Takes::Nothing),
    ("ranking.matchPhase.ascending", Takes::Anything),
    ("ranking.matchPhase.attribute", Takes::Anything),
    ("ranking.matchPhase.diversity.attribute", Takes::Anything),
    ("ranking.matchPhase.diversity.cutoff.factor", Takes::Number),
    ("ranking.matchPhase.diversity.cutoff.strategy", Takes::Anything),
    ("ranking.matchPhase.diversity.minGroups", Takes::Long),
    ("ranking.matchPhase.maxFilterCoverage", Takes::Number),
    ("ranking.matchPhase.maxHits", Takes::Long),
    ("ranking.matchPhase.totalMaxHits", Takes::Long),
    ("ranking.matching.approximateThreshold", Takes::Number),
    ("ranking.matching.explorationSlack", Takes::Number),
    ("ranking.matching.filterFirstExploration", Takes::Number),
    ("ranking.matching.filterFirstThreshold", Takes::Number),
    ("ranking.matching.filterThreshold", Takes::Number),
    ("ranking.matching.minHitsPerThread", Takes::Integer),
    ("ranking.matching.numSearchPartitions", Takes::Integer),
    ("ranking.matching.numThreadsPerSearch", Takes::Integer),
    ("ranking.matching.postFilterThreshold", Takes::Number),
    ("ranking.matching.targetHitsMaxAdjustmentFactor", Takes::Number),
    ("ranking.matching.termwiseLimit", Takes::Number),
    ("ranking.matching.weakand.adjustTarget", Takes::Number),
    ("ranking.matching.weakand.allowDropAll", Takes::Anything),
    ("ranking.matching.weakand.stopwordLimit", Takes::Number),
    ("ranking.profile", Takes::Anything),
    ("ranking.queryCache", Takes::Anything),
    ("ranking.rankScoreDropLimit", Takes::Number),
    ("ranking.rerankCount", Takes::Integer),
    ("ranking.secondPhase.rankScoreDropLimit", Takes::Number),
    ("ranking.secondPhase.rerankCount", Takes::Integer),
    ("ranking.secondPhase.totalRerankCount", Takes::Integer),
    ("ranking.significance.useModel", Takes::Anything),
    ("ranking.softtimeout.enable", Takes::Anything),
    ("ranking.softtimeout.factor", Takes::Number),
    ("ranking.softtimeout.tailcost", Takes::Number),
    ("ranking.sorting", Takes::Anything),
    ("ranking.totalKeepRankCount", Takes::Integer),
    ("trace.explainLevel", Takes::Integer),
    ("trace.level", Takes::Integer),
    ("trace.profileDepth", Takes::Integer),
];

/// Switches of a trace, whose values are anything.
const TRACE_SWITCHES: [&str; 3] = ["trace.profile", "trace.query", "trace.timestamps"];

/// Checks the parameters that a request itself names.
pub(crate) fn check(properties: &Properties) -> Result<(), Rejection> {
    let own = properties.entries.iter().filter(|(name, _, _)| !properties.of_profile.contains(name));
    for (name, given, value) in own {
        let Some((group, open)) = GROUPS.iter().find(|(group, _)| name.starts_with(group)) else { continue };
        let rest = &name[group.len()..];
        if open.iter().any(|open| rest.len() > open.len() && rest.starts_with(open))
            || TRACE_SWITCHES.contains(&name.as_str())
        {
            continue;
        }
        let Some((_, takes)) = KNOWN.iter().find(|(known, _)| known == name) else {
            let (group, rest) = (group.trim_end_matches('.'), Rejection::quote(rest));
            let reason = format!(
                "'{rest}' is not a valid property in '{group}'. See the query api for valid keys starting by '{group}'."
            );
            return Err(properties.refuse(name, &reason));
        };
        if *takes == Takes::Nothing {
            let given = Rejection::quote(given);
            let message = format!("The parameter '{given}' is not supported: write geoLocation() in YQL");
            return Err(Rejection::new(Code::Unsupported, message));
        }
        if let Some(reason) = misfit(*takes, value.trim()) {
            return Err(properties.refuse(name, &reason));
        }
    }
    Ok(())
}

/// Why a value is not what a parameter takes.
fn misfit(takes: Takes, value: &str) -> Option<String> {
    match takes {
        Takes::Anything | Takes::Nothing => None,
        Takes::Integer => {
            value.parse::<i32>().is_err().then(|| format!("'{}' is not a valid integer", Rejection::quote(value)))
        }
        Takes::Long => value.parse::<i64>().is_err().then(|| "Not a valid long".to_owned()),
        Takes::Number => value.parse::<f64>().map_or(true, f64::is_nan).then(|| "Not a valid double".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str, value: &str) -> Result<(), String> {
        let properties = Properties::read(&[(name.to_owned(), value.to_owned())], b"").unwrap();
        check(&properties).map_err(|rejection| rejection.message)
    }

    #[test]
    fn names_are_known_and_values_fit() {
        assert!(KNOWN.windows(2).all(|two| two[0].0 < two[1].0), "in order, each once");
        for (name, value) in [
            ("ranking", "bm25"),
            ("rankfeature.query(a)", "1"),
            ("input.query(a)", "1"),
            ("rankproperty.x", "y"),
            ("ranking.elementGap.f", "3"),
            ("trace.profile", "x"),
            ("ranking.rankScoreDropLimit", "-1e3"),
            ("tracelevel", "3"),
            ("my.own", "abc"),
        ] {
            assert_eq!(outcome(name, value), Ok(()), "{name}");
        }
        for (name, value, reason) in [
            ("ranking.profle", "a", "'profle' is not a valid property in 'ranking'."),
            ("ranking.features", "a", "'features' is not a valid property in 'ranking'."),
            ("ranking.listfeatures", "true", "'listfeatures' is not a valid property in 'ranking'."),
            ("trace.nosuch", "a", "Could not set 'trace.nosuch': 'nosuch' is not a valid property in 'trace'."),
            ("ranking.matchPhase.maxHits", "1.5", "Not a valid long"),
            ("ranking.rankScoreDropLimit", "NaN", "Not a valid double"),
            ("ranking.keepRankCount", "3000000000", "'3000000000' is not a valid integer"),
            ("location", "(2,1,1,1)", "'location' is not supported"),
        ] {
            let message = outcome(name, value).unwrap_err();
            assert!(message.contains(reason), "{name}: {message}");
        }
    }
}
