//! Properties of tokens, folding and edit distances, each against a slow twin written from the definition.

use brooklet_text::{Fuzzy, FuzzyOptions, Normalizing, Token, Tokens, fold, is_word, lowercase, segment};
use proptest::prelude::*;

/// Text in which every rule has a chance: ASCII, accents, widths, marks, symbols, anything.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ -~]{0,12}",
        2 => "[À-ɏʰ-ˤḀ-ỹ]{0,6}",
        1 => "[！-￮]{0,4}",
        1 => "[\u{3000}-\u{3020}一二ァ-ン]{0,4}",
        1 => "[²Ⅷ½\u{300}\u{20dd}😀☕_İẞ]{0,4}",
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// The tokens by looking at every character.
fn naive_tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut inside = false;
    for (start, character) in text.char_indices() {
        let end = start + character.len_utf8();
        match (is_word(character), tokens.last_mut()) {
            (true, Some(token)) if inside => token.end = end,
            (true, _) => tokens.push(Token { start, end }),
            (false, _) => (),
        }
        inside = is_word(character);
    }
    tokens
}

/// The edit distance by the recurrence, without any bound.
fn naive_distance(a: &[char], b: &[char]) -> usize {
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = match (i, j) {
                (0, _) => j,
                (_, 0) => i,
                _ => {
                    let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
                }
            };
        }
    }
    table[a.len()][b.len()]
}

fn characters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// A few thousand cases, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(3_000);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn tokens_are_maximal_runs(text in text()) {
        let tokens: Vec<Token> = Tokens::new(&text).collect();
        prop_assert_eq!(&tokens, &naive_tokens(&text));
        for token in &tokens {
            prop_assert!(text[token.start..token.end].chars().all(is_word));
            prop_assert!(!text[..token.start].chars().next_back().is_some_and(is_word));
            prop_assert!(!text[token.end..].chars().next().is_some_and(is_word));
        }
    }

    #[test]
    fn segments_are_parts_in_order(text in text()) {
        let segments = segment(&text);
        prop_assert!(!segments.is_empty());
        let mut rest = text.as_str();
        for part in segments {
            let at = rest.find(part);
            prop_assert!(at.is_some());
            rest = &rest[at.unwrap_or(0) + part.len()..];
        }
    }

    /// Every plain word of a query is a token of the same text in a document.
    #[test]
    fn segments_of_letters_are_tokens(text in "[a-zA-Z0-9éßЖ日 .,-]{1,40}") {
        let tokens: Vec<&str> = Tokens::new(&text).map(|token| &text[token.start..token.end]).collect();
        let expected = if tokens.is_empty() { vec![text.as_str()] } else { tokens };
        prop_assert_eq!(segment(&text), expected);
    }

    #[test]
    fn folding_goes_character_by_character(text in text()) {
        for normalizing in [Normalizing::None, Normalizing::Lowercase, Normalizing::LowercaseAndFold] {
            let whole = normalizing.apply(&text);
            let mut parts = String::from("kept");
            for character in text.chars() {
                normalizing.append(character.encode_utf8(&mut [0; 4]), &mut parts);
            }
            prop_assert_eq!(format!("kept{whole}"), parts);
        }
    }

    #[test]
    fn ascii_is_only_lowered(text in "[ -~]{0,60}") {
        let (mut folded, mut lowered) = (String::new(), String::new());
        fold(&text, &mut folded);
        lowercase(&text, &mut lowered);
        prop_assert_eq!(&folded, &text.to_ascii_lowercase());
        prop_assert_eq!(folded, lowered);
    }

    #[test]
    fn fuzzy_matches_by_definition(
        word in "[abAB😀]{0,8}",
        value in "[abAB😀]{0,9}",
        edits_max in 0usize..6,
        prefix_length in 0usize..4,
        prefix_match: bool,
        cased: bool,
    ) {
        let options = FuzzyOptions { edits_max, prefix_length, prefix_match, cased };
        let same_case = |text: &str| characters(&if cased { text.to_owned() } else { text.to_ascii_lowercase() });
        let (a, b) = (same_case(&word), same_case(&value));
        let fixed = prefix_length.min(a.len());
        let starts_alike = b.len() >= fixed && a[..fixed] == b[..fixed];
        let near = |end: usize| naive_distance(&a[fixed..], &b[fixed..end]) <= edits_max;
        let expected = starts_alike && if prefix_match { (fixed..=b.len()).any(near) } else { near(b.len()) };
        let mut fuzzy = Fuzzy::new(&word, options);
        prop_assert_eq!(fuzzy.matches(&value), expected);
        prop_assert_eq!(fuzzy.matches(&value), expected, "a second time");
    }
}
