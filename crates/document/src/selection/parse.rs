//! Reads a selection and checks it against the document types.
//!
//! Ranks, loosest first: `or`, `and`, `not`, comparison, `+ -`, `* /`, `%`, then functions and paths. Binary operators
//! group from the left; comparisons do not chain.
use std::collections::BTreeSet;

use brooklet_task::limits::{PATTERN_BYTES, SELECTION_BYTES, SELECTION_DEPTH};
use brooklet_task::{Code, Rejection, nearest_name};
use brooklet_text::Pattern;

use super::lex::{Lexer, Subscript, Token};
use super::tree::{Arithmetic, Comparison, FieldReference, Function, IdPart, Literal, Node, Operator};
use crate::field_path::{FieldPath, WrittenStep};
use crate::{DataType, DocumentTypes};

type Parsed = Result<Node, Rejection>;

/// A selection, and the document types that it names.
pub(super) struct Written {
    pub(super) root: Node,
    pub(super) types: BTreeSet<String>,
}

/// Reads a whole selection; an empty one selects everything.
pub(super) fn parse(text: &str, types: &dyn DocumentTypes, code: Code) -> Result<Written, Rejection> {
    if text.len() > SELECTION_BYTES {
        let message = format!("A selection of {} bytes is longer than the limit of {SELECTION_BYTES}", text.len());
        return Err(Rejection::new(code, message));
    }
    let mut parser = Parser { lexer: Lexer::new(text, code), types, code, depth: 0, named: BTreeSet::new() };
    if parser.lexer.peek()? == Token::End {
        return Ok(Written { root: Node::Literal(Literal::Bool(true)), types: BTreeSet::new() });
    }
    let root = parser.logic()?;
    match parser.lexer.peek()? {
        Token::End => Ok(Written { root, types: parser.named }),
        _ => Err(parser.unexpected_token("an operator or the end")),
    }
}

/// Compiles a pattern of `=~`.
pub(super) fn compile(pattern: &str) -> Result<Pattern, String> {
    if pattern.len() > PATTERN_BYTES {
        return Err(format!(
            "A regular expression of {} bytes is longer than the limit of {PATTERN_BYTES}",
            pattern.len()
        ));
    }
    Pattern::new(pattern, true).map_err(|fault| format!("Illegal regular expression: {fault}"))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    types: &'a dyn DocumentTypes,
    code: Code,
    depth: usize,
    /// The document types named so far.
    named: BTreeSet<String>,
}

impl Parser<'_> {
    fn logic(&mut self) -> Parsed {
        let mut any = vec![self.conjunction()?];
        while self.take_word("or")? {
            any.push(self.conjunction()?);
        }
        Ok(if any.len() == 1 { any.remove(0) } else { Node::Any(any) })
    }

    fn conjunction(&mut self) -> Parsed {
        let mut all = vec![self.negation()?];
        while self.take_word("and")? {
            all.push(self.negation()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Node::All(all) })
    }

    fn negation(&mut self) -> Parsed {
        if self.take_word("not")? { Ok(Node::Not(Box::new(self.comparison()?))) } else { self.comparison() }
    }

    fn comparison(&mut self) -> Parsed {
        let left = self.sum()?;
        let offset = self.lexer.offset();
        let Token::Sign(sign) = self.lexer.peek()? else { return Ok(left) };
        let Some(operator) = Operator::from_sign(sign) else { return Ok(left) };
        self.lexer.advance();
        let pattern_at = self.lexer.offset();
        let right = self.sum()?;
        for side in [&left, &right] {
            self.refuse_opaque(side, operator, if std::ptr::eq(side, &left) { &right } else { &left }, offset)?;
        }
        let pattern = match (&right, operator) {
            (Node::Literal(Literal::Text(pattern)), Operator::Regex) => {
                Some(compile(pattern).map_err(|message| self.lexer.error(pattern_at, &message))?)
            }
            _ => None,
        };
        Ok(Node::Compare(Box::new(Comparison { operator, left, right, pattern })))
    }

    /// Tensors and bytes are only compared with null.
    fn refuse_opaque(&self, side: &Node, operator: Operator, other: &Node, offset: usize) -> Result<(), Rejection> {
        let Node::Field(field) = side else { return Ok(()) };
        let opaque = matches!(field.path.data_type, DataType::Tensor(_) | DataType::Raw);
        let with_null =
            matches!(other, Node::Literal(Literal::Null)) && (operator.is_equality() || operator == Operator::Glob);
        if !opaque || with_null {
            return Ok(());
        }
        let message = format!("A field of type {} is only compared with null", field.path.data_type);
        Err(self.lexer.error(offset, &message))
    }

    fn sum(&mut self) -> Parsed {
        self.chain(&[("+", Arithmetic::Add), ("-", Arithmetic::Subtract)], Parser::product)
    }

    fn product(&mut self) -> Parsed {
        self.chain(&[("*", Arithmetic::Multiply), ("/", Arithmetic::Divide)], Parser::remainder)
    }

    fn remainder(&mut self) -> Parsed {
        self.chain(&[("%", Arithmetic::Remainder)], Parser::parse_attribute)
    }

    /// Operands of the next rank with operators of one rank between them.
    fn chain(&mut self, operators: &[(&str, Arithmetic)], operand: fn(&mut Self) -> Parsed) -> Parsed {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Token::Sign(sign) = self.lexer.peek()? {
            let Some((_, operator)) = operators.iter().find(|(known, _)| *known == sign) else { break };
            self.lexer.advance();
            rest.push((*operator, operand(self)?));
        }
        Ok(if rest.is_empty() { first } else { Node::Chain(Box::new(first), rest) })
    }

    /// A value with the functions called on it.
    fn parse_attribute(&mut self) -> Parsed {
        let base = self.value()?;
        let mut functions = Vec::new();
        while self.take_sign(".")? {
            let at = self.lexer.offset();
            let name = self.word("the name of a function")?;
            if !self.take_sign("()")? {
                return Err(self
                    .lexer
                    .error(at, &format!("Only a document type has fields: '{}'", Rejection::quote(&name))));
            }
            functions.push(self.function(&name, at)?);
        }
        Ok(if functions.is_empty() { base } else { Node::Call(Box::new(base), functions) })
    }

    fn function(&self, name: &str, at: usize) -> Result<Function, Rejection> {
        Function::from_name(name)
            .ok_or_else(|| self.lexer.error(at, &format!("Function '{}' is not supported", Rejection::quote(name))))
    }

    fn value(&mut self) -> Parsed {
        let token = self.lexer.peek()?;
        let literal = match token {
            Token::Word(word) => return self.parse_name(&word),
            Token::Sign("(") => return self.parse_parentheses(),
            Token::Sign(sign @ ("-" | "+")) => {
                self.lexer.advance();
                match (self.lexer.peek()?, sign) {
                    (Token::Int(number), "-") => Literal::Int(number.wrapping_neg()),
                    (Token::Float(number), "-") => Literal::Float(-number),
                    (Token::Int(number), _) => Literal::Int(number),
                    (Token::Float(number), _) => Literal::Float(number),
                    _ => return Err(self.unexpected_token("a number")),
                }
            }
            Token::Sign("$") => {
                let message =
                    "A variable stands for an index or a key, as in 'people[$x].name': it has no value of its own";
                let at = self.lexer.offset();
                return Err(self.lexer.error(at, message));
            }
            Token::Int(number) => Literal::Int(number),
            Token::Float(number) => Literal::Float(number),
            Token::Text(text) => Literal::Text(text),
            _ => return Err(self.unexpected_token("a value, a document type or '('")),
        };
        self.lexer.advance();
        Ok(Node::Literal(literal))
    }

    fn parse_parentheses(&mut self) -> Parsed {
        if self.depth == SELECTION_DEPTH {
            let at = self.lexer.offset();
            return Err(self.lexer.error(at, &format!("Parentheses nest more than {SELECTION_DEPTH} levels deep")));
        }
        self.depth += 1;
        self.lexer.advance();
        let inner = self.logic()?;
        if !self.take_sign(")")? {
            return Err(self.unexpected_token("')'"));
        }
        self.depth -= 1;
        Ok(inner)
    }

    /// What a word begins: a keyword, the id, `now()`, or a document type.
    fn parse_name(&mut self, word: &str) -> Parsed {
        let at = self.lexer.offset();
        let lower = word.to_ascii_lowercase();
        let literal = match lower.as_str() {
            "true" => Literal::Bool(true),
            "false" => Literal::Bool(false),
            "null" => Literal::Null,
            "and" | "or" | "not" => return Err(self.unexpected_token("a value, a document type or '('")),
            "id" => return self.id(),
            _ => {
                self.lexer.advance();
                return if word == "now" && self.take_sign("()")? { Ok(Node::Now) } else { self.of_type(word, at) };
            }
        };
        self.lexer.advance();
        Ok(Node::Literal(literal))
    }

    /// `id`, `id.group`; what follows, if it is a function, is not read.
    fn id(&mut self) -> Parsed {
        self.lexer.advance();
        let text = self.lexer.text;
        let rest = text[self.lexer.offset()..].strip_prefix('.').unwrap_or("").trim_start();
        let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        if length == 0 || rest[length..].trim_start().starts_with("()") {
            return Ok(Node::Id(IdPart::Whole));
        }
        self.lexer.peek()?;
        self.lexer.advance();
        let at = self.lexer.offset();
        let name = self.word("a part of the id")?;
        IdPart::from_name(&name).map(Node::Id).ok_or_else(|| {
            let parts = "scheme, namespace, type, specific, user, group, bucket and gid";
            self.lexer.error(at, &format!("An id has no '{}'; its parts are {parts}", Rejection::quote(&name)))
        })
    }

    /// A document type alone, or a field of it.
    fn of_type(&mut self, name: &str, at: usize) -> Parsed {
        let Some(fields) = self.types.fields_selected(name) else {
            let hint = nearest_name(name, self.types.names());
            let hint = hint.map_or_else(String::new, |near| format!(". Did you mean '{near}'?"));
            let message = format!("Document type '{}' not found{hint}", Rejection::quote(name));
            return Err(self.lexer.error(at, &message));
        };
        self.named.insert(name.to_owned());
        let inheriting = || -> BTreeSet<String> {
            self.types
                .names()
                .into_iter()
                .filter(|candidate| self.types.is_a(candidate, name))
                .map(str::to_owned)
                .collect()
        };
        let types = inheriting();
        let (mut names, mut functions) = (Vec::new(), Vec::new());
        let path_at = self.lexer.offset();
        while self.take_sign(".")? {
            let part_at = self.lexer.offset();
            let part = self.word("a field")?;
            if self.take_sign("()")? {
                if names.is_empty() && functions.is_empty() && part == "version" {
                    return Ok(Node::Version(types));
                }
                functions.push(self.function(&part, part_at)?);
            } else if functions.is_empty() {
                names.push(WrittenStep::Name(part));
                self.subscripts(&mut names)?;
            } else {
                return Err(self.lexer.error(part_at, "Only functions may follow a function"));
            }
        }
        let mut names = names.into_iter();
        let node = match names.next() {
            Some(WrittenStep::Name(field)) => {
                let steps: Vec<_> = names.collect();
                let path = FieldPath::resolve(&field, &steps, fields, name, self.code);
                let path = path.map_err(|error| self.lexer.error(path_at, &error.message))?;
                Node::Field(FieldReference { types, path })
            }
            _ => Node::Type(name.to_owned()),
        };
        Ok(if functions.is_empty() { node } else { Node::Call(Box::new(node), functions) })
    }

    fn subscripts(&mut self, steps: &mut Vec<WrittenStep>) -> Result<(), Rejection> {
        loop {
            if self.take_sign("[")? {
                let at = self.lexer.offset();
                steps.push(match self.lexer.subscript(']')? {
                    Subscript::Variable(name) => WrittenStep::IndexVariable(name),
                    Subscript::Key(digits) => match digits.parse() {
                        Ok(index) => WrittenStep::Index(index),
                        Err(_) => return Err(self.lexer.error(at, "Expected an index")),
                    },
                });
            } else if self.take_sign("{")? {
                steps.push(match self.lexer.subscript('}')? {
                    Subscript::Variable(name) => WrittenStep::KeyVariable(name),
                    Subscript::Key(key) => WrittenStep::Key(key),
                });
            } else {
                return Ok(());
            }
        }
    }

    fn word(&mut self, what: &str) -> Result<String, Rejection> {
        match self.lexer.peek()? {
            Token::Word(word) => {
                self.lexer.advance();
                Ok(word)
            }
            _ => Err(self.unexpected_token(what)),
        }
    }

    fn take_word(&mut self, keyword: &str) -> Result<bool, Rejection> {
        let found = matches!(self.lexer.peek()?, Token::Word(word) if word.eq_ignore_ascii_case(keyword));
        if found {
            self.lexer.advance();
        }
        Ok(found)
    }

    fn take_sign(&mut self, sign: &str) -> Result<bool, Rejection> {
        let found = matches!(self.lexer.peek()?, Token::Sign(found) if found == sign);
        if found {
            self.lexer.advance();
        }
        Ok(found)
    }

    fn unexpected_token(&mut self, wanted: &str) -> Rejection {
        let at = self.lexer.offset();
        let found = match self.lexer.peek() {
            Ok(Token::End) => "the end".to_owned(),
            Ok(Token::Word(word)) => format!("'{}'", Rejection::quote(&word)),
            Ok(Token::Sign(sign)) => format!("'{sign}'"),
            Ok(Token::Int(_) | Token::Float(_)) => "a number".to_owned(),
            Ok(Token::Text(_)) => "a string".to_owned(),
            Err(error) => return error,
        };
        self.lexer.error(at, &format!("Encountered {found} where {wanted} was expected"))
    }
}
