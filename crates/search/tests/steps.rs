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
