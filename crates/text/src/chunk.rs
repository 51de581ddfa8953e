//! Chunks: pieces of a text for retrieval, as the indexing expression `chunk` makes them
//! (`linguistics/src/main/java/ai/vespa/language/chunker`, Vespa's chunking reference). Chunks in order are the text:
//! nothing is trimmed, nothing is left out.

use crate::unicode::{is_query_word, is_symbol};

/// Characters that end a sentence.
const SENTENCE_ENDS: &[char] = &[
    '.', '!', '?', '\u{203d}', '\u{1362}', '\u{0964}', '\u{0965}', '\u{2e2e}', '\u{061f}', '\u{ff01}', '\u{ff1f}',
    '\u{ff61}', '\u{3002}',
];

/// Length of chunks where none is given.
pub const CHUNK_LENGTH: usize = 1000;

/// The sentences of a text. A sentence has a letter, a digit or a symbol, and ends after the last of the characters that
/// end it; white space after it begins the next one. Abbreviations are not known.
#[must_use]
pub fn sentences(text: &str) -> Vec<&str> {
    let mut chunks = Vec::new();
    let (mut start, mut has_content) = (0, false);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        has_content |= is_letter_or_digit(character) || is_symbol(character);
        let next_ends = characters.peek().is_some_and(|(_, next)| SENTENCE_ENDS.contains(next));
        if has_content && SENTENCE_ENDS.contains(&character) && !next_ends {
            let end = at + character.len_utf8();
            chunks.push(&text[start..end]);
            (start, has_content) = (end, false);
        }
    }
    if start < text.len() {
        chunks.push(&text[start..]);
    }
    chunks
}

/// Chunks of about one length, at most `length` characters and a tenth. They end between words if they can: first at two
/// characters in a row that are no letters, a little later at one, at last anywhere.
#[must_use]
pub fn fixed_length(text: &str, length: usize) -> Vec<&str> {
    let length = length.max(1);
    let total = text.encode_utf16().count();
    let count = total.div_ceil(length).max(1);
    // All chunks equally long, rather than a short one at the end.
    let target = total.div_ceil(count).max(1);
    let soft = (target as f64 * 1.05).round() as usize;
    let hard = (target as f64 * 1.10).round() as usize;
    let mut chunks = Vec::new();
    let (mut start, mut walked) = (0, 0);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        walked += 1;
        let next = characters.peek().map(|(_, next)| *next);
        let between = !is_letter_or_digit(character);
        let ends = walked >= target
            && match walked {
                _ if walked >= hard => true,
                _ if walked < soft => between && next.is_none_or(|next| !is_letter_or_digit(next)),
                _ => between,
            };
        if ends {
            let end = at + character.len_utf8();
            chunks.push(&text[start..end]);
            (start, walked) = (end, 0);
        }
    }
    if start < text.len() {
        chunks.push(&text[start..]);
    }
    chunks
}

fn is_letter_or_digit(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_alphanumeric() } else { is_query_word(character) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_after_their_marks_and_keep_their_space() {
        assert_eq!(sentences("One. Two!? Three"), ["One.", " Two!?", " Three"]);
        assert_eq!(sentences("... a. b"), ["... a.", " b"]);
        assert_eq!(sentences("今日は。明日も？"), ["今日は。", "明日も？"]);
        assert_eq!(sentences("3.14 is pi."), ["3.", "14 is pi."]);
        assert_eq!(sentences("😀! x"), ["😀!", " x"]);
        assert!(sentences("").is_empty());
        assert_eq!(sentences(" !? "), [" !? "]);
    }

    #[test]
    fn chunks_of_one_length_end_between_words() {
        let text = "alpha beta gamma delta epsilon zeta";
        let chunks = fixed_length(text, 12);
        // 35 characters make three chunks of about twelve; thirteen is the end, wherever that is.
        assert_eq!(chunks, ["alpha beta ga", "mma delta eps", "ilon zeta"]);
        let spaced = "alpha beta. gamma delta. epsilon zeta";
        assert_eq!(fixed_length(spaced, 40), [spaced]);
        assert_eq!(fixed_length("one two -- three four five six", 10), ["one two --", " three four", " five six"]);
        assert_eq!(chunks.concat(), text);
    }

    #[test]
    fn any_text_is_the_sum_of_its_chunks() {
        let texts = ["", "a", "naïve café 漢字漢字漢字 😀😀", "x".repeat(2500).leak(), "w. ".repeat(500).leak()];
        for text in texts {
            assert_eq!(sentences(text).concat(), text);
            for length in [1, 2, 7, 100, 1000, usize::MAX / 2] {
                let chunks = fixed_length(text, length);
                assert_eq!(chunks.concat(), text);
                assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
                let most = (length as f64 * 1.10).round() + 1.0;
                assert!(chunks.iter().all(|chunk| chunk.chars().count() as f64 <= most));
            }
        }
    }
}
