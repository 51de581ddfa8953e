//! What rank profiles that are inherited together must agree about, or not both say, as the reference has it. There is a
//! meaning all the same, so each is an objection.
use brooklet_task::Rejection;

use crate::field::{Field, RankMode, WEIGHT};
use crate::place::SourceText;
use crate::rank_profile::{Constant, FieldRanking, RankProfile};
use crate::remarks::Remarks;
use crate::schema::Schema;
use crate::sd::tree::ProfileTree;

/// The profiles that one inherits, in its schema.
pub(super) struct Agreement<'a> {
    pub(super) own: &'a ProfileTree,
    pub(super) parents: &'a [&'a RankProfile],
    pub(super) schema: &'a Schema,
    /// Those of the schema, which each profile has.
    pub(super) constants: &'a [Constant],
}

impl Agreement<'_> {
    pub(super) fn check(&self, remarks: &mut Remarks) {
        for (index, one) in self.parents.iter().enumerate() {
            for other in &self.parents[index + 1..] {
                let Some(what) = self.conflict(one, other) else { continue };
                let name = &self.own.name;
                remarks.object(name.place.reject(format!("rank-profile '{}' inherits {what}", name.text)));
            }
        }
    }

    /// The first thing that two of them both say, or say differently.
    #[inline(never)]
    fn conflict(&self, one: &RankProfile, other: &RankProfile) -> Option<String> {
        if one.is_of_default && other.is_of_default {
            let (one, other) = (&one.name, &other.name);
            return Some(format!("both '{one}' and '{other}', which have all of 'default': one of them may"));
        }
        let of_two = |(kind, name): (&str, &str)| format!("{kind} '{}' of two profiles", Rejection::quote(name));
        let different = |what: &str| format!("different {what} of several profiles");
        self.said_twice(one, other).map(of_two).or_else(|| self.contradiction(one, other).map(different))
    }

    /// What one profile at most may say, whatever is said here.
    fn said_twice<'p>(&self, one: &'p RankProfile, other: &'p RankProfile) -> Option<(&'static str, &'p str)> {
        let function = one.functions.iter().find(|function| other.function(&function.name).is_some());
        if let Some(function) = function {
            return Some(("function", &function.name));
        }
        let of_schema = |name: &str| self.constants.iter().any(|constant| constant.name == name);
        let is_twice = |constant: &&Constant| other.constant(&constant.name).is_some() && !of_schema(&constant.name);
        if let Some(constant) = one.constants.iter().find(is_twice) {
            return Some(("constant", &constant.name));
        }
        [(one, other), (other, one)].into_iter().find_map(|(one, other)| {
            one.fields.iter().find_map(|said| {
                let field = self.schema.field(&said.field);
                let also = other.fields.iter().find(|also| also.field == said.field);
                let also = Settings::of(also, field.filter(|_| other.is_of_default));
                Settings::of(Some(said), None).shared(&also).map(|kind| (kind, said.field.as_str()))
            })
        })
    }

    /// What all must say alike: inputs and properties always, the rest where nothing is said here.
    fn contradiction(&self, one: &RankProfile, other: &RankProfile) -> Option<&'static str> {
        let own = self.own;
        if own.inputs.iter().any(|input| {
            let name = &input.name.text;
            one.input(name).zip(other.input(name)).is_some_and(|(one, other)| one != other)
        }) {
            return Some("inputs");
        }
        let (ours, theirs) = (&one.properties, &other.properties);
        let are_alike = ours.len() == theirs.len() && ours.iter().all(|property| theirs.contains(property));
        if !ours.is_empty() && !theirs.is_empty() && !are_alike {
            return Some("rank-properties");
        }
        if self.filters(one) != self.filters(other) && !self.filters(one).is_empty() && !self.filters(other).is_empty()
        {
            return Some("fields with rank: filter");
        }
        let (ours, theirs) = (&one.rank_features, &other.rank_features);
        let has = |list: &[SourceText], feature: &SourceText| list.iter().any(|other| other.text == feature.text);
        let are_alike = ours.len() == theirs.len() && ours.iter().all(|feature| has(theirs, feature));
        if own.rank_features.is_empty() && !ours.is_empty() && !theirs.is_empty() && !are_alike {
            return Some("rank-features");
        }
        if own.significance_model.is_none() && one.significance_model != other.significance_model {
            return Some("use-model");
        }
        let has_other_gap = |said: &FieldRanking| {
            let also = other.fields.iter().find(|also| also.field == said.field).and_then(|also| also.element_gap);
            let here = own.fields.iter().any(|own| own.element_gap.is_some() && own.field.text == said.field);
            !here && said.element_gap.zip(also).is_some_and(|(one, other)| one != other)
        };
        one.fields.iter().any(has_other_gap).then_some("element-gap")
    }

    /// Fields that are filters under a profile, or in the schema, in the schema's order.
    fn filters<'s>(&'s self, of: &RankProfile) -> Vec<&'s str> {
        let is_filter = |field: &&Field| {
            let says = |said: &FieldRanking| said.field == field.name && said.rank == Some(RankMode::Filter);
            field.rank == RankMode::Filter || of.fields.iter().any(says)
        };
        self.schema.fields.iter().filter(is_filter).map(|field| field.name.as_str()).collect()
    }
}

/// Which of these are said of a field.
struct Settings {
    rank_type: bool,
    weight: bool,
    filter: bool,
}

impl Settings {
    /// Of what a profile says, and of the field of the schema, for `default` and what comes of it.
    fn of(said: Option<&FieldRanking>, field: Option<&Field>) -> Settings {
        let filter = said.is_some_and(|said| said.rank == Some(RankMode::Filter));
        Settings {
            // A filter has the rank-type empty.
            rank_type: filter || field.is_some() || said.is_some_and(|said| said.rank_type.is_some()),
            weight: said.is_some_and(|said| said.weight.is_some()) || field.is_some_and(|field| field.weight != WEIGHT),
            filter: filter || field.is_some_and(|field| field.rank == RankMode::Filter),
        }
    }

    fn shared(&self, other: &Settings) -> Option<&'static str> {
        match other {
            _ if self.rank_type && other.rank_type => Some("the rank-type of"),
            _ if self.weight && other.weight => Some("the weight of"),
            _ if self.filter && other.filter => Some("rank: filter of"),
            _ => None,
        }
    }
}
