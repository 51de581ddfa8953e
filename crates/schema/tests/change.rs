//! Which deploys may follow another.
use brooklet_schema::Application;

fn application(fields: &str, more: &[(&str, &str)]) -> Application {
    let mut types = String::from("<document type='t' mode='streaming'/>");
    if more.iter().any(|(path, _)| *path == "schemas/u.sd") {
        types.push_str("<document type='u' mode='streaming'/>");
    }
    let services = format!("<services><content id='c'><documents>{types}</documents></content></services>");
    let schema = format!("schema t {{ document t {{ struct s {{ field a type int {{}} }} {fields} }} }}");
    let mut files =
        vec![("services.xml".to_owned(), services.into_bytes()), ("schemas/t.sd".to_owned(), schema.into_bytes())];
    files.extend(more.iter().map(|(path, content)| ((*path).to_owned(), content.as_bytes().to_vec())));
    Application::deploy(&files).expect("deploys")
}

const U: (&str, &str) = ("schemas/u.sd", "schema u { document u { } }");

#[test]
fn a_field_keeps_its_type() {
    let before = application("field a type int {}", &[]);
    let rejection = before.validate_change(&application("field a type long {}", &[])).expect_err("another type");
    assert_eq!(
        rejection.message,
        "field-type-change: Field 'a' of schema 't' changed: data type: 'int' -> 'long'. Stored documents have values of the old \
         type: give the field a new name and feed it, or keep its type"
    );
}

#[test]
fn fields_come_and_go_and_change_their_use() {
    let before = application("field a type int {} field b type array<s> {}", &[]);
    let after = application("field b type array<s> { indexing: summary } field c type string {}", &[]);
    let notes = before.validate_change(&after).expect("allowed");
    assert_eq!(
        notes,
        [
            "Field 'a' of schema 't' is removed: its values are no longer shown.",
            "Field 'b' of schema 't' changes how it is used; no refeed is needed.",
            "Field 'c' of schema 't' is added: it is not set in stored documents.",
        ]
    );
    assert_ne!(before.fingerprint(), after.fingerprint());
}

#[test]
fn a_schema_goes_only_when_that_is_allowed() {
    let before = application("", &[U]);
    let rejection = before.validate_change(&application("", &[])).expect_err("removed");
    assert!(rejection.message.starts_with("schema-removal: Schema 'u' is removed."), "{rejection}");
    let overrides =
        "<validation-overrides><allow until='2031-01-31' comment='old'>schema-removal</allow></validation-overrides>";
    let allowed = application("", &[("validation-overrides.xml", overrides)]);
    assert_eq!(allowed.overrides[0].until, "2031-01-31");
    assert_eq!(
        before.validate_change(&allowed).expect("allowed"),
        ["Schema 'u' is removed: its documents can no longer be reached."]
    );
    assert_eq!(application("", &[]).validate_change(&before).expect("allowed"), ["Schema 'u' is added."]);
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
