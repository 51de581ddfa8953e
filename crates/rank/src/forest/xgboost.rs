//! Reads models as XGBoost dumps them (`Booster.dump_model(…, dump_format="json")`): an array of trees.
//!
//! A node goes `yes` if its feature is < `split_condition`; with a list of categories if it is one of them; with none
//! (an indicator) if it is not 0. NaN goes `missing`. The value is the sum of the leaves; the dump has neither base score
//! nor objective: an expression adds or applies them. XGBoost computes in float32, and so is it done here. Features are
//! called as in the dump (`f0` …): each is a ranking expression.
use brooklet_document::json::{JsonKind, Lexer};
use brooklet_task::Rejection;

use super::grown::{Grown, Missing, Room, Split, Test, check_inputs, open};
use super::model::{Forest, Model};
use super::trees::{Arithmetic, Trees};

type Reads<T> = Result<T, Rejection>;

#[inline(never)]
pub(super) fn read(text: &[u8]) -> Reads<Model> {
    let mut json = open(text)?;
    let mut names: Vec<String> = Vec::new();
    let mut room = Room::default();
    let mut trees = Trees::new(Arithmetic::Single, 0.0);
    if json.kind()? == JsonKind::Object {
        let message =
            "an XGBoost model must be dumped with dump_model and dump_format=\"json\", which writes a list of trees";
        return Err(json.error_at(json.offset(), message));
    }
    json.begin_array()?;
    while json.next_element()? {
        room.tree(&json)?;
        trees.plant(node(&mut json, &mut names, &mut room)?.1);
    }
    json.end()?;
    Ok(Model { forest: Forest::new(trees), inputs: names, sigmoid: None })
}

/// What is written at a node.
#[derive(Default)]
struct Parts {
    number: Option<f64>,
    leaf: Option<f64>,
    split: Option<String>,
    test: Option<Test>,
    yes: Option<f64>,
    missing: Option<f64>,
    children: Vec<(f64, Grown)>,
}

/// A node and its number. Nesting is bounded by the lexer.
fn node(json: &mut Lexer<'_>, names: &mut Vec<String>, room: &mut Room) -> Reads<(f64, Grown)> {
    room.node(json)?;
    let start = json.offset();
    let mut parts = Parts::default();
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "nodeid" => parts.number = Some(json.double()?),
            "leaf" => parts.leaf = Some(json.double()?),
            "split" => parts.split = Some(json.string()?.into_owned()),
            "split_condition" => parts.test = Some(condition(json)?),
            "yes" => parts.yes = Some(json.double()?),
            "missing" => parts.missing = Some(json.double()?),
            "children" => {
                json.begin_array()?;
                while json.next_element()? {
                    parts.children.push(node(json, names, room)?);
                }
            }
            _ => json.skip_value().map(|_| ())?,
        }
    }
    let number = parts.number.unwrap_or(-1.0);
    if let Some(leaf) = parts.leaf {
        return Ok((number, Grown::Leaf(f64::from(leaf as f32))));
    }
    let grown = split(parts, names)
        .ok_or_else(|| json.error_at(start, "a node needs split, yes and two children of which it is one, or leaf"))?;
    check_inputs(names.len(), json)?;
    Ok((number, grown))
}

fn condition(json: &mut Lexer<'_>) -> Reads<Test> {
    if json.kind()? != JsonKind::Array {
        return Ok(Test::Below(f64::from(json.double()? as f32)));
    }
    let mut categories = Vec::new();
    json.begin_array()?;
    while json.next_element()? {
        categories.push(json.double()?);
    }
    Ok(Test::OneOf(categories))
}

fn split(parts: Parts, names: &mut Vec<String>) -> Option<Grown> {
    let (name, yes) = (parts.split?, parts.yes?);
    let [(one, first), (_, second)] = <[(f64, Grown); 2]>::try_from(parts.children).ok()?;
    let missing_is_yes = parts.missing.is_none_or(|missing| missing == yes);
    let input = names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    // An indicator is 0 or 1: yes if it is not 0, that is, no if it is below ½.
    let (test, turned) = match parts.test {
        Some(test) => (test, false),
        None => (Test::Below(0.5), true),
    };
    let yes_first = (one == yes) != turned;
    let (first, second) = if yes_first { (first, second) } else { (second, first) };
    let missing_goes_first = missing_is_yes != turned;
    Some(Grown::Split(Box::new(Split {
        input: input as u32,
        missing: Missing::NaN,
        missing_goes_first,
        test,
        first,
        second,
    })))
}
