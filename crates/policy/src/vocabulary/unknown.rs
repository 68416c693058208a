//! Names, numbers and versions that the rules do not know.

use core::fmt;

use super::{KernelVersion, nearest};

/// A name, number or version that the rules do not know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unknown {
    /// A word that is none of the known ones.
    Word {
        /// The kind of thing that the word should have named.
        what: &'static str,
        /// The word.
        word: Excerpt,
        /// The words that would have been right.
        known: &'static [&'static str],
    },

    /// A kernel version that is not `major.minor`.
    KernelVersion {
        /// The text.
        text: Excerpt,
    },

    /// A kernel whose rules are not known.
    KernelWithoutRules {
        /// The version asked for.
        version: KernelVersion,
        /// The oldest version with rules.
        oldest: KernelVersion,
        /// The next version with rules, from which on every version has them.
        next: KernelVersion,
    },

    /// A platform that a kernel's driver does not claim.
    PlatformUnderKernel {
        /// The driver: `i915`, `xe`.
        driver: &'static str,
        /// The platform's name.
        platform: &'static str,
        /// The kernel.
        kernel: KernelVersion,
    },

    /// A PCI id that no platform claims.
    DeviceId {
        /// The id.
        id: u16,
    },

    /// A platform name that is not known.
    Platform {
        /// The name.
        name: Excerpt,
        /// The name that it resembles most; empty if there is none.
        nearest: &'static str,
    },

    /// A platform that i915 does not claim, and xe drives.
    DrivenByXe {
        /// The platform's title.
        platform: &'static str,
    },

    /// A platform that xe does not claim, and i915 drives.
    DrivenByI915 {
        /// The platform's title.
        platform: &'static str,
    },

    /// A kernel whose xe has no rules here.
    KernelWithoutXe {
        /// The version asked for.
        version: KernelVersion,
    },

    /// A PCI ID that xe lists, and not under this kernel.
    DeviceUnderKernel {
        /// The id.
        id: u16,
        /// The kernel.
        kernel: KernelVersion,
    },

    /// A version of the graphics IP for which xe has no PAT table.
    Graphics {
        /// The version's major and minor number.
        version: (u8, u8),
    },
}

impl Unknown {
    /// Returns the error for `word`, which is none of `known`; `what` says what it should have named.
    pub fn word(what: &'static str, word: &str, known: &'static [&'static str]) -> Self {
        Self::Word { what, word: Excerpt::new(word), known }
    }
}

/// Number of words that an error lists.
const MOST_NAMED: usize = 48;

/// Writes words, with commas in between.
fn list(f: &mut fmt::Formatter<'_>, words: &[&str]) -> fmt::Result {
    for (place, word) in words.iter().enumerate() {
        f.write_str(if place == 0 { "" } else { ", " })?;
        f.write_str(word)?;
    }
    Ok(())
}

/// Writes the words that may have been meant, as far as they are not empty.
fn propose(f: &mut fmt::Formatter<'_>, words: &[&str]) -> fmt::Result {
    match words.iter().position(|word| word.is_empty()).unwrap_or(words.len()) {
        0 => Ok(()),
        count => {
            f.write_str("; did you mean ")?;
            list(f, words.get(..count).unwrap_or_default())?;
            f.write_str("?")
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word { what, word, known } => {
                write!(f, "unknown {what} '{word}'")?;
                if known.len() > MOST_NAMED {
                    return propose(f, &nearest(word.as_str(), known.iter().copied()));
                }
                f.write_str(" (known: ")?;
                list(f, known)?;
                f.write_str(")")
            }
            Self::KernelVersion { text } => {
                write!(f, "'{text}' is not a kernel version (expected major.minor, e.g. 6.12)")
            }
            Self::KernelWithoutRules { version, oldest, next } => {
                write!(f, "kernel {version} is not supported: the rules cover {oldest}, and {next} and later")
            }
            Self::PlatformUnderKernel { driver, platform, kernel } => {
                write!(f, "the {driver} driver of Linux {kernel} does not claim {platform}")
            }
            Self::DeviceId { id } => write!(f, "unknown PCI ID 8086:{id:04x}: neither i915 nor xe lists it"),
            Self::Platform { name, nearest } => {
                write!(f, "unknown platform '{name}'")?;
                propose(f, &[nearest])?;
                f.write_str(" (expected a name such as jsl, or a PCI ID such as 0x4e61)")
            }
            Self::DrivenByXe { platform } => {
                write!(f, "{platform} is driven by xe, and these rules are those of i915")
            }
            Self::DrivenByI915 { platform } => {
                write!(f, "{platform} is driven by i915, and these rules are those of xe")
            }
            Self::KernelWithoutXe { version } => {
                write!(f, "the rules of xe cover Linux 6.12 and later, and not {version}")
            }
            Self::DeviceUnderKernel { id, kernel } => {
                write!(f, "the xe driver of Linux {kernel} does not list 8086:{id:04x}")
            }
            Self::Graphics { version: (major, minor) } => {
                write!(f, "xe has no PAT table for graphics version {major}.{minor:02}")
            }
        }
    }
}

impl core::error::Error for Unknown {}

/// The start of a text, kept without an allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Excerpt {
    bytes: [u8; Self::BYTES],
    len: u8,
    is_cut: bool,
}

impl Excerpt {
    /// The bytes of a text that are kept.
    const BYTES: usize = 46;

    /// Returns the start of `text`, cut between two characters.
    pub fn new(text: &str) -> Self {
        let ends = (0..=Self::BYTES.min(text.len())).rev();
        let len = ends.into_iter().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        let mut bytes = [0; Self::BYTES];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Self { bytes, len: len as u8, is_cut: len < text.len() }
    }

    /// Returns the text that was kept.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or("")
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        f.write_str(if self.is_cut { "…" } else { "" })
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text: String = "ä".repeat(40);
        let excerpt = Excerpt::new(&text);
        assert_eq!(excerpt.as_str(), "ä".repeat(23));
        assert_eq!(excerpt.to_string(), format!("{}…", "ä".repeat(23)));
        assert_eq!(Excerpt::new("x").to_string(), "x");
        assert_eq!(Excerpt::new(&"x".repeat(46)).to_string(), "x".repeat(46));
        assert_eq!(Excerpt::new(&"x".repeat(47)).to_string(), format!("{}…", "x".repeat(46)));
        assert_eq!(Excerpt::new("").to_string(), "");
    }
}
