//! The list of targets.
mod document;
mod merge;
mod query;
mod rank;
mod schema;
mod search;
mod segment;
mod shards;
mod text;

/// Reads an input; the answer does not matter.
type Reading = Box<dyn FnMut(&[u8])>;

/// One function over bytes and the inputs to begin with.
pub struct Target {
    /// Its name, and its folder's under `regressions/`.
    pub name: &'static str,
    /// How many times fewer inputs it is given than a cheap one.
    pub cost: usize,
    /// The inputs that changes begin with.
    pub corpus: Vec<Vec<u8>>,
    /// What is tried.
    pub run: Reading,
}

impl Target {
    fn new(name: &'static str, corpus: Vec<Vec<u8>>, run: impl FnMut(&[u8]) + 'static) -> Target {
        Target { name, cost: 1, corpus, run: Box::new(run) }
    }

    /// A target over text: bytes that are no UTF-8 are replaced.
    fn text(name: &'static str, corpus: Vec<Vec<u8>>, mut run: impl FnMut(&str) + 'static) -> Target {
        Target::new(name, corpus, move |bytes| run(&String::from_utf8_lossy(bytes)))
    }

    fn costs(mut self, times: usize) -> Target {
        self.cost = times;
        self
    }
}

/// Every target.
#[must_use]
pub fn targets() -> Vec<Target> {
    [
        document::targets(),
        merge::targets(),
        query::targets(),
        rank::targets(),
        schema::targets(),
        search::targets(),
        segment::targets(),
        shards::targets(),
        text::targets(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
