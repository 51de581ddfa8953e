//! Folding by example: each rule of the table at least once.

use brooklet_text::{Normalizing, Tokens, fold, lowercase};

fn folded(text: &str) -> String {
    let mut out = String::new();
    fold(text, &mut out);
    out
}

fn lowered(text: &str) -> String {
    let mut out = String::new();
    lowercase(text, &mut out);
    out
}

fn tokens(text: &str) -> Vec<&str> {
    Tokens::new(text).map(|token| &text[token.start..token.end]).collect()
}

#[test]
fn expansions() {
    assert_eq!(folded("Straße ÄäÆæ Åå ÖöØø Üü Ðð Þþ"), "strasse aeaeaeae aaaa oeoeoeoe ueue dd thth");
    assert_eq!(folded("ĲĳĿŀŉſǇǈǉǊǋǌǱǲǳ"), "ijijllnsljljljnjnjnjdzdzdz");
}

#[test]
fn base_letters() {
    assert_eq!(folded("ÀÁÂÃĂàáâãă Çç Đđ ÈÉÊËèéêë ÌÍÎÏĨìíîïĩ"), "aaaaaaaaaa cc dd eeeeeeee iiiiiiiiii");
    assert_eq!(folded("Ññ ÒÓÔÕƠòóôõơ ÙÚÛƯùúûư ÝýÿŸ"), "nn oooooooooo uuuuuuuu yyyy");
    assert_eq!(folded("ʰʱʲʳʴʵʶʷʸˠˡˢˣˤ"), "hɦjrɹɻʁwyɣlsxʕ");
    assert_eq!(folded("ẠặẸệỈịỌợỤựỲỹ"), "aaeeiioouuyy");
}

#[test]
fn other_accents_stay() {
    assert_eq!(folded("ČšŁőŪżẞİ"), "čšłőūżßi");
    assert_eq!(folded("e\u{301}"), "e\u{301}");
}

#[test]
fn widths() {
    assert_eq!(folded("Ｆｕｌｌ～！ ﾊﾝｶｸ｡ﾞ ﾡￜ ￠￮ ｟｠"), "full~! ハンカク。\u{3099} ㄱㅣ ¢○ ｟｠");
    assert_eq!(lowered("ＦｕｌｌÉ ﾊ"), "fullé ハ");
    assert_eq!(folded("ひらカタ"), "ひらカタ");
}

#[test]
fn modes() {
    assert_eq!(Normalizing::None.apply("É a"), "É a");
    assert_eq!(Normalizing::Lowercase.apply("É a"), "é a");
    assert_eq!(Normalizing::LowercaseAndFold.apply("É a"), "e a");
    assert!(matches!(Normalizing::LowercaseAndFold.apply("plain 1"), std::borrow::Cow::Borrowed("plain 1")));
}

#[test]
fn separators_of_documents() {
    assert_eq!(
        tokens("under_score x² Ⅷ 😀 ½ a\u{20dd}b 「日本」 ไทยข้อความ"),
        ["under", "score", "x", "a\u{20dd}b", "「日本」", "ไทยข้อความ"]
    );
    assert_eq!(tokens("31T12:34 ٣٤ a\u{e0100}"), ["31T12", "34", "٣٤", "a\u{e0100}"]);
    assert_eq!(tokens(" \u{200b}—"), Vec::<&str>::new());
}
