//! What summaries read: the source of a document is touched only if something of it is shown.

use crate::host::{Answer, Host};

const SCHEMA: &str = "schema page {
    document page {
        field title type string { indexing: summary | index }
        field bulk type raw { indexing: summary }
        field year type int { indexing: summary | attribute }
        field author type string { indexing: summary | attribute }
        field counts type array<int> { indexing: summary | attribute }
        field vec type tensor<float>(x[4]) { indexing: summary | attribute }
    }
    document-summary attributes { summary year {} summary author {} summary counts {} summary vec {} }
    document-summary titled { summary title {} }
    rank-profile default {
        first-phase { expression: attribute(year) }
        match-features { attribute(year) bm25(title) }
    }
}";

/// Bytes of source of each document: much more than all its columns together.
const BULK: usize = 24 << 10;
const DOCUMENTS: usize = 64;

/// A host with documents in stored segments.
fn host() -> Host {
    let mut host = Host::with_schema("page", SCHEMA);
    for number in 0..DOCUMENTS {
        // What does not compress to nothing.
        let bulk: String = (0..BULK as u32)
            .map(|at| char::from(b'A' + ((at.wrapping_mul(2_654_435_761) ^ (number as u32) << 3) >> 13) as u8 % 26))
            .collect();
        let fields = format!(
            r#"{{"title":"title of {number}","bulk":"{bulk}","year":{number},"author":"author {number}","counts":[{number},7],"vec":[1,2,3,{number}]}}"#
        );
        host.put(&format!("id:n:page:g=alice:{number:03}"), &fields).unwrap();
    }
    host.compact("g:alice", 1);
    host
}

fn read_by(host: &Host, yql: &str, more: &[(&str, &str)]) -> u64 {
    let mut parameters = vec![("yql", yql)];
    parameters.extend_from_slice(more);
    // Nothing is resident: all that is looked at is read.
    host.forget();
    let answer = host.search("g:alice", &parameters);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.json["root"]["children"].as_array().unwrap().len(), 10, "{}", answer.body);
    answer.bytes_read
}

#[test]
fn match_features_alone_read_no_source() {
    let host = host();
    let from_columns = read_by(&host, "select matchfeatures from page where true", &[]);
    let from_source = read_by(&host, "select title, matchfeatures from page where true", &[]);
    assert!(from_columns > 0);
    // The ten hits stand in a few blocks of source, each at least as large as one document.
    assert!(from_source >= from_columns + BULK as u64, "{from_columns} bytes without source, {from_source} with it");
    assert!(from_columns < BULK as u64, "{from_columns} bytes: some source was read");
}

#[test]
fn attributes_alone_read_no_source() {
    let host = host();
    let without = read_by(&host, "select documentid from page where true", &[]);
    let of_class = read_by(&host, "select * from page where true", &[("summary", "attributes")]);
    let of_list = read_by(&host, "select year, author, counts, vec from page where true", &[]);
    let of_source = read_by(&host, "select * from page where true", &[("summary", "titled")]);
    assert!(without < BULK as u64 && of_class < BULK as u64 && of_list < BULK as u64, "{without} {of_class} {of_list}");
    assert!(of_class > without && of_source >= BULK as u64, "{without} {of_class} {of_source}");
}

#[test]
fn attributes_are_shown_as_they_are_in_the_source() {
    let host = host();
    let columns = host.search("g:alice", &[("yql", "select year, author, counts, vec from page where true")]);
    let source = host.search("g:alice", &[("yql", "select year, author, counts, vec, title from page where true")]);
    let hits = |answer: &Answer| answer.json["root"]["children"].as_array().unwrap().clone();
    assert_eq!(hits(&columns).len(), 10);
    for (of_columns, mut of_source) in hits(&columns).into_iter().zip(hits(&source)) {
        of_source["fields"].as_object_mut().unwrap().remove("title").unwrap();
        assert_eq!(of_columns, of_source);
    }
}

/// A text too long for the dictionary of its column is shown whole.
#[test]
fn a_text_too_long_for_its_column_comes_from_the_source() {
    let mut host = Host::with_schema("page", SCHEMA);
    let author = "ä".repeat(40 << 10);
    host.put("id:n:page:g=alice:1", &format!(r#"{{"author":"{author}","year":5}}"#)).unwrap();
    host.compact("g:alice", 1);
    let answer = host.search("g:alice", &[("yql", "select author, year from page where true")]);
    assert_eq!(answer.json["root"]["children"][0]["fields"]["author"], author);
    assert_eq!(answer.json["root"]["children"][0]["fields"]["year"], 5);
}
