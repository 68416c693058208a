//! Shaders for walkers, as instructions of each generation's execution units.
//!
//! A thread's group is in r0.1. Each shader has six instructions; the last two end the thread. They are the output of Intel's assembler, `iga64`.

use gem_coherency::platform::Machine;

use super::generation::Generation;
use crate::Result;

/// Six instructions of 128 bits, as dwords.
type Code = [[u32; 4]; 6];

/// Bytes that a group of [`copy`] copies.
pub const COPY_BYTES: u64 = 128;
/// Stores of a group of [`scatter`].
pub const SCATTER_STORES: usize = 16;

/// Graphics 7.5.
static COPY_75: Code = [
    [0x0060_0001, 0x2040_0021, 0x008d_0000, 0x0000_0000], // mov (8) r2:ud r0:ud
    [0x0000_0009, 0x2048_0c21, 0x0000_0004, 0x0000_0003], // shl (1) r2.2:ud r0.1:ud 3
    [0x0a80_0031, 0x2060_0c29, 0x0000_0040, 0x0248_0400], // send r3 r2, data port 0: read 8 OWords of surface 0
    [0x0a80_0031, 0x2000_0c28, 0x0000_0040, 0x0a0a_0401], // send null r2, data port 0: write 8 OWords to surface 1
    [0x0060_0001, 0x2e00_0021, 0x008d_0000, 0x0000_0000], // mov (8) r112:ud r0:ud
    [0x0780_0031, 0x2000_0c28, 0x0000_0e00, 0x8200_0010], // send null r112, thread spawner: end
];

/// Graphics 8 to 11.
static COPY_80: Code = [
    [0x0060_0001, 0x2040_0208, 0x008d_0000, 0x0000_0000],
    [0x0000_0009, 0x2048_0208, 0x0600_0004, 0x0000_0003],
    [0x0a80_0031, 0x2060_0248, 0x0600_0040, 0x0248_0400],
    [0x0a80_0031, 0x2000_0240, 0x0600_0040, 0x0a0a_0401],
    [0x0060_0001, 0x2e00_0208, 0x008d_0000, 0x0000_0000],
    [0x0780_0031, 0x2000_0240, 0x0600_0e00, 0x8200_0010],
];

/// Graphics 12.0.
static COPY_120: Code = [
    [0x0003_0061, 0x0205_0220, 0x0046_0005, 0x0000_0000],
    [0x0000_0169, 0x0245_8220, 0x0200_0024, 0x0000_0003],
    [0x0004_9031, 0x0324_0000, 0xa800_020c, 0x0200_0000],
    [0x0004_2031, 0x0000_0000, 0xa802_022c, 0x0280_0000],
    [0x0003_0061, 0x7005_0220, 0x0046_0005, 0x0000_0000],
    [0x0004_0131, 0x0000_0004, 0x7020_700c, 0x1000_0000],
];

/// Graphics 12.5, where the gateway ends threads.
static COPY_125: Code = [
    [0x0003_0061, 0x0205_0220, 0x0046_0005, 0x0000_0000],
    [0x0000_1969, 0x0245_8220, 0x0200_0024, 0x0000_0003],
    [0x0004_9031, 0x0324_0000, 0xa800_020c, 0x0200_0000],
    [0x0004_2031, 0x0000_0000, 0xa802_022c, 0x0280_0000],
    [0x0003_0061, 0x7005_0220, 0x0046_0005, 0x0000_0000],
    [0x0003_1931, 0x0000_0004, 0x3000_700c, 0x0000_0000],
];

/// The write of [`scatter`]: dwords of 16 channels to surface 1, whose offsets are in r3 and r4, and whose data are in r5 and r6
/// (untyped surface write, data port 1).
const WRITE_75: [u32; 4] = [0x0c80_0031, 0x2000_0c28, 0x0000_0060, 0x0802_5e01];
const WRITE_80: [u32; 4] = [0x0c80_0031, 0x2000_0240, 0x0600_0060, 0x0802_5e01];
const WRITE_120: [u32; 4] = [0x0004_2031, 0x0000_0000, 0xcc02_0314, 0x0096_0514];

/// The place of the write in the shaders.
const WRITE: usize = 3;

/// Returns a shader for `machine` that copies: the group n copies [`COPY_BYTES`] bytes from surface 0 to surface 1, n times as many bytes
/// after their beginnings.
///
/// # Errors
/// [`gem_coherency::Error::NotAvailable`] before Haswell.
pub fn copy(machine: &Machine) -> Result<Vec<u8>> {
    Ok(bytes(code(machine)?.0))
}

/// Returns a shader for `machine` that stores dwords where a table says: the group n reads [`SCATTER_STORES`] offsets in surface 1, and as
/// many dwords after them, from surface 0, 128 times n bytes after its beginning. An offset after the end of surface 1 stores
/// nothing.
///
/// # Errors
/// As [`copy`].
pub fn scatter(machine: &Machine) -> Result<Vec<u8>> {
    let (copy, write) = code(machine)?;
    let mut scatter = *copy;
    scatter[WRITE] = write;
    Ok(bytes(&scatter))
}

fn code(machine: &Machine) -> Result<(&'static Code, [u32; 4])> {
    Ok(match Generation::of(machine)? {
        Generation::Haswell => (&COPY_75, WRITE_75),
        Generation::Eighth | Generation::Ninth | Generation::Eleventh => (&COPY_80, WRITE_80),
        Generation::Twelfth => (&COPY_120, WRITE_120),
        Generation::XeHp => (&COPY_125, WRITE_120),
    })
}

fn bytes(code: &Code) -> Vec<u8> {
    code.as_flattened().iter().flat_map(|dword| dword.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::platform;
    use gem_coherency::vocabulary::KernelVersion;
    use intel_eu::execute::Shader;
    use intel_eu::{Platform, encodings, text, validate};

    #[test]
    fn the_shaders_are_valid_on_every_platform() {
        let mut tested = 0;
        for platform in platform::all() {
            let machine = platform.machine(KernelVersion::new(6, 12), false);
            let Ok(shaders) = [copy(&machine), scatter(&machine)].into_iter().collect::<Result<Vec<_>>>()
            else {
                continue;
            };
            let name = Platform::from_name(platform.name).unwrap();
            for shader in shaders {
                let decoded = encodings(&shader).map(|(_, one)| one.unwrap().decode(name).unwrap());
                for instruction in decoded {
                    let text = text::print(name, &instruction);
                    assert_eq!(validate(name, &instruction), [], "{name}: {text}");
                    assert_eq!(text::parse(name, &text), Ok(instruction), "{name}: {text}");
                }
                assert_eq!(Shader::new(name, &shader).check(0xffff), Ok(shader.len()), "{name}");
                tested += 1;
            }
        }
        assert_eq!(tested, 2 * 20);
    }
}
