//! Kernels whose bytes are known: decoded, encoded again, and read.

use intel_eu::{Descriptor, Kind, Message, Opcode, Place, Platform, Region, Source, decode, encode};

/// A kernel that copies 128 bytes per thread by OWord blocks: the same bytes on graphics 8, 9 and 11.
const COPY: [[u32; 4]; 6] = [
    [0x0060_0001, 0x2040_0208, 0x008d_0000, 0x0000_0000],
    [0x0000_0009, 0x2048_0208, 0x0600_0004, 0x0000_0003],
    [0x0a80_0031, 0x2060_0248, 0x0600_0040, 0x0248_0400],
    [0x0a80_0031, 0x2000_0240, 0x0600_0040, 0x0a0a_0401],
    [0x0060_0001, 0x2e00_0208, 0x008d_0000, 0x0000_0000],
    [0x0780_0031, 0x2000_0240, 0x0600_0e00, 0x8200_0010],
];

/// The same on graphics 7.5.
const COPY_75: [[u32; 4]; 6] = [
    [0x0060_0001, 0x2040_0021, 0x008d_0000, 0x0000_0000],
    [0x0000_0009, 0x2048_0c21, 0x0000_0004, 0x0000_0003],
    [0x0a80_0031, 0x2060_0c29, 0x0000_0040, 0x0248_0400],
    [0x0a80_0031, 0x2000_0c28, 0x0000_0040, 0x0a0a_0401],
    [0x0060_0001, 0x2e00_0021, 0x008d_0000, 0x0000_0000],
    [0x0780_0031, 0x2000_0c28, 0x0000_0e00, 0x8200_0010],
];

/// The same on graphics 12.
const COPY_120: [[u32; 4]; 6] = [
    [0x0003_0061, 0x0205_0220, 0x0046_0005, 0x0000_0000],
    [0x0000_0169, 0x0245_8220, 0x0200_0024, 0x0000_0003],
    [0x0004_9031, 0x0324_0000, 0xa800_020c, 0x0200_0000],
    [0x0004_2031, 0x0000_0000, 0xa802_022c, 0x0280_0000],
    [0x0003_0061, 0x7005_0220, 0x0046_0005, 0x0000_0000],
    [0x0004_0131, 0x0000_0004, 0x7020_700c, 0x1000_0000],
];

/// A kernel that copies a dword per channel by surface messages, with a guard, on graphics 8 to 11.
const GUARDED: [[u32; 4]; 10] = [
    [0x0060_0001, 0x2140_2648, 0x0000_0000, 0x7654_3210],
    [0x0060_0040, 0x2150_1248, 0x168d_0140, 0x0008_0008],
    [0x0000_0009, 0x2160_0208, 0x0600_0004, 0x0000_0004],
    [0x0080_0040, 0x2180_1208, 0x028d_0140, 0x0000_0160],
    [0x0580_0010, 0x2000_0200, 0x028d_0180, 0x0000_0020],
    [0x0080_0009, 0x21c0_0208, 0x068d_0180, 0x0000_0002],
    [0x0c81_0031, 0x2200_0248, 0x0600_01c0, 0x0420_5e00],
    [0x0080_0001, 0x2240_0208, 0x008d_0200, 0x0000_0000],
    [0x0080_0001, 0x2220_0208, 0x008d_01c0, 0x0000_0000],
    [0x0c81_0031, 0x2000_0240, 0x0600_0200, 0x0802_5e01],
];

fn word(dwords: [u32; 4]) -> u128 {
    dwords.iter().rev().fold(0, |word, dword| word << 32 | u128::from(*dword))
}

#[test]
fn kernels_are_encoded_as_they_were_decoded() {
    let eight = [Platform::Bdw, Platform::Chv, Platform::Skl, Platform::Glk, Platform::Icl, Platform::Jsl];
    let mut all: Vec<(Platform, &[[u32; 4]])> = vec![(Platform::Hsw, &COPY_75), (Platform::Tgl, &COPY_120)];
    all.extend(eight.map(|platform| (platform, &COPY[..])));
    all.extend(eight.map(|platform| (platform, &GUARDED[..])));
    for (platform, kernel) in all {
        for (number, dwords) in kernel.iter().enumerate() {
            let instruction = decode(platform, word(*dwords))
                .unwrap_or_else(|error| panic!("{platform} {number}: {error}"));
            assert_eq!(instruction.ignored, 0, "{platform} {number}: {instruction:?}");
            assert_eq!(encode(platform, &instruction), Ok(word(*dwords)), "{platform} {number}");
        }
    }
}

#[test]
fn the_three_copies_are_the_same_instructions() {
    let opcodes = [Opcode::Mov, Opcode::Shl, Opcode::Send, Opcode::Send, Opcode::Mov, Opcode::Send];
    for (platform, kernel) in [(Platform::Hsw, COPY_75), (Platform::Jsl, COPY), (Platform::Tgl, COPY_120)] {
        let decoded = kernel.map(|dwords| decode(platform, word(dwords)).unwrap());
        assert_eq!(decoded.map(|instruction| instruction.opcode), opcodes, "{platform}");
        let [mov, shl, read, write, _, end] = decoded;
        assert_eq!((mov.execution_size, shl.execution_size, read.execution_size), (8, 1, 16));
        assert_eq!(
            shl.destination.unwrap().place,
            Place::Direct { file: intel_eu::File::General, number: 2, offset: 8 }
        );
        assert_eq!(shl.sources[1], Some(Source::Immediate { kind: Kind::Ud, bits: 3 }));
        let Some(Source::Register { place, region, .. }) = mov.sources[0] else { panic!("{mov:?}") };
        assert_eq!(place, Place::general(0));
        assert_eq!(region, Region::Rows { vertical: Some(8), width: 8, horizontal: 1 });
        assert_eq!(read.destination.unwrap().place, Place::general(3));
        let Message { function, descriptor, end_of_thread, .. } = read.message.unwrap();
        assert_eq!((function, descriptor, end_of_thread), (10, Descriptor::Immediate(0x0248_0400), false));
        assert_eq!(write.message.unwrap().descriptor, Descriptor::Immediate(0x0a0a_0401));
        assert!(end.message.unwrap().end_of_thread);
        assert_eq!(end.message.unwrap().descriptor, Descriptor::Immediate(0x0200_0010));
    }
}
