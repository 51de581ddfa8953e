//! A page of a partition: of its documents, or of the operations of its tail.
use std::cell::RefCell;
use std::rc::Rc;

use brooklet_segment::PartitionVersion;
use brooklet_task::bytes::Reader;
use brooklet_task::{Rejection, Task};

use super::tail::Tail;
use super::visit::{PageFormat, Request, Visit};
use crate::deployed::Deployed;
use crate::resident::residency::Residency;

/// Reads the request (docs/abi.md, visit), and begins what it asks for.
///
/// # Errors
/// If it is malformed, or its field set names what there is not.
pub fn open_visit(
    deployed: Rc<Deployed>,
    residency: Rc<RefCell<Residency>>,
    request: &[u8],
) -> Result<Box<dyn Task>, Rejection> {
    let mut reader = Reader::new(request);
    let place = PartitionVersion::read(&mut reader)?;
    let request = Request::read(&mut reader, &deployed)?;
    reader.end()?;
    request.field_set.check(&deployed)?;
    Ok(match request.format {
        PageFormat::Tail => Box::new(Tail::new(deployed, place, request)),
        _ => Box::new(Visit::new(deployed, residency, place, request)),
    })
}
