//! What a deploy makes of each element of a package.
use brooklet_document::selection::{Selection, Subject};
use brooklet_document::{DataType, DocumentId, DocumentTypes, Value};
use brooklet_schema::indexing::{ExpressionKind, Output};
use brooklet_schema::{
    Application, ElementGap, InputValue, MatchKind, MatchMode, Normalizing, RankMode, RankProfile, RankType, Schema,
    SortFunction, SortOrder, SourceText, SummaryTransform,
};
use brooklet_task::{Code, Rejection};

fn deploy(files: &[(&str, &str)]) -> Application {
    let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    Application::deploy(&files).unwrap_or_else(|rejection| panic!("{rejection}"))
}

fn services(types: &[&str]) -> String {
    let documents: String = types.iter().map(|name| format!("<document type='{name}' mode='streaming'/>")).collect();
    format!(
        "<services><content id='c' version='1.0'><documents>{documents}</documents><redundancy>1</redundancy></content></services>"
    )
}

/// A schema `t` with those elements in its document and outside it.
fn schema(document: &str, outside: &str) -> (Schema, Vec<String>) {
    let text = format!("schema t {{\n document t {{\n{document}\n }}\n{outside}\n}}");
    let application = deploy(&[("services.xml", &services(&["t"])), ("schemas/t.sd", &text)]);
    ((**application.schema("t").expect("t")).clone(), application.warnings)
}

fn texts(list: &[SourceText]) -> Vec<&str> {
    list.iter().map(|source| &*source.text).collect()
}

#[test]
fn every_type_of_field() {
    let types = [
        ("string", "string"),
        ("int", "int"),
        ("long", "long"),
        ("byte", "byte"),
        ("bool", "bool"),
        ("float", "float"),
        ("double", "double"),
        ("float16", "float16"),
        ("position", "position"),
        ("predicate", "predicate"),
        ("raw", "raw"),
        ("uri", "uri"),
        ("tag", "WeightedSet<string>"),
        ("s", "s"),
        ("array<s>", "Array<s>"),
        ("int[]", "Array<int>"),
        ("weightedset<long>", "WeightedSet<long>"),
        ("map<string, array<int>>", "Map<string,Array<int>>"),
        ("tensor<bfloat16>(p{}, x[2])", "tensor<bfloat16>(p{},x[2])"),
    ];
    let fields: String = types.iter().enumerate().map(|(i, (of, _))| format!("field f{i} type {of} {{}}\n")).collect();
    let (schema, warnings) = schema(&format!("{fields} struct s {{ field a type int {{}} }}"), "");
    for (i, (_, shown)) in types.iter().enumerate() {
        assert_eq!(schema.field(&format!("f{i}")).expect("field").data_type.to_string(), *shown);
    }
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].ends_with("Data type syntax 'int[]' is deprecated, use 'array<int>' instead."));
    assert!(matches!(
        schema.field("f12").expect("tag").data_type,
        DataType::WeightedSet { create_if_nonexistent: true, remove_if_zero: true, .. }
    ));
}

#[test]
fn settings_of_fields() {
    let (schema, _) = schema(
        "field a type string {
           indexing { summary | attribute | index; }
           match { cased  max-length: 77 }
           rank-type: tags  weight: 200  alias: b
           attribute { fast-search }
         }
         field c type string { indexing: attribute
 match { exact  exact-terminator: \"!!\" cased }  rank: normal }
         field d type string {
           indexing: attribute
           match: prefix
           sorting { descending  function: raw  strength: tertiary  locale: en-US }
         }
         field e type weightedset<string> { weightedset { create-if-nonexistent  remove-if-zero } }",
        "",
    );
    let a = schema.query_field("b").expect("an alias");
    assert_eq!((a.name.as_str(), a.rank_type, a.weight), ("a", RankType::Tags, 200));
    assert_eq!((a.normalizing(), a.matching.max_length_bytes), (Normalizing::None, 77));
    assert!(a.indexing.attribute && a.indexing.index && a.indexing.summary && !a.is_index_for_ranking());
    let c = schema.field("c").expect("c");
    assert_eq!(
        (c.normalizing(), c.rank, c.matching.exact_terminator.as_str()),
        (Normalizing::Lowercase, RankMode::Normal, "!!")
    );
    assert!(c.matches_whole_value());
    let d = schema.field("d").expect("d");
    assert_eq!(
        (d.matching.kind, d.matching.mode, d.normalizing()),
        (MatchKind::Word, MatchMode::Prefix, Normalizing::Lowercase)
    );
    assert_eq!((d.sorting.order, d.sorting.function), (SortOrder::Descending, Some(SortFunction::Raw)));
    assert_eq!(d.sorting.locale.as_deref(), Some("en-US"));
    assert!(matches!(schema.field("e").expect("e").data_type, DataType::WeightedSet { remove_if_zero: true, .. }));
}

#[test]
fn indexing_scripts_are_trees() {
    let (schema, _) = schema("field a type string { indexing { input a | summary | { attribute; index }; } }", "");
    let script = &schema.field("a").expect("a").script;
    assert_eq!(script.to_string(), "{ input a | summary a | { attribute a; index a; }; }");
    assert_eq!(script.statements[0].expressions[1].kind, ExpressionKind::Output(Output::Summary, "a".to_owned()));
    assert_eq!(script.statements[0].expressions[1].place.to_string(), "schemas/t.sd:3:44");
    let source = script.source.as_ref().expect("as written");
    assert_eq!(&*source.text, "{ input a | summary | { attribute; index }; }");
}

#[test]
fn an_index_of_a_struct_makes_all_parts_searchable() {
    let (schema, _) = schema(
        "struct inner { field x type string {} }
         struct s { field a type string {}  field b type inner {} }
         field f type array<s> { indexing: summary | index
 match: cased }
         field m type map<string, inner> {
           struct-field value { struct-field x { indexing: attribute
 rank: filter } }
           struct-field key { indexing: attribute }
         }
         field n type map<string, inner> { struct-field value.x { indexing: attribute } }",
        "",
    );
    let f: Vec<_> =
        schema.field("f").expect("f").parts.iter().map(|part| (part.name.as_str(), part.indexing.index)).collect();
    assert_eq!(f, [("f.a", true), ("f.b", true), ("f.b.x", true)]);
    assert!(schema.field("f.b.x").expect("part").matching.cased);
    let x = schema.field("m.value.x").expect("part");
    assert!(x.indexing.attribute && x.rank == RankMode::Filter);
    assert!(
        schema.field("n.value.x").expect("part").indexing.attribute
            && !schema.field("n.key").expect("key").searchable()
    );
}

#[test]
fn rank_profiles() {
    let (schema, warnings) = schema(
        "field a type string { indexing: index\n weight: 10 } field v type tensor(x[2]) { indexing: attribute }
         field n type int { indexing: attribute\n attribute: fast-search }",
        "constant pi { value: 3.25 }
         rank-profile base {
           inputs {
             n
             query(l) long: 3
             s string: \"text\"
             query(m) tensor<float>(k{}, x[2]): {
               a: [1, 2], # the first
               \"b c\": [3, 4]
             }
           }
           constants { two: 2  t tensor(x[2]): [5.5, 6] }
           rank-properties {
             bm25(a).k1 : 1.5
             \"fieldMatch(a).proximityTable\" : \"linear(1, 0)\"
             $weight : -0.5
           }
           function inline f(x, y) { expression { x + y } }
           first-phase { expression { if (a > 1, { 1 }, 2) } rank-score-drop-limit: -10.5 keep-rank-count: 5 }
           match-features: bm25(a) fieldMatch (a).completeness attribute(v)
           rank a { element-gap: 3 filter-threshold: 0.1 }
           match-phase { attribute: n max-hits: 10 diversity { attribute: n min-groups: 2 } }
           num-threads-per-search: 4 termwise-limit: 0.5
         }
         rank-profile child inherits base, default {
           strict: true
           inputs { n double: 7 }
           second-phase { expression { f(1, 2) } rerank-count: 3 }
           first-phase { expression: constant(two) }
           match-features inherits base { query(\"a) b\") # and no more
             bm25(a)
           }
           summary-features { constant(pi) }
           rank-type a: identity
           weight a: 20
           rank a: filter
           rank z: filter
         }",
    );
    let base = schema.rank_profile("base").expect("base");
    assert_eq!(base.input("l").and_then(|input| input.default.clone()), Some(InputValue::Number(3.0)));
    assert_eq!(base.input("s").and_then(|input| input.default.clone()), Some(InputValue::Text("text".to_owned())));
    let Some(InputValue::Tensor(tensor)) = &base.input("m").expect("m").default else { panic!("a tensor") };
    assert_eq!(
        (&tensor.addresses, &tensor.cells),
        (&vec![vec!["a".to_owned()], vec!["b c".to_owned()]], &vec![1., 2., 3., 4.])
    );
    assert_eq!(base.property("bm25(a).k1"), Some("1.5"));
    assert_eq!(base.property("fieldMatch(a).proximityTable"), Some("linear(1, 0)"));
    assert_eq!(base.property("$weight"), Some("-0.5"));
    assert_eq!(texts(&base.match_features), ["bm25(a)", "fieldMatch (a).completeness", "attribute(v)"]);

    let child = schema.rank_profile("child").expect("child");
    let first = child.first_phase.as_ref().expect("first-phase");
    assert_eq!(first.expression.as_ref().map(|text| &*text.text), Some("constant(two)"));
    assert_eq!((first.rank_score_drop_limit, first.rerank_count), (Some(-10.5), Some(5)));
    assert_eq!(child.final_expression().map(|text| &*text.text), Some("f(1, 2)"));
    assert_eq!(child.input("n").and_then(|input| input.default.clone()), Some(InputValue::Number(7.0)));
    assert_eq!(child.constant("two").map(|of| of.value.clone()), Some(InputValue::Number(2.0)));
    assert_eq!(child.constant("pi").map(|of| of.value.clone()), Some(InputValue::Number(3.25)));
    assert_eq!(
        child.function("f").map(|of| (of.parameters.len(), of.inline, &*of.expression.text)),
        Some((2, true, "x + y"))
    );
    assert_eq!(
        texts(&child.match_features),
        ["bm25(a)", "fieldMatch (a).completeness", "attribute(v)", "query(\"a) b\")"]
    );
    assert_eq!(texts(&child.summary_features), ["constant(pi)"]);
    let a = schema.field("a").expect("a");
    assert_eq!((child.rank_mode(a), child.rank_type(a), child.weight(a)), (RankMode::Filter, RankType::Identity, 20));
    assert_eq!((child.element_gap(a), base.weight(a)), (ElementGap::Words(3), 10));
    assert!(child.strict && !base.strict);
    assert!(
        warnings.iter().any(|warning| warning.ends_with("rank-profile 'child': field 'z' does not exist")),
        "{warnings:?}"
    );
}

#[test]
fn profiles_inside_others_are_called_after_them() {
    let (schema, _) = schema(
        "",
        "rank-profile outer {
           first-phase { expression: 1 }
           rank-profile inner inherits outer {
             second-phase { expression: 2 }
             rank-profile inner inherits inner { match-features: now }
             rank-profile other inherits inner { }
           }
           function f() { expression: 3 }
         }
         rank-profile late inherits outer.inner { }",
    );
    let names: Vec<&str> = schema.rank_profiles.iter().map(|profile| profile.name.as_str()).collect();
    assert_eq!(
        names,
        ["default", "unranked", "outer", "outer.inner", "outer.inner.inner", "outer.inner.other", "late"]
    );
    let innermost = schema.rank_profile("outer.inner.inner").expect("the innermost");
    assert_eq!(innermost.final_expression().map(|text| &*text.text), Some("2"));
    assert_eq!((innermost.function("f").is_some(), innermost.match_features.len()), (true, 1));
    assert_eq!(schema.rank_profile("late").and_then(RankProfile::final_expression).map(|text| &*text.text), Some("2"));
}

#[test]
fn a_word_that_is_no_type_is_the_next_input() {
    let (schema, warnings) = schema("", "rank-profile p { inputs { query(q) nonsense\n query(s) string } }");
    let profile = schema.rank_profile("p").expect("p");
    let inputs: Vec<&str> = profile.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(inputs, ["q", "nonsense", "s"]);
    let told = "Expected newline between inputs query(q) and query(nonsense)";
    assert!(warnings.iter().any(|warning| warning.ends_with(told)), "{warnings:?}");
}

#[test]
fn what_a_class_cannot_show_is_warned_about() {
    let (_, warnings) = schema(
        "field a type string { indexing: index } field b type string { indexing: attribute }",
        "document-summary c { summary a { } summary b { } summary x { source: a } }",
    );
    let about = |name: &str| {
        format!(
            "For schema 't', document-summary 'c': Ignoring summary field '{name}': field 'a' is not creating a summary value in \
             its indexing statement"
        )
    };
    assert_eq!(warnings, [about("a"), about("x")]);
}

#[test]
fn documents_of_a_type_that_is_only_stored_are_not_searched() {
    let documents = "<document type='s' mode='store-only'/><document type='t' mode='streaming'/>";
    let services = format!(
        "<services><container id='k' version='1.0'><search><provider id='p' type='local' cluster='c'/></search></container>
         <content id='c' version='1.0'><redundancy>1</redundancy><documents>{documents}</documents></content></services>"
    );
    let schemas = [("schemas/s.sd", "schema s { document s { } }"), ("schemas/t.sd", "schema t { document t { } }")];
    let application = deploy(&[&[("services.xml", services.as_str())], &schemas[..]].concat());
    let document_only: Vec<bool> = application.schemas.iter().map(|schema| schema.document_only).collect();
    assert_eq!(document_only, [true, false]);
    let told = "<provider> 'p' is ignored: content cluster 'c' is searched by its own name";
    assert!(application.warnings[0].ends_with(told), "{:?}", application.warnings);
}

#[test]
fn built_in_profiles() {
    let (schema, _) = schema("", "rank-profile default inherits default { function f() { expression: 1 } }");
    let names: Vec<&str> = schema.rank_profiles.iter().map(|profile| profile.name.as_str()).collect();
    assert_eq!(names, ["default", "unranked"]);
    assert!(schema.rank_profiles[0].function("f").is_some() && schema.rank_profiles[0].final_expression().is_none());
    assert_eq!(schema.rank_profiles[1].final_expression().map(|text| &*text.text), Some("0"));
}

#[test]
fn summaries() {
    let (schema, _) = schema(
        "field a type string { indexing: summary | index
 bolding: on }
         field b type string { indexing: summary | index
 summary: dynamic }
         field c type array<int> { indexing: summary | attribute
 summary short { matched-elements-only  to: s } }
         field d type string { indexing: index
 summary-to: s }",
        "document-summary s { summary a {} summary e { source: d, a full } from-disk }
         document-summary u inherits s { summary a { full } omit-summary-features }
         document-summary default { summary id { source: documentid } }",
    );
    let shown = |class: &str| -> Vec<(String, SummaryTransform)> {
        let class = schema.summary_class(class).expect("class");
        class.fields.iter().map(|field| (field.name.clone(), field.transform.clone())).collect()
    };
    let full = SummaryTransform::Full;
    let named = |name: &str, transform: &SummaryTransform| (name.to_owned(), transform.clone());
    assert_eq!(
        shown("default"),
        [
            named("a", &SummaryTransform::Bolding),
            named("b", &SummaryTransform::Dynamic),
            named("c", &full),
            named("id", &full)
        ]
    );
    let s = [
        named("short", &SummaryTransform::MatchedElementsOnly),
        named("d", &full),
        named("a", &SummaryTransform::Bolding),
        named("e", &full),
    ];
    assert_eq!(shown("s"), s);
    assert_eq!(shown("u"), [s[0].clone(), s[1].clone(), named("a", &full), s[3].clone()]);
    let u = schema.summary_class("u").expect("u");
    assert!(u.omit_summary_features && !u.from_disk);
    assert_eq!(u.field("e").expect("e").sources, ["d", "a"]);
}

#[test]
fn schemas_and_documents_inherit() {
    let base = "schema base { document base { struct s { field x type int {} } field a type s {}
          field d type string { indexing: summary | index\n summary: dynamic\n summary x { source: d\n to: y } } }
        fieldset default { fields: a }
        rank-profile p { first-phase { expression: 1 } }
        document-summary short { summary a {} }
        raw-as-base64-in-summary: false }";
    let t = "schema t inherits base { document t inherits base { field b type array<s> { indexing: summary } }
        rank-profile q inherits p { } }";
    let u = "schema u { document u inherits t { field c type int {} } }";
    let files =
        [("schemas/u.sd", u), ("schemas/t.sd", t), ("schemas/base.sd", base), ("services.xml", &services(&["t", "u"]))];
    let application = deploy(&files);
    let names = |schema: &str| {
        let schema = application.schema(schema).expect("schema");
        schema.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names("t"), names("u")),
        (vec!["a".into(), "d".into(), "b".into()], vec!["a".into(), "d".into(), "b".into(), "c".into()])
    );
    for name in ["base", "t", "u"].into_iter().filter_map(|name| application.schema(name)) {
        let of =
            |class: &str, field: &str| name.summary_class(class)?.field(field).map(|field| field.transform.clone());
        assert_eq!(of("default", "d"), Some(SummaryTransform::Dynamic), "{}", name.name);
        assert_eq!(of("y", "x"), Some(SummaryTransform::Full), "{}", name.name);
    }
    let t = application.schema("t").expect("t");
    assert!(t.field_set("default").is_some() && t.summary_class("short").is_some() && !t.raw_as_base64_in_summary);
    assert_eq!(t.rank_profile("q").and_then(|q| q.final_expression()).map(|text| &*text.text), Some("1"));
    let u = application.schema("u").expect("u");
    assert_eq!(u.document_inherits, ["t", "base"]);
    assert!(u.field_set("default").is_none() && u.rank_profile("p").is_none() && u.raw_as_base64_in_summary);
    assert!(application.schema("base").is_none());
    assert_eq!(application.warnings, ["Schema 'base' is in no content cluster: it is not served"]);
}

/// A field that a document inherits and declares again is as it says, and where it was; of two documents the last says it.
#[test]
fn a_field_that_is_inherited_may_be_declared_again() {
    let document = |name: &str, of: &str, fields: &str| {
        (format!("schemas/{name}.sd"), format!("schema {name} {{ document {name} {of} {{ {fields} }} }}"))
    };
    let text = "field x type string { indexing: summary | index\n summary: dynamic }";
    let word = "field x type string { indexing: attribute\n attribute { fast-search } }";
    let number = "field n type int { indexing: summary | attribute }";
    let schemas = [
        document("a", "", &format!("{text} {number}")),
        document("b", "", word),
        document("own", "inherits a", word),
        document("ab", "inherits a, b", ""),
        document("ba", "inherits b, a", ""),
    ];
    let services = services(&["a", "own", "ab", "ba"]);
    let mut files: Vec<_> = schemas.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("services.xml", &services));
    let application = deploy(&files);
    let seen = |name: &str| {
        let schema = application.schema(name).expect("a schema");
        let fields: Vec<_> = schema.fields.iter().map(|field| (field.name.as_str(), field.indexing.index)).collect();
        let shown = schema.summary_class("default").and_then(|class| class.field("x")).map(|of| of.transform.clone());
        (fields.clone(), shown)
    };
    let dynamic = Some(SummaryTransform::Dynamic);
    assert_eq!(seen("own"), (vec![("x", false), ("n", false)], None));
    assert_eq!(seen("ab"), (vec![("x", false), ("n", false)], None));
    assert_eq!(seen("ba"), (vec![("x", true), ("n", false)], dynamic));
}

/// Schemas whose documents are inherited lend their rank profiles to be inherited; they are not those of the heir.
#[test]
fn a_rank_profile_inherits_one_of_an_inherited_document() {
    let far = "schema far { document far { field x type string { indexing: index } }
        rank-profile p { function g() { expression: 7 }\n match-features: g\n first-phase { expression: g } }
        rank-profile q { first-phase { expression: 8 } } }";
    let near = "schema near { document near inherits far { } rank-profile q { first-phase { expression: 9 } } }";
    let t = "schema t { document t inherits near { }
        rank-profile p inherits p { match-features inherits p { now } }
        rank-profile r inherits q { } }";
    let services = services(&["t"]);
    let files =
        [("schemas/far.sd", far), ("schemas/near.sd", near), ("schemas/t.sd", t), ("services.xml", services.as_str())];
    let application = deploy(&files);
    let t = application.schema("t").expect("t");
    let score = |name: &str| t.rank_profile(name)?.final_expression().map(|text| text.text.to_string());
    assert_eq!((score("p"), score("r")), (Some("g".to_owned()), Some("9".to_owned())), "the nearest one");
    let p = t.rank_profile("p").expect("p");
    assert_eq!((p.functions.len(), p.match_features.len()), (1, 2));
    assert!(t.rank_profile("q").is_none());
}

/// Only `child` is stored: a selection names `base` all the same, as what `child` inherits.
#[test]
fn selections_name_document_types_that_no_cluster_has() {
    let base = "schema base { document base { field n type int { indexing: attribute } } }";
    let child = "schema child { document child inherits base { field own type int {} } }";
    let services = services(&["child"]);
    let application = deploy(&[("schemas/base.sd", base), ("schemas/child.sd", child), ("services.xml", &services)]);
    let selects = |text: &str, id: &str| {
        let selection = Selection::parse(text, &application, Code::BadRequest).map_err(|error| error.message)?;
        let (id, fields) = (DocumentId::parse(id).expect("an id"), [("n".to_owned(), Value::Int(1))]);
        Ok::<_, String>(selection.selects(&Subject { id: &id, fields: &fields, now: 0 }).expect("an outcome"))
    };
    assert_eq!(selects("base.n == 1", "id:n:child::1"), Ok(true));
    assert_eq!(selects("base.n == 2 or base.n == null", "id:n:child::1"), Ok(false));
    assert_eq!(selects("base", "id:n:child::1"), Ok(false), "the type itself is an exact one");
    assert_eq!(selects("base.n == 1", "id:n:other::1"), Ok(false), "of what inherits it only");
    assert!(selects("base.own == 1", "id:n:child::1").is_err_and(|message| message.contains("own")));
    assert!(selects("bse.n == 1", "id:n:child::1").is_err_and(|message| message.contains("not found")));
    assert!(application.fields_of("base").is_none(), "nothing of that type is fed");
}

/// As everywhere in services.xml: what is stored of a type is not by another. What was deployed before is served.
#[test]
fn a_selection_of_a_document_type_names_no_other() {
    let services =
        services(&["a", "b"]).replace("'a' mode='streaming'", "'a' mode='streaming' selection='a.n &gt; b.n'");
    let schema =
        |name: &str| format!("schema {name} {{ document {name} {{ field n type int {{ indexing: attribute }} }} }}");
    let files = [("schemas/a.sd", schema("a")), ("schemas/b.sd", schema("b")), ("services.xml", services)]
        .map(|(path, text)| (path.to_owned(), text.into_bytes()));
    let message = "Selection for document type 'a' cannot contain references to other document types, but references b";
    assert!(Application::deploy(&files).is_err_and(|error| error.message.contains(message)));
    assert!(Application::restore(&files, &[]).is_ok_and(|restored| restored.objections[0].contains(message)));
}

#[test]
fn profiles_and_expressions_in_files_of_their_own() {
    let application = deploy(&[
        ("services.xml", &services(&["t"])),
        ("schemas/t.sd", "schema t { document t { } rank-profile a { first-phase { expression: file:long } } }"),
        ("schemas/long.expression", "\n 1 +\n 2\n"),
        ("schemas/t/more/b.profile", "rank-profile b inherits a { }\n"),
        ("README.md", "about"),
        (".vespaignore", "x"),
    ]);
    let expression = application.schema("t").and_then(|t| t.rank_profile("b")?.final_expression().cloned()).expect("b");
    assert_eq!(&*expression.text, "1 +\n 2");
    let inner = Rejection::at(Code::InvalidApplication, "a number expected", &expression.text, 5);
    assert_eq!(expression.locate(inner).message, "schemas/long.expression:3:2: a number expected");
    assert!(application.warnings.is_empty());
}

#[test]
fn services_are_read() {
    let services = "<?xml version='1.0'?>
      <services version='1.0' xmlns:deploy='vespa'>
        <admin version='2.0'/>
        <container id='default' version='1.0'>
          <search><binding>http://*/other/*</binding></search>
          <document-api><ignore-undefined-fields>true</ignore-undefined-fields><timeout>3</timeout></document-api>
          <document-processing/>
          <component id='x' class='Y' deploy:environment='dev'/>
          <nodes deploy:environment='prod'><jvm/></nodes>
        </container>
        <content id='first' version='1.0'>
          <redundancy>2</redundancy>
          <search><query-timeout>1.5</query-timeout></search>
          <documents selection='id.user == 3'>
            <document type='t' mode='streaming' selection='true'/>
            <document-processing cluster='default' chain='indexing'/>
          </documents>
          <tuning><max-document-size>10MiB</max-document-size></tuning>
          <engine><proton/></engine>
        </content>
        <content id='second' version='1.0'><redundancy>1</redundancy><documents><document type='u' mode='streaming'/></documents></content>
      </services>";
    let application = deploy(&[
        ("services.xml", services),
        ("schemas/t.sd", "schema t { document t { field a type int {} } }"),
        ("schemas/u.sd", "schema u { document u { } }"),
    ]);
    assert!(application.ignore_undefined_fields);
    let [first, second] = &application.clusters[..] else { panic!("two clusters") };
    assert_eq!(
        (first.name.as_str(), first.query_timeout_ms, first.max_document_bytes),
        ("first", Some(1500), Some(10 << 20))
    );
    assert_eq!((first.selection.as_deref(), first.types[0].selection.as_deref()), (Some("id.user == 3"), Some("true")));
    assert_eq!((second.name.as_str(), second.types.len(), second.types[0].name.as_str()), ("second", 1, "u"));
    assert_eq!(
        application.warnings,
        ["services.xml:5:19: <binding> is ignored: the paths of the HTTP interface are fixed"]
    );
}

#[test]
fn language_models_and_chains_are_read() {
    let services = "<services>
      <container id='default' version='1.0'>
        <component id='own' class='com.example.Own'/>
        <component id='openai' class='ai.vespa.llm.clients.OpenAI'>
          <config name='ai.vespa.llm.clients.llm-client'>
            <apiKeySecretRef>myKey</apiKeySecretRef><temperature>0.2</temperature><maxTokens>500</maxTokens>
          </config>
        </component>
        <search>
          <chain id='plain' inherits='vespa'><searcher id='com.example.Own'/></chain>
          <chain id='rag' inherits='vespa'>
            <searcher id='ai.vespa.search.llm.RAGSearcher'>
              <config name='ai.vespa.search.llm.llm-searcher'>
                <providerId>openai</providerId><promptTemplate>files/prompt.txt</promptTemplate>
              </config>
            </searcher>
          </chain>
          <chain id='mine' inherits='rag'/>
        </search>
      </container>
      <content id='c' version='1.0'><documents><document type='t' mode='streaming'/></documents><redundancy>1</redundancy></content>
    </services>";
    let application = deploy(&[
        ("services.xml", services),
        ("files/prompt.txt", "Answer: @query {context}"),
        ("schemas/t.sd", "schema t { document t { field a type int {} } }"),
    ]);
    let pairs = |of: &[(&str, &str)]| -> Vec<(String, String)> {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let [model] = &application.language_models[..] else { panic!("one model") };
    assert_eq!(model.id, "openai");
    assert_eq!(model.settings, pairs(&[("apiKeySecretRef", "myKey"), ("temperature", "0.2"), ("maxTokens", "500")]));
    let settings = pairs(&[("providerId", "openai"), ("prompt", "Answer: @query {context}")]);
    let chains: Vec<_> = application.search_chains.iter().map(|it| (it.id.as_str(), it.searcher.as_deref())).collect();
    assert_eq!(chains, [("plain", None), ("rag", Some("rag")), ("mine", Some("rag"))]);
    assert_eq!(application.search_chains[2].settings, settings);
    assert_eq!(
        application.warnings,
        [
            "services.xml:3:9: the component 'own' is ignored: Java code cannot be run",
            "services.xml:10:46: the searcher 'com.example.Own' of chain 'plain' is ignored: Java code cannot be run",
            "2 Java components are ignored: answers will differ where they would change them",
        ]
    );
    let report = application.report();
    assert!(
        report.contains(r#""languageModels":[{"id":"openai","settings":[["apiKeySecretRef","myKey"],"#),
        "{report}"
    );
    assert!(report.contains(r#"{"id":"plain","settings":[]},{"id":"rag","searcher":"rag","settings":"#), "{report}");
}

#[test]
fn the_report_says_of_which_fields_hits_show_something_else() {
    let sd = "schema a { document a {
      field whole type string { indexing: summary | index
        bolding: on }
      field teaser type string { indexing: summary | index
        summary: dynamic }
      field matched type array<string> { indexing: summary | index
        summary: matched-elements-only }
      field hidden type string { indexing: index }
    } }";
    let report: serde_json::Value = serde_json::from_str(&deploy(&[
        ("services.xml", "<services version='1.0'><content id='c' version='1.0'><documents><document type='a' mode='streaming'/></documents><redundancy>1</redundancy></content></services>"),
        ("schemas/a.sd", sd),
    ]).report()).expect("the report is JSON");
    let fields = report["schemas"][0]["fields"].as_array().expect("fields");
    let abridged = fields.iter().filter(|field| field["abridged"] == true).map(|field| field["name"].as_str());
    assert_eq!(abridged.collect::<Vec<_>>(), [Some("teaser"), Some("matched")]);
}

#[test]
fn the_report_says_how_each_field_is_found() {
    let services = "<services version='1.0'>
      <container id='default' version='1.0'><component id='minilm' type='hugging-face-embedder'>
        <transformer-model path='m.onnx'/><tokenizer-model path='t.json'/></component></container>
      <content id='c' version='1.0'><redundancy>1</redundancy>
        <documents><document type='a' mode='streaming'/></documents></content></services>";
    let sd = "schema a { document a {
      field body type string { indexing: summary | index }
      field notes type array<string> { indexing: summary | index }
      field sender type string { indexing: summary | attribute }
      field own type tensor<float>(x[2]) { indexing: attribute
        attribute { distance-metric: angular } } }
      field parts type array<string> { indexing: input body | chunk fixed-length 500 | summary | index }
      field vec type tensor<float>(p{}, x[384]) {
        indexing: input body | chunk fixed-length 500 | embed minilm | attribute
        attribute { distance-metric: hamming } }
    }";
    let report: serde_json::Value = serde_json::from_str(
        &deploy(&[("services.xml", services), ("schemas/a.sd", sd), ("m.onnx", ""), ("t.json", "{}")]).report(),
    )
    .expect("the report is JSON");
    let pieces = "input body | chunk fixed-length 500";
    assert_eq!(
        report["schemas"][0]["fields"],
        serde_json::json!([
            {"name": "body", "type": "string", "words": true},
            {"name": "notes", "type": "Array<string>", "words": true},
            {"name": "sender", "type": "string"},
            {"name": "own", "type": "tensor<float>(x[2])", "metric": "angular"},
            {"name": "parts", "type": "Array<string>", "words": true, "made": true, "pieces": pieces},
            {"name": "vec", "type": "tensor<float>(p{},x[384])", "metric": "hamming", "made": true,
             "embedder": "minilm", "pieces": pieces},
        ])
    );
}
