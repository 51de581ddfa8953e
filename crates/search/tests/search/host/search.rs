//! Searches of a host: of a partition, of all that a scope names, in parts that are merged.
use std::rc::Rc;

use brooklet_search::{Query, Search};
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Block, Rejection, Task, Want};

use super::answer::{Answer, rendered};
use super::{Host, Lacking, Models, run_none};

/// How far the search of a partition came.
pub enum SearchStage {
    Answered(Box<Answer>),
    Waiting(Box<WaitingSearch>),
}

/// A search that waits for outputs of models.
pub struct WaitingSearch {
    search: Search,
    /// The partition's, when it was searched.
    layout: u32,
    /// The models that it waits for.
    pub runs: Vec<u8>,
}

impl Host {
    /// A search in a group (`g:alice`), with these parameters.
    pub fn search(&self, key: &str, parameters: &[(&str, &str)]) -> Answer {
        let (kind, name) = key.split_once(':').unwrap_or(("g", key));
        let scope = if kind == "n" { "streaming.userid" } else { "streaming.groupname" };
        let mut all = vec![(scope, name)];
        all.extend_from_slice(parameters);
        self.search_raw(key, &all, "")
    }

    /// A search with exactly these parameters and this body.
    pub fn search_raw(&self, key: &str, parameters: &[(&str, &str)], body: &str) -> Answer {
        self.search_accepting(key, parameters, body, "")
    }

    /// The same with this `Accept` header.
    pub fn search_accepting(&self, key: &str, parameters: &[(&str, &str)], body: &str, accept: &str) -> Answer {
        self.answer(&self.query(parameters, body, accept), key, &run_none)
    }

    /// Opens a query.
    pub fn query(&self, parameters: &[(&str, &str)], body: &str, accept: &str) -> Rc<Query> {
        let mut writer = Writer::new();
        writer.u64(1_790_000_000);
        writer.varint(parameters.len() as u64);
        for (name, value) in parameters {
            writer.text(name);
            writer.text(value);
        }
        writer.text(body);
        writer.text(accept);
        Rc::new(Query::open(self.deployed.clone(), self.residency.clone(), &writer.finish()).unwrap())
    }

    /// The answer of a query in one partition.
    pub fn answer(&self, query: &Rc<Query>, key: &str, models: Models<'_>) -> Answer {
        let mut stage = self.go_on(query, key, None);
        loop {
            match stage {
                SearchStage::Answered(answer) => return *answer,
                SearchStage::Waiting(search) => {
                    let outputs = models(&search.runs);
                    stage = self.go_on(query, key, Some((search, &outputs)));
                }
            }
        }
    }

    /// Searches a partition as far as it comes. A search that waited for models goes on with their outputs; where the
    /// layout of the partition is another by now, one is begun anew, for which the query has them.
    pub fn go_on(&self, query: &Rc<Query>, key: &str, waited: Option<(Box<WaitingSearch>, &[u8])>) -> SearchStage {
        let layout = self.place(key).layout;
        let begin = || query.search(&self.place_bytes(key)).unwrap();
        let mut search = match waited {
            None => begin(),
            Some((waited, outputs)) if waited.layout == layout => {
                let mut search = waited.search;
                search.give(Block::copy_of(outputs)).unwrap();
                search
            }
            Some((_, outputs)) => {
                query.give_outputs(outputs).unwrap();
                begin()
            }
        };
        match self.advance(key, &mut search).unwrap_or_else(|rejection| panic!("{rejection}")) {
            None => SearchStage::Answered(Box::new(rendered(&Box::new(search).finish().unwrap()))),
            Some(Lacking { anew, runs }) => {
                assert!(!anew, "what one partition found is not found again");
                SearchStage::Waiting(Box::new(WaitingSearch { search, layout, runs }))
            }
        }
    }

    fn place_bytes(&self, key: &str) -> Vec<u8> {
        let mut writer = Writer::new();
        self.place(key).write(&mut writer);
        writer.finish()
    }

    /// A search whose clock jumps to `late_ms` after so many wants.
    pub fn search_late(&self, key: &str, parameters: &[(&str, &str)], steps: usize, late_ms: f64) -> Answer {
        let mut search = self.query(parameters, "", "").search(&self.place_bytes(key)).unwrap();
        self.drive_for(key, &mut search, steps).unwrap_or_else(|rejection| panic!("{rejection}"));
        search.elapsed(late_ms);
        self.drive(key, &mut search).unwrap_or_else(|rejection| panic!("{rejection}"));
        rendered(&Box::new(search).finish().unwrap())
    }

    /// A search that ends after so many wants.
    pub fn search_for(&self, key: &str, parameters: &[(&str, &str)], steps: usize) -> Answer {
        let mut search = self.query(parameters, "", "").search(&self.place_bytes(key)).unwrap();
        self.drive_for(key, &mut search, steps).unwrap_or_else(|rejection| panic!("{rejection}"));
        rendered(&Box::new(search).finish().unwrap())
    }

    /// A search of whose wants each takes a millisecond, after it waited for some.
    pub fn search_timed(&self, key: &str, parameters: &[(&str, &str)], waited_ms: f64) -> Answer {
        let mut search = self.query(parameters, "", "").search(&self.place_bytes(key)).unwrap();
        search.elapsed(waited_ms);
        for step in 1..10_000 {
            let want = search.wants().unwrap();
            if want == Want::Nothing {
                return rendered(&Box::new(search).finish().unwrap());
            }
            self.satisfy(key, &mut search, want).unwrap();
            search.elapsed(waited_ms + f64::from(step));
        }
        panic!("the search does not end");
    }

    /// A search, with how many steps it took.
    pub fn search_stepwise(&self, key: &str, parameters: &[(&str, &str)]) -> (Answer, usize) {
        let parameters = [&[("streaming.groupname", key.trim_start_matches("g:"))], parameters].concat();
        let mut search = self.query(&parameters, "", "").search(&self.place_bytes(key)).unwrap();
        let steps = self.count_steps(key, &mut search);
        (rendered(&Box::new(search).finish().unwrap()), steps)
    }

    fn count_steps(&self, key: &str, search: &mut Search) -> usize {
        let mut steps = 1;
        loop {
            match search.wants().unwrap() {
                Want::Nothing => return steps,
                want => self.satisfy(key, search, want).unwrap(),
            }
            steps += 1;
        }
    }

    /// A search as the gateway holds it: of the partitions its scope names, `at_once` of them between two merges.
    pub fn search_scoped(&self, parameters: &[(&str, &str)], body: &str, accept: &str, at_once: usize) -> Answer {
        self.answer_scoped(&self.query(parameters, body, accept), at_once, &run_none)
    }

    /// The answer of a query in the partitions its scope names. What they found is found again when its models have run.
    pub fn answer_scoped(&self, query: &Rc<Query>, at_once: usize, models: Models<'_>) -> Answer {
        let description = query.description();
        let mut reader = Reader::new(&description);
        let keys: Vec<String> = match reader.u8().unwrap() {
            0 => return rendered(reader.bytes().unwrap()),
            1 => (0..reader.count(1).unwrap()).map(|_| reader.text().unwrap().to_owned()).collect(),
            _ => self.partitions.keys().cloned().collect(),
        };
        loop {
            let found = self.found(query, &keys, at_once);
            let mut merge = query.merge(&merge_request(&[], &found, true, 0)).unwrap();
            loop {
                match self.advance("", &mut merge).unwrap_or_else(|rejection| panic!("{rejection}")) {
                    None => return rendered(&Box::new(merge).finish().unwrap()),
                    Some(Lacking { anew, runs }) => {
                        let outputs = models(&runs);
                        if anew {
                            query.give_outputs(&outputs).unwrap();
                            break;
                        }
                        merge.give(Block::copy_of(&outputs)).unwrap();
                    }
                }
            }
        }
    }

    /// What partitions find, merged.
    fn found(&self, query: &Rc<Query>, keys: &[String], at_once: usize) -> Vec<Vec<u8>> {
        let (mut floor, mut merged) = (Vec::new(), Vec::new());
        for some in keys.chunks(at_once.max(1)) {
            let mut parts = vec![std::mem::take(&mut merged)];
            parts.extend(some.iter().map(|key| self.search_part(key, query, &floor).unwrap()));
            parts.retain(|part| !part.is_empty());
            let result = self.merge(query, &floor, &parts, false).unwrap();
            let mut reader = Reader::new(&result);
            reader.u8().unwrap();
            (floor, merged) = (reader.bytes().unwrap().to_vec(), reader.bytes().unwrap().to_vec());
        }
        if merged.is_empty() { Vec::new() } else { vec![merged] }
    }

    /// What one partition finds that comes before the floor.
    pub fn search_part(&self, key: &str, query: &Rc<Query>, floor: &[u8]) -> Result<Vec<u8>, Rejection> {
        let mut search = self.part(key, query, floor, None)?;
        self.drive(key, &mut search)?;
        Box::new(search).finish()
    }

    /// The same, and the number of steps.
    pub fn search_part_stepwise(&self, key: &str, query: &Rc<Query>) -> (Vec<u8>, usize) {
        let mut search = self.part(key, query, &[], None).unwrap();
        let steps = self.count_steps(key, &mut search);
        (Box::new(search).finish().unwrap(), steps)
    }

    /// What a partition finds as one of the shards of its group.
    pub fn search_shard(&self, key: &str, query: &Rc<Query>, number: u32) -> Result<Vec<u8>, Rejection> {
        let mut search = self.part(key, query, &[], Some(number))?;
        self.drive(key, &mut search)?;
        Box::new(search).finish()
    }

    /// What shards agree on that counted these, as a query is given it; nothing where they lack nothing.
    pub fn agreed(&self, query: &Rc<Query>, parts: &[Vec<u8>]) -> Option<Vec<u8>> {
        let mut merge = query.merge(&merge_request(&[], parts, true, 0)).expect("good parts");
        match merge.wants().expect("good parts") {
            Want::ModelRuns { runs, .. } => Some(runs[1..].to_vec()),
            _ => None,
        }
    }

    fn part(&self, key: &str, query: &Rc<Query>, floor: &[u8], shard: Option<u32>) -> Result<Search, Rejection> {
        let mut writer = Writer::new();
        writer.bytes(floor);
        self.place(key).write(&mut writer);
        if let Some(number) = shard {
            writer.u32(number);
        }
        query.part(&writer.finish())
    }

    /// The same, where the clock jumps to `late_ms` after so many wants.
    pub fn search_part_late(&self, key: &str, query: &Rc<Query>, steps: usize, late_ms: f64) -> Vec<u8> {
        let mut search = self.part(key, query, &[], None).unwrap();
        self.drive_for(key, &mut search, steps).unwrap_or_else(|rejection| panic!("{rejection}"));
        search.elapsed(late_ms);
        self.drive(key, &mut search).unwrap_or_else(|rejection| panic!("{rejection}"));
        Box::new(search).finish().unwrap()
    }

    /// What partitions found, merged: as one result with its floor, or as the answer.
    pub fn merge(&self, query: &Rc<Query>, floor: &[u8], parts: &[Vec<u8>], whole: bool) -> Result<Vec<u8>, Rejection> {
        self.merge_damaged(query, floor, parts, whole, 0)
    }

    /// The same, where so many partitions more could not be searched.
    pub fn merge_damaged(
        &self,
        query: &Rc<Query>,
        floor: &[u8],
        parts: &[Vec<u8>],
        whole: bool,
        damaged: u32,
    ) -> Result<Vec<u8>, Rejection> {
        let mut merge = query.merge(&merge_request(floor, parts, whole, damaged))?;
        // Parts that were made up may want runs of models, which nobody has here.
        if merge.wants()? != Want::Nothing {
            return Err(Rejection::corrupt("parts that want more"));
        }
        Box::new(merge).finish()
    }

    /// The answer made of parts, when the query took so many milliseconds.
    pub fn answer_late(&self, query: &Rc<Query>, parts: &[Vec<u8>], elapsed_ms: f64) -> Answer {
        let mut merge = query.merge(&merge_request(&[], parts, true, 0)).unwrap();
        assert_eq!(merge.wants().unwrap(), Want::Nothing);
        merge.elapsed(elapsed_ms);
        rendered(&Box::new(merge).finish().unwrap())
    }
}

fn merge_request(floor: &[u8], parts: &[Vec<u8>], whole: bool, damaged: u32) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u8(u8::from(whole));
    writer.bytes(floor);
    writer.varint(parts.len() as u64);
    parts.iter().for_each(|part| writer.bytes(part));
    writer.u32(damaged);
    writer.finish()
}
