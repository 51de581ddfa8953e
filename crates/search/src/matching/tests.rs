//! Matching against a naive matcher: random documents of all kinds of fields, random trees of all operators; the same
//! documents, and every term at the same places. `BROOKLET_MATCHING_CASES` says how many queries are asked.
mod naive;
mod near;
mod phrases;
mod query;
#[path = "../../tests/search/random/mod.rs"]
pub(super) mod random;
mod text;
mod yql;

use std::cell::RefCell;
use std::rc::Rc;

use brooklet_document::Document;
use brooklet_kernel::Bitmap;
use brooklet_schema::Application;
use brooklet_segment::{Halt, SegmentBuilder};
use brooklet_task::Block;

use super::composite::match_composites;
use super::found::{Counted, LeafHits, LeafMatch, ViewMatch};
use super::occurrences::leaf_hits;
use super::tree::{MatchedView, evaluate};
use super::{match_leaf, weighted};
use crate::asked::parse::parse;
use crate::asked::properties::Properties;
use crate::deployed::Deployed;
use crate::plan::compile::{Asking, compile};
use crate::plan::condition::{Leaf, Test};
use crate::plan::{Plan, SchemaPlan};
use crate::resident::partition::{ResidentSegment, View};
use crate::resident::reads::Reads;
use crate::resident::residency::Residency;
use naive::{Hits, Naive, Place};
use query::{Query, SCHEMA, document, query};
use random::Random;

const CASES: usize = 3_000;
const QUERIES_OF_DOCUMENTS: usize = 10;
const SERVICES: &str = "<services version=\"1.0\"><container id=\"default\" version=\"1.0\"><search/></container>\
    <content id=\"c\" version=\"1.0\"><redundancy>1</redundancy><documents><document type=\"t\" mode=\"streaming\"/>\
    </documents><nodes><node hostalias=\"n\" distribution-key=\"0\"/></nodes></content></services>";

fn deployed() -> Deployed {
    let files = [("services.xml", SERVICES), ("schemas/t.sd", SCHEMA)];
    let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    let application = Application::deploy(&files).unwrap_or_else(|rejection| panic!("{rejection}"));
    Deployed::compile(application).unwrap_or_else(|rejection| panic!("{rejection}"))
}

fn plan(deployed: &Deployed, parameters: &[(&str, &str)]) -> Plan {
    let properties = Properties::read(parameters.iter().copied(), b"").expect("properties");
    let query = parse(deployed, &properties).unwrap_or_else(|rejection| panic!("{parameters:?}: {rejection}"));
    let (embeddings, models) = Default::default();
    let asking = Asking { query: &query, properties: &properties, embeddings: &embeddings, models: &models, now: 0 };
    compile(deployed, asking).unwrap_or_else(|rejection| panic!("{parameters:?}: {rejection}"))
}

fn view(deployed: &Deployed, documents: &[Document]) -> View {
    let mut builder = SegmentBuilder::new("t", &deployed.schemas[0].stored.columns);
    documents.iter().for_each(|document| builder.add(document, 0));
    let built = builder.finish();
    let memory = built.payloads.iter().map(|payload| Block::copy_of(payload)).collect();
    let segment = ResidentSegment { number: None, header: built.header, memory };
    View { segment: Rc::new(segment), alive: Rc::new(Bitmap::all(documents.len())) }
}

/// What the core finds: documents, and the leaves of the plan.
fn run(plan: &SchemaPlan, view: &View, reads: &mut Reads) -> (Bitmap, ViewMatch) {
    let matched =
        plan.leaves.iter().map(|leaf| match_leaf(leaf, view, reads, &mut Vec::new()).expect("all blocks are there"));
    let mut leaves: Vec<LeafMatch> = matched.collect();
    let mut progress = None;
    let settled = loop {
        // A step of the least work: it rests after every document.
        *reads.work_left() = 1;
        match match_composites(plan, view, &mut leaves, &mut progress, reads) {
            Ok(settled) => break settled,
            Err(halt) => assert!(reads.missing() == 0 && matches!(halt, Halt::Missing), "all blocks are there"),
        }
    };
    let matches = ViewMatch { leaves, settled, counted: Counted::default() };
    let unresolved = std::collections::VecDeque::new();
    let known = MatchedView { matches: &matches, unresolved: &unresolved, resolved: &[], view: 0, alive: &view.alive };
    (evaluate(&plan.root, plan, &known), matches)
}

fn places(plan: &SchemaPlan, leaf: &Leaf, matched: &LeafMatch, view: &View, ordinal: u32, reads: &mut Reads) -> Hits {
    let hits = leaf_hits(leaf, matched, view, ordinal, reads).expect("all blocks are there");
    let by_name = hits.into_iter().map(|hits| {
        let name = &plan.profile.fields[hits.field.0 as usize].name;
        let all = query::TEXTS.iter().map(|text| text.path).chain(query::NUMBERS);
        let known = all.chain(["place", "places", "people", "facts", "byyear", "staff"]);
        let name = known.into_iter().find(|known| known == name).unwrap_or_else(|| panic!("{name}"));
        let place = |at: &brooklet_rank::match_data::Occurrence| -> Place {
            (at.element, at.position, at.element_length, at.element_weight)
        };
        (name, hits.occurrences.iter().map(place).collect())
    });
    by_name.collect()
}

fn raw_score(leaf: &Leaf, matched: &LeafMatch, ordinal: u32) -> f64 {
    let scores = leaf.targets.iter().zip(&matched.found).filter_map(|(target, found)| match (&target.test, found) {
        (Test::Weighted(test), LeafHits::Weighted(hits)) => weighted::raw_score(test, hits, ordinal),
        _ => None,
    });
    scores.sum()
}

/// Asks one query; how many documents it matched.
fn ask(deployed: &Deployed, documents: &[Document], view: &View, query: &Query, profile: &str) -> usize {
    let yql = format!("select * from t where {}", query.yql());
    let plan = &plan(deployed, &[("yql", yql.as_str()), ("ranking", profile)]).schemas[0];
    let mut reads = Reads::new(Rc::new(RefCell::new(Residency::new(0))));
    let (matched, leaves) = run(plan, view, &mut reads);
    let gap = |name: &str| plan.profile.fields.iter().find(|field| field.name == name).and_then(|of| of.element_gap);
    for (ordinal, document) in documents.iter().enumerate() {
        let about = || format!("{yql}\nover {document:?}");
        let mut expected = Vec::new();
        let matches = Naive { document, gap: &gap }.matches(query, &mut expected);
        assert_eq!(matched.get(ordinal), matches, "{}", about());
        assert_eq!(expected.len(), plan.leaves.len(), "{}", about());
        if !matches {
            continue;
        }
        for (number, expected) in expected.into_iter().enumerate() {
            let (leaf, found) = (&plan.leaves[number], &leaves.leaves[number]);
            let raw_score_expected = expected.raw_score();
            let Some(mut hits) = expected.hits else { continue };
            hits.values_mut().for_each(|places| places.sort_by_key(|place| (place.0, place.1, place.2)));
            let got = places(plan, leaf, found, view, ordinal as u32, &mut reads);
            assert_eq!(got, hits, "places of term {number} of {}", about());
            assert_eq!(found.documents.get(ordinal), !hits.is_empty(), "term {number} of {}", about());
            let score = raw_score(leaf, found, ordinal as u32);
            assert_eq!(score, raw_score_expected, "raw score of term {number} of {}", about());
        }
    }
    matched.count()
}

#[test]
fn trees_match_what_the_naive_matcher_does() {
    let cases = std::env::var("BROOKLET_MATCHING_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let deployed = deployed();
    let (mut asked, mut hits) = (0, 0);
    while asked < cases {
        let mut random = Random::new(asked as u64);
        let documents: Vec<Document> = (0..1 + random.below(6)).map(|number| document(&mut random, number)).collect();
        let view = view(&deployed, &documents);
        for _ in 0..QUERIES_OF_DOCUMENTS.min(cases - asked) {
            let depth = random.below(4);
            let query = query(&mut random, depth);
            let profile = random.one_of(&["unranked", "gap"]);
            hits += ask(&deployed, &documents, &view, &query, profile);
            asked += 1;
        }
    }
    // A test whose queries match nothing would prove nothing.
    assert!(hits > cases / 2, "{hits} hits of {cases} queries");
}
