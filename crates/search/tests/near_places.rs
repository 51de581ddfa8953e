//! Terms of near, onear and sameElement that stand in very many places of one document: what they take is bounded.
mod host;

use host::Host;

const SCHEMA: &str = "schema note { document note {
    field body type string { indexing: index }
    field lines type array<string> { indexing: index }
} }";
const WORDS: usize = 60_000;
/// As many equal terms stand in more places than there may be, and half of them do not.
const TERMS: usize = 40;

#[test]
fn terms_that_stand_in_too_many_places_are_refused() {
    let mut host = Host::with_schema("note", SCHEMA);
    let words = vec!["a"; WORDS].join(" ");
    host.put("id:n:note:g=alice:1", &format!(r#"{{"body":"{words}","lines":["{words}"]}}"#)).unwrap();
    for folded in [false, true] {
        if folded {
            host.compact("g:alice", 1);
        }
        for (begin, end) in [
            ("body contains ({distance: 100}near(", "))"),
            ("body contains ({distance: 100}onear(", "))"),
            ("lines contains sameElement(", ")"),
        ] {
            let ask = |terms: usize| {
                let yql = format!("select * from note where {begin}{}{end}", vec!["'a'"; terms].join(", "));
                host.search("g:alice", &[("yql", &yql), ("ranking", "unranked"), ("timeout", "60s")])
            };
            let found = ask(TERMS / 2);
            assert_eq!(found.json["root"]["fields"]["totalCount"], 1, "{begin}: {}", found.json);
            let refused = ask(TERMS);
            assert_eq!(refused.status, 400, "{begin}: {}", refused.json);
            let message = refused.json["root"]["errors"][0]["message"].as_str().unwrap();
            assert!(message.contains("in more than 2097152 places of one document"), "{begin}: {message}");
        }
    }
}
