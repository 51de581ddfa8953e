//! How large the memory of an instance is made, and when.
#[cfg(any(target_family = "wasm", test))]
mod pieces;

use std::cell::Cell;

/// Room beside the cache for the requests under way.
const WORKING_BYTES: usize = 32 << 20;

/// What is made room for before anything was read. A process that looks for one document in one small group takes little more; with
/// 3 MiB the host's engine looks through all it has while the first document is put, which is a twelfth of a whole start.
const FIRST_BYTES: usize = 2 << 20;

/// What comes in before the memory is made as large as it is going to be.
const LITTLE_BYTES: usize = 5 << 19;

/// By how much the memory grows by itself before that: little comes in with a small group, and ten times as much is kept of it.
const GROWN_BYTES: usize = 1 << 20;

/// The allocator.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: pieces::Pieces<rlsf::GlobalTlsf> = pieces::Pieces::new(rlsf::GlobalTlsf::new());

/// What an instance has room for as long as little was asked of it.
#[derive(Clone, Copy)]
struct Room {
    /// What is to come in yet before the memory is made as large as it is going to be.
    left: usize,
    /// How large it is before that, at most.
    little: usize,
    /// How large it is going to be.
    all: usize,
}

thread_local! {
    static ROOM: Cell<Option<Room>> = const { Cell::new(None) };
}

/// Makes the memory large for what little is asked of it first, and remembers how large it is going to be. Hosts count memory
/// as garbage to be: an engine that is given some hundred MiB looks through all it has. An instance without a cache is there for
/// a package and given up: it stays as small as that is, for some platforms count every page.
pub(crate) fn reserve(cache_bytes: usize) {
    if cache_bytes == 0 {
        return;
    }
    grow(FIRST_BYTES);
    ROOM.set(Some(Room {
        left: LITTLE_BYTES,
        little: memory_bytes() + GROWN_BYTES,
        all: cache_bytes + cache_bytes / 4 + WORKING_BYTES,
    }));
}

/// Notes that something comes in. When it comes to some MiB, or the memory grew by one, it is made as large as it is going to be, at once. The
/// allocator would grow it by a page or so whenever a block is kept, and every growth makes the host's engine forget its view
/// of the memory and count it anew as garbage: with a cache that fills, that was two fifths of all time. Pages that nobody
/// wrote to take no memory of the machine.
pub(crate) fn comes_in(bytes: usize) {
    let Some(room) = ROOM.get() else { return };
    match room.left.checked_sub(bytes) {
        Some(left) if memory_bytes() <= room.little => ROOM.set(Some(Room { left, ..room })),
        _ => {
            ROOM.set(None);
            // It has grown by itself meanwhile.
            grow(room.all.saturating_sub(memory_bytes()));
        }
    }
}

/// What the memory has. Other targets, on which only the compiler looks at this, have none.
fn memory_bytes() -> usize {
    #[cfg(target_family = "wasm")]
    return core::arch::wasm32::memory_size(0) << 16;
    #[cfg(not(target_family = "wasm"))]
    0
}

fn grow(bytes: usize) {
    let mut room: Vec<u8> = Vec::new();
    // A host that refuses so much still works, only slower.
    let _ = room.try_reserve_exact(bytes);
    // Or the compiler sees that nobody uses it.
    std::hint::black_box(&room);
}
