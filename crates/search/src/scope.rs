//! Which partitions a query addresses. It is decided here alone: the host asks first, hands the query to the partitions
//! that are named, and each of them finds the same scope in the same parameters and refuses what is not for it.
use brooklet_task::bytes::Writer;
use brooklet_task::{Code, Rejection, limits};

use crate::request::Properties;

const REQUIRED: &str = "Streaming search requires either streaming.groupname or streaming.selection";

/// The partitions a query addresses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Groups {
    /// Those with these keys, each once, in order.
    Keys(Vec<String>),
    /// All there are. Only a selection can say so; nothing left out ever means it.
    #[expect(dead_code, reason = "selections say so")]
    All,
}

/// What a query addresses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scope {
    pub(crate) groups: Groups,
}

impl Scope {
    /// The scope that the parameters name: exactly one of them must.
    pub(crate) fn of(properties: &Properties) -> Result<Scope, Rejection> {
        let illegal = |message: &str| Rejection::new(Code::IllegalQuery, message);
        let group = properties.value("streaming.groupname");
        let user = properties.value("streaming.userid");
        let selection = properties.value("streaming.selection");
        match (group, user, selection) {
            (Some(group), None, None) if group.len() > limits::GROUP_BYTES => {
                Err(illegal(&format!("The group name is longer than {} bytes", limits::GROUP_BYTES)))
            }
            (Some(group), None, None) => Ok(Scope { groups: Groups::Keys(vec![format!("g:{group}")]) }),
            (None, Some(user), None) => {
                let invalid = format!("'{}' is not a valid number", Rejection::quote(user));
                let number: u64 = user.trim().parse().map_err(|_| properties.refuse("streaming.userid", &invalid))?;
                Ok(Scope { groups: Groups::Keys(vec![format!("n:{number}")]) })
            }
            (None, None, Some(_)) => Err(Rejection::new(
                Code::Unsupported,
                "streaming.selection is not supported yet: name one group with streaming.groupname",
            )),
            _ => Err(illegal(REQUIRED)),
        }
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
