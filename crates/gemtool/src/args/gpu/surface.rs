//! Surfaces of shaders on the command line: `SIZE[,mocs=ENTRY][,caching=MODE][,dirty=LINES][,fill=PATTERN][,file=FILE]`.

use std::path::PathBuf;
use std::str::FromStr;

use gem_coherency::units::{ByteRange, LineRange};
use gem_coherency::vocabulary::{CachingMode, MocsClass};
use gemtool::dispatch::Place;
use gemtool::numbers;
use gemtool::script::Pattern;

/// Largest size of a surface in bytes: 16 MiB.
const MOST_BYTES: u64 = 16 << 20;

/// A surface of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surface {
    /// Size in bytes.
    pub size: u64,
    /// The MOCS entry; `None` for the command's default.
    pub mocs: Option<Mocs>,
    /// The caching mode; `None` for the platform's.
    pub caching: Option<CachingMode>,
    /// The lines that the CPU stored to.
    pub dirty: LineRange,
    /// The contents; `None` for arbitrary bytes in the lines that the CPU stored to.
    pub contents: Option<Contents>,
}

/// The MOCS entry of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mocs {
    /// An entry; on graphics 8, the control bits.
    Entry(u8),
    /// The first entry of a class.
    Class(MocsClass),
}

/// The contents of a surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// A pattern.
    Pattern(Pattern),
    /// The bytes of a file, then zeroes.
    File(PathBuf),
    /// Dwords, then zeroes.
    Dwords(Vec<u32>),
}

/// Something about a surface of a shader: its settings, a number of its bytes, a file for its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound<T> {
    /// The shader's declaration of the surface.
    pub place: Place,
    /// Its settings.
    pub what: T,
}

impl FromStr for Surface {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split(',');
        let size = numbers::size(words.next().unwrap_or_default())?;
        let mut surface = Self::new(size)?;
        let mut seen = Vec::new();
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            // Both are the contents.
            let meant = if key == "file" { "fill" } else { key };
            if seen.contains(&meant) {
                let named = if meant == "fill" { "fill= or file=".to_owned() } else { format!("{key}=") };
                return Err(format!("{named} is there twice"));
            }
            seen.push(meant);
            match key {
                "mocs" => surface.mocs = Some(value.parse()?),
                "caching" => {
                    surface.caching = Some(value.parse::<CachingMode>().map_err(|error| error.to_string())?);
                }
                "dirty" => surface.dirty = lines(value, surface.dirty)?,
                "fill" => {
                    let pattern = value.parse().map_err(|why| format!("fill '{value}': {why}"))?;
                    surface.contents = Some(Contents::Pattern(pattern));
                }
                "file" => surface.contents = Some(Contents::File(value.into())),
                _ => {
                    let known = "mocs=, caching=, dirty=, fill=, file=";
                    return Err(format!("unknown setting '{word}' (known: {known})"));
                }
            }
        }
        Ok(surface)
    }
}

impl Surface {
    /// Returns a surface of `size` bytes without settings, all of whose lines the CPU stored to.
    ///
    /// # Errors
    /// A sentence about the size.
    pub fn new(size: u64) -> Result<Self, String> {
        if size == 0 || size > MOST_BYTES || !size.is_multiple_of(4) {
            return Err(format!("{size} bytes: the size must be a multiple of 4, from 4 bytes to 16 MiB"));
        }
        let dirty = ByteRange::within(0, size, size).map_err(|error| error.to_string())?.lines();
        Ok(Self { size, mocs: None, caching: None, dirty, contents: None })
    }
}

impl FromStr for Mocs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(class) = text.parse() {
            return Ok(Self::Class(class));
        }
        let classes = || MocsClass::ALL.iter().map(|class| class.name()).collect::<Vec<_>>().join(", ");
        let number =
            numbers::number(text).map_err(|why| format!("mocs '{text}': {why}, or {}", classes()))?;
        u8::try_from(number).map(Self::Entry).map_err(|_| format!("mocs '{text}': larger than 255"))
    }
}

/// Parses `BINDING=WHAT`.
pub fn bound<T>(text: &str, what: impl FnOnce(&str) -> Result<T, String>) -> Result<Bound<T>, String> {
    let (place, rest) = text.split_once('=').ok_or_else(|| format!("'{text}' has no '=' after a binding"))?;
    Ok(Bound { place: place.parse()?, what: what(rest)? })
}

/// Parses lines of a surface that has the lines `all`.
fn lines(text: &str, all: LineRange) -> Result<LineRange, String> {
    let number = |text: &str| numbers::number(text).map_err(|why| format!("dirty '{text}': {why}"));
    let (first, last) = match text {
        "all" => return Ok(all),
        "none" => return Ok(LineRange::new(0, 0)),
        text => text.split_once('-').unwrap_or((text, text)),
    };
    let (first, last) = (number(first)?, number(last)?);
    if first > last || last >= all.end() {
        let most = all.end() - 1;
        return Err(format!("dirty '{text}': the surface has the lines 0-{most}"));
    }
    Ok(LineRange::new(first, last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surface_has_a_size_and_settings_in_any_order() {
        let plain = || Surface::new(4096).unwrap();
        let pattern = "0a0b".parse().unwrap();
        for (text, surface) in [
            ("4096", plain()),
            ("4KiB,mocs=16", Surface { mocs: Some(Mocs::Entry(16)), ..plain() }),
            ("4KiB,mocs=bypass-llc", Surface { mocs: Some(Mocs::Class(MocsClass::BypassLlc)), ..plain() }),
            ("4096,dirty=none", Surface { dirty: LineRange::new(0, 0), ..plain() }),
            ("4096,dirty=63", Surface { dirty: LineRange::new(63, 64), ..plain() }),
            (
                "4096,dirty=0-15,caching=none",
                Surface { caching: Some(CachingMode::None), dirty: LineRange::new(0, 16), ..plain() },
            ),
            ("4096,fill=0a0b", Surface { contents: Some(Contents::Pattern(pattern)), ..plain() }),
            ("4096,file=a=b", Surface { contents: Some(Contents::File("a=b".into())), ..plain() }),
            ("68,dirty=all", Surface { dirty: LineRange::new(0, 2), ..Surface::new(68).unwrap() }),
        ] {
            assert_eq!(text.parse(), Ok(surface), "{text}");
        }
    }

    #[test]
    fn a_surface_that_cannot_be_is_refused_with_the_reason() {
        for (text, part) in [
            ("", "not a size"),
            ("0", "0 bytes: the size must be a multiple of 4"),
            ("4094", "multiple of 4"),
            ("17MiB", "16 MiB"),
            ("4096,", "unknown setting ''"),
            ("4096,mocs", "mocs '': not a number"),
            ("4096,mocs=cached", "page-table, uncached, bypass-llc"),
            ("4096,mocs=256", "mocs '256': larger than 255"),
            ("4096,mocs=1,mocs=1", "mocs= is there twice"),
            ("4096,fill=00,file=a", "fill= or file= is there twice"),
            ("4096,caching=wb", "'wb'"),
            ("4096,fill=xyz", "fill 'xyz'"),
            ("4096,dirty=64", "dirty '64': the surface has the lines 0-63"),
            ("4096,dirty=2-1", "dirty '2-1'"),
            ("4096,dirty=1-", "dirty '': not a number"),
            ("4096,dirty=18446744073709551615", "the lines 0-63"),
        ] {
            let why = text.parse::<Surface>().unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    #[test]
    fn a_surface_of_a_shader_begins_with_its_binding() {
        let one = bound("1.2=64,mocs=2", str::parse::<Surface>).unwrap();
        assert_eq!(one.place.to_string(), "1.2");
        assert_eq!(one.what, "64,mocs=2".parse().unwrap());
        for (text, part) in [("4096", "no '='"), ("x=4096", "'x' is no binding"), ("0=0", "0 bytes")] {
            let why = bound(text, str::parse::<Surface>).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
