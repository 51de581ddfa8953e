//! Grouping as a stage of a search: documents are added schema by schema, then the hits of groups get their ids and what
//! they show, and the answer is written.
use std::rc::Rc;

use brooklet_document::shown_id;
use brooklet_segment::{Gaps, Halt, read_id};
use brooklet_task::{Rejection, Want};

use super::Seal;
use super::collect::{Collector, Kept, Progress};
use super::continuation::ListPath;
use super::groups::Groups;
use super::page::{Page, window};
use super::planned::PlannedGrouping;
use super::result::{Writing, sort_hits};
use super::template::classes;
use crate::resident::partition::View;
use crate::resident::reads::Reads;

/// Hits whose ids and fields are read between looks at the deadline.
const HITS_BATCH: usize = 128;

/// What the stage needs of the search around it.
pub(crate) trait SearchedViews {
    /// The views of a schema.
    fn views(&self, schema: usize) -> &[View];
    /// The documents of a schema that matched.
    fn kept(&self, schema: usize) -> &Kept;
    /// What a hit shows, by a summary class if one is named.
    fn fields(
        &mut self,
        schema: usize,
        hit: (usize, u32, &str),
        class: Option<&str>,
        reads: &mut Reads,
    ) -> Result<Option<Vec<u8>>, Halt>;
}

enum StageState {
    Collect {
        request: usize,
        schema: usize,
        progress: Box<Progress>,
        all: Option<Rc<Kept>>,
    },
    Ids {
        request: usize,
        lists: Vec<HitsOf>,
        next: usize,
    },
    Fill {
        request: usize,
        hits: Vec<HitAt>,
        next: usize,
    },
    /// What the first documents of a part may show is read.
    Firsts {
        request: usize,
        next: usize,
    },
    Done,
}

/// A list of hits of a group.
struct HitsOf {
    table: usize,
    list: usize,
    group: u32,
    path: ListPath,
}

/// A hit of a list.
struct HitAt {
    table: usize,
    list: usize,
    group: u32,
    at: usize,
}

/// The stage.
pub(crate) struct Grouping {
    groups: Vec<Groups>,
    /// Whether others add to the groups: then all of them are kept, with all hits they may show.
    is_part: bool,
    step: StageState,
}

impl Grouping {
    /// Begins with no groups.
    pub(crate) fn new(planned: &[PlannedGrouping], is_part: bool) -> Grouping {
        let groups = planned.iter().map(|planned| Groups::new(planned.templates.clone())).collect();
        Grouping { groups, is_part, step: collect(0, 0) }
    }

    /// Works until something is missing; [`Want::Nothing`] when all groups are made.
    #[inline(never)]
    pub(crate) fn step(
        &mut self,
        planned: &[PlannedGrouping],
        schemas: usize,
        found: &mut dyn SearchedViews,
        reads: &mut Reads,
    ) -> Result<Want, Rejection> {
        let halted = match &mut self.step {
            StageState::Collect { .. } => return self.collect(planned, schemas, found, reads),
            StageState::Ids { .. } => self.read_ids(planned, found, reads),
            StageState::Fill { .. } => self.fill(planned, found, reads),
            StageState::Firsts { .. } => self.fill_firsts(found, reads),
            StageState::Done => return Ok(Want::Nothing),
        };
        match halted {
            Ok(()) => {
                reads.relax();
                Ok(Want::Pause)
            }
            // Nothing is missing where a step has worked enough, and what it holds is needed again.
            Err(Halt::Missing) if reads.missing() == 0 => Ok(Want::Pause),
            Err(Halt::Missing) => Ok(Want::Blocks(reads.take_missing())),
            Err(Halt::Rejected(rejection)) => Err(rejection),
        }
    }

    /// The groups of all requests.
    pub(crate) fn finish(self) -> Vec<Groups> {
        self.groups
    }

    #[inline(never)]
    fn collect(
        &mut self,
        planned: &[PlannedGrouping],
        schemas: usize,
        found: &mut dyn SearchedViews,
        reads: &mut Reads,
    ) -> Result<Want, Rejection> {
        let StageState::Collect { request, schema, progress, all } = &mut self.step else { return Ok(Want::Pause) };
        let Some(of) = planned.get(*request) else {
            self.step = StageState::Done;
            return Ok(Want::Pause);
        };
        if *schema == schemas {
            let request = *request;
            return self.begin_ids(request, planned);
        }
        let views = found.views(*schema);
        if of.all_documents && all.is_none() {
            *all = Some(Rc::new(every(views)));
        }
        let kept = all.as_deref().unwrap_or_else(|| found.kept(*schema));
        let collector = Collector { planned: of, schema: *schema, views, kept, is_part: self.is_part };
        let want = collector.step(progress, &mut self.groups[*request], reads)?;
        if want != Want::Nothing {
            return Ok(want);
        }
        self.step = collect(*request, *schema + 1);
        Ok(Want::Pause)
    }

    /// Finds the lists of hits that are shown, or all if others add to them.
    fn begin_ids(&mut self, request: usize, planned: &[PlannedGrouping]) -> Result<Want, Rejection> {
        let groups = &mut self.groups[request];
        groups.count_groups();
        if !self.is_part {
            groups.settle();
        }
        let mut lists = Vec::new();
        let mut add = |table: usize, group: u32, path: &ListPath| {
            for list in 0..groups.templates[table].hits.len() {
                let mut path = path.clone();
                path.push(list as u32);
                lists.push(HitsOf { table, list, group, path });
            }
        };
        if groups.templates.iter().all(|template| template.hits.is_empty()) {
            // Nothing is shown of documents.
        } else if self.is_part {
            for (table, of) in groups.tables.iter().enumerate() {
                (0..of.keys.len()).for_each(|group| add(table, group as u32, &Vec::new()));
            }
        } else {
            Page::new(&planned[request], groups)?.walk(groups, &mut add);
        }
        self.step = StageState::Ids { request, lists, next: 0 };
        Ok(Want::Pause)
    }

    /// Reads the ids of hits, which break their ties, and leaves those that are shown.
    fn read_ids(
        &mut self,
        planned: &[PlannedGrouping],
        found: &dyn SearchedViews,
        reads: &mut Reads,
    ) -> Result<(), Halt> {
        let StageState::Ids { request, lists, next } = &mut self.step else { return Ok(()) };
        let groups = &mut self.groups[*request];
        let end = (*next + HITS_BATCH).min(lists.len());
        let mut gaps = Gaps::default();
        for of in &lists[*next..end] {
            let hits = &mut groups.tables[of.table].hits[of.list][of.group as usize].hits;
            for hit in hits.iter_mut().filter(|hit| hit.id.is_none()) {
                let segment = &found.views(hit.schema as usize)[hit.view as usize].segment;
                if let Some(id) = gaps.note(read_id(&segment.header, hit.ordinal, &mut reads.segment(segment)))? {
                    hit.id = Some(Rc::from(id));
                }
            }
        }
        gaps.check()?;
        *next = end;
        if end < lists.len() {
            return Ok(());
        }
        let planned = &planned[*request];
        let mut shown = Vec::new();
        for of in lists.iter() {
            let max = groups.templates[of.table].hits[of.list].max;
            let hits = &mut groups.tables[of.table].hits[of.list][of.group as usize].hits;
            sort_hits(hits, planned.kept_hits(max));
            let window = match self.is_part {
                // Whatever others add, no hit comes nearer to the first.
                true => 0..planned.shown_hits(max).map_or(hits.len(), |shown| shown.min(hits.len())),
                false => window(hits.len(), max, planned.offsets.start(&of.path)),
            };
            let (table, list, group) = (of.table, of.list, of.group);
            shown.extend(window.map(|at| HitAt { table, list, group, at }));
        }
        self.step = StageState::Fill { request: *request, hits: shown, next: 0 };
        Ok(())
    }

    /// Reads what hits show, as far as a step comes.
    fn fill(
        &mut self,
        planned: &[PlannedGrouping],
        found: &mut dyn SearchedViews,
        reads: &mut Reads,
    ) -> Result<(), Halt> {
        let StageState::Fill { request, hits, next } = &mut self.step else { return Ok(()) };
        let groups = &mut self.groups[*request];
        let mut end = (*next + HITS_BATCH).min(hits.len());
        let (mut gaps, mut more, mut rests) = (Gaps::default(), 0, false);
        for (number, HitAt { table, list, group, at }) in hits.iter().enumerate().take(end).skip(*next) {
            if reads.rests() {
                (end, rests) = (number, true);
                break;
            }
            let class = planned[*request].templates[*table].hits[*list].summary.as_deref();
            let hit = &mut groups.tables[*table].hits[*list][*group as usize].hits[*at];
            if hit.fields.is_some() {
                continue;
            }
            let id = shown_id(hit.id.as_deref().unwrap_or_default());
            let place = (hit.view as usize, hit.ordinal, &*id);
            if let Some(fields) = gaps.note(found.fields(hit.schema as usize, place, class, reads))? {
                more += fields.as_ref().map_or(0, Vec::len);
                hit.fields = Some(fields.map(Rc::from));
            }
        }
        groups.take(more)?;
        gaps.check()?;
        *next = end;
        if rests {
            return Err(Halt::Missing);
        }
        if end == hits.len() {
            self.step = StageState::Firsts { request: *request, next: 0 };
        }
        Ok(())
    }

    /// Reads what the first documents may show, as far as a step comes.
    #[inline(never)]
    fn fill_firsts(&mut self, found: &mut dyn SearchedViews, reads: &mut Reads) -> Result<(), Halt> {
        let StageState::Firsts { request, next } = &mut self.step else { return Ok(()) };
        let groups = &mut self.groups[*request];
        let classes = classes(&groups.templates);
        let firsts = groups.firsts.len();
        let mut end = if classes.is_empty() { firsts } else { (*next + HITS_BATCH).min(firsts) };
        let (mut gaps, mut more, mut rests) = (Gaps::default(), 0, false);
        'firsts: for (number, first) in groups.firsts.iter_mut().enumerate().take(end).skip(*next) {
            let (schema, (view, ordinal), id) = (first.schema as usize, first.place, shown_id(&first.id));
            let mut is_whole = true;
            for class in &classes[first.fields.len()..] {
                if reads.rests() {
                    (end, rests) = (number, true);
                    break 'firsts;
                }
                let of_class = found.fields(schema, (view as usize, ordinal, &id), class.as_deref(), reads);
                match gaps.note(of_class)? {
                    // What is made is kept: the texts of another class may take all work of a step.
                    Some(fields) if is_whole => {
                        more += fields.as_ref().map_or(0, Vec::len);
                        first.fields.push(fields.map(Rc::from));
                    }
                    _ => is_whole = false,
                }
            }
        }
        groups.take(more)?;
        gaps.check()?;
        *next = end;
        if rests {
            return Err(Halt::Missing);
        }
        if end == groups.firsts.len() {
            self.step = collect(*request + 1, 0);
        }
        Ok(())
    }
}

fn collect(request: usize, schema: usize) -> StageState {
    StageState::Collect { request, schema, progress: Box::default(), all: None }
}

/// Every document of some views, without scores.
fn every(views: &[View]) -> Kept {
    let of_view = |(view, of): (usize, &View)| -> Vec<(u32, u32)> {
        of.alive.ones().map(|ordinal| (view as u32, ordinal as u32)).collect()
    };
    Kept::all(views.iter().enumerate().flat_map(of_view).collect(), 0.0)
}

impl Groups {
    /// Leaves the hits of every list that may be shown, whose ids are all known.
    pub(crate) fn cut_hits(&mut self, planned: &PlannedGrouping) {
        for (template, table) in planned.templates.iter().zip(&mut self.tables) {
            for (list, of_groups) in template.hits.iter().zip(&mut table.hits) {
                of_groups.iter_mut().for_each(|held| sort_hits(&mut held.hits, planned.kept_hits(list.max)));
            }
        }
    }
}

/// The answers of all requests.
///
/// # Errors
/// If an order cannot be evaluated.
pub(crate) fn answers<'a>(
    planned: &'a [PlannedGrouping],
    groups: &'a mut [Groups],
    seal: &'a Seal,
) -> Result<Vec<Writing<'a>>, Rejection> {
    let mut answers = Vec::with_capacity(planned.len());
    for (number, (planned, groups)) in planned.iter().zip(groups).enumerate() {
        groups.add_firsts(planned)?;
        groups.count_groups();
        groups.cut_hits(planned);
        groups.settle();
        let page = Page::new(planned, groups)?;
        answers.push(Writing { planned, groups, page, seal, number });
    }
    Ok(answers)
}
