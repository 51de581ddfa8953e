//! `random`, `random.match`, `randomNormal(mean,deviation)`, `randomNormalStable(mean,deviation)`, `globalSequence`.
//!
//! The core has no randomness of its own. A number is drawn from the 48-bit linear congruential generator (multiplier
//! 0x5DEECE66D, increment 11, the upper 31 bits) seeded with the document's id and, for `random` and `randomNormal`,
//! with the property `seed` of the feature as it is written (`random.seed`, `random(2).seed`) or else the time of the
//! request in seconds, so that `random(1)` and `random(2)` differ; `random.match` and randomNormalStable take the property
//! `random.match.seed` (`randomNormalStable(0,1).seed`), 1024 by default, instead: they stay the same from request to
//! request. randomNormal is the polar method over the same numbers. globalSequence is a
//! number of 53 bits made of the id.
use brooklet_rank::{FeatureName, FeatureType, text_hash};
use brooklet_segment::{Halt, read_id};
use brooklet_task::Rejection;

use super::feature::{Document, DocumentFeature, refuse, takes};
use crate::plan::SchemaPlan;

pub(super) struct Random {
    seed: u64,
    shape: Shape,
}

enum Shape {
    Even,
    Normal { mean: f64, deviation: f64 },
    Sequence,
}

pub(super) fn feature_type(feature: &FeatureName) -> Result<FeatureType, Rejection> {
    let (least, most) = if feature.name.starts_with("randomNormal") { (0, 2) } else { (0, 1) };
    takes(feature, least, most)?;
    if let Some(output) = &feature.output
        && !(output == "out" || feature.name == "random" && output == "match")
    {
        return Err(refuse(feature, "has no such output"));
    }
    if feature.name.starts_with("randomNormal") {
        numbers(feature)?;
    }
    Ok(FeatureType::Number)
}

fn numbers(feature: &FeatureName) -> Result<(f64, f64), Rejection> {
    let number = |index: usize, default: f64| match feature.parameters.get(index) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| refuse(feature, "takes numbers")),
    };
    Ok((number(0, 0.0)?, number(1, 1.0)?))
}

#[inline(never)]
pub(super) fn bind(feature: &FeatureName, plan: &SchemaPlan, now: i64) -> Result<Random, Rejection> {
    let name = &feature.name;
    let base = FeatureName { output: None, ..feature.clone() }.to_string();
    let is_match = feature.output.as_deref() == Some("match");
    let key = if is_match { format!("{base}.match.seed") } else { format!("{base}.seed") };
    let given = plan.rank_properties.values(&key).first().and_then(|text| text.trim().parse().ok());
    let shape = match name.as_str() {
        "globalSequence" => Shape::Sequence,
        "random" => Shape::Even,
        _ => {
            let (mean, deviation) = numbers(feature)?;
            Shape::Normal { mean, deviation }
        }
    };
    let otherwise = match is_match || name == "randomNormalStable" {
        true => 1024,
        // What stands in the parentheses makes it another feature.
        false if name == "random" && !feature.parameters.is_empty() => text_hash(&base).to_bits() ^ now as u64,
        false => now as u64,
    };
    Ok(Random { seed: given.unwrap_or(otherwise), shape })
}

impl DocumentFeature for Random {
    fn number(&self, document: &mut Document<'_>) -> Result<f64, Halt> {
        let segment = &document.spot.at().segment;
        let id = read_id(&segment.header, document.spot.ordinal, &mut document.reads.segment(segment))?;
        let of_document = text_hash(&id).to_bits();
        let mut generator = Generator::new(self.seed.wrapping_add(of_document));
        Ok(match self.shape {
            Shape::Even => generator.next(),
            Shape::Sequence => (of_document >> 11) as f64,
            Shape::Normal { mean, deviation } => mean + deviation * generator.normal(),
        })
    }
}

/// The 48-bit linear congruential generator.
struct Generator(u64);

impl Generator {
    fn new(seed: u64) -> Generator {
        // Neighbouring seeds are spread over all bits, for only 32 of them count.
        let spread = (seed ^ seed >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Generator((spread << 16) + 0x330e)
    }

    /// From 0 to below 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(0x5_DEEC_E66D).wrapping_add(11) & ((1 << 48) - 1);
        (self.0 >> 17) as f64 / f64::from(1u32 << 31)
    }

    /// Of mean 0 and deviation 1.
    fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (self.next() * 2.0 - 1.0, self.next() * 2.0 - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                return u * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_even_and_normal() {
        let evens: Vec<f64> = (0..20_000).map(|seed| Generator::new(seed).next()).collect();
        assert!(evens.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = evens.iter().sum::<f64>() / evens.len() as f64;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        let normals: Vec<f64> = (0..20_000).map(|seed| Generator::new(seed).normal()).collect();
        let mean = normals.iter().sum::<f64>() / normals.len() as f64;
        let variance = normals.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / normals.len() as f64;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
