//! Where the features of a profile's programs come from.
use brooklet_rank::features::age::Freshness;
use brooklet_rank::features::{FeatureEnvironment, Home, home};
use brooklet_rank::{FeatureName, FeatureType, Value};
use brooklet_segment::layout::{Collection, ColumnKind};
use brooklet_task::Rejection;

use super::bound::{Bound, FeatureOrigin, KeyOutput, RawScores, Which};
use super::number_column::NumberColumn;
use super::{document, stored};
use crate::plan::SchemaPlan;
use crate::plan::condition::Test;

/// Finds out where the features of programs come from.
pub(super) struct Binder<'p> {
    pub(super) plan: &'p SchemaPlan,
    pub(super) now: i64,
    pub(super) kinds: Vec<FeatureOrigin>,
    pub(super) names: Vec<String>,
    pub(super) requests: Vec<FeatureName>,
}

impl Binder<'_> {
    pub(super) fn bind(&mut self, which: Which) -> Result<Bound, Rejection> {
        let plan = self.plan;
        let program = which.program(&plan.profile);
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

    fn kind(&mut self, name: &FeatureName, feature_type: &FeatureType) -> Result<FeatureOrigin, Rejection> {
        let parameter = name.parameters.first().map_or("", String::as_str);
        let zero = FeatureOrigin::Given(Value::Number(0.0));
        if let Some(value) = self.plan.inputs.instead_of(name, feature_type)? {
            return Ok(FeatureOrigin::Given(value));
        }
        Ok(match name.name.as_str() {
            _ if home(&name.name) == Some(Home::MatchData) => {
                let nearest = if name.name == "matches" { self.nearest_of("field", parameter) } else { Vec::new() };
                self.requests.push(name.clone());
                FeatureOrigin::Match { request: self.requests.len() - 1, nearest }
            }
            "query" => FeatureOrigin::Given(self.plan.inputs.value(parameter).cloned().unwrap_or(Value::Number(0.0))),
            "attribute" => self.attribute(name, feature_type),
            "closeness" | "distance" => {
                let (kind, target) = match &name.parameters[..] {
                    [kind, target] => (kind.as_str(), target.as_str()),
                    _ => ("field", parameter),
                };
                if let Some(geo) = document::geo::bind(name, self.plan)? {
                    return Ok(FeatureOrigin::Document(Box::new(geo)));
                }
                FeatureOrigin::Closeness { items: self.nearest_of(kind, target), as_distance: name.name == "distance" }
            }
            "rawScore" => FeatureOrigin::RawScore(self.raw_scores("field", parameter)),
            "itemRawScore" => FeatureOrigin::RawScore(self.raw_scores("label", parameter)),
            "now" => FeatureOrigin::Given(Value::Number(self.now as f64)),
            "firstPhaseRank" => FeatureOrigin::Given(Value::Number(f64::MAX)),
            "age" => match self.number_column(parameter) {
                Some(time) => FeatureOrigin::Age(time),
                None => stored::bind_age(parameter, self.plan, self.now)
                    .unwrap_or(FeatureOrigin::Given(Value::Number(1e10))),
            },
            "freshness" => {
                let profile = &self.plan.profile;
                let environment =
                    FeatureEnvironment::new(&profile.fields, &self.plan.terms, &self.plan.rank_properties);
                let freshness = Freshness::from_properties(parameter, &environment)?;
                let logscale = name.output.as_deref() == Some("logscale");
                match self.number_column(parameter) {
                    Some(time) => FeatureOrigin::Freshness { time, freshness, logscale },
                    None => {
                        let asked = (freshness, logscale);
                        stored::bind_freshness(parameter, self.plan, self.now, asked).unwrap_or(zero)
                    }
                }
            }
            _ => document::bind(name, self.plan, self.now)?.map_or(zero, FeatureOrigin::Document),
        })
    }

    fn number_column(&self, field: &str) -> Option<NumberColumn> {
        let single = |kind: &ColumnKind| matches!(kind, ColumnKind::Numbers { collection: Collection::Single, .. });
        self.plan.schema.column(field, single).cloned().map(NumberColumn::new)
    }

    #[inline(never)]
    fn attribute(&self, name: &FeatureName, feature_type: &FeatureType) -> FeatureOrigin {
        let field = name.parameters.first().map_or("", String::as_str);
        let schema = &self.plan.schema;
        if let FeatureType::Tensor(_) = feature_type {
            let vectors = |kind: &ColumnKind| matches!(kind, ColumnKind::Vectors { .. });
            let spec = schema.column(field, vectors).cloned();
            return FeatureOrigin::Tensor { field: field.to_owned(), spec };
        }
        let values = |kind: &ColumnKind| matches!(kind, ColumnKind::Numbers { .. } | ColumnKind::Strings { .. });
        let Some(spec) = schema.column(field, values).cloned() else { return stored::bind(name, self.plan) };
        let collection = match &spec.kind {
            ColumnKind::Numbers { collection, .. } | ColumnKind::Strings { collection } => *collection,
            _ => Collection::Single,
        };
        let output = name.output.as_deref();
        match (output, name.parameters.get(1), &spec.kind, collection) {
            (_, Some(key), _, Collection::WeightedSet) if output != Some("count") => {
                FeatureOrigin::Key { spec, key: key.clone(), output: KeyOutput::named(output) }
            }
            (Some("count"), None, _, Collection::Single) => FeatureOrigin::Given(Value::Number(1.0)),
            (Some("count"), None, ..) => FeatureOrigin::Count(spec),
            (Some(output), ..) if output != "value" => FeatureOrigin::Given(Value::Number(0.0)),
            (_, Some(index), _, Collection::Array | Collection::Parts) => {
                FeatureOrigin::Element(spec, index.parse().unwrap_or(usize::MAX))
            }
            (_, None, ColumnKind::Numbers { .. }, Collection::Single) => FeatureOrigin::Number(NumberColumn::new(spec)),
            (_, None, ColumnKind::Strings { .. }, Collection::Single) => FeatureOrigin::Text(spec),
            _ => FeatureOrigin::Given(Value::Number(0.0)),
        }
    }

    /// What gives raw scores on a field, or under a label; what is below a `not` or unranked does not count.
    fn raw_scores(&self, kind: &str, name: &str) -> RawScores {
        let plan = self.plan;
        let mut targets = Vec::new();
        for (index, leaf) in plan.leaves.iter().enumerate() {
            let term = &plan.terms.all()[leaf.term];
            for (place, target) in leaf.targets.iter().enumerate() {
                let wanted = match kind {
                    "label" => term.label.as_deref() == Some(name),
                    _ => plan.profile.fields[target.field.0 as usize].name == name,
                };
                if wanted && term.ranked && matches!(target.test, Test::Weighted(_)) {
                    targets.push((index, place));
                }
            }
        }
        let labeled = plan.labeled.iter().enumerate();
        let labeled = labeled.filter(|(_, labeled)| kind == "label" && labeled.label == name);
        let labeled = labeled.map(|(index, _)| index).collect();
        RawScores { nearest: self.nearest_of(kind, name), targets, labeled }
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
