//! Places against a naive twin: circles, areas and what is beside the query (`pos.*`) over points anywhere, at the poles and
//! on either side of the date line, none or several in a document; and the features that measure how far they are.
//! `PROPTEST_CASES` says how many queries are asked.

use crate::host::{Host, ids, services};
use crate::random::Random;
use serde_json::{Map, Value as Json, json};

const FIELDS: [&str; 2] = ["p", "ap"];
const EARTH_RADIUS_KM: f64 = 6_371.008_8;
const FEATURES: [&str; 7] = [
    "distance(F)",
    "distance(F).km",
    "distance(F).index",
    "distance(F).latitude",
    "distance(F).longitude",
    "closeness(F)",
    "closeness(F).logscale",
];

/// A point in micro-degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    latitude: i32,
    longitude: i32,
}

impl Point {
    fn random(random: &mut Random) -> Point {
        let latitudes = [90_000_000, -90_000_000, 0, 60_000_000, 59_999_999, 1, -45_000_000, 89_999_999];
        let longitudes = [180_000_000, -180_000_000, 0, 179_999_999, -179_999_999, 10_400_000, -1, 90_000_000];
        let mut coordinate = |odd: &[i32], most: i32| match random.below(3) {
            0 => random.one_of(odd),
            1 => (random.one_of(odd) + random.below(2_000) as i32 - 1_000).clamp(-most, most),
            _ => random.below(2 * most as usize + 1) as i32 - most,
        };
        Point { latitude: coordinate(&latitudes, 90_000_000), longitude: coordinate(&longitudes, 180_000_000) }
    }

    /// As a feed may write it.
    fn json(self, random: &mut Random) -> Json {
        let (y, x) = (self.latitude, self.longitude);
        match random.below(3) {
            0 => json!({ "lat": f64::from(y) / 1e6, "lng": f64::from(x) / 1e6 }),
            1 => json!({ "x": x, "y": y }),
            _ => json!(format!("{x};{y}")),
        }
    }

    fn unit(self) -> [f64; 3] {
        let (latitude, longitude) =
            ((f64::from(self.latitude) / 1e6).to_radians(), (f64::from(self.longitude) / 1e6).to_radians());
        [latitude.cos() * longitude.cos(), latitude.cos() * longitude.sin(), latitude.sin()]
    }

    /// Along the surface: the angle between two vectors.
    fn km_to(self, other: Point) -> f64 {
        let (a, b) = (self.unit(), other.unit());
        let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
        let length = cross.iter().map(|part| part * part).sum::<f64>().sqrt();
        length.atan2(dot) * EARTH_RADIUS_KM
    }
}

/// Degrees with six decimals.
fn degrees(microdegrees: i32) -> String {
    format!("{:.6}", f64::from(microdegrees) / 1e6)
}

/// Degrees with a letter for their direction.
fn directed(microdegrees: i32, letters: [char; 2], random: &mut Random) -> String {
    let letter = letters[usize::from(microdegrees < 0)];
    let number = degrees(microdegrees.saturating_abs());
    if random.once_in(2) { format!("{letter}{number}") } else { format!("{number}{letter}") }
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// Around a point; everywhere without a radius.
    Circle {
        centre: Point,
        radius: Option<u32>,
        is_flat: bool,
    },
    Area {
        south_west: Point,
        north_east: Point,
    },
}

impl Place {
    /// Whether a point is within, but for what stands so near to the edge that it may be either.
    fn contains(self, point: Point) -> Option<bool> {
        match self {
            Place::Circle { radius: None, .. } => Some(true),
            Place::Circle { centre, radius: Some(radius), is_flat } => {
                let shortening = if is_flat { 1.0 } else { (f64::from(centre.latitude) / 1e6).to_radians().cos() };
                let across = (f64::from(point.longitude) - f64::from(centre.longitude)) * shortening;
                let up = f64::from(point.latitude) - f64::from(centre.latitude);
                let beyond = across.hypot(up) - f64::from(radius);
                // Longitudes are shortened to whole micro-degrees.
                ((is_flat && across.hypot(up) < 1e6) || beyond.abs() > 2.0).then_some(beyond <= 0.0)
            }
            Place::Area { south_west, north_east } => Some(
                (south_west.latitude..=north_east.latitude).contains(&point.latitude)
                    && (south_west.longitude..=north_east.longitude).contains(&point.longitude),
            ),
        }
    }
}

/// A distance as it is written, in micro-degrees.
fn distance(random: &mut Random) -> (String, Option<u32>) {
    let km = 180e9 / (std::f64::consts::PI * 6_356_752.0);
    let (unit, length) = random.one_of(&[
        ("m", km / 1e3),
        ("km", km),
        ("mi", 1.609_344 * km),
        ("miles", 1.609_344 * km),
        ("deg", 1e6),
        ("d", 1e6),
    ]);
    let number = random.one_of(&[0.0, 0.5, 1.0, 2.5, 30.0, 181.0, 250.0, 300.0, 1e3, 12_000.0, 30_000.0, -1.0, -0.5]);
    let space = random.one_of(&["", " "]);
    (format!("{number}{space}{unit}"), (number >= 0.0).then_some((number * length + 1e-3) as u32))
}

/// What a query asks: its parameters, the fields with what they are asked, and whether these only rank.
struct Question {
    parameters: Vec<(&'static str, String)>,
    asked: Vec<(&'static str, Place)>,
    ranks: bool,
}

fn term(random: &mut Random, near: &[Point]) -> (String, &'static str, Place) {
    let field = random.one_of(&FIELDS);
    let point = |random: &mut Random| match random.below(3) {
        0 if !near.is_empty() => random.one_of(near),
        _ => Point::random(random),
    };
    if random.once_in(3) {
        let (a, b) = (point(random), point(random));
        let south_west = Point { latitude: a.latitude.min(b.latitude), longitude: a.longitude.min(b.longitude) };
        let north_east = Point { latitude: a.latitude.max(b.latitude), longitude: a.longitude.max(b.longitude) };
        let [south, west, north, east] =
            [south_west.latitude, south_west.longitude, north_east.latitude, north_east.longitude].map(degrees);
        let text = format!("geoBoundingBox({field}, {south}, {west}, {north}, {east})");
        return (text, field, Place::Area { south_west, north_east });
    }
    let centre = point(random);
    let (length, radius) = distance(random);
    let (latitude, longitude) = match random.below(3) {
        0 => (degrees(centre.latitude), degrees(centre.longitude)),
        _ => (
            format!("\"{}\"", directed(centre.latitude, ['N', 'S'], random)),
            format!("\"{}\"", directed(centre.longitude, ['E', 'W'], random)),
        ),
    };
    let text = format!("geoLocation({field}, {latitude}, {longitude}, \"{length}\")");
    (text, field, Place::Circle { centre, radius, is_flat: false })
}

impl Question {
    fn random(random: &mut Random, near: &[Point]) -> Question {
        if random.once_in(3) {
            return Question::beside(random, near);
        }
        let terms: Vec<_> = (0..1 + random.below(2)).map(|_| term(random, near)).collect();
        let texts: Vec<&str> = terms.iter().map(|(text, ..)| text.as_str()).collect();
        let ranks = random.once_in(3);
        let condition = if ranks { format!("rank(true, {})", texts.join(", ")) } else { texts.join(" and ") };
        let asked = terms.iter().map(|(_, field, place)| (*field, *place)).collect();
        Question { parameters: vec![("yql", format!("select * from d where {condition}"))], asked, ranks }
    }

    /// A place in parameters of its own.
    fn beside(random: &mut Random, near: &[Point]) -> Question {
        let field = random.one_of(&FIELDS);
        let centre = if near.is_empty() || random.once_in(2) { Point::random(random) } else { random.one_of(near) };
        let is_flat = random.once_in(2);
        let at = match is_flat {
            true => ("pos.xy", format!("{};{}", centre.longitude, centre.latitude)),
            false => {
                let latitude = directed(centre.latitude, ['N', 'S'], random);
                ("pos.ll", format!("{latitude};{}", directed(centre.longitude, ['E', 'W'], random)))
            }
        };
        let (length, radius) = match random.once_in(2) {
            true => {
                let whole = random.one_of(&[0, 1, 1_000, 5_000_000, 200_000_000, 300_000_000, -1]);
                (whole.to_string(), u32::try_from(whole).ok())
            }
            false => distance(random),
        };
        let yql = "select * from d where true".to_owned();
        let parameters = vec![("yql", yql), at, ("pos.radius", length), ("pos.attribute", field.to_owned())];
        let ranks = radius.is_none();
        Question { parameters, asked: vec![(field, Place::Circle { centre, radius, is_flat })], ranks }
    }

    /// Whether a document is found; nothing if a point of it is on an edge.
    fn finds(&self, document: &Document) -> Option<bool> {
        let mut is_found = true;
        for (field, place) in &self.asked {
            let within: Vec<Option<bool>> = document.points(field).iter().map(|point| place.contains(*point)).collect();
            let has = within.contains(&Some(true));
            if !has && within.contains(&None) {
                return None;
            }
            is_found &= has;
        }
        Some(is_found || self.ranks)
    }

    /// The centres that the features of a field measure from.
    fn centres(&self, field: &str) -> Vec<Point> {
        let of = |own: bool| {
            let asked = self.asked.iter().filter(move |(asked, _)| (*asked == field) == own);
            let centres = asked.filter_map(|(_, place)| match place {
                Place::Circle { centre, .. } => Some(*centre),
                Place::Area { .. } => None,
            });
            centres.collect::<Vec<_>>()
        };
        let own = of(true);
        if own.is_empty() { of(false) } else { own }
    }
}

struct Document {
    id: String,
    single: Vec<Point>,
    several: Vec<Point>,
}

impl Document {
    fn random(random: &mut Random, number: usize) -> Document {
        let single = (0..random.below(5).min(1)).map(|_| Point::random(random)).collect();
        let several = (0..random.below(4)).map(|_| Point::random(random)).collect();
        Document { id: format!("id:s:d:g=a:{number:03}"), single, several }
    }

    fn points(&self, field: &str) -> &[Point] {
        if field == "p" { &self.single } else { &self.several }
    }

    fn json(&self, random: &mut Random) -> String {
        let mut fields = Map::new();
        self.single.iter().for_each(|point| {
            fields.insert("p".to_owned(), point.json(random));
        });
        if !self.several.is_empty() {
            fields.insert("ap".to_owned(), self.several.iter().map(|point| point.json(random)).collect());
        }
        Json::Object(fields).to_string()
    }
}

/// What differs in the features of a hit.
fn differing(question: &Question, document: &Document, field: &str, features: &Json) -> Option<String> {
    let found = |feature: &str| features[feature.replace('F', field)].as_f64().unwrap();
    let points = document.points(field);
    let centres = question.centres(field);
    let pairs = points.iter().flat_map(|point| centres.iter().map(|centre| centre.km_to(*point)));
    let nearest = pairs.min_by(f64::total_cmp);
    let km = nearest.unwrap_or(40_000.0);
    let microdegrees = nearest.map_or(6.4e9, |km| km * 1e6 * 180.0 / (std::f64::consts::PI * EARTH_RADIUS_KM));
    let is_near = |found: f64, wanted: f64, apart: f64| (found - wanted).abs() <= apart + 1e-6 * wanted.abs();
    let (most, scale) = (9_013_305.0_f64, 45_066.525_f64);
    let place = (most + scale).ln() - (microdegrees.min(most) + scale).ln();
    let logarithmic = place / ((most + scale).ln() - scale.ln());
    let index = found("distance(F).index");
    let shown = [index, found("distance(F).latitude"), found("distance(F).longitude")];
    let is_one = match usize::try_from(index as i64).ok().and_then(|index| points.get(index)) {
        Some(point) => {
            let is_nearest = centres.iter().any(|centre| is_near(centre.km_to(*point), km, 1e-3));
            let degrees = [f64::from(point.latitude) / 1e6, f64::from(point.longitude) / 1e6];
            is_nearest && is_near(shown[1], degrees[0], 1e-9) && is_near(shown[2], degrees[1], 1e-9)
        }
        None => nearest.is_none() && shown == [-1.0, 90.0, -180.0],
    };
    let is_same = is_one
        && is_near(found("distance(F)"), microdegrees, 0.5)
        && is_near(found("distance(F).km"), km, 1e-4)
        && is_near(found("closeness(F)"), (1.0 - microdegrees / most).max(0.0), 1e-6)
        && is_near(found("closeness(F).logscale"), logarithmic, 1e-5);
    (!is_same).then(|| format!("{field} {points:?} from {centres:?}: {features}, not {km} km"))
}

fn host() -> Host {
    let features: Vec<String> =
        FIELDS.iter().flat_map(|field| FEATURES.map(|feature| feature.replace('F', field))).collect();
    let sd = format!(
        "schema d {{ document d {{
            field p type position {{ indexing: attribute | summary }}
            field ap type array<position> {{ indexing: attribute | summary }}
        }} rank-profile all {{ first-phase {{ expression: 0 }} match-features {{ {} }} }} }}",
        features.join("\n")
    );
    Host::new(&[("services.xml", &services(&["d"])), ("schemas/d.sd", &sd)], 16 << 20)
}

#[test]
fn places_are_those_of_a_naive_twin() {
    let cases = std::env::var("PROPTEST_CASES").map_or(600, |text| text.parse().unwrap());
    let mut wrong = Vec::new();
    for case in 0..u64::div_ceil(cases, 60) {
        let mut random = Random::new(case);
        let mut host = host();
        let documents: Vec<Document> = (0..40).map(|number| Document::random(&mut random, number)).collect();
        for document in &documents {
            host.put(&document.id, &document.json(&mut random)).unwrap();
            if random.once_in(15) {
                host.compact("g:a", 1);
            }
        }
        let near: Vec<Point> = documents.iter().flat_map(|it| it.single.iter().chain(&it.several)).copied().collect();
        for _ in 0..60 {
            let question = Question::random(&mut random, &near);
            let mut parameters = vec![("ranking", "all"), ("hits", "100")];
            parameters.extend(question.parameters.iter().map(|(name, value)| (*name, value.as_str())));
            let answer = host.search("g:a", &parameters);
            let found = ids(&answer);
            for document in &documents {
                let is_found = found.contains(&document.id);
                if answer.status != 200 || question.finds(document).is_some_and(|wanted| wanted != is_found) {
                    let values = (&document.single, &document.several);
                    wrong.push(format!("{:?}: {is_found} of {values:?}, {}", question.parameters, answer.status));
                }
            }
            for hit in answer.json["root"]["children"].as_array().unwrap_or(&Vec::new()) {
                let document = documents.iter().find(|document| hit["id"] == document.id.as_str()).unwrap();
                let features = &hit["fields"]["matchfeatures"];
                wrong.extend(FIELDS.iter().filter_map(|field| differing(&question, document, field, features)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n"));
}

/// Limits of areas are rounded, those of circles are cut, as the reference implementation has it.
#[test]
fn limits_of_areas_are_rounded() {
    let mut host = host();
    host.put("id:s:d:g=a:1", r#"{"p":{"y":1234568,"x":-2234568}}"#).unwrap();
    let finds = |limits: &str| {
        let yql = format!("select * from d where geoBoundingBox(p, {limits})");
        let answer = host.search("g:a", &[("yql", &yql)]);
        assert_eq!(answer.status, 200, "{}", answer.body);
        ids(&answer).len() == 1
    };
    assert!(finds("1.2345678, -2.2345678, 1.2345678, -2.2345678"));
    assert!(finds("1.2345684, -2.2345684, 1.2345684, -2.2345684"));
    assert!(!finds("1.2345688, -3, 2, -2"));
    assert!(!finds("1, -3, 2, -2.2345688"));
    assert!(finds("-90.5, -180.5, 90.5, 540"));
    assert!(!finds("2, -180.5, 90.5, 540"));
}
