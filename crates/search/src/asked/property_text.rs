//! The text of a parameter's value. That of a vector that crossed the border as its cells are the digits of those, written when
//! somebody reads them: what asks for neighbours takes the cells.
use std::cell::OnceCell;
use std::ops::Deref;

/// The text of a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct PropertyText {
    text: OnceCell<String>,
    cells: Option<Box<[f32]>>,
}

impl PropertyText {
    /// The digits of these cells.
    pub(crate) fn of_cells(cells: Box<[f32]>) -> PropertyText {
        PropertyText { text: OnceCell::new(), cells: Some(cells) }
    }

    /// The cells whose digits it is; nothing of a text that was given as one.
    pub(crate) fn cells(&self) -> Option<&[f32]> {
        self.cells.as_deref()
    }
}

impl From<String> for PropertyText {
    fn from(text: String) -> PropertyText {
        PropertyText { text: OnceCell::from(text), cells: None }
    }
}

impl Deref for PropertyText {
    type Target = str;

    fn deref(&self) -> &str {
        self.text.get_or_init(|| digits(self.cells.as_deref().unwrap_or_default()))
    }
}

impl PartialEq for PropertyText {
    fn eq(&self, other: &PropertyText) -> bool {
        **self == **other
    }
}

/// The hexadecimal digits of the cells' bits, most significant first.
fn digits(cells: &[f32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |bits: u32, place: u32| char::from(DIGITS[(bits >> (4 * place)) as usize & 15]);
    cells.iter().flat_map(|cell| (0..8).rev().map(move |place| digit(cell.to_bits(), place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_their_digits_when_they_are_read() {
        let text = PropertyText::of_cells(Box::new([1.0, -2.0]));
        assert!(text.text.get().is_none());
        assert_eq!(&*text, "3f800000c0000000");
        assert_eq!(text.cells(), Some(&[1.0, -2.0][..]));
        assert_eq!(text, PropertyText::from("3f800000c0000000".to_owned()));
        assert_eq!(&*PropertyText::of_cells(Box::default()), "");
    }
}
