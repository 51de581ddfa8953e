//! Order of inheritance.

/// Indexes ordered so that all parents of one come before it.
///
/// # Errors
/// The index of one that is its own ancestor.
pub(super) fn parents_first(parents: &[Vec<usize>]) -> Result<Vec<usize>, usize> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
    let mut missing: Vec<usize> = parents.iter().map(Vec::len).collect();
    for (child, of) in parents.iter().enumerate() {
        of.iter().for_each(|parent| children[*parent].push(child));
    }
    let mut order: Vec<usize> = (0..parents.len()).filter(|index| missing[*index] == 0).collect();
    let mut at = 0;
    while let Some(parent) = order.get(at).copied() {
        at += 1;
        for child in &children[parent] {
            missing[*child] -= 1;
            if missing[*child] == 0 {
                order.push(*child);
            }
        }
    }
    match missing.iter().position(|count| *count > 0) {
        Some(index) => Err(index),
        None => Ok(order),
    }
}

#[cfg(test)]
mod tests {
    use super::parents_first;

    #[test]
    fn parents_come_first_and_cycles_are_found() {
        assert_eq!(parents_first(&[vec![1], vec![2], vec![]]), Ok(vec![2, 1, 0]));
        assert_eq!(parents_first(&[vec![], vec![0, 0]]), Ok(vec![0, 1]));
        assert_eq!(parents_first(&[vec![], vec![2], vec![1]]), Err(1));
        assert_eq!(parents_first(&[vec![0]]), Err(0));
    }
}
