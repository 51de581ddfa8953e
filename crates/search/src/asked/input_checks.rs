//! What the reference refuses of a query because no person means it: phrases of one word again and again, and texts that
//! were encoded twice.
use brooklet_query::tree::{Item, Operator, Phrase};
use brooklet_task::{Code, Rejection};

const IN_A_ROW_MAX: usize = 5;
const IN_A_PHRASE_MAX: usize = 10;
/// As many words of one letter are no sign of a text that was encoded twice.
const LETTERS_MAX: usize = 4;

/// Checks the tree of a query, and the text that a person wrote for it.
pub(super) fn check(item: &Item, typed: Option<&str>) -> Result<(), Rejection> {
    check_phrases(item)?;
    let is_suspect = |text: &&str| letters(item) > LETTERS_MAX && is_encoded_twice(text);
    match typed.filter(is_suspect) {
        Some(_) => Err(Rejection::new(
            Code::IllegalQuery,
            "The user input has been determined to be double encoded UTF-8. Please investigate whether this is a false positive.",
        )),
        None => Ok(()),
    }
}

fn check_phrases(item: &Item) -> Result<(), Rejection> {
    if let Operator::Phrase(phrase) = &item.operator
        && phrase.segmented.is_none()
    {
        check_phrase(phrase)?;
    }
    item.children().into_iter().try_for_each(check_phrases)
}

#[inline(never)]
fn check_phrase(phrase: &Phrase) -> Result<(), Rejection> {
    let words: Vec<&str> = phrase.items.iter().filter_map(word_of).collect();
    let told = || Rejection::quote(&words.join(" "));
    let refuse = |message: String| Err(Rejection::new(Code::IllegalQuery, message));
    let mut counts = std::collections::BTreeMap::new();
    let (mut last, mut row) = ("", 0);
    for word in &words {
        row = if *word == last { row + 1 } else { 1 };
        last = word;
        if row > IN_A_ROW_MAX {
            let word = Rejection::quote(word);
            return refuse(format!(
                "More than {IN_A_ROW_MAX} occurrences of term '{word}' in a row detected in phrase : {}",
                told()
            ));
        }
        let count = counts.entry(*word).or_insert(0);
        *count += 1;
        if *count > IN_A_PHRASE_MAX {
            let word = Rejection::quote(word);
            return refuse(format!(
                "Phrase contains more than {IN_A_PHRASE_MAX} occurrences of term '{word}' in phrase : {}",
                told()
            ));
        }
    }
    Ok(())
}

fn word_of(item: &Item) -> Option<&str> {
    match &item.operator {
        Operator::Term(term) => Some(&term.text),
        _ => None,
    }
}

/// How many words of one letter there are.
fn letters(item: &Item) -> usize {
    let own = word_of(item).is_some_and(|word| word.chars().nth(1).is_none());
    usize::from(own) + item.children().into_iter().map(letters).sum::<usize>()
}

/// Whether the characters of a text, taken for bytes, are UTF-8 beyond ASCII.
fn is_encoded_twice(text: &str) -> bool {
    let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    bytes.is_some_and(|bytes| !bytes.is_ascii() && std::str::from_utf8(&bytes).is_ok())
}
