//! The words of the indexing language.

/// What follows the name of a function.
#[derive(Clone, Copy)]
pub(super) enum Takes {
    /// Nothing.
    Nothing,
    /// A name.
    Name,
    /// A name or nothing.
    OptionalName,
    /// A text.
    Text,
    /// That many numbers.
    Numbers(usize),
    /// A number or nothing.
    OptionalNumber,
    /// Names and numbers as long as there are some: `embed colbert chunks`.
    Names,
    /// The settings of `tokenize`.
    Tokenizing,
}

/// The expressions that are a name and some arguments.
pub(super) const FUNCTIONS: &[(&str, Takes)] = &[
    ("base64decode", Takes::Nothing),
    ("base64encode", Takes::Nothing),
    ("binarize", Takes::OptionalNumber),
    ("busy_wait", Takes::OptionalNumber),
    ("chunk", Takes::Names),
    ("clear_state", Takes::Nothing),
    ("documentid", Takes::Nothing),
    ("echo", Takes::Nothing),
    ("embed", Takes::Names),
    ("exact", Takes::Nothing),
    ("flatten", Takes::Nothing),
    ("generate", Takes::Names),
    ("get_field", Takes::Name),
    ("get_language", Takes::Nothing),
    ("get_value", Takes::Name),
    ("get_var", Takes::Name),
    ("hash", Takes::Nothing),
    ("hex_decode", Takes::Nothing),
    ("hex_encode", Takes::Nothing),
    ("hexdecode", Takes::Nothing),
    ("hexencode", Takes::Nothing),
    ("hostname", Takes::Nothing),
    ("join", Takes::Text),
    ("lowercase", Takes::Nothing),
    ("ngram", Takes::Numbers(1)),
    ("normalize", Takes::Nothing),
    ("now", Takes::Nothing),
    ("optimize_predicate", Takes::Nothing),
    ("pack_bits", Takes::Nothing),
    ("passthrough", Takes::OptionalName),
    ("random", Takes::OptionalNumber),
    ("set_language", Takes::Nothing),
    ("set_var", Takes::Name),
    ("sleep", Takes::OptionalNumber),
    ("split", Takes::Text),
    ("substring", Takes::Numbers(2)),
    ("this", Takes::Nothing),
    ("to_array", Takes::Nothing),
    ("to_bool", Takes::Nothing),
    ("to_byte", Takes::Nothing),
    ("to_double", Takes::Nothing),
    ("to_epoch_second", Takes::Nothing),
    ("to_float", Takes::Nothing),
    ("to_int", Takes::Nothing),
    ("to_long", Takes::Nothing),
    ("to_pos", Takes::Nothing),
    ("to_string", Takes::Nothing),
    ("to_uri", Takes::Nothing),
    ("to_wset", Takes::Names),
    ("tokenize", Takes::Tokenizing),
    ("trim", Takes::Nothing),
    ("uri", Takes::Nothing),
    ("zcurve", Takes::Nothing),
];

/// The expressions with a form of their own.
pub(super) const FORMS: &[&str] =
    &["attribute", "index", "summary", "input", "if", "switch", "select_input", "for_each", "guard", "true", "false"];
