//! The values of a profile for one request.
//!
//! What counts more comes first: variants that fit, the most specific first, each before what it inherits; then what the
//! profile says itself; then what it inherits. Of two values of one name the first counts.
use std::collections::{BTreeMap, BTreeSet};

use super::profile::{Body, FieldValue, QueryProfile, QueryProfiles};

/// Values one profile may have, with all it inherits and refers to.
pub(super) const VALUES_MAX: usize = 1_000;

/// Inherited and referenced profiles within each other.
const DEPTH_MAX: usize = 32;

/// A value of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileValue {
    /// The name of the parameter, as the profile has it.
    pub name: String,
    /// The value, with `%{name}` for the values of other parameters.
    pub text: String,
    /// Whether the request's own value counts more.
    pub overridable: bool,
}

/// Which variants fit.
#[derive(Clone, Copy)]
enum Fitting<'c> {
    /// Those for these parameters.
    Context(&'c dyn Fn(&str) -> Option<String>),
    /// All: how large the profile can become.
    All,
}

struct Walk<'p> {
    profiles: &'p QueryProfiles,
    values: BTreeMap<String, (String, bool)>,
    /// Profiles that were walked, by the name above them: again they add nothing.
    seen: BTreeSet<(usize, String)>,
    /// The profiles being walked, for circles.
    open: Vec<usize>,
    fits: Fitting<'p>,
}

impl QueryProfiles {
    /// The values of a profile in the order of their names. `context` gives the request's parameters, by name.
    #[must_use]
    pub fn values<'p>(
        &'p self,
        profile: &'p QueryProfile,
        context: &'p dyn Fn(&str) -> Option<String>,
    ) -> Vec<ProfileValue> {
        let mut walk = Walk::new(self, Fitting::Context(context));
        // A profile that could become too large was not deployed.
        let _ = walk.profile(profile, "", DEPTH_MAX);
        let value = |(name, (text, overridable))| ProfileValue { name, text, overridable };
        walk.values.into_iter().map(value).collect()
    }

    /// Why a profile is too large, if it is.
    pub(super) fn too_large(&self, index: usize) -> Option<String> {
        Walk::new(self, Fitting::All).visit(index, "", DEPTH_MAX).err()
    }
}

impl<'p> Walk<'p> {
    fn new(profiles: &'p QueryProfiles, fits: Fitting<'p>) -> Walk<'p> {
        Walk { profiles, values: BTreeMap::new(), seen: BTreeSet::new(), open: Vec::new(), fits }
    }

    fn profile(&mut self, profile: &QueryProfile, prefix: &str, depth: usize) -> Result<(), String> {
        let too_deep = || format!("query profiles inherit and refer to each other more than {DEPTH_MAX} levels deep");
        let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
        for variant in &profile.variants {
            let fits = match self.fits {
                Fitting::All => true,
                Fitting::Context(context) => profile
                    .dimensions
                    .iter()
                    .zip(&variant.values)
                    .all(|(name, value)| value.as_ref().is_none_or(|value| context(name).as_ref() == Some(value))),
            };
            if fits {
                self.fields(profile, &variant.body, prefix, depth)?;
                self.inherit(&variant.body, prefix, depth)?;
            }
        }
        self.fields(profile, &profile.body, prefix, depth)?;
        self.inherit(&profile.body, prefix, depth)
    }

    fn fields(&mut self, profile: &QueryProfile, body: &Body, prefix: &str, depth: usize) -> Result<(), String> {
        let profiles = self.profiles;
        for field in &body.fields {
            let FieldValue::Text(text) = &field.value else { continue };
            let of_type = || profiles.is_overridable(profile, &field.name);
            let overridable = field.overridable.unwrap_or_else(of_type);
            self.values.entry(format!("{prefix}{}", field.name)).or_insert_with(|| (text.clone(), overridable));
            if self.values.len() > VALUES_MAX {
                return Err(format!("a query profile has at most {VALUES_MAX} values, inherited ones included"));
            }
        }
        // What is said of a name below a reference counts more than what is referred to.
        for field in &body.fields {
            if let FieldValue::Reference(index) = field.value {
                self.visit(index, &format!("{prefix}{}.", field.name), depth)?;
            }
        }
        Ok(())
    }

    fn inherit(&mut self, body: &Body, prefix: &str, depth: usize) -> Result<(), String> {
        body.inherits.iter().try_for_each(|index| self.visit(*index, prefix, depth))
    }

    fn visit(&mut self, index: usize, prefix: &str, depth: usize) -> Result<(), String> {
        let profiles = self.profiles;
        if self.seen.len() > VALUES_MAX {
            return Err(format!("a query profile inherits and refers to at most {VALUES_MAX} others"));
        }
        if self.open.contains(&index) {
            return Err(format!("query profile '{}' inherits or refers to itself", profiles.profiles[index].name));
        }
        if self.seen.insert((index, prefix.to_owned())) {
            self.open.push(index);
            self.profile(&profiles.profiles[index], prefix, depth)?;
            self.open.pop();
        }
        Ok(())
    }
}
