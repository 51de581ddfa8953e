//! Changes inputs. One seed gives one sequence of changes, on every machine.

/// Bytes that are likely to mean something, to be put where they do not.
const TOKENS: [&[u8]; 36] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b"\"",
    b"'",
    b"\\",
    b"\\u",
    b"\\ud800",
    b",",
    b":",
    b";",
    b".",
    b"-",
    b"+",
    b"*",
    b"#",
    b"<",
    b">",
    b"=",
    b"\n",
    b"\0",
    b" ",
    b"0",
    b"-0",
    b"1e999",
    b"9223372036854775808",
    b"NaN",
    b"null",
    b"true",
    b"\xff\xff\xff\xff\x0f",
    b"\xf0\x9f\x98\x80",
    b"\xef\xbb\xbf",
    b"\xcc\x88",
];

/// Longest input that is made.
const INPUT_BYTES_MAX: usize = 16 << 10;

/// Makes inputs of the inputs it is given.
pub struct Mutator {
    state: u64,
}

impl Mutator {
    /// A sequence of its own for every seed.
    pub fn new(seed: u64) -> Mutator {
        Mutator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, or 0.
    fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() >> 16) as usize % bound }
    }

    /// One of `corpus`, changed one to four times.
    pub fn input(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut input, corpus);
        }
        input.truncate(INPUT_BYTES_MAX);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(input.len() + 1);
        let length = self.length(input.len() - at);
        match self.below(9) {
            0 => drop(input.drain(at..at + length)),
            1 => input.truncate(at),
            2 if at < input.len() => input[at] ^= 1 << self.below(8),
            3 if at < input.len() => input[at] = self.next() as u8,
            4 => {
                let token = TOKENS[self.below(TOKENS.len())];
                drop(input.splice(at..at + length.min(token.len()), token.iter().copied()));
            }
            5 => {
                let token = TOKENS[self.below(TOKENS.len())];
                let times = 1 + self.below(3) * self.below(60);
                drop(input.splice(at..at, token.repeat(times)));
            }
            6 => {
                let again = input[at..at + length].to_vec();
                let to = self.below(input.len() + 1);
                drop(input.splice(to..to, again));
            }
            _ => {
                let other = &corpus[self.below(corpus.len())];
                let from = self.below(other.len() + 1);
                let taken = self.length(other.len() - from);
                drop(input.splice(at..at + length, other[from..from + taken].iter().copied()));
            }
        }
    }

    /// A length up to `most`, mostly short.
    fn length(&mut self, most: usize) -> usize {
        let bound = if self.below(4) == 0 { most } else { most.min(8) };
        self.below(bound + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence_and_another_seed_another() {
        let corpus = vec![b"select * from mail where true".to_vec(), b"{\"fields\":{}}".to_vec()];
        let inputs = |seed: u64| {
            let mut mutator = Mutator::new(seed);
            (0..200).map(|_| mutator.input(&corpus)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
        let distinct: std::collections::BTreeSet<_> = inputs(7).into_iter().collect();
        assert!(distinct.len() > 150, "{} of 200 inputs are distinct", distinct.len());
    }
}
