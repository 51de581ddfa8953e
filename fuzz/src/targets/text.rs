//! Texts: tokens of documents, segments of queries, folding, fuzzy comparison.
use std::hint::black_box;

use brooklet_text::{Normalizing, Tokens, edit_distance, segment};

use super::Target;
use crate::corpus;

pub fn targets() -> Vec<Target> {
    let mut corpus = corpus::members("tokens/ling.jsonl", "text");
    corpus.extend(corpus::members("tokens/segment.jsonl", "text"));
    vec![Target::text("text", corpus, |text| {
        for token in Tokens::new(text) {
            let word = &text[token.start..token.end];
            black_box(Normalizing::LowercaseAndFold.apply(word));
            black_box(Normalizing::Lowercase.apply(word));
        }
        black_box(segment(text));
        black_box(edit_distance(text, "lease", 2));
    })]
}
