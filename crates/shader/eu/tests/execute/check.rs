//! Shaders that are checked before they are run.

use intel_eu::execute::{Stop, Why};
use intel_eu::{Error, Opcode, Platform};

use super::shaders::{COPY, COPY_75, COPY_120, GUARDED};
use super::surfaces::{bytes, check, payload, run, surfaces};

#[test]
fn a_known_shader_has_its_length() {
    for (platform, shader) in [(Platform::Hsw, COPY_75), (Platform::Jsl, COPY), (Platform::Tgl, COPY_120)] {
        let mut bytes = bytes(&shader);
        let len = bytes.len();
        bytes.extend([0xff; 40]);
        assert_eq!(
            check(platform, 0xffff, &bytes),
            Ok(len),
            "{platform}: bytes after the end are no instructions"
        );
    }
    let mut guarded = GUARDED.to_vec();
    guarded.extend(&COPY[4..]);
    assert_eq!(check(Platform::Bdw, 0xffff, &bytes(&guarded)), Ok(12 * 16));
}

#[test]
fn the_first_instruction_that_is_not_known_is_found() {
    let checked = |shader: &[[u32; 4]]| check(Platform::Jsl, 0xffff, &bytes(shader));
    assert_eq!(checked(&COPY[..5]), Err(Stop { at: 80, why: Why::End }));
    assert_eq!(checked(&[]), Err(Stop { at: 0, why: Why::End }));
    let unknown = [0x7f, 0, 0, 0];
    let error = Error::Opcode { code: 0x7f, platform: Platform::Jsl };
    assert_eq!(checked(&[COPY[0], unknown, COPY[5]]), Err(Stop { at: 16, why: Why::Decode(error) }));
    let sampler = [0x0280_0031, 0x2060_0248, 0x0600_0040, 0x0248_0400];
    let why = Why::Message { function: 2, descriptor: 0x0248_0400 };
    assert_eq!(checked(&[COPY[0], COPY[1], sampler, COPY[5]]), Err(Stop { at: 32, why }));
    // Eight OWords from r126 on.
    let mut read = COPY[2];
    read[1] = 0x2fc0_0248;
    let why = Why::Register { opcode: Opcode::Send, operand: "the destination" };
    assert_eq!(checked(&[COPY[0], read, COPY[5]]), Err(Stop { at: 16, why }));
}

#[test]
fn a_false_predicate_hides_nothing() {
    // (f0.0) sad2 (8) r3.0<1>:w r0.0<8;8,1>:w r1.0<8;8,1>:w: no channel runs it, as the flags are zeroes.
    for inverse in [0, 1 << 20] {
        let sad2 = [0x0061_0050 | inverse, 0x2060_1a68, 0x1e8d_0000, 0x008d_0020];
        let shader = bytes(&[COPY[0], sad2, COPY[4], COPY[5]]);
        let stop = Err(Stop { at: 16, why: Why::Unknown { opcode: Opcode::Sad2, what: "the effect" } });
        assert_eq!(check(Platform::Skl, 0xff, &shader), stop);
        let run = run(Platform::Skl, 0xff, &payload(0, 0), &shader, 1000, &mut surfaces(0));
        assert_eq!(run.is_ok(), inverse == 0, "a thread whose channels skip it ends");
    }
}
