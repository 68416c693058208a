//! Messages that access a place for each channel.

use super::{FORMS, Form, Platform, State, refused, run, run_on};

/// A message with its payload from r8 on to a data port, its answer in r16.
fn send(form: Form, port: u32, descriptor: u32) -> String {
    let to = if descriptor >> 20 & 0x1f == 0 { "null" } else { "r16" };
    match (form, port) {
        (Form::Gen7 | Form::Gen8 | Form::Gen11, _) => {
            format!("send (16|M0) {to} r8 0x{port:x} 0x{descriptor:08x}")
        }
        (Form::Gen12, 10) => format!("send.dc0 (16|M0) {to} r8 null 0x0 0x{descriptor:08x}"),
        (Form::Gen12, _) => format!("send.dc1 (16|M0) {to} r8 null 0x0 0x{descriptor:08x}"),
        (Form::XeHp, 10) => format!("send.dc0 (16|M0) {to} r8 null:0 0x0 0x{descriptor:08x}"),
        (Form::XeHp, _) => format!("send.dc1 (16|M0) {to} r8 null:0 0x0 0x{descriptor:08x}"),
    }
}

/// A descriptor: registers that are sent and that come back, the type, and control bits.
const fn descriptor(sent: u32, back: u32, kind: u32, control: u32) -> u32 {
    sent << 25 | back << 20 | kind << 14 | control
}

const ATOMIC: u32 = 2;
const RESPONDS: u32 = 1 << 13;
/// The messages of bytes: sixteen channels, and words.
const SIXTEEN: u32 = 1 << 8;
const WORDS: u32 = 1 << 10;

/// The code of an atomic operation, and what it makes of an old dword and of its operand.
type Atomic<'a> = (u32, &'a dyn Fn(u32, u32) -> u32);

fn dwords(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

#[test]
fn bytes_and_words_are_read_and_written() {
    for platform in FORMS {
        for size in [1, 2] {
            let words = if size == 2 { WORDS } else { 0 };
            let bytes: Vec<u8> = (0..64).map(|index| index * 3).collect();
            let state = State::buffer(bytes.clone()).with(8, |channel| (15 - channel) * size);
            let source = send(platform.1, 10, descriptor(2, 2, 4, SIXTEEN | words));
            let state = run(platform, &source, state);
            let mask = if size == 1 { 0xff } else { 0xffff };
            let expected = std::array::from_fn(|channel| {
                let at = (15 - channel) * size as usize;
                u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])) & mask
            });
            assert_eq!(state.dwords(16).map(|dword| dword & mask), expected, "{}", platform.0);
            // The other bits mean nothing: they are not zeros.
            assert!(state.dwords(16).iter().all(|dword| dword & !mask != 0));

            let state = State::buffer(vec![0; 32])
                .with(8, |channel| channel * size)
                .with(10, |channel| 0x0101_0101 * channel);
            let state = run(platform, &send(platform.1, 10, descriptor(4, 0, 12, SIXTEEN | words)), state);
            let expected: Vec<u8> =
                (0..32).map(|at| if at < 16 * size { (at / size) as u8 } else { 0 }).collect();
            assert_eq!(state.buffer, expected, "{}", platform.0);
        }
    }
}

#[test]
fn atomic_operations_change_a_dword_in_the_order_of_channels() {
    let signed = |old: u32, operand: u32, largest: bool| {
        let (old, operand) = (old as i32, operand as i32);
        (if largest { old.max(operand) } else { old.min(operand) }) as u32
    };
    let cases: [Atomic<'_>; 9] = [
        (1, &|old, operand| old & operand),
        (2, &|old, operand| old | operand),
        (3, &|old, operand| old ^ operand),
        (4, &|_, operand| operand),
        (7, &|old, operand| old.wrapping_add(operand)),
        (10, &|old, operand| signed(old, operand, true)),
        (11, &|old, operand| signed(old, operand, false)),
        (12, &|old, operand| old.max(operand)),
        (13, &|old, operand| old.min(operand)),
    ];
    // Channels 0 to 7 change the first dword, the others the second one.
    let operand = |channel: u32| channel.wrapping_mul(0x9e37_79b9);
    for platform in FORMS {
        for (code, operation) in cases {
            let state =
                State::buffer([0x8000_0005_u32, 7].iter().flat_map(|dword| dword.to_le_bytes()).collect())
                    .with(8, |channel| channel / 8 * 4)
                    .with(10, operand);
            let message = descriptor(4, 2, ATOMIC, RESPONDS | code << 8);
            let state = run(platform, &send(platform.1, 12, message), state);
            let mut memory = [0x8000_0005, 7];
            let old = std::array::from_fn(|channel| {
                let place = &mut memory[channel / 8];
                let old = *place;
                *place = operation(old, operand(channel as u32));
                old
            });
            assert_eq!(
                (state.dwords(16), dwords(&state.buffer)),
                (old, memory.to_vec()),
                "{code} {}",
                platform.0
            );
        }
    }
}

#[test]
fn a_dword_is_exchanged_if_it_is_the_expected_one() {
    for platform in FORMS {
        // Channel n expects n, and stores n + 1: all succeed in turn, but for the last one, which expects 99.
        let state = State::buffer(vec![0; 4])
            .with(10, |channel| if channel == 15 { 99 } else { channel })
            .with(12, |channel| channel + 1);
        let message = descriptor(6, 2, ATOMIC, RESPONDS | 14 << 8);
        let state = run(platform, &send(platform.1, 12, message), state);
        assert_eq!(state.dwords(16), std::array::from_fn(|channel| channel as u32), "{}", platform.0);
        assert_eq!(dwords(&state.buffer), [15]);
    }
}

#[test]
fn only_channels_that_are_there_access_memory() {
    for platform in FORMS {
        let source = [
            "cmp (16|M0) (lt)f0.0 r20.0<1>:ud r2.0<8;8,1>:ud 0x4:ud",
            "(f0.0) if (16|M0) 32 32",
            &send(platform.1, 12, descriptor(4, 0, 9, 0x1e00)),
            "endif (16|M0) 16",
        ];
        let state = State::buffer(vec![0xff; 64]).with(2, |channel| channel).with(8, |channel| 4 * channel);
        let state = run(platform, &source.join("\n"), state);
        let expected: Vec<u32> = (0..16).map(|channel| if channel < 4 { 0 } else { u32::MAX }).collect();
        assert_eq!(dwords(&state.buffer), expected, "{}", platform.0);
    }
}

#[test]
fn wrong_messages_are_refused() {
    let at = |number: u32| State::buffer(vec![0; 64]).with(8, move |_| number);
    let cases = [
        (10, descriptor(2, 2, 4, SIXTEEN | WORDS), 3, "an access of 2 bytes at 0x3"),
        (10, descriptor(2, 2, 4, SIXTEEN | 2 << 10), 0, "a scattered message of size 2"),
        (10, descriptor(2, 2, 4, 0), 0, "a message of 8 channels"),
        (10, descriptor(2, 1, 4, SIXTEEN), 0, "2 registers sent and 1 back"),
        (12, descriptor(4, 2, ATOMIC, RESPONDS | 7 << 8), 2, "an access of 4 bytes at 0x2"),
        (12, descriptor(4, 2, ATOMIC, RESPONDS | 5 << 8), 0, "atomic operation 5"),
        (12, descriptor(4, 2, ATOMIC, RESPONDS | 14 << 8), 0, "4 registers sent and 2 back"),
        (12, descriptor(4, 2, 3, 0), 0, "message 0x3 to unit 12"),
    ];
    for (port, descriptor, offset, why) in cases {
        let error = refused(&send(Form::Gen8, port, descriptor), at(offset));
        assert!(error.contains(why), "{error}");
    }
    // Channels that are not there have no wrong place.
    let source = send(Form::Gen8, 12, descriptor(2, 2, 1, 0x1e00));
    let state = || State::buffer(vec![0; 64]).with(8, |channel| if channel == 9 { 2 } else { 0 });
    assert!(run_on((Platform::Bdw, Form::Gen8), &source, state(), 0x01ff).is_ok());
    assert!(run_on((Platform::Bdw, Form::Gen8), &source, state(), 0x03ff).is_err());
}
