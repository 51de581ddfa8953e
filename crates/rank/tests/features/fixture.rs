//! A schema, a query and documents written as texts, matched in the simplest way, and a feature's value for them.

use brooklet_rank::features::{FeatureEnvironment, FeatureRequest, FeatureSet};
use brooklet_rank::match_data::{
    AttributeContent, FieldId, FieldInfo, FieldKind, MatchData, Occurrence, QueryTerm, QueryTerms, RankProperties,
};
use brooklet_task::Rejection;
use proptest::test_runner::Config;

/// Schema, query and properties.
#[derive(Clone, Debug, Default)]
pub struct Fixture {
    pub fields: Vec<FieldInfo>,
    pub terms: Vec<QueryTerm>,
    pub words: Vec<Vec<String>>,
    pub properties: RankProperties,
}

/// The elements of a field, each with its weight.
pub type Content<'a> = Vec<(&'a str, i32)>;

/// One field of a document with one element.
pub fn text<'a>(field: &'a str, value: &'a str) -> Vec<(&'a str, Content<'a>)> {
    vec![(field, vec![(value, 1)])]
}

impl Fixture {
    /// A schema of single-valued index fields.
    pub fn index(names: &[&str]) -> Fixture {
        let mut fixture = Fixture::default();
        for name in names {
            fixture.add(name, FieldKind::Index);
        }
        fixture
    }

    /// One more field, for setting it up further.
    pub fn add(&mut self, name: &str, kind: FieldKind) -> &mut FieldInfo {
        self.fields.push(FieldInfo::new(FieldId(self.fields.len() as u32), name, kind));
        self.fields.last_mut().expect("a field was just added")
    }

    /// The field called `name`, for setting it up further.
    pub fn field(&mut self, name: &str) -> &mut FieldInfo {
        self.fields.iter_mut().find(|field| field.name == name).expect("tests name fields that exist")
    }

    /// Words (and phrases, their words joined by `+`) that search `fields`.
    pub fn query(mut self, fields: &[&str], words: &str) -> Fixture {
        let ids: Vec<FieldId> = fields.iter().map(|name| self.field(name).id).collect();
        for word in words.split_whitespace() {
            let words: Vec<String> = word.split('+').map(str::to_owned).collect();
            self.terms.push(QueryTerm { words: words.len() as u32, ..QueryTerm::new(ids.clone()) });
            self.words.push(words);
        }
        self
    }

    /// Connects a term to the one before it, if there is one.
    pub fn connect(&mut self, index: usize, weight: f64) {
        let Some(before) = index.checked_sub(1) else { return };
        self.terms[before].id = Some(before as i64);
        self.terms[index].connectivity = Some((before as i64, weight));
    }

    /// A rank property.
    pub fn property(mut self, name: &str, value: &str) -> Fixture {
        self.properties.append(name, value);
        self
    }

    /// The terms with their slots.
    pub fn query_terms(&self) -> QueryTerms {
        QueryTerms::new(self.terms.clone())
    }

    /// What matching finds in `document`.
    pub fn match_document(&self, document: &[(&str, Content<'_>)]) -> MatchData {
        let query = self.query_terms();
        let mut data = MatchData::new(&query);
        for (name, elements) in document {
            let field = self.fields.iter().find(|field| field.name == *name).expect("tests name fields that exist");
            let length = elements.iter().map(|(element, _)| element.split_whitespace().count() as u32).sum();
            for (index, words) in self.words.iter().enumerate() {
                let Some(slot) = query.slot(index, field.id) else { continue };
                let found = occurrences(words, elements);
                if !found.is_empty() {
                    data.record(slot, if field.is_filter { &[] } else { &found }, length);
                }
            }
            let weights = elements.iter().map(|(_, weight)| i64::from(*weight)).sum();
            data.record_content(field.id, AttributeContent { values: elements.len() as u32, weights });
        }
        data
    }

    /// The value of `feature`, written as in an expression, for `document`.
    pub fn value(&self, feature: &str, document: &[(&str, Content<'_>)]) -> f64 {
        self.try_value(feature, document).unwrap_or_else(|rejection| panic!("{feature}: {rejection}"))
    }

    /// The same, or why the feature is refused.
    pub fn try_value(&self, feature: &str, document: &[(&str, Content<'_>)]) -> Result<f64, Rejection> {
        self.value_of(feature, &self.match_document(document))
    }

    /// The cells of a tensor feature for `document`, by label.
    pub fn cells(&self, feature: &str, document: &[(&str, Content<'_>)]) -> Vec<(String, f64)> {
        let query = self.query_terms();
        let environment = FeatureEnvironment::new(&self.fields, &query, &self.properties);
        let (name, parameters, output) = split(feature);
        let request = FeatureRequest { name, parameters: &parameters, output };
        let mut set = FeatureSet::prepare([request], &environment).unwrap_or_else(|rejection| panic!("{rejection}"));
        let tensor = set.tensor(0, &self.match_document(document));
        tensor.addresses.iter().map(|address| address.join(",")).zip(tensor.cells.iter().copied()).collect()
    }

    /// The value of `feature` for what matching found.
    pub fn value_of(&self, feature: &str, data: &MatchData) -> Result<f64, Rejection> {
        let query = self.query_terms();
        let environment = FeatureEnvironment::new(&self.fields, &query, &self.properties);
        let (name, parameters, output) = split(feature);
        let request = FeatureRequest { name, parameters: &parameters, output };
        let mut set = FeatureSet::prepare([request], &environment)?;
        set.next_document(0);
        Ok(set.number(0, data))
    }
}

/// Name, parameters and output of a feature.
pub fn split(feature: &str) -> (&str, Vec<String>, Option<&str>) {
    let Some((name, rest)) = feature.split_once('(') else {
        return match feature.split_once('.') {
            Some((name, output)) => (name, Vec::new(), Some(output)),
            None => (feature, Vec::new(), None),
        };
    };
    let (parameters, rest) = rest.rsplit_once(')').expect("tests write features with a closing parenthesis");
    let mut depth = 0;
    let parts = parameters.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    (name, parts.map(str::to_owned).collect(), rest.strip_prefix('.'))
}

fn occurrences(words: &[String], elements: &[(&str, i32)]) -> Vec<Occurrence> {
    let mut found = Vec::new();
    for (element, (text, weight)) in elements.iter().enumerate() {
        let tokens: Vec<&str> = text.split_whitespace().collect();
        for (position, window) in tokens.windows(words.len()).enumerate() {
            if window.iter().zip(words).all(|(token, word)| token == word) {
                found.push(Occurrence {
                    element: element as u32,
                    position: position as u32,
                    element_length: tokens.len() as u32,
                    element_weight: *weight,
                });
            }
        }
    }
    found
}

/// Equal within a relative (near 0: absolute) billionth.
pub fn assert_close(actual: f64, expected: f64, what: &str) {
    let scale = expected.abs().max(1.0);
    assert!((actual - expected).abs() <= 1e-9 * scale, "{what}: {actual} is not {expected}");
}

/// So many random cases, or as many as the environment variable PROPTEST_CASES says.
pub fn cases_of(count: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    Config { cases: asked.unwrap_or(count), failure_persistence: None, ..Config::default() }
}
