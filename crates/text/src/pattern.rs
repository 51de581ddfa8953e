//! Regular expressions: found anywhere in a value, in time linear in its length, with or without case.
//!
//! The engine is our own, over the parser of crate `regex-syntax`: a search can rest in the middle of a value, so that
//! the largest one under the dearest expression holds nobody up. Classes (`\w`, `[[:alpha:]]`) and edges of words are of
//! ASCII, and so is the case of letters; others are made lower case in expression and value alike.
mod class;
mod cut;
mod program;
mod search;

use std::fmt::{Display, Formatter};
use std::rc::Rc;

pub use cut::OutOfWork;
use program::{NESTING, Program};
use search::Progress;

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Pattern {
    program: Program,
    lowers: bool,
    /// Whether case counts.
    pub cased: bool,
    /// A run of letters that stands in every value the expression is found in, whatever their case.
    pub literal: Option<String>,
}

/// Why a text is no expression, and at which character it goes wrong, from 0; nowhere if all of it is too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternFault {
    /// What is wrong.
    pub reason: String,
    /// Where.
    pub at: Option<usize>,
}

impl Display for PatternFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)?;
        self.at.map_or(Ok(()), |at| write!(f, ", at character {}", at + 1))
    }
}

impl Pattern {
    /// Compiles an expression. How long it may be is the caller's business; one that is too large when compiled is refused.
    ///
    /// # Errors
    /// If it is not one, or too large.
    pub fn new(pattern: &str, cased: bool) -> Result<Pattern, PatternFault> {
        Pattern::compile(pattern, cased, NESTING)
    }

    /// Compiles an expression that must match the whole of a value.
    ///
    /// # Errors
    /// If it is not one, or too large.
    pub fn whole(pattern: &str, cased: bool) -> Result<Pattern, PatternFault> {
        // By itself for the place of a fault, and for what it has of its own.
        Pattern::new(pattern, cased)?;
        Pattern::compile(&format!(r"\A(?:{pattern})\z"), cased, NESTING + 1)
    }

    fn compile(pattern: &str, cased: bool, nesting: u32) -> Result<Pattern, PatternFault> {
        let lowers = !cased && !pattern.is_ascii();
        // Lowering keeps the number of characters: places are told in them.
        let written = if lowers { lowered(pattern) } else { pattern.to_owned() };
        let (text, origins) = unquote(&written);
        let program = Program::new(&text, cased, nesting).map_err(|fault| {
            let character = |at: usize| origins.get(text[..at].chars().count()).copied();
            let at = fault.at.map(|at| character(at).unwrap_or_else(|| pattern.chars().count()));
            PatternFault { reason: fault.reason, at }
        })?;
        Ok(Pattern { program, lowers, cased, literal: literal_of(pattern) })
    }

    /// Whether it is found in a value. Takes from `work` what that costs, in steps of the expression that are looked at;
    /// nothing if it was not enough.
    pub fn is_in(&self, value: &str, work: &mut usize) -> Option<bool> {
        self.go_on(&mut Progress::default(), value, work)
    }

    /// The pieces of a text between the places where it is found, as Java's `split` cuts them: empty ones at the end are
    /// left out. Case counts if the expression was compiled so. Takes from `work` what that costs.
    ///
    /// # Errors
    /// If there was not enough work.
    pub fn pieces<'t>(&self, text: &'t str, work: &mut usize) -> Result<Vec<&'t str>, OutOfWork> {
        cut::pieces(&self.program, text, work)
    }

    fn go_on(&self, progress: &mut Progress, value: &str, work: &mut usize) -> Option<bool> {
        if self.lowers {
            return progress.find(&self.program, value, work, lower);
        }
        progress.find(&self.program, value, work, |character| character)
    }
}

/// A search for an expression, in one value after the other, that can rest.
#[derive(Debug)]
pub struct PatternSearch {
    pattern: Rc<Pattern>,
    progress: Progress,
}

impl PatternSearch {
    /// A search that has not begun.
    #[must_use]
    pub fn new(pattern: Rc<Pattern>) -> PatternSearch {
        PatternSearch { pattern, progress: Progress::default() }
    }

    /// Whether it is found in a value. Takes from `work` what that costs; nothing if it was not enough: asked again about
    /// the same value, it goes on where it was.
    pub fn is_in(&mut self, value: &str, work: &mut usize) -> Option<bool> {
        self.pattern.go_on(&mut self.progress, value, work)
    }
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
            letter if crate::is_word(letter) => run.push(letter),
            _ => end(&mut run),
        }
    }
    end(&mut run);
    (best.chars().count() > 1).then_some(best)
}

/// A letter outside ASCII in lower case, if that is one letter.
fn lower(character: char) -> char {
    if character.is_ascii() {
        return character;
    }
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => character,
    }
}

/// The text with letters outside ASCII in lower case, one by one.
fn lowered(text: &str) -> String {
    text.chars().map(lower).collect()
}

/// The expression with what stands between `\Q` and `\E` escaped, which the parser does not know; and of each character
/// the number it had in the expression.
fn unquote(pattern: &str) -> (String, Vec<usize>) {
    let (mut out, mut origins) = (String::new(), Vec::new());
    let mut characters = pattern.chars().enumerate().peekable();
    let mut quoted = false;
    while let Some((number, character)) = characters.next() {
        let after = characters.peek().map(|(_, after)| *after);
        match (character, after) {
            ('\\', Some('E')) if quoted => {
                quoted = false;
                characters.next();
            }
            ('\\', Some('Q')) if !quoted => {
                quoted = true;
                characters.next();
            }
            // Another escape: what is escaped begins no quotation.
            ('\\', Some(_)) if !quoted => {
                out.push(character);
                origins.push(number);
                let (number, escaped) = characters.next().unwrap_or((number, character));
                out.push(escaped);
                origins.push(number);
            }
            _ => {
                if quoted && regex_syntax::is_meta_character(character) {
                    out.push('\\');
                    origins.push(number);
                }
                out.push(character);
                origins.push(number);
            }
        }
    }
    (out, origins)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are the same in every run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) % bound
        }
    }

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

    fn is_in(pattern: Pattern, value: &str) -> bool {
        PatternSearch::new(Rc::new(pattern)).is_in(value, &mut usize::MAX.clone()).unwrap()
    }

    #[test]
    fn case_and_quotes() {
        let finds = |pattern: &str, cased: bool, value: &str| is_in(Pattern::new(pattern, cased).unwrap(), value);
        assert!(finds("^s.*y$", false, "Story"));
        assert!(!finds("^s.*y$", true, "Story"));
        assert!(finds("É+", false, "caféé"));
        assert!(!finds("É", true, "café"));
        assert!(finds("[äö]X", false, "Öx"));
        assert!(finds(r"\Qa.b\E+", false, "a.bbb"));
        assert!(!finds(r"\Qa.b\E", false, "axb"));
        assert!(finds(r"\\Q", false, r"a\Q"));
        assert!(finds("", false, ""));
        let message = |pattern: &str| Pattern::new(pattern, false).unwrap_err().to_string();
        assert!(message(r"aé\\\p{L}").contains("at character 5"), "{}", message(r"aé\\\p{L}"));
        assert!(message(r"\Qp\E\PL").contains("at character 6"));
        assert!(finds(r"\Q\p{L}\E", false, r"\p{L}") && finds(r"\\p", false, r"\p"));
        for (wrong, at) in [
            ("(", 1),
            ("(a)(b", 4),
            ("ab)", 3),
            ("a{2,1}", 2),
            ("é[z-a]", 3),
            ("ab\\8", 3),
            ("*a", 1),
            ("x(?<n", 6),
            (r"\Qa(\E(", 7),
            ("abc(?=d)", 4),
        ] {
            let message = message(wrong);
            assert!(message.ends_with(&format!(", at character {at}")), "{wrong}: {message}");
        }
        for (wrong, at) in
            [("a(?u:b)", 4), ("a(?R)b", 4), ("[a[b]]", 3), ("a[b&&c]", 3), (r"[\pL]", 2), ("a{2", 2), ("(?i", 4)]
        {
            let message = message(wrong);
            assert!(message.ends_with(&format!(", at character {at}")), "{wrong}: {message}");
        }
        assert!(!message("(((a{99}){99}){99}){99}").contains("at character"), "all of what is too large is at fault");
        for wrong in ["(", "a{2,1}", "[z-a]", "(?<n", r"\8", "((((((((((((a{99}){99}){99}){99}))))))))"] {
            assert!(Pattern::new(wrong, false).is_err(), "{wrong}");
        }
    }

    /// L-regex at its limit and beyond: plain groups, and the most that a group can be for the parser.
    #[test]
    fn groups_nest_to_a_limit() {
        for [open, close] in [["(", ")"], ["(?:", ")"], ["(?i:", ")"], ["(b|a", ")*?"], ["x(^|a", ")?"]] {
            let nested = |levels: usize| format!("{}a{}", open.repeat(levels), close.repeat(levels));
            for (levels, is_allowed) in [(49, true), (50, true), (51, false), (330, false)] {
                for compiled in [Pattern::new(&nested(levels), true), Pattern::whole(&nested(levels), false)] {
                    assert_eq!(compiled.is_ok(), is_allowed, "{levels} of {open}: {:?}", compiled.err());
                }
            }
        }
        let side_by_side = "(a)".repeat(300);
        assert!(Pattern::new(&side_by_side, true).is_ok(), "what stands beside another is not inside of it");
        let message = Pattern::new(&format!("é{}", "(".repeat(51) + &")".repeat(51)), true).unwrap_err().to_string();
        assert_eq!(message, "groups nest more than 50 levels deep, at character 52");
    }

    #[test]
    fn a_whole_value_is_matched() {
        let finds = |pattern: &str, value: &str| is_in(Pattern::whole(pattern, true).unwrap(), value);
        assert!(finds("a|bc", "a") && finds("a|bc", "bc") && !finds("a|bc", "ab") && !finds("a", "ba"));
        assert_eq!(Pattern::whole("ab)", true).unwrap_err().at, Some(2));
    }

    const PARTS: [&str; 41] = [
        "a",
        "b",
        "é",
        "B",
        " ",
        "\n",
        ".",
        "^",
        "$",
        "\\b",
        "\\B",
        "\\A",
        "\\z",
        "\\w",
        "\\W",
        "\\d",
        "\\s",
        "\\S",
        "[ab]",
        "[^a]",
        "[a-cé]",
        "[[:alpha:]_]",
        "[^\\w-]",
        "(",
        "(",
        "(?:",
        "(?i:",
        "(?i)b",
        "(?s).",
        "(?m)^",
        "(?-i)B",
        ")",
        ")",
        "|",
        "*",
        "+",
        "?",
        "{2}",
        "{1,3}",
        "{0,2}",
        "{2,}",
    ];
    const VALUES: [&str; 12] =
        ["", "a", "ab", "aab", "B A\nb", "é", "aé b", "abcabc", "É\n\na", "_1 2-b", "bbbb aaaa", "A\u{212a}a"];

    /// Random expressions of what expressions are made of: the same are refused, and the rest found in the same values,
    /// as by another engine, however often the search rests.
    #[test]
    fn another_engine_finds_the_same() {
        let mut random = Random(5);
        let (mut found, mut refused, mut rests) = (0, 0, 0);
        for _ in 0..30_000 {
            let pattern: String =
                (0..=random.below(7)).map(|_| PARTS[random.below(PARTS.len() as u64) as usize]).collect();
            let cased = random.below(2) == 0;
            let theirs = regex_lite::RegexBuilder::new(&pattern).case_insensitive(!cased).build();
            let ours = Program::new(&pattern, cased, NESTING);
            assert_eq!(ours.is_ok(), theirs.is_ok(), "{pattern}: {:?}, {:?}", ours.err(), theirs.err());
            let (Ok(ours), Ok(theirs)) = (ours, theirs) else {
                refused += 1;
                continue;
            };
            let mut progress = Progress::default();
            for value in VALUES {
                let is_in = loop {
                    let mut work = 1 + random.below(6) as usize;
                    match progress.find(&ours, value, &mut work, |character| character) {
                        Some(is_in) => break is_in,
                        None => rests += 1,
                    }
                };
                assert_eq!(is_in, theirs.is_match(value), "{pattern:?} in {value:?}, cased {cased}");
                found += usize::from(is_in);
            }
        }
        assert!(found > 10_000 && refused > 1_000 && rests > 10_000, "{found}, {refused}, {rests}");
    }

    /// However large the program and the value, a rest comes soon.
    #[test]
    fn a_large_value_is_searched_in_bounded_steps() {
        let pattern = Rc::new(Pattern::new("(x{1,40}){1,40}y", false).unwrap());
        let mut search = PatternSearch::new(pattern);
        let mut value = "x".repeat(5_000);
        let mut steps = 0;
        while search.is_in(&value, &mut 100_000) != Some(false) {
            steps += 1;
        }
        assert!(steps > 50, "{steps}");
        value.push('Y');
        assert_eq!(search.is_in(&value, &mut usize::MAX.clone()), Some(true));
        assert_eq!(search.pattern.is_in(&value, &mut 100_000), None);
        assert_eq!(search.pattern.is_in(&value, &mut usize::MAX.clone()), Some(true));
    }
}
