//! Which partitions a query addresses. It is decided here alone: the host asks first, hands the query to the partitions
//! that are named, and each of them finds the same scope in the same parameters and refuses what is not for it.
use std::rc::Rc;

use brooklet_document::Location;
use brooklet_document::selection::Selection;
use brooklet_kernel::sort;
use brooklet_task::bytes::Writer;
use brooklet_task::{Code, Rejection, limits};

use super::properties::Properties;
use crate::deployed::Deployed;

const REQUIRED: &str = "Streaming search requires either streaming.groupname or streaming.selection";

/// The partitions a query addresses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Groups {
    /// Those with these keys, each once, in order.
    Keys(Vec<String>),
    /// All there are. Only a selection can say so; nothing left out ever means it.
    All,
}

/// What a query addresses.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) groups: Groups,
    /// What must hold of every document, if that is not that it is of the group.
    pub(crate) selection: Option<Rc<Selection>>,
}

impl Scope {
    /// The scope that the parameters name: exactly one of them must.
    pub(crate) fn from_properties(deployed: &Deployed, properties: &Properties) -> Result<Scope, Rejection> {
        let illegal = |message: &str| Rejection::new(Code::IllegalQuery, message);
        let group = properties.value("streaming.groupname");
        let user = properties.value("streaming.userid");
        let selection = properties.value("streaming.selection");
        match (group, user, selection) {
            (Some(group), None, None) if group.len() > limits::GROUP_BYTES => {
                Err(illegal(&format!("The group name is longer than {} bytes", limits::GROUP_BYTES)))
            }
            // An empty name is no group: most likely the caller forgot to fill it in.
            (Some(group), None, None) if !group.is_empty() => Ok(Scope::of_key(format!("g:{group}"))),
            (None, Some(user), None) => {
                let invalid = format!("'{}' is not a valid number", Rejection::quote(user));
                // An id takes a signed number; what is larger is a number, too, of which there is no document.
                let known = user.trim().parse().ok();
                let number =
                    known.filter(|number: &i128| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(number));
                let number = number.ok_or_else(|| properties.refuse("streaming.userid", &invalid))?;
                Ok(Scope::of_key(format!("n:{number}")))
            }
            // An empty one would select everything; what is not said never means all.
            (None, None, Some(selection)) if !selection.trim().is_empty() => Scope::of_selection(deployed, selection),
            _ => Err(illegal(REQUIRED)),
        }
    }

    fn of_key(key: String) -> Scope {
        Scope { groups: Groups::Keys(vec![key]), selection: None }
    }

    fn of_selection(deployed: &Deployed, text: &str) -> Result<Scope, Rejection> {
        let selection = Selection::parse(text, &deployed.application, Code::InvalidQueryParameter)
            .map_err(|rejection| rejection.within("Failed to parse document selection string"))?;
        let groups = match &selection.scope().locations {
            None => Groups::All,
            Some(locations) => {
                let mut keys: Vec<String> = locations.iter().map(Location::partition_key).collect();
                sort(&mut keys);
                keys.dedup();
                Groups::Keys(keys)
            }
        };
        Ok(Scope { groups, selection: Some(Rc::new(selection)) })
    }

    /// Refuses to answer from the partition of this key alone, unless it is all that is addressed.
    pub(crate) fn check_whole(&self, key: &str) -> Result<(), Rejection> {
        match &self.groups {
            Groups::Keys(keys) if matches!(&keys[..], [only] if only == key) => Ok(()),
            _ => Err(elsewhere()),
        }
    }

    /// Refuses to look at the partition of this key, unless it is addressed.
    pub(crate) fn check_part(&self, key: &str) -> Result<(), Rejection> {
        match &self.groups {
            Groups::All => Ok(()),
            Groups::Keys(keys) if keys.iter().any(|of| of == key) => Ok(()),
            Groups::Keys(_) => Err(elsewhere()),
        }
    }

    /// Writes it for the host (docs/abi.md, scope): 1 and the keys, or 2 for all partitions there are.
    pub(crate) fn write(&self, writer: &mut Writer) {
        match &self.groups {
            Groups::Keys(keys) => {
                writer.u8(1);
                writer.varint(keys.len() as u64);
                keys.iter().for_each(|key| writer.text(key));
            }
            Groups::All => writer.u8(2),
        }
    }
}

fn elsewhere() -> Rejection {
    Rejection::new(Code::IllegalQuery, "The request names another group than it was sent to")
}
