//! Groupings of documents with odd values, as they are asked, and what has to be found.
use super::*;

/// How values become groups.
enum Cut {
    Whole,
    LongWidth(i64),
    DoubleWidth(f64),
    /// From, to; nothing is infinite.
    Buckets(Vec<(Option<Value>, Option<Value>)>),
}

struct By {
    text: String,
    of: Expression,
    cut: Cut,
}

impl By {
    fn random(random: &mut Random) -> By {
        let of = anything(random);
        match (of.kind, random.below(4)) {
            (Kind::Long | Kind::Double, 0) => {
                let width = random.one_of(&[1i64, 2, 7, 100, 1 << 40, i64::MAX, 0]);
                let text = format!("fixedwidth({}, {width})", of.text);
                let cut = if of.kind == Kind::Long { Cut::LongWidth(width) } else { Cut::DoubleWidth(width as f64) };
                By { text, of, cut }
            }
            (Kind::Long | Kind::Double | Kind::Text, 1) => By::buckets(random, of),
            _ => By { text: of.text.clone(), of, cut: Cut::Whole },
        }
    }

    fn buckets(random: &mut Random, of: Expression) -> By {
        let bound = |at: usize| match of.kind {
            Kind::Long => Value::Long([-7, -1, 0, 1, 7, 12, 1 << 40][at]),
            Kind::Double => Value::Double([-7.0, -0.5, 0.0, 1.5, 2.5, 1e6, 1e9][at]),
            _ => Value::Text(["", "0", "1", "B", "a", "z", "é"][at].to_owned()),
        };
        let written = |value: &Option<Value>, end: &str| match value {
            None => end.to_owned(),
            Some(Value::Double(value)) => format!("{value:?}"),
            Some(Value::Text(text)) => format!("\"{text}\""),
            Some(value) => shown(value),
        };
        let (mut at, mut buckets) = (0, Vec::new());
        while at < 6 && buckets.len() < 4 {
            let to = at + 1 + random.below(3);
            let from = Some(bound(at)).filter(|_| at > 0 || of.kind == Kind::Text);
            let end = (to < 7).then(|| bound(to)).filter(|_| to < 6 || of.kind == Kind::Text);
            if (from.is_some() || end.is_some()) && (of.kind != Kind::Text || end.is_some()) {
                buckets.push((from, end));
            }
            at = to + random.below(2);
        }
        let texts: Vec<String> = buckets
            .iter()
            .map(|(from, to)| format!("bucket[{}, {}>", written(from, "-inf"), written(to, "inf")))
            .collect();
        if texts.is_empty() {
            return By { text: of.text.clone(), of, cut: Cut::Whole };
        }
        By { text: format!("predefined({}, {})", of.text, texts.join(", ")), of, cut: Cut::Buckets(buckets) }
    }

    /// The group of a value: its id, and its place among others.
    fn group(&self, value: &Value) -> (String, Value) {
        match &self.cut {
            Cut::Whole => (id_of(value), value.clone()),
            Cut::LongWidth(width) => {
                let (value, width) = (i128::from(long(value)), i128::from(*width));
                let within = |limit: i128| limit.clamp(i64::MIN.into(), i64::MAX.into());
                let from = if width > 0 { within(value.div_euclid(width) * width) } else { value };
                let to = if width > 0 { within((value.div_euclid(width) + 1) * width) } else { value };
                (format!("long_bucket:{from}:{to}"), Value::Long(from as i64))
            }
            Cut::DoubleWidth(width) => {
                let value = double(value);
                let at = (value / width).floor();
                let cuts = *width > 0.0 && value.is_finite();
                let (from, to) = if cuts { (at * width, (at + 1.0) * width) } else { (value, value) };
                (format!("double_bucket:{}:{}", double_id(from), double_id(to)), Value::Double(from))
            }
            Cut::Buckets(buckets) => {
                let is_nan = matches!(value, Value::Double(value) if value.is_nan());
                let holds = |(from, to): &(Option<Value>, Option<Value>)| {
                    !is_nan
                        && from.as_ref().is_none_or(|from| order(value, from).is_ge())
                        && to.as_ref().is_none_or(|to| order(value, to).is_lt())
                };
                let Some(at) = buckets.iter().position(holds) else { return ("null".to_owned(), Value::Long(-1)) };
                let end = |end: &Option<Value>, above: bool| match (end, self.of.kind) {
                    (None, Kind::Long) => if above { i64::MAX } else { i64::MIN }.to_string(),
                    (None, _) => double_id(if above { f64::INFINITY } else { f64::NEG_INFINITY }),
                    (Some(Value::Double(value)), _) => double_id(*value),
                    (Some(value), _) => shown(value),
                };
                let kind = match self.of.kind {
                    Kind::Long => "long",
                    Kind::Double => "double",
                    _ => "string",
                };
                let (from, to) = &buckets[at];
                (format!("{kind}_bucket:{}:{}", end(from, false), end(to, true)), Value::Long(at as i64))
            }
        }
    }
}

/// A pattern, and whether a text is of it.
type Pattern = (&'static str, fn(&str) -> bool);

const PATTERNS: [Pattern; 4] = [
    ("[aBé].*", |text| text.starts_with(['a', 'B', 'é'])),
    (".*[0-9]", |text| text.ends_with(|c: char| c.is_ascii_digit())),
    ("true|zz.|", |text| ["", "true", "zz\u{10000}"].contains(&text)),
    ("-?[0-9]+", |text| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    }),
];

/// Which documents are grouped at all: how it is written, and whether it holds.
struct Filter {
    text: String,
    holds: Box<dyn Fn(&Document) -> bool>,
}

impl Filter {
    /// Of fields that are not among those grouped by, whose elements would be asked one by one.
    fn random(random: &mut Random, by: &By, depth: usize) -> Filter {
        let is_other =
            |name: &str| !by.text.split(|c: char| !c.is_alphanumeric()).any(|word| word.trim_end_matches('x') == name);
        let pick = |random: &mut Random, fits: &dyn Fn(Kind, bool) -> bool| loop {
            let found = field(random, fits);
            if is_other(found.text.trim_end_matches('x')) {
                return found;
            }
        };
        match random.below(if depth == 0 { 3 } else { 6 }) {
            0 => {
                let of = pick(random, &|kind, _| is_number(kind));
                let (low, high) = (random.one_of(&[0.0, 1.0, 0.5, 2.0]), random.one_of(&[1.0, 2.5, 7.0, 1e6]));
                let (with_low, with_high) = (random.once_in(2), random.once_in(2));
                let text = format!("range({low:?}, {high:?}, {}, {with_low}, {with_high})", of.text);
                let inside = move |value: &Value| {
                    let value = double(value);
                    (value > low || with_low && value == low) && (value < high || with_high && value == high)
                };
                Filter { text, holds: Box::new(move |document| evaluate(&of, document).of.iter().any(inside)) }
            }
            1 => {
                let of = pick(random, &|kind, _| kind != Kind::Raw);
                let (pattern, is_in) = *random.pick(&PATTERNS);
                let text = format!("regex(\"{pattern}\", {})", of.text);
                let holds =
                    move |document: &Document| evaluate(&of, document).of.iter().any(|value| is_in(&shown(value)));
                Filter { text, holds: Box::new(holds) }
            }
            2 => match is_other("t") {
                true => {
                    let of = pick(random, &|kind, several| kind == Kind::Bool && !several);
                    let text = format!("istrue({})", of.text);
                    let holds = move |document: &Document| evaluate(&of, document).of == [Value::Bool(true)];
                    Filter { text, holds: Box::new(holds) }
                }
                false => Filter::random(random, by, depth),
            },
            3 => {
                let inner = Filter::random(random, by, depth - 1);
                let text = format!("not ({})", inner.text);
                Filter { text, holds: Box::new(move |document| !(inner.holds)(document)) }
            }
            kind => {
                let (a, b) = (Filter::random(random, by, depth - 1), Filter::random(random, by, depth - 1));
                let text = format!("({}) {} ({})", a.text, if kind == 4 { "and" } else { "or" }, b.text);
                let holds = move |document: &Document| match kind {
                    4 => (a.holds)(document) && (b.holds)(document),
                    _ => (a.holds)(document) || (b.holds)(document),
                };
                Filter { text, holds: Box::new(holds) }
            }
        }
    }
}

fn number_of(json: &Json) -> f64 {
    match json {
        Json::String(text) => text.parse().unwrap(),
        number => number.as_f64().unwrap(),
    }
}

/// Sums of numbers as large as `scale` differ in their last bits by the order of additions.
fn near(found: &Json, wanted: f64, scale: f64) -> bool {
    let found = number_of(found);
    found == wanted || (found.is_nan() && wanted.is_nan()) || (found - wanted).abs() <= 1e-9 * scale.max(1.0)
}

/// Compares what is shown of a group's total with the sum of its values one by one.
fn check_total(name: &str, found: &Json, values: &[Value], of: &Expression) -> Result<(), String> {
    let kind = of.kind;
    let doubles: Vec<f64> = values.iter().map(double).collect();
    let scale = doubles.iter().map(|value| value.abs()).filter(|value| value.is_finite()).sum::<f64>();
    let whole = matches!(kind, Kind::Bool | Kind::Long);
    let count = values.len() as f64;
    // Which number bytes are, or texts that were joined, is asserted where values are converted.
    let is_made = kind == Kind::Raw || matches!(of.tree, Tree::Join(..)) || of.text.starts_with("tostring");
    if is_made && !["min", "max"].contains(&name) {
        return Ok(());
    }
    let fits = match name {
        "sum" if whole => found.as_i64() == Some(values.iter().fold(0i64, |sum, value| sum.wrapping_add(long(value)))),
        "sum" => values.is_empty() && near(found, 0.0, scale) || near(found, doubles.iter().sum(), scale),
        "avg" if values.is_empty() => near(found, 0.0, scale),
        "avg" if whole => {
            near(found, values.iter().map(|value| i128::from(long(value))).sum::<i128>() as f64 / count, scale)
        }
        "avg" => near(found, doubles.iter().sum::<f64>() / count, scale),
        "xor" => found.as_i64() == Some(values.iter().fold(0, |bits, value| bits ^ long(value))),
        "stddev" if values.is_empty() => near(found, 0.0, scale),
        "stddev" => {
            let mean = doubles.iter().sum::<f64>() / count;
            let wanted = (doubles.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
            near(found, wanted, scale)
        }
        "min" | "max" => {
            let known: Vec<&Value> = values.iter().filter(|value| !double(value).is_nan()).collect();
            let wanted = match name {
                "min" => known.iter().copied().min_by(|a, b| order(a, b)),
                _ => known.iter().copied().max_by(|a, b| order(a, b)),
            };
            match wanted {
                // What is beyond all values.
                None => true,
                Some(Value::Double(value)) => near(found, *value, 0.0),
                Some(Value::Long(value)) => found.as_i64() == Some(*value),
                Some(Value::Bool(flag)) => *found == json!(flag) || *found == json!(i64::from(*flag)),
                Some(Value::Text(text)) => found == text,
                Some(Value::Raw(bytes)) => *found == base64(bytes),
            }
        }
        _ => unreachable!(),
    };
    if fits { Ok(()) } else { Err(format!("{name} of {values:?} is {found}")) }
}

const TOTALS: [&str; 6] = ["sum", "avg", "min", "max", "xor", "stddev"];

fn host_of(random: &mut Random, documents: &[Document]) -> Host {
    let mut fields = String::new();
    for (name, of) in FIELDS {
        fields += &format!("field {name} type {of} {{ indexing: summary | attribute }}\n");
        fields += &format!("field {name}x type {of} {{ indexing: summary }}\n");
    }
    let sd = format!(
        "schema sale {{ document sale {{ {fields} field score type int {{ indexing: attribute }} }}
            rank-profile score {{ first-phase {{ expression: attribute(score) }} }} }}"
    );
    let services = services(&["sale"]);
    let mut host = Host::new(&[("services.xml", &services), ("schemas/sale.sd", &sd)], 16 << 20);
    for document in documents {
        host.put(&document.id, &document.json()).unwrap();
        if random.once_in(12) {
            host.compact("g:a", 1);
        }
    }
    host
}

/// A request as YQL, or the same as JSON.
fn asked(random: &mut Random, by: &str, filter: &str, outputs: &[String]) -> (String, String) {
    let outputs = outputs.join(", ");
    let filtered = if filter.is_empty() { String::new() } else { format!("filter({filter})") };
    if random.once_in(2) {
        let request = format!("all(group({by}) {filtered} max(1000) each(output({outputs})))");
        return (format!("select * from sale where true limit 0 | {request}"), String::new());
    }
    let mut all = json!({"group": by, "max": 1000, "each": {"output": outputs}});
    if !filter.is_empty() {
        // What filters stands before what goes through groups, as in YQL.
        all = json!({"group": by, "filter": filter, "max": 1000, "each": {"output": outputs}});
    }
    let select = json!({"where": true, "grouping": [{"all": all}]});
    (String::new(), json!({"select": select, "hits": 0}).to_string())
}

/// Compares the answer to a request over all documents; what differs, if something does.
fn differs(random: &mut Random, host: &Host, documents: &[Document], by: &By, of: &Expression) -> Option<String> {
    let filter = random.once_in(3).then(|| Filter::random(random, by, 2));
    let mut outputs: Vec<String> = TOTALS.iter().map(|name| format!("{name}({}) as({name})", of.text)).collect();
    outputs.push("count() as(count)".to_owned());
    let filtered = filter.as_ref().map_or("", |filter| &filter.text);
    let (yql, body) = asked(random, &by.text, filtered, &outputs);
    let mut parameters = vec![("streaming.groupname", "a"), ("ranking", "score"), ("timeout", "60s")];
    if body.is_empty() {
        parameters.push(("yql", &yql));
    }
    let answer = host.search_raw("g:a", &parameters, &body);
    let yql = format!("{yql}{body}");
    if answer.status != 200 || answer.json["root"].get("errors").is_some() {
        return Some(format!("{yql}: {}", answer.body));
    }
    let mut groups: BTreeMap<String, (Value, Vec<&Document>)> = BTreeMap::new();
    for document in documents.iter().filter(|document| filter.as_ref().is_none_or(|of| (of.holds)(document))) {
        let mut ids: Vec<String> = Vec::new();
        for value in evaluate(&by.of, document).of {
            let (id, place) = by.group(&value);
            if !ids.contains(&id) {
                groups.entry(id.clone()).or_insert_with(|| (place, Vec::new())).1.push(document);
                ids.push(id);
            }
        }
    }
    let rank = |documents: &[&Document]| documents.iter().map(|document| document.score).max();
    let mut wanted: Vec<(String, Value, Vec<&Document>)> =
        groups.into_iter().map(|(id, (value, documents))| (id, value, documents)).collect();
    wanted.sort_by(|a, b| rank(&b.2).cmp(&rank(&a.2)).then_with(|| order(&a.1, &b.1)));
    let root = answer.json["root"]["children"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
    let found = root["children"][0]["children"].as_array().cloned().unwrap_or_default();
    let found_ids: Vec<String> = found.iter().map(|group| found_id(group["id"].as_str().unwrap())).collect();
    let wanted_ids: Vec<&String> = wanted.iter().map(|(id, ..)| id).collect();
    if found_ids.iter().collect::<Vec<_>>() != wanted_ids {
        return Some(format!("{yql}\n found {found_ids:?}\nwanted {wanted_ids:?}"));
    }
    for (group, (id, _, documents)) in found.iter().zip(&wanted) {
        if group["fields"]["count"] != documents.len() {
            return Some(format!("{yql}, {id}: count {}, not {}", group["fields"]["count"], documents.len()));
        }
        let values: Vec<Value> = documents.iter().flat_map(|document| evaluate(of, document).of).collect();
        for name in TOTALS {
            if let Err(about) = check_total(name, &group["fields"][name], &values, of) {
                return Some(format!("{yql}, {id}: {about}"));
            }
        }
    }
    None
}

#[test]
fn expressions_over_odd_values_are_those_of_a_naive_twin() {
    let cases = std::env::var("PROPTEST_CASES").map_or(400, |text| text.parse().unwrap());
    let mut found = Vec::new();
    for case in 0..u64::div_ceil(cases, 40) {
        let mut random = Random::new(case);
        let documents: Vec<Document> =
            (0..random.below(40)).map(|number| Document::random(&mut random, number)).collect();
        let host = host_of(&mut random, &documents);
        for _ in 0..40 {
            let (by, of) = (By::random(&mut random), anything(&mut random));
            found.extend(differs(&mut random, &host, &documents, &by, &of));
        }
    }
    let shown: Vec<String> = found.iter().take(6).map(|about| about.chars().take(1_200).collect()).collect();
    assert!(found.is_empty(), "{} differ:\n{}", found.len(), shown.join("\n\n"));
}
