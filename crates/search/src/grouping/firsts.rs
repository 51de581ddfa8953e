//! The first documents of a part, in the order of their ids, where a request adds up the first ones only. Which those are
//! is known when all parts are: until then each part carries as many as it may contribute, with everything that is asked
//! of them, and they are added when the answer is made.
use std::rc::Rc;

use brooklet_kernel::sort_by;
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use super::datum::Datum;
use super::datum_bytes::{read_datum, write_datum};
use super::descent::{Batch, Descent, Row};
use super::groups::{First, Groups};
use super::inputs::Inputs;
use super::known::GroupIndex;
use super::planned::PlannedGrouping;
use super::template::{classes, most};

impl Groups {
    /// Leaves the first documents of each schema, in the order of their ids.
    pub(crate) fn keep_firsts(&mut self) {
        let Some(most) = most(&self.templates) else { return };
        sort_by(&mut self.firsts, |a, b| (a.schema, &a.id).cmp(&(b.schema, &b.id)));
        let (mut schema, mut kept) = (None, 0);
        self.firsts.retain(|first| {
            kept = if schema.replace(first.schema) == Some(first.schema) { kept + 1 } else { 1 };
            kept <= most
        });
    }

    /// Adds the first documents, when there are no others.
    ///
    /// # Errors
    /// If the groups take too much memory.
    pub(crate) fn add_firsts(&mut self, planned: &PlannedGrouping) -> Result<(), Rejection> {
        self.keep_firsts();
        let firsts = std::mem::take(&mut self.firsts);
        for of_schema in firsts.chunk_by(|a, b| a.schema == b.schema) {
            let schema = of_schema[0].schema;
            let Some(Some(bound)) = planned.bound.get(schema as usize) else { continue };
            let values = (0..bound.inputs.len()).map(|input| {
                let value = |first: &First| first.values.get(input).cloned().unwrap_or(Datum::Nothing);
                of_schema.iter().map(value).collect()
            });
            let ids = of_schema.iter().map(|first| first.id.to_string()).collect();
            let inputs = Inputs::of_values(values.collect(), ids);
            let places: Vec<u32> = (0..of_schema.len() as u32).collect();
            let scores: Vec<f64> = of_schema.iter().map(|first| first.score).collect();
            let batch = Batch {
                inputs: &inputs,
                ordinals: &places,
                scores: &scores,
                score: 0.0,
                places: &places,
                firsts: Some(of_schema),
                schema,
                view: 0,
            };
            let rows: Vec<Row<'_>> = places.iter().map(|at| Row { at: *at, group: 0, selection: None }).collect();
            let mut known: Vec<GroupIndex> = Vec::new();
            known.resize_with(planned.templates.len(), GroupIndex::default);
            Descent { planned, bound, groups: self, known: &mut known, batch }.enter(0, &rows)?;
        }
        Ok(())
    }

    pub(super) fn write_firsts(&self, writer: &mut Writer) {
        writer.varint(self.firsts.len() as u64);
        for first in &self.firsts {
            writer.varint(u64::from(first.schema));
            writer.text(&first.id);
            writer.f64(first.score);
            writer.varint(first.values.len() as u64);
            first.values.iter().for_each(|value| write_datum(value, writer));
            first.fields.iter().for_each(|fields| writer.bytes(fields.as_deref().unwrap_or_default()));
        }
    }

    /// Reads what [`Groups::write_firsts`] wrote.
    pub(super) fn read_firsts(&mut self, schemas: usize, reader: &mut Reader<'_>) -> Result<(), Rejection> {
        let classes = classes(&self.templates).len();
        for _ in 0..reader.count(11)? {
            let schema = reader.varint()?;
            if schema >= schemas as u64 {
                return Err(Rejection::corrupt("a document of a schema that is not searched"));
            }
            let (id, score) = (Rc::from(reader.text()?), reader.f64()?);
            let values = (0..reader.count(1)?).map(|_| read_datum(reader)).collect::<Result<_, _>>()?;
            let field = |reader: &mut Reader<'_>| -> Result<Option<Rc<[u8]>>, Rejection> {
                Ok(Some(reader.bytes()?).filter(|bytes| !bytes.is_empty()).map(Rc::from))
            };
            let fields = (0..classes).map(|_| field(reader)).collect::<Result<_, _>>()?;
            let first = First { schema: schema as u32, place: (0, 0), id, score, values, fields };
            self.take(first.bytes())?;
            self.firsts.push(first);
        }
        Ok(())
    }
}
