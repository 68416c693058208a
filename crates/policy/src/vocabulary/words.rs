//! Enums together with their words.

/// Declares an enum with a word for each value: `ALL`, `name()`, `Display`, `FromStr`.
///
/// Tools print and parse the words; an unlisted word is an [`Unknown::Word`](crate::Unknown::Word).
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $what:literal { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vmeta])* $variant,)+ }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the word that tools print and parse.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::core::str::FromStr for $name {
            type Err = $crate::Unknown;

            fn from_str(word: &str) -> Result<Self, $crate::Unknown> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::Unknown::word($what, word, &[$($word,)+])),
                }
            }
        }

        $crate::serialize_name!($name);
    };
}

/// Implements `serde::Serialize` as the type's `name()`; nothing without the feature `serde`.
#[doc(hidden)]
#[cfg(feature = "serde")]
#[macro_export]
macro_rules! serialize_name {
    ($name:ident) => {
        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}

/// Implements `serde::Serialize` as the type's `name()`; nothing without the feature `serde`.
#[doc(hidden)]
#[cfg(not(feature = "serde"))]
#[macro_export]
macro_rules! serialize_name {
    ($name:ident) => {};
}

/// Declares an enum of rules: variant = name: reason, source.
macro_rules! rules {
    (
        $(#[$meta:meta])* $name:ident, $what:literal;
        $($variant:ident = $word:literal: $reason:literal, $source:literal;)+
    ) => {
        $crate::words! {
            $(#[$meta])*
            $name, $what { $(#[doc = $reason] $variant = $word,)+ }
        }

        impl $name {
            /// Returns the reason, in one sentence.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$variant => $reason,)+ }
            }

            /// Returns the rule's source: a kernel function, a commit, or a manual.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source,)+ }
            }
        }
    };
}

pub(crate) use rules;
