//! What values are written to. JSON and CBOR are written by the same calls, so that an answer has one shape.

/// A growing text or byte string of one format. Keys and values come in order; what is begun must be ended.
pub trait ValueWriter {
    /// Opens an object.
    fn begin_object(&mut self);
    /// Closes an object.
    fn end_object(&mut self);
    /// Opens an array.
    fn begin_array(&mut self);
    /// Closes an array.
    fn end_array(&mut self);
    /// A key; its value comes next.
    fn key(&mut self, key: &str);
    /// A string.
    fn string(&mut self, text: &str);
    /// Opens a string, or a key, of so many bytes, whose text comes in pieces.
    fn begin_string(&mut self, length: usize);
    /// A piece of the open string.
    fn piece(&mut self, text: &str);
    /// Closes the string.
    fn end_string(&mut self);
    /// Closes a string that is a key; its value comes next.
    fn end_key(&mut self);
    /// An integer, exactly.
    fn integer(&mut self, number: i64);
    /// A float64. Formats that cannot say that it is no number, or infinite, write its name.
    fn double(&mut self, number: f64);
    /// A float32, likewise.
    fn float(&mut self, number: f32);
    /// A number given by its decimal digits, which a format of texts keeps.
    fn decimal(&mut self, digits: &str);
    /// `true` or `false`.
    fn boolean(&mut self, flag: bool);
    /// Nothing.
    fn null(&mut self);
    /// A value that another writer of this format has written.
    fn fragment(&mut self, written: &[u8]);
}
