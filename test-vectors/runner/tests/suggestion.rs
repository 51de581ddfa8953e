//! What misspelt names are meant to be: the rows of `suggestion.jsonl`, which `packages/wire` answers alike.
use brooklet_task::{did_you_mean, nearest_name};

#[test]
fn misspelt_names_are_meant_to_be_those_of_the_rows() {
    for line in include_str!("../../suggestion.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("a row");
        let text = |name: &str| row[name].as_str().expect("a text");
        let known = || row["known"].as_array().expect("names").iter().filter_map(|known| known.as_str());
        assert_eq!(nearest_name(text("name"), known()).unwrap_or_default(), text("near"), "{line}");
        let hint = did_you_mean(text("name"), known());
        assert_eq!(hint.trim_start_matches("; did you mean '").trim_end_matches("'?"), text("near"), "{line}");
    }
}
