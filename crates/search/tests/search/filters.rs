//! Filters by numbers, and the nearest among what they leave, are those of a loop over plain documents: for every kind of
//! number, whatever share of a group a filter leaves, and however the group is cut into tail and segments.

use crate::host::{Host, ids, services};
use crate::random::{Random, config};
use brooklet_kernel::{Cells, Query, score_key};
use proptest::prelude::*;

const KEY: &str = "g:u";
const SIZE: usize = 16;
const METRICS: [&str; 2] = ["angular", "euclidean"];

/// A group's document: absent numbers are those a filter never finds.
struct Document {
    id: String,
    place: i64,
    flag: Option<bool>,
    tiny: Option<i8>,
    big: Option<i64>,
    ratio: Option<f32>,
    price: Option<f64>,
    cells: Vec<f32>,
}

/// A condition in YQL, and whether it holds for a document.
struct Filter {
    yql: String,
    holds: Box<dyn Fn(&Document) -> bool>,
}

fn filter(yql: impl Into<String>, holds: impl Fn(&Document) -> bool + 'static) -> Filter {
    Filter { yql: yql.into(), holds: Box::new(holds) }
}

fn schema() -> String {
    let number = |name: &str, kind: &str| format!("field {name} type {kind} {{ indexing: attribute }}\n");
    let vector = |metric: &str| {
        format!(
            "field {metric} type tensor<float>(x[{SIZE}]) {{
                indexing: attribute
                attribute {{ distance-metric: {metric} }}
            }}\n"
        )
    };
    let profile = |metric: &str| {
        format!(
            "rank-profile {metric} {{
                inputs {{ query(q) tensor<float>(x[{SIZE}]) }}
                first-phase {{ expression: closeness(field, {metric}) }}
            }}\n"
        )
    };
    let numbers = [
        ("place", "int"),
        ("flag", "bool"),
        ("tiny", "byte"),
        ("big", "long"),
        ("ratio", "float"),
        ("price", "double"),
    ];
    let fields: String = numbers.map(|(name, kind)| number(name, kind)).concat() + &METRICS.map(vector).concat();
    format!("schema item {{ document item {{ {fields} }} {} }}", METRICS.map(profile).concat())
}

fn documents(random: &mut Random, count: usize) -> Vec<Document> {
    let order = random.order(count);
    let document = |(number, place): (usize, usize)| {
        let mut random = Random::new(random.bits());
        let some = !random.once_in(8);
        let ratio = place as f32 / 8.0 - 10.0;
        Document {
            id: format!("id:t:item:g=u:{number:05}"),
            place: place as i64,
            flag: (!random.once_in(4)).then(|| random.once_in(2)),
            tiny: some.then(|| (random.below(256) as i32 - 128) as i8),
            big: (!random.once_in(8))
                .then(|| random.one_of(&[i64::MIN, -1, 0, i64::MAX, place as i64 * 5_000_000_000])),
            ratio: (!random.once_in(8)).then_some(ratio),
            price: (!random.once_in(8)).then(|| f64::from(ratio) * 1.1),
            cells: (0..SIZE).map(|_| random.gaussian() as f32).collect(),
        }
    };
    order.into_iter().enumerate().map(document).collect()
}

fn body(document: &Document) -> String {
    let mut fields = vec![format!("\"place\":{}", document.place)];
    fields.extend(document.flag.map(|flag| format!("\"flag\":{flag}")));
    fields.extend(document.tiny.map(|tiny| format!("\"tiny\":{tiny}")));
    fields.extend(document.big.map(|big| format!("\"big\":{big}")));
    fields.extend(document.ratio.map(|ratio| format!("\"ratio\":{ratio:?}")));
    fields.extend(document.price.map(|price| format!("\"price\":{price:?}")));
    fields.extend(METRICS.map(|metric| format!("\"{metric}\":{:?}", document.cells)));
    format!("{{{}}}", fields.join(","))
}

/// What leaves nothing, one document, a hundredth, a tenth, half and all, by each kind of number.
fn filters(random: &mut Random, count: usize) -> Vec<Filter> {
    let mut filters = Vec::new();
    for share in [0, 1, count.div_ceil(100), count.div_ceil(10), count / 2, count] {
        let low = random.below(count + 1 - share.min(count)) as i64;
        let high = low + share as i64;
        filters.push(filter(format!("(place >= {low} and place < {high})"), move |of| (low..high).contains(&of.place)));
        let (from, to) = (low as f32 / 8.0 - 10.0, high as f32 / 8.0 - 10.0);
        filters.push(filter(format!("range(ratio, {from:?}, {to:?})"), move |of| {
            of.ratio.is_some_and(|ratio| (from..=to).contains(&ratio))
        }));
        filters.push(filter(format!("range(price, {from:?}, {to:?})"), move |of| {
            of.price.is_some_and(|price| (f64::from(from)..=f64::from(to)).contains(&price))
        }));
        let (least, most) = (low * 5_000_000_000, high * 5_000_000_000);
        filters.push(filter(format!("range(big, {least}L, {most}L)"), move |of| {
            of.big.is_some_and(|big| (least..=most).contains(&big))
        }));
        let list: Vec<i64> = (low..high.min(low + 40)).step_by(1 + random.below(3)).collect();
        if !list.is_empty() {
            let texts: Vec<String> = list.iter().map(i64::to_string).collect();
            let holds = move |of: &Document| list.contains(&of.place);
            filters.push(filter(format!("place in ({})", texts.join(",")), holds));
        }
    }
    let (low, high) = (random.below(400) as i64 - 200, random.below(400) as i64 - 200);
    filters.push(filter(format!("range(tiny, {low}L, {high}L)"), move |of| {
        of.tiny.is_some_and(|tiny| (low..=high).contains(&i64::from(tiny)))
    }));
    filters.push(filter("tiny > 127", |_| false));
    filters.push(filter("tiny >= -128", |of| of.tiny.is_some()));
    filters.push(filter("flag = true", |of| of.flag == Some(true)));
    filters.push(filter("!(place < 10)", |of| of.place >= 10));
    filters
}

/// The nearest of what a filter leaves: farther ones, and of those as far the one with the larger id, come later.
fn nearest<'d>(metric: &str, query: &[f64], left: &[&'d Document], hits: usize) -> Vec<&'d str> {
    let query = Query::new(Cells::Float32, query);
    let mut measured: Vec<(u64, &str)> = Vec::new();
    for document in left {
        let mut row = Vec::new();
        document.cells.iter().for_each(|cell| Cells::Float32.write(f64::from(*cell), &mut row));
        let distance = if metric == "angular" { 1.0 - query.cosine(&row) } else { query.squared_euclidean(&row) };
        measured.push((score_key(distance), &document.id));
    }
    measured.sort_unstable();
    measured.into_iter().take(hits).map(|(_, id)| id).collect()
}

fn finds_what_a_loop_finds(count: usize, folds: usize, resident: bool, seed: u64) {
    let mut random = Random::new(seed);
    let mut host = Host::new(
        &[("services.xml", &services(&["item"])), ("schemas/item.sd", &schema())],
        if resident { 64 << 20 } else { 0 },
    );
    let mut documents = documents(&mut random, count);
    for (number, document) in documents.iter().enumerate() {
        host.put(&document.id, &body(document)).unwrap();
        if folds > 0 && (number + 1) % count.div_ceil(folds) == 0 {
            host.compact(KEY, 1);
        }
    }
    documents.retain(|document| {
        let stays = !random.once_in(10);
        if !stays {
            host.remove(&document.id).unwrap();
        }
        stays
    });
    let query: Vec<f64> = (0..SIZE).map(|_| f64::from(random.gaussian() as f32)).collect();
    let given = format!("{query:?}");
    for Filter { yql, holds } in filters(&mut random, count) {
        let left: Vec<&Document> = documents.iter().filter(|document| holds(document)).collect();
        let asked = format!("select * from item where {yql} limit 400");
        let answer = host.search(KEY, &[("yql", &asked), ("ranking", "unranked"), ("timeout", "60s")]);
        assert_eq!(answer.status, 200, "{yql}: {}", answer.json);
        assert_eq!(answer.json["root"]["fields"]["totalCount"], left.len(), "{yql}");
        let hits = 1 + random.below(20);
        for metric in METRICS {
            let near = format!("{{targetHits: {hits}}}nearestNeighbor({metric}, q)");
            let asked = format!("select * from item where {near} and {yql} limit 400");
            let parameters =
                [("yql", asked.as_str()), ("ranking", metric), ("input.query(q)", &given), ("timeout", "60s")];
            let answer = host.search(KEY, &parameters);
            assert_eq!(answer.status, 200, "{yql}: {}", answer.json);
            assert_eq!(ids(&answer), nearest(metric, &query, &left, hits), "{metric}, {yql}");
        }
    }
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn filters_leave_what_a_loop_leaves(count in 1usize..400, folds in 0usize..4, resident: bool, seed: u64) {
        finds_what_a_loop_finds(count, folds, resident, seed);
    }
}

/// Several pieces of a scan, whose last is not whole.
#[test]
fn filters_leave_what_a_loop_leaves_of_many() {
    finds_what_a_loop_finds(2_500, 1, true, 7);
    finds_what_a_loop_finds(1_300, 3, false, 8);
}
