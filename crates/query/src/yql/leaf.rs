//! What stands after `contains`: words, and the functions that relate words.
use brooklet_kernel::{sort, sort_by};

use super::build::{Builder, Within, Words, item};
use super::scope::{Built, Fault, Scope, fault};
use super::syntax::{Node, NodeKind};
use crate::annotations::{Annotations, Origin};
use crate::suggestion::did_you_mean;
use crate::tree::{Alternatives, Fuzzy, Item, Near, Operator, Phrase, SameElement, Term, TermKind, Uri};

const FUNCTIONS: [&str; 9] =
    ["equiv", "near", "onear", "phrase", "sameElement", "text", "uri", "fuzzy", "alternatives"];

/// Edits a fuzzy term may be away when it does not say.
const MAX_EDIT_DISTANCE: u32 = 2;
/// How far apart the words of a `near` may be when it does not say.
const NEAR_DISTANCE: u32 = 2;

/// A word as it is to be made into an item.
pub(super) struct Word<'a> {
    pub field: &'a str,
    pub text: String,
    /// Whether it may be cut into several words.
    pub segmented: bool,
}

impl Builder<'_> {
    /// `field contains <leaf>`; the scope's node is the leaf.
    pub fn leaf(&mut self, field: &str, scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let NodeKind::Call(name, arguments) = &scope.node.kind else {
            return self.word(field, scope, within, true);
        };
        let built = match name.as_str() {
            "phrase" => self.phrase(field, arguments, scope, within),
            "near" => self.near(field, false, arguments, scope, within),
            "onear" => self.near(field, true, arguments, scope, within),
            "equiv" => self.equiv(field, arguments, scope, within),
            "alternatives" => self.alternatives(field, arguments, scope),
            "uri" => self.uri(field, arguments, scope),
            "fuzzy" => self.fuzzy(field, arguments, scope),
            "text" => self.text_input(field, arguments, scope, within),
            "sameElement" => self.same_element(field, arguments, scope, within),
            _ => {
                let guess = did_you_mean(name, &FUNCTIONS);
                Err(Fault::from(format!("Expected one of {}, got {name}.{guess}", FUNCTIONS.join(", "))))
            }
        };
        built.map_err(|fault| fault.at(scope.node.place))
    }

    /// A literal or parameter as a word of `field`.
    pub fn word(&mut self, field: &str, scope: &Scope<'_>, within: Within<'_>, segmented: bool) -> Built<Item> {
        let text = self.text_of(scope.node)?;
        self.word_of(Word { field, text, segmented }, scope, within)
    }

    /// A text as a word, or as a phrase of the words in it.
    pub fn word_of(&mut self, word: Word<'_>, scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let Word { field, mut text, segmented } = word;
        if text.is_empty() {
            return Err(fault(scope.node, "The word of a word item cannot be empty"));
        }
        if scope.boolean("nfkc")?.unwrap_or(false) {
            text = self.around.linguistics.normalize(&text);
        }
        let annotations = self.note_annotations(scope.word_annotations()?, scope.node);
        if let Some(kind) = affix(scope)? {
            return Ok(term(field, text, kind, annotations, scope.node));
        }
        let kind = self.index(field, within).matching.term_kind();
        let raw = scope.text("grammar")? == Some("raw");
        let segmented = segmented && self.words == Words::Segmented;
        if kind == TermKind::Exact || !segmented || raw || !annotations.implicit_transforms {
            return Ok(term(field, text, kind, annotations, scope.node));
        }
        Ok(self.segment_item(field, text, annotations, scope))
    }

    /// The words of a text: one term, or a phrase.
    pub fn segment_item(&self, field: &str, text: String, annotations: Annotations, scope: &Scope<'_>) -> Item {
        let whole = annotations.origin.as_ref().map_or_else(|| text.clone(), origin_text);
        let mut segments = self.around.linguistics.segment(&whole);
        match segments.len() {
            0 => term(field, text, TermKind::Word, annotations, scope.node),
            1 => term(field, segments.remove(0), TermKind::Word, annotations, scope.node),
            _ => {
                let inner = Annotations { id: None, connectivity: None, ..annotations.clone() };
                let words =
                    segments.into_iter().map(|segment| term(field, segment, TermKind::Word, inner.clone(), scope.node));
                let phrase = Phrase { field: field.to_owned(), items: words.collect(), segmented: Some(whole) };
                item(Operator::Phrase(phrase), leaf_only(annotations), scope.node)
            }
        }
    }

    fn phrase(&mut self, field: &str, arguments: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let segmented = if scope.has_own_origin() { scope.origin()?.map(|origin| origin_text(&origin)) } else { None };
        let mut items = Vec::new();
        for argument in arguments {
            let inner = scope.beside(argument);
            let word = match &argument.kind {
                NodeKind::Call(name, nested) if name == "phrase" => self.phrase(field, nested, &inner, within)?,
                NodeKind::Call(name, nested) if name == "alternatives" => self.alternatives(field, nested, &inner)?,
                NodeKind::Call(name, _) => {
                    return Err(fault(argument, format!("Expected phrase or word alternatives, got {name}")));
                }
                _ => self.word(field, &inner, within, segmented.is_none())?,
            };
            match word.operator {
                // A phrase written in a phrase is part of it.
                Operator::Phrase(Phrase { items: words, segmented: None, .. }) => items.extend(words),
                _ => items.push(word),
            }
        }
        let annotations = self.note_annotations(scope.leaf_annotations()?, scope.node);
        Ok(item(Operator::Phrase(Phrase { field: field.to_owned(), items, segmented }), annotations, scope.node))
    }

    fn near(
        &mut self,
        field: &str,
        ordered: bool,
        arguments: &[Node],
        scope: &Scope<'_>,
        within: Within<'_>,
    ) -> Built<Item> {
        let name = if ordered { "ONEAR" } else { "NEAR" };
        let (mut items, mut negatives) = (Vec::new(), Vec::new());
        for argument in arguments {
            if let NodeKind::Not(negated) = &argument.kind {
                if items.is_empty() {
                    let message = format!("Must have some positive term before negative terms in {name}");
                    return Err(fault(argument, message));
                }
                negatives.push(self.near_child(field, negated, scope, within)?);
            } else if negatives.is_empty() {
                items.push(self.near_child(field, argument, scope, within)?);
            } else {
                return Err(fault(argument, format!("Positive terms must come before negative terms in {name}")));
            }
        }
        if items.is_empty() {
            return Err(fault(scope.node, format!("Expected 1 or more arguments in {name}, got 0.")));
        }
        let distance = scope.count("distance")?.unwrap_or(NEAR_DISTANCE);
        let exclusion_distance = scope.count("exclusionDistance")?.filter(|_| !negatives.is_empty());
        let near = Near { items, negatives, distance, exclusion_distance, ordered };
        Ok(item(Operator::Near(near), Annotations::default(), scope.node))
    }

    fn near_child(&mut self, field: &str, node: &Node, scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let inner = scope.beside(node);
        match &node.kind {
            NodeKind::Call(name, _) if !["equiv", "phrase", "alternatives"].contains(&name.as_str()) => {
                Err(fault(node, format!("Expected equiv, phrase, or alternatives, but got: {name}")))
            }
            _ => self.leaf(field, &inner, within),
        }
    }

    fn equiv(&mut self, field: &str, arguments: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        if arguments.len() < 2 {
            return Err(fault(scope.node, format!("Expected 2 or more arguments, got {}.", arguments.len())));
        }
        let mut items = Vec::new();
        for argument in arguments {
            match &argument.kind {
                NodeKind::Call(name, _) if name != "phrase" => {
                    return Err(fault(argument, format!("Expected function 'phrase', got '{name}'.")));
                }
                _ => items.push(self.leaf(field, &scope.beside(argument), within)?),
            }
            let part = |item: &Item| matches!(&item.operator, Operator::Term(term) if is_part(term.kind));
            if items.last().is_some_and(part) {
                let message =
                    "Equiv can only have words, word alternatives, numbers and phrases as children, no parts of words";
                return Err(fault(argument, message));
            }
        }
        let annotations = self.note_annotations(scope.leaf_annotations()?, scope.node);
        Ok(item(Operator::Equiv(items), annotations, scope.node))
    }

    fn alternatives(&mut self, field: &str, arguments: &[Node], scope: &Scope<'_>) -> Built<Item> {
        let [Node { kind: NodeKind::Map(entries), .. }] = arguments else {
            let got = arguments.first().map_or("nothing", Node::kind_name);
            return Err(fault(scope.node, format!("Expected MAP, got {got}.")));
        };
        let mut words = Vec::new();
        for (word, exactness) in entries {
            let exactness = match exactness.kind {
                NodeKind::Float(number) => number,
                _ => {
                    let message = format!("Expected a floating point number like 1.0, got {}.", exactness.value_name());
                    return Err(fault(exactness, message));
                }
            };
            words.push((word.clone(), exactness));
        }
        sort_by(&mut words, |a, b| b.1.total_cmp(&a.1));
        let mut seen = std::collections::BTreeSet::new();
        words.retain(|(word, _)| seen.insert(word.clone()));
        let annotations = Annotations {
            implicit_transforms: scope.boolean("implicitTransforms")?.unwrap_or(true),
            origin: scope.origin()?,
            ..self.note_annotations(scope.leaf_annotations()?, scope.node)
        };
        Ok(item(Operator::Alternatives(Alternatives { field: field.to_owned(), words }), annotations, scope.node))
    }

    fn uri(&mut self, field: &str, arguments: &[Node], scope: &Scope<'_>) -> Built<Item> {
        let [address] = arguments else {
            return Err(fault(scope.node, format!("Expected 1 argument, got {}.", arguments.len())));
        };
        let text = self.text_of(address)?;
        if text.is_empty() {
            return Err(fault(address, "The word of a word item cannot be empty"));
        }
        let uri = Uri {
            field: field.to_owned(),
            words: self.around.linguistics.segment(&text),
            text,
            start_anchor: scope.boolean("startAnchor")?.unwrap_or(false),
            end_anchor: scope.boolean("endAnchor")?.unwrap_or(false),
        };
        Ok(item(Operator::Uri(uri), Annotations::default(), scope.node))
    }

    fn fuzzy(&mut self, field: &str, arguments: &[Node], scope: &Scope<'_>) -> Built<Item> {
        let [text] = arguments else {
            return Err(fault(scope.node, format!("Expected 1 argument, got {}.", arguments.len())));
        };
        let fuzzy = Fuzzy {
            field: field.to_owned(),
            text: self.text_of(text)?,
            max_edit_distance: scope.count("maxEditDistance")?.unwrap_or(MAX_EDIT_DISTANCE),
            prefix_length: scope.count("prefixLength")?.unwrap_or(0),
            prefix: scope.boolean("prefix")?.unwrap_or(false),
        };
        let annotations = self.note_annotations(scope.leaf_annotations()?, scope.node);
        Ok(item(Operator::Fuzzy(fuzzy), annotations, scope.node))
    }

    fn same_element(&mut self, field: &str, arguments: &[Node], scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        if arguments.is_empty() {
            return Err(fault(scope.node, "Expected 1 or more arguments in sameElement, got 0."));
        }
        if field.is_empty() {
            return Err(fault(scope.node, "Field name cannot be empty: a sameElement in a sameElement needs one."));
        }
        let expanded = within.expand(field);
        let inside = Within::element_of(&expanded);
        let mut items = Vec::new();
        for argument in arguments {
            items.push(self.expression(&scope.beside(argument), inside)?);
        }
        let filter = scope.integers("elementFilter")?;
        let mut element_filter = filter.into_iter().map(element_number).collect::<Built<Vec<u32>>>()?;
        sort(&mut element_filter);
        element_filter.dedup();
        let same = SameElement { field: field.to_owned(), items, element_filter };
        Ok(item(Operator::SameElement(same), Annotations::default(), scope.node))
    }

    /// `field[2] = value`: the element of that number is the value.
    pub fn element(&mut self, left: &Node, value: &Node, scope: &Scope<'_>, within: Within<'_>) -> Built<Item> {
        let NodeKind::Index(field, index) = &left.kind else {
            return Err(fault(left, format!("Expected INDEX, got {}.", left.kind_name())));
        };
        let number = element_number(index)?;
        let field = self.field(field, within)?;
        let text = match &value.kind {
            NodeKind::Integer(number) => number.to_string(),
            NodeKind::Float(number) => crate::number::display_float(*number),
            NodeKind::Boolean(truth) => truth.to_string(),
            _ => self.text_of(value)?,
        };
        let expanded = within.expand(&field);
        let word = Word { field: "", text, segmented: true };
        let element = self.word_of(word, &scope.below(value), Within::element_of(&expanded))?;
        let same = SameElement { field, items: vec![element], element_filter: vec![number] };
        Ok(item(Operator::SameElement(same), Annotations::default(), scope.node))
    }
}

/// A term item.
pub(super) fn term(field: &str, text: String, kind: TermKind, annotations: Annotations, node: &Node) -> Item {
    item(Operator::Term(Term { field: field.to_owned(), text, kind }), annotations, node)
}

/// Whether a term is compared with a part of a word.
fn is_part(kind: TermKind) -> bool {
    matches!(kind, TermKind::Prefix | TermKind::Suffix | TermKind::Substring)
}

/// Which of `prefix`, `suffix` and `substring` is asked for.
fn affix(scope: &Scope<'_>) -> Built<Option<TermKind>> {
    let mut kinds = Vec::new();
    let names = [("prefix", TermKind::Prefix), ("suffix", TermKind::Suffix), ("substring", TermKind::Substring)];
    for (name, kind) in names {
        if scope.boolean(name)?.unwrap_or(false) {
            kinds.push(kind);
        }
    }
    if kinds.len() > 1 {
        return Err(fault(scope.node, "Only one of prefix, substring and suffix can be set."));
    }
    Ok(kinds.pop())
}

/// The annotations of a phrase that was cut from a literal: what concerns the text is with its words.
fn leaf_only(annotations: Annotations) -> Annotations {
    let text = Annotations::default();
    Annotations {
        stem: text.stem,
        normalize_case: text.normalize_case,
        accent_drop: text.accent_drop,
        use_position_data: text.use_position_data,
        origin: None,
        ..annotations
    }
}

/// The part of the original text an origin means; its numbers are UTF-16 units, checked when it was read.
fn origin_text(origin: &Origin) -> String {
    let units: Vec<u16> = origin.original.encode_utf16().collect();
    let start = (origin.offset as usize).min(units.len());
    let end = start.saturating_add(origin.length as usize).min(units.len());
    String::from_utf16_lossy(&units[start..end])
}

fn element_number(node: &Node) -> Built<u32> {
    match node.kind {
        NodeKind::Integer(number) if number < 0 => {
            Err(fault(node, format!("element id must be non-negative, got: {number}")))
        }
        NodeKind::Integer(number) => i32::try_from(number)
            .map(i32::cast_unsigned)
            .map_err(|_| fault(node, format!("element id must fit in int32 range, got: {number}"))),
        _ => Err(fault(node, format!("element id must be integer, got {}", node.value_name()))),
    }
}
