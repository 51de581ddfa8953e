//! Texts as the naive matcher sees them: tokens, folding, edit distance, regular expressions.
use super::query::{Fold, Mode, Text};

pub(super) fn folded(text: &str, fold: Fold) -> String {
    let lower = |c: char| match c {
        'A' => 'a',
        'B' => 'b',
        'E' => 'e',
        'É' => 'é',
        other => other,
    };
    match fold {
        Fold::None => text.to_owned(),
        Fold::Lowercase => text.chars().map(lower).collect(),
        Fold::Full => text
            .chars()
            .map(|c| match lower(c) {
                'é' => "e".to_owned(),
                'ß' => "ss".to_owned(),
                other => other.to_string(),
            })
            .collect(),
    }
}

pub(super) fn is_letter(c: char) -> bool {
    c.is_alphanumeric()
}

pub(super) fn split(text: &str) -> Vec<&str> {
    text.split(|c: char| !is_letter(c)).filter(|word| !word.is_empty()).collect()
}

pub(super) fn cut(text: &str, bytes: usize) -> &str {
    let mut kept = 0;
    for c in text.chars() {
        if kept + c.len_utf8() > bytes {
            break;
        }
        kept += c.len_utf8();
    }
    &text[..kept]
}

/// The tokens of a value as the field compares them.
pub(super) fn tokens(field: &Text, value: &str) -> Vec<String> {
    let value = cut(value, field.max_bytes);
    if field.mode == Mode::Whole {
        return if value.is_empty() { Vec::new() } else { vec![folded(value, field.fold)] };
    }
    split(value).into_iter().map(|word| folded(word, field.fold)).collect()
}

fn edits(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, j) => j,
                (i, 0) => i,
                _ => {
                    let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1)
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

pub(super) fn is_near(text: &str, value: &str, most: usize, locked: usize, prefix: bool, cased: bool) -> bool {
    let fold = if cased { Fold::None } else { Fold::Lowercase };
    let (text, value): (Vec<char>, Vec<char>) =
        (folded(text, fold).chars().collect(), folded(value, fold).chars().collect());
    let locked = locked.min(text.len());
    if value.len() < locked || text[..locked] != value[..locked] {
        return false;
    }
    let (text, value) = (&text[locked..], &value[locked..]);
    if prefix {
        return (0..=value.len()).any(|end| edits(text, &value[..end]) <= most);
    }
    edits(text, value) <= most
}

/// A regular expression of letters, `.`, `[…]`, each with `*`, `+` or `?` after it, `^`, `$` and `|` between all.
pub(super) fn finds(pattern: &str, value: &str, cased: bool) -> bool {
    let fold = if cased { Fold::None } else { Fold::Lowercase };
    let value: Vec<char> = folded(value, fold).chars().collect();
    let pattern = folded(pattern, fold);
    pattern.split('|').any(|way| {
        let way: Vec<char> = way.chars().collect();
        match way.strip_prefix(&['^']) {
            Some(way) => from(way, &value, 0),
            None => (0..=value.len()).any(|at| from(&way, &value, at)),
        }
    })
}

fn from(way: &[char], value: &[char], at: usize) -> bool {
    let (set, rest): (Vec<char>, &[char]) = match way {
        [] => return true,
        ['$'] => return at == value.len(),
        ['[', ..] => {
            let end = way.iter().position(|c| *c == ']').unwrap();
            (way[1..end].to_vec(), &way[end + 1..])
        }
        [c, rest @ ..] => (vec![*c], rest),
    };
    let fits = |at: usize| value.get(at).is_some_and(|c| set.contains(c) || set == ['.']);
    match rest {
        ['*', rest @ ..] => from(rest, value, at) || (fits(at) && from(way, value, at + 1)),
        ['+', after @ ..] => {
            let mut next = at;
            while fits(next) {
                next += 1;
                if from(after, value, next) {
                    return true;
                }
            }
            false
        }
        ['?', rest @ ..] => from(rest, value, at) || (fits(at) && from(rest, value, at + 1)),
        _ => fits(at) && from(rest, value, at + 1),
    }
}
