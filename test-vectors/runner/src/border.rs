//! The runner as a WebAssembly module: a buffer to write the question to, and one to read the answer from.
//!
//! The question is `topic`, a line feed, and the row, in UTF-8. Pointers are valid until the next call.
use std::cell::RefCell;

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A place of `length` bytes for the question.
// SAFETY: no other symbol of this name is linked into the module.
#[unsafe(no_mangle)]
pub extern "C" fn question(length: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        *question = vec![0; length];
        question.as_mut_ptr()
    })
}

/// Answers the question that was written; the length of the answer.
///
/// # Panics
/// If the question is not one: the module traps.
// SAFETY: no other symbol of this name is linked into the module.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    let question = QUESTION.take();
    let question = std::str::from_utf8(&question).expect("the question is UTF-8");
    let (topic, row) = question.split_once('\n').expect("the question has two parts");
    let answer = crate::answer(topic, row);
    let length = answer.len();
    ANSWER.set(answer);
    length
}

/// Where the answer is.
// SAFETY: no other symbol of this name is linked into the module.
#[unsafe(no_mangle)]
pub extern "C" fn answer_text() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
