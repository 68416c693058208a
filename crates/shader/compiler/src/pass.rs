//! The names of passes, for those who look at what each does.

use std::fmt;
use std::str::FromStr;

macro_rules! passes {
    ($($(#[$comment:meta])* $name:ident = $text:literal,)*) => {
        /// A pass of the compiler. Each has a file or a folder of its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Pass {
            $($(#[$comment])* $name,)*
        }

        impl Pass {
            /// All of them, in the order in which they run first.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

passes! {
    /// Forwards stored values to later loads of the same variable. Runs twice.
    OptForwardStores = "opt_forward_stores",
    /// Folds constants, and applies algebraic identities. Runs twice.
    OptAlgebraic = "opt_algebraic",
    /// Removes operations whose results are not used. Runs twice.
    OptDce = "opt_dce",
    /// Moves early returns and discards before the first side effect. Does not run without [`crate::Options::hoist_discard`].
    HoistDiscard = "hoist_discard",
    /// Computes the inputs of lanes from those of threads.
    LowerInputs = "lower_inputs",
    /// Replaces discards by returns, or by a variable that switches a lane's stores off where derivatives need the lane.
    LowerDiscard = "lower_discard",
    /// Replaces exits from several scopes at once by exits from the innermost one.
    StructurizeExits = "structurize_exits",
    /// Replaces operations that the platform lacks by others.
    LowerAlu = "lower_alu",
    /// Instruction selection: a program before it, a function of the machine after it.
    Select = "select",
    /// Instructions that the platform forbids, by others.
    Legalize = "legalize",
    /// Copies of registers that need not be made.
    OptCopyProp = "opt_copy_prop",
}

/// The moment at which a pass is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// It has not run yet.
    Before,
    /// It has run.
    After,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before => "before",
            Self::After => "after",
        })
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no pass has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPass {
    name: String,
}

impl fmt::Display for UnknownPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Pass::ALL.iter().map(|pass| pass.name()).collect();
        write!(f, "there is no pass '{}'; the passes are {}", self.name, names.join(", "))
    }
}

impl std::error::Error for UnknownPass {}

impl FromStr for Pass {
    type Err = UnknownPass;

    fn from_str(name: &str) -> Result<Self, UnknownPass> {
        let found = Self::ALL.iter().find(|pass| pass.name() == name);
        found.copied().ok_or_else(|| UnknownPass { name: name.to_owned() })
    }
}
