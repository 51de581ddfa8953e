//! The query's tree as it sees one document: what matched, and where.
use brooklet_rank::match_data::Occurrence;
use brooklet_segment::Halt;
use brooklet_text::Variety;

use crate::found::places::places_of;
use crate::nearest::exact_distance;
use crate::plan::SchemaPlan;
use crate::plan::condition::{How, Node, NumberTest, Target, Test, ValueTest, WordTest};
use crate::ranking::spot::Spot;
use crate::render::Tree;
use crate::resident::reads::Reads;

/// Occurrences of a term in a field that are told; `count` is that of all.
const OCCURRENCES_MAX: usize = 64;

/// Whether the document matches a part of the tree.
fn matches(of: &SchemaPlan, node: &Node, spot: Spot<'_>) -> bool {
    let (found, at) = (&spot.matches[spot.view], spot.ordinal as usize);
    match node {
        Node::True => true,
        Node::False => false,
        Node::And(nodes) => nodes.iter().all(|node| matches(of, node, spot)),
        Node::Or(nodes) => nodes.iter().any(|node| matches(of, node, spot)),
        Node::AndNot(first, rest) => matches(of, first, spot) && !rest.iter().any(|node| matches(of, node, spot)),
        Node::Rank(first, _) => matches(of, first, spot),
        Node::Leaf(leaf) => found.leaves[*leaf].documents.get(at),
        Node::Nearest(index) => spot.resolved[*index].distance(spot.view, spot.ordinal).is_some(),
        Node::Near(index) => found.settled.near[*index].get(at),
        Node::SameElement(index) => found.settled.same_elements[*index].get(at),
        Node::Labeled(index) => matches(of, &of.labeled[*index].node, spot),
    }
}

/// The parts that would have to be otherwise for the document to match.
pub(crate) fn failures(of: &SchemaPlan, node: &Node, spot: Spot<'_>) -> Vec<String> {
    if matches(of, node, spot) {
        return Vec::new();
    }
    let of_all = |nodes: &[Node]| nodes.iter().flat_map(|node| failures(of, node, spot)).collect::<Vec<_>>();
    match node {
        Node::And(nodes) => of_all(nodes),
        Node::Or(nodes) => vec![format!("none of these holds: {}", of_all(nodes).join("; "))],
        Node::Rank(first, _) => failures(of, first, spot),
        Node::Labeled(index) => failures(of, &of.labeled[*index].node, spot),
        Node::AndNot(first, rest) => {
            let unwanted = rest.iter().filter(|node| matches(of, node, spot));
            let unwanted = unwanted.map(|node| format!("what must not match does: {}", node_text(of, node)));
            failures(of, first, spot).into_iter().chain(unwanted).collect()
        }
        other => vec![format!("not matched: {}", node_text(of, other))],
    }
}

/// A part of the tree in words.
fn node_text(of: &SchemaPlan, node: &Node) -> String {
    let all = |nodes: &[Node]| nodes.iter().map(|node| node_text(of, node)).collect::<Vec<_>>().join(", ");
    match node {
        Node::True => "every document".to_owned(),
        Node::False => "nothing, because of what the query asks for".to_owned(),
        Node::And(nodes) => format!("all of ({})", all(nodes)),
        Node::Or(nodes) => format!("one of ({})", all(nodes)),
        Node::AndNot(first, rest) => format!("{} without ({})", node_text(of, first), all(rest)),
        Node::Rank(first, _) => node_text(of, first),
        Node::Leaf(leaf) => {
            let targets = &of.leaves[*leaf].targets;
            match targets.is_empty() {
                true => "a term that no field can be searched for".to_owned(),
                false => targets.iter().map(asked_of).collect::<Vec<_>>().join(" or "),
            }
        }
        Node::Nearest(index) => format!("nearest neighbours in {}", of.nearest[*index].field),
        Node::Near(index) => {
            let near = &of.near[*index];
            let leaves =
                near.leaves.iter().map(|leaf| node_text(of, &Node::Leaf(*leaf))).collect::<Vec<_>>().join(", ");
            format!("{} of ({leaves}) within {} words", if near.ordered { "onear" } else { "near" }, near.distance)
        }
        Node::SameElement(index) => {
            let same = &of.same_elements[*index];
            format!("an element of {} with {}", same.field, node_text(of, &same.condition))
        }
        Node::Labeled(index) => node_text(of, &of.labeled[*index].node),
    }
}

fn asked_of(target: &Target) -> String {
    format!("{} in {}", test_text(&target.test), target.spec.field)
}

/// What a leaf asks of a column, in words.
fn test_text(test: &Test) -> String {
    let list = |words: &[WordTest]| words.iter().map(word).collect::<Vec<_>>().join(" or ");
    match test {
        Test::Words(words) => list(words),
        Test::Phrase(phrase) => {
            format!("phrase ({})", phrase.words.iter().map(|words| list(words)).collect::<Vec<_>>().join(", "))
        }
        Test::Value(ValueTest::Fuzzy { .. }) => "a word almost like the term".to_owned(),
        Test::Value(ValueTest::Pattern(_)) => "the regular expression".to_owned(),
        Test::Weighted(_) => "one of the weighted tokens".to_owned(),
        Test::Position(_) => "a position in the area".to_owned(),
        Test::Elements => "an element for which all conditions hold".to_owned(),
        Test::Text { text, .. } => format!("text with '{text}'"),
        Test::Number(NumberTest::Integers { low, high }) => range(*low, *high, (i64::MIN, i64::MAX)),
        Test::Number(NumberTest::Floats { low, high }) => range(*low, *high, (f64::NEG_INFINITY, f64::INFINITY)),
        Test::Number(NumberTest::AnyOf(numbers)) => format!("one of the numbers {numbers:?}"),
    }
}

fn range<T: PartialEq + std::fmt::Display>(low: T, high: T, (least, most): (T, T)) -> String {
    match (low == least, high == most) {
        _ if low == high => format!("the number {low}"),
        (true, true) => "any number".to_owned(),
        (true, false) => format!("a number of at most {high}"),
        (false, true) => format!("a number of at least {low}"),
        (false, false) => format!("a number from {low} to {high}"),
    }
}

fn word(test: &WordTest) -> String {
    let text = &test.text;
    match test.how {
        How::Equals => format!("'{text}'"),
        How::Variant(variety) => variant(text, variety),
        How::Segment { .. } => format!("'{text}' in a run of letters"),
        How::Prefix => format!("'{text}…'"),
        How::Suffix | How::TokenSuffix => format!("'…{text}'"),
        How::Substring | How::ValueSubstring => format!("'…{text}…'"),
    }
}

/// What is asked of a word's variants.
fn variant(text: &str, variety: Variety) -> String {
    let begun = if variety.beginnings { "…" } else { "" };
    let word = match (variety.languages.is_empty(), variety.spellings) {
        (false, _) => format!("a form of '{text}{begun}'"),
        (true, true) => format!("a spelling of '{text}{begun}'"),
        (true, false) => format!("'{text}{begun}'"),
    };
    match variety.slips {
        0 => word,
        1 => format!("{word}, with a slip"),
        slips => format!("{word}, with {slips} slips"),
    }
}

/// The tree that is shown. All of it notes what it misses before it halts.
pub(super) fn tree(of: &SchemaPlan, node: &Node, spot: Spot<'_>, reads: &mut Reads) -> Result<Tree, Halt> {
    let mut members = vec![("operator", Tree::from(operator(of, node))), ("matched", matches(of, node, spot).into())];
    match node {
        Node::True | Node::False => {}
        Node::And(nodes) | Node::Or(nodes) => members.push(("children", trees(of, nodes.iter(), spot, reads)?)),
        Node::AndNot(first, rest) | Node::Rank(first, rest) => {
            let nodes = std::iter::once(&**first).chain(rest);
            members.push(("children", trees(of, nodes, spot, reads)?));
        }
        Node::Leaf(leaf) => leaf_members(of, *leaf, spot, reads, &mut members)?,
        Node::Near(index) => {
            let nodes: Vec<Node> = of.near[*index].leaves.iter().map(|leaf| Node::Leaf(*leaf)).collect();
            members.push(("distance", of.near[*index].distance.into()));
            members.push(("children", trees(of, nodes.iter(), spot, reads)?));
        }
        Node::SameElement(index) => {
            let same = &of.same_elements[*index];
            members.push(("field", same.field.as_str().into()));
            leaf_members(of, same.leaf, spot, reads, &mut members)?;
            members.push(("children", trees(of, std::iter::once(&same.condition), spot, reads)?));
        }
        Node::Labeled(index) => {
            members.push(("label", of.labeled[*index].label.as_str().into()));
            members.push(("children", trees(of, std::iter::once(&of.labeled[*index].node), spot, reads)?));
        }
        Node::Nearest(index) => {
            let nearest = &of.nearest[*index];
            members.push(("field", nearest.field.as_str().into()));
            members.extend(nearest.label.as_ref().map(|label| ("label", Tree::from(label.as_str()))));
            if let Some(internal) = exact_distance(spot.at(), nearest, spot.ordinal, reads)? {
                let closeness = nearest.point.scale.to_closeness(internal);
                members.push(("distance", nearest.point.scale.closeness_to_distance(closeness).into()));
                members.push(("closeness", closeness.into()));
                members.push(("withinThreshold", (internal <= nearest.threshold).into()));
            }
            members.push(("targetHits", Tree::Integer(nearest.target_hits as i64)));
        }
    }
    Ok(Tree::object(members))
}

fn operator(of: &SchemaPlan, node: &Node) -> &'static str {
    match node {
        Node::True => "true",
        Node::False => "false",
        Node::And(_) => "and",
        Node::Or(_) => "or",
        Node::AndNot(..) => "andNot",
        Node::Rank(..) => "rank",
        Node::Leaf(_) => "term",
        Node::Nearest(_) => "nearestNeighbor",
        Node::Near(index) if of.near[*index].ordered => "onear",
        Node::Near(_) => "near",
        Node::SameElement(_) => "sameElement",
        Node::Labeled(_) => "labeled",
    }
}

fn trees<'n>(
    of: &SchemaPlan,
    nodes: impl Iterator<Item = &'n Node>,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Tree, Halt> {
    let trees: Vec<Result<Tree, Halt>> = nodes.map(|node| tree(of, node, spot, reads)).collect();
    Ok(Tree::List(trees.into_iter().collect::<Result<_, _>>()?))
}

type Members = Vec<(&'static str, Tree)>;

fn leaf_members(
    of: &SchemaPlan,
    leaf: usize,
    spot: Spot<'_>,
    reads: &mut Reads,
    members: &mut Members,
) -> Result<(), Halt> {
    let term = &of.terms.all()[of.leaves[leaf].term];
    members.push(("weight", Tree::Integer(i64::from(term.weight))));
    members.extend(term.label.as_ref().map(|label| ("label", Tree::from(label.as_str()))));
    let targets = of.leaves[leaf].targets.iter().enumerate();
    let fields: Vec<Result<Tree, Halt>> = targets
        .map(|(index, target)| {
            let places = places_of(of, leaf, index, spot, reads)?;
            let shown = places.iter().take(OCCURRENCES_MAX).map(occurrence);
            Ok(Tree::object([
                ("field", Tree::from(target.spec.field.as_str())),
                ("asks", test_text(&target.test).into()),
                ("matched", (!places.is_empty()).into()),
                ("count", Tree::Integer(places.len() as i64)),
                ("occurrences", Tree::List(shown.collect())),
            ]))
        })
        .collect();
    members.push(("fields", Tree::List(fields.into_iter().collect::<Result<_, _>>()?)));
    Ok(())
}

fn occurrence(place: &Occurrence) -> Tree {
    Tree::object([
        ("element", place.element.into()),
        ("position", place.position.into()),
        ("elementLength", place.element_length.into()),
        ("elementWeight", Tree::Integer(i64::from(place.element_weight))),
    ])
}
