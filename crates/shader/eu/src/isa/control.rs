//! Predicates and conditions.

macro_rules! codes {
    ($(#[$doc:meta])* $type:ident { $($name:ident = $code:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl $type {
            /// Each value, its code, and its name in assembly.
            pub(crate) const CODES: &[(Self, u8, &str)] = &[$((Self::$name, $code, $text),)*];

            /// Returns the name, as assembly has it.
            #[must_use]
            pub fn name(self) -> &'static str {
                Self::CODES.iter().find(|row| row.0 == self).map_or("", |row| row.2)
            }
        }
    };
}

codes! {
    /// The bits of the flag register that decide about a channel, in Align1 instructions.
    Pattern {
        Normal = 1, "";
        AnyV = 2, "anyv";
        AllV = 3, "allv";
        Any2 = 4, "any2h";
        All2 = 5, "all2h";
        Any4 = 6, "any4h";
        All4 = 7, "all4h";
        Any8 = 8, "any8h";
        All8 = 9, "all8h";
        Any16 = 10, "any16h";
        All16 = 11, "all16h";
        Any32 = 12, "any32h";
        All32 = 13, "all32h";
    }
}

codes! {
    /// A condition: the comparison of a result, or of two sources, that the flag register gets.
    Condition {
        Zero = 1, "eq";
        NotZero = 2, "ne";
        Greater = 3, "gt";
        GreaterOrEqual = 4, "ge";
        Less = 5, "lt";
        LessOrEqual = 6, "le";
        Overflow = 8, "ov";
        Unordered = 9, "un";
    }
}

impl Condition {
    /// The conditions of `bfn`, by code.
    pub(crate) const OF_LOGIC: [Option<Option<Self>>; 4] =
        [Some(None), Some(Some(Self::Zero)), Some(Some(Self::Greater)), Some(Some(Self::Less))];
}

/// A predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Predicate {
    /// The bits that decide. In Align16 instructions the codes of the pattern mean other ones.
    pub pattern: Pattern,
    /// Channels are executed for which the bits do not say so.
    pub inverse: bool,
}
