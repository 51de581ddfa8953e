//! How far something was written that may rest: where a step has done enough, what is open is left as it stands, and a later step
//! goes on there. A value that is written to its end at once goes the same way, with work without end.

/// What a number that is written as decimal digits takes, beside a byte of a text that is only copied.
pub const NUMBER_WORK: usize = 64;
/// What is done for a text or an entry besides, likewise.
pub const MARK_WORK: usize = 48;
/// Bytes of a text that are written between two looks at the work that is left.
pub const PIECE_BYTES: usize = 1 << 15;

/// Where the next part is in each value that is open, and what may still be done.
#[derive(Debug)]
pub struct Progress {
    /// The innermost of the open values first. It is there while nothing is being written.
    open: Vec<usize>,
    work_left: usize,
}

impl Default for Progress {
    fn default() -> Self {
        Progress::endless()
    }
}

impl Progress {
    /// Nothing written yet, and all of it may be at once.
    #[must_use]
    pub fn endless() -> Progress {
        Progress { open: Vec::new(), work_left: usize::MAX }
    }

    /// Sets how much may be done until it rests, in bytes of a text that is copied.
    pub fn may_do(&mut self, work: usize) {
        self.work_left = work;
    }

    /// How much may still be done.
    #[must_use]
    pub fn work_left(&self) -> usize {
        self.work_left
    }

    /// Whether the value that is to be written next was begun already.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        !self.open.is_empty()
    }

    /// Some work was done.
    pub fn work(&mut self, done: usize) {
        self.work_left = self.work_left.saturating_sub(done);
    }

    /// Writes the parts of a value, of which there are `count`: `part` is called with the number of each, again where it rested within
    /// one, which it says by `false`. Returns whether all are written. What stands before the first is written by who calls, unless
    /// the value [is begun](Progress::is_begun); what stands behind the last, where this returns `true`.
    #[inline]
    pub fn parts(&mut self, count: usize, mut part: impl FnMut(&mut Progress, usize) -> bool) -> bool {
        for at in self.open.pop().unwrap_or(0)..count {
            // A part that was begun goes on in any case, so that every step comes further.
            if (self.work_left == 0 && !self.is_begun()) || !part(self, at) {
                self.open.push(at);
                return false;
            }
        }
        true
    }

    /// Writes a text in pieces, likewise: one, if it is empty. A byte of it takes so much work.
    pub fn text(&mut self, text: &str, work_of_byte: usize, mut piece: impl FnMut(&str)) -> bool {
        self.parts(text.len().div_ceil(PIECE_BYTES).max(1), |progress, at| {
            let [from, to] = [at, at + 1].map(|at| text.floor_char_boundary((at * PIECE_BYTES).min(text.len())));
            progress.work(MARK_WORK + work_of_byte * (to - from));
            piece(&text[from..to]);
            true
        })
    }

    /// Writes bytes in pieces, likewise, whole threes of them in all but the last.
    pub fn bytes(&mut self, bytes: &[u8], work_of_byte: usize, mut piece: impl FnMut(&[u8])) -> bool {
        let of_piece = PIECE_BYTES / 4 * 3;
        self.parts(bytes.len().div_ceil(of_piece).max(1), |progress, at| {
            let part = &bytes[at * of_piece..bytes.len().min((at + 1) * of_piece)];
            progress.work(MARK_WORK + work_of_byte * part.len());
            piece(part);
            true
        })
    }
}
