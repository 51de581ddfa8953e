//! Numbers and ranges of the simple language: `5`, `-2.5`, `<5`, `[1;5]`, `[1;5;-10]`.
use super::term::Reader;
use super::token::Token;
use crate::number::parse_expression;
use crate::simple::term::number_item;
use crate::tree::Item;

impl Reader<'_> {
    /// The number or range here, if one is.
    pub fn number(&mut self, field: &str) -> Option<Item> {
        let start = self.at;
        self.skip_spaces();
        let text = match self.peek() {
            Some(Token::Mark('[')) => self.range_text().or_else(|| {
                self.at += 1;
                self.signed_number()
            }),
            Some(Token::Mark(sign @ ('<' | '>'))) => {
                let sign = *sign;
                self.at += 1;
                self.spaced_number().map(|number| format!("{sign}{number}"))
            }
            // As in the reference implementation, where a minus behind several spaces is none.
            Some(Token::Mark('-'))
                if self.at >= 2 && self.tokens[self.at - 2..self.at] == [Token::Space, Token::Space] =>
            {
                None
            }
            _ => self.signed_number(),
        };
        let range = text.as_deref().and_then(parse_expression).filter(|_| self.ends_number());
        match (range, text) {
            (Some(range), Some(text)) => Some(number_item(range, field, &text)),
            _ => {
                self.at = start;
                None
            }
        }
    }

    /// `[1;5]`, `[;5]`, `[1;5;-10]`: at least one end is given.
    fn range_text(&mut self) -> Option<String> {
        let start = self.at;
        self.at += 1;
        let mut parts = vec![self.optional_number()];
        while parts.len() < 3 && self.skip_mark_loosely(';') {
            parts.push(self.optional_number());
        }
        let empty = parts.iter().take(2).all(String::is_empty);
        if parts.len() < 2 || empty {
            self.at = start;
            return None;
        }
        if parts.len() == 3 && parts[2].is_empty() {
            parts.pop();
        }
        self.skip_mark_loosely(']');
        self.skip_mark_loosely('[');
        Some(format!("[{}]", parts.join(";")))
    }

    fn optional_number(&mut self) -> String {
        let start = self.at;
        self.skip_spaces();
        self.spaced_number().unwrap_or_else(|| {
            self.at = start;
            String::new()
        })
    }

    fn signed_number(&mut self) -> Option<String> {
        let minus = self.is_mark('-') && matches!(self.tokens.get(self.at + 1), Some(Token::Number(_)));
        self.at += usize::from(minus);
        self.unsigned_number(minus)
    }

    /// A number that may have spaces before its digits.
    fn spaced_number(&mut self) -> Option<String> {
        let minus = self.skip_mark('-');
        self.skip_spaces();
        self.unsigned_number(minus)
    }

    fn unsigned_number(&mut self, minus: bool) -> Option<String> {
        let mut text = String::from(if minus { "-" } else { "" });
        let Some(Token::Number(digits)) = self.peek() else { return None };
        text.push_str(digits);
        self.at += 1;
        if self.is_mark('.')
            && let Some(Token::Number(fraction)) = self.tokens.get(self.at + 1)
        {
            text.push('.');
            text.push_str(fraction);
            self.at += 2;
        }
        Some(text)
    }

    fn ends_number(&self) -> bool {
        let ending = [']', ';', ')', '!'];
        self.peek().is_none_or(|token| match token {
            Token::Space => true,
            Token::Mark('}') => self.in_element,
            Token::Mark(mark) => ending.contains(mark),
            _ => false,
        })
    }
}
