//! Levenshtein distance in code points, bounded, so that it costs little more than the bound for each character.

use crate::fold::lower;

/// A word prepared for fuzzy matching against whole values.
#[derive(Clone, Debug)]
pub struct Fuzzy {
    prefix: Vec<char>,
    rest: Vec<char>,
    edits_max: usize,
    prefix_match: bool,
    cased: bool,
    row: Vec<usize>,
}

/// What a fuzzy match permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FuzzyOptions {
    /// Most insertions, deletions and substitutions.
    pub edits_max: usize,
    /// Number of first characters that must be equal.
    pub prefix_length: usize,
    /// Whether it is enough that a beginning of the value is near.
    pub prefix_match: bool,
    /// Whether case matters.
    pub cased: bool,
}

impl Default for FuzzyOptions {
    fn default() -> FuzzyOptions {
        FuzzyOptions { edits_max: 2, prefix_length: 0, prefix_match: false, cased: false }
    }
}

impl Fuzzy {
    /// Prepares a word.
    pub fn new(word: &str, options: FuzzyOptions) -> Fuzzy {
        let mut prefix: Vec<char> = word.chars().map(|character| fold_case(character, options.cased)).collect();
        let rest = prefix.split_off(options.prefix_length.min(prefix.len()));
        let FuzzyOptions { edits_max, prefix_match, cased, .. } = options;
        Fuzzy { prefix, rest, edits_max, prefix_match, cased, row: Vec::new() }
    }

    /// Whether a value is near enough. Takes memory for its work from the last call.
    pub fn matches(&mut self, value: &str) -> bool {
        let is_cased = self.cased;
        let mut characters = value.chars().map(|character| fold_case(character, is_cased));
        if !self.prefix.iter().all(|expected| characters.next() == Some(*expected)) {
            return false;
        }
        self.is_rest_near(characters)
    }

    /// Whether what follows the prefix is at most `edits_max` edits from the characters, or from a beginning of them if
    /// `prefix_match`.
    ///
    /// One row of the usual table a character of the value, of which only the band of cells that can be at most
    /// `edits_max` is computed: the cell `i` of row `j` is at least `|i − j|`.
    // Not once more in each that calls `matches`.
    #[inline(never)]
    fn is_rest_near(&mut self, value: impl Iterator<Item = char>) -> bool {
        let Fuzzy { rest: word, edits_max, row, .. } = self;
        let edits_max = *edits_max;
        let too_many = edits_max.saturating_add(1);
        row.clear();
        row.extend((0..=word.len()).map(|edits| edits.min(too_many)));
        let mut best = row[word.len()];
        for (at, character) in value.enumerate() {
            let below = at + 1;
            let first = below.saturating_sub(edits_max).max(1);
            let last = below.saturating_add(edits_max).min(word.len());
            let mut diagonal = row[first - 1];
            row[first - 1] = if first == 1 { below.min(too_many) } else { too_many };
            for i in first..=last {
                let above = row[i];
                let replaced = diagonal + usize::from(word[i - 1] != character);
                row[i] = replaced.min(above + 1).min(row[i - 1] + 1).min(too_many);
                diagonal = above;
            }
            best = best.min(row[word.len()]);
            if row[first - 1..=last.max(first - 1)].iter().all(|edits| *edits > edits_max) {
                break;
            }
        }
        let edits = if self.prefix_match { best } else { row[word.len()] };
        edits <= edits_max
    }
}

fn fold_case(character: char, is_cased: bool) -> char {
    if is_cased { character } else { lower(character) }
}
