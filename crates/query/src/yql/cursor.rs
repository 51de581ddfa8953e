//! Where the parser is among the tokens, and what it says when they are not what was expected.
use brooklet_task::{Code, Rejection, Span};

use super::lex::{Lexeme, Token};
use super::syntax::{Node, NodeKind};
use crate::suggestion::did_you_mean;
use crate::tree::TextRange;

pub(super) type Parsed<T> = Result<T, Rejection>;

/// Words that are no names.
const RESERVED: [&str; 12] =
    ["from", "as", "and", "or", "in", "true", "false", "contains", "timeout", "order by", "asc", "null"];

/// A rejection of a YQL text, with the place in the form the reference implementation gives it.
pub(crate) fn refuse(text: &str, offset: usize, message: &str) -> Rejection {
    let span = Span::locate(text, offset);
    let message = format!("Could not create query from YQL: query:L{}:{} {message}", span.line, span.column - 1);
    Rejection { code: Code::InvalidQueryParameter, message, span: Some(span) }
}

pub(super) struct Parser<'a> {
    pub text: &'a str,
    pub lexemes: Vec<Lexeme>,
    pub at: usize,
    pub depth: usize,
}

impl Parser<'_> {
    // Names. Keywords are names too where nothing else can stand.

    pub fn dotted_name(&mut self, expected: &str) -> Parsed<String> {
        let mut name = self.name(expected)?;
        while *self.peek() == Token::Mark(".") && matches!(self.peek_after(1), Token::Name(_)) {
            self.at += 1;
            name.push('.');
            name.push_str(&self.any_name()?);
        }
        Ok(name)
    }

    pub fn key_name(&mut self) -> Parsed<String> {
        let mut name = self.any_name()?;
        while self.skip_mark(".") {
            name.push('.');
            name.push_str(&self.any_name()?);
        }
        Ok(name)
    }

    pub fn name(&mut self, expected: &str) -> Parsed<String> {
        if self.is_reserved() {
            return Err(self.unexpected_token(expected, &[]));
        }
        self.any_name().map_err(|_| self.unexpected_token(expected, &[]))
    }

    pub fn any_name(&mut self) -> Parsed<String> {
        match self.peek().clone() {
            Token::Name(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected_token("a name", &[])),
        }
    }

    pub fn is_reserved(&self) -> bool {
        matches!(self.peek(), Token::Name(name) if RESERVED.iter().any(|word| name.eq_ignore_ascii_case(word)))
    }

    pub fn is_name(&self, word: &str) -> bool {
        self.is_name_at(self.at, word)
    }

    pub fn is_name_at(&self, at: usize, word: &str) -> bool {
        matches!(self.lexemes.get(at), Some(Lexeme { token: Token::Name(name), .. }) if name.eq_ignore_ascii_case(word))
    }

    pub fn skip_name(&mut self, word: &str) -> bool {
        let found = self.is_name(word);
        self.at += usize::from(found);
        found
    }

    // Marks and positions.

    pub fn peek(&self) -> &Token {
        &self.lexemes[self.at].token
    }

    pub fn peek_after(&self, count: usize) -> &Token {
        self.lexemes.get(self.at + count).map_or(&Token::End, |lexeme| &lexeme.token)
    }

    pub fn skip_mark(&mut self, mark: &'static str) -> bool {
        let found = *self.peek() == Token::Mark(mark);
        self.at += usize::from(found);
        found
    }

    pub fn expect_mark(&mut self, mark: &'static str, start: usize) -> Parsed<()> {
        if self.skip_mark(mark) { Ok(()) } else { Err(self.no_viable_alternative(start)) }
    }

    pub fn node(&self, kind: NodeKind, start: usize) -> Node {
        let end = self.at.checked_sub(1).map_or(start, |last| self.lexemes[last].place.end);
        Node::new(kind, TextRange { start, end })
    }

    // Rejections.

    pub fn refuse_here(&self, message: &str) -> Rejection {
        refuse(self.text, self.lexemes[self.at].place.start, message)
    }

    pub fn refuse_at(&self, node: &Node, message: &str) -> Rejection {
        refuse(self.text, node.place.start, message)
    }

    /// The token here cannot continue what began at `start`.
    pub fn no_viable_alternative(&self, start: usize) -> Rejection {
        let lexeme = &self.lexemes[self.at];
        if let Token::Broken(_) = lexeme.token {
            return self.unexpected_token("", &[]);
        }
        let seen = Rejection::quote(&self.text[start.min(lexeme.place.end)..lexeme.place.end]);
        self.refuse_here(&format!("no viable alternative at input '{seen}'"))
    }

    pub fn unexpected_token(&self, expected: &str, suggestions: &[&str]) -> Rejection {
        let lexeme = &self.lexemes[self.at];
        let seen = Rejection::quote(&self.text[lexeme.place.start..lexeme.place.end]);
        let message = match &lexeme.token {
            Token::Broken("") => format!("token recognition error at: '{seen}'"),
            Token::Broken(why) => format!("no viable alternative at input '{seen}'. {why}"),
            Token::End => format!("mismatched input '<EOF>' expecting {expected}"),
            Token::Name(name) => {
                let suggestion = did_you_mean(name, suggestions);
                let stop = if suggestion.is_empty() { "" } else { "." };
                format!("mismatched input '{seen}' expecting {expected}{stop}{suggestion}")
            }
            _ => format!("mismatched input '{seen}' expecting {expected}"),
        };
        self.refuse_here(&message)
    }
}
