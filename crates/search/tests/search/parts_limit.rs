//! How many values of one document the parts of a field have in all: arrays within arrays have theirs together.

use crate::host::{Host, Write, ids};
use brooklet_task::limits::ELEMENTS;

const SCHEMA: &str = "schema note {
  document note {
    struct inner {
      field numbers type array<byte> {}
      field names type array<string> {}
    }
    struct outer { field inners type array<inner> {} }
    field inners type array<inner> { indexing: summary | index }
    field outers type map<string, outer> { indexing: summary | index }
  }
}";
const KEY: &str = "g:alice";
const ID: &str = "id:n:note:g=alice:1";

fn total(host: &Host) -> usize {
    let answer = host.search(KEY, &[("yql", "select * from note where true")]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    ids(&answer).len()
}

/// So many arrays of so many values, of a member of a struct.
fn inners(member: &str, value: &str, arrays: usize, values: usize) -> String {
    let array = vec![value; values].join(",");
    let inner = format!(r#"{{"{member}":[{array}]}}"#);
    format!("[{}]", vec![inner; arrays].join(","))
}

#[test]
fn a_document_with_more_values_in_its_parts_than_a_column_holds_is_refused_and_one_with_as_many_is_found() {
    for (member, value) in [("numbers", "1"), ("names", r#""a""#)] {
        let mut host = Host::with_schema("note", SCHEMA);
        let whole = inners(member, value, 4, ELEMENTS / 4);
        let over = inners(member, value, 4, ELEMENTS / 4 + 1);
        for fields in [format!(r#"{{"inners":{whole}}}"#), format!(r#"{{"outers":{{"a":{{"inners":{whole}}}}}}}"#)] {
            host.put(ID, &fields).unwrap();
            assert_eq!(total(&host), 1, "in the tail");
            host.compact(KEY, 1);
            assert_eq!(total(&host), 1, "in a segment");
        }
        for (fields, part) in [
            (format!(r#"{{"inners":{over}}}"#), format!("inners.{member}")),
            (format!(r#"{{"outers":{{"a":{{"inners":{over}}}}}}}"#), format!("outers.value.inners.{member}")),
        ] {
            let told = host.put(ID, &fields).unwrap_err().message;
            let count = ELEMENTS + 4;
            assert_eq!(
                told,
                format!("Document '{ID}' has {count} values of '{part}' in all, more than the limit of {ELEMENTS}")
            );
        }
        host.put(ID, &format!(r#"{{"inners":{whole}}}"#)).unwrap();
        let more = format!(r#"{{"fields":{{"inners":{{"add":[{{"{member}":[{value}]}}]}}}}}}"#);
        let update = Write { kind: 2, id: ID, body: &more, ..Write::default() };
        assert!(host.write(&update).unwrap_err().message.contains("more than the limit"), "an update that adds one");
        assert_eq!(total(&host), 1);
    }
}
