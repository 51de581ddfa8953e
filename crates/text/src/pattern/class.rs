//! Sets of characters.

/// A set of characters. Those of ASCII are bits, others ranges in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    ascii: [u64; 2],
    beyond: Vec<(u32, u32)>,
}

/// The last character there is.
const LAST: u32 = char::MAX as u32;

impl Class {
    /// The characters of ranges, first and last.
    pub(super) fn new(mut ranges: Vec<(u32, u32)>) -> Class {
        ranges.sort_unstable();
        let mut class = Class::default();
        for (first, last) in ranges {
            for code in first..=last.min(127) {
                class.ascii[code as usize / 64] |= 1 << (code % 64);
            }
            let first = first.max(128);
            match class.beyond.last_mut() {
                _ if last < first => {}
                Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
                _ => class.beyond.push((first, last)),
            }
        }
        class
    }

    /// Those that are not in it.
    pub(super) fn negate(&self) -> Class {
        let mut beyond = Vec::new();
        let mut from = 128;
        for (first, last) in &self.beyond {
            if from < *first {
                beyond.push((from, first - 1));
            }
            from = last + 1;
        }
        if from <= LAST {
            beyond.push((from, LAST));
        }
        Class { ascii: self.ascii.map(|bits| !bits), beyond }
    }

    /// With the letters of ASCII in both cases, if one is in it.
    pub(super) fn in_both_cases(mut self) -> Class {
        // All letters stand in the second half, the small ones 32 places above the others.
        let letters = 0x07ff_fffe_u64;
        let either = (self.ascii[1] | self.ascii[1] >> 32) & letters;
        self.ascii[1] |= either | either << 32;
        self
    }

    /// Adds those of another.
    pub(super) fn add(&mut self, other: &Class) {
        let ranges = self.beyond.iter().chain(&other.beyond).copied().collect();
        let ascii = [self.ascii[0] | other.ascii[0], self.ascii[1] | other.ascii[1]];
        *self = Class { ascii, ..Class::new(ranges) };
    }

    #[inline]
    pub(super) fn contains(&self, character: char) -> bool {
        let code = u32::from(character);
        match self.ascii.get(code as usize / 64) {
            Some(bits) => bits >> (code % 64) & 1 == 1,
            None => {
                let after = self.beyond.partition_point(|(first, _)| *first <= code);
                after > 0 && code <= self.beyond[after - 1].1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_they_were_made_of() {
        let ranges = [('é', 'ü'), ('a', 'f'), ('Y', 'b'), ('ü', 'ÿ'), ('~', '\u{85}'), ('\u{10fff0}', char::MAX)];
        let is_in = |c: char| ranges.iter().any(|(first, last)| (*first..=*last).contains(&c));
        let class = Class::new(ranges.iter().map(|(first, last)| (u32::from(*first), u32::from(*last))).collect());
        let (negated, folded) = (class.negate(), class.clone().in_both_cases());
        let mut both = Class::new(vec![(48, 57), (0x4e00, 0x4e02)]);
        both.add(&class);
        for c in ('\0'..=char::MAX).filter(|c| u32::from(*c) < 0x5000 || u32::from(*c) > 0x10_0000) {
            assert_eq!(class.contains(c), is_in(c), "{c:?}");
            assert_eq!(negated.contains(c), !is_in(c), "{c:?}");
            let cases = [c, c.to_ascii_lowercase(), c.to_ascii_uppercase()];
            assert_eq!(folded.contains(c), cases.into_iter().any(is_in), "{c:?}");
            let digit = c.is_ascii_digit() || ('\u{4e00}'..='\u{4e02}').contains(&c);
            assert_eq!(both.contains(c), is_in(c) || digit, "{c:?}");
        }
    }
}
