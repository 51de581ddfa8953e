//! How teasers are made of texts, where services.xml says otherwise than usual.

/// The settings of `vespa.config.search.summary.juniperrc`, with their usual values. Lengths are bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnippetSettings {
    /// `length`: the length aimed at.
    pub length: u32,
    /// `min_length`: a length that is enough.
    pub length_min: u32,
    /// `max_matches`: how many matches are shown, more only while the teaser is too short.
    pub matches: u32,
    /// `surround_max`: most text on each side of a hit.
    pub context_max: u32,
    /// `winsize`: how far apart words of a match may be, once there are matches enough.
    pub window: u32,
    /// `winsize_fallback_multiplier`: how many windows they may be apart before.
    pub window_factor: f64,
    /// `max_match_candidates`: matches that are under way at once.
    pub candidates: u32,
    /// `stem_min_length`: words of more characters are also found in slightly longer ones.
    pub stem_min: u32,
    /// `stem_max_extend`: how many characters longer those may be.
    pub stem_extension: u32,
    /// `prefix`: whether a text without a match is shown from its beginning.
    pub begins: bool,
}

impl Default for SnippetSettings {
    fn default() -> SnippetSettings {
        SnippetSettings {
            length: 256,
            length_min: 128,
            matches: 3,
            context_max: 128,
            window: 200,
            window_factor: 10.0,
            candidates: 1_000,
            stem_min: 5,
            stem_extension: 3,
            begins: true,
        }
    }
}

/// The settings of a content cluster: of all summary fields, and of some, which begin with the usual values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SnippetConfig {
    /// Of every field.
    pub all: SnippetSettings,
    /// Of fields by their name.
    pub fields: Vec<(String, SnippetSettings)>,
}

impl SnippetConfig {
    /// The settings of a summary field.
    #[must_use]
    pub fn of(&self, field: &str) -> SnippetSettings {
        self.fields.iter().find(|(name, _)| name == field).map_or(self.all, |(_, settings)| *settings)
    }
}
