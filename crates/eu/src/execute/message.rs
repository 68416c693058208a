//! Messages to the data port, and the end of the thread.

use crate::{Descriptor, Message, Platform};

/// A message that is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The thread ends.
    End,
    /// Bytes behind one address, which the header has: so many, from the byte `skip` of the registers on.
    Block {
        /// The direction.
        direction: Direction,
        /// The binding table's entry.
        surface: u8,
        /// Bytes, 16 to 128.
        bytes: usize,
        /// The first byte in the registers: 16 for the upper half of one.
        skip: usize,
        /// The unit of the header's offset, in bytes.
        unit: u32,
    },
    /// Dwords of each channel, behind an address of its own.
    Untyped {
        /// The direction.
        direction: Direction,
        /// The binding table's entry.
        surface: u8,
        /// Channels: 8 or 16.
        channels: usize,
        /// The first dwords of four that are accessed, one bit each.
        dwords: u8,
    },
}

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Memory to registers.
    Read,
    /// Registers to memory.
    Write,
}

/// Shared functions (SFID): the manuals' "Target Function IDs".
const GATEWAY: u8 = 3;
const SPAWNER: u8 = 7;
const DATA_PORT_0: u8 = 10;
const DATA_PORT_1: u8 = 12;

/// Binding table entries from here on are no surfaces: shared local memory, and memory without a surface.
const NO_SURFACE: u8 = 0xf0;

/// Returns whether the payload begins with a header.
pub(super) fn has_header(descriptor: u32) -> bool {
    descriptor >> 19 & 1 != 0
}

/// Returns a message; `None` if it is not known.
///
/// Source: the Programmer's Reference Manuals, "Data Port Messages"; Mesa's brw_eu.h, `brw_dp_desc`.
pub(super) fn known(platform: Platform, message: &Message) -> Option<Known> {
    let Descriptor::Immediate(descriptor) = message.descriptor else { return None };
    let ends = match message.function {
        SPAWNER => platform.graphics() < 125,
        GATEWAY => platform.graphics() >= 125,
        _ => false,
    };
    if message.end_of_thread {
        return ends.then_some(Known::End);
    }
    let surface = descriptor as u8;
    let (control, kind) = (descriptor >> 8 & 0x3f, descriptor >> 14 & 0x1f);
    if surface >= NO_SURFACE {
        return None;
    }
    match (message.function, kind) {
        (DATA_PORT_0, 0 | 1 | 8) => {
            let (bytes, skip) = match control {
                0 => (16, 0),
                1 => (16, 16),
                2 => (32, 0),
                3 => (64, 0),
                4 => (128, 0),
                _ => return None,
            };
            let direction = if kind == 8 { Direction::Write } else { Direction::Read };
            Some(Known::Block { direction, surface, bytes, skip, unit: if kind == 1 { 1 } else { 16 } })
        }
        (DATA_PORT_1, 1 | 9) if platform.graphics() >= 75 => {
            let channels = match control >> 4 {
                1 => 16,
                2 => 8,
                _ => return None,
            };
            // The bits tell what is left out: the last dwords.
            let dwords = !control as u8 & 0xf;
            let direction = if kind == 9 { Direction::Write } else { Direction::Read };
            (dwords != 0 && dwords & (dwords + 1) == 0).then_some(Known::Untyped {
                direction,
                surface,
                channels,
                dwords,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(function: u8, descriptor: u32, end_of_thread: bool) -> Message {
        let extended = Descriptor::Immediate(0);
        Message { function, descriptor: Descriptor::Immediate(descriptor), extended, end_of_thread }
    }

    #[test]
    fn messages_of_the_data_port_are_known() {
        let read = Known::Block { direction: Direction::Read, surface: 0, bytes: 128, skip: 0, unit: 16 };
        assert_eq!(known(Platform::Jsl, &message(10, 0x0248_0400, false)), Some(read));
        let write = Known::Untyped { direction: Direction::Write, surface: 1, channels: 16, dwords: 1 };
        assert_eq!(known(Platform::Skl, &message(12, 0x0802_5e01, false)), Some(write));
        assert_eq!(
            known(Platform::Ivb, &message(12, 0x0802_5e01, false)),
            None,
            "Ivy Bridge has one data port"
        );
        assert!(has_header(0x0248_0400) && !has_header(0x0802_5e01));
    }

    #[test]
    fn the_thread_ends_by_the_spawner_or_the_gateway() {
        let end = |function| message(function, 0x0200_0010, true);
        assert_eq!(known(Platform::Tgl, &end(SPAWNER)), Some(Known::End));
        assert_eq!(known(Platform::Dg2, &end(GATEWAY)), Some(Known::End));
        assert_eq!(known(Platform::Dg2, &end(SPAWNER)), None);
    }

    #[test]
    fn other_messages_are_not_known() {
        for (function, descriptor) in [
            (10, 0x0248_0500),
            (10, 0x024a_c400),
            (12, 0x0420_4e00),
            (12, 0x0420_5f00),
            (12, 0x0420_5d00),
            (2, 0x0248_0400),
            (10, 0x0248_04fe),
        ] {
            assert_eq!(known(Platform::Jsl, &message(function, descriptor, false)), None, "{descriptor:#x}");
        }
    }
}
