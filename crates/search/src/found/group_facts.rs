//! What the shards of a group have to know of each other, so that they find together what one partition would: how many slips
//! are forgiven in words that nobody has, the statistics of the group, and which documents are the nearest of all.
//!
//! A shard that lacks some of it goes on by its own as far as it can, and says what it counted instead of hits. The merge of
//! all adds that up; the query is given it, and every shard is searched anew. What rests on an assumption that others do not
//! share is left out, and counted in the next round.
use std::collections::BTreeMap;

use brooklet_kernel::sort;
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Rejection, limits};

use crate::ranking::GroupStatistics;

/// A neighbour: how near (a smaller number is nearer), and its document's id.
pub(crate) type Neighbour = (u64, String);

/// Numbers about the documents of one schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SchemaFacts {
    /// By leaf: how often it was asked otherwise, until a document matched.
    pub(crate) slips: BTreeMap<usize, usize>,
    /// All of it was counted with these slips.
    pub(crate) agrees: bool,
    pub(crate) statistics: Option<GroupStatistics>,
    /// By neighbour operator: how many match, and the nearest of the documents, as many at most.
    pub(crate) nearest: BTreeMap<usize, (usize, Vec<Neighbour>)>,
}

impl SchemaFacts {
    /// Adds what was counted in another shard.
    #[inline(never)]
    fn add(&mut self, other: SchemaFacts) {
        self.agrees &= other.agrees && self.slips == other.slips;
        for (leaf, slips) in other.slips {
            let least = self.slips.entry(leaf).or_insert(slips);
            *least = slips.min(*least);
        }
        self.statistics = match (self.statistics.take(), other.statistics) {
            (Some(mut own), Some(others)) => {
                own.add(others);
                Some(own)
            }
            (own, others) => own.or(others),
        };
        for (operator, (target, neighbours)) in other.nearest {
            let (_, all) = self.nearest.entry(operator).or_insert_with(|| (target, Vec::new()));
            all.extend(neighbours);
            sort(all);
            all.truncate(target);
        }
        if !self.agrees {
            self.statistics = None;
            self.nearest.clear();
        }
    }

    /// The last document that an operator matches; nothing if every document within its threshold does.
    pub(crate) fn last_nearest(&self, operator: usize) -> Option<Option<&Neighbour>> {
        let (target, neighbours) = self.nearest.get(&operator)?;
        Some(if neighbours.len() < *target { None } else { neighbours.last() })
    }

    fn write(&self, writer: &mut Writer) {
        writer.varint(self.slips.len() as u64);
        for (leaf, slips) in &self.slips {
            writer.varint(*leaf as u64);
            writer.varint(*slips as u64);
        }
        writer.u8(u8::from(self.agrees));
        writer.u8(u8::from(self.statistics.is_some()));
        if let Some(statistics) = &self.statistics {
            statistics.write(writer);
        }
        writer.varint(self.nearest.len() as u64);
        for (operator, (target, neighbours)) in &self.nearest {
            writer.varint(*operator as u64);
            writer.varint(*target as u64);
            writer.varint(neighbours.len() as u64);
            for (distance, id) in neighbours {
                writer.u64(*distance);
                writer.text(id);
            }
        }
    }

    #[inline(never)]
    fn read(reader: &mut Reader<'_>) -> Result<SchemaFacts, Rejection> {
        let mut facts = SchemaFacts::default();
        for _ in 0..reader.count(2)? {
            facts.slips.insert(reader.varint()? as usize, reader.varint()? as usize);
        }
        facts.agrees = reader.u8()? == 1;
        if reader.u8()? == 1 {
            facts.statistics = Some(GroupStatistics::read(reader)?);
        }
        for _ in 0..reader.count(3)? {
            let (operator, target) = (reader.varint()? as usize, reader.varint()? as usize);
            let mut neighbours = Vec::new();
            for _ in 0..reader.count(9)? {
                neighbours.push((reader.u64()?, reader.text()?.to_owned()));
            }
            facts.nearest.insert(operator, (target, neighbours));
        }
        Ok(facts)
    }
}

/// What the run of a shard knows of the others.
pub(crate) struct ShardFacts {
    /// What all agreed on.
    pub(crate) agreed: SchemaFacts,
    /// What was counted here, where nothing was agreed on.
    pub(crate) own: SchemaFacts,
    /// Something has to be agreed on before there are hits.
    pub(crate) lacks: bool,
    /// Neighbours were resolved among those of this shard alone: what rests on them is worth nothing.
    pub(crate) presumes: bool,
}

/// Facts by group and by the number of the schema in the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GroupFacts(BTreeMap<(String, usize), SchemaFacts>);

impl GroupFacts {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of a group and schema; what was not said before is empty.
    pub(crate) fn of(&self, key: &str, schema: usize) -> Option<&SchemaFacts> {
        self.0.get(&(key.to_owned(), schema))
    }

    /// Notes what was counted in one shard.
    pub(crate) fn insert(&mut self, key: &str, schema: usize, facts: SchemaFacts) {
        self.0.insert((key.to_owned(), schema), facts);
    }

    /// Adds what was counted in other shards.
    pub(crate) fn merge(&mut self, other: GroupFacts) {
        for (place, facts) in other.0 {
            match self.0.entry(place) {
                std::collections::btree_map::Entry::Vacant(entry) => drop(entry.insert(facts)),
                std::collections::btree_map::Entry::Occupied(mut entry) => entry.get_mut().add(facts),
            }
        }
    }

    /// Takes what all shards know together, beside what was agreed on before.
    #[inline(never)]
    pub(crate) fn agree(&mut self, all: GroupFacts) {
        for (place, facts) in all.0 {
            let known = self.0.entry(place).or_default();
            known.slips = facts.slips;
            known.agrees = true;
            if facts.statistics.is_some() {
                known.statistics = facts.statistics;
            }
            known.nearest.extend(facts.nearest);
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.varint(self.0.len() as u64);
        for ((key, schema), facts) in &self.0 {
            writer.text(key);
            writer.varint(*schema as u64);
            facts.write(writer);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<GroupFacts, Rejection> {
        let mut all = GroupFacts::default();
        for _ in 0..reader.count(5)? {
            let key = reader.text()?;
            if key.len() > limits::GROUP_BYTES + 2 {
                return Err(Rejection::corrupt("facts of a group whose key is too long"));
            }
            let schema = reader.varint()? as usize;
            all.insert(key, schema, SchemaFacts::read(reader)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(slips: usize, neighbours: &[(u64, &str)]) -> GroupFacts {
        let neighbours = neighbours.iter().map(|(distance, id)| (*distance, (*id).to_owned())).collect();
        let schema = SchemaFacts {
            slips: BTreeMap::from([(0, slips)]),
            agrees: true,
            statistics: Some(GroupStatistics::default()),
            nearest: BTreeMap::from([(1, (2, neighbours))]),
        };
        let mut all = GroupFacts::default();
        all.insert("g:a", 0, schema);
        all
    }

    #[test]
    fn the_nearest_of_all_are_agreed_on_and_ties_are_broken_by_id() {
        let mut all = facts(0, &[(5, "b"), (9, "c")]);
        all.merge(facts(0, &[(5, "a"), (5, "d")]));
        let mut known = GroupFacts::default();
        known.agree(all);
        let of = known.of("g:a", 0).unwrap();
        assert_eq!(of.last_nearest(1), Some(Some(&(5, "b".to_owned()))));
        assert!(of.statistics.is_some());
    }

    #[test]
    fn what_was_counted_with_other_slips_is_left_out() {
        for (one, other) in [(0, 1), (2, 1)] {
            let mut all = facts(one, &[(1, "a")]);
            all.merge(facts(other, &[(2, "b")]));
            all.merge(facts(one, &[(2, "b")]));
            let mut known = GroupFacts::default();
            known.agree(all);
            let of = known.of("g:a", 0).unwrap();
            assert_eq!(of.slips, BTreeMap::from([(0, one.min(other))]));
            assert_eq!((of.statistics.is_none(), of.last_nearest(1)), (true, None));
        }
    }

    #[test]
    fn facts_are_read_as_they_were_written() {
        let all = facts(1, &[(5, "b"), (9, "c")]);
        let mut writer = Writer::new();
        all.write(&mut writer);
        let bytes = writer.finish();
        assert_eq!(GroupFacts::read(&mut Reader::new(&bytes)).unwrap(), all);
        for cut in 0..bytes.len() {
            assert!(GroupFacts::read(&mut Reader::new(&bytes[..cut])).is_err(), "{cut}");
        }
    }
}
