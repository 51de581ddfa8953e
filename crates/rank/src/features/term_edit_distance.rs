//! `termEditDistance(field)`: deletions, insertions and substitutions of words that turn the query into the field.
//!
//! A table of costs over ranked terms (rows) and words of the field (columns): an occurrence of the term at the word
//! costs nothing, otherwise the least of deleting the term (`costDel` 1), inserting the word (`costIns` 1) and replacing
//! it (`costSub` 1), in this order among equals. out is the cost of the last cell, del, ins and sub how many of each it
//! took. A field of unknown length (no hit) has 1000000 words; only its first 65536 are looked at.

use super::call::Call;
use super::field_length::UNKNOWN;
use crate::features::prepared::{Executor, Prepared};
use crate::match_data::{MatchData, Occurrence, Slot};
use brooklet_task::Rejection;

/// Words of a field beyond which the table would cost more than the feature is worth.
const WORDS_MAX: u32 = 1 << 16;

#[derive(Clone, Copy, Default)]
struct Cell {
    cost: f64,
    deleted: u32,
    inserted: u32,
    replaced: u32,
}

struct TermEditDistance {
    terms: Vec<Option<Slot>>,
    delete: f64,
    insert: f64,
    replace: f64,
    above: Vec<Cell>,
    row: Vec<Cell>,
}

/// Makes `termEditDistance` ready.
pub fn prepare(call: &Call<'_, '_>) -> Result<Prepared, Rejection> {
    let field = call.only_index_field()?;
    let properties = call.properties();
    let executor = TermEditDistance {
        terms: call.environment.query.ranked_terms().map(|ranked| ranked.slot(field.id)).collect(),
        delete: properties.number("costDel", 1.0)?,
        insert: properties.number("costIns", 1.0)?,
        replace: properties.number("costSub", 1.0)?,
        above: Vec::new(),
        row: Vec::new(),
    };
    Ok(call.ready(&["out", "del", "ins", "sub"], executor))
}

impl Executor for TermEditDistance {
    fn execute(&mut self, data: &MatchData, outputs: &mut [f64]) {
        let hits = |slot: &Option<Slot>| slot.and_then(|slot| data.hits(slot));
        let known = self.terms.iter().filter_map(|slot| hits(slot)?.longest_element()).max();
        let Some(words) = known else {
            outputs.copy_from_slice(&self.without_hits());
            return;
        };
        let words = words.min(WORDS_MAX);
        self.above.clear();
        let first_row =
            (0..=words).map(|word| Cell { cost: f64::from(word) * self.insert, inserted: word, ..Cell::default() });
        self.above.extend(first_row);
        for index in 0..self.terms.len() {
            let occurrences = hits(&self.terms[index]).map_or(&[][..], |hits| hits.occurrences);
            self.next_row(index as u32 + 1, occurrences);
        }
        let last = if words == 0 { Cell { cost: f64::MAX, ..Cell::default() } } else { self.above[words as usize] };
        let counts = [last.deleted, last.inserted, last.replaced].map(f64::from);
        outputs.copy_from_slice(&[last.cost, counts[0], counts[1], counts[2]]);
    }
}

impl TermEditDistance {
    /// The row of a term, below the one of the term before it.
    fn next_row(&mut self, number: u32, occurrences: &[Occurrence]) {
        let mut occurrences = occurrences.iter().peekable();
        self.row.clear();
        self.row.push(Cell { cost: self.above[0].cost + self.delete, deleted: number, ..Cell::default() });
        for word in 1..self.above.len() {
            if occurrences.next_if(|occurrence| occurrence.position as usize == word - 1).is_some() {
                self.row.push(self.above[word - 1]);
                continue;
            }
            let (above, before, diagonal) = (self.above[word], self.row[word - 1], self.above[word - 1]);
            let (delete, insert, replace) =
                (above.cost + self.delete, before.cost + self.insert, diagonal.cost + self.replace);
            let least = replace.min(insert).min(delete);
            self.row.push(if least == delete {
                Cell { cost: delete, deleted: above.deleted + 1, ..above }
            } else if least == insert {
                Cell { cost: insert, inserted: before.inserted + 1, ..before }
            } else {
                Cell { cost: replace, replaced: diagonal.replaced + 1, ..diagonal }
            });
        }
        std::mem::swap(&mut self.row, &mut self.above);
    }

    /// Without a hit every word is another, and there are 1000000 of them: as many terms are replaced as there are, or
    /// deleted and inserted if that is cheaper; the rest is inserted.
    fn without_hits(&self) -> [f64; 4] {
        let (terms, words) = (self.terms.len() as f64, f64::from(UNKNOWN));
        if self.replace < self.delete + self.insert {
            let inserted = words - terms;
            return [terms * self.replace + inserted * self.insert, 0.0, inserted, terms];
        }
        [terms * self.delete + words * self.insert, terms, words, 0.0]
    }
}
