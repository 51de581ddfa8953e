//! Packages as the search meets them: what is only stored is not searched, what cannot be compiled is refused at deploy, and
//! where it was deployed before, all else is served.

use crate::host::{Host, services};
use brooklet_schema::Application;
use brooklet_search::Deployed;
use serde_json::Value;

type Files = Vec<(String, Vec<u8>)>;

const RECORDED: &str = include_str!("../../../../test-vectors/schema/packages.jsonl");

fn files(more: &str) -> Files {
    let schema = format!(
        "schema note {{ document note {{ field n type int {{ indexing: summary | attribute }} }}\n
         rank-profile sound {{ first-phase {{ expression: attribute(n) * 2 }} }}\n{more} }}"
    );
    [("services.xml", services(&["note"])), ("schemas/note.sd", schema)]
        .map(|(path, text)| (path.to_owned(), text.into_bytes()))
        .to_vec()
}

/// What a deployment of the files is refused for.
fn refusal(files: &Files) -> Option<String> {
    Application::deploy(files).and_then(Deployed::compile).err().map(|rejection| rejection.message)
}

fn restored(files: &Files) -> (Host, Vec<String>) {
    let application = Application::restore(files, &[]).unwrap_or_else(|rejection| panic!("{rejection}"));
    let deployed = Deployed::restore(application);
    let objections = deployed.application.objections.clone();
    let mut host = Host::of_deployed(deployed, 64 << 20);
    host.put("id:n:note:g=alice:1", r#"{"n":4}"#).unwrap();
    (host, objections)
}

/// What the first error of an answer says.
fn message_of(answer: &str) -> String {
    let body: Value = serde_json::from_str(answer).expect("JSON");
    body["root"]["errors"][0]["message"].as_str().expect("a message").to_owned()
}

const ALL: (&str, &str) = ("yql", "select * from note where true");

#[test]
fn a_stored_profile_that_does_not_compile_is_refused_by_name() {
    for body in [
        "first-phase { expression: attribute(n) + }",
        "first-phase { expression: no_such_feature(n) }",
        "match-features: no_such_feature",
        "global-phase { expression: no_such_feature }",
        "rank-properties { brooklet.stemming: klingon }",
        "onnx-model m { file: models/gone.onnx }\n first-phase { expression: onnx(m).out }",
    ] {
        let files = files(&format!("rank-profile unsound {{ {body} }}"));
        let why = refusal(&files).unwrap_or_else(|| panic!("deployed: {body}"));
        let (host, objections) = restored(&files);
        assert!(objections.contains(&why), "{objections:?}");
        let fault = objections.last().expect("an objection");
        for profile in ["default", "sound", "unranked"] {
            let answer = host.search("g:alice", &[ALL, ("ranking", profile)]);
            assert_eq!(answer.status, 200, "{profile}: {}", answer.body);
        }
        let refused = host.search("g:alice", &[ALL, ("ranking", "unsound")]);
        assert_eq!(refused.status, 400, "{}", refused.body);
        let message = message_of(&refused.body);
        assert!(
            message.contains("rank profile 'unsound' of schema 'note' cannot be used by this release"),
            "{message}"
        );
        assert!(message.contains(fault), "{message}");
    }
}

#[test]
fn misspelt_names_get_a_suggestion() {
    let schema = |profile: &str| {
        let schema = format!(
            "schema note {{ document note {{ field subject type string {{ indexing: summary | index }}\n
             field sender type string {{ indexing: summary | attribute }}\n
             field vec type tensor(x[2]) {{ indexing: attribute }} }}\n
             rank-profile p {{ function freshScore() {{ expression: 1 }}\n {profile} }} }}"
        );
        [("services.xml", services(&["note"])), ("schemas/note.sd", schema)]
            .map(|(path, text)| (path.to_owned(), text.into_bytes()))
            .to_vec()
    };
    for (profile, near) in [
        ("first-phase { expression: bm25(subjct) }", "subject"),
        ("match-features: nativeFieldMatch(subejct)", "subject"),
        ("match-features: attribute(sendr)", "sender"),
        ("summary-features: freshness(sendre)", "sender"),
        ("first-phase { expression: closeness(field, vce) }", "vec"),
        ("first-phase { expression: closeness(feild, vec) }", "field"),
        ("first-phase { expression: sqrtt(2) }", "sqrt"),
        ("first-phase { expression: redcue(attribute(vec), sum) }", "reduce"),
        ("first-phase { expression: reduce(attribute(vec), smu) }", "sum"),
        ("first-phase { expression: freshScroe }", "freshScore"),
        ("match-features: freshScor()", "freshScore"),
    ] {
        let why = refusal(&schema(profile)).unwrap_or_else(|| panic!("deployed: {profile}"));
        assert!(why.ends_with(&format!("; did you mean '{near}'?")), "{why}");
    }
    let far = refusal(&schema("match-features: attribute(zebra)")).expect("refused");
    assert!(far.ends_with("'attribute(zebra)' names no field of schema 'note'"), "{far}");
    let application = Application::deploy(&schema("")).and_then(Deployed::compile).expect("deployed");
    let mut host = Host::of_deployed(application, 64 << 20);
    host.put("id:n:note:g=alice:1", r#"{"subject":"x"}"#).unwrap();
    let sorted = host.search("g:alice", &[("yql", "select * from note where true order by sendre")]);
    let unlocated = "Cannot locate field 'sendre' in field name registry; did you mean 'sender'?";
    assert_eq!(message_of(&sorted.body), unlocated);
    let source = host.search("g:alice", &[("yql", "select * from noet where true")]);
    let unresolved = "Could not resolve source ref 'noet'. Valid source refs are note. Did you mean 'note'?";
    assert_eq!(message_of(&source.body), unresolved);
}

#[test]
fn a_stored_summary_that_cannot_be_shown_is_refused_by_name() {
    let files = files("document-summary odd { summary m { source: matchfeatures } }");
    let why = refusal(&files).expect("refused");
    let (host, objections) = restored(&files);
    assert_eq!(objections, [why]);
    assert_eq!(host.search("g:alice", &[ALL]).status, 200);
    let refused = host.search("g:alice", &[ALL, ("summary", "odd")]);
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("document-summary 'odd' of schema 'note' cannot be used"), "{}", refused.body);
    // Hits in groups ask for it as well, some of several lists too.
    for lists in ["each(output(summary(odd)))", "each(output(summary())) as(a) each(output(summary(odd))) as(b)"] {
        let yql = format!("select * from note where true limit 0 | all(group(n) each({lists}))");
        let grouped = host.search("g:alice", &[("yql", &yql)]);
        assert_eq!(grouped.status, 400, "{}", grouped.body);
        assert_eq!(message_of(&grouped.body), message_of(&refused.body));
        let shown = host.search("g:alice", &[("yql", &yql.replace("(odd)", "(default)"))]);
        assert_eq!(shown.status, 200, "{}", shown.body);
        assert!(shown.body.contains(r#""n":4"#), "{}", shown.body);
    }
}

#[test]
fn expressions_that_the_reference_cannot_read_are_refused() {
    let rows = RECORDED.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row is JSON"));
    let row = rows.into_iter().find(|row| row["id"] == "expression-syntax").expect("the row");
    let files = row["files"].as_object().expect("files").iter();
    let files = files.map(|(path, text)| (path.clone(), text.as_str().expect("a text").as_bytes().to_vec())).collect();
    assert!(refusal(&files).is_some() && row["error"].is_string());
}

#[test]
fn what_is_only_stored_is_not_searched() {
    let services =
        services(&["kept", "note"]).replace("type=\"kept\" mode=\"streaming\"", "type=\"kept\" mode=\"store-only\"");
    assert!(services.contains("store-only"), "{services}");
    let schema = |name: &str| {
        format!("schema {name} {{ document {name} {{ field n type int {{ indexing: summary | attribute }} }} }}")
    };
    let (kept, note) = (schema("kept"), schema("note"));
    let mut host =
        Host::new(&[("services.xml", &services), ("schemas/kept.sd", &kept), ("schemas/note.sd", &note)], 64 << 20);
    for name in ["kept", "note"] {
        host.put(&format!("id:n:{name}:g=alice:1"), r#"{"n":4}"#).unwrap();
    }
    let found = |yql: &str| {
        let answer = host.search("g:alice", &[("yql", yql)]);
        let body: Value = serde_json::from_str(&answer.body).expect("JSON");
        (answer.status, body["root"]["fields"]["totalCount"].as_u64(), answer.body)
    };
    let all = found("select * from sources * where true");
    assert_eq!((all.0, all.1), (200, Some(1)), "{}", all.2);
    let kept = found("select * from kept where true");
    let refused = "Could not resolve source ref 'kept'. Valid source refs are note.";
    assert!(kept.0 == 400 && kept.2.contains(refused), "{}", kept.2);
}

#[test]
fn addresses_have_weights() {
    let schema = "schema note { document note { field links type weightedset<uri> { indexing: summary | index } } }";
    let mut host = Host::with_schema("note", schema);
    host.put("id:n:note:g=alice:1", r#"{"links":{"http://vespa.ai/docs":3,"http://example.org/":1}}"#).unwrap();
    host.put("id:n:note:g=alice:2", r#"{"links":{"http://example.com/":1}}"#).unwrap();
    let answer = host.search("g:alice", &[("yql", "select * from note where links contains \"vespa\"")]);
    let body: Value = serde_json::from_str(&answer.body).expect("JSON");
    let hits = body["root"]["children"].as_array().expect("hits");
    assert_eq!(hits.len(), 1, "{}", answer.body);
    assert_eq!(hits[0]["fields"]["links"]["http://vespa.ai/docs"], 3, "{}", answer.body);
}
