//! Max-sim page by page over a document of a hundred pages, packed and as it is, against the same over plain numbers.

use crate::host::Host;
use crate::random::Random;

const PAGES: usize = 100;
const TOKENS: usize = 330;
const BYTES: usize = 16;
const QUERY: usize = 32;
const SCHEMA: &str = "schema t {
    document t {
        field packed type tensor<int8>(context{}, token{}, v[16]) { indexing: attribute }
        field halves type tensor<bfloat16>(token{}, zone{}, v[4]) { indexing: attribute }
    }
    rank-profile pages {
        inputs {
            query(qt) tensor<float>(querytoken{}, v[128])
            query(qh) tensor<float>(querytoken{}, v[4])
        }
        function by_page() {
            expression: sum(reduce(sum(query(qt) * unpack_bits(attribute(packed)), v), max, token), querytoken)
        }
        function by_zone() { expression: reduce(sum(reduce(sum(query(qh) * attribute(halves), v), max, token), querytoken), max) }
        first-phase {
            expression: reduce(sum(reduce(sum(query(qt) * unpack_bits(attribute(packed)), v), max, token), querytoken), max, context)
        }
        match-features { by_page by_zone }
    }
}";

fn numbers(row: &[i32]) -> String {
    row.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

/// For each group the sum over the query's rows of the largest product with a row of the group: of small whole numbers,
/// which no order of additions rounds.
fn best_sums(query: &[Vec<i32>], groups: &[Vec<Vec<i32>>]) -> Vec<f64> {
    let dot = |a: &[i32], b: &[i32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i32>();
    let best = |row: &Vec<i32>, group: &[Vec<i32>]| group.iter().map(|other| dot(row, other)).max().unwrap_or(0);
    groups.iter().map(|group| f64::from(query.iter().map(|row| best(row, group)).sum::<i32>())).collect()
}

#[test]
fn a_document_of_a_hundred_pages_ranks() {
    let mut random = Random::new(7);
    let mut rows = |count: usize, size: usize, most: usize| -> Vec<Vec<i32>> {
        let half = most as i32 / 2;
        (0..count).map(|_| (0..size).map(|_| random.below(most) as i32 - half).collect()).collect()
    };
    let (query, short) = (rows(QUERY, 8 * BYTES, 5), rows(3, 4, 9));
    let pages: Vec<Vec<Vec<i32>>> = (0..PAGES).map(|_| rows(TOKENS, BYTES, 256)).collect();
    let zones: Vec<Vec<Vec<i32>>> = (0..3).map(|_| rows(5, 4, 9)).collect();
    let blocks = |groups: &[Vec<Vec<i32>>], name: &str| {
        let block = |(group, token, row): (usize, usize, &Vec<i32>)| {
            let values = numbers(row);
            format!(r#"{{"address":{{"{name}":"{group}","token":"{token}"}},"values":[{values}]}}"#)
        };
        let all = groups.iter().enumerate();
        let all = all.flat_map(|(group, rows)| rows.iter().enumerate().map(move |(token, row)| (group, token, row)));
        all.map(block).collect::<Vec<_>>().join(",")
    };
    let mut host = Host::with_schema("t", SCHEMA);
    let (packed, halves) = (blocks(&pages, "context"), blocks(&zones, "zone"));
    let fields = format!(r#"{{"packed":{{"blocks":[{packed}]}},"halves":{{"blocks":[{halves}]}}}}"#);
    host.put("id:t:t:g=u:1", &fields).expect("a put");
    host.put("id:t:t:g=u:2", "{}").expect("a put");
    let unpack = |row: &Vec<i32>| -> Vec<i32> {
        row.iter().flat_map(|byte| (0..8).map(move |bit| (*byte as u8 >> (7 - bit)) as i32 & 1)).collect()
    };
    let unpacked: Vec<Vec<Vec<i32>>> = pages.iter().map(|page| page.iter().map(unpack).collect()).collect();
    let (by_page, by_zone) = (best_sums(&query, &unpacked), best_sums(&short, &zones));
    let largest = |sums: &[f64]| sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let input = |rows: &[Vec<i32>]| {
        let row = |(at, row): (usize, &Vec<i32>)| format!("q{at}:[{}]", numbers(row));
        format!("{{{}}}", rows.iter().enumerate().map(row).collect::<Vec<_>>().join(","))
    };
    let (qt, qh) = (input(&query), input(&short));
    let parameters = [
        ("yql", "select * from t where true"),
        ("ranking", "pages"),
        ("input.query(qt)", qt.as_str()),
        ("input.query(qh)", qh.as_str()),
        ("presentation.format.tensors", "short-value"),
    ];
    for is_folded in [false, true] {
        if is_folded {
            host.compact("g:u", 1);
        }
        let answer = host.search("g:u", &parameters);
        let root = &answer.json["root"];
        assert!(root["errors"].is_null(), "{}", root["errors"]);
        let hit = &root["children"][0];
        let features = &hit["fields"]["matchfeatures"];
        assert_eq!(hit["relevance"].as_f64(), Some(largest(&by_page)), "folded: {is_folded}");
        assert_eq!(features["by_zone"].as_f64(), Some(largest(&by_zone)));
        for (page, expected) in by_page.iter().enumerate() {
            assert_eq!(features["by_page"][page.to_string()].as_f64(), Some(*expected), "page {page}: {features}");
        }
        let empty = &root["children"][1];
        assert_eq!(
            (empty["relevance"].as_f64(), features["by_page"].as_object().map(|of| of.len())),
            (Some(0.0), Some(PAGES))
        );
    }
}
