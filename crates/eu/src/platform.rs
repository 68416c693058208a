//! The platforms, by the names that the i915 driver gives them.

use std::fmt;

/// A platform: a generation of execution units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the variants are the driver's names")]
pub enum Platform {
    Ivb,
    Vlv,
    Hsw,
    Bdw,
    Chv,
    Skl,
    Bxt,
    Kbl,
    Glk,
    Cfl,
    Icl,
    Ehl,
    Jsl,
    Tgl,
    Rkl,
    Dg1,
    Adls,
    Adlp,
    Dg2,
    Mtl,
}

/// Each platform, its name, and its version of graphics, times ten.
static PLATFORMS: [(Platform, &str, u8); 20] = [
    (Platform::Ivb, "ivb", 70),
    (Platform::Vlv, "vlv", 70),
    (Platform::Hsw, "hsw", 75),
    (Platform::Bdw, "bdw", 80),
    (Platform::Chv, "chv", 80),
    (Platform::Skl, "skl", 90),
    (Platform::Bxt, "bxt", 90),
    (Platform::Kbl, "kbl", 90),
    (Platform::Glk, "glk", 90),
    (Platform::Cfl, "cfl", 90),
    (Platform::Icl, "icl", 110),
    (Platform::Ehl, "ehl", 110),
    (Platform::Jsl, "jsl", 110),
    (Platform::Tgl, "tgl", 120),
    (Platform::Rkl, "rkl", 120),
    (Platform::Dg1, "dg1", 120),
    (Platform::Adls, "adls", 120),
    (Platform::Adlp, "adlp", 120),
    (Platform::Dg2, "dg2", 125),
    (Platform::Mtl, "mtl", 125),
];

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

    fn row(self) -> (Self, &'static str, u8) {
        PLATFORMS.into_iter().find(|row| row.0 == self).unwrap_or(PLATFORMS[0])
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
