//! Pieces of YQL: annotations, literals, maps.
use crate::annotations::Annotations;
use crate::number::{display, display_float};
use crate::tree::{Bound, Number, TermKind};

/// `key: value` pairs of an annotation.
pub(super) type Pairs = Vec<(&'static str, String)>;

/// The counts that are given.
pub(super) fn counts(counts: &[(&'static str, Option<u32>)]) -> Pairs {
    counts.iter().filter_map(|(name, count)| count.map(|count| (*name, count.to_string()))).collect()
}

pub(super) fn joined_pairs(pairs: &[(&'static str, String)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    pairs.join(", ")
}

/// The annotations of a leaf that are not the defaults.
pub(super) fn leaf_pairs(annotations: &Annotations, form: Form) -> Pairs {
    let mut pairs: Pairs = Vec::new();
    if let Some(connection) = &annotations.connectivity {
        let weight = display_float(connection.weight);
        pairs.push(("connectivity", format!("{{id: {}, weight: {weight}}}", connection.id)));
    }
    if let Some(counts) = annotations.document_frequency.filter(|_| form == Form::Exact) {
        let text = format!("{{frequency: {}L, count: {}L}}", counts.frequency, counts.count);
        pairs.push(("documentFrequency", text));
    }
    pairs.extend(annotations.significance.map(|significance| ("significance", display_float(significance))));
    pairs.extend(annotations.id.map(|id| ("id", id.to_string())));
    pairs.extend(annotations.filter.then(|| ("filter", "true".to_owned())));
    pairs.extend((!annotations.ranked).then(|| ("ranked", "false".to_owned())));
    pairs.extend(annotations.label.as_ref().map(|label| ("label", quote(label))));
    if annotations.weight != 100 {
        pairs.push(("weight", annotations.weight.to_string()));
    }
    pairs.extend(annotations.language.as_ref().map(|language| ("language", quote(language))));
    pairs
}

/// Where a text was cut from.
pub(super) fn origin_pair(annotations: &Annotations) -> Option<(&'static str, String)> {
    let origin = annotations.origin.as_ref()?;
    let (original, offset, length) = (quote(&origin.original), origin.offset, origin.length);
    Some(("origin", format!("{{original: {original}, offset: {offset}, length: {length}}}")))
}

/// What may not be done to a text.
pub(super) fn transform_pairs(annotations: &Annotations) -> Pairs {
    let pairs = [
        ("usePositionData", annotations.use_position_data),
        ("stem", annotations.stem),
        ("normalizeCase", annotations.normalize_case),
        ("accentDrop", annotations.accent_drop),
        ("implicitTransforms", annotations.implicit_transforms),
    ];
    pairs.into_iter().filter(|(_, allowed)| !allowed).map(|(name, _)| (name, "false".to_owned())).collect()
}

pub(super) fn word_pairs(annotations: &Annotations, kind: TermKind, form: Form) -> Pairs {
    let mut pairs = transform_pairs(annotations);
    let affix = match kind {
        TermKind::Word | TermKind::Exact => None,
        TermKind::Prefix => Some("prefix"),
        TermKind::Suffix => Some("suffix"),
        TermKind::Substring => Some("substring"),
    };
    pairs.extend(affix.map(|name| (name, "true".to_owned())));
    pairs.extend(leaf_pairs(annotations, form));
    pairs
}

pub(super) fn bound_text(bound: Bound, unbounded: &str) -> String {
    match bound {
        Bound::Unbounded => unbounded.to_owned(),
        Bound::Inclusive(number) | Bound::Exclusive(number) => literal(number),
    }
}

/// A number as a literal; beyond 32 bits it has an `L`.
pub(super) fn literal(number: Number) -> String {
    match number {
        Number::Integer(value) if i32::try_from(value).is_err() => format!("{value}L"),
        _ => display(number),
    }
}

pub(super) fn degrees(microdegrees: i32) -> String {
    display_float(f64::from(microdegrees) * 1e-6)
}

/// The attributes of a predicate query; those of single subqueries are grouped by the bits of these.
pub(super) fn feature_map(features: Vec<(&String, String, u64)>) -> String {
    if features.is_empty() {
        return "0".to_owned();
    }
    let mut groups: Vec<(u64, Vec<String>)> = Vec::new();
    for (name, value, bits) in features {
        let pair = format!("{}:{value}", quote(name));
        match groups.iter_mut().find(|(group, _)| *group == bits) {
            Some((_, pairs)) => pairs.push(pair),
            None => groups.push((bits, vec![pair])),
        }
    }
    let groups = groups.into_iter().map(|(bits, pairs)| match bits {
        u64::MAX => pairs.join(","),
        _ => format!("\"0x{bits:x}\":{{{}}}", pairs.join(",")),
    });
    format!("{{{}}}", groups.collect::<Vec<_>>().join(","))
}

/// A string literal; everything outside ASCII is escaped.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '"' | '\'' | '\\' | '/' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
        }
    }
    out.push('"');
    out
}

/// Which YQL a tree is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Parsing it gives the same tree again (but for places in the text).
    Exact,
    /// As the reference implementation writes it, which leaves out some annotations and marks of negation.
    Reference,
}
