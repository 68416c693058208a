//! Messages: lengths of payloads, and what a platform's shared functions know.

use intel_eu::{Descriptor, Instruction, Opcode, Place, Platform, Rule, validate};

use crate::build::{Build, send};

fn rules(platform: Platform, instruction: &Instruction) -> Vec<Rule> {
    validate(platform, instruction).iter().map(|violation| violation.rule).collect()
}

/// Registers that a descriptor sends and returns, with a header.
fn lengths(sent: u32, returned: u32) -> Descriptor {
    Descriptor::Immediate(sent << 25 | returned << 20 | 1 << 19)
}

#[test]
fn payloads_overlap_by_their_lengths() {
    for (first, sent, second, more, is_apart) in [
        (2, 2, 4, 1, true),
        (2, 3, 4, 1, false),
        (6, 1, 4, 2, true),
        (6, 1, 4, 3, false),
        (4, 1, 4, 1, false),
        (2, 15, 17, 1, true),
        (17, 1, 2, 15, true),
    ] {
        let sends = send(Opcode::Sends, 10, 0).with(|i| {
            *i.place(0) = Place::general(first);
            *i.place(1) = Place::general(second);
            i.message().descriptor = lengths(sent, 0);
            i.message().extended = Descriptor::Immediate(more << 6);
        });
        let expected = if is_apart { vec![] } else { vec![Rule::SplitOverlap] };
        assert_eq!(rules(Platform::Skl, &sends), expected, "r{first}:{sent} r{second}:{more}");
        // A length in a register is one at least.
        let unknown = sends.with(|i| {
            i.message().descriptor = Descriptor::Register(0);
            i.message().extended = Descriptor::Register(2);
        });
        let expected = if first == second { vec![Rule::SplitOverlap] } else { vec![] };
        assert_eq!(rules(Platform::Skl, &unknown), expected, "r{first} r{second}");
    }
}

#[test]
fn answers_up_to_the_last_register_are_apart_from_the_payload() {
    for (payload, sent, destination, returned, is_apart) in [
        (126, 1, 126, 1, true),
        (126, 1, 126, 2, false),
        (124, 2, 126, 2, true),
        (124, 3, 126, 2, false),
        (100, 1, 96, 31, true),
        (100, 1, 97, 31, false),
    ] {
        let send = send(Opcode::Send, 10, 0).with(|i| {
            *i.place(0) = Place::general(payload);
            i.message().descriptor = lengths(sent, returned);
            i.destination.as_mut().expect("it has a destination").place = Place::general(destination);
        });
        let expected = if is_apart { vec![] } else { vec![Rule::ReturnOverlap] };
        assert_eq!(rules(Platform::Bdw, &send), expected, "r{payload}:{sent} to r{destination}:{returned}");
        assert_eq!(rules(Platform::Hsw, &send), [], "r{payload}:{sent} to r{destination}:{returned}");
    }
}

#[test]
fn the_urb_of_a_platform_knows_its_messages() {
    // The last message of each platform, and the bits of the number: above them is an offset.
    for (platform, last, bits) in
        [(Platform::Ivb, 5, 3), (Platform::Hsw, 6, 3), (Platform::Bdw, 8, 4), (Platform::Icl, 8, 4)]
    {
        for message in 0..64 {
            let urb = send(Opcode::Send, 6, 1 << 20 | message);
            let expected = if message % (1 << bits) <= last { vec![] } else { vec![Rule::UrbMessage] };
            assert_eq!(rules(platform, &urb), expected, "{platform} {message}");
        }
    }
}

#[test]
fn reads_of_the_urb_return_registers_at_any_offset() {
    for offset in [0_u32, 1, 2, 3] {
        let read = |returned: u32| send(Opcode::Send, 6, returned << 20 | offset << 4 | 8);
        assert_eq!(rules(Platform::Skl, &read(0)), [Rule::UrbRead], "{offset}");
        assert_eq!(rules(Platform::Skl, &read(1)), [], "{offset}");
    }
}

#[test]
fn shared_functions_came_one_by_one() {
    for (platform, last) in [(Platform::Ivb, 11), (Platform::Hsw, 13), (Platform::Icl, 13)] {
        for function in (0..16).filter(|function| *function != 6) {
            let message = send(Opcode::Send, function, 0);
            let expected = if function <= last { vec![] } else { vec![Rule::SharedFunction] };
            assert_eq!(rules(platform, &message), expected, "{platform} {function}");
        }
    }
}

#[test]
fn a_thread_ends_with_its_last_registers() {
    for (number, expected) in [(111, vec![Rule::EndOfThread]), (112, vec![]), (127, vec![])] {
        let end = send(Opcode::Send, 7, 0).with(|i| {
            *i.place(0) = Place::general(number);
            i.message().end_of_thread = true;
        });
        assert_eq!(rules(Platform::Skl, &end), expected, "r{number}");
        let split = send(Opcode::Sends, 7, 0).with(|i| {
            *i.place(0) = Place::general(120);
            *i.place(1) = Place::general(number);
            i.message().end_of_thread = true;
        });
        assert_eq!(rules(Platform::Skl, &split), expected, "r120 and r{number}");
    }
}
