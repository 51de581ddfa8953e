//! What one partition found for a query, to be merged with what others found: hits with what decides about them, already
//! filled with what they show, and everything that is summed up.
//!
//! Hits are filled where they were found, in the same turn, so that what is shown of a document is what was ranked. That
//! this is not wasteful is the floor's doing: once enough hits are known, a partition leaves out all that come after the
//! last of them, and fills none of those.
use brooklet_rank::Value;
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Code, Issues, Rejection, limits};

use super::group_facts::GroupFacts;
use super::hit::{PhaseInputs, Ranked};
use super::hit_list::{read_ranked, write_ranked};
use super::model_runs::WantedRuns;
use super::stages::{Spent, StageCosts};
use crate::grouping::{Clock, Groups};
use crate::plan::Plan;
use crate::render::Tree;

/// Changes with the form below; partial results do not outlive the processes that exchange them.
const FORM: u8 = 5;

/// What is shown of a hit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filled {
    /// The `fields` object in the format of the answer, if it has members.
    pub(crate) fields: Option<Vec<u8>>,
    /// Why it is a hit, if that was asked for; in the same format.
    pub(crate) explanation: Option<Vec<u8>>,
}

/// What some partitions found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partial {
    /// Fingerprint of the application it was found under.
    pub(crate) application: u64,
    /// What time it was for the query.
    pub(crate) clock: Clock,
    /// Why there is no answer, if that is so.
    pub(crate) refusal: Option<Rejection>,
    /// Documents that matched and were not dropped.
    pub(crate) total: u64,
    /// Documents looked at.
    pub(crate) documents: u64,
    /// Documents not looked at for want of time.
    pub(crate) unseen: u64,
    /// What is told of the document that was asked about. It stays where it was made.
    pub(crate) explanation: Option<Tree>,
    /// Partitions looked at.
    pub(crate) partitions: u64,
    /// Partitions that could not be looked at, as what is stored of them is damaged.
    pub(crate) damaged: u64,
    /// Bytes read from stores.
    pub(crate) bytes_read: u64,
    /// Bytes looked at.
    pub(crate) bytes_scanned: u64,
    /// What the stages of the searches took, if that is told.
    pub(crate) stages: StageCosts,
    /// What went less well.
    pub(crate) issues: Issues,
    /// Runs of models without which hits and groups are not right.
    pub(crate) wanted: WantedRuns,
    /// What shards of groups counted; then hits and groups are not right either.
    pub(crate) facts: GroupFacts,
    /// The hits that can be shown, in order, by list.
    pub(crate) hits: Vec<Ranked<Filled>>,
    /// For each grouping request of the query its groups.
    pub(crate) grouping: Vec<Groups>,
}

impl Partial {
    /// Adds what [`Partial::encode`] wrote of another, for this plan. The hits are sorted and cut afterwards, by
    /// [`Plan::keep`].
    ///
    /// # Errors
    /// If it is damaged, or was found under another application.
    pub(crate) fn absorb(&mut self, bytes: &[u8], plan: &Plan) -> Result<(), Rejection> {
        let other = self.decode(bytes, plan)?;
        self.refusal = self.refusal.take().or(other.refusal);
        self.total += other.total;
        self.documents += other.documents;
        self.unseen += other.unseen;
        self.partitions += other.partitions;
        self.damaged += other.damaged;
        self.bytes_read += other.bytes_read;
        self.bytes_scanned += other.bytes_scanned;
        self.stages.merge(&other.stages);
        for issue in other.issues.all() {
            self.issues.report(issue.code, issue.message.clone());
        }
        self.wanted.merge(other.wanted);
        self.facts.merge(other.facts);
        self.hits.extend(other.hits);
        Ok(())
    }

    /// Takes away what it took, for [`Partial::take_costs`] of what is found in its place.
    pub(crate) fn give_costs(&mut self, spent: &mut Spent) {
        spent.bytes_read += std::mem::take(&mut self.bytes_read);
        spent.bytes_scanned += std::mem::take(&mut self.bytes_scanned);
        spent.stages.merge(&std::mem::take(&mut self.stages));
    }

    /// Adds what was spent before.
    pub(crate) fn take_costs(&mut self, spent: Spent) {
        self.bytes_read += spent.bytes_read;
        self.bytes_scanned += spent.bytes_scanned;
        self.stages.merge(&spent.stages);
    }

    /// As bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u8(FORM);
        writer.u64(self.application);
        writer.u64(self.clock.now as u64);
        writer.u64(self.clock.zone as u64);
        let refusal = self.refusal.as_ref().map(|refusal| (refusal.code, refusal.message.as_str()));
        write_notes(refusal.into_iter(), &mut writer);
        let seen = [self.total, self.documents, self.unseen, self.partitions, self.damaged];
        seen.into_iter().chain([self.bytes_read, self.bytes_scanned]).for_each(|number| writer.varint(number));
        self.stages.write(&mut writer);
        write_notes(self.issues.all().iter().map(|issue| (issue.code, issue.message.as_str())), &mut writer);
        self.wanted.write(&mut writer);
        self.facts.write(&mut writer);
        writer.varint(self.hits.len() as u64);
        for hit in &self.hits {
            write_ranked(hit, &mut writer);
            writer.bytes(hit.content.fields.as_deref().unwrap_or_default());
            writer.bytes(hit.content.explanation.as_deref().unwrap_or_default());
            writer.f64(hit.later.second);
            writer.varint(hit.later.inputs.len() as u64);
            hit.later.inputs.iter().for_each(|value| write_value(value, &mut writer));
        }
        writer.varint(self.grouping.len() as u64);
        self.grouping.iter().for_each(|groups| writer.bytes(&groups.encode()));
        writer.finish()
    }

    /// What time it was for the query, of what [`Partial::encode`] wrote.
    pub(crate) fn clock_of(bytes: &[u8]) -> Result<Clock, Rejection> {
        let mut reader = Reader::new(bytes);
        read_form(&mut reader)?;
        reader.u64()?;
        read_clock(&mut reader)
    }

    /// Reads another. Its groups are many and become these at once, without being held twice.
    #[inline(never)]
    fn decode(&mut self, bytes: &[u8], plan: &Plan) -> Result<Partial, Rejection> {
        let mut reader = Reader::new(bytes);
        read_form(&mut reader)?;
        let (application, clock) = (reader.u64()?, read_clock(&mut reader)?);
        if self.application != application {
            let message = "The application was deployed anew while the query ran; ask again";
            return Err(Rejection::new(Code::Internal, message));
        }
        let mut partial = Partial { application, clock, ..Partial::default() };
        read_notes(&mut reader, |code, message| {
            partial.refusal.get_or_insert_with(|| Rejection::new(code, message));
        })?;
        for number in [
            &mut partial.total,
            &mut partial.documents,
            &mut partial.unseen,
            &mut partial.partitions,
            &mut partial.damaged,
            &mut partial.bytes_read,
            &mut partial.bytes_scanned,
        ] {
            *number = reader.varint()?.min(u64::from(u32::MAX) << 20);
        }
        partial.stages = StageCosts::read(&mut reader)?;
        read_notes(&mut reader, |code, message| partial.issues.report(code, message))?;
        partial.wanted = WantedRuns::read(&mut reader)?;
        partial.facts = GroupFacts::read(&mut reader)?;
        for _ in 0..reader.count(8)? {
            partial.hits.push(read_hit(&mut reader, plan)?);
        }
        for number in 0..reader.count(1)? {
            let Some(planned) = plan.grouping.get(number) else {
                return Err(Rejection::corrupt("groups of another query"));
            };
            if number == self.grouping.len() {
                self.grouping.push(Groups::new(planned.templates.clone()));
            }
            self.grouping[number].absorb(reader.bytes()?, plan.schemas.len())?;
        }
        reader.end()?;
        Ok(partial)
    }
}

fn read_form(reader: &mut Reader) -> Result<(), Rejection> {
    let form = reader.u8()?;
    if form == FORM { Ok(()) } else { Err(Rejection::corrupt(format!("a partial result of form {form}"))) }
}

fn read_clock(reader: &mut Reader) -> Result<Clock, Rejection> {
    Ok(Clock { now: reader.u64()? as i64, zone: reader.u64()? as i64 })
}

fn read_hit(reader: &mut Reader, plan: &Plan) -> Result<Ranked<Filled>, Rejection> {
    let Ranked { schema, keys, score, id, .. } = read_ranked(reader)?;
    if schema >= plan.schemas.len() || keys.len() != plan.order.keys[schema].len() {
        return Err(Rejection::corrupt("a hit of another query"));
    }
    let mut rendered = || Ok(Some(reader.bytes()?).filter(|bytes| !bytes.is_empty()).map(<[u8]>::to_vec));
    let (fields, explanation) = (rendered()?, rendered()?);
    let mut later = PhaseInputs { second: reader.f64()?, ..PhaseInputs::default() };
    for _ in 0..reader.count(1)? {
        later.inputs.push(read_value(reader)?);
    }
    Ok(Ranked { schema, keys, score, id, later, content: Filled { fields, explanation } })
}

fn write_notes<'a>(notes: impl Iterator<Item = (Code, &'a str)>, writer: &mut Writer) {
    let notes: Vec<(Code, &str)> = notes.collect();
    writer.varint(notes.len() as u64);
    for (code, message) in notes {
        writer.text(code.name());
        writer.text(message);
    }
}

fn read_notes(reader: &mut Reader, mut note: impl FnMut(Code, &str)) -> Result<(), Rejection> {
    let count = reader.count(2)?;
    if count > limits::ISSUES {
        return Err(Rejection::corrupt(format!("{count} issues, more than {}", limits::ISSUES)));
    }
    for _ in 0..count {
        let name = reader.text()?;
        let code = Code::from_name(name).ok_or_else(|| Rejection::corrupt("an issue of an unknown kind"))?;
        note(code, reader.text()?);
    }
    Ok(())
}

const NUMBER: u8 = 0;
const TENSOR: u8 = 1;

fn write_value(value: &Value, writer: &mut Writer) {
    match value {
        Value::Number(number) => {
            writer.u8(NUMBER);
            writer.f64(*number);
        }
        Value::Tensor(tensor) => {
            writer.u8(TENSOR);
            brooklet_document::encode::encode_tensor(tensor, writer);
        }
    }
}

fn read_value(reader: &mut Reader) -> Result<Value, Rejection> {
    match reader.u8()? {
        NUMBER => Ok(Value::Number(reader.f64()?)),
        TENSOR => Ok(Value::Tensor(brooklet_document::encode::decode_tensor(reader)?.into())),
        other => Err(Rejection::corrupt(format!("a value of kind {other}"))),
    }
}
