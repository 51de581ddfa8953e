//! The tokens of the simple language. Values of fields that are not tokenised are one token, found by the field's name in
//! front of them.
use crate::grammar::Syntax;
use crate::surroundings::{CharacterClass, Index, Matching, Surroundings, ValueKind};

/// A token of the simple language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Letters and digits.
    Word(String),
    /// The value of a field that is not tokenised, to be taken as it is.
    Whole(String),
    /// ASCII digits.
    Number(String),
    /// Punctuation that means something.
    Mark(char),
    /// White space.
    Space,
    /// Anything else.
    Noise,
}

impl Token {
    pub fn is_word(&self) -> bool {
        matches!(self, Token::Word(_) | Token::Whole(_))
    }

    pub fn is_word_or_number(&self) -> bool {
        self.is_word() || matches!(self, Token::Number(_))
    }
}

/// A token and the byte of the text where it starts.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub token: Token,
    pub start: usize,
}

/// Cuts `text` into tokens. Addresses are one token only where the grammar has a syntax of its own.
pub(super) fn tokenize(
    text: &str,
    syntax: Syntax,
    default_index: Option<&str>,
    around: &Surroundings<'_>,
) -> Vec<Lexeme> {
    // Only where its name is written is a value of a uri field an address.
    let default = default_index.and_then(|name| around.indexes.index(name));
    let default = default.filter(|index| index.matching != Matching::Uri).unwrap_or_else(Index::text);
    let mut tokenizer = Tokenizer { text, rest: text, tokens: Vec::new(), open: 0, unclosed: false, around };
    let mut index = default.clone();
    while !tokenizer.rest.is_empty() {
        let matching =
            untokenised_matching(&index).filter(|matching| syntax != Syntax::None || **matching != Matching::Uri);
        if let Some(matching) = matching {
            tokenizer.whole(matching);
            index = default.clone();
        }
        if tokenizer.next() == Some(Token::Mark(':')) {
            index = tokenizer.named_index().unwrap_or_else(|| default.clone());
        }
    }
    tokenizer.tokens
}

/// How values of an index are read here, if they are not cut into words.
fn untokenised_matching(index: &Index) -> Option<&Matching> {
    let exact = index.values == ValueKind::Text && matches!(index.matching, Matching::Word | Matching::Exact { .. });
    (exact || index.matching == Matching::Uri).then_some(&index.matching)
}

struct Tokenizer<'a> {
    text: &'a str,
    rest: &'a str,
    tokens: Vec<Lexeme>,
    /// Parentheses that are open, for values that end before a closing one.
    open: usize,
    /// Whether a quote was seen that nothing closes: no later one is closed then, and none is searched for.
    unclosed: bool,
    around: &'a Surroundings<'a>,
}

impl Tokenizer<'_> {
    /// Takes the next ordinary token.
    fn next(&mut self) -> Option<Token> {
        let first = self.rest.chars().next()?;
        let start = self.start_of(self.rest);
        let token = match self.around.linguistics.class(first) {
            CharacterClass::Symbol => self.take(first.len_utf8(), Token::Word(first.to_string())),
            CharacterClass::Letter | CharacterClass::Digit => self.word(),
            CharacterClass::Other if first == '\'' => self.word(),
            CharacterClass::Other if first.is_whitespace() => self.take(first.len_utf8(), Token::Space),
            CharacterClass::Other => self.take(first.len_utf8(), mark(first).map_or(Token::Noise, Token::Mark)),
        };
        match token {
            Token::Mark('(') => self.open += 1,
            Token::Mark(')') => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.tokens.push(Lexeme { token: token.clone(), start });
        Some(token)
    }

    /// Where a piece of what is left starts in the text.
    fn start_of(&self, piece: &str) -> usize {
        (piece.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    fn take(&mut self, length: usize, token: Token) -> Token {
        self.rest = &self.rest[length..];
        token
    }

    /// A word or number; apostrophes are part of words.
    fn word(&mut self) -> Token {
        let in_word = |c: char| {
            c == '\'' || matches!(self.around.linguistics.class(c), CharacterClass::Letter | CharacterClass::Digit)
        };
        let length = self.rest.find(|c: char| !in_word(c)).unwrap_or(self.rest.len());
        let text = self.rest[..length].to_owned();
        let token = if text.bytes().all(|b| b.is_ascii_digit()) {
            Token::Number(text)
        } else if text.bytes().all(|b| b == b'\'') {
            Token::Noise
        } else {
            Token::Word(text)
        };
        self.take(length, token)
    }

    /// The index whose name the last tokens before a colon are.
    fn named_index(&self) -> Option<Index> {
        let before = &self.tokens[..self.tokens.len() - 1];
        let mut parts = Vec::new();
        let mut length = 0;
        for token in before.iter().rev() {
            let part = match &token.token {
                Token::Word(text) | Token::Number(text) => text.as_str(),
                Token::Mark('_') => "_",
                Token::Mark('.') => ".",
                _ => break,
            };
            length += part.len();
            if length > LONGEST_NAME {
                return None;
            }
            parts.push(part);
        }
        parts.reverse();
        let name = parts.concat();
        if name.is_empty() { None } else { self.around.indexes.index(&name) }
    }

    /// Takes the value of a field that is not tokenised.
    fn whole(&mut self, matching: &Matching) {
        match matching {
            Matching::Exact { terminator } if !terminator.is_empty() => {
                let (value, rest) = self.rest.split_once(terminator.as_str()).unwrap_or((self.rest, ""));
                self.rest = rest;
                self.push_whole(value);
            }
            Matching::Uri => {
                let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
                let (value, rest) = self.rest.split_at(end);
                // Without a letter it is no address.
                if value.contains(|c: char| self.around.linguistics.class(c) != CharacterClass::Other) {
                    self.rest = rest;
                    self.push_whole(value);
                }
            }
            _ => self.value(),
        }
    }

    fn push_whole(&mut self, value: &str) {
        if !value.is_empty() {
            let start = self.start_of(value);
            self.tokens.push(Lexeme { token: Token::Whole(value.to_owned()), start });
        }
    }

    /// A value that ends at a space, or in quotes; `*` around it, `!100` and `)` after it are not part of it.
    fn value(&mut self) {
        let text = self.rest.trim_start();
        let starred = text
            .strip_prefix(['*', '\u{ff0a}'])
            .filter(|rest| !rest.is_empty() && !rest.starts_with(char::is_whitespace));
        if starred.is_some() {
            let start = self.start_of(text);
            self.tokens.push(Lexeme { token: Token::Mark('*'), start });
        }
        let text = starred.unwrap_or(text);
        if let Some(inner) = text.strip_prefix('"').filter(|_| !self.unclosed) {
            if let Some((value, rest)) = self.quoted_value(inner) {
                self.rest = rest;
                self.push_whole(value);
                return;
            }
            self.unclosed = true;
        }
        let chunk = &text[..text.find(char::is_whitespace).unwrap_or(text.len())];
        let length = self.plain_length(chunk);
        let length = if length == 0 { chunk.len() } else { length };
        self.rest = &text[length..];
        self.push_whole(&chunk[..length]);
    }

    /// The value up to the first quote after which only decoration comes.
    fn quoted_value<'t>(&self, inner: &'t str) -> Option<(&'t str, &'t str)> {
        for (at, _) in inner.match_indices('"') {
            let rest = &inner[at + 1..];
            let run = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '!' | '*' | ')'))).unwrap_or(rest.len());
            let ends = rest[run..].chars().next().is_none_or(char::is_whitespace);
            if ends && self.plain_length(&rest[..run]) == 0 {
                return Some((&inner[..at], rest));
            }
        }
        None
    }

    /// The length of `chunk` without what decorates a value at its end: closing parentheses that are open, one weight
    /// (`!`, `!!`, `!100`) and one star, in any order.
    fn plain_length(&self, chunk: &str) -> usize {
        let (mut end, mut open, mut star, mut weight) = (chunk.len(), self.open, true, true);
        loop {
            let text = &chunk[..end];
            if open > 0 && text.ends_with(')') {
                open -= 1;
                end -= 1;
            } else if star && text.ends_with('*') {
                star = false;
                end -= 1;
            } else if let (true, Some(shorter)) = (weight, without_weight(text)) {
                weight = false;
                end = shorter;
            } else {
                return end;
            }
        }
    }
}

/// Names longer than this are no index names.
const LONGEST_NAME: usize = 1_000;

/// The length of a text without the weight at its end.
fn without_weight(text: &str) -> Option<usize> {
    let without_digits = text.trim_end_matches(|c: char| c.is_ascii_digit());
    if without_digits.len() < text.len() {
        let shorter = without_digits.strip_suffix('!')?;
        // Digits after several marks are not a weight.
        return (!shorter.ends_with('!')).then_some(shorter.len());
    }
    let shorter = text.trim_end_matches('!');
    (shorter.len() < text.len()).then_some(shorter.len())
}

/// The ASCII form of a mark.
fn mark(c: char) -> Option<char> {
    Some(match c {
        '"' | '\u{201c}'..='\u{201f}' | '\u{2039}' | '\u{203a}' | '\u{ab}' | '\u{bb}' | '\u{301d}'..='\u{301f}' => '"',
        '-' | '+' | '.' | ',' | ':' | '(' | ')' | '[' | ']' | '{' | '}' | ';' | '>' | '<' | '!' | '_' | '^' | '*'
        | '$' => c,
        // Full-width forms, a fixed distance from ASCII.
        '\u{ff01}'..='\u{ff5d}' => return mark(char::from_u32(u32::from(c) - 0xfee0)?),
        _ => return None,
    })
}
