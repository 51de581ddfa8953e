//! Operations and filters. A name is a keyword only where a parenthesis follows it without a blank; nothing is reserved.
use brooklet_task::limits::{GROUPING_BYTES, GROUPING_NESTING, GROUPING_NODES};
use brooklet_task::{Code, Rejection};

use super::lex::{Lexeme, Token, lex};
use super::tree::{Expression, ExpressionKind, Filter, Number, Operation, UNLIMITED};
use crate::tree::TextRange;

/// A name for an expression, with its size and depth.
pub(super) struct Alias {
    name: String,
    expression: Expression,
    pub size: usize,
    pub depth: usize,
}

pub(super) struct Parser<'a> {
    pub text: &'a str,
    lexemes: Vec<Lexeme<'a>>,
    at: usize,
    depth: usize,
    nodes: usize,
    /// Aliases of the operations around, outermost first.
    scopes: Vec<Vec<Alias>>,
}

pub(super) type Parsed<T> = Result<T, Rejection>;

/// Parses requests separated by `;`.
pub(super) fn parse(text: &str) -> Parsed<Vec<Operation>> {
    if text.len() > GROUPING_BYTES {
        let message = format!("The grouping is {} bytes long; the limit is {GROUPING_BYTES}.", text.len());
        return Err(Rejection::new(Code::InvalidQueryParameter, message));
    }
    let mut parser = Parser { text, lexemes: lex(text), at: 0, depth: 0, nodes: 0, scopes: Vec::new() };
    let mut requests = Vec::new();
    if parser.peek() == &Token::End {
        return Ok(requests);
    }
    loop {
        requests.push(parser.root()?);
        if !parser.skip(';') {
            break;
        }
    }
    match parser.peek() {
        Token::End => Ok(requests),
        _ => Err(parser.unexpected_token("';' or the end")),
    }
}

impl<'a> Parser<'a> {
    pub fn peek(&self) -> &Token<'a> {
        &self.lexemes[self.at].token
    }

    pub fn ahead(&self, by: usize) -> &Lexeme<'a> {
        &self.lexemes[(self.at + by).min(self.lexemes.len() - 1)]
    }

    pub fn place(&self) -> TextRange {
        self.lexemes[self.at].place
    }

    pub fn advance(&mut self) {
        self.at = (self.at + 1).min(self.lexemes.len() - 1);
    }

    /// The end of what was read last.
    pub fn end(&self) -> usize {
        self.lexemes[self.at.saturating_sub(1)].place.end
    }

    pub fn refuse_at(&self, place: TextRange, message: impl Into<String>) -> Rejection {
        Rejection::at(Code::InvalidQueryParameter, message, self.text, place.start)
    }

    pub fn unexpected_token(&self, expected: &str) -> Rejection {
        let place = self.place();
        let found = match self.peek() {
            Token::End => "the end".to_owned(),
            _ => format!("'{}'", Rejection::quote(&self.text[place.start..place.end])),
        };
        let rejection = self.refuse_at(place, "");
        let (line, column) = rejection.span.map_or((1, 1), |span| (span.line, span.column));
        let message = format!("Encountered {found} at line {line}, column {column} where {expected} was expected.");
        Rejection { message, ..rejection }
    }

    pub fn skip(&mut self, mark: char) -> bool {
        let found = *self.peek() == Token::Mark(mark);
        if found {
            self.advance();
        }
        found
    }

    pub fn expect(&mut self, mark: char) -> Parsed<()> {
        if self.skip(mark) { Ok(()) } else { Err(self.unexpected_token(&format!("'{mark}'"))) }
    }

    /// Whether a name is next with a parenthesis directly after it.
    pub fn begins(&self, name: &str) -> bool {
        *self.peek() == Token::Name(name) && self.calls()
    }

    /// Whether a parenthesis directly follows the next token.
    pub fn calls(&self) -> bool {
        let next = self.ahead(1);
        next.token == Token::Mark('(') && !next.spaced
    }

    /// `name(`, if that is next.
    pub fn open(&mut self, name: &str) -> bool {
        let begins = self.begins(name);
        if begins {
            self.advance();
            self.advance();
        }
        begins
    }

    /// A name, if it is next without a blank before it.
    pub fn name(&mut self) -> Parsed<String> {
        match *self.peek() {
            Token::Name(name) if name != "inf" => {
                self.advance();
                Ok(name.to_owned())
            }
            _ => Err(self.unexpected_token("a name")),
        }
    }

    /// A text in quotes or a name.
    pub fn text(&mut self) -> Parsed<String> {
        match self.peek() {
            Token::Text(text) => {
                let text = text.clone();
                self.advance();
                Ok(text)
            }
            _ => self.name(),
        }
    }

    pub fn number(&mut self) -> Parsed<Number> {
        let Token::Number(digits) = *self.peek() else { return Err(self.unexpected_token("a number")) };
        let place = self.place();
        self.advance();
        let wrong = || self.refuse_at(place, format!("'{}' is not a number of 64 bits.", Rejection::quote(digits)));
        if digits.contains('.') {
            let number = digits.trim_end_matches(['f', 'F', 'd', 'D']).parse().map_err(|_| wrong())?;
            return Ok(Number::Double(number));
        }
        // The digits of the smallest number without their sign, which is looked at later.
        if digits == "9223372036854775808" {
            return Ok(Number::Double(f64::NAN));
        }
        digits.parse().map(Number::Long).map_err(|_| wrong())
    }

    pub fn boolean(&mut self) -> Parsed<bool> {
        let value = match self.peek() {
            Token::Name("true") => true,
            Token::Name("false") => false,
            _ => return Err(self.unexpected_token("true or false")),
        };
        self.advance();
        Ok(value)
    }

    /// Goes one level down, if there is room.
    pub fn parse_nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        self.check_depth(self.depth)?;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    pub fn check_depth(&self, depth: usize) -> Parsed<()> {
        if depth <= GROUPING_NESTING {
            return Ok(());
        }
        Err(self.refuse_at(self.place(), format!("The grouping is nested more than {GROUPING_NESTING} levels deep.")))
    }

    pub fn count_nodes(&mut self, nodes: usize) -> Parsed<()> {
        self.nodes += nodes;
        if self.nodes <= GROUPING_NODES {
            return Ok(());
        }
        Err(self.refuse_at(self.place(), format!("The grouping has more than {GROUPING_NODES} parts.")))
    }

    /// Gives an expression a name in the operation that is being read.
    pub fn put_alias(&mut self, name: String, expression: Expression) {
        let (size, depth) = measure(&expression);
        if let Some(scope) = self.scopes.last_mut() {
            scope.retain(|alias| alias.name != name);
            scope.push(Alias { name, expression, size, depth });
        }
    }

    /// The expression of that name, of the innermost operation that has it.
    pub fn alias(&mut self, name: &str, place: TextRange) -> Parsed<Expression> {
        let known = self.scopes.iter().rev().flat_map(|scope| scope.iter()).find(|alias| alias.name == name);
        let Some(alias) = known else {
            return Err(self.refuse_at(place, format!("No alias '{}' is known here.", Rejection::quote(name))));
        };
        let (expression, size, depth) = (alias.expression.clone(), alias.size, alias.depth);
        self.count_nodes(size)?;
        self.check_depth(self.depth + depth)?;
        Ok(expression)
    }

    fn root(&mut self) -> Parsed<Operation> {
        let operation = self.operation()?;
        if !self.open("where") {
            return Ok(operation);
        }
        let documents = self.documents()?;
        self.expect(')')?;
        let mut all = Operation::new(false, operation.place);
        all.documents = Some(documents);
        all.children.push(operation);
        Ok(all)
    }

    fn operation(&mut self) -> Parsed<Operation> {
        let start = self.place().start;
        let each = self.begins("each");
        if !each && !self.begins("all") {
            return Err(self.unexpected_token("all(…) or each(…)"));
        }
        self.advance();
        self.advance();
        let mut operation = Operation::new(each, TextRange::default());
        self.scopes.push(Vec::new());
        self.count_nodes(1)?;
        let body = self.parse_nested(|parser| parser.body(&mut operation));
        self.scopes.pop();
        body?;
        self.expect(')')?;
        if each && self.open("as") {
            operation.label = Some(self.text()?);
            self.expect(')')?;
        }
        operation.place = TextRange { start, end: self.end() };
        Ok(operation)
    }

    fn body(&mut self, operation: &mut Operation) -> Parsed<()> {
        if self.open("group") {
            operation.group_by = Some(self.expression()?);
            self.expect(')')?;
        }
        while self.setting(operation)? {
            self.expect(')')?;
        }
        while self.begins("all") || self.begins("each") {
            operation.children.push(self.operation()?);
        }
        Ok(())
    }

    /// One setting of an operation up to its closing parenthesis, if one is next.
    #[inline(never)]
    fn setting(&mut self, operation: &mut Operation) -> Parsed<bool> {
        let Token::Name(name) = *self.peek() else { return Ok(false) };
        let known = ["accuracy", "alias", "hint", "filter", "keep", "max", "order", "output", "precision", "where"];
        if !self.calls() || !known.contains(&name) {
            return Ok(false);
        }
        let place = self.place();
        self.advance();
        self.advance();
        match name {
            "accuracy" => {
                let accuracy = float(self.number()?);
                if !(0.0..=1.0).contains(&accuracy) {
                    let message = format!("Illegal accuracy '{accuracy}'. Must be between 0 and 1.");
                    return Err(self.refuse_at(place, message));
                }
            }
            "alias" => {
                let name = self.name()?;
                self.expect(',')?;
                let expression = self.expression()?;
                self.put_alias(name, expression);
            }
            "hint" => operation.hints.push(self.name()?),
            "filter" | "keep" => operation.filter = Some(self.filter()?),
            "max" => operation.max = Some(self.max()?),
            "order" => operation.order.extend(self.expressions()?),
            "output" => operation.outputs.extend(self.expressions()?),
            "precision" => operation.precision = Some(whole(self.number()?)),
            _ => operation.documents = Some(self.documents()?),
        }
        Ok(true)
    }

    fn max(&mut self) -> Parsed<i32> {
        if *self.peek() == Token::Name("inf") {
            self.advance();
            return Ok(UNLIMITED);
        }
        Ok(whole(self.number()?))
    }

    /// `true`, `$query` or another name.
    fn documents(&mut self) -> Parsed<String> {
        let dollar = self.skip('$');
        let name = self.name()?;
        Ok(if dollar { format!("${name}") } else { name })
    }

    fn expressions(&mut self) -> Parsed<Vec<Expression>> {
        let mut list = vec![self.expression()?];
        while self.skip(',') {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    fn filter(&mut self) -> Parsed<Filter> {
        self.parse_nested(|parser| parser.joined_filters("or"))
    }

    /// Filters joined by `or`, or by `and`, which binds tighter.
    fn joined_filters(&mut self, by: &'static str) -> Parsed<Filter> {
        let next = |parser: &mut Self| match by {
            "or" => parser.joined_filters("and"),
            _ => parser.single_filter(),
        };
        let mut filters = vec![next(self)?];
        while *self.peek() == Token::Name(by) {
            self.advance();
            filters.push(next(self)?);
        }
        Ok(match filters.len() {
            1 => filters.remove(0),
            _ if by == "or" => Filter::Or(filters),
            _ => Filter::And(filters),
        })
    }

    fn single_filter(&mut self) -> Parsed<Filter> {
        self.count_nodes(1)?;
        if *self.peek() == Token::Name("not") {
            self.advance();
            return self.parse_nested(|parser| Ok(Filter::Not(Box::new(parser.single_filter()?))));
        }
        let filter = if self.skip('(') {
            self.filter()?
        } else if self.open("regex") {
            let pattern = self.text()?;
            self.expect(',')?;
            Filter::Regex(pattern, self.expression()?)
        } else if self.open("istrue") {
            Filter::IsTrue(self.expression()?)
        } else if self.open("range") {
            self.range()?
        } else {
            return Err(self.unexpected_token("regex(…), range(…), istrue(…), not or '('"));
        };
        self.expect(')')?;
        Ok(filter)
    }

    fn range(&mut self) -> Parsed<Filter> {
        let low = self.number()?;
        self.expect(',')?;
        let high = self.number()?;
        self.expect(',')?;
        let of = self.expression()?;
        let (mut with_low, mut with_high) = (true, false);
        if self.skip(',') {
            with_low = self.boolean()?;
            self.expect(',')?;
            with_high = self.boolean()?;
        }
        Ok(Filter::Range { low, high, of, with_low, with_high })
    }
}

/// A number as the reference implementation makes it a whole one: without its fraction, cut to 32 bits.
pub(super) fn whole(number: Number) -> i32 {
    match number {
        Number::Long(value) => value as i32,
        Number::Double(value) => value as i32,
    }
}

pub(super) fn float(number: Number) -> f64 {
    match number {
        Number::Long(value) => value as f64,
        Number::Double(value) => value,
    }
}

/// The parts of an expression and how deep they are nested.
pub(super) fn measure(expression: &Expression) -> (usize, usize) {
    let mut of_children = (0, 0);
    for child in expression.children() {
        let (size, depth) = measure(child);
        of_children = (of_children.0 + size, of_children.1.max(depth));
    }
    let buckets = if let ExpressionKind::Predefined(_, buckets) = &expression.kind { buckets.len() } else { 0 };
    (of_children.0 + buckets + 1, of_children.1 + 1)
}
