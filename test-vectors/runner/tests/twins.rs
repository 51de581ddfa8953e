//! Rules that stand in Rust and in TypeScript: both answer the same rows.
use brooklet_document::{shard_hash, shown_id};
use brooklet_task::{did_you_mean, nearest_name};
use serde_json::Value;

fn rows(lines: &str) -> impl Iterator<Item = Value> {
    lines.lines().map(|line| serde_json::from_str(line).expect("a row"))
}

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().expect("a text")
}

#[test]
fn misspelt_names_are_meant_to_be_the_near_ones() {
    for row in rows(include_str!("../../suggestion.jsonl")) {
        let known = || row["known"].as_array().expect("names").iter().filter_map(Value::as_str);
        let (name, near) = (text(&row, "name"), text(&row, "near"));
        assert_eq!(nearest_name(name, known()).unwrap_or_default(), near, "{row}");
        let hint = did_you_mean(name, known());
        assert_eq!(hint.trim_start_matches("; did you mean '").trim_end_matches("'?"), near, "{row}");
    }
}

/// A fact on disk.
#[test]
fn documents_are_in_shards_by_these_hashes() {
    for row in rows(include_str!("../../shard.jsonl")) {
        assert_eq!(row["hash"], shard_hash(&shown_id(text(&row, "document"))), "{row}");
    }
}
