//! Walks the table of all parameters that the reference knows, test-vectors/parameters.json, and asserts of each what its
//! row says: that it is done (the answer is another than without it), has no effect in streaming mode (the answer is the
//! same), or is refused by name; that its other names mean the same; and that values which do not fit are refused.
//!
//! A row is `{"name", "aliases", "effect": "done", "none" or "refused", "takes": "text", "number", "switch" or "json",
//! "with": parameters beside it (null: without that of the base), "value", "bad": [[value, part of the message]…]}`.
use std::collections::BTreeMap;
use std::path::Path;

use brooklet_vectors::conversation::{Outcome, hold};
use serde_json::{Value as Json, json};

/// Parameters of a request.
type Parameters = BTreeMap<String, String>;

struct Walk {
    file: Json,
    failures: Vec<String>,
}

impl Walk {
    /// The answers to some requests.
    fn answers(&self, requests: &[(Parameters, String)]) -> Vec<Outcome> {
        let step = |(parameters, body): &(Parameters, String)| json!({"search": parameters, "body": body, "key": ""});
        let steps: Vec<Json> = requests.iter().map(step).collect();
        hold(&self.file, &json!({ "steps": steps }), true)
    }

    fn expect(&mut self, holds: bool, row: &Json, what: &str, outcome: &Outcome) {
        if !holds {
            let body: String = outcome.body.chars().take(400).collect();
            self.failures.push(format!("{}: {what}: {} {body}", row["name"], outcome.status));
        }
    }

    /// The request of a row without its parameter.
    fn without(&self, row: &Json) -> Parameters {
        let mut parameters = Parameters::new();
        for given in [&self.file["base"], &row["with"]] {
            for (name, value) in given.as_object().into_iter().flatten() {
                match value.as_str() {
                    Some(value) => parameters.insert(name.clone(), value.to_owned()),
                    None => parameters.remove(name),
                };
            }
        }
        parameters
    }

    fn row(&mut self, row: &Json) {
        let (name, effect) = (text(row, "name"), text(row, "effect"));
        let without = self.without(row);
        let with = |name: &str, value: &str| {
            let mut parameters = without.clone();
            parameters.insert(name.to_owned(), value.to_owned());
            (parameters, String::new())
        };
        let value = text(row, "value");
        let names = list(row, "aliases").iter().map(|alias| alias.as_str().expect("a name").to_owned());
        let names: Vec<String> = names
            .clone()
            .chain(names.filter(|name| !name.contains(['.', '$'])).map(|name| name.to_uppercase()))
            .collect();
        let mut requests = vec![(without.clone(), String::new()), with(name, value), with(name, "")];
        requests.extend(names.iter().map(|alias| with(alias, value)));
        let mut body = without.clone();
        body.remove(name);
        requests.extend(["[1]", "{\"a\":1}", "null"].map(|value| (body.clone(), format!("{{\"{name}\":{value}}}"))));
        requests.extend(list(row, "bad").iter().map(|bad| with(name, bad[0].as_str().expect("a value"))));
        let answers = self.answers(&requests);
        let (bare, full, empty) = (&answers[0], &answers[1], &answers[2]);
        match effect {
            "done" => self.expect(full != bare, row, "changes nothing", full),
            "none" => self.expect(full == bare && full.status == 200, row, "changes the answer", full),
            "refused" => self.expect(full.status == 400 && full.body.contains(name), row, "is not refused", full),
            other => panic!("no effect: {other}"),
        }
        for (alias, answer) in names.iter().zip(&answers[3..]) {
            let same = if effect == "refused" { answer.status == 400 } else { answer == full };
            self.expect(same, row, &format!("is not '{alias}'"), answer);
        }
        match text(row, "takes") {
            "number" => self.expect(empty == bare, row, "an empty number is one", empty),
            "switch" => {
                // What is in memory already is in a trace and among the times.
                let on = &self.answers(&[with(name, "true"), with(name, "true")])[1];
                self.expect(empty == on, row, "an empty switch is not on", empty);
            }
            _ => {}
        }
        let of_body = &answers[3 + names.len()..];
        for answer in of_body[..3].iter().filter(|_| effect == "done" && text(row, "takes") != "json") {
            let refused =
                answer.status == 400 && ["Could not set", "No field"].iter().any(|said| answer.body.contains(said));
            self.expect(refused, row, "takes JSON that is no value", answer);
        }
        for (bad, answer) in list(row, "bad").iter().zip(&of_body[3..]) {
            let says = answer.status == 400 && message(answer).contains(bad[1].as_str().expect("a message"));
            self.expect(says, row, &format!("does not refuse {}", bad[0]), answer);
        }
    }
}

fn text<'j>(row: &'j Json, member: &str) -> &'j str {
    row[member].as_str().unwrap_or_else(|| panic!("no text '{member}' in {row}"))
}

fn list<'j>(row: &'j Json, member: &str) -> &'j [Json] {
    row[member].as_array().map_or(&[], Vec::as_slice)
}

fn message(outcome: &Outcome) -> String {
    let body: Json = serde_json::from_str(&outcome.body).unwrap_or(Json::Null);
    body["root"]["errors"][0]["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn every_parameter_is_done_or_without_effect_or_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the vectors").join("parameters.json");
    let text = std::fs::read_to_string(path).expect("the table");
    let mut walk = Walk { file: serde_json::from_str(&text).expect("JSON"), failures: Vec::new() };
    let rows = walk.file["parameters"].as_array().expect("rows").clone();
    rows.iter().for_each(|row| walk.row(row));
    assert!(rows.len() > 100, "{} rows", rows.len());
    assert!(walk.failures.is_empty(), "{} failures:\n{}", walk.failures.len(), walk.failures.join("\n"));
}
