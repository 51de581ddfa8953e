//! Where a byte string occurs in another.

use memchr::memmem::Finder;

/// A byte string prepared for being searched. An empty one occurs everywhere.
#[derive(Clone, Debug)]
pub struct Needle {
    finder: Finder<'static>,
}

impl Needle {
    /// Prepares a byte string.
    pub fn new(bytes: &[u8]) -> Needle {
        Needle { finder: Finder::new(bytes).into_owned() }
    }

    /// The byte string.
    pub fn bytes(&self) -> &[u8] {
        self.finder.needle()
    }

    /// Start of the first occurrence.
    #[inline]
    pub fn find(&self, haystack: &[u8]) -> Option<usize> {
        self.finder.find(haystack)
    }

    /// Starts of occurrences that do not overlap, from left to right.
    pub fn find_all<'a>(&'a self, haystack: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        self.finder.find_iter(haystack)
    }
}
