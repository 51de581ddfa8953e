//! What rank profiles that are inherited together must agree about, or not both say, as the reference has it. There is a
//! meaning all the same, so each is an objection.
use std::collections::{BTreeMap, BTreeSet};

use brooklet_task::Rejection;

use crate::field::{Field, RankMode, WEIGHT};
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

impl<'a> Agreement<'a> {
    pub(super) fn check(&self, remarks: &mut Remarks) {
        let name = &self.own.name;
        let mut object = |what: String| {
            let message = format!("rank-profile '{}' inherits {what}", name.text);
            remarks.object(name.place.reject(message));
        };
        for (kind, name) in self.said_twice() {
            object(format!("{kind} '{}' of two profiles", Rejection::quote(name)));
        }
        for what in self.contradictions() {
            object(format!("different {what} of several profiles"));
        }
    }

    /// What one profile at most may say, whatever is said here.
    fn said_twice(&self) -> Vec<(&'static str, &'a str)> {
        let of_schema = |constant: &Constant| self.constants.iter().any(|other| other.name == constant.name);
        let functions = self.twice(|of| of.functions.iter().map(|function| function.name.as_str()).collect());
        let constants = self.twice(|of| {
            of.constants.iter().filter(|constant| !of_schema(constant)).map(|constant| constant.name.as_str()).collect()
        });
        // A filter has the rank-type empty.
        let types = self.twice(|of| self.fields(of, |said| said.rank_type.is_some() || said.rank.is_some(), |_| true));
        let weights = self.twice(|of| self.fields(of, |said| said.weight.is_some(), |field| field.weight != WEIGHT));
        let filters = self.twice(|of| self.filters(of, of.is_of_default));
        let kinds = ["function", "constant", "the rank-type of", "the weight of", "rank: filter of"];
        let found = kinds.into_iter().zip([functions, constants, types, weights, filters]);
        found.filter_map(|(kind, name)| Some((kind, name?))).collect()
    }

    /// What all must say alike: inputs and properties always, the rest where nothing is said here.
    fn contradictions(&self) -> Vec<&'static str> {
        let own = self.own;
        let mut found = Vec::new();
        let inputs = own.inputs.iter().map(|input| &input.name.text);
        if inputs.into_iter().any(|name| differ(self.parents.iter().filter_map(|of| of.input(name)))) {
            found.push("inputs");
        }
        let properties = |of: &&RankProfile| of.properties.iter().cloned().collect::<BTreeMap<_, _>>();
        if differ(self.parents.iter().map(properties).filter(|properties| !properties.is_empty())) {
            found.push("rank-properties");
        }
        if differ(self.parents.iter().map(|of| self.filters(of, true)).filter(|fields| !fields.is_empty())) {
            found.push("fields with rank: filter");
        }
        let features = |of: &&RankProfile| of.rank_features.iter().map(|of| of.text.clone()).collect::<BTreeSet<_>>();
        let features = self.parents.iter().map(features).filter(|features| !features.is_empty());
        if own.rank_features.is_empty() && differ(features) {
            found.push("rank-features");
        }
        if own.significance_model.is_none() && differ(self.parents.iter().map(|of| of.significance_model)) {
            found.push("use-model");
        }
        let set_here = |name: &str| own.fields.iter().any(|own| own.element_gap.is_some() && own.field.text == name);
        let mut gaps = self.parents.iter().flat_map(|of| &of.fields).filter(|said| !set_here(&said.field));
        let gap_of = |said: &FieldRanking, of: &RankProfile| {
            of.fields.iter().find(|other| other.field == said.field).and_then(|other| other.element_gap)
        };
        if gaps.any(|said| differ(self.parents.iter().filter_map(|of| gap_of(said, of)))) {
            found.push("element-gap");
        }
        found
    }

    /// The first name that two of the parents have.
    fn twice(&self, of: impl Fn(&'a RankProfile) -> BTreeSet<&'a str>) -> Option<&'a str> {
        let mut seen = BTreeSet::new();
        self.parents.iter().flat_map(|parent| of(parent)).find(|name| !seen.insert(*name))
    }

    /// Fields about which a profile speaks; `default`, and what comes of it, says what the fields of the schema say.
    fn fields(
        &self,
        of: &'a RankProfile,
        said: impl Fn(&FieldRanking) -> bool,
        of_schema: impl Fn(&Field) -> bool,
    ) -> BTreeSet<&'a str> {
        let own = of.fields.iter().filter(|field| said(field)).map(|field| field.field.as_str());
        let schema = self.schema.fields.iter().filter(|field| of.is_of_default && of_schema(field));
        own.chain(schema.map(|field| field.name.as_str())).collect()
    }

    /// Fields that are filters under a profile, those of the schema with them or not.
    fn filters(&self, of: &'a RankProfile, with_schema: bool) -> BTreeSet<&'a str> {
        let is_filter = |field: &&FieldRanking| field.rank == Some(RankMode::Filter);
        let own = of.fields.iter().filter(is_filter).map(|field| field.field.as_str());
        let schema = self.schema.fields.iter().filter(|field| with_schema && field.rank == RankMode::Filter);
        own.chain(schema.map(|field| field.name.as_str())).collect()
    }
}

/// Whether these are not all the same.
fn differ<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    values.any(|value| Some(&value) != first.as_ref())
}
