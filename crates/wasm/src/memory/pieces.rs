//! Small pieces of memory that were given back and are taken again soon: a few of each size, in front of an allocator that
//! finds, cuts and joins pieces of any size. A search takes and gives back some thousand of them.
//!
//! What is kept here is bounded, and so is what other sizes cannot have meanwhile (ADR 0183).
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr::null_mut;

/// Sizes differ by so much, and all pieces begin at multiples of it.
const STEP: usize = 16;
/// The largest pieces that are kept.
const PIECE_BYTES: usize = 512;
const SIZES: usize = PIECE_BYTES / STEP;
/// What pieces of one size may come to, all that are kept together.
const SIZE_BYTES: usize = 4 << 10;

/// An allocator with small pieces at hand.
pub(super) struct Pieces<A> {
    inner: A,
    kept: UnsafeCell<[Kept; SIZES]>,
}

/// The pieces of one size that are kept. The first bytes of each say where the next is.
#[derive(Clone, Copy)]
struct Kept {
    first: *mut u8,
    count: usize,
}

// SAFETY: an instance of the module has one thread.
unsafe impl<A> Sync for Pieces<A> {}

impl<A> Pieces<A> {
    pub(super) const fn new(inner: A) -> Pieces<A> {
        Pieces { inner, kept: UnsafeCell::new([Kept { first: null_mut(), count: 0 }; SIZES]) }
    }
}

/// The number of a layout's size, if its pieces are kept, and the layout that all of them have.
fn size_of(layout: Layout) -> Option<(usize, Layout)> {
    let is_kept = layout.align() <= STEP && (1..=PIECE_BYTES).contains(&layout.size());
    let size = layout.size().next_multiple_of(STEP);
    let of_all = Layout::from_size_align(size, STEP).ok().filter(|_| is_kept)?;
    Some((size / STEP - 1, of_all))
}

// SAFETY: a piece is of the inner allocator, by the layout of its size; it is either kept or somebody's.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Pieces<A> {
    // One function each: inlined wherever memory is taken, they would make the module a hundredth larger.
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((number, of_all)) = size_of(layout) else { return unsafe { self.inner.alloc(layout) } };
        // SAFETY: one thread, and nothing below allocates while the list is borrowed.
        let kept = unsafe { &mut (*self.kept.get())[number] };
        if kept.first.is_null() {
            return unsafe { self.inner.alloc(of_all) };
        }
        let piece = kept.first;
        // SAFETY: a piece that is kept is larger than a pointer, begins at a multiple of STEP and is nobody's.
        kept.first = unsafe { piece.cast::<*mut u8>().read() };
        kept.count -= 1;
        piece
    }

    #[inline(never)]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        let Some((number, of_all)) = size_of(layout) else { return unsafe { self.inner.dealloc(piece, layout) } };
        // SAFETY: as above.
        let kept = unsafe { &mut (*self.kept.get())[number] };
        if (kept.count + 1) * of_all.size() > SIZE_BYTES {
            return unsafe { self.inner.dealloc(piece, of_all) };
        }
        // SAFETY: as above; it was somebody's until now.
        unsafe { piece.cast::<*mut u8>().write(kept.first) };
        (kept.first, kept.count) = (piece, kept.count + 1);
    }

    #[inline(never)]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps to what layouts are.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (size_of(layout), size_of(wanted)) {
            (None, None) => unsafe { self.inner.realloc(piece, layout, size) },
            (Some((before, _)), Some((after, _))) if before == after => piece,
            _ => {
                let moved = unsafe { self.alloc(wanted) };
                if !moved.is_null() {
                    // SAFETY: both are as large as the smaller one, and different pieces.
                    unsafe { piece.copy_to_nonoverlapping(moved, layout.size().min(size)) };
                    unsafe { self.dealloc(piece, layout) };
                }
                moved
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::System;
    use std::cell::Cell;

    /// Counts the bytes that are taken of the system, by the layouts they are given back with.
    struct Counted(Cell<isize>);

    // SAFETY: the system's own.
    unsafe impl GlobalAlloc for Counted {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            self.0.set(self.0.get() + layout.size() as isize);
            unsafe { System.alloc(layout) }
        }
        unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
            self.0.set(self.0.get() - layout.size() as isize);
            unsafe { System.dealloc(piece, layout) };
        }
    }

    /// A piece somebody has, and what all of its bytes are.
    type Owned = (*mut u8, Layout, u8);

    fn check((piece, layout, byte): Owned) {
        assert_eq!(piece as usize % layout.align(), 0);
        let bytes = unsafe { std::slice::from_raw_parts(piece, layout.size()) };
        assert!(bytes.iter().all(|of| *of == byte), "{layout:?}");
    }

    #[test]
    fn pieces_are_whole_and_what_is_kept_is_bounded() {
        let pieces = Pieces::new(Counted(Cell::new(0)));
        let mut state = 7u32;
        let mut next = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        let mut owned: Vec<Owned> = Vec::new();
        let fill = |piece: *mut u8, layout: Layout, byte: u8| unsafe { piece.write_bytes(byte, layout.size()) };
        for round in 0..60_000 {
            let byte = round as u8;
            match next(5) {
                0 | 1 => {
                    let layout = Layout::from_size_align(1 + next(700), 1 << next(7)).expect("a layout");
                    let piece = unsafe { pieces.alloc(layout) };
                    fill(piece, layout, byte);
                    owned.push((piece, layout, byte));
                }
                2 if !owned.is_empty() => {
                    let at = next(owned.len());
                    let (piece, layout, byte) = owned[at];
                    let wanted = Layout::from_size_align(1 + next(700), layout.align()).expect("a layout");
                    let moved = unsafe { pieces.realloc(piece, layout, wanted.size()) };
                    let kept = Layout::from_size_align(layout.size().min(wanted.size()), layout.align());
                    check((moved, kept.expect("a layout"), byte));
                    fill(moved, wanted, byte);
                    owned[at] = (moved, wanted, byte);
                }
                _ if !owned.is_empty() => {
                    let of = owned.swap_remove(next(owned.len()));
                    check(of);
                    unsafe { pieces.dealloc(of.0, of.1) };
                }
                _ => {}
            }
        }
        owned.iter().for_each(|of| check(*of));
        owned.into_iter().for_each(|(piece, layout, _)| unsafe { pieces.dealloc(piece, layout) });
        let kept = pieces.inner.0.get() as usize;
        assert!((1..=SIZES * SIZE_BYTES).contains(&kept), "{kept}");
        // All of it is in the lists, each piece once.
        for number in 0..SIZES {
            let layout = Layout::from_size_align((number + 1) * STEP, 1).expect("a layout");
            while unsafe { !(*pieces.kept.get())[number].first.is_null() } {
                let piece = unsafe { pieces.alloc(layout) };
                let (_, of_all) = size_of(layout).expect("a size that is kept");
                unsafe { pieces.inner.dealloc(piece, of_all) };
            }
        }
        assert_eq!(pieces.inner.0.get(), 0);
    }
}
