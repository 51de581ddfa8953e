//! Expressions: signs, aliases, infix operators, functions, fields and constants.
use brooklet_task::limits::GROUPING_NESTING;

use super::bucket::{Buckets, End};
use super::lex::Token;
use super::parse::{Parsed, Parser, float, measure, whole};
use super::tree::{Aggregator, Bound, Expression, ExpressionKind, FUNCTIONS, Function, MapKey, Number, Path};
use crate::tree::TextRange;

/// Infix operators, the loosest first. Each binds looser than all after it; equal ones join from the left.
const INFIX: [(char, Function); 5] =
    [('+', Function::Add), ('-', Function::Sub), ('/', Function::Div), ('%', Function::Mod), ('*', Function::Mul)];

const AGGREGATORS: [Aggregator; 6] =
    [Aggregator::Sum, Aggregator::Avg, Aggregator::Min, Aggregator::Max, Aggregator::Xor, Aggregator::StdDev];

const STRENGTHS: [&str; 5] = ["PRIMARY", "SECONDARY", "TERTIARY", "QUATERNARY", "IDENTICAL"];

impl Expression {
    /// An expression without a name.
    #[must_use]
    pub fn new(kind: ExpressionKind, place: TextRange) -> Expression {
        Expression { kind, label: None, place }
    }

    /// The expressions it is made of.
    #[must_use]
    pub fn children(&self) -> Vec<&Expression> {
        match &self.kind {
            ExpressionKind::Call(_, arguments) => arguments.iter().collect(),
            ExpressionKind::FixedWidth(of, _)
            | ExpressionKind::Predefined(of, _)
            | ExpressionKind::Md5(of, _)
            | ExpressionKind::XorBit(of, _)
            | ExpressionKind::Uca(of, _, _)
            | ExpressionKind::ArrayAt(_, of)
            | ExpressionKind::InterpolatedLookup(_, of)
            | ExpressionKind::DebugWait(of, _, _)
            | ExpressionKind::Aggregate(_, of)
            | ExpressionKind::Quantiles(_, of) => vec![of],
            ExpressionKind::GeoDistance(_, point, _) => point.iter().collect(),
            _ => Vec::new(),
        }
    }
}

impl<'a> Parser<'a> {
    /// An expression with its sign and name.
    pub fn expression(&mut self) -> Parsed<Expression> {
        let start = self.place().start;
        let negative = *self.peek() == Token::Mark('-');
        if negative || *self.peek() == Token::Mark('+') {
            self.advance();
        }
        let mut expression = self.parse_nested(Parser::parse_alias)?;
        if negative {
            expression = negate(expression, TextRange { start, end: self.end() });
        }
        if self.open("as") {
            expression.label = Some(self.text()?);
            self.expect(')')?;
        }
        self.check_depth(measure(&expression).1)?;
        Ok(expression)
    }

    fn parse_alias(&mut self) -> Parsed<Expression> {
        let place = self.place();
        if !self.skip('$') {
            return self.math();
        }
        let name = self.name()?;
        if self.skip('=') {
            let expression = self.math()?;
            self.put_alias(name, expression.clone());
            return Ok(expression);
        }
        self.alias(&name, place)
    }

    fn math(&mut self) -> Parsed<Expression> {
        let mut values = vec![self.value()?];
        let mut operators = Vec::new();
        while let Token::Mark(mark) = *self.peek()
            && let Some(level) = INFIX.iter().position(|(infix, _)| *infix == mark)
        {
            self.advance();
            operators.push(level);
            self.check_depth(operators.len())?;
            values.push(self.value()?);
        }
        debug_assert!(operators.len() <= GROUPING_NESTING);
        Ok(join_operators(&operators, &mut values.into_iter(), 0))
    }

    fn value(&mut self) -> Parsed<Expression> {
        self.count_nodes(1)?;
        let place = self.place();
        if self.skip('(') {
            let inner = self.expression()?;
            self.expect(')')?;
            return Ok(inner);
        }
        let kind = match self.peek() {
            Token::Number(_) => ExpressionKind::Number(self.number()?),
            Token::Text(_) => ExpressionKind::Text(self.text()?),
            Token::Name(_) => match self.function(place)? {
                Some(kind) => kind,
                None => ExpressionKind::Field(self.path()?, false),
            },
            _ => return Err(self.unexpected_token("an expression")),
        };
        Ok(Expression::new(kind, TextRange { start: place.start, end: self.end() }))
    }

    /// A call, if one is next.
    fn function(&mut self, place: TextRange) -> Parsed<Option<ExpressionKind>> {
        let Token::Name(name) = *self.peek() else { return Ok(None) };
        let dot = self.ahead(1);
        let dotted = dot.token == Token::Mark('.') && !dot.spaced && !self.ahead(2).spaced;
        if dotted && ["math", "time", "zcurve", "array"].contains(&name) {
            return self.parse_dotted(name);
        }
        if !self.calls() {
            return Ok(None);
        }
        self.advance();
        self.advance();
        let kind = self.call(name, place)?;
        self.expect(')')?;
        if let ExpressionKind::GeoDistance(path, point, _) = kind {
            self.expect('.')?;
            let miles = match self.peek() {
                Token::Name("km") => false,
                Token::Name("miles") => true,
                _ => return Err(self.unexpected_token("km or miles")),
            };
            self.advance();
            return Ok(Some(ExpressionKind::GeoDistance(path, point, miles)));
        }
        Ok(Some(kind))
    }

    /// `math.…(…)` and its like. A field of such a name has other parts.
    fn parse_dotted(&mut self, room: &str) -> Parsed<Option<ExpressionKind>> {
        let part = match self.ahead(2).token {
            Token::Name(part) => part.to_owned(),
            _ => String::new(),
        };
        let full = format!("{room}.{part}");
        let known = FUNCTIONS.iter().find(|(_, name, ..)| *name == full);
        if known.is_none() && full != "array.at" {
            self.advance();
            self.advance();
            return Err(self.unexpected_token(&format!("a function of '{room}.'")));
        }
        self.advance();
        self.advance();
        if !self.calls() {
            self.advance();
            return Err(self.unexpected_token("'('"));
        }
        self.advance();
        self.advance();
        let kind = match known {
            Some((function, _, least, most)) => {
                let first = self.expression()?;
                self.arguments(*function, first, *least, *most)?
            }
            None => {
                let path = self.path()?;
                self.expect(',')?;
                ExpressionKind::ArrayAt(path, Box::new(self.expression()?))
            }
        };
        self.expect(')')?;
        Ok(Some(kind))
    }

    fn arguments(
        &mut self,
        function: Function,
        first: Expression,
        least: usize,
        most: usize,
    ) -> Parsed<ExpressionKind> {
        let mut arguments = vec![first];
        while arguments.len() < least {
            self.expect(',')?;
            arguments.push(self.expression()?);
        }
        while arguments.len() < most && self.skip(',') {
            arguments.push(self.expression()?);
        }
        if function == Function::Neg {
            let of = arguments.remove(0);
            let place = of.place;
            return Ok(negate(of, place).kind);
        }
        Ok(ExpressionKind::Call(function, arguments))
    }

    /// What stands in the parentheses of a call.
    fn call(&mut self, name: &str, place: TextRange) -> Parsed<ExpressionKind> {
        match name {
            "count" => return Ok(ExpressionKind::Count),
            "now" => return Ok(ExpressionKind::Now),
            "relevance" => return Ok(ExpressionKind::Relevance),
            "docidnsspecific" => return Ok(ExpressionKind::DocumentIdSpecific),
            "summary" if *self.peek() == Token::Mark(')') => return Ok(ExpressionKind::Summary(None)),
            "summary" => return Ok(ExpressionKind::Summary(Some(self.text()?))),
            "attribute" => return Ok(ExpressionKind::Field(self.path()?, true)),
            "quantiles" => return self.quantiles(),
            "geo_distance" => return self.geo_distance(),
            "interpolatedlookup" => {
                let path = self.path()?;
                self.expect(',')?;
                return Ok(ExpressionKind::InterpolatedLookup(path, Box::new(self.expression()?)));
            }
            _ => {}
        }
        let function = FUNCTIONS.iter().find(|(_, known, ..)| *known == name);
        let aggregator = AGGREGATORS.iter().find(|aggregator| aggregator.name() == name);
        let special = ["fixedwidth", "predefined", "md5", "xorbit", "uca", "debugwait"].contains(&name);
        if function.is_none() && aggregator.is_none() && !special {
            let message = format!("There is no function '{}'.", brooklet_task::Rejection::quote(name));
            return Err(self.refuse_at(place, message));
        }
        let first = self.expression()?;
        if special {
            self.expect(',')?;
            return self.special(name, Box::new(first));
        }
        match (function, aggregator) {
            (None | Some(_), Some(aggregator)) if function.is_none() || *self.peek() != Token::Mark(',') => {
                Ok(ExpressionKind::Aggregate(*aggregator, Box::new(first)))
            }
            (Some((function, _, least, most)), _) => self.arguments(*function, first, *least, *most),
            _ => Err(self.unexpected_token("')'")),
        }
    }

    /// Functions whose later arguments are constants.
    #[inline(never)]
    fn special(&mut self, name: &str, first: Box<Expression>) -> Parsed<ExpressionKind> {
        Ok(match name {
            "fixedwidth" => ExpressionKind::FixedWidth(first, self.number()?),
            "md5" => ExpressionKind::Md5(first, whole(self.number()?)),
            "xorbit" => ExpressionKind::XorBit(first, whole(self.number()?)),
            "predefined" => self.parse_predefined(first)?,
            "uca" => {
                let locale = self.text()?;
                let mut strength = None;
                if self.skip(',') {
                    let place = self.place();
                    let name = self.text()?;
                    if !STRENGTHS.contains(&name.as_str()) {
                        let name = brooklet_task::Rejection::quote(&name);
                        return Err(self.refuse_at(place, format!("Not a valid UCA strength: {name}")));
                    }
                    strength = Some(name);
                }
                ExpressionKind::Uca(first, locale, strength)
            }
            _ => {
                let seconds = float(self.number()?);
                self.expect(',')?;
                ExpressionKind::DebugWait(first, seconds, self.boolean()?)
            }
        })
    }

    fn quantiles(&mut self) -> Parsed<ExpressionKind> {
        self.expect('[')?;
        let mut quantiles = Vec::new();
        loop {
            let place = self.place();
            let quantile = float(self.number()?);
            if !(0.0..=1.0).contains(&quantile) {
                return Err(self.refuse_at(place, "A quantile must be between 0.0 and 1.0."));
            }
            quantiles.push(quantile);
            if !self.skip(',') {
                break;
            }
        }
        self.expect(']')?;
        self.expect(',')?;
        Ok(ExpressionKind::Quantiles(quantiles, Box::new(self.expression()?)))
    }

    fn geo_distance(&mut self) -> Parsed<ExpressionKind> {
        if !self.open("attribute") {
            return Err(self.unexpected_token("attribute(…)"));
        }
        let path = self.path()?;
        self.expect(')')?;
        self.expect(',')?;
        let latitude = self.expression()?;
        self.expect(',')?;
        Ok(ExpressionKind::GeoDistance(path, Box::new([latitude, self.expression()?]), false))
    }

    /// `name.name{key}.name`
    fn path(&mut self) -> Parsed<Path> {
        let mut name = self.name()?;
        self.dots(&mut name)?;
        let mut path = Path { name, key: None, rest: String::new() };
        if self.skip('{') {
            path.key = Some(if self.open("attribute") {
                let field = self.path()?.to_string();
                self.expect(')')?;
                MapKey::Field(field)
            } else {
                MapKey::Text(self.text()?)
            });
            self.expect('}')?;
            self.dots(&mut path.rest)?;
        }
        Ok(path)
    }

    fn dots(&mut self, name: &mut String) -> Parsed<()> {
        while *self.peek() == Token::Mark('.') {
            self.advance();
            if self.ahead(0).spaced {
                return Err(self.unexpected_token("a name right after the dot"));
            }
            name.push('.');
            name.push_str(&self.name()?);
        }
        Ok(())
    }

    fn parse_predefined(&mut self, of: Box<Expression>) -> Parsed<ExpressionKind> {
        // A list in parentheses means the same.
        let wrapped = self.skip('(');
        let mut buckets = Buckets::default();
        loop {
            self.bucket(&mut buckets)?;
            if !self.skip(',') {
                break;
            }
        }
        if wrapped {
            self.expect(')')?;
        }
        Ok(ExpressionKind::Predefined(of, buckets.list))
    }

    fn bucket(&mut self, buckets: &mut Buckets) -> Parsed<()> {
        let place = self.place();
        self.count_nodes(1)?;
        if *self.peek() != Token::Name("bucket") || self.ahead(1).spaced {
            return Err(self.unexpected_token("bucket(…)"));
        }
        self.advance();
        let inclusive = match self.peek() {
            Token::Mark('(' | '[') => true,
            Token::Mark('<') => false,
            _ => return Err(self.unexpected_token("'(', '[' or '<'")),
        };
        self.advance();
        let from = End { value: self.bound(true)?, inclusive };
        let to = if self.skip(',') { Some(self.bound(false)?) } else { None };
        let inclusive = match self.peek() {
            Token::Mark(')' | '>') => false,
            Token::Mark(']') => true,
            _ => return Err(self.unexpected_token("')', ']' or '>'")),
        };
        self.advance();
        let to = match to {
            Some(value) => End { value, inclusive },
            None => End { value: from.value.clone(), inclusive: true },
        };
        buckets.push(from, to).map_err(|message| self.refuse_at(place, message))
    }

    fn bound(&mut self, is_from: bool) -> Parsed<Bound> {
        let negative = *self.peek() == Token::Mark('-');
        let next = self.ahead(usize::from(negative));
        if next.token == Token::Name("inf") && negative == is_from && !(negative && next.spaced) {
            (0..=usize::from(negative)).for_each(|_| self.advance());
            return Ok(Bound::Infinite);
        }
        if negative {
            self.advance();
        }
        match self.peek() {
            Token::Number(_) => Ok(match self.number()? {
                Number::Double(value) if value.is_nan() && negative => Bound::Long(i64::MIN),
                Number::Long(value) => Bound::Long(if negative { -value } else { value }),
                Number::Double(value) => Bound::Double(if negative { -value } else { value }),
            }),
            Token::Mark('{') if !negative => self.bytes(),
            _ if !negative => Ok(Bound::Text(self.text()?)),
            _ => Err(self.unexpected_token("a number")),
        }
    }

    fn bytes(&mut self) -> Parsed<Bound> {
        self.expect('{')?;
        let mut bytes = Vec::new();
        loop {
            let place = self.place();
            match self.number()? {
                Number::Long(value @ 0..=127) => bytes.push(value as u8),
                _ => return Err(self.refuse_at(place, "A byte of a bucket is a whole number from 0 to 127.")),
            }
            if !self.skip(',') {
                break;
            }
        }
        self.expect('}')?;
        Ok(Bound::Raw(bytes))
    }
}

/// `-e`. The digits of the smallest whole number are one too many without it.
fn negate(of: Expression, place: TextRange) -> Expression {
    let kind = match of.kind {
        ExpressionKind::Number(Number::Double(value)) if value.is_nan() => {
            ExpressionKind::Number(Number::Long(i64::MIN))
        }
        kind => ExpressionKind::Call(Function::Neg, vec![Expression::new(kind, of.place)]),
    };
    Expression { kind, label: of.label, place }
}

/// Joins values by operators (levels of [`INFIX`]), of which those of `level` are the loosest.
fn join_operators(operators: &[usize], values: &mut dyn Iterator<Item = Expression>, level: usize) -> Expression {
    if operators.is_empty() {
        return values.next().expect("there is one value more than operators");
    }
    let mut parts = operators.split(|operator| *operator == level);
    let mut left = join_operators(parts.next().unwrap_or_default(), values, level + 1);
    for part in parts {
        let right = join_operators(part, values, level + 1);
        let place = TextRange { start: left.place.start, end: right.place.end };
        left = Expression::new(ExpressionKind::Call(INFIX[level].1, vec![left, right]), place);
    }
    left
}
