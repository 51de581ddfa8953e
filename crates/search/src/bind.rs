//! Binding a query tree to a schema: names become columns, texts become what columns hold, items become terms.
mod number;

use std::rc::Rc;

use brooklet_query::annotations::Annotations;
use brooklet_query::tree::{Bound as End, Item, NearestNeighbor, Number, NumberTerm, Operator, Term, TermKind, Values};
use brooklet_rank::match_data::{DocumentFrequency, FieldId, QueryTerm, QueryTerms};
use brooklet_schema::{Field, MatchMode, Normalizing, Schema};
use brooklet_segment::column::text::normalise;
use brooklet_segment::layout::{ColumnKind, ColumnSpec};
use brooklet_task::{Code, Issues, Rejection, limits};

use crate::deployed::{DeployedSchema, metric_of};
use crate::inputs::Inputs;
use crate::nearest::Point;
use crate::plan::{How, Leaf, Nearest, Node, NumberTest, Target, Test, WordTest};
use number::{number_kind, number_of_text, range};

/// A bound tree.
pub(crate) struct Bound {
    pub(crate) root: Node,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) nearest: Vec<Nearest>,
    pub(crate) terms: QueryTerms,
}

/// Binds `item` to `schema`. `sole`: whether no other schema is searched.
pub(crate) fn bind(
    item: &Item,
    schema: &DeployedSchema,
    sole: bool,
    inputs: &Inputs,
    issues: &mut Issues,
) -> Result<Bound, Rejection> {
    let mut binder = Binder {
        deployed: schema,
        schema: &schema.schema,
        sole,
        inputs,
        issues,
        leaves: Vec::new(),
        nearest: Vec::new(),
        terms: Vec::new(),
    };
    let root = binder.item(item, true)?;
    Ok(Bound { root, leaves: binder.leaves, nearest: binder.nearest, terms: QueryTerms::new(binder.terms) })
}

struct Binder<'a> {
    deployed: &'a DeployedSchema,
    schema: &'a Schema,
    sole: bool,
    inputs: &'a Inputs,
    issues: &'a mut Issues,
    leaves: Vec<Leaf>,
    nearest: Vec<Nearest>,
    terms: Vec<QueryTerm>,
}

impl Binder<'_> {
    /// `counts`: whether the item is where ranking sees it (not below a `not`).
    fn item(&mut self, item: &Item, counts: bool) -> Result<Node, Rejection> {
        Ok(match &item.operator {
            Operator::True => Node::True,
            Operator::False | Operator::Null => Node::False,
            Operator::And(items) if items.is_empty() => Node::False,
            Operator::And(items) => Node::And(self.items(items, counts)?),
            Operator::Or(items) => Node::Or(self.items(items, counts)?),
            Operator::WeakAnd(weak) => Node::Or(self.items(&weak.items, counts)?),
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
            Operator::Term(term) if term.field == "sddocname" => {
                if term.text == self.schema.name {
                    Node::True
                } else {
                    Node::False
                }
            }
            Operator::Term(term) => {
                let targets = self.term(term)?;
                self.leaf(targets, item, counts, 1)?
            }
            Operator::Number(term) => {
                let targets = self.number(term)?;
                self.leaf(targets, item, counts, 1)?
            }
            Operator::Boolean(term) => {
                let value = Number::Integer(i64::from(term.value));
                let text = term.value.to_string();
                let (low, high) = (End::Inclusive(value), End::Inclusive(value));
                let number = NumberTerm { field: term.field.clone(), text, low, high, hit_limit: None };
                let targets = self.number(&number)?;
                self.leaf(targets, item, counts, 1)?
            }
            Operator::Phrase(phrase) => {
                let words = phrase_words(&phrase.items)?;
                let targets = self.phrase(&phrase.field, &words)?;
                self.leaf(targets, item, counts, words.len() as u32)?
            }
            Operator::In(list) => {
                let targets = self.values(&list.field, &list.values)?;
                self.leaf(targets, item, counts, 1)?
            }
            Operator::NearestNeighbor(nearest) => self.nearest(nearest, &item.annotations, counts)?,
            other => return Err(unsupported(other)),
        })
    }

    fn items(&mut self, items: &[Item], counts: bool) -> Result<Vec<Node>, Rejection> {
        items.iter().map(|item| self.item(item, counts)).collect()
    }

    /// Adds a leaf and its query term.
    fn leaf(&mut self, targets: Vec<Target>, item: &Item, counts: bool, words: u32) -> Result<Node, Rejection> {
        if self.terms.len() >= limits::QUERY_TERMS {
            let message = format!("The query has more than {} terms", limits::QUERY_TERMS);
            return Err(Rejection::new(Code::InvalidQueryParameter, message));
        }
        let annotations = &item.annotations;
        let mut fields: Vec<FieldId> = targets.iter().map(|target| target.field).collect();
        fields.sort_unstable();
        fields.dedup();
        let mut term = QueryTerm::new(fields);
        term.weight = annotations.weight;
        term.significance = annotations.significance;
        term.document_frequency = annotations
            .document_frequency
            .map(|of| DocumentFrequency { frequency: of.frequency as f64, count: of.count as f64 });
        if let Some(connectivity) = annotations.connectivity {
            term.connectedness = connectivity.weight;
        }
        term.label = annotations.label.clone();
        term.ranked = annotations.ranked && counts;
        term.words = words;
        let positions = annotations.use_position_data && !matches!(item.operator, Operator::In(_));
        self.leaves.push(Leaf { targets, term: self.terms.len(), positions });
        self.terms.push(term);
        Ok(Node::Leaf(self.leaves.len() - 1))
    }

    /// The fields a name means; none (with an issue) if they cannot be searched.
    fn fields(&mut self, name: &str) -> Result<Vec<(FieldId, Field)>, Rejection> {
        let name = brooklet_query::tree::index_of(name);
        let names = match self.schema.field_set(name) {
            Some(set) => set.fields.clone(),
            None => vec![name.to_owned()],
        };
        let mut fields = Vec::new();
        for name in &names {
            let Some(field) = self.schema.query_field(name) else { continue };
            let top = field.name.split('.').next().unwrap_or(&field.name);
            let place = self.schema.fields.iter().position(|candidate| candidate.name == top);
            if field.name.contains('.') || !field.parts.is_empty() {
                let message = format!("Searching '{name}', a part of a struct or map, is not supported yet");
                return Err(Rejection::new(Code::Unsupported, message));
            }
            if let Some(place) = place.filter(|_| field.indexing.searchable()) {
                fields.push((FieldId(place as u32), field.clone()));
            }
        }
        if name.contains(['{', '[']) {
            let message = format!("Searching '{}', a part of a field, is not supported yet", Rejection::quote(name));
            return Err(Rejection::new(Code::Unsupported, message));
        }
        // Another of several schemas may have the field: then this one just has no matches.
        if fields.is_empty() && (self.sole || self.schema.query_field(name).is_some()) {
            self.issues.report(Code::ErrorInReply, format!("No valid indexes registered for index '{name}'"));
        }
        Ok(fields)
    }

    /// How texts for a set of fields are normalised: as the strictest common way.
    fn normalizing(fields: &[(FieldId, Field)]) -> Normalizing {
        let mut kinds = fields.iter().map(|(_, field)| field.normalizing());
        match kinds.next() {
            Some(first) if kinds.all(|kind| kind == first) => first,
            _ => Normalizing::LowercaseAndFold,
        }
    }

    fn column(&self, field: &Field, kind: impl Fn(&ColumnKind) -> bool) -> Option<ColumnSpec> {
        self.deployed.column(&field.name, kind).cloned()
    }

    fn text_column(&self, field: &Field) -> Option<ColumnSpec> {
        self.column(field, |kind| matches!(kind, ColumnKind::Text { .. }))
    }

    fn number_column(&self, field: &Field) -> Option<ColumnSpec> {
        self.column(field, |kind| matches!(kind, ColumnKind::Numbers { .. }))
    }

    fn term(&mut self, term: &Term) -> Result<Vec<Target>, Rejection> {
        let fields = self.fields(&term.field)?;
        let text = normalise(&term.text, Self::normalizing(&fields)).into_owned();
        let mut targets = Vec::new();
        for (id, field) in &fields {
            if let Some(spec) = self.text_column(field) {
                if !text.is_empty() {
                    targets.push(Target { field: *id, test: text_test(field, term.kind, &text), spec });
                }
            } else if let Some(spec) = self.number_column(field) {
                let kind = number_kind(&spec);
                if let Some(test) = number_of_text(&term.text, kind) {
                    targets.push(Target { field: *id, spec, test: Test::Number(test) });
                }
            }
        }
        Ok(targets)
    }

    fn number(&mut self, term: &NumberTerm) -> Result<Vec<Target>, Rejection> {
        let fields = self.fields(&term.field)?;
        let mut targets = Vec::new();
        for (id, field) in &fields {
            if let Some(spec) = self.number_column(field) {
                let test = Test::Number(range(term, number_kind(&spec)));
                targets.push(Target { field: *id, spec, test });
            } else if let Some(spec) = self.text_column(field) {
                let whole = field.matches_whole_value();
                let text = normalise(&term.text, field.normalizing()).into_owned();
                let words: Vec<WordTest> = if whole {
                    vec![WordTest { text, how: How::Equals }]
                } else {
                    let tokens = brooklet_text::Tokens::new(&text).map(|token| text[token.start..token.end].to_owned());
                    tokens.map(|text| WordTest { text, how: how_words_match(field) }).collect()
                };
                targets.push(Target { field: *id, spec, test: words_or_phrase(words) });
            }
        }
        Ok(targets)
    }

    fn phrase(&mut self, field: &str, words: &[String]) -> Result<Vec<Target>, Rejection> {
        let fields = self.fields(field)?;
        let normalizing = Self::normalizing(&fields);
        let mut targets = Vec::new();
        for (id, field) in &fields {
            let Some(spec) = self.text_column(field) else { continue };
            let words = words.iter().map(|word| normalise(word, normalizing).into_owned());
            let words = words.map(|text| WordTest { text, how: how_words_match(field) }).collect();
            targets.push(Target { field: *id, spec, test: words_or_phrase(words) });
        }
        Ok(targets)
    }

    fn values(&mut self, field: &str, values: &Values) -> Result<Vec<Target>, Rejection> {
        let fields = self.fields(field)?;
        let mut targets = Vec::new();
        for (id, field) in &fields {
            let (text, number) = (self.text_column(field), self.number_column(field));
            let test = match values {
                Values::Integers(list) if number.is_some() => Test::Number(NumberTest::AnyOf(list.clone())),
                Values::Integers(list) => {
                    let words = list.iter().map(|value| WordTest { text: value.to_string(), how: How::Equals });
                    Test::Words(words.collect())
                }
                Values::Texts(list) => {
                    let words = list.iter().map(|text| normalise(text, field.normalizing()).into_owned());
                    Test::Words(words.map(|text| WordTest { text, how: How::Equals }).collect())
                }
            };
            let spec = if matches!(test, Test::Number(_)) { number } else { text };
            targets.extend(spec.map(|spec| Target { field: *id, spec, test }));
        }
        Ok(targets)
    }

    fn nearest(
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
        if self.inputs.value(&nearest.query_tensor).is_none() {
            self.issues.report(Code::ErrorInReply, format!("Could not find query tensor for {name}"));
            return Ok(Node::False);
        }
        let values = self.inputs.vector(&nearest.query_tensor, of);
        let (Some(spec), Some(values)) = (spec, values) else {
            let reason = format!("the query tensor does not fit the field's type {of}");
            self.issues.report(Code::ErrorInReply, format!("Could not create DistanceCalculator for {name}: {reason}"));
            return Ok(Node::False);
        };
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

/// What a term asks of a text column, by the field's match mode and what the term says itself.
fn text_test(field: &Field, kind: TermKind, text: &str) -> Test {
    let whole = field.matches_whole_value();
    let how = match (kind, field.matching.mode) {
        (TermKind::Exact, _) => How::Equals,
        (TermKind::Suffix, _) if whole => How::TokenSuffix,
        (TermKind::Suffix, _) => How::Suffix,
        (TermKind::Substring, _) if whole => How::ValueSubstring,
        (TermKind::Substring, _) => How::Substring,
        (_, MatchMode::Substring) => How::Substring,
        (TermKind::Prefix, _) | (_, MatchMode::Prefix) => How::Prefix,
        (_, MatchMode::Suffix) => How::Suffix,
        _ => How::Equals,
    };
    // The text is searched folded, whatever the field's words are: only folded words say where it can be.
    let folded = field.normalizing() == Normalizing::LowercaseAndFold;
    if how == How::Substring && !(folded && text.chars().all(brooklet_text::is_word)) {
        let words = if folded { inner_words(text) } else { Vec::new() };
        return Test::Text { words, text: text.to_owned() };
    }
    Test::Words(vec![WordTest { text: text.to_owned(), how }])
}

/// What one word of several asks of a text column: the field's match mode holds for each of them (yql §3).
fn how_words_match(field: &Field) -> How {
    match field.matching.mode {
        _ if field.matches_whole_value() => How::Equals,
        MatchMode::Prefix => How::Prefix,
        MatchMode::Suffix => How::Suffix,
        MatchMode::Substring => How::Substring,
        _ => How::Equals,
    }
}

/// The words a piece of text must meet: the first ends with its beginning, the last begins with its end.
fn inner_words(text: &str) -> Vec<WordTest> {
    let tokens: Vec<_> = brooklet_text::Tokens::new(text).collect();
    let test = |token: &brooklet_text::Token| {
        let (starts, ends) = (token.start == 0, token.end == text.len());
        let how = match (starts, ends) {
            (true, true) => How::Substring,
            (true, false) => How::Suffix,
            (false, true) => How::Prefix,
            (false, false) => How::Equals,
        };
        WordTest { text: text[token.start..token.end].to_owned(), how }
    };
    tokens.iter().map(test).collect()
}

fn words_or_phrase(words: Vec<WordTest>) -> Test {
    if words.len() > 1 { Test::Phrase(words) } else { Test::Words(words) }
}

fn phrase_words(items: &[Item]) -> Result<Vec<String>, Rejection> {
    let mut words = Vec::new();
    for item in items {
        match &item.operator {
            Operator::Term(Term { text, kind: TermKind::Word | TermKind::Exact, .. }) => words.push(text.clone()),
            Operator::Phrase(inner) => words.extend(phrase_words(&inner.items)?),
            Operator::Number(number) => words.push(number.text.clone()),
            other => return Err(unsupported(other).within("In a phrase")),
        }
    }
    Ok(words)
}

fn unsupported(operator: &Operator) -> Rejection {
    let name = match operator {
        Operator::Near(near) if near.ordered => "onear",
        Operator::Near(_) => "near",
        Operator::SameElement(_) => "sameElement",
        Operator::Equiv(_) => "equiv",
        Operator::Alternatives(_) => "alternatives",
        Operator::Uri(_) => "uri",
        Operator::Fuzzy(_) => "fuzzy",
        Operator::Regex(_) => "matches",
        Operator::WeightedSet(_) => "weightedSet",
        Operator::DotProduct(_) => "dotProduct",
        Operator::Wand(_) => "wand",
        Operator::GeoLocation(_) => "geoLocation",
        Operator::GeoBoundingBox(_) => "geoBoundingBox",
        Operator::Predicate(_) => "predicate",
        Operator::Labeled(_) => "labeled",
        _ => "This operator",
    };
    Rejection::new(Code::Unsupported, format!("The operator '{name}' is not supported yet"))
}
