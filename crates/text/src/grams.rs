//! N-grams of words, as `match: gram` has them.

/// The n-grams of a word: all runs of so many characters, or the word itself if it has fewer. They overlap, and their
/// order is that of the word.
///
/// # Panics
/// If the size is 0.
#[must_use]
pub fn grams(word: &str, size: usize) -> Vec<&str> {
    assert!(size > 0, "a gram has characters");
    let ends: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
    if ends.len() <= size {
        return vec![word];
    }
    ends.windows(size + 1).map(|ends| &word[ends[0]..ends[size]]).collect()
}
