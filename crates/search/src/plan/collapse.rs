//! Collapsing: of hits that have one value in a field, only the best few are in the answer (query-api, `collapsefield`,
//! `collapsesize`, `collapsesize.FIELD`).
//!
//! The value is carried with a hit, as a key behind those that it is ordered by. A hit whose document has no value in the
//! field stays. Several fields are collapsed one after the other, each among the hits that the fields before it left. How
//! many documents matched does not change.
//!
//! With one field, partitions can collapse by themselves: the best few hits of a value among all are among the best few of
//! their partition. With several they cannot, and no hit is given up before all were heard of.
use std::collections::HashMap;

use brooklet_task::{Code, Rejection};

use super::sorting::{BoundKey, SortValue};
use crate::asked::properties::Properties;
use crate::deployed::DeployedSchema;
use crate::found::hit::Ranked;

/// Fields that hits are collapsed by; by none, usually.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collapse {
    fields: Vec<Field>,
    /// Fields that a size is given for, whether hits are collapsed by them or not.
    sized: Vec<String>,
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    /// Hits of one value that stay.
    size: usize,
}

impl Collapse {
    /// What a request asks for.
    ///
    /// # Errors
    /// If a size is no number above 0.
    pub(crate) fn from_properties(properties: &Properties) -> Result<Collapse, Rejection> {
        let size_of = |name: &str| match properties.count(name)? {
            Some(0) => Err(properties.refuse(name, &format!("'{name}' must be at least 1"))),
            size => Ok(size),
        };
        let usual = size_of("collapsesize")?.unwrap_or(1);
        let names = properties.value("collapsefield").unwrap_or_default();
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let field = |name: &str| {
            let size = size_of(&format!("collapsesize.{name}"))?.unwrap_or(usual);
            Ok(Field { name: name.to_owned(), size })
        };
        let sized = properties.beginning("collapsesize.").map(|(name, _)| name.to_owned()).collect();
        Ok(Collapse { fields: names.map(field).collect::<Result<_, Rejection>>()?, sized })
    }

    /// The keys that carry the values of hits of a schema.
    pub(crate) fn keys(&self, schema: &DeployedSchema) -> Vec<BoundKey> {
        self.fields.iter().map(|field| BoundKey::of_field(&field.name, schema)).collect()
    }

    /// Refuses fields that none of the schemas has: nothing would be collapsed by them.
    pub(crate) fn check<'s>(&self, schemas: impl Iterator<Item = &'s DeployedSchema> + Clone) -> Result<(), Rejection> {
        let is_unknown = |name: &&String| !schemas.clone().any(|of| of.schema.field(name).is_some());
        let mut named = self.fields.iter().map(|field| &field.name).chain(&self.sized);
        let Some(unknown) = named.find(is_unknown) else { return Ok(()) };
        let message = format!("No field '{}' to collapse hits by", Rejection::quote(unknown));
        Err(Rejection::new(Code::InvalidQueryParameter, message))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The fields, as they were given.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
        names.join(", ")
    }

    /// Whether hits of a part can be collapsed before all are known.
    pub(crate) fn is_of_parts(&self) -> bool {
        self.fields.len() == 1
    }

    /// Leaves of hits, which come in their order, the first ones of each value; `ordered` keys stand before the values. Each
    /// set competes by itself, one of no set stays.
    pub(crate) fn leave<Content>(
        &self,
        hits: &mut Vec<Ranked<Content>>,
        ordered: usize,
        set_of: impl Fn(&Ranked<Content>) -> Option<usize>,
    ) {
        for (index, Field { size, .. }) in self.fields.iter().enumerate() {
            let mut seen: HashMap<(usize, Vec<u8>), usize> = HashMap::new();
            hits.retain(|hit| {
                let value = hit.keys.get(ordered + index).and_then(token);
                let Some((set, value)) = set_of(hit).zip(value) else { return true };
                let count = seen.entry((set, value)).or_default();
                *count += 1;
                *count <= *size
            });
        }
    }
}

/// A value as text: schemas may have several types for the field of one name. Nothing if there is no value.
fn token(value: &SortValue) -> Option<Vec<u8>> {
    Some(match value {
        SortValue::First | SortValue::Last => return None,
        SortValue::Text(text) => text.clone(),
        SortValue::Integer(number) => number.to_string().into_bytes(),
        SortValue::Number(number) => number.to_string().into_bytes(),
    })
}
