//! The command line.

use crate::gpu::{LARGEST_BYTES, Reader};

/// The text of `--help`.
pub const USAGE: &str = "\
stale_pages [victim | attacker] [OPTION ...]

A victim frees objects full of a secret; then an attacker's GPU reads new objects, which should hold zeros.
Without a role, this process plays both, with two opens of the device.

  --device DEVICE  a path, or a software i915 such as sim:jsl,kernel=5.14 (default /dev/dri/renderD128)
  --entry N        the MOCS entry of the GPU's reads (default: the one that bypasses the LLC)
  --blitter        the copy engine reads; without --entry, the page table determines caching
  --objects N      number of objects (default 16)
  --bytes N        size of each object, a multiple of 4096 (default 1048576)
  --help           print this text

Exit status: 0 if the GPU read zeros only, 1 if it read anything else, 2 if the program could not run.
";

/// The part that the process plays.
#[derive(Clone, Copy)]
pub enum Role {
    /// Writes the secret and frees it.
    Victim,
    /// Reads new objects by the GPU.
    Attacker,
    /// The victim's part, then the attacker's.
    Both,
}

/// The arguments.
pub struct Args {
    /// The part to play.
    pub role: Role,
    /// The device's name.
    pub device: String,
    /// The MOCS entry of the reads, if one is named.
    pub entry: Option<u8>,
    /// The engine that reads.
    pub reader: Reader,
    /// The number of objects.
    pub objects: u64,
    /// The size of each object, in bytes.
    pub bytes: u64,
}

impl Args {
    /// Parses the arguments; `None` if the help text is asked for.
    ///
    /// # Errors
    /// A text that names the argument.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut args = Self {
            role: Role::Both,
            device: "/dev/dri/renderD128".to_owned(),
            entry: None,
            reader: Reader::Shader,
            objects: 16,
            bytes: 1 << 20,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "victim" => args.role = Role::Victim,
                "attacker" => args.role = Role::Attacker,
                "--device" => args.device = value()?,
                "--entry" => args.entry = Some(number(&word, &value()?, 1, 0, 127)? as u8),
                "--blitter" => args.reader = Reader::Blitter,
                "--objects" => args.objects = number(&word, &value()?, 1, 1, 65_536)?,
                "--bytes" => args.bytes = number(&word, &value()?, 4096, 4096, LARGEST_BYTES)?,
                "--help" => return Ok(None),
                _ => return Err(format!("unexpected argument '{word}' (--help lists the arguments)")),
            }
        }
        Ok(Some(args))
    }
}

/// Parses the number of an option: a multiple of `step` from `least` to `most`.
fn number(option: &str, text: &str, step: u64, least: u64, most: u64) -> Result<u64, String> {
    let fits = |number: &u64| number % step == 0 && (least..=most).contains(number);
    text.parse().ok().filter(fits).ok_or_else(|| {
        let kind = if step == 1 { "a number".to_owned() } else { format!("a multiple of {step}") };
        format!("{option} '{text}': it must be {kind} from {least} to {most}")
    })
}
