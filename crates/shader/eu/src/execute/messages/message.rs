//! Messages to the data port, and the end of the thread.

use super::atomic::Atomic;
use crate::execute::registers::REGISTER_BYTES;
use crate::{Descriptor, Message, Platform};

/// A message that is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The thread ends.
    End,
    /// Accesses before it are made before those after it. If it responds, with a register whose bytes mean nothing.
    Fence {
        /// It responds.
        responds: bool,
    },
    /// Bytes after one address, which the header has.
    Block(Block),
    /// Rows of a block of a surface, which the header tells (media block).
    Media(Media),
    /// Elements of each channel, after an address of its own.
    Scattered(Scattered),
}

/// Bytes after one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// They are written.
    pub writes: bool,
    /// The binding table's entry.
    pub surface: u8,
    /// Bytes, 16 to 128.
    pub bytes: usize,
    /// The first byte in the registers: 16 for the upper half of one.
    pub skip: usize,
    /// The unit of the header's offset, in bytes.
    pub unit: u32,
}

/// Rows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Media {
    /// They are written.
    pub writes: bool,
    /// The binding table's entry.
    pub surface: u8,
    /// Registers of the data that are sent, or that come back.
    pub registers: usize,
}

/// Elements of each channel, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scattered {
    /// The access to each element.
    pub action: Action,
    /// The binding table's entry.
    pub surface: u8,
    /// Channels: 8 or 16.
    pub channels: usize,
    /// The unit of addresses, in bytes.
    pub unit: u32,
    /// Addresses in bytes are multiples of this.
    pub alignment: u32,
    /// Bytes of an element: 1, 2 or 4. In registers it has a dword.
    pub bytes: usize,
    /// Elements of a channel.
    pub elements: usize,
}

/// An access to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Memory to registers.
    Read,
    /// Registers to memory.
    Write,
    /// An operation on memory. If it responds, with the old dword.
    Atomic {
        /// The operation.
        operation: Atomic,
        /// It responds.
        responds: bool,
    },
}

impl Known {
    /// Returns the registers of addresses and of data that are sent after the header, and those that come back.
    fn registers(self) -> [usize; 3] {
        match self {
            Self::End => [0; 3],
            Self::Fence { responds } => [0, 0, usize::from(responds)],
            Self::Block(Block { writes, bytes, .. }) => {
                let data = bytes.div_ceil(REGISTER_BYTES);
                if writes { [0, data, 0] } else { [0, 0, data] }
            }
            Self::Media(Media { writes: true, registers, .. }) => [0, registers, 0],
            Self::Media(Media { writes: false, registers, .. }) => [0, 0, registers],
            Self::Scattered(scattered) => {
                let rows = scattered.rows();
                match scattered.action {
                    Action::Read => [rows, 0, rows * scattered.elements],
                    Action::Write => [rows, rows * scattered.elements, 0],
                    Action::Atomic { operation, responds } => {
                        [rows, rows * operation.operands(), rows * usize::from(responds)]
                    }
                }
            }
        }
    }

    /// Returns whether the payload begins with a header. The end of the thread sends nothing else, and the bit is not set.
    fn has_header(self) -> bool {
        matches!(self, Self::Fence { .. } | Self::Block(_) | Self::Media(_))
    }
}

impl Scattered {
    /// Returns the registers that a dword of each channel takes.
    pub fn rows(self) -> usize {
        self.channels * 4 / REGISTER_BYTES
    }
}

/// Shared functions (SFID): the manuals' "Target Function IDs".
const GATEWAY: u8 = 3;
const RENDER_CACHE: u8 = 5;
const SPAWNER: u8 = 7;
const DATA_PORT_0: u8 = 10;
const DATA_PORT_1: u8 = 12;

/// Binding table entries from here on are no surfaces: shared local memory, and memory without a surface.
const NO_SURFACE: u8 = 0xf0;

/// Returns a message; `None` if it is not known. Its lengths and its header are those that the descriptor tells.
pub(super) fn known(platform: Platform, message: &Message) -> Option<Known> {
    let Descriptor::Immediate(descriptor) = message.descriptor else { return None };
    let Descriptor::Immediate(extended) = message.extended else { return None };
    if message.end_of_thread {
        let ends = match message.function {
            SPAWNER => platform.graphics() < 125,
            GATEWAY => platform.graphics() >= 125,
            _ => false,
        };
        return ends.then_some(Known::End);
    }
    let lengths = (first_registers(descriptor), second_registers(extended));
    let known = of_data_port(platform, message.function, descriptor)
        .or_else(|| media(platform, message.function, descriptor, lengths).map(Known::Media))?;
    let [addresses, data, received] = known.registers();
    let header = usize::from(known.has_header());
    let first = header + addresses;
    let is_consistent = (lengths == (first + data, 0) || lengths == (first, data))
        && response_registers(descriptor) == received
        && (descriptor >> 19 & 1) as usize == header;
    is_consistent.then_some(known)
}

/// Returns the registers of the first payload, which the header is in.
fn first_registers(descriptor: u32) -> usize {
    (descriptor >> 25 & 0xf) as usize
}

/// Returns the registers of the response.
fn response_registers(descriptor: u32) -> usize {
    (descriptor >> 20 & 0x1f) as usize
}

/// Returns the registers of the second payload.
pub(super) fn second_registers(extended: u32) -> usize {
    (extended >> 6 & 0x1f) as usize
}

/// Returns a message to the data port.
///
/// Sources: the Programmer's Reference Manuals, "Data Port Messages"; Mesa's brw_eu.h, `brw_dp_desc`; iga64's text of messages.
fn of_data_port(platform: Platform, function: u8, descriptor: u32) -> Option<Known> {
    let (surface, control, kind) = (descriptor as u8, descriptor >> 8 & 0x3f, descriptor >> 14 & 0x1f);
    if surface >= NO_SURFACE {
        return None;
    }
    let has_port_1 = platform.graphics() >= 75;
    let dwords = Scattered {
        action: Action::Read,
        surface,
        channels: 8 + 8 * (control & 1) as usize,
        unit: 1,
        alignment: 4,
        bytes: 4,
        elements: 1,
    };
    let action = if kind & 8 == 0 { Action::Read } else { Action::Write };
    let scattered = match (function, kind) {
        (DATA_PORT_0, 0 | 1 | 8) => {
            let (bytes, skip) = match control {
                0 => (16, 0),
                1 => (16, 16),
                2 => (32, 0),
                3 => (64, 0),
                4 => (128, 0),
                _ => return None,
            };
            let unit = if kind == 1 { 1 } else { 16 };
            return Some(Known::Block(Block { writes: kind == 8, surface, bytes, skip, unit }));
        }
        // The highest bit of the control asks for the response; the others, for flushes of caches.
        (DATA_PORT_0, 7) if surface == 0 && control & 0x1f == 0 => {
            return Some(Known::Fence { responds: control != 0 });
        }
        (DATA_PORT_0, 3 | 11) if control & !1 == 2 => Scattered { action, unit: 4, ..dwords },
        (DATA_PORT_0, 4 | 12) if has_port_1 && control & !0xd == 0 && control < 0xc => {
            Scattered { action, alignment: 1, bytes: 1 << (control >> 2), ..dwords }
        }
        (DATA_PORT_1, 1 | 9) if has_port_1 => {
            let channels = match control >> 4 {
                1 => 16,
                2 => 8,
                _ => return None,
            };
            // The bits tell what is left out: the last dwords.
            let present = !control & 0xf;
            if present == 0 || present & (present + 1) != 0 {
                return None;
            }
            Scattered { action, channels, elements: present.count_ones() as usize, ..dwords }
        }
        (DATA_PORT_1, 2) if has_port_1 => {
            let operation = Atomic::from_code(control & 0xf)?;
            let action = Action::Atomic { operation, responds: control & 0x20 != 0 };
            Scattered { action, channels: if control & 0x10 == 0 { 16 } else { 8 }, ..dwords }
        }
        _ => return None,
    };
    Some(Known::Scattered(scattered))
}

/// Returns a message for a media block, whose payloads have `lengths`; none in which every second row of the surface is left out.
///
/// Source: Mesa's `brw_eu_defines.h`, `GFX7_DATAPORT_RC_MEDIA_BLOCK_READ` and `HSW_DATAPORT_DC_PORT1_MEDIA_BLOCK_READ`.
fn media(
    platform: Platform,
    function: u8,
    descriptor: u32,
    (first, second): (usize, usize),
) -> Option<Media> {
    let (surface, control, kind) = (descriptor as u8, descriptor >> 8 & 0x3f, descriptor >> 14 & 0x1f);
    let is_there = match function {
        RENDER_CACHE => platform.graphics() < 80,
        DATA_PORT_1 => platform.graphics() >= 75,
        _ => false,
    };
    let writes = match kind {
        4 => false,
        10 => true,
        _ => return None,
    };
    let registers = if writes { (first + second).saturating_sub(1) } else { response_registers(descriptor) };
    (is_there && control == 0 && surface < NO_SURFACE).then_some(Media { writes, surface, registers })
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
        let block = Block { writes: false, surface: 0, bytes: 128, skip: 0, unit: 16 };
        let read = message(10, 0x0248_0400, false);
        assert_eq!(known(Platform::Jsl, &read), Some(Known::Block(block)));
        let dwords = Scattered {
            action: Action::Write,
            surface: 1,
            channels: 16,
            unit: 1,
            alignment: 4,
            bytes: 4,
            elements: 1,
        };
        let add = Action::Atomic { operation: Atomic::Add, responds: true };
        for (function, descriptor, scattered) in [
            (12, 0x0802_5e01, dwords),
            (12, 0x0210_6e01, Scattered { action: Action::Read, channels: 8, ..dwords }),
            (12, 0x0420_5e01, Scattered { action: Action::Read, ..dwords }),
            (12, 0x1402_5001, Scattered { elements: 4, ..dwords }),
            (10, 0x0420_c301, Scattered { action: Action::Read, unit: 4, ..dwords }),
            (10, 0x0402_c201, Scattered { channels: 8, unit: 4, ..dwords }),
            (
                10,
                0x0211_0401,
                Scattered { action: Action::Read, channels: 8, alignment: 1, bytes: 2, ..dwords },
            ),
            (10, 0x0803_0901, Scattered { alignment: 1, ..dwords }),
            (12, 0x0820_a701, Scattered { action: add, ..dwords }),
        ] {
            let expected = Some(Known::Scattered(scattered));
            assert_eq!(
                known(Platform::Skl, &message(function, descriptor, false)),
                expected,
                "{descriptor:#x}"
            );
        }
        let write = message(12, 0x0802_5e01, false);
        assert_eq!(known(Platform::Ivb, &write), None, "Ivy Bridge has one data port");
    }

    #[test]
    fn data_can_be_a_payload_of_their_own() {
        let split = |descriptor, registers: u32| {
            let extended = Descriptor::Immediate(registers << 6);
            known(Platform::Skl, &Message { extended, ..message(12, descriptor, false) })
        };
        assert_eq!(split(0x0402_5e01, 2), split(0x0802_5e01, 0));
        assert_eq!((split(0x0402_5e01, 1), split(0x0602_5e01, 1), split(0x0802_5e01, 2)), (None, None, None));
    }

    #[test]
    fn a_fence_may_respond() {
        let fence = |descriptor| known(Platform::Skl, &message(10, descriptor, false));
        assert_eq!(fence(0x0219_e000), Some(Known::Fence { responds: true }));
        assert_eq!(fence(0x0209_c000), Some(Known::Fence { responds: false }));
        assert_eq!((fence(0x0209_e000), fence(0x0219_e200), fence(0x0219_e001)), (None, None, None));
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
            (10, 0x0240_0400),
            (10, 0x0448_0400),
            (10, 0x0238_0400),
            (10, 0x0420_c000),
            (10, 0x0421_0d00),
            (10, 0x0418_8000),
            (12, 0x0420_4e00),
            (12, 0x0420_5f00),
            (12, 0x0420_5d00),
            (12, 0x0628_5e00),
            (12, 0x0410_9000),
            (12, 0x0820_a801),
            (2, 0x0248_0400),
            (10, 0x0248_04fe),
        ] {
            assert_eq!(known(Platform::Jsl, &message(function, descriptor, false)), None, "{descriptor:#x}");
        }
    }
}
