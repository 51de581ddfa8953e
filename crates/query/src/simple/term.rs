//! One term of the simple language: a number, a word or a phrase, with its field in front and its weight behind.
use std::ops::Range;

use super::token::{Lexeme, Token};
use crate::number::{self, parse_expression};
use crate::surroundings::{Matching, Surroundings};
use crate::tree::{Item, Operator, Phrase, SameElement, Term, TermKind, TextRange, Uri, index_of};
use crate::uri::uri_words;

/// The weight of `!`, and what every further `!` adds.
const MARKED_WEIGHT: i32 = 150;
const MARK_WEIGHT: i32 = 50;
/// The longest run of tokens looked at for a field's name.
const NAME_TOKENS: usize = 200;

/// Reads tokens from first to last. Spaces are skipped where the language allows them ("loosely") and matter elsewhere.
pub(super) struct Reader<'a> {
    pub tokens: Vec<Token>,
    /// Where each of the tokens starts in the text.
    starts: Vec<usize>,
    pub at: usize,
    pub around: &'a Surroundings<'a>,
    pub default_index: Option<&'a str>,
    /// How words of the field that is read now compare.
    pub kind: TermKind,
    /// Whether a condition on an element is read, so that braces end it.
    pub in_element: bool,
    /// What was looked for in vain, so that long texts without words are not read again and again.
    pub vain: Vain,
}

/// Tokens where something is known not to be.
#[derive(Default)]
pub(super) struct Vain {
    /// No term begins at these.
    terms: Range<usize>,
    /// No field that has a value is named behind these.
    names: Range<usize>,
    /// None of the parentheses among these has anything in it.
    groups: Range<usize>,
    /// No parenthesis follows these plus signs, or one with nothing in it.
    openings: Range<usize>,
    /// Nothing that is required or excluded follows these signs.
    pub signs: Range<usize>,
}

/// A term as it was written.
pub(super) struct Read {
    pub item: Item,
    /// Whether its field was named.
    pub named: bool,
    /// Whether it is one word that linguistics cut into several.
    pub segments: bool,
}

/// A word with what is known of it while its phrase is read.
struct Word {
    items: Vec<Item>,
    raw: String,
}

impl<'a> Reader<'a> {
    pub fn new(lexemes: Vec<Lexeme>, default_index: Option<&'a str>, around: &'a Surroundings<'a>) -> Reader<'a> {
        let (tokens, starts) = lexemes.into_iter().map(|lexeme| (lexeme.token, lexeme.start)).unzip();
        Reader {
            tokens,
            starts,
            at: 0,
            around,
            default_index,
            kind: TermKind::Word,
            in_element: false,
            vain: Vain::default(),
        }
    }

    // Positions.

    /// Where the term stands that was read from the token `from` on: what is in front of it is not part of it.
    fn place_from(&self, from: usize) -> TextRange {
        let is_blank = |token: &Token| matches!(token, Token::Space | Token::Noise);
        let blanks = self.tokens[from..self.at.max(from)].iter().take_while(|token| is_blank(token)).count();
        let start = self.starts.get(from + blanks).copied().unwrap_or(0);
        let end = self.starts.get(self.at).copied().unwrap_or(start);
        TextRange { start, end: end.max(start) }
    }

    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    pub fn is_mark(&self, mark: char) -> bool {
        self.peek() == Some(&Token::Mark(mark))
    }

    pub fn skip_mark(&mut self, mark: char) -> bool {
        let found = self.is_mark(mark);
        self.at += usize::from(found);
        found
    }

    fn skip_marks(&mut self, mark: char) -> bool {
        let start = self.at;
        while self.skip_mark(mark) {}
        self.at > start
    }

    pub fn skip_spaces(&mut self) {
        while self.peek() == Some(&Token::Space) {
            self.at += 1;
        }
    }

    /// Skips a mark and the spaces before it.
    pub fn skip_mark_loosely(&mut self, mark: char) -> bool {
        let start = self.at;
        self.skip_spaces();
        let found = self.skip_mark(mark);
        if !found {
            self.at = start;
        }
        found
    }

    /// Skips marks and the spaces before each of them.
    pub fn skip_marks_loosely(&mut self, mark: char) -> bool {
        let start = self.at;
        while self.skip_mark_loosely(mark) {}
        self.at > start
    }

    // Parentheses.

    /// Skips what opens a group, `(` with plus signs before it, unless nothing is in it.
    pub fn opens_group(&mut self) -> bool {
        let start = self.at;
        if self.vain.openings.contains(&start) {
            return false;
        }
        self.skip_marks_loosely('+');
        let signs = start..self.at;
        let opens = self.skip_mark_loosely('(') && !self.vain.groups.contains(&(self.at - 1));
        if !opens {
            self.vain.openings = signs;
        }
        opens
    }

    /// Goes back to `start` from a group without anything in it, whose parenthesis ended at `inside`.
    pub fn leave_group(&mut self, start: usize, inside: usize) {
        // Whatever groups were tried in it have nothing in them either.
        let end = if self.vain.groups.start >= inside { self.vain.groups.end } else { inside };
        self.vain.groups = inside - 1..end;
        self.at = start;
    }

    // Terms.

    /// The next term, if there is one here.
    pub fn term(&mut self, element_of: Option<&str>) -> Option<Read> {
        let start = self.at;
        self.in_element = element_of.is_some();
        if self.vain.terms.contains(&start) && element_of.is_none() {
            return None;
        }
        let read = self.term_here(element_of);
        if read.is_none() {
            // From each of several quotes, the same is read as from the first.
            self.at = start;
            self.skip_marks_loosely('"');
            self.vain.terms = if element_of.is_none() { start..self.at.max(start + 1) } else { 0..0 };
            self.at = start;
        }
        read
    }

    fn term_here(&mut self, element_of: Option<&str>) -> Option<Read> {
        let start = self.at;
        let named = self.field_name(element_of);
        if let Some(name) = &named
            && self.is_mark('{')
            && element_of.is_none()
        {
            return self.same_element(name);
        }
        let default = if element_of.is_some() { None } else { self.default_index };
        let field = named.clone().or_else(|| default.map(str::to_owned));
        let inner = field.as_deref().unwrap_or("");
        self.kind = word_kind(inner, element_of, self.around);
        let mut read = self.number(inner).map(|item| (item, false)).or_else(|| self.phrase(inner));
        if read.is_none() && named.is_some() && self.skip_to_word() {
            read = self.phrase(inner);
        }
        let (mut item, segments) = read?;
        if let Some(weight) = self.weight() {
            weigh(&mut item, weight, segments);
        }
        item.place = self.place_from(start);
        Some(Read { item, named: named.is_some(), segments })
    }

    /// `field:`, if a field of this name exists. Fields with nothing behind them are skipped, of several in front of what
    /// is no field only the first.
    fn field_name(&mut self, element_of: Option<&str>) -> Option<String> {
        let mut start = self.at;
        let mut first = None;
        loop {
            let known = first.is_some() && self.vain.names.contains(&start);
            let name = if known { None } else { self.read_name() };
            let Some(name) = name.filter(|name| self.index_exists(name, element_of)) else {
                if let Some(first) = first {
                    self.vain.names = first..if known { self.vain.names.end } else { start + 1 };
                }
                self.at = first.unwrap_or(start);
                return None;
            };
            if !self.nothing_ahead() {
                return Some(name);
            }
            start = self.at;
            first = first.or(Some(start));
        }
    }

    fn index_exists(&self, name: &str, element_of: Option<&str>) -> bool {
        let expanded = element_of.map_or_else(|| name.to_owned(), |element| format!("{element}.{name}"));
        expanded == crate::tree::DEFAULT_INDEX || self.around.indexes.index(&expanded).is_some()
    }

    /// A dotted name and the colon after it, without spaces.
    fn read_name(&mut self) -> Option<String> {
        self.skip_spaces();
        self.skip_mark('[');
        let mut name = String::new();
        let first = self.at;
        loop {
            match self.peek()? {
                Token::Word(text) | Token::Number(text) => name.push_str(text),
                Token::Mark('_') => name.push('_'),
                Token::Mark('.') if !name.is_empty() && !name.ends_with('.') => name.push('.'),
                Token::Mark(':') if !name.is_empty() && !name.ends_with('.') => {
                    self.at += 1;
                    return Some(name);
                }
                _ => return None,
            }
            self.at += 1;
            if self.at - first > NAME_TOKENS {
                return None;
            }
        }
    }

    /// Whether a space or the end comes before the next word; if so, everything before it is skipped.
    fn nothing_ahead(&mut self) -> bool {
        let start = self.at;
        let mut quoted = false;
        loop {
            match self.peek() {
                None => return true,
                Some(Token::Mark('"')) => {
                    self.skip_marks_loosely('"');
                    quoted = !quoted;
                }
                Some(Token::Space) if !quoted => return true,
                Some(token) if token.is_word_or_number() => {
                    self.at = start;
                    return false;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// Skips to the next word unless a space comes first.
    fn skip_to_word(&mut self) -> bool {
        while let Some(token) = self.peek() {
            if *token == Token::Space {
                return false;
            }
            if token.is_word_or_number() {
                return true;
            }
            self.at += 1;
        }
        false
    }

    /// `!`, `!!`, `!200` right behind a term.
    fn weight(&mut self) -> Option<i32> {
        let start = self.at;
        if !self.skip_mark('!') {
            return None;
        }
        if let Some(Token::Number(digits)) = self.peek() {
            let weight = digits.parse().ok();
            self.at = if weight.is_some() { self.at + 1 } else { start };
            return weight;
        }
        let mut weight = MARKED_WEIGHT;
        while self.skip_mark('!') {
            weight = weight.saturating_add(MARK_WEIGHT);
        }
        Some(weight)
    }

    /// `field:{name:x age:>3}`.
    fn same_element(&mut self, field: &str) -> Option<Read> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_spaces();
            if self.peek().is_none() || self.skip_mark('}') {
                break;
            }
            match self.term(Some(field)) {
                Some(read) => items.extend(element_condition(read.item)),
                None => self.at += 1,
            }
        }
        if items.is_empty() {
            return None;
        }
        let same = SameElement { field: field.to_owned(), items, element_filter: Vec::new() };
        Some(Read { item: Item::from(Operator::SameElement(same)), named: true, segments: false })
    }

    // Words and phrases.

    /// Words that belong together: in quotes, or with only marks between them.
    fn phrase(&mut self, field: &str) -> Option<(Item, bool)> {
        let start = self.at;
        let mut quoted = self.skip_marks_loosely('"');
        let mut words: Vec<Word> = Vec::new();
        let (mut quoted_word, mut quoted_phrase) = (false, false);
        // The last star before anything counts.
        let (mut star_before, mut star_after) = (false, false);
        while self.at < self.tokens.len() {
            star_before = self.skip_mark_loosely('*');
            if self.skip_marks_loosely('"') {
                quoted = !quoted;
            }
            let Some(word) = self.word(field, !words.is_empty()) else {
                if !quoted || self.at >= self.tokens.len() {
                    break;
                }
                self.at += 1;
                continue;
            };
            words.push(word);
            match words.len() {
                1 => {
                    quoted_word = quoted;
                    star_after = self.skip_mark('*');
                }
                2 => quoted_phrase = quoted,
                _ => {}
            }
            if !self.phrase_continues(&mut quoted) {
                break;
            }
        }
        if words.is_empty() {
            self.at = start;
            return None;
        }
        let is_phrase = self.around.indexes.is_phrase_segmenting(index_of(field));
        if words.len() == 1 {
            return Some(single(field, words.remove(0), quoted_word || is_phrase, (star_before, star_after)));
        }
        Some((combine_words(field, words, quoted_phrase || is_phrase, self.kind), false))
    }

    /// Skips to the next word of the phrase; says whether there may be one.
    fn phrase_continues(&mut self, quoted: &mut bool) -> bool {
        if !*quoted {
            let mut ahead = self.at;
            while self.tokens.get(ahead) == Some(&Token::Space) {
                ahead += 1;
            }
            if self.tokens.get(ahead) == Some(&Token::Mark('"')) {
                return false;
            }
        }
        let at_word = self.skip_separators(*quoted);
        if !at_word && self.skip_marks('"') {
            *quoted = !*quoted;
        }
        if !at_word && !*quoted {
            return false;
        }
        !(*quoted && self.skip_marks_loosely('"'))
    }

    /// Skips the marks that separate words of a phrase; says whether a word follows.
    fn skip_separators(&mut self, quoted: bool) -> bool {
        loop {
            match self.peek() {
                Some(Token::Noise) => self.at += 1,
                Some(Token::Mark('.' | ',' | '+' | '-' | '_' | '^' | '$' | '*' | ':')) => self.at += 1,
                Some(Token::Mark('(' | ')')) if quoted => self.at += 1,
                Some(Token::Mark('{' | '}')) if !self.in_element => self.at += 1,
                Some(token) => return token.is_word_or_number(),
                None => return false,
            }
        }
    }

    /// The next word, or digits as a word.
    #[inline(never)]
    fn word(&mut self, field: &str, in_phrase: bool) -> Option<Word> {
        let start = self.at;
        self.skip_spaces();
        let word = match self.peek().cloned() {
            Some(Token::Word(text)) => self.segments(field, &text),
            Some(Token::Whole(text)) => Some(Word { items: vec![self.whole(field, &text)], raw: text }),
            Some(Token::Number(text)) if in_phrase => {
                Some(Word { items: vec![word_item(field, &text, self.kind)], raw: text })
            }
            Some(Token::Number(text)) => {
                let item = parse_expression(&text).map(|range| number_item(range, field, &text));
                item.map(|item| Word { items: vec![item], raw: text })
            }
            _ => None,
        };
        self.at = if word.is_some() { self.at + 1 } else { start };
        word
    }

    fn whole(&self, field: &str, text: &str) -> Item {
        let uri = self.around.indexes.index(field).is_some_and(|index| index.matching == Matching::Uri);
        if !uri {
            return word_item(field, text, self.kind);
        }
        let words = uri_words(text, self.around.linguistics);
        let uri = Uri { field: field.to_owned(), text: text.to_owned(), words, start_anchor: false, end_anchor: false };
        Item::from(Operator::Uri(uri))
    }

    /// The words linguistics find in one.
    fn segments(&self, field: &str, text: &str) -> Option<Word> {
        let normalized = self.around.linguistics.normalize(text);
        let segments = self.around.linguistics.segment(&normalized);
        let items: Vec<Item> = segments.iter().map(|segment| word_item(field, segment, self.kind)).collect();
        (!items.is_empty()).then(|| Word { items, raw: text.to_owned() })
    }
}

/// Puts a weight where it counts: words that must all match have one together, the parts of one word each its own.
fn weigh(item: &mut Item, weight: i32, segments: bool) {
    let all = matches!(item.operator, Operator::And(_));
    if !all || segments {
        item.children_mut().into_iter().for_each(|child| child.annotations.weight = weight);
    }
    if !all || !segments {
        item.annotations.weight = weight;
    }
}

/// The words that belong together: a phrase if they were in quotes, else all of them anywhere.
fn combine_words(field: &str, words: Vec<Word>, quoted: bool, kind: TermKind) -> Item {
    let mut items = Vec::new();
    for word in words {
        if quoted || word.items.len() == 1 {
            items.extend(word.items.into_iter().map(|item| as_word(item, kind)));
        } else {
            items.push(Item::from(Operator::And(word.items)));
        }
    }
    if !quoted {
        return Item::from(Operator::And(items));
    }
    Item::from(Operator::Phrase(Phrase { field: field.to_owned(), items, segmented: None }))
}

/// A condition on an element: a number without a field is a word of the element itself, a range without one nothing.
fn element_condition(item: Item) -> Option<Item> {
    match &item.operator {
        Operator::Number(number) if number.field.is_empty() => {
            (number.low == number.high).then(|| word_item("", &number.text, TermKind::Word))
        }
        _ => Some(item),
    }
}

/// A word that stands alone, and whether linguistics cut it into several.
fn single(field: &str, mut word: Word, quoted: bool, (before, after): (bool, bool)) -> (Item, bool) {
    if word.items.len() > 1 && quoted {
        let phrase = Phrase { field: field.to_owned(), items: word.items, segmented: Some(word.raw) };
        return (Item::from(Operator::Phrase(phrase)), false);
    }
    if word.items.len() > 1 {
        return (Item::from(Operator::And(word.items)), true);
    }
    let item = word.items.remove(0);
    let kind = match (before, after) {
        (false, false) => return (item, false),
        (false, true) => TermKind::Prefix,
        (true, false) => TermKind::Suffix,
        (true, true) => TermKind::Substring,
    };
    let text = match item.operator {
        Operator::Term(term) => term.text,
        _ => word.raw,
    };
    (word_item(field, &text, kind), false)
}

/// The comparison of words of a field.
pub(super) fn word_kind(field: &str, element_of: Option<&str>, around: &Surroundings<'_>) -> TermKind {
    let expanded = element_of.map_or_else(|| field.to_owned(), |element| format!("{element}.{field}"));
    around.indexes.index(index_of(&expanded)).map_or(TermKind::Word, |index| index.matching.term_kind())
}

/// A number in a phrase is a word.
fn as_word(item: Item, kind: TermKind) -> Item {
    match item.operator {
        Operator::Number(number) => word_item(&number.field, &number.text, kind),
        _ => item,
    }
}

pub(super) fn word_item(field: &str, text: &str, kind: TermKind) -> Item {
    Item::from(Operator::Term(Term { field: field.to_owned(), text: text.to_owned(), kind }))
}

/// A number as an item; its spelling matters to text fields.
pub(crate) fn number_item(range: number::Range, field: &str, text: &str) -> Item {
    Item::from(Operator::Number(range.on(field, Some(text))))
}
