//! Blocks of a rank profile that tune an index: `match-phase`, `diversity`, `mutate`.
use super::lex::Token;
use super::settings::{Parsed, Parser};
use super::tree::{Name, ProfileTree};

const MATCH_PHASE: &[&str] = &[
    "attribute",
    "order",
    "max-hits",
    "total-max-hits",
    "max-filter-coverage",
    "evaluation-point",
    "pre-post-filter-tipping-point",
    "diversity",
];

const DIVERSITY: &[&str] = &["attribute", "min-groups", "cutoff-factor", "cutoff-strategy"];

const MUTATE: &[&str] = &["on-match", "on-first-phase", "on-second-phase", "on-summary"];

impl Parser<'_> {
    /// One of the blocks, after its name.
    pub(super) fn tuning_block(&mut self, element: &Name, tree: &mut ProfileTree) -> Parsed<()> {
        match element.text.as_str() {
            "match-phase" => self.match_phase(element, tree),
            "diversity" => self.diversity(&mut tree.tuning.diversity),
            "mutate" => {
                self.note(&element.place, "mutate has no effect in streaming search");
                self.block_without_effect(Parser::mutation)
            }
            _ => {
                self.newlines()?;
                self.expect('{')?;
                self.lexer.raw_block().map(|_| ())
            }
        }
    }

    fn match_phase(&mut self, element: &Name, tree: &mut ProfileTree) -> Parsed<()> {
        let (mut attribute, mut hits) = (None, 0i64);
        let diversity = &mut tree.tuning.diversity;
        self.block_without_effect(|parser| {
            let setting = parser.word("a setting of match-phase")?;
            match setting.text.as_str() {
                "attribute" => attribute = Some(parser.word_value("an attribute")?.text),
                "order" => parser.choice("order", &[("ascending", ()), ("descending", ())])?,
                "max-hits" | "total-max-hits" => hits = parser.integer_value(&setting.text)?,
                "max-filter-coverage" | "evaluation-point" | "pre-post-filter-tipping-point" => {
                    parser.number_value(&setting.text)?;
                }
                "diversity" => parser.diversity(diversity)?,
                _ => return Err(parser.unknown_setting(&setting, "setting of match-phase", MATCH_PHASE)),
            }
            Ok(())
        })?;
        if attribute.is_none() || hits <= 0 {
            self.remarks.object(element.place.reject("match-phase needs an attribute, and max-hits above 0"));
        }
        tree.tuning.match_phase = attribute;
        Ok(())
    }

    fn diversity(&mut self, attribute: &mut Option<String>) -> Parsed<()> {
        self.block_without_effect(|parser| {
            let setting = parser.word("a setting of diversity")?;
            match setting.text.as_str() {
                "attribute" => *attribute = Some(parser.word_value("an attribute")?.text),
                "min-groups" => drop(parser.integer_value::<i64>(&setting.text)?),
                "cutoff-factor" => drop(parser.number_value(&setting.text)?),
                "cutoff-strategy" => parser.choice("cutoff-strategy", &[("strict", ()), ("loose", ())])?,
                _ => return Err(parser.unknown_setting(&setting, "setting of diversity", DIVERSITY)),
            }
            Ok(())
        })
    }

    /// `on-match { attribute += 1 }`, and the end of the line.
    fn mutation(&mut self) -> Parsed<()> {
        let phase = self.word("a phase")?;
        if !MUTATE.contains(&phase.text.as_str()) {
            return Err(self.unknown_setting(&phase, "phase of mutate", MUTATE));
        }
        self.newlines()?;
        self.expect('{')?;
        self.newlines()?;
        self.name("an attribute")?;
        if !self.take('+')? {
            self.take('-')?;
        }
        self.expect('=')?;
        let number = self.word("a number")?;
        if number.text.parse::<f64>().is_err() {
            return Err(number
                .place
                .reject(format!("'{}' is not a number", brooklet_task::Rejection::quote(&number.text))));
        }
        self.newlines()?;
        self.expect('}')?;
        match self.peek()? {
            Token::Newline => Ok(()),
            _ => Err(self.lexer.expected_token("the end of the line")),
        }
    }
}
