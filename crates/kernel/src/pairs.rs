//! Where one number stands right before another.
use crate::arch::Selected;
use crate::lanes::Lanes;

/// Numbers of a register, of two bytes each.
const LANES: usize = 8;
/// Numbers that are passed over together if no pair begins among them.
pub const PLACES: usize = 8 * LANES;

/// Numbers that are searched.
pub trait PairNumber: Copy + Eq {
    /// Whether one and two stand at the same place.
    fn meet(ones: &[Self; PLACES], twos: &[Self; PLACES], one: Self, two: Self) -> bool;
}

impl PairNumber for u16 {
    #[inline(always)]
    fn meet(ones: &[u16; PLACES], twos: &[u16; PLACES], one: u16, two: u16) -> bool {
        meet_in_lanes::<Selected>(ones, twos, one, two)
    }
}

impl PairNumber for u32 {
    /// Of a known length the compiler makes vector instructions of it, without a loop.
    #[inline(always)]
    fn meet(ones: &[u32; PLACES], twos: &[u32; PLACES], one: u32, two: u32) -> bool {
        ones.iter().zip(twos).fold(false, |any, (a, b)| any | ((*a == one) & (*b == two)))
    }
}

#[inline(always)]
fn meet_in_lanes<L: Lanes>(ones: &[u16; PLACES], twos: &[u16; PLACES], one: u16, two: u16) -> bool {
    let (one, two) = (L::splat_u16(one), L::splat_u16(two));
    let mut any = L::splat_u16(0);
    for (ones, twos) in ones.as_chunks::<LANES>().0.iter().zip(twos.as_chunks::<LANES>().0) {
        let both = L::and_i16(L::equal_i16(L::load_u16(ones), one), L::equal_i16(L::load_u16(twos), two));
        any = L::or_i16(any, both);
    }
    L::any_i16(any)
}

/// Tells `each` the places of `numbers`, ascending, where `one` stands and `two` right behind it.
pub fn each_pair<N: PairNumber>(numbers: &[N], (one, two): (N, N), mut each: impl FnMut(usize)) {
    let Some(behind) = numbers.get(1..) else { return };
    let (ones, rest) = numbers[..behind.len()].as_chunks::<PLACES>();
    let (twos, _) = behind.as_chunks::<PLACES>();
    let mut consider = |at: usize| {
        if numbers[at] == one && behind[at] == two {
            each(at);
        }
    };
    for (number, (ones, twos)) in ones.iter().zip(twos).enumerate() {
        if N::meet(ones, twos, one, two) {
            let start = number * PLACES;
            (start..start + PLACES).for_each(&mut consider);
        }
    }
    (behind.len() - rest.len()..behind.len()).for_each(consider);
}
