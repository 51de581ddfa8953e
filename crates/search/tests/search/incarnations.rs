//! Stores that one core sees under one key: one after another, as after an erasure, and beside each other, as the parts of a
//! large group. All their numbers are the same; what each answers is its own.

use crate::host::{Host, Write, ids};

const SCHEMA: &str = "schema note {
  document note {
    field title type string { indexing: summary | index }
  }
}";
const KEY: &str = "g:alice";

/// Notes of one word, some in a segment and some in the tail.
fn fill(host: &mut Host, word: &str, folded: usize, tail: usize) {
    for number in 0..folded + tail {
        if number == folded {
            host.compact(KEY, 1);
        }
        host.put(&id(number), &format!(r#"{{"title":"{word} number {number}"}}"#)).unwrap();
    }
    if tail == 0 {
        host.compact(KEY, 1);
    }
}

fn id(number: usize) -> String {
    format!("id:n:note:g=alice:{number}")
}

fn total(host: &Host, word: &str) -> u64 {
    let yql = format!("select * from note where title contains '{word}'");
    let answer = host.search(KEY, &[("yql", &yql), ("streaming.groupname", "alice"), ("hits", "400")]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(ids(&answer).len() as u64, answer.json["root"]["fields"]["totalCount"]);
    answer.json["root"]["fields"]["totalCount"].as_u64().unwrap()
}

#[test]
fn what_was_erased_is_not_found_in_the_store_that_comes_after_it() {
    for (folded, tail) in [(40, 0), (0, 40), (20, 20)] {
        let mut secret = Host::with_schema("note", SCHEMA);
        fill(&mut secret, "secret", folded, tail);
        assert_eq!((total(&secret, "secret"), total(&secret, "public")), (40, 0));
        let empty = secret.beside();
        assert_eq!((total(&empty, "secret"), empty.get(&id(1)).status), (0, 404));
        let mut public = secret.beside();
        fill(&mut public, "public", folded, tail);
        assert_eq!((total(&public, "secret"), total(&public, "public")), (0, 40));
        let title = &public.get(&id(folded / 2)).json["fields"]["title"];
        assert_eq!(title.as_str().unwrap(), format!("public number {}", folded / 2));
        let seen = Write { kind: 2, body: r#"{"fields":{"title":{"assign":"seen"}}}"#, ..Write::default() };
        let condition = |word: &str| format!("note.title = \"{word} number 1\"");
        let (wrong, right) = (condition("secret"), condition("public"));
        let first = id(1);
        assert!(public.write(&Write { id: &first, condition: &wrong, ..seen }).is_err());
        public.write(&Write { id: &first, condition: &right, ..seen }).unwrap();
        assert_eq!((total(&public, "seen"), total(&public, "public")), (1, 39));
    }
}

#[test]
fn stores_beside_each_other_are_told_apart() {
    let mut odd = Host::with_schema("note", SCHEMA);
    let mut even = odd.beside();
    fill(&mut odd, "odd", 30, 10);
    fill(&mut even, "even", 30, 10);
    for _ in 0..3 {
        assert_eq!((total(&odd, "odd"), total(&odd, "even")), (40, 0));
        assert_eq!((total(&even, "odd"), total(&even, "even")), (0, 40));
        for (host, word) in [(&odd, "odd"), (&even, "even")] {
            for number in [0, 35] {
                let title = &host.get(&id(number)).json["fields"]["title"];
                assert_eq!(title.as_str().unwrap(), format!("{word} number {number}"));
            }
        }
    }
}
