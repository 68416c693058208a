//! Shaders whose bytes are known, and what stops others.

use intel_eu::execute::{Access, Shader, Stop, Thread, Why};
use intel_eu::{Opcode, Place, Platform, Region, Source, Type, compact, decode, encode};

use super::shaders::{COPY, COPY_75, COPY_120, GUARDED, word};
use super::surfaces::{bytes, check, payload, run, surfaces};

#[test]
fn each_group_copies_its_128_bytes() {
    for (platform, shader) in [
        (Platform::Hsw, COPY_75),
        (Platform::Bdw, COPY),
        (Platform::Glk, COPY),
        (Platform::Jsl, COPY),
        (Platform::Tgl, COPY_120),
    ] {
        let mut bus = surfaces(512);
        for group in [2, 0] {
            run(platform, 0xffff, &payload(group, 0), &bytes(&shader), 1000, &mut bus).unwrap();
        }
        let [from, to] = &bus.bytes[..] else { panic!() };
        assert_eq!(to[..128], from[..128], "{platform}");
        assert_eq!(to[256..384], from[256..384], "{platform}");
        assert!(to[128..256].iter().chain(&to[384..]).all(|byte| *byte == 0), "{platform}");
        let access = |at, surface, offset| (Access { at, surface, offset }, 128);
        assert_eq!(bus.accesses[..2], [access(32, 0, 256), access(48, 1, 256)], "{platform}");
    }
}

#[test]
fn a_guarded_channel_copies_nothing() {
    let mut shader = GUARDED.to_vec();
    shader.extend(&COPY[4..]);
    for platform in [Platform::Bdw, Platform::Icl] {
        let mut bus = surfaces(256);
        // The second group has the dwords 16 to 31, of which those below 20 are copied.
        run(platform, 0xffff, &payload(1, 20), &bytes(&shader), 1000, &mut bus).unwrap();
        let [from, to] = &bus.bytes[..] else { panic!() };
        assert_eq!(to[64..80], from[64..80]);
        assert!(to[..64].iter().chain(&to[80..]).all(|byte| *byte == 0));
        assert_eq!(bus.accesses.len(), 8, "four channels read and write");
    }
}

#[test]
fn bytes_after_a_surface_are_zeroes_and_dropped() {
    let mut bus = surfaces(200);
    run(Platform::Jsl, 0xffff, &payload(1, 0), &bytes(&COPY), 1000, &mut bus).unwrap();
    assert_eq!(bus.bytes[0][128..200], bus.bytes[1][128..200]);
    assert_eq!(bus.bytes[1].len(), 200);
}

#[test]
fn a_shader_that_depends_on_undefined_registers_stops() {
    // Without the group's number, the address is undefined; without the read, the stored bytes are.
    let mut bus = surfaces(512);
    let stop = run(Platform::Jsl, 0xffff, &[], &bytes(&COPY), 1000, &mut bus);
    assert_eq!(stop, Err(Stop { at: 32, why: Why::Undefined { opcode: Opcode::Send, what: "the address" } }));
    let whole = Shader::new(Platform::Jsl, &bytes(&COPY));
    let mut thread = Thread::new(&whole, 0xffff, &payload(0, 0));
    // Dword 0 goes nowhere; dword 1 is the group's number.
    thread.undefine(0, 0..4);
    assert!(thread.clone().run(1000, &mut bus).is_ok());
    thread.undefine(0, 4..5);
    assert_eq!(thread.run(1000, &mut bus), stop);
    bus.accesses.clear();
    let mut shader = COPY.to_vec();
    shader.remove(2);
    let stop = run(Platform::Jsl, 0xffff, &payload(0, 0), &bytes(&shader), 1000, &mut bus);
    assert_eq!(
        stop,
        Err(Stop { at: 32, why: Why::Undefined { opcode: Opcode::Send, what: "a stored byte" } })
    );
    assert!(bus.accesses.is_empty());
}

#[test]
fn what_is_not_known_names_the_instruction() {
    let mut bus = surfaces(512);
    let mut run =
        |shader: &[[u32; 4]]| run(Platform::Jsl, 0xffff, &payload(0, 0), &bytes(shader), 1000, &mut bus);
    assert_eq!(run(&COPY[..5]), Err(Stop { at: 80, why: Why::End }));
    let call = [0x0080_002c, 0x2040_0020, 0x0e00_0000, 0x0000_0020];
    let effect = Why::Unknown { opcode: Opcode::Call, what: "the effect" };
    assert_eq!(run(&[COPY[0], call]), Err(Stop { at: 16, why: effect }));
    let sampler = [0x0280_0031, 0x2060_0248, 0x0600_0040, 0x0248_0400];
    let message = Why::Message { function: 2, descriptor: 0x0248_0400 };
    let stop = run(&[COPY[0], sampler]).unwrap_err();
    assert_eq!(stop, Stop { at: 16, why: message });
    assert_eq!(
        stop.to_string(),
        "instruction at 0x10: the message 0x2480400 to the shared function 2 is not known"
    );
    let half = super::surfaces::run(Platform::Jsl, 0xffff, &[], &bytes(&COPY)[..24], 9, &mut surfaces(0));
    let why = Why::Decode(intel_eu::Error::Truncated { bytes: 8 });
    assert_eq!(half, Err(Stop { at: 16, why }));
}

#[test]
fn a_compacted_shader_does_the_same() {
    for (platform, shader) in [(Platform::Hsw, COPY_75), (Platform::Bdw, COPY), (Platform::Icl, COPY)] {
        let short = |word| match compact(platform, word) {
            Ok(short) => short.to_le_bytes().to_vec(),
            Err(_) => word.to_le_bytes().to_vec(),
        };
        let code: Vec<u8> = shader.iter().flat_map(|dwords| short(word(*dwords))).collect();
        assert!(code.len() <= 6 * 16 - 2 * 8, "{platform}: {} bytes", code.len());
        let mut bus = surfaces(512);
        run(platform, 0xffff, &payload(1, 0), &code, 1000, &mut bus).unwrap();
        assert_eq!(bus.bytes[1][128..256], bus.bytes[0][128..256], "{platform}");
        assert_eq!(check(platform, 0xffff, &code), Ok(code.len()));
    }
}

/// Runs one instruction after `mov r2 r0` on the payload in r0, and stores r3 by the rest of the copying shader.
fn result(edit: impl FnOnce(&mut intel_eu::Instruction), payload: [[u8; 32]; 2]) -> Result<Vec<u8>, Stop> {
    let platform = Platform::Skl;
    let mut instruction = decode(platform, word(COPY[0])).unwrap();
    instruction.destination.as_mut().unwrap().place = Place::general(3);
    edit(&mut instruction);
    let encoded = encode(platform, &instruction).unwrap();
    let dwords = [0, 32, 64, 96].map(|shift| (encoded >> shift) as u32);
    // One OWord of the four registers from r3 on.
    let mut store = COPY[3];
    store[3] = 0x040a_0001;
    let header = [0x0060_0001, 0x2040_0208, 0x008d_0020, 0x0000_0000];
    let mut shader = vec![header, dwords];
    shader.extend([store, COPY[4], COPY[5]]);
    let mut bus = surfaces(16);
    bus.bytes[1] = vec![0xee; 16];
    run(platform, 0xff, &payload, &bytes(&shader), 1000, &mut bus)?;
    Ok(bus.bytes.remove(1))
}

fn floats(numbers: [f32; 4]) -> [[u8; 32]; 2] {
    let mut registers = [[0; 32]; 2];
    for (place, number) in registers[0].chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    registers
}

#[test]
fn a_conversion_leaves_the_rest_of_wide_elements_undefined() {
    let convert = |kind: Type, stride: u8| {
        move |i: &mut intel_eu::Instruction| {
            let to = i.destination.as_mut().unwrap();
            (to.kind, to.stride) = (kind, stride);
            let Some(Source::Register { kind, .. }) = &mut i.sources[0] else { panic!() };
            *kind = Type::F;
        }
    };
    let stored = result(convert(Type::D, 1), floats([1.9, -1.9, 3e9, 0.5])).unwrap();
    let numbers: Vec<i32> =
        stored.chunks_exact(4).map(|four| i32::from_le_bytes(four.try_into().unwrap())).collect();
    assert_eq!(numbers, [1, -1, i32::MAX, 0]);
    let why = Why::Undefined { opcode: Opcode::Send, what: "a stored byte" };
    assert_eq!(result(convert(Type::W, 2), floats([1.0; 4])), Err(Stop { at: 32, why }));
}

#[test]
fn regions_take_elements_of_rows() {
    let rows = |vertical: u8, width: u8, horizontal: u8| {
        move |i: &mut intel_eu::Instruction| {
            let Some(Source::Register { region, .. }) = &mut i.sources[0] else { panic!() };
            *region = Region::Rows { vertical: Some(vertical), width, horizontal };
        }
    };
    let mut registers = [[0; 32]; 2];
    for (number, place) in registers[0].chunks_exact_mut(4).enumerate() {
        place[0] = number as u8;
    }
    for (region, expected) in [
        ((0, 1, 0), [0, 0, 0, 0]),
        ((4, 2, 2), [0, 2, 4, 6]),
        ((2, 2, 1), [0, 1, 2, 3]),
        ((1, 2, 0), [0, 0, 1, 1]),
    ] {
        let stored = result(rows(region.0, region.1, region.2), registers).unwrap();
        let numbers: Vec<u8> = stored.chunks_exact(4).map(|four| four[0]).collect();
        assert_eq!(numbers, expected, "{region:?}");
    }
}
