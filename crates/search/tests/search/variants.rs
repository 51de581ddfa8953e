//! Variants of words against a naive scan: random documents in words with accents and English endings, what people type
//! with forms, accents, slips and a word that is still being typed. The scan asks of each word of each document whether
//! it is a variant of the word that was typed, and scores by the formula of docs/decisions/0036. Hits and scores are the
//! same in the tail, folded, in several segments, and with documents that are no more.

use std::collections::BTreeMap;

use crate::host::{Host, ids};
use crate::random::Random;
use brooklet_text::{Languages, Variants, Variety, fold, slips_forgiven};

const SCHEMA: &str = "schema t {
    document t { field body type string { indexing: index } }
    rank-profile bm25 { first-phase { expression: bm25(body) } }
}";
const ROUNDS: u64 = 60;
const QUERIES: usize = 12;
const GROUP: &str = "g:u";
/// Reasons to compact.
const FOLD: u8 = 1;
const REWRITE: u8 = 2;

/// What a query says about words.
struct Settings {
    languages: &'static str,
    accents: bool,
    typos: bool,
    typing: bool,
}

impl Settings {
    fn of(random: &mut Random) -> Settings {
        Settings {
            languages: random.one_of(&["english", "english", "english, german", "swedish", "none"]),
            accents: !random.once_in(4),
            typos: !random.once_in(4),
            typing: random.once_in(2),
        }
    }

    fn parameters(&self) -> [(&'static str, &'static str); 4] {
        [
            ("ranking.properties.brooklet.stemming", self.languages),
            ("ranking.properties.brooklet.accents", if self.accents { "ignored" } else { "exact" }),
            ("ranking.properties.brooklet.typos", if self.typos { "forgiven" } else { "exact" }),
            ("ranking.properties.brooklet.typing", if self.typing { "true" } else { "false" }),
        ]
    }

    fn variety(&self, is_last: bool, slips: u8) -> Variety {
        let languages = Languages::named(self.languages).expect("languages");
        Variety { languages, spellings: self.accents, beginnings: self.typing && is_last, slips }
    }
}

fn folded(word: &str) -> String {
    let mut out = String::new();
    fold(word, &mut out);
    out
}

/// A word: few letters, so that many are alike, and the endings that stems lose.
fn word(random: &mut Random) -> String {
    const LETTERS: [char; 14] = ['a', 'o', 'u', 'z', 'r', 'l', 's', 'ä', 'ö', 'ü', 'é', 'ř', 'ł', 'œ'];
    const ENDS: [&str; 10] = ["", "", "", "s", "es", "ies", "ed", "ing", "y", "ation"];
    let roots = 2 + random.below(5);
    // Half of the letters are of four, and plain.
    let letter = |random: &mut Random| {
        let among = if random.once_in(2) { 7 } else { LETTERS.len() };
        LETTERS[random.below(among)]
    };
    let root: String = (0..roots).map(|_| letter(random)).collect();
    root + random.one_of(&ENDS)
}

/// A word of the vocabulary, sometimes with a letter too many, too few or wrong, or only its beginning.
fn typed(random: &mut Random, vocabulary: &[String]) -> String {
    let mut letters: Vec<char> = random.pick(vocabulary).chars().collect();
    for _ in 0..random.below(3) {
        let at = random.below(letters.len());
        match random.below(5) {
            0 => letters.insert(at, 'b'),
            1 if letters.len() > 1 => drop(letters.remove(at)),
            2 => letters[at] = 'u',
            3 => letters.truncate(2.max(at)),
            _ => {}
        }
    }
    letters.into_iter().collect()
}

/// The score of the documents that hold a variant of a typed word.
fn scan(documents: &BTreeMap<String, Vec<String>>, typed: &[String], settings: &Settings) -> BTreeMap<String, f64> {
    let counts = |variants: &Variants, words: &[String]| words.iter().filter(|word| variants.has(word)).count();
    let any = |variants: &Variants| documents.values().any(|words| counts(variants, words) > 0);
    let mut scores = BTreeMap::new();
    for (number, word) in typed.iter().enumerate() {
        let is_last = number + 1 == typed.len();
        let forgiven = if settings.typos { slips_forgiven(&folded(word)) as u8 } else { 0 };
        let mut tries = (0..=forgiven).map(|slips| Variants::new(word, settings.variety(is_last, slips)));
        let Some(variants) = tries.find(any) else { continue };
        for (id, words) in documents {
            let often = counts(&variants, words);
            let exactly = words.iter().filter(|of| **of == folded(word)).count();
            if often > 0 {
                let parts = [(0.7, often), (0.3, exactly)];
                let has_variants = settings.variety(is_last, 0) != Variety::default();
                let parts = if has_variants { &parts[..] } else { &[(1.0, often)] };
                let score: f64 = parts.iter().map(|(share, often)| share * bm25(*often, words.len())).sum();
                *scores.entry(id.clone()).or_default() += score;
            }
        }
    }
    scores
}

/// What a term adds: the constants of streaming search.
fn bm25(often: usize, words: usize) -> f64 {
    let (k1, b, average) = (1.2, 0.75, 100.0);
    let (often, idf) = (often as f64, (1.0f64 + 0.5 / 1.5).ln());
    idf * often * (k1 + 1.0) / (often + k1 * (1.0 - b + b * words as f64 / average))
}

/// Asks the core and compares; how many hits there are.
fn ask(host: &Host, settings: &Settings, typed: &[String], expected: &BTreeMap<String, f64>, about: &str) -> usize {
    let text = typed.join(" ");
    let yql = format!(
        "select documentid from t where ({{grammar: 'tokenize', grammar.composite: 'or', defaultIndex: 'body'}}userInput('{text}'))"
    );
    let mut parameters = vec![("yql", yql.as_str()), ("ranking", "bm25"), ("hits", "100")];
    parameters.extend(settings.parameters());
    let answer = host.search(GROUP, &parameters);
    let hits = answer.json["root"]["children"].as_array().cloned().unwrap_or_default();
    let scores = hits.iter().map(|hit| hit["relevance"].as_f64().expect("a score"));
    let found: BTreeMap<String, f64> = ids(&answer).into_iter().zip(scores).collect();
    let about = || format!("{about}: {text} with {:?}: {}", settings.parameters(), answer.body);
    assert!(found.keys().eq(expected.keys()), "{} instead of {expected:?}", about());
    let same = |(id, score): (&String, &f64)| (score - expected[id]).abs() < 1e-9;
    assert!(found.iter().all(same), "{} instead of {expected:?}", about());
    assert!(hits.is_sorted_by(|a, b| a["relevance"].as_f64() >= b["relevance"].as_f64()), "{}", about());
    found.len()
}

#[test]
fn variants_are_those_of_a_scan() {
    let mut hits = 0;
    for round in 0..ROUNDS {
        let mut random = Random::new(round);
        let vocabulary: Vec<String> = (0..20 + random.below(600)).map(|_| word(&mut random)).collect();
        let mut host = Host::with_schema("t", SCHEMA);
        let mut documents = BTreeMap::new();
        let add = |host: &mut Host, random: &mut Random, documents: &mut BTreeMap<String, Vec<String>>| {
            for _ in 0..3 + random.below(20) {
                let id = format!("id:t:t:g=u:{}", random.below(50));
                let text: Vec<&String> = (0..1 + random.below(60)).map(|_| random.pick(&vocabulary)).collect();
                let body = text.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ");
                host.put(&id, &format!("{{\"body\":\"{body}\"}}")).expect("a put");
                documents.insert(id, text.iter().map(|word| folded(word)).collect());
            }
        };
        let queries: Vec<(Settings, Vec<String>)> = (0..QUERIES)
            .map(|_| {
                let settings = Settings::of(&mut random);
                (settings, (0..1 + random.below(3)).map(|_| typed(&mut random, &vocabulary)).collect())
            })
            .collect();
        for state in ["tail", "folded", "folded with a tail", "several segments, some removed", "one segment"] {
            match state {
                "tail" | "folded with a tail" => add(&mut host, &mut random, &mut documents),
                "several segments, some removed" => {
                    host.compact(GROUP, FOLD);
                    let gone: Vec<String> = documents.keys().filter(|_| random.once_in(4)).cloned().collect();
                    gone.iter().for_each(|id| {
                        host.remove(id).expect("a removal");
                        documents.remove(id);
                    });
                }
                "folded" => assert!(host.compact(GROUP, FOLD)),
                // Where one segment is left without removed documents there is nothing to do.
                _ => drop(host.compact(GROUP, REWRITE)),
            }
            host.forget();
            for (settings, typed) in &queries {
                hits += ask(&host, settings, typed, &scan(&documents, typed, settings), state);
            }
        }
    }
    // Queries that find nothing would prove nothing.
    assert!(hits > ROUNDS as usize * QUERIES * 5, "{hits} hits");
}
