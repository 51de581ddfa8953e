//! What the stages of a search took: time as the host tells it, and bytes of stored blocks. The names go over the wire.
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

/// A stage of a search as it is told, in the order in which one follows the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StageName {
    /// Before anything was begun: queues, the opening of the query, embeddings.
    Wait,
    /// Manifest and tail, and what they hide.
    Load,
    /// The selection of documents, and every operator but neighbours.
    Match,
    /// Neighbours: codes and their bounds, or cells where there are no codes.
    Scan,
    /// Neighbours: the exact cells of those that can be among the nearest.
    Exact,
    /// First and second phase.
    Rank,
    /// Groups of documents.
    Group,
    /// Ids, which break ties.
    Order,
    /// What later phases want to know, and their decision.
    Phases,
    /// What is shown of hits.
    Summary,
    /// Outputs of models, waited for.
    Models,
}

impl StageName {
    const ALL: [StageName; 11] = [
        StageName::Wait,
        StageName::Load,
        StageName::Match,
        StageName::Scan,
        StageName::Exact,
        StageName::Rank,
        StageName::Group,
        StageName::Order,
        StageName::Phases,
        StageName::Summary,
        StageName::Models,
    ];

    /// As it is written.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            StageName::Wait => "wait",
            StageName::Load => "load",
            StageName::Match => "match",
            StageName::Scan => "scan",
            StageName::Exact => "exact",
            StageName::Rank => "rank",
            StageName::Group => "group",
            StageName::Order => "order",
            StageName::Phases => "phases",
            StageName::Summary => "summary",
            StageName::Models => "models",
        }
    }
}

/// What a stage took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    pub(crate) ms: f64,
    /// Bytes given by the store.
    pub(crate) bytes_read: u64,
    /// Bytes looked at, those included.
    pub(crate) bytes_scanned: u64,
}

/// What each stage took, of one search or of several together. Empty where nothing was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StageCosts(Vec<Option<Cost>>);

impl StageCosts {
    fn at(&mut self, stage: StageName) -> &mut Cost {
        self.0.resize(StageName::ALL.len(), None);
        self.0[stage as usize].get_or_insert_default()
    }

    /// Those that there were, in their order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (StageName, Cost)> {
        StageName::ALL.into_iter().zip(&self.0).filter_map(|(name, cost)| Some((name, (*cost)?)))
    }

    /// Adds what the stages of another search took.
    pub(crate) fn merge(&mut self, other: &StageCosts) {
        for (name, cost) in other.all() {
            let of = self.at(name);
            of.ms += cost.ms;
            of.bytes_read += cost.bytes_read;
            of.bytes_scanned += cost.bytes_scanned;
        }
    }

    /// As a part of a partial result.
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.varint(self.all().count() as u64);
        for (name, cost) in self.all() {
            writer.u8(name as u8);
            writer.f64(cost.ms);
            writer.varint(cost.bytes_read);
            writer.varint(cost.bytes_scanned);
        }
    }

    /// Reads what [`StageCosts::write`] wrote.
    ///
    /// # Errors
    /// If it is cut short or names a stage that there is not.
    pub(crate) fn read(reader: &mut Reader) -> Result<StageCosts, Rejection> {
        let mut costs = StageCosts::default();
        for _ in 0..reader.count(11)? {
            let number = usize::from(reader.u8()?);
            let name = StageName::ALL.get(number).ok_or_else(|| Rejection::corrupt("a stage that there is not"))?;
            let ms = reader.f64()?;
            let mut bytes = || Ok(reader.varint()?.min(u64::from(u32::MAX) << 20));
            *costs.at(*name) = Cost { ms, bytes_read: bytes()?, bytes_scanned: bytes()? };
        }
        Ok(costs)
    }
}

/// What searches took of which nothing is shown: others were asked the same once more.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_scanned: u64,
    pub(crate) stages: StageCosts,
}

/// Takes note of the stages of a search while it runs.
#[derive(Debug)]
pub(crate) struct Meter {
    costs: StageCosts,
    stage: StageName,
    /// The one that follows once the host has told the time; nothing: the search is done then.
    next: Option<StageName>,
    elapsed_ms: f64,
    bytes_read: u64,
    bytes_scanned: u64,
}

impl Meter {
    /// Before anything is begun.
    pub(crate) fn new() -> Meter {
        let (costs, stage) = (StageCosts::default(), StageName::Wait);
        Meter { costs, stage, next: Some(stage), elapsed_ms: 0.0, bytes_read: 0, bytes_scanned: 0 }
    }

    /// Goes over to a stage, when so many bytes were read and looked at in all: what came since is of the one before. Whether
    /// the time has to be told first, and the stage is to be asked for again.
    pub(crate) fn pass(&mut self, next: Option<StageName>, bytes_read: u64, bytes_scanned: u64) -> bool {
        if next != self.next {
            self.next = next;
            return true;
        }
        if let Some(next) = next.filter(|next| *next != self.stage) {
            self.count(bytes_read, bytes_scanned);
            self.stage = next;
        }
        false
    }

    fn count(&mut self, bytes_read: u64, bytes_scanned: u64) {
        let cost = self.costs.at(self.stage);
        cost.bytes_read += bytes_read - self.bytes_read;
        cost.bytes_scanned += bytes_scanned - self.bytes_scanned;
        (self.bytes_read, self.bytes_scanned) = (bytes_read, bytes_scanned);
    }

    /// So much time passed in all: what passed since it was last told is of the stage that is under way.
    pub(crate) fn time(&mut self, elapsed_ms: f64) {
        self.costs.at(self.stage).ms += (elapsed_ms - self.elapsed_ms).max(0.0);
        self.elapsed_ms = elapsed_ms;
    }

    /// What the stages took, when so many bytes were read and looked at in all. `waits`: what passed before is told, too.
    pub(crate) fn costs(&mut self, waits: bool, bytes_read: u64, bytes_scanned: u64) -> StageCosts {
        self.count(bytes_read, bytes_scanned);
        if !waits {
            self.costs.0[StageName::Wait as usize] = None;
        }
        std::mem::take(&mut self.costs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs() -> StageCosts {
        let mut meter = Meter::new();
        for (stage, ms, read, scanned) in
            [(Some(StageName::Match), 2.0, 0, 0), (Some(StageName::Summary), 5.0, 100, 300), (None, 5.5, 120, 350)]
        {
            assert!(meter.pass(stage, read, scanned), "the time is told first");
            meter.time(ms);
            assert!(!meter.pass(stage, read, scanned));
        }
        meter.costs(true, 120, 350)
    }

    #[test]
    fn time_and_bytes_are_of_the_stage_that_was_under_way() {
        let told: Vec<(&str, Cost)> = costs().all().map(|(name, cost)| (name.as_str(), cost)).collect();
        assert_eq!(
            told,
            [
                ("wait", Cost { ms: 2.0, bytes_read: 0, bytes_scanned: 0 }),
                ("match", Cost { ms: 3.0, bytes_read: 100, bytes_scanned: 300 }),
                ("summary", Cost { ms: 0.5, bytes_read: 20, bytes_scanned: 50 }),
            ]
        );
    }

    #[test]
    fn those_of_several_searches_are_added_and_cross_as_bytes() {
        let mut writer = Writer::new();
        costs().write(&mut writer);
        let bytes = writer.finish();
        let mut read = StageCosts::read(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(read, costs());
        read.merge(&costs());
        let summary = read.all().last().unwrap();
        assert_eq!(summary, (StageName::Summary, Cost { ms: 1.0, bytes_read: 40, bytes_scanned: 100 }));
        for end in 0..bytes.len() {
            StageCosts::read(&mut Reader::new(&bytes[..end])).unwrap_err();
        }
        let mut unknown = bytes.clone();
        unknown[1] = StageName::ALL.len() as u8;
        StageCosts::read(&mut Reader::new(&unknown)).unwrap_err();
    }

    #[test]
    fn every_name_stands_at_its_place() {
        for (at, name) in StageName::ALL.into_iter().enumerate() {
            assert_eq!(name as usize, at);
        }
    }
}
