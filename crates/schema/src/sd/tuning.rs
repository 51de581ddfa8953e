//! Blocks of a rank profile that tune an index: `match-phase`, `diversity`, `mutate`, `weakand`.
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

const WEAKAND: &[&str] = &["stopword-limit", "adjust-target", "allow-drop-all"];

const MUTATE: &[&str] = &["on-match", "on-first-phase", "on-second-phase", "on-summary"];

impl Parser<'_> {
    /// One of the blocks, after its name.
    pub(super) fn tuning_block(&mut self, element: &Name, tree: &mut ProfileTree) -> Parsed<()> {
        match element.text.as_str() {
            "match-phase" => self.match_phase(element, tree),
            "diversity" => self.diversity(element, tree),
            "mutate" => {
                self.note(&element.place, "mutate has no effect in streaming search");
                self.block_without_effect(&mut Parser::mutation)
            }
            _ => self.block_without_effect(&mut |parser| {
                let setting = parser.word("a setting of weakand")?;
                if !WEAKAND.contains(&setting.text.as_str()) {
                    return Err(parser.unknown_setting(&setting, "setting of weakand", WEAKAND));
                }
                parser.tuning_number(&setting, "weakand ", tree)
            }),
        }
    }

    fn match_phase(&mut self, element: &Name, tree: &mut ProfileTree) -> Parsed<()> {
        self.once(&mut tree.said, &element.place, "match-phase");
        let (mut attribute, mut hits) = (None, None);
        self.block_without_effect(&mut |parser| {
            let setting = parser.word("a setting of match-phase")?;
            match setting.text.as_str() {
                "attribute" => attribute = Some(parser.word_value("an attribute")?.text),
                "order" => parser.choice("order", &[("ascending", ()), ("descending", ())])?,
                "max-hits" | "total-max-hits" => {
                    parser.integer_value::<i32>(&setting.text)?;
                    if hits.replace(setting.text.clone()).is_some_and(|other| other != setting.text) {
                        let message = "match-phase sets both max-hits and total-max-hits";
                        parser.remarks.object(setting.place.reject(message));
                    }
                }
                "max-filter-coverage" | "evaluation-point" | "pre-post-filter-tipping-point" => {
                    parser.decimal_value(&setting.text)?;
                }
                "diversity" => parser.diversity(&setting, tree)?,
                _ => return Err(parser.unknown_setting(&setting, "setting of match-phase", MATCH_PHASE)),
            }
            Ok(())
        })?;
        if attribute.is_none() || hits.is_none() {
            self.remarks.object(element.place.reject("match-phase needs an attribute, and max-hits or total-max-hits"));
        }
        tree.tuning.match_phase = attribute.map(|attribute| (attribute, element.place.clone()));
        Ok(())
    }

    fn diversity(&mut self, element: &Name, tree: &mut ProfileTree) -> Parsed<()> {
        self.once(&mut tree.said, &element.place, "diversity");
        let (mut attribute, mut groups) = (None, 0);
        self.block_without_effect(&mut |parser| {
            let setting = parser.word("a setting of diversity")?;
            match setting.text.as_str() {
                "attribute" => attribute = Some(parser.word_value("an attribute")?.text),
                "min-groups" => groups = parser.integer_value::<i32>(&setting.text)?,
                "cutoff-factor" => drop(parser.decimal_in(&setting.text, 1.0..=f64::INFINITY)?),
                "cutoff-strategy" => parser.choice("cutoff-strategy", &[("strict", ()), ("loose", ())])?,
                _ => return Err(parser.unknown_setting(&setting, "setting of diversity", DIVERSITY)),
            }
            Ok(())
        })?;
        if attribute.is_none() || groups <= 0 {
            self.remarks.object(element.place.reject("diversity needs an attribute, and min-groups above 0"));
        }
        tree.tuning.diversity = attribute.map(|attribute| (attribute, element.place.clone()));
        Ok(())
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
        if number.text.contains(['e', 'E']) || number.text.parse::<f64>().is_err() {
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
