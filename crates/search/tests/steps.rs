//! How much is done in one step of a search: what takes long rests in between, so that others have their turns.
mod host;

use host::Host;

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
