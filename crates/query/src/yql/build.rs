//! From an expression to the query tree: names get their meaning here.
use brooklet_kernel::sort;
use brooklet_task::Rejection;

use super::scope::{Built, Fault, Scope, fault};
use super::syntax::{Comparison, Node, NodeKind};
use crate::annotations::Annotations;
use crate::number::{Range, parse_expression, parse_number};
use crate::suggestion::did_you_mean;
use crate::surroundings::{Index, Matching, Surroundings, ValueKind};
use crate::tree::{
    AndNot, BooleanTerm, Bound, DEFAULT_INDEX, In, Item, Number, NumberTerm, Operator, Regex, TextRange, Values,
};

/// Functions that stand for themselves, for messages.
const FUNCTIONS: [&str; 15] = [
    "userQuery",
    "range",
    "wand",
    "weightedSet",
    "dotProduct",
    "geoBoundingBox",
    "geoLocation",
    "nearestNeighbor",
    "predicate",
    "rank",
    "labeled",
    "weakAnd",
    "userInput",
    "nonEmpty",
    "sameElement",
];

/// What is done to literals of several words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// They become phrases, as in YQL.
    Segmented,
    /// They stay one word, as in JSON.
    AsWritten,
}

/// Builds the tree of one statement.
pub(super) struct Builder<'a> {
    pub around: Surroundings<'a>,
    pub words: Words,
    /// Ids of items, and what was said to be connected to which.
    ids: Vec<i64>,
    connections: Vec<(i64, TextRange)>,
    /// Bytes of all texts parsed by the simple language for this statement.
    pub text_bytes: usize,
}

/// Where an expression stands: at the top, or in a `sameElement` of a field.
#[derive(Clone, Copy)]
pub(super) struct Within<'a> {
    element_of: Option<&'a str>,
}

impl<'a> Within<'a> {
    pub const TOP: Within<'static> = Within { element_of: None };

    pub fn element_of(field: &'a str) -> Within<'a> {
        Within { element_of: Some(field) }
    }

    pub fn is_element(self) -> bool {
        self.element_of.is_some()
    }

    /// The whole name of a field that is named relative to the element, which itself has no name there.
    pub fn expand(self, field: &str) -> String {
        match self.element_of {
            None => field.to_owned(),
            Some(element) if field.is_empty() => element.to_owned(),
            Some(element) => format!("{element}.{field}"),
        }
    }
}

pub(super) fn item(operator: Operator, annotations: Annotations, node: &Node) -> Item {
    Item { operator, annotations, place: node.place }
}

fn plain(operator: Operator, node: &Node) -> Item {
    item(operator, Annotations::default(), node)
}

impl<'a> Builder<'a> {
    pub fn new(around: Surroundings<'a>, words: Words) -> Builder<'a> {
        Builder { around, words, ids: Vec::new(), connections: Vec::new(), text_bytes: 0 }
    }

    /// The tree of a `where`.
    pub fn build(&mut self, filter: &Node) -> Built<Item> {
        let root = self.expression(&Scope::root(filter), Within::TOP)?;
        for (id, place) in &self.connections {
            if !self.ids.contains(id) {
                let message =
                    format!("An item is connected to the item with ID {id}, which does not exist in the query.");
                return Err(Fault::from(message).at(*place));
            }
        }
        Ok(root)
    }

    pub fn expression(&mut self, scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let node = scope.node;
        let built = match &node.kind {
            NodeKind::And(operands) => self.conjunction(operands, scope, within),
            NodeKind::Or(operands) => self.all(operands, scope, within).map(|items| plain(Operator::Or(items), node)),
            NodeKind::Not(operand) => self.negation(operand, scope, within),
            NodeKind::AndNot(operands) => self.exclusion(operands, scope, within),
            NodeKind::Compare(comparison, left, right) => self.comparison(*comparison, left, right, scope, within),
            NodeKind::In(field, values) => self.membership(field, values, scope, within),
            NodeKind::Call(name, arguments) => self.call(name, arguments, scope, within),
            NodeKind::Boolean(true) => Ok(plain(Operator::True, node)),
            NodeKind::Boolean(false) => Ok(plain(Operator::False, node)),
            NodeKind::Text(_) | NodeKind::Integer(_) | NodeKind::Float(_) | NodeKind::Parameter(_)
                if within.is_element() =>
            {
                self.word("", scope, within, true)
            }
            _ => Err(fault(node, not_a_condition(node))),
        };
        built.map_err(|fault| fault.at(node.place))
    }

    /// Every operand as an expression of its own.
    pub fn all(&mut self, operands: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Vec<Item>> {
        operands.iter().map(|operand| self.expression(&scope.below(operand), within)).collect()
    }

    /// `and`; its negated operands make it an [`Operator::AndNot`].
    #[inline(never)]
    fn conjunction(&mut self, operands: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let (mut positives, mut negatives) = (Vec::new(), Vec::new());
        for operand in operands {
            if let NodeKind::Not(negated) = &operand.kind {
                let outer = scope.below(operand);
                negatives.push(self.expression(&outer.below(negated), within)?);
            } else {
                positives.push(self.expression(&scope.below(operand), within)?);
            }
        }
        if negatives.is_empty() {
            return Ok(plain(Operator::And(positives), scope.node));
        }
        let positive = match positives.len() {
            0 => plain(Operator::True, scope.node),
            1 => positives.remove(0),
            _ => plain(Operator::And(positives), scope.node),
        };
        Ok(plain(Operator::AndNot(AndNot { positive: Box::new(positive), negatives }), scope.node))
    }

    fn negation(&mut self, operand: &Node, scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let negative = self.expression(&scope.below(operand), within)?;
        let positive = Box::new(plain(Operator::True, scope.node));
        Ok(plain(Operator::AndNot(AndNot { positive, negatives: vec![negative] }), scope.node))
    }

    /// The first operand without all others.
    fn exclusion(&mut self, operands: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let mut items = self.all(operands, scope, within)?.into_iter();
        let positive = Box::new(items.next().unwrap_or_else(|| plain(Operator::True, scope.node)));
        Ok(plain(Operator::AndNot(AndNot { positive, negatives: items.collect() }), scope.node))
    }

    fn comparison(
        &mut self,
        comparison: Comparison,
        left: &Node,
        right: &Node,
        scope: &Scope<'_>,
        within: Within<'_>,
    ) -> Built<Item> {
        match comparison {
            Comparison::Contains => {
                let field = self.field(left, within)?;
                self.leaf(&field, &scope.below(right), within)
            }
            Comparison::Matches => {
                let field = self.field(left, within)?;
                let operand = scope.below(right);
                let pattern = self.text_of(right)?;
                let annotations = self.note_annotations(operand.leaf_annotations()?, right);
                Ok(item(Operator::Regex(Regex { field, pattern }), annotations, right))
            }
            Comparison::Equal if matches!(left.kind, NodeKind::Index(..)) => self.element(left, right, scope, within),
            _ => self.numeric(comparison, left, right, scope, within),
        }
    }

    /// `field = 5` and its like, with the field on either side.
    #[inline(never)]
    fn numeric(
        &mut self,
        comparison: Comparison,
        left: &Node,
        right: &Node,
        scope: &Scope<'_>,
        within: Within<'_>,
    ) -> Built<Item> {
        let (field, value, comparison) = match (is_value(left), is_value(right)) {
            (false, true) => (left, right, comparison),
            (true, false) => (right, left, mirror(comparison)),
            _ => {
                let message =
                    format!("Expected a field and a number, got {} and {}.", left.kind_name(), right.kind_name());
                return Err(fault(scope.node, message));
            }
        };
        if let NodeKind::Not(_) = field.kind {
            return Err(fault(field, "Expected a field, got NOT: write !(…) around the whole comparison."));
        }
        let field = self.field(field, within)?;
        let text = self.number_text(value)?;
        let operand = scope.below(value);
        let mut annotations = operand.leaf_annotations()?;
        if comparison == Comparison::Equal && (text == "true" || text == "false") {
            annotations = self.note_annotations(annotations, value);
            let term = BooleanTerm { field, value: text == "true" };
            return Ok(item(Operator::Boolean(term), annotations, scope.node));
        }
        annotations = self.note_annotations(annotations, value);
        let range = range_of(comparison, &text).ok_or_else(|| fault(value, not_a_number(&text)))?;
        let hit_limit = hit_limit(&operand)?.or(range.hit_limit);
        let term = Range { hit_limit, ..range }.on(&field, None);
        Ok(item(Operator::Number(term), annotations, scope.node))
    }

    /// The text of a number that may be negated or a parameter.
    fn number_text(&self, value: &Node) -> Built<String> {
        Ok(match &value.kind {
            NodeKind::Negate(inner) => format!("-{}", self.number_text(inner)?),
            NodeKind::Integer(number) => number.to_string(),
            NodeKind::Float(number) => crate::number::display_float(*number),
            NodeKind::Boolean(truth) => truth.to_string(),
            _ => self.text_of(value)?,
        })
    }

    fn membership(&mut self, field: &Node, values: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let name = self.field(field, within)?;
        let values = match self.index(&name, within).values {
            ValueKind::Text => Values::Texts(self.text_list(values)?),
            ValueKind::Integer => Values::Integers(self.integer_list(values)?),
            _ => {
                let message = "The in operator is only supported for integer and string fields. The field";
                return Err(fault(field, format!("{message} {name} is not of these types")));
            }
        };
        let annotations = scope.leaf_annotations()?;
        Ok(item(Operator::In(In { field: name, values }), annotations, scope.node))
    }

    fn text_list(&self, values: &[Node]) -> Built<Vec<String>> {
        let mut texts = Vec::new();
        for value in values {
            match &value.kind {
                NodeKind::Text(text) => texts.push(text.clone()),
                NodeKind::Parameter(name) => texts.extend(super::list::texts(self.parameter(name, value)?)?),
                _ => return Err(fault(value, format!("Expected a string in the list, got {}.", value.value_name()))),
            }
        }
        sort(&mut texts);
        texts.dedup();
        Ok(texts)
    }

    fn integer_list(&self, values: &[Node]) -> Built<Vec<i64>> {
        let mut numbers = Vec::new();
        for value in values {
            match &value.kind {
                NodeKind::Integer(number) => numbers.push(*number),
                NodeKind::Parameter(name) => numbers.extend(super::list::integers(self.parameter(name, value)?)?),
                _ => return Err(fault(value, format!("Expected an integer in the list, got {}.", value.value_name()))),
            }
        }
        sort(&mut numbers);
        numbers.dedup();
        Ok(numbers)
    }

    fn call(&mut self, name: &str, arguments: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        match name {
            "userQuery" => self.user_query(scope),
            "userInput" => self.user_input(arguments, scope, within),
            "range" => self.range(arguments, scope, within),
            "rank" => self.all(arguments, scope, within).map(|items| plain(Operator::Rank(items), scope.node)),
            "weakAnd" => self.weak_and(arguments, scope, within),
            "nonEmpty" => self.non_empty(arguments, scope, within),
            "labeled" => self.build_labeled(arguments, scope, within),
            "weightedSet" | "dotProduct" | "wand" => self.build_weighted(name, arguments, scope, within),
            "nearestNeighbor" => self.nearest_neighbor(arguments, scope),
            "geoLocation" => self.geo_location(arguments, scope),
            "geoBoundingBox" => self.geo_bounding_box(arguments, scope),
            "predicate" => self.predicate(arguments, scope, within),
            // Directly in a sameElement the functions of `contains` search the element itself.
            _ if within.is_element() => self.leaf("", scope, within),
            _ => {
                let guess = did_you_mean(name, &FUNCTIONS);
                let known = FUNCTIONS[..FUNCTIONS.len() - 1].join(", ");
                Err(fault(scope.node, format!("Expected one of {known}, got {}.{guess}", Rejection::quote(name))))
            }
        }
    }

    // What names mean.

    /// The name of a field that must exist.
    pub fn field(&self, node: &Node, within: Within<'_>) -> Built<String> {
        let name = field_name(node)?;
        let expanded = within.expand(name);
        let exists = expanded == DEFAULT_INDEX || self.around.indexes.index(&expanded).is_some();
        if !exists {
            let hint = did_you_mean(&expanded, &self.around.indexes.names());
            return Err(fault(node, format!("Field '{}' does not exist.{hint}", Rejection::quote(&expanded))));
        }
        Ok(name.to_owned())
    }

    /// What is known of a field; a text field if nothing is.
    pub fn index(&self, field: &str, within: Within<'_>) -> Index {
        let expanded = within.expand(field);
        let unknown = Index { matching: Matching::Text, values: ValueKind::Other };
        self.around.indexes.index(&expanded).unwrap_or(unknown)
    }

    pub fn parameter(&self, name: &str, node: &Node) -> Built<&'a str> {
        let value = self.around.parameters.get(name);
        value.ok_or_else(|| fault(node, format!("Input '{}' is not set", Rejection::quote(name))))
    }

    /// The text of a literal or parameter.
    pub fn text_of(&self, node: &Node) -> Built<String> {
        match &node.kind {
            NodeKind::Text(text) => Ok(text.clone()),
            NodeKind::Parameter(name) => Ok(self.parameter(name, node)?.to_owned()),
            NodeKind::Integer(_) | NodeKind::Float(_) | NodeKind::Boolean(_) => {
                Err(fault(node, format!("Expected a string, got {}.", node.value_name())))
            }
            _ => Err(fault(node, format!("Expected CALL or LITERAL, got {}.", node.kind_name()))),
        }
    }

    /// Remembers an item's id and connection, to be checked when the tree is complete.
    pub fn note_annotations(&mut self, annotations: Annotations, node: &Node) -> Annotations {
        self.ids.extend(annotations.id);
        self.connections.extend(annotations.connectivity.map(|connection| (connection.id, node.place)));
        annotations
    }
}

/// The name of a field: a name, or a string where a name cannot be written.
pub(super) fn field_name(node: &Node) -> Built<&str> {
    match &node.kind {
        NodeKind::Field(name) | NodeKind::Text(name) => Ok(name),
        _ => Err(fault(node, format!("Expected a field, got {}.", node.kind_name()))),
    }
}

fn is_value(node: &Node) -> bool {
    let literal =
        matches!(node.kind, NodeKind::Text(_) | NodeKind::Integer(_) | NodeKind::Float(_) | NodeKind::Boolean(_));
    literal || matches!(node.kind, NodeKind::Negate(_) | NodeKind::Parameter(_))
}

/// The comparison with its sides swapped.
fn mirror(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::Greater => Comparison::Less,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        other => other,
    }
}

/// The range of `field <comparison> text`; an equality may be with any number expression.
fn range_of(comparison: Comparison, text: &str) -> Option<Range> {
    if comparison == Comparison::Equal {
        return parse_expression(text);
    }
    let number: Number = parse_number(text)?;
    let (low, high) = match comparison {
        Comparison::Less => (Bound::Unbounded, Bound::Exclusive(number)),
        Comparison::LessOrEqual => (Bound::Unbounded, Bound::Inclusive(number)),
        Comparison::Greater => (Bound::Exclusive(number), Bound::Unbounded),
        _ => (Bound::Inclusive(number), Bound::Unbounded),
    };
    Some(Range { low, high, hit_limit: None })
}

fn not_a_number(text: &str) -> String {
    format!(
        "'{}' is not an int item expression: Expected NUMBER, '<'NUMBER, '>'NUMBER or \
         ('['|'<')NUMBER;NUMBER(;NUMBER)?(']'|'>')",
        Rejection::quote(text)
    )
}

/// `hitLimit` with its direction in its sign.
pub(super) fn hit_limit(scope: &Scope<'_>) -> Built<Option<i32>> {
    let Some(limit) = scope.integer("hitLimit")? else { return Ok(None) };
    let (ascending, descending) = (scope.boolean("ascending")?, scope.boolean("descending")?);
    if ascending.is_some() && descending.is_some() {
        let message = "Settings for both ascending and descending ordering set, only one of these expected.";
        return Err(fault(scope.node, message));
    }
    let reversed = descending == Some(true) || ascending == Some(false);
    // A limit of 0 is none.
    Ok(Some(if reversed { limit.saturating_neg() } else { limit }).filter(|limit| *limit != 0))
}

fn not_a_condition(node: &Node) -> String {
    let expected = "Expected AND, OR, EQ, LT, GT, LTEQ, GTEQ, CONTAINS, MATCHES, CALL, LITERAL, NOT or IN, got";
    format!("{expected} {}.", node.kind_name())
}

/// A number term from a range with annotations of the function that wrote it.
pub(super) fn number_item(term: NumberTerm, annotations: Annotations, node: &Node) -> Item {
    item(Operator::Number(term), annotations, node)
}
