//! The bits of the kernels are part of what is promised: they may only change knowingly, and everywhere at once.

#[path = "../examples/same_bits.rs"]
mod same_bits;

#[test]
fn bits_are_what_they_were() {
    assert_eq!(format!("{:016x}", same_bits::same_bits()), "315faecc8dced4c8");
}
