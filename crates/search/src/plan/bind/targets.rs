//! What an item asks of each column its name means.
use std::borrow::Cow;
use std::rc::Rc;

use brooklet_document::DataType;
use brooklet_kernel::{sort, sort_by};
use brooklet_query::annotations::{Annotations, Typed};
use brooklet_query::tree::{
    Bound as End, Fuzzy, Item, Key, Number, NumberTerm, Operator, Term, TermKind, Values, Weighted,
};
use brooklet_schema::{Field, Normalizing};
use brooklet_segment::column::text::normalise;
use brooklet_segment::layout::{Collection, ColumnKind, ColumnSpec, NumberKind};
use brooklet_task::{Code, Rejection, limits};
use brooklet_text::{FuzzyOptions, Pattern, whole_letters};

use super::binder::Binder;
use super::names::Searched;
use super::number::{number_kind, number_of_text, numbers_of_word, range};
use super::wording::{PhraseWord, Wording, how_words_match, misplaced_operator, phrase_words};
use crate::plan::condition::{
    How, NumberTest, PhraseTest, PositionTest, Scoring, Target, Test, ValueTest, WeightedKeys, WeightedTest, WordTest,
};

impl Binder<'_> {
    /// What a leaf of the tree asks.
    pub(super) fn targets(&mut self, item: &Item) -> Result<Vec<Target>, Rejection> {
        match &item.operator {
            Operator::Term(term) => {
                let Annotations { stem, typed, .. } = item.annotations;
                self.term(term, stem, typed)
            }
            Operator::Number(term) => self.number(term),
            Operator::Boolean(term) => {
                let value = Number::Integer(i64::from(term.value));
                let (text, low, high) = (term.value.to_string(), End::Inclusive(value), End::Inclusive(value));
                self.number(&NumberTerm { field: term.field.clone(), text, low, high, hit_limit: None })
            }
            Operator::Phrase(phrase) => {
                let stems = item.annotations.stem;
                self.phrase(&phrase.field, &phrase_words(&phrase.items, stems)?, false, false)
            }
            Operator::Uri(uri) => {
                let words = uri.document_words().map(|word| vec![PhraseWord::plain(word)]);
                self.phrase(&uri.field, &words.collect::<Vec<_>>(), uri.start_anchor, uri.end_anchor)
            }
            Operator::Equiv(items) => {
                let mut targets = Vec::new();
                for item in items {
                    targets.extend(self.targets(item)?);
                }
                Ok(join_words(targets))
            }
            Operator::Alternatives(of) => {
                let mut targets = Vec::new();
                for (word, _) in &of.words {
                    let term = Term { field: of.field.clone(), text: word.clone(), kind: TermKind::Word };
                    targets.extend(self.term(&term, false, Typed::No)?);
                }
                Ok(join_words(targets))
            }
            Operator::In(list) => self.values(&list.field, &list.values),
            Operator::Fuzzy(fuzzy) => self.fuzzy(fuzzy),
            Operator::Regex(regex) => self.pattern(&regex.field, &regex.pattern),
            Operator::WeightedSet(weighted) => self.weighted_targets(weighted, Scoring::Weights),
            Operator::DotProduct(weighted) => self.weighted_targets(weighted, Scoring::DotProduct),
            Operator::Wand(wand) => {
                self.weighted_targets(&wand.weighted, Scoring::Wand(wand.score_threshold.unwrap_or(0.0)))
            }
            Operator::GeoLocation(geo) => self.position(
                &geo.field,
                PositionTest::Circle {
                    latitude: geo.latitude_microdegrees,
                    longitude: geo.longitude_microdegrees,
                    radius: geo.radius_microdegrees,
                    is_flat: geo.is_flat,
                },
            ),
            Operator::GeoBoundingBox(geo) => self.position(
                &geo.field,
                PositionTest::Box {
                    south: geo.south_microdegrees,
                    west: geo.west_microdegrees,
                    north: geo.north_microdegrees,
                    east: geo.east_microdegrees,
                },
            ),
            other => Err(misplaced_operator(other)),
        }
    }

    /// `stems`: whether the word may be stemmed.
    fn term(&mut self, term: &Term, stems: bool, typed: Typed) -> Result<Vec<Target>, Rejection> {
        let fields = self.fields(&term.field)?;
        let normalizing = Self::normalizing(&fields);
        let mut targets = Vec::new();
        for searched in &fields {
            if let Some(spec) = self.text_column(searched.field) {
                for written in spellings(&term.text).filter(|written| !written.is_empty()) {
                    let text = normalise(&written, normalizing);
                    let wording = Wording { written: &written, text: &text, stems, typed };
                    targets.push(searched.target(spec.clone(), self.text_test(searched.field, term.kind, wording)));
                }
            } else if let Some(spec) = self.number_column(searched.field)
                && let Some(test) = numbers_of_word(&term.text, number_kind(&spec))
            {
                targets.push(searched.target(spec, Test::Number(test)));
            }
        }
        Ok(join_words(targets))
    }

    /// A phrase with words of CJK, written without anything between its words: there is no space between such words.
    fn joined_test(&self, field: &Field, words: &[Vec<PhraseWord>], normalizing: Normalizing) -> Option<Test> {
        if words.len() < 2 || !self.analysis.segments(field) {
            return None;
        }
        let mut text = String::new();
        for place in words {
            let [PhraseWord { text: word, kind: TermKind::Word, .. }] = &place[..] else { return None };
            text.push_str(word);
        }
        let how = How::Segment { starts: false, ends: false };
        let text = normalise(&whole_letters(&text), normalizing).into_owned();
        brooklet_text::has_cjk(&text).then(|| Test::Words(vec![WordTest { text, how }]))
    }

    /// The n-grams of a word, if all fields that it searches are of n-grams of one size.
    pub(super) fn grams(&mut self, term: &Term) -> Result<Option<Vec<String>>, Rejection> {
        if term.kind != TermKind::Word || !self.has_grams(&term.field) {
            return Ok(None);
        }
        let fields = self.fields(&term.field)?;
        let mut sizes = fields.iter().map(|searched| self.analysis.gram_size(searched.field));
        let Some(Some(size)) = sizes.next().filter(|first| sizes.all(|other| other == *first)) else { return Ok(None) };
        let text = whole_letters(&term.text);
        let text = normalise(&text, Normalizing::LowercaseAndFold);
        let mut grams: Vec<String> = brooklet_text::grams(&text, size).into_iter().map(str::to_owned).collect();
        let mut seen = std::collections::BTreeSet::new();
        grams.retain(|gram| seen.insert(gram.clone()));
        Ok((grams.len() > 1).then_some(grams))
    }

    /// A number that a person typed, as the word that it is of texts whose words may be begun or are cut into n-grams.
    pub(super) fn word_of_number(&mut self, number: &NumberTerm, typed: Typed) -> Result<Option<Term>, Rejection> {
        if typed == Typed::No || !number.is_word() {
            return Ok(None);
        }
        let fields = self.fields(&number.field)?;
        let is_word = fields.iter().any(|Searched { field, .. }| {
            self.analysis.gram_size(field).is_some() || self.analysis.variety(field, false, typed).beginnings
        });
        let (field, text) = (number.field.clone(), number.text.clone());
        Ok(is_word.then_some(Term { field, text, kind: TermKind::Word }))
    }

    fn number(&mut self, term: &NumberTerm) -> Result<Vec<Target>, Rejection> {
        let mut targets = Vec::new();
        for searched in &self.fields(&term.field)? {
            let field = searched.field;
            if let Some(spec) = self.number_column(field) {
                let test = Test::Number(range(term, number_kind(&spec)));
                targets.push(searched.target(spec, test));
            } else if let Some(spec) = self.text_column(field) {
                let text = normalise(&term.text, field.normalizing()).into_owned();
                // A text is equal to a number as it is written; it is never in a range.
                let words: Vec<WordTest> = if field.matches_whole_value() || term.low != term.high {
                    vec![WordTest { text, how: How::Equals }]
                } else {
                    let how = how_words_match(field, TermKind::Word);
                    let tokens = brooklet_text::Tokens::new(&text).map(|token| text[token.start..token.end].to_owned());
                    tokens.map(|text| WordTest { text, how }).collect()
                };
                targets
                    .push(searched.target(spec, words_or_phrase(words.into_iter().map(|word| vec![word]).collect())));
            }
        }
        Ok(targets)
    }

    fn phrase(
        &mut self,
        field: &str,
        words: &[Vec<PhraseWord>],
        starts: bool,
        ends: bool,
    ) -> Result<Vec<Target>, Rejection> {
        let fields = self.fields(field)?;
        let normalizing = Self::normalizing(&fields);
        let mut targets = Vec::new();
        for searched in &fields {
            let Some(spec) = self.text_column(searched.field) else { continue };
            let last = words.len().saturating_sub(1);
            let of_place = |(place, of): (usize, &Vec<PhraseWord>)| {
                let edges = (place == 0, place == last);
                let words = of.iter().flat_map(|word| spellings(&word.text).map(move |written| (written, word)));
                let test = |(written, word): (Cow<'_, str>, &PhraseWord)| {
                    self.phrase_word(searched.field, (word, &written), normalizing, edges)
                };
                words.map(test).collect()
            };
            let joined = self.joined_test(searched.field, words, normalizing).filter(|_| !starts && !ends);
            let words: Vec<Vec<WordTest>> = words.iter().enumerate().map(of_place).collect();
            let test = if (starts || ends) && !words.is_empty() {
                Test::Phrase(PhraseTest { words, starts, ends })
            } else {
                words_or_phrase(words)
            };
            targets.extend(joined.map(|test| searched.target(spec.clone(), test)));
            targets.push(searched.target(spec, test));
        }
        Ok(targets)
    }

    #[inline(never)]
    fn values(&mut self, field: &str, values: &Values) -> Result<Vec<Target>, Rejection> {
        let fields = self.fields(field)?;
        let normalizing = Self::normalizing(&fields);
        let mut targets = Vec::new();
        for searched in &fields {
            let (text, number) = (self.text_column(searched.field), self.number_column(searched.field));
            let test = match values {
                Values::Integers(list) if number.is_some() => Test::Number(NumberTest::AnyOf(list.clone())),
                Values::Integers(list) => {
                    let words = list.iter().map(|value| WordTest { text: value.to_string(), how: How::Equals });
                    Test::Words(words.collect())
                }
                Values::Texts(list) => {
                    let words = list.iter().flat_map(|text| spellings(text));
                    let words = words.map(|text| normalise(&text, normalizing).into_owned());
                    Test::Words(words.map(|text| WordTest { text, how: How::Equals }).collect())
                }
            };
            let spec = if matches!(test, Test::Number(_)) { number } else { text };
            targets.extend(spec.map(|spec| searched.target(spec, test)));
        }
        Ok(targets)
    }

    fn fuzzy(&mut self, fuzzy: &Fuzzy) -> Result<Vec<Target>, Rejection> {
        let fields = self.fields(&fuzzy.field)?;
        self.check_fuzzy(fuzzy, &fields)?;
        let cased = Self::normalizing(&fields) == Normalizing::None;
        let options = FuzzyOptions {
            edits_max: fuzzy.max_edit_distance as usize,
            prefix_length: fuzzy.prefix_length as usize,
            prefix_match: fuzzy.prefix,
            cased,
        };
        // An edit adds at most one word: a value of many more cannot be near.
        let text = whole_letters(&fuzzy.text);
        let words = brooklet_text::Tokens::new(&text).count() as u32;
        let words_max = (!fuzzy.prefix).then(|| words.saturating_add(fuzzy.max_edit_distance));
        let test = ValueTest::Fuzzy { fuzzy: brooklet_text::Fuzzy::new(&text, options), words_max };
        Ok(self.value_targets(&fields, &test))
    }

    /// Refuses what the reference does not compare fuzzily: only whole values of attributes that are strings are.
    fn check_fuzzy(&self, fuzzy: &Fuzzy, fields: &[Searched]) -> Result<(), Rejection> {
        let refuse = |message: String| Err(Rejection::new(Code::IllegalQuery, message));
        let name = Rejection::quote(&fuzzy.field);
        if fuzzy.text.is_empty() {
            return refuse(format!("The fuzzy query in '{name}' must be non-empty"));
        }
        let is_fuzzy = |of: &Searched| {
            let roles = of.field.indexing;
            roles.attribute && !roles.index && matches!(of.field.data_type.element(), DataType::String)
        };
        match fields.iter().all(is_fuzzy) {
            true => Ok(()),
            false => refuse(format!("Fuzzy items require a string attribute field, but '{name}' is not")),
        }
    }

    fn pattern(&mut self, field: &str, pattern: &str) -> Result<Vec<Target>, Rejection> {
        let fields = self.fields(field)?;
        let refuse = |reason: &str| {
            let message = format!("'{}' is not a regular expression: {reason}", Rejection::quote(pattern));
            Rejection::new(Code::InvalidQueryParameter, message)
        };
        if pattern.len() > limits::PATTERN_BYTES {
            let most = limits::PATTERN_BYTES;
            return Err(refuse(&format!("it has {} bytes, at most {most} are allowed", pattern.len())));
        }
        let compiled = Pattern::new(&whole_letters(pattern), Self::normalizing(&fields) == Normalizing::None);
        let compiled = compiled.map_err(|fault| refuse(&fault.to_string()))?;
        Ok(self.value_targets(&fields, &ValueTest::Pattern(Rc::new(compiled))))
    }

    fn value_targets(&self, fields: &[Searched], test: &ValueTest) -> Vec<Target> {
        let target = |searched: &Searched| {
            let spec = self.text_column(searched.field)?;
            Some(searched.target(spec, Test::Value(test.clone())))
        };
        fields.iter().filter_map(target).collect()
    }

    fn weighted_targets(&mut self, weighted: &Weighted, scoring: Scoring) -> Result<Vec<Target>, Rejection> {
        let fields = self.fields(&weighted.field)?;
        let normalizing = Self::normalizing(&fields);
        let mut targets = Vec::new();
        for searched in &fields {
            if let Some(spec) = self.text_column(searched.field) {
                let keys = weighted.tokens.iter().map(|token| (word_of(&token.key, normalizing), token.weight));
                let mut keys: Vec<(String, i32)> = keys.collect();
                sort(&mut keys);
                targets.push(
                    searched.target(spec, Test::Weighted(WeightedTest { keys: WeightedKeys::Words(keys), scoring })),
                );
            } else if let Some(spec) = self.number_column(searched.field) {
                let keys = number_keys(weighted, number_kind(&spec));
                targets.push(searched.target(spec, Test::Weighted(WeightedTest { keys, scoring })));
            }
        }
        Ok(targets)
    }

    fn position(&mut self, field: &str, test: PositionTest) -> Result<Vec<Target>, Rejection> {
        let fields = self.fields(field)?;
        let target =
            |searched: &Searched| Some(searched.target(self.position_column(searched.field)?, Test::Position(test)));
        Ok(fields.iter().filter_map(target).collect())
    }
}

impl Searched<'_> {
    fn target(&self, spec: ColumnSpec, test: Test) -> Target {
        Target { field: self.id, spec, test, within: self.within.clone() }
    }
}

/// A text of a query as it is compared, and, if it has marks apart, as it stands in columns that releases up to 0.1.0 wrote.
fn spellings(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let whole = whole_letters(text);
    let apart = matches!(whole, Cow::Owned(_)).then_some(Cow::Borrowed(text));
    std::iter::once(whole).chain(apart)
}

fn word_of(key: &Key, normalizing: Normalizing) -> String {
    match key {
        Key::Integer(value) => value.to_string(),
        Key::Text(text) => normalise(&whole_letters(text), normalizing).into_owned(),
    }
}

/// The tokens that are numbers, as the column has them.
fn number_keys(weighted: &Weighted, kind: NumberKind) -> WeightedKeys {
    let (mut integers, mut floats) = (Vec::new(), Vec::new());
    for token in &weighted.tokens {
        match number_of_text(&word_of(&token.key, Normalizing::None), kind) {
            Some(NumberTest::Integers { low, high }) if low == high => integers.push((low, token.weight)),
            // What is no number equals nothing, and has no place in an order.
            Some(NumberTest::Floats { low, .. }) if !low.is_nan() => floats.push((low, token.weight)),
            _ => {}
        }
    }
    if kind.is_integer() {
        sort(&mut integers);
        WeightedKeys::Integers(integers)
    } else {
        sort_by(&mut floats, |a, b| a.0.total_cmp(&b.0));
        WeightedKeys::Floats(floats)
    }
}

fn words_or_phrase(mut words: Vec<Vec<WordTest>>) -> Test {
    match words.len() {
        0 | 1 => Test::Words(words.pop().unwrap_or_default()),
        _ => Test::Phrase(PhraseTest { words, starts: false, ends: false }),
    }
}

/// Targets on one column that ask for a word become one that asks for any of the words.
fn join_words(targets: Vec<Target>) -> Vec<Target> {
    let mut joined: Vec<Target> = Vec::new();
    for target in targets {
        if let Test::Words(words) = &target.test
            && !counts_in_words(&target.test)
            && target.within.is_none()
            && let Some(Target { test: Test::Words(so_far), .. }) = joined.iter_mut().find(|other| {
                let words = matches!(other.test, Test::Words(_)) && !counts_in_words(&other.test);
                words && other.spec == target.spec && other.within.is_none()
            })
        {
            so_far.extend(words.iter().cloned());
        } else {
            joined.push(target);
        }
    }
    joined
}

/// Whether a target can find several things at one place: in one word, or in several values of one element.
pub(super) fn repeats_places(target: &Target) -> bool {
    let parts = matches!(target.spec.kind, ColumnKind::Text { collection: Collection::Parts, .. });
    parts || counts_in_words(&target.test)
}

/// Whether a test can hold several times for one word.
fn counts_in_words(test: &Test) -> bool {
    let Test::Words(words) = test else { return matches!(test, Test::Text { .. }) };
    words.iter().any(|word| matches!(word.how, How::Substring | How::ValueSubstring | How::Segment { .. }))
}

/// How many words a phrase of these items has.
pub(super) fn count_words(items: &[Item]) -> usize {
    phrase_words(items, false).map_or(0, |words| words.len())
}
