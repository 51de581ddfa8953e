//! Where a term stands in a document, for features that ask.
use brooklet_rank::match_data::Occurrence;
use brooklet_segment::column::text::Text;
use brooklet_segment::{ColumnHeader, Halt};

use super::Spot;
use crate::matching::Found;
use crate::matching::words::WordReader;
use crate::reads::Reads;

/// Puts the occurrences of a leaf in a column into `out`, and says how long the field is; nothing if it did not match.
pub(super) fn occurrences(
    column: &ColumnHeader,
    found: &Found,
    spot: Spot<'_>,
    counts_only: bool,
    reads: &mut Reads,
    out: &mut Vec<Occurrence>,
) -> Result<Option<u32>, Halt> {
    match found {
        Found::Documents(documents) => {
            if documents.binary_search(&spot.ordinal).is_err() {
                return Ok(None);
            }
            out.push(Occurrence { element: 0, position: 0, element_length: 1, element_weight: 1 });
            Ok(Some(1))
        }
        Found::Elements(elements) => {
            let from = elements.partition_point(|(ordinal, _, _)| *ordinal < spot.ordinal);
            let own = elements[from..].iter().take_while(|(ordinal, _, _)| *ordinal == spot.ordinal);
            out.extend(own.map(|(_, element, weight)| Occurrence {
                element: *element,
                position: 0,
                element_length: 1,
                element_weight: *weight,
            }));
            Ok((!out.is_empty()).then_some(1))
        }
        Found::Words { postings, numbers } => {
            let Ok(at) = postings.binary_search_by_key(&spot.ordinal, |(ordinal, _)| *ordinal) else { return Ok(None) };
            let mut reader = WordReader::new(Text::of(column)?, &spot.at().segment);
            let extent = reader.extent(spot.ordinal, reads)?;
            if counts_only {
                let length = extent.words();
                out.extend((0..postings[at].1).map(|position| Occurrence {
                    element: 0,
                    position,
                    element_length: length,
                    element_weight: 1,
                }));
                return Ok(Some(length));
            }
            let words = reader.words(extent, reads)?;
            let mut places = Vec::new();
            for (place, word) in words.iter().enumerate() {
                if let Ok(at) = numbers.binary_search_by_key(word, |(number, _)| *number) {
                    places.extend(std::iter::repeat_n(place as u32, numbers[at].1 as usize));
                }
            }
            reader.occurrences(extent, &places, reads, out)?;
            Ok(Some(extent.words()))
        }
        Found::Places(all) => {
            let from = all.partition_point(|(ordinal, _)| *ordinal < spot.ordinal);
            let own = all[from..].iter().take_while(|(ordinal, _)| *ordinal == spot.ordinal);
            let places: Vec<u32> = own.map(|(_, place)| *place).collect();
            if places.is_empty() {
                return Ok(None);
            }
            let mut reader = WordReader::new(Text::of(column)?, &spot.at().segment);
            let extent = reader.extent(spot.ordinal, reads)?;
            reader.occurrences(extent, &places, reads, out)?;
            Ok(Some(extent.words()))
        }
    }
}
