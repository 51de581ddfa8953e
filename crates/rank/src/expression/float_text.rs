//! Numbers as expressions write them.

/// A float64 as Java writes it: plain from 10⁻³ to 10⁷, otherwise with an exponent, always with a decimal.
pub(crate) fn float_text(value: f64) -> String {
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) {
        let text = value.to_string();
        return if text.contains('.') { text } else { format!("{text}.0") };
    }
    let text = format!("{value:e}").to_uppercase();
    match text.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_java_writes_them() {
        let texts = [1500.0, 1e-4, 0.001, 1e7, 1.5e300, -0.5, 0.0, 1.2345678e7, 9_999_999.0].map(float_text);
        let expected = ["1500.0", "1.0E-4", "0.001", "1.0E7", "1.5E300", "-0.5", "0.0", "1.2345678E7", "9999999.0"];
        assert_eq!(texts, expected);
    }
}
