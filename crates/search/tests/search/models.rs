//! ONNX models in rank profiles: what is refused at deploy, which runs a query wants, and what becomes of their outputs.
//! The models are functions of this test; the host runs them while the search waits.

use crate::host::model_runs::{self, FLOAT, Search, Wanted};
use crate::host::{Answer, Host, SearchStage, services};
use brooklet_schema::Application;
use brooklet_search::Deployed;
use brooklet_task::Rejection;
use brooklet_task::bytes::Writer;

const INT64: u8 = 7;

fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.varint(u64::from(number) << 3 | 2);
    writer.bytes(content);
    writer.finish()
}

/// A tensor whose numbers are in another file.
fn elsewhere() -> Vec<u8> {
    field(13, &[field(1, b"location"), field(2, b"../../etc/passwd")].concat())
}

/// A graph within so many graphs of a node, one in the attribute of a node of the next.
fn graphs(inner: &[u8], depth: usize) -> Vec<u8> {
    (0..depth).fold(inner.to_vec(), |graph, at| {
        let attribute = field(5, &field(6, &graph));
        if at + 1 == depth { attribute } else { field(1, &attribute) }
    })
}

fn number(field: u8, value: u8) -> Vec<u8> {
    vec![field << 3, value]
}

/// An input or output; sizes are numbers or names.
fn value(name: &str, element: u8, sizes: &[&str]) -> Vec<u8> {
    let sizes = sizes.iter().map(|size| {
        let size = size.parse().map_or_else(|_| field(2, size.as_bytes()), |places| number(1, places));
        field(1, &size)
    });
    let shape: Vec<u8> = sizes.flatten().collect();
    let tensor = [number(1, element), field(2, &shape)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

type Values<'a> = &'a [(&'a str, u8, &'a [&'a str])];

fn onnx(inputs: Values, outputs: Values) -> Vec<u8> {
    let all = |number: u8, values: Values| -> Vec<u8> {
        values.iter().flat_map(|(name, element, sizes)| field(number, &value(name, *element, sizes))).collect()
    };
    let node = field(1, &field(4, b"Anything"));
    [number(1, 8), field(7, &[node, all(11, inputs), all(12, outputs)].concat())].concat()
}

/// `score` = Σ a·b.
fn dot() -> Vec<u8> {
    let inputs: Values = &[("a", FLOAT, &["batch", "n"]), ("b", FLOAT, &["batch", "n"])];
    onnx(inputs, &[("score", FLOAT, &["batch", "1"]), ("twice", FLOAT, &["batch"])])
}

/// A cross-encoder: `logits` counts the tokens of the document that stand in the query.
fn cross() -> Vec<u8> {
    let of = |name| (name, INT64, &["batch", "sequence"][..]);
    onnx(&[of("input_ids"), of("attention_mask"), of("token_type_ids")], &[("logits", FLOAT, &["batch", "1"])])
}

const DOCUMENT: &str = "document d {
    field title type string { indexing: summary | index }
    field v type tensor<float>(d0[1],d1[2]) { indexing: attribute | summary }
    field tokens type tensor<float>(d0[4]) { indexing: attribute }
    field year type int { indexing: attribute }
  }";

const PROFILES: &str = r#"
  onnx-model dot {
    file: models/dot.onnx
    input "a": attribute(v)
    input "b": query(q)
    output "score": result
    intraop-threads: 2
  }
  rank-profile global {
    inputs { query(q) tensor<float>(d0[1],d1[2]) }
    first-phase { expression: attribute(year) }
    global-phase {
      rerank-count: 3
      expression: sum(onnx(dot).result)
    }
  }
  rank-profile second inherits global {
    function scaled() { expression: attribute(v) * 2 }
    onnx-model scaled {
      file: models/dot.onnx
      input "a" { scaled }
      input "b": query(q)
    }
    second-phase { expression: sum(onnx(scaled)) + onnx(dot).twice{d0:0} }
    global-phase { expression: relevanceScore + 1 }
    match-features { onnx(scaled) onnx(dot).result onnx("models/dot.onnx","twice") }
    function a() { expression: attribute(v) }
    function b() { expression: query(q) }
  }
  rank-profile reranked inherits second { rank-properties { brooklet.rerank: true } }
  rank-profile nested {
    inputs { query(q) tensor<float>(d0[1],d1[2]) }
    onnx-model inner {
      file: models/dot.onnx
      input "a": attribute(v)
      input "b": query(q) }
    onnx-model outer {
      file: models/dot.onnx
      input "a": tensor<float>(d0[1],d1[2])(sum(onnx(inner).score) + d1)
      input "b": query(q) }
    first-phase { expression: sum(onnx(outer).score) }
  }
  rank-profile cross {
    inputs { query(t) tensor<float>(d0[4]) }
    onnx-model cross {
      file: models/cross.onnx
      input input_ids: tokenInputIds(12, query(t), attribute(tokens))
      input attention_mask: tokenAttentionMask(12, query(t), attribute(tokens))
      input token_type_ids: tokenTypeIds(12, query(t), attribute(tokens))
    }
    first-phase { expression: attribute(year) }
    global-phase { expression: onnx(cross){d0:0,d1:0} }
  }"#;

fn package(profiles: &str, models: &[(&str, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![
        ("services.xml".to_owned(), services(&["d"]).into_bytes()),
        ("schemas/d.sd".to_owned(), format!("schema d {{\n{DOCUMENT}\n{profiles}\n}}").into_bytes()),
    ];
    files.extend(models.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.clone())));
    files
}

fn host() -> Host {
    let models = [("models/dot.onnx", dot()), ("models/cross.onnx", cross())];
    let mut host = Host::of_files(package(PROFILES, &models), 64 << 20);
    let documents = [
        ("alice", 1, "[1,0]", "[7,8,0,0]", 50),
        ("alice", 2, "[0,1]", "[7,9,10,0]", 40),
        ("alice", 3, "[3,1]", "[1,2,3,4]", 30),
        ("alice", 4, "[9,9]", "[9,9,9,0]", 20),
        ("bob", 5, "[2,2]", "[9,7,0,0]", 45),
    ];
    for (group, number, vector, tokens, year) in documents {
        let fields = format!(
            r#"{{"title":"t{number}","v":{{"values":{vector}}},"tokens":{{"values":{tokens}}},"year":{year}}}"#
        );
        host.put(&format!("id:n:d:g={group}:{number}"), &fields).unwrap();
    }
    host
}

/// What the models of this test make of their inputs.
fn output(run: &Wanted, name: &str) -> Vec<f32> {
    if run.file == "models/cross.onnx" {
        let (ids, types) = (&run.inputs["input_ids"], &run.inputs["token_type_ids"]);
        let mask = &run.inputs["attention_mask"];
        let query: Vec<f64> = (1..12).filter(|at| types[*at] == 0.0 && mask[*at] == 1.0).map(|at| ids[at]).collect();
        let found = (0..12).filter(|at| types[*at] == 1.0 && ids[*at] != 102.0 && query.contains(&ids[*at]));
        return vec![found.count() as f32];
    }
    let score: f64 = run.inputs["a"].iter().zip(&run.inputs["b"]).map(|(a, b)| a * b).sum();
    vec![if name == "twice" { score * 2.0 } else { score } as f32]
}

/// The answer of a search of alice's documents, and the runs of each round.
fn ask(host: &Host, parameters: &[(&str, &str)]) -> (Answer, Vec<Vec<Wanted>>) {
    ask_with(host, parameters, &output)
}

fn ask_with(
    host: &Host,
    parameters: &[(&str, &str)],
    of: &dyn Fn(&Wanted, &str) -> Vec<f32>,
) -> (Answer, Vec<Vec<Wanted>>) {
    let query = host.query(&[parameters, &[ALICE]].concat(), "", "");
    rounds_of(&|models| host.answer(&query, "g:alice", models), of)
}

/// The same of the partitions that the parameters name.
fn ask_scoped(host: &Host, parameters: &[(&str, &str)], at_once: usize) -> (Answer, Vec<Vec<Wanted>>) {
    let query = host.query(parameters, "", "");
    rounds_of(&|models| host.answer_scoped(&query, at_once, models), &output)
}

fn rounds_of(search: Search<'_>, of: &dyn Fn(&Wanted, &str) -> Vec<f32>) -> (Answer, Vec<Vec<Wanted>>) {
    let floats = |run: &Wanted, name: &str| (FLOAT, of(run, name).into_iter().map(f64::from).collect());
    model_runs::ask(search, &floats)
}

fn shown(answer: &Answer) -> Vec<(String, f64)> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let hits = answer.json["root"]["children"].as_array().cloned().unwrap_or_default();
    let of = |hit: &serde_json::Value| {
        let id = hit["id"].as_str().unwrap();
        (id[id.len() - 1..].to_owned(), hit["relevance"].as_f64().unwrap())
    };
    hits.iter().map(of).collect()
}

fn hits(all: &[(&str, f64)]) -> Vec<(String, f64)> {
    all.iter().map(|(id, score)| ((*id).to_owned(), *score)).collect()
}

const ALL: (&str, &str) = ("yql", "select * from d where true");
const ALICE: (&str, &str) = ("streaming.groupname", "alice");
const EVERYBODY: (&str, &str) = ("streaming.selection", "true");

#[test]
fn the_global_phase_runs_the_model_for_the_best_hits_only() {
    let mut host = host();
    let parameters = [ALL, ("ranking.profile", "global"), ("input.query(q)", "[1,2]")];
    // By year 1, 2, 3, 4; the best three are scored anew, the fourth stays below.
    let expected = hits(&[("3", 5.0), ("2", 2.0), ("1", 1.0), ("4", -9.0)]);
    for folded in [false, true] {
        if folded {
            host.compact("g:alice", 1);
        }
        let (answer, rounds) = ask(&host, &parameters);
        assert_eq!(shown(&answer)[..3], expected[..3]);
        assert_eq!(shown(&answer)[3].0, "4");
        assert_eq!(rounds.len(), 1);
        assert_eq!(rounds[0].len(), 3);
        for run in &rounds[0] {
            assert_eq!((run.file.as_str(), run.settings, run.is_batched), ("models/dot.onnx", 1, true));
            assert_eq!(run.outputs, ["score"]);
            assert_eq!(run.inputs["b"], [1.0, 2.0]);
        }
        let alone = [&parameters[..], &[ALICE]].concat();
        let (merged, _) = ask_scoped(&host, &alone, 1);
        assert_eq!(merged.body, answer.body);
    }
}

#[test]
fn several_partitions_are_ranked_together() {
    let host = host();
    let parameters = [ALL, EVERYBODY, ("ranking.profile", "global"), ("input.query(q)", "[1,2]")];
    for at_once in [1, 2] {
        let (answer, rounds) = ask_scoped(&host, &parameters, at_once);
        // By year 1, 5, 2 are the best.
        assert_eq!(shown(&answer)[..3], hits(&[("5", 6.0), ("2", 2.0), ("1", 1.0)]));
        assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [3]);
    }
}

#[test]
fn the_second_phase_runs_the_model_for_every_match_and_features_show_outputs() {
    let host = host();
    let parameters = [ALL, ("ranking.profile", "second"), ("input.query(q)", "[1,2]"), ("hits", "2")];
    let (answer, rounds) = ask(&host, &parameters);
    // sum(2·v·q) + 2·v·q, and one more of the global phase.
    assert_eq!(shown(&answer), hits(&[("4", 109.0), ("3", 21.0)]));
    let features = &answer.json["root"]["children"][0]["fields"]["matchfeatures"];
    assert_eq!(features["onnx(scaled)"]["values"], serde_json::json!([[54.0]]));
    assert_eq!(features["onnx(dot).result"]["values"], serde_json::json!([[27.0]]));
    assert_eq!(features["onnx(\"models/dot.onnx\",\"twice\")"]["values"], serde_json::json!([54.0]));
    // Four documents through two models; then the two hits through the output that only features show.
    assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [8, 4]);

    let parameters = [ALL, ("ranking.profile", "reranked"), ("input.query(q)", "[1,2]"), ("hits", "1")];
    let reranked = [&parameters[..], &[("ranking.secondPhase.rerankCount", "2")]].concat();
    let (answer, rounds) = ask(&host, &reranked);
    assert_eq!(rounds[0].len(), 6, "three can come before the global phase, through two models");
    assert_eq!(shown(&answer)[0].0, "2", "of the best two by year");
}

#[test]
fn a_model_may_take_what_another_gave() {
    let host = host();
    let parameters = [ALL, ("ranking.profile", "nested"), ("input.query(q)", "[1,1]"), ("hits", "1")];
    let (answer, rounds) = ask(&host, &parameters);
    assert_eq!(shown(&answer), hits(&[("4", 37.0)]));
    // Documents 1 and 2 give the outer model the same: that is one run.
    assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [4, 3]);
}

#[test]
fn a_cross_encoder_sees_query_and_document_as_one_sequence() {
    let host = host();
    let parameters = [ALL, ("ranking.profile", "cross"), ("input.query(t)", "[9,7,0,0]")];
    let (answer, rounds) = ask(&host, &parameters);
    assert_eq!(shown(&answer), hits(&[("4", 3.0), ("2", 2.0), ("1", 1.0), ("3", 0.0)]));
    let run = rounds[0].iter().find(|run| run.inputs["input_ids"][4] == 7.0 && run.inputs["input_ids"][5] == 9.0);
    let inputs = &run.expect("that of document 2").inputs;
    assert_eq!(inputs["input_ids"], [101., 9., 7., 102., 7., 9., 10., 102., 0., 0., 0., 0.]);
    assert_eq!(inputs["token_type_ids"], [0., 0., 0., 0., 1., 1., 1., 1., 0., 0., 0., 0.]);
    assert_eq!(inputs["attention_mask"], [1., 1., 1., 1., 1., 1., 1., 1., 0., 0., 0., 0.]);
}

#[test]
fn an_output_that_is_not_what_the_model_promised_fails_the_query() {
    let host = host();
    let parameters = [ALL, ("ranking.profile", "global"), ("input.query(q)", "[1,2]")];
    for (wrong, why) in [(vec![f32::NAN], "is not a number"), (vec![1.0, 2.0], "has 2 values, where its type has 1")] {
        let (answer, _) = ask_with(&host, &parameters, &|_: &Wanted, _: &str| wrong.clone());
        assert_eq!(answer.status, 500);
        assert!(answer.body.contains("MODEL_OUTPUT") && answer.body.contains(why), "{}", answer.body);
    }
}

#[test]
fn a_search_with_models_compiles_and_matches_once() {
    let mut host = host();
    let cases = [("global", 1), ("second", 2), ("reranked", 2), ("nested", 2)];
    for folded in [false, true] {
        if folded {
            assert!(host.compact("g:alice", 1) && host.compact("g:bob", 1));
        }
        for (profile, rounds) in cases {
            let before = host.counts();
            let asked = [ALL, ("ranking.profile", profile), ("input.query(q)", "[1,2]"), ("hits", "2")];
            let (answer, ran) = ask(&host, &asked);
            assert_eq!((answer.status, ran.len()), (200, rounds), "{profile}: {}", answer.body);
            assert_eq!(counted(&host, before), (1, 1), "{profile}");
        }
        // Where one partition alone cannot say what is wanted, all are searched with what models made of the first round.
        for (profile, rounds, searches) in [("global", 1, 1), ("second", 2, 3), ("nested", 2, 3)] {
            let before = host.counts();
            let asked = [ALL, EVERYBODY, ("ranking.profile", profile), ("input.query(q)", "[1,2]"), ("hits", "2")];
            let (answer, ran) = ask_scoped(&host, &asked, 1);
            assert_eq!((answer.status, ran.len()), (200, rounds), "{profile}: {}", answer.body);
            assert_eq!(counted(&host, before), (1, 2 * searches), "{profile}");
        }
    }
}

/// Queries compiled and schemas matched since then.
fn counted(host: &Host, (compiled, matched): (u64, u64)) -> (u64, u64) {
    let now = host.counts();
    (now.0 - compiled, now.1 - matched)
}

#[test]
fn a_search_begins_anew_only_where_the_segments_are_others() {
    let floats = |run: &Wanted, name: &str| (FLOAT, output(run, name).into_iter().map(f64::from).collect());
    let parameters = [ALL, ALICE, ("ranking.profile", "second"), ("input.query(q)", "[1,2]"), ("hits", "2")];
    let nothing: fn(&mut Host) = |_| {};
    let write: fn(&mut Host) = |host| {
        let fields = r#"{"title":"t6","v":{"values":[50,50]},"tokens":{"values":[1,1,1,1]},"year":99}"#;
        host.put("id:n:d:g=alice:6", fields).unwrap();
    };
    let fold: fn(&mut Host) = |host| assert!(host.compact("g:alice", 1));
    let both: fn(&mut Host) = |host| {
        let fields = r#"{"title":"t6","v":{"values":[50,50]},"tokens":{"values":[1,1,1,1]},"year":99}"#;
        host.put("id:n:d:g=alice:6", fields).unwrap();
        assert!(host.compact("g:alice", 1));
    };
    // What was written meanwhile is no part of what was matched before; a search that begins anew finds it, and wants the
    // runs that nobody knew of.
    let cases = [
        (nothing, 1, ("4", 109.0), vec![8, 4]),
        (write, 1, ("4", 109.0), vec![8, 4]),
        (fold, 2, ("4", 109.0), vec![8, 4]),
        (both, 2, ("6", 601.0), vec![8, 2, 4]),
    ];
    for (meanwhile, matched, (best, score), runs) in cases {
        let mut host = host();
        let before = host.counts();
        let query = host.query(&parameters, "", "");
        let mut stage = host.go_on(&query, "g:alice", None);
        let mut rounds = Vec::new();
        let answer = loop {
            match stage {
                SearchStage::Answered(answer) => break answer,
                SearchStage::Waiting(search) => {
                    let (wanted, outputs) = model_runs::run(&search.runs, &floats);
                    if rounds.is_empty() {
                        meanwhile(&mut host);
                    }
                    rounds.push(wanted.len());
                    stage = host.go_on(&query, "g:alice", Some((search, &outputs)));
                }
            }
        };
        assert_eq!(shown(&answer)[0], (best.to_owned(), score));
        assert_eq!((rounds, counted(&host, before)), (runs, (1, matched)));
    }
}

fn refusal(profile: &str, model: Vec<u8>) -> String {
    let files = package(profile, &[("models/m.onnx", model)]);
    let deployed = Application::deploy(&files).and_then(Deployed::compile);
    let rejection: Rejection = deployed.err().unwrap_or_else(|| panic!("deployed: {profile}"));
    rejection.message
}

#[test]
fn what_does_not_fit_is_refused_at_deploy() {
    let with = |body: &str, expression: &str| {
        format!("rank-profile p {{\n onnx-model m {{\n{body}\n}}\n first-phase {{ expression: {expression} }}\n}}")
    };
    let bound = "file: models/m.onnx\n input a: attribute(v)\n input b: attribute(v)";
    let cases: Vec<(String, Vec<u8>, &str)> = vec![
        (with(bound, "sum(onnx(m).other)"), dot(), "has no output 'other'; it has 'score', 'twice'"),
        (with(bound, "sum(onnx(n))"), dot(), "names no onnx-model and no file of the package; there are 'm'"),
        (with(bound, "onnx(m).score"), dot(), "must be a number, not a tensor"),
        (
            with("file: models/m.onnx\n input a: attribute(v)", "sum(onnx(m))"),
            dot(),
            "nothing is called as the input 'b'",
        ),
        (with(&format!("{bound}\n input c: 1"), "sum(onnx(m))"), dot(), "has no input 'c'; it has 'a', 'b'"),
        (with(&format!("{bound}\n output x: y"), "sum(onnx(m))"), dot(), "has no output 'x'"),
        (
            with("file: models/m.onnx\n input a: attribute(v)\n input b: 1", "sum(onnx(m))"),
            dot(),
            "input 'b' is a dense tensor",
        ),
        (
            with(
                "file: models/m.onnx\n input a: attribute(v)\n input b: tensor<float>(d0[1],d1[3])(d1)",
                "sum(onnx(m))",
            ),
            dot(),
            "where n is 2, and 'tensor<float>(d0[1],d1[3])(d1)' is a tensor<float>(d0[1],d1[3])",
        ),
        (with("file: models/x.onnx", "sum(onnx(m))"), dot(), "Unable to find ONNX model 'models/x.onnx'"),
        (with("file: models/m.onnx\n input a: sum(onnx(m))\n input b: 1", "sum(onnx(m))"), dot(), "depend on itself"),
        (with("uri: https://x/m.onnx", "1"), dot(), "run 'brooklet model pull https://x/m.onnx'"),
        (with("file: models/m.onnx\n execution-mode: wild", "1"), dot(), "not a legal value of execution-mode"),
        (with(bound, "sum(onnx(m))"), Vec::new(), "it has no graph"),
        (with(bound, "sum(onnx(m))"), b"a text".to_vec(), "it is no ONNX model, or cut short"),
        (with(bound, "sum(onnx(m))"), dot()[..dot().len() - 3].to_vec(), "it is no ONNX model, or cut short"),
        (
            with(bound, "sum(onnx(m))"),
            field(7, &field(1, &[field(4, b"Odd"), field(7, b"my.ops")].concat())),
            "its operator 'Odd' is of the domain 'my.ops'",
        ),
        (
            with(bound, "sum(onnx(m))"),
            field(7, &field(5, &[field(8, b"w"), number(14, 1)].concat())),
            "its weights are in other files",
        ),
        // Weights stand in nodes, in the graphs of a condition or a loop, and in functions, too; an address of them leads to
        // files of the machine (CVE-2022-25882, CVE-2024-27318, CVE-2026-27489).
        (
            with(bound, "sum(onnx(m))"),
            field(7, &field(1, &field(5, &field(5, &elsewhere())))),
            "its weights are in other files",
        ),
        (
            with(bound, "sum(onnx(m))"),
            field(7, &field(1, &field(5, &field(10, &elsewhere())))),
            "its weights are in other files",
        ),
        (
            with(bound, "sum(onnx(m))"),
            field(7, &field(1, &field(5, &field(22, &field(1, &elsewhere()))))),
            "its weights are in other files",
        ),
        (with(bound, "sum(onnx(m))"), field(7, &field(15, &field(2, &elsewhere()))), "its weights are in other files"),
        (
            with(bound, "sum(onnx(m))"),
            field(7, &field(1, &field(5, &field(6, &field(5, &elsewhere()))))),
            "its weights are in other files",
        ),
        (
            with(bound, "sum(onnx(m))"),
            field(7, &field(1, &field(5, &field(11, &field(15, &field(1, &elsewhere())))))),
            "its weights are in other files",
        ),
        (
            with(bound, "sum(onnx(m))"),
            field(25, &field(7, &field(5, &field(5, &elsewhere())))),
            "its weights are in other files",
        ),
        (
            with(bound, "sum(onnx(m))"),
            field(7, &field(1, &graphs(&field(1, &field(7, b"my.ops")), 3))),
            "is of the domain 'my.ops'",
        ),
        (with(bound, "sum(onnx(m))"), field(7, &field(1, &graphs(b"", 17))), "its graphs are more than 16 deep"),
    ];
    for (profile, model, why) in cases {
        let message = refusal(&profile, model);
        assert!(message.contains(why), "{message}\n{profile}");
    }
    let tokens = "rank-profile p { first-phase { expression: sum(tokenInputIds(12, attribute(v))) } }";
    assert!(refusal(tokens, dot()).contains("takes tensors with one indexed dimension"));
}
