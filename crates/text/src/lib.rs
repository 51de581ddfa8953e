#![forbid(unsafe_code)]
//! Text as matching sees it: where tokens begin and end, how they are folded, and how far two words are apart.
//! No stemming: streaming search does not know it. What a field asks for is decided by the schema; see [`Normalizing`].
//!
//! Two tokenizers differ on purpose, as they do in the reference implementation: [`Tokens`] splits the text of a
//! document, [`segment`] a word of a query. A query word like `x²` is therefore one segment that equals no token.
//!
//! Not reproduced: an extra empty token the reference implementation counts at the end of some values that are not
//! ASCII; folding of `cased` fields whose value is all ASCII. Both are documented there as accidents.

mod chunk;
mod compose;
mod fold;
mod fuzzy;
mod segment;
mod tokenize;
mod unicode;

pub use chunk::{CHUNK_LENGTH, fixed_length, sentences};
pub use compose::compose;
pub use fold::{Normalizing, fold, lowercase};
pub use fuzzy::{Fuzzy, FuzzyOptions, edit_distance, nearest};
pub use segment::{Class, class_of, segment};
pub use tokenize::{Token, Tokens, is_word};
