//! How much is done in one step of a search: what takes long rests in between, so that others have their turns.

use crate::host::{Host, rendered};

const SCHEMA: &str = "schema t { document t { field text type string { indexing: index } } }";

#[test]
fn many_searches_of_a_long_dictionary_rest_between_each_other() {
    let mut host = Host::with_schema("t", SCHEMA);
    let words: Vec<String> = (0..40_000).map(|number| format!("{:020}", number * 7919)).collect();
    host.put("id:t:t:g=u:1", &format!("{{\"text\":\"{}\"}}", words.join(" "))).expect("a put");
    let steps = |annotation: &str| {
        let condition = |number: usize| format!("text contains ({{{annotation}:true}}'x{number}')");
        let conditions: Vec<String> = (0..96).map(condition).collect();
        let yql = format!("select documentid from t where {}", conditions.join(" or "));
        host.search_stepwise("g:u", &[("yql", &yql), ("ranking", "unranked")]).1
    };
    // The words are 800,000 bytes: a step searches them about ten times, and looks thirty words up.
    let (searched, looked_up) = (steps("substring"), steps("prefix"));
    assert!(searched > looked_up + 4, "{searched} {looked_up}");
}

#[test]
fn a_leaf_of_many_alternatives_rests_between_them() {
    let sd = "schema t { document t { field text type string { indexing: index } \
              field tags type array<string> { indexing: attribute } } }";
    let mut host = Host::with_schema("t", sd);
    let word = |number: usize| format!("w{}", number * 7919);
    let words: Vec<String> = (0..20_000).map(word).collect();
    host.put("id:t:t:g=u:1", &format!("{{\"text\":\"{}\"}}", words.join(" "))).expect("a put");
    host.put("id:t:t:g=u:2", &format!("{{\"tags\":[\"{}\"]}}", words.join("\",\""))).expect("a put");
    host.put("id:t:t:g=u:3", &format!("{{\"tags\":[\"none\",\"{}\"]}}", word(19_999))).expect("a put");
    let ask = |host: &Host, yql: &str, count: usize, list: &dyn Fn(String) -> String| {
        let alternatives: Vec<String> = (20_000 - count..20_000).map(|number| list(word(number))).collect();
        let yql = format!("select documentid from t where {yql}");
        let list = alternatives.join(",");
        let p = if yql.contains(" in ") { list } else { format!("{{{list}}}") };
        host.search_stepwise("g:u", &[("yql", &yql), ("p", &p), ("ranking", "unranked")])
    };
    let (of_list, of_set) = (|word: String| format!("'{word}'"), |word: String| format!("'{word}':1"));
    for folded in [false, true] {
        for (yql, list, found) in [
            ("tags in (@p)", &of_list as &dyn Fn(String) -> String, 2),
            ("weightedSet(text, @p)", &of_set, 1),
            ("weightedSet(tags, @p)", &of_set, 2),
        ] {
            // What they read is in memory then.
            ask(&host, yql, 10_000, list);
            let ((few, few_steps), (many, steps)) = (ask(&host, yql, 1, list), ask(&host, yql, 10_000, list));
            for answer in [few, many] {
                assert_eq!(answer.json["root"]["fields"]["totalCount"], found, "{yql} {folded}: {}", answer.body);
            }
            assert!(steps > few_steps + 3, "{yql} {folded}: {few_steps} {steps}");
        }
        host.compact("g:u", 1);
    }
}

/// A text that is shown in parts, or whole and marked, and a number that is shown alone.
const SHOWN: &str = "schema t {
    document t {
        field k type int { indexing: attribute }
        field text type string { indexing: index | summary }
    }
    document-summary short { summary k {} }
    document-summary teaser { summary teaser {
        source: text
        dynamic
    } }
    document-summary marked { summary marked {
        source: text
        bolding: on
    } }
}";

#[test]
fn long_texts_rest_among_the_hits_of_groups_as_among_others() {
    let mut host = Host::with_schema("t", SHOWN);
    let words: Vec<String> = (0..600_000u64).map(|number| format!("w{}", number * 7919 % 997)).collect();
    host.put("id:t:t:g=u:1", &format!("{{\"k\":1,\"text\":\"{}\"}}", words.join(" "))).expect("a put");
    let ask = |class: &str, grouping: &str| {
        let yql = format!("select * from t where text contains 'w5' {grouping}");
        let hits = if grouping.is_empty() { "1" } else { "0" };
        let parameters =
            [("yql", yql.as_str()), ("ranking", "unranked"), ("hits", hits), ("presentation.summary", class)];
        if !grouping.contains("max(2)") {
            return host.search_stepwise("g:u", &parameters);
        }
        // What a part finds: its first documents carry what they show.
        let query = host.query(&[&[("streaming.groupname", "u")], &parameters[..]].concat(), "", "");
        let (part, steps) = host.search_part_stepwise("g:u", &query);
        (rendered(&host.merge(&query, &[], &[part], true).unwrap()), steps)
    };
    // By the class of the request, by one that the grouping names, and among the first documents, which are shown by two.
    let of_request = "| all(group(k) each(max(1) each(output(summary()))))";
    let of_grouping = "| all(group(k) each(max(1) each(output(summary(CLASS)))))";
    let of_firsts = "| all(max(2) all(group(k) each(max(1) each(output(summary(CLASS))) as(a) \
                     each(output(summary(OTHER))) as(b))))";
    for (class, other) in [("teaser", "marked"), ("marked", "teaser")] {
        let shown = &ask(class, "").0.json["root"]["children"][0]["fields"][class];
        assert!(shown.is_string(), "{class}");
        for grouping in [of_request, of_grouping, of_firsts] {
            let of = |class: &str, other: &str| ask(class, &grouping.replace("CLASS", class).replace("OTHER", other));
            let ((answer, steps), (_, few)) = (of(class, other), of("short", "short"));
            let text = answer.json.to_string();
            assert!(text.contains(&shown.to_string()), "{class} {grouping}: {}", &text[..text.len().min(500)]);
            assert!(steps > few + 2, "{class} {grouping}: {steps} {few}");
        }
    }
}

#[test]
fn a_text_with_many_hits_takes_more_steps() {
    let sd = "schema t { document t { field text type string {
        indexing: index | summary
        summary: dynamic
    } } }";
    let steps = |word: &str| {
        let mut host = Host::with_schema("t", sd);
        host.put("id:t:t:g=u:1", &format!("{{\"text\":\"{} a\"}}", "the ".repeat(600_000))).expect("a put");
        let yql = format!("select * from t where text contains '{word}'");
        host.search_stepwise("g:u", &[("yql", &yql), ("ranking", "unranked")]).1
    };
    let (of_many, of_one) = (steps("the"), steps("a"));
    assert!(of_many > of_one + 5, "{of_many} {of_one}");
}

#[test]
fn a_text_with_many_marks_is_written_in_steps() {
    let mut host = Host::with_schema("t", SHOWN);
    let words = 600_000;
    host.put("id:t:t:g=u:1", &format!("{{\"text\":\"{}\"}}", "the a ".repeat(words))).expect("a put");
    let ask = |class: &str| {
        let yql = "select * from t where text contains 'the'";
        host.search_stepwise("g:u", &[("yql", yql), ("ranking", "unranked"), ("presentation.summary", class)])
    };
    let ((answer, of_whole), (_, of_excerpt)) = (ask("marked"), ask("teaser"));
    let shown = answer.json["root"]["children"][0]["fields"]["marked"].as_str().unwrap();
    assert_eq!(shown, "<hi>the</hi> a ".repeat(words).as_str());
    // Both find the same words; one of them is written with all of its marks.
    assert!(of_whole > of_excerpt + 5, "{of_whole} {of_excerpt}");
}

#[test]
fn a_long_value_is_written_in_steps() {
    let sd = "schema t {
        document t {
            field k type int { indexing: attribute | summary }
            field text type string { indexing: summary }
            field numbers type array<double> { indexing: summary }
            field texts type array<string> { indexing: summary | attribute }
            field counts type map<string, int> { indexing: summary }
        }
        document-summary short { summary k {} }
        document-summary text { summary text {} }
        document-summary numbers { summary numbers {} }
        document-summary texts { summary texts {} }
        document-summary counts { summary counts {} }
    }";
    let mut host = Host::with_schema("t", sd);
    let count = 90_000;
    let numbers: Vec<f64> = (0..count).map(|number| f64::from(number) / 7.0).collect();
    let texts: Vec<String> = (0..count).map(|number| format!("\"{number:020}")).collect();
    let counts: serde_json::Map<String, serde_json::Value> =
        (0..count).map(|number| (format!("k{number:020}"), number.into())).collect();
    let text = "å\n ".repeat(800_000);
    let fields = serde_json::json!({"text": text, "numbers": numbers, "texts": texts, "counts": counts});
    let classes = ["text", "numbers", "texts", "counts"];
    for (k, class) in classes.into_iter().enumerate() {
        let json = serde_json::json!({"k": k, class: fields[class]}).to_string();
        host.put(&format!("id:t:t:g=u:{k}"), &json).expect("a put");
    }
    for folded in [false, true] {
        for format in ["json", "cbor", "xml"] {
            let ask = |k: usize, class: &str| {
                let yql = format!("select * from t where k = {k}");
                let (class, format) = (("presentation.summary", class), ("presentation.format", format));
                host.search_stepwise("g:u", &[("yql", &yql), ("ranking", "unranked"), class, format])
            };
            for (k, class) in classes.into_iter().enumerate() {
                let ((answer, steps), (_, few)) = (ask(k, class), ask(k, "short"));
                if format == "json" {
                    let shown = &answer.json["root"]["children"][0]["fields"][class];
                    assert!(*shown == fields[class], "{class}, folded: {folded}");
                }
                // A text of CBOR is copied as it is.
                let is_copied = (class, format) == ("text", "cbor");
                let least = few + if format == "cbor" { 1 } else { 4 };
                assert!(steps > least || is_copied, "{class} {format}, folded: {folded}: {steps} {few}");
            }
        }
        host.compact("g:u", 1);
    }
}
