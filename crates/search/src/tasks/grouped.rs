//! What grouping sees of a search: the documents that matched, and what hits show.
use std::rc::Rc;

use brooklet_document::Format;
use brooklet_segment::Halt;

use super::run::Run;
use crate::grouping::{Kept, SearchedViews};
use crate::plan::Plan;
use crate::ranking::spot::Spot;
use crate::resident::partition::View;
use crate::resident::reads::Reads;
use crate::summary::Summarizer;

/// What shows the documents of a schema by a class that a grouping names.
pub(crate) type NamedSummarizer = (usize, String, Summarizer);

/// The runs of a search with what shows their documents.
pub(crate) struct Grouped<'a> {
    plan: &'a Rc<Plan>,
    runs: &'a mut [Run],
    /// By schema: those of the request's own class.
    summarizers: &'a mut [Summarizer],
    named: &'a mut Vec<NamedSummarizer>,
    format: Format,
    now: i64,
}

impl<'a> Grouped<'a> {
    pub(crate) fn new(
        plan: &'a Rc<Plan>,
        runs: &'a mut [Run],
        (summarizers, named): (&'a mut [Summarizer], &'a mut Vec<NamedSummarizer>),
        format: Format,
        now: i64,
    ) -> Grouped<'a> {
        Grouped { plan, runs, summarizers, named, format, now }
    }
}

impl SearchedViews for Grouped<'_> {
    fn views(&self, schema: usize) -> &[View] {
        &self.runs[schema].views
    }

    fn kept(&self, schema: usize) -> &Kept {
        &self.runs[schema].kept
    }

    fn fields(
        &mut self,
        schema: usize,
        (view, ordinal, id): (usize, u32, &str),
        class: Option<&str>,
        reads: &mut Reads,
    ) -> Result<Option<Vec<u8>>, Halt> {
        let run = &mut self.runs[schema];
        let of = run.plan.clone();
        if let Some(name) = class
            && !self.named.iter().any(|(of, known, _)| *of == schema && known == name)
        {
            self.named.push((schema, name.to_owned(), Summarizer::of_class(self.plan, &of, name, self.now)?));
        }
        let named = self.named.iter_mut().find(|(of, name, _)| *of == schema && Some(name.as_str()) == class);
        let summarizer = match named {
            Some((_, _, summarizer)) => summarizer,
            None => &mut self.summarizers[schema],
        };
        let spot = Spot { views: &run.views, matches: &run.matches, resolved: &run.resolved, view, ordinal };
        summarizer.fields(self.format, &of, id, spot, &mut run.ranker, reads)
    }
}
