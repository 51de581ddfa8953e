//! The parser's footing: names, lists, numbers, blocks, and the refusal of what is not known.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use brooklet_task::{Rejection, did_you_mean};

use super::lex::{Lexer, SourceFile, Token};
use super::tree::Name;
use crate::place::{SourcePlace, SourceText};
use crate::remarks::Remarks;

pub(crate) type Parsed<T> = Result<T, Rejection>;

/// What reads one element of a block.
type Each<'e, 'a> = &'e mut dyn FnMut(&mut Parser<'a>) -> Parsed<()>;

/// Reads a file of the schema language.
pub(crate) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    /// What is said of what is read nevertheless.
    pub(super) remarks: Remarks,
    /// Nesting of blocks and types.
    depth: u32,
}

/// Nesting of blocks and types.
const DEPTH_MAX: u32 = 24;

/// Names in one `inherits`.
const INHERITS_MAX: usize = 64;

/// Definitions of one kind in one place: what compares them with each other must stay quick.
pub(crate) const DEFINITIONS_MAX: usize = 1_000;

impl<'a> Parser<'a> {
    pub(super) fn new(file: &'a SourceFile) -> Parser<'a> {
        Parser { lexer: Lexer::new(file), remarks: Remarks::default(), depth: 0 }
    }

    /// Place of the next token.
    pub(super) fn place(&mut self) -> SourcePlace {
        self.lexer.skip_blanks();
        self.lexer.file().place(self.lexer.offset())
    }

    pub(super) fn peek(&mut self) -> Parsed<Token<'a>> {
        self.lexer.peek().map(|(token, _)| token)
    }

    pub(super) fn next(&mut self) -> Parsed<Token<'a>> {
        self.lexer.next()
    }

    pub(super) fn newlines(&mut self) -> Parsed<()> {
        while self.peek()? == Token::Newline {
            self.next()?;
        }
        Ok(())
    }

    /// Takes the symbol if it is next.
    pub(super) fn take(&mut self, symbol: char) -> Parsed<bool> {
        let found = self.peek()? == Token::Symbol(symbol);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, symbol: char) -> Parsed<()> {
        if self.take(symbol)? { Ok(()) } else { Err(self.lexer.expected_token(&format!("'{symbol}'"))) }
    }

    /// Takes the word if it is next.
    pub(super) fn take_word(&mut self, word: &str) -> Parsed<bool> {
        let found = self.peek()? == Token::Word(word);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Any word, with dashes or without.
    pub(super) fn word(&mut self, what: &str) -> Parsed<Name> {
        let place = self.place();
        let Token::Word(text) = self.peek()? else { return Err(self.lexer.expected_token(what)) };
        self.next()?;
        Ok(Name { text: text.to_owned(), place })
    }

    /// A word without dashes.
    pub(super) fn name(&mut self, what: &str) -> Parsed<Name> {
        let name = self.word(what)?;
        if name.text.contains('-') {
            let message =
                format!("'{}' is not a legal name here: it must not contain '-'", Rejection::quote(&name.text));
            return Err(name.place.reject(message));
        }
        Ok(name)
    }

    /// One or more words, separated by commas. New lines may follow a comma.
    pub(super) fn words(&mut self, what: &str) -> Parsed<Vec<Name>> {
        let mut words = vec![self.word(what)?];
        while self.take(',')? {
            self.newlines()?;
            words.push(self.word(what)?);
        }
        Ok(words)
    }

    /// `inherits A, B`, if it is next.
    pub(super) fn inherits(&mut self) -> Parsed<Vec<Name>> {
        if !self.take_word("inherits")? {
            return Ok(Vec::new());
        }
        let names = self.words("a name to inherit")?;
        match names.get(INHERITS_MAX) {
            Some(name) => Err(name.place.reject(format!("at most {INHERITS_MAX} names can be inherited"))),
            None => Ok(names),
        }
    }

    /// `: word`.
    pub(super) fn word_value(&mut self, what: &str) -> Parsed<Name> {
        self.expect(':')?;
        self.word(what)
    }

    /// `: word` or `: "text"`.
    pub(super) fn text_value(&mut self, what: &str) -> Parsed<String> {
        self.expect(':')?;
        if let Token::Quoted(text) = self.peek()? {
            self.next()?;
            return Ok(text.to_owned());
        }
        Ok(self.word(what)?.text)
    }

    /// `: 12`, of 32 bits: others are objected to.
    pub(super) fn integer_value<T: TryFrom<i64>>(&mut self, what: &str) -> Parsed<T> {
        let name = self.word_value(&format!("{what}: an integer"))?;
        self.check_integer(&name, what);
        legal_integer(&name, what)
    }

    /// `: 12`, of 32 bits, for nothing but comparison: other numbers are objected to.
    pub(super) fn count_value(&mut self, what: &str) -> Parsed<f64> {
        let name = self.word_value(&format!("{what}: an integer"))?;
        self.check_integer(&name, what);
        legal_number(&name, what)
    }

    fn check_integer(&mut self, name: &Name, what: &str) {
        if name.text.parse::<i32>().is_err() {
            let shown = Rejection::quote(&name.text);
            let message = format!("'{shown}' is not a legal value of {what}: it is a whole number of 32 bits");
            self.remarks.object(name.place.reject(message));
        }
    }

    /// `: 12` or `: 12L`, of 64 bits.
    pub(super) fn long_value(&mut self, what: &str) -> Parsed<i64> {
        let name = self.word_value(&format!("{what}: an integer"))?;
        legal_integer(&name, what)
    }

    /// `: 1.5`, as the reference writes it: digits, a dot, digits. Other numbers are objected to.
    pub(super) fn decimal_value(&mut self, what: &str) -> Parsed<f64> {
        self.decimal_in(what, f64::NEG_INFINITY..=f64::INFINITY)
    }

    /// `: 0.5`, in that range; others are objected to.
    pub(super) fn decimal_in(&mut self, what: &str, range: RangeInclusive<f64>) -> Parsed<f64> {
        let name = self.word_value(&format!("{what}: a number"))?;
        let value = legal_number(&name, what)?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let unsigned = name.text.strip_prefix('-').unwrap_or(&name.text);
        let is_decimal = unsigned.split_once('.').is_some_and(|(whole, rest)| digits(whole) && digits(rest));
        let rule = match (is_decimal, range.contains(&value)) {
            (true, true) => return Ok(value),
            (false, _) => "it is written with a dot, as 1.0".to_owned(),
            (true, false) => format!("it is from {:?} to {:?}", range.start(), range.end()),
        };
        let shown = Rejection::quote(&name.text);
        self.remarks.object(name.place.reject(format!("'{shown}' is not a legal value of {what}: {rule}")));
        Ok(value)
    }

    /// Objects to what is said a second time, of all that is `said` in one place.
    pub(super) fn once(&mut self, said: &mut BTreeSet<String>, place: &SourcePlace, what: &str) {
        if !said.insert(what.to_owned()) {
            self.remarks.object(place.reject(format!("{what} is set twice")));
        }
    }

    /// `: on` and its synonyms.
    pub(super) fn switch_value(&mut self, what: &str) -> Parsed<bool> {
        let name = self.word_value("on or off")?;
        match name.text.as_str() {
            "on" | "true" => Ok(true),
            "off" | "false" => Ok(false),
            _ => Err(self.unknown_setting(&name, &format!("value of {what}"), &["on", "off", "true", "false"])),
        }
    }

    /// `{ each … }`: reads the braces and calls `each` at every element.
    pub(super) fn block(&mut self, mut each: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.block_of(&mut each)
    }

    /// One function for all kinds of blocks.
    #[inline(never)]
    fn block_of(&mut self, each: Each<'_, 'a>) -> Parsed<()> {
        self.newlines()?;
        self.expect('{')?;
        self.enter()?;
        loop {
            self.newlines()?;
            if self.take('}')? {
                break;
            }
            each(self)?;
        }
        self.leave();
        Ok(())
    }

    /// `{ each … }` that has no effect: what `each` refuses is objected to, and the rest of the block passed over.
    #[inline(never)]
    pub(super) fn block_without_effect(&mut self, each: Each<'_, 'a>) -> Parsed<()> {
        let (start, depth) = (self.lexer.offset(), self.depth);
        self.newlines()?;
        self.expect('{')?;
        self.lexer.raw_block()?;
        let end = self.lexer.offset();
        self.lexer.seek(start);
        if let Err(objection) = self.block_of(each) {
            self.remarks.object(objection);
        }
        self.depth = depth;
        self.lexer.seek(end);
        Ok(())
    }

    /// `: each` or `{ each … }`.
    pub(super) fn setting(&mut self, mut each: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.setting_of(&mut each)
    }

    #[inline(never)]
    fn setting_of(&mut self, each: Each<'_, 'a>) -> Parsed<()> {
        if self.take(':')? { each(self) } else { self.block_of(each) }
    }

    /// Goes one level deeper; every way in must [`leave`](Parser::leave).
    pub(super) fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.place().reject(format!("blocks and types nest at most {DEPTH_MAX} levels deep")));
        }
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Raw text of a value: `: to the end of the line` or `{ to the closing brace }`.
    pub(super) fn raw_value(&mut self) -> Parsed<SourceText> {
        if self.take(':')? {
            return self.lexer.raw_line();
        }
        self.newlines()?;
        self.expect('{')?;
        self.lexer.raw_block()
    }

    /// The refusal of a word that means nothing where it stands, with what may have been meant.
    pub(super) fn unknown_setting(&self, name: &Name, what: &str, known: &[&str]) -> Rejection {
        let hint = did_you_mean(&name.text, known.iter().copied());
        name.place.reject(format!("unknown {what} '{}'{hint}", Rejection::quote(&name.text)))
    }

    /// A warning about what stands at `place`.
    pub(super) fn note(&mut self, place: &SourcePlace, message: impl Into<String>) {
        let message: String = message.into();
        self.remarks.warn(format!("{place}: {message}"));
    }
}

fn legal_integer<T: TryFrom<i64>>(name: &Name, what: &str) -> Parsed<T> {
    let digits = name.text.strip_suffix('L').unwrap_or(&name.text);
    let value = digits.parse::<i64>().ok().and_then(|value| T::try_from(value).ok());
    let shown = || Rejection::quote(&name.text);
    value.ok_or_else(|| name.place.reject(format!("'{}' is not a legal value of {what}", shown())))
}

fn legal_number(name: &Name, what: &str) -> Parsed<f64> {
    let numeric = name.text.bytes().all(|byte| byte.is_ascii_digit() || b".-eE".contains(&byte));
    let value = if numeric { name.text.parse::<f64>().ok() } else { None };
    let shown = || Rejection::quote(&name.text);
    value.ok_or_else(|| name.place.reject(format!("'{}' is not a legal value of {what}", shown())))
}

/// Refuses a name that occurs twice; the refusal names both places.
pub(crate) fn unique<'t>(names: impl IntoIterator<Item = &'t Name>, what: &str) -> Parsed<()> {
    unique_of(&mut names.into_iter(), what)
}

#[inline(never)]
fn unique_of(names: &mut dyn Iterator<Item = &Name>, what: &str) -> Parsed<()> {
    let mut seen: BTreeMap<&str, &Name> = BTreeMap::new();
    for name in names {
        if let Some(first) = seen.insert(&name.text, name) {
            return Err(duplicate(name, first, what));
        }
    }
    Ok(())
}

/// Refuses more than [`DEFINITIONS_MAX`] of something.
pub(crate) fn check_count(count: usize, place: &SourcePlace, what: &str) -> Parsed<()> {
    if count <= DEFINITIONS_MAX {
        return Ok(());
    }
    Err(place.reject(format!("there are more than {DEFINITIONS_MAX} {what}")))
}

/// The refusal of a second definition.
pub(crate) fn duplicate(next: &Name, first: &Name, what: &str) -> Rejection {
    let name = Rejection::quote(&next.text);
    next.place.reject(format!("{what} '{name}' is defined twice: the first definition is at {}", first.place))
}
