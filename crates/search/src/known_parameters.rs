//! Which parameters the reference knows, what values they take, and what they do here: they have their effect, or none in
//! streaming mode, or are refused by name. A mistyped name or value would change an answer silently.
//!
//! What a parameter means stands where it is used. `test-vectors/parameters.json` has a row for each, which shows that what
//! is said here is so.
use brooklet_query::Written;
use brooklet_task::{Code, Rejection};

use crate::request::Properties;

/// What a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// Any JSON.
    Anything,
    /// A text, which a number or a switch is too.
    Text,
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
const GROUPS: [(&str, &[&str]); 4] = [
    ("model.", &[]),
    ("presentation.", &[]),
    ("ranking.", &["features.", "properties.", "elementGap."]),
    ("trace.", &[]),
];

const KNOWN: [(&str, Takes, Effect); 126] = [
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
    ("model.language", Takes::Text, Effect::Done),
    ("model.locale", Takes::Text, Effect::Done),
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
    ("pos.xy", Takes::Text, Effect::Refused("write the place in degrees, as pos.ll")),
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

/// The full name of one that is known, with any of its letters in lower case.
pub(crate) fn in_any_case(name: &str) -> Option<&'static str> {
    KNOWN.iter().map(|(known, _, _)| *known).find(|known| known.eq_ignore_ascii_case(name))
}

/// Checks how the values of a body are written, before anything is made of them.
pub(crate) fn check_body(properties: &Properties) -> Result<(), Rejection> {
    properties.unplain.iter().try_for_each(|(name, written)| check_written(properties, name, *written))
}

/// Checks the parameters that a request itself names.
pub(crate) fn check(properties: &Properties) -> Result<(), Rejection> {
    let own = properties.entries.iter().filter(|(name, _, _)| !properties.of_profile.contains(name));
    for (name, given, value) in own {
        let Some((_, takes, effect)) = KNOWN.iter().find(|(known, _, _)| known == name) else {
            check_unknown(properties, name)?;
            continue;
        };
        if let Effect::Refused(instead) = effect {
            let message = format!("The parameter '{}' is not supported: {instead}", Rejection::quote(given));
            return Err(Rejection::new(Code::Unsupported, message));
        }
        if let Some(reason) = misfit(name, *takes, value) {
            return Err(properties.refuse(name, &reason));
        }
    }
    Ok(())
}

/// Refuses JSON that is no value of a parameter: taken as its text it would be another value than was meant.
fn check_written(properties: &Properties, name: &str, written: Written) -> Result<(), Rejection> {
    let takes_text =
        |known: &&(&str, Takes, Effect)| known.0 == name && known.1 != Takes::Anything && known.2 != Effect::None;
    let what = match written {
        _ if !KNOWN.iter().any(|known| takes_text(&known)) => return Ok(()),
        Written::Plain => return Ok(()),
        Written::Null => "null",
        Written::Array => "an array",
        Written::Object => "an object",
    };
    // The URL may have said another, which counts.
    match properties.is_of_body(name) {
        true => Err(properties.refuse(name, &format!("it takes a text or a number, not {what}"))),
        false => Ok(()),
    }
}

/// Refuses a name below a group of names that has no such part, and one below a parameter that has no parts: an object
/// stood where a value is wanted.
fn check_unknown(properties: &Properties, name: &str) -> Result<(), Rejection> {
    if let Some((group, open)) = GROUPS.iter().find(|(group, _)| name.starts_with(group)) {
        let rest = &name[group.len()..];
        if open.iter().any(|open| rest.len() > open.len() && rest.starts_with(open)) {
            return Ok(());
        }
        let (group, rest) = (group.trim_end_matches('.'), Rejection::quote(rest));
        let reason = format!(
            "'{rest}' is not a valid property in '{group}'. See the query api for valid keys starting by '{group}'."
        );
        return Err(properties.refuse(name, &reason));
    }
    let has_part = |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.starts_with('.'));
    let whole = KNOWN.iter().filter(|(known, takes, effect)| {
        *effect == Effect::Done && *takes != Takes::Anything && !["select", "collapsesize"].contains(known)
    });
    match whole.map(|(known, _, _)| *known).find(|known| has_part(known)) {
        Some(known) => Err(properties.refuse(name, &format!("'{known}' takes a text or a number, not an object"))),
        None => Ok(()),
    }
}

/// Why a value is not what a parameter takes. An empty one is none where a number is wanted.
fn misfit(name: &str, takes: Takes, value: &str) -> Option<String> {
    let integer = || value.parse::<i32>().map_err(|_| format!("'{}' is not a valid integer", Rejection::quote(value)));
    let number = || value.trim().parse::<f64>().ok().filter(|number| !number.is_nan()).ok_or("Not a valid double");
    match takes {
        Takes::Anything | Takes::Text | Takes::Switch => None,
        _ if value.is_empty() => None,
        Takes::Integer => integer().err(),
        Takes::Positive => match integer() {
            Ok(number) if number < 1 => Some(format!("'{name}' must be at least 1, but is {number}")),
            read => read.err(),
        },
        Takes::Long => value.parse::<i64>().is_err().then(|| "Not a valid long".to_owned()),
        Takes::Number => number().err().map(str::to_owned),
        Takes::Share => match number() {
            Ok(number) if !(0.0..=1.0).contains(&number) => {
                Some(format!("'{name}' must be in the range [0.0, 1.0], but is {number:?}"))
            }
            read => read.err().map(str::to_owned),
        },
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
            ("ranking.rankScoreDropLimit", ""),
            ("ranking.matching.termwiselimit", "1"),
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
            ("ranking.keepRankCount", " 3", "' 3' is not a valid integer"),
            ("ranking.matching.termwiselimit", "2", "must be in the range [0.0, 1.0], but is 2.0"),
            ("ranking.matching.numThreadsPerSearch", "0", "must be at least 1, but is 0"),
            ("location", "(2,1,1,1)", "'location' is not supported"),
            ("pos.xy", "1;2", "'pos.xy' is not supported"),
            ("streaming.groupname.a", "x", "'streaming.groupname' takes a text or a number, not an object"),
        ] {
            let message = outcome(name, value).unwrap_err();
            assert!(message.contains(reason), "{name}: {message}");
        }
    }

    /// What the rows of the vectors say of each parameter is what is said here.
    #[test]
    fn every_parameter_has_a_row() {
        let rows: serde_json::Value =
            serde_json::from_str(include_str!("../../../test-vectors/parameters.json")).unwrap();
        let rows = rows["parameters"].as_array().unwrap();
        let effect =
            |name: &str| rows.iter().find(|row| row["name"] == name).map(|row| row["effect"].as_str().unwrap());
        for (name, _, said) in KNOWN {
            let said = match said {
                Effect::Done => "done",
                Effect::None => "none",
                Effect::Refused(_) => "refused",
            };
            assert_eq!(effect(name), Some(said), "{name}");
        }
    }
}
