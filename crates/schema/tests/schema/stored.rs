//! Packages that were deployed by a release that refused less: they are refused when they are deployed now, and open.
use brooklet_schema::Application;
use serde_json::Value;

use crate::packages::rows;

/// The recorded packages that earlier releases deployed and this one refuses: by their ids, or what these begin with (`x-`).
const REFUSED_SINCE: &[&str] = &[
    "services-version-2",
    "content-no-documents",
    "redundancy-",
    "file-schemas/README.txt",
    "file-schemas/t/p.txt",
    "file-search/query-profiles/README.md",
    "file-search/query-profiles/a.txt",
    "file-search/query-profiles/types/x.txt",
    "file-components/x.txt",
    "file-constants/c.txt",
    "file-rules/x.txt",
    "file-security/x.txt",
    "file-security/clients.crt",
    "drop-limit-first-phase-1",
    "drop-limit-second-phase-1",
    "drop-limit-global-phase-1",
    "drop-limit-first-phase-.5",
    "drop-limit-second-phase-.5",
    "drop-limit-global-phase-.5",
    "inherits-default-unranked",
    "structs-of-parents-named",
    "type-bool-index",
    "type-position-index",
    "type-raw-index",
    "type-uri-attribute",
    "type-array<bool>-index",
    "type-array<position>-index",
    "type-array<raw>-attribute",
    "type-array<array<string>>-attribute",
    "type-map<string,int>-attribute",
    "type-map<int,string>-attribute",
    "type-map<string,array<int>>-attribute",
    "type-map<double,int>-attribute",
    "type-array<uri>-attribute",
    "gram-size-0",
    "dynamic-int",
    "alias-twice",
    "raw-index",
    "container-no-version",
    "documents-empty",
    "no-redundancy",
    "gc",
    "indexing-chain",
    "diversity-alone",
    "diversity-match-phase",
    "diversity-missing-attribute",
    "diversity-array",
    "match-phase-missing-attribute",
    "match-phase-string",
    "inherits-num-threads",
    "summary-type-mismatch",
    "sorting",
    "id-twice",
    "compression",
    "mutate",
    "statements-of-one-field-",
    "statements-of-array-1",
    "statements-of-document-field-3",
    "field-id-",
    "garbage-collection-interval-",
    "max-document-size-1",
    "max-document-size-2049MiB",
    "weakand-",
    "diversity-",
    "profile-rank-",
    "services-document-",
    "predicate-",
    "content-id-",
    "match-phase-",
    "inherited-rank-",
    "keep-",
    "index-",
    "rank-filter-",
    "content-node-",
    "services-nodes-",
    "tuning-termwise-",
    "summary-features-",
    "content-documents-",
    "content-redundancy-",
    "inherited-constants-",
    "inherited-properties-",
    "match-features-inherits-",
    "inherit-",
    "profile-use-",
    "tuning-filter-",
    "services-node-",
    "inherited-use-",
    "services-search-",
    "inherited-inputs-",
    "inherited-filter-",
    "content-document-",
    "inherited-filters-",
    "inherited-default-",
    "inherited-functions-",
    "containers-of-one-id",
    "content-cluster-controller",
    "content-global-yes",
    "content-search-twice",
    "content-selection-empty",
    "content-text",
    "content-tuning-readiness",
    "content-tuning-twice",
    "dictionary-twice",
    "distance-metric-twice",
    "distance-metric-twice-inside",
    "drop-limit-first-phase-twice",
    "drop-limit-second-phase-twice",
    "field-id-2147483648",
    "first-both-counts",
    "global-rerank-count-twice",
    "gram-size-2147483648",
    "inherited-gaps",
    "inherited-weight-of-field-with-weight",
    "inherited-weights-alike",
    "max-length-2147483648",
    "mutate-exponent",
    "profile-filter-threshold=1.5",
    "profile-strict-twice",
    "rank-element-gap-2147483648",
    "second-both-rerank",
    "services-admin-twice",
    "services-client-in-container",
    "services-handler-twice",
    "services-health-check",
    "services-http-twice",
    "services-ignore-undefined-twice",
    "services-jvm-in-container",
    "services-model-evaluation-twice",
    "services-processing-twice",
    "services-provider-twice",
    "services-resources-in-container",
    "services-rest-api-in-container",
    "services-significance-twice",
    "services-text",
    "sorting-function-twice",
    "sorting-locale-twice-inside",
    "sorting-strength-twice-inside",
    "summary-twice-in-class",
    "tuning-num-threads-per-search-1.0",
    "tuning-num-threads-per-search-2147483648",
    "tuning-num-threads-per-search-twice",
    "weight-10L",
];

type Files = Vec<(String, Vec<u8>)>;

fn files_of(row: &Value) -> Files {
    let files = row["files"].as_object().expect("files").iter();
    files.map(|(path, text)| (path.clone(), text.as_str().expect("a text").as_bytes().to_vec())).collect()
}

#[test]
fn what_is_refused_since_opens_where_it_is_stored() {
    let rows = rows();
    for since in REFUSED_SINCE {
        let mut found = 0;
        for row in &rows {
            let id = row["id"].as_str().expect("id");
            let is_meant = if since.ends_with('-') { id.starts_with(since) } else { id == *since };
            if !is_meant || row["error"].is_null() {
                continue;
            }
            found += 1;
            let files = files_of(row);
            let refused = Application::deploy(&files).expect_err(id).message;
            let restored = Application::restore(&files, &[]).unwrap_or_else(|rejection| panic!("{id}: {rejection}"));
            assert_eq!(restored.objections.first(), Some(&refused), "{id}");
        }
        assert!(found > 0, "no recorded package is {since}");
    }
}

#[test]
fn what_means_nothing_is_refused_where_it_is_stored_too() {
    let plain = rows().into_iter().find(|row| row["id"] == "plain").expect("plain");
    let mut files = files_of(&plain);
    let objections = |files: &Files| Application::restore(files, &[]).map(|restored| restored.objections);
    assert_eq!(objections(&files), Ok(Vec::new()));
    files.retain(|(path, _)| path != "services.xml");
    assert!(objections(&files).is_err());
}

#[test]
fn settings_of_query_profiles_and_overrides_are_objected_to() {
    let row = rows().swap_remove(0);
    let with = |path: &str, text: &str| {
        let mut files = files_of(&row);
        files.push((path.to_owned(), text.as_bytes().to_vec()));
        let refused = Application::deploy(&files).expect_err(path).message;
        let restored = Application::restore(&files, &[]).unwrap_or_else(|rejection| panic!("{path}: {rejection}"));
        assert_eq!(restored.objections, [refused], "{path}");
    };
    let until = "<validation-overrides><allow until='2026-02-31'>schema-removal</allow></validation-overrides>";
    with("validation-overrides.xml", until);
    let of = "<query-profile-type id='t'><field name='query(v)' type='tensor&lt;&lt;'/></query-profile-type>";
    with("search/query-profiles/types/t.xml", of);
    let odd = "<query-profile id='default'><field name='a+b' overridable='yes'>1</field></query-profile>";
    let mut files = files_of(&row);
    files.push(("search/query-profiles/default.xml".to_owned(), odd.as_bytes().to_vec()));
    assert!(Application::deploy(&files).is_err());
    assert_eq!(Application::restore(&files, &[]).expect("opens").objections.len(), 2);
}
