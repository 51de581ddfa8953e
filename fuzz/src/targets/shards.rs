//! What the shards of a group tell each other: what each counted, in its part of an answer, and what they agreed on.
use std::hint::black_box;
use std::rc::Rc;

use super::Target;
use super::merge::merged;
use crate::host::Host;

const KEY: &str = "g:a";
const SHARDS: [u32; 2] = [0, 1];
const SCHEMA: &str = "
schema note {
    document note {
        field w type string { indexing: summary | index }
        field t type tensor<float>(x[2]) { indexing: attribute }
    }
    rank-profile both {
        inputs { query(q) tensor<float>(x[2]) }
        first-phase { expression: closeness(field, t) + bm25(w) }
    }
}
";
const YQL: &str = "select * from note where ({targetHits: 2}nearestNeighbor(t, q)) or userInput(\"tulip bulb zzz\")";

pub fn targets() -> Vec<Target> {
    vec![group_facts()]
}

fn host() -> Host {
    let mut host = Host::with_schema("note", SCHEMA);
    for number in 0..8 {
        let words = ["tulip", "bulb tulip", "rose", "a rose bulb"][number % 4];
        let fields = format!(r#"{{"w":"{words}","t":[{number},0.25]}}"#);
        host.put(&format!("id:s:note:g=a:{number}"), &fields).expect("a good document");
    }
    host
}

fn opened(host: &Host) -> Rc<brooklet_search::Query> {
    let near = [("ranking", "both"), ("input.query(q)", "[2.5, 0.5]"), ("streaming.groupname", "a")];
    host.query(&[&[("yql", YQL), ("hits", "3"), ("timeout", "60s")][..], &near[..]].concat(), "", "")
}

/// After its first byte an input is what is agreed on, or the part of another shard.
fn group_facts() -> Target {
    let host = host();
    let find = |query: &Rc<_>| SHARDS.map(|number| host.search_shard(KEY, query, number).expect("a good query"));
    let first = opened(&host);
    let counted = find(&first);
    let agreed = host.agreed(&first, &counted).expect("shards that lack something");
    first.give_outputs(&agreed).expect("what was agreed on");
    let found = find(&first);
    assert_ne!(found, counted, "who knows what the others have says something else");
    let parts = [&counted[..], &found[..]].concat();
    let corpus = parts.iter().map(|part| [&[1], &part[..]].concat()).chain([[&[0], &agreed[..]].concat()]);
    Target::new("group-facts", corpus.collect(), move |bytes| {
        let Some((kind, told)) = bytes.split_first() else { return };
        let query = opened(&host);
        if kind % 2 == 0 {
            if query.give_outputs(told).is_err() {
                return;
            }
            let Ok(part) = host.search_shard(KEY, &query, 0) else { return };
            let _ = black_box(host.merge(&query, &[], &[part], false));
            return;
        }
        let both = [counted[0].clone(), told.to_vec()];
        let given = both.iter().map(Vec::len).sum::<usize>();
        let Ok(result) = host.merge(&query, &[], &both, false) else { return };
        let (floor, all) = merged(&result);
        assert!(all.len() <= 2 * given + 4_096, "{} bytes of {given}", all.len());
        let _ = black_box(host.merge(&query, &floor, &[all], false).expect("merges are merged"));
    })
    .costs(8)
}
