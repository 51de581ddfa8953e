//! Every step of the selection by hand-made texts, and what holds for all texts.

use brooklet_query::tree::{
    Alternatives, AndNot, Bound, Item, Labeled, Near, Number, NumberTerm, Operator, Phrase, Term, TermKind, Uri,
    WeakAnd,
};
use brooklet_schema::Normalizing;
use proptest::prelude::*;

use super::Highlighter;

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
    highlighter(item).dynamic(text, true)
}

fn bolded(item: &Item, text: &str) -> String {
    highlighter(item).bolded(text, true)
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
