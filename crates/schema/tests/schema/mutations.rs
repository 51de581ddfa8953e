//! Whatever is in a package: a deploy answers, it does not panic, and it answers in time.
use crate::processor::is_even;
use brooklet_schema::Application;
use proptest::prelude::*;

const MAIL: &str = include_str!("../../../../test-vectors/applications/mail/schemas/mail.sd");
const SERVICES: &str = include_str!("../../../../test-vectors/applications/mail/services.xml");
const NOTE: &str = include_str!("../../../../test-vectors/applications/mail/schemas/note.sd");

fn deploy(services: &str, mail: &str) -> Result<Application, brooklet_task::Rejection> {
    let file = |path: &str, content: &str| (path.to_owned(), content.as_bytes().to_vec());
    Application::deploy(&[file("services.xml", services), file("schemas/mail.sd", mail), file("schemas/note.sd", NOTE)])
}

/// The text with a piece of `length` characters at `at` replaced.
fn replaced(text: &str, at: usize, length: usize, by: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let at = at % characters.len();
    let end = (at + length).min(characters.len());
    characters[..at].iter().chain(by.chars().collect::<Vec<_>>().iter()).chain(&characters[end..]).collect()
}

/// Words that mean something somewhere, to be put where they do not.
fn words() -> impl Strategy<Value = String> {
    let words = "{ } : ; , | ( ) [ ] < > \" ' # . - $ \n = field type struct indexing inherits rank-profile summary match expression \
                 tensor tensor( tensor<float>(x[3]) array< map<string, if switch case input for_each attribute index || 1.5e5 é \u{feff}";
    let words: Vec<&'static str> = words.split(' ').collect();
    prop_oneof![prop::sample::select(words).prop_map(str::to_owned), any::<String>(), Just(String::new())]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_schema_is_answered(at in any::<usize>(), length in 0usize..40, by in words(), again in any::<usize>(), more in words()) {
        let text = replaced(&replaced(MAIL, at, length, &by), again, 1, &more);
        if let Err(rejection) = deploy(SERVICES, &text) {
            prop_assert!(!rejection.message.is_empty());
            prop_assert!(rejection.span.is_none_or(|span| span.offset <= text.len()));
        }
    }

    #[test]
    fn a_cut_schema_is_refused(at in 0..MAIL.trim_end().len() - 1) {
        prop_assert!(deploy(SERVICES, &MAIL[..at]).is_err());
    }

    #[test]
    fn changed_services_are_answered(at in any::<usize>(), length in 0usize..40, by in words()) {
        if let Err(rejection) = deploy(&replaced(SERVICES, at, length, &by), MAIL) {
            prop_assert!(!rejection.message.is_empty());
        }
    }
}

/// Texts of a megabyte made of one thing, which a careless parser is quadratic or recursive on: eight times as much takes
/// eight times as long, or 64 times.
#[test]
fn a_large_schema_is_not_read_once_for_each_of_its_parts() {
    for (index, (whole, eighth)) in large_schemas(1_000_000).iter().zip(&large_schemas(125_000)).enumerate() {
        let read = |text: &str| _ = deploy(SERVICES, text);
        assert!(is_even(read, whole.as_str(), eighth), "case {index} is read many times");
    }
}

fn large_schemas(size: usize) -> [String; 18] {
    let repeat = |piece: &str| piece.repeat(size / piece.len());
    let count = |piece: &dyn Fn(usize) -> String| (0..size / piece(1_000_000).len()).map(piece).collect::<String>();
    let body = |inside: &str| format!("schema mail {{ document mail {{ field a type string {{}} }}\n{inside}\n}}");
    [
        repeat("{"),
        format!("schema mail {{ {}", repeat("rank-profile p {")),
        body(&repeat("# ")),
        body(&count(&|i| format!("rank-profile p{i} inherits default {{}} "))),
        body(&count(&|i| format!("document-summary s{i} {{}} "))),
        body(&format!("document-summary s {{ {} }}", count(&|i| format!("summary s{i} {{ source: a }} ")))),
        body(&format!("rank-profile p {{ match-features {{ {} }} }}", count(&|i| format!("f{i} ")))),
        body(&format!("rank-profile p {{ rank-properties {{\n {} }} }}", count(&|i| format!("f{i}: 1\n")))),
        body(&format!("rank-profile p {{ {} }}", count(&|i| format!("function f{i}() {{ expression: 1 }}")))),
        body(&format!("rank-profile p {{ inputs {{ {} }} }}", count(&|i| format!("f{i} double: 1\n")))),
        body(&format!("rank-profile p {{ inputs {{ q tensor(x{{}}): {} }} }}", repeat("{"))),
        body(&format!("field f type string {{ indexing: {} }}", repeat("this + "))),
        body(&format!("field f type string {{ indexing: {} }}", repeat("if (this == 1) { "))),
        body(&format!("field f type {}", repeat("map<int, "))),
        body(&format!("fieldset f {{ fields: a{} }}", repeat(", a"))),
        format!("schema mail {{ document mail inherits note{} {{ }} }}", repeat(", note")),
        format!("schema mail {{ document mail {{ {} }} }}", count(&|i| format!("field f{i} type string {{}} "))),
        format!("schema mail {{ document mail {{ {} }} }}", count(&|i| format!("struct s{i} {{ }} "))),
    ]
}
