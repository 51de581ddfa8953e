//! What a deploy refuses, and how it says so: file, line and column, and what may have been meant.
use brooklet_schema::Application;
use brooklet_task::{Code, Rejection};

const SERVICES: &str = r#"<services version="1.0">
  <content id="c" version="1.0">
    <documents><document type="t" mode="streaming"/></documents><redundancy>1</redundancy>
  </content>
</services>"#;

type Files = Vec<(String, Vec<u8>)>;

fn package(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(path, content)| ((*path).to_owned(), content.as_bytes().to_vec())).collect()
}

fn deploy(files: &[(&str, &str)]) -> Result<Application, Rejection> {
    Application::deploy(&package(files))
}

/// The refusal of a schema `t`.
fn schema(text: &str) -> Rejection {
    deploy(&[("services.xml", SERVICES), ("schemas/t.sd", text)]).expect_err(text)
}

/// The refusal of a services.xml.
fn services(text: &str) -> Rejection {
    deploy(&[("services.xml", text), ("schemas/t.sd", "schema t { document t { } }")]).expect_err(text)
}

/// The refusal of a field `f`.
fn field(body: &str) -> Rejection {
    schema(&format!("schema t {{\n document t {{\n  field f {body}\n }}\n}}"))
}

#[track_caller]
fn says(rejection: &Rejection, code: Code, message: &str) {
    assert_eq!((rejection.code, rejection.message.as_str()), (code, message));
    let has_place = message.contains(".sd:1:") || message.contains(".xml:2:");
    assert!(!has_place || rejection.span.is_some());
}

#[track_caller]
fn invalid(rejection: &Rejection, message: &str) {
    says(rejection, Code::InvalidApplication, message);
}

#[track_caller]
fn unsupported(rejection: &Rejection, message: &str) {
    says(rejection, Code::Unsupported, message);
}

#[test]
fn syntax() {
    invalid(&schema(""), "schemas/t.sd:1:1: 'schema' expected, found the end of the file");
    invalid(&schema("schema t {\n"), "schemas/t.sd:2:1: an element of a schema expected, found the end of the file");
    invalid(&schema("shema t { }"), "schemas/t.sd:1:1: unknown element 'shema'; did you mean 'schema'?");
    invalid(
        &schema("schema t { document u { } }"),
        "schemas/t.sd:1:21: document 'u' must have the name of its schema, 't'",
    );
    invalid(&schema("schema t { }"), "schemas/t.sd:1:8: schema 't' has no document");
    invalid(
        &schema("schema u { document u { } }"),
        "schemas/t.sd:1:8: the file of schema 'u' must be named 'u.sd', not 't.sd'",
    );
    invalid(
        &field("type string { indexing: \"a }"),
        "schemas/t.sd:3:35: an indexing expression expected in an indexing statement, found a quoted text that does not end",
    );
    invalid(&field("type string { query-command: \"a }"), "schemas/t.sd:3:40: a quoted text does not end");
}

#[test]
fn types() {
    invalid(
        &field("type strng { }"),
        "schemas/t.sd:3:16: unknown type named 'strng' in context document 't'; did you mean 'string'?",
    );
    invalid(
        &field("type array<tensor(x[2])> { }"),
        "schemas/t.sd:3:16: an array of tensor(x[2]) is not possible: add a mapped dimension",
    );
    invalid(
        &field("type tensor(x[4294967296],y[4294967296]) { }"),
        "schemas/t.sd:3:16: Illegal tensor type spec 'tensor(x[4294967296],y[4294967296])': For input string: \"4294967296\"",
    );
    let deep = format!("type {}int{} {{ }}", "array<".repeat(100), ">".repeat(100));
    assert!(field(&deep).message.contains("blocks and types nest at most 24 levels deep"));
    invalid(
        &schema("schema t { document t { struct a { field b type b {} } struct b { field a type a {} } } }"),
        "schemas/t.sd:1:80: struct 'a' contains itself",
    );
}

#[test]
fn a_struct_that_doubles_at_every_level_is_refused_at_once() {
    let mut text = String::from("schema t { document t { struct s0 { field a type int {} }\n");
    for level in 1..15 {
        let inner = level - 1;
        text.push_str(&format!("struct s{level} {{ field a type s{inner} {{}} field b type s{inner} {{}} }}\n"));
    }
    assert!(schema(&format!("{text} }} }}")).message.contains("a struct has at most 512 parts, at all depths"));
}

#[test]
fn duplicates_name_both_places() {
    let twice = "schema t {\n document t {\n  field f type int {}\n  field f type int {}\n }\n}";
    invalid(
        &schema(twice),
        "schemas/t.sd:4:9: field 'f' is defined twice: the first definition is at schemas/t.sd:3:9",
    );
    let profiles = "schema t {\n document t {}\n rank-profile p {}\n rank-profile p {}\n}";
    invalid(
        &schema(profiles),
        "schemas/t.sd:4:15: rank-profile 'p' is defined twice: the first definition is at schemas/t.sd:3:15",
    );
    let documents = "schema t {\n document t {}\n document t {}\n}";
    invalid(
        &schema(documents),
        "schemas/t.sd:3:11: document 't' is defined twice: the first definition is at schemas/t.sd:2:11",
    );
}

#[test]
fn indexing() {
    invalid(
        &field("type string { indexing: indx }"),
        "schemas/t.sd:3:35: unknown indexing expression 'indx'; did you mean 'index'?",
    );
    unsupported(
        &field("type string {\n indexing: lowercase | index\n}"),
        "schemas/t.sd:4:12: For schema 't', field 'f': indexing expression 'lowercase' is not supported yet",
    );
    invalid(
        &field("type tensor<float>(x[3]) { indexing: input a | embed e5 | attribute }"),
        "schemas/t.sd:3:48: For schema 't', field 'f': Indexing expression 'input a' attempts to modify the value of the document \
         field 'f'. Use a field outside the document block instead.",
    );
    let made = |script: &str| {
        let fields = "field a type string {} field n type int {} field l type array<string> {}";
        let schema_text =
            format!("schema t {{ document t {{ {fields} }}\nfield f type string {{ indexing: {script} }}\n}}");
        schema(&schema_text)
    };
    let about = "For schema 't', field 'f'";
    invalid(&made("input b | index"), &format!("schemas/t.sd:2:33: {about}: the document has no field 'b'"));
    invalid(
        &made("input n | index"),
        &format!("schemas/t.sd:2:43: {about}: the field is of type string, its script makes int"),
    );
    invalid(
        &made("input l | lowercase | index"),
        &format!("schemas/t.sd:2:43: {about}: lowercase needs a value of type string, not Array<string>"),
    );
    invalid(
        &made("input a || input n | index"),
        &format!("schemas/t.sd:2:44: {about}: a choice between string and int"),
    );
    invalid(
        &made("input a | chunk words | index"),
        &format!("schemas/t.sd:2:43: {about}: chunk is followed by 'sentence', or by 'fixed-length' and a length"),
    );
    invalid(
        &made("input a | embed e5 | index"),
        &format!("schemas/t.sd:2:43: {about}: embed makes a tensor, which the field's type is not"),
    );
    invalid(
        &made("input a | hash | index"),
        &format!("schemas/t.sd:2:43: {about}: An string output is required, but this produces int or long"),
    );
    invalid(&made("get_var x | index"), &format!("schemas/t.sd:2:33: {about}: Variable 'x' not found"));
    unsupported(
        &made("input a | hostname | index"),
        &format!("schemas/t.sd:2:43: {about}: indexing expression 'hostname' is not supported yet"),
    );
    invalid(
        &field("type tensor(x[2]) { indexing: index }"),
        "schemas/t.sd:3:9: For schema 't', field 'f': A tensor that has an index must also be an attribute.",
    );
    let deep = format!("type string {{ indexing: {}this{} }}", "(".repeat(40), ")".repeat(40));
    assert!(field(&deep).message.contains("an indexing script nests at most 32 levels deep"));
}

#[test]
fn inheritance() {
    invalid(
        &schema("schema t { document t {} rank-profile a inherits defalt {} }"),
        "schemas/t.sd:1:50: rank-profile 'a' inherits 'defalt', but this is not found in schema 't'; did you mean 'default'?",
    );
    invalid(
        &schema("schema t { document t {} rank-profile a inherits b {} rank-profile b inherits a {} }"),
        "schemas/t.sd:1:39: rank-profile 'a' inherits itself",
    );
    let conflict = "schema t { document t {}
      rank-profile a { function f() { expression: 1 } }
      rank-profile b { function f() { expression: 2 } }
      rank-profile c inherits a, b { } }";
    invalid(&schema(conflict), "schemas/t.sd:4:20: rank-profile 'c' inherits conflicting definitions of function 'f'");
    invalid(
        &schema("schema t { document t inherits u {} }"),
        "schemas/t.sd:1:32: document 't' inherits 'u', but this is not found",
    );
}

#[test]
fn fields_named_elsewhere_must_exist() {
    let with = |what: &str| schema(&format!("schema t {{ document t {{ field subject type string {{}} }} {what} }}"));
    invalid(
        &with("fieldset default { fields: subjct }"),
        "schemas/t.sd:1:83: For schema 't', fieldset 'default': field 'subjct' does not exist; did you mean 'subject'?",
    );
    invalid(
        &with("document-summary s { summary x { source: body } }"),
        "schemas/t.sd:1:85: For schema 't', summary class 's', summary field 'x': there is no valid source 'body'",
    );
}

#[test]
fn what_is_known_but_not_supported_is_named() {
    let with = |what: &str| schema(&format!("schema t {{ document t {{ }}\n {what} }}"));
    says(
        &with("rank-profile p { onnx-model m { file: files/m.onnx } }"),
        Code::InvalidApplication,
        "schemas/t.sd:2:30: Unable to find ONNX model 'files/m.onnx'",
    );
    says(
        &with("onnx-model m { file: m.bin }"),
        Code::InvalidApplication,
        "schemas/t.sd:2:13: the file of an onnx-model ends with .onnx: m.bin",
    );
    invalid(
        &with("onnx-model m { uri: file:///etc/passwd\n }"),
        "schemas/t.sd:2:17: 'file:///etc/passwd' is no address: it begins with https:// or http://, and has no spaces",
    );
    invalid(
        &with("onnx-model m { file: m.onnx\n uri: https://models/m.onnx\n }"),
        "schemas/t.sd:3:2: the onnx-model 'm' has one 'file' or 'uri'",
    );
    invalid(&with("onnx-model m { }"), "schemas/t.sd:2:13: the onnx-model 'm' needs 'file' or 'uri'");
    says(
        &with("rank-profile p { constants { c tensor(x[2]): file:c.json } }"),
        Code::InvalidApplication,
        "schemas/t.sd:2:31: there is no file c.json",
    );
    // What stands behind a path on its line is no part of it, unless quotes say so.
    for (constant, path) in [
        ("constant c { file: c.json type: tensor(x[2]) }", "c.json"),
        ("constant c { type: tensor(x[2]) file:constants/c.json}", "constants/c.json"),
        ("constant c { file: \"a b}.json\" type: tensor(x[2]) }", "a b}.json"),
        ("rank-profile p { constants { c tensor(x[2]): file:c.json d double: 3 } }", "c.json"),
    ] {
        let message = with(constant).message;
        assert!(message.ends_with(&format!(": there is no file {path}")), "{constant}: {message}");
    }
}

#[test]
fn models_by_address_are_told_and_must_be_given_with_the_package() {
    let sd = "schema t { document t { }
      onnx-model m { uri: \"https://models/m.onnx?rev=2\"
      }
      rank-profile p {
        onnx-model n { uri: http://models/n
        }
      }
      rank-profile q { onnx-model o { url: https://models/m.onnx?rev=2
      } } }";
    let services = SERVICES.replace(
        "</services>",
        "<container id='k' version='1.0'><component id='e' type='hugging-face-embedder'>
         <transformer-model url='https://models/e.onnx'/><tokenizer-model path='t.json'/></component></container></services>",
    );
    let files = package(&[("services.xml", services.as_str()), ("schemas/t.sd", sd)]);
    let addresses = Application::model_addresses(&files).expect("it can be read");
    assert_eq!(
        addresses.to_json(),
        r#"{"ranking":["http://models/n","https://models/m.onnx?rev=2"],"embedders":["https://models/e.onnx"]}"#
    );
    let missing = |name: &str, place: &str, address: &str| {
        format!(
            "schemas/t.sd:{place}: the model of '{name}' is not on this server, and nothing is downloaded by a deploy: \
             run 'brooklet model pull {address}' (with the --model-cache of the server) and deploy again"
        )
    };
    let refused = |models: &[(String, Vec<u8>)]| Application::deploy_with(&files, models).expect_err("one is missing");
    invalid(&refused(&[]), &missing("m", "2:18", "https://models/m.onnx?rev=2"));
    // A graph of a node and an output, none of which matters here.
    let graph = [0x3a, 9, 0x0a, 2, 0x22, 0, 0x62, 3, 0x0a, 1, b'y'];
    let given = |address: &str, content: &[u8]| (address.to_owned(), content.to_vec());
    let first = given("https://models/m.onnx?rev=2", &graph);
    assert!(refused(std::slice::from_ref(&first)).message.contains("brooklet model pull http://models/n'"));
    let rejection = refused(&[first, given("http://models/n", b"<html>")]);
    assert!(rejection.message.contains("http://models/n cannot be used: "), "{rejection}");
}

#[test]
fn query_profiles_are_refused_with_their_place() {
    let circle = "a.xml:1:1: query profile 'a' inherits or refers to itself";
    let scope =
        "a.xml:2:2: 'streaming.groupname' cannot be set in a query profile: every request names its group itself";
    let cases = [
        (
            "a",
            "<query-profile id='a'\n inherits='nobody'/>",
            "a.xml:1:1: inherited query profile 'nobody' does not exist",
        ),
        ("a", "<query-profile id='b'/>", "a.xml:1:1: the file of 'b' must be named 'b.xml', not 'a.xml'"),
        ("a", "<query-profile id='a'>\n <field name='streaming.groupname'>x</field></query-profile>", scope),
        (
            "a",
            "<query-profile id='a'>\n <field name='b'>%{c</field></query-profile>",
            "a.xml:2:2: could not set 'b': the substitution in '%{c' has no end",
        ),
        ("a", "<query-profile id='a' inherits='a'/>", circle),
    ];
    for (name, content, expected) in cases {
        let path = format!("search/query-profiles/{name}.xml");
        let rejection = deploy(&[("services.xml", SERVICES), (&path, content)]).expect_err("a malformed profile");
        assert_eq!(rejection.code, Code::InvalidApplication, "{content}");
        assert_eq!(rejection.message, format!("search/query-profiles/{expected}"));
    }
}

#[test]
fn streaming_mode_has_no_references() {
    let message = "For search cluster 'c', streaming schema 't': Attribute 'r' has type 'Reference<t>'. Document references and \
                   imported fields are not allowed in streaming search.";
    let rejection = schema("schema t { document t { field r type reference<t> { indexing: attribute } } }");
    invalid(&rejection, &format!("schemas/t.sd:1:8: {message}"));
    let imported = schema("schema t { document t { field r type reference<t> {} } import field r.a as b {} }");
    assert!(imported.message.contains("imported fields are not allowed in streaming search"), "{imported}");
}

#[test]
fn services_xml_is_read_without_trust() {
    invalid(
        &services("<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><services>&b;</services>"),
        "services.xml:1:1: DTD not allowed",
    );
    let include = "<services xmlns:xi='http://www.w3.org/2001/XInclude'>\n<xi:include href='a'/></services>";
    invalid(&services(include), "services.xml:2:1: inclusion of other files (XInclude) is not allowed");
    assert!(services("<services>\n<container></services>").message.starts_with("services.xml:2:"));
    assert!(services("<services>\n<container id=default/></services>").message.starts_with("services.xml:2:15: "));
    let deep = format!("<services>{}{}</services>", "<nodes>".repeat(70), "</nodes>".repeat(70));
    assert!(services(&deep).message.contains("elements nest at most 64 levels deep"));
    let wide = format!("<services {}/>", (0..600).map(|i| format!("a{i}=\"\" ")).collect::<String>());
    assert!(services(&wide).message.contains("an element has at most 500 attributes"));
}

#[test]
fn chains_and_language_models_are_checked() {
    let model = "<component id='m' class='ai.vespa.llm.clients.OpenAI'/>";
    let container = |what: &str| {
        services(&format!("<services><container id='default' version='1.0'>\n{what}</container></services>"))
    };
    let chain = |inside: &str| container(&format!("{model}<search>\n<chain id='rag'>{inside}</chain></search>"));
    let rag = |config: &str| {
        format!(
            "<searcher id='ai.vespa.search.llm.RAGSearcher'><config name='ai.vespa.search.llm.llm-searcher'>{config}\
             </config></searcher>"
        )
    };
    invalid(
        &container(&format!("<search><chain id='rag'>\n{}</chain></search>", rag(""))),
        "services.xml:3:1: No language models were found",
    );
    invalid(
        &chain(&rag("<providerId>n</providerId>")),
        "services.xml:3:17: No component with id 'n' was found. Available LLM components are: m",
    );
    invalid(
        &chain(&rag("\n<provider>m</provider>")),
        "services.xml:4:1: unknown setting <provider> of ai.vespa.search.llm.llm-searcher; did you mean 'providerId'?",
    );
    invalid(&chain(&rag("\n<stream>yes</stream>")), "services.xml:4:1: <stream> must be true or false, not 'yes'");
    invalid(
        &chain(&rag("<promptTemplate>files/p.txt</promptTemplate>")),
        "services.xml:3:17: the template 'files/p.txt' is no file of the package",
    );
    invalid(&chain("<sercher/>"), "services.xml:3:17: unknown element <sercher> in <chain>; did you mean 'searcher'?");
    invalid(
        &container("<search>\n<chain id='a' inherits='vesp'/></search>"),
        "services.xml:3:1: there is no chain 'vesp' to inherit; did you mean 'vespa'?",
    );
    invalid(
        &container("<search>\n<chain id='a' inherits='b'/><chain id='b' inherits='a'/></search>"),
        "services.xml:3:1: chain 'a' inherits itself",
    );
    invalid(&container(&format!("{model}{model}")), "services.xml:2:56: two components have the id 'm'");
}

#[test]
fn field_generators_are_checked() {
    let model = "<component id='m' class='ai.vespa.llm.clients.OpenAI'/>";
    let generator = |id: &str, config: &str| {
        format!(
            "\n<component id='{id}' class='ai.vespa.llm.generation.LanguageModelFieldGenerator'>\
             <config name='ai.vespa.llm.generation.language-model-field-generator'>{config}</config></component>"
        )
    };
    let with = |components: &str, field: &str| {
        let services = format!(
            "<services><container id='default' version='1.0'>{components}</container>\
             <content id='c' version='1.0'><documents><document type='t' mode='streaming'/></documents><redundancy>1</redundancy></content></services>"
        );
        let sd = format!(
            "schema t {{ document t {{ field a type string {{}} field l type array<string> {{}} }}\n{field} }}"
        );
        deploy(&[("services.xml", &services), ("schemas/t.sd", &sd)])
    };
    let field = |of: &str, script: &str| format!("field f type {of} {{ indexing: {script} }}");
    let refused = |components: &str, field: &str| with(components, field).unwrap_err();
    let plain = field("string", "input a | generate | index");
    let one = format!("{model}{}", generator("g", ""));
    let two = format!("{one}{}", generator("texts", "<responseFormatType>TEXT</responseFormatType>"));
    assert!(with(&one, &plain).is_ok());
    let report = with(&two, &field("string", "input a | generate texts | index")).unwrap().report();
    assert!(report.contains(r#""generators":[{"id":"g","provider":"m"},{"id":"texts","provider":"m"}]"#), "{report}");
    assert!(report.contains(r#""embeds":true"#), "{report}");

    let about = "For schema 't', field 'f'";
    invalid(&refused(&generator("g", ""), &plain), "services.xml:2:1: No language models were found");
    invalid(
        &refused(&format!("{model}{}", generator("g", "<providerId>n</providerId>")), &plain),
        "services.xml:2:1: No component with id 'n' was found. Available LLM components are: m",
    );
    let of = |config: &str| refused(&format!("{model}{}", generator("g", config)), &plain);
    invalid(
        &of("\n<responseFormatTyp>JSON</responseFormatTyp>"),
        "services.xml:3:1: unknown setting <responseFormatTyp> of ai.vespa.llm.generation.language-model-field-generator; \
         did you mean 'responseFormatType'?",
    );
    invalid(
        &of("<responseFormatType>XML</responseFormatType>"),
        "services.xml:2:1: <responseFormatType> must be one of JSON, TEXT, not 'XML'",
    );
    invalid(
        &of("<promptTemplateFile>files/p.txt</promptTemplateFile>"),
        "services.xml:2:1: the template 'files/p.txt' is no file of the package",
    );
    invalid(
        &refused(&format!("{one}{}", generator("g", "")), &plain),
        "services.xml:3:1: two components have the id 'g'",
    );
    invalid(
        &refused(model, &plain),
        &format!("schemas/t.sd:2:43: {about}: services.xml has no component of a field generator"),
    );
    invalid(
        &refused(&two, &plain),
        &format!("schemas/t.sd:2:43: {about}: there are several field generators, one must be named: g, texts"),
    );
    invalid(
        &refused(&two, &field("string", "input a | generate text | index")),
        &format!(
            "schemas/t.sd:2:43: {about}: there is no field generator 'text'; did you mean 'texts'?; there are g, texts"
        ),
    );
    invalid(
        &refused(&two, &field("int", "input a | generate texts | attribute")),
        &format!(
            "schemas/t.sd:2:40: {about}: the generator 'texts' answers with texts, which are no values of type int"
        ),
    );
    invalid(
        &refused(&one, &field("string", "input l | generate | index")),
        &format!("schemas/t.sd:2:43: {about}: generate needs a value of type string, not Array<string>"),
    );
    let warned =
        format!("{model}{}", generator("g", "<invalidResponseFormatPolicy>WARN</invalidResponseFormatPolicy>"));
    assert_eq!(
        with(&warned, &plain).unwrap().warnings,
        ["services.xml:2:1: answers of the wrong form are passed over without a warning, as by DISCARD"]
    );
}

#[test]
fn services_xml_ignores_nothing_silently() {
    let container = |what: &str| {
        services(&format!("<services><container id='default' version='1.0'>\n{what}</container></services>"))
    };
    let of_cluster = |cluster: &str| services(&format!("<services>\n{cluster}</services>"));
    let unversioned = "services.xml:2:1: element \"container\" missing required attribute \"version\"";
    invalid(&of_cluster("<container id='k'/>"), unversioned);
    let unversioned = "services.xml:2:1: element \"content\" missing required attribute \"version\"";
    invalid(&of_cluster("<content id='c'/>"), unversioned);
    let other = "services.xml:2:1: value of attribute \"version\" is invalid; must be equal to \"1.0\", not '2.0'";
    invalid(&of_cluster("<content id='c' version='2.0'/>"), other);
    let variant = "<content id='c' version='1.0'><redundancy xmlns:deploy='vespa' deploy:environment='dev'>1</redundancy></content>";
    let unset = "services.xml:2:1: In content cluster 'c': Either <redundancy> or <min-redundancy> must be set";
    invalid(&of_cluster(variant), unset);
    let empty = "<content id='c' version='1.0'><min-redundancy>1</min-redundancy><documents/></content>";
    let incomplete = "services.xml:2:65: element \"documents\" incomplete; missing required element \"document\"";
    invalid(&of_cluster(empty), incomplete);
    invalid(&container("<serch/>"), "services.xml:2:1: unknown element <serch> in <container>; did you mean 'search'?");
    unsupported(
        &container("<component id='m' class='ai.vespa.llm.clients.LocalLLM'/>"),
        "services.xml:2:1: the component 'm' of class ai.vespa.llm.clients.LocalLLM (no language model runs in this process: \
         serve it with the OpenAI interface, and name it by 'endpoint') is not supported yet",
    );
    for kind in ["voyage-ai-embedder", "mistral-embedder"] {
        unsupported(
            &container(&format!("<component id='e' type='{kind}'><model>m</model></component>")),
            &format!("services.xml:2:1: a component of type '{kind}' is not supported yet"),
        );
    }
    unsupported(
        &container("<component id='e5' type='hugging-face-embeder'/>"),
        "services.xml:2:1: a component of type 'hugging-face-embeder'; did you mean 'hugging-face-embedder'? is not supported yet",
    );
    invalid(
        &container("<component id='e5' type='hugging-face-embedder'/>"),
        "services.xml:2:1: the hugging-face-embedder 'e5' needs <transformer-model>",
    );
    let with =
        |setting: &str| container(&format!("<component id='e5' type='hugging-face-embedder'>\n{setting}</component>"));
    invalid(
        &with("<max-token>1</max-token>"),
        "services.xml:3:1: unknown element <max-token> in <component>; did you mean 'max-tokens'?",
    );
    invalid(
        &with("<max-tokens>many</max-tokens>"),
        "services.xml:3:1: <max-tokens> must be a whole number, not 'many'",
    );
    invalid(
        &with("<pooling-strategy>max</pooling-strategy>"),
        "services.xml:3:1: <pooling-strategy> must be mean, cls, none, not 'max'",
    );
    unsupported(
        &with("<transformer-model model-id='e5'/>"),
        "services.xml:3:1: model-id='e5' in <transformer-model> (it names models of Vespa's cloud: give 'path' or 'url') is \
         not supported yet",
    );
    invalid(&with("<transformer-model/>"), "services.xml:3:1: <transformer-model> needs the attribute 'path' or 'url'");
    invalid(&with("<batching max-size='0'/>"), "services.xml:3:1: max-size of <batching> must be 1 to 2048, not '0'");
    let provider = |what: &str| container(&format!("<search>\n<provider id='p' {what}</search>"));
    let other = "services.xml:3:1: provider 'p': Unknown provider type 'vespa'";
    invalid(&provider("type='vespa'/>"), other);
    let absent = "services.xml:3:1: provider 'p': there is no content cluster 'k'";
    invalid(&provider("type='local' cluster='k'/>"), absent);
    let inner = "services.xml:3:43: unknown element <searcher> in <provider>";
    invalid(&provider("type='local' cluster='k'><searcher id='x'/></provider>"), inner);
    invalid(&container("<search a='b'/>"), "services.xml:2:1: unknown attribute 'a' of <search>");
    let content = |what: &str| {
        services(&format!(
            "<services><content id='c' version='1.0'><documents>\n{what}</documents><redundancy>1</redundancy></content></services>"
        ))
    };
    unsupported(
        &content("<document type='t' mode='index'/>"),
        "services.xml:2:1: mode=\"index\" of document type 't' (only mode=\"streaming\" is searched, where each query reads the \
         documents of one group) is not supported yet",
    );
    invalid(&content("<document type='t'/>"), "services.xml:2:1: <document> needs the attribute 'mode'");
    invalid(
        &content("<document type='tt' mode='streaming'/>"),
        "services.xml:2:1: document type 'tt' has no schema schemas/tt.sd; did you mean 't'?",
    );
}

#[test]
fn what_has_no_effect_is_checked_as_elsewhere() {
    let profile = |body: &str| {
        let fields = "field n type int { indexing: attribute\n attribute: fast-search } field l type long { indexing: attribute }";
        schema(&format!("schema t {{ document t {{ {fields} }}\n{body} }}")).message
    };
    let ends = |message: String, with: &str| assert!(message.ends_with(with), "{message}");
    ends(
        profile("rank-profile p { match-phase { attribute: n } }"),
        "match-phase needs an attribute, and max-hits or total-max-hits",
    );
    ends(profile("rank-profile p { match-phase { max-hitz: 1 } }"), "'max-hitz'; did you mean 'max-hits'?");
    let nested =
        "rank-profile p { match-phase { attribute: n\n max-hits: 9\n diversity { attribute: x\n min-groups: 2 } } }";
    ends(profile(nested), "diversity attribute 'x' does not exists");
    let parents = "rank-profile b { match-phase { attribute: l\n max-hits: 1 } } rank-profile p inherits b { }";
    ends(profile(parents), "rank-profile 'b': match-phase attribute 'l' must be fast-search, but it is not");
    let several = "rank-profile a { match-phase { attribute: n\n max-hits: 1 } } rank-profile b { match-phase { attribute: l\n \
                   max-hits: 1 } } rank-profile p inherits a, b { }";
    ends(profile(several), "can contain match-phase settings, but it is present in multiple");
    ends(profile("rank-profile p { weakand { adjust-targt: 0.5 } }"), "'adjust-targt'; did you mean 'adjust-target'?");
    let of_default =
        "rank-profile a inherits default { } rank-profile b inherits default { } rank-profile c inherits a, b { }";
    let both = "rank-profile 'c' inherits both 'a' and 'b', which have all of 'default': one of them may";
    ends(profile(of_default), both);
    let functions = "rank-profile a { function f() { expression: 1 } } rank-profile b inherits a { } rank-profile c inherits a, b { }";
    ends(profile(functions), "rank-profile 'c' inherits function 'f' of two profiles");
    let range = "3:44: '1.5' is not a legal value of weakand stopword-limit: it is from 0.0 to 1.0";
    ends(profile("rank-profile p { weakand { stopword-limit: 1.5 } }"), range);
    ends(profile("rank-profile p { strict: true\n strict: true }"), "schemas/t.sd:4:2: strict is set twice");
    ends(profile("rank-profile p { rank n: normal }"), "3:26: unknown setting of rank here 'normal'");
    let inherits = "rank-profile base { match-features: now } rank-profile q inherits base { match-features inherits bass { now } }";
    let hint = "match-features inherits 'bass', which rank-profile 'q' does not inherit; did you mean 'base'?";
    ends(profile(inherits), hint);
    ends(profile("rank-profile p { mutate {\n on-match { n += x }\n } }"), "'x' is not a number");
    ends(profile("rank-profile o { rank-profile i { } }"), "In rank-profile 'i': Inner profile 'i' must inherit 'o'");
    ends(
        profile("rank-profile o { rank-profile i inherits o { } rank-profile i inherits o { } }"),
        "at schemas/t.sd:3:31",
    );
    ends(profile("document-summary c { summary n type string { } }"), "summary field must have the same type");
    let twice = "document-summary c { summary x type int { source: n } } document-summary d { summary x type long { source: n } }";
    ends(profile(twice), "summary field must have the same type");
    let dictionary = "You must specify 'attribute:fast-search' to allow dictionary control";
    ends(field("type int { indexing: attribute\n dictionary: hash }").message, dictionary);
    let dictionary = "You can only specify 'dictionary:' for numeric or string fields";
    ends(field("type raw { indexing: attribute\n dictionary: btree }").message, dictionary);
    let structs = "schema t { document t { struct s { field a type int { id: 3 } field b type int { id: 3 } } } }";
    ends(schema(structs).message, "Couldn't set id of field 'b': another field of struct 's' has it");
}

#[test]
fn packages() {
    invalid(&deploy(&[]).expect_err("empty"), "services.xml is missing in the application package");
    for path in ["../x", "/x", "a\\..\\b", "a//b", "C:/x"] {
        assert!(deploy(&[(path, "")]).expect_err(path).message.contains("is not a path inside an application package"));
    }
    let twice = deploy(&[("schemas/t.sd", "schema t { document t {} }"), ("schemas/T.sd", "")]).expect_err("twice");
    invalid(&twice, "schemas/T.sd: the package has this file twice (as schemas/t.sd)");
    let utf16 = vec![("services.xml".to_owned(), vec![0xff, 0xfe, b'<', 0])];
    invalid(&Application::deploy(&utf16).expect_err("UTF-16"), "services.xml: the file is not UTF-8 (byte 0)");
    let long = "#".repeat(2 << 20);
    let rejection = deploy(&[("services.xml", SERVICES), ("schemas/t.sd", &long)]).expect_err("2 MiB");
    invalid(&rejection, "schemas/t.sd: the file is longer than 1048576 bytes");
}
