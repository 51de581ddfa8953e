//! Stems, words of CJK and n-grams, as rank properties ask for them, against a naive matcher that cuts the raw documents
//! itself: stems by the library of stemmers, CJK into single characters, grams into sets.

use std::collections::BTreeSet;

use crate::host::{Host, ids};
use crate::random::Random;

const SCHEMA: &str = "schema t {
    document t {
        field body type string { indexing: index | summary }
        field grams type string {
            indexing: index
            match {
                gram
                gram-size: 2
            }
        }
        field cased type string {
            indexing: index
            match: cased
        }
        field teaser type string {
            indexing: index | summary
            summary: dynamic
        }
    }
    rank-profile stems { rank-properties { brooklet.stemming: english } }
    rank-profile segments { rank-properties { brooklet.segmentation(body): cjk } }
    rank-profile grams { rank-properties { brooklet.grams: true } }
    rank-profile typing { rank-properties { brooklet.typing: true } }
    rank-profile all inherits stems {
        first-phase { expression: bm25(body) }
        rank-properties {
            brooklet.segmentation: cjk
            brooklet.grams: true
        }
    }
}";

const ENGLISH: [&str; 14] = [
    "run", "runs", "running", "runner", "city", "cities", "happy", "happily", "die", "dying", "Cities", "CITY", "news",
    "new",
];
const MIXED: [&str; 10] = ["東", "京", "都", "ア", "プ", "서", "울", "a", "line", "go"];
const LETTERS: [&str; 4] = ["a", "b", "c", "ab"];

fn words(random: &mut Random, most: usize, word: impl Fn(&mut Random) -> String) -> Vec<String> {
    (0..random.below(most + 1)).map(|_| word(random)).collect()
}

fn run_of(random: &mut Random, among: &[&str], most: usize) -> String {
    (0..1 + random.below(most)).map(|_| *random.pick(among)).collect()
}

/// A corpus of documents, each with the words of its only field.
fn host_of(documents: &[Vec<String>], field: &str) -> Host {
    let mut host = Host::with_schema("t", SCHEMA);
    for (number, words) in documents.iter().enumerate() {
        let fields = format!(r#"{{"{field}":"{}"}}"#, words.join(" "));
        host.put(&format!("id:t:t:g=u:{number:03}"), &fields).expect("a put");
        if number == documents.len() / 2 {
            host.compact("g:u", 1);
        }
    }
    host
}

fn found(host: &Host, profile: &str, condition: &str) -> Vec<String> {
    let yql = format!("select documentid from t where {condition}");
    let answer = host.search("g:u", &[("yql", &yql), ("ranking", profile), ("hits", "300")]);
    assert!(answer.json["root"]["errors"].is_null(), "{yql}: {}", answer.json);
    let mut ids = ids(&answer);
    ids.sort();
    ids
}

fn expected(documents: &[Vec<String>], matches: impl Fn(&[String]) -> bool) -> Vec<String> {
    let numbered = documents.iter().enumerate().filter(|(_, words)| matches(words));
    numbered.map(|(number, _)| format!("id:t:t:g=u:{number:03}")).collect()
}

#[test]
fn words_match_their_forms() {
    let mut random = Random::new(3);
    let documents: Vec<Vec<String>> =
        (0..200).map(|_| words(&mut random, 5, |random| (*random.pick(&ENGLISH)).to_owned())).collect();
    let host = host_of(&documents, "body");
    let stemmer = rust_stemmers::Stemmer::create(rust_stemmers::Algorithm::English);
    let stem = |word: &str| stemmer.stem(&word.to_lowercase()).into_owned();
    for word in ENGLISH {
        let same = |words: &[String]| words.iter().any(|other| stem(other) == stem(word));
        assert_eq!(found(&host, "stems", &format!("body contains '{word}'")), expected(&documents, same), "{word}");
        let equal = |words: &[String]| words.iter().any(|other| other.to_lowercase() == word.to_lowercase());
        let unstemmed = format!("body contains ({{stem:false}}'{word}')");
        assert_eq!(found(&host, "stems", &unstemmed), expected(&documents, equal), "{word}");
        assert_eq!(found(&host, "default", &format!("body contains '{word}'")), expected(&documents, equal), "{word}");
        for second in ENGLISH {
            let follow = |words: &[String]| {
                words.windows(2).any(|pair| stem(&pair[0]) == stem(word) && stem(&pair[1]) == stem(second))
            };
            let phrase = format!("body contains phrase('{word}', '{second}')");
            assert_eq!(found(&host, "stems", &phrase), expected(&documents, follow), "{phrase}");
        }
    }
}

/// A word cut into CJK characters and runs of others.
fn units(word: &str) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    let is_cjk = |text: &str| !text.is_ascii();
    for character in word.chars().map(String::from) {
        match units.last_mut() {
            Some(last) if !is_cjk(last) && !is_cjk(&character) => last.push_str(&character),
            _ => units.push(character),
        }
    }
    units
}

#[test]
fn words_of_cjk_are_found_in_runs() {
    let mut random = Random::new(4);
    let token = |random: &mut Random| run_of(random, &MIXED, 6);
    let documents: Vec<Vec<String>> = (0..200).map(|_| words(&mut random, 4, token)).collect();
    let host = host_of(&documents, "body");
    let holds = |word: &str, query: &str| {
        let (of_word, of_query) = (units(word), units(query));
        of_word.windows(of_query.len()).any(|window| window == of_query)
    };
    for _ in 0..250 {
        let query = run_of(&mut random, &MIXED, 3);
        let is_cjk = !query.is_ascii();
        let matches =
            |words: &[String]| words.iter().any(|word| if is_cjk { holds(word, &query) } else { *word == query });
        let condition = format!("body contains '{query}'");
        assert_eq!(found(&host, "segments", &condition), expected(&documents, matches), "{query}");
        let equal = |words: &[String]| words.contains(&query);
        assert_eq!(found(&host, "default", &condition), expected(&documents, equal), "{query}");
    }
    // Words of a phrase stand in neighbouring runs, or joined in one.
    for _ in 0..150 {
        let (first, second) = (run_of(&mut random, &MIXED[..6], 2), run_of(&mut random, &MIXED[..6], 2));
        let apart = |pair: &[String]| pair[0].ends_with(&first) && pair[1].starts_with(&second);
        let joined = format!("{first}{second}");
        let matches = |words: &[String]| words.windows(2).any(apart) || words.iter().any(|word| holds(word, &joined));
        let condition = format!("body contains phrase('{first}', '{second}')");
        assert_eq!(found(&host, "segments", &condition), expected(&documents, matches), "{condition}");
    }
}

/// The 2-grams of a text.
fn grams(words: &[String]) -> BTreeSet<String> {
    let of_word = |word: &String| {
        let letters: Vec<char> = word.chars().collect();
        let pairs = letters.windows(2).map(|pair| pair.iter().collect::<String>());
        if letters.len() < 2 { vec![word.clone()] } else { pairs.collect() }
    };
    words.iter().flat_map(of_word).collect()
}

#[test]
fn all_grams_of_a_word_are_found() {
    let mut random = Random::new(5);
    let token = |random: &mut Random| run_of(random, &LETTERS, 3);
    let documents: Vec<Vec<String>> = (0..150).map(|_| words(&mut random, 4, token)).collect();
    let host = host_of(&documents, "grams");
    for _ in 0..150 {
        let query = run_of(&mut random, &LETTERS, 3);
        let wanted = grams(std::slice::from_ref(&query));
        let condition = format!("grams contains '{query}'");
        let all = |words: &[String]| grams(words).is_superset(&wanted);
        assert_eq!(found(&host, "grams", &condition), expected(&documents, all), "{query}");
        let equal = |words: &[String]| words.contains(&query);
        assert_eq!(found(&host, "default", &condition), expected(&documents, equal), "{query}");
    }
}

/// As words of letters are: digits may be begun, and are found inside of others where texts are cut into n-grams.
#[test]
fn numbers_that_a_person_typed_are_words() {
    let words = ["12345", "x12345y", "2024", "45", "1", "12 34"];
    let documents: Vec<Vec<String>> = words.iter().map(|word| vec![(*word).to_owned()]).collect();
    let holds = |held: fn(&str, &str) -> bool, typed: &str| {
        expected(&documents, |words| words[0].split(' ').any(|word| held(word, typed)))
    };
    for typed in ["1", "12", "123", "12345", "234", "45", "2024", "9"] {
        let input = |field: &str, before: &str| {
            format!("{{grammar:'tokenize',defaultIndex:'{field}'}}userInput('{before}{typed}')")
        };
        let (body, grams) = (host_of(&documents, "body"), host_of(&documents, "grams"));
        let begun = holds(|word, typed| word.starts_with(typed), typed);
        assert_eq!(found(&body, "typing", &input("body", "")), begun, "{typed}");
        assert_eq!(found(&body, "typing", &input("body", "none ")), begun, "{typed}");
        assert_eq!(found(&body, "default", &input("body", "")), holds(|word, typed| word == typed, typed), "{typed}");
        if typed.len() > 1 {
            assert_eq!(found(&grams, "grams", &input("grams", "")), holds(|word, typed| word.contains(typed), typed));
        }
    }
    let teasers = host_of(&documents, "teaser");
    let yql = "select teaser from t where {grammar:'tokenize',defaultIndex:'teaser'}userInput('123')";
    let marked = teasers.search("g:u", &[("yql", yql), ("ranking", "typing")]);
    assert_eq!(marked.json["root"]["children"][0]["fields"]["teaser"], "<hi>12345</hi>");
}

#[test]
fn marks_scores_and_explanations_know_forms() {
    let mut host = Host::with_schema("t", SCHEMA);
    let fields = r#"{"body":"running runs ran","teaser":"he was running in 東京都 with runners","cased":"Running"}"#;
    host.put("id:t:t:g=u:1", fields).expect("a put");
    let search = |yql: &str, explain: &str| {
        host.search("g:u", &[("yql", yql), ("ranking", "all"), ("explain", explain)]).json["root"]["children"][0]
            .clone()
    };
    let marked = search("select teaser from t where teaser contains 'runs' and teaser contains '京都'", "false");
    assert_eq!(marked["fields"]["teaser"], "he was <hi>running</hi> in 東<hi>京都</hi> with runners");
    // Both forms count as occurrences of one term, which is seven tenths of the score; the word itself is not there.
    let relevance = search("select body from t where body contains 'run'", "false")["relevance"].as_f64().unwrap();
    let by_hand = 0.7 * 0.287_682_072_451_780_9 * 2.0 * 2.2 / (2.0 + 1.2 * (0.25 + 0.75 * 3.0 / 100.0));
    assert!((relevance - by_hand).abs() < 1e-12, "{relevance} instead of {by_hand}");
    let explained = search("select body from t where body contains 'run'", "true").to_string();
    assert!(explained.contains("a form of 'run'"), "{explained}");
    // Only of folded words it is known what they are.
    assert!(search("select body from t where cased contains 'Runs'", "false").is_null());
}
