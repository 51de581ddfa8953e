//! Running scripts: the values of fields outside the document, made of those in it (Vespa's indexing language). A run is
//! a pure function of document and embeddings: it is run once to learn which texts are to be embedded, and once more with
//! their embeddings. What a script may do was checked at deploy (`schema`, `indexing/made.rs`).
use brooklet_document::Value;
use brooklet_document::embedding::{EmbeddingWanted, Embeddings};
use brooklet_kernel::sort;
use brooklet_schema::indexing::{ExpressionKind, Script, Statement};
use brooklet_schema::{Field, Schema};
use brooklet_task::{Code, Rejection, limits};

mod codes;
mod convert;
mod run;
mod write;

use run::Run;
pub use write::Write;

/// What the scripts of a schema made of a document.
#[derive(Debug, Default)]
pub struct Made {
    /// The fields whose scripts were run, whether they have a value or not.
    pub ran: Vec<String>,
    /// Values of the fields outside the document that have one.
    pub fields: Vec<(String, Value)>,
    /// Texts whose embeddings were missing; the fields they belong to have no value yet.
    pub wanted: Vec<EmbeddingWanted>,
}

/// Runs the scripts of all fields outside the document.
///
/// `is_updated`: the fields of the document that an update changed; then only what is made of one of them is made again.
///
/// # Errors
/// If a value cannot be converted, or grows beyond its limit; the message names the statement.
pub fn make_fields(
    schema: &Schema,
    write: Write<'_>,
    fields: &[(String, Value)],
    embeddings: &Embeddings,
    is_updated: Option<&dyn Fn(&str) -> bool>,
) -> Result<Made, Rejection> {
    let id = write.id;
    let mut made = Made::default();
    for field in schema.made_fields() {
        // A statement that reads nothing is run with every update.
        let reads_updated = |is_updated: &dyn Fn(&str) -> bool| {
            let runs = |statement| {
                let inputs = inputs(statement);
                inputs.is_empty() || inputs.into_iter().any(is_updated)
            };
            field.script.statements.iter().any(runs)
        };
        if is_updated.is_some_and(|is_updated| !reads_updated(is_updated)) {
            continue;
        }
        let mut run = Run::new((write, schema), field, fields, embeddings);
        for statement in &field.script.statements {
            run.statement(statement, None).map_err(|rejection| in_statement(id, field, statement, &rejection))?;
        }
        made.ran.push(field.name.clone());
        made.wanted.append(&mut run.wanted);
        made.fields.extend(run.output.map(|value| (field.name.clone(), value)));
    }
    sort(&mut made.wanted);
    made.wanted.dedup();
    let characters: usize = made.wanted.iter().map(|wanted| wanted.text.len()).sum();
    if made.wanted.len() > limits::EMBEDDINGS || characters > limits::EMBEDDED_BYTES {
        let (texts, most) = (made.wanted.len(), limits::EMBEDDINGS);
        let message =
            format!("Document '{id}' has {texts} texts to embed, {characters} bytes; at most {most} are allowed");
        return Err(Rejection::new(Code::TooLarge, message));
    }
    Ok(made)
}

fn in_statement(id: &str, field: &Field, statement: &Statement, rejection: &Rejection) -> Rejection {
    let message = format!(
        "Operation on '{id}' contains invalid input: Error executing '{statement}' of field '{}': {}",
        field.name, rejection.message
    );
    Rejection { code: rejection.code, message, span: None }
}

/// The fields of the document a statement reads.
fn inputs(statement: &Statement) -> Vec<&str> {
    let mut found = Vec::new();
    add_inputs(statement, &mut found);
    found
}

fn add_inputs<'a>(statement: &'a Statement, found: &mut Vec<&'a str>) {
    let mut open: Vec<&ExpressionKind> = statement.expressions.iter().map(|expression| &expression.kind).collect();
    let in_script = |script: &'a Script, found: &mut Vec<&'a str>| {
        script.statements.iter().for_each(|statement| add_inputs(statement, found));
    };
    while let Some(kind) = open.pop() {
        match kind {
            ExpressionKind::Input(path) => found.extend(path.split('.').next()),
            ExpressionKind::Choice(of) | ExpressionKind::Concatenate(of) => open.extend(of.iter().map(|one| &one.kind)),
            ExpressionKind::Arithmetic(_, left, right) => open.extend([&left.kind, &right.kind]),
            ExpressionKind::Group(statement) | ExpressionKind::ForEach(statement) => add_inputs(statement, found),
            ExpressionKind::Block(script) | ExpressionKind::Guard(script) => in_script(script, found),
            ExpressionKind::If(condition) => {
                open.extend([&condition.left.kind, &condition.right.kind]);
                in_script(&condition.then, found);
                condition.otherwise.iter().for_each(|script| in_script(script, found));
            }
            ExpressionKind::Switch(cases, default) => {
                cases.iter().map(|(_, of)| of).chain(default).for_each(|of| add_inputs(of, found));
            }
            ExpressionKind::SelectInput(cases) => {
                for (field, statement) in cases {
                    found.extend(field.split('.').next());
                    add_inputs(statement, found);
                }
            }
            ExpressionKind::Output(..) | ExpressionKind::Constant(_) | ExpressionKind::Function(..) => {}
        }
    }
}
