//! Answers a program's questions about one document. Nothing is read before it is asked for.
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::{Tensor, TensorType, Value as DocumentValue};
use brooklet_rank::distance::NO_DISTANCE;
use brooklet_rank::features::FeatureSet;
use brooklet_rank::features::age::age;
use brooklet_rank::match_data::MatchData;
use brooklet_rank::{
    FeatureName, FeatureSource, FeatureType, Interval, IntervalSource, ModelOutput, StoredRows, Value, text_hash,
};
use brooklet_segment::layout::ColumnSpec;
use brooklet_segment::{Halt, read_document};

use super::bound::{FeatureOrigin, KeyOutput, RawScores};
use super::document::feature::Document;
use super::number_column::NumberColumn;
use super::spot::Spot;
use super::term_scores::TermScores;
use super::values::{Item, items, mapped_tensor, show_labels, show_rows, single_string, value_weights, vector_tensor};
use crate::found::model_runs::Models;
use crate::matching::found::LeafHits;
use crate::matching::weighted;
use crate::nearest::{distance_bounds, exact_distance};
use crate::plan::SchemaPlan;
use crate::plan::condition::{Node, Test};
use crate::resident::reads::Reads;

/// Answers a program about one document. What cannot be read is remembered as a halt, and the answer is thrown away.
pub(super) struct Source<'a> {
    pub(super) plan: &'a SchemaPlan,
    pub(super) now: i64,
    pub(super) kinds: &'a [FeatureOrigin],
    pub(super) bound: &'a [usize],
    /// The features of the program, with their types.
    pub(super) types: &'a [(FeatureName, FeatureType)],
    pub(super) set: &'a mut FeatureSet,
    pub(super) data: &'a MatchData,
    /// Values of all features of the set that the program asks for, if they are known without match data.
    pub(super) sums: Option<&'a TermScores>,
    pub(super) models: &'a mut Models,
    pub(super) spot: Spot<'a>,
    pub(super) reads: &'a mut Reads,
    pub(super) halted: Option<Halt>,
}

impl Source<'_> {
    fn try_number(&mut self, kind: &FeatureOrigin) -> Result<f64, Halt> {
        Ok(match kind {
            FeatureOrigin::Match { request, .. } if let Some(sums) = self.sums => {
                sums.score(*request, self.spot.view, self.spot.ordinal)
            }
            FeatureOrigin::Match { request, nearest } => {
                let value = self.set.number(*request, self.data);
                let hit = |item: &usize| self.internal_distance(*item).is_some();
                if value == 0.0 && nearest.iter().any(hit) { 1.0 } else { value }
            }
            FeatureOrigin::Given(Value::Number(number)) => *number,
            FeatureOrigin::Given(Value::Tensor(_)) | FeatureOrigin::Tensor { .. } => f64::NAN,
            FeatureOrigin::Document(feature) => {
                feature.number(&mut Document { plan: self.plan, spot: self.spot, reads: self.reads })?
            }
            FeatureOrigin::Key { spec, key, output } => self.key(spec, key, *output)?,
            FeatureOrigin::Stored(stored) => stored.number(self.spot, self.reads)?,
            FeatureOrigin::Number(column) => column.number(self.spot, self.reads)?,
            FeatureOrigin::Count(spec) => match self.spot.at().segment.header.column(spec) {
                Some(column) => f64::from(value_weights(column, self.spot, self.reads)?.0),
                None => 0.0,
            },
            FeatureOrigin::Element(spec, index) => self.element(spec, *index)?,
            FeatureOrigin::Text(spec) => self.text_hash(spec)?,
            FeatureOrigin::Closeness { items, as_distance } => self.closeness(items, *as_distance)?,
            FeatureOrigin::RawScore(items) => self.raw_score(items),
            FeatureOrigin::Age(column) => age(self.now, self.time(column)?),
            FeatureOrigin::Freshness { time, freshness, logscale } => {
                let seconds = age(self.now, self.time(time)?);
                if *logscale { freshness.logscale(seconds) } else { freshness.linear(seconds) }
            }
        })
    }

    /// The distance of the document where it is a hit of a neighbour operator that counts.
    fn internal_distance(&self, item: usize) -> Option<f64> {
        let spot = self.spot;
        let counts = spot.matches[spot.view].counted.has_nearest(item, spot.ordinal);
        spot.resolved[item].distance(spot.view, spot.ordinal).filter(|_| counts)
    }

    fn raw_score(&self, items: &RawScores) -> f64 {
        let (spot, plan) = (self.spot, self.plan);
        let counted = &spot.matches[spot.view].counted;
        let nearest = items.nearest.iter().filter_map(|item| {
            let internal = self.internal_distance(*item)?;
            Some(plan.nearest[*item].point.scale.to_closeness(internal))
        });
        let leaves = &spot.matches[spot.view].leaves;
        let targets = items.targets.iter().filter(|(leaf, _)| counted.has_leaf(*leaf, spot.ordinal));
        let weighted = targets.filter_map(|(leaf, place)| {
            match (&plan.leaves[*leaf].targets[*place].test, &leaves[*leaf].found[*place]) {
                (Test::Weighted(test), LeafHits::Weighted(hits)) => weighted::raw_score(test, hits, spot.ordinal),
                _ => None,
            }
        });
        let labeled = items.labeled.iter().filter(|index| counted.has_labeled(**index, spot.ordinal));
        let labeled = labeled.map(|index| &plan.labeled[*index]);
        let labeled = labeled.filter(|labeled| self.holds(&labeled.node)).map(|labeled| labeled.score);
        // The sum of an iterator over nothing is -0.
        nearest.chain(weighted).chain(labeled).fold(0.0, |sum, score| sum + score)
    }

    /// Whether a part of the tree matches the document.
    fn holds(&self, node: &Node) -> bool {
        let (spot, ordinal) = (self.spot, self.spot.ordinal as usize);
        let matched = &spot.matches[spot.view];
        match node {
            Node::True => true,
            Node::False => false,
            Node::And(nodes) => nodes.iter().all(|node| self.holds(node)),
            Node::Or(nodes) => nodes.iter().any(|node| self.holds(node)),
            Node::AndNot(first, rest) => self.holds(first) && !rest.iter().any(|node| self.holds(node)),
            Node::Rank(first, _) => self.holds(first),
            Node::Leaf(index) => matched.leaves[*index].documents.get(ordinal),
            Node::Near(index) => matched.settled.near[*index].get(ordinal),
            Node::SameElement(index) => matched.settled.same_elements[*index].get(ordinal),
            Node::Nearest(index) => spot.resolved[*index].distance(spot.view, spot.ordinal).is_some(),
            Node::Labeled(index) => self.holds(&self.plan.labeled[*index].node),
        }
    }

    /// A time in whole seconds; nothing if it is not set.
    fn time(&mut self, column: &NumberColumn) -> Result<Option<i64>, Halt> {
        let seconds = column.number(self.spot, self.reads)?;
        Ok((!seconds.is_nan()).then_some(seconds as i64))
    }

    fn element(&mut self, spec: &ColumnSpec, index: usize) -> Result<f64, Halt> {
        let items = items(spec, self.spot, self.reads)?;
        Ok(items.get(index).map_or(0.0, |(item, _)| number_of(item)))
    }

    /// What a key of a weighted set is, weighs, or whether it is there.
    fn key(&mut self, spec: &ColumnSpec, key: &str, output: KeyOutput) -> Result<f64, Halt> {
        let items = items(spec, self.spot, self.reads)?;
        let found = items.iter().find(|(item, _)| item.label() == key);
        Ok(found.map_or(0.0, |(item, weight)| match output {
            KeyOutput::Value => number_of(item),
            KeyOutput::Weight => f64::from(*weight),
            KeyOutput::Contains => 1.0,
        }))
    }

    fn text_hash(&mut self, spec: &ColumnSpec) -> Result<f64, Halt> {
        let Some(column) = self.spot.at().segment.header.column(spec) else { return Ok(text_hash("")) };
        Ok(match single_string(column, self.spot, self.reads)? {
            Some(text) => text_hash(&text),
            None => text_hash(""),
        })
    }

    fn closeness(&mut self, items: &[usize], as_distance: bool) -> Result<f64, Halt> {
        let mut best: Option<(f64, f64)> = None;
        for item in items {
            let nearest = &self.plan.nearest[*item];
            let known = self.spot.resolved.get(*item).and_then(|hits| hits.distance(self.spot.view, self.spot.ordinal));
            let internal = match known {
                Some(internal) => Some(internal),
                None => exact_distance(self.spot.at(), nearest, self.spot.ordinal, self.reads)?,
            };
            let scale = &nearest.point.scale;
            let closeness =
                internal.map_or(scale.metric().closeness_without_vector(), |internal| scale.to_closeness(internal));
            if best.is_none_or(|(so_far, _)| closeness > so_far) {
                best = Some((closeness, scale.closeness_to_distance(closeness)));
            }
        }
        Ok(match (best, as_distance) {
            (Some((closeness, _)), false) => closeness,
            (Some((_, distance)), true) => distance,
            (None, false) => 0.0,
            (None, true) => NO_DISTANCE,
        })
    }

    pub(super) fn closeness_bounds(&mut self, items: &[usize], as_distance: bool) -> Result<Option<Interval>, Halt> {
        let [item] = items else { return Ok(None) };
        let nearest = &self.plan.nearest[*item];
        let known = self.spot.resolved.get(*item).and_then(|hits| hits.distance(self.spot.view, self.spot.ordinal));
        if known.is_some() {
            return Ok(Some(Interval::exactly(self.closeness(items, as_distance)?)));
        }
        let kept = self.spot.resolved.get(*item).and_then(|hits| hits.bounds(self.spot.view, self.spot.ordinal));
        let bounds = match kept {
            Some(bounds) => Some(bounds),
            None => distance_bounds(self.spot.at(), nearest, self.spot.ordinal, self.reads)?,
        };
        let Some((low, high)) = bounds else { return Ok(None) };
        let may_be_nan = low == f64::NEG_INFINITY || high == f64::INFINITY;
        let internal = Interval { lo: low, hi: high, may_be_nan };
        let scale = &nearest.point.scale;
        let mapped = if as_distance { scale.distance_interval(internal) } else { scale.closeness_interval(internal) };
        Ok(Some(mapped))
    }

    fn try_tensor(&mut self, kind: &FeatureOrigin, tensor_type: &Arc<TensorType>) -> Result<Rc<Tensor>, Halt> {
        match kind {
            FeatureOrigin::Given(Value::Tensor(tensor)) => Ok(tensor.clone()),
            FeatureOrigin::Tensor { field, spec } => {
                let stored = match spec {
                    Some(spec) if tensor_type.mapped().next().is_some() => {
                        mapped_tensor(spec, tensor_type, self.spot, self.reads)?
                    }
                    Some(spec) => vector_tensor(spec, tensor_type, self.spot, self.reads)?,
                    None => self.source_tensor(field)?,
                };
                Ok(Rc::new(stored.unwrap_or_else(|| Tensor::empty(tensor_type.clone()))))
            }
            FeatureOrigin::Match { request, .. } => Ok(self.set.tensor(*request, self.data)),
            FeatureOrigin::Document(feature) => {
                let made = feature.tensor(&mut Document { plan: self.plan, spot: self.spot, reads: self.reads })?;
                Ok(Rc::new(made.unwrap_or_else(|| Tensor::empty(tensor_type.clone()))))
            }
            _ => Ok(Rc::new(Tensor::scalar(self.try_number(kind)?))),
        }
    }

    fn source_tensor(&mut self, field: &str) -> Result<Option<Tensor>, Halt> {
        let segment = &self.spot.at().segment;
        let mut blocks = self.reads.segment(segment);
        let document = read_document(&segment.header, self.spot.ordinal, &|name| name == field, &mut blocks)?;
        Ok(match document.field(field) {
            Some(DocumentValue::Tensor(tensor)) => Some(tensor.clone()),
            _ => None,
        })
    }

    pub(super) fn note(&mut self, halt: Halt) {
        // A rejection outweighs a missing block: there is no point in fetching it.
        if !matches!((&self.halted, &halt), (Some(Halt::Rejected(_)), _)) {
            self.halted = Some(halt);
        }
    }
}

impl FeatureSource for Source<'_> {
    fn number(&mut self, feature: usize) -> f64 {
        let kinds = self.kinds;
        self.try_number(&kinds[self.bound[feature]]).unwrap_or_else(|halt| {
            self.note(halt);
            0.0
        })
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        let kinds = self.kinds;
        let tensor_type = match &self.types[feature].1 {
            FeatureType::Tensor(of) => of.clone(),
            FeatureType::Number => Arc::new(TensorType::scalar()),
        };
        self.try_tensor(&kinds[self.bound[feature]], &tensor_type).unwrap_or_else(|halt| {
            self.note(halt);
            Rc::new(Tensor::empty(tensor_type))
        })
    }

    fn rows(&mut self, feature: usize, show: &mut dyn FnMut(StoredRows<'_>)) -> bool {
        let kinds = self.kinds;
        let FeatureOrigin::Tensor { spec: Some(spec), .. } = &kinds[self.bound[feature]] else { return false };
        if let Err(halt) = show_rows(spec, self.spot, self.reads, show) {
            self.note(halt);
        }
        true
    }

    fn labels(&mut self, feature: usize, show: &mut dyn FnMut(&[&str])) -> bool {
        let kinds = self.kinds;
        let FeatureOrigin::Tensor { spec: Some(spec), .. } = &kinds[self.bound[feature]] else { return false };
        let FeatureType::Tensor(of) = &self.types[feature].1 else { return false };
        if let Err(halt) = show_labels(spec, of.mapped().count(), self.spot, self.reads, show) {
            self.note(halt);
        }
        true
    }

    fn model_output(&mut self, output: &Arc<ModelOutput>, inputs: &[Rc<Tensor>]) -> Rc<Tensor> {
        // What is made of blocks that are not there is no input.
        if self.halted.is_some() {
            return Rc::new(Tensor::empty(output.result.clone()));
        }
        self.models.output(output, inputs)
    }

    fn unknown_outputs(&self) -> usize {
        self.models.unknown
    }
}

impl IntervalSource for Source<'_> {
    fn interval(&mut self, feature: usize) -> Option<Interval> {
        let kinds = self.kinds;
        let kind = &kinds[self.bound[feature]];
        let bounds = match kind {
            FeatureOrigin::Closeness { items, as_distance } if !items.is_empty() => {
                self.closeness_bounds(items, *as_distance)
            }
            FeatureOrigin::Tensor { .. } | FeatureOrigin::Given(Value::Tensor(_)) => Ok(None),
            _ => self.try_number(kind).map(|number| Some(Interval::exactly(number))),
        };
        bounds.unwrap_or_else(|halt| {
            self.note(halt);
            None
        })
    }
}

/// A value as ranking sees it: a text is its hash.
fn number_of(item: &Item) -> f64 {
    match item {
        Item::Integer(number) => *number as f64,
        Item::Float(number) => *number,
        Item::Text(text) => text_hash(text),
    }
}
