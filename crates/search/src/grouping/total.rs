//! What is added up in a group. Adding and merging in any order yields the same bits.
use std::cmp::Ordering;

use brooklet_kernel::sort_by;
use brooklet_query::grouping::GroupValue;
use brooklet_task::Rejection;
use brooklet_task::bytes::{Reader, Writer};

use super::datum::{Datum, compare_doubles};
use super::datum_bytes::{read_datum, write_datum};
use super::exact_sum::ExactSum;

/// The state of one total of one group.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// Whole numbers, as they wrap around.
    Longs(i64),
    /// Numbers of which one at least had a fraction, in its type.
    Doubles(Box<ExactSum>),
    Mean {
        longs: i128,
        doubles: Option<Box<ExactSum>>,
        count: u64,
    },
    Least(Datum),
    Greatest(Datum),
    Xor(i64),
    Deviation(Box<Deviation>),
    Values(Vec<f64>),
}

/// The sums a standard deviation is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deviation {
    count: u64,
    sum: ExactSum,
    squares: ExactSum,
}

impl State {
    /// Adds a value, every element of it. Returns bytes it takes more.
    #[inline]
    pub(crate) fn add(&mut self, value: &Datum) -> usize {
        let elements = value.elements();
        elements.iter().for_each(|element| self.add_one(element));
        if let State::Values(_) = self { 8 * elements.len() } else { 0 }
    }

    #[inline]
    fn add_one(&mut self, value: &Datum) {
        match self {
            State::Longs(sum) if value.is_whole() => *sum = sum.wrapping_add(value.long()),
            State::Longs(sum) => {
                // The first of a type with fractions; all of one expression have it, so nothing was added before.
                let mut doubles = Box::<ExactSum>::default();
                if *sum != 0 {
                    doubles.add(*sum as f64);
                }
                doubles.add(value.double());
                *self = State::Doubles(doubles);
            }
            State::Doubles(sum) => sum.add(value.double()),
            State::Mean { longs, doubles, count } => {
                *count += 1;
                match value {
                    Datum::Bool(_) | Datum::Long(_) => *longs += i128::from(value.long()),
                    value => doubles.get_or_insert_default().add(value.double()),
                }
            }
            State::Least(least) => replace(least, value, Ordering::Less),
            State::Greatest(greatest) => replace(greatest, value, Ordering::Greater),
            State::Xor(bits) => *bits ^= value.long(),
            State::Deviation(deviation) => {
                deviation.count += 1;
                deviation.sum.add(value.double());
                deviation.squares.add_square(value.double());
            }
            State::Values(values) => values.push(value.double()),
        }
    }

    /// Adds what another of its kind has. Returns bytes it takes more.
    pub(crate) fn merge(&mut self, other: &State) -> Result<usize, Rejection> {
        match (&mut *self, other) {
            (State::Longs(a), State::Longs(b)) => *a = a.wrapping_add(*b),
            (State::Doubles(a), State::Doubles(b)) => a.merge(b),
            // Schemas may have another type for the field of one name.
            (State::Doubles(a), State::Longs(b)) => a.add(*b as f64),
            (State::Longs(a), State::Doubles(b)) => {
                let mut sum = b.clone();
                sum.add(*a as f64);
                *self = State::Doubles(sum);
            }
            (State::Mean { longs, doubles, count }, State::Mean { longs: l, doubles: d, count: c }) => {
                *longs = longs.wrapping_add(*l);
                *count = count.saturating_add(*c);
                if let Some(other) = d {
                    doubles.get_or_insert_default().merge(other);
                }
            }
            (State::Least(a), State::Least(b)) => replace(a, b, Ordering::Less),
            (State::Greatest(a), State::Greatest(b)) => replace(a, b, Ordering::Greater),
            (State::Xor(a), State::Xor(b)) => *a ^= b,
            (State::Deviation(a), State::Deviation(b)) => {
                a.count = a.count.saturating_add(b.count);
                a.sum.merge(&b.sum);
                a.squares.merge(&b.squares);
            }
            (State::Values(a), State::Values(b)) => {
                a.extend_from_slice(b);
                return Ok(8 * b.len());
            }
            _ => return Err(Rejection::corrupt("totals of another grouping")),
        }
        Ok(0)
    }

    /// What is shown, and ordered by.
    pub(crate) fn result(&self, what: &GroupValue) -> Datum {
        match self {
            State::Longs(sum) | State::Xor(sum) => Datum::Long(*sum),
            State::Doubles(sum) => Datum::Double(sum.value()),
            State::Mean { count: 0, .. } => Datum::Double(0.0),
            State::Mean { longs, doubles, count } => Datum::Double(match doubles {
                None => *longs as f64 / *count as f64,
                Some(doubles) => (doubles.value() + *longs as f64) / *count as f64,
            }),
            State::Least(value) | State::Greatest(value) => value.clone(),
            State::Deviation(of) => Datum::Double(of.result()),
            State::Values(values) => match what {
                GroupValue::Quantiles(quantiles, _) => Datum::several(of_values(quantiles, values)),
                _ => Datum::Nothing,
            },
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        match self {
            State::Longs(sum) => {
                writer.u8(0);
                writer.u64(*sum as u64);
            }
            State::Doubles(sum) => {
                writer.u8(1);
                sum.write(writer);
            }
            State::Mean { longs, doubles, count } => {
                writer.varint(*count);
                writer.raw(&longs.to_le_bytes());
                writer.u8(u8::from(doubles.is_some()));
                doubles.iter().for_each(|sum| sum.write(writer));
            }
            State::Least(value) | State::Greatest(value) => write_datum(value, writer),
            State::Xor(bits) => writer.u64(*bits as u64),
            State::Deviation(of) => {
                writer.varint(of.count);
                of.sum.write(writer);
                of.squares.write(writer);
            }
            State::Values(values) => {
                writer.varint(values.len() as u64);
                values.iter().for_each(|value| writer.f64(*value));
            }
        }
    }

    /// Reads what one of its kind wrote.
    pub(crate) fn read(&self, reader: &mut Reader<'_>) -> Result<State, Rejection> {
        Ok(match self {
            State::Longs(_) | State::Doubles(_) => match reader.u8()? {
                0 => State::Longs(reader.u64()? as i64),
                _ => State::Doubles(Box::new(ExactSum::read(reader)?)),
            },
            State::Mean { .. } => {
                let count = reader.varint()?;
                let mut bytes = [0; 16];
                bytes.copy_from_slice(reader.raw(16)?);
                let doubles = if reader.u8()? == 1 { Some(Box::new(ExactSum::read(reader)?)) } else { None };
                State::Mean { longs: i128::from_le_bytes(bytes), doubles, count }
            }
            State::Least(_) => State::Least(read_datum(reader)?),
            State::Greatest(_) => State::Greatest(read_datum(reader)?),
            State::Xor(_) => State::Xor(reader.u64()? as i64),
            State::Deviation(_) => {
                let count = reader.varint()?;
                let (sum, squares) = (ExactSum::read(reader)?, ExactSum::read(reader)?);
                State::Deviation(Box::new(Deviation { count, sum, squares }))
            }
            State::Values(_) => {
                let count = reader.count(8)?;
                State::Values((0..count).map(|_| reader.f64()).collect::<Result<_, _>>()?)
            }
        })
    }
}

fn replace(kept: &mut Datum, value: &Datum, wanted: Ordering) {
    let is_nan = matches!(value, Datum::Double(value) if value.is_nan()) || matches!(value, Datum::Nothing);
    // Schemas may have several types for the field of one name: of equal numbers one is kept, whichever came first.
    let is_wider = |order: Ordering| order == Ordering::Equal && value.width() > kept.width();
    let order = value.compare(kept);
    if !is_nan && (matches!(kept, Datum::Nothing) || order == wanted || is_wider(order)) {
        *kept = match value {
            // There is one zero.
            Datum::Double(value) => Datum::Double(value + 0.0),
            value => value.clone(),
        };
    }
}

impl Deviation {
    /// That of the whole population: √(Σ(x − mean)² / n).
    fn result(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let count = self.count as f64;
        // That is the sum of (x − m)² with m the mean: as Σx² − 2mΣx + nm², added up exactly, the rounding of m is of
        // second order only, where the difference of two rounded numbers would be of no use.
        let mean = self.sum.value() / count;
        let (mut squares, mut products, mut means) = (self.squares.clone(), self.sum.clone(), ExactSum::default());
        products.scale(-2.0 * mean);
        means.add_square(mean);
        means.scale(count);
        squares.merge(&products);
        squares.merge(&means);
        let variance = squares.value() / count;
        if variance.is_nan() { variance } else { variance.max(0.0).sqrt() }
    }
}

/// Each quantile with its value: the least that so large a share of the values does not exceed.
fn of_values(quantiles: &[f64], values: &[f64]) -> Vec<Datum> {
    let mut sorted = values.to_vec();
    sort_by(&mut sorted, |a, b| compare_doubles(*a, *b));
    let of = |quantile: f64| {
        let rank = (quantile * sorted.len() as f64).ceil() as usize;
        // There is one zero.
        sorted.get(rank.max(1) - 1).map_or(Datum::Nothing, |value| Datum::Double(value + 0.0))
    };
    quantiles.iter().map(|quantile| of(*quantile)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Datum, of_values};

    #[test]
    fn a_quantile_is_one_zero_in_whatever_order_zeros_come() {
        for values in [[0.0, -0.0, -0.0], [-0.0, 0.0, -0.0], [-0.0, -0.0, 0.0]] {
            for value in of_values(&[0.0, 0.5, 1.0], &values) {
                assert!(matches!(value, Datum::Double(zero) if zero == 0.0 && zero.is_sign_positive()), "{values:?}");
            }
        }
    }
}
