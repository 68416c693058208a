//! Constants of a C header, together with a list of them.

/// Declares constants and lists them, so that a test can compare them with the header's.
#[doc(hidden)]
#[macro_export]
macro_rules! values {
    ($($(#[$meta:meta])* $name:ident: $type:ty = $value:expr;)+) => {
        $($(#[$meta])* pub const $name: $type = $value;)+

        /// The names and values of this header's constants, in order.
        pub const CONSTANTS: &[(&str, u64)] = &[$((stringify!($name), $name as u64),)+];
    };
}
