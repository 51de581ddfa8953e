//! Compares an answer with what is expected of it.
mod cbor;

use brooklet_vectors::conversation::Outcome;
use serde_json::Value as Json;

const TOLERANCE: f64 = 1e-6;

/// What differs, if anything does. An expectation that says nothing is one too.
pub fn check(expected: &Json, outcome: &Outcome) -> Option<String> {
    let Some(expected) = expected.as_object().filter(|expected| !expected.is_empty()) else {
        return Some("nothing is expected".to_owned());
    };
    let status = expected.get("status").map_or(Some(200), Json::as_u64);
    if status != Some(u64::from(outcome.status)) {
        return Some(format!("status {}, not {status:?}", outcome.status));
    }
    let body = serde_json::from_str(&outcome.body).ok().or_else(|| cbor::read(&outcome.body)).unwrap_or(Json::Null);
    expected.iter().find_map(|(name, wanted)| check_one(name, wanted, outcome, &body))
}

fn check_one(name: &str, wanted: &Json, outcome: &Outcome, body: &Json) -> Option<String> {
    let differs = |found: Json| (found != *wanted).then(|| format!("{name}: {found}, not {wanted}"));
    match name {
        "status" => None,
        "ids" => differs(local_ids(body, false)),
        "matching" => differs(local_ids(body, true)),
        "total" => differs(body["root"]["fields"]["totalCount"].clone()),
        "rounds" => differs(Json::from(outcome.rounds.clone())),
        "relevance" => {
            let found = hits(body).iter().map(|hit| hit["relevance"].clone()).collect();
            difference(wanted, &Json::Array(found), "relevance")
        }
        "groups" => {
            let found = hits(body).iter().filter(|child| child["id"].as_str().unwrap_or("").starts_with("group:root:"));
            difference(wanted, &found.map(contents).collect(), "groups")
        }
        "error" => difference(wanted, &body["root"]["errors"][0], "error"),
        "fields" | "exactly" => of_hits(name == "exactly", wanted, body),
        "body" => difference(wanted, body, "body"),
        "is" => differs(body.clone()),
        "text" => differs(Json::from(outcome.body.as_str())),
        "says" => {
            let said = messages(outcome, body);
            wanted
                .as_str()
                .filter(|part| said.contains(*part))
                .is_none()
                .then(|| format!("says {said:?}, not {wanted}"))
        }
        "refused" => differs(Json::from(outcome.body.split(": ").next())),
        "message" => differs(Json::from(outcome.body.split_once(": ").map(|(_, message)| message))),
        "absent" => {
            let pointers = wanted.as_array().expect("a list of pointers").iter().filter_map(Json::as_str);
            pointers
                .filter(|place| body.pointer(&format!("/{place}")).is_some())
                .map(|pointer| format!("{pointer} is there"))
                .next()
        }
        other => Some(format!("'{other}' cannot be expected")),
    }
}

/// The children of the root: hits and, behind them, groups.
fn hits(body: &Json) -> &[Json] {
    body["root"]["children"].as_array().map_or(&[], Vec::as_slice)
}

/// A group in short: its fields, and by label its lists, of hits the local ids and of groups pairs of an id and a group.
fn contents(group: &Json) -> Json {
    let mut short = group["fields"].as_object().cloned().unwrap_or_default();
    for list in group["children"].as_array().into_iter().flatten() {
        let elements = list["children"].as_array().into_iter().flatten();
        let is_hits = list["id"].as_str().is_some_and(|id| id.starts_with("hitlist:"));
        let element = |element: &Json| match element["id"].as_str().and_then(|id| id.strip_prefix("group:")) {
            Some(id) if !is_hits => Json::from(vec![Json::from(id), contents(element)]),
            _ => Json::from(local_id(element)),
        };
        short.insert(list["label"].as_str().unwrap_or_default().to_owned(), elements.map(element).collect());
    }
    Json::Object(short)
}

fn local_id(hit: &Json) -> &str {
    hit["id"].as_str().and_then(|id| id.rsplit(':').next()).unwrap_or_default()
}

fn local_ids(body: &Json, sorted: bool) -> Json {
    let mut ids: Vec<&str> = hits(body).iter().map(local_id).collect();
    if sorted {
        ids.sort_unstable();
    }
    Json::from(ids)
}

/// The messages of an answer: of a search its errors', of a document its own, else all of it.
fn messages(outcome: &Outcome, body: &Json) -> String {
    let errors = body["root"]["errors"].as_array().into_iter().flatten();
    let said: Vec<&str> = errors.chain([body]).filter_map(|of| of["message"].as_str()).collect();
    if body.is_null() { outcome.body.clone() } else { said.join("\n") }
}

fn of_hits(exactly: bool, wanted: &Json, body: &Json) -> Option<String> {
    wanted.as_object().expect("fields by local id").iter().find_map(|(local, wanted)| {
        let Some(hit) = hits(body).iter().find(|hit| local_id(hit) == local) else {
            return Some(format!("no hit {local}"));
        };
        let found = &hit["fields"];
        let more =
            found.as_object().map_or(0, serde_json::Map::len) != wanted.as_object().map_or(0, serde_json::Map::len);
        difference(wanted, found, local)
            .or_else(|| (exactly && more).then(|| format!("{local} has other fields: {found}")))
    })
}

/// The first difference between what is expected and what was found; members that are not expected are no difference.
fn difference(wanted: &Json, found: &Json, path: &str) -> Option<String> {
    match (wanted, found) {
        (Json::Object(wanted), Json::Object(found)) => wanted.iter().find_map(|(name, wanted)| {
            difference(wanted, found.get(name).unwrap_or(&Json::Null), &format!("{path}.{name}"))
        }),
        (Json::Array(wanted), Json::Array(found)) if wanted.len() == found.len() => {
            let pairs = wanted.iter().zip(found).enumerate();
            pairs.into_iter().find_map(|(at, (wanted, found))| difference(wanted, found, &format!("{path}[{at}]")))
        }
        (Json::Number(wanted), Json::Number(found)) if wanted == found => None,
        (Json::Number(wanted), Json::Number(found)) if !(wanted.is_i64() && found.is_i64()) => {
            let (wanted, found) = (wanted.as_f64()?, found.as_f64()?);
            let near = (wanted - found).abs() <= TOLERANCE * wanted.abs().max(1.0);
            (!near).then(|| format!("{path}: {found}, not {wanted}"))
        }
        (wanted, found) => (wanted != found).then(|| format!("{path}: {found}, not {wanted}")),
    }
}
