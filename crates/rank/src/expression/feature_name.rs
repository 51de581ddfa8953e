//! Names of rank features, and the number that stands for a text.
use std::fmt;

/// The name of a rank feature: `name(parameter,parameter).output`.
///
/// Two names are the same feature if their canonical texts ([`FeatureName::to_string`]) are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeatureName {
    /// Name of the feature, `fieldMatch`.
    pub name: String,
    /// Its parameters without quotes: `title`, or the canonical text of a feature or number. A named parameter is
    /// kept as one text, `field:title`.
    pub parameters: Vec<String>,
    /// The output asked for, without the dot: `completeness`. Nothing means the default output.
    pub output: Option<String>,
}

impl FeatureName {
    /// A feature with parameters and without output.
    #[must_use]
    pub fn new(name: &str, parameters: &[&str]) -> FeatureName {
        let parameters = parameters.iter().map(|parameter| (*parameter).to_owned()).collect();
        FeatureName { name: name.to_owned(), parameters, output: None }
    }

    /// Whether it has this name, and exactly one parameter, which is returned (`attribute(year)`).
    #[must_use]
    pub fn only_parameter(&self, name: &str) -> Option<&str> {
        match (self.name == name, self.parameters.as_slice()) {
            (true, [parameter]) => Some(parameter),
            _ => None,
        }
    }
}

impl fmt::Display for FeatureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (i, parameter) in self.parameters.iter().enumerate() {
            f.write_str(if i == 0 { "(" } else { "," })?;
            if is_plain(parameter) { f.write_str(parameter)? } else { write_quoted(f, parameter)? }
        }
        if !self.parameters.is_empty() {
            f.write_str(")")?;
        }
        match &self.output {
            Some(output) => write!(f, ".{output}"),
            None => Ok(()),
        }
    }
}

/// Whether a parameter can stand without quotes: a word, a number, a named parameter, or a feature with balanced
/// parentheses.
fn is_plain(parameter: &str) -> bool {
    let mut depth = 0usize;
    for byte in parameter.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return false,
            b')' => depth -= 1,
            b',' | b'"' | b' ' if depth == 0 => return false,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'@' | b'$' | b'.' | b'-' | b'+' | b':' => {}
            _ if depth == 0 => return false,
            _ => {}
        }
    }
    depth == 0 && !parameter.is_empty()
}

/// Writes `text` in double quotes, quotes and backslashes escaped.
pub(super) fn write_quoted(out: &mut dyn fmt::Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(out, "\\{c}")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\u{c}' => out.write_str("\\f")?,
            _ => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

/// The number that stands for a text in ranking: equal texts have equal numbers, nothing else is promised.
///
/// It is the 64-bit XXH3 hash read as a float64, with one exponent bit cleared where it would be NaN or infinite.
#[must_use]
pub fn text_hash(text: &str) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    const LOWEST_EXPONENT_BIT: u64 = 0x0010_0000_0000_0000;
    let hash = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
    f64::from_bits(if hash & EXPONENT == EXPONENT { hash & !LOWEST_EXPONENT_BIT } else { hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_texts_quote_only_what_needs_it() {
        let mut name = FeatureName::new("fieldMatch", &["title"]);
        name.output = Some("completeness".to_owned());
        assert_eq!(name.to_string(), "fieldMatch(title).completeness");
        assert_eq!(FeatureName::new("nativeRank", &[]).to_string(), "nativeRank");
        assert_eq!(
            FeatureName::new("foo", &["a b", "c(d,e).f", "-3", ""]).to_string(),
            "foo(\"a b\",c(d,e).f,-3,\"\")"
        );
        assert_eq!(FeatureName::new("foo", &["a\"b", ")("]).to_string(), "foo(\"a\\\"b\",\")(\")");
    }

    #[test]
    fn a_hash_is_a_finite_number() {
        assert!((0..10_000).all(|i| text_hash(&i.to_string()).is_finite()));
        assert_eq!(text_hash("no"), -8.275_704_811_921_986e-169);
    }
}
