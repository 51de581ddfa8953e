//! Random models of decision trees in the formats of the libraries, and documents to evaluate them for.
#![allow(dead_code, reason = "not every user needs everything")]
use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;

use brooklet_document::Tensor;
use brooklet_rank::{
    BlockSource, Environment, Expression, FeatureName, FeatureSource, FeatureType, Function, Interval, IntervalSource,
    Program, Value,
};
use brooklet_task::Rejection;

/// A repeatable stream of numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % end.max(1) as u64) as usize
    }

    /// From 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.below(1 << 40) as f64 / (1u64 << 40) as f64
    }
}

/// `f0`, `f1`, … are features, `twice` is a function, the model has the name that the expression says.
struct Profile<'a>(&'a BTreeMap<String, String>);

impl Environment for Profile<'_> {
    fn feature_type(&self, _: &FeatureName) -> Result<FeatureType, Rejection> {
        Ok(FeatureType::Number)
    }

    fn function(&self, name: &str) -> Option<Function> {
        let body = match name {
            "twice" => "f0 * 2",
            "chosen" => "if(f1 > 0 && f2 < 1 || isNan(f3), twice - f2, sqrt(f3))",
            "summed" => "sum(tensor(x[3])(x + f1))",
            _ => return None,
        };
        Some(Function { parameters: Vec::new(), body: body.to_owned() })
    }

    fn constant(&self, _: &str) -> Option<Value> {
        None
    }

    fn model(&self, path: &str) -> Option<Arc<[u8]>> {
        self.0.get(path).map(|text| text.clone().into_bytes().into())
    }
}

/// An expression over a model called `model.json`.
pub fn compiled(expression: &str, model: &str) -> Program {
    let models = BTreeMap::from([("model.json".to_owned(), model.to_owned())]);
    Program::compile(&Expression::parse(expression).unwrap(), &Profile(&models))
        .unwrap_or_else(|rejection| panic!("{expression}: {rejection}"))
}

/// Values of `f0`, `f1`, … by document; counts what is asked.
pub struct Documents<'a> {
    /// The number of each feature of the program.
    features: Vec<usize>,
    rows: &'a [Vec<f64>],
    place: usize,
    /// How far from the value bounds of features above this number are.
    pub dear_from: usize,
    pub spread: f64,
    /// What was asked for: document and feature.
    pub asked: Vec<(usize, usize)>,
}

impl<'a> Documents<'a> {
    pub fn new(program: &Program, rows: &'a [Vec<f64>]) -> Documents<'a> {
        let number = |name: &FeatureName| name.name[1..].parse().unwrap();
        let features = program.features().iter().map(|(name, _)| number(name)).collect();
        Documents { features, rows, place: 0, dear_from: usize::MAX, spread: 0.0, asked: Vec::new() }
    }

    /// One of them.
    pub fn one(&mut self, place: usize) -> &mut Self {
        self.place = place;
        self
    }

    fn value(&mut self, place: usize, feature: usize) -> f64 {
        if cfg!(debug_assertions) {
            self.asked.push((place, feature));
        }
        self.rows[place][self.features[feature]]
    }

    fn bounds_of(&self, place: usize, feature: usize) -> Interval {
        let value = self.rows[place][self.features[feature]];
        let spread = if self.features[feature] >= self.dear_from { self.spread } else { 0.0 };
        if value.is_nan() { Interval::exactly(value) } else { Interval::between(value - spread, value + spread) }
    }
}

impl FeatureSource for Documents<'_> {
    fn number(&mut self, feature: usize) -> f64 {
        self.value(self.place, feature)
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        Rc::new(Tensor::scalar(self.number(feature)))
    }
}

impl FeatureSource for &mut Documents<'_> {
    fn number(&mut self, feature: usize) -> f64 {
        (**self).number(feature)
    }

    fn tensor(&mut self, feature: usize) -> Rc<Tensor> {
        (**self).tensor(feature)
    }
}

impl IntervalSource for Documents<'_> {
    fn interval(&mut self, feature: usize) -> Option<Interval> {
        Some(self.bounds_of(self.place, feature))
    }
}

impl BlockSource for Documents<'_> {
    fn numbers(&mut self, feature: usize, places: &[u32], values: &mut [f64]) {
        for (place, value) in places.iter().zip(values) {
            *value = self.value(*place as usize, feature);
        }
    }

    fn document(&mut self, place: u32) -> &mut dyn FeatureSource {
        self.one(place as usize)
    }

    fn is_dear(&self, feature: usize) -> bool {
        self.features[feature] >= self.dear_from
    }

    fn bounds(&mut self, feature: usize, places: &[u32], bounds: &mut [Interval]) -> bool {
        for (place, of) in places.iter().zip(bounds) {
            *of = self.bounds_of(*place as usize, feature);
        }
        true
    }
}

/// Splits of a random tree: which of its leaves is split next, and by which input.
fn shape(random: &mut Random, leaves: usize) -> Vec<usize> {
    (1..leaves).map(|present| random.below(present)).collect()
}

/// A tree while it is drawn.
enum Drawn {
    Leaf,
    Split(Box<[Drawn; 2]>),
}

fn drawn(random: &mut Random, leaves: usize) -> Drawn {
    let mut root = Drawn::Leaf;
    for at in shape(random, leaves) {
        split(&mut root, at).unwrap();
    }
    root
}

/// Splits the leaf of this number. Returns how many leaves there are before it where it is not in the tree.
fn split(tree: &mut Drawn, at: usize) -> Result<(), usize> {
    match tree {
        Drawn::Leaf if at == 0 => {
            *tree = Drawn::Split(Box::new([Drawn::Leaf, Drawn::Leaf]));
            Ok(())
        }
        Drawn::Leaf => Err(1),
        Drawn::Split(children) => match split(&mut children[0], at) {
            Ok(()) => Ok(()),
            Err(before) => split(&mut children[1], at - before).map_err(|more| before + more),
        },
    }
}

/// A threshold: also at the edges.
fn threshold(random: &mut Random) -> f64 {
    match random.below(12) {
        0 => 0.0,
        1 => 1e-35,
        2 => 1.0,
        _ => random.unit(),
    }
}

/// A LightGBM model. `varied`: with categories and every kind of missing values.
pub fn lightgbm(random: &mut Random, trees: usize, leaves: usize, inputs: usize, varied: bool) -> String {
    let names: Vec<String> = (0..inputs).map(|at| format!("\"f{at}\"")).collect();
    let mut text = format!("{{\"feature_names\":[{}],\"tree_info\":[", names.join(","));
    for tree in 0..trees {
        let comma = if tree == 0 { "" } else { "," };
        write!(text, "{comma}{{\"tree_structure\":").unwrap();
        let leaves = if varied { 1 + random.below(leaves) } else { leaves };
        let tree = drawn(random, leaves);
        light_node(&tree, random, inputs, varied, &mut text);
        text.push('}');
    }
    let averages = varied && random.below(4) == 0;
    write!(text, "],\"average_output\":{averages}}}").unwrap();
    text
}

fn light_node(tree: &Drawn, random: &mut Random, inputs: usize, varied: bool, text: &mut String) {
    let Drawn::Split(children) = tree else {
        return write!(text, "{{\"leaf_value\":{}}}", random.unit() - 0.5).unwrap();
    };
    let input = random.below(inputs);
    if varied && random.below(4) == 0 {
        let categories: Vec<String> = (0..1 + random.below(4)).map(|_| random.below(4).to_string()).collect();
        let categories = categories.join("||");
        write!(text, "{{\"split_feature\":{input},\"decision_type\":\"==\",\"threshold\":\"{categories}\"").unwrap();
    } else {
        let threshold = threshold(random);
        write!(text, "{{\"split_feature\":{input},\"decision_type\":\"<=\",\"threshold\":{threshold}").unwrap();
    }
    if varied {
        let missing = ["None", "Zero", "NaN"][random.below(3)];
        let default_left = random.below(2) == 0;
        write!(text, ",\"missing_type\":\"{missing}\",\"default_left\":{default_left}").unwrap();
    }
    text.push_str(",\"left_child\":");
    light_node(&children[0], random, inputs, varied, text);
    text.push_str(",\"right_child\":");
    light_node(&children[1], random, inputs, varied, text);
    text.push('}');
}

/// An XGBoost model with indicators, categories and missing values either way.
pub fn xgboost(random: &mut Random, trees: usize, leaves: usize, inputs: usize) -> String {
    let mut text = "[".to_owned();
    for tree in 0..trees {
        text.push_str(if tree == 0 { "" } else { "," });
        let leaves = 1 + random.below(leaves);
        let tree = drawn(random, leaves);
        let mut next = 0;
        xg_node(&tree, random, inputs, &mut next, &mut text);
    }
    text + "]"
}

fn xg_node(tree: &Drawn, random: &mut Random, inputs: usize, next: &mut usize, text: &mut String) {
    let number = *next;
    *next += 1;
    let Drawn::Split(children) = tree else {
        return write!(text, "{{\"nodeid\":{number},\"leaf\":{}}}", random.unit() - 0.5).unwrap();
    };
    let input = random.below(inputs);
    write!(text, "{{\"nodeid\":{number},\"split\":\"f{input}\",").unwrap();
    match random.below(8) {
        0 => {}
        1 => write!(text, "\"split_condition\":[{},{}],", random.below(4), random.below(4)).unwrap(),
        _ => write!(text, "\"split_condition\":{},", threshold(random)).unwrap(),
    }
    let first = *next;
    let mut inside = String::new();
    xg_node(&children[0], random, inputs, next, &mut inside);
    let second = *next;
    inside.push(',');
    xg_node(&children[1], random, inputs, next, &mut inside);
    let ways = [first, second];
    let (yes, missing) = (ways[random.below(2)], ways[random.below(2)]);
    write!(text, "\"yes\":{yes},\"missing\":{missing},\"children\":[{inside}]}}").unwrap();
}
