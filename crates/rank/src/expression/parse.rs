//! Parses a ranking expression. Calls and tensor literals are parsed in `parse_call.rs` and `parse_literal.rs`.
use std::rc::Rc;

use brooklet_task::{Code, Rejection, limits};

use super::lex::{Token, TokenKind, tokens, unquote};
use super::syntax_tree::{Expression, Slice, SliceLabel, Switch, TensorFunction, Tree, TreeKind};
use crate::operation::{Binary, Dialect, Unary};

/// The expression that is all of `text`.
pub(super) fn expression(text: &str, dialect: Dialect) -> Result<Expression, Rejection> {
    let mut parser = Parser::new(text, dialect)?;
    let root = parser.expression()?;
    parser.end()?;
    Ok(Expression { text: Rc::from(text), root })
}

/// Where parsing is in the tokens of a text.
pub(super) struct Parser<'a> {
    text: &'a str,
    pub(super) dialect: Dialect,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Nodes that convenience functions were replaced by so far.
    pub(super) expanded: usize,
}

type Parsed<T> = Result<T, Rejection>;

impl<'a> Parser<'a> {
    fn new(text: &'a str, dialect: Dialect) -> Parsed<Parser<'a>> {
        if text.len() > limits::EXPRESSION_FILE_BYTES {
            let message =
                format!("a ranking expression may have {} bytes, not {}", limits::EXPRESSION_FILE_BYTES, text.len());
            return Err(Rejection::new(Code::TooLarge, message));
        }
        Ok(Parser { text, dialect, tokens: tokens(text)?, at: 0, depth: 0, expanded: 0 })
    }

    /// The next token.
    pub(super) fn peek(&self) -> Token {
        self.peek_after(0)
    }

    /// The token after `skipped` more.
    pub(super) fn peek_after(&self, skipped: usize) -> Token {
        self.tokens[(self.at + skipped).min(self.tokens.len() - 1)]
    }

    /// The next token, which is consumed.
    pub(super) fn next(&mut self) -> Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// The text of a token.
    pub(super) fn slice(&self, token: Token) -> &'a str {
        &self.text[token.start..token.end]
    }

    /// Whether a token is this symbol.
    pub(super) fn is_symbol(token: Token, symbol: &str) -> bool {
        matches!(token.kind, TokenKind::Symbol(found) if found == symbol)
    }

    /// Whether a token is this word.
    pub(super) fn is_word(&self, token: Token, word: &str) -> bool {
        token.kind == TokenKind::Word && self.slice(token) == word
    }

    /// Consumes the symbol if it is next.
    pub(super) fn accept(&mut self, symbol: &str) -> bool {
        let found = Self::is_symbol(self.peek(), symbol);
        if found {
            self.next();
        }
        found
    }

    /// Consumes the symbol, which must be next.
    pub(super) fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.accept(symbol) { Ok(()) } else { Err(self.unexpected_token(&format!("'{symbol}'"))) }
    }

    /// Consumes a name, which must be next.
    pub(super) fn name(&mut self) -> Parsed<String> {
        let token = self.peek();
        if token.kind != TokenKind::Word {
            return Err(self.unexpected_token("a name"));
        }
        self.next();
        Ok(self.slice(token).to_owned())
    }

    /// A rejection at the next token.
    pub(super) fn unexpected_token(&self, wanted: &str) -> Rejection {
        let found = match self.peek().kind {
            TokenKind::End => "the end".to_owned(),
            _ => format!("'{}'", Rejection::quote(self.slice(self.peek()))),
        };
        self.refuse(format!("{wanted} expected, {found} found"), self.peek().start)
    }

    /// A rejection at a place.
    pub(super) fn refuse(&self, message: impl Into<String>, offset: usize) -> Rejection {
        Rejection::at(Code::InvalidApplication, message, self.text, offset)
    }

    fn end(&self) -> Parsed<()> {
        if self.peek().kind == TokenKind::End { Ok(()) } else { Err(self.unexpected_token("an operator or the end")) }
    }

    /// Parses one level deeper. In the code of each caller it would be many times there.
    #[inline(never)]
    pub(super) fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= limits::EXPRESSION_DEPTH {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn too_deep(&self) -> Rejection {
        let message = format!("a ranking expression may nest {} levels", limits::EXPRESSION_DEPTH);
        Rejection::at(Code::TooLarge, message, self.text, self.peek().start)
    }

    /// An expression.
    pub(super) fn expression(&mut self) -> Parsed<Tree> {
        self.deeper(Parser::operation)
    }

    /// Operands and operators: what binds tighter, or comes first and binds as tight, is put together first. Without
    /// recursion, for the stack may be small. `^` alone associates to the right; `in` ends an expression.
    fn operation(&mut self) -> Parsed<Tree> {
        let mut operands = vec![self.unary()?];
        let mut operators: Vec<(Binary, u8)> = Vec::new();
        while let TokenKind::Symbol(sign) = self.peek().kind {
            let Some((operator, binds)) = Binary::operator(sign, self.dialect) else { break };
            let is_first = |before: u8| before > binds || before == binds && operator != Binary::Power;
            while let Some((before, _)) = operators.pop_if(|(_, before)| is_first(*before)) {
                self.combine(before, &mut operands);
            }
            let nested = operators.iter().filter(|(before, _)| *before == Binary::Power).count();
            if self.depth + nested >= limits::EXPRESSION_DEPTH {
                return Err(self.too_deep());
            }
            self.next();
            operators.push((operator, binds));
            operands.push(self.unary()?);
        }
        if self.is_word(self.peek(), "in") {
            while let Some((operator, _)) = operators.pop_if(|(before, _)| self.binds_before_membership(*before)) {
                self.combine(operator, &mut operands);
            }
            let value = operands.pop().ok_or_else(|| self.unexpected_token("a value"))?;
            operands.push(self.membership(value)?);
        }
        while let Some((operator, _)) = operators.pop() {
            self.combine(operator, &mut operands);
        }
        operands.pop().ok_or_else(|| self.unexpected_token("a value"))
    }

    /// Puts the last two operands together. A chain of one priority stays one node.
    fn combine(&self, operator: Binary, operands: &mut Vec<Tree>) {
        let (Some(right), Some(left)) = (operands.pop(), operands.pop()) else { return };
        let offset = left.offset;
        let priority = |operator: Binary| Binary::operator(operator.name(), self.dialect).map(|(_, priority)| priority);
        let kind = match left.kind {
            TreeKind::Chain(first, mut rest)
                if operator != Binary::Power && priority(rest[0].0) == priority(operator) =>
            {
                rest.push((operator, right));
                TreeKind::Chain(first, rest)
            }
            kind => TreeKind::Chain(Box::new(Tree::new(kind, offset)), vec![(operator, right)]),
        };
        operands.push(Tree::new(kind, offset));
    }

    /// Whether an operator before `in` belongs to the value that is looked for: on the content node all that bind as tight
    /// as a comparison, in the container every one.
    fn binds_before_membership(&self, operator: Binary) -> bool {
        self.dialect == Dialect::Container || !matches!(operator, Binary::And | Binary::Or)
    }

    /// `value in [a, b]`. Nothing may follow.
    #[inline(never)]
    fn membership(&mut self, value: Tree) -> Parsed<Tree> {
        self.next();
        self.expect("[")?;
        let mut set = vec![self.expression()?];
        while self.accept(",") {
            set.push(self.expression()?);
        }
        self.expect("]")?;
        let offset = value.offset;
        Ok(Tree::new(TreeKind::In(Box::new(value), set), offset))
    }

    /// A primary with the signs before it. A sign before a number is part of the number.
    fn unary(&mut self) -> Parsed<Tree> {
        let token = self.peek();
        let function = match token.kind {
            TokenKind::Symbol("-") => Unary::Negate,
            TokenKind::Symbol("!") => Unary::Not,
            _ => return self.parse_slice(),
        };
        self.next();
        let operand = self.deeper(Parser::unary)?;
        match operand.kind {
            TreeKind::Number(value, text) if function == Unary::Negate => {
                Ok(Tree::new(negate(value, &text), token.start))
            }
            _ => Ok(Tree::new(TreeKind::Unary(function, Box::new(operand)), token.start)),
        }
    }

    /// A primary and the slices after it.
    fn parse_slice(&mut self) -> Parsed<Tree> {
        let mut tree = self.primary()?;
        let mut slices = 0;
        while Self::is_symbol(self.peek(), "{") || Self::is_symbol(self.peek(), "[") {
            slices += 1;
            if self.depth + slices > limits::EXPRESSION_DEPTH {
                return Err(self.refuse("too many slices of slices", self.peek().start));
            }
            let offset = tree.offset;
            let slice = self.slice_of()?;
            tree = Tree::new(TreeKind::Tensor(TensorFunction::Slice(Box::new(tree), slice)), offset);
        }
        Ok(tree)
    }

    #[inline(never)]
    fn slice_of(&mut self) -> Parsed<Slice> {
        if self.accept("[") {
            let index = self.expression()?;
            self.expect("]")?;
            return Ok(Slice::Index(Box::new(index)));
        }
        self.expect("{")?;
        let slice = if Self::is_symbol(self.peek_after(1), ":") {
            let mut labels = Vec::new();
            loop {
                let dimension = self.name()?;
                self.expect(":")?;
                labels.push((dimension, self.slice_label()?));
                if !self.accept(",") {
                    break Slice::Dimensions(labels);
                }
            }
        } else {
            let is_index = self.peek().kind == TokenKind::Integer;
            match self.slice_label()? {
                SliceLabel::Verbatim(label) if is_index => {
                    Slice::Index(Box::new(Tree::new(self.integer(&label, self.peek().start)?, self.peek().start)))
                }
                SliceLabel::Verbatim(label) => Slice::Label(label),
                SliceLabel::Computed(index) => Slice::Index(Box::new(index)),
            }
        };
        self.expect("}")?;
        Ok(slice)
    }

    /// A label as it is, or an expression in parentheses (which stay in the tree).
    fn slice_label(&mut self) -> Parsed<SliceLabel> {
        if Self::is_symbol(self.peek(), "(") {
            return Ok(SliceLabel::Computed(self.primary()?));
        }
        Ok(SliceLabel::Verbatim(self.label()?))
    }

    /// A label: a word, a number with or without a sign, or a quoted text.
    pub(super) fn label(&mut self) -> Parsed<String> {
        if self.accept("-") {
            return Ok(format!("-{}", self.label()?));
        }
        let token = self.peek();
        let label = match token.kind {
            TokenKind::Word | TokenKind::Integer | TokenKind::Float => self.slice(token).to_owned(),
            TokenKind::Text => self.unquote(token)?,
            _ => return Err(self.unexpected_token("a label")),
        };
        self.next();
        if label.len() > limits::TENSOR_LABEL {
            return Err(self.refuse(format!("a label may have {} bytes", limits::TENSOR_LABEL), token.start));
        }
        Ok(label)
    }

    fn unquote(&self, token: Token) -> Parsed<String> {
        unquote(self.slice(token)).ok_or_else(|| self.refuse("a text with an unknown escape", token.start))
    }

    fn primary(&mut self) -> Parsed<Tree> {
        let token = self.peek();
        let kind = match token.kind {
            TokenKind::Integer => self.integer(self.slice(token), token.start)?,
            TokenKind::Float => self.float(self.slice(token), token.start)?,
            TokenKind::Text => TreeKind::Text(self.unquote(token)?),
            TokenKind::Symbol("(") => {
                self.next();
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(Tree::new(TreeKind::Parenthesized(Box::new(inner)), token.start));
            }
            TokenKind::Symbol("$") => return self.query_shorthand(),
            TokenKind::Word => return self.word(),
            _ => return Err(self.unexpected_token("a value")),
        };
        self.next();
        Ok(Tree::new(kind, token.start))
    }

    /// What begins with a word: a truth, `if`, `switch`, a tensor, a call or a feature.
    fn word(&mut self) -> Parsed<Tree> {
        let token = self.peek();
        let is_call = Self::is_symbol(self.peek_after(1), "(");
        match self.slice(token) {
            truth @ ("true" | "false") => {
                self.next();
                Ok(Tree::new(TreeKind::Boolean(truth == "true"), token.start))
            }
            "if" if is_call => self.condition(),
            "switch" if is_call => self.switch(),
            "tensor" if self.is_tensor_type() => self.tensor(),
            _ => self.call(),
        }
    }

    fn condition(&mut self) -> Parsed<Tree> {
        let start = self.next().start;
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(",")?;
        let if_true = self.expression()?;
        self.expect(",")?;
        let if_false = self.expression()?;
        let probability = if self.accept(",") { Some(self.probability()?) } else { None };
        self.expect(")")?;
        Ok(Tree::new(TreeKind::If(Box::new([condition, if_true, if_false]), probability), start))
    }

    fn probability(&mut self) -> Parsed<String> {
        let token = self.peek();
        match self.unary()?.kind {
            TreeKind::Number(value, _) if (0.0..=1.0).contains(&value) => {
                Ok(crate::expression::float_text::float_text(value))
            }
            _ => Err(self.refuse("the probability of a condition must be a number from 0 to 1", token.start)),
        }
    }

    fn switch(&mut self) -> Parsed<Tree> {
        let start = self.next().start;
        self.expect("(")?;
        let value = self.expression()?;
        self.expect(")")?;
        self.expect("{")?;
        let mut cases = Vec::new();
        while self.is_word(self.peek(), "case") {
            self.next();
            let case = self.expression()?;
            self.expect(":")?;
            cases.push((case, self.expression()?));
            self.expect(",")?;
        }
        if cases.is_empty() {
            return Err(self.unexpected_token("'case'"));
        }
        if !self.is_word(self.peek(), "default") {
            return Err(self.unexpected_token("'case' or 'default'"));
        }
        self.next();
        self.expect(":")?;
        let default = self.expression()?;
        self.expect("}")?;
        Ok(Tree::new(TreeKind::Switch(Box::new(Switch { value, cases, default })), start))
    }

    fn integer(&self, text: &str, offset: usize) -> Parsed<TreeKind> {
        let unsigned: Result<u64, _> = text.parse();
        match unsigned {
            // One more than the largest fits: with the sign before it, it is the smallest.
            Ok(value) if value <= i64::MAX as u64 + 1 => {
                if value > i64::MAX as u64 && !self.follows_minus() {
                    return Err(self.refuse(format!("'{text}' is too large for an integer"), offset));
                }
                Ok(TreeKind::Number(value as f64, value.to_string()))
            }
            _ => Err(self.refuse(format!("'{}' is not an integer of 64 bits", Rejection::quote(text)), offset)),
        }
    }

    fn follows_minus(&self) -> bool {
        self.at > 0 && Self::is_symbol(self.tokens[self.at - 1], "-")
    }

    fn float(&self, text: &str, offset: usize) -> Parsed<TreeKind> {
        let refused = || self.refuse(format!("'{}' is not a number", Rejection::quote(text)), offset);
        let digits = text.trim_end_matches(['f', 'F', 'd', 'D']);
        if digits.len() < text.len() && !digits.contains(['.', 'e', 'E']) {
            return Err(refused());
        }
        let value: f64 = digits.parse().map_err(|_| refused())?;
        if value.is_infinite() {
            return Err(self.refuse(format!("'{}' is too large for a number", Rejection::quote(text)), offset));
        }
        Ok(TreeKind::Number(value, crate::expression::float_text::float_text(value)))
    }
}

/// A number literal with its sign turned. The integer zero has none.
fn negate(value: f64, text: &str) -> TreeKind {
    match text.strip_prefix('-') {
        Some(positive) => TreeKind::Number(-value, positive.to_owned()),
        None if text == "0" => TreeKind::Number(0.0, text.to_owned()),
        None => TreeKind::Number(-value, format!("-{text}")),
    }
}

impl Expression {
    /// Parses `text`.
    ///
    /// # Errors
    /// With the place, if it is not an expression or exceeds a limit.
    pub fn parse(text: &str) -> Result<Expression, Rejection> {
        Expression::parse_as(text, Dialect::Content)
    }

    /// Parses `text` as one of the reference's evaluators reads it.
    ///
    /// # Errors
    /// As [`Expression::parse`].
    pub fn parse_as(text: &str, dialect: Dialect) -> Result<Expression, Rejection> {
        super::parse::expression(text, dialect)
    }
}
