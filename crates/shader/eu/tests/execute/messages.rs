//! Messages to the data port.

use intel_eu::execute::{Stop, Why};
use intel_eu::{Opcode, Platform};

use super::surfaces::{dwords, stored, stored_from, surfaces};

const BEFORE_12: [Platform; 4] = [Platform::Hsw, Platform::Bdw, Platform::Skl, Platform::Jsl];

/// Each number once, and some far after the end of a surface of 64 bytes.
const INDICES: [u32; 16] = [15, 3, 0, 7, 1, 2, 14, 9, 4, 0x1000, 0x4000_0000, 5, 6, 8, 10, 11];

#[test]
fn dwords_are_gathered_by_their_index() {
    let memory = dwords(&surfaces(64).bytes[0]);
    let expected = INDICES.map(|index| memory.get(index as usize).copied().unwrap_or(0));
    for platform in BEFORE_12 {
        let text = "send (16|M0) r10:ud r2 0xA 0x0420C300";
        assert_eq!(stored(platform, 0xffff, INDICES, text), Ok(expected), "{platform}");
    }
    let split = "send.dc0 (16|M0) r10 r2 null 0x0 0x0420C300";
    assert_eq!(stored(Platform::Tgl, 0xffff, INDICES, split), Ok(expected));
    // Untyped messages have addresses in bytes, and of eight channels one register of them.
    let bytes = INDICES.map(|index| index.saturating_mul(4) & !3);
    let untyped = "send (8|M0) r10:ud r2 0xC 0x02106E00\nsend (8|M8) r11:ud r3 0xC 0x02106E00";
    assert_eq!(stored(Platform::Skl, 0xffff, bytes, untyped), Ok(expected));
    let enabled = stored(Platform::Skl, 0x0f01, bytes, untyped).unwrap();
    let masked = |at| if 0x0f01_u32 >> at & 1 != 0 { expected[at] } else { 0 };
    assert_eq!(enabled, std::array::from_fn(masked), "other channels read nothing");
}

#[test]
fn dwords_are_scattered_by_their_index() {
    let text = "
        mov (16|M0) r4.0<1>:ud r2.0<8;8,1>:ud
        add (16|M0) r6.0<1>:ud r2.0<8;8,1>:ud 0x100:ud
        SEND";
    let one = text.replace("SEND", "send (16|M0) null:ud r4 0xA 0x0802C300");
    let two = text.replace("SEND", "sends (16|M0) null:ud r4 r6 0x8A 0x0402C300");
    // A second payload of no register is not sent.
    let none = text.replace("SEND", "sends (16|M0) null:ud r4 r20 0xA 0x0802C300");
    for text in [one, two, none] {
        let mut bus = surfaces(64);
        let before = dwords(&bus.bytes[0]);
        stored_from(&mut bus, Platform::Skl, 0x7fff, INDICES, &text).unwrap();
        let expected: [u32; 16] = std::array::from_fn(|at| {
            let is_written = INDICES[..15].contains(&(at as u32));
            if is_written { at as u32 + 0x100 } else { before[at] }
        });
        assert_eq!(dwords(&bus.bytes[0]), expected);
    }
}

#[test]
fn bytes_are_gathered_wherever_they_are() {
    let numbers: [u32; 16] = std::array::from_fn(|at| 3 * at as u32 + 1);
    let memory = surfaces(64).bytes.remove(0);
    for (control, bytes, read) in [
        (0, 1, "mov (16|M0) r10.0<1>:ud r4.0<32;8,4>:ub"),
        (4, 2, "mov (16|M0) r10.0<1>:ud r4.0<16;8,2>:uw"),
        (8, 4, "mov (16|M0) r10.0<1>:ud r4.0<8;8,1>:ud"),
    ] {
        let expected = numbers.map(|number| {
            let bytes = &memory[number as usize..][..bytes];
            bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
        });
        let text = format!("send (16|M0) r4:ud r2 0xA 0x04210{:X}00\n{read}", control | 1);
        for platform in BEFORE_12 {
            assert_eq!(stored(platform, 0xffff, numbers, &text), Ok(expected), "{platform} {bytes}");
        }
        // The rest of the dword means nothing.
        let whole = text.replace("r4:ud", "r10:ud").lines().next().unwrap_or_default().to_owned();
        let result = stored(Platform::Skl, 0xffff, numbers, &whole);
        let why = Why::Undefined { opcode: Opcode::Send, what: "a stored byte" };
        assert_eq!(result.is_err_and(|stop| stop.why == why), bytes < 4, "{bytes}");
    }
}

#[test]
fn bytes_are_scattered_wherever_they_are() {
    let numbers: [u32; 16] = std::array::from_fn(|at| 3 * at as u32 + 1);
    let mut bus = surfaces(64);
    let mut expected = bus.bytes[0].clone();
    let text = "
        mov (16|M0) r4.0<1>:ud r2.0<8;8,1>:ud
        mul (16|M0) r6.0<1>:ud r2.0<8;8,1>:ud 0x105:uw
        send (16|M0) null:ud r4 0xA 0x08030500";
    stored_from(&mut bus, Platform::Jsl, 0xfffe, numbers, text).unwrap();
    for number in &numbers[1..] {
        expected[*number as usize..][..2].copy_from_slice(&(*number as u16 * 0x105).to_le_bytes());
    }
    assert_eq!(bus.bytes[0], expected);
}

#[test]
fn an_atomic_operation_returns_the_old_dword() {
    // All channels add their numbers to the second dword.
    let numbers: [u32; 16] = std::array::from_fn(|at| 1 << at);
    let text = "
        mov (16|M0) r4.0<1>:ud 0x4:ud
        mov (16|M0) r6.0<1>:ud r2.0<8;8,1>:ud
        send (16|M0) r10:ud r4 0xC 0x0820A700";
    for platform in BEFORE_12 {
        let mut bus = surfaces(64);
        let start = dwords(&bus.bytes[0])[1];
        let old = stored_from(&mut bus, platform, 0xfff0, numbers, text).unwrap();
        assert_eq!(dwords(&bus.bytes[0])[1], start.wrapping_add(0xfff0), "{platform}");
        let expected = |at| if at < 4 { 0 } else { start.wrapping_add((1_u32 << at) - 0x10) };
        assert_eq!(old, std::array::from_fn(expected), "{platform}");
    }
    // Without a response, and without an operand.
    let mut bus = surfaces(64);
    let start = dwords(&bus.bytes[0])[1];
    let increment = "mov (8|M0) r4.0<1>:ud 0x4:ud\nsend (8|M0) null:ud r4 0xC 0x02009500";
    assert_eq!(stored_from(&mut bus, Platform::Skl, 0xff, numbers, increment), Ok([0; 16]));
    assert_eq!(dwords(&bus.bytes[0])[1], start.wrapping_add(8));
}

#[test]
fn a_dword_is_exchanged_if_it_is_the_expected_one() {
    let numbers: [u32; 16] = std::array::from_fn(|at| 4 * at as u32);
    let mut bus = surfaces(64);
    let before = dwords(&bus.bytes[0]);
    // Expected: the fourth dword.
    let text = format!(
        "mov (8|M0) r4.0<1>:ud r2.0<8;8,1>:ud
        mov (8|M0) r5.0<1>:ud {:#X}:ud
        mov (8|M0) r6.0<1>:ud 0x7:ud
        send (8|M0) r10:ud r4 0xC 0x0610BE00",
        before[3]
    );
    let old = stored_from(&mut bus, Platform::Skl, 0xff, numbers, &text).unwrap();
    assert_eq!(old[..8], before[..8]);
    let expected: [u32; 16] = std::array::from_fn(|at| if at == 3 { 7 } else { before[at] });
    assert_eq!(dwords(&bus.bytes[0]), expected);
}

#[test]
fn an_address_of_a_dword_is_a_multiple_of_four() {
    for (function, descriptor, refuses) in
        [("0xC", "0x02106E00", true), ("0xC", "0x0210B500", true), ("0xA", "0x02110800", false)]
    {
        let text = format!("send (8|M0) r10:ud r2 {function} {descriptor}");
        let expected = Err(Stop { at: 32, why: Why::Unaligned { opcode: Opcode::Send, offset: 6 } });
        let result = stored(Platform::Skl, 0xff, [6; 16], &text);
        assert_eq!(result == expected, refuses, "{descriptor}: {result:?}");
    }
}

#[test]
fn the_response_of_a_fence_means_nothing() {
    let fence = "send (8|M0) r10:ud r0 0xA 0x0219E000";
    let why = Why::Undefined { opcode: Opcode::Send, what: "a stored byte" };
    assert_eq!(stored(Platform::Skl, 0xff, [0; 16], fence), Err(Stop { at: 64, why }));
    assert_eq!(stored(Platform::Skl, 0xff, [0; 16], &fence.replace("r10", "r20")), Ok([0; 16]));
}
