//! The order of hits: the `ranking.sorting` language, and the keys it has in common with YQL's `order by`.
use brooklet_task::{Code, Rejection};

/// One key of the order; hits that are equal in it are ordered by the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// What is compared.
    pub by: SortBy,
    /// The direction; `None` leaves it to the attribute's own setting, else ascending.
    pub direction: Option<Direction>,
    /// How texts compare; `None` leaves it to the attribute's own setting, else as [`SortFunction::Uca`].
    pub function: Option<SortFunction>,
    /// Where documents without a value go; `None` for the usual place (ascending single values: first, else last).
    pub missing: Option<Missing>,
}

/// What a [`SortKey`] compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortBy {
    /// An attribute, by name.
    Attribute(String),
    /// The rank score (`[relevance]`, `[relevancy]`, `[rank]`).
    Relevance,
    /// The document id (`[docid]`).
    DocumentId,
    /// The source of the hit (`[source]`).
    Source,
}

/// Which way an order goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Least first.
    Ascending,
    /// Largest first.
    Descending,
}

/// The order of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortFunction {
    /// The order of their bytes.
    Raw,
    /// The order of their lower case.
    Lowercase,
    /// The Unicode collation of a language.
    Uca {
        /// The language, as a tag; `None` for the attribute's or the query's.
        locale: Option<String>,
        /// How much of a difference counts; `None` for the attribute's, else primary.
        strength: Option<Strength>,
    },
}

/// Which differences count in a collation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// Letters.
    Primary,
    /// Accents too.
    Secondary,
    /// Case too.
    Tertiary,
    /// Punctuation too.
    Quaternary,
    /// Everything.
    Identical,
}

/// Where documents without a value go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// They come before all others.
    First,
    /// They come after all others.
    Last,
    /// Where this value would be.
    As(String),
}

impl SortBy {
    /// What a name sorts by; names in brackets are special.
    ///
    /// # Errors
    /// A sentence, if it cannot be the name of an attribute.
    pub(crate) fn named(name: &str) -> Result<SortBy, String> {
        Ok(match name {
            "[relevance]" | "[relevancy]" | "[rank]" => SortBy::Relevance,
            "[docid]" => SortBy::DocumentId,
            "[source]" => SortBy::Source,
            _ if is_attribute_name(name) => SortBy::Attribute(name.to_owned()),
            _ => {
                return Err(format!(
                    "Illegal attribute name '{}' for sorting. Requires '{ATTRIBUTE_NAME}'",
                    Rejection::quote(name)
                ));
            }
        })
    }
}

fn is_attribute_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

impl Strength {
    /// The strength of a name, in any case.
    pub(crate) fn named(name: &str) -> Option<Strength> {
        let strengths = [
            ("primary", Strength::Primary),
            ("secondary", Strength::Secondary),
            ("tertiary", Strength::Tertiary),
            ("quaternary", Strength::Quaternary),
            ("identical", Strength::Identical),
        ];
        strengths.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, strength)| strength)
    }
}

/// What the name of an attribute looks like, as refusals say it.
const ATTRIBUTE_NAME: &str = r"[\[]*[a-zA-Z_][\.a-zA-Z0-9_-]*[\]]*";

/// Most keys an order may have; more would never be looked at.
const KEYS: usize = 64;

/// Parses the language of `ranking.sorting`: `-price +lowercase(name) missing(+year,last)`.
///
/// # Errors
/// If it is malformed, with code [`Code::IllegalQuery`].
pub fn parse_sorting(text: &str) -> Result<Vec<SortKey>, Rejection> {
    crate::limited::check_length("sorting", text)?;
    let mut keys = Vec::new();
    for part in split_at_top(text, |c| c.is_ascii_whitespace()) {
        if part.is_empty() {
            continue;
        }
        if keys.len() == KEYS {
            return Err(Rejection::new(Code::IllegalQuery, format!("More than {KEYS} sort keys.")));
        }
        let key = parse_key(part).map_err(|message| {
            let offset = part.as_ptr().addr() - text.as_ptr().addr();
            Rejection::at(Code::IllegalQuery, message, text, offset)
        })?;
        keys.push(key);
    }
    Ok(keys)
}

#[inline(never)]
fn parse_key(text: &str) -> Result<SortKey, String> {
    let (direction, object) = match text.as_bytes().first() {
        Some(b'+') => (Some(Direction::Ascending), &text[1..]),
        Some(b'-') => (Some(Direction::Descending), &text[1..]),
        _ => (None, text),
    };
    let Some(arguments) = arguments_of(object, "missing") else {
        let (by, function) = parse_object(object)?;
        return Ok(SortKey { by, direction, function, missing: None });
    };
    let parts: Vec<&str> = split_at_top(arguments, |c| c == ',').into_iter().map(str::trim).collect();
    let unknown =
        |policy: &str| format!("Unknown missing policy '{}' at '{}'", Rejection::quote(policy), Rejection::quote(text));
    let (object, missing) = match parts.as_slice() {
        [object, policy] if policy.eq_ignore_ascii_case("first") => (object, Missing::First),
        [object, policy] if policy.eq_ignore_ascii_case("last") => (object, Missing::Last),
        [object, policy, value] if policy.eq_ignore_ascii_case("as") => (object, Missing::As(replacement(value)?)),
        [_, policy, ..] => return Err(unknown(policy)),
        _ => return Err(unknown("")),
    };
    let (by, function) = parse_object(object)?;
    Ok(SortKey { by, direction, function, missing: Some(missing) })
}

/// The value that stands in for a missing one: bare, or in quotes with escapes.
fn replacement(text: &str) -> Result<String, String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let is_bare = |c: char| !matches!(c, '(' | ')' | '"' | '\\') && !c.is_ascii_whitespace();
        if text.is_empty() || !text.chars().all(is_bare) {
            return Err(format!("Expected a value for what is missing, got '{}'", Rejection::quote(text)));
        }
        return Ok(text.to_owned());
    };
    let mut value = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next() {
            Some('"') if characters.as_str().is_empty() => return Ok(value),
            Some('\\') => value.extend(characters.next()),
            Some('"') | None => return Err(format!("Expected '\"' at the end of '{}'", Rejection::quote(text))),
            Some(c) => value.push(c),
        }
    }
}

fn parse_object(text: &str) -> Result<(SortBy, Option<SortFunction>), String> {
    let Some((function, _)) = text.split_once('(') else { return Ok((SortBy::named(text)?, None)) };
    let quoted = Rejection::quote(text);
    if function.is_empty() {
        return Err(format!("No sort function specified in '{quoted}'"));
    }
    let known = ["lowercase", "raw", "uca"].into_iter().find(|known| known.eq_ignore_ascii_case(function));
    let Some(known) = known else {
        return Err(format!("Unknown sort function '{}' in '{quoted}'", Rejection::quote(function)));
    };
    let arguments = arguments_of(text, known).ok_or_else(|| format!("Expected ')' at the end of '{quoted}'"))?;
    let parts: Vec<&str> = arguments.split(',').map(str::trim).collect();
    let unknown = |name: &str| format!("Unknown collation strength: '{}' in '{quoted}'", Rejection::quote(name));
    let (attribute, function) = match (known, parts.as_slice()) {
        ("lowercase", [attribute]) => (attribute, SortFunction::Lowercase),
        ("raw", [attribute]) => (attribute, SortFunction::Raw),
        ("uca", [attribute]) => (attribute, SortFunction::Uca { locale: None, strength: None }),
        ("uca", [attribute, locale]) => {
            (attribute, SortFunction::Uca { locale: Some((*locale).to_owned()), strength: None })
        }
        ("uca", [attribute, locale, name]) => {
            let strength = Some(Strength::named(name).ok_or_else(|| unknown(name))?);
            (attribute, SortFunction::Uca { locale: Some((*locale).to_owned()), strength })
        }
        _ => return Err(format!("Expected ')' after the arguments of '{known}' in '{quoted}'")),
    };
    Ok((SortBy::named(attribute)?, Some(function)))
}

/// What is between the parentheses of `name(…)`, with the name in any case.
fn arguments_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let given = text.get(..name.len()).filter(|given| given.eq_ignore_ascii_case(name))?;
    text[given.len()..].strip_prefix('(')?.strip_suffix(')')
}

/// The parts between separators that are outside of parentheses and quotes.
fn split_at_top(text: &str, separates: impl Fn(char) -> bool) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        if quoted {
            (quoted, escaped) = (escaped || c != '"', c == '\\' && !escaped);
            continue;
        }
        match c {
            '"' => quoted = true,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && separates(c) => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(by: &str) -> SortKey {
        SortKey { by: SortBy::Attribute(by.into()), direction: None, function: None, missing: None }
    }

    #[test]
    fn keys_have_directions_functions_and_places_for_missing_values() {
        let keys = parse_sorting(
            "-price +lowercase(name)  missing(uca(title,en_US,TERTIARY),last) [rank] +missing(a.key,as, 5)",
        )
        .unwrap();
        let uca = SortFunction::Uca { locale: Some("en_US".into()), strength: Some(Strength::Tertiary) };
        let expected = vec![
            SortKey { direction: Some(Direction::Descending), ..key("price") },
            SortKey { direction: Some(Direction::Ascending), function: Some(SortFunction::Lowercase), ..key("name") },
            SortKey { function: Some(uca), missing: Some(Missing::Last), ..key("title") },
            SortKey { by: SortBy::Relevance, ..key("") },
            SortKey { direction: Some(Direction::Ascending), missing: Some(Missing::As("5".into())), ..key("a.key") },
        ];
        assert_eq!(keys, expected);
        assert_eq!(parse_sorting("").unwrap(), []);
    }

    #[test]
    fn functions_and_policies_have_any_case_and_values_may_be_quoted() {
        let keys = parse_sorting(r#"UCA(a,sv,primary) LowerCase(b) MISSING(c,As,"x \"(y\\") -Raw(d)"#).unwrap();
        let names: Vec<_> = keys.iter().map(|key| (key.function.is_some(), key.missing.clone())).collect();
        let value = Missing::As("x \"(y\\".into());
        assert_eq!(names, [(true, None), (true, None), (false, Some(value)), (true, None)]);
    }

    #[test]
    fn malformed_sortings_are_refused_at_their_place() {
        for wrong in [
            "+",
            "5",
            "a b(c)",
            "(a)",
            "uca(a",
            "missing(a,as,b c)",
            "missing(a,as,\"b)",
            "missing(a)",
            "missing(a,maybe)",
            "uca(a,b,c,d)",
            "uca(a,b,c)",
            "[bogus]",
            "a(",
            "a)",
        ] {
            let rejection = parse_sorting(wrong).unwrap_err();
            assert_eq!(rejection.code, Code::IllegalQuery, "{wrong}");
        }
        assert_eq!(parse_sorting("a 5").unwrap_err().span.unwrap().offset, 2);
    }
}
