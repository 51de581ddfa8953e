//! Binding a query tree to a schema: names become columns, texts become what columns hold, items become terms.
//!
//! Here are the nodes of the tree; [`binder`] holds what was made of them, [`names`] finds the columns a name means,
//! [`named`] what names of schemas settle, [`targets`] what an item asks of them, [`wording`] what a word does.
mod binder;
mod named;
mod names;
mod number;
mod targets;
mod wording;

use std::collections::VecDeque;
use std::rc::Rc;

use brooklet_kernel::sort;
use brooklet_query::annotations::{Annotations, Typed};
use brooklet_query::tree;
use brooklet_query::tree::{Item, NearestNeighbor, Operator, TextRange};
use brooklet_rank::match_data::{DocumentFrequency, FieldId, QueryTerm, QueryTerms};
use brooklet_schema::{Normalizing, SignificanceModel};
use brooklet_segment::column::text::normalise;
use brooklet_segment::layout::{ColumnKind, ColumnSpec};
use brooklet_task::{Code, Issues, Rejection, Span, limits};

use super::condition::{Labeled, Leaf, Near, Node, SameElement, Target, Test};
use super::inputs::Inputs;
use crate::deployed::analysis::Analysis;
use crate::deployed::{DeployedSchema, metric_of};
use crate::nearest::{Nearest, Point};
use binder::{Binder, Reading};

/// A bound tree.
pub(crate) struct Bound {
    pub(crate) root: Node,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) nearest: Vec<Nearest>,
    pub(crate) near: Vec<Near>,
    pub(crate) same_elements: Vec<SameElement>,
    pub(crate) labeled: Vec<Labeled>,
    pub(crate) terms: QueryTerms,
}

/// Binds `item` to `schema`. `sole`: whether no other schema is searched; `ranks_words`: whether exact words are to count
/// for more than their variants. What is refused is found in `statement`, the
/// text that the places of items are in. `significance` tells how rare words are.
pub(crate) fn bind(
    item: &Item,
    (schema, analysis): (&DeployedSchema, &Analysis),
    (sole, ranks_words): (bool, bool),
    (inputs, significance): (&Inputs, Option<&SignificanceModel>),
    statement: Option<&str>,
    issues: &mut Issues,
) -> Result<Bound, Rejection> {
    let mut binder = Binder {
        deployed: schema,
        schema: &schema.schema,
        analysis,
        sole,
        ranks_words,
        reading: Reading::Variants { slips: 0 },
        inputs,
        significance,
        issues,
        scope: None,
        at: TextRange::default(),
        leaves: Vec::new(),
        nearest: Vec::new(),
        near: Vec::new(),
        same_elements: Vec::new(),
        labeled: Vec::new(),
        terms: Vec::new(),
    };
    let root = binder.item(item, true).map_err(|rejection| {
        let span = statement.map(|statement| Span::locate(statement, binder.at.start));
        Rejection { span: rejection.span.or(span), ..rejection }
    })?;
    Ok(Bound {
        root,
        leaves: binder.leaves,
        nearest: binder.nearest,
        near: binder.near,
        same_elements: binder.same_elements,
        labeled: binder.labeled,
        terms: QueryTerms::new(binder.terms),
    })
}

impl Binder<'_> {
    /// `counts`: whether the item is where ranking sees it (not below a `not`).
    pub(crate) fn item(&mut self, item: &Item, counts: bool) -> Result<Node, Rejection> {
        self.at = item.place;
        Ok(match &item.operator {
            Operator::True => Node::True,
            Operator::False | Operator::Null => Node::False,
            Operator::And(items) if items.is_empty() => Node::False,
            Operator::And(items) => Node::And(self.items(items, counts)?),
            Operator::Or(items) => Node::Or(self.items(items, counts)?),
            Operator::WeakAnd(weak) => {
                let name = self.schema.name.as_str();
                let rest: Vec<&Item> = weak.items.iter().filter(|item| !named::is_everything(item, name)).collect();
                // The name of the schema makes no weakAnd match all, unless nothing else is in it.
                let rest = if rest.is_empty() { weak.items.iter().collect() } else { rest };
                Node::Or(rest.into_iter().map(|item| self.item(item, counts)).collect::<Result<_, _>>()?)
            }
            Operator::Rank(items) => {
                let mut nodes = self.items(items, counts)?;
                if nodes.is_empty() {
                    return Ok(Node::False);
                }
                let rest = nodes.split_off(1);
                Node::Rank(Box::new(nodes.remove(0)), rest)
            }
            Operator::AndNot(not) => {
                let positive = self.item(&not.positive, counts)?;
                Node::AndNot(Box::new(positive), self.items(&not.negatives, false)?)
            }
            Operator::Term(term) if term.field == named::FIELD => {
                if term.text == self.schema.name {
                    Node::True
                } else {
                    Node::False
                }
            }
            Operator::Near(near) => self.near(near, counts)?,
            Operator::SameElement(same) => self.same_element(same, item, counts)?,
            Operator::Labeled(labeled) => {
                let node = self.item(&labeled.item, counts)?;
                self.labeled.push(Labeled { label: labeled.label.clone(), score: labeled.score, node });
                Node::Labeled(self.labeled.len() - 1)
            }
            Operator::NearestNeighbor(nearest) if self.scope.is_none() => {
                self.nearest(nearest, &item.annotations, counts)?
            }
            // Stored predicates cannot be searched in streaming mode: none matches.
            Operator::Predicate(_) => Node::False,
            Operator::Term(term) if self.scope.is_none() => match self.grams(term)? {
                Some(grams) => {
                    let gram = |text: String| {
                        let operator = Operator::Term(tree::Term { text, ..term.clone() });
                        Ok(Node::Leaf(self.leaf(&Item { operator, ..item.clone() }, counts)?))
                    };
                    Node::And(grams.into_iter().map(gram).collect::<Result<_, Rejection>>()?)
                }
                None => Node::Leaf(self.word(item, &term.text, counts)?),
            },
            Operator::Number(number) => match self.word_of_number(number, item.annotations.typed)? {
                Some(word) => self.item(&Item { operator: Operator::Term(word), ..item.clone() }, counts)?,
                None => Node::Leaf(self.leaf(item, counts)?),
            },
            _ => Node::Leaf(self.leaf(item, counts)?),
        })
    }

    pub(crate) fn items(&mut self, items: &[Item], counts: bool) -> Result<Vec<Node>, Rejection> {
        items.iter().map(|item| self.item(item, counts)).collect()
    }

    /// Adds the leaf of a word: for what is asked where nothing has it or its variants too, and beside it, for ranking
    /// alone, the leaf of the exact word.
    pub(crate) fn word(&mut self, item: &Item, text: &str, counts: bool) -> Result<usize, Rejection> {
        let leaf = self.leaf(item, counts)?;
        if !counts {
            return Ok(leaf);
        }
        if item.annotations.typed != Typed::No && item.annotations.stem {
            let folded = normalise(text, Normalizing::LowercaseAndFold);
            for slips in 1..=brooklet_text::slips_forgiven(&folded) as u8 {
                let forgiving = self.read(item, Reading::Variants { slips })?;
                if forgiving.iter().any(|target| wording::slips_of(&target.test) > 0) {
                    self.leaves[leaf].otherwise.push_back(forgiving);
                }
            }
        }
        let has_variants = self.leaves[leaf].targets.iter().any(|target| wording::has_variants(&target.test));
        if self.ranks_words && item.annotations.ranked && has_variants {
            let targets = self.read(item, Reading::Exact)?;
            let exact = self.add_term(&targets, item, false, 1)?;
            let (of, positions) = (&self.leaves[leaf], item.annotations.use_position_data);
            let (term, shares_fields) = (of.term, of.shares_fields);
            self.terms[term].exact = Some(exact);
            let otherwise = VecDeque::new();
            self.leaves.push(Leaf { targets, term: exact, positions, shares_fields, negated: false, otherwise });
        }
        Ok(leaf)
    }

    /// What an item asks where its words are read so.
    pub(crate) fn read(&mut self, item: &Item, reading: Reading) -> Result<Vec<Target>, Rejection> {
        let before = std::mem::replace(&mut self.reading, reading);
        let targets = self.targets(item);
        self.reading = before;
        targets
    }

    /// Adds a leaf and its query term.
    pub(crate) fn leaf(&mut self, item: &Item, counts: bool) -> Result<usize, Rejection> {
        let targets = self.targets(item)?;
        let words = match &item.operator {
            Operator::Phrase(phrase) => targets::count_words(&phrase.items),
            Operator::Uri(uri) => uri.words.len(),
            _ => 1,
        };
        let term = self.add_term(&targets, item, counts, words as u32)?;
        let fields: usize = self.terms[term].fields.len();
        let positions = item.annotations.use_position_data && !matches!(item.operator, Operator::In(_));
        // What equivalents find at one place counts once.
        let equivalents = matches!(item.operator, Operator::Equiv(_) | Operator::Alternatives(_));
        let repeats = equivalents && targets.iter().any(targets::repeats_places);
        let shares_fields = targets.len() > fields || repeats;
        let otherwise = VecDeque::new();
        self.leaves.push(Leaf { targets, term, positions, shares_fields, negated: !counts, otherwise });
        Ok(self.leaves.len() - 1)
    }

    pub(crate) fn add_term(
        &mut self,
        targets: &[Target],
        item: &Item,
        counts: bool,
        words: u32,
    ) -> Result<usize, Rejection> {
        if self.terms.len() >= limits::QUERY_TERMS {
            let message = format!("The query has more than {} terms", limits::QUERY_TERMS);
            return Err(Rejection::new(Code::InvalidQueryParameter, message));
        }
        let annotations = &item.annotations;
        let mut fields: Vec<FieldId> = targets.iter().map(|target| target.field).collect();
        sort(&mut fields);
        fields.dedup();
        let mut term = QueryTerm::new(fields);
        term.weight = annotations.weight;
        term.significance = annotations.significance;
        term.document_frequency = annotations
            .document_frequency
            .map(|of| DocumentFrequency { frequency: of.frequency as f64, count: of.count as f64 })
            .or_else(|| self.modelled_frequency(item));
        term.id = annotations.id;
        term.connectivity = annotations.connectivity.map(|to| (to.id, to.weight));
        term.label = annotations.label.clone();
        term.ranked = annotations.ranked && counts;
        term.words = words;
        self.terms.push(term);
        Ok(self.terms.len() - 1)
    }

    /// What the significance model knows of a word of which the query does not say how rare it is.
    pub(crate) fn modelled_frequency(&self, item: &Item) -> Option<DocumentFrequency> {
        let model = self.significance.filter(|_| item.annotations.significance.is_none())?;
        let Operator::Term(term) = &item.operator else { return None };
        let frequency = model.frequency(&term.text.to_lowercase()) as f64;
        Some(DocumentFrequency { frequency, count: model.documents as f64 })
    }

    pub(crate) fn near(&mut self, near: &tree::Near, counts: bool) -> Result<Node, Rejection> {
        if near.items.iter().any(named::is_name) {
            return self.near_of_name(near, counts);
        }
        let mut leaves = |items: &[Item], counts: bool| -> Result<Vec<usize>, Rejection> {
            let leaf = |item: &Item| match self.item(item, counts)? {
                Node::Leaf(leaf) => Ok(leaf),
                _ => {
                    let name = if near.ordered { "onear" } else { "near" };
                    let message = format!("{name} takes words, phrases and equivalents, no other operators");
                    Err(Rejection::new(Code::InvalidQueryParameter, message))
                }
            };
            items.iter().map(leaf).collect()
        };
        let (positives, negatives) = (leaves(&near.items, counts)?, leaves(&near.negatives, false)?);
        if positives.is_empty() {
            return Ok(Node::False);
        }
        self.near.push(Near {
            leaves: positives,
            negatives,
            distance: near.distance,
            exclusion_distance: near.exclusion_distance.unwrap_or(near.distance.saturating_add(1) / 2),
            ordered: near.ordered,
        });
        Ok(Node::Near(self.near.len() - 1))
    }

    /// A near with the name of a schema in it, which is everything or nothing and has no place: without it.
    fn near_of_name(&mut self, near: &tree::Near, counts: bool) -> Result<Node, Rejection> {
        let (names, items): (Vec<Item>, Vec<Item>) = near.items.iter().cloned().partition(named::is_name);
        let all = names.iter().all(|item| named::is_everything(item, &self.schema.name));
        match (all, items.is_empty()) {
            (false, _) => Ok(Node::False),
            (true, true) => Ok(Node::True),
            (true, false) => self.near(&tree::Near { items, ..near.clone() }, counts),
        }
    }

    #[inline(never)]
    pub(crate) fn same_element(
        &mut self,
        same: &tree::SameElement,
        item: &Item,
        counts: bool,
    ) -> Result<Node, Rejection> {
        if self.scope.is_some() {
            let message = format!("sameElement in '{}' stands inside another one", Rejection::quote(&same.field));
            return Err(Rejection::new(Code::InvalidQueryParameter, message));
        }
        let name = tree::index_of(&same.field);
        let field = self.schema.query_field(name);
        let known = field.and_then(|field| Some((field.name.clone(), self.deployed.field_id(&field.name)?)));
        let Some((name, field)) = known else {
            self.report_unsearchable(name);
            return Ok(Node::False);
        };
        // The whole comes before its conditions, and is not ranked if one of these is about the element itself.
        let hidden = same.items.iter().any(names_element);
        let target = Target { field, spec: ColumnSpec::ids(), test: Test::Elements, within: None };
        let term = self.add_term(std::slice::from_ref(&target), item, counts && !hidden, 1)?;
        self.leaves.push(Leaf {
            targets: vec![target],
            term,
            positions: false,
            shares_fields: false,
            negated: !counts,
            otherwise: VecDeque::new(),
        });
        let leaf = self.leaves.len() - 1;
        self.scope = Some(name.clone());
        let conditions = self.items(&same.items, counts);
        self.scope = None;
        let condition = Node::And(conditions?);
        self.same_elements.push(SameElement { field: name, leaf, condition, filter: same.element_filter.clone() });
        Ok(Node::SameElement(self.same_elements.len() - 1))
    }

    #[inline(never)]
    pub(crate) fn nearest(
        &mut self,
        nearest: &NearestNeighbor,
        annotations: &Annotations,
        counts: bool,
    ) -> Result<Node, Rejection> {
        let wanted = target_hits(nearest)?;
        let name = format!("NearestNeighborQueryNode({}, {})", nearest.field, nearest.query_tensor);
        let field = self.schema.query_field(&nearest.field);
        let Some(field) = field else {
            self.issues
                .report(Code::ErrorInReply, format!("No valid indexes registered for index '{}'", nearest.field));
            return Ok(Node::False);
        };
        let brooklet_document::DataType::Tensor(of) = &field.data_type else {
            let message =
                format!("field '{}' is of type {}, which nearestNeighbor cannot search", field.name, field.data_type);
            return Err(Rejection::new(Code::InvalidQueryParameter, message));
        };
        let spec = self.deployed.column(&field.name, |kind| matches!(kind, ColumnKind::Vectors { .. }));
        if !self.inputs.is_set(&nearest.query_tensor) {
            self.issues.report(Code::ErrorInReply, format!("Could not find query tensor for {name}"));
            return Ok(Node::False);
        }
        let values = self.inputs.vector(&nearest.query_tensor, of);
        let (Some(spec), Some(values)) = (spec, values) else {
            let reason = match spec {
                Some(_) => format!("the query tensor does not fit the field's type {of}"),
                None => format!("the field is no attribute of one indexed dimension; its type is {of}"),
            };
            self.issues.report(Code::ErrorInReply, format!("Could not create DistanceCalculator for {name}: {reason}"));
            return Ok(Node::False);
        };
        if values.iter().any(|value| value.is_nan()) {
            let message = format!(
                "nearestNeighbor({}, {}): a cell of the query tensor is not a number",
                nearest.field, nearest.query_tensor
            );
            return Err(Rejection::new(Code::InvalidQueryParameter, message));
        }
        let point = Point::new(metric_of(field), of.cell, values);
        let threshold = nearest.distance_threshold.map_or(f64::INFINITY, |t| point.scale.threshold_to_internal(t));
        self.nearest.push(Nearest {
            field: field.name.clone(),
            spec: spec.clone(),
            target_hits: wanted,
            label: annotations.label.clone(),
            competes: counts && annotations.ranked,
            point: Rc::new(point),
            threshold,
        });
        Ok(Node::Nearest(self.nearest.len() - 1))
    }
}

/// Whether a condition on elements has a ranked term about the element itself rather than a part of it.
fn names_element(item: &Item) -> bool {
    let own = match &item.operator {
        Operator::Term(term) => term.field.is_empty(),
        Operator::Number(term) => term.field.is_empty(),
        Operator::Boolean(term) => term.field.is_empty(),
        Operator::Phrase(phrase) => return phrase.field.is_empty() && item.annotations.ranked,
        Operator::Fuzzy(fuzzy) => fuzzy.field.is_empty(),
        Operator::Regex(regex) => regex.field.is_empty(),
        Operator::AndNot(not) => return names_element(&not.positive),
        Operator::Near(near) => return near.items.iter().any(names_element),
        _ => false,
    };
    own && item.annotations.ranked || item.children().into_iter().any(names_element)
}

/// How many documents an operator matches at most.
fn target_hits(nearest: &NearestNeighbor) -> Result<usize, Rejection> {
    let invalid = |message: String| Err(Rejection::new(Code::InvalidQueryParameter, message));
    let wanted = match (nearest.target_hits, nearest.total_target_hits) {
        (Some(wanted), _) => wanted,
        (None, Some(total)) => total.max(nearest.min_target_hits.unwrap_or(100)),
        (None, None) => {
            let field = &nearest.field;
            return invalid(format!("nearestNeighbor({field}, …): targetHits or totalTargetHits must be set"));
        }
    };
    match wanted as usize {
        0 => invalid("targetHits must be positive, not 0".to_owned()),
        wanted if wanted > limits::TARGET_HITS => {
            invalid(format!("targetHits is {wanted}, at most {} are allowed", limits::TARGET_HITS))
        }
        wanted => Ok(wanted),
    }
}
