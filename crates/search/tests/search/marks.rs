//! Letters with their marks as one character or apart are the same letters, in texts and in queries, in every match mode.
//! What is stored stays as it was written.

use crate::host::{Host, ids};

const SCHEMA: &str = "schema t {
    document t {
        field text type string { indexing: summary | index }
        field cased type string {
            indexing: summary | index
            match: cased
        }
        field start type string {
            indexing: index
            match: prefix
        }
        field end type string {
            indexing: index
            match: suffix
        }
        field inside type string {
            indexing: summary | index
            match: substring
            summary: dynamic
        }
        field grams type string {
            indexing: index
            match {
                gram
                gram-size: 3
            }
        }
        field exact type array<string> {
            indexing: index
            match: exact
        }
        field name type string { indexing: attribute }
        field tags type weightedset<string> { indexing: attribute }
        field pairs type map<string, string> {
            indexing: summary
            struct-field key { indexing: attribute }
            struct-field value { indexing: attribute }
        }
        field teaser type string {
            indexing: index | summary
            summary: dynamic
        }
    }
    rank-profile stems { rank-properties { brooklet.stemming: english } }
    rank-profile accents { rank-properties { brooklet.accents: ignored } }
    rank-profile grams { rank-properties { brooklet.grams: true } }
}";
const WHOLE: &str = "Dvořák bébés";
const APART: &str = "Dvor\u{30c}a\u{301}k be\u{301}be\u{301}s";

fn fields_of(text: &str) -> String {
    let words = ["text", "cased", "start", "end", "inside", "grams", "name", "teaser"];
    let texts: Vec<String> = words.iter().map(|field| format!(r#""{field}":"{text}""#)).collect();
    let sets = format!(r#""exact":["{text}"],"tags":{{"{text}":2}},"pairs":{{"{text}":"{text}"}}"#);
    format!("{{{},{sets}}}", texts.join(","))
}

/// Queries in which `…` is a word and `_` the whole text.
const CONDITIONS: [(&str, &str); 24] = [
    ("default", "text contains '…'"),
    ("default", "text contains ({prefix:true}'Dvoř')"),
    ("default", "text contains ({suffix:true}'řák')"),
    ("default", "text contains ({substring:true}'ř')"),
    ("default", "text contains phrase('…', 'bébés')"),
    ("default", "text contains equiv('…', 'nobody')"),
    ("default", "text contains near('…', 'bébés')"),
    ("stems", "text contains '…'"),
    ("stems", "text contains 'bébé'"),
    ("accents", "text contains '…'"),
    ("default", "cased contains '…'"),
    ("default", "start contains 'Dvoř'"),
    ("default", "end contains 'řák'"),
    ("default", "inside contains 'řák bé'"),
    ("grams", "grams contains 'Dvořá'"),
    ("default", "exact contains '_'"),
    ("default", "name contains '_'"),
    ("default", "name in ('_', 'x')"),
    ("default", "name contains ({substring:true}'vořak')"),
    ("default", "name matches '^dvoř[aá]k'"),
    ("default", "name contains ({maxEditDistance:1}fuzzy('_'))"),
    ("default", "weightedSet(tags, {'_':1})"),
    ("default", "pairs contains sameElement(key contains '_', value contains '_')"),
    ("default", "text contains '…' and ({defaultIndex:'text'}userInput('…'))"),
];

/// The text with its letters' marks apart.
fn apart(text: &str) -> String {
    text.replace('ř', "r\u{30c}").replace('á', "a\u{301}").replace('é', "e\u{301}")
}

#[test]
fn marks_apart_are_those_of_the_letter() {
    assert_eq!(apart(WHOLE), APART);
    let mut host = Host::with_schema("t", SCHEMA);
    for (id, text) in [("1", WHOLE), ("2", APART), ("3", "Dvorsky bebop")] {
        host.put(&format!("id:t:t:g=u:{id}"), &fields_of(text)).expect("a put");
    }
    for folded in [false, true] {
        for (profile, condition) in CONDITIONS {
            let whole = condition.replace('…', "Dvořák").replace('_', WHOLE);
            for condition in [whole.clone(), apart(&whole)] {
                let yql = format!("select * from t where {condition}");
                let answer = host.search("g:u", &[("yql", &yql), ("ranking", profile)]);
                let mut found = ids(&answer);
                found.sort();
                assert_eq!(found, ["id:t:t:g=u:1", "id:t:t:g=u:2"], "{yql} {profile} {folded}: {}", answer.json);
            }
        }
        host.compact("g:u", 1);
    }
}

#[test]
fn summaries_mark_letters_with_their_marks_and_show_what_was_written() {
    let mut host = Host::with_schema("t", SCHEMA);
    host.put("id:t:t:g=u:1", &fields_of(APART)).expect("a put");
    for (field, word, shown) in
        [("teaser", "Dvořák", "<hi>Dvor\u{30c}a\u{301}k</hi> be"), ("inside", "řá", "Dvo<hi>r\u{30c}a\u{301}</hi>k be")]
    {
        let yql = format!("select * from t where {field} contains '{word}'");
        let answer = host.search("g:u", &[("yql", &yql)]);
        let fields = &answer.json["root"]["children"][0]["fields"];
        assert!(fields[field].as_str().unwrap().starts_with(shown), "{fields}");
        assert_eq!(fields["text"], APART);
    }
}
