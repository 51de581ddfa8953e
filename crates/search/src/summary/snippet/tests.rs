//! Every step of the selection by hand-made texts, and what holds for all texts.

use brooklet_query::tree::{
    Alternatives, AndNot, Bound, Item, Labeled, Near, Number, NumberTerm, Operator, Phrase, Term, TermKind, Uri,
    WeakAnd,
};
use brooklet_schema::Normalizing;
use proptest::prelude::*;

use super::{Highlighter, Highlighting, Marks};

/// What is made of a text at once. With little work at a time the same has to come of it.
fn in_steps(text: &str, make: impl Fn(&mut Option<Highlighting>, &mut usize) -> Option<String>) -> String {
    let mut work = usize::MAX;
    let at_once = make(&mut None, &mut work).expect("enough work");
    let (mut rest, mut steps) = (None, 0);
    // Every step but the last of each goes on by a byte: through the text, where pieces are set apart in it, through the
    // text with them, which has at most two separators more for each byte, and through its marks.
    let most = (text.len() + 1) + 2 * (3 * text.len() + 1);
    let stepwise = loop {
        let mut work = 1 + steps % 40;
        steps += 1;
        assert!(steps <= most, "a step comes no further");
        if let Some(made) = make(&mut rest, &mut work) {
            break made;
        }
    };
    assert_eq!(stepwise, at_once, "{text}");
    at_once
}

impl Highlighter {
    fn dynamic_in_steps(&self, text: &str, marks: Marks) -> String {
        in_steps(text, |rest, work| self.dynamic(text, marks, rest, work))
    }

    fn embolden_in_steps(&self, text: &str, marks: Marks) -> String {
        in_steps(text, |rest, work| self.embolden(text, marks, rest, work))
    }
}

fn term(text: &str, kind: TermKind) -> Item {
    Operator::Term(Term { field: "body".to_owned(), text: text.to_owned(), kind }).into()
}

fn word(text: &str) -> Item {
    term(text, TermKind::Word)
}

fn words(texts: &str) -> Vec<Item> {
    texts.split(' ').map(word).collect()
}

fn and(texts: &str) -> Item {
    Operator::And(words(texts)).into()
}

fn phrase(texts: &str) -> Item {
    Operator::Phrase(Phrase { field: "body".to_owned(), items: words(texts), segmented: None }).into()
}

fn near(texts: &str, distance: u32, ordered: bool) -> Item {
    let (items, negatives) = (words(texts), vec![word("never")]);
    Operator::Near(Near { items, negatives, distance, exclusion_distance: None, ordered }).into()
}

fn number(text: &str) -> Item {
    let low = Bound::Inclusive(Number::Integer(0));
    let (field, text) = ("body".to_owned(), text.to_owned());
    Operator::Number(NumberTerm { field, text, low, high: low, hit_limit: None }).into()
}

fn highlighter(item: &Item) -> Highlighter {
    Highlighter::new(item, Normalizing::LowercaseAndFold, false, &|index| index == "body")
}

fn dynamic(item: &Item, text: &str) -> String {
    highlighter(item).dynamic_in_steps(text, Marks::Elements)
}

fn bolded(item: &Item, text: &str) -> String {
    highlighter(item).embolden_in_steps(text, Marks::Elements)
}

/// `count` words of three letters, each with a space after it.
fn filler(count: usize) -> String {
    "abc ".repeat(count)
}

mod query {
    use super::*;

    #[test]
    fn words_of_the_field_are_marked_wherever_they_stand_in_the_query() {
        for item in [
            and("red fox"),
            Operator::Or(words("red fox")).into(),
            Operator::Equiv(words("red fox")).into(),
            Operator::WeakAnd(WeakAnd { items: words("red fox"), ..WeakAnd::default() }).into(),
            Operator::And(vec![word("red"), Operator::True.into(), Operator::Or(words("fox dog")).into()]).into(),
            Operator::Rank(vec![and("red fox"), word("the")]).into(),
            Operator::AndNot(AndNot { positive: Box::new(and("red fox")), negatives: words("the") }).into(),
            Operator::Labeled(Labeled { item: Box::new(and("red fox")), label: "a".to_owned(), score: 1.0 }).into(),
        ] {
            assert_eq!(bolded(&item, "The Red fox."), "The <hi>Red</hi> <hi>fox</hi>.", "{item:?}");
        }
    }

    #[test]
    fn what_filters_or_is_no_word_is_not_marked() {
        let mut filter = phrase("red fox");
        filter.annotations.filter = true;
        let other = Operator::Term(Term { field: "title".into(), text: "red".into(), kind: TermKind::Word });
        for item in [filter, other.into(), term("fox", TermKind::Suffix), Operator::True.into()] {
            assert_eq!(bolded(&item, "red fox"), "red fox", "{item:?}");
        }
        let mut red = word("red");
        red.annotations.filter = true;
        assert_eq!(bolded(&Operator::And(vec![red, word("fox")]).into(), "red fox"), "red <hi>fox</hi>");
    }

    #[test]
    fn numbers_are_their_runs_of_digits() {
        assert_eq!(bolded(&number("-7"), "7 of 17"), "<hi>7</hi> of 17");
        assert_eq!(bolded(&number("1.5"), "1 or 1.5 or 5"), "1 or <hi>1</hi>.<hi>5</hi> or 5");
        assert_eq!(bolded(&number("+"), "1 + 1"), "1 + 1");
    }

    #[test]
    fn alternatives_and_addresses() {
        let words = vec![("mice".to_owned(), 1.0), ("mouse".to_owned(), 0.5)];
        let item = Operator::Alternatives(Alternatives { field: "body".to_owned(), words }).into();
        assert_eq!(bolded(&item, "a mouse, two mice"), "a <hi>mouse</hi>, two <hi>mice</hi>");
        let (field, text) = ("body".to_owned(), "a.com".to_owned());
        let words = vec!["a".to_owned(), "com".to_owned()];
        let item = Operator::Uri(Uri { field, text, words, start_anchor: false, end_anchor: false }).into();
        assert_eq!(bolded(&item, "a site: a.com"), "a site: <hi>a</hi>.<hi>com</hi>");
    }
}

mod tokens {
    use super::*;

    #[test]
    fn case_and_accents_do_not_matter() {
        assert_eq!(bolded(&word("Ärger"), "AERGER über Ärger"), "<hi>AERGER</hi> über <hi>Ärger</hi>");
        let cased = Highlighter::new(&and("Fox red"), Normalizing::None, false, &|_| true);
        assert_eq!(cased.embolden_in_steps("Fox Red", Marks::Elements), "Fox <hi>Red</hi>");
        let lowercased = Highlighter::new(&and("CAFÉ Red"), Normalizing::Lowercase, false, &|_| true);
        assert_eq!(lowercased.embolden_in_steps("café Red", Marks::Elements), "café <hi>Red</hi>");
    }

    #[test]
    fn longer_words_are_hit_by_long_terms_and_prefixes() {
        assert_eq!(bolded(&word("horse"), "horse horses"), "<hi>horse</hi> horses");
        let text = "monkey monkeys monkeying monkeyland monke";
        let expected = "<hi>monkey</hi> <hi>monkeys</hi> <hi>monkeying</hi> monkeyland monke";
        assert_eq!(bolded(&word("monkey"), text), expected);
        // Characters count, not bytes: five here.
        assert_eq!(bolded(&word("ščřžů"), "ščřžů ščřžůx"), "<hi>ščřžů</hi> ščřžůx");
        assert_eq!(bolded(&term("m", TermKind::Prefix), "my manor, ham"), "<hi>my</hi> <hi>manor</hi>, ham");
    }

    #[test]
    fn a_term_with_more_than_one_token_hits_nothing() {
        assert_eq!(bolded(&term("red fox", TermKind::Exact), "red fox"), "red fox");
    }

    #[test]
    fn pieces_of_words_are_marked_alone() {
        let piece = term("OBA", TermKind::Substring);
        assert_eq!(bolded(&piece, "Foobar, obaoba, bar"), "Fo<hi>oba</hi>r, <hi>obaoba</hi>, bar");
        let field = |text| {
            Highlighter::new(&and("oba bar"), Normalizing::None, true, &|_| true)
                .embolden_in_steps(text, Marks::Elements)
        };
        // The first piece wins where two overlap; what is left of a word is a word.
        assert_eq!(field("Foobar bars"), "Fo<hi>oba</hi>r <hi>bar</hi>s");
        assert_eq!(field("o\u{1}ba"), "<hi>oba</hi>");
        assert_eq!(field("nothing\u{1}"), "nothing\u{1}");
        // A text with its separators is longer than itself, and takes more steps.
        let letter = term("a", TermKind::Substring);
        assert_eq!(bolded(&letter, "a"), "<hi>a</hi>");
        assert_eq!(bolded(&letter, "aaa"), "<hi>aaa</hi>");
        // The separators between pieces and words do not make a text long.
        let text = "oba ".repeat(71);
        assert_eq!(dynamic(&piece, &text), text.replace("oba", "<hi>oba</hi>"));
    }

    #[test]
    fn pieces_that_end_within_a_folded_character() {
        let field = |piece, text| {
            Highlighter::new(&word(piece), Normalizing::LowercaseAndFold, true, &|_| true)
                .embolden_in_steps(text, Marks::Elements)
        };
        assert_eq!(field("ss", "Straße"), "Stra<hi>ß</hi>e");
        assert_eq!(field("ras", "Straße"), "Straße");
        assert_eq!(field("sse", "Straße"), "Stra<hi>ße</hi>");
    }

    #[test]
    fn a_piece_over_several_words_marks_none_of_them() {
        let item = term("d f", TermKind::Substring);
        assert_eq!(bolded(&item, "red fox"), "red fox");
    }
}

mod short_text {
    use super::*;

    #[test]
    fn is_shown_whole_with_all_hits() {
        assert_eq!(dynamic(&and("red fox"), "red, red\n\tdog"), "<hi>red</hi>, <hi>red</hi>\n\tdog");
        assert_eq!(dynamic(&word("fox"), ""), "");
        let text = format!("fox {}", "x".repeat(283));
        assert_eq!(text.len(), 287);
        assert_eq!(dynamic(&word("fox"), &text), text.replace("fox", "<hi>fox</hi>"));
    }

    #[test]
    fn is_cut_from_its_length_on() {
        let text = format!("fox {} y", "x".repeat(282));
        assert_eq!(text.len(), 288);
        // 128 bytes after the hit, and 64 more that do not get to the end of the word.
        assert_eq!(dynamic(&word("fox"), &text), format!("<hi>fox</hi> {}<sep />", "x".repeat(127 + 64)));
    }

    #[test]
    fn only_words_of_whole_phrases_are_marked() {
        assert_eq!(dynamic(&phrase("red fox"), "red dog, red fox"), "red dog, <hi>red</hi> <hi>fox</hi>");
        assert_eq!(dynamic(&phrase("red fox"), "fox red"), "fox red");
        let item = Operator::Or(vec![phrase("red fox"), word("dog")]).into();
        assert_eq!(dynamic(&item, "red dog fox"), "red <hi>dog</hi> fox");
    }
}

mod matching {
    use super::*;

    #[test]
    fn a_phrase_may_repeat_a_word() {
        assert_eq!(bolded(&phrase("re re foo"), "re re re foo"), "re <hi>re</hi> <hi>re</hi> <hi>foo</hi>");
        let inner = Operator::Phrase(Phrase { field: "body".into(), items: words("b c"), segmented: None }).into();
        let items = vec![word("a"), inner, word("d")];
        let item = Operator::Phrase(Phrase { field: "body".into(), items, segmented: None }).into();
        assert_eq!(bolded(&item, "b c a b c d"), "b c <hi>a</hi> <hi>b</hi> <hi>c</hi> <hi>d</hi>");
    }

    #[test]
    fn words_between_are_counted_for_all_parts_together() {
        assert_eq!(bolded(&near("a b", 2, false), "b x y a"), "<hi>b</hi> x y <hi>a</hi>");
        assert_eq!(bolded(&near("a b", 2, false), "b x y z a"), "b x y z a");
        assert_eq!(bolded(&near("a b c", 2, false), "a x y z b u c"), "<hi>a</hi> x y z <hi>b</hi> u <hi>c</hi>");
        assert_eq!(bolded(&near("a b", 2, true), "b x y a"), "b x y a");
        assert_eq!(bolded(&near("a b", 2, true), "a x b never"), "<hi>a</hi> x <hi>b</hi> never");
    }

    #[test]
    fn groups_are_parts_of_groups() {
        let items = vec![phrase("a b"), phrase("c d")];
        let item: Item =
            Operator::Near(Near { items, negatives: vec![], distance: 3, exclusion_distance: None, ordered: false })
                .into();
        assert_eq!(bolded(&item, "c d x y z a b"), "<hi>c</hi> <hi>d</hi> x y z <hi>a</hi> <hi>b</hi>");
        assert_eq!(bolded(&item, "c d x y z u a b"), "c d x y z u a b");
    }

    #[test]
    fn parts_may_be_far_apart_until_a_match_is_complete() {
        let apart = |words: usize| format!("a {}b", filler(words));
        let item = near("a b", 1_000, true);
        // Begins 1,998 bytes and 2,002 bytes earlier.
        assert_eq!(bolded(&item, &apart(499)), format!("<hi>a</hi> {}<hi>b</hi>", filler(499)));
        assert_eq!(bolded(&item, &apart(500)), apart(500));
        // Bolding wants one match: afterwards 200 bytes are the limit.
        let after = |words: usize| format!("a b {}", apart(words));
        assert_eq!(bolded(&item, &after(49)), format!("<hi>a</hi> <hi>b</hi> <hi>a</hi> {}<hi>b</hi>", filler(49)));
        assert_eq!(bolded(&item, &after(50)), format!("<hi>a</hi> <hi>b</hi> a {}b", filler(50)));
    }

    #[test]
    fn heavier_matches_come_first_then_compact_ones() {
        let text = format!("red {0}fox {0}fox red {0}{0}", filler(300));
        let shown = dynamic(&and("red fox"), &text);
        // The first red and fox are complete too, but 300 words apart. The sides get (256 − 6) / 4 = 62 bytes each, and
        // (256 − 6 − 123 − 10) / 2 = 58 more.
        let expected = format!("<sep />{0}<hi>fox</hi> <hi>red</hi> {1}<sep />", filler(30), filler(30).trim_end());
        assert_eq!(shown, expected);
    }

    #[test]
    fn weights_of_the_words_found_add_up() {
        let pair = |count| format!("red fox {}", filler(count));
        let text = format!("{}{}{}red {}", pair(10), pair(60), pair(400), filler(400));
        let mut items = words("red fox");
        let shown = dynamic(&Operator::And(items.clone()).into(), &text);
        assert_eq!(
            (shown.matches("<hi>red</hi> <hi>fox</hi>").count(), shown.matches("<hi>").count()),
            (3, 6),
            "{shown}"
        );
        // If fox weighs nothing, red by itself is as good, and more compact.
        items[1].annotations.weight = 0;
        let shown = dynamic(&Operator::And(items).into(), &text);
        assert_eq!(
            (shown.matches("<hi>red</hi> <hi>fox</hi>").count(), shown.matches("<hi>").count()),
            (2, 5),
            "{shown}"
        );
    }
}

mod selection {
    use super::*;

    /// The context of a hit: whole words of the filler.
    fn context(bytes: usize) -> String {
        filler(bytes / 4)
    }

    #[test]
    fn one_match_gets_128_bytes_on_each_side() {
        // The length is estimated: 3 for the match, 264 around it, 28 less as it is the token number 100.
        let text = format!("{}fox {}", filler(100), filler(100));
        let expected = format!("<sep />{}<hi>fox</hi> {}<sep />", context(128), context(128).trim_end());
        assert_eq!(dynamic(&word("fox"), &text), expected);
    }

    #[test]
    fn less_is_shown_where_the_text_is_estimated_too_long() {
        // Token 200: 267 bytes are too many, so the context is shared out. First (256 − 5) / 2 = 125 on each side, then
        // (256 − 3) / 2 = 126 of which nothing is to spare.
        let text = format!("{}fox {}", filler(200), filler(200));
        let shown = dynamic(&word("fox"), &text);
        // 126 bytes before the hit begin in the middle of a word, which is completed; 126 after it end behind a word.
        let expected = format!("<sep />{}<hi>fox</hi> {}<sep />", context(128), context(128).trim_end());
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_is_near_the_beginning_leaves_more_for_the_rest() {
        // est = 3 − 128 + 264 = 139: no limit on the context but 128.
        let text = format!("fox {}", filler(200));
        assert_eq!(dynamic(&word("fox"), &text), format!("<hi>fox</hi> {}<sep />", context(128).trim_end()));
    }

    #[test]
    fn three_matches_share_the_length() {
        // Matches end 403 and 1,807 bytes from the beginning, so the next ones must be tokens 403 and 1,807 at least.
        let fox = |count| format!("{}fox ", filler(count));
        let text = format!("{}{}{}{}", fox(100), fox(350), fox(1_500), filler(100));
        // Estimated for 3 · 3 − 28 + 3 · 264 = 773 bytes. Shared: (256 − 15) / 6 = 40 for each side, which gives
        // 40 + 2 · 88 + 40 = 256 and no more to spare, so (256 − 9) / 6 = 41 it is: ten words.
        let shown = dynamic(&word("fox"), &text);
        let around = format!("{}<hi>fox</hi> {}<sep />", context(40), context(40).trim_end());
        assert_eq!(shown, format!("<sep />{around}{around}{around}"));
    }

    #[test]
    fn spare_length_goes_to_the_sides_that_are_cut() {
        // The first hit has but two bytes before it: what it leaves is given to the others.
        let text = format!("x fox {}dog {}", filler(75), filler(40));
        let shown = dynamic(&and("fox dog"), &text);
        // Estimated for 307 − 127 + 264 = 444 bytes. (256 − 10) / 4 = 61 for each side: 2 + (2 · 61 + 8) + 61 = 193, three sides cut.
        // (256 − 6) / 4 = 62, and (256 − 6 − 193 − 10) / 3 = 15 more: 77, nineteen words.
        let half = context(76);
        let expected = format!("x <hi>fox</hi> {0}<sep />{half}<hi>dog</hi> {0}<sep />", half.trim_end());
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_small_gap_is_shown() {
        // Far from the beginning one match of two words: (256 − 10) / 4 = 61, then (256 − 6) / 4 = 62: gaps up to 132.
        let with_gap = |words: usize| format!("{}red {}fox {}", filler(300), filler(words), filler(300));
        let whole = dynamic(&and("red fox"), &with_gap(30));
        assert!(whole.contains(&format!("<hi>red</hi> {}<hi>fox</hi>", filler(30))), "{whole}");
        let cut = dynamic(&and("red fox"), &with_gap(60));
        assert_eq!(cut.matches("<sep />").count(), 3, "{cut}");
    }

    #[test]
    fn other_hits_in_the_context_are_marked() {
        let text = format!("{}fox {}fox red {}", filler(100), filler(20), filler(200));
        let shown = dynamic(&and("red fox"), &text);
        assert_eq!(shown.matches("<hi>fox</hi>").count(), 2, "{shown}");
        let item = Operator::And(vec![phrase("fox red"), word("dog")]).into();
        let shown = dynamic(&item, &text);
        assert_eq!(shown.matches("<hi>").count(), 2, "{shown}");
    }

    #[test]
    fn hits_that_are_cut_are_shown_whole() {
        let long = "x".repeat(300);
        let text = format!("{}{long} fox {long} {}", filler(100), filler(100));
        let item = Operator::Or(vec![word("fox"), word(&long)]).into();
        let shown = dynamic(&item, &text);
        assert!(shown.contains(&format!("<hi>{long}</hi> <hi>fox</hi> <hi>{long}</hi>")), "{shown}");
        let mut fox = word("fox");
        fox.annotations.weight = 1_000;
        let cut = term("xx", TermKind::Prefix);
        let other = format!("{} {long} fox {long} {}", filler(2_000), filler(2_000));
        let shown = dynamic(&Operator::Or(vec![fox, cut]).into(), &other);
        assert!(shown.contains(&format!("<hi>{long}</hi> <hi>fox</hi> <hi>{long}</hi>")), "{shown}");
    }
}

mod edges {
    use super::*;

    #[test]
    fn words_are_completed_for_64_bytes() {
        let (long, near) = ("y".repeat(500), filler(25));
        // 27 bytes of the long words are within the 128 on each side.
        let shown = dynamic(&word("fox"), &format!("{long} {near}fox {near}{long}"));
        let part = "y".repeat(27 + 64);
        assert_eq!(shown, format!("<sep />{part} {near}<hi>fox</hi> {near}{part}<sep />"));
    }

    #[test]
    fn the_character_that_reaches_64_bytes_is_the_last() {
        let long = "漢".repeat(200);
        let shown = dynamic(&word("fox"), &format!("{long} fox {long}"));
        // 127 bytes are 42 characters and a byte of the next: that one counts, and 22 more are 66 bytes before.
        assert_eq!(shown, format!("<sep />{} <hi>fox</hi> {}<sep />", "漢".repeat(43 + 22), "漢".repeat(42 + 22)));
    }

    #[test]
    fn white_space_at_a_cut_is_left_out() {
        let blank = " ".repeat(60);
        let text = format!("{0}{blank}{1}fox {1}{blank}{0}", filler(100), filler(20));
        let shown = dynamic(&word("fox"), &text);
        assert_eq!(shown, format!("<sep />{0}<hi>fox</hi> {1}<sep />", filler(20), filler(20).trim_end()));
    }

    #[test]
    fn a_start_completed_to_the_beginning_needs_no_separator() {
        let text = format!("abcdefgh {}fox {}", filler(31), filler(100));
        let shown = dynamic(&word("fox"), &text);
        assert!(shown.starts_with("abcdefgh abc "), "{shown}");
    }

    #[test]
    fn an_end_completed_to_the_end_needs_no_separator() {
        let text = format!("{}fox {}abcdefgh", filler(100), filler(31));
        let shown = dynamic(&word("fox"), &text);
        assert!(shown.ends_with("abc abcdefgh"), "{shown}");
    }

    #[test]
    fn segments_that_meet_within_a_word_become_one() {
        // As in `a_small_gap_is_shown`, but a gap of 140 bytes that is one word.
        let text = format!("{}red {} fox {}", filler(300), "y".repeat(138), filler(300));
        let shown = dynamic(&and("red fox"), &text);
        assert!(shown.contains(&format!("<hi>red</hi> {} <hi>fox</hi>", "y".repeat(138))), "{shown}");
        assert_eq!(shown.matches("<sep />").count(), 2);
    }
}

mod output {
    use super::*;

    #[test]
    fn without_marks_separators_are_dots() {
        let text = format!("{}fox {}", filler(100), filler(100));
        let shown = highlighter(&word("fox")).dynamic_in_steps(&text, Marks::None);
        assert_eq!(shown, format!("...{}fox {}...", filler(32), filler(32).trim_end()));
        assert_eq!(highlighter(&word("fox")).embolden_in_steps("a\u{1f}fox", Marks::None), "afox");
    }

    #[test]
    fn nothing_is_escaped_and_separators_in_the_text_are_dropped() {
        assert_eq!(bolded(&word("b"), "<b> & \u{1d}\u{1f}\n b"), "<<hi>b</hi>> & \n <hi>b</hi>");
        assert_eq!(bolded(&and("a b"), "a\u{1f}b"), "<hi>ab</hi>");
    }

    #[test]
    fn without_hits_the_beginning_is_shown() {
        let none = word("fox");
        assert_eq!(dynamic(&none, &filler(64)), filler(64));
        assert_eq!(dynamic(&none, &filler(65)), format!("{}<sep />", filler(64).trim_end()));
        assert_eq!(dynamic(&Operator::True.into(), &filler(65)), format!("{}<sep />", filler(64).trim_end()));
        assert_eq!(
            highlighter(&none).dynamic_in_steps(&filler(65), Marks::None),
            format!("{}...", filler(64).trim_end())
        );
        assert_eq!(dynamic(&none, &"x".repeat(257)), "<sep />");
        assert_eq!(dynamic(&none, &format!("abc{}", ".".repeat(254))), "abc<sep />");
        assert_eq!(dynamic(&none, &format!("abc{}", "\u{1f}".repeat(254))), "abc");
        // Hits that belong to no match are none.
        let text = format!("fox red {}", filler(70));
        assert!(dynamic(&phrase("red fox"), &text).starts_with("fox red abc"));
        assert_eq!(bolded(&none, &filler(100)), filler(100));
    }
}

mod always {
    use super::*;

    fn any_item() -> impl Strategy<Value = Item> {
        let text = prop::sample::select(vec!["a", "b", "red", "foxes", "monkey", "ä", "漢", "ss"]);
        let kind = prop::sample::select(vec![TermKind::Word, TermKind::Prefix, TermKind::Substring]);
        let leaf = (text, kind).prop_map(|(text, kind)| term(text, kind));
        leaf.prop_recursive(3, 12, 4, |inner| {
            (prop::collection::vec(inner, 0..4), 0..5u32, 0..4usize).prop_map(|(items, distance, operator)| {
                let near =
                    |items, ordered| Near { items, negatives: vec![], distance, exclusion_distance: None, ordered };
                match operator {
                    0 => Operator::And(items).into(),
                    1 => Operator::Or(items).into(),
                    2 => Operator::Phrase(Phrase { field: "body".into(), items, segmented: None }).into(),
                    _ => Operator::Near(near(items, distance % 2 == 0)).into(),
                }
            })
        })
    }

    /// Texts with many hits, words of all lengths, and characters of all lengths.
    fn any_text() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            4 => prop::sample::select(vec!["a", "b", "red", "Foxes", "monkey", "monkeys", "Ärger", "漢", "Straße"])
                .prop_map(str::to_owned),
            4 => "[c-h]{1,9}",
            1 => "[xy漢]{30,90}",
            1 => "\\PC{0,6}",
        ];
        let space = prop::sample::select(vec![" ", " ", " ", ", ", " – ", "", "                              "]);
        prop::collection::vec((word, space), 0..120)
            .prop_map(|pairs| pairs.into_iter().map(|(word, space)| word + space).collect())
    }

    /// The text of a summary without its marks; whether they are in order.
    fn without_marks(shown: &str) -> (String, bool) {
        let opened: Vec<&str> = shown.split("<hi>").collect();
        let ordered = !opened[0].contains("</hi>") && opened[1..].iter().all(|part| part.matches("</hi>").count() == 1);
        (shown.replace("<hi>", "").replace("</hi>", ""), ordered)
    }

    proptest! {
        #[test]
        fn bolding_only_adds_marks(item in any_item(), text in any_text(), substring in any::<bool>()) {
            let highlighter = Highlighter::new(&item, Normalizing::LowercaseAndFold, substring, &|_| true);
            let shown = highlighter.embolden_in_steps(&text, Marks::Elements);
            let (plain, ordered) = without_marks(&shown);
            prop_assert_eq!(&plain, &text);
            prop_assert!(ordered && !shown.contains("</hi><hi>"), "{}", shown);
            prop_assert_eq!(highlighter.embolden_in_steps(&text, Marks::None), text);
        }

        #[test]
        fn a_dynamic_summary_is_parts_of_the_text(item in any_item(), text in any_text()) {
            let highlighter = highlighter(&item);
            let shown = highlighter.dynamic_in_steps(&text, Marks::Elements);
            let (plain, ordered) = without_marks(&shown);
            prop_assert!(ordered && !shown.contains("</hi><hi>"), "{}", shown);
            let mut rest = text.as_str();
            for (number, part) in plain.split("<sep />").enumerate() {
                let found = rest.find(part);
                prop_assert!(found.is_some(), "{part:?} of {shown:?}");
                let after = found.unwrap_or(0);
                prop_assert!(number > 0 || after == 0, "begins at {after} without separator: {shown:?}");
                rest = &rest[after + part.len()..];
            }
            prop_assert!(plain.ends_with("<sep />") || text.ends_with(plain.rsplit("<sep />").next().unwrap_or("")));
            prop_assert!(!plain.contains("<sep /><sep />"), "{}", shown);
            if text.len() <= if shown.contains("<hi>") { 287 } else { 256 } {
                prop_assert_eq!(&plain, &text);
            }
            prop_assert_eq!(highlighter.dynamic_in_steps(&text, Marks::None), plain.replace("<sep />", "..."));
        }

        #[test]
        fn controls_stand_where_elements_do(item in any_item(), text in any_text()) {
            let highlighter = highlighter(&item);
            let elements = |text: String| text.replace('\u{2}', "<hi>").replace('\u{3}', "</hi>").replace('\u{1e}', "<sep />");
            let dynamic = highlighter.dynamic_in_steps(&text, Marks::Controls);
            prop_assert!(!dynamic.contains("<hi>") && !dynamic.contains("<sep />"), "{dynamic:?}");
            prop_assert_eq!(elements(dynamic), highlighter.dynamic_in_steps(&text, Marks::Elements));
            prop_assert_eq!(elements(highlighter.embolden_in_steps(&text, Marks::Controls)), highlighter.embolden_in_steps(&text, Marks::Elements));
        }

        /// 256 bytes and the three hits, and what they are taken for more or less: four separators, two gaps that are
        /// too small for one, and the rest of a word at six ends.
        #[test]
        fn a_dynamic_summary_is_as_long_as_it_should_be(
            words in prop::collection::vec("[a-z]{1,9} {1,2}", 100..400),
            hits in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        ) {
            let mut words = words;
            hits.iter().for_each(|at| *at.get_mut(&mut words) = "Fox ".to_owned());
            // A hit that is the very beginning is not counted, and the others get more.
            let text = "The ".to_owned() + &words.concat();
            let plain = without_marks(&dynamic(&word("fox"), &text)).0;
            prop_assert!((128..=256 + 9 + 4 * 7 + 2 * 8 + 6 * 9).contains(&plain.len()), "{} bytes", plain.len());
        }

        #[test]
        fn any_characters_at_all(item in any_item(), text in "\\PC{0,200}|[\\x00-\\x7f]{0,600}|(a.{0,40}){0,30}") {
            dynamic(&item, &text);
            bolded(&item, &text);
        }
    }
}

mod work {
    use super::*;

    /// What takes longest for its size; each would take minutes if the lists and the offers were not bounded.
    #[test]
    fn large_texts_of_hits_take_linear_time() {
        let text = "a b ".repeat(100_000);
        let twice = "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a c";
        let many: Vec<Item> = (0..1_000).map(|number| word(&format!("a{number}"))).chain(words("a b")).collect();
        for item in
            [word("a"), and("a c"), phrase("a c"), phrase(twice), near("a b c", 5_000, true), near("a c", 9, false)]
        {
            let shown = dynamic(&item, &text);
            assert!(shown.len() < 2_000, "{} bytes for {item:?}", shown.len());
            assert!(bolded(&item, &text).len() >= text.len());
        }
        assert!(dynamic(&Operator::Or(many).into(), &text).contains("<hi>a</hi>"));
        let nested =
            Operator::And(vec![Operator::Or(words("a b")).into(), Operator::Or(words("b a")).into(), word("c")]);
        assert!(dynamic(&nested.into(), &text).contains("<hi>a</hi>"));
    }
}
