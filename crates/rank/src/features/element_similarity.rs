//! `elementSimilarity(field)`: how alike the query and each element of the field are, put together.
//!
//! Of an element, with its terms taken as [`super::text_similarity`] takes them: p = proximity, o = order,
//! q = query coverage, f = field coverage (length at least the number of terms taken), w = the element's weight. The
//! output `default`, and each `elementSimilarity(field).output.NAME` of the rank properties, is an aggregator (max, avg
//! or sum) of an expression in these, by default `max((0.35*p+0.15*o+0.30*q+0.20*f)*w)`. Without a hit it is 0.

use super::call::Call;
use super::text_similarity::proximity;
use crate::expression::{Environment, Expression, FeatureName, FeatureType, Function};
use crate::features::prepared::{Executor, Prepared};
use crate::features::properties::refuse;
use crate::match_data::{MatchData, Occurrence, Slot};
use crate::program::{FeatureSource, Program, Scratch, Value};
use brooklet_document::Tensor;
use brooklet_task::Rejection;
use std::rc::Rc;

const DEFAULT: &str = "max((0.35*p+0.15*o+0.30*q+0.20*f)*w)";
const VARIABLES: [&str; 5] = ["p", "o", "q", "f", "w"];

#[derive(Clone, Copy)]
enum Aggregate {
    Max,
    Average,
    Sum,
}

struct Output {
    aggregate: Aggregate,
    program: Program,
    scratch: Scratch,
    count: f64,
    value: f64,
}

struct ElementSimilarity {
    terms: Vec<(Slot, f64)>,
    total_weight: f64,
    outputs: Vec<Output>,
    /// (element, position, term, occurrence), kept for its memory.
    places: Vec<(u32, u32, u32, Occurrence)>,
}

/// Makes `elementSimilarity` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_index_field()?;
    let prefix = format!("{}.output.", call.text());
    let mut written = vec![("default".to_owned(), DEFAULT.to_owned())];
    for (name, values) in call.environment.properties.beginning(&prefix) {
        let Some(value) = values.first() else { continue };
        match written.iter_mut().find(|(known, _)| known == name) {
            Some((_, text)) => text.clone_from(value),
            None => written.push((name.to_owned(), value.clone())),
        }
    }
    let terms = call.environment.terms_of_field(field.id).filter(|(ranked, _)| ranked.term.weight != 0);
    let terms: Vec<(Slot, f64)> = terms.map(|(ranked, slot)| (slot, f64::from(ranked.term.weight))).collect();
    let outputs = written.iter().map(|(name, text)| output(name, text)).collect::<Result<Vec<_>, _>>()?;
    let total_weight = terms.iter().map(|(_, weight)| weight).sum();
    let executor = ElementSimilarity { terms, total_weight, outputs, places: Vec::new() };
    Ok(call.ready_with(written.into_iter().map(|(name, _)| name).collect(), executor))
}

/// `aggregator(expression)`.
fn output(name: &str, text: &str) -> Result<Output, Rejection> {
    let wrong = |why: &str| refuse(format!("output '{name}' is '{}': {why}", Rejection::quote(text)));
    let inside = text.trim().strip_suffix(')').and_then(|text| text.split_once('('));
    let (aggregate, expression) = inside.ok_or_else(|| wrong("aggregator(expression) is expected"))?;
    let aggregate = match aggregate.trim() {
        "max" => Aggregate::Max,
        "avg" => Aggregate::Average,
        "sum" => Aggregate::Sum,
        _ => return Err(wrong("the aggregator must be max, avg or sum")),
    };
    let expression = Expression::parse(expression).map_err(|rejection| wrong(&rejection.message))?;
    let program = Program::compile(&expression, &Variables).map_err(|rejection| wrong(&rejection.message))?;
    if !matches!(program.result_type(), FeatureType::Number) {
        return Err(wrong("the expression must yield a number"));
    }
    Ok(Output { aggregate, scratch: program.scratch(), program, count: 0.0, value: 0.0 })
}

/// The five numbers of an element are all that an output's expression can name.
struct Variables;

impl Environment for Variables {
    fn feature_type(&self, feature: &FeatureName) -> Result<FeatureType, Rejection> {
        match VARIABLES.contains(&feature.to_string().as_str()) {
            true => Ok(FeatureType::Number),
            false => Err(refuse(format!("'{feature}' is none of p, o, q, f and w"))),
        }
    }

    fn function(&self, _name: &str) -> Option<Function> {
        None
    }

    fn constant(&self, _name: &str) -> Option<Value> {
        None
    }
}

struct Element<'a> {
    program: &'a Program,
    values: [f64; 5],
}

impl FeatureSource for Element<'_> {
    fn number(&mut self, feature: usize) -> f64 {
        let name = &self.program.features()[feature].0.name;
        VARIABLES.iter().position(|known| known == name).map_or(0.0, |at| self.values[at])
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        Rc::new(Tensor::scalar(self.number(feature)))
    }
}

impl Executor for ElementSimilarity {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        self.places.clear();
        for (term, (slot, _)) in (0u32..).zip(&self.terms) {
            let occurrences = data.hits(*slot).map_or(&[][..], |hits| hits.occurrences);
            self.places.extend(occurrences.iter().map(|found| (found.element, found.position, term, *found)));
        }
        self.places.sort_unstable();
        self.outputs.iter_mut().for_each(|output| (output.count, output.value) = (0.0, 0.0));
        for element in self.places.chunk_by(|left, right| left.0 == right.0) {
            let values = similarity(element, &self.terms, self.total_weight);
            self.outputs.iter_mut().for_each(|output| output.add(values));
        }
        for (output, value) in self.outputs.iter().zip(outputs) {
            *value = match output.aggregate {
                Aggregate::Average if output.count > 0.0 => output.value / output.count,
                _ => output.value,
            };
        }
    }
}

impl Output {
    fn add(&mut self, values: [f64; 5]) {
        let mut source = Element { program: &self.program, values };
        let value = self.program.score(&mut source, &mut self.scratch).unwrap_or(f64::NAN);
        self.count += 1.0;
        match self.aggregate {
            Aggregate::Max if self.count > 1.0 && value <= self.value => {}
            Aggregate::Max => self.value = value,
            Aggregate::Average | Aggregate::Sum => self.value += value,
        }
    }
}

/// p, o, q, f and w of one element.
fn similarity(element: &[(u32, u32, u32, Occurrence)], terms: &[(Slot, f64)], total_weight: f64) -> [f64; 5] {
    let mut taken = vec![false; terms.len()];
    let (mut count, mut weight, mut near, mut in_order) = (0u32, 0.0, 0.0, 0u32);
    let mut last: Option<(u32, u32)> = None;
    for (_, position, term, _) in element {
        if taken[*term as usize] || last.is_some_and(|(before, _)| *position <= before) {
            continue;
        }
        if let Some((before, earlier)) = last {
            near += proximity(position - before);
            in_order += u32::from(*term > earlier);
        }
        taken[*term as usize] = true;
        count += 1;
        weight += terms[*term as usize].1;
        last = Some((*position, *term));
    }
    let occurrence = element[0].3;
    let length = occurrence.element_length.max(count);
    let (p, o) = if count < 2 {
        (proximity(length), f64::from(u8::from(terms.len() == 1)))
    } else {
        (near / f64::from(count - 1), f64::from(in_order) / f64::from(count - 1))
    };
    let q = if total_weight == 0.0 { 0.0 } else { weight / total_weight };
    [p, o, q, f64::from(count) / f64::from(length), f64::from(occurrence.element_weight)]
}
