//! Matching, term at a time: which documents of a segment a leaf matches, and what ranking will want to know of it.
pub(crate) mod number;
pub(crate) mod text;
pub(crate) mod words;

use brooklet_kernel::Bitmap;
use brooklet_segment::Halt;

use crate::partition::View;
use crate::plan::{Leaf, Node, Target, Test};
use crate::reads::Reads;

/// What a leaf found in one column of a segment.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// Documents with the number of occurrences, by ordinal; and the numbers of the words that count, each with how
    /// often the term is in it.
    Words { postings: Vec<(u32, u32)>, numbers: Vec<(u32, u32)> },
    /// Each occurrence: ordinal and number of its first word in the document; sorted.
    Places(Vec<(u32, u32)>),
    /// Only which documents; ascending.
    Documents(Vec<u32>),
    /// Which elements of documents with several values: ordinal, element, its weight; sorted.
    Elements(Vec<(u32, u32, i32)>),
}

impl Found {
    /// The documents, ascending; one may come several times.
    pub(crate) fn for_each_document(&self, mut each: impl FnMut(u32)) {
        match self {
            Found::Words { postings, .. } => postings.iter().for_each(|(ordinal, _)| each(*ordinal)),
            Found::Places(places) => places.iter().for_each(|(ordinal, _)| each(*ordinal)),
            Found::Documents(documents) => documents.iter().for_each(|ordinal| each(*ordinal)),
            Found::Elements(elements) => elements.iter().for_each(|(ordinal, _, _)| each(*ordinal)),
        }
    }
}

/// What a leaf found in a segment: for each of its targets.
#[derive(Clone, Debug)]
pub(crate) struct LeafMatch {
    pub(crate) found: Vec<Found>,
    pub(crate) documents: Bitmap,
}

/// Matches a leaf against a segment. All blocks that are missing are noted before it halts.
pub(crate) fn match_leaf(leaf: &Leaf, view: &View, reads: &mut Reads) -> Result<LeafMatch, Halt> {
    let mut found = Vec::with_capacity(leaf.targets.len());
    let mut missing = false;
    for target in &leaf.targets {
        match match_target(target, view, reads) {
            Ok(of_target) => found.push(of_target),
            Err(Halt::Missing) => missing = true,
            Err(halt) => return Err(halt),
        }
    }
    if missing {
        return Err(Halt::Missing);
    }
    let mut documents = Bitmap::none(view.segment.header.documents as usize);
    for of_target in &found {
        of_target.for_each_document(|ordinal| documents.set(ordinal as usize));
    }
    documents.and(&view.alive);
    Ok(LeafMatch { found, documents })
}

fn match_target(target: &Target, view: &View, reads: &mut Reads) -> Result<Found, Halt> {
    let Some(column) = view.segment.header.column(&target.spec) else { return Ok(Found::Documents(Vec::new())) };
    match &target.test {
        Test::Words(words) => text::match_words(column, words, view, reads),
        Test::Phrase(words) => text::match_phrase(column, words, view, reads),
        Test::Text { words, text } => text::match_text(column, &target.spec.field, words, text, view, reads),
        Test::Number(test) => number::match_numbers(column, test, view, reads),
    }
}

/// The documents a tree matches, given those of its leaves and nearest-neighbour operators.
pub(crate) fn evaluate(
    node: &Node,
    alive: &Bitmap,
    leaf: &dyn Fn(usize) -> Bitmap,
    nearest: &dyn Fn(usize) -> Bitmap,
) -> Bitmap {
    let all = |nodes: &[Node]| nodes.iter().map(|node| evaluate(node, alive, leaf, nearest)).collect::<Vec<_>>();
    match node {
        Node::True => alive.clone(),
        Node::False => Bitmap::none(alive.len()),
        Node::Leaf(index) => leaf(*index),
        Node::Nearest(index) => nearest(*index),
        Node::And(nodes) => {
            let mut result = alive.clone();
            all(nodes).iter().for_each(|documents| result.and(documents));
            result
        }
        Node::Or(nodes) => {
            let mut result = Bitmap::none(alive.len());
            all(nodes).iter().for_each(|documents| result.or(documents));
            result
        }
        Node::AndNot(positive, negatives) => {
            let mut result = evaluate(positive, alive, leaf, nearest);
            all(negatives).iter().for_each(|documents| result.and_not(documents));
            result
        }
        Node::Rank(first, _) => evaluate(first, alive, leaf, nearest),
    }
}
