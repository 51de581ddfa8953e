//! What a query looks for in one text: its words, and how they belong together. Made once for a query and a field.

use std::collections::BTreeMap;

use brooklet_kernel::sort;
use brooklet_query::annotations::{Annotations, Typed};
use brooklet_query::tree::{Alternatives, Item, NumberTerm, Operator, TermKind, Uri};
use brooklet_schema::{Normalizing, SnippetSettings};
use brooklet_text::{Variants, Variety};

/// The words of a query and their groups. There is at least one of each.
pub(super) struct Pattern {
    /// In the order of the query.
    pub terms: Vec<Term>,
    /// Each after the groups that are its parts; the last one is the whole query.
    pub groups: Vec<Group>,
    /// Texts that are looked for inside words.
    pub pieces: Vec<String>,
    /// Whether some group asks for more than that its parts are there, so that a word by itself may mean nothing.
    pub constrained: bool,
    /// The numbers of the terms with a text.
    by_text: BTreeMap<String, Vec<usize>>,
    /// The variants of words, and whose they are.
    variants: Vec<(Variants, usize)>,
    /// The bytes of the longest term with a first character.
    longest_by_first: BTreeMap<char, usize>,
    /// How texts are shown.
    pub settings: SnippetSettings,
}

/// A word of the query.
#[derive(Debug, PartialEq)]
pub(super) struct Term {
    /// Whether words that only begin with it count.
    pub begins: bool,
    /// How much a match gains by it.
    pub weight: i64,
    /// The group it belongs to.
    pub place: GroupPart,
    characters: usize,
    /// The word as it was written, where variants of it may count.
    written: Option<Written>,
}

/// A word of the query whose variants may count.
#[derive(Clone, Debug, PartialEq)]
struct Written {
    word: String,
    stems: bool,
    typed: Typed,
}

/// Parts that are to be found close to each other.
#[derive(Debug, PartialEq)]
pub(super) struct Group {
    /// How many they are.
    pub parts: usize,
    /// The condition on them.
    pub bond: Bond,
    /// Whether all parts are terms.
    pub flat: bool,
    /// The group it is a part of.
    pub place: Option<GroupPart>,
}

/// Which part of which group something is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GroupPart {
    pub group: usize,
    pub part: usize,
}

/// The condition on the parts of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bond {
    /// None; some of them are better than nothing.
    Loose,
    /// At most so many other words between neighbours, on average.
    Close { words_between_max: i64, ordered: bool },
}

impl Bond {
    pub(super) fn is_ordered(self) -> bool {
        matches!(self, Bond::Close { ordered: true, .. })
    }
}

const PHRASE: Bond = Bond::Close { words_between_max: 0, ordered: true };

/// The query as it is reduced, before its parts get numbers.
enum Branch {
    Word { text: String, kind: TermKind, weight: i64, written: Option<Written> },
    Group(Bond, Vec<Branch>),
}

impl Branch {
    /// A group of one is that one, and a group of none is nothing.
    fn group(bond: Bond, mut parts: Vec<Branch>) -> Option<Branch> {
        if parts.len() > 1 { Some(Branch::Group(bond, parts)) } else { parts.pop() }
    }
}

/// Reduces a query to what concerns one field.
struct Reducer<'a> {
    normalizing: Normalizing,
    in_index: &'a dyn Fn(&str) -> bool,
}

impl Reducer<'_> {
    fn branch(&self, item: &Item) -> Option<Branch> {
        if item.annotations.filter {
            return None;
        }
        let weight = i64::from(item.annotations.weight);
        match &item.operator {
            Operator::And(items) | Operator::Or(items) | Operator::Equiv(items) => self.group(Bond::Loose, items),
            Operator::WeakAnd(weak) => self.group(Bond::Loose, &weak.items),
            Operator::Rank(items) => self.branch(items.first()?),
            Operator::AndNot(not) => self.branch(&not.positive),
            Operator::Labeled(labeled) => self.branch(&labeled.item),
            Operator::Phrase(phrase) => Branch::group(PHRASE, self.phrase_parts(&phrase.items)),
            Operator::Near(near) => {
                let words_between_max = i64::from(near.distance);
                self.group(Bond::Close { words_between_max, ordered: near.ordered }, &near.items)
            }
            Operator::Term(term) => self.term(&term.field, &term.text, term.kind, item),
            Operator::Number(number) if number.is_word() => {
                self.term(&number.field, &number.text, TermKind::Word, item)
            }
            Operator::Number(number) => self.number(number, weight),
            Operator::Alternatives(alternatives) => self.alternatives(alternatives, weight),
            Operator::Uri(uri) => self.uri(uri, weight),
            _ => None,
        }
    }

    fn group(&self, bond: Bond, items: &[Item]) -> Option<Branch> {
        Branch::group(bond, items.iter().filter_map(|item| self.branch(item)).collect())
    }

    /// A phrase within a phrase (a literal that was cut into words) is no group of its own.
    fn phrase_parts(&self, items: &[Item]) -> Vec<Branch> {
        let mut parts = Vec::with_capacity(items.len());
        for item in items {
            match &item.operator {
                Operator::Phrase(inner) if !item.annotations.filter => parts.extend(self.phrase_parts(&inner.items)),
                _ => parts.extend(self.branch(item)),
            }
        }
        parts
    }

    /// A word as it was written, of which variants may be meant.
    fn term(&self, field: &str, text: &str, kind: TermKind, item: &Item) -> Option<Branch> {
        let Annotations { stem: stems, typed, weight, .. } = item.annotations;
        let mut word = self.word(field, text, kind, weight.into());
        if let Some(Branch::Word { written, .. }) = &mut word
            && kind == TermKind::Word
        {
            *written = Some(Written { word: brooklet_text::whole_letters(text).into_owned(), stems, typed });
        }
        word
    }

    fn word(&self, field: &str, text: &str, kind: TermKind, weight: i64) -> Option<Branch> {
        if kind == TermKind::Suffix || text.is_empty() || !(self.in_index)(field) {
            return None;
        }
        Some(Branch::Word { text: self.normalise(text), kind, weight, written: None })
    }

    fn normalise(&self, text: &str) -> String {
        brooklet_segment::column::text::normalise(&brooklet_text::whole_letters(text), self.normalizing).into_owned()
    }

    /// The digits of a number stand in a text as words: those of 1.5 as the phrase `1 5`.
    fn number(&self, number: &NumberTerm, weight: i64) -> Option<Branch> {
        let words = number.text.split(|character: char| !character.is_ascii_alphanumeric());
        let words = words.filter_map(|word| self.word(&number.field, word, TermKind::Word, weight));
        Branch::group(PHRASE, words.collect())
    }

    fn alternatives(&self, alternatives: &Alternatives, weight: i64) -> Option<Branch> {
        let words = alternatives.words.iter().filter_map(|(text, exactness)| {
            let weight = (weight as f64 * exactness + 0.5) as i64;
            self.word(&alternatives.field, text, TermKind::Word, weight)
        });
        Branch::group(Bond::Loose, words.collect())
    }

    fn uri(&self, uri: &Uri, weight: i64) -> Option<Branch> {
        let words = uri.document_words().filter_map(|word| self.word(&uri.field, word, TermKind::Word, weight));
        Branch::group(PHRASE, words.collect())
    }
}

impl Pattern {
    /// Nothing if the query does not concern the field.
    pub(super) fn new(
        item: &Item,
        normalizing: Normalizing,
        substring_field: bool,
        in_index: &dyn Fn(&str) -> bool,
    ) -> Option<Pattern> {
        // What is found inside words is compared with folded text, even where case matters otherwise.
        let normalizing = if substring_field { Normalizing::LowercaseAndFold } else { normalizing };
        let root = Reducer { normalizing, in_index }.branch(item)?;
        let mut pattern = Pattern {
            terms: Vec::new(),
            groups: Vec::new(),
            pieces: Vec::new(),
            constrained: false,
            by_text: BTreeMap::new(),
            variants: Vec::new(),
            longest_by_first: BTreeMap::new(),
            settings: SnippetSettings::default(),
        };
        match root {
            Branch::Group(bond, parts) => pattern.add_group(bond, parts, substring_field),
            word => pattern.add_group(Bond::Loose, vec![word], substring_field),
        };
        sort(&mut pattern.pieces);
        pattern.pieces.dedup();
        Some(pattern)
    }

    fn add_group(&mut self, bond: Bond, parts: Vec<Branch>, substring_field: bool) -> usize {
        let count = parts.len();
        let mut terms = Vec::new();
        let mut groups = Vec::new();
        for (part, branch) in parts.into_iter().enumerate() {
            match branch {
                Branch::Word { text, kind, weight, written } => {
                    if (substring_field || kind == TermKind::Substring) && !text.is_empty() {
                        self.pieces.push(text.clone());
                    }
                    let begins = matches!(kind, TermKind::Prefix | TermKind::Substring);
                    terms.push((part, self.add_term(text, begins, weight)));
                    self.terms[terms[terms.len() - 1].1].written = written;
                }
                Branch::Group(bond, parts) => groups.push((part, self.add_group(bond, parts, substring_field))),
            }
        }
        let group = self.groups.len();
        for (part, number) in terms {
            self.terms[number].place = GroupPart { group, part };
        }
        for (part, number) in &groups {
            self.groups[*number].place = Some(GroupPart { group, part: *part });
        }
        self.constrained |= bond != Bond::Loose;
        self.groups.push(Group { parts: count, bond, flat: groups.is_empty(), place: None });
        group
    }

    /// Its place is filled in when its group has got a number.
    fn add_term(&mut self, text: String, begins: bool, weight: i64) -> usize {
        let number = self.terms.len();
        if let Some(first) = text.chars().next() {
            let longest = self.longest_by_first.entry(first).or_default();
            *longest = text.len().max(*longest);
        }
        let characters = text.chars().count();
        self.by_text.entry(text).or_default().push(number);
        self.terms.push(Term { begins, weight, place: GroupPart { group: 0, part: 0 }, characters, written: None });
        number
    }

    /// Understands words as matching does: see [`Highlighter::understanding`](super::Highlighter::understanding).
    pub(super) fn understanding(mut self, variety: &dyn Fn(&str, bool, Typed) -> Variety, segments: bool) -> Pattern {
        for (text, numbers) in &self.by_text {
            if segments && brooklet_text::has_cjk(text) {
                self.pieces.push(text.clone());
                continue;
            }
            for number in numbers {
                let Some(Written { word, stems, typed }) = &self.terms[*number].written else { continue };
                match variety(word, *stems, *typed) {
                    none if none == Variety::default() => {}
                    variety => self.variants.push((Variants::new(word, variety), *number)),
                }
            }
        }
        sort(&mut self.pieces);
        self.pieces.dedup();
        self
    }

    /// The numbers of the terms that a folded token of a text hits, in the order of the query, or some if they are more
    /// than `count_max`. The beginnings of the token are looked up, so that many terms cost no more than few.
    pub(super) fn terms_hit(&self, token: &str, count_max: usize, found: &mut Vec<usize>) {
        found.clear();
        let variants = self.variants.iter().filter(|(variants, _)| variants.has(token)).map(|(_, number)| *number);
        found.extend(variants.take(count_max));
        self.terms_of_text(token, count_max, found);
        found.sort_unstable();
        found.dedup();
    }

    /// Adds the terms that a token has the text of, or begins with.
    fn terms_of_text(&self, token: &str, count_max: usize, found: &mut Vec<usize>) {
        let Some(longest) = token.chars().next().and_then(|first| self.longest_by_first.get(&first)) else { return };
        let ends = token.char_indices().map(|(at, character)| at + character.len_utf8());
        for end in ends.take_while(|end| end <= longest) {
            if let Some(numbers) = self.by_text.get(&token[..end]) {
                let hit =
                    numbers.iter().filter(|number| self.terms[**number].is_hit_with(&token[end..], &self.settings));
                found.extend(hit.take(count_max.saturating_sub(found.len())));
            }
        }
    }
}

impl Term {
    /// Whether a token counts that has the term's text, and `rest` after it.
    fn is_hit_with(&self, rest: &str, settings: &SnippetSettings) -> bool {
        let is_slightly_longer = || rest.chars().nth(settings.stem_extension as usize).is_none();
        rest.is_empty() || self.begins || (self.characters > settings.stem_min as usize && is_slightly_longer())
    }
}

/// A token as terms are compared with it.
pub(super) fn fold_token<'a>(token: &'a str, buffer: &'a mut String) -> &'a str {
    if token.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        return token;
    }
    buffer.clear();
    brooklet_text::fold(&brooklet_text::whole_letters(token), buffer);
    buffer
}
