//! Sets of row numbers below a fixed length, one bit a row. Bits beyond the length are always clear.

use crate::arch::Selected;
use crate::lanes::Lanes;

/// A set of numbers below [`Bitmap::len`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// The empty set of numbers below `len`.
    pub fn none(len: usize) -> Bitmap {
        Bitmap { words: vec![0; len.div_ceil(64)], len }
    }

    /// The places of `bytes` that are not 0.
    pub fn of_nonzero(bytes: &[u8]) -> Bitmap {
        let (whole, rest) = bytes.as_chunks();
        let mut words: Vec<u64> = whole.iter().map(bits_of).collect();
        if !rest.is_empty() {
            let mut last = [0; 64];
            last[..rest.len()].copy_from_slice(rest);
            words.push(bits_of(&last));
        }
        Bitmap { words, len: bytes.len() }
    }

    /// All numbers below `len`.
    pub fn all(len: usize) -> Bitmap {
        let mut bitmap = Bitmap { words: vec![u64::MAX; len.div_ceil(64)], len };
        bitmap.clear_beyond();
        bitmap
    }

    /// The set of a byte form (bit `i` of byte `j` is number `8j + i`); `None` unless there are exactly
    /// [`Bitmap::byte_len`] bytes and none of them has a bit beyond the length.
    pub fn from_bytes(len: usize, bytes: &[u8]) -> Option<Bitmap> {
        if bytes.len() != Bitmap::byte_len(len) {
            return None;
        }
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let bitmap = Bitmap { words: bytes.chunks(8).map(word).collect(), len };
        (bitmap.beyond() == 0).then_some(bitmap)
    }

    /// Bytes of the byte form of a set of numbers below `len`.
    pub fn byte_len(len: usize) -> usize {
        len.div_ceil(8)
    }

    /// Appends the byte form.
    pub fn write_bytes(&self, bytes: &mut Vec<u8>) {
        let end = bytes.len() + Bitmap::byte_len(self.len);
        bytes.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.truncate(end);
    }

    /// The numbers are below this.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The first number from `number` on that is in the set.
    #[must_use]
    pub fn next_set(&self, number: usize) -> Option<usize> {
        let word = number / 64;
        let first = self.words.get(word)? & (u64::MAX << (number % 64));
        let rest = self.words[word + 1..].iter().copied();
        let found = std::iter::once(first).chain(rest).enumerate().find(|(_, bits)| *bits != 0);
        found.map(|(skipped, bits)| (word + skipped) * 64 + bits.trailing_zeros() as usize)
    }

    /// The runs of numbers that follow each other in the set, each from its first to before the next that is not in it.
    pub fn runs(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let mut from = 0;
        std::iter::from_fn(move || {
            let first = self.next_set(from)?;
            from = self.next_clear(first);
            Some(first..from)
        })
    }

    /// The first number from `number` on that is not in the set; the length if there is none below it.
    fn next_clear(&self, number: usize) -> usize {
        let word = number / 64;
        let Some(first) = self.words.get(word) else { return self.len };
        let rest = self.words[word + 1..].iter().copied();
        let mut clear = std::iter::once(first | !(u64::MAX << (number % 64))).chain(rest).enumerate();
        let found = clear.find(|(_, bits)| *bits != u64::MAX);
        found.map_or(self.len, |(skipped, bits)| self.len.min((word + skipped) * 64 + bits.trailing_ones() as usize))
    }

    /// Whether no number is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The bits, 64 a word, the least significant first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The bits of 64 numbers, `number` the lowest; clear beyond the length.
    #[inline]
    #[must_use]
    pub fn bits_from(&self, number: usize) -> u64 {
        let (word, shift) = (number / 64, number % 64);
        let at = |word: usize| self.words.get(word).copied().unwrap_or(0);
        if shift == 0 { at(word) } else { at(word) >> shift | at(word + 1) << (64 - shift) }
    }

    /// Whether a number is in the set; one beyond the length is not.
    #[inline]
    pub fn get(&self, number: usize) -> bool {
        self.words.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Puts a number into the set.
    ///
    /// # Panics
    /// If the number is not below the length.
    #[inline]
    pub fn set(&mut self, number: usize) {
        assert!(number < self.len, "a number of a bitmap is below its length");
        self.words[number / 64] |= 1 << (number % 64);
    }

    /// Puts numbers into the set, fastest if they ascend.
    ///
    /// # Panics
    /// If one is not below the length.
    #[inline]
    pub fn filler(&mut self) -> Filler<'_> {
        Filler { bitmap: self, word: 0, bits: 0 }
    }

    /// Puts the numbers of values for which `holds` says so into the set: `first`, a multiple of 64, for the first of them.
    /// `present` has a bit for each value, 64 a word: one without it is left out.
    ///
    /// # Panics
    /// If `first` is no multiple of 64, a number is not below the length, or `present` has other words than the values need.
    #[inline(always)]
    pub fn set_where<T: Copy>(&mut self, first: usize, values: &[T], present: &[u64], holds: impl Fn(T) -> bool) {
        assert!(
            first.is_multiple_of(64) && first + values.len() <= self.len,
            "numbers of a bitmap are below its length"
        );
        assert_eq!(present.len(), values.len().div_ceil(64), "a bit for each value");
        let words = &mut self.words[first / 64..];
        let (whole, rest) = values.as_chunks::<64>();
        let mut marks = [0; 64];
        for ((values, present), word) in whole.iter().zip(present).zip(&mut *words) {
            // A loop without branches, which compilers turn into vector code.
            for (mark, value) in marks.iter_mut().zip(values) {
                *mark = u8::from(holds(*value));
            }
            *word |= bits_of(&marks) & present;
        }
        if !rest.is_empty() {
            marks.fill(0);
            for (mark, value) in marks.iter_mut().zip(rest) {
                *mark = u8::from(holds(*value));
            }
            words[whole.len()] |= bits_of(&marks) & present[whole.len()];
        }
    }

    /// Takes a number out of the set; one beyond the length is not in it.
    #[inline]
    pub fn clear(&mut self, number: usize) {
        if let Some(word) = self.words.get_mut(number / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    /// Keeps what is in the other set too.
    ///
    /// # Panics
    /// If the lengths differ; so do the other operations on two sets.
    pub fn and(&mut self, other: &Bitmap) {
        self.combine(other, |mine, theirs| mine & theirs);
    }

    /// Adds what is in the other set.
    pub fn or(&mut self, other: &Bitmap) {
        self.combine(other, |mine, theirs| mine | theirs);
    }

    /// Removes what is in the other set.
    pub fn and_not(&mut self, other: &Bitmap) {
        self.combine(other, |mine, theirs| mine & !theirs);
    }

    /// Becomes the set of all numbers below the length that were not in it.
    pub fn not(&mut self) {
        for word in &mut self.words {
            *word = !*word;
        }
        self.clear_beyond();
    }

    /// How many numbers are in the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// How many numbers below `number` are in the set. Takes time proportional to `number / 64`.
    pub fn rank(&self, number: usize) -> usize {
        let number = number.min(self.len);
        let whole: usize = self.words[..number / 64].iter().map(|word| word.count_ones() as usize).sum();
        let part = self.words.get(number / 64).map_or(0, |word| word & !(u64::MAX << (number % 64)));
        whole + part.count_ones() as usize
    }

    /// The numbers in the set, ascending.
    pub fn ones(&self) -> Ones<'_> {
        Ones { words: &self.words, at: 0, word: self.words.first().copied().unwrap_or(0) }
    }

    fn combine(&mut self, other: &Bitmap, combine: impl Fn(u64, u64) -> u64) {
        assert_eq!(self.len, other.len, "bitmaps of one length");
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine = combine(*mine, *theirs);
        }
    }

    /// Bits of the last word that lie beyond the length.
    fn beyond(&self) -> u64 {
        if self.len.is_multiple_of(64) { 0 } else { self.words[self.len / 64] & (u64::MAX << (self.len % 64)) }
    }

    fn clear_beyond(&mut self) {
        if !self.len.is_multiple_of(64) {
            self.words[self.len / 64] &= !(u64::MAX << (self.len % 64));
        }
    }
}

/// A bit for each byte that is not 0.
#[inline(always)]
fn bits_of(bytes: &[u8; 64]) -> u64 {
    let parts = bytes.as_chunks().0.iter().rev();
    !parts.fold(0, |bits, part| bits << 16 | u64::from(Selected::equal_bytes(part, 0)))
}

/// Puts numbers into a set: the bits of a word are collected before they are written.
#[derive(Debug)]
pub struct Filler<'a> {
    bitmap: &'a mut Bitmap,
    word: usize,
    bits: u64,
}

impl Filler<'_> {
    /// Puts a number into the set.
    ///
    /// # Panics
    /// If it is not below the length.
    #[inline(always)]
    pub fn set(&mut self, number: usize) {
        assert!(number < self.bitmap.len, "a number of a bitmap is below its length");
        if number / 64 != self.word {
            self.write();
            (self.word, self.bits) = (number / 64, 0);
        }
        self.bits |= 1 << (number % 64);
    }

    #[inline]
    fn write(&mut self) {
        if let Some(word) = self.bitmap.words.get_mut(self.word) {
            *word |= self.bits;
        }
    }
}

impl Drop for Filler<'_> {
    fn drop(&mut self) {
        self.write();
    }
}

/// Iterator of [`Bitmap::ones`].
#[derive(Clone, Debug)]
pub struct Ones<'a> {
    words: &'a [u64],
    at: usize,
    word: u64,
}

impl Iterator for Ones<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.at += 1;
            self.word = *self.words.get(self.at)?;
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.at * 64 + bit)
    }

    /// The same in one loop; words that are full, as those of most documents, bit by bit without looking.
    #[inline]
    fn fold<B, F: FnMut(B, usize) -> B>(self, begin: B, mut each: F) -> B {
        let Ones { words, mut at, mut word } = self;
        let mut folded = begin;
        loop {
            if word == u64::MAX {
                folded = (at * 64..at * 64 + 64).fold(folded, &mut each);
                word = 0;
            }
            while word != 0 {
                folded = each(folded, at * 64 + word.trailing_zeros() as usize);
                word &= word - 1;
            }
            at += 1;
            match words.get(at) {
                Some(next) => word = *next,
                None => return folded,
            }
        }
    }
}
