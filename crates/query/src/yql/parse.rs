//! From YQL's tokens to a statement. Precedence: `!` and `-`, then comparisons, then `and`, then `or`.
use brooklet_task::Rejection;
use brooklet_task::limits::QUERY_DEPTH;

use super::cursor::{Parsed, Parser, refuse};
use super::lex::{Token, lex};
use super::syntax::{Comparison, Node, NodeKind};
use crate::limited::too_deep;
use crate::tree::TextRange;

/// A statement as the grammar sees it.
#[derive(Debug)]
pub(crate) struct Statement {
    pub fields: Vec<String>,
    pub sources: Vec<String>,
    pub filter: Node,
    pub order_by: Vec<(Node, bool)>,
    pub limit: Option<Node>,
    pub offset: Option<Node>,
    pub timeout: Option<Node>,
    pub grouping: Vec<(Vec<(String, Node)>, TextRange)>,
}

/// Names that continue an expression.
const OPERATORS: [&str; 5] = ["and", "or", "in", "contains", "matches"];
/// What may come after a complete expression.
const AFTER_EXPRESSION: [&str; 12] =
    ["and", "or", "contains", "matches", "in", "order by", "limit", "offset", "timeout", "where", "desc", "from"];

/// Parses a statement.
pub(crate) fn parse(text: &str) -> Parsed<Statement> {
    let mut parser = Parser { text, lexemes: lex(text), at: 0, depth: 0 };
    let statement = parser.statement()?;
    parser.statement_end()?;
    Ok(statement)
}

impl Parser<'_> {
    fn statement(&mut self) -> Parsed<Statement> {
        if !self.skip_name("select") {
            return Err(self.unexpected_token("'select'", &["select"]));
        }
        let fields = self.fields()?;
        if !self.skip_name("from") {
            return Err(self.unexpected_token("'from'", &["from"]));
        }
        let sources = self.sources()?;
        if !self.skip_name("where") {
            let missing = match self.peek() {
                Token::End | Token::Mark(";") => self.refuse_here("Expected operator FILTER: 'where' is missing."),
                _ => self.unexpected_token("'where'", &["where"]),
            };
            return Err(missing);
        }
        let filter = self.expression()?;
        let order_by = if self.skip_name("order by") { self.order_by()? } else { Vec::new() };
        let limit = self.number_after("limit")?;
        let offset = self.number_after("offset")?;
        let timeout = self.number_after("timeout")?;
        let mut grouping = Vec::new();
        while self.skip_mark("|") {
            grouping.push(self.grouping()?);
        }
        Ok(Statement { fields, sources, filter, order_by, limit, offset, timeout, grouping })
    }

    /// After the statement: the variable name the language allows, which names nothing here, and a semicolon.
    fn statement_end(&mut self) -> Parsed<()> {
        if self.skip_name("output") {
            self.skip_name("count");
            if !self.skip_name("as") {
                return Err(self.unexpected_token("'as'", &["as"]));
            }
            self.name("a name")?;
        }
        self.skip_mark(";");
        match self.peek() {
            Token::End => Ok(()),
            Token::Name(name) if name.eq_ignore_ascii_case("select") => {
                Err(self.refuse_here("Only one statement is supported."))
            }
            _ => Err(self.unexpected_token("{<EOF>, ';'}", &AFTER_EXPRESSION)),
        }
    }

    fn fields(&mut self) -> Parsed<Vec<String>> {
        if self.skip_mark("*") {
            return Ok(Vec::new());
        }
        let mut fields = Vec::new();
        loop {
            let field = self.dotted_name("{'*', a field}")?;
            if *self.peek() == Token::Mark("(") {
                self.at += 1;
                return Err(self.no_viable_alternative(self.lexemes[self.at].place.start));
            }
            fields.push(if self.skip_name("as") { self.name("a name")? } else { field });
            if !self.skip_mark(",") {
                return Ok(fields);
            }
        }
    }

    fn sources(&mut self) -> Parsed<Vec<String>> {
        let listed = self.is_name("sources")
            && matches!(self.peek_after(1), Token::Mark("*") | Token::Name(_))
            && !self.is_name_at(self.at + 1, "where");
        if !listed {
            let source = self.dotted_name("{'sources', a name}")?;
            // An alias names nothing that could be said otherwise.
            if matches!(self.peek(), Token::Name(_)) && !self.is_name("where") && !self.is_reserved() {
                let alias_then_where = self.is_name_at(self.at + 1, "where");
                if !alias_then_where {
                    return Err(self.unexpected_token("'where'", &["where"]));
                }
                self.at += 1;
            }
            return Ok(vec![source]);
        }
        self.at += 1;
        if self.skip_mark("*") {
            return Ok(Vec::new());
        }
        let mut sources = vec![self.dotted_name("{'*', a name}")?];
        while self.skip_mark(",") {
            sources.push(self.dotted_name("a name")?);
        }
        Ok(sources)
    }

    fn order_by(&mut self) -> Parsed<Vec<(Node, bool)>> {
        let mut keys = Vec::new();
        loop {
            let key = self.expression()?;
            let descending = self.skip_name("desc");
            if !descending {
                self.skip_name("asc");
            }
            keys.push((key, descending));
            if !self.skip_mark(",") {
                return Ok(keys);
            }
        }
    }

    fn number_after(&mut self, keyword: &str) -> Parsed<Option<Node>> {
        if !self.skip_name(keyword) {
            return Ok(None);
        }
        match self.peek() {
            Token::Integer(_, false) | Token::HugeNumber | Token::Mark("@") => self.constant().map(Some),
            _ => Err(self.unexpected_token("{'@', INT}", &[])),
        }
    }

    fn grouping(&mut self) -> Parsed<(Vec<(String, Node)>, TextRange)> {
        let mut annotations = Vec::new();
        if matches!(self.peek(), Token::Mark("{" | "[")) {
            let constant = self.constant()?;
            annotations =
                annotation_entries(constant).map_err(|node| self.refuse_at(&node, "Expected an annotation."))?;
        }
        let lexeme = &self.lexemes[self.at];
        match &lexeme.token {
            Token::Grouping => {
                self.at += 1;
                Ok((annotations, self.lexemes[self.at - 1].place))
            }
            Token::Name(name) if ["all", "each"].contains(&name.to_ascii_lowercase().as_str()) => {
                Err(refuse(self.text, self.text.len(), "The grouping is not closed."))
            }
            _ => Err(self.unexpected_token("a grouping, all(…) or each(…)", &["all", "each"])),
        }
    }

    /// An expression with annotations in front of it or not.
    fn expression(&mut self) -> Parsed<Node> {
        self.depth += 1;
        if self.depth > QUERY_DEPTH {
            return Err(self.refuse_here(&too_deep()));
        }
        let expression = self.parse_annotated();
        self.depth -= 1;
        expression
    }

    fn parse_annotated(&mut self) -> Parsed<Node> {
        if !matches!(self.peek(), Token::Mark("{" | "[")) {
            return self.disjunction();
        }
        let before = self.at;
        let constant = self.constant()?;
        if !self.begins_expression() {
            // A map or array that stands for itself.
            return Ok(constant);
        }
        let annotations =
            annotation_entries(constant).map_err(|node| self.refuse_at(&node, "Expected an annotation."))?;
        let mut node = self.disjunction()?;
        node.place.start = self.lexemes[before].place.start;
        node.annotations.extend(annotations);
        Ok(node)
    }

    fn begins_expression(&self) -> bool {
        match self.peek() {
            Token::Name(name) => !OPERATORS.iter().any(|word| name.eq_ignore_ascii_case(word)),
            Token::Text(_) | Token::Integer(..) | Token::Float(_) | Token::HugeNumber | Token::Broken(_) => true,
            Token::Mark(mark) => matches!(*mark, "(" | "[" | "{" | "@" | "!" | "-"),
            Token::Grouping | Token::End => false,
        }
    }

    fn disjunction(&mut self) -> Parsed<Node> {
        self.parse_joined("or", NodeKind::Or, |parser| parser.parse_joined("and", NodeKind::And, Parser::comparison))
    }

    fn parse_joined(
        &mut self,
        word: &str,
        kind: fn(Vec<Node>) -> NodeKind,
        operand: impl Fn(&mut Self) -> Parsed<Node>,
    ) -> Parsed<Node> {
        let first = operand(self)?;
        if !self.is_name(word) {
            return Ok(first);
        }
        let start = first.place.start;
        let mut operands = vec![first];
        while self.skip_name(word) {
            operands.push(operand(self)?);
        }
        Ok(self.node(kind(operands), start))
    }

    fn comparison(&mut self) -> Parsed<Node> {
        let left = self.relation()?;
        let start = left.place.start;
        if self.skip_name("in") {
            let values = self.value_list()?;
            return Ok(self.node(NodeKind::In(Box::new(left), values), start));
        }
        let comparison = match self.peek() {
            Token::Mark("=") => Comparison::Equal,
            Token::Mark("!=") => {
                return Err(self.refuse_here("The operator '!=' is not supported: write !(field = value)."));
            }
            Token::Name(name) if name.eq_ignore_ascii_case("contains") => Comparison::Contains,
            Token::Name(name) if name.eq_ignore_ascii_case("matches") => Comparison::Matches,
            Token::Name(name) if ["like", "is"].contains(&name.to_ascii_lowercase().as_str()) => {
                let message = format!("The operator '{}' is not supported.", name.to_ascii_lowercase());
                return Err(self.refuse_here(&message));
            }
            _ => return Ok(left),
        };
        self.at += 1;
        let right = self.relation()?;
        Ok(self.node(NodeKind::Compare(comparison, Box::new(left), Box::new(right)), start))
    }

    fn relation(&mut self) -> Parsed<Node> {
        let left = self.unary()?;
        let start = left.place.start;
        let comparison = match self.peek() {
            Token::Mark("<") => Comparison::Less,
            Token::Mark(">") => Comparison::Greater,
            Token::Mark("<=") => Comparison::LessOrEqual,
            Token::Mark(">=") => Comparison::GreaterOrEqual,
            _ => return Ok(left),
        };
        self.at += 1;
        let right = self.unary()?;
        Ok(self.node(NodeKind::Compare(comparison, Box::new(left), Box::new(right)), start))
    }

    fn unary(&mut self) -> Parsed<Node> {
        let start = self.lexemes[self.at].place.start;
        let kind: fn(Box<Node>) -> NodeKind = match self.peek() {
            Token::Mark("!") => NodeKind::Not,
            Token::Mark("-") => NodeKind::Negate,
            _ => return self.primary(),
        };
        self.at += 1;
        let operand = self.primary()?;
        Ok(self.node(kind(Box::new(operand)), start))
    }

    fn primary(&mut self) -> Parsed<Node> {
        let start = self.lexemes[self.at].place.start;
        if self.skip_mark("(") {
            let mut inner = self.expression()?;
            self.expect_mark(")", start)?;
            inner.place.start = inner.place.start.min(start);
            return Ok(inner);
        }
        if matches!(self.peek(), Token::Name(_)) && !self.is_reserved() {
            let name = self.dotted_name("a name")?;
            if self.skip_mark("(") {
                let arguments = self.arguments(start)?;
                return Ok(self.node(NodeKind::Call(name, arguments), start));
            }
            return self.parse_indexed(name, start);
        }
        if matches!(self.peek(), Token::Mark("-") | Token::Mark("!")) {
            return Err(self.no_viable_alternative(start));
        }
        self.constant()
    }

    /// A field, with the number of an element in brackets or not.
    fn parse_indexed(&mut self, name: String, start: usize) -> Parsed<Node> {
        let field = self.node(NodeKind::Field(name), start);
        if !self.skip_mark("[") {
            return Ok(field);
        }
        let index = self.constant()?;
        self.expect_mark("]", start)?;
        Ok(self.node(NodeKind::Index(Box::new(field), Box::new(index)), start))
    }

    fn arguments(&mut self, start: usize) -> Parsed<Vec<Node>> {
        let mut arguments = Vec::new();
        if self.skip_mark(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if !self.skip_mark(",") {
                self.expect_mark(")", start)?;
                return Ok(arguments);
            }
        }
    }

    fn value_list(&mut self) -> Parsed<Vec<Node>> {
        let start = self.lexemes[self.at].place.start;
        self.expect_mark("(", start)?;
        let mut values = Vec::new();
        loop {
            values.push(self.constant()?);
            if !self.skip_mark(",") {
                self.expect_mark(")", start)?;
                return Ok(values);
            }
        }
    }

    /// A literal, parameter, map or array.
    fn constant(&mut self) -> Parsed<Node> {
        self.depth += 1;
        if self.depth > QUERY_DEPTH {
            return Err(self.refuse_here(&too_deep()));
        }
        let start = self.lexemes[self.at].place.start;
        let kind = match self.peek().clone() {
            Token::Text(value) => self.took(NodeKind::Text(value)),
            Token::Integer(value, _) => self.took(NodeKind::Integer(value)),
            Token::Float(value) => self.took(NodeKind::Float(value)),
            Token::HugeNumber => {
                let digits = &self.text[self.lexemes[self.at].place.start..self.lexemes[self.at].place.end];
                let message = format!("For input string: \"{}\": the number is too large.", Rejection::quote(digits));
                return Err(self.refuse_here(&message));
            }
            Token::Name(name) if name.eq_ignore_ascii_case("true") => self.took(NodeKind::Boolean(true)),
            Token::Name(name) if name.eq_ignore_ascii_case("false") => self.took(NodeKind::Boolean(false)),
            Token::Mark("@") => {
                self.at += 1;
                NodeKind::Parameter(self.name("a parameter's name")?)
            }
            Token::Mark("{") => NodeKind::Map(self.map_entries(start)?),
            Token::Mark("[") => NodeKind::Array(self.array_elements(start)?),
            _ => return Err(self.unexpected_token("an expression", &[])),
        };
        self.depth -= 1;
        Ok(self.node(kind, start))
    }

    fn took(&mut self, kind: NodeKind) -> NodeKind {
        self.at += 1;
        kind
    }

    fn map_entries(&mut self, start: usize) -> Parsed<Vec<(String, Node)>> {
        self.at += 1;
        let mut entries = Vec::new();
        if self.skip_mark("}") {
            return Ok(entries);
        }
        loop {
            let key = match self.peek().clone() {
                Token::Text(key) => {
                    self.at += 1;
                    key
                }
                Token::Name(_) => self.key_name()?,
                _ => return Err(self.no_viable_alternative(start)),
            };
            self.expect_mark(":", start)?;
            entries.push((key, self.constant()?));
            if !self.skip_mark(",") {
                self.expect_mark("}", start)?;
                return Ok(entries);
            }
        }
    }

    fn array_elements(&mut self, start: usize) -> Parsed<Vec<Node>> {
        self.at += 1;
        let mut elements = Vec::new();
        if self.skip_mark("]") {
            return Ok(elements);
        }
        loop {
            if matches!(self.peek(), Token::Name(_)) && !self.is_name("true") && !self.is_name("false") {
                return Err(self.no_viable_alternative(start));
            }
            elements.push(self.constant()?);
            if !self.skip_mark(",") {
                self.expect_mark("]", start)?;
                return Ok(elements);
            }
        }
    }
}

/// The entries of an annotation `{…}`, or of the older form `[{…}]`; the node itself if it is neither.
fn annotation_entries(node: Node) -> Result<Vec<(String, Node)>, Node> {
    match node.kind {
        NodeKind::Map(entries) => Ok(entries),
        NodeKind::Array(mut elements) if elements.len() == 1 && matches!(elements[0].kind, NodeKind::Map(_)) => {
            annotation_entries(elements.remove(0))
        }
        kind => Err(Node { kind, annotations: node.annotations, place: node.place }),
    }
}
