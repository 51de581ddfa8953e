//! Features of a document's values over odd values (none, NaN, infinities, zeros of either sign, the ends of whole numbers,
//! weights below zero) against a naive twin: every field is there twice, as a column and within the document alone, and
//! folded documents are mixed with those of the tail. `PROPTEST_CASES` says how many documents are asked about.

use crate::host::{Host, services};
use crate::random::Random;
use serde_json::{Map, Value as Json, json};

const NOW: i64 = 1_790_000_000;
const SINGLE: [(&str, &str); 6] =
    [("b", "byte"), ("i", "int"), ("l", "long"), ("f", "float"), ("d", "double"), ("t", "bool")];
const SEVERAL: [(&str, &str); 6] =
    [("ab", "byte"), ("ai", "int"), ("al", "long"), ("af", "float"), ("ad", "double"), ("as", "string")];
const SETS: [(&str, &str); 2] = [("ws", "string"), ("wi", "int")];
const WORDS: [&str; 5] = ["a", "b", "c", "é", "x y"];
const DOUBLES: [f64; 10] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 0.1, 1.5, -2.25, 1e30, 16_777_217.0];
/// By key and by index.
const VECTORS: [(&str, &str); 2] = [("v", "{a:2,b:-3.5,é:4,1:5,-7:0.5}"), ("w", "[2 -1 0.5]")];
const KEYS: [(&str, f64); 5] = [("a", 2.0), ("b", -3.5), ("é", 4.0), ("1", 5.0), ("-7", 0.5)];
const ORDERED: [f64; 3] = [2.0, -1.0, 0.5];

/// A document: values by field, of sets with their weights.
struct Document {
    id: String,
    single: Vec<Option<Json>>,
    several: Vec<Vec<Json>>,
    sets: Vec<Vec<(String, i32)>>,
}

fn value(random: &mut Random, of: &str) -> Json {
    match of {
        "byte" => json!(random.one_of(&[127, -128, 0, 1, -7])),
        "int" => json!(random.one_of(&[i32::MAX, i32::MIN, 0, 1, -7])),
        "long" => json!(random.one_of(&[i64::MAX, i64::MIN + 1, 0, -7, NOW, NOW - 100, NOW + 100, NOW - 3_000_000])),
        "bool" => json!(random.once_in(2)),
        "string" => json!(random.one_of(&WORDS)),
        kind => match random.one_of(&DOUBLES) {
            value if value.is_nan() => json!("NaN"),
            value if value.is_infinite() => json!(if value > 0.0 { "Infinity" } else { "-Infinity" }),
            value if kind == "float" => json!(f64::from(value as f32)),
            value => json!(value),
        },
    }
}

fn number(value: &Json) -> f64 {
    match value {
        Json::Bool(flag) => f64::from(u8::from(*flag)),
        Json::String(text) => text.parse().unwrap(),
        Json::Number(number) => number.as_i64().map_or_else(|| number.as_f64().unwrap(), |whole| whole as f64),
        _ => f64::NAN,
    }
}

impl Document {
    fn random(random: &mut Random, at: usize) -> Document {
        let single = SINGLE.iter().map(|(_, of)| (!random.once_in(4)).then(|| value(random, of))).collect();
        let several = SEVERAL.iter().map(|(_, of)| (0..random.below(4)).map(|_| value(random, of)).collect()).collect();
        let set = |(_, of): &(&str, &str), random: &mut Random| {
            let keys: &[&str] = if *of == "int" { &["1", "-7", "2147483647"] } else { &WORDS };
            let kept: Vec<&str> = keys.iter().copied().filter(|_| random.once_in(2)).collect();
            kept.into_iter().map(|key| (key.to_owned(), random.one_of(&[1, -3, 0, 7, i32::MAX]))).collect()
        };
        let sets = SETS.iter().map(|of| set(of, random)).collect();
        Document { id: format!("id:s:d:g=a:{at:03}"), single, several, sets }
    }

    fn json(&self) -> String {
        let mut fields = Map::new();
        let mut add = |name: &str, value: Json| {
            fields.insert(name.to_owned(), value.clone());
            fields.insert(format!("{name}x"), value);
        };
        for ((name, _), value) in SINGLE.iter().zip(&self.single) {
            value.iter().for_each(|value| add(name, value.clone()));
        }
        for ((name, _), values) in SEVERAL.iter().zip(&self.several) {
            add(name, values.clone().into());
        }
        for ((name, _), entries) in SETS.iter().zip(&self.sets) {
            add(name, entries.iter().map(|(key, weight)| (key.clone(), json!(weight))).collect::<Map<_, _>>().into());
        }
        Json::Object(fields).to_string()
    }

    /// All features with their values, but for what stands behind the name of the field.
    fn features(&self, suffix: &str) -> Vec<(String, f64)> {
        let mut found = Vec::new();
        for ((name, _), value) in SINGLE.iter().zip(&self.single) {
            let value = value.as_ref().map_or(f64::NAN, number);
            found.push((format!("attribute({name}{suffix})"), value));
            if *name == "l" {
                let age = if value.is_nan() { 9.22e18 } else { (NOW as f64 - value).max(0.0) };
                found.push((format!("age({name}{suffix})"), age));
                found.push((format!("freshness({name}{suffix})"), (1.0 - age / 7_776_000.0).max(0.0)));
                let (most, half) = (7_776_000.0, 604_800.0);
                let scale = half * half / (most - 2.0 * half);
                let ends = f64::ln(most + scale) - f64::ln(scale);
                let place = f64::ln(most + scale) - (age.min(most) + scale).ln();
                found.push((format!("freshness({name}{suffix}).logscale"), place / ends));
            }
        }
        for ((name, of), values) in SEVERAL.iter().zip(&self.several) {
            found.push((format!("attribute({name}{suffix}).count"), values.len() as f64));
            if *of == "string" {
                continue;
            }
            for at in 0..3 {
                found.push((format!("attribute({name}{suffix},{at})"), values.get(at).map_or(0.0, number)));
            }
            // In the order of the elements, and without those that are not there.
            let products = values.iter().zip(ORDERED).map(|(value, weight)| number(value) * weight);
            found.push((format!("dotProduct({name}{suffix},w)"), products.sum()));
        }
        for ((name, _), entries) in SETS.iter().zip(&self.sets) {
            found.push((format!("attribute({name}{suffix}).count"), entries.len() as f64));
            let weight = |key: &str| entries.iter().find(|(known, _)| known == key).map(|(_, weight)| *weight);
            for key in if *name == "wi" { ["1", "-7"] } else { ["a", "c"] } {
                let has = weight(key).is_some();
                let feature = format!("attribute({name}{suffix},{key})");
                found.push((format!("{feature}.weight"), weight(key).map_or(0.0, f64::from)));
                found.push((format!("{feature}.contains"), f64::from(u8::from(has))));
            }
            let products = KEYS.iter().map(|(key, of)| weight(key).map_or(0.0, |weight| f64::from(weight) * of));
            found.push((format!("dotProduct({name}{suffix},v)"), products.sum()));
        }
        found
    }
}

fn host() -> Host {
    let mut fields = String::new();
    for (suffix, indexing) in [("", "attribute"), ("x", "summary")] {
        SINGLE
            .iter()
            .for_each(|(name, of)| fields += &format!("field {name}{suffix} type {of} {{ indexing: {indexing} }}\n"));
        for (name, of) in SEVERAL {
            fields += &format!("field {name}{suffix} type array<{of}> {{ indexing: {indexing} }}\n");
        }
        for (name, of) in SETS {
            fields += &format!("field {name}{suffix} type weightedset<{of}> {{ indexing: {indexing} }}\n");
        }
    }
    let document =
        Document { id: String::new(), single: vec![None; 6], several: vec![vec![]; 6], sets: vec![vec![]; 2] };
    let features: Vec<String> =
        ["", "x"].iter().flat_map(|suffix| document.features(suffix)).map(|(feature, _)| feature).collect();
    let sd = format!(
        "schema d {{ document d {{ {fields} }} rank-profile all {{
            first-phase {{ expression: 0 }}
            match-features {{ {} }} }} }}",
        features.join("\n")
    );
    let services = services(&["d"]);
    Host::new(&[("services.xml", &services), ("schemas/d.sd", &sd)], 16 << 20)
}

fn is_near(found: f64, wanted: f64) -> bool {
    // The age of what has no time is about as long as there are seconds.
    let share = if wanted > 9.2e18 { 0.01 } else { 1e-6 };
    let is_same = found == wanted || (found.is_nan() && wanted.is_nan());
    is_same || (wanted.is_finite() && (found - wanted).abs() <= share * wanted.abs())
}

#[test]
fn features_of_odd_values_are_those_of_a_naive_twin() {
    let cases = std::env::var("PROPTEST_CASES").map_or(400, |text| text.parse().unwrap());
    let mut differing = Vec::new();
    for case in 0..u64::div_ceil(cases, 40) {
        let mut random = Random::new(case);
        let mut host = host();
        let documents: Vec<Document> = (0..40).map(|at| Document::random(&mut random, at)).collect();
        for document in &documents {
            host.put(&document.id, &document.json()).unwrap();
            if random.once_in(15) {
                host.compact("g:a", 1);
            }
        }
        let mut parameters = vec![("yql", "select * from d where true"), ("ranking", "all"), ("hits", "100")];
        let names = VECTORS.map(|(name, _)| format!("ranking.properties.dotProduct.{name}"));
        parameters.extend(names.iter().zip(VECTORS).map(|(name, (_, vector))| (name.as_str(), vector)));
        let answer = host.search("g:a", &parameters);
        assert_eq!(answer.status, 200, "{}", answer.body);
        for hit in answer.json["root"]["children"].as_array().unwrap() {
            let document = documents.iter().find(|document| hit["id"] == document.id.as_str()).unwrap();
            for (feature, wanted) in ["", "x"].iter().flat_map(|suffix| document.features(suffix)) {
                let found = &hit["fields"]["matchfeatures"][&feature];
                if !is_near(number(found), wanted) {
                    differing.push(format!("{feature} of {}: {found}, not {wanted}", document.json()));
                }
            }
        }
    }
    let mut kinds: Vec<&str> = differing.iter().map(|about| about.split(' ').next().unwrap()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert!(
        differing.is_empty(),
        "{} differ, of {kinds:?}:\n{}",
        differing.len(),
        differing[..differing.len().min(5)].join("\n")
    );
}
