//! Groups as bytes: what one partition or schema adds to the groups of a request. Read under the limits of groups.
use std::rc::Rc;

use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use super::datum_bytes::{TEXT, read_key, write_key};
use super::groups::{Groups, HeldHit};

impl Groups {
    /// As bytes. Hits must have their ids and fields.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        for (index, table) in self.tables.iter().enumerate() {
            writer.varint(table.keys.len() as u64);
            for group in 0..table.keys.len() {
                if index > 0 {
                    writer.varint(u64::from(table.parents[group]));
                    write_key(&table.keys[group], &mut writer);
                }
                writer.f64(table.ranks[group]);
                table.totals.iter().for_each(|totals| totals.write(group, &mut writer));
                for hits in &table.hits {
                    writer.varint(hits[group].hits.len() as u64);
                    hits[group].hits.iter().for_each(|hit| write_hit(hit, &mut writer));
                }
            }
        }
        self.write_firsts(&mut writer);
        writer.finish()
    }

    /// Adds what [`Groups::encode`] wrote of another part, of the same request.
    ///
    /// # Errors
    /// If it is not that, or all takes more memory than groups may.
    pub(crate) fn absorb(&mut self, bytes: &[u8], schemas: usize) -> Result<(), Rejection> {
        let mut reader = Reader::new(bytes);
        // For each table where its groups are.
        let mut places: Vec<Vec<u32>> = Vec::with_capacity(self.tables.len());
        for table in 0..self.tables.len() {
            let above = self.parent_table(table);
            let count = reader.count(8)?;
            let mut of_table = Vec::with_capacity(count);
            for _ in 0..count {
                let group = match above {
                    // Of the root there is one.
                    None => 0,
                    Some(above) => {
                        let parent = usize::try_from(reader.varint()?).ok().and_then(|at| places[above].get(at));
                        let parent =
                            *parent.ok_or_else(|| Rejection::corrupt("a group in a group that is not there"))?;
                        self.read_key_of(table, parent, &mut reader)?
                    }
                };
                self.absorb_group(table, group as usize, schemas, &mut reader)?;
                of_table.push(group);
            }
            places.push(of_table);
        }
        self.read_firsts(schemas, &mut reader)?;
        self.trim_firsts();
        reader.end()
    }

    /// Finds the group of the id that comes, or makes it.
    fn read_key_of(&mut self, table: usize, parent: u32, reader: &mut Reader<'_>) -> Result<u32, Rejection> {
        let kind = reader.u8()?;
        if kind == TEXT {
            return self.group_of_text(table, parent, reader.bytes()?);
        }
        let key = read_key(kind, reader)?;
        self.group(table, parent, &key)
    }

    fn absorb_group(
        &mut self,
        table: usize,
        group: usize,
        schemas: usize,
        reader: &mut Reader<'_>,
    ) -> Result<(), Rejection> {
        let of = &mut self.tables[table];
        let rank = reader.f64()?;
        if rank > of.ranks[group] {
            of.ranks[group] = rank;
        }
        let mut more = 0;
        for totals in &mut of.totals {
            more += totals.read(group, reader)?;
        }
        for hits in &mut of.hits {
            for _ in 0..reader.count(11)? {
                let hit = read_hit(schemas, reader)?;
                more += hit.bytes();
                hits[group].hits.push(hit);
            }
        }
        self.take(more)
    }
}

fn write_hit(hit: &HeldHit, writer: &mut Writer) {
    writer.varint(u64::from(hit.schema));
    writer.f64(hit.score);
    writer.text(hit.id.as_deref().unwrap_or_default());
    writer.bytes(hit.fields.iter().flatten().next().map_or(&[][..], |fields| fields));
}

fn read_hit(schemas: usize, reader: &mut Reader<'_>) -> Result<HeldHit, Rejection> {
    let schema = reader.varint()?;
    if schema >= schemas as u64 {
        return Err(Rejection::corrupt("a hit of a schema that is not searched"));
    }
    let score = reader.f64()?;
    let id = Some(Rc::from(reader.text()?));
    let fields = reader.bytes()?;
    let fields = Some((!fields.is_empty()).then(|| Rc::from(fields)));
    Ok(HeldHit { schema: schema as u32, view: 0, ordinal: 0, score, id, fields })
}
