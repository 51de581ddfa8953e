//! Reads models as LightGBM dumps them (`Booster.dump_model()`).
//!
//! `feature_names` are ranking expressions. A numeric node goes left if its feature is ≤ the threshold, a categorical
//! one (`==`, `1||4||6`) if it is one of the categories; `missing_type` (None: NaN is 0; Zero: NaN and |x| ≤ 1e-35; NaN)
//! says what is missing, `default_left` where that goes. A missing or unknown category goes right. With
//! `pandas_categorical` the thresholds are indexes into the values there: texts match by their hash. The value is the
//! sum of the leaves; divided by the number of trees if `average_output`; through the sigmoid if the objective is
//! `binary`. Objectives: regression (and regression_l2), binary, lambdarank, rank_xendcg.
use brooklet_document::json::{JsonKind, Lexer};
use brooklet_kernel::sort;
use brooklet_task::{Code, Rejection};

use super::grown::{Grown, Missing, Room, Split, Test, check_inputs, open};
use super::model::{Forest, Model};
use super::trees::{Arithmetic, Trees};
use crate::expression::text_hash;

type Reads<T> = Result<T, Rejection>;

/// A tree as written: features by number, categories as indexes.
#[derive(Default)]
struct Written {
    names: Vec<String>,
    trees: Vec<Grown>,
    /// The values of each categorical feature, in their order.
    pandas: Vec<Vec<f64>>,
    objective: String,
    averages: bool,
}

#[inline(never)]
pub(super) fn read(text: &[u8]) -> Reads<Model> {
    let mut json = open(text)?;
    let mut written = Written::default();
    let mut room = Room::default();
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "feature_names" => written.names = names(&mut json)?,
            "objective" => written.objective = json.string()?.into_owned(),
            "average_output" => written.averages = json.boolean()?,
            "pandas_categorical" if json.kind()? == JsonKind::Array => written.pandas = pandas(&mut json)?,
            "num_class" | "num_tree_per_iteration" => only_one(&key, &mut json)?,
            "tree_info" => {
                json.begin_array()?;
                while json.next_element()? {
                    room.tree(&json)?;
                    written.trees.extend(tree(&mut json, &mut room)?);
                }
            }
            _ => json.skip_value().map(|_| ())?,
        }
    }
    json.end()?;
    model(written)
}

fn names(json: &mut Lexer<'_>) -> Reads<Vec<String>> {
    let mut names = Vec::new();
    json.begin_array()?;
    while json.next_element()? {
        names.push(json.string()?.into_owned());
        check_inputs(names.len(), json)?;
    }
    Ok(names)
}

fn pandas(json: &mut Lexer<'_>) -> Reads<Vec<Vec<f64>>> {
    let mut all = Vec::new();
    json.begin_array()?;
    while json.next_element()? {
        let mut values = Vec::new();
        json.begin_array()?;
        while json.next_element()? {
            values.push(match json.kind()? {
                JsonKind::String => text_hash(&json.string()?),
                JsonKind::Bool => f64::from(u8::from(json.boolean()?)),
                _ => json.double()?,
            });
        }
        all.push(values);
    }
    Ok(all)
}

fn only_one(key: &str, json: &mut Lexer<'_>) -> Reads<()> {
    let offset = json.offset();
    if json.double()? == 1.0 {
        return Ok(());
    }
    let message = format!("'{key}' must be 1: models of several classes are not supported");
    Err(Rejection { code: Code::Unsupported, ..json.error_at(offset, &message) })
}

/// An element of `tree_info`.
fn tree(json: &mut Lexer<'_>, room: &mut Room) -> Reads<Option<Grown>> {
    let mut tree = None;
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "tree_structure" => tree = Some(node(json, room)?),
            _ => json.skip_value().map(|_| ())?,
        }
    }
    Ok(tree)
}

/// A node, its children within. Nesting is bounded by the lexer.
fn node(json: &mut Lexer<'_>, room: &mut Room) -> Reads<Grown> {
    room.node(json)?;
    let start = json.offset();
    let (mut leaf, mut input, mut threshold, mut is_category) = (None, None, None, false);
    let (mut missing, mut default_left) = (Missing::None, false);
    let (mut left, mut right) = (None, None);
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "leaf_value" => leaf = Some(json.double()?),
            "split_feature" => input = Some(json.double()? as u32),
            "threshold" => threshold = Some(json.scalar_text()?.into_owned()),
            "decision_type" => is_category = is_equality(json)?,
            "default_left" => default_left = json.boolean()?,
            "missing_type" => missing = missing_type(json)?,
            "left_child" => left = Some(node(json, room)?),
            "right_child" => right = Some(node(json, room)?),
            _ => json.skip_value().map(|_| ())?,
        }
    }
    if let Some(leaf) = leaf {
        return Ok(Grown::Leaf(leaf));
    }
    let (Some(input), Some(threshold), Some(first), Some(second)) = (input, threshold, left, right) else {
        return Err(json.error_at(start, "a node needs split_feature, threshold and two children, or leaf_value"));
    };
    let refused = || json.error_at(start, &format!("the threshold '{}' is no number", Rejection::quote(&threshold)));
    let test = if is_category {
        let categories = threshold.split("||").map(|category| category.trim().parse::<f64>());
        Test::OneOf(categories.collect::<Result<_, _>>().map_err(|_| refused())?)
    } else {
        Test::NotAbove(threshold.parse().map_err(|_| refused())?)
    };
    let missing_goes_first = default_left && !is_category;
    Ok(Grown::Split(Box::new(Split { input, missing, missing_goes_first, test, first, second })))
}

fn is_equality(json: &mut Lexer<'_>) -> Reads<bool> {
    let offset = json.offset();
    match &*json.string()? {
        "<=" => Ok(false),
        "==" => Ok(true),
        other => Err(json.error_at(offset, &format!("unknown decision_type '{}'", Rejection::quote(other)))),
    }
}

fn missing_type(json: &mut Lexer<'_>) -> Reads<Missing> {
    let offset = json.offset();
    match &*json.string()? {
        "None" => Ok(Missing::None),
        "Zero" => Ok(Missing::Zero),
        "NaN" => Ok(Missing::NaN),
        other => Err(json.error_at(offset, &format!("unknown missing_type '{}'", Rejection::quote(other)))),
    }
}

#[inline(never)]
fn model(mut written: Written) -> Reads<Model> {
    let mut words = written.objective.split_whitespace();
    let sigmoid = match words.next() {
        None | Some("regression" | "regression_l2" | "lambdarank" | "rank_xendcg")
            if !written.objective.contains(" sqrt") =>
        {
            None
        }
        Some("binary") => {
            let scale = words.find_map(|word| word.strip_prefix("sigmoid:")?.parse().ok());
            Some(scale.unwrap_or(1.0))
        }
        _ => {
            let message = format!("the LightGBM objective '{}' is not supported", Rejection::quote(&written.objective));
            return Err(Rejection::new(Code::Unsupported, message));
        }
    };
    if !written.pandas.is_empty() {
        let used = categorical_inputs(&written.trees);
        written.trees.iter_mut().try_for_each(|tree| name_categories(tree, &used, &written.pandas))?;
    }
    let mut trees = Trees::new(Arithmetic::Double, 0.0);
    if written.averages {
        trees.divisor = written.trees.len().max(1) as f64;
    }
    written.trees.into_iter().for_each(|tree| trees.plant(tree));
    if trees.width() > written.names.len() {
        let message = "a node splits by a feature that feature_names does not have";
        return Err(Rejection::new(Code::InvalidApplication, message));
    }
    Ok(Model { forest: Forest::new(trees), inputs: written.names, sigmoid })
}

/// The inputs that some node tests for categories, in order: the k-th of them has the k-th list of values.
fn categorical_inputs(trees: &[Grown]) -> Vec<u32> {
    let mut inputs = Vec::new();
    let mut open: Vec<&Grown> = trees.iter().collect();
    while let Some(tree) = open.pop() {
        let Grown::Split(split) = tree else { continue };
        if matches!(split.test, Test::OneOf(_)) {
            inputs.push(split.input);
        }
        open.extend([&split.first, &split.second]);
    }
    sort(&mut inputs);
    inputs.dedup();
    inputs
}

/// Replaces indexes of categories by the values they stand for.
fn name_categories(tree: &mut Grown, inputs: &[u32], pandas: &[Vec<f64>]) -> Reads<()> {
    let mut open = vec![tree];
    while let Some(tree) = open.pop() {
        let Grown::Split(split) = tree else { continue };
        if let Test::OneOf(categories) = &mut split.test {
            let values = inputs.iter().position(|input| *input == split.input).and_then(|place| pandas.get(place));
            let value = |index: &f64| values.and_then(|values| values.get(*index as usize)).copied();
            let named: Option<Vec<f64>> = categories.iter().map(value).collect();
            *categories = named.ok_or_else(|| {
                Rejection::new(Code::InvalidApplication, "a category is not among pandas_categorical")
            })?;
        }
        open.extend([&mut split.first, &mut split.second]);
    }
    Ok(())
}
