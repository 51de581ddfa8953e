//! Text of the indexing language to its tree. Precedence, loosest first: `|`, `||`, `.`, `+ -`, `* / %`.
use brooklet_task::{Rejection, did_you_mean};

use super::functions::{FORMS, FUNCTIONS, Takes};
use super::lex::{Token, name_length, scan, unescape};
use super::{
    Argument, Arithmetic, Comparison, Condition, Constant, Expression, ExpressionKind, Output, Script, Statement,
};
use crate::sd::lex::SourceFile;

/// Nesting of blocks and parentheses.
const DEPTH_MAX: u32 = 32;

/// Reads a script inside a schema file.
pub(crate) struct IndexingParser<'a> {
    file: &'a SourceFile,
    at: usize,
    depth: u32,
    /// The field outputs and inputs mean when they name none.
    field: &'a str,
}

type Parsed<T> = Result<T, Rejection>;

impl<'a> IndexingParser<'a> {
    /// Reads from `offset` of `file` the script of `field`.
    pub(crate) fn new(file: &'a SourceFile, offset: usize, field: &'a str) -> IndexingParser<'a> {
        IndexingParser { file, at: offset, depth: 0, field }
    }

    /// The script after `indexing:`, one statement that ends with the line, and the offset of its end.
    pub(crate) fn line(mut self) -> Parsed<(Script, usize)> {
        let start = self.at;
        let statement = self.statement()?;
        self.take(";");
        let source = Some(self.file.source(start, self.at));
        Ok((Script { statements: vec![statement], source }, self.at))
    }

    /// The script `{ …; … }` after `indexing`, and the offset of its end.
    pub(crate) fn block(mut self) -> Parsed<(Script, usize)> {
        self.newlines();
        let start = self.at;
        let mut script = self.script()?;
        script.source = Some(self.file.source(start, self.at));
        Ok((script, self.at))
    }

    fn script(&mut self) -> Parsed<Script> {
        self.expect("{")?;
        self.deeper()?;
        let mut statements = Vec::new();
        loop {
            while self.newlines() || self.take(";") {}
            if self.take("}") {
                break;
            }
            statements.push(self.statement()?);
            self.newlines();
            if self.peek() != Token::Symbol(";") && self.peek() != Token::Symbol("}") {
                return Err(self.expected_token("';', '|' or '}'"));
            }
        }
        self.depth -= 1;
        if statements.is_empty() {
            return Err(self.file.place(self.at - 1).reject("an indexing script must have a statement"));
        }
        Ok(Script { statements, source: None })
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let mut expressions = vec![self.choice()?];
        while self.take("|") {
            self.newlines();
            expressions.push(self.choice()?);
        }
        Ok(Statement { expressions })
    }

    fn choice(&mut self) -> Parsed<Expression> {
        self.list("||", Self::concatenation, ExpressionKind::Choice)
    }

    fn concatenation(&mut self) -> Parsed<Expression> {
        self.list(".", Self::sum, ExpressionKind::Concatenate)
    }

    /// One or more of what `each` reads, joined by `separator`; only more than one make a new node.
    fn list(
        &mut self,
        separator: &str,
        each: fn(&mut Self) -> Parsed<Expression>,
        node: fn(Vec<Expression>) -> ExpressionKind,
    ) -> Parsed<Expression> {
        let first = each(self)?;
        if self.peek() != Token::Symbol(separator) {
            return Ok(first);
        }
        let place = first.place.clone();
        let mut of = vec![first];
        while self.take(separator) {
            of.push(each(self)?);
        }
        Ok(Expression { kind: node(of), place })
    }

    fn sum(&mut self) -> Parsed<Expression> {
        self.arithmetic(Self::product, &[Arithmetic::Add, Arithmetic::Subtract])
    }

    fn product(&mut self) -> Parsed<Expression> {
        self.arithmetic(Self::value, &[Arithmetic::Multiply, Arithmetic::Divide, Arithmetic::Remainder])
    }

    /// A left-associative chain. Its length counts as depth, because the tree of it is that deep.
    fn arithmetic(
        &mut self,
        each: fn(&mut Self) -> Parsed<Expression>,
        operators: &[Arithmetic],
    ) -> Parsed<Expression> {
        let mut left = each(self)?;
        let depth = self.depth;
        while let Some(operator) = operators.iter().find(|operator| self.peek() == Token::Symbol(operator.sign())) {
            self.next();
            self.deeper()?;
            let right = each(self)?;
            let place = left.place.clone();
            left = Expression { kind: ExpressionKind::Arithmetic(*operator, Box::new(left), Box::new(right)), place };
        }
        self.depth = depth;
        Ok(left)
    }

    fn value(&mut self) -> Parsed<Expression> {
        self.blanks();
        let place = self.file.place(self.at);
        let kind = match self.peek() {
            Token::Text(text) => {
                self.next();
                ExpressionKind::Constant(Constant::Text(unescape(text)))
            }
            Token::Number(number) => ExpressionKind::Constant(self.number(number)?),
            Token::Symbol("(") => {
                self.next();
                self.deeper()?;
                let statement = self.statement()?;
                self.expect(")")?;
                self.depth -= 1;
                ExpressionKind::Group(statement)
            }
            Token::Symbol("{") => ExpressionKind::Block(self.script()?),
            Token::Name("_") => {
                self.next();
                ExpressionKind::Function("this", Vec::new())
            }
            Token::Name(name) => self.parse_named(name)?,
            _ => return Err(self.expected_token("an indexing expression")),
        };
        Ok(Expression { kind, place })
    }

    fn parse_named(&mut self, name: &'a str) -> Parsed<ExpressionKind> {
        if let Some((name, takes)) = FUNCTIONS.iter().find(|(known, _)| *known == name) {
            self.next();
            return Ok(ExpressionKind::Function(name, self.arguments(*takes)?));
        }
        if !FORMS.contains(&name) {
            let known = FUNCTIONS.iter().map(|(known, _)| *known).chain(FORMS.iter().copied());
            let message =
                format!("unknown indexing expression '{}'{}", Rejection::quote(name), did_you_mean(name, known));
            return Err(self.file.place(self.at).reject(message));
        }
        self.next();
        Ok(match name {
            "attribute" => ExpressionKind::Output(Output::Attribute, self.field_name()?),
            "index" => ExpressionKind::Output(Output::Index, self.field_name()?),
            "summary" => ExpressionKind::Output(Output::Summary, self.field_name()?),
            "input" => ExpressionKind::Input(self.field_name()?),
            "if" => self.condition()?,
            "switch" => self.switch()?,
            "select_input" => self.select_input()?,
            "for_each" => {
                let script = self.script()?;
                let [statement] = <[Statement; 1]>::try_from(script.statements)
                    .map_err(|_| self.file.place(self.at).reject("for_each takes one statement"))?;
                ExpressionKind::ForEach(statement)
            }
            "guard" => ExpressionKind::Guard(self.script()?),
            literal => ExpressionKind::Constant(Constant::Bool(literal == "true")),
        })
    }

    /// The field an input or output names, or the script's own. A dot without blanks around it reads inside structs;
    /// with blanks it concatenates.
    fn field_name(&mut self) -> Parsed<String> {
        let Token::Name(first) = self.peek() else { return Ok(self.field.to_owned()) };
        self.next();
        let mut name = first.to_owned();
        while let Some(rest) = self.file.text()[self.at..].strip_prefix('.') {
            let length = name_length(rest);
            if length == 0 {
                break;
            }
            name.push('.');
            name.push_str(&rest[..length]);
            self.at += 1 + length;
        }
        Ok(name)
    }

    fn arguments(&mut self, takes: Takes) -> Parsed<Vec<Argument>> {
        let mut arguments = Vec::new();
        match takes {
            Takes::Nothing => {}
            Takes::Name => arguments.push(Argument::Name(self.name()?)),
            Takes::OptionalName => {
                if let Token::Name(_) = self.peek() {
                    arguments.push(Argument::Name(self.name()?));
                }
            }
            Takes::Text => arguments.push(Argument::Text(self.text()?)),
            Takes::Numbers(count) => {
                for _ in 0..count {
                    arguments.push(self.number_argument()?);
                }
            }
            Takes::OptionalNumber => {
                if self.at_number() {
                    arguments.push(self.number_argument()?);
                }
            }
            Takes::Names => loop {
                match self.peek() {
                    Token::Name(_) => arguments.push(Argument::Name(self.name()?)),
                    Token::Number(_) => arguments.push(self.number_argument()?),
                    _ => break,
                }
            },
            Takes::Tokenizing => self.tokenizing(&mut arguments)?,
        }
        Ok(arguments)
    }

    fn tokenizing(&mut self, arguments: &mut Vec<Argument>) -> Parsed<()> {
        while let Token::Name(
            setting @ ("stem" | "max-length" | "max-occurrences" | "max-token-length" | "normalize"),
        ) = self.peek()
        {
            self.next();
            arguments.push(Argument::Name(setting.to_owned()));
            if setting != "normalize" && self.take(":") {
                let value = if setting == "stem" { Argument::Text(self.text()?) } else { self.number_argument()? };
                arguments.push(value);
            }
        }
        Ok(())
    }

    fn condition(&mut self) -> Parsed<ExpressionKind> {
        self.expect("(")?;
        self.deeper()?;
        let left = self.choice()?;
        let comparison = match self.peek() {
            Token::Symbol("==") => Comparison::Equal,
            Token::Symbol("!=") => Comparison::NotEqual,
            Token::Symbol("<") => Comparison::Less,
            Token::Symbol("<=") => Comparison::LessOrEqual,
            Token::Symbol(">") => Comparison::Greater,
            Token::Symbol(">=") => Comparison::GreaterOrEqual,
            _ => return Err(self.expected_token("a comparison")),
        };
        self.next();
        let right = self.choice()?;
        self.expect(")")?;
        let then = self.script()?;
        let mut otherwise = None;
        if self.peek() == Token::Name("else") {
            self.next();
            otherwise = Some(self.script()?);
        }
        self.depth -= 1;
        Ok(ExpressionKind::If(Box::new(Condition { left, comparison, right, then, otherwise })))
    }

    fn switch(&mut self) -> Parsed<ExpressionKind> {
        let (mut cases, mut default) = (Vec::new(), None);
        self.cases(|parser| {
            if parser.peek() == Token::Name("default") {
                parser.next();
                parser.expect(":")?;
                default = Some(parser.statement()?);
                return Ok(());
            }
            if parser.peek() != Token::Name("case") {
                return Err(parser.expected_token("'case' or 'default'"));
            }
            parser.next();
            let value = parser.text()?;
            parser.expect(":")?;
            cases.push((value, parser.statement()?));
            Ok(())
        })?;
        Ok(ExpressionKind::Switch(cases, default))
    }

    fn select_input(&mut self) -> Parsed<ExpressionKind> {
        let mut cases = Vec::new();
        self.cases(|parser| {
            let mut field = parser.name()?;
            if field == "case" && parser.peek() != Token::Symbol(":") {
                field = parser.name()?;
            }
            parser.expect(":")?;
            cases.push((field, parser.statement()?));
            Ok(())
        })?;
        Ok(ExpressionKind::SelectInput(cases))
    }

    /// `{ case; case; }`.
    fn cases(&mut self, mut each: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.expect("{")?;
        self.deeper()?;
        self.newlines();
        while !self.take("}") {
            each(self)?;
            self.expect(";")?;
            self.newlines();
        }
        self.depth -= 1;
        Ok(())
    }

    fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Token::Name(name) => {
                self.next();
                Ok(name.to_owned())
            }
            Token::Text(_) => self.text(),
            _ => Err(self.expected_token("a name")),
        }
    }

    fn text(&mut self) -> Parsed<String> {
        let Token::Text(text) = self.peek() else { return Err(self.expected_token("a text in quotes")) };
        self.next();
        Ok(unescape(text))
    }

    /// Whether a number follows, signed or not.
    fn at_number(&mut self) -> bool {
        let before = self.at;
        self.take("-");
        let found = matches!(self.peek(), Token::Number(_));
        self.at = before;
        found
    }

    fn number_argument(&mut self) -> Parsed<Argument> {
        let sign = if self.take("-") { "-" } else { "" };
        let Token::Number(number) = self.peek() else { return Err(self.expected_token("a number")) };
        self.next();
        Ok(Argument::Number(format!("{sign}{number}")))
    }

    fn number(&mut self, text: &str) -> Parsed<Constant> {
        let place = self.file.place(self.at);
        self.next();
        let lower = text.to_ascii_lowercase();
        let (digits, long) = lower.strip_suffix('l').map_or((lower.as_str(), false), |digits| (digits, true));
        let integer = match digits.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None => digits.parse::<i64>().ok(),
        };
        let constant = match integer {
            Some(value) if long => Some(Constant::Long(value)),
            Some(value) => i32::try_from(value).ok().map(Constant::Int),
            None if long => None,
            None => match lower.strip_suffix('f') {
                Some(float) => float.parse().ok().map(Constant::Float),
                None => lower.parse().ok().map(Constant::Double),
            },
        };
        constant.ok_or_else(|| place.reject(format!("'{}' is no number", Rejection::quote(text))))
    }

    fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("an indexing script nests at most {DEPTH_MAX} levels deep");
            return Err(self.file.place(self.at).reject(message));
        }
        Ok(())
    }

    fn blanks(&mut self) {
        loop {
            let rest = &self.file.text()[self.at..];
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\u{c}']);
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Skips new lines; whether there were any.
    fn newlines(&mut self) -> bool {
        let mut found = false;
        while self.peek() == Token::Newline {
            self.next();
            found = true;
        }
        found
    }

    fn peek(&mut self) -> Token<'a> {
        self.blanks();
        let start = self.at;
        let token = self.next();
        self.at = start;
        token
    }

    fn next(&mut self) -> Token<'a> {
        self.blanks();
        let rest = &self.file.text()[self.at..];
        let (token, length) = scan(rest);
        self.at += length;
        token
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.peek() == Token::Symbol(symbol);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.take(symbol) { Ok(()) } else { Err(self.expected_token(&format!("'{symbol}'"))) }
    }

    fn expected_token(&mut self, what: &str) -> Rejection {
        let found = match self.peek() {
            Token::Newline => "the end of the line".to_owned(),
            Token::End => "the end of the file".to_owned(),
            Token::Symbol("\"" | "'") => "a quoted text that does not end".to_owned(),
            Token::Name(text) | Token::Text(text) | Token::Number(text) | Token::Symbol(text) => {
                format!("'{}'", Rejection::quote(text))
            }
        };
        self.file.place(self.at).reject(format!("{what} expected in an indexing statement, found {found}"))
    }
}
