//! Ranking, document at a time: fills the match data of a document and answers the programs' questions about it.
use std::rc::Rc;

use brooklet_document::{Tensor, TensorType, Value as DocumentValue, cells_from_bytes};
use brooklet_rank::distance::NO_DISTANCE;
use brooklet_rank::features::age::{Freshness, age};
use brooklet_rank::features::{FeatureEnvironment, FeatureRequest, FeatureSet, Home, home};
use brooklet_rank::match_data::{AttributeContent, FieldId, MatchData, Occurrence};
use brooklet_rank::{FeatureName, FeatureSource, FeatureType, Interval, IntervalSource, Program, Scratch, Value, text_hash};
use brooklet_segment::column::dictionary::DictionaryBlock;
use brooklet_segment::column::number::{SeveralBlock, SingleBlock};
use brooklet_segment::column::text::Text;
use brooklet_segment::column::vector::{self, Vectors};
use brooklet_segment::layout::{Collection, ColumnKind, ColumnSpec, NumberKind};
use brooklet_segment::{BlockSource, ColumnHeader, Halt, read_document, vector_rows};
use brooklet_task::Rejection;

use crate::deployed::DeployedProfile;
use crate::matching::words::WordReader;
use crate::matching::{Found, LeafMatch};
use crate::nearest::{Resolved, distance_bounds, exact_distance};
use crate::partition::View;
use crate::plan::SchemaPlan;
use crate::reads::Reads;

/// Features that need no more than how often a term occurs and how long the field is.
const COUNTING: [&str; 5] = ["bm25", "matches", "matchCount", "queryTermCount", "term"];

/// What matching found out about a view.
pub(crate) struct ViewMatch {
    pub(crate) leaves: Vec<LeafMatch>,
}

/// Where a feature's value comes from.
enum Kind {
    /// The feature set.
    Match { request: usize, nearest: Vec<usize> },
    /// The query.
    Given(Value),
    /// A numeric attribute.
    Number(ColumnSpec),
    /// How many values an attribute has.
    Count(ColumnSpec),
    /// The value at a place of an array attribute.
    Element(ColumnSpec, usize),
    /// A string attribute.
    Text(ColumnSpec),
    /// A tensor attribute.
    Tensor { field: String, spec: Option<ColumnSpec>, tensor_type: std::sync::Arc<TensorType> },
    /// Best closeness of nearest-neighbour items, or the distance that belongs to it.
    Closeness { items: Vec<usize>, as_distance: bool },
    /// Sum of the raw scores of items that matched.
    RawScore(Vec<usize>),
    /// Seconds since an attribute.
    Age(ColumnSpec),
    /// How fresh that is.
    Freshness { spec: ColumnSpec, freshness: Freshness, logscale: bool },
}

/// Which program of a profile.
#[derive(Clone, Copy)]
enum Which {
    Score,
    MatchFeature(usize),
    SummaryFeature(usize),
}

impl Which {
    fn of(self, profile: &DeployedProfile) -> &Program {
        match self {
            Which::Score => &profile.score,
            Which::MatchFeature(index) => &profile.match_features[index].1,
            Which::SummaryFeature(index) => &profile.summary_features[index].1,
        }
    }
}

/// A program with where its features come from.
struct Bound {
    which: Which,
    kinds: Vec<usize>,
    scratch: Scratch,
}

/// Ranks the documents of one schema for one query.
pub(crate) struct Ranker {
    plan: Rc<SchemaPlan>,
    now: i64,
    kinds: Vec<Kind>,
    score: Bound,
    match_features: Vec<Bound>,
    summary_features: Vec<Bound>,
    set: FeatureSet,
    data: MatchData,
    uses_match_data: bool,
    counts_only: bool,
    counted: Vec<FieldId>,
    occurrences: Vec<Occurrence>,
}

/// The document looked at.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'a> {
    pub(crate) views: &'a [View],
    pub(crate) matches: &'a [ViewMatch],
    pub(crate) resolved: &'a [Resolved],
    pub(crate) view: usize,
    pub(crate) ordinal: u32,
}

impl Spot<'_> {
    fn at(&self) -> &View {
        &self.views[self.view]
    }
}

impl Ranker {
    /// Makes the plan's programs ready.
    pub(crate) fn new(plan: &Rc<SchemaPlan>, now: i64) -> Result<Ranker, Rejection> {
        let profile = &plan.profile;
        let mut binder = Binder { plan, now, kinds: Vec::new(), names: Vec::new(), requests: Vec::new() };
        let score = binder.bind(Which::Score)?;
        let match_features = (0..profile.match_features.len()).map(|index| binder.bind(Which::MatchFeature(index)));
        let match_features = match_features.collect::<Result<_, _>>()?;
        let summary_features = (0..profile.summary_features.len()).map(|index| binder.bind(Which::SummaryFeature(index)));
        let summary_features = summary_features.collect::<Result<_, _>>()?;
        let environment = FeatureEnvironment::new(&profile.fields, &plan.terms, &plan.rank_properties);
        let requests = binder.requests.iter().map(|name| FeatureRequest {
            name: &name.name,
            parameters: &name.parameters,
            output: name.output.as_deref(),
        });
        let set = FeatureSet::prepare(requests, &environment)?;
        let counted: Vec<FieldId> = set.counted_attributes().collect();
        Ok(Ranker {
            uses_match_data: !binder.requests.is_empty(),
            counts_only: binder.requests.iter().all(|name| COUNTING.contains(&name.name.as_str())),
            kinds: binder.kinds,
            data: MatchData::new(&plan.terms),
            plan: plan.clone(),
            now,
            score,
            match_features,
            summary_features,
            set,
            counted,
            occurrences: Vec::new(),
        })
    }

    /// The score of a document: NaN and infinities are −∞.
    pub(crate) fn score(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<f64, Halt> {
        if self.uses_match_data {
            self.fill(spot, reads)?;
        }
        let (score, halted) = {
            let Ranker { plan, now, kinds, score, set, data, .. } = self;
            let mut source = Source { plan, now: *now, kinds, bound: &score.kinds, set, data, spot, reads, halted: None };
            (score.which.of(&plan.profile).score(&mut source, &mut score.scratch), source.halted)
        };
        if let Some(halt) = halted {
            return Err(halt);
        }
        let score = score?;
        Ok(if score.is_finite() { score } else { f64::NEG_INFINITY })
    }

    /// Bounds of the score when distances are known by their bounds only; nothing if there are none.
    pub(crate) fn bounds(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<Option<Interval>, Halt> {
        if self.uses_match_data {
            self.fill(spot, reads)?;
        }
        let Ranker { plan, now, kinds, score, set, data, .. } = self;
        let mut source = Source { plan, now: *now, kinds, bound: &score.kinds, set, data, spot, reads, halted: None };
        let interval = score.which.of(&plan.profile).interval(&mut source, &mut score.scratch);
        match source.halted {
            Some(halt) => Err(halt),
            None => Ok(interval),
        }
    }

    /// Which nearest-neighbour items the score depends on.
    pub(crate) fn nearest_of_score(&self) -> Vec<usize> {
        let kinds = self.score.kinds.iter().map(|kind| &self.kinds[*kind]);
        let mut items: Vec<usize> = kinds
            .flat_map(|kind| match kind {
                Kind::Closeness { items, .. } => items.clone(),
                _ => Vec::new(),
            })
            .collect();
        items.sort_unstable();
        items.dedup();
        items
    }

    /// Values of the profile's match-features.
    pub(crate) fn match_features(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<Vec<Value>, Halt> {
        self.listed(true, spot, reads)
    }

    /// Values of the profile's summary-features.
    pub(crate) fn summary_features(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<Vec<Value>, Halt> {
        self.listed(false, spot, reads)
    }

    fn listed(&mut self, of_match: bool, spot: Spot<'_>, reads: &mut Reads) -> Result<Vec<Value>, Halt> {
        if self.uses_match_data {
            self.fill(spot, reads)?;
        }
        let Ranker { plan, now, kinds, match_features, summary_features, set, data, .. } = self;
        let listed = if of_match { match_features } else { summary_features };
        let mut values = Vec::with_capacity(listed.len());
        let mut missing = false;
        for bound in listed {
            let mut source = Source { plan, now: *now, kinds, bound: &bound.kinds, set, data, spot, reads, halted: None };
            let value = bound.which.of(&plan.profile).evaluate(&mut source, &mut bound.scratch);
            match source.halted {
                None => values.push(value?),
                Some(Halt::Missing) => missing = true,
                Some(halt) => return Err(halt),
            }
        }
        if missing { Err(Halt::Missing) } else { Ok(values) }
    }

    /// Tells the features which terms matched the document, and where.
    fn fill(&mut self, spot: Spot<'_>, reads: &mut Reads) -> Result<(), Halt> {
        self.data.reset();
        self.set.next_document();
        let view = spot.at();
        for (leaf, matched) in self.plan.leaves.iter().zip(&spot.matches[spot.view].leaves) {
            if !matched.documents.get(spot.ordinal as usize) {
                continue;
            }
            for (target, found) in leaf.targets.iter().zip(&matched.found) {
                let Some(slot) = self.plan.terms.slot(leaf.term, target.field) else { continue };
                let Some(column) = view.segment.header.column(&target.spec) else { continue };
                self.occurrences.clear();
                let blind = !leaf.positions || self.plan.profile.fields[target.field.0 as usize].is_filter;
                let length = occurrences(
                    column,
                    found,
                    spot,
                    self.counts_only || blind,
                    reads,
                    &mut self.occurrences,
                )?;
                if let Some(length) = length {
                    let shown = if blind { &[][..] } else { &self.occurrences[..] };
                    self.data.record(slot, shown, length);
                }
            }
        }
        for field in self.counted.clone() {
            if let Some(content) = self.content(field, spot, reads)? {
                self.data.record_content(field, content);
            }
        }
        Ok(())
    }

    /// How many values an attribute of the document has, and their weights.
    fn content(&self, field: FieldId, spot: Spot<'_>, reads: &mut Reads) -> Result<Option<AttributeContent>, Halt> {
        let name = &self.plan.profile.fields[field.0 as usize].name;
        let schema = &self.plan.schema;
        let spec = schema.column(name, |kind| matches!(kind, ColumnKind::Numbers { .. } | ColumnKind::Strings { .. }));
        let Some(column) = spec.and_then(|spec| spot.at().segment.header.column(spec)) else { return Ok(None) };
        let (values, weights) = value_weights(column, spot, reads)?;
        Ok(Some(AttributeContent { values, weights }))
    }
}

/// Puts the occurrences of a leaf in a column into `out`, and says how long the field is; nothing if it did not match.
fn occurrences(
    column: &ColumnHeader,
    found: &Found,
    spot: Spot<'_>,
    counts_only: bool,
    reads: &mut Reads,
    out: &mut Vec<Occurrence>,
) -> Result<Option<u32>, Halt> {
    match found {
        Found::Documents(documents) => {
            if documents.binary_search(&spot.ordinal).is_err() {
                return Ok(None);
            }
            out.push(Occurrence { element: 0, position: 0, element_length: 1, element_weight: 1 });
            Ok(Some(1))
        }
        Found::Elements(elements) => {
            let from = elements.partition_point(|(ordinal, _, _)| *ordinal < spot.ordinal);
            let own = elements[from..].iter().take_while(|(ordinal, _, _)| *ordinal == spot.ordinal);
            out.extend(own.map(|(_, element, weight)| Occurrence {
                element: *element,
                position: 0,
                element_length: 1,
                element_weight: *weight,
            }));
            Ok((!out.is_empty()).then_some(1))
        }
        Found::Words { postings, numbers } => {
            let Ok(at) = postings.binary_search_by_key(&spot.ordinal, |(ordinal, _)| *ordinal) else { return Ok(None) };
            let mut reader = WordReader::new(Text::of(column)?, &spot.at().segment);
            let extent = reader.extent(spot.ordinal, reads)?;
            if counts_only {
                let length = extent.words();
                out.extend((0..postings[at].1).map(|position| Occurrence {
                    element: 0,
                    position,
                    element_length: length,
                    element_weight: 1,
                }));
                return Ok(Some(length));
            }
            let words = reader.words(extent, reads)?;
            let mut places = Vec::new();
            for (place, word) in words.iter().enumerate() {
                if let Ok(at) = numbers.binary_search_by_key(word, |(number, _)| *number) {
                    places.extend(std::iter::repeat_n(place as u32, numbers[at].1 as usize));
                }
            }
            reader.occurrences(extent, &places, reads, out)?;
            Ok(Some(extent.words()))
        }
        Found::Places(all) => {
            let from = all.partition_point(|(ordinal, _)| *ordinal < spot.ordinal);
            let own = all[from..].iter().take_while(|(ordinal, _)| *ordinal == spot.ordinal);
            let places: Vec<u32> = own.map(|(_, place)| *place).collect();
            if places.is_empty() {
                return Ok(None);
            }
            let mut reader = WordReader::new(Text::of(column)?, &spot.at().segment);
            let extent = reader.extent(spot.ordinal, reads)?;
            reader.occurrences(extent, &places, reads, out)?;
            Ok(Some(extent.words()))
        }
    }
}

/// Finds out where the features of programs come from.
struct Binder<'p> {
    plan: &'p SchemaPlan,
    now: i64,
    kinds: Vec<Kind>,
    names: Vec<String>,
    requests: Vec<FeatureName>,
}

impl Binder<'_> {
    fn bind(&mut self, which: Which) -> Result<Bound, Rejection> {
        let plan = self.plan;
        let program = which.of(&plan.profile);
        let mut kinds = Vec::new();
        for (name, feature_type) in program.features() {
            let text = name.to_string();
            let index = match self.names.iter().position(|known| *known == text) {
                Some(index) => index,
                None => {
                    let kind = self.kind(name, feature_type)?;
                    self.kinds.push(kind);
                    self.names.push(text);
                    self.kinds.len() - 1
                }
            };
            kinds.push(index);
        }
        Ok(Bound { which, kinds, scratch: program.scratch() })
    }

    fn kind(&mut self, name: &FeatureName, feature_type: &FeatureType) -> Result<Kind, Rejection> {
        let parameter = name.parameters.first().map_or("", String::as_str);
        let zero = Kind::Given(Value::Number(0.0));
        Ok(match name.name.as_str() {
            _ if home(&name.name) == Some(Home::MatchData) => {
                let nearest = if name.name == "matches" { self.nearest_of("field", parameter) } else { Vec::new() };
                self.requests.push(name.clone());
                Kind::Match { request: self.requests.len() - 1, nearest }
            }
            "query" => Kind::Given(self.plan.inputs.value(parameter).cloned().unwrap_or(Value::Number(0.0))),
            "attribute" => self.attribute(name, feature_type),
            "closeness" | "distance" => {
                let (kind, target) = match &name.parameters[..] {
                    [kind, target] => (kind.as_str(), target.as_str()),
                    _ => ("field", parameter),
                };
                Kind::Closeness { items: self.nearest_of(kind, target), as_distance: name.name == "distance" }
            }
            "rawScore" => Kind::RawScore(self.nearest_of("field", parameter)),
            "itemRawScore" => Kind::RawScore(self.nearest_of("label", parameter)),
            "now" => Kind::Given(Value::Number(self.now as f64)),
            "firstPhaseRank" => Kind::Given(Value::Number(f64::MAX)),
            "age" => self.number_column(parameter).map_or(Kind::Given(Value::Number(1e10)), Kind::Age),
            "freshness" => match self.number_column(parameter) {
                Some(spec) => {
                    let profile = &self.plan.profile;
                    let environment = FeatureEnvironment::new(&profile.fields, &self.plan.terms, &self.plan.rank_properties);
                    let freshness = Freshness::from_properties(parameter, &environment)?;
                    Kind::Freshness { spec, freshness, logscale: name.output.as_deref() == Some("logscale") }
                }
                None => zero,
            },
            _ => zero,
        })
    }

    fn number_column(&self, field: &str) -> Option<ColumnSpec> {
        let single = |kind: &ColumnKind| matches!(kind, ColumnKind::Numbers { collection: Collection::Single, .. });
        self.plan.schema.column(field, single).cloned()
    }

    fn attribute(&self, name: &FeatureName, feature_type: &FeatureType) -> Kind {
        let field = name.parameters.first().map_or("", String::as_str);
        let schema = &self.plan.schema;
        if let FeatureType::Tensor(tensor_type) = feature_type {
            let vectors = |kind: &ColumnKind| matches!(kind, ColumnKind::Vectors { mapped: false, .. });
            let spec = schema.column(field, vectors).cloned();
            return Kind::Tensor { field: field.to_owned(), spec, tensor_type: tensor_type.clone() };
        }
        let values = |kind: &ColumnKind| matches!(kind, ColumnKind::Numbers { .. } | ColumnKind::Strings { .. });
        let Some(spec) = schema.column(field, values).cloned() else { return Kind::Given(Value::Number(f64::NAN)) };
        let collection = match &spec.kind {
            ColumnKind::Numbers { collection, .. } | ColumnKind::Strings { collection } => *collection,
            _ => Collection::Single,
        };
        match (name.output.as_deref(), name.parameters.get(1), &spec.kind, collection) {
            (Some("count"), ..) => Kind::Count(spec),
            (_, Some(index), ColumnKind::Numbers { .. }, Collection::Array) => {
                Kind::Element(spec, index.parse().unwrap_or(usize::MAX))
            }
            (_, None, ColumnKind::Numbers { .. }, Collection::Single) => Kind::Number(spec),
            (_, None, ColumnKind::Strings { .. }, Collection::Single) => Kind::Text(spec),
            _ => Kind::Given(Value::Number(0.0)),
        }
    }

    /// The nearest-neighbour items on a field, or with a label; those below a `not` and unranked ones do not count.
    fn nearest_of(&self, kind: &str, name: &str) -> Vec<usize> {
        let numbered = self.plan.nearest.iter().enumerate().filter(|(_, nearest)| nearest.competes);
        let wanted = numbered.filter(|(_, nearest)| match kind {
            "label" => nearest.label.as_deref() == Some(name),
            _ => nearest.field == name,
        });
        wanted.map(|(index, _)| index).collect()
    }
}

/// Answers a program about one document. What cannot be read is remembered as a halt, and the answer is thrown away.
struct Source<'a> {
    plan: &'a SchemaPlan,
    now: i64,
    kinds: &'a [Kind],
    bound: &'a [usize],
    set: &'a mut FeatureSet,
    data: &'a MatchData,
    spot: Spot<'a>,
    reads: &'a mut Reads,
    halted: Option<Halt>,
}

impl Source<'_> {
    fn try_number(&mut self, kind: &Kind) -> Result<f64, Halt> {
        Ok(match kind {
            Kind::Match { request, nearest } => {
                let value = self.set.number(*request, self.data);
                let hit = |item: &usize| self.spot.resolved[*item].distance(self.spot.view, self.spot.ordinal).is_some();
                if value == 0.0 && nearest.iter().any(hit) { 1.0 } else { value }
            }
            Kind::Given(Value::Number(number)) => *number,
            Kind::Given(Value::Tensor(_)) | Kind::Tensor { .. } => f64::NAN,
            Kind::Number(spec) => self.attribute(spec)?,
            Kind::Count(spec) => match self.spot.at().segment.header.column(spec) {
                Some(column) => f64::from(value_weights(column, self.spot, self.reads)?.0),
                None => 0.0,
            },
            Kind::Element(spec, index) => self.element(spec, *index)?,
            Kind::Text(spec) => self.text_hash(spec)?,
            Kind::Closeness { items, as_distance } => self.closeness(items, *as_distance)?,
            Kind::RawScore(items) => {
                let spot = self.spot;
                let hits = items.iter().filter_map(|item| {
                    let internal = spot.resolved[*item].distance(spot.view, spot.ordinal)?;
                    Some(self.plan.nearest[*item].point.scale.to_closeness(internal))
                });
                hits.sum()
            }
            Kind::Age(spec) => age(self.now, self.time(spec)?),
            Kind::Freshness { spec, freshness, logscale } => {
                let seconds = age(self.now, self.time(spec)?);
                if *logscale { freshness.logscale(seconds) } else { freshness.linear(seconds) }
            }
        })
    }

    /// A single number of the document; NaN if it has none.
    fn attribute(&mut self, spec: &ColumnSpec) -> Result<f64, Halt> {
        let Some(column) = self.spot.at().segment.header.column(spec) else { return Ok(f64::NAN) };
        single_number(column, self.spot, self.reads)
    }

    /// A time in whole seconds; nothing if it is not set.
    fn time(&mut self, spec: &ColumnSpec) -> Result<Option<i64>, Halt> {
        let seconds = self.attribute(spec)?;
        Ok((!seconds.is_nan()).then_some(seconds as i64))
    }

    fn element(&mut self, spec: &ColumnSpec, index: usize) -> Result<f64, Halt> {
        let Some(column) = self.spot.at().segment.header.column(spec) else { return Ok(0.0) };
        let (ColumnKind::Numbers { number, collection }, Some(part)) = (&column.spec.kind, column.parts.first()) else {
            return Ok(0.0);
        };
        let at = part.index_of(self.spot.ordinal);
        let (first, rows) = part.span_of(at);
        let block = self.reads.of(&self.spot.at().segment).block(part.first_block + at)?;
        let block = SeveralBlock::read(block.bytes(), rows, *number, *collection)?;
        let range = block.range((self.spot.ordinal - first) as usize);
        Ok(range.clone().nth(index).map_or(0.0, |at| block.values.float(at)))
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

    fn closeness_bounds(&mut self, items: &[usize], as_distance: bool) -> Result<Option<Interval>, Halt> {
        let [item] = items else { return Ok(None) };
        let nearest = &self.plan.nearest[*item];
        let known = self.spot.resolved.get(*item).and_then(|hits| hits.distance(self.spot.view, self.spot.ordinal));
        if known.is_some() {
            return Ok(Some(Interval::exactly(self.closeness(items, as_distance)?)));
        }
        let Some((low, high)) = distance_bounds(self.spot.at(), nearest, self.spot.ordinal, self.reads)? else {
            return Ok(None);
        };
        let may_be_nan = low == f64::NEG_INFINITY || high == f64::INFINITY;
        let internal = Interval { lo: low, hi: high, may_be_nan };
        let scale = &nearest.point.scale;
        let mapped = if as_distance { scale.distance_interval(internal) } else { scale.closeness_interval(internal) };
        Ok(Some(mapped))
    }

    fn try_tensor(&mut self, kind: &Kind) -> Result<Rc<Tensor>, Halt> {
        match kind {
            Kind::Given(Value::Tensor(tensor)) => Ok(tensor.clone()),
            Kind::Tensor { field, spec, tensor_type } => {
                let stored = match spec {
                    Some(spec) => vector_tensor(spec, tensor_type, self.spot, self.reads)?,
                    None => self.source_tensor(field)?,
                };
                Ok(Rc::new(stored.unwrap_or_else(|| Tensor::empty(tensor_type.clone()))))
            }
            _ => Ok(Rc::new(Tensor::scalar(self.try_number(kind)?))),
        }
    }

    fn source_tensor(&mut self, field: &str) -> Result<Option<Tensor>, Halt> {
        let segment = &self.spot.at().segment;
        let mut blocks = self.reads.of(segment);
        let document = read_document(&segment.header, self.spot.ordinal, &|name| name == field, &mut blocks)?;
        Ok(match document.field(field) {
            Some(DocumentValue::Tensor(tensor)) => Some(tensor.clone()),
            _ => None,
        })
    }

    fn note(&mut self, halt: Halt) {
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
        let kind = &kinds[self.bound[feature]];
        self.try_tensor(kind).unwrap_or_else(|halt| {
            self.note(halt);
            Rc::new(match kind {
                Kind::Tensor { tensor_type, .. } => Tensor::empty(tensor_type.clone()),
                _ => Tensor::scalar(0.0),
            })
        })
    }
}

impl IntervalSource for Source<'_> {
    fn interval(&mut self, feature: usize) -> Option<Interval> {
        let kinds = self.kinds;
        let kind = &kinds[self.bound[feature]];
        let bounds = match kind {
            Kind::Closeness { items, as_distance } if !items.is_empty() => self.closeness_bounds(items, *as_distance),
            Kind::Tensor { .. } | Kind::Given(Value::Tensor(_)) => Ok(None),
            _ => self.try_number(kind).map(|number| Some(Interval::exactly(number))),
        };
        bounds.unwrap_or_else(|halt| {
            self.note(halt);
            None
        })
    }
}

/// The single number a column holds for a document; NaN if none, and for the smallest long, which stands for none.
pub(crate) fn single_number(column: &ColumnHeader, spot: Spot<'_>, reads: &mut Reads) -> Result<f64, Halt> {
    let (ColumnKind::Numbers { number, .. }, Some(part)) = (&column.spec.kind, column.parts.first()) else {
        return Ok(f64::NAN);
    };
    let index = part.index_of(spot.ordinal);
    let (first, rows) = part.span_of(index);
    let block = reads.of(&spot.at().segment).block(part.first_block + index)?;
    let block = SingleBlock::read(block.bytes(), rows, *number)?;
    let at = (spot.ordinal - first) as usize;
    let unset = !block.has(at) || (*number == NumberKind::Int64 && block.values.integer(at) == i64::MIN);
    Ok(if unset { f64::NAN } else { block.values.float(at) })
}

/// The value of a single string attribute.
pub(crate) fn single_string(
    column: &ColumnHeader,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Option<String>, Halt> {
    let [dictionary, part] = &column.parts[..] else { return Ok(None) };
    let index = part.index_of(spot.ordinal);
    let (first, rows) = part.span_of(index);
    let block = reads.of(&spot.at().segment).block(part.first_block + index)?;
    let block = SingleBlock::read(block.bytes(), rows, NumberKind::Int32)?;
    let at = (spot.ordinal - first) as usize;
    if !block.has(at) {
        return Ok(None);
    }
    let word = block.values.integer(at) as u32;
    word_of(dictionary, word, spot, reads).map(Some)
}

/// A word of a string attribute's dictionary.
pub(crate) fn word_of(
    dictionary: &brooklet_segment::Part,
    word: u32,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<String, Halt> {
    let index = dictionary.index_of(word);
    let block = reads.of(&spot.at().segment).block(dictionary.first_block + index)?;
    let words = DictionaryBlock::read(block.bytes())?;
    let at = (word - dictionary.span_of(index).0) as usize;
    if at >= words.len() {
        return Err(Rejection::corrupt("a word beyond its dictionary").into());
    }
    Ok(String::from_utf8_lossy(words.word(at)).into_owned())
}

/// How many values a document has in a column, and the sum of their weights.
fn value_weights(column: &ColumnHeader, spot: Spot<'_>, reads: &mut Reads) -> Result<(u32, i64), Halt> {
    let (number, collection, part) = match (&column.spec.kind, &column.parts[..]) {
        (ColumnKind::Numbers { number, collection }, [part]) => (*number, *collection, part),
        (ColumnKind::Strings { collection }, [_, part]) => (NumberKind::Int32, *collection, part),
        _ => return Ok((0, 0)),
    };
    let index = part.index_of(spot.ordinal);
    let (first, rows) = part.span_of(index);
    let block = reads.of(&spot.at().segment).block(part.first_block + index)?;
    let at = (spot.ordinal - first) as usize;
    if collection == Collection::Single {
        let has = SingleBlock::read(block.bytes(), rows, number)?.has(at);
        return Ok((u32::from(has), i64::from(has)));
    }
    let block = SeveralBlock::read(block.bytes(), rows, number, collection)?;
    let range = block.range(at);
    let weights = block.weights.get(range.clone()).unwrap_or_default();
    Ok((range.len() as u32, weights.iter().map(|weight| i64::from(*weight)).sum()))
}

fn vector_tensor(
    spec: &ColumnSpec,
    tensor_type: &std::sync::Arc<TensorType>,
    spot: Spot<'_>,
    reads: &mut Reads,
) -> Result<Option<Tensor>, Halt> {
    let Some(column) = spot.at().segment.header.column(spec) else { return Ok(None) };
    let vectors = Vectors::of(column)?;
    let rows = vector_rows(&vectors, spot.ordinal, &mut reads.of(&spot.at().segment))?;
    if rows.is_empty() {
        return Ok(None);
    }
    let part = vectors.part(vector::EXACT);
    let index = part.index_of(rows.start);
    let block = reads.of(&spot.at().segment).block(part.first_block + index)?;
    let cells = vectors.exact(rows.start - part.span_of(index).0, block.bytes())?;
    let cells = cells_from_bytes(vectors.cell, cells)?;
    Ok(Some(Tensor { tensor_type: tensor_type.clone(), addresses: vec![Vec::new()], cells }))
}
