//! The canonical text of the grouping language: what labels are made of, and what is shown of a request.
use std::fmt::{Display, Formatter, Result};

use super::tree::{Bound, Bucket, Expression, ExpressionKind, Filter, MapKey, Number, Operation, Path};
use crate::number::display_float;

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut parts: Vec<String> = Vec::new();
        let list = |items: &[Expression]| {
            let texts = items.iter().map(|item| match &item.label {
                Some(label) => format!("{item} as({label})"),
                None => item.to_string(),
            });
            texts.collect::<Vec<_>>().join(", ")
        };
        parts.extend(self.group_by.iter().map(|by| format!("group({by})")));
        parts.extend(self.hints.iter().map(|hint| format!("hint({hint})")));
        parts.extend(self.filter.iter().map(|filter| format!("filter({filter})")));
        parts.extend(self.max.filter(|max| *max >= 0).map(|max| format!("max({max})")));
        if !self.order.is_empty() {
            // Names given here say nothing.
            let texts: Vec<String> = self.order.iter().map(ToString::to_string).collect();
            parts.push(format!("order({})", texts.join(", ")));
        }
        if !self.outputs.is_empty() {
            parts.push(format!("output({})", list(&self.outputs)));
        }
        parts.extend(self.precision.filter(|precision| *precision > 0).map(|it| format!("precision({it})")));
        parts.extend(self.documents.iter().map(|documents| format!("where({documents})")));
        parts.extend(self.children.iter().map(ToString::to_string));
        write!(f, "{}({})", if self.each { "each" } else { "all" }, parts.join(" "))?;
        self.label.as_ref().map_or(Ok(()), |label| write!(f, " as({label})"))
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            ExpressionKind::Number(number) => number.fmt(f),
            ExpressionKind::Text(text) => print_quoted(text, f),
            ExpressionKind::Field(path, false) => path.fmt(f),
            ExpressionKind::Field(path, true) => write!(f, "attribute({path})"),
            ExpressionKind::Call(function, arguments) => {
                write!(f, "{}(", function.name())?;
                print_joined(arguments, ", ", f)?;
                f.write_str(")")
            }
            ExpressionKind::FixedWidth(of, width) => write!(f, "fixedwidth({of}, {width})"),
            ExpressionKind::Predefined(of, buckets) => {
                write!(f, "predefined({of}, ")?;
                print_joined(buckets, ", ", f)?;
                f.write_str(")")
            }
            ExpressionKind::Md5(of, bits) => write!(f, "md5({of}, {bits})"),
            ExpressionKind::XorBit(of, bits) => write!(f, "xorbit({of}, {bits})"),
            ExpressionKind::Uca(of, locale, None) => write!(f, "uca({of}, \"{locale}\")"),
            ExpressionKind::Uca(of, locale, Some(strength)) => write!(f, "uca({of}, \"{locale}\", \"{strength}\")"),
            ExpressionKind::ArrayAt(path, index) => write!(f, "array.at({path}, {index})"),
            ExpressionKind::InterpolatedLookup(path, of) => write!(f, "interpolatedlookup({path}, {of})"),
            ExpressionKind::GeoDistance(path, point, miles) => {
                let unit = if *miles { "miles" } else { "km" };
                write!(f, "geo_distance(attribute({path}), {}, {}).{unit}", point[0], point[1])
            }
            ExpressionKind::DebugWait(of, seconds, busy) => {
                write!(f, "debugwait({of}, {}, {busy})", display_float(*seconds))
            }
            ExpressionKind::Relevance => f.write_str("relevance()"),
            ExpressionKind::Now => f.write_str("now()"),
            ExpressionKind::DocumentIdSpecific => f.write_str("docidnsspecific()"),
            ExpressionKind::Count => f.write_str("count()"),
            ExpressionKind::Aggregate(aggregator, of) => write!(f, "{}({of})", aggregator.name()),
            ExpressionKind::Quantiles(quantiles, of) => {
                let texts: Vec<String> = quantiles.iter().map(|quantile| display_float(*quantile)).collect();
                write!(f, "quantiles([{}],{of})", texts.join(","))
            }
            ExpressionKind::Summary(class) => write!(f, "summary({})", class.as_deref().unwrap_or_default()),
        }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Path { name, key, rest } = self;
        match key {
            None => write!(f, "{name}{rest}"),
            Some(MapKey::Text(key)) => write!(f, "{name}{{\"{key}\"}}{rest}"),
            Some(MapKey::Field(field)) => write!(f, "{name}{{attribute({field})}}{rest}"),
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Number::Long(value) => write!(f, "{value}"),
            Number::Double(value) => f.write_str(&display_float(*value)),
        }
    }
}

impl Display for Filter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Filter::Regex(pattern, of) => write!(f, "regex(\"{pattern}\", {of})"),
            Filter::Range { low, high, of, with_low, with_high } => {
                write!(f, "range({low}, {high}, {of}, {with_low}, {with_high})")
            }
            Filter::IsTrue(of) => write!(f, "istrue({of})"),
            Filter::Not(of) => write!(f, "(not {of})"),
            Filter::And(filters) | Filter::Or(filters) => {
                f.write_str("(")?;
                print_joined(filters, if matches!(self, Filter::And(_)) { " and " } else { " or " }, f)?;
                f.write_str(")")
            }
        }
    }
}

impl Display for Bucket {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("bucket[")?;
        bound(&self.from, "-inf", f)?;
        f.write_str(", ")?;
        bound(&self.to, "inf", f)?;
        f.write_str(">")
    }
}

fn bound(bound: &Bound, infinite: &str, f: &mut Formatter<'_>) -> Result {
    match bound {
        Bound::Infinite => f.write_str(infinite),
        Bound::Long(value) => write!(f, "{value}"),
        Bound::Double(value) => f.write_str(&display_float(*value)),
        Bound::Text(text) => print_quoted(text, f),
        Bound::Raw(bytes) => {
            f.write_str("{")?;
            print_joined(bytes, ",", f)?;
            f.write_str("}")
        }
    }
}

fn print_joined<T: Display>(items: &[T], separator: &str, f: &mut Formatter<'_>) -> Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}

/// A text in quotes; what is not printable ASCII is written as UTF-16 units.
fn print_quoted(text: &str, f: &mut Formatter<'_>) -> Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            ' '..='~' => write!(f, "{c}")?,
            other => {
                let mut units = [0; 2];
                for unit in other.encode_utf16(&mut units) {
                    write!(f, "\\u{unit:04x}")?;
                }
            }
        }
    }
    f.write_str("\"")
}
