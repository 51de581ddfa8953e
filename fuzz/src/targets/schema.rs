//! Application packages: schemas, services.xml, and the frame they are carried in.
use std::hint::black_box;

use brooklet_schema::{Application, OnnxSignature};
use brooklet_task::bytes::{Reader, Writer};

use super::Target;
use crate::corpus;

const SERVICES: &str = "<services><container version='1.0'/><content id='t' version='1.0'><documents>\
                        <document type='t' mode='streaming'/></documents><redundancy>1</redundancy></content></services>";
const OVERRIDES: &str = "<validation-overrides><allow until='2027-01-01'>schema-removal</allow></validation-overrides>";

pub fn targets() -> Vec<Target> {
    vec![
        schema(),
        mail_schema(),
        services(),
        overrides(),
        query_profile(),
        query_profile_type(),
        package(),
        significance(),
        constant("json"),
        constant("json.lz4"),
        onnx(),
    ]
}

/// Language models and search chains.
const CHAINS: &str = "<services><container id='d' version='1.0'>\
    <component id='m' class='ai.vespa.llm.clients.OpenAI'><config name='ai.vespa.llm.clients.llm-client'>\
    <apiKeySecretRef>k</apiKeySecretRef><temperature>0.2</temperature><maxTokens>5</maxTokens></config></component>\
    <search><chain id='a' inherits='b vespa'><searcher id='x' class='ai.vespa.search.llm.LLMSearcher'/></chain>\
    <chain id='b'><searcher id='ai.vespa.search.llm.RAGSearcher'><config name='ai.vespa.search.llm.llm-searcher'>\
    <providerId>m</providerId><stream>true</stream><promptTemplate>f</promptTemplate></config></searcher></chain></search>\
    </container><content id='t' version='1.0'><documents><document type='t' mode='streaming'/></documents><redundancy>1</redundancy></content></services>";

/// `files` with one of them replaced.
fn with(files: &[(String, Vec<u8>)], path: &str, content: &[u8]) -> Vec<(String, Vec<u8>)> {
    let others = files.iter().filter(|(name, _)| name != path).cloned();
    others.chain([(path.to_owned(), content.to_vec())]).collect()
}

/// Small schemas, each about one thing.
fn schema() -> Target {
    let files = vec![("services.xml".to_owned(), SERVICES.as_bytes().to_vec())];
    Target::new("schema", corpus::members("schema/schema.jsonl", "sd"), move |content| {
        let _ = black_box(Application::deploy(&with(&files, "schemas/t.sd", content)));
    })
    .costs(4)
}

/// A significance model in its file.
fn significance() -> Target {
    let services = SERVICES.replace(
        "<container version='1.0'/>",
        "<container version='1.0'><search><significance><model path='m.json'/></significance></search></container>",
    );
    let schema = b"schema t { document t { field f type string { indexing: index } } }".to_vec();
    let files = vec![("services.xml".to_owned(), services.into_bytes()), ("schemas/t.sd".to_owned(), schema)];
    let model = br#"{"version": "1", "id": "m", "languages": {"en,un": {"description": "d", "document-count": 9,
        "document-frequencies": {"the": 8, "cat": 2}}, "no": {"document-count": 3, "document-frequencies": {}}}}"#;
    Target::new("significance-model", vec![model.to_vec()], move |content| {
        let Ok(application) = Application::deploy(&with(&files, "m.json", content)) else { return };
        for language in [None, Some("en-US"), Some("un"), Some("de")] {
            let _ = black_box(application.significance.model(language).map(|model| model.frequency("cat")));
        }
    })
    .costs(2)
}

/// What an ONNX file says of itself: messages in messages, with weights among them.
fn onnx() -> Target {
    let field = |number: u8, content: &[u8]| {
        let mut writer = Writer::new();
        writer.u8(number << 3 | 2);
        writer.bytes(content);
        writer.finish()
    };
    let number = |field: u8, value: u8| vec![field << 3, value];
    let shape = [field(1, &number(1, 3)), field(1, &field(2, b"batch")), field(1, &[])].concat();
    let tensor = field(1, &[number(1, 1), field(2, &shape)].concat());
    let value = [field(1, b"x"), field(2, &tensor)].concat();
    let node = [field(1, b"x"), field(2, b"y"), field(4, b"Relu"), field(7, b"ai.onnx")].concat();
    let weights = [number(1, 2), number(2, 1), field(8, b"w"), field(9, &[0; 8]), number(14, 0)].concat();
    let graph = [field(1, &node), field(5, &weights), field(11, &value), field(12, &value)].concat();
    let file = [number(1, 8), field(7, &graph), field(8, &number(2, 17))].concat();
    Target::new("onnx-signature", vec![file, field(7, &graph), value], move |content| {
        let _ = black_box(OnnxSignature::read(content));
    })
}

/// Constants from files, packed or not.
fn constant(ending: &'static str) -> Target {
    let schema = format!(
        "schema t {{\n document t {{ }}\n constant c {{\n file: constants/c.{ending}\n type: tensor(a{{}},x[2])\n }}\n }}"
    );
    let files = vec![
        ("services.xml".to_owned(), SERVICES.as_bytes().to_vec()),
        ("schemas/t.sd".to_owned(), schema.into_bytes()),
    ];
    let json = br#"{"blocks":{"k":[1,2.5],"l":[3,-4]}}"#.to_vec();
    let (name, content) = match ending {
        "json" => ("constant-json", json),
        _ => ("constant-lz4", lz4_frame(&json)),
    };
    Target::new(name, vec![content], move |content| {
        let path = format!("constants/c.{ending}");
        let _ = black_box(Application::deploy(&with(&files, &path, content)));
    })
    .costs(4)
}

/// A frame of one block that is not packed, and one that is: literals, and a copy of the last four bytes.
fn lz4_frame(content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
    frame.extend((content.len() as u32 | 1 << 31).to_le_bytes());
    frame.extend(content);
    frame.extend([8, 0, 0, 0, 0x40, b' ', b' ', b' ', b' ', 4, 0, 0x00]);
    frame.extend([0, 0, 0, 0]);
    frame
}

const PROFILE: &str = "search/query-profiles/a.xml";
const PROFILE_TYPE: &str = "search/query-profiles/types/t.xml";

/// A query profile beside a type and another profile.
fn query_profile() -> Target {
    let files = profile_files();
    let corpus = [
        "<query-profile id='a' type='t' inherits='b'><field name='n' overridable='false'>5</field></query-profile>",
        "<query-profile id='a'><dimensions>x,y</dimensions><field name='m'><ref>b</ref></field><field name='m.s'>%{s}</field>\
         <query-profile for='*,1' inherits='b'><field name='s'>v</field></query-profile></query-profile>",
    ];
    Target::new("query-profile", corpus.map(Vec::from).to_vec(), move |content| {
        if let Ok(application) = Application::deploy(&with(&files, PROFILE, content)) {
            let profiles = &application.query_profiles;
            if let Some(profile) = profiles.find("a") {
                black_box(profiles.values(profile, &|_| Some("1".to_owned())));
                let _ = black_box(profiles.refuse(profile, "m.s", "x", &|_| false));
            }
        }
    })
    .costs(4)
}

/// A type of query profiles.
fn query_profile_type() -> Target {
    let files = profile_files();
    let corpus = [
        "<query-profile-type id='t' inherits='native u'><strict/><match path='true'/><field name='n' type='integer' \
         mandatory='true' alias='N M'/><field name='p' type='query-profile:u' overridable='false'/></query-profile-type>",
    ];
    Target::new("query-profile-type", corpus.map(Vec::from).to_vec(), move |content| {
        let _ = black_box(Application::deploy(&with(&files, PROFILE_TYPE, content)));
    })
    .costs(4)
}

fn profile_files() -> Vec<(String, Vec<u8>)> {
    let files = [
        ("services.xml", SERVICES),
        ("schemas/t.sd", "schema t { document t { field a type int { indexing: attribute } } }"),
        (PROFILE, "<query-profile id='a' type='t'><field name='n'>1</field></query-profile>"),
        ("search/query-profiles/b.xml", "<query-profile id='b'><field name='s'>x</field></query-profile>"),
        (PROFILE_TYPE, "<query-profile-type id='t'><field name='n' type='integer'/></query-profile-type>"),
        ("search/query-profiles/types/u.xml", "<query-profile-type id='u'/>"),
    ];
    files.map(|(path, content)| (path.to_owned(), content.as_bytes().to_vec())).to_vec()
}

/// A large schema with everything in it.
fn mail_schema() -> Target {
    let files = corpus::mail_files();
    let corpus = vec![corpus::file("applications/mail/schemas/mail.sd").into_bytes()];
    Target::new("mail-schema", corpus, move |content| {
        let _ = black_box(Application::deploy(&with(&files, "schemas/mail.sd", content)));
    })
    .costs(10)
}

fn services() -> Target {
    let files = corpus::mail_files();
    let corpus = vec![
        corpus::file("applications/mail/services.xml").into_bytes(),
        SERVICES.as_bytes().to_vec(),
        CHAINS.as_bytes().to_vec(),
    ];
    Target::new("services", corpus, move |content| {
        let _ = black_box(Application::deploy(&with(&files[1..2], "services.xml", content)));
    })
    .costs(10)
}

fn overrides() -> Target {
    let files = vec![
        ("services.xml".to_owned(), SERVICES.as_bytes().to_vec()),
        ("schemas/t.sd".to_owned(), b"schema t { document t { } }".to_vec()),
    ];
    Target::new("validation-overrides", vec![OVERRIDES.as_bytes().to_vec()], move |content| {
        let _ = black_box(Application::deploy(&with(&files, "validation-overrides.xml", content)));
    })
    .costs(4)
}

/// A package as it crosses the border (docs/abi.md).
fn package() -> Target {
    let mut writer = Writer::new();
    let files = corpus::mail_files();
    writer.varint(files.len() as u64);
    for (path, content) in &files {
        writer.text(path);
        writer.bytes(content);
    }
    Target::new("package", vec![writer.finish()], |bytes| {
        if let Ok(files) = read_package(bytes) {
            let _ = black_box(Application::deploy(&files));
        }
    })
    .costs(10)
}

fn read_package(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, brooklet_task::Rejection> {
    let mut reader = Reader::new(bytes);
    let count = reader.count(2)?;
    (0..count).map(|_| Ok((reader.text()?.to_owned(), reader.bytes()?.to_vec()))).collect()
}
