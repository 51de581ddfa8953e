//! What a parser must know beside the text: the request's parameters, the fields' kinds, and how words are found.
//! Who parses a query implements these traits; this crate holds no schema.
use crate::simple::Grammar;
use crate::tree::TermKind;

/// Parameters of the request, for `@name`.
pub trait Parameters {
    /// The value of the parameter `name`, if there is one.
    fn get(&self, name: &str) -> Option<&str>;
}

/// The searchable fields, field sets and field paths of the schemas the query may search.
pub trait Indexes {
    /// What is known of `name`, or `None` if no searched schema has it. [`crate::tree::DEFAULT_INDEX`] always exists.
    fn index(&self, name: &str) -> Option<Index>;

    /// Told of the sources that a statement names, before its fields are asked for: they may be fewer types then.
    fn choose(&self, _sources: &[String]) {}

    /// Whether a word that is cut into several is a phrase there, also without quotes.
    fn is_phrase_segmenting(&self, _name: &str) -> bool {
        false
    }

    /// The names a query is likely to mean, for the hint in a refusal.
    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// What a parser must know of a field or field set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The tokens its texts are cut into.
    pub matching: Matching,
    /// What values it has.
    pub values: ValueKind,
}

impl Index {
    /// A tokenised text field.
    #[must_use]
    pub fn text() -> Index {
        Index { matching: Matching::Text, values: ValueKind::Text }
    }
}

/// How a query's texts are cut into terms for a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matching {
    /// Words.
    Text,
    /// Words, which the field holds as n-grams; the words stay whole here.
    Gram,
    /// Not at all: a literal is one value (`match: word`, string attributes; numbers and all else that is no text).
    Word,
    /// Into words in YQL; in the simple language a value is an address that ends at a space.
    Uri,
    /// Not at all, and in the simple language the value ends only at a space, or at `terminator` (`match: exact`).
    Exact {
        /// What ends a value in the simple language (`@@` if nothing else was set).
        terminator: String,
    },
}

impl Matching {
    /// How a word that is searched for in such a field compares.
    pub(crate) fn term_kind(&self) -> TermKind {
        match self {
            Matching::Word | Matching::Exact { .. } => TermKind::Exact,
            Matching::Text | Matching::Gram | Matching::Uri => TermKind::Word,
        }
    }
}

/// The kind of values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// Strings, and collections of them.
    Text,
    /// byte, int, long, and collections of them.
    Integer,
    /// float, double, and collections of them.
    Float,
    /// bool.
    Boolean,
    /// Everything else (tensors, positions, structs, a field set that mixes kinds).
    Other,
}

/// How words are found in texts. Nothing of it folds, but where that is said.
pub trait Linguistics {
    /// The words of a literal or of one word of the simple language (`it's` may be two), in order, not folded. A single
    /// [`CharacterClass::Symbol`] is a word.
    fn segment(&self, text: &str) -> Vec<String>;

    /// What `c` is in the simple language.
    fn class(&self, c: char) -> CharacterClass;

    /// The words of `text` with everything done to them that is done to texts when they are searched, for the grammar
    /// `linguistics` and for `text()`.
    fn processed_words(&self, text: &str) -> Vec<String>;

    /// `text` in Unicode normalisation form KC, for the annotation `nfkc`.
    fn normalize(&self, text: &str) -> String;
}

/// What a character is in the simple language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CharacterClass {
    /// Part of a word.
    Letter,
    /// Part of a word, or of a number if it is one of `0` to `9`.
    Digit,
    /// A word of its own.
    Symbol,
    /// None of these.
    Other,
}

/// Everything a parser is given beside the text.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The request's parameters.
    pub parameters: &'a dyn Parameters,
    /// The fields.
    pub indexes: &'a dyn Indexes,
    /// The words.
    pub linguistics: &'a dyn Linguistics,
    /// What `userQuery()` stands for; `None` if the request has no `query`.
    pub user_query: Option<UserQuery<'a>>,
    /// The grammar of `userInput()` where it says nothing itself.
    pub input_grammar: Grammar,
}

/// The request's `query` with what belongs to it (`model.*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserQuery<'a> {
    /// `model.queryString`.
    pub text: &'a str,
    /// `model.type`.
    pub grammar: Grammar,
    /// `model.filter`.
    pub filter: Option<&'a str>,
    /// `model.defaultIndex`.
    pub default_index: Option<&'a str>,
}
