//! Searches of what was last written in a period (`streaming.fromtimestamp`, `streaming.totimestamp`), in the tail and in
//! segments, with selections and without.

use crate::host::Host;

const START: u64 = 1_790_000_000_000_000;

/// Five documents, written a second apart; the second one again at the end.
fn written(folded: bool) -> Host {
    let sd = "schema t { document t {
        field n type int { indexing: attribute | summary }
        field text type string { indexing: index }
    } }";
    let mut host = Host::with_schema("t", sd);
    for (second, n) in [1, 2, 3, 4, 5, 2].into_iter().enumerate() {
        host.now = START + 1_000_000 * second as u64;
        host.put(&format!("id:n:t:g=a:{n}"), &format!("{{\"n\":{n},\"text\":\"word\"}}")).unwrap();
        if folded && second == 2 {
            host.compact("g:a", 1);
        }
    }
    host
}

fn found(host: &Host, more: &[(&str, &str)]) -> (Vec<String>, u64, u64) {
    let query = [&[("yql", "select n from t where text contains 'word' order by n")][..], more].concat();
    let answer = host.search("g:a", &query);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let root = &answer.json["root"];
    let hits = root["children"].as_array().into_iter().flatten();
    let ns = hits.map(|hit| hit["fields"]["n"].to_string()).collect();
    (ns, root["fields"]["totalCount"].as_u64().unwrap(), root["coverage"]["documents"].as_u64().unwrap())
}

#[test]
fn only_what_was_written_in_the_period_is_searched() {
    let at = |second: u64| (START + 1_000_000 * second).to_string();
    for folded in [false, true] {
        let host = written(folded);
        let of = |from: &str, to: &str, more: &[(&str, &str)]| {
            let period = [("streaming.fromtimestamp", from), ("streaming.totimestamp", to)];
            found(&host, &[&period[..], more].concat())
        };
        let ns = |ns: &[u8]| ns.iter().map(u8::to_string).collect::<Vec<_>>();
        assert_eq!(of("", "", &[]), (ns(&[1, 2, 3, 4, 5]), 5, 5));
        assert_eq!(of("0", "0", &[]), (ns(&[1, 2, 3, 4, 5]), 5, 5));
        assert_eq!(of(&at(3), "", &[]), (ns(&[2, 4, 5]), 3, 3), "the beginning belongs to it");
        assert_eq!(of("", &at(3), &[]), (ns(&[1, 3]), 2, 2), "the end does not");
        assert_eq!(of(&at(2), &at(4), &[]), (ns(&[3, 4]), 2, 2));
        assert_eq!(of(&at(9), "", &[]), (ns(&[]), 0, 0));
    }
}

#[test]
fn a_period_narrows_a_selection() {
    for folded in [false, true] {
        let host = written(folded);
        let from = (START + 3_000_000).to_string();
        let ask = |selection: &str| {
            let query = [
                ("yql", "select n from t where true order by n"),
                ("streaming.selection", selection),
                ("streaming.fromtimestamp", &from),
            ];
            let answer = host.search_scoped(&query, "", "", 2);
            let hits = answer.json["root"]["children"].as_array().into_iter().flatten();
            hits.map(|hit| hit["fields"]["n"].as_u64().unwrap()).collect::<Vec<u64>>()
        };
        assert_eq!(ask("id.group == \"a\""), [2, 4, 5]);
        assert_eq!(ask("id.group == \"a\" and t.n > 3"), [4, 5]);
    }
}

#[test]
fn what_is_no_time_is_refused() {
    let host = written(false);
    for text in ["x", "-1", "1.5"] {
        let query = [("yql", "select * from t where true"), ("streaming.totimestamp", text)];
        let answer = host.search("g:a", &query);
        assert_eq!(answer.status, 400);
        assert!(
            answer.body.contains(&format!("Could not set 'streaming.totimestamp': '{text}' is not a valid number")),
            "{}",
            answer.body
        );
    }
}
