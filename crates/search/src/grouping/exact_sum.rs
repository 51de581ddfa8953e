//! Sums of doubles that do not depend on the order of the terms: all of the sum is kept, as doubles that do not overlap,
//! and rounded once (J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997). So an answer does not depend
//! on how documents are spread over segments and partitions.
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

/// Most doubles that do not overlap: the exponents of doubles span that much.
const PARTS_MAX: usize = 64;

/// A sum: that of all its parts, exactly.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExactSum {
    /// The sum as it is rounded from term to term, what that lost, and what adding up the losses lost.
    near: [f64; 3],
    /// What was lost beyond, of rising size: nothing for numbers of one scale.
    rest: Vec<f64>,
    /// Terms that are infinite or no number, added up.
    special: Option<f64>,
}

impl ExactSum {
    /// Adds a term.
    #[inline]
    pub(crate) fn add(&mut self, term: f64) {
        let [high, middle, low] = &mut self.near;
        let sum = *high + term;
        if !sum.is_finite() {
            return self.add_special(term);
        }
        let lost = error(*high, term, sum);
        *high = sum;
        // Sums of whole numbers, and of quarters, lose nothing.
        if lost == 0.0 {
            return;
        }
        let sum = *middle + lost;
        let lost = error(*middle, lost, sum);
        *middle = sum;
        if lost == 0.0 {
            return;
        }
        let sum = *low + lost;
        let lost = error(*low, lost, sum);
        *low = sum;
        if lost != 0.0 {
            grow(&mut self.rest, lost);
        }
    }

    /// Adds a term that makes the sum infinite, or is so itself.
    #[cold]
    fn add_special(&mut self, term: f64) {
        let of_term = if term.is_finite() { self.near[0] + term } else { term };
        self.special = Some(self.special.unwrap_or(0.0) + of_term);
    }

    /// Adds the square of a term, exactly.
    #[inline]
    pub(crate) fn add_square(&mut self, term: f64) {
        let square = term * term;
        self.add(square);
        if square.is_finite() {
            self.add(error_of_square(term, square));
        }
    }

    /// Multiplies the sum, exactly.
    pub(crate) fn scale(&mut self, by: f64) {
        let whole = std::mem::take(self);
        for part in whole.parts() {
            let product = part * by;
            self.add(product);
            if product.is_finite() {
                self.add(libm::fma(part, by, -product));
            }
        }
        self.special = whole.special.map(|special| special * by).or(self.special);
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: &ExactSum) {
        other.parts().for_each(|part| self.add(part));
        if let Some(special) = other.special {
            self.special = Some(self.special.unwrap_or(0.0) + special);
        }
    }

    /// What it is the sum of.
    fn parts(&self) -> impl Iterator<Item = f64> {
        self.rest.iter().chain(self.near.iter().rev()).copied().filter(|part| *part != 0.0)
    }

    /// The double nearest to the sum.
    pub(crate) fn value(&self) -> f64 {
        if let Some(special) = self.special {
            return special;
        }
        let [high, middle, low] = self.near;
        if low == 0.0 && self.rest.is_empty() {
            // Of two numbers the sum is rounded once.
            return high + middle + 0.0;
        }
        let mut apart = Vec::with_capacity(self.rest.len() + 3);
        self.parts().for_each(|part| grow(&mut apart, part));
        nearest(&apart)
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.u8(self.parts().count() as u8);
        self.parts().for_each(|part| writer.f64(part));
        writer.u8(u8::from(self.special.is_some()));
        if let Some(special) = self.special {
            writer.f64(special);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<ExactSum, Rejection> {
        let mut sum = ExactSum::default();
        let parts = reader.u8()? as usize;
        if parts > PARTS_MAX {
            return Err(Rejection::corrupt("a sum of too many parts"));
        }
        for _ in 0..parts {
            sum.add(reader.f64()?);
        }
        if reader.u8()? == 1 {
            sum.special = Some(reader.f64()?);
        }
        Ok(sum)
    }
}

/// Adds a number to ones of rising size that do not overlap, and leaves such ones.
fn grow(parts: &mut Vec<f64>, mut term: f64) {
    let mut kept = 0;
    for index in 0..parts.len() {
        let part = parts[index];
        let sum = term + part;
        let low = error(term, part, sum);
        if low != 0.0 {
            parts[kept] = low;
            kept += 1;
        }
        term = sum;
    }
    parts.truncate(kept);
    if term != 0.0 {
        parts.push(term);
    }
}

/// The double nearest to the sum of ones of rising size that do not overlap.
fn nearest(parts: &[f64]) -> f64 {
    let mut parts = parts.iter().rev();
    let mut sum = parts.next().copied().unwrap_or(0.0);
    let mut low = 0.0;
    for part in parts.by_ref() {
        let next = sum + part;
        low = part - (next - sum);
        sum = next;
        if low != 0.0 {
            break;
        }
    }
    // Half way between two doubles the rest decides.
    if let Some(next) = parts.next()
        && (low < 0.0) == (*next < 0.0)
    {
        let twice = low * 2.0;
        let other = sum + twice;
        if other - sum == twice {
            sum = other;
        }
    }
    sum + 0.0
}

/// What is lost where `square` is the rounded `term · term`. Away from the ends of the range the halves of the term have
/// products without rounding (T. J. Dekker, "A floating-point technique for extending the available precision", 1971).
fn error_of_square(term: f64, square: f64) -> f64 {
    if !(1e-140..1e140).contains(&term.abs()) {
        return libm::fma(term, term, -square);
    }
    let scaled = term * 134_217_729.0;
    let high = scaled - (scaled - term);
    let low = term - high;
    ((high * high - square) + 2.0 * high * low) + low * low
}

/// What is lost where `sum` is the rounded `a + b`.
fn error(a: f64, b: f64, sum: f64) -> f64 {
    let b_of_sum = sum - a;
    (a - (sum - b_of_sum)) + (b - b_of_sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(terms: &[f64]) -> f64 {
        let mut sum = ExactSum::default();
        terms.iter().for_each(|term| sum.add(*term));
        sum.value()
    }

    #[test]
    fn no_order_changes_a_sum() {
        let terms = [1e100, 1.0, -1e100, 1e-100, 1e50, -1.0, -1e50, 0.1, 0.2, 0.3];
        let mut reversed = terms;
        reversed.reverse();
        assert_eq!(sum(&terms).to_bits(), sum(&reversed).to_bits());
        assert_eq!(sum(&[1e16, 1.0, 1e-16]), 10_000_000_000_000_002.0);
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[]), 0.0);
        assert_eq!(sum(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    }

    #[test]
    fn any_split_of_terms_of_all_scales_has_the_same_bits() {
        let mut state = 1u64;
        let mut next = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        for _ in 0..2_000 {
            let mut term = || {
                let scale = libm::scalbn(1.0, next(120) as i32 - 60);
                (next(1 << 31) as f64 - f64::from(1 << 30)) * scale + next(1_000) as f64 / 7.0
            };
            let terms: Vec<f64> = (0..40).map(|_| term()).collect();
            // What Shewchuk's algorithm makes of all of them, without any short cut.
            let mut parts = Vec::new();
            terms.iter().for_each(|term| grow(&mut parts, *term));
            let mut halves = [ExactSum::default(), ExactSum::default()];
            terms.iter().for_each(|term| halves[next(2) as usize].add(*term));
            let [mut whole, other] = halves;
            whole.merge(&other);
            assert_eq!(whole.value().to_bits(), nearest(&parts).to_bits(), "{terms:?}");
        }
    }

    #[test]
    fn squares_lose_nothing() {
        let mut term = 1.234_567_890_123_456_7e-160;
        for _ in 0..2_000 {
            term *= -1.443_726_2;
            assert_eq!(error_of_square(term, term * term), libm::fma(term, term, -(term * term)), "{term:e}");
        }
    }

    #[test]
    fn parts_are_merged_and_read_back() {
        let (mut a, mut b) = (ExactSum::default(), ExactSum::default());
        [1e100, 3.0].iter().for_each(|term| a.add(*term));
        [-1e100, 0.25].iter().for_each(|term| b.add_square(*term));
        a.merge(&b);
        let mut writer = Writer::new();
        a.write(&mut writer);
        let bytes = writer.finish();
        assert_eq!(ExactSum::read(&mut Reader::new(&bytes)).unwrap().value().to_bits(), a.value().to_bits());
    }
}
