//! Terms that stand in very many places of one document: what they take is bounded, and a search rests between documents.

use crate::host::{Answer, Host};

const SCHEMA: &str = "schema note { document note {
    field body type string { indexing: index }
    field lines type array<string> { indexing: index }
    field point type tensor<float>(x[2]) { indexing: attribute }
    field long type string {
        indexing: summary | index
        summary: dynamic
    }
}
    document-summary none { summary body {} }
    rank-profile counted { first-phase { expression: bm25(body) + matchCount(body) } }
    rank-profile close {
        inputs {
            query(q) tensor<float>(x[2])
            query(r) tensor<float>(x[2])
        }
        first-phase { expression: closeness(field, point) + matches(body) + fieldMatch(body).matches }
    }
    rank-profile late {
        first-phase { expression: 1 }
        second-phase {
            expression: fieldMatch(long).matches
            rerank-count: 10
        }
    }
}";
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

#[test]
fn documents_are_ranked_by_a_bounded_number_of_places() {
    let mut host = Host::with_schema("note", SCHEMA);
    host.put("id:n:note:g=alice:1", &format!(r#"{{"body":"{}"}}"#, vec!["a"; WORDS].join(" "))).unwrap();
    host.compact("g:alice", 1);
    let ask = |terms: usize, term: &str, ranking: &str| {
        let yql = format!("select * from note where {}", vec![format!("body contains {term}"); terms].join(" or "));
        host.search("g:alice", &[("yql", &yql), ("ranking", ranking), ("timeout", "60s")])
    };
    let (word, phrase) = ("'a'", "phrase('a', 'a')");
    for (terms, term, ranking) in [
        (2 * TERMS, word, "counted"),
        (2 * TERMS, phrase, "counted"),
        (2 * TERMS, word, "unranked"),
        (TERMS, word, "default"),
    ] {
        let found = ask(terms, term, ranking);
        assert_eq!(found.json["root"]["fields"]["totalCount"], 1, "{ranking}: {}", found.json);
    }
    let refused = ask(2 * TERMS, word, "default");
    assert_eq!(refused.status, 400, "{}", refused.json);
    let message = refused.json["root"]["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("in more than 4194304 places of one document (L-places)"), "{message}");
}

/// Marked texts are looked through some at a time, in one field or the elements of another.
#[test]
fn a_search_rests_within_a_long_text_that_it_marks() {
    let schema = "schema note { document note {
        field long type string { indexing: summary | index
            match { max-length: 4000000 }
            summary: dynamic }
        field bold type array<string> { indexing: summary | index
            bolding: on }
        field number type int { indexing: summary }
    }
        document-summary none { summary number {} }
        document-summary long { summary long { dynamic } }
        document-summary bold { summary bold { bolding: on } }
    }";
    let mut host = Host::with_schema("note", schema);
    let text = format!("{}a c", "b b ".repeat(400_000));
    host.put("id:n:note:g=alice:1", &format!(r#"{{"long":"{text}","bold":["c","{text}","c"]}}"#)).unwrap();
    for folded in [false, true] {
        if folded {
            host.compact("g:alice", 1);
        }
        let ask_for = |word: &str, summary: &str| {
            let yql = format!("select * from note where long contains {word} and bold contains 'c'");
            let parameters = [("yql", yql.as_str()), ("ranking", "unranked"), ("presentation.summary", summary)];
            let (answer, steps) = host.search_stepwise("g:alice", &parameters);
            (answer.json["root"]["children"][0]["fields"].clone(), steps)
        };
        let ask = |summary: &str| ask_for("'c'", summary);
        let ask_inside = |summary: &str| ask_for("({substring:true}'c')", summary);
        // The first of them asks for blocks, too.
        for summary in ["none", "long", "bold"] {
            ask(summary);
            ask_inside(summary);
        }
        let (_, few) = ask("none");
        let (fields, of_long) = ask("long");
        assert!(fields["long"].as_str().unwrap().ends_with(" b b a <hi>c</hi>"), "{fields}");
        assert!(of_long > few, "{of_long} steps, and {few} without the text");
        // What is inside of words is looked for in the folded text, which is made some at a time as well.
        let (_, few_inside) = ask_inside("none");
        let (inside, of_inside) = ask_inside("long");
        assert!(inside["long"].as_str().unwrap().ends_with(" b b a <hi>c</hi>"), "{inside}");
        let (more, more_inside) = (of_long - few, of_inside - few_inside);
        assert!(more_inside > more, "{more_inside} steps more for what is inside of words, and {more} for words");
        let (fields, of_bold) = ask("bold");
        assert_eq!(fields["bold"][0], "<hi>c</hi>");
        assert_eq!(fields["bold"][1], text.replace('c', "<hi>c</hi>").as_str());
        assert!(of_bold > few, "{of_bold} steps, and {few} without the texts");
    }
}

#[test]
fn a_search_rests_between_long_documents() {
    const DOCUMENTS: usize = 10;
    let mut host = Host::with_schema("note", SCHEMA);
    let text = vec!["a b"; WORDS].join(" ");
    for number in 0..DOCUMENTS {
        host.put(&format!("id:n:note:g=alice:{number}"), &format!(r#"{{"long":"{text}"}}"#)).unwrap();
    }
    host.compact("g:alice", 1);
    let steps = |query: &str, ranking: &str, summary: &str| {
        let yql = format!("select * from note where {query}");
        let parameters = [("yql", yql.as_str()), ("ranking", ranking), ("presentation.summary", summary)];
        let (answer, steps) = host.search_stepwise("g:alice", &parameters);
        let hits = answer.json["root"]["children"].as_array().unwrap().clone();
        assert_eq!(hits.len(), DOCUMENTS, "{query}");
        (hits, steps)
    };
    // The first of them asks for blocks, too.
    steps("long contains 'a' or long contains 'b'", "default", "default");
    let (_, few) = steps("long contains 'a'", "unranked", "none");
    let (_, of_near) = steps("long contains near('a', 'b')", "unranked", "none");
    assert!(of_near + 1 >= few + DOCUMENTS, "{of_near} steps, and {few} of a word");
    let (_, of_rank) = steps("long contains 'a' or long contains 'b'", "default", "none");
    assert!(of_rank > few, "{of_rank} steps, and {few} without ranks");
    let (hits, of_late) = steps("rank(long contains 'a', long contains 'a', long contains 'b')", "late", "none");
    assert!(of_late > few, "{of_late} steps, and {few} without a second phase");
    assert!(hits.iter().all(|hit| hit["relevance"] == 3.0), "{hits:?}");
    let (hits, of_snippets) = steps("long contains 'a'", "unranked", "default");
    assert!(of_snippets > few, "{of_snippets} steps, and {few} without summaries");
    assert!(hits.iter().all(|hit| hit["fields"]["long"].as_str().unwrap().contains("<hi>a</hi>")), "{hits:?}");
}

#[test]
fn a_search_rests_between_long_documents_of_groups() {
    const DOCUMENTS: usize = 10;
    let mut host = Host::with_schema("note", SCHEMA);
    let text = vec!["a b"; WORDS].join(" ");
    for number in 0..DOCUMENTS {
        host.put(&format!("id:n:note:g=alice:{number}"), &format!(r#"{{"long":"{text}"}}"#)).unwrap();
    }
    host.compact("g:alice", 1);
    let parameters = |class: &str| {
        let groups = format!("all(max({DOCUMENTS}) each(output(summary({class}))))");
        [
            ("ranking", "unranked".to_owned()),
            ("yql", format!("select * from note where long contains 'a' limit 0 | {groups}")),
        ]
    };
    let alone = |class: &str| {
        let parameters = parameters(class);
        host.search_stepwise("g:alice", &parameters.each_ref().map(|(name, value)| (*name, value.as_str())))
    };
    // A part tells what the first documents show: others may come before its own.
    let as_part = |class: &str| {
        let [ranking, yql] = parameters(class);
        let parameters = [(ranking.0, &*ranking.1), (yql.0, &*yql.1), ("streaming.selection", "true")];
        let query = host.query(&parameters, "", "");
        let (part, steps) = host.search_part_stepwise("g:alice", &query);
        (host.answer_late(&query, &[part], 0.0), steps)
    };
    let check = |ask: &dyn Fn(&str) -> (Answer, usize)| {
        // The first of them asks for blocks, too.
        ask("default");
        let (_, few) = ask("none");
        let (answer, of_snippets) = ask("default");
        assert!(of_snippets > few, "{of_snippets} steps, and {few} without summaries");
        let hits = answer.json["root"]["children"][0]["children"][0]["children"].as_array().unwrap();
        assert_eq!(hits.len(), DOCUMENTS);
        assert!(hits.iter().all(|hit| hit["fields"]["long"].as_str().unwrap().contains("<hi>a</hi>")), "{hits:?}");
    };
    check(&alone);
    check(&as_part);
}

#[test]
fn a_search_whose_distances_are_not_bounded_ends_over_long_documents() {
    // A block of them takes more than half a step. The others have a segment each: no block of theirs is too much.
    const BLOCK: usize = 64;
    const DOCUMENTS: usize = BLOCK + 3;
    let mut host = Host::with_schema("note", SCHEMA);
    let text = vec!["a b"; 4_000].join(" ");
    for number in 0..DOCUMENTS {
        let document = format!(r#"{{"body":"{text}","point":[{number},1]}}"#);
        host.put(&format!("id:n:note:g=alice:{number}"), &document).unwrap();
        if number + 1 >= BLOCK {
            host.compact("g:alice", 1);
        }
    }
    let nearest = |point| format!("({{targetHits:1}}nearestNeighbor(point, {point}))");
    let yql = format!(
        "select * from note where {} or {} or body contains 'a' or body contains 'b'",
        nearest("q"),
        nearest("r")
    );
    let parameters =
        [("yql", yql.as_str()), ("ranking", "close"), ("input.query(q)", "[0,1]"), ("input.query(r)", "[1,1]")];
    let found = host.search("g:alice", &parameters);
    let hits = found.json["root"]["children"].as_array().unwrap();
    assert_eq!(found.json["root"]["fields"]["totalCount"], DOCUMENTS);
    assert_eq!(hits[0]["relevance"], 4.0, "{}", hits[0]);
}
