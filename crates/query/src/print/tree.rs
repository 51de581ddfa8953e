//! The short form in which the reference implementation shows trees, in traces and in its tests.
use crate::number::display_float;
use crate::tree::{
    AndNot, Item, Key, Near, NearestNeighbor, Operator, Phrase, Predicate, TermKind, Values, Wand, Weighted,
};

/// Writes `item` in the short form: `AND subject:a (OR body:b year:3)`.
#[must_use]
pub fn tree_text(item: &Item) -> String {
    format!("{}{}", unweighted(item), weight(item))
}

fn unweighted(item: &Item) -> String {
    let mut text = plain(item);
    if item.annotations.filter && !text.starts_with('|') {
        text.insert(0, '|');
    }
    text
}

fn weight(item: &Item) -> String {
    match item.annotations.weight {
        100 => String::new(),
        weight => format!("!{weight}"),
    }
}

fn plain(item: &Item) -> String {
    match &item.operator {
        Operator::True => "TRUE".to_owned(),
        Operator::False => "FALSE".to_owned(),
        Operator::Null => "NULL".to_owned(),
        Operator::And(items) => print_named("AND", items),
        Operator::Or(items) => print_named("OR", items),
        Operator::AndNot(not) => except(not),
        Operator::Rank(items) => print_named("RANK", items),
        Operator::WeakAnd(weak) => {
            let hits = weak.target_hits.map(|hits| format!("({hits})")).unwrap_or_default();
            let total = weak.total_target_hits.map(|hits| format!(" {{totalTargetHits={hits}}}")).unwrap_or_default();
            print_named(&format!("WEAKAND{hits}{total}"), &weak.items)
        }
        Operator::Term(term) => {
            let (before, after) = stars(term.kind);
            in_field(&term.field, &format!("{before}{}{after}", term.text))
        }
        Operator::Number(number) => in_field(&number.field, &number.text),
        Operator::Boolean(term) => in_field(&term.field, &term.value.to_string()),
        Operator::Phrase(phrase) => in_field(&phrase.field, &phrase_text(phrase)),
        Operator::Near(near) => near_text(near),
        Operator::SameElement(same) => {
            let filter = match same.element_filter.as_slice() {
                [] => String::new(),
                numbers => format!("{numbers:?}"),
            };
            format!("{}{filter}:{{{}}}", same.field, list(&same.items))
        }
        Operator::Equiv(items) => print_named("EQUIV", items),
        Operator::Regex(regex) => format!("REGEXP {}", in_field(&regex.field, &regex.pattern)),
        Operator::WeightedSet(weighted) => format!("WEIGHTEDSET {}", weighted_text(weighted)),
        Operator::DotProduct(weighted) => format!("DOTPRODUCT {}", weighted_text(weighted)),
        Operator::Labeled(labeled) => {
            format!("LABELED({},{}) {}", labeled.label, display_float(labeled.score), child(&labeled.item))
        }
        _ => special(item),
    }
}

/// Leaves that are more than a field and a text.
fn special(item: &Item) -> String {
    match &item.operator {
        Operator::Alternatives(alternatives) => {
            let words =
                alternatives.words.iter().map(|(word, exactness)| format!("{word}({})", display_float(*exactness)));
            let words: Vec<String> = words.collect();
            let words: String = words.iter().map(|word| format!("{word} ")).collect();
            format!("WORD_ALTERNATIVES {}:[ {words}]", alternatives.field)
        }
        Operator::Uri(uri) => {
            let start = if uri.start_anchor { "^ " } else { "" };
            let end = if uri.end_anchor { " $" } else { "" };
            in_field(&uri.field, &format!("\"{start}{}{end}\"", uri.words.join(" ")))
        }
        Operator::Fuzzy(fuzzy) => {
            let settings = format!("{},{},{}", fuzzy.max_edit_distance, fuzzy.prefix_length, fuzzy.prefix);
            format!("FUZZY({},{settings}) {}", fuzzy.text, in_field(&fuzzy.field, &fuzzy.text))
        }
        Operator::In(list) => match &list.values {
            Values::Integers(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
                format!("NUMERIC_IN {}{{{}}}", list.field, numbers.join(","))
            }
            Values::Texts(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
                format!("STRING_IN {}{{{}}}", list.field, texts.join(","))
            }
        },
        Operator::GeoLocation(location) => {
            let radius = location.radius_microdegrees.map_or(-1, i64::from);
            let (latitude, longitude) = (location.latitude_microdegrees, location.longitude_microdegrees);
            format!("GEO_LOCATION {}:({longitude},{latitude},{radius})", location.field)
        }
        Operator::GeoBoundingBox(area) => format!(
            "GEO_LOCATION {}:[2,{},{},{},{}]",
            area.field,
            area.west_microdegrees,
            area.south_microdegrees,
            area.east_microdegrees,
            area.north_microdegrees
        ),
        Operator::Predicate(predicate) => predicate_text(predicate),
        Operator::Wand(wand) => wand_text(wand),
        Operator::NearestNeighbor(neighbor) => nearest_text(neighbor),
        _ => String::new(),
    }
}

fn predicate_text(predicate: &Predicate) -> String {
    let subqueries = |bits: u64| if bits == u64::MAX { String::new() } else { format!("[0x{bits:x}]") };
    let attributes =
        predicate.attributes.iter().map(|(name, value, bits)| format!("{name}={value}{}", subqueries(*bits)));
    let ranges = predicate.ranges.iter().map(|(name, value, bits)| format!("{name}:{value}{}", subqueries(*bits)));
    format!("PREDICATE_QUERY_ITEM {}", attributes.chain(ranges).collect::<Vec<_>>().join(", "))
}

fn wand_text(wand: &Wand) -> String {
    let hits = wand.target_hits.map(|hits| format!("({hits})")).unwrap_or_default();
    let is_default = wand.score_threshold.is_none() && wand.threshold_boost_factor.is_none();
    let mut given: Vec<String> = wand.total_target_hits.iter().map(|hits| format!("totalTargetHits={hits}")).collect();
    let threshold = wand.score_threshold.or((!is_default && given.is_empty()).then_some(0.0));
    given.extend(threshold.map(|threshold| format!("scoreThreshold={}", display_float(threshold))));
    if !is_default || !given.is_empty() {
        let boost = wand.threshold_boost_factor.unwrap_or(1.0);
        given.push(format!("thresholdBoostFactor={}", display_float(boost)));
    }
    let given = if given.is_empty() { String::new() } else { format!("{{{}}} ", given.join(", ")) };
    format!("WAND{hits} {given}{}", weighted_text(&wand.weighted))
}

fn nearest_text(neighbor: &NearestNeighbor) -> String {
    let mut text = format!("field={},queryTensorName={}", neighbor.field, neighbor.query_tensor);
    let mut add = |name: &str, value: Option<String>| {
        text.extend(value.map(|value| format!(",{name}={value}")));
    };
    add("targetHits", neighbor.target_hits.map(|hits| hits.to_string()));
    add("totalTargetHits", neighbor.total_target_hits.map(|hits| hits.to_string()));
    add("minTargetHits", neighbor.min_target_hits.map(|hits| hits.to_string()));
    for (name, value) in &neighbor.hnsw {
        add(&format!("hnsw.{name}"), Some(value.to_string()));
    }
    add("approximate", neighbor.approximate.filter(|yes| !yes).map(|_| "false".to_owned()));
    add("distanceThreshold", neighbor.distance_threshold.map(display_float));
    format!("NEAREST_NEIGHBOR {{{text}}}")
}

fn print_named(name: &str, items: &[Item]) -> String {
    format!("{name} {}", list(items))
}

fn list(items: &[Item]) -> String {
    items.iter().map(child).collect::<Vec<_>>().join(" ")
}

/// An item below another: composites are in parentheses.
fn child(item: &Item) -> String {
    let composite = matches!(
        item.operator,
        Operator::And(_)
            | Operator::Or(_)
            | Operator::AndNot(_)
            | Operator::Rank(_)
            | Operator::WeakAnd(_)
            | Operator::Near(_)
            | Operator::SameElement(_)
            | Operator::Equiv(_)
            | Operator::Labeled(_)
    );
    if composite { format!("({}){}", unweighted(item), weight(item)) } else { tree_text(item) }
}

fn except(not: &AndNot) -> String {
    let negatives: Vec<String> = not.negatives.iter().map(|negative| format!("-{}", child(negative))).collect();
    let negatives = negatives.join(" ");
    if not.positive.operator == Operator::True {
        return negatives;
    }
    format!("+{} {negatives}", child(&not.positive))
}

fn in_field(field: &str, text: &str) -> String {
    if field.is_empty() { text.to_owned() } else { format!("{field}:{text}") }
}

fn stars(kind: TermKind) -> (&'static str, &'static str) {
    match kind {
        TermKind::Word | TermKind::Exact => ("", ""),
        TermKind::Prefix => ("", "*"),
        TermKind::Suffix => ("*", ""),
        TermKind::Substring => ("*", "*"),
    }
}

/// The words of a phrase without their field; those cut from a literal are in single quotes.
fn phrase_text(phrase: &Phrase) -> String {
    let words = phrase.items.iter().map(|item| match &item.operator {
        Operator::Term(term) => term.text.clone(),
        Operator::Number(number) => number.text.clone(),
        Operator::Phrase(inner) => phrase_text(inner),
        _ => tree_text(item),
    });
    let words = words.collect::<Vec<_>>().join(" ");
    if phrase.segmented.is_some() { format!("'{words}'") } else { format!("\"{words}\"") }
}

fn near_text(near: &Near) -> String {
    let name = if near.ordered { "ONEAR" } else { "NEAR" };
    let negatives = match near.negatives.len() {
        0 => String::new(),
        count => {
            let exclusion = near.exclusion_distance.unwrap_or(near.distance.saturating_add(1) / 2);
            format!(",{count},{exclusion}")
        }
    };
    let items = near.items.iter().chain(&near.negatives).map(child).collect::<Vec<_>>().join(" ");
    format!("{name}({}{negatives}) {items}", near.distance)
}

fn weighted_text(weighted: &Weighted) -> String {
    let tokens = weighted.tokens.iter().map(|token| match &token.key {
        Key::Integer(key) => format!("[{}]:\"{key}\"", token.weight),
        Key::Text(key) => format!("[{}]:\"{key}\"", token.weight),
    });
    let tokens = tokens.collect::<Vec<_>>().join(",");
    // Without tokens the reference form has no opening brace.
    let open = if tokens.is_empty() { "" } else { "{" };
    format!("{}{open}{tokens}}}", weighted.field)
}
