//! fieldMatch: computed examples, and a second implementation that keeps whole segmentations and tries every position.

use crate::fixture::{Fixture, assert_close, cases_of, text};
use brooklet_rank::match_data::{Collection, MatchData, Occurrence, Slot};
use proptest::prelude::*;

/// Proximity by distance −10 to 10, as held in 32 bits.
const TABLE: [f32; 21] = [
    0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.17, 0.24, 0.33, 1.0, 0.71, 0.50, 0.35, 0.25, 0.18, 0.13, 0.09, 0.06,
    0.04, 0.03,
];

fn tenth() -> f64 {
    f64::from(0.1f32)
}

/// (word, position) pairs.
type Segment = Vec<(usize, usize)>;

type Segments = Vec<Segment>;

struct Naive<'a> {
    words: Vec<&'a str>,
    tokens: Vec<&'a str>,
}

/// What is known of a segment start.
#[derive(Clone)]
struct Known {
    segments: Segments,
    previous: usize,
    explored: usize,
    skipped: usize,
    is_open: bool,
}

impl Naive<'_> {
    /// Every position of the field, as it is tried from `from`.
    fn order(&self, from: usize) -> Vec<usize> {
        let length = self.tokens.len();
        let mut order: Vec<usize> = (from..length.min(from + 10)).collect();
        order.extend((from.saturating_sub(10)..from).rev());
        order.extend(from + 10..length);
        order.extend((0..from.saturating_sub(10)).rev());
        order
    }

    fn find(&self, word: usize, from: usize, skip: usize) -> Option<(usize, usize)> {
        let candidates = self.order(from).into_iter().enumerate().skip(skip);
        candidates.into_iter().find(|(_, position)| self.tokens[*position] == self.words[word])
    }

    fn pairs(segments: &Segments) -> impl Iterator<Item = ((usize, usize), (usize, usize))> {
        segments.iter().flat_map(|segment| segment.windows(2).map(|pair| (pair[0], pair[1])))
    }

    fn proximities(segments: &Segments) -> Vec<f64> {
        let of_pair = |from: usize, to: usize| {
            let distance = to as i64 - from as i64 - 1;
            let distance = if distance < 0 { distance + 1 } else { distance };
            TABLE.get((distance + 10) as usize).filter(|_| distance >= -10).map(|proximity| f64::from(*proximity))
        };
        Self::pairs(segments).filter_map(|((_, from), (_, to))| of_pair(from, to)).collect()
    }

    fn unweighted_proximity(segments: &Segments) -> f64 {
        let proximities = Self::proximities(segments);
        if proximities.is_empty() { 1.0 } else { proximities.iter().sum::<f64>() / proximities.len() as f64 }
    }

    fn absolute_proximity(segments: &Segments) -> f64 {
        let proximities = Self::proximities(segments);
        if proximities.is_empty() {
            return tenth();
        }
        proximities.iter().map(|proximity| proximity * 0.1).sum::<f64>() / proximities.len() as f64
    }

    fn quality(segments: &Segments) -> f64 {
        if segments.is_empty() { 0.0 } else { Self::absolute_proximity(segments) / segments.len().pow(2) as f64 }
    }

    /// One more segment from the start `known` at word `first`: it, the word after it and its last position.
    fn extend(&self, first: usize, known: &mut Known) -> Option<(Segment, usize, usize)> {
        let mut segment = Segment::new();
        let (mut at, mut skip) = (known.previous, known.explored);
        for word in first + known.skipped..self.words.len() {
            let found = self.find(word, at, skip);
            if segment.is_empty() {
                match found {
                    None if skip > 0 => return None,
                    None => known.skipped += 1,
                    Some((distance, _)) => known.explored = distance + 1,
                }
            } else {
                let jump = found.map_or(at as i64 + 1, |(_, position)| (position as i64 - at as i64).abs());
                if jump >= 10 {
                    return Some((segment, word, at));
                }
            }
            skip = usize::from(found.is_some());
            if let Some((_, position)) = found {
                segment.push((word, position));
                at = position;
            }
        }
        (!segment.is_empty()).then_some((segment, self.words.len(), at))
    }

    fn best(&self) -> Segments {
        let fresh = Known { segments: vec![], previous: 0, explored: 0, skipped: 0, is_open: true };
        let mut starts: Vec<Option<Known>> = vec![None; self.words.len() + 1];
        starts[0] = Some(fresh.clone());
        let (mut at, mut alternatives) = (0, 0);
        loop {
            let mut known = starts[at].clone().expect("only reached starts are chosen");
            match self.extend(at, &mut known) {
                None => known.is_open = false,
                Some((segment, next, previous)) => {
                    let mut segments = known.segments.clone();
                    segments.push(segment);
                    match &mut starts[next] {
                        None => starts[next] = Some(Known { segments, previous, ..fresh.clone() }),
                        Some(other) if Self::quality(&segments) > Self::quality(&other.segments) => {
                            (other.segments, other.previous) = (segments, previous);
                        }
                        Some(_) => {}
                    }
                }
            }
            starts[at] = Some(known);
            let open = (at..starts.len()).find(|index| {
                starts[*index]
                    .as_ref()
                    .is_some_and(|known| known.is_open && (known.explored == 0 || alternatives < 1_000))
            });
            let Some(next) = open else { break };
            alternatives += usize::from(starts[next].as_ref().is_some_and(|known| known.explored > 0));
            at = next;
        }
        starts.into_iter().flatten().last().map(|known| known.segments).unwrap_or_default()
    }

    /// All outputs with a name.
    fn outputs(&self) -> Vec<(&'static str, f64)> {
        let segments = self.best();
        let length = self.tokens.len() as f64;
        let all: Vec<(usize, usize)> = segments.iter().flatten().copied().collect();
        let matches = (all.len() as f64).min(length);
        let count = self.words.len() as f64;
        let (first, last) = (all.iter().map(|pair| pair.1).min(), all.iter().map(|pair| pair.1).max());
        let steps: Vec<_> = Self::pairs(&segments).collect();
        let gaps: Vec<(usize, usize)> =
            steps.iter().filter(|(a, b)| (a.0 + 1, a.1 + 1) != *b).map(|(a, b)| (a.1, b.1)).collect();
        let back = gaps.iter().filter(|(from, to)| to <= from).count() as f64;
        let gap_length: usize = gaps.iter().map(|(from, to)| if to > from { to - from - 1 } else { from - to }).sum();
        let mut starts: Vec<usize> = segments.iter().map(|segment| segment[0].1).collect();
        starts.sort_unstable();
        let segment_distance: usize = starts.windows(2).map(|pair| pair[1] - pair[0] + 1).sum();
        let pairs = Self::proximities(&segments).len() as f64;
        let longest = segments.iter().map(|segment| Self::longest_run(segment)).max().unwrap_or(1) as f64;
        let absolute = Self::absolute_proximity(&segments);
        let proximity = if self.words.len() > 1 { absolute / 0.1 } else { absolute / tenth() };
        let (importance, weight) = (f64::from(0.05f32), f64::from(0.9f32));
        let completeness = matches / count * (1.0 - importance) + importance * matches / length;
        let relatedness = if matches > 1.0 { 1.0 - (segments.len() as f64 - 1.0) / (matches - 1.0) } else { 1.0 };
        let head = first.unwrap_or(0) as f64;
        let earliness = if length == 1.0 { 1.0 } else { 1.0 - head / (length.max(6.0) - 1.0) };
        let segment_proximity = 1.0 - segment_distance as f64 / length;
        let occurrence = self.occurrence();
        let together = weight * (1.0 - weight + weight * relatedness) * proximity * completeness * completeness;
        let score =
            (together + importance * (earliness + segment_proximity + occurrence)) / (weight + 3.0 * importance);
        vec![
            ("score", score),
            ("proximity", proximity),
            ("completeness", completeness),
            ("queryCompleteness", matches / count),
            ("fieldCompleteness", matches / length),
            ("orderness", if pairs == 0.0 { 1.0 } else { 1.0 - back / pairs }),
            ("relatedness", relatedness),
            ("earliness", earliness),
            ("longestSequenceRatio", longest / matches),
            ("segmentProximity", segment_proximity),
            ("unweightedProximity", Self::unweighted_proximity(&segments)),
            ("absoluteProximity", absolute),
            ("occurrence", occurrence),
            ("weight", matches / count),
            ("significance", matches / count),
            ("importance", matches / count),
            ("segments", segments.len() as f64),
            ("matches", matches),
            ("outOfOrder", back),
            ("gaps", gaps.len() as f64),
            ("gapLength", gap_length as f64),
            ("longestSequence", longest),
            ("head", head),
            ("tail", last.map_or(0.0, |last| length - 1.0 - last as f64)),
            ("segmentDistance", segment_distance as f64),
            ("degradedMatches", 0.0),
        ]
    }

    fn longest_run(segment: &[(usize, usize)]) -> usize {
        let mut best = 1;
        let mut run = 1;
        for pair in segment.windows(2) {
            run = if (pair[0].0 + 1, pair[0].1 + 1) == pair[1] { run + 1 } else { 1 };
            best = best.max(run);
        }
        best
    }

    fn occurrence(&self) -> f64 {
        let mut words = self.words.clone();
        words.sort_unstable();
        words.dedup();
        let count = |word: &&str| self.tokens.iter().filter(|token| *token == word).count().min(100) as f64;
        words.retain(|word| count(word) > 0.0);
        let divisor = (self.tokens.len() as f64).min(100.0 * words.len() as f64);
        words.iter().map(|word| count(word) / divisor).sum()
    }
}

fn value(query: &str, field: &str, output: &str) -> f64 {
    let fixture = Fixture::index(&["title"]).query(&["title"], query);
    fixture.value(&format!("fieldMatch(title){output}"), &text("title", field))
}

#[test]
fn a_perfect_match_is_one() {
    assert_close(value("a", "a", ""), 1.0, "a word");
    for output in ["proximity", "completeness", "orderness", "relatedness", "earliness", "segmentProximity", "weight"] {
        let actual = value("a b c", "a b c", &format!(".{output}"));
        assert!((actual - 1.0).abs() < 1e-6, "{output} is {actual}");
    }
    assert!((value("a b c", "a b c", "") - 1.0).abs() < 1e-6);
}

#[test]
fn one_word_behind_another() {
    // completeness = 0.95 + 0.05/2; earliness = 1 − 1/5; occurrence = ½; everything else 1.
    let completeness: f64 = 0.975;
    let expected = (0.9 * completeness * completeness + 0.05 * 0.8 + 0.05 + 0.05 * 0.5) / 1.05;
    assert!((value("a", "x a", "") - expected).abs() < 1e-7);
    assert_close(value("a", "x a", ".head"), 1.0, "head");
    assert_close(value("a", "x a", ".tail"), 0.0, "tail");
}

#[test]
fn the_better_of_two_places_is_found() {
    // The first a is far from b; the search comes back for the second.
    let field = "a x x x x x a b";
    assert_close(value("a b", field, ".gaps"), 0.0, "no gap");
    assert_close(value("a b", field, ".head"), 6.0, "the later a");
    assert_close(value("a b", field, ".longestSequence"), 2.0, "a b");
}

#[test]
fn words_far_apart_make_segments() {
    let field = "a b x x x x x x x x x x x c";
    assert_close(value("a b c", field, ".segments"), 2.0, "segments");
    assert_close(value("a b c", field, ".segmentDistance"), 14.0, "13 positions and one");
    assert_close(value("a b c", field, ".relatedness"), 0.5, "one of two pairs is torn");
    assert_close(value("a b c", field, ".segmentProximity"), 0.0, "as far as can be");
    assert!(value("a b", field, ".segmentDistance").is_sign_positive(), "no distance has no sign");
}

#[test]
fn a_phrase_counts_as_its_words() {
    let field = "x a b x c";
    let phrase = Fixture::index(&["title"]).query(&["title"], "a+b c");
    for output in ["score", "matches", "gaps", "longestSequence", "weight", "queryCompleteness"] {
        let name = format!("fieldMatch(title).{output}");
        let expected = value("a b c", field, &format!(".{output}"));
        assert_close(phrase.value(&name, &text("title", field)), expected, output);
    }
    assert_close(phrase.value("fieldMatch(title).matches", &text("title", "a x b")), 0.0, "not as a phrase");
}

#[test]
fn connectedness_makes_distance_matter_more() {
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a b");
    fixture.connect(1, 0.3);
    let absolute = f64::from(0.71f32).powf(0.3 / 0.1) * 0.3;
    assert_close(fixture.value("fieldMatch(title).absoluteProximity", &text("title", "a x b")), absolute, "cubed");
    assert_close(fixture.value("fieldMatch(title).proximity", &text("title", "a x b")), absolute / 0.3, "relative");
}

#[test]
fn weight_and_significance_are_shares_of_the_whole_query() {
    let mut fixture = Fixture::index(&["title", "body"]).query(&["title"], "a b").query(&["body"], "c");
    fixture.terms[0].weight = 300;
    fixture.terms[1].significance = Some(0.5);
    let document = text("title", "a x");
    assert_close(fixture.value("fieldMatch(title).weight", &document), 0.6, "300 of 500");
    assert_close(fixture.value("fieldMatch(title).significance", &document), 0.4, "1 of 2.5");
    assert_close(fixture.value("fieldMatch(title).importance", &document), 0.5, "their mean");
    let fixture = fixture.property("fieldMatch(title).totalTermWeight", "1000");
    assert_close(fixture.value("fieldMatch(title).weight", &document), 0.3, "300 of 1000");
}

#[test]
fn hits_without_positions_only_count() {
    let mut fixture = Fixture::index(&["title"]).query(&["title"], "a b c d");
    fixture.field("title").is_filter = true;
    let document = text("title", "a b");
    let importance = f64::from(0.05f32);
    assert_close(fixture.value("fieldMatch(title)", &document), 0.0, "score");
    assert_close(fixture.value("fieldMatch(title).completeness", &document), 0.5 * (1.0 - importance), "completeness");
    assert_close(fixture.value("fieldMatch(title).queryCompleteness", &document), 0.5, "queryCompleteness");
    assert_close(fixture.value("fieldMatch(title).weight", &document), 0.5, "weight");
    assert_close(fixture.value("fieldMatch(title).matches", &document), 2.0, "matches");
    assert_close(fixture.value("fieldMatch(title).degradedMatches", &document), 2.0, "degradedMatches");
    for output in ["proximity", "orderness", "importance", "significance", "segments", "longestSequence", "occurrence"]
    {
        assert_close(fixture.value(&format!("fieldMatch(title).{output}"), &document), 0.0, output);
    }
}

#[test]
fn a_word_without_position_counts_where_the_walk_passes_it() {
    let fixture = Fixture::index(&["title"]).query(&["title"], "a b c");
    let mut data = MatchData::new(&fixture.query_terms());
    let at = |position| Occurrence { element: 0, position, element_length: 3, element_weight: 1 };
    data.record(Slot(0), &[at(1)], 3);
    data.record(Slot(1), &[], 3);
    let value = |output: &str| fixture.value_of(&format!("fieldMatch(title).{output}"), &data).unwrap();
    assert_close(value("matches"), 2.0, "both");
    assert_close(value("degradedMatches"), 1.0, "one of them without position");
    assert_close(value("segments"), 1.0, "one place");
}

#[test]
fn positions_beyond_the_field_are_not_walked() {
    let fixture = Fixture::index(&["tags"]).query(&["tags"], "a b");
    let document = [("tags", vec![("a x", 1), ("x x x b", 1)])];
    let mut fixture_of_array = fixture.clone();
    fixture_of_array.field("tags").collection = Collection::Array;
    // The length is that of the longest element with an a: b's position 3 lies beyond it.
    assert_close(fixture_of_array.value("fieldMatch(tags).matches", &document), 1.0, "only a");
    assert_close(fixture_of_array.value("fieldMatch(tags).queryCompleteness", &document), 0.5, "only a");
}

#[test]
fn the_number_of_tries_is_limited() {
    let query = "a b c d";
    let field = "a x x b x x x a x b x x x x x a b x x x x x x x x x x x x x x x x x c d";
    let limited = |tries: &str| {
        let fixture = Fixture::index(&["title"]).query(&["title"], query);
        let fixture = fixture.property("fieldMatch(title).maxAlternativeSegmentations", tries);
        fixture.value("fieldMatch(title).unweightedProximity", &text("title", field))
    };
    let pair = |distance: usize| (f64::from(TABLE[10 + distance]) + 1.0) / 2.0;
    assert_close(limited("0"), pair(2), "a x x b and c d");
    assert_close(limited("1"), pair(1), "a x b and c d");
    assert_close(limited("2"), pair(0), "a b and c d");
}

fn cases() -> impl Strategy<Value = (Vec<&'static str>, String)> {
    let word = || prop::sample::select(vec!["a", "b", "c", "d"]);
    let token = prop_oneof![3 => Just("x"), 2 => word()];
    let field = prop::collection::vec(token, 1..70).prop_map(|tokens| tokens.join(" "));
    (prop::collection::vec(word(), 1..6), field)
}

proptest! {
    #![proptest_config(cases_of(2_000))]

    #[test]
    fn agrees_with_the_exhaustive_bookkeeping((words, field) in cases()) {
        let tokens: Vec<&str> = field.split(' ').collect();
        let is_hit = words.iter().any(|word| tokens.contains(word));
        let naive = Naive { words: words.clone(), tokens };
        for (output, of_hit) in naive.outputs() {
            let expected = if is_hit { of_hit } else { 0.0 };
            assert_close(value(&words.join(" "), &field, &format!(".{output}")), expected, output);
        }
    }
}
