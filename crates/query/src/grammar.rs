//! The kinds of the simple query language (`model.type`, the annotation `grammar`).

/// A dialect of the simple language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grammar {
    /// What the terms are collected in.
    pub composite: Composite,
    /// Who finds the words.
    pub tokenization: Tokenization,
    /// What operators the text may have.
    pub syntax: Syntax,
}

/// What terms are collected in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Composite {
    /// All must match.
    And,
    /// One must match.
    Or,
    /// One must match, weakly.
    WeakAnd,
    /// All, near each other.
    Near,
    /// All, near each other and in order.
    OrderedNear,
    /// All, one after the other.
    Phrase,
}

/// Who finds the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tokenization {
    /// The parser; what is done to words is done later.
    Internal,
    /// The linguistics, which does everything to them at once.
    Linguistics,
}

/// What operators a text may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syntax {
    /// None: everything but words is skipped.
    None,
    /// `+`, `-`, quotes, `field:`, parentheses, numbers and ranges, `*`, weights.
    Simple,
    /// The same without parentheses, and with `OR`.
    Web,
    /// Words between the items are operators, and parentheses nest (type `adv`).
    Advanced,
}

impl Grammar {
    /// `weakAnd`, the grammar where none is named.
    pub const WEAK_AND: Grammar =
        Grammar { composite: Composite::WeakAnd, tokenization: Tokenization::Internal, syntax: Syntax::Simple };
    /// `linguistics`, the grammar of `text()`.
    pub const LINGUISTICS: Grammar =
        Grammar { composite: Composite::WeakAnd, tokenization: Tokenization::Linguistics, syntax: Syntax::None };

    /// The grammar of a `model.type`; `None` if there is no such type.
    #[must_use]
    pub fn named(name: &str) -> Option<Grammar> {
        let internal = |composite, syntax| Grammar { composite, tokenization: Tokenization::Internal, syntax };
        Some(match name {
            "all" => internal(Composite::And, Syntax::Simple),
            "any" => internal(Composite::Or, Syntax::Simple),
            "weakAnd" => Grammar::WEAK_AND,
            "web" => internal(Composite::And, Syntax::Web),
            "adv" => internal(Composite::And, Syntax::Advanced),
            "near" => internal(Composite::Near, Syntax::None),
            "onear" => internal(Composite::OrderedNear, Syntax::None),
            "phrase" => internal(Composite::Phrase, Syntax::None),
            "tokenize" => internal(Composite::WeakAnd, Syntax::None),
            "linguistics" => Grammar::LINGUISTICS,
            _ => return None,
        })
    }

    /// Whether its parts go together.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.tokenization != Tokenization::Linguistics || self.syntax == Syntax::None
    }

    /// The grammar with one part (`composite`, `tokenization`, `syntax`) replaced by a value's name; `None` if there is
    /// no such part or value.
    #[must_use]
    pub fn with(mut self, part: &str, value: &str) -> Option<Grammar> {
        match (part, value) {
            ("composite", "and") => self.composite = Composite::And,
            ("composite", "or") => self.composite = Composite::Or,
            ("composite", "weakAnd") => self.composite = Composite::WeakAnd,
            ("composite", "near") => self.composite = Composite::Near,
            ("composite", "oNear") => self.composite = Composite::OrderedNear,
            ("composite", "phrase") => self.composite = Composite::Phrase,
            ("tokenization", "internal") => self.tokenization = Tokenization::Internal,
            ("tokenization", "linguistics") => self.tokenization = Tokenization::Linguistics,
            ("syntax", "none") => self.syntax = Syntax::None,
            ("syntax", "simple") => self.syntax = Syntax::Simple,
            ("syntax", "web") => self.syntax = Syntax::Web,
            _ => return None,
        }
        Some(self)
    }
}
