//! Queries end to end in the core: feed, fold, query, over the sample of every kind of field.

use crate::host::{Host, ids, services};

const NOTE: &str = r#"
schema note {
    document note {
        field title type string { indexing: summary | index }
        field body type string { indexing: summary | index }
        field sender type string { indexing: summary | attribute }
        field year type int { indexing: summary | attribute }
        field score type double { indexing: summary | attribute }
        field unread type bool { indexing: summary | attribute }
        field tags type array<string> { indexing: summary | index }
        field weights type weightedset<string> { indexing: summary | attribute }
        field vec type tensor<float>(x[3]) { indexing: summary | attribute }
    }
    fieldset default { fields: title, body }
    rank-profile bm25 {
        first-phase { expression: bm25(title) + bm25(body) }
        match-features: bm25(title) attribute(year)
    }
    rank-profile near {
        inputs { query(q) tensor<float>(x[3]) }
        first-phase { expression: closeness(field, vec) }
        match-features: distance(field, vec)
    }
    rank-profile mixed inherits near {
        first-phase { expression: closeness(field, vec) + bm25(title) }
    }
    rank-profile year { first-phase { expression: attribute(year) } }
    document-summary short { summary title {} }
}
"#;

fn notes() -> Host {
    let mut host = Host::with_schema("note", NOTE);
    let documents = [
        (
            "1",
            r#"{"title":"Invoice for October","body":"The invoice is due on Friday","sender":"Billing Ltd","year":2020,"score":0.5,"unread":true,"tags":["money","work"],"weights":{"a":3},"vec":[1,0,0]}"#,
        ),
        (
            "2",
            r#"{"title":"Lunch","body":"Café on the corner, due for a visit","sender":"anna","year":2021,"score":1.5,"unread":false,"tags":["fun"],"vec":[0,1,0]}"#,
        ),
        (
            "3",
            r#"{"title":"Re: invoice","body":"Paid already, new York office","sender":"Anna","year":2019,"tags":["money"],"vec":[0.9,0.1,0]}"#,
        ),
        ("4", r#"{"title":"Empty","year":2021}"#),
    ];
    for (local, fields) in documents {
        host.put(&format!("id:n:note:g=alice:{local}"), fields).unwrap();
    }
    host.put("id:n:note:g=bob:1", r#"{"title":"Invoice of bob","year":1}"#).unwrap();
    host
}

/// The local ids that answer a condition, sorted, in every arrangement of tail and segments.
fn matching(condition: &str) -> Vec<String> {
    let mut host = notes();
    let mut answers = Vec::new();
    for folded in [false, true] {
        if folded {
            assert!(host.compact("g:alice", 1));
        }
        let yql = format!("select * from note where {condition}");
        let answer = host.search("g:alice", &[("yql", &yql)]);
        assert_eq!(answer.status, 200, "{condition}: {}", answer.json);
        let mut found: Vec<String> = ids(&answer).iter().map(|id| id.rsplit(':').next().unwrap().to_owned()).collect();
        assert_eq!(answer.json["root"]["fields"]["totalCount"], found.len());
        found.sort();
        answers.push(found);
    }
    assert_eq!(answers[0], answers[1], "{condition} differs between tail and segment");
    answers.remove(0)
}

#[test]
fn terms_and_texts() {
    assert_eq!(matching("true"), ["1", "2", "3", "4"]);
    assert_eq!(matching("false"), [""; 0]);
    assert_eq!(matching("title contains 'INVOICE'"), ["1", "3"]);
    assert_eq!(matching("default contains 'due'"), ["1", "2"]);
    assert_eq!(matching("body contains 'cafe'"), ["2"], "accents fold");
    assert_eq!(matching("body contains 'new york'"), ["3"], "a literal of two words is a phrase");
    assert_eq!(matching("body contains phrase('york','new')"), [""; 0]);
    assert_eq!(matching("body contains phrase('is','due','on')"), ["1"]);
    assert_eq!(matching("body contains ({prefix:true}'fri')"), ["1"]);
    assert_eq!(matching("body contains ({suffix:true}'day')"), ["1"]);
    assert_eq!(matching("body contains ({substring:true}'nvoi')"), ["1"]);
    assert_eq!(matching("body contains ({substring:true}'due o')"), ["1"], "over a separator");
    assert_eq!(matching("sender contains 'anna'"), ["2", "3"], "whole values, any case");
    assert_eq!(matching("sender contains 'billing'"), [""; 0]);
    assert_eq!(matching("sender contains ({prefix:true}'bill')"), ["1"]);
    assert_eq!(matching("sender contains 'billing ltd'"), ["1"]);
    assert_eq!(matching("tags contains 'money'"), ["1", "3"]);
    assert_eq!(matching("weights contains 'a'"), ["1"]);
    assert_eq!(matching("title contains 'invoice' and !(body contains 'paid')"), ["1"]);
    assert_eq!(matching("title contains 'lunch' or tags contains 'work'"), ["1", "2"]);
    assert_eq!(matching("sddocname contains 'note'"), ["1", "2", "3", "4"]);
    assert_eq!(matching("rank(title contains 'lunch', body contains 'due')"), ["2"]);
    assert_eq!(matching("weakAnd(title contains 'lunch', title contains 'invoice')"), ["1", "2", "3"]);
    assert_eq!(matching("userInput('unpaid invoice')"), ["1", "3"]);
}

#[test]
fn numbers() {
    assert_eq!(matching("year = 2021"), ["2", "4"]);
    assert_eq!(matching("year > 2019"), ["1", "2", "4"]);
    assert_eq!(matching("year < 2020.5"), ["1", "3"]);
    assert_eq!(matching("range(year, 2019, 2020)"), ["1", "3"]);
    assert_eq!(matching("({bounds:'open'}range(year, 2019, 2021))"), ["1"]);
    assert_eq!(matching("year in (2019, 2020)"), ["1", "3"]);
    assert_eq!(matching("sender in ('anna')"), ["2", "3"]);
    assert_eq!(matching("score < 1"), ["1"], "an unset value matches no range");
    assert_eq!(matching("unread = true"), ["1"]);
    assert_eq!(matching("unread = false"), ["2"], "unset is not false");
    assert_eq!(matching("year contains '2021'"), ["2", "4"]);
}

/// Integers at the ends of 64 bits, and what no integer is equal to.
#[test]
fn no_integer_is_beyond_its_bits() {
    let mut host = Host::with_schema(
        "n",
        "schema n { document n {
            field l type long { indexing: attribute }
            field list type array<long> { indexing: attribute }
            field text type string { indexing: index }
         } fieldset default { fields: text, l } }",
    );
    for (local, number) in [("least", i64::MIN), ("most", i64::MAX), ("none", 0)] {
        host.put(&format!("id:n:n:g=a:{local}"), &format!(r#"{{"l":{number},"list":[{number}]}}"#)).unwrap();
    }
    host.put("id:n:n:g=a:text", r#"{"text":"nan bread, inf"}"#).unwrap();
    let matching = |condition: &str| {
        let answer = host.search("g:a", &[("yql", &format!("select * from n where {condition}"))]);
        ids(&answer).iter().map(|id| id.rsplit(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for field in ["l", "list"] {
        for beyond in ["> 9223372036854775807L", "< -9223372036854775808L", "= 1e300", "> 9.3e18", "< -9.3e18"] {
            assert_eq!(matching(&format!("{field} {beyond}")), [""; 0], "{field} {beyond}");
        }
        assert_eq!(matching(&format!("{field} < 9.3e18")), ["least", "most", "none"]);
        assert_eq!(matching(&format!("{field} >= 9223372036854775807L")), ["most"]);
        for word in ["nan", "inf", "-infinity", "1e400", "9223372036854775808"] {
            assert_eq!(matching(&format!("{field} contains '{word}'")), [""; 0], "{field} contains {word}");
            assert_eq!(matching(&format!("weightedSet({field}, {{'{word}': 1}})")), [""; 0], "{field} of {word}");
        }
    }
    assert_eq!(matching("default contains 'nan'"), ["text"]);
    assert_eq!(matching("default contains 'inf'"), ["text"]);
}

/// Tokens of a column of fractions are found by their order: both zeros are one, and what is no number has no place in it.
#[test]
fn fractions_are_found_among_many_tokens() {
    let sd = "schema n { document n { field d type double { indexing: attribute } field f type float { indexing: attribute } } }";
    let mut host = Host::with_schema("n", sd);
    for (local, value) in [("a", "-2.5"), ("b", "-0.0"), ("c", "0.1"), ("d", "7"), ("e", "1e30")] {
        host.put(&format!("id:n:n:g=a:{local}"), &format!(r#"{{"d":{value},"f":{value}}}"#)).unwrap();
    }
    let others = (0..50).map(|number| format!("'{number}.5':1")).collect::<Vec<String>>().join(",");
    let matching = |field: &str, tokens: &str| {
        let yql = format!("select * from n where weightedSet({field}, {{'-nan':1,{others},'nan':1,{tokens}}})");
        let found = ids(&host.search("g:a", &[("yql", &yql), ("sorting", "[docid]")]));
        found.iter().map(|id| id.rsplit(':').next().unwrap().to_owned()).collect::<String>()
    };
    for field in ["d", "f"] {
        assert_eq!(matching(field, "'-2.5':1,'0':1,'0.1':1,'1e30':1,'inf':1"), "abce");
        assert_eq!(matching(field, "'7':1,'-inf':1"), "d");
        assert_eq!(matching(field, "'-3':1"), "");
    }
}

/// What an element is compared with is a value of its field, and no text that is cut into words.
#[test]
fn elements_are_compared_as_values_of_their_field() {
    let mut host = Host::with_schema(
        "n",
        "schema n { document n {
            field numbers type array<int> { indexing: attribute }
            field floats type array<double> { indexing: attribute }
            field names type array<string> { indexing: attribute }
            field texts type array<string> { indexing: index }
         } }",
    );
    host.put("id:n:n:g=a:1", r#"{"numbers":[1,-5],"floats":[1.5,-2],"names":["New York"],"texts":["New York"]}"#)
        .unwrap();
    host.put("id:n:n:g=a:2", r#"{"numbers":[5,1],"floats":[-1.5,2],"names":["york"],"texts":["york, new"]}"#).unwrap();
    let matching = |condition: &str| {
        let answer = host.search("g:a", &[("yql", &format!("select * from n where {condition}"))]);
        ids(&answer).iter().map(|id| id.rsplit(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let conditions = [
        ("numbers[1] = -5", "1"),
        ("numbers[0] = 5", "2"),
        ("numbers contains sameElement('-5')", "1"),
        ("numbers contains ({elementFilter: [0]}sameElement('5'))", "2"),
        ("floats[0] = 1.5", "1"),
        ("floats[0] = -1.5", "2"),
        ("names[0] = 'new york'", "1"),
        ("names contains sameElement('new york')", "1"),
        ("texts[0] = 'new york'", "1"),
    ];
    for (condition, one) in conditions {
        assert_eq!(matching(condition), [one], "{condition}");
    }
}

#[test]
fn nearest_neighbours_come_nearest_first_and_only_as_many_as_wanted() {
    let mut host = notes();
    for folded in [false, true] {
        if folded {
            host.compact("g:alice", 1);
        }
        let near = |yql: &str, profile: &str| {
            host.search("g:alice", &[("yql", yql), ("ranking", profile), ("input.query(q)", "[1,0,0]")])
        };
        let answer = near("select * from note where {targetHits:2}nearestNeighbor(vec,q)", "near");
        assert_eq!(ids(&answer), ["id:n:note:g=alice:1", "id:n:note:g=alice:3"], "{}", answer.json);
        assert_eq!(answer.json["root"]["children"][0]["relevance"], 1.0);
        assert_eq!(answer.json["root"]["fields"]["totalCount"], 2);
        let filtered = near("select * from note where {targetHits:1}nearestNeighbor(vec,q) and year > 2020", "near");
        assert_eq!(ids(&filtered), ["id:n:note:g=alice:2"]);
        let either =
            near("select * from note where {targetHits:1}nearestNeighbor(vec,q) or title contains 'lunch'", "mixed");
        assert_eq!(ids(&either), ["id:n:note:g=alice:1", "id:n:note:g=alice:2"]);
        let threshold =
            near("select * from note where {targetHits:10,distanceThreshold:0.5}nearestNeighbor(vec,q)", "near");
        assert_eq!(ids(&threshold), ["id:n:note:g=alice:1", "id:n:note:g=alice:3"]);
    }
}

#[test]
fn answers_have_the_shape_of_the_reference() {
    let host = notes();
    let answer =
        host.search("g:alice", &[("yql", "select * from note where title contains 'october'"), ("ranking", "bm25")]);
    let hit = &answer.json["root"]["children"][0];
    assert_eq!(hit["id"], "id:n:note:g=alice:1", "{}", answer.json);
    assert_eq!(hit["source"], "c");
    assert_eq!(hit["fields"]["sddocname"], "note");
    assert_eq!(hit["fields"]["documentid"], "id:n:note:g=alice:1");
    assert_eq!(hit["fields"]["year"], 2020);
    assert_eq!(hit["fields"]["unread"], true);
    assert_eq!(hit["fields"]["weights"]["a"], 3);
    assert_eq!(hit["fields"]["vec"]["values"][0], 1.0);
    assert_eq!(hit["fields"]["matchfeatures"]["attribute(year)"], 2020.0);
    let bm25 = hit["fields"]["matchfeatures"]["bm25(title)"].as_f64().unwrap();
    let expected = 0.287_682_07 * 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * 3.0 / 100.0));
    assert!((bm25 - expected).abs() < 1e-6, "{bm25} is not {expected}");
    assert_eq!(answer.json["root"]["coverage"]["documents"], 4);
    let listed = host.search("g:alice", &[("yql", "select title from note where true order by year desc limit 2")]);
    assert_eq!(listed.json["root"]["children"][0]["fields"], serde_json::json!({"title": "Lunch"}));
    let short = host.search("g:alice", &[("yql", "select * from note where year = 2019"), ("summary", "short")]);
    assert_eq!(short.json["root"]["children"][0]["fields"]["title"], "Re: invoice");
    assert!(short.json["root"]["children"][0]["fields"].get("body").is_none());
}

#[test]
fn windows_and_orders() {
    let host = notes();
    let order = |extra: &str| {
        let yql = format!("select * from note where true {extra}");
        let found = ids(&host.search("g:alice", &[("yql", &yql), ("ranking", "year")]));
        found.iter().map(|id| id.rsplit(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(order(""), ["2", "4", "1", "3"], "equal scores in the order of ids");
    assert_eq!(order("limit 2 offset 1"), ["4"]);
    assert_eq!(order("order by year"), ["3", "1", "2", "4"]);
    assert_eq!(order("order by score desc"), ["2", "1", "4", "3"], "without a value last, by relevance");
    assert_eq!(order("order by sender, year"), ["4", "3", "2", "1"], "without a value first, in any case");
}

#[test]
fn a_group_never_sees_another() {
    let mut host = notes();
    for _ in 0..2 {
        let answer = host.search("g:bob", &[("yql", "select * from note where true")]);
        assert_eq!(ids(&answer), ["id:n:note:g=bob:1"]);
        let nobody = host.search("g:carol", &[("yql", "select * from note where true")]);
        assert_eq!((nobody.status, ids(&nobody).len()), (200, 0));
        host.compact("g:alice", 1);
        host.compact("g:bob", 1);
    }
    let other =
        host.search_raw("g:bob", &[("yql", "select * from note where true"), ("streaming.groupname", "alice")], "");
    assert_eq!(other.status, 400);
}

/// Ids take any signed number of 64 bits, and so does what names their documents.
#[test]
fn documents_of_a_negative_number_are_found() {
    let mut host = notes();
    host.put("id:n:note:n=-1:1", r#"{"year":5}"#).unwrap();
    assert_eq!(ids(&host.search("n:-1", &[("yql", "select * from note where true")])), ["id:n:note:n=-1:1"]);
    let of = |user: &str| host.search(&format!("n:{user}"), &[("yql", "select * from note where true")]).status;
    assert_eq!([of("18446744073709551615"), of("18446744073709551616"), of("-9223372036854775809")], [200, 400, 400]);
}

#[test]
fn a_get_that_is_refused_has_changed_nothing() {
    let host = notes();
    for field_set in ["nosuch:x", "nosuch:[document]", "note:nosuch", "[nosuch]"] {
        let answer = host.get_as("id:n:note:g=alice:1", field_set, "");
        let said = |name: &str| answer.json[name].as_str().map(str::to_owned);
        assert_eq!((answer.status, said("outcome")), (400, Some("not_applied".to_owned())), "{field_set}");
        assert_eq!(said("code").as_deref(), Some("INVALID_DOCUMENT"), "{field_set}");
        assert!(said("message").is_some() && said("pathId").is_some(), "{field_set}");
    }
}

#[test]
fn refusals_have_code_and_status() {
    let host = notes();
    let refused = |parameters: &[(&str, &str)]| {
        let answer = host.search("g:alice", parameters);
        let error = answer.json["root"]["errors"][0].clone();
        (answer.status, error["code"].as_i64().unwrap_or(0), error["message"].as_str().unwrap_or_default().to_owned())
    };
    let all = ("yql", "select * from note where true");
    let missing = host.search_raw("g:alice", &[all], "");
    assert_eq!((missing.status, &missing.json["root"]["errors"][0]["code"]), (400, &serde_json::json!(3)));
    let doubled = host.search("g:alice", &[all, ("streaming.selection", "true")]);
    assert_eq!(doubled.status, 400);
    assert_eq!(refused(&[all, ("hits", "401")]).0, 400);
    assert_eq!(refused(&[all, ("hits", "-1")]).1, 3);
    assert_eq!(refused(&[all, ("ranking", "nosuch")]).1, 4);
    assert_eq!(refused(&[all, ("summary", "nosuch")]).1, 3);
    assert_eq!(refused(&[("yql", "select * from nosuch where true")]).1, 4);
    assert_eq!(refused(&[("yql", "select * from note where nosuch contains 'a'")]).0, 400);
    assert_eq!(refused(&[("yql", "select * from note where")]).0, 400);
    assert_eq!(refused(&[]).1, 1);
    assert_eq!(refused(&[("yql", "select * from note where title matches '('")]).0, 400);
    assert_eq!(refused(&[("yql", "select * from note where true | all(group(year) each(output(year)))")]).1, 17);
}

#[test]
fn removed_and_replaced_documents_are_gone_at_once() {
    let mut host = notes();
    let all = |host: &Host| ids(&host.search("g:alice", &[("yql", "select * from note where true")])).len();
    let titles = |host: &Host| {
        ids(&host.search("g:alice", &[("yql", "select * from note where title contains 'invoice'")])).len()
    };
    host.compact("g:alice", 1);
    host.remove("id:n:note:g=alice:1").unwrap();
    assert_eq!((all(&host), titles(&host)), (3, 1));
    assert_eq!(host.get("id:n:note:g=alice:1").status, 404);
    host.put("id:n:note:g=alice:3", r#"{"title":"other"}"#).unwrap();
    assert_eq!((all(&host), titles(&host)), (3, 0));
    assert_eq!(host.get("id:n:note:g=alice:3").json["fields"]["title"], "other");
    host.compact("g:alice", 1);
    assert_eq!((all(&host), titles(&host)), (3, 0));
    host.put("id:n:note:g=alice:1", r#"{"title":"invoice again"}"#).unwrap();
    host.compact("g:alice", 3);
    assert_eq!((all(&host), titles(&host)), (4, 1));
    assert_eq!(host.shape("g:alice"), (1, 0));
}

#[test]
fn a_damaged_block_is_noticed() {
    let mut host = Host::new(&[("services.xml", &services(&["note"])), ("schemas/note.sd", NOTE)], 0);
    host.put("id:n:note:g=a:1", r#"{"title":"x"}"#).unwrap();
    host.compact("g:a", 1);
    host.damage("g:a", 0, 0, 5);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| host.get("id:n:note:g=a:1")));
    assert!(outcome.is_err(), "the host of this test panics on what the core rejects");
}

#[test]
fn a_vector_query_reads_no_text() {
    let mut host = Host::new(&[("services.xml", &services(&["note"])), ("schemas/note.sd", NOTE)], 0);
    let body = "word ".repeat(10_000);
    for number in 0..50 {
        let fields = format!(r#"{{"title":"t","body":"{body}","vec":[{number},1,2]}}"#);
        host.put(&format!("id:n:note:g=a:{number:03}"), &fields).unwrap();
    }
    host.compact("g:a", 1);
    let parameters = [
        ("yql", "select matchfeatures from note where {targetHits:5}nearestNeighbor(vec,q)"),
        ("ranking", "near"),
        ("input.query(q)", "[3,1,2]"),
    ];
    let answer = host.search("g:a", &parameters);
    assert_eq!(ids(&answer).len(), 5, "{}", answer.json);
    assert!(answer.bytes_read < 20_000, "{} bytes read", answer.bytes_read);
}

#[test]
fn a_slip_reads_a_part_of_the_dictionary() {
    let mut host = Host::new(&[("services.xml", &services(&["note"])), ("schemas/note.sd", NOTE)], 0);
    let word = |number: u32| {
        let letters = (0..4).map(|place| char::from(b'a' + (number / 26u32.pow(place) % 26) as u8));
        letters
            .chain(format!("{number:04x}").chars().map(|digit| char::from(digit as u8 % 23 + b'a')))
            .collect::<String>()
    };
    let mut words = 0;
    for number in 0..200u32 {
        let body: Vec<String> = (0..100).map(|at| word((number * 100 + at) * 7)).collect();
        words += body.iter().map(|word| word.len() + 20).sum::<usize>();
        host.put(&format!("id:n:note:g=a:{number:03}"), &format!(r#"{{"body":"{}"}}"#, body.join(" "))).unwrap();
    }
    host.compact("g:a", 1);
    let written = word(7_000);
    let search = |text: &str| {
        let yql =
            format!("select documentid from note where {{grammar:'tokenize',defaultIndex:'body'}}userInput('{text}')");
        host.search("g:a", &[("yql", &yql), ("ranking.properties.brooklet.typos", "forgiven")])
    };
    let (exact, slip) = (search(&written), search(&format!("{}q{}", &written[..4], &written[4..])));
    assert_eq!((ids(&exact).len(), ids(&slip).len()), (1, 1), "{} {}", exact.json, slip.json);
    let more = slip.bytes_read - exact.bytes_read;
    assert!(more < words as u64 / 2, "{more} bytes more of a dictionary of {words}");
}
