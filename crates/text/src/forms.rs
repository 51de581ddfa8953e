//! Where words stand that may have a stem of English: what the algorithm takes off, and what it writes in its place.
use crate::automaton::Range;

/// Characters of the stems of words that English's algorithm knows as exceptions (`die`, `sky`), and of others as short.
pub(crate) const SHORT_STEM: usize = 3;

/// Words the algorithm knows, with short stems that are not made by its rules.
const EXCEPTIONS: [(&str, &str); 6] =
    [("dying", "die"), ("lying", "lie"), ("tying", "tie"), ("skies", "sky"), ("skis", "ski"), ("idly", "idl")];

/// What may stand behind a short stem: endings that it takes off before it looks at longer ones, and those of its later
/// steps that need no more than a vowel and a consonant before them. No more than an ending, or an apostrophe, is behind
/// these words.
const ENDINGS: [&str; 2] = ["s", "e"];
/// Endings behind which others may stand.
const FIRST_ENDINGS: [&str; 15] =
    ["'", "s'", "e'", "es", "ed", "ee", "ef", "ei", "el", "en", "ing", "li", "ly", "ful", "ness"];
/// Letters of which one is taken off where two stand before an ending.
const DOUBLES: &str = "bdfgmnprt";

/// Where all words stand that have a stem; nothing if it is of those of which more was written than a letter.
pub(crate) fn forms(stem: &str) -> Option<Vec<Range>> {
    let end = stem.char_indices().next_back().filter(|(at, _)| *at > 0);
    let (end, last) = end.filter(|_| !stem.ends_with("bl") && !stem.ends_with("ble"))?;
    let shorter = &stem[..end];
    let mut ranges =
        if stem.chars().count() <= SHORT_STEM { short_forms(stem, last) } else { vec![Range::beginning(stem)] };
    // `hoping` and `relation`, `frequency`, `relator`; `happy`. All others lose letters, and get none.
    let written: &[&str] = match last {
        'e' if stem.chars().count() <= SHORT_STEM => &["ed", "ing"],
        'e' => &["i", "o", "y"],
        'i' => &["y"],
        _ => &[],
    };
    ranges.extend(written.iter().map(|ending| Range::beginning(format!("{shorter}{ending}"))));
    Some(ranges)
}

/// The same of those that begin with a stem of a few letters, and of exceptions.
fn short_forms(stem: &str, last: char) -> Vec<Range> {
    let mut ranges = vec![Range::word(stem)];
    ranges.extend(ENDINGS.iter().map(|ending| Range::word(format!("{stem}{ending}"))));
    let mut begin = |ending: &str| ranges.push(Range::beginning(format!("{stem}{ending}")));
    FIRST_ENDINGS.iter().for_each(|ending| begin(ending));
    if DOUBLES.contains(last) {
        ["e", "i"].iter().for_each(|ending| begin(&format!("{last}{ending}")));
    }
    // `agreed`.
    if last == 'e' {
        begin("d");
    }
    ranges.extend(EXCEPTIONS.iter().filter(|(_, of)| *of == stem).map(|(word, _)| Range::word(*word)));
    ranges
}

/// Whether words with a stem may go on so behind it: asked before a word is stemmed, by the letters that what is taken off
/// begins with.
pub(crate) fn goes_on_with(stem: &str, rest: &str) -> bool {
    let last = stem.chars().next_back();
    let mut letters = rest.chars();
    let (Some(first), second) = (letters.next(), letters.next()) else { return true };
    let is_double = || last == Some(first) && DOUBLES.contains(first);
    match first {
        '\'' | 'a' | 'e' | 'i' | 'l' | 'o' | 'y' => true,
        // `agreed`, `organizer`.
        'd' | 'r' if last == Some('e') => true,
        's' => matches!(second, None | Some('\'')),
        'f' if second == Some('u') => true,
        'm' | 'n' if second == Some('e') => true,
        _ => is_double(),
    }
}

/// How many letters of a stem at most are not those of the word, where the stem is a few slips away from this one: one
/// (`hope` of `hoping`), but for `-ble` of `-bility` and short ones.
pub(crate) fn letters_written(stem: &[char], slips_max: usize) -> usize {
    let end = &stem[stem.len().saturating_sub(3 + slips_max)..];
    let of_ble = ['b', 'l', 'e'].iter().filter(|letter| end.contains(letter)).count();
    let may_be_ble = of_ble + slips_max >= 3;
    let may_be_short = stem.len() <= SHORT_STEM + slips_max;
    if may_be_ble || may_be_short { 2 } else { 1 }
}
