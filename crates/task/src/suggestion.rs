//! What a misspelt name was meant to be, for the sentence that refuses it.

/// Names longer than this are not compared: what it takes grows with the square of their length.
const CHARACTERS_MAX: usize = 64;

/// The first of the nearest names in `known`, if it takes at most a third of the characters of `name` in edits, case aside;
/// otherwise one that `name` begins with (`int` for `integer`).
///
/// ```
/// use brooklet_task::nearest_name;
///
/// assert_eq!(nearest_name("strnig", ["int", "string"]), Some("string"));
/// assert_eq!(nearest_name("zebra", ["int", "string"]), None);
/// ```
pub fn nearest_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(name, &mut known.into_iter())
}

/// One function for all lists of names.
#[inline(never)]
fn nearest<'a>(name: &str, known: &mut dyn Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().take(CHARACTERS_MAX + 1).count();
    let allowed = (length / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known.filter(|candidate| *candidate != name) {
        let edits = match edits(name, candidate, allowed) {
            edits if edits <= allowed && edits < length => edits,
            _ if candidate.len() >= 3 && name.starts_with(candidate) => allowed + 1,
            _ => continue,
        };
        if best.is_none_or(|(fewest, _)| edits < fewest) {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// `; did you mean 'x'?`, the end of a sentence, for the nearest of `known`, if one is near enough to be meant; otherwise nothing.
#[must_use]
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    hint(name, &mut known.into_iter())
}

#[inline(never)]
fn hint(name: &str, known: &mut dyn Iterator<Item = &str>) -> String {
    nearest(name, known).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default()
}

/// Insertions, deletions, replacements and swaps of neighbours between two names in lower case; more than `allowed` where
/// their lengths say so.
fn edits(name: &str, candidate: &str, allowed: usize) -> usize {
    let lower = |text: &str| text.chars().take(CHARACTERS_MAX + 1).flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (name, candidate) = (lower(name), lower(candidate));
    if name.len().abs_diff(candidate.len()) > allowed || name.len().max(candidate.len()) > CHARACTERS_MAX {
        return allowed + 1;
    }
    let width = candidate.len() + 1;
    let mut table = vec![0; (name.len() + 1) * width];
    for row in 0..=name.len() {
        for column in 0..width {
            table[row * width + column] = if row == 0 || column == 0 {
                row + column
            } else {
                let same = name[row - 1] == candidate[column - 1];
                let fewest = (table[(row - 1) * width + column - 1] + usize::from(!same))
                    .min(table[(row - 1) * width + column] + 1)
                    .min(table[row * width + column - 1] + 1);
                let swapped = row > 1
                    && column > 1
                    && name[row - 1] == candidate[column - 2]
                    && name[row - 2] == candidate[column - 1];
                if swapped { fewest.min(table[(row - 2) * width + column - 2] + 1) } else { fewest }
            };
        }
    }
    table[table.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("kitten", "sitting", 3), 3);
        assert_eq!(edits("", "ab", 3), 2);
        assert_eq!(edits("abcdef", "a", 3), 4);
    }
}
