//! What a word of the query asks of the words of a field: by the field's match mode, by what the word says itself, and by
//! how the field's words are understood.
use brooklet_query::annotations::Typed;
use brooklet_query::tree::{Item, Operator, TermKind};
use brooklet_schema::{Field, MatchMode, Normalizing};
use brooklet_segment::column::text::normalise;
use brooklet_task::{Code, Rejection};
use brooklet_text::Variety;

use super::binder::{Binder, Reading};
use crate::plan::condition::{How, Test, WordTest};

/// A word of the query.
#[derive(Clone, Copy)]
pub(super) struct Wording<'w> {
    /// As it was written.
    pub(super) written: &'w str,
    /// Normalised as the fields are that it searches.
    pub(super) text: &'w str,
    /// Whether it may be stemmed.
    pub(super) stems: bool,
    pub(super) typed: Typed,
}

impl Wording<'_> {
    fn test(self, how: How) -> WordTest {
        let text = if matches!(how, How::Variant(_)) { self.written } else { self.text };
        WordTest { text: text.to_owned(), how }
    }
}

/// Whether a test is about variants of a word.
pub(super) fn has_variants(test: &Test) -> bool {
    matches!(test, Test::Words(words) if words.iter().any(|word| matches!(word.how, How::Variant(_))))
}

/// How many slips a test forgives.
pub(super) fn slips_of(test: &Test) -> u8 {
    let Test::Words(words) = test else { return 0 };
    let slips = |word: &WordTest| if let How::Variant(variety) = word.how { variety.slips } else { 0 };
    words.iter().map(slips).max().unwrap_or(0)
}

impl Binder<'_> {
    /// What a term asks of a text column, by the field's match mode and what the term says itself.
    pub(super) fn text_test(&self, field: &Field, kind: TermKind, wording: Wording<'_>) -> Test {
        let text = wording.text;
        let whole = field.matches_whole_value();
        let how = match (kind, field.matching.mode) {
            (TermKind::Exact, _) => How::Equals,
            (TermKind::Suffix, _) if whole => How::TokenSuffix,
            (TermKind::Suffix, _) => How::Suffix,
            (TermKind::Substring, _) if whole => How::ValueSubstring,
            (TermKind::Substring, _) => How::Substring,
            (_, MatchMode::Substring) => How::Substring,
            (TermKind::Prefix, _) | (_, MatchMode::Prefix) => How::Prefix,
            (_, MatchMode::Suffix) => How::Suffix,
            _ => self.how_word_matches(field, wording, (true, true)),
        };
        // The text is searched folded, whatever the field's words are: only folded words say where it can be.
        let folded = field.normalizing() == Normalizing::LowercaseAndFold;
        if how == How::Substring && !(folded && text.chars().all(brooklet_text::is_word)) {
            let words = if folded { inner_words(text) } else { Vec::new() };
            return Test::Text { words, text: text.to_owned() };
        }
        Test::Words(vec![wording.test(how)])
    }

    /// What a plain word asks of a word of the field. `edges`: whether it is the first, and the last, of its phrase.
    fn how_word_matches(&self, field: &Field, wording: Wording<'_>, edges: (bool, bool)) -> How {
        let text = wording.text;
        if let Some(size) = self.analysis.gram_size(field) {
            return match edges {
                _ if text.chars().nth(size - 1).is_none() => How::Equals,
                (true, true) => How::Substring,
                (true, false) => How::Suffix,
                (false, true) => How::Prefix,
                (false, false) => How::Equals,
            };
        }
        if self.analysis.segments(field) && brooklet_text::has_cjk(text) {
            return How::Segment { starts: !edges.0, ends: !edges.1 };
        }
        let Reading::Variants { slips } = self.reading else { return How::Equals };
        let variety = self.analysis.variety(field, wording.stems, wording.typed);
        let variety = Variety { slips: if self.analysis.forgives(field) { slips } else { 0 }, ..variety };
        if variety == Variety::default() { How::Equals } else { How::Variant(variety) }
    }

    pub(super) fn phrase_word(
        &self,
        field: &Field,
        (word, written): (&PhraseWord, &str),
        normalizing: Normalizing,
        edges: (bool, bool),
    ) -> WordTest {
        let text = normalise(written, normalizing);
        let wording = Wording { written, text: &text, stems: word.stems, typed: Typed::No };
        let how = match (word.kind, how_words_match(field, word.kind)) {
            (TermKind::Word, How::Equals) if !field.matches_whole_value() => {
                self.how_word_matches(field, wording, edges)
            }
            (_, how) => how,
        };
        wording.test(how)
    }
}

/// What one word of several asks of a text column: what it says itself, else the field's match mode (yql §3).
pub(super) fn how_words_match(field: &Field, kind: TermKind) -> How {
    match (kind, field.matching.mode) {
        (TermKind::Prefix, _) => How::Prefix,
        _ if field.matches_whole_value() => How::Equals,
        (TermKind::Exact, _) => How::Equals,
        (TermKind::Suffix, _) | (_, MatchMode::Suffix) => How::Suffix,
        (TermKind::Substring, _) | (_, MatchMode::Substring) => How::Substring,
        (_, MatchMode::Prefix) => How::Prefix,
        _ => How::Equals,
    }
}

/// The words a piece of text must meet: the first ends with its beginning, the last begins with its end.
fn inner_words(text: &str) -> Vec<WordTest> {
    let tokens: Vec<_> = brooklet_text::Tokens::new(text).collect();
    let test = |token: &brooklet_text::Token| {
        let (starts, ends) = (token.start == 0, token.end == text.len());
        let how = match (starts, ends) {
            (true, true) => How::Substring,
            (true, false) => How::Suffix,
            (false, true) => How::Prefix,
            (false, false) => How::Equals,
        };
        WordTest { text: text[token.start..token.end].to_owned(), how }
    };
    tokens.iter().map(test).collect()
}

/// A word of a phrase.
#[derive(Clone)]
pub(super) struct PhraseWord {
    pub(super) text: String,
    pub(super) kind: TermKind,
    /// Whether it may be stemmed.
    stems: bool,
}

impl PhraseWord {
    /// A word that is compared as it is.
    pub(super) fn plain(text: &str) -> PhraseWord {
        PhraseWord { text: text.to_owned(), kind: TermKind::Word, stems: false }
    }
}

/// Words of a phrase, of each place those that may stand there. `stems`: whether the phrase's words may be stemmed.
pub(super) fn phrase_words(items: &[Item], stems: bool) -> Result<Vec<Vec<PhraseWord>>, Rejection> {
    let mut words = Vec::new();
    for item in items {
        let stems = stems && item.annotations.stem;
        match &item.operator {
            Operator::Term(term) => words.push(vec![PhraseWord { text: term.text.clone(), kind: term.kind, stems }]),
            Operator::Phrase(inner) => words.extend(phrase_words(&inner.items, stems)?),
            Operator::Number(number) => words.push(vec![PhraseWord::plain(&number.text)]),
            Operator::Alternatives(of) => {
                words.push(of.words.iter().map(|(word, _)| PhraseWord::plain(word)).collect());
            }
            Operator::Equiv(items) => {
                let mut place = Vec::new();
                for item in items {
                    match &phrase_words(std::slice::from_ref(item), stems)?[..] {
                        [one] => place.extend(one.iter().cloned()),
                        _ => return Err(misplaced_operator(&item.operator).within("In an equiv of a phrase")),
                    }
                }
                words.push(place);
            }
            other => return Err(misplaced_operator(other).within("In a phrase")),
        }
    }
    Ok(words)
}

pub(crate) fn misplaced_operator(operator: &Operator) -> Rejection {
    let name = match operator {
        Operator::Near(near) if near.ordered => "onear",
        Operator::Near(_) => "near",
        Operator::SameElement(_) => "sameElement",
        Operator::Phrase(_) => "phrase",
        Operator::Uri(_) => "uri",
        Operator::Fuzzy(_) => "fuzzy",
        Operator::Regex(_) => "matches",
        Operator::WeightedSet(_) => "weightedSet",
        Operator::DotProduct(_) => "dotProduct",
        Operator::Wand(_) => "wand",
        Operator::NearestNeighbor(_) => "nearestNeighbor",
        Operator::GeoLocation(_) => "geoLocation",
        Operator::GeoBoundingBox(_) => "geoBoundingBox",
        Operator::Predicate(_) => "predicate",
        Operator::Labeled(_) => "labeled",
        _ => "this operator",
    };
    Rejection::new(Code::InvalidQueryParameter, format!("{name} cannot stand here"))
}
