//! Ascending places, each as its distance from the first place that could follow the one before.
//!
//! Of a list all distances have the same number of bytes, which the first byte says, as many as most need: so they are
//! read without looking where each ends, which is what a processor waits for. A distance that does not fit is told by as
//! many of the largest numbers as it has of them in it, none of which is a place, and the rest.
use crate::bitmap::Bitmap;

/// Appends a list of places, which ascend.
pub fn write_places(places: &[u32], bytes: &mut Vec<u8>) {
    let Some(last) = places.last() else { return };
    // So no more distances are told by several numbers than by one.
    match last / places.len() as u32 {
        0..0xff => write::<1>(places, bytes),
        0xff..0xffff => write::<2>(places, bytes),
        0xffff..0xff_ffff => write::<3>(places, bytes),
        _ => write::<4>(places, bytes),
    }
}

/// Tells `each` the places of a list, ascending; whether it is one, and all places are below `end`. What comes before a
/// fault may have been told.
#[must_use]
pub fn each_place(bytes: &[u8], end: u32, mut each: impl FnMut(u32)) -> bool {
    is_below(
        end,
        walk(bytes, |place, is_place| {
            if is_place && place < end {
                each(place);
            }
        }),
    )
}

/// Appends the places of a list, ascending; whether it is one, and all places are below `end`. Otherwise what is appended
/// means nothing.
#[must_use]
pub fn collect_places(bytes: &[u8], end: u32, places: &mut Vec<u32>) -> bool {
    let first = places.len();
    // There are not more places than distances, and these take a byte at least.
    places.resize(first + bytes.len(), 0);
    let (slots, mut count) = (&mut places[first..], 0);
    let next = walk(bytes, |place, is_place| {
        // Written over by the next if it is none: nothing to guess for a processor.
        if let Some(slot) = slots.get_mut(count) {
            *slot = place;
        }
        count += usize::from(is_place);
    });
    places.truncate(first + count);
    is_below(end, next)
}

/// Tells `each` the numbers of `wanted` that stand in a list so much higher, ascending; whether it is one, and all its
/// places are below `end`. What comes before a fault may have been told.
#[must_use]
pub fn each_place_of(bytes: &[u8], end: u32, (wanted, higher): (&Bitmap, u32), mut each: impl FnMut(u32)) -> bool {
    is_below(
        end,
        walk(bytes, |place, is_place| {
            // What stands before the first is far beyond the last then.
            let number = place.wrapping_sub(higher);
            if wanted.get(number as usize) && is_place {
                each(number);
            }
        }),
    )
}

/// Whether what could follow the last place is not beyond `end`.
fn is_below(end: u32, next: Option<u64>) -> bool {
    next.is_some_and(|next| next <= u64::from(end))
}

/// Tells `each` what each distance comes to, and whether it is a place; then the first that could follow. Nothing if
/// this is no list.
#[inline(always)]
fn walk(bytes: &[u8], each: impl FnMut(u32, bool)) -> Option<u64> {
    match bytes.split_first() {
        None => Some(0),
        Some((1, distances)) => walk_width::<1>(distances, each),
        Some((2, distances)) => walk_width::<2>(distances, each),
        Some((3, distances)) => walk_width::<3>(distances, each),
        Some((4, distances)) => walk_width::<4>(distances, each),
        Some(_) => None,
    }
}

/// The number that is no distance, but as much to be added to the next.
const fn largest(width: usize) -> u32 {
    u32::MAX >> (32 - 8 * width)
}

fn write<const WIDTH: usize>(places: &[u32], bytes: &mut Vec<u8>) {
    bytes.push(WIDTH as u8);
    let mut next = 0;
    for place in places {
        let mut distance = place - next;
        while distance >= largest(WIDTH) {
            bytes.extend_from_slice(&[0xff; WIDTH]);
            distance -= largest(WIDTH);
        }
        bytes.extend_from_slice(&distance.to_le_bytes()[..WIDTH]);
        next = place + 1;
    }
}

#[inline(always)]
fn walk_width<const WIDTH: usize>(bytes: &[u8], mut each: impl FnMut(u32, bool)) -> Option<u64> {
    let (distances, rest) = bytes.as_chunks::<WIDTH>();
    let mut next = 0u64;
    for bytes in distances {
        let mut distance = [0; 4];
        distance[..WIDTH].copy_from_slice(bytes);
        let distance = u32::from_le_bytes(distance);
        let is_place = distance != largest(WIDTH);
        each((next + u64::from(distance)) as u32, is_place);
        next += u64::from(distance) + u64::from(is_place);
    }
    (rest.is_empty() && distances.last() != Some(&[0xff; WIDTH])).then_some(next)
}
