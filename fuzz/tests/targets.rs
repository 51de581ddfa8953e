//! Every target: its regressions, its corpus, and `BROOKLET_FUZZ_INPUTS` changed inputs (20,000 for a cheap target,
//! fewer for a dear one), from the seed `BROOKLET_FUZZ_SEED`. What was run is added to the file `BROOKLET_FUZZ_LEDGER`, a line of JSON
//! for each target: `node tools/fuzz-ledger.mjs` sums them up.
use std::io::Write;
use std::time::Duration;

use brooklet_fuzz::{run, targets};

/// No input may take longer; a tenth of it is what we hold ourselves to on a machine that does nothing else.
const INPUT_TIME_MAX: Duration = Duration::from_secs(1);

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

fn check(name: &str) {
    let mut target = targets().into_iter().find(|target| target.name == name).expect("a target of this name");
    let inputs = number("BROOKLET_FUZZ_INPUTS", 20_000) as usize / target.cost;
    let report = run(&mut target, inputs, number("BROOKLET_FUZZ_SEED", 1));
    println!("{name}: {} inputs, the slowest {:?}", report.inputs, report.slowest);
    if let Some(input) = report.failed {
        panic!("{name} panicked on {}", kept(name, &input));
    }
    let slow = report.slowest > INPUT_TIME_MAX;
    assert!(!slow, "{name} took {:?} for {}", report.slowest, kept(name, &report.slowest_input));
    if let Ok(path) = std::env::var("BROOKLET_FUZZ_LEDGER") {
        enter(&path, name, report.inputs);
    }
}

/// Adds a run that found nothing to a ledger. A line is one write, so that targets that run at a time do not mix.
fn enter(path: &str, name: &str, inputs: usize) {
    let (release, seed) = (env!("CARGO_PKG_VERSION"), number("BROOKLET_FUZZ_SEED", 1));
    let line = format!("{{\"release\":\"{release}\",\"target\":\"{name}\",\"inputs\":{inputs},\"seed\":{seed}}}\n");
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("the ledger can be opened");
    file.write_all(line.as_bytes()).expect("the ledger can be written");
}

/// Writes an input beside the build, to be moved to `regressions/` once it is understood.
fn kept(name: &str, input: &[u8]) -> String {
    let path = format!("{}/{name}.input", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, input).expect("the build's folder can be written");
    format!("{path}: {:?}", String::from_utf8_lossy(&input[..input.len().min(300)]))
}

macro_rules! check_each {
    ($($test:ident = $name:literal),* $(,)?) => {
        $(#[test] fn $test() { check($name); })*

        #[test]
        fn every_target_is_tested() {
            let named = [$($name),*];
            assert_eq!(targets().iter().map(|target| target.name).collect::<Vec<_>>(), named);
        }
    };
}

check_each! {
    document_id = "document-id",
    document_json = "document-json",
    feed_operation = "feed-operation",
    feed_chunk = "feed-chunk",
    tensor_type = "tensor-type",
    tensor_literal = "tensor-literal",
    tensor_json = "tensor-json",
    stored_fields = "stored-fields",
    encode_request = "encode-request",
    selection = "selection",
    update = "update",
    partial = "partial",
    partial_groups = "partial-groups",
    floor = "floor",
    embeddings = "embeddings",
    model_runs = "model-runs",
    yql = "yql",
    select = "select",
    simple_query = "simple-query",
    sorting = "sorting",
    request_body = "request-body",
    grouping = "grouping",
    json_grouping = "json-grouping",
    lightgbm = "lightgbm",
    xgboost = "xgboost",
    rank_feature = "rank-feature",
    rank_expression = "rank-expression",
    schema = "schema",
    mail_schema = "mail-schema",
    services = "services",
    validation_overrides = "validation-overrides",
    query_profile = "query-profile",
    query_profile_type = "query-profile-type",
    package = "package",
    significance_model = "significance-model",
    constant_json = "constant-json",
    constant_lz4 = "constant-lz4",
    onnx_signature = "onnx-signature",
    search_query = "search-query",
    search_request = "search-request",
    matches = "matches",
    first_phase = "first-phase",
    visit_selection = "visit-selection",
    visit_field_set = "visit-field-set",
    segment_header = "segment-header",
    sealed_block = "sealed-block",
    packed_block = "packed-block",
    segment_blocks = "segment-blocks",
    columns = "columns",
    stored_operation = "stored-operation",
    manifest = "manifest",
    group_facts = "group-facts",
    text = "text",
    stem = "stem",
    chunks = "chunks",
    pieces = "pieces",
    snippets = "snippets",
}

/// Every folder of regressions belongs to a target, and is not empty.
#[test]
fn regressions_are_tried() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/regressions");
    let names: Vec<&str> = targets().iter().map(|target| target.name).collect();
    for entry in std::fs::read_dir(folder).expect("the folder of regressions") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            assert!(names.contains(&name), "no target {name}");
            assert!(std::fs::read_dir(&path).is_ok_and(|mut inputs| inputs.next().is_some()), "{name} is empty");
        }
    }
}
