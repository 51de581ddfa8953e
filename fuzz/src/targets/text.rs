//! Texts: tokens of documents, segments of queries, folding, fuzzy comparison.
use std::hint::black_box;

use brooklet_text::{Languages, Normalizing, Stems, Tokens, count_segments, edit_distance, fold, grams, segment};

use super::Target;
use crate::corpus;

pub fn targets() -> Vec<Target> {
    let mut corpus = corpus::members("tokens/ling.jsonl", "text");
    corpus.extend(corpus::members("tokens/segment.jsonl", "text"));
    let stems = corpus::members("tokens/stems.jsonl", "word");
    vec![
        Target::text("text", corpus, |text| {
            for token in Tokens::new(text) {
                let word = &text[token.start..token.end];
                black_box(Normalizing::LowercaseAndFold.apply(word));
                black_box(Normalizing::Lowercase.apply(word));
            }
            black_box(segment(text));
            black_box(edit_distance(text, "lease", 2));
            black_box(grams(text, 2));
            black_box(count_segments(text, text.get(1..3).unwrap_or("東")));
        }),
        Target::text("stem", stems, |text| {
            let all: Vec<&str> = Languages::all().collect();
            let languages = Languages::named(&all.join(",")).expect("its own names");
            let mut word = String::new();
            fold(text, &mut word);
            for word in [text, &word] {
                let stems = Stems::new(word, languages);
                assert!(stems.equal(word), "a word has its own stem");
                black_box(stems.iter().map(str::len).sum::<usize>());
            }
        }),
    ]
}
