//! Guesses what a misspelt name was meant to be.

/// `. Did you mean 'contains'?` if one of `names` is likely meant by `name`, else nothing.
pub(crate) fn did_you_mean(name: &str, names: &[&str]) -> String {
    nearest(name, names).map(|guess| format!(" Did you mean '{guess}'?")).unwrap_or_default()
}

/// The first of the names with the fewest edits from `name`, if they are few for its length.
fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let name: Vec<char> = name.chars().take(LONGEST + 1).flat_map(char::to_lowercase).collect();
    if name.len() > LONGEST {
        return None;
    }
    let allowed = if name.len() < 5 { 1 } else { 2 };
    let mut best = None;
    for candidate in names {
        let distance = edits(&name, candidate);
        if distance <= allowed && best.is_none_or(|(fewest, _)| distance < fewest) {
            best = Some((distance, *candidate));
        }
    }
    best.map(|(_, guess)| guess)
}

/// Names longer than this are not guessed at.
const LONGEST: usize = 30;

/// Insertions, deletions, replacements and swaps of neighbours between a name in lower case and a candidate.
fn edits(name: &[char], candidate: &str) -> usize {
    let candidate: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
    let width = candidate.len() + 1;
    let mut table = vec![0; (name.len() + 1) * width];
    for row in 0..=name.len() {
        for column in 0..width {
            table[row * width + column] = if row == 0 || column == 0 {
                row + column
            } else {
                let same = name[row - 1] == candidate[column - 1];
                let mut fewest = (table[(row - 1) * width + column - 1] + usize::from(!same))
                    .min(table[(row - 1) * width + column] + 1)
                    .min(table[row * width + column - 1] + 1);
                let swapped = row > 1
                    && column > 1
                    && name[row - 1] == candidate[column - 2]
                    && name[row - 2] == candidate[column - 1];
                if swapped {
                    fewest = fewest.min(table[(row - 2) * width + column - 2] + 1);
                }
                fewest
            };
        }
    }
    table[table.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let names = ["contains", "matches", "in", "nearestNeighbor"];
        assert_eq!(did_you_mean("contians", &names), " Did you mean 'contains'?");
        assert_eq!(did_you_mean("nearestneighbour", &names), " Did you mean 'nearestNeighbor'?");
        assert_eq!(did_you_mean("between", &names), "");
        assert_eq!(did_you_mean(&"x".repeat(10_000), &names), "");
    }
}
