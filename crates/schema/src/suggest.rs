//! Suggestions for names that are nearly right.

/// Names longer than this are not compared: the distance is quadratic in their length.
const NAME_LENGTH_MAX: usize = 64;

/// `; did you mean 'x'?` for the nearest of `known`, if one is near enough to be meant; otherwise nothing.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("; did you mean '{near}'?"),
        None => String::new(),
    }
}

/// The first of the nearest names, if it takes at most a third of its length in edits; otherwise one that the name
/// begins with (`integer` for `int`).
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let allowed = (length / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known.into_iter().filter(|candidate| *candidate != name) {
        let edits = match distance(name, candidate, allowed) {
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

/// Number of single-character insertions, deletions and replacements; `allowed + 1` stands for more than `allowed`.
fn distance(a: &str, b: &str, allowed: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    if a.len().abs_diff(b.len()) > allowed || a.len().max(b.len()) > NAME_LENGTH_MAX {
        return allowed + 1;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_and_a_far_one_is_not() {
        assert_eq!(did_you_mean("strng", ["int", "string", "struct"]), "; did you mean 'string'?");
        assert_eq!(did_you_mean("Index", ["attribute", "index"]), "; did you mean 'index'?");
        assert_eq!(did_you_mean("integer", ["string", "int"]), "; did you mean 'int'?");
        assert_eq!(did_you_mean("zebra", ["int", "string"]), "");
        assert_eq!(did_you_mean("b", ["a", "b"]), "");
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting", 3), 3);
        assert_eq!(distance("", "ab", 3), 2);
        assert_eq!(distance("abcdef", "a", 3), 4);
    }
}
