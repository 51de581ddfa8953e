//! The kinds of tasks, with their numbers at the border.

/// A kind of task. Its number and its name are those of docs/abi.md; xtask prints them for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Makes an operation of what a client sent.
    Encode = 1,
    /// Searches the one partition of a query.
    Search = 2,
    /// Reads a document.
    Get = 3,
    /// Folds or rewrites segments.
    Compact = 4,
    /// Decides on an operation, given the document as it is.
    Mutate = 5,
    /// Walks through the documents of a partition.
    Visit = 6,
    /// Merges partial results.
    Merge = 8,
    /// Searches one of several partitions.
    Part = 10,
    /// The texts that must be embedded before an operation is encoded.
    Embeddings = 11,
    /// Splits a feed into its operations.
    Split = 13,
    /// Loads many operations at once.
    Load = 14,
    /// Evaluates a model by itself.
    Evaluate = 15,
}

impl TaskKind {
    /// Every kind, by number.
    pub const ALL: [TaskKind; 12] = [
        TaskKind::Encode,
        TaskKind::Search,
        TaskKind::Get,
        TaskKind::Compact,
        TaskKind::Mutate,
        TaskKind::Visit,
        TaskKind::Merge,
        TaskKind::Part,
        TaskKind::Embeddings,
        TaskKind::Split,
        TaskKind::Load,
        TaskKind::Evaluate,
    ];

    /// The kind with this [`number`](TaskKind::number).
    #[must_use]
    pub fn from_number(number: u32) -> Option<TaskKind> {
        TaskKind::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// What stands for it at the border.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TaskKind::Encode => "encode",
            TaskKind::Search => "search",
            TaskKind::Get => "get",
            TaskKind::Compact => "compact",
            TaskKind::Mutate => "mutate",
            TaskKind::Visit => "visit",
            TaskKind::Merge => "merge",
            TaskKind::Part => "part",
            TaskKind::Embeddings => "embeddings",
            TaskKind::Split => "split",
            TaskKind::Load => "load",
            TaskKind::Evaluate => "evaluate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of the table of kinds, by number.
    fn documented() -> Vec<(u32, &'static str)> {
        let document = include_str!("../../../docs/abi.md");
        let (_, section) = document.split_once("## Task kinds and their requests").unwrap();
        let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
        let cells = rows.take_while(|line| line.starts_with('|')).map(|line| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            (cells.next().unwrap().parse().unwrap(), cells.next().unwrap())
        });
        let mut kinds: Vec<_> = cells.collect();
        kinds.sort_unstable();
        kinds
    }

    #[test]
    fn kinds_are_those_of_the_document() {
        let kinds: Vec<_> = TaskKind::ALL.into_iter().map(|kind| (kind.number(), kind.name())).collect();
        assert_eq!(kinds, documented());
    }

    #[test]
    fn a_number_that_is_no_kind_is_none() {
        assert_eq!(TaskKind::from_number(14), Some(TaskKind::Load));
        assert!([0, 7, 9, 12, 16, u32::MAX].into_iter().all(|number| TaskKind::from_number(number).is_none()));
    }
}
