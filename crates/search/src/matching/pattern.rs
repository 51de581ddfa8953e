//! Regular expressions as `matches` has them: found anywhere in a value, in time linear in its length, with no case
//! unless the field is cased.
//!
//! The engine knows the letters of ASCII in both cases. Others are made lower case in expression and value alike.
use brooklet_task::limits::PATTERN_BYTES;
use brooklet_task::{Code, Rejection};
use regex_lite::{Regex, RegexBuilder};

/// Bytes a compiled expression may take; it bounds repetitions of repetitions.
const COMPILED_BYTES: usize = 1 << 18;
/// Groups inside of groups.
const NESTING: u32 = 50;

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    lowers: bool,
    /// Whether case counts.
    pub(crate) cased: bool,
    /// Bytes of the expression.
    pub(crate) length: usize,
    /// A run of letters that stands in every value the expression is found in, whatever their case.
    pub(crate) literal: Option<String>,
}

impl Pattern {
    /// Compiles an expression.
    ///
    /// # Errors
    /// If it is not one, or too large.
    pub(crate) fn new(pattern: &str, cased: bool) -> Result<Pattern, Rejection> {
        let refuse = |reason: &str| {
            let pattern = Rejection::quote(pattern);
            let message = format!("'{pattern}' is not a regular expression: {reason}");
            Rejection::new(Code::InvalidQueryParameter, message)
        };
        if pattern.len() > PATTERN_BYTES {
            return Err(refuse(&format!("it has {} bytes, at most {PATTERN_BYTES} are allowed", pattern.len())));
        }
        if let Some(at) = unicode_class(pattern) {
            let at = pattern[..at].chars().count() + 1;
            return Err(refuse(&format!(
                "classes of characters by their Unicode property (\\p, at character {at}) are not supported"
            )));
        }
        let lowers = !cased && !pattern.is_ascii();
        let regex = compile(pattern, cased, COMPILED_BYTES).map_err(|error| {
            let place = fault_of(pattern, cased).map_or(String::new(), |at| format!(", at character {at}"));
            refuse(&format!("{error}{place}"))
        })?;
        Ok(Pattern { regex, lowers, cased, length: pattern.len(), literal: literal_of(pattern) })
    }

    /// Whether it is found in a value.
    pub(crate) fn is_in(&self, value: &str) -> bool {
        if self.lowers && !value.is_ascii() {
            return self.regex.is_match(&lowered(value));
        }
        self.regex.is_match(value)
    }
}

/// The compiled expression, of so many bytes at most. Letters outside ASCII are in lower case where case does not count.
fn compile(pattern: &str, cased: bool, bytes: usize) -> Result<Regex, regex_lite::Error> {
    let text = if !cased && !pattern.is_ascii() { lowered(pattern) } else { pattern.to_owned() };
    RegexBuilder::new(&unquoted(&text)).case_insensitive(!cased).size_limit(bytes).nest_limit(NESTING).build()
}

/// The character, from 1, at which an expression that is none goes wrong: after the longest of its beginnings that is one.
/// Nothing if it is too large: then all of it is at fault.
fn fault_of(pattern: &str, cased: bool) -> Option<usize> {
    // What is too large was read without fault. With no room at all that is soon known: each beginning costs its reading.
    let is_one = |beginning: &&str| compile(beginning, cased, 0).map_or_else(|error| is_of_size(&error), |_| true);
    if is_one(&pattern) {
        return None;
    }
    let mut beginnings = pattern.char_indices().rev().map(|(end, _)| &pattern[..end]);
    let longest = beginnings.find(is_one);
    longest.map(|beginning| beginning.chars().count() + 1)
}

/// Whether an expression was refused for its size and not for how it is written.
fn is_of_size(error: &regex_lite::Error) -> bool {
    error.to_string().contains("size")
}

/// The longest run of letters that nothing in the expression can do without; nothing if it has alternatives or flags.
fn literal_of(pattern: &str) -> Option<String> {
    if pattern.contains(['|', '\\']) || ["(?", "[]", "[^]"].iter().any(|special| pattern.contains(special)) {
        return None;
    }
    let (mut best, mut run) = (String::new(), String::new());
    let (mut groups, mut in_class) = (0usize, false);
    let mut end = |run: &mut String| {
        let run = std::mem::take(run);
        if run.len() > best.len() {
            best = run;
        }
    };
    for character in pattern.chars() {
        match character {
            ']' if in_class => in_class = false,
            // Classes inside of classes end where this does not look.
            '[' if in_class => return None,
            _ if in_class => {}
            // What is repeated no times is not there; what is repeated more often ends the run.
            '*' | '?' | '{' => {
                run.pop();
                end(&mut run);
                // A count in braces is no text.
                groups += usize::from(character == '{');
            }
            '[' => {
                in_class = true;
                end(&mut run);
            }
            '(' => {
                groups += 1;
                end(&mut run);
            }
            ')' | '}' => groups = groups.saturating_sub(1),
            _ if groups > 0 => {}
            letter if brooklet_text::is_word(letter) => run.push(letter),
            _ => end(&mut run),
        }
    }
    end(&mut run);
    (best.chars().count() > 1).then_some(best)
}

/// The text with letters outside ASCII in lower case, one by one.
fn lowered(text: &str) -> String {
    let lower = |c: char| {
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(one), None) => one,
            _ => c,
        }
    };
    text.chars().map(|c| if c.is_ascii() { c } else { lower(c) }).collect()
}

/// The expression with what stands between `\Q` and `\E` escaped, which the engine does not know.
fn unquoted(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(at) = find_quote(rest) {
        out.push_str(&rest[..at]);
        let quoted = &rest[at + 2..];
        let (text, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
        out.push_str(&regex_lite::escape(text));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where a class by Unicode property stands: `\\p` or `\\P`, not escaped and not quoted.
fn unicode_class(pattern: &str) -> Option<usize> {
    let (mut at, bytes) = (0, pattern.as_bytes());
    while let Some(found) = pattern[at..].find('\\') {
        let slash = at + found;
        at = match bytes.get(slash + 1)? {
            b'p' | b'P' => return Some(slash),
            b'Q' => slash + 2 + pattern[slash + 2..].find("\\E")? + 2,
            byte if byte.is_ascii() => slash + 2,
            // Behind a character of several bytes.
            _ => slash + 1,
        };
    }
    None
}

/// Where `\Q` stands that is not itself escaped.
fn find_quote(pattern: &str) -> Option<usize> {
    let mut bytes = pattern.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\\' && bytes.next()?.1 == b'Q' {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_indispensable() {
        let literal = |pattern: &str| literal_of(pattern).unwrap_or_default();
        for (pattern, expected) in [
            ("story", "story"),
            ("^a.*story$", "story"),
            ("stories?", "storie"),
            ("ab*cd+e", "cd"),
            ("ab{2}cde{3,4}", "cd"),
            ("x[abc]yz", "yz"),
            ("[]abc]de", ""),
            ("(abc)?de", "de"),
            ("(abc)de", "de"),
            ("[[:alpha:]ab]cd", ""),
            ("ab|cd", ""),
            ("(?i)ab", ""),
            (r"\Qabc\E", ""),
            ("a b-cd", "cd"),
            ("a", ""),
        ] {
            assert_eq!(literal(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn case_and_quotes() {
        let finds = |pattern: &str, cased: bool, value: &str| Pattern::new(pattern, cased).unwrap().is_in(value);
        assert!(finds("^s.*y$", false, "Story"));
        assert!(!finds("^s.*y$", true, "Story"));
        assert!(finds("É+", false, "caféé"));
        assert!(!finds("É", true, "café"));
        assert!(finds("[äö]X", false, "Öx"));
        assert!(finds(r"\Qa.b\E+", false, "a.bbb"));
        assert!(!finds(r"\Qa.b\E", false, "axb"));
        assert!(finds(r"\\Q", false, r"a\Q"));
        assert!(finds("", false, ""));
        let message = |pattern: &str| Pattern::new(pattern, false).unwrap_err().message;
        assert!(message(r"aé\\\p{L}").contains("at character 5"), "{}", message(r"aé\\\p{L}"));
        assert!(message(r"\Qp\E\PL").contains("at character 6"));
        assert!(finds(r"\Q\p{L}\E", false, r"\p{L}") && finds(r"\\p", false, r"\p"));
        // What is wrong begins where the longest beginning that is an expression ends.
        for (wrong, at) in [
            ("(", 1),
            ("(a)(b", 4),
            ("ab)", 3),
            ("a{2,1}", 2),
            ("é[z-a]", 2),
            ("ab\\8", 3),
            ("*a", 1),
            ("x(?<n", 2),
            (r"\Qa(\E(", 7),
            ("abc(?=d)", 4),
        ] {
            let message = message(wrong);
            assert!(message.ends_with(&format!(", at character {at}")), "{wrong}: {message}");
        }
        assert!(!message("(((a{99}){99}){99}){99}").contains("at character"), "all of what is too large is at fault");
        for wrong in ["(", "a{2,1}", "[z-a]", "(?<n", r"\8", "((((((((((((a{99}){99}){99}){99}))))))))"] {
            assert!(Pattern::new(wrong, false).is_err(), "{wrong}");
        }
    }
}
