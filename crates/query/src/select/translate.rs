//! From the JSON of a condition to the expression it is in YQL. Whatever the reference implementation would leave out
//! silently is refused here.
use brooklet_task::Rejection;

use crate::suggestion::did_you_mean;
use crate::tree::TextRange;
use crate::yql::scope::{Built, Fault, fault};
use crate::yql::syntax::{Comparison, Node, NodeKind};

/// What may be said of an operator beside its arguments, where what is said of a composite counts for it alone.
const WEAK_AND_ATTRIBUTES: [&str; 3] = ["targetHits", "targetNumHits", "totalTargetHits"];

/// The operators, for messages and to tell them from fields.
const OPERATORS: [&str; 21] = [
    "and",
    "and_not",
    "contains",
    "dotProduct",
    "equals",
    "geoBoundingBox",
    "geoLocation",
    "in",
    "matches",
    "nearestNeighbor",
    "nonEmpty",
    "not",
    "or",
    "predicate",
    "range",
    "rank",
    "userInput",
    "userQuery",
    "wand",
    "weakAnd",
    "weightedSet",
];

/// Arguments and attributes of an operator.
struct Arguments<'a> {
    children: &'a [Node],
    attributes: &'a [(String, Node)],
    place: TextRange,
}

/// The expression a condition is.
pub(super) fn expression(json: &Node) -> Built<Node> {
    match &json.kind {
        NodeKind::Boolean(truth) => Ok(Node::new(NodeKind::Boolean(*truth), json.place)),
        NodeKind::Map(members) => match members.as_slice() {
            [(name, value)] => operator(name, value, json),
            [] => Err(fault(json, "Expected an operator, got an empty object.")),
            [_, (second, _), ..] => {
                let message = "Expected one operator, got another one, '{}': put them in an array of 'and' or 'or'.";
                Err(fault(json, message.replace("{}", &Rejection::quote(second))))
            }
        },
        _ => Err(fault(json, format!("Expected true, false or an operator, got {}.", json.value_name()))),
    }
}

/// Every element of a list as a condition.
fn conditions(children: &[Node]) -> Built<Vec<Node>> {
    children.iter().map(expression).collect()
}

fn operator(name: &str, value: &Node, json: &Node) -> Built<Node> {
    let place = json.place;
    let composite = |kind: fn(Vec<Node>) -> NodeKind| {
        let children = conditions(Arguments::from_value(name, value)?.children)?;
        Ok(Node::new(kind(children), place))
    };
    match name {
        "and" => composite(NodeKind::And),
        "or" => composite(NodeKind::Or),
        "rank" => composite(|children| NodeKind::Call("rank".to_owned(), children)),
        "weakAnd" => weak_and(value, place),
        "and_not" => and_not(value, place),
        "not" => {
            let everything = Node::new(NodeKind::Boolean(true), place);
            Ok(Node::new(NodeKind::AndNot(vec![everything, expression(value)?]), place))
        }
        "nonEmpty" => non_empty(value, place),
        "contains" => contains(value, place),
        "matches" => matches(value, place),
        "equals" => equals(value, place),
        "range" => range(value, place),
        "in" => membership(value, place),
        "userQuery" => Ok(Node::new(NodeKind::Call(name.to_owned(), Vec::new()), place)),
        "userInput" => input(name, value, place),
        "wand" | "dotProduct" | "weightedSet" | "nearestNeighbor" | "geoLocation" | "geoBoundingBox" | "predicate" => {
            let arguments = Arguments::from_value(name, value)?;
            Ok(arguments.annotate(Node::new(NodeKind::Call(name.to_owned(), arguments.children.to_vec()), place)))
        }
        _ => shorthand(name, value, place),
    }
}

/// `{"title": "music"}`: the field contains the text.
fn shorthand(name: &str, value: &Node, place: TextRange) -> Built<Node> {
    let NodeKind::Text(_) = value.kind else {
        let known = OPERATORS.join(", ");
        let quoted = Rejection::quote(name);
        let guess = did_you_mean(name, &OPERATORS);
        let message = format!("Expected one of {known}, or a field with a text, got {quoted}.{guess}");
        return Err(Fault::from(message).at(place));
    };
    let field = Node::new(NodeKind::Field(name.to_owned()), place);
    Ok(Node::new(NodeKind::Compare(Comparison::Contains, Box::new(field), Box::new(value.clone())), place))
}

impl<'a> Arguments<'a> {
    /// `[argument, …]`, or `{"children": [argument, …], "attributes": {…}}`.
    fn from_value(name: &str, value: &'a Node) -> Built<Arguments<'a>> {
        let place = value.place;
        match &value.kind {
            NodeKind::Array(children) => Ok(Arguments { children, attributes: &[], place }),
            NodeKind::Map(members) => {
                let (mut children, mut attributes): (&[Node], &[(String, Node)]) = (&[], &[]);
                let mut found = false;
                for (member, value) in members {
                    match (member.as_str(), &value.kind) {
                        ("children", NodeKind::Array(elements)) => (children, found) = (elements, true),
                        ("attributes", NodeKind::Map(entries)) => attributes = entries,
                        ("children" | "attributes", _) => {
                            let expected = if member == "children" { "an array" } else { "an object" };
                            let message =
                                format!("Expected {expected} as '{member}' of '{name}', got {}.", value.value_name());
                            return Err(fault(value, message));
                        }
                        _ => {
                            let quoted = Rejection::quote(member);
                            let message = format!("Expected 'children' or 'attributes' in '{name}', got '{quoted}'.");
                            return Err(fault(value, message));
                        }
                    }
                }
                if !found {
                    return Err(fault(value, format!("Expected 'children' in '{name}'.")));
                }
                Ok(Arguments { children, attributes, place })
            }
            _ => {
                let message = format!("Expected an array of arguments of '{name}', got {}.", value.value_name());
                Err(fault(value, message))
            }
        }
    }

    /// A field and one more argument.
    fn pair(&self, name: &str) -> Built<(Node, &'a Node)> {
        match self.children {
            [first, second] => Ok((field(first)?, second)),
            _ => {
                let message = format!("Expected 2 arguments of '{name}', got {}.", self.children.len());
                Err(Fault::from(message).at(self.place))
            }
        }
    }

    fn annotate(&self, mut node: Node) -> Node {
        node.annotations.extend(self.attributes.iter().cloned());
        node
    }
}

/// A field's name, as a field.
fn field(node: &Node) -> Built<Node> {
    match &node.kind {
        NodeKind::Text(name) => Ok(Node::new(NodeKind::Field(name.clone()), node.place)),
        _ => Err(fault(node, format!("Expected a field name, got {}.", node.value_name()))),
    }
}

fn text(node: &Node) -> Built<&Node> {
    match &node.kind {
        NodeKind::Text(_) => Ok(node),
        _ => Err(fault(node, format!("Expected a string, got {}.", node.value_name()))),
    }
}

fn weak_and(value: &Node, place: TextRange) -> Built<Node> {
    let arguments = Arguments::from_value("weakAnd", value)?;
    let mut node = Node::new(NodeKind::Call("weakAnd".to_owned(), conditions(arguments.children)?), place);
    let own = arguments.attributes.iter().filter(|(name, _)| WEAK_AND_ATTRIBUTES.contains(&name.as_str()));
    node.annotations.extend(own.cloned());
    Ok(node)
}

fn and_not(value: &Node, place: TextRange) -> Built<Node> {
    let arguments = Arguments::from_value("and_not", value)?;
    let mut children = conditions(arguments.children)?;
    match children.len() {
        0 => Err(fault(value, "Expected what must match, and what must not, in 'and_not'; got nothing.")),
        1 => Ok(children.remove(0)),
        _ => Ok(Node::new(NodeKind::AndNot(children), place)),
    }
}

/// One condition, in an array or not.
fn non_empty(value: &Node, place: TextRange) -> Built<Node> {
    let children = match &value.kind {
        NodeKind::Array(_) => conditions(Arguments::from_value("nonEmpty", value)?.children)?,
        NodeKind::Map(members) if members.iter().any(|(name, _)| name == "children") => {
            conditions(Arguments::from_value("nonEmpty", value)?.children)?
        }
        _ => vec![expression(value)?],
    };
    Ok(Node::new(NodeKind::Call("nonEmpty".to_owned(), children), place))
}

/// `"words"`, `["words"]`, `{"query": "words", "attributes": {…}}`, or with `children`.
fn input(name: &str, value: &Node, place: TextRange) -> Built<Node> {
    let call = |argument: &Node, attributes: &[(String, Node)]| {
        let empty = matches!(&text(argument)?.kind, NodeKind::Text(text) if text.is_empty());
        let allowed = |(name, value): &(String, Node)| name == "allowEmpty" && value.kind == NodeKind::Boolean(true);
        if empty && !attributes.iter().any(allowed) {
            return Err(fault(argument, format!("Expected a text in '{name}', got an empty one; see allowEmpty.")));
        }
        let mut node = Node::new(NodeKind::Call(name.to_owned(), vec![argument.clone()]), place);
        node.annotations.extend(attributes.iter().cloned());
        Ok(node)
    };
    match &value.kind {
        NodeKind::Text(_) => call(value, &[]),
        NodeKind::Map(members) if members.iter().any(|(member, _)| member == "query") => {
            let member = |wanted: &str| members.iter().find(|(member, _)| member == wanted).map(|(_, value)| value);
            if let Some((other, value)) = members.iter().find(|(member, _)| member != "query" && member != "attributes")
            {
                let quoted = Rejection::quote(other);
                return Err(fault(value, format!("Expected 'query' or 'attributes' in '{name}', got '{quoted}'.")));
            }
            let attributes = match member("attributes") {
                None => &[][..],
                Some(Node { kind: NodeKind::Map(entries), .. }) => entries,
                Some(other) => {
                    let message =
                        format!("Expected an object as 'attributes' of '{name}', got {}.", other.value_name());
                    return Err(fault(other, message));
                }
            };
            member("query").map_or_else(|| Err(fault(value, "Expected 'query'.")), |query| call(query, attributes))
        }
        _ if name == "text" => {
            let message = format!("Expected a string or an object with 'query' in 'text', got {}.", value.value_name());
            Err(fault(value, message))
        }
        _ => {
            let arguments = Arguments::from_value(name, value)?;
            match arguments.children {
                [argument] => call(argument, arguments.attributes),
                other => Err(fault(value, format!("Expected 1 argument of '{name}', got {}.", other.len()))),
            }
        }
    }
}

fn contains(value: &Node, place: TextRange) -> Built<Node> {
    let arguments = Arguments::from_value("contains", value)?;
    let (field, operand) = arguments.pair("contains")?;
    let operand = match &operand.kind {
        NodeKind::Map(members) => match members.as_slice() {
            [(name, value)] => leaf(name, value, operand.place)?,
            _ => return Err(fault(operand, "Expected one function in 'contains'.")),
        },
        _ => text(operand)?.clone(),
    };
    let operand = arguments.annotate(operand);
    Ok(Node::new(NodeKind::Compare(Comparison::Contains, Box::new(field), Box::new(operand)), place))
}

/// A function that stands for a word.
fn leaf(name: &str, value: &Node, place: TextRange) -> Built<Node> {
    if name == "text" {
        return input(name, value, place);
    }
    if name == "uri" && matches!(value.kind, NodeKind::Text(_)) {
        return Ok(Node::new(NodeKind::Call(name.to_owned(), vec![value.clone()]), place));
    }
    let arguments = Arguments::from_value(name, value)?;
    let children = match name {
        "phrase" => {
            arguments.children.iter().map(|child| function_inside(child, &["phrase", "alternatives"])).collect()
        }
        "equiv" => arguments.children.iter().map(|child| function_inside(child, &["phrase"])).collect(),
        "near" | "onear" => arguments.children.iter().map(refuse_functions).collect(),
        "alternatives" => arguments.children.iter().map(exactnesses).collect(),
        "fuzzy" | "uri" => arguments.children.iter().map(|child| text(child).cloned()).collect(),
        "sameElement" => same_element(arguments.children),
        _ => {
            let known = ["alternatives", "equiv", "fuzzy", "near", "onear", "phrase", "sameElement", "text", "uri"];
            let guess = did_you_mean(name, &known);
            let quoted = Rejection::quote(name);
            let message = format!("Expected one of {}, got {quoted}.{guess}", known.join(", "));
            return Err(Fault::from(message).at(place));
        }
    };
    Ok(arguments.annotate(Node::new(NodeKind::Call(name.to_owned(), children?), place)))
}

/// A word, or one of these functions.
fn function_inside(child: &Node, functions: &[&str]) -> Built<Node> {
    match &child.kind {
        NodeKind::Map(members) => match members.as_slice() {
            [(name, value)] if functions.contains(&name.as_str()) => leaf(name, value, child.place),
            _ => Err(fault(child, format!("Expected a string or {}.", functions.join(" or ")))),
        },
        _ => Ok(text(child)?.clone()),
    }
}

/// A word that is taken as it is.
fn refuse_functions(child: &Node) -> Built<Node> {
    let mut word = text(child)?.clone();
    let off = Node::new(NodeKind::Boolean(false), child.place);
    word.annotations.push(("implicitTransforms".to_owned(), off));
    Ok(word)
}

/// Words with their exactness, which may be written without a fraction.
fn exactnesses(child: &Node) -> Built<Node> {
    let mut child = child.clone();
    if let NodeKind::Map(entries) = &mut child.kind {
        for (_, exactness) in entries {
            if let NodeKind::Integer(number) = exactness.kind {
                exactness.kind = NodeKind::Float(number as f64);
            }
        }
    }
    Ok(child)
}

/// The conditions on an element: each member of an object is one, and a text is the element's own.
fn same_element(children: &[Node]) -> Built<Vec<Node>> {
    let mut conditions = Vec::new();
    for child in children {
        match &child.kind {
            NodeKind::Map(members) if !members.is_empty() => {
                for (name, value) in members {
                    conditions.push(operator(name, value, child)?);
                }
            }
            _ => conditions.push(text(child)?.clone()),
        }
    }
    Ok(conditions)
}

fn matches(value: &Node, place: TextRange) -> Built<Node> {
    let arguments = Arguments::from_value("matches", value)?;
    let (field, pattern) = arguments.pair("matches")?;
    let pattern = arguments.annotate(text(pattern)?.clone());
    Ok(Node::new(NodeKind::Compare(Comparison::Matches, Box::new(field), Box::new(pattern)), place))
}

/// `[field, value]`, or `{"field": …, "value": …, "index": …}`.
#[inline(never)]
fn equals(value: &Node, place: TextRange) -> Built<Node> {
    let (mut name, mut index, mut operand) = (None, None, None);
    match &value.kind {
        NodeKind::Array(elements) => match elements.as_slice() {
            [first, second] => (name, operand) = (Some(first), Some(second)),
            _ => {
                return Err(fault(value, format!("Expected a field and a value in 'equals', got {}.", elements.len())));
            }
        },
        NodeKind::Map(members) => {
            for (member, value) in members {
                match member.as_str() {
                    "field" => name = Some(value),
                    "index" => index = Some(value),
                    "value" => operand = Some(value),
                    _ => {
                        let quoted = Rejection::quote(member);
                        let message = format!("Expected 'field', 'index' or 'value' in 'equals', got '{quoted}'.");
                        return Err(fault(value, message));
                    }
                }
            }
        }
        _ => return Err(fault(value, format!("Expected an array or object in 'equals', got {}.", value.value_name()))),
    }
    let missing = |what: &str| fault(value, format!("Expected '{what}' in 'equals'."));
    let name = field(name.ok_or_else(|| missing("field"))?)?;
    let operand = operand.ok_or_else(|| missing("value"))?.clone();
    let is_text = matches!(operand.kind, NodeKind::Text(_));
    let fits = matches!(operand.kind, NodeKind::Boolean(_) | NodeKind::Integer(_)) || (is_text && index.is_some());
    if !fits {
        let message = format!("Expected a boolean or an integer as 'value' of 'equals', got {}.", operand.value_name());
        return Err(fault(&operand, message));
    }
    let left = match index {
        None => name,
        Some(index @ Node { kind: NodeKind::Integer(_), .. }) => {
            Node::new(NodeKind::Index(Box::new(name), Box::new(index.clone())), place)
        }
        Some(other) => {
            return Err(fault(
                other,
                format!("Expected an integer as 'index' of 'equals', got {}.", other.value_name()),
            ));
        }
    };
    Ok(Node::new(NodeKind::Compare(Comparison::Equal, Box::new(left), Box::new(operand)), place))
}

/// A field and its bounds, in either order.
#[inline(never)]
fn range(value: &Node, place: TextRange) -> Built<Node> {
    let arguments = Arguments::from_value("range", value)?;
    let [first, second] = arguments.children else {
        return Err(fault(value, format!("Expected 2 arguments of 'range', got {}.", arguments.children.len())));
    };
    let (name, bounds) = if matches!(first.kind, NodeKind::Text(_)) { (first, second) } else { (second, first) };
    let name = field(name)?;
    let NodeKind::Map(entries) = &bounds.kind else {
        return Err(fault(
            bounds,
            format!("Expected bounds like {{\">=\": 1}} in 'range', got {}.", bounds.value_name()),
        ));
    };
    let (mut low, mut high) = (None, None);
    for (operator, bound) in entries {
        if !matches!(bound.kind, NodeKind::Integer(_) | NodeKind::Float(_)) {
            return Err(fault(bound, format!("Expected a numeric argument to range, but got {}.", bound.value_name())));
        }
        let (comparison, ends) = match operator.as_str() {
            "=" => (Comparison::Equal, &mut [&mut low, &mut high][..]),
            ">=" => (Comparison::GreaterOrEqual, &mut [&mut low][..]),
            ">" => (Comparison::Greater, &mut [&mut low][..]),
            "<=" => (Comparison::LessOrEqual, &mut [&mut high][..]),
            "<" => (Comparison::Less, &mut [&mut high][..]),
            other => {
                let quoted = Rejection::quote(other);
                return Err(fault(bound, format!("Expected =, <, <=, > or >= in 'range', got '{quoted}'.")));
            }
        };
        for end in ends {
            if end.replace((comparison, bound)).is_some() {
                return Err(fault(bound, "Expected one bound for each end of 'range', got another."));
            }
        }
    }
    let one_sided = |(comparison, bound): (Comparison, &Node)| {
        let bound = arguments.annotate(bound.clone());
        Ok(Node::new(NodeKind::Compare(comparison, Box::new(name.clone()), Box::new(bound)), place))
    };
    match (low, high) {
        (None, None) => Err(fault(bounds, "Expected a bound in 'range', got none.")),
        (Some(only), None) | (None, Some(only)) | (Some(only @ (Comparison::Equal, _)), Some(_)) => one_sided(only),
        (Some((low_is, low)), Some((high_is, high))) => {
            let bounds = match (low_is == Comparison::Greater, high_is == Comparison::Less) {
                (true, true) => Some("open"),
                (true, false) => Some("leftOpen"),
                (false, true) => Some("rightOpen"),
                (false, false) => None,
            };
            let call = NodeKind::Call("range".to_owned(), vec![name.clone(), low.clone(), high.clone()]);
            let mut node = arguments.annotate(Node::new(call, place));
            node.annotations.retain(|(name, _)| name != "bounds");
            node.annotations.extend(
                bounds.map(|bounds| ("bounds".to_owned(), Node::new(NodeKind::Text(bounds.to_owned()), place))),
            );
            Ok(node)
        }
    }
}

/// `[field, value, …]`, or `{"field": …, "value": […]}`.
fn membership(value: &Node, place: TextRange) -> Built<Node> {
    let listed = |name: &Node, values: &[Node], attributes: &[(String, Node)]| {
        let mut node = Node::new(NodeKind::In(Box::new(field(name)?), values.to_vec()), place);
        node.annotations.extend(attributes.iter().cloned());
        Ok(node)
    };
    if let NodeKind::Map(members) = &value.kind
        && !members.iter().any(|(member, _)| member == "children")
    {
        let (mut name, mut values, mut attributes) = (None, None, &[][..]);
        for (member, value) in members {
            match (member.as_str(), &value.kind) {
                ("field", _) => name = Some(value),
                ("value" | "values", NodeKind::Array(elements)) if values.is_none() => values = Some(elements),
                ("attributes", NodeKind::Map(entries)) => attributes = entries,
                (member, _) => {
                    let got = format!("'{}', {}", Rejection::quote(member), value.value_name());
                    let expected = "'field', one array as 'value' or an object as 'attributes'";
                    return Err(fault(value, format!("Expected {expected} in 'in', got {got}.")));
                }
            }
        }
        let missing = |what: &str| fault(value, format!("Expected '{what}' in 'in'."));
        let name = name.ok_or_else(|| missing("field"))?;
        return listed(name, values.ok_or_else(|| missing("value"))?, attributes);
    }
    let arguments = Arguments::from_value("in", value)?;
    match arguments.children.split_first() {
        Some((name, values)) => listed(name, values, arguments.attributes),
        None => Err(fault(value, "Expected a field and values in 'in', got nothing.")),
    }
}
