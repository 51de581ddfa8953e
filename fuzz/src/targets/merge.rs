//! What travels while a query runs over several partitions: partial results, the groups in them, floors; and the
//! embeddings a host answers with. None is larger once it was read and written than it came.
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::embedding::{Embedding, EmbeddingWanted, Embeddings, embedded_array, tensor_of};
use brooklet_document::{CellType, Dimension, TensorType};
use brooklet_task::bytes::{Reader, Writer};

use super::Target;
use crate::host::Host;

const KEYS: [&str; 2] = ["g:a", "g:b"];

const SCHEMA: &str = "
schema sale {
    document sale {
        field k type string { indexing: summary | attribute }
        field n type int { indexing: summary | attribute }
        field d type double { indexing: summary | attribute }
        field tags type array<string> { indexing: summary | attribute }
        field t type tensor<float>(x[2]) { indexing: attribute }
    }
    rank-profile n { first-phase { expression: attribute(n) } }
    rank-profile global inherits n {
        second-phase { expression: attribute(d) }
        global-phase {
            expression: sum(attribute(t)) + reciprocal_rank(attribute(n))
            rank-score-drop-limit: 0.5
        }
    }
}
";

const GROUPING: &str = "all(group(k) max(3) order(-sum(n)) output(count()) each(output(count(), sum(n), sum(d), avg(n), \
                        avg(d), min(k), max(d), xor(n), stddev(d), quantiles([0.5], d)) max(2) each(output(summary())) \
                        all(group(tags) each(output(count()))))) ";
const BUCKETS: &str = "all(all(group(predefined(n, bucket(-inf, 0), bucket(0, 3), bucket(3, inf))) each(output(count()))) \
                       all(group(fixedwidth(d, 2.5)) each(output(avg(d)))) \
                       all(group(predefined(k, bucket(\"a\", \"c\"))) each(output(count()))))";

pub fn targets() -> Vec<Target> {
    vec![partial(), groups(), floor(), embeddings(), model_runs()]
}

/// Runs of models that are wanted, and what they yielded.
fn model_runs() -> Target {
    let mut wanted = Writer::new();
    wanted.u8(0);
    wanted.varint(1);
    (0..2).for_each(|word| wanted.u64(word));
    wanted.text("models/m.onnx");
    wanted.varint(1);
    wanted.text("intraop-threads");
    wanted.text("2");
    wanted.u8(1);
    wanted.varint(1);
    wanted.text("logits");
    wanted.varint(1);
    wanted.text("x");
    wanted.u8(1);
    wanted.varint(2);
    wanted.raw(&[1, 1]);
    wanted.bytes(&1.5f32.to_le_bytes());
    let mut given = Writer::new();
    given.varint(1);
    (0..2).for_each(|word| given.u64(word));
    given.varint(1);
    given.text("logits");
    given.u8(1);
    given.bytes(&2.5f32.to_le_bytes());
    Target::new("model-runs", vec![wanted.finish(), given.finish()], |bytes| {
        black_box(brooklet_search::read_outputs(bytes));
    })
}

/// A few documents of two groups.
fn host() -> Host {
    let mut host = Host::with_schema("sale", SCHEMA);
    for number in 0..12 {
        let (group, k) = (["a", "b"][number % 2], ["", "ab", "c", "é"][number % 4]);
        let (n, d) = (number as i32 - 5, number as f64 / 7.0 - 0.5);
        let fields = format!(r#"{{"k":"{k}","n":{n},"d":{d},"tags":["x","{k}"],"t":[{n},0.25]}}"#);
        host.put(&format!("id:s:sale:g={group}:{number}"), &fields).expect("a good document");
    }
    host
}

/// A query with what partitions find for it.
struct Query {
    opened: Rc<brooklet_search::Query>,
    parts: Vec<Vec<u8>>,
    /// The floor once they were merged.
    floor: Vec<u8>,
}

impl Query {
    fn new(host: &Host, yql: &str, ranking: &str) -> Query {
        Query::timed(host, yql, ranking, "false")
    }

    /// One whose parts may tell what their stages took.
    fn timed(host: &Host, yql: &str, ranking: &str, timing: &str) -> Query {
        let parameters = [
            ("yql", yql),
            ("streaming.selection", "true"),
            ("ranking", ranking),
            ("hits", "3"),
            ("trace.level", "3"),
            ("timeout", "60s"),
            ("presentation.timing", timing),
        ];
        let opened = host.query(&parameters, "", "");
        let find = |key: &&str| host.search_part(key, &opened, &[]).expect("a good query");
        let parts: Vec<Vec<u8>> = KEYS.iter().map(find).collect();
        let result = host.merge(&opened, &[], &parts, false).expect("good parts");
        assert_eq!(result.first(), Some(&0), "{}", String::from_utf8_lossy(&result));
        let (floor, _) = merged(&result);
        Query { opened, parts, floor }
    }

    /// Merges a part with a good one, and what comes of that into an answer.
    fn merge(&self, host: &Host, part: &[u8]) {
        let _ = black_box(host.merge(&self.opened, &[], &[part.to_vec()], true));
        let parts = [self.parts[0].clone(), part.to_vec()];
        let Ok(result) = host.merge(&self.opened, &self.floor, &parts, false) else { return };
        let (floor, both) = merged(&result);
        let given = parts.iter().map(Vec::len).sum::<usize>();
        assert!(both.len() <= 2 * given + 4_096, "{} bytes of {given}", both.len());
        if let Err(error) = black_box(host.merge(&self.opened, &floor, &[both], true)) {
            assert_eq!(error.message, "parts that want more", "merges are merged");
        }
    }
}

fn queries(host: &Host) -> Vec<Query> {
    let grouped = |grouping: &str| format!("select * from sale where true limit 2 | {grouping}");
    vec![
        Query::new(host, "select * from sale where true", "n"),
        Query::new(host, "select * from sale where n > -4 order by k desc, n", "n"),
        Query::new(host, "select * from sale where true", "global"),
        Query::new(host, &grouped(GROUPING), "n"),
        Query::new(host, &grouped(BUCKETS), "global"),
        Query::timed(host, "select * from sale where true", "global", "true"),
    ]
}

/// The floor and the partial result that a merge made.
pub(super) fn merged(result: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut reader = Reader::new(result);
    let mut read = || {
        reader.u8()?;
        Ok::<_, brooklet_task::Rejection>((reader.bytes()?.to_vec(), reader.bytes()?.to_vec()))
    };
    read().expect("the result of a merge")
}

/// The input after its first byte, which says of which query it is.
fn chosen<'a, 'b>(queries: &'a [Query], bytes: &'b [u8]) -> Option<(&'a Query, &'b [u8])> {
    let (number, rest) = bytes.split_first()?;
    Some((&queries[usize::from(*number) % queries.len()], rest))
}

fn numbered(number: usize, bytes: &[u8]) -> Vec<u8> {
    [&[number as u8], bytes].concat()
}

/// Where a partial result says how many hits there are: after its form, application, clock, and that nothing is refused.
const HITS_BYTE: usize = 1 + 8 + 16 + 1;

fn partial() -> Target {
    let host = host();
    let queries = queries(&host);
    let parts = queries.iter().enumerate().flat_map(|(number, query)| {
        // This byte is the count of hits: one that is too small is a lie like any other.
        let lie = |part: &[u8]| [&part[..HITS_BYTE], &[0], &part[HITS_BYTE + 1..]].concat();
        let lying = query.parts.iter().map(move |part| numbered(number, &lie(part)));
        lying.chain(query.parts.iter().map(move |part| numbered(number, part)))
    });
    Target::new("partial", parts.collect(), move |bytes| {
        if let Some((query, part)) = chosen(&queries, bytes) {
            query.merge(&host, part);
        }
    })
    .costs(4)
}

/// What stands before the groups of a partial result without hits, and the groups; of the first grouping request.
fn split(part: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut reader = Reader::new(part);
    let mut read = || {
        reader.u8()?;
        (0..3).try_for_each(|_| reader.u64().map(|_| ()))?;
        // No refusal; seven numbers; no stages; no issues; no runs, not too many either; no facts; no hits; one grouping request.
        let counts = (0..15).map(|_| reader.varint()).collect::<Result<Vec<_>, _>>()?;
        assert_eq!((counts[0], &counts[8..]), (0, &[0, 0, 0, 0, 0, 0, 1][..]), "only groups");
        let before = reader.position();
        Ok::<_, brooklet_task::Rejection>((part[..before].to_vec(), reader.bytes()?.to_vec()))
    };
    read().expect("a partial result")
}

/// Groups whose length is always right.
fn groups() -> Target {
    let host = host();
    let grouped =
        |grouping: &str| Query::new(&host, &format!("select * from sale where true limit 0 | {grouping}"), "n");
    let queries = vec![grouped(GROUPING), grouped(BUCKETS)];
    let corpus = queries.iter().enumerate().flat_map(|(number, query)| {
        query.parts.iter().flat_map(move |part| {
            let groups = split(part).1;
            // After a group's rank its first total: for the first query a count, here the greatest there is.
            let greatest = [&groups[..9], &[0xff; 9], &[1], &groups[10..]].concat();
            [numbered(number, &groups), numbered(number, &greatest)]
        })
    });
    Target::new("partial-groups", corpus.collect(), move |bytes| {
        let Some((query, groups)) = chosen(&queries, bytes) else { return };
        let mut writer = Writer::new();
        writer.raw(&split(&query.parts[0]).0);
        writer.bytes(groups);
        query.merge(&host, &writer.finish());
    })
    .costs(4)
}

/// A partition is searched, and partial results are merged, over any floor.
fn floor() -> Target {
    let host = host();
    let queries = queries(&host);
    let corpus = queries.iter().enumerate().map(|(number, query)| numbered(number, &query.floor));
    Target::new("floor", corpus.collect(), move |bytes| {
        let Some((query, floor)) = chosen(&queries, bytes) else { return };
        let found = host.search_part(KEYS[1], &query.opened, floor);
        let between = host.merge(&query.opened, floor, &query.parts, false);
        assert_eq!(found.is_ok(), between.is_ok(), "a floor is read alike everywhere");
        let _ = black_box(host.merge(&query.opened, floor, &query.parts, true));
    })
    .costs(4)
}

/// Embeddings of two texts, put into tensors of every form. The numbers read are no more than the bytes.
fn embeddings() -> Target {
    let wanted = ["a", "b"].map(|text| EmbeddingWanted {
        embedder: String::new(),
        is_query: false,
        values: 4,
        text: text.to_owned(),
    });
    let types = [
        (CellType::Float, vec![("x", Some(4))]),
        (CellType::Int8, vec![("x", Some(1))]),
        (CellType::Float, vec![("t", None)]),
        (CellType::Bfloat16, vec![("p", None), ("x", Some(2))]),
        (CellType::Float, vec![("p", None), ("t", None), ("x", Some(2))]),
    ];
    let types = types.map(|(cell, dimensions)| {
        let dimensions = dimensions.into_iter().map(|(name, size)| Dimension { name: name.to_owned(), size });
        Arc::new(TensorType::new(cell, dimensions.collect()))
    });
    Target::new("embeddings", embedding_answers(), move |bytes| {
        let Ok(read) = Embeddings::read(&wanted, bytes) else { return };
        let found: Vec<&Embedding> = wanted.iter().filter_map(|wanted| read.get(wanted)).collect();
        let numbers = |embedding: &&Embedding| match embedding {
            Embedding::Vector(values) | Embedding::Rows(_, values) => values.len(),
            Embedding::Weights(weights) => weights.len(),
            Embedding::Text(text) => text.len() / 4,
        };
        assert!(4 * found.iter().map(numbers).sum::<usize>() <= bytes.len(), "more numbers than bytes");
        for target in &types {
            found.iter().for_each(|embedding| drop(black_box(tensor_of(target, embedding))));
            let _ = black_box(embedded_array(target, "p", &found));
        }
    })
}

/// Writes an embedding.
type Writing<'a> = &'a dyn Fn(&mut Writer);

/// Answers with an embedding of each kind.
fn embedding_answers() -> Vec<Vec<u8>> {
    let floats = |writer: &mut Writer, values: &[f32]| {
        writer.varint(values.len() as u64);
        values.iter().for_each(|value| writer.f32(*value));
    };
    let vector = |writer: &mut Writer| {
        writer.u8(1);
        floats(writer, &[0.5, -1.0, 1e9, 0.0, 1.0, 2.0, -3.0, 4.0]);
    };
    let rows = |writer: &mut Writer| {
        writer.u8(2);
        writer.varint(2);
        floats(writer, &[1.0, 2.0, 3.0, 4.0]);
    };
    let weights = |writer: &mut Writer| {
        writer.u8(3);
        writer.varint(2);
        for (label, weight) in [("lease", 1.5), ("", -2.0)] {
            writer.text(label);
            writer.f32(weight);
        }
    };
    let pairs: [[Writing; 2]; 3] = [[&vector, &rows], [&weights, &weights], [&rows, &vector]];
    let answer = |pair: [Writing; 2]| {
        let mut writer = Writer::new();
        writer.varint(2);
        pair.iter().for_each(|write| write(&mut writer));
        writer.finish()
    };
    pairs.map(answer).to_vec()
}
