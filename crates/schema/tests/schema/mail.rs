//! The sample application deploys unchanged, and everything in it is resolved.
use brooklet_document::DataType;
use brooklet_schema::{
    Application, DistanceMetric, Field, InputType, InputValue, MatchKind, MatchMode, Mode, Normalizing, RankMode,
    Schema, SummaryTransform,
};

fn files() -> Vec<(String, Vec<u8>)> {
    macro_rules! file {
        ($path:literal) => {
            ($path.to_owned(), include_bytes!(concat!("../../../../test-vectors/applications/mail/", $path)).to_vec())
        };
    }
    vec![file!("services.xml"), file!("hosts.xml"), file!("schemas/mail.sd"), file!("schemas/note.sd")]
}

fn application() -> Application {
    Application::deploy(&files()).expect("the sample application deploys")
}

fn mail() -> Schema {
    (**application().schema("mail").expect("mail")).clone()
}

fn field(schema: &Schema, name: &str) -> Field {
    schema.field(name).unwrap_or_else(|| panic!("no field {name}")).clone()
}

#[test]
fn clusters_and_report() {
    let application = application();
    let cluster = application.cluster_of(application.schema("note").expect("schema")).expect("cluster");
    assert_eq!(cluster.name, "mail");
    assert!(cluster.types.iter().all(|config| config.mode == Mode::Streaming));
    assert!(!application.ignore_undefined_fields);
    let report: serde_json::Value = serde_json::from_str(&application.report()).expect("the report is JSON");
    assert_eq!(report["schemas"][0]["name"], "mail");
    assert_eq!(report["schemas"][0]["cluster"], "mail");
    assert_eq!(
        report["schemas"][0]["fields"][0],
        serde_json::json!({"name": "subject", "type": "string", "words": true})
    );
    assert_eq!(report["clusters"][0]["types"], serde_json::json!(["mail", "note"]));
    assert_eq!(report["fingerprint"].as_str().map(str::len), Some(16));
    assert_eq!(report["warnings"].as_array().map(Vec::len), Some(application.warnings.len()));
}

#[test]
fn warnings_are_those_of_streaming_mode() {
    let about = "For search cluster 'mail', streaming schema 'mail', schema field ";
    let inconsistent = |set: &str| {
        format!(
            "For schema 'mail', fieldset '{set}': The matching settings for the fields in '{set}' are inconsistent \
             (explicitly or because of field type). This may lead to recall and ranking issues."
        )
    };
    let mut expected = vec![
        inconsistent("default"),
        inconsistent("all"),
        format!("{about}'grams': n-gram matching is not supported for streaming search."),
        format!("{about}'pred': field type predicate is not supported for streaming search"),
        format!(
            "{about}'url': field type uri is not supported for streaming search, it will be handled as a string field"
        ),
    ];
    let mut warnings = application().warnings;
    warnings.sort();
    expected.sort();
    assert_eq!(warnings, expected);
}

#[test]
fn matching_and_normalizing_of_every_kind_of_field() {
    let schema = mail();
    let of = |name: &str| {
        let field = field(&schema, name);
        (field.matching.kind, field.matching.mode, field.normalizing(), field.rank)
    };
    let folded = Normalizing::LowercaseAndFold;
    assert_eq!(of("subject"), (MatchKind::Text, MatchMode::Text, folded, RankMode::Normal));
    assert_eq!(of("body"), (MatchKind::Text, MatchMode::Substring, folded, RankMode::Normal));
    assert_eq!(of("sender"), (MatchKind::Word, MatchMode::Word, Normalizing::Lowercase, RankMode::Filter));
    assert_eq!(of("folder"), (MatchKind::Exact, MatchMode::Exact, Normalizing::Lowercase, RankMode::Filter));
    assert_eq!(of("prefixed"), (MatchKind::Text, MatchMode::Prefix, folded, RankMode::Normal));
    assert_eq!(of("suffixed"), (MatchKind::Text, MatchMode::Suffix, folded, RankMode::Normal));
    assert_eq!(of("grams"), (MatchKind::Gram, MatchMode::Gram, folded, RankMode::Normal));
    assert_eq!(of("nostem"), (MatchKind::Text, MatchMode::Text, folded, RankMode::Normal));
    assert_eq!(of("attrtags"), (MatchKind::Word, MatchMode::Word, Normalizing::Lowercase, RankMode::Normal));
    assert_eq!(field(&schema, "grams").matching.gram_size, 3);
    assert!(field(&schema, "subject").is_index_for_ranking());
    assert!(!field(&schema, "sender").is_index_for_ranking());
}

#[test]
fn parts_of_structs_and_maps() {
    let schema = mail();
    let names = |name: &str| field(&schema, name).parts.iter().map(|part| part.name.clone()).collect::<Vec<_>>();
    assert_eq!(names("people"), ["people.name", "people.email", "people.age"]);
    assert_eq!(names("props"), ["props.key", "props.value"]);
    assert_eq!(names("byid"), ["byid.key", "byid.value", "byid.value.name", "byid.value.email", "byid.value.age"]);
    assert!(names("location").is_empty());
    assert!(field(&schema, "people").searchable());
    assert!(!field(&schema, "main").searchable());
    let name = field(&schema, "people.name");
    assert!(name.indexing.attribute && !name.indexing.index);
    assert_eq!((name.data_type, name.matching.kind), (DataType::String, MatchKind::Word));
    assert!(!field(&schema, "people.email").indexing.searchable());
    assert_eq!(field(&schema, "emb").distance_metric, DistanceMetric::Euclidean);
    assert!(schema.field("people.phone").is_none() && schema.field("people.").is_none());
}

#[test]
fn rank_profiles_are_merged() {
    let schema = mail();
    let names: Vec<&str> = schema.rank_profiles.iter().map(|profile| profile.name.as_str()).collect();
    assert_eq!(names, ["default", "unranked", "bm25"]);
    let profile = schema.rank_profile("bm25").expect("bm25");
    assert_eq!(profile.final_expression().map(|text| &*text.text), Some("closeness(field, emb) + dist"));
    let weight = profile.input("w").expect("input w");
    assert_eq!((&weight.input_type, &weight.default), (&InputType::Number, &Some(InputValue::Number(2.0))));
    let InputType::Tensor(tensor) = &profile.input("q").expect("input q").input_type else { panic!("q is a tensor") };
    assert_eq!(tensor.to_string(), "tensor<float>(x[3])");
    assert_eq!(&*profile.function("s").expect("s").expression.text, "bm25(subject) * query(w)");
    let texts = |list: &[brooklet_schema::SourceText]| list.iter().map(|of| of.text.to_string()).collect::<Vec<_>>();
    assert_eq!(texts(&profile.summary_features), ["s", "fieldMatch(subject)", "attribute(year)"]);
    assert_eq!(texts(&profile.match_features), ["bm25(subject)", "attribute(year)"]);
    let place = profile.match_features[1].place.as_ref().expect("a place").to_string();
    assert_eq!(place, "schemas/mail.sd:169:39");
    let first = schema.rank_profile("default").and_then(|of| of.first_phase.clone()).expect("first-phase");
    assert_eq!(first.expression.map(|text| text.text.to_string()).as_deref(), Some("nativeRank"));
}

#[test]
fn summary_classes() {
    let schema = mail();
    let default = schema.summary_class("default").expect("default");
    assert!(default.field("subject").is_some() && default.field("prefixed").is_none());
    assert_eq!(default.fields.len(), schema.fields.iter().filter(|field| field.indexing.summary).count());
    let short = schema.summary_class("short").expect("short");
    assert_eq!(short.field("snip").map(|field| field.sources.clone()), Some(vec!["body".to_owned()]));
    assert_eq!(short.field("snip").map(|field| field.transform.clone()), Some(SummaryTransform::Dynamic));
    assert_eq!(short.field("subject").map(|field| field.transform.clone()), Some(SummaryTransform::Full));
    assert_eq!(schema.field_set("all").map(|set| set.fields.len()), Some(4));
}

#[test]
fn a_deploy_of_the_same_package_is_the_same() {
    assert_eq!(application(), application());
    assert_eq!(application().fingerprint(), application().fingerprint());
    assert_eq!(application().change_to(&application(), None).expect("nothing changes").notes, Vec::<String>::new());
}
