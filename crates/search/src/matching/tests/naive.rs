//! The naive matcher: what the specification says, over plain documents, with code of its own for everything: tokens,
//! folding, edit distance, regular expressions, windows. Slow and obvious.
use std::collections::BTreeMap;

use brooklet_document::{Document, Value};

use super::query::{Fold, Leaf, Mode, NUMBERS, Query, TEXTS, Word};
use super::text::{cut, finds, folded, is_letter, is_near, split, tokens};

/// Where a term stands: element, position, tokens of the element, weight of the element.
pub(super) type Place = (u32, u32, u32, i32);

/// Where a leaf stands, by name of the field.
pub(super) type Hits = BTreeMap<&'static str, Vec<Place>>;

/// What a leaf found in a document, in the order of the query; nothing of leaves below a `not`.
pub(super) struct NaiveHits {
    pub(super) hits: Option<Hits>,
    scored: Scored,
}

impl NaiveHits {
    fn new(hits: Option<Hits>) -> NaiveHits {
        NaiveHits { hits, scored: Scored::default() }
    }

    pub(super) fn raw_score(&self) -> f64 {
        let product = self.scored.products.iter().map(|(_, product)| product).sum::<i64>() as f64;
        if self.scored.above.is_none_or(|threshold| product > threshold) { product } else { 0.0 }
    }
}

/// What a weighted operator scores: products by element, and what their sum must be above.
#[derive(Default)]
struct Scored {
    products: Vec<(u32, i64)>,
    above: Option<f64>,
}

/// Gap between the elements of fields in the profile used.
pub(super) type Gap<'a> = &'a dyn Fn(&str) -> Option<u32>;

/// All single values at a path, with element and weight.
fn values<'d>(document: &'d Document, path: &str) -> Vec<(u32, i32, &'d Value)> {
    let mut parts = path.split('.');
    let top = document.fields.iter().find(|(name, _)| Some(name.as_str()) == parts.clone().next());
    parts.next();
    let mut out = Vec::new();
    if let Some((_, value)) = top {
        down(value, &parts.collect::<Vec<_>>(), None, 1, &mut out);
    }
    out
}

fn down<'d>(value: &'d Value, path: &[&str], element: Option<u32>, weight: i32, out: &mut Vec<(u32, i32, &'d Value)>) {
    let numbered = |index: usize| Some(element.unwrap_or(index as u32));
    match value {
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| down(v, path, numbered(i), 1, out)),
        Value::WeightedSet(list) => {
            list.iter().enumerate().for_each(|(i, (v, weight))| down(v, path, numbered(i), *weight, out));
        }
        Value::Map(list) => {
            for (i, (key, value)) in list.iter().enumerate() {
                let of = if path[0] == "key" { key } else { value };
                down(of, &path[1..], numbered(i), 1, out);
            }
        }
        Value::Struct(fields) => {
            let inner = fields.iter().find(|(name, _)| name == path[0]);
            inner.into_iter().for_each(|(_, inner)| down(inner, &path[1..], element, weight, out));
        }
        single => out.push((element.unwrap_or(0), weight, single)),
    }
}

fn strings<'d>(document: &'d Document, path: &str) -> Vec<(u32, i32, &'d str)> {
    let texts = values(document, path).into_iter();
    texts.map(|(e, w, value)| if let Value::String(text) = value { (e, w, text.as_str()) } else { panic!() }).collect()
}

/// How the words of a query for some fields are folded.
fn common_fold(fields: &[usize]) -> Fold {
    let first = TEXTS[fields[0]].fold;
    if fields.iter().all(|field| TEXTS[*field].fold == first) { first } else { Fold::Full }
}

fn how_often(token: &str, word: &str, mode: Mode) -> usize {
    match mode {
        Mode::Text | Mode::Whole => usize::from(token == word),
        Mode::Prefix => usize::from(token.starts_with(word)),
        Mode::Suffix => usize::from(token.ends_with(word)),
        Mode::Substring => token.matches(word).count(),
    }
}

fn term_hits(document: &Document, fields: &[usize], kind: Word, text: &str) -> Hits {
    let fold = common_fold(fields);
    // The first field of a set decides whether the text is cut into words.
    let words: Vec<&str> = match kind {
        Word::Plain if TEXTS[fields[0]].mode != Mode::Whole => split(text),
        _ => vec![text],
    };
    if words.len() > 1 {
        return phrase_hits(document, fields, &words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
    }
    let literal = folded(words.first().unwrap_or(&text), fold);
    let mut hits = Hits::new();
    for field in fields.iter().map(|field| &TEXTS[*field]) {
        let whole = field.mode == Mode::Whole;
        for (element, weight, value) in strings(document, field.path) {
            let own = tokens(field, value);
            let mut found = |position: usize, length: usize, times: usize| {
                let place = (element, position as u32, length as u32, weight);
                hits.entry(field.path).or_default().extend(std::iter::repeat_n(place, times));
            };
            match kind {
                Word::Suffix if whole => {
                    let ends = split(value).iter().any(|token| folded(token, Fold::Full).ends_with(&literal));
                    found(0, 1, usize::from(ends));
                }
                Word::Substring if whole => found(0, 1, folded(value, Fold::Full).matches(&literal).count()),
                _ => {
                    let mode = match kind {
                        _ if field.mode == Mode::Substring && kind != Word::Suffix => Mode::Substring,
                        Word::Prefix => Mode::Prefix,
                        Word::Suffix => Mode::Suffix,
                        Word::Substring => Mode::Substring,
                        Word::Plain => field.mode,
                    };
                    if mode == Mode::Substring && (field.fold != Fold::Full || !literal.chars().all(is_letter)) {
                        pieces(cut(value, field.max_bytes), &literal, &mut found);
                        continue;
                    }
                    for (position, token) in own.iter().enumerate() {
                        found(position, own.len(), how_often(token, &literal, mode));
                    }
                }
            }
        }
    }
    hits.retain(|_, places| !places.is_empty());
    hits
}

/// A piece of text: its place counts the runs of separators before it.
fn pieces(value: &str, piece: &str, found: &mut dyn FnMut(usize, usize, usize)) {
    let value = folded(value, Fold::Full);
    let runs = |text: &str| {
        let gaps = text.split(is_letter).filter(|gap| !gap.is_empty());
        gaps.count()
    };
    for (at, _) in value.match_indices(piece) {
        // A run that the piece itself continues has begun before it.
        found(runs(&value[..at]), runs(&value) + 1, 1);
    }
}

fn phrase_hits(document: &Document, fields: &[usize], words: &[String]) -> Hits {
    let words: Vec<String> = words.iter().map(|word| folded(word, common_fold(fields))).collect();
    let mut hits = Hits::new();
    for field in fields.iter().map(|field| &TEXTS[*field]) {
        for (element, weight, value) in strings(document, field.path) {
            let own = tokens(field, value);
            for start in 0..own.len() {
                let here = words.iter().enumerate().all(|(offset, word)| {
                    own.get(start + offset).is_some_and(|token| how_often(token, word, field.mode) > 0)
                });
                if here {
                    let place = (element, start as u32, own.len() as u32, weight);
                    hits.entry(field.path).or_default().push(place);
                }
            }
        }
    }
    hits
}

/// Values of which a question is answered with yes, each at place 0.
fn value_hits(document: &Document, fields: &[usize], holds: impl Fn(&str) -> bool) -> Hits {
    let mut hits = Hits::new();
    for field in fields.iter().map(|field| &TEXTS[*field]) {
        for (element, weight, value) in strings(document, field.path) {
            if holds(cut(value, field.max_bytes)) && !(field.mode == Mode::Whole && value.is_empty()) {
                hits.entry(field.path).or_default().push((element, 0, 1, weight));
            }
        }
    }
    hits
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Int(value) => f64::from(*value),
        Value::Long(value) => *value as f64,
        Value::Byte(value) => f64::from(*value),
        Value::Double(value) => *value,
        Value::Bool(value) => f64::from(u8::from(*value)),
        other => panic!("{other:?} is no number"),
    }
}

fn number_hits(document: &Document, path: &'static str, holds: impl Fn(f64) -> bool) -> Hits {
    let found = values(document, path).into_iter().filter(|(_, _, value)| holds(number(value)));
    let places: Vec<Place> = found.map(|(element, weight, _)| (element, 0, 1, weight)).collect();
    if places.is_empty() { Hits::new() } else { Hits::from([(path, places)]) }
}

/// Tokens of a weighted operator that a document has: element, weights of token and element.
fn weighted(document: &Document, path: &str, tokens_of: &[(String, i32)]) -> Vec<(u32, i32, i32)> {
    let mut found = Vec::new();
    let text = TEXTS.iter().find(|field| field.path == path);
    for (element, weight, value) in values(document, path) {
        let own: Vec<String> = match (text, value) {
            (Some(field), Value::String(value)) => tokens(field, value),
            (_, value) => vec![number(value).to_string()],
        };
        for token in own {
            for (wanted, of_token) in tokens_of {
                let wanted = text.map_or_else(|| wanted.clone(), |field| folded(wanted, field.fold));
                found.extend((token == wanted).then_some((element, *of_token, weight)));
            }
        }
    }
    found.sort_by_key(|(element, of_token, _)| (*element, std::cmp::Reverse(*of_token)));
    found
}

fn merge(into: &mut Hits, from: Hits) {
    for (field, places) in from {
        into.entry(field).or_default().extend(places);
    }
}

fn leaf_hits(leaf: &Leaf, document: &Document) -> (Hits, Scored) {
    let hits = match leaf {
        Leaf::Term { fields, kind, text, .. } => term_hits(document, fields, *kind, text),
        Leaf::Phrase { fields, words, .. } => phrase_hits(document, fields, words),
        Leaf::Equiv(leaves) => {
            let mut hits = Hits::new();
            leaves.iter().for_each(|leaf| merge(&mut hits, leaf_hits(leaf, document).0));
            hits.values_mut().for_each(|places| places.sort_unstable());
            hits.values_mut().for_each(|places| places.dedup());
            hits
        }
        Leaf::In { field, texts, .. } => {
            let fold = TEXTS[*field].fold;
            let texts: Vec<String> = texts.iter().map(|text| folded(text, fold)).collect();
            let mut hits = Hits::new();
            for (element, weight, value) in strings(document, TEXTS[*field].path) {
                let own = tokens(&TEXTS[*field], value);
                for (position, _) in own.iter().enumerate().filter(|(_, token)| texts.contains(token)) {
                    let place = (element, position as u32, own.len() as u32, weight);
                    hits.entry(TEXTS[*field].path).or_default().push(place);
                }
            }
            hits
        }
        Leaf::Fuzzy { fields, text, edits, locked, prefix, .. } => {
            let cased = common_fold(fields) == Fold::None;
            value_hits(document, fields, |value| is_near(text, value, *edits, *locked, *prefix, cased))
        }
        Leaf::Regex { fields, pattern, .. } => {
            let cased = common_fold(fields) == Fold::None;
            value_hits(document, fields, |value| finds(pattern, value, cased))
        }
        Leaf::Range { field, low, high, .. } => {
            number_hits(document, NUMBERS[*field], |value| *low <= value && value <= *high)
        }
        Leaf::Weighted { path, tokens, operator, threshold, .. } => {
            let found = weighted(document, path, tokens);
            let product = |(element, a, b): &(u32, i32, i32)| (*element, i64::from(*a) * i64::from(*b));
            let products: Vec<(u32, i64)> = found.iter().map(product).collect();
            let wand = *operator == "wand";
            let sum: i64 = products.iter().map(|(_, product)| product).sum();
            if found.is_empty() || (wand && *threshold > 0.0 && sum as f64 <= *threshold) {
                return (Hits::new(), Scored::default());
            }
            let places = found.iter().map(|(element, of_token, _)| (*element, 0, 1, *of_token)).collect();
            let products = if *operator == "weightedSet" { Vec::new() } else { products };
            return (Hits::from([(*path, places)]), Scored { products, above: wand.then_some(*threshold) });
        }
        Leaf::Circle { path, latitude, longitude, degrees } => {
            let shortening = libm::cos(latitude * std::f64::consts::PI / 180.0);
            let inside = |x: i32, y: i32| {
                let across = (f64::from(x) / 1e6 - longitude) * shortening;
                let up = f64::from(y) / 1e6 - latitude;
                across * across + up * up <= degrees * degrees
            };
            place_hits(document, path, inside)
        }
        Leaf::Box { path, south, west, north, east } => place_hits(document, path, |x, y| {
            let (x, y) = (f64::from(x) / 1e6, f64::from(y) / 1e6);
            (*west..=*east).contains(&x) && (*south..=*north).contains(&y)
        }),
    };
    (hits, Scored::default())
}

fn place_hits(document: &Document, path: &'static str, inside: impl Fn(i32, i32) -> bool) -> Hits {
    let found = values(document, path).into_iter().filter(|(_, _, value)| {
        let Value::Position { x, y } = value else { panic!("{value:?} is no position") };
        inside(*x, *y)
    });
    let places: Vec<Place> = found.map(|(element, weight, _)| (element, 0, 1, weight)).collect();
    if places.is_empty() { Hits::new() } else { Hits::from([(path, places)]) }
}

/// How far a place is after another; nothing if it cannot be reached.
fn distance(a: &Place, b: &Place, gap: Option<u32>) -> Option<u32> {
    match (b.0.checked_sub(a.0)?, gap) {
        (0, _) => b.1.checked_sub(a.1),
        (1, Some(gap)) => (a.2 + gap + b.1).checked_sub(a.1),
        _ => None,
    }
}

/// First and last places of the windows of some terms in one field: every choice of one place for each is looked at.
fn windows(terms: &[Vec<Place>], negatives: &[Vec<Place>], near: &Query, gap: Option<u32>) -> Vec<(Place, Place)> {
    let Query::Near { distance: most, exclusion, ordered, .. } = near else { panic!("not near") };
    let mut shortest: BTreeMap<(u32, u32), (Place, Place)> = BTreeMap::new();
    let mut choice = vec![0usize; terms.len()];
    if terms.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    loop {
        let places: Vec<Place> = choice.iter().zip(terms).map(|(at, term)| term[*at]).collect();
        let in_order = places.windows(2).all(|pair| (pair[0].0, pair[0].1) < (pair[1].0, pair[1].1));
        let first = *places.iter().min_by_key(|place| (place.0, place.1)).unwrap();
        let last = *places.iter().max_by_key(|place| (place.0, place.1)).unwrap();
        if !ordered || in_order {
            let window = shortest.entry((first.0, first.1)).or_insert((first, last));
            if (last.0, last.1) < (window.1.0, window.1.1) {
                window.1 = last;
            }
        }
        let Some(next) = (0..terms.len()).find(|term| choice[*term] + 1 < terms[*term].len()) else { break };
        choice[next] += 1;
        choice[..next].iter_mut().for_each(|at| *at = 0);
    }
    let exclusion = exclusion.unwrap_or(most.div_ceil(2));
    let reaches = |(first, last): &(Place, Place)| distance(first, last, gap).is_some_and(|far| far <= *most);
    let calm = |(first, last): &(Place, Place)| {
        !negatives.iter().flatten().any(|at| {
            let inside = (first.0, first.1) <= (at.0, at.1) && (at.0, at.1) <= (last.0, last.1);
            let before = distance(at, first, gap).is_some_and(|far| far <= exclusion);
            let after = distance(last, at, gap).is_some_and(|far| far <= exclusion);
            inside || before || after
        })
    };
    shortest.into_values().filter(reaches).filter(calm).collect()
}

/// The matcher over one document.
pub(super) struct Naive<'a> {
    pub(super) document: &'a Document,
    pub(super) gap: Gap<'a>,
}

impl Naive<'_> {
    /// Whether the query matches, and what each leaf found of it.
    pub(super) fn matches(&self, query: &Query, found: &mut Vec<NaiveHits>) -> bool {
        match query {
            Query::All(value) => *value,
            Query::Leaf(leaf) => {
                let (hits, scored) = leaf_hits(leaf, self.document);
                let matched = !hits.is_empty();
                found.push(NaiveHits { hits: Some(hits), scored });
                matched
            }
            Query::And(queries) => queries.iter().map(|query| self.matches(query, found)).fold(true, |a, b| a & b),
            Query::Or(queries) => queries.iter().map(|query| self.matches(query, found)).fold(false, |a, b| a | b),
            Query::Rank(a, b) => {
                let matched = self.matches(a, found);
                self.matches(b, found);
                matched
            }
            Query::AndNot(a, b) => {
                let matched = self.matches(a, found);
                let before = found.len();
                let not = self.matches(b, found);
                found[before..].iter_mut().for_each(|found| found.hits = None);
                matched && !not
            }
            Query::Near { .. } => !self.near(query, found).is_empty(),
            Query::Same { field, condition, filter } => self.same(field, condition, filter, found),
        }
    }

    /// Elements in which windows begin.
    fn near(&self, near: &Query, found: &mut Vec<NaiveHits>) -> Vec<u32> {
        let Query::Near { leaves, negatives, .. } = near else { panic!("not near") };
        let hits = |leaves: &[Leaf]| leaves.iter().map(|leaf| leaf_hits(leaf, self.document).0).collect::<Vec<_>>();
        let (positive, negative) = (hits(leaves), hits(negatives));
        let mut kept: Vec<Hits> = vec![Hits::new(); leaves.len()];
        let mut elements = Vec::new();
        for field in positive[0].keys() {
            let of = |hits: &[Hits]| -> Vec<Vec<Place>> {
                hits.iter().map(|hits| hits.get(field).cloned().unwrap_or_default()).collect()
            };
            let windows = windows(&of(&positive), &of(&negative), near, (self.gap)(field));
            for (hits, kept) in positive.iter().zip(&mut kept) {
                let inside = hits
                    .get(field)
                    .into_iter()
                    .flatten()
                    .filter(|at| windows.iter().any(|(a, b)| ((a.0, a.1)..=(b.0, b.1)).contains(&(at.0, at.1))));
                let inside: Vec<Place> = inside.copied().collect();
                if !inside.is_empty() {
                    kept.insert(field, inside);
                }
            }
            elements.extend(windows.iter().map(|(first, _)| first.0));
        }
        found.extend(kept.into_iter().map(|hits| NaiveHits::new(Some(hits))));
        found.extend(negatives.iter().map(|_| NaiveHits::new(None)));
        elements
    }

    fn same(&self, field: &'static str, condition: &Query, filter: &[u32], found: &mut Vec<NaiveHits>) -> bool {
        let count = match self.document.fields.iter().find(|(name, _)| name == field) {
            Some((_, Value::Array(list))) => list.len(),
            Some((_, Value::WeightedSet(list))) => list.len(),
            Some((_, Value::Map(list))) => list.len(),
            _ => 0,
        };
        let wanted = |element: &u32| filter.is_empty() || filter.contains(element);
        let holds = |element: &u32| self.holds_in(condition, *element);
        let elements: Vec<u32> = (0..count as u32).filter(wanted).filter(holds).collect();
        let of_whole = elements.iter().map(|element| (*element, 0, 1, 1)).collect();
        let whole = if elements.is_empty() { Hits::new() } else { Hits::from([(field, of_whole)]) };
        found.push(NaiveHits::new(Some(whole)));
        let before = found.len();
        self.matches(condition, found);
        for found in &mut found[before..] {
            found.scored.products.retain(|(element, _)| elements.contains(element));
            for hits in found.hits.iter_mut() {
                hits.values_mut().for_each(|places| places.retain(|place| elements.contains(&place.0)));
                hits.retain(|_, places| !places.is_empty());
            }
        }
        !elements.is_empty()
    }

    fn holds_in(&self, condition: &Query, element: u32) -> bool {
        match condition {
            Query::All(value) => *value,
            Query::Leaf(leaf) => leaf_hits(leaf, self.document).0.values().flatten().any(|place| place.0 == element),
            Query::And(queries) => queries.iter().all(|query| self.holds_in(query, element)),
            Query::Or(queries) => queries.iter().any(|query| self.holds_in(query, element)),
            Query::Rank(a, _) => self.holds_in(a, element),
            Query::AndNot(a, b) => self.holds_in(a, element) && !self.holds_in(b, element),
            Query::Near { .. } => self.near(condition, &mut Vec::new()).contains(&element),
            Query::Same { .. } => false,
        }
    }
}
