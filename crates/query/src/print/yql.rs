//! The tree as the `where` of a YQL statement.
use super::pieces::{
    Pairs, bound_text, counts, degrees, feature_map, joined_pairs, leaf_pairs, literal, origin_pair, quote,
    transform_pairs, word_pairs,
};
use crate::annotations::Annotations;
use crate::number::display_float;
use crate::print::pieces::Form;
use crate::tree::{
    Bound, GeoBoundingBox, GeoLocation, Item, Key, NearestNeighbor, Number, NumberTerm, Operator, Phrase, Predicate,
    SameElement, TermKind, Values, Weighted, index_of,
};

/// Writes `item` as YQL.
#[must_use]
pub fn yql_text(item: &Item, form: Form) -> String {
    let mut printer = Printer { form, out: String::new(), element: false };
    printer.item(item);
    printer.out
}

struct Printer {
    form: Form,
    out: String,
    /// Whether the items are conditions on one element, whose own values have no field name.
    element: bool,
}

impl Printer {
    fn item(&mut self, item: &Item) {
        let annotations = &item.annotations;
        match &item.operator {
            Operator::True => self.out.push_str("true"),
            Operator::False => self.out.push_str("false"),
            Operator::Null => self.out.push_str("userQuery()"),
            Operator::And(items) => self.print_joined(items, " AND "),
            Operator::Or(items) => self.print_joined(items, " OR "),
            Operator::AndNot(not) => self.except(&not.positive, &not.negatives),
            Operator::Rank(items) => self.call("rank", items),
            Operator::WeakAnd(weak) => {
                let hits = [("targetHits", weak.target_hits), ("totalTargetHits", weak.total_target_hits)];
                self.print_annotated(counts(&hits), |printer| printer.call("weakAnd", &weak.items));
            }
            Operator::Number(number) => self.number(number, annotations),
            Operator::Boolean(term) => self.boolean(&term.field, term.value, annotations),
            Operator::SameElement(same) => self.same_element(same),
            Operator::In(list) => self.membership(&list.field, &list.values, annotations),
            Operator::WeightedSet(weighted) => {
                self.print_weighted("weightedSet", weighted, leaf_pairs(annotations, self.form))
            }
            Operator::DotProduct(weighted) => {
                self.print_weighted("dotProduct", weighted, leaf_pairs(annotations, self.form))
            }
            Operator::Wand(wand) => {
                let hits = [("targetHits", wand.target_hits), ("totalTargetHits", wand.total_target_hits)];
                let mut pairs = leaf_pairs(annotations, self.form);
                pairs.extend(counts(&hits));
                let doubles =
                    [("scoreThreshold", wand.score_threshold), ("thresholdBoostFactor", wand.threshold_boost_factor)];
                pairs.extend(doubles.into_iter().filter_map(|(name, value)| Some((name, display_float(value?)))));
                self.print_weighted("wand", &wand.weighted, pairs);
            }
            Operator::NearestNeighbor(neighbor) => self.nearest_neighbor(neighbor, annotations),
            Operator::GeoLocation(location) => self.geo_location(location, annotations),
            Operator::GeoBoundingBox(area) => self.geo_bounding_box(area),
            Operator::Predicate(predicate) => self.predicate(predicate, annotations),
            Operator::Labeled(labeled) => {
                self.out.push_str("labeled(");
                self.item(&labeled.item);
                self.out.push_str(&format!(", {}, {})", quote(&labeled.label), display_float(labeled.score)));
            }
            Operator::Regex(regex) => {
                self.field(&regex.field, "matches");
                self.print_annotated(leaf_pairs(annotations, self.form), |printer| {
                    printer.out.push_str(&quote(&regex.pattern))
                });
            }
            _ => {
                self.field(leaf_field(item), "contains");
                self.leaf(item);
            }
        }
    }

    // Composites.

    fn print_joined(&mut self, items: &[Item], word: &str) {
        match (items, self.form) {
            // There is no way to write nothing, or one thing, joined.
            ([], _) => self.out.push_str("rank()"),
            ([single], Form::Exact) => self.item(single),
            _ => {
                self.out.push('(');
                self.list(items, word);
                self.out.push(')');
            }
        }
    }

    fn list(&mut self, items: &[Item], separator: &str) {
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                self.out.push_str(separator);
            }
            self.item(item);
        }
    }

    fn call(&mut self, name: &str, items: &[Item]) {
        self.out.push_str(name);
        self.out.push('(');
        self.list(items, ", ");
        self.out.push(')');
    }

    fn except(&mut self, positive: &Item, negatives: &[Item]) {
        if self.form == Form::Reference {
            self.out.push('(');
            self.item(positive);
            self.out.push_str(") AND !(");
            self.list(negatives, " OR ");
            self.out.push(')');
            return;
        }
        self.out.push('(');
        match &positive.operator {
            Operator::And(items) if items.len() > 1 => self.list(items, " AND "),
            _ => self.item(positive),
        }
        for negative in negatives {
            self.out.push_str(" AND !(");
            self.item(negative);
            self.out.push(')');
        }
        self.out.push(')');
    }

    // Leaves.

    /// `field operator `, or nothing for the element itself.
    fn field(&mut self, field: &str, operator: &str) {
        if field.is_empty() && self.element {
            return;
        }
        self.out.push_str(index_of(field));
        self.out.push(' ');
        self.out.push_str(operator);
        self.out.push(' ');
    }

    /// `({annotations}what)`, or only what if there are none.
    fn print_annotated(&mut self, pairs: Pairs, what: impl FnOnce(&mut Printer)) {
        if pairs.is_empty() {
            return what(self);
        }
        self.out.push_str("({");
        self.out.push_str(&joined_pairs(&pairs));
        self.out.push('}');
        what(self);
        self.out.push(')');
    }

    /// What stands after `contains`.
    fn leaf(&mut self, item: &Item) {
        let annotations = &item.annotations;
        match &item.operator {
            Operator::Term(term) => {
                let mut pairs = word_pairs(annotations, term.kind, self.form);
                if self.form == Form::Exact {
                    // So that it is not cut into words again.
                    let uncut = term.kind == TermKind::Word && !term.text.chars().all(char::is_alphanumeric);
                    pairs.extend(uncut.then(|| ("grammar", "\"raw\"".to_owned())));
                    pairs.extend(origin_pair(annotations));
                }
                self.print_annotated(pairs, |printer| printer.out.push_str(&quote(&term.text)));
            }
            Operator::Number(number) => self.out.push_str(&quote(&number.text)),
            Operator::Phrase(phrase) => self.phrase(phrase, annotations),
            Operator::Equiv(items) => {
                self.print_annotated(leaf_pairs(annotations, self.form), |printer| printer.leaves("equiv", items, &[]));
            }
            Operator::Near(near) => {
                let name = if near.ordered { "onear" } else { "near" };
                let mut pairs: Pairs = Vec::new();
                if near.distance != 2 {
                    pairs.push(("distance", near.distance.to_string()));
                }
                let exclusion = near.exclusion_distance.filter(|_| self.form == Form::Exact);
                pairs.extend(exclusion.map(|distance| ("exclusionDistance", distance.to_string())));
                self.print_annotated(pairs, |printer| printer.leaves(name, &near.items, &near.negatives));
            }
            Operator::Alternatives(alternatives) => {
                let words = alternatives
                    .words
                    .iter()
                    .map(|(word, exactness)| format!("{}: {}", quote(word), display_float(*exactness)));
                let words: Vec<String> = words.collect();
                self.print_annotated(leaf_pairs(annotations, self.form), |printer| {
                    printer.out.push_str(&format!("alternatives({{{}}})", words.join(", ")));
                });
            }
            Operator::Uri(uri) => {
                let mut pairs: Pairs = Vec::new();
                pairs.extend(uri.start_anchor.then(|| ("startAnchor", "true".to_owned())));
                pairs.extend(uri.end_anchor.then(|| ("endAnchor", "true".to_owned())));
                self.print_annotated(pairs, |printer| {
                    printer.out.push_str(&format!("uri({})", quote(&uri.text).replace("\\/", "/")))
                });
            }
            Operator::Fuzzy(fuzzy) => {
                let mut pairs: Pairs = Vec::new();
                if fuzzy.max_edit_distance != 2 {
                    pairs.push(("maxEditDistance", fuzzy.max_edit_distance.to_string()));
                }
                if fuzzy.prefix_length != 0 {
                    pairs.push(("prefixLength", fuzzy.prefix_length.to_string()));
                }
                pairs.extend(fuzzy.prefix.then(|| ("prefix", "true".to_owned())));
                let text = format!("fuzzy({})", quote(&fuzzy.text));
                if self.form == Form::Exact {
                    pairs.extend(leaf_pairs(annotations, self.form));
                    return self.print_annotated(pairs, |printer| printer.out.push_str(&text));
                }
                // Without a blank after the colon, unlike all others.
                let packed: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}:{value}")).collect();
                let whole = if packed.is_empty() { text } else { format!("({{{}}}{text})", packed.join(",")) };
                self.out.push_str(&whole);
            }
            _ => self.item(item),
        }
    }

    /// The arguments of `near`, `phrase` and the like: leaves without their field.
    fn leaves(&mut self, name: &str, items: &[Item], negatives: &[Item]) {
        let equiv = name == "equiv" && self.form == Form::Reference;
        self.out.push_str(name);
        self.out.push('(');
        for (position, item) in items.iter().chain(negatives).enumerate() {
            if position > 0 {
                self.out.push_str(", ");
            }
            if position >= items.len() && self.form == Form::Exact {
                self.out.push('!');
            }
            match &item.operator {
                Operator::Term(term) if equiv => self.out.push_str(&quote(&term.text)),
                Operator::Phrase(Phrase { segmented: Some(raw), .. }) if equiv => self.out.push_str(&quote(raw)),
                _ => self.leaf(item),
            }
        }
        self.out.push(')');
    }

    fn phrase(&mut self, phrase: &Phrase, annotations: &Annotations) {
        let mut pairs: Pairs = Vec::new();
        if let Some(raw) = &phrase.segmented {
            let length = raw.encode_utf16().count();
            pairs.push(("origin", format!("{{original: {}, offset: 0, length: {length}}}", quote(raw))));
        }
        pairs.extend(leaf_pairs(annotations, self.form));
        if self.form == Form::Exact {
            pairs.extend(transform_pairs(annotations));
        }
        let bare = phrase.segmented.is_some() && self.form == Form::Reference;
        self.print_annotated(pairs, |printer| {
            if !bare {
                return printer.leaves("phrase", &phrase.items, &[]);
            }
            let words = phrase.items.iter().map(|item| match &item.operator {
                Operator::Term(term) => quote(&term.text),
                _ => yql_text(item, Form::Reference),
            });
            let words: Vec<String> = words.collect();
            printer.out.push_str(&format!("phrase({})", words.join(", ")));
        });
    }

    fn same_element(&mut self, same: &SameElement) {
        self.field(&same.field, "contains");
        if !same.element_filter.is_empty() {
            let numbers: Vec<String> = same.element_filter.iter().map(u32::to_string).collect();
            self.out.push_str(&format!("({{elementFilter:[{}]}} ", numbers.join(", ")));
        }
        self.out.push_str("sameElement(");
        let outer = std::mem::replace(&mut self.element, true);
        for (position, item) in same.items.iter().enumerate() {
            if position > 0 {
                self.out.push_str(", ");
            }
            // A lone condition has no parentheses in the reference form.
            match (&item.operator, self.form) {
                (Operator::And(items), Form::Reference) => self.list(items, " AND "),
                (Operator::Or(items), Form::Reference) => self.list(items, " OR "),
                _ => self.item(item),
            }
        }
        self.element = outer;
        self.out.push_str(if same.element_filter.is_empty() { ")" } else { "))" });
    }

    fn boolean(&mut self, field: &str, value: bool, annotations: &Annotations) {
        self.field(field, "=");
        let pairs = if self.form == Form::Exact { leaf_pairs(annotations, self.form) } else { Vec::new() };
        self.print_annotated(pairs, |printer| printer.out.push_str(if value { "true" } else { "false" }));
    }

    fn number(&mut self, number: &NumberTerm, annotations: &Annotations) {
        let mut pairs = leaf_pairs(annotations, self.form);
        let comparison = match (number.low, number.high, number.hit_limit) {
            (Bound::Inclusive(low), Bound::Inclusive(high), None) if low == high => Some(("=", low)),
            (Bound::Unbounded, Bound::Exclusive(high), None) => Some(("<", high)),
            (Bound::Unbounded, Bound::Inclusive(high), None) => Some(("<=", high)),
            (Bound::Exclusive(low), Bound::Unbounded, None) => Some((">", low)),
            (Bound::Inclusive(low), Bound::Unbounded, None) => Some((">=", low)),
            _ => None,
        };
        if let Some((operator, value)) = comparison {
            self.field(&number.field, operator);
            let text = literal(value);
            return self.print_annotated(pairs, |printer| match text.starts_with('-') {
                true => printer.out.push_str(&format!("({text})")),
                false => printer.out.push_str(&text),
            });
        }
        let ends = (matches!(number.low, Bound::Exclusive(_)), matches!(number.high, Bound::Exclusive(_)));
        let bounds = match ends {
            (false, false) => None,
            (true, true) => Some("\"open\""),
            (true, false) => Some("\"leftOpen\""),
            (false, true) => Some("\"rightOpen\""),
        };
        pairs.extend(bounds.map(|bounds| ("bounds", bounds.to_owned())));
        pairs.extend(number.hit_limit.map(|limit| ("hitLimit", limit.to_string())));
        let range = format!(
            "range({}, {}, {})",
            index_of(&number.field),
            bound_text(number.low, "-Infinity"),
            bound_text(number.high, "Infinity")
        );
        if bounds.is_some() || pairs.is_empty() || self.form == Form::Exact {
            return self.print_annotated(pairs, |printer| printer.out.push_str(&range));
        }
        self.out.push_str(&format!("{{{}}}{range}", joined_pairs(&pairs)));
    }

    fn membership(&mut self, field: &str, values: &Values, annotations: &Annotations) {
        let values: Vec<String> = match values {
            Values::Integers(numbers) => numbers.iter().map(|number| literal(Number::Integer(*number))).collect(),
            Values::Texts(texts) => texts.iter().map(|text| quote(text)).collect(),
        };
        let pairs = if self.form == Form::Exact { leaf_pairs(annotations, self.form) } else { Vec::new() };
        self.print_annotated(pairs, |printer| {
            printer.field(field, "in");
            printer.out.push_str(&format!("({})", values.join(", ")));
        });
    }

    fn print_weighted(&mut self, name: &str, weighted: &Weighted, pairs: Pairs) {
        let pair_list =
            self.form == Form::Exact && matches!(weighted.tokens.first().map(|t| &t.key), Some(Key::Integer(_)));
        let tokens = weighted.tokens.iter().map(|token| match &token.key {
            Key::Integer(key) if pair_list => format!("[{}, {}]", literal(Number::Integer(*key)), token.weight),
            Key::Integer(key) => format!("\"{key}\": {}", token.weight),
            Key::Text(key) => format!("{}: {}", quote(key), token.weight),
        });
        let tokens = tokens.collect::<Vec<_>>().join(", ");
        let list = if pair_list { format!("[{tokens}]") } else { format!("{{{tokens}}}") };
        let call = format!("{name}({}, {list})", index_of(&weighted.field));
        self.print_annotated(pairs, |printer| printer.out.push_str(&call));
    }

    fn nearest_neighbor(&mut self, neighbor: &NearestNeighbor, annotations: &Annotations) {
        let mut pairs: Pairs = Vec::new();
        if self.form == Form::Exact {
            pairs.extend(leaf_pairs(annotations, self.form));
        } else {
            pairs.extend(annotations.label.as_ref().map(|label| ("label", quote(label))));
        }
        pairs.extend(counts(&[
            ("targetHits", neighbor.target_hits),
            ("totalTargetHits", neighbor.total_target_hits),
            ("minTargetHits", neighbor.min_target_hits),
        ]));
        pairs.extend(neighbor.distance_threshold.map(|distance| ("distanceThreshold", display_float(distance))));
        pairs.extend(neighbor.approximate.map(|approximate| ("approximate", approximate.to_string())));
        let mut text = joined_pairs(&pairs);
        for (name, value) in &neighbor.hnsw {
            let separator = if text.is_empty() { "" } else { ", " };
            let whole = name == "exploreAdditionalHits" && value.fract() == 0.0;
            let value = if whole { format!("{value:.0}") } else { display_float(*value) };
            text.push_str(&format!("{separator}hnsw.{name}: {value}"));
        }
        let call = format!("{{{text}}}nearestNeighbor({}, {})", neighbor.field, neighbor.query_tensor);
        // Without parentheses the annotations would count for everything joined to it.
        self.out.push_str(&if self.form == Form::Exact { format!("({call})") } else { call });
    }

    fn geo_location(&mut self, location: &GeoLocation, annotations: &Annotations) {
        let radius = location.radius_microdegrees.map_or(-1.0, |radius| f64::from(radius) * 1e-6);
        let call = format!(
            "geoLocation({}, {}, {}, \"{} deg\")",
            location.field,
            degrees(location.latitude_microdegrees),
            degrees(location.longitude_microdegrees),
            display_float(radius)
        );
        match &annotations.label {
            // The reference form forgets to close its parenthesis.
            Some(label) if self.form == Form::Reference => {
                self.out.push_str(&format!("({{label: {}}}{call}", quote(label)))
            }
            Some(label) => self.out.push_str(&format!("({{label: {}}}{call})", quote(label))),
            None => self.out.push_str(&call),
        }
    }

    fn geo_bounding_box(&mut self, area: &GeoBoundingBox) {
        self.out.push_str(&format!(
            "geoBoundingBox({}, {}, {}, {}, {})",
            area.field,
            degrees(area.south_microdegrees),
            degrees(area.west_microdegrees),
            degrees(area.north_microdegrees),
            degrees(area.east_microdegrees)
        ));
    }

    fn predicate(&mut self, predicate: &Predicate, annotations: &Annotations) {
        let attributes = predicate.attributes.iter().map(|(name, value, bits)| (name, quote(value), *bits));
        let ranges = predicate.ranges.iter().map(|(name, value, bits)| (name, format!("{value}L"), *bits));
        let call = format!(
            "predicate({},{},{})",
            predicate.field,
            feature_map(attributes.collect()),
            feature_map(ranges.collect())
        );
        let pairs = if self.form == Form::Exact { leaf_pairs(annotations, self.form) } else { Vec::new() };
        self.print_annotated(pairs, |printer| printer.out.push_str(&call));
    }
}

/// The field of a leaf, or of the first leaf in it.
fn leaf_field(item: &Item) -> &str {
    match &item.operator {
        Operator::Term(term) => &term.field,
        Operator::Number(number) => &number.field,
        Operator::Phrase(phrase) => &phrase.field,
        Operator::Alternatives(alternatives) => &alternatives.field,
        Operator::Uri(uri) => &uri.field,
        Operator::Fuzzy(fuzzy) => &fuzzy.field,
        _ => item.children().first().map_or("", |child| leaf_field(child)),
    }
}
