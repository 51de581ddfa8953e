//! What rank profiles say to an index: inherited, and held against the fields, with the refusals of the reference. Nothing of it
//! has an effect, so all of them are objections.
use brooklet_document::DataType;
use brooklet_kernel::set_of;

use crate::place::SourcePlace;
use crate::rank_profile::RankProfile;
use crate::remarks::Remarks;
use crate::schema::Schema;
use crate::sd::tree::{ProfileTree, SchemaTree};
use crate::tuning::Tuning;

/// Numbers of which one can be set, for each node or for all of them.
const EITHER: &[(&str, &str)] = &[
    ("first-phase keep-rank-count", "first-phase total-keep-rank-count"),
    ("second-phase rerank-count", "second-phase total-rerank-count"),
];

/// The settings of a profile, with those of the profiles it inherits where it is silent. These must agree.
pub(super) fn inherit(own: &ProfileTree, parents: &[&RankProfile], remarks: &mut Remarks) -> Tuning {
    let mut tuning = own.tuning.clone();
    let mut conflict = |what: &str| {
        remarks.object(own.name.place.reject(format!(
            "Only one of the profiles inherited by rank profile '{}' can contain {what}, but it is present in multiple",
            own.name.text
        )));
    };
    let names = set_of(parents.iter().flat_map(|parent| parent.tuning.numbers.keys()));
    for name in names.into_iter().filter(|name| !own.tuning.numbers.contains_key(*name)) {
        let mut values = parents.iter().filter_map(|parent| parent.tuning.numbers.get(name).copied());
        let Some(first) = values.next() else { continue };
        if values.any(|other| other != first) {
            conflict(name);
        }
        tuning.numbers.insert(name.clone(), first);
    }
    // Two blocks differ although they say the same.
    let mut block = |of: &dyn Fn(&Tuning) -> &Option<(String, SourcePlace)>, what: &str| {
        let mut said = parents.iter().filter_map(|parent| of(&parent.tuning).clone());
        let first = of(&own.tuning).clone().or_else(|| said.next());
        if of(&own.tuning).is_none() && said.any(|other| Some(&other) != first.as_ref()) {
            conflict(what);
        }
        first
    };
    tuning.match_phase = block(&|tuning| &tuning.match_phase, "match-phase settings");
    tuning.diversity = block(&|tuning| &tuning.diversity, "diversity settings");
    for (of_node, of_all) in EITHER {
        if tuning.numbers.contains_key(*of_node) && tuning.numbers.contains_key(*of_all) {
            let message = format!("rank-profile '{}' sets or inherits both {of_node} and {of_all}", own.name.text);
            remarks.object(own.name.place.reject(message));
        }
    }
    tuning
}

/// Holds the attributes of `match-phase` and `diversity` against the fields; `fast` are those with `attribute: fast-search`.
pub(super) fn check(tree: &SchemaTree, schema: &Schema, fast: &[String], remarks: &mut Remarks) {
    for own in &tree.profiles {
        let Some(profile) = schema.rank_profiles.iter().find(|profile| profile.name == own.name.text) else { continue };
        let tuning = &profile.tuning;
        let of_match_phase = tuning.match_phase.as_ref().and_then(|(name, _)| of_match_phase(schema, fast, name));
        let of_diversity = tuning.diversity.as_ref().and_then(|(name, _)| of_diversity(schema, name));
        let about = format!("In search definition '{}', rank-profile '{}':", schema.name, own.name.text);
        let mut object = |message: String| remarks.object(own.name.place.reject(message));
        if tuning.diversity.is_some() && tuning.match_phase.is_none() && profile.second_phase.is_none() {
            let about = format!("In schema '{}', rank-profile '{}'", schema.name, own.name.text);
            object(format!("{about}: 'diversity' requires either 'match-phase' or 'second-phase' to be specified."));
        }
        of_match_phase.into_iter().chain(of_diversity).for_each(|fault| object(format!("{about} {fault}")));
    }
}

/// What is wrong with the attribute of `match-phase`.
fn of_match_phase(schema: &Schema, fast: &[String], name: &str) -> Option<String> {
    let about = format!("match-phase attribute '{name}'");
    match schema.field(name).filter(|field| field.indexing.attribute) {
        None => Some(format!("{about} does not exists")),
        Some(field) if !field.data_type.is_numeric() => {
            Some(format!("{about} must be single value numeric, but it is '{}'", field.data_type))
        }
        Some(_) if !fast.iter().any(|fast| fast == name) => Some(format!("{about} must be fast-search, but it is not")),
        Some(_) => None,
    }
}

/// What is wrong with the attribute of `diversity`.
fn of_diversity(schema: &Schema, name: &str) -> Option<String> {
    let about = format!("diversity attribute '{name}'");
    match schema.field(name).filter(|field| field.indexing.attribute) {
        None => Some(format!("{about} does not exists")),
        Some(field) if field.data_type.element() != &field.data_type || field.data_type == DataType::Predicate => {
            let of = &field.data_type;
            Some(format!("{about} must be single value numeric, or enumerated attribute, but it is '{of}'"))
        }
        Some(_) => None,
    }
}
