//! A query, opened once: its parameters, the partitions it addresses, what it lacks from its host, and the plan. Partitions
//! are searched and results merged from it, as often as that is needed.
//!
//! What costs much is made when it is first asked for: a host that only wants to know which partition is addressed does not
//! pay for the plan.
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use brooklet_document::embedding::{EmbeddingWanted, Embeddings, write_wanted};
use brooklet_query::surroundings::Parameters;
use brooklet_task::bytes::{Reader, Writer};
use brooklet_task::{Code, Rejection};

use super::answer::refuse;
use crate::asked::embedded_inputs::embeddings_wanted;
use crate::asked::parse::parse;
use crate::asked::properties::Properties;
use crate::asked::request::Request;
use crate::asked::scope::Scope;
use crate::asked::statements::parse_statement;
use crate::deployed::{Deployed, DeployedSchema};
use crate::found::group_facts::GroupFacts;
use crate::found::model_runs::GivenOutputs;
use crate::found::stages::Spent;
use crate::grouping::{Clock, unknown_zone, zone_offset};
use crate::plan::Plan;
use crate::plan::compile::{Asking, compile, searched_schemas, timeout_ms};
use crate::render::Rendering;
use crate::resident::residency::Residency;
use crate::summary::check_fields;

/// A resident query. What is wrong with it becomes the answer of whatever is asked of it.
///
/// ```
/// # use std::{cell::RefCell, rc::Rc};
/// # use brooklet_search::{Deployed, Query, Residency};
/// # use brooklet_schema::Application;
/// # use brooklet_task::bytes::Writer;
/// # let services = "<services version=\"1.0\"><content id=\"c\" version=\"1.0\"><redundancy>1</redundancy><documents>\
/// #     <document type=\"note\" mode=\"streaming\"/></documents></content></services>";
/// # let schema = "schema note { document note { field title type string { indexing: index } } }";
/// # let files = [("services.xml", services), ("schemas/note.sd", schema)];
/// # let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
/// # let deployed = Rc::new(Deployed::compile(Application::deploy(&files)?)?);
/// let mut request = Writer::new();
/// request.u64(1_790_000_000);
/// request.varint(2);
/// for (name, value) in [("yql", "select * from note where true"), ("streaming.groupname", "alice")] {
///     request.text(name);
///     request.text(value);
/// }
/// request.bytes(b"");
/// request.text("");
/// let residency = Rc::new(RefCell::new(Residency::new(1 << 20)));
/// let query = Query::open(deployed, residency, &request.finish())?;
/// assert_eq!(query.parameter("streaming.groupname"), Some("alice"));
/// assert_eq!(query.refusal(), None);
/// # Ok::<(), brooklet_task::Rejection>(())
/// ```
pub struct Query {
    pub(crate) deployed: Rc<Deployed>,
    pub(crate) residency: Rc<RefCell<Residency>>,
    pub(crate) rendering: Rendering,
    /// The time of the query, in seconds since 1970 UTC.
    pub(crate) now: i64,
    pub(crate) scope: Result<Scope, Rejection>,
    pub(crate) properties: Properties,
    pub(crate) tree: OnceCell<Result<Rc<brooklet_query::Query>, Rejection>>,
    pub(crate) wanted: Result<Vec<EmbeddingWanted>, Rejection>,
    pub(crate) embeddings: RefCell<Embeddings>,
    pub(crate) models: Rc<GivenOutputs>,
    /// What the shards of groups agreed on.
    pub(crate) facts: RefCell<GroupFacts>,
    /// What searches took that were begun anew.
    pub(crate) spent: RefCell<Spent>,
    pub(crate) plan: RefCell<Option<Result<Rc<Plan>, Rejection>>>,
}

impl Query {
    /// Reads a request (docs/abi.md, the query).
    ///
    /// # Errors
    /// If the bytes are cut short.
    pub fn open(deployed: Rc<Deployed>, residency: Rc<RefCell<Residency>>, request: &[u8]) -> Result<Query, Rejection> {
        let mut reader = Reader::new(request);
        let now = reader.u64()? as i64;
        let Request { properties, refusal, rendering } = Request::read(&deployed, &mut reader)?;
        reader.end()?;
        let readable = refusal.map_or(Ok(()), Err);
        let scope = readable.clone().and_then(|()| Scope::from_properties(&deployed, &properties));
        let mut query = Query {
            deployed,
            residency,
            rendering,
            now,
            scope,
            properties,
            tree: OnceCell::new(),
            wanted: Ok(Vec::new()),
            embeddings: RefCell::default(),
            models: Rc::default(),
            facts: RefCell::default(),
            spent: RefCell::default(),
            plan: RefCell::default(),
        };
        query.wanted = readable.and_then(|()| embeddings_wanted(&query.properties, || query.searched()));
        Ok(query)
    }

    /// The schemas it searches; none if it is refused.
    fn searched(&self) -> Vec<Rc<DeployedSchema>> {
        let Ok(tree) = self.tree() else { return Vec::new() };
        searched_schemas(&self.deployed, &tree.sources, &self.properties).unwrap_or_default()
    }

    /// What the host must know of it (docs/abi.md, the query): the scope, or the answer if the query is refused; then the texts
    /// to embed. A query that is refused wants none.
    #[must_use]
    pub fn description(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        match &self.scope {
            Ok(scope) => scope.write(&mut writer),
            Err(rejection) => {
                writer.u8(0);
                writer.bytes(&refuse(rejection, &self.rendering));
            }
        }
        writer.raw(&write_wanted(self.wanted.as_deref().unwrap_or_default()));
        writer.finish()
    }

    /// The value of a parameter, by any of its names; nothing if the request and its query profile do not give it.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.properties.get(name).or_else(|| self.properties.value(&crate::asked::properties::full_name(name)))
    }

    /// Milliseconds the query may take, what has to be had for it included; as many as there are if it is refused.
    #[must_use]
    pub fn timeout_ms(&self) -> u32 {
        let planned = self.plan.borrow().as_ref().map(|plan| plan.as_ref().map(|plan| plan.timeout_ms).ok());
        let timeout_ms = planned.unwrap_or_else(|| {
            let tree = self.tree().as_ref().ok()?;
            timeout_ms(&self.deployed, tree, &self.properties).ok()
        });
        timeout_ms.unwrap_or(u32::MAX)
    }

    /// The answer (docs/abi.md, search), if the query is refused whatever is stored.
    #[must_use]
    pub fn refusal(&self) -> Option<Vec<u8>> {
        self.plan().err().map(|rejection| refuse(&rejection, &self.rendering))
    }

    /// Takes the embeddings of the texts that are wanted (docs/abi.md, embeddings), before anything is searched.
    ///
    /// # Errors
    /// If they are not those of its texts.
    pub fn give_embeddings(&self, bytes: &[u8]) -> Result<(), Rejection> {
        let wanted = self.wanted.clone()?;
        let given = Embeddings::read(&wanted, bytes).map_err(|rejection| {
            Rejection::new(Code::Internal, format!("The embeddings are not those of the query: {}", rejection.message))
        })?;
        *self.embeddings.borrow_mut() = given;
        // A plan without them is a refusal.
        *self.plan.borrow_mut() = None;
        Ok(())
    }

    /// Takes outputs of models, or what the shards of groups agreed on (docs/abi.md, runs of models), beside what it was given
    /// before.
    ///
    /// # Errors
    /// If the bytes are not in their form.
    pub fn give_outputs(&self, bytes: &[u8]) -> Result<(), Rejection> {
        let mut reader = Reader::new(bytes);
        self.models.add(&mut reader)?;
        if reader.remaining() > 0 {
            let all = GroupFacts::read(&mut reader)?;
            self.facts.borrow_mut().agree(all);
        }
        reader.end()
    }

    /// The plan, compiled when it is first asked for. Until [`Query::set_zone`] nobody keeps it.
    pub(crate) fn plan(&self) -> Result<Rc<Plan>, Rejection> {
        let mut plan = self.plan.borrow_mut();
        plan.get_or_insert_with(|| self.compile().map(Rc::new)).clone()
    }

    /// Sets the zone that the plan asks for, of which the host says how far it is ahead of UTC.
    pub(crate) fn give_zone(&self, answer: &[u8]) -> Result<(), Rejection> {
        let mut plan = self.plan.borrow_mut();
        let Some(Ok(planned)) = plan.as_mut() else { return Ok(()) };
        let Some(name) = planned.zone.clone() else { return Ok(()) };
        match zone_offset(answer)? {
            Some(offset) => plan_alone(planned)?.set_zone(offset),
            None => {
                let message = format!("Could not set 'timezone': {}", unknown_zone(&name));
                *plan = Some(Err(Rejection::new(Code::IllegalQuery, message)));
            }
        }
        Ok(())
    }

    /// Sets the zone to what it was where a partial result was found.
    pub(crate) fn set_zone(&self, clock: Clock) -> Result<(), Rejection> {
        match self.plan.borrow_mut().as_mut() {
            Some(Ok(plan)) if plan.zone.is_some() => plan_alone(plan).map(|plan| plan.set_zone(clock.zone)),
            _ => Ok(()),
        }
    }

    pub(crate) fn tree(&self) -> &Result<Rc<brooklet_query::Query>, Rejection> {
        self.tree.get_or_init(|| {
            self.scope.as_ref().map_err(Rejection::clone)?;
            parse_statement(&self.deployed.statements, &self.properties, || parse(&self.deployed, &self.properties))
        })
    }

    pub(crate) fn compile(&self) -> Result<Plan, Rejection> {
        self.scope.as_ref().map_err(Rejection::clone)?;
        self.check_chain()?;
        let query = self.tree().as_ref().map_err(Rejection::clone)?;
        self.wanted.as_ref().map_err(Rejection::clone)?;
        let (embeddings, models) = (&*self.embeddings.borrow(), &self.models);
        let asking = Asking { query, properties: &self.properties, embeddings, models, now: self.now };
        self.residency.borrow_mut().count_compiled();
        let plan = compile(&self.deployed, asking)?;
        check_fields(&plan)?;
        Ok(plan)
    }

    /// Refuses a search chain that is not there, or whose answers are not made of hits.
    pub(crate) fn check_chain(&self) -> Result<(), Rejection> {
        let Some(name) = self.properties.value("searchChain") else { return Ok(()) };
        let chains = &self.deployed.application.search_chains;
        let searches = |chain: &&brooklet_schema::SearchChain| chain.id == name && chain.searcher.is_none();
        if ["default", "vespa"].contains(&name) || chains.iter().any(|chain| searches(&chain)) {
            return Ok(());
        }
        let message = format!("No search chain named '{}' was found", Rejection::quote(name));
        Err(Rejection::new(Code::InvalidQueryParameter, message))
    }
}

/// Tasks take the plan anew at every step, so nobody else holds it between them.
fn plan_alone(plan: &mut Rc<Plan>) -> Result<&mut Plan, Rejection> {
    Rc::get_mut(plan).ok_or_else(|| Rejection::new(Code::Internal, "a plan in use"))
}
