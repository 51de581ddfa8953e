//! Words of scripts that are written without spaces, inside of the runs of letters that tokens are.

/// Whether a character belongs to a script written without spaces: Han, Kana, Bopomofo, Hangul.
#[must_use]
pub fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{11ff}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3100}'..='\u{318f}'
        | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Whether any character of a text is.
#[must_use]
pub fn has_cjk(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(is_cjk)
}

/// How often a piece of text stands in a token without overlap, where every CJK character is a word of its own and any
/// other run of letters is one: a run is never cut.
#[must_use]
pub fn count_segments(token: &str, piece: &str) -> usize {
    let (mut count, mut from) = (0, 0);
    while let Some(at) = token[from..].find(piece).map(|at| from + at) {
        if piece.is_empty() {
            break;
        }
        let end = at + piece.len();
        if is_boundary(token, at) && is_boundary(token, end) {
            count += 1;
            from = end;
        } else {
            from = at + piece.chars().next().map_or(1, char::len_utf8);
        }
    }
    count
}

/// Whether a word may begin or end at a place in a token.
#[must_use]
pub fn is_boundary(token: &str, at: usize) -> bool {
    let before = token[..at].chars().next_back();
    let after = token[at..].chars().next();
    before.zip(after).is_none_or(|(before, after)| is_cjk(before) || is_cjk(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_not_cut() {
        for (token, piece, count) in [
            ("東京都庁", "京都", 1),
            ("東京東京", "東京", 2),
            ("東東東", "東東", 1),
            ("lineアプリ", "line", 1),
            ("lineアプリ", "ine", 0),
            ("lineアプリ", "eア", 0),
            ("online線line", "line線", 0),
            ("online線line", "line", 1),
            ("word", "word", 1),
            ("words", "word", 0),
            ("서울에서", "서울", 1),
            ("東京", "", 0),
        ] {
            assert_eq!(count_segments(token, piece), count, "{piece} in {token}");
        }
        assert!(has_cjk("aア") && !has_cjk("aé") && is_cjk('々'));
    }
}
