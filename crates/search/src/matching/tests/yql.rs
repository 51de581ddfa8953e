//! Random queries as YQL.
use super::query::{Leaf, Query, Word};

impl Leaf {
    /// The right side of `contains`, with its annotations.
    fn contained(&self) -> String {
        let quoted = |texts: &[String]| texts.iter().map(|text| format!("'{text}'")).collect::<Vec<_>>().join(", ");
        match self {
            Leaf::Term { kind: Word::Plain, text, .. } => format!("'{text}'"),
            Leaf::Term { kind, text, .. } => format!("({{{}:true}}'{text}')", format!("{kind:?}").to_lowercase()),
            Leaf::Phrase { words, .. } => format!("phrase({})", quoted(words)),
            Leaf::Equiv(leaves) => {
                format!("equiv({})", leaves.iter().map(Leaf::contained).collect::<Vec<_>>().join(", "))
            }
            Leaf::Fuzzy { text, edits, locked, prefix, .. } => {
                format!("({{maxEditDistance:{edits},prefixLength:{locked},prefix:{prefix}}}fuzzy('{text}'))")
            }
            other => panic!("{other:?} is not contained"),
        }
    }

    fn name(&self) -> &str {
        match self {
            Leaf::Term { name, .. } | Leaf::Phrase { name, .. } | Leaf::Fuzzy { name, .. } => name,
            Leaf::Equiv(leaves) => leaves[0].name(),
            other => panic!("{other:?} is not contained"),
        }
    }

    fn yql(&self) -> String {
        match self {
            Leaf::In { name, texts, .. } => {
                format!("{name} in ({})", texts.iter().map(|text| format!("'{text}'")).collect::<Vec<_>>().join(", "))
            }
            Leaf::Regex { name, pattern, .. } => format!("{name} matches '{pattern}'"),
            Leaf::Range { name, low, high, .. } => format!("range({name}, {low}L, {high}L)"),
            Leaf::Weighted { name, tokens, operator, threshold, .. } => {
                let tokens: Vec<String> = tokens.iter().map(|(token, weight)| format!("'{token}':{weight}")).collect();
                let call = format!("{operator}({name}, {{{}}})", tokens.join(", "));
                if *operator == "wand" { format!("({{scoreThreshold:{threshold}}}{call})") } else { call }
            }
            Leaf::Circle { path, latitude, longitude, degrees } => {
                format!("geoLocation({path}, {latitude:?}, {longitude:?}, '{degrees} deg')")
            }
            Leaf::Box { path, south, west, north, east } => {
                format!("geoBoundingBox({path}, {south:?}, {west:?}, {north:?}, {east:?})")
            }
            contained if contained.name().is_empty() => contained.contained(),
            contained => format!("{} contains {}", contained.name(), contained.contained()),
        }
    }
}

impl Query {
    /// The query as YQL, after `where`.
    pub(super) fn yql(&self) -> String {
        let joined = |queries: &[Query], with: &str| {
            queries.iter().map(|query| format!("({})", query.yql())).collect::<Vec<_>>().join(with)
        };
        match self {
            Query::All(value) => value.to_string(),
            Query::Leaf(leaf) => leaf.yql(),
            Query::And(queries) => joined(queries, " and "),
            Query::Or(queries) => joined(queries, " or "),
            Query::AndNot(a, b) => format!("({}) and !({})", a.yql(), b.yql()),
            Query::Rank(a, b) => format!("rank({}, {})", a.yql(), b.yql()),
            Query::Near { name, leaves, negatives, distance, exclusion, ordered } => {
                let words = leaves.iter().map(Leaf::contained);
                let all = words.chain(negatives.iter().map(|leaf| format!("!{}", leaf.contained())));
                let exclusion = exclusion.map_or(String::new(), |words| format!(",exclusionDistance:{words}"));
                let call = if *ordered { "onear" } else { "near" };
                let all: Vec<String> = all.collect();
                format!("{name} contains ({{distance:{distance}{exclusion}}}{call}({}))", all.join(", "))
            }
            Query::Same { field, condition, filter } => {
                let call = format!("sameElement({})", condition.yql());
                if filter.is_empty() {
                    return format!("{field} contains {call}");
                }
                format!("{field} contains ({{elementFilter:{filter:?}}}{call})")
            }
        }
    }
}
