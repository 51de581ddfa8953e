//! Tokens of the schema language, made on demand because some values (expressions, feature lists, tensors, indexing
//! statements) are raw text up to their end. New lines are tokens: they end `key: value`.
use std::cell::Cell;
use std::sync::Arc;

use brooklet_task::{Rejection, Span};

use crate::place::{SourcePlace, SourceText};

/// A file of the package and the places in it.
#[derive(Debug)]
pub(crate) struct SourceFile {
    path: Arc<str>,
    text: String,
    /// The place asked for last: the next one is mostly after it, so that finding all of them stays linear.
    mark: Cell<Span>,
}

impl SourceFile {
    /// A file; `text` is its content.
    pub(crate) fn new(path: &str, text: String) -> SourceFile {
        SourceFile { path: path.into(), text, mark: Cell::new(START) }
    }

    /// The content.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The place of a byte offset, which must be at a character.
    pub(crate) fn place(&self, offset: usize) -> SourcePlace {
        let from = Some(self.mark.get()).filter(|mark| mark.offset <= offset).unwrap_or(START);
        let mut span = Span { offset, ..from };
        for c in self.text[from.offset..offset].chars() {
            if c == '\n' {
                span.line += 1;
                span.column = 1;
            } else {
                span.column += 1;
            }
        }
        self.mark.set(span);
        SourcePlace { file: self.path.clone(), span }
    }

    /// The trimmed text between two offsets, with its place.
    pub(crate) fn source(&self, from: usize, to: usize) -> SourceText {
        let raw = &self.text[from..to];
        let begin = from + (raw.len() - raw.trim_start().len());
        SourceText { text: raw.trim().into(), place: Some(self.place(begin)) }
    }
}

const START: Span = Span { offset: 0, line: 1, column: 1 };

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// The end of a line.
    Newline,
    /// Letters, digits, `_ . - $`: names, keywords and numbers. The parser says which of them it accepts.
    Word(&'a str),
    /// Text in quotes, without them. There are no escapes.
    Quoted(&'a str),
    /// Anything else, one character.
    Symbol(char),
    /// The end of the file.
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Newline => f.write_str("the end of the line"),
            Token::Word(word) => write!(f, "'{}'", Rejection::quote(word)),
            Token::Quoted(text) => write!(f, "\"{}\"", Rejection::quote(text)),
            Token::Symbol(symbol) => write!(f, "'{}'", Rejection::quote(&symbol.to_string())),
            Token::End => f.write_str("the end of the file"),
        }
    }
}

/// Where the parser is in a file.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    file: &'a SourceFile,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// At the start of `file`.
    pub(crate) fn new(file: &'a SourceFile) -> Lexer<'a> {
        // A byte order mark is no part of the text.
        Lexer { file, at: if file.text.starts_with('\u{feff}') { 3 } else { 0 } }
    }

    /// The file.
    pub(crate) fn file(&self) -> &'a SourceFile {
        self.file
    }

    /// What was not read yet.
    pub(crate) fn rest(&self) -> &'a str {
        &self.file.text[self.at..]
    }

    /// Offset of what was not read yet.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Goes to a byte offset, which must be at a character.
    pub(crate) fn seek(&mut self, offset: usize) {
        self.at = offset;
    }

    /// Skips blanks and comments, not new lines.
    pub(crate) fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\u{c}']);
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// The next token and its offset, which stays the next one.
    ///
    /// # Errors
    /// If a quoted text has no end.
    pub(crate) fn peek(&mut self) -> Result<(Token<'a>, usize), Rejection> {
        self.skip_blanks();
        let start = self.at;
        let token = self.next()?;
        self.at = start;
        Ok((token, start))
    }

    /// The next token.
    ///
    /// # Errors
    /// If a quoted text has no end.
    pub(crate) fn next(&mut self) -> Result<Token<'a>, Rejection> {
        self.skip_blanks();
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Token::End) };
        if first == '\n' {
            self.at += 1;
            return Ok(Token::Newline);
        }
        if first == '"' || first == '\'' {
            let Some(length) = rest[1..].find(first) else {
                return Err(self.file.place(self.at).reject("a quoted text does not end"));
            };
            self.at += length + 2;
            return Ok(Token::Quoted(&rest[1..=length]));
        }
        let signed = first == '-' && rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if length > 0 && (first != '-' || signed) {
            self.at += length;
            return Ok(Token::Word(&rest[..length]));
        }
        self.at += first.len_utf8();
        Ok(Token::Symbol(first))
    }

    /// Raw text up to a space, the end of the line or a `}`; what stands in quotes may have them.
    pub(crate) fn raw_word(&mut self) -> SourceText {
        let rest = self.rest();
        let word = rest.trim_start_matches([' ', '\t']);
        let start = self.at + rest.len() - word.len();
        let length = match word.chars().next().filter(|first| matches!(first, '"' | '\'')) {
            Some(quote) => match word[1..].find([quote, '\n']) {
                Some(end) if word[1 + end..].starts_with(quote) => end + 2,
                Some(end) => end + 1,
                None => word.len(),
            },
            None => word.find(|c: char| c.is_whitespace() || c == '}').unwrap_or(word.len()),
        };
        self.at = start + length;
        self.file.source(start, self.at)
    }

    /// Raw text up to the end of the line or a `}` that was not opened in it.
    ///
    /// # Errors
    /// If a `{` is not closed in the line.
    pub(crate) fn raw_line(&mut self) -> Result<SourceText, Rejection> {
        let start = self.at;
        let mut depth = 0usize;
        let mut end = self.file.text.len();
        for (i, c) in self.rest().char_indices() {
            match c {
                '\n' => {
                    end = start + i;
                    break;
                }
                '}' if depth == 0 => {
                    end = start + i;
                    break;
                }
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
        }
        if depth > 0 {
            let message = "a '{' is not closed in this line; write { … } instead of ':' for several lines";
            return Err(self.file.place(start).reject(message));
        }
        self.at = end;
        Ok(self.file.source(start, end))
    }

    /// Raw text up to the `}` that closes an already read `{`; the `}` is read too.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn raw_block(&mut self) -> Result<SourceText, Rejection> {
        let start = self.at;
        let mut depth = 0usize;
        for (i, c) in self.rest().char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => {
                    self.at = start + i + 1;
                    return Ok(self.file.source(start, start + i));
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
        Err(self.file.place(start).reject("a '{' before here is not closed"))
    }

    /// A rejection at the next token that names it and what was expected instead.
    pub(crate) fn expected_token(&mut self, what: &str) -> Rejection {
        match self.peek() {
            Ok((token, offset)) => self.file.place(offset).reject(format!("{what} expected, found {token}")),
            Err(rejection) => rejection,
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '$')
}
