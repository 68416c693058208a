//! gemtool.
fn main() {}
