//! Why reading stopped, and reading many things so that all that is missing of them is asked for at once.
use brooklet_task::Rejection;

/// Why reading stopped.
#[derive(Debug)]
pub enum Halt {
    /// A block is not here; who gave the [`BlockSource`](crate::BlockSource) knows which, and may try again once it is.
    Missing,
    /// It can never work.
    Rejected(Rejection),
}

impl From<Rejection> for Halt {
    fn from(rejection: Rejection) -> Halt {
        Halt::Rejected(rejection)
    }
}

/// Reads each of `items`. What is missing of one does not keep the others from being read, so that all missing blocks are
/// noted before it halts, and come in one round.
///
/// # Errors
/// At once what can never work; after the last item [`Halt::Missing`], if a block of any is not here.
pub fn gather<T, R>(
    items: impl IntoIterator<Item = T>,
    mut read: impl FnMut(T) -> Result<R, Halt>,
) -> Result<Vec<R>, Halt> {
    let items = items.into_iter();
    let mut gaps = Gaps::default();
    let mut values = Vec::with_capacity(items.size_hint().0);
    for item in items {
        values.extend(gaps.note(read(item))?);
    }
    gaps.check()?;
    Ok(values)
}

/// Whether blocks were missing so far, for loops that [`gather`] does not suit: each result goes through
/// [`note`](Gaps::note), and the last word is [`check`](Gaps::check)'s.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps {
    are_there: bool,
}

impl Gaps {
    /// What was read; nothing if a block of it is missing, which is remembered.
    ///
    /// # Errors
    /// If it can never work.
    pub fn note<T>(&mut self, read: Result<T, Halt>) -> Result<Option<T>, Halt> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(Halt::Missing) => {
                self.are_there = true;
                Ok(None)
            }
            Err(halt) => Err(halt),
        }
    }

    /// Whether something was missing.
    #[must_use]
    pub fn are_there(&self) -> bool {
        self.are_there
    }

    /// Halts if something was missing.
    ///
    /// # Errors
    /// [`Halt::Missing`].
    pub fn check(&self) -> Result<(), Halt> {
        if self.are_there { Err(Halt::Missing) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers are read, but for 3 and 5, which are missing, and 9, which is damaged.
    fn read(number: u32, asked: &mut Vec<u32>) -> Result<u32, Halt> {
        asked.push(number);
        match number {
            3 | 5 => Err(Halt::Missing),
            9 => Err(Rejection::corrupt("nine").into()),
            number => Ok(10 * number),
        }
    }

    #[test]
    fn all_that_is_missing_is_asked_for_before_it_halts() {
        let mut asked = Vec::new();
        assert_eq!(gather([1, 2], |number| read(number, &mut asked)).unwrap(), [10, 20]);
        asked.clear();
        let halted = gather([1, 3, 4, 5, 6], |number| read(number, &mut asked));
        assert!(matches!(halted, Err(Halt::Missing)));
        assert_eq!(asked, [1, 3, 4, 5, 6]);
    }

    #[test]
    fn what_can_never_work_ends_it_at_once() {
        let mut asked = Vec::new();
        let halted = gather([3, 9, 5], |number| read(number, &mut asked));
        assert!(matches!(halted, Err(Halt::Rejected(_))));
        assert_eq!(asked, [3, 9]);
    }

    #[test]
    fn gaps_are_remembered() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.note(Ok(1)).unwrap(), Some(1));
        assert!(!gaps.are_there() && gaps.check().is_ok());
        assert_eq!(gaps.note::<u32>(Err(Halt::Missing)).unwrap(), None);
        assert_eq!(gaps.note(Ok(2)).unwrap(), Some(2));
        assert!(gaps.are_there() && matches!(gaps.check(), Err(Halt::Missing)));
        assert!(gaps.note::<u32>(Err(Rejection::corrupt("nine").into())).is_err());
    }
}
