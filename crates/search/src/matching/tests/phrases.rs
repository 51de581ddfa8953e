//! Phrases against a naive search: documents of a few words or of many over several blocks, some of them dead, words
//! that nearly all have and words that few have. `BROOKLET_MATCHING_CASES` says how many phrases are asked.
use brooklet_document::{Document, Value};
use brooklet_segment::ColumnHeader;
use brooklet_segment::column::text::Text;

use super::super::phrase::match_phrase;
use super::random::Random;
use super::*;
use crate::plan::condition::{How, PhraseTest, WordTest};

const PHRASES_OF_DOCUMENTS: usize = 20;

/// The elements of each document, as words.
type Texts = Vec<Vec<Vec<u32>>>;

/// Of 70,000 different words numbers take four bytes instead of two.
fn texts(random: &mut Random, several: bool, vocabulary: usize) -> Texts {
    let documents = if random.once_in(3) { 1 + random.below(4) } else { 100 + random.below(400) };
    let longest = random.one_of(&[3, 20, 300]);
    let mut texts: Texts = Vec::new();
    for _ in 0..documents {
        // Lower numbers come more often.
        let mut word = || (vocabulary as f64).powf(random.unit()) as u32 - 1;
        let mut element = |length: usize| (0..length).map(|_| word()).collect::<Vec<u32>>();
        let mut document = vec![element(longest / 2)];
        if several {
            document.push(element(2));
            document.push(element(longest / 3));
        }
        let kept = random.below(document[0].len() + 1);
        document[0].truncate(kept);
        texts.push(document);
    }
    if vocabulary > 60_000 {
        texts.push(vec![(0..vocabulary as u32).collect()]);
    }
    texts
}

fn document(number: usize, field: &str, elements: &[Vec<u32>]) -> Document {
    let text =
        |words: &Vec<u32>| Value::String(words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" "));
    let value = if field == "text" { text(&elements[0]) } else { Value::Array(elements.iter().map(text).collect()) };
    Document { id: format!("id:n:t:g=a:{number:05}"), fields: vec![(field.to_owned(), value)] }
}

/// Documents to be searched in one of two fields, some of them dead.
struct Corpus {
    field: &'static str,
    /// How many words there are.
    vocabulary: usize,
    texts: Texts,
    view: View,
}

impl Corpus {
    fn new(random: &mut Random, seed: usize, deployed: &Deployed) -> Corpus {
        let field = random.one_of(&["text", "lines"]);
        let vocabulary = if seed.is_multiple_of(50) { 70_000 } else { random.one_of(&[2, 4, 30, 1_000]) };
        let texts = texts(random, field == "lines", vocabulary);
        let documents: Vec<Document> =
            texts.iter().enumerate().map(|(number, elements)| document(number, field, elements)).collect();
        let mut view = view(deployed, &documents);
        let mut alive = Bitmap::all(documents.len());
        let dead = random.one_of(&[0, 3, 40]);
        (0..documents.len()).filter(|_| dead > 0 && random.once_in(dead)).for_each(|ordinal| alive.clear(ordinal));
        view.alive = Rc::new(alive);
        Corpus { field, vocabulary, texts, view }
    }
}

/// Where the phrase begins: number of the document, and of the word in it.
fn naive(texts: &Texts, alive: &Bitmap, phrase: &[u32]) -> Vec<(u32, u32)> {
    let mut places = Vec::new();
    for (ordinal, elements) in texts.iter().enumerate().filter(|(ordinal, _)| alive.get(*ordinal)) {
        let mut before = 0;
        for words in elements {
            let starts = words.windows(phrase.len()).enumerate().filter(|(_, window)| *window == phrase);
            places.extend(starts.map(|(start, _)| (ordinal as u32, before + start as u32)));
            before += words.len() as u32;
        }
    }
    places
}

/// The same segment as version 3 had it: without the lists of where words stand.
fn without_positions(view: &View) -> View {
    let segment = &view.segment;
    let mut header = segment.header.clone();
    let several = |text: &Text<'_>| 5 + usize::from(text.several);
    for column in &mut header.columns {
        let parts = Text::from_column(column).ok().filter(|text| text.positions.is_some()).map(|text| several(&text));
        column.parts.truncate(parts.unwrap_or(usize::MAX));
    }
    let segment = ResidentSegment { number: None, header, memory: segment.memory.clone() };
    View { segment: Rc::new(segment), alive: view.alive.clone() }
}

/// A phrase whose words are each one of some: of the same beginning, or of several.
fn phrase_of_several(random: &mut Random, vocabulary: usize) -> PhraseTest {
    let words = (0..1 + random.below(4)).map(|_| {
        let alternatives = (0..random.one_of(&[0, 1, 1, 1, 2, 3])).map(|_| {
            let number = (vocabulary.min(random.one_of(&[9, 100_000])) as f64).powf(random.unit()) as u32 - 1;
            let how = if random.once_in(4) { How::Prefix } else { How::Equals };
            WordTest { text: format!("w{number}"), how }
        });
        alternatives.collect()
    });
    PhraseTest { words: words.collect(), starts: random.once_in(4), ends: random.once_in(4) }
}

/// Whichever way a phrase is found, by lists, by words, or by both, it stands at the same places.
#[test]
fn lists_and_words_say_the_same() {
    let cases = std::env::var("BROOKLET_MATCHING_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let deployed = deployed();
    let mut found_places = 0;
    for seed in 0..cases / 100 + 1 {
        let mut random = Random::new(1_000_000 + seed as u64);
        let Corpus { field, vocabulary, view, .. } = Corpus::new(&mut random, seed, &deployed);
        let older = without_positions(&view);
        let places = |view: &View, phrase: &PhraseTest| {
            let columns = &view.segment.header.columns;
            let of_field = |column: &&ColumnHeader| column.spec.field == field && Text::from_column(column).is_ok();
            let column = columns.iter().find(of_field).expect("a column of text");
            let mut reads = Reads::new(Rc::new(RefCell::new(Residency::new(0))));
            match match_phrase(column, phrase, view, &mut reads) {
                Ok(LeafHits::Places(places)) => {
                    (places, Text::from_column(column).is_ok_and(|text| text.positions.is_some()))
                }
                other => panic!("{other:?}"),
            }
        };
        for _ in 0..PHRASES_OF_DOCUMENTS {
            let phrase = phrase_of_several(&mut random, vocabulary);
            let ((by_lists, lists), (by_words, no_lists)) = (places(&view, &phrase), places(&older, &phrase));
            assert!(lists && !no_lists);
            assert!(by_lists == by_words, "seed {seed}, {phrase:?}: {by_lists:?} instead of {by_words:?}");
            found_places += by_words.len();
        }
    }
    assert!(found_places > cases, "{found_places} places");
}

#[test]
fn phrases_stand_where_a_naive_search_finds_them() {
    let cases = std::env::var("BROOKLET_MATCHING_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let deployed = deployed();
    let mut found_places = 0;
    for seed in 0..cases / 100 + 1 {
        let mut random = Random::new(seed as u64);
        let Corpus { field, vocabulary, texts, view } = Corpus::new(&mut random, seed, &deployed);
        for _ in 0..PHRASES_OF_DOCUMENTS {
            let words = 2 + random.below(3);
            let phrase: Vec<u32> =
                (0..words).map(|_| (vocabulary.min(9) as f64).powf(random.unit()) as u32 - 1).collect();
            let quoted = phrase.iter().map(|word| format!("\"w{word}\"")).collect::<Vec<_>>().join(", ");
            let yql = format!("select * from t where {field} contains phrase({quoted})");
            let plan = plan(&deployed, &[("yql", &yql)]);
            let mut reads = Reads::new(Rc::new(RefCell::new(Residency::new(0))));
            let matched = match_leaf(&plan.schemas[0].leaves[0], &view, &mut reads, &mut Vec::new());
            let matched = matched.expect("all blocks are there");
            let expected = naive(&texts, &view.alive, &phrase);
            let [LeafHits::Places(places)] = &matched.found[..] else { panic!("{:?}", matched.found) };
            assert!(*places == expected, "seed {seed}, {yql}: {places:?} instead of {expected:?}");
            found_places += expected.len();
        }
    }
    assert!(found_places > cases, "{found_places} places");
}
