//! Globs: `*` for any run of characters, `?` for one; neither crosses a line break. The whole text must match.

/// Whether `text` matches `pattern`. Time is at most the product of their lengths.
pub(super) fn matches_glob(pattern: &str, text: &str) -> bool {
    let (mut pattern_rest, mut text_rest) = (pattern, text);
    // Where to go on if what follows the last `*` does not match here: the star takes one character more.
    let mut retry: Option<(&str, &str)> = None;
    loop {
        let mut after_pattern = pattern_rest.chars();
        let mut after_text = text_rest.chars();
        match (after_pattern.next(), after_text.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                pattern_rest = after_pattern.as_str();
                retry = Some((pattern_rest, text_rest));
                continue;
            }
            (Some(wanted), Some(found)) if wanted == found || (wanted == '?' && found != '\n') => {
                (pattern_rest, text_rest) = (after_pattern.as_str(), after_text.as_str());
                continue;
            }
            _ => {}
        }
        let Some((after_star, from)) = retry else { return false };
        let mut rest = from.chars();
        match rest.next() {
            None | Some('\n') => return false,
            Some(_) => {
                (pattern_rest, text_rest) = (after_star, rest.as_str());
                retry = Some((after_star, text_rest));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, tried out in every way.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => {
                let line = text.iter().position(|c| *c == '\n').unwrap_or(text.len());
                (0..=line).any(|taken| naive(rest, &text[taken..]))
            }
            Some((wanted, rest)) => match text.split_first() {
                Some((found, text)) => (wanted == found || (*wanted == '?' && *found != '\n')) && naive(rest, text),
                None => false,
            },
        }
    }

    proptest::proptest! {
        #[test]
        fn globs_match_as_defined(pattern in "[ab*?\n]{0,8}", text in "[ab\n]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(matches_glob(&pattern, &text), naive(&chars(&pattern), &chars(&text)));
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        assert!(!matches_glob(&"*a".repeat(5_000), &"a".repeat(4_000)));
        assert!(matches_glob("ä*ö", "äxyzö"));
    }
}
