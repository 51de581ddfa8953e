//! What depends on where terms stand: near, onear and sameElement. CompositeMatches document at a time, for the documents that
//! can still match; of the terms inside only what took part in a match is kept, so that ranking sees no more.
use std::collections::BTreeMap;

use brooklet_kernel::Bitmap;
use brooklet_rank::match_data::Occurrence;
use brooklet_segment::{Gaps, Halt, read_document};
use brooklet_task::{Code, Rejection, limits};

use super::found::{CompositeMatches, Kept, LeafHits, LeafMatch};
use super::near::{Rule, is_inside};
use super::occurrences::{FieldHits, leaf_hits};
use crate::plan::SchemaPlan;
use crate::plan::condition::{Leaf, Near, Node, SameElement};
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Missing blocks after which no more are looked for.
const MISSING_MAX: usize = 64;

/// How far the composites of a view are settled.
pub(crate) struct Settlement {
    /// The composites that are not inside another one, with the documents they may match.
    asked: Vec<(Node, Bitmap)>,
    settled: CompositeMatches,
    kept: BTreeMap<usize, KeptOfFields>,
    /// The first document that was not looked at.
    next: usize,
}

/// The composites of a view, once its leaves are matched, from where `progress` is. `leaves` are changed when all is known,
/// and only then. All blocks that are missing are noted before it halts; if none are, the step has worked enough.
pub(crate) fn match_composites(
    plan: &SchemaPlan,
    view: &View,
    leaves: &mut [LeafMatch],
    progress: &mut Option<Settlement>,
    reads: &mut Reads,
) -> Result<CompositeMatches, Halt> {
    let none = Bitmap::none(view.alive.len());
    let settled = || CompositeMatches {
        near: vec![none.clone(); plan.near.len()],
        same_elements: vec![none.clone(); plan.same_elements.len()],
    };
    if plan.near.is_empty() && plan.same_elements.is_empty() {
        return Ok(settled());
    }
    let settling = Settling { plan, view, leaves };
    let mut own = progress.take().unwrap_or_else(|| Settlement {
        asked: settling.asked(),
        settled: settled(),
        kept: BTreeMap::new(),
        next: 0,
    });
    if let Err(halt) = settling.go_on(&mut own, reads) {
        *progress = Some(own);
        return Err(halt);
    }
    let Settlement { asked, settled, mut kept, .. } = own;
    for (composite, _) in &asked {
        inner_leaves(composite, plan, &mut |leaf| {
            kept.entry(leaf).or_default();
        });
    }
    for (leaf, of_fields) in kept {
        let before = std::mem::take(&mut leaves[leaf].found);
        leaves[leaf] = replace_leaf(&plan.leaves[leaf], before, of_fields, view);
    }
    Ok(settled)
}

type KeptOfFields = Vec<(brooklet_rank::match_data::FieldId, Kept)>;

fn keep(kept: &mut BTreeMap<usize, KeptOfFields>, hits: Hits, ordinal: u32) {
    for (leaf, fields) in hits.0 {
        let of_leaf = kept.entry(leaf).or_default();
        for hits in fields {
            let place = of_leaf.iter().position(|(field, _)| *field == hits.field).unwrap_or_else(|| {
                of_leaf.push((hits.field, Kept::default()));
                of_leaf.len() - 1
            });
            of_leaf[place].1.push(ordinal, hits.occurrences, hits.length);
        }
    }
}

/// What a leaf found, when this is all that counts of it.
fn replace_leaf(leaf: &Leaf, before: Vec<LeafHits>, mut of_fields: KeptOfFields, view: &View) -> LeafMatch {
    let mut documents = Bitmap::none(view.alive.len());
    let found = leaf.targets.iter().zip(before).map(|(target, before)| {
        // All targets of a field found what the first of them has now.
        let place = of_fields.iter().position(|(field, _)| *field == target.field);
        let kept = place.map(|place| of_fields.swap_remove(place).1).unwrap_or_default();
        match before {
            // Raw scores want the weights of the elements too.
            LeafHits::Weighted(mut hits) => {
                hits.retain(|hit| kept.has(hit.ordinal, hit.element));
                LeafHits::Weighted(hits)
            }
            _ => LeafHits::Kept(kept),
        }
    });
    let found: Vec<LeafHits> = found.collect();
    found.iter().for_each(|found| found.add_to(&mut documents));
    LeafMatch { found, documents }
}

/// The composites that are not inside another one.
fn outer_composites(node: &Node, plan: &SchemaPlan, out: &mut Vec<Node>) {
    match node {
        Node::Near(_) | Node::SameElement(_) => out.push(node.clone()),
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().for_each(|node| outer_composites(node, plan, out)),
        Node::AndNot(first, rest) | Node::Rank(first, rest) => {
            outer_composites(first, plan, out);
            rest.iter().for_each(|node| outer_composites(node, plan, out));
        }
        Node::Labeled(index) => outer_composites(&plan.labeled[*index].node, plan, out),
        Node::True | Node::False | Node::Leaf(_) | Node::Nearest(_) => {}
    }
}

/// The leaves of a composite, at every depth.
pub(super) fn inner_leaves(node: &Node, plan: &SchemaPlan, each: &mut dyn FnMut(usize)) {
    match node {
        Node::Leaf(leaf) => each(*leaf),
        Node::Near(index) => {
            let near = &plan.near[*index];
            near.leaves.iter().chain(&near.negatives).for_each(|leaf| each(*leaf));
        }
        Node::SameElement(index) => {
            each(plan.same_elements[*index].leaf);
            inner_leaves(&plan.same_elements[*index].condition, plan, each);
        }
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().for_each(|node| inner_leaves(node, plan, each)),
        Node::AndNot(first, rest) | Node::Rank(first, rest) => {
            inner_leaves(first, plan, each);
            rest.iter().for_each(|node| inner_leaves(node, plan, each));
        }
        Node::Labeled(index) => inner_leaves(&plan.labeled[*index].node, plan, each),
        Node::True | Node::False | Node::Nearest(_) => {}
    }
}

/// What leaves found in the document looked at; parts that take no part in a match are taken out.
#[derive(Default)]
struct Hits(BTreeMap<usize, Vec<FieldHits>>);

impl Hits {
    fn retain(&mut self, leaf: usize, keep: impl Fn(&FieldHits, &Occurrence) -> bool) {
        for hits in self.0.get_mut(&leaf).into_iter().flatten() {
            let own = std::mem::take(&mut hits.occurrences);
            hits.occurrences = own.into_iter().filter(|occurrence| keep(hits, occurrence)).collect();
        }
    }

    fn elements(&self, leaf: usize) -> Vec<u32> {
        let hits = self.0.get(&leaf).into_iter().flatten();
        sort_elements(hits.flat_map(|hits| hits.occurrences.iter().map(|occurrence| occurrence.element)).collect())
    }
}

fn too_many_places() -> Rejection {
    let most = limits::NEAR_PLACES;
    let message = format!(
        "The terms of near, onear and sameElement stand in more than {most} places of one document (L-near): name fewer"
    );
    Rejection::new(Code::BadRequest, message)
}

fn sort_elements(mut elements: Vec<u32>) -> Vec<u32> {
    elements.sort_unstable();
    elements.dedup();
    elements
}

/// Elements of a field for which a condition holds.
enum Elements {
    These(Vec<u32>),
    AllBut(Vec<u32>),
}

impl Elements {
    fn and(self, other: Elements) -> Elements {
        use Elements::{AllBut, These};
        match (self, other) {
            (These(a), These(b)) => These(a.into_iter().filter(|element| b.binary_search(element).is_ok()).collect()),
            (These(a), AllBut(b)) | (AllBut(b), These(a)) => {
                These(a.into_iter().filter(|element| b.binary_search(element).is_err()).collect())
            }
            (AllBut(a), AllBut(b)) => AllBut(sort_elements([a, b].concat())),
        }
    }

    fn not(self) -> Elements {
        match self {
            Elements::These(elements) => Elements::AllBut(elements),
            Elements::AllBut(elements) => Elements::These(elements),
        }
    }

    fn or(self, other: Elements) -> Elements {
        self.not().and(other.not()).not()
    }
}

struct Settling<'a> {
    plan: &'a SchemaPlan,
    view: &'a View,
    leaves: &'a [LeafMatch],
}

impl Settling<'_> {
    /// The composites that are not inside another one, with the documents they may match.
    fn asked(&self) -> Vec<(Node, Bitmap)> {
        let possible = self.possible(&self.plan.root);
        let mut outer = Vec::new();
        outer_composites(&self.plan.root, self.plan, &mut outer);
        let with_documents = |composite| {
            let mut documents = self.possible(&composite);
            documents.and(&possible);
            (composite, documents)
        };
        outer.into_iter().map(with_documents).collect()
    }

    /// Looks at the next documents, as far as a step comes.
    fn go_on(&self, own: &mut Settlement, reads: &mut Reads) -> Result<(), Halt> {
        let Settlement { asked, settled, kept, next } = own;
        let mut any = Bitmap::none(self.view.alive.len());
        asked.iter().for_each(|(_, documents)| any.or(documents));
        let first = *next;
        let mut gaps = Gaps::default();
        for ordinal in any.ones().filter(|ordinal| *ordinal >= first) {
            if !gaps.are_there() && reads.is_tired() {
                return Err(Halt::Missing);
            }
            let (mut places, mut found) = (0, Vec::new());
            for (composite, _) in asked.iter().filter(|(_, documents)| documents.get(ordinal)) {
                let hits = gaps.note(self.document(composite, ordinal as u32, &mut places, reads))?.flatten();
                found.extend(hits.map(|hits| (composite, hits)));
            }
            if reads.missing() > MISSING_MAX {
                return Err(Halt::Missing);
            }
            // What comes after a gap is only asked for what it misses.
            if gaps.are_there() {
                continue;
            }
            for (composite, hits) in found {
                match composite {
                    Node::Near(index) => settled.near[*index].set(ordinal),
                    Node::SameElement(index) => settled.same_elements[*index].set(ordinal),
                    _ => {}
                }
                keep(kept, hits, ordinal as u32);
            }
            *next = ordinal + 1;
        }
        gaps.check()
    }

    /// Documents a tree may match: all that it does match, and more.
    fn possible(&self, node: &Node) -> Bitmap {
        let alive = &self.view.alive;
        let all = |nodes: &[Node]| nodes.iter().map(|node| self.possible(node)).collect::<Vec<_>>();
        match node {
            Node::True | Node::Nearest(_) => (**alive).clone(),
            Node::False => Bitmap::none(alive.len()),
            Node::Leaf(index) => self.leaves[*index].documents.clone(),
            Node::Labeled(index) => self.possible(&self.plan.labeled[*index].node),
            Node::And(nodes) => {
                let mut result = (**alive).clone();
                all(nodes).iter().for_each(|documents| result.and(documents));
                result
            }
            Node::Or(nodes) => {
                let mut result = Bitmap::none(alive.len());
                all(nodes).iter().for_each(|documents| result.or(documents));
                result
            }
            Node::AndNot(first, _) | Node::Rank(first, _) => self.possible(first),
            Node::Near(index) => {
                let mut result = (**alive).clone();
                self.plan.near[*index].leaves.iter().for_each(|leaf| result.and(&self.leaves[*leaf].documents));
                result
            }
            Node::SameElement(index) => self.possible(&self.plan.same_elements[*index].condition),
        }
    }

    /// What the leaves of a composite found that took part in its match; nothing if it does not match.
    /// `places`: how many those of the document's other composites have.
    fn document(
        &self,
        composite: &Node,
        ordinal: u32,
        places: &mut usize,
        reads: &mut Reads,
    ) -> Result<Option<Hits>, Halt> {
        let mut hits = self.hits(composite, ordinal, places, reads)?;
        match composite {
            Node::Near(index) => {
                let matched = self.near(&self.plan.near[*index], &mut hits);
                Ok((!matched.is_empty()).then_some(hits))
            }
            Node::SameElement(index) => {
                let same = &self.plan.same_elements[*index];
                let elements = self.same_element(same, &mut hits, ordinal, reads)?;
                Ok((!elements.is_empty()).then_some(hits))
            }
            _ => Ok(None),
        }
    }

    /// Where the leaves of a composite stand in a document.
    fn hits(&self, composite: &Node, ordinal: u32, places: &mut usize, reads: &mut Reads) -> Result<Hits, Halt> {
        let mut hits = Hits::default();
        let mut halted = None;
        let before = *places;
        inner_leaves(composite, self.plan, &mut |leaf| {
            if !self.leaves[leaf].documents.get(ordinal as usize) || matches!(halted, Some(Halt::Rejected(_))) {
                return;
            }
            match leaf_hits(&self.plan.leaves[leaf], &self.leaves[leaf], self.view, ordinal, reads) {
                Ok(of_leaf) => {
                    *places += of_leaf.iter().map(|hits| hits.occurrences.len()).sum::<usize>();
                    hits.0.insert(leaf, of_leaf);
                    if *places > limits::NEAR_PLACES {
                        halted = Some(Halt::Rejected(too_many_places()));
                    }
                }
                Err(halt) => halted = Some(halt),
            }
        });
        reads.work((*places - before) * size_of::<Occurrence>());
        halted.map_or(Ok(hits), Err)
    }

    /// Leaves only what is inside of windows, and says in which elements these begin.
    fn near(&self, near: &Near, hits: &mut Hits) -> Vec<u32> {
        let mut windows = Vec::new();
        let first = hits.0.get(&near.leaves[0]).into_iter().flatten();
        let fields: Vec<_> = first.map(|hits| hits.field).collect();
        for field in fields {
            let of = |leaf: &usize| {
                let hits = hits.0.get(leaf).into_iter().flatten().find(|hits| hits.field == field);
                hits.map_or(&[][..], |hits| &hits.occurrences[..])
            };
            let terms: Vec<&[Occurrence]> = near.leaves.iter().map(of).collect();
            let negatives: Vec<&[Occurrence]> = near.negatives.iter().map(of).collect();
            let rule = Rule {
                distance: near.distance,
                exclusion_distance: near.exclusion_distance,
                element_gap: self.plan.fields()[field.0 as usize].element_gap,
                ordered: near.ordered,
            };
            windows.push((field, rule.windows(&terms, &negatives)));
        }
        for leaf in &near.leaves {
            hits.retain(*leaf, |hits, occurrence| {
                windows.iter().any(|(field, windows)| *field == hits.field && is_inside(windows, occurrence))
            });
        }
        near.negatives.iter().for_each(|leaf| {
            hits.0.remove(leaf);
        });
        sort_elements(windows.iter().flat_map(|(_, windows)| windows).map(|window| window.first.0).collect())
    }

    /// Leaves only what is in elements for which the conditions hold, and says which these are.
    #[inline(never)]
    fn same_element(
        &self,
        same: &SameElement,
        hits: &mut Hits,
        ordinal: u32,
        reads: &mut Reads,
    ) -> Result<Vec<u32>, Halt> {
        let mut elements = match self.elements(&same.condition, hits) {
            Elements::These(elements) => elements,
            Elements::AllBut(without) => {
                let all = 0..self.count_elements(&same.field, ordinal, reads)?;
                all.filter(|element| without.binary_search(element).is_err()).collect()
            }
        };
        if !same.filter.is_empty() {
            elements.retain(|element| same.filter.contains(element));
        }
        for leaf in hits.0.keys().copied().collect::<Vec<_>>() {
            hits.retain(leaf, |_, occurrence| elements.binary_search(&occurrence.element).is_ok());
        }
        let of = |element: &u32| Occurrence { element: *element, position: 0, element_length: 1, element_weight: 1 };
        let parent = FieldHits {
            field: self.plan.leaves[same.leaf].targets[0].field,
            length: elements.len() as u32,
            occurrences: elements.iter().map(of).collect(),
        };
        hits.0.insert(same.leaf, vec![parent]);
        Ok(elements)
    }

    fn elements(&self, node: &Node, hits: &mut Hits) -> Elements {
        match node {
            Node::True => Elements::AllBut(Vec::new()),
            Node::False | Node::Nearest(_) | Node::SameElement(_) => Elements::These(Vec::new()),
            Node::Leaf(leaf) => Elements::These(hits.elements(*leaf)),
            Node::Near(index) => Elements::These(self.near_or_none(*index, hits)),
            Node::Labeled(index) => self.elements(&self.plan.labeled[*index].node, hits),
            Node::And(nodes) => self.joined(nodes, Elements::and, hits).unwrap_or_else(|| Elements::AllBut(Vec::new())),
            Node::Or(nodes) => self.joined(nodes, Elements::or, hits).unwrap_or_else(|| Elements::These(Vec::new())),
            Node::AndNot(first, rest) => {
                let first = self.elements(first, hits);
                rest.iter().fold(first, |elements, node| elements.and(self.elements(node, hits).not()))
            }
            Node::Rank(first, rest) => {
                rest.iter().for_each(|node| {
                    self.elements(node, hits);
                });
                self.elements(first, hits)
            }
        }
    }

    /// The elements of several nodes; halves are joined, so that no long list is copied for each of them.
    fn joined(&self, nodes: &[Node], join: fn(Elements, Elements) -> Elements, hits: &mut Hits) -> Option<Elements> {
        let (first, second) = match nodes {
            [] => return None,
            [one] => return Some(self.elements(one, hits)),
            several => several.split_at(several.len() / 2),
        };
        let first = self.joined(first, join, hits)?;
        Some(join(first, self.joined(second, join, hits)?))
    }

    fn near_or_none(&self, index: usize, hits: &mut Hits) -> Vec<u32> {
        self.near(&self.plan.near[index], hits)
    }

    /// How many elements a document's field has: needed only where a condition says what must not be.
    fn count_elements(&self, field: &str, ordinal: u32, reads: &mut Reads) -> Result<u32, Halt> {
        use brooklet_document::Value;
        let segment = &self.view.segment;
        let document = read_document(&segment.header, ordinal, &|name| name == field, &mut reads.segment(segment))?;
        Ok(match document.field(field) {
            Some(Value::Array(elements)) => elements.len() as u32,
            Some(Value::WeightedSet(entries)) => entries.len() as u32,
            Some(Value::Map(entries)) => entries.len() as u32,
            Some(_) => 1,
            None => 0,
        })
    }
}
