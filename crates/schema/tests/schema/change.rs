//! Which deploys may follow another.
use std::sync::Arc;

use brooklet_document::DataType;
use brooklet_schema::{Application, History};
use brooklet_task::Rejection;

fn application(fields: &str, more: &[(&str, &str)]) -> Application {
    let mut types = String::from("<document type='t' mode='streaming'/>");
    if more.iter().any(|(path, _)| *path == "schemas/u.sd") {
        types.push_str("<document type='u' mode='streaming'/>");
    }
    let services = format!(
        "<services><content id='c' version='1.0'><documents>{types}</documents><redundancy>1</redundancy></content></services>"
    );
    let schema = format!("schema t {{ document t {{ struct s {{ field a type int {{}} }} {fields} }} }}");
    let mut files =
        vec![("services.xml".to_owned(), services.into_bytes()), ("schemas/t.sd".to_owned(), schema.into_bytes())];
    files.extend(more.iter().map(|(path, content)| ((*path).to_owned(), content.as_bytes().to_vec())));
    Application::deploy(&files).expect("deploys")
}

/// What changes on any day, over documents that have values of all fields.
fn validated(before: &Application, next: &Application) -> Result<Vec<String>, Rejection> {
    let change = before.change_to(next, None)?;
    change.demand_nothing()?;
    Ok(change.notes)
}

const U: (&str, &str) = ("schemas/u.sd", "schema u { document u { } }");

#[test]
fn a_field_keeps_its_type() {
    let before = application("field a type int {}", &[]);
    let rejection = validated(&before, &application("field a type long {}", &[])).expect_err("another type");
    assert_eq!(
        rejection.message,
        "field-type-change: Field 'a' of schema 't' changed: data type: 'int' -> 'long'. Stored documents have values of the old \
         type, which would read as unset. To allow this add <allow until='yyyy-mm-dd'>field-type-change</allow> to \
         validation-overrides.xml, or give the field a new name and feed it"
    );
}

#[test]
fn fields_come_and_go_and_change_their_use() {
    let before = application("field a type int {} field b type array<s> {}", &[]);
    let after = application("field b type array<s> { indexing: summary } field c type string {}", &[]);
    let notes = validated(&before, &after).expect("allowed");
    assert_eq!(
        notes,
        [
            "Field 'a' of schema 't' is removed: its values are no longer shown, until it is added again with their type.",
            "Field 'b' of schema 't' changes how it is used; no refeed is needed.",
            "Field 'c' of schema 't' is added: it is not set in documents that were written without it.",
        ]
    );
    assert_ne!(before.fingerprint(), after.fingerprint());
}

/// As a deployment of this number does it.
fn deployed(before: Option<&Application>, mut next: Application, number: u32) -> Application {
    let history = History::after(before, &mut next, number);
    assert_eq!(History::decode(&history.encode()).expect("as it was written"), history);
    next.remember(history);
    next
}

const ALLOWED: (&str, &str) = (
    "validation-overrides.xml",
    "<validation-overrides><allow until='2026-11-23'>field-type-change</allow></validation-overrides>",
);

#[test]
fn of_a_field_that_comes_back_it_is_told_which_values_are_shown() {
    let first = deployed(None, application("field a type int {} field b type int {}", &[]), 1);
    let without = deployed(Some(&first), application("", &[]), 2);
    let later = deployed(Some(&without), application("field c type int {}", &[]), 3);
    let back = application("field a type int {} field b type string {} field c type int {} field d type int {}", &[]);
    assert_eq!(
        later.change_to(&back, None).expect("allowed").notes,
        [
            "Field 'a' of schema 't' is added again: the values of this type that stored documents have of it are shown again.",
            "Field 'b' of schema 't' is added again with another type: of the values that stored documents have of it only those \
             of this type are shown.",
            "Field 'd' of schema 't' is added: it is not set in documents that were written without it.",
        ]
    );
    // With a schema that was removed its documents went.
    let gone = deployed(Some(&deployed(None, application("", &[U]), 1)), application("", &[]), 2);
    assert_eq!(gone.change_to(&application("", &[U]), None).expect("allowed").notes, ["Schema 'u' is added."]);
}

#[test]
fn of_a_type_that_comes_back_it_is_told_that_its_values_do() {
    let notes = |before: &Application, field: &str| {
        let change = before.change_to(&application(field, &[ALLOWED]), None).expect("allowed");
        let of_unset = before.change_to(&application(field, &[]), None).expect("if there are no values");
        (change.notes, of_unset.unless_stored.into_iter().map(|of| of.warning).collect::<Vec<_>>())
    };
    let first = deployed(None, application("field a type int {}", &[]), 1);
    let what = "Field 'a' of schema 't' changed: data type: 'int' -> 'long'";
    let vespa = "A Vespa asks for the override field-type-change even so";
    let unset = "values of the old type read as unset until the documents are fed again";
    let (allowed, of_unset) = notes(&first, "field a type long {}");
    assert_eq!(allowed, [format!("{what}: {unset}")]);
    assert_eq!(of_unset, [format!("{what}: no stored document has a value of the old type. {vespa}")]);
    let second = deployed(Some(&first), application("field a type long {}", &[]), 2);
    let what = "Field 'a' of schema 't' changed: data type: 'long' -> 'int'";
    let again = "those that are of the new type, from before, are shown again";
    let (allowed, of_unset) = notes(&second, "field a type int {}");
    assert_eq!(allowed, [format!("{what}: {unset}; {again}")]);
    assert_eq!(of_unset, [format!("{what}: no stored document has a value of the old type; {again}. {vespa}")]);
}

#[test]
fn types_whose_values_are_the_same_are_told_to_keep_them() {
    let before = application("field a type array<string> {} field b type float16 {}", &[]);
    let fields = "field a type array<uri> {} field b type float {}";
    let notes = before.change_to(&application(fields, &[ALLOWED]), None).expect("allowed").notes;
    let read = "values of the old type are read as those of the new one";
    assert_eq!(
        notes,
        [
            format!("Field 'a' of schema 't' changed: data type: 'Array<string>' -> 'Array<uri>': {read}"),
            format!("Field 'b' of schema 't' changed: data type: 'float16' -> 'float': {read}"),
        ]
    );
    let refusal = validated(&before, &application(fields, &[])).expect_err("another type").message;
    assert!(
        refusal.contains("have values of the old type, which would be read as those of the new one. To"),
        "{refusal}"
    );
}

#[test]
fn members_of_structs_that_come_and_go_and_change_are_told() {
    let with = |members: &str, inner: &str| {
        application(
            &format!(
                "struct r {{ field x type {inner} {{}} }} struct q {{ {members} field r type array<r> {{}} }} \
                 field f type map<string, q> {{}} field g type q {{}}"
            ),
            &[ALLOWED],
        )
    };
    let before = with("field old type int {} field typed type int {}", "int");
    let after = with("field new type int {} field typed type string {}", "long");
    let expected = |field: &str, of: &str| {
        let member = |name: &str| format!("Member '{name}' of field '{field}' of schema 't'");
        [
            format!(
                "Field '{field}' of schema 't' changed: data type: {of}: values of the old type read as unset until the documents are \
                 fed again"
            ),
            format!(
                "{} is removed: its values are no longer shown, until it is added again with their type.",
                member("old")
            ),
            format!("{} is added: it is not set in documents that were written without it.", member("new")),
        ]
    };
    let types = "'int' -> 'string' (member 'typed'), 'int' -> 'long' (member 'r.x')";
    assert_eq!(
        before.change_to(&after, None).expect("allowed").notes,
        [expected("f", types), expected("g", types)].concat()
    );
    assert_eq!(before.change_to(&before, None).expect("nothing").notes, Vec::<String>::new());
}

#[test]
fn a_schema_goes_only_when_that_is_allowed() {
    let before = application("", &[U]);
    let rejection = validated(&before, &application("", &[])).expect_err("removed");
    assert_eq!(
        rejection.message,
        "schema-removal: Schema 'u' is removed in content cluster 'c'. This will cause loss of all data in this schema. To allow \
         this add <allow until='yyyy-mm-dd'>schema-removal</allow> to validation-overrides.xml, or keep schemas/u.sd"
    );
    let overrides =
        "<validation-overrides><allow until='2031-01-31' comment='old'>schema-removal</allow></validation-overrides>";
    let allowed = application("", &[("validation-overrides.xml", overrides)]);
    assert_eq!(allowed.overrides[0].until, "2031-01-31");
    assert_eq!(validated(&before, &allowed).expect("allowed"), ["Schema 'u' is removed: its documents are deleted."]);
    assert_eq!(validated(&application("", &[]), &before).expect("allowed"), ["Schema 'u' is added."]);
}

#[test]
fn an_override_is_there_until_its_last_day_and_no_longer_than_a_month() {
    let after = application("field a type long {}", &[ALLOWED]);
    let before = application("field a type int {}", &[]);
    let last_day = after.overrides[0].until_day;
    let on = |day: i64| before.change_to(&after, Some(day)).expect("only the host knows what is stored");
    let allowed = on(last_day);
    assert!(allowed.unless_stored.is_empty());
    assert_eq!(allowed.refeed[0].name, "field-type-change");
    assert_eq!(
        allowed.refeed[0].message,
        "Document type 't': Field 'a' of schema 't' changed: data type: 'int' -> 'long'"
    );
    let over = on(last_day + 1);
    assert!(over.refeed.is_empty());
    assert_eq!((over.unless_stored[0].schema.as_str(), over.unless_stored[0].field.as_str()), ("t", "a"));
    after.check_overrides(last_day - 29).expect("thirty days");
    assert_eq!(
        after.check_overrides(last_day - 30).expect_err("too long").message,
        "validation-overrides is invalid: allow 'field-type-change' until 2026-11-23 is too far in the future: Max 30 days is \
         allowed"
    );
}

#[test]
fn schemas_and_types_are_remembered_from_deployment_to_deployment() {
    let lives =
        |of: &Application| of.schemas.iter().map(|of| (of.stored_as().into_owned(), of.retyped)).collect::<Vec<_>>();
    let stored = |name: &str, retyped: u32| (name.to_owned(), retyped);
    let first = deployed(None, application("field a type int {}", &[U]), 1);
    assert_eq!(lives(&first), [stored("t@1", 0), stored("u@1", 0)]);
    let without = deployed(Some(&first), application("", &[]), 2);
    assert_eq!(lives(&without), [stored("t@1", 0)]);
    assert_eq!(without.history.as_ref().map(History::erased_from), Some(2));
    // The field comes back with another type, the schema with nothing of before.
    let again = deployed(Some(&without), application("field a type string {}", &[U]), 3);
    assert_eq!(lives(&again), [stored("t@1", 3), stored("u@3", 0)]);
    let same = deployed(Some(&again), application("field a type string {}", &[U]), 4);
    assert_eq!(lives(&same), lives(&again));
    // Segments that were written without a field are not current when it comes back: they may keep its values unread.
    let back = deployed(
        Some(&deployed(Some(&same), application("", &[U]), 5)),
        application("field a type string {}", &[U]),
        6,
    );
    assert_eq!(lives(&back), [stored("t@1", 6), stored("u@3", 0)]);
    // What an earlier release deployed has no lives; what comes after it has.
    let of_old = deployed(Some(&application("field a type int {}", &[])), application("field a type int {}", &[U]), 9);
    assert_eq!(lives(&of_old), [stored("t", 0), stored("u@9", 0)]);
    let retyped = deployed(Some(&application("field a type int {}", &[])), application("field a type long {}", &[]), 9);
    assert_eq!(lives(&retyped), [stored("t", 9)]);
}

#[test]
fn the_fingerprint_looks_into_structs() {
    let with = |of: &str| {
        let schema =
            format!("schema u {{ document u {{ struct s {{ field a type {of} {{}} }} field f type s {{}} }} }}");
        application("", &[("schemas/u.sd", &schema)]).fingerprint()
    };
    assert_ne!(with("int"), with("long"));
}

/// A package in which these content clusters have the type `t`, each with what else is said of it there.
fn in_clusters(clusters: &[(&str, &str)], overrides: &str) -> Application {
    let contents: Vec<String> = clusters
        .iter()
        .map(|(name, more)| {
            format!(
                "<content id='{name}' version='1.0'><redundancy>1</redundancy><documents><document type='t' \
                 mode='streaming' {more}/></documents></content>"
            )
        })
        .collect();
    let services = format!("<services>{}</services>", contents.concat());
    let allowed = format!("<validation-overrides>{overrides}</validation-overrides>");
    let files = [
        ("services.xml", services.as_str()),
        ("schemas/t.sd", "schema t { document t { field a type int { indexing: attribute } } }"),
        ("validation-overrides.xml", &allowed),
    ];
    let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    Application::deploy(&files).expect("deploys")
}

const GOES: &str = "<allow until='2026-12-01'>content-cluster-removal</allow>";

#[test]
fn a_type_in_several_clusters_is_a_schema_in_each_and_documents_keep_their_names() {
    let stored = |of: &Application| -> Vec<(String, String)> {
        of.schemas.iter().map(|of| (of.cluster.clone(), of.stored_as().replace('\u{1}', "/"))).collect()
    };
    let of = |cluster: &str, stored: &str| (cluster.to_owned(), stored.to_owned());
    let one = deployed(None, in_clusters(&[("x", "")], ""), 1);
    assert_eq!(stored(&one), [of("x", "t@1")]);
    assert_eq!((one.schemas[0].is_shared, one.schemas[0].is_marked), (false, false));
    // A second cluster begins without documents, wherever it stands in services.xml.
    let two = deployed(Some(&one), in_clusters(&[("y", "selection='t.a &gt; 3'"), ("x", "")], ""), 2);
    assert_eq!(stored(&two), [of("y", "t/y@2"), of("x", "t@1")]);
    assert_eq!(two.stored_selection(&two.schemas[0]).as_deref(), Some("t.a > 3"));
    assert_eq!(two.stored_selection(&two.schemas[1]), None);
    let notes = one.change_to(&two, None).expect("nothing goes").notes;
    assert_eq!(notes, ["Schema 't' is added in cluster 'y', without documents."]);
    // The one that goes takes its documents along, the other keeps its own: under the names they have.
    let without = in_clusters(&[("y", "")], GOES);
    let removal = two.change_to(&in_clusters(&[("y", "")], ""), None).expect_err("documents go").message;
    assert!(removal.starts_with("content-cluster-removal: Content cluster 'x' is removed."), "{removal}");
    assert_eq!(
        two.change_to(&without, None).expect("allowed").notes,
        [
            "Content cluster 'x' is removed: its documents are deleted.",
            "Schema 't' is removed in cluster 'x': its documents there are deleted."
        ]
    );
    let left = deployed(Some(&two), without, 3);
    assert_eq!(stored(&left), [of("y", "t/y@2")]);
    assert_eq!(left.schemas[0].stored_id("id:n:t::1"), "id:n:t\u{1}y::1");
    assert_eq!(left.history.as_ref().map(History::erased_from), Some(3));
    // What comes back has nothing of before.
    let back = deployed(Some(&left), in_clusters(&[("x", ""), ("y", "")], ""), 4);
    assert_eq!(stored(&back), [of("x", "t@4"), of("y", "t/y@2")]);
    let same = deployed(Some(&back), in_clusters(&[("y", ""), ("x", "")], ""), 5);
    assert_eq!(stored(&same), [of("y", "t/y@2"), of("x", "t@4")]);
    // A type that moves to another cluster is another, as ever.
    let moved = deployed(Some(&one), in_clusters(&[("z", "")], GOES), 2);
    assert_eq!(stored(&moved), [of("z", "t@2")]);
}

#[test]
fn a_field_keeps_its_type_in_each_cluster() {
    let before = in_clusters(&[("x", ""), ("y", "")], "");
    let mut after = in_clusters(&[("x", ""), ("y", "")], "");
    for schema in &mut after.schemas {
        Arc::make_mut(schema).fields[0].data_type = DataType::String;
    }
    let change = before.change_to(&after, None).expect("if there are no values");
    let schemas: Vec<&str> = change.unless_stored.iter().map(|of| of.schema.as_str()).collect();
    assert_eq!(schemas, ["t", "t\u{1}y"]);
}

#[test]
fn an_id_of_a_cluster_that_ids_cannot_hold_is_refused_by_name() {
    let services = "<services><content id='x' version='1.0'><redundancy>1</redundancy><documents><document type='t' \
                    mode='streaming'/></documents></content><content id='y:z' version='1.0'><redundancy>1</redundancy><documents>\
                    <document type='t' mode='streaming'/></documents></content></services>";
    let files = [("services.xml", services), ("schemas/t.sd", "schema t { document t { } }")];
    let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    let refusal = Application::deploy(&files).expect_err("a name that an id cannot hold").message;
    assert!(
        refusal.contains("the id 'y:z' of a content cluster with document type 't', which others have too"),
        "{refusal}"
    );
}
