//! Shaders with known bytes: decoded, encoded again, read.

mod shaders;

use intel_eu::{
    Descriptor, Message, Opcode, Place, Platform, Region, Source, Type, decode, encode, validate,
};
use shaders::{COPY, COPY_75, COPY_120, GUARDED, word};

#[test]
fn shaders_are_valid_and_encoded_as_they_were_decoded() {
    let eight = [Platform::Bdw, Platform::Chv, Platform::Skl, Platform::Glk, Platform::Icl, Platform::Jsl];
    let mut all: Vec<(Platform, &[[u32; 4]])> = vec![(Platform::Hsw, &COPY_75), (Platform::Tgl, &COPY_120)];
    all.extend(eight.map(|platform| (platform, &COPY[..])));
    all.extend(eight.map(|platform| (platform, &GUARDED[..])));
    for (platform, shader) in all {
        for (number, dwords) in shader.iter().enumerate() {
            let instruction = decode(platform, word(*dwords))
                .unwrap_or_else(|error| panic!("{platform} {number}: {error}"));
            assert_eq!(instruction.ignored, 0, "{platform} {number}: {instruction:?}");
            assert_eq!(encode(platform, &instruction), Ok(word(*dwords)), "{platform} {number}");
            assert_eq!(validate(platform, &instruction), [], "{platform} {number}");
        }
    }
}

#[test]
fn the_three_copies_are_the_same_instructions() {
    let opcodes = [Opcode::Mov, Opcode::Shl, Opcode::Send, Opcode::Send, Opcode::Mov, Opcode::Send];
    for (platform, shader) in [(Platform::Hsw, COPY_75), (Platform::Jsl, COPY), (Platform::Tgl, COPY_120)] {
        let decoded = shader.map(|dwords| decode(platform, word(dwords)).unwrap());
        assert_eq!(decoded.map(|instruction| instruction.opcode), opcodes, "{platform}");
        let [mov, shl, read, write, _, end] = decoded;
        assert_eq!((mov.execution_size, shl.execution_size, read.execution_size), (8, 1, 16));
        assert_eq!(
            shl.destination.unwrap().place,
            Place::Direct { file: intel_eu::File::General, number: 2, offset: 8 }
        );
        assert_eq!(shl.sources[1], Some(Source::Immediate { kind: Type::Ud, bits: 3 }));
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

#[test]
fn a_branch_of_mesas_compiler_keeps_its_mark() {
    for (platform, dwords, at, kind) in [
        // brw_ENDIF, brw_WHILE: source 0, and its type as that of source 1.
        (Platform::Skl, [0x0060_0025, 0x2000_0e20, 0x0800_0000, 0x0000_0010], 0, Type::D),
        (Platform::Jsl, [0x0061_0027, 0x2000_0e20, 0x0800_0000, 0xffff_ffc0], 0, Type::D),
        (Platform::Hsw, [0x0060_0025, 0x2000_3c24, 0x0000_0000, 0x0000_0002], 1, Type::W),
    ] {
        let branch = decode(platform, word(dwords)).unwrap();
        assert_eq!(branch.sources[at], Some(Source::Immediate { kind, bits: 0 }), "{platform}");
        assert_eq!(encode(platform, &branch), Ok(word(dwords)), "{platform}");
        // Without it, the branch is the assembler's.
        let usual = intel_eu::Instruction { sources: [None; 3], ignored: 0, ..branch };
        let usual = decode(platform, encode(platform, &usual).unwrap()).unwrap();
        assert_eq!((usual.sources, usual.jip), ([None; 3], branch.jip), "{platform}");
    }
    let register = [0x0060_0025, 0x2000_0020, 0x0000_0000, 0x0000_0010];
    let error = decode(Platform::Skl, word(register)).unwrap_err();
    assert_eq!(error.to_string(), "endif: its target is in a register");
}

#[test]
fn a_descriptor_in_another_register_is_refused() {
    for (place, bit) in [("the file", 1 << 43), ("the number", 1 << 101)] {
        let indirect = word(COPY_75[2]) & !(3 << 42) & !(u128::MAX << 96) | 0x200 << 96;
        let known = decode(Platform::Hsw, indirect).unwrap();
        assert_eq!(known.message.unwrap().descriptor, Descriptor::Register(0));
        assert_eq!(encode(Platform::Hsw, &known), Ok(indirect));
        let error = decode(Platform::Hsw, indirect ^ bit).unwrap_err();
        assert_eq!(error.to_string(), "send: its descriptor is in a register other than a0.0", "{place}");
    }
}

#[test]
fn a_descriptor_may_be_signed() {
    // send (16) null:uw r4:d: a media block write, as IGT's programs for Haswell and Broadwell have it.
    for (platform, dwords, bit) in [
        (Platform::Hsw, [0x0580_0031, 0x2400_1ca8, 0x0000_0080, 0x060a_8000], 44),
        (Platform::Bdw, [0x0c80_0031, 0x2400_0a40, 0x0e00_0080, 0x060a_8000], 91),
    ] {
        let (signed, unsigned) = (word(dwords), word(dwords) ^ 1 << bit);
        let [one, other] = [signed, unsigned].map(|word| decode(platform, word).unwrap());
        assert_eq!((one.message, one.sources), (other.message, other.sources), "{platform}");
        assert_eq!((encode(platform, &one), encode(platform, &other)), (Ok(signed), Ok(unsigned)));
        let error = decode(platform, signed ^ 1 << (bit + 1)).unwrap_err();
        assert_eq!(error.to_string(), "send: its descriptor is of another type than UD or D", "{platform}");
    }
}
