//! Sums of doubles that do not depend on the order of the terms: all of the sum is kept, as doubles that do not overlap,
//! and rounded once (J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997). So an answer does not depend
//! on how documents are spread over segments and partitions.
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

/// Most doubles that do not overlap: the exponents of doubles span that much.
const PARTS_MAX: usize = 64;

/// A sum.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExactSum {
    /// Of rising size.
    parts: Vec<f64>,
    /// Terms that are infinite or no number, added up.
    special: Option<f64>,
}

impl ExactSum {
    /// Adds a term.
    pub(crate) fn add(&mut self, term: f64) {
        if let [part] = self.parts[..] {
            let sum = part + term;
            // Most sums are exact in one double: whole numbers, and quarters.
            if sum.is_finite() && error(part, term, sum) == 0.0 {
                self.parts[0] = sum;
                return;
            }
        }
        self.add_parts(term);
    }

    fn add_parts(&mut self, mut term: f64) {
        if !term.is_finite() {
            self.special = Some(self.special.unwrap_or(0.0) + term);
            return;
        }
        let mut kept = 0;
        for index in 0..self.parts.len() {
            let part = self.parts[index];
            let sum = term + part;
            if !sum.is_finite() {
                self.special = Some(self.special.unwrap_or(0.0) + sum);
                return;
            }
            let low = error(term, part, sum);
            if low != 0.0 {
                self.parts[kept] = low;
                kept += 1;
            }
            term = sum;
        }
        self.parts.truncate(kept);
        self.parts.push(term);
    }

    /// Adds the square of a term, exactly.
    pub(crate) fn add_square(&mut self, term: f64) {
        let square = term * term;
        self.add(square);
        if square.is_finite() {
            self.add(error_of_square(term, square));
        }
    }

    /// Multiplies the sum, exactly.
    pub(crate) fn scale(&mut self, by: f64) {
        for part in std::mem::take(&mut self.parts) {
            let product = part * by;
            self.add(product);
            if product.is_finite() {
                self.add(libm::fma(part, by, -product));
            }
        }
        self.special = self.special.map(|special| special * by);
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: &ExactSum) {
        other.parts.iter().for_each(|part| self.add(*part));
        if let Some(special) = other.special {
            self.special = Some(self.special.unwrap_or(0.0) + special);
        }
    }

    /// The double nearest to the sum.
    pub(crate) fn value(&self) -> f64 {
        if let Some(special) = self.special {
            return special;
        }
        let mut parts = self.parts.iter().rev();
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

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.u8(self.parts.len() as u8);
        self.parts.iter().for_each(|part| writer.f64(*part));
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
