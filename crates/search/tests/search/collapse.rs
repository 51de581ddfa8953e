//! Collapsed hits of random groups against a collapse of all documents one by one, however the merge is cut into steps.

use std::collections::HashMap;

use crate::host::Host;
use crate::random::Random;

const SD: &str = "schema t { document t {
    field n type int { indexing: attribute }
    field site type string { indexing: attribute }
    field topic type string { indexing: index }
} rank-profile default { first-phase { expression: attribute(n) } } }";
const GROUPS: usize = 4;

struct Row {
    id: String,
    n: usize,
    values: [Option<usize>; 2],
}

fn feed(random: &mut Random, host: &mut Host) -> Vec<Row> {
    let mut rows = Vec::new();
    for group in 0..GROUPS {
        for number in 0..random.below(30) {
            // Few numbers, so that many hits tie; and not every document has a value.
            let n = random.below(12);
            let values = [0; 2].map(|_| Some(random.below(7)).filter(|value| *value > 0));
            let named = ["site", "topic"].iter().zip(values);
            let named = named.filter_map(|(name, value)| Some(format!(",\"{name}\":\"v{}\"", value?)));
            let id = format!("id:n:t:g=g{group}:{number:02}");
            host.put(&id, &format!("{{\"n\":{n}{}}}", named.collect::<String>())).unwrap();
            rows.push(Row { id, n, values });
        }
        if random.below(2) == 0 {
            host.compact(&format!("g:g{group}"), 1);
        }
    }
    rows
}

/// The window of what is left, by looking at every row for every field.
fn collapsed<'r>(rows: &'r [Row], fields: &[(usize, usize)], (hits, offset): (usize, usize)) -> Vec<&'r str> {
    let mut left: Vec<&Row> = rows.iter().collect();
    left.sort_by(|a, b| b.n.cmp(&a.n).then_with(|| a.id.cmp(&b.id)));
    for (field, size) in fields {
        let mut seen: HashMap<usize, usize> = HashMap::new();
        left.retain(|row| {
            let Some(value) = row.values[*field] else { return true };
            *seen.entry(value).or_default() += 1;
            seen[&value] <= *size
        });
    }
    left.iter().skip(offset).take(hits).map(|row| row.id.as_str()).collect()
}

#[test]
fn hits_are_collapsed_as_one_by_one() {
    for case in 0..60 {
        let mut random = Random::new(case);
        let mut host = Host::with_schema("t", SD);
        let rows = feed(&mut random, &mut host);
        for _ in 0..8 {
            let window = (1 + random.below(12), random.below(4));
            let mut fields = vec![(0, 1 + random.below(3)), (1, 1 + random.below(3))];
            if random.below(2) == 0 {
                fields.swap(0, 1);
            }
            fields.truncate(1 + random.below(2));
            let names = ["site", "topic"];
            let asked: Vec<&str> = fields.iter().map(|(field, _)| names[*field]).collect();
            let sizes: Vec<(String, String)> = fields
                .iter()
                .map(|(field, size)| (format!("collapsesize.{}", names[*field]), size.to_string()))
                .collect();
            let (asked, hits, offset) = (asked.join(","), window.0.to_string(), window.1.to_string());
            let mut query = vec![
                ("yql", "select documentid from t where true"),
                ("streaming.selection", "true"),
                ("collapsefield", &asked),
                ("hits", &hits),
                ("offset", &offset),
            ];
            query.extend(sizes.iter().map(|(name, size)| (name.as_str(), size.as_str())));
            let answer = host.search_scoped(&query, "", "", 1 + random.below(GROUPS));
            assert_eq!(answer.status, 200, "{}", answer.body);
            let root = &answer.json["root"];
            let found: Vec<&str> =
                root["children"].as_array().into_iter().flatten().map(|hit| hit["id"].as_str().unwrap()).collect();
            assert_eq!(found, collapsed(&rows, &fields, window), "case {case}: {query:?}");
            assert_eq!(root["fields"]["totalCount"], rows.len());
        }
    }
}
