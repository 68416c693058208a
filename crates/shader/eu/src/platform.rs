//! The platforms, by the names that the i915 driver gives them.

use std::fmt;

macro_rules! platforms {
    ($($variant:ident $name:literal $graphics:literal)*) => {
        /// A platform: a generation of execution units.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "the variants are the driver's names")]
        pub enum Platform {
            $($variant,)*
        }

        /// Each platform, in the order of the variants: its name, and its version of graphics, times ten.
        static PLATFORMS: &[(Platform, &str, u8)] = &[$((Platform::$variant, $name, $graphics),)*];
    };
}

platforms! {
    Ivb "ivb" 70
    Vlv "vlv" 70
    Hsw "hsw" 75
    Bdw "bdw" 80
    Chv "chv" 80
    Skl "skl" 90
    Bxt "bxt" 90
    Kbl "kbl" 90
    Glk "glk" 90
    Cfl "cfl" 90
    Cml "cml" 90
    Icl "icl" 110
    Ehl "ehl" 110
    Jsl "jsl" 110
    Tgl "tgl" 120
    Rkl "rkl" 120
    Dg1 "dg1" 120
    Adls "adls" 120
    Adlp "adlp" 120
    Dg2 "dg2" 125
    Atsm "atsm" 125
    Mtl "mtl" 125
}

impl Platform {
    /// Returns all platforms, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        PLATFORMS.iter().map(|&(platform, ..)| platform)
    }

    /// Returns the platform of a name: `None` if there is none, or its instructions are not known here.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        PLATFORMS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    fn row(self) -> &'static (Self, &'static str, u8) {
        &PLATFORMS[self as usize]
    }

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the version of graphics, times ten: 75 is Haswell's 7.5.
    #[must_use]
    pub fn graphics(self) -> u8 {
        self.row().2
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
