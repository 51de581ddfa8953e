#![forbid(unsafe_code)]
//! Text as matching sees it: where tokens begin and end, how they are folded, and how far two words are apart.
//! What a field asks for is decided by the schema; see [`Normalizing`]. Stems and words of scripts without spaces are for
//! those who ask for them: streaming search does not know them.
//!
//! Two tokenizers differ on purpose, as they do in the reference implementation: [`Tokens`] splits the text of a
//! document, [`segment`] a word of a query. A query word like `x²` is therefore one segment that equals no token.
//!
//! Not reproduced: an extra empty token the reference implementation counts at the end of some values that are not
//! ASCII; folding of `cased` fields whose value is all ASCII. Both are documented there as accidents.

mod accents;
mod automaton;
mod chunk;
mod cjk;
mod compose;
mod fold;
mod forms;
mod fuzzy;
mod grams;
mod pattern;
mod segment;
mod spelling;
mod stem;
mod tokenize;
mod typo;
mod unicode;
mod variants;

pub use chunk::{CHUNK_LENGTH, fixed_length, sentences};
pub use cjk::{count_segments, has_cjk, is_boundary, is_cjk};
pub use compose::{compose, whole_letters};
pub use fold::{Normalizing, fold, lowercase};
pub use fuzzy::{Fuzzy, FuzzyOptions};
pub use grams::grams;
pub use pattern::{OutOfWork, Pattern, PatternFault, PatternSearch};
pub use segment::{Class, class_of, segment};
pub use spelling::{Spelling, without_accents};
pub use stem::{Languages, Stems};
pub use tokenize::{Token, Tokens, is_word};
pub use typo::{Typo, slips_forgiven};
pub use variants::{Cursor, Variants, Variety};
