//! Where an expression cuts a text: the places at which it is found one after the other, each the first way that fits,
//! as Java's `split` takes them. All ways are followed at once, so that the time is linear in the text for each piece.
use super::program::{Instruction, Program};

/// A way that is followed: where it began, and the step that asks for the next character.
#[derive(Clone, Copy)]
struct Way {
    step: u32,
    begin: usize,
}

/// The ways at a place, the preferred first, and which steps are among them.
struct Ways {
    list: Vec<Way>,
    reached: Vec<bool>,
}

impl Ways {
    fn new(program: &Program) -> Ways {
        Ways { list: Vec::new(), reached: vec![false; program.steps.len()] }
    }

    fn clear(&mut self) {
        self.list.clear();
        self.reached.fill(false);
    }

    /// Adds the steps that are reached from `way` between two characters, in their order; whether the end is one of
    /// them: what comes after it is not preferred.
    fn reach(&mut self, program: &Program, way: Way, around: (Option<char>, Option<char>)) -> bool {
        let mut rest = vec![way.step];
        while let Some(step) = rest.pop() {
            if std::mem::replace(&mut self.reached[step as usize], true) {
                continue;
            }
            match program.steps[step as usize] {
                Instruction::Class { .. } => self.list.push(Way { step, begin: way.begin }),
                Instruction::Split(one, other) => rest.extend([other, one]),
                Instruction::Look { look, next } if look.holds(around.0, around.1) => rest.push(next),
                Instruction::Look { .. } => {}
                Instruction::Match => return true,
            }
        }
        false
    }
}

/// The first place at or after byte `from` where the program is found, as its first and last byte (excluded). Takes from
/// `work` what that costs; [`OutOfWork`] if it was not enough.
fn find(program: &Program, text: &str, from: usize, work: &mut usize) -> Result<Option<(usize, usize)>, OutOfWork> {
    let (mut ways, mut next) = (Ways::new(program), Ways::new(program));
    let mut found = None;
    let mut before = text[..from].chars().next_back();
    let mut at = from;
    loop {
        let current = text[at..].chars().next();
        if found.is_none() && ways.reach(program, Way { step: program.start, begin: at }, (before, current)) {
            found = Some((at, at));
        }
        let Some(character) = current.filter(|_| !ways.list.is_empty() || found.is_none()) else { return Ok(found) };
        let end = at + character.len_utf8();
        let after = text[end..].chars().next();
        next.clear();
        *work = work.checked_sub(1 + ways.list.len()).ok_or(OutOfWork)?;
        for way in &ways.list {
            let Instruction::Class { class, next: step } = program.steps[way.step as usize] else { continue };
            let passes = program.classes[class as usize].contains(character);
            if passes && next.reach(program, Way { step, begin: way.begin }, (Some(character), after)) {
                found = Some((way.begin, end));
                break;
            }
        }
        std::mem::swap(&mut ways, &mut next);
        (before, at) = (Some(character), end);
    }
}

/// The text and the expression together cost more than was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfWork;

/// The pieces of a text between the places of the program: a place without a character at the beginning cuts nothing off,
/// and empty pieces at the end are left out.
pub(super) fn pieces<'t>(program: &Program, text: &'t str, work: &mut usize) -> Result<Vec<&'t str>, OutOfWork> {
    let mut pieces = Vec::new();
    let (mut from, mut last) = (0, 0);
    while from <= text.len() {
        let Some((begin, end)) = find(program, text, from, work)? else { break };
        if end > begin || (begin > 0 && begin < text.len()) {
            pieces.push(&text[last..begin]);
            last = end;
        }
        from = if end > begin { end } else { end + text[end..].chars().next().map_or(1, char::len_utf8) };
    }
    pieces.push(&text[last..]);
    while pieces.last().is_some_and(|piece| piece.is_empty()) {
        pieces.pop();
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::program::NESTING;
    use super::*;

    fn cut(pattern: &str, text: &str) -> Vec<String> {
        let program =
            Program::new(pattern, true, NESTING).unwrap_or_else(|fault| panic!("{pattern}: {}", fault.reason));
        let mut work = 1 << 20;
        pieces(&program, text, &mut work).unwrap().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn texts_are_cut_as_java_cuts_them() {
        for (pattern, text, expected) in [
            (",", "a,b,,c,,", vec!["a", "b", "", "c"]),
            ("[,;]\\s*", "a,  b;c", vec!["a", "b", "c"]),
            ("", "añb", vec!["a", "ñ", "b"]),
            ("x*", "axxb", vec!["a", "", "b"]),
            ("x", "", vec![]),
            ("x", "xa", vec!["", "a"]),
            ("aa|a", "baab", vec!["b", "b"]),
            ("a|aa", "baab", vec!["b", "", "b"]),
            ("a+?", "baab", vec!["b", "", "b"]),
            ("\\b", "hi you", vec!["hi", " ", "you"]),
            ("(?i)X", "1x2X3", vec!["1", "2", "3"]),
        ] {
            assert_eq!(cut(pattern, text), expected, "{pattern} in {text:?}");
        }
    }

    #[test]
    fn what_is_too_dear_is_told() {
        let program = Program::new("(a|b)*c", true, NESTING).ok().unwrap();
        assert_eq!(pieces(&program, &"ab".repeat(100), &mut 50), Err(OutOfWork));
    }

    proptest! {
        #[test]
        fn pieces_are_those_of_another_engine(pattern in "[ab,(|]{0,3}[ab][*+?]{0,2}[ab.]?", text in "[abñ,]{0,12}") {
            let (Ok(ours), Ok(theirs)) = (Program::new(&pattern, true, NESTING), regex_lite::Regex::new(&pattern)) else {
                return Ok(());
            };
            // Each place is looked for where the one before it ended, as Java does: `find_iter` of the other engine leaves out
            // a place without characters that stands right behind another place.
            let (mut expected, mut last, mut from) = (Vec::new(), 0, 0);
            while let Some(place) = theirs.find_at(&text, from) {
                if !place.is_empty() || (place.start() > 0 && place.start() < text.len()) {
                    expected.push(&text[last..place.start()]);
                    last = place.end();
                }
                from = match text[place.end()..].chars().next() {
                    Some(next) if place.is_empty() => place.end() + next.len_utf8(),
                    None if place.is_empty() => break,
                    _ => place.end(),
                };
            }
            expected.push(&text[last..]);
            while expected.last().is_some_and(|piece| piece.is_empty()) {
                expected.pop();
            }
            let mut work = 1 << 20;
            prop_assert_eq!(pieces(&ours, &text, &mut work), Ok(expected), "{}", pattern);
        }
    }
}
