//! The bytes of shaders: instructions of 128 bits, and compacted ones of 64.

use crate::{Error, Instruction, Platform, compact, decode, encode, expand};

/// The encoding of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// One of 128 bits.
    Full(u128),
    /// One of 64 bits.
    Compacted(u64),
}

impl Encoding {
    /// Returns the encoding of an instruction: a compacted one if [`Instruction::compacted`] is set.
    ///
    /// # Errors
    /// Those of [`encode`], and [`Error::Uncompactable`].
    pub fn of(platform: Platform, instruction: &Instruction) -> Result<Self, Error> {
        let word = encode(platform, instruction)?;
        if instruction.compacted {
            compact(platform, word).map(Self::Compacted).map_err(Error::Uncompactable)
        } else {
            Ok(Self::Full(word))
        }
    }

    /// Returns the encoding that begins at a byte of a shader.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the shader ends before it does.
    pub fn at(shader: &[u8], at: usize) -> Result<Self, Error> {
        const COMPACTED: u8 = 1 << (29 % 8);
        let bytes = shader.get(at..).unwrap_or_default();
        let compacted = bytes.get(29 / 8).is_some_and(|byte| byte & COMPACTED != 0);
        let encoding = if compacted {
            bytes.first_chunk().map(|bytes| Self::Compacted(u64::from_le_bytes(*bytes)))
        } else {
            bytes.first_chunk().map(|bytes| Self::Full(u128::from_le_bytes(*bytes)))
        };
        encoding.ok_or(Error::Truncated { bytes: bytes.len() })
    }

    /// Returns the 128 bits that it is, or stands for.
    ///
    /// # Errors
    /// Those of [`expand`].
    pub fn word(self, platform: Platform) -> Result<u128, Error> {
        match self {
            Self::Full(word) => Ok(word),
            Self::Compacted(word) => expand(platform, word),
        }
    }

    /// Returns the instruction.
    ///
    /// # Errors
    /// Those of [`decode`] and [`expand`].
    pub fn decode(self, platform: Platform) -> Result<Instruction, Error> {
        let compacted = matches!(self, Self::Compacted(_));
        Ok(Instruction { compacted, ..decode(platform, self.word(platform)?)? })
    }

    /// Returns its bytes.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        match self {
            Self::Full(word) => word.to_le_bytes().to_vec(),
            Self::Compacted(word) => word.to_le_bytes().to_vec(),
        }
    }
}

/// Returns the encodings of a shader's instructions, and the byte at which each one begins. The last one is an error if the
/// shader ends before it does.
///
/// ```
/// use intel_eu::{Encoding, Error, encodings};
///
/// // mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud {Compacted}, and half of another one
/// let shader = [0x01, 0x4b, 0x00, 0x20, 0x07, 0x02, 0x00, 0x00, 0x01, 0x4b, 0x00, 0x20];
/// let found: Vec<_> = encodings(&shader).collect();
/// assert_eq!(found[0], (0, Ok(Encoding::Compacted(0x00000207_20004b01))));
/// assert_eq!(found[1], (8, Err(Error::Truncated { bytes: 4 })));
/// assert_eq!(found.len(), 2);
/// ```
pub fn encodings(shader: &[u8]) -> impl Iterator<Item = (usize, Result<Encoding, Error>)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let at = next;
        let encoding = (at < shader.len()).then(|| Encoding::at(shader, at))?;
        next = encoding.map_or(shader.len(), |encoding| at + encoding.to_bytes().len());
        Some((at, encoding))
    })
}
