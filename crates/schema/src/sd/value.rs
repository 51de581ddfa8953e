//! Declared query features and constants: names, types and literal values.

use super::lex::Token;
use super::settings::{Parsed, Parser};
use super::tree::{ConstantTree, InputTree, Name, ProfileTree, ValueType};
use crate::place::{SourcePlace, SourceText};

/// Types of query features, beside those of tensors.
const VALUE_TYPES: &[&str] = &["double", "float", "long", "string"];

impl Parser<'_> {
    /// `inputs { query(x) double: 1.0 … }`.
    pub(super) fn inputs(&mut self, tree: &mut ProfileTree) -> Parsed<()> {
        self.block(|parser| {
            let name = parser.wrapped_name("query")?;
            let value_type = match parser.peek()? {
                // A word that is no type is the next of them.
                Token::Word(next) if !next.starts_with("tensor") && !VALUE_TYPES.contains(&next) => {
                    let message = format!("Expected newline between inputs query({}) and query({next})", name.text);
                    parser.note(&name.place, message);
                    ValueType::Number
                }
                _ => parser.value_type(&format!("Input query({})", name.text))?,
            };
            let default = if parser.take(':')? { Some(parser.literal()?) } else { None };
            tree.inputs.push(InputTree { name, value_type, default });
            Ok(())
        })
    }

    /// `constants { name tensor(x[2]): [1,2] … }`.
    pub(super) fn constants(&mut self, tree: &mut ProfileTree) -> Parsed<()> {
        self.block(|parser| {
            let name = parser.wrapped_name("constant")?;
            let constant = if parser.peek()? == Token::Symbol('{') {
                parser.constant_body(name)?
            } else {
                let value_type = parser.value_type(&format!("Constant {}", name.text))?;
                parser.expect(':')?;
                if let Some(file) = parser.file_name()? {
                    ConstantTree { name, value_type, value: SourceText::built_in(""), file: Some(file), tensor: None }
                } else {
                    let value = parser.literal()?;
                    ConstantTree { name, value_type, value, file: None, tensor: None }
                }
            };
            tree.constants.push(constant);
            Ok(())
        })
    }

    /// `constant NAME { type: … file: … }` of a schema, after the word.
    pub(super) fn constant_block(&mut self) -> Parsed<ConstantTree> {
        let name = self.name("the name of the constant")?;
        self.constant_body(name)
    }

    /// `{ type: … value: … }`: an old form.
    fn constant_body(&mut self, name: Name) -> Parsed<ConstantTree> {
        let mut value_type = ValueType::Number;
        let (mut value, mut file) = (None, None);
        self.block(|parser| {
            let setting = parser.word("a setting of a constant")?;
            match setting.text.as_str() {
                "type" => {
                    parser.expect(':')?;
                    value_type = parser.value_type(&format!("Constant {}", name.text))?;
                }
                "value" if parser.peek()? == Token::Symbol('{') => value = Some(parser.raw_value()?),
                "value" => {
                    parser.expect(':')?;
                    value = Some(parser.literal()?);
                }
                "file" => {
                    parser.expect(':')?;
                    file = Some(parser.path());
                }
                "uri" => return Err(setting.place.unsupported_here("a constant from a URI")),
                _ => {
                    return Err(parser.unknown_setting(
                        &setting,
                        "setting of a constant",
                        &["type", "value", "file", "uri"],
                    ));
                }
            }
            Ok(())
        })?;
        if file.is_some() {
            let value = SourceText::built_in("");
            return Ok(ConstantTree { name, value_type, value, file, tensor: None });
        }
        let value = value.ok_or_else(|| name.place.reject(format!("constant '{}' must have a value", name.text)))?;
        Ok(ConstantTree { name, value_type, value, file: None, tensor: None })
    }

    /// The path of `file: path`, if that is what comes.
    fn file_name(&mut self) -> Parsed<Option<String>> {
        self.newlines()?;
        let start = self.lexer.offset();
        if self.next()? == Token::Word("file") && self.take(':')? {
            return Ok(Some(self.path()));
        }
        self.lexer.seek(start);
        Ok(None)
    }

    /// A path, without quotes: other settings may stand behind it on the line.
    fn path(&mut self) -> String {
        self.lexer.raw_word().text.trim_matches(['"', '\'']).to_owned()
    }

    /// `name` or `wrapper(name)`.
    fn wrapped_name(&mut self, wrapper: &str) -> Parsed<Name> {
        let name = self.name("a name")?;
        if name.text != wrapper || !self.take('(')? {
            return Ok(name);
        }
        let name = self.name("a name")?;
        self.expect(')')?;
        Ok(name)
    }

    /// The text of a number, of a quoted text, or of a tensor with all its brackets, which may span lines.
    pub(super) fn literal(&mut self) -> Parsed<SourceText> {
        self.newlines()?;
        let place = self.place();
        let start = self.lexer.offset();
        match self.next()? {
            Token::Word("uri") if self.peek()? == Token::Symbol(':') => {
                Err(place.unsupported_here("a constant from a URI"))
            }
            Token::Word(_) | Token::Quoted(_) => Ok(self.lexer.file().source(start, self.lexer.offset())),
            Token::Symbol('[' | '{') => {
                self.closing_bracket(&place)?;
                Ok(self.lexer.file().source(start, self.lexer.offset()))
            }
            _ => {
                self.lexer.seek(start);
                Err(self.lexer.expected_token("a number or a tensor"))
            }
        }
    }

    /// Reads up to the bracket that closes one already read.
    fn closing_bracket(&mut self, place: &SourcePlace) -> Parsed<()> {
        let mut depth = 1usize;
        while depth > 0 {
            match self.next()? {
                Token::Symbol('[' | '{') => depth += 1,
                Token::Symbol(']' | '}') => depth -= 1,
                Token::End => return Err(place.reject("the brackets of this value are not closed")),
                _ => {}
            }
        }
        Ok(())
    }
}
