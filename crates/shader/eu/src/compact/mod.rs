//! Instructions of 64 bits: some bits of an instruction are an index of a table of the hardware's.
//!
//! The tables are those of [`seven`], [`eight`] and [`twelve`], each with the places of the parts.

mod by_platform;
mod eight;
mod immediate;
mod layout;
mod seven;
mod twelve;

use crate::isa::Field;
use crate::{Error, Opcode, Platform, Uncompactable};
use layout::{Layout, Part};

/// Returns an instruction of 128 bits as one of 64.
///
/// ```
/// use intel_eu::{Platform, Uncompactable, compact, expand};
///
/// // mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud
/// let mov = 0x00000000_008d0000_20400208_00600001;
/// assert_eq!(compact(Platform::Jsl, mov), Ok(0x00000207_20004b01));
/// assert_eq!(expand(Platform::Jsl, 0x00000207_20004b01), Ok(mov));
/// // It writes every second element.
/// let strided = compact(Platform::Jsl, mov ^ 3 << 61);
/// assert_eq!(strided, Err(Uncompactable::Entry { table: "data types", value: 0x80041 }));
/// ```
///
/// # Errors
/// The reason why it has no encoding of 64 bits.
pub fn compact(platform: Platform, word: u128) -> Result<u64, Uncompactable> {
    let code = Field::Opcode.get(platform, word) as u8;
    let opcode = Opcode::from_code(code, platform).ok_or(Uncompactable::Unknown(code))?;
    let parts = Layout::parts(platform, opcode).ok_or(Uncompactable::Opcode(opcode))?;
    let immediate = immediate::kind(platform, opcode, word);
    // What an immediate covers belongs to no part.
    let own = if immediate.is_some() { !IMMEDIATE } else { !0 };
    let mut compacted = COMPACTED;
    for part in parts {
        let mask = part.bits.mask() & own;
        if mask != 0 {
            compacted |= part.place(part.code(word, mask)?);
        }
    }
    if let Some(kind) = immediate {
        let short = immediate::shorten(platform, kind, (word >> 96) as u32);
        compacted |= Layout::of(platform).immediate.put(short) as u64;
    }
    let lost = word ^ expanded(platform, opcode, parts, compacted);
    if lost == 0 {
        Ok(compacted)
    } else if immediate.is_some() && lost & IMMEDIATE != 0 {
        Err(Uncompactable::Immediate((word >> 96) as u32))
    } else {
        Err(Uncompactable::Bits(lost))
    }
}

/// Returns an instruction of 64 bits as one of 128.
///
/// # Errors
/// [`Error::Full`]; [`Error::Opcode`]; [`Error::Uncompactable`] if those of the opcode are not compacted; [`Error::Reserved`].
pub fn expand(platform: Platform, word: u64) -> Result<u128, Error> {
    if word & COMPACTED == 0 {
        return Err(Error::Full);
    }
    let code = Field::Opcode.get(platform, u128::from(word)) as u8;
    let opcode = Opcode::from_code(code, platform).ok_or(Error::Opcode { code, platform })?;
    let parts = Layout::parts(platform, opcode).ok_or(Error::Uncompactable(Uncompactable::Opcode(opcode)))?;
    let known = parts.iter().fold(COMPACTED, |known, part| known | part.mask());
    match word & !known {
        0 => Ok(expanded(platform, opcode, parts, word)),
        bits => Err(Error::Reserved { bits }),
    }
}

/// The bit that says that an instruction is compacted.
const COMPACTED: u64 = 1 << 29;
/// The bits of an immediate of 32 bits.
const IMMEDIATE: u128 = (u32::MAX as u128) << 96;

/// Returns what the parts of a compacted instruction stand for.
fn expanded(platform: Platform, opcode: Opcode, parts: &[Part], compacted: u64) -> u128 {
    let word = parts.iter().fold(0, |word, part| word | part.expanded(compacted));
    match immediate::kind(platform, opcode, word) {
        None => word,
        Some(kind) => {
            let short = Layout::of(platform).immediate.get(u128::from(compacted));
            word & !IMMEDIATE | u128::from(immediate::lengthen(platform, kind, short)) << 96
        }
    }
}
