//! Checks of messages.

use super::view::{Register, View};
use crate::{Descriptor, Destination, File, Message, Place};

/// The first register of a payload that ends the thread.
const FIRST_OF_END: u8 = 112;

/// The last register.
const LAST: u32 = 127;

/// The shared function of the unified return buffer.
const URB: u8 = 6;

/// Shared functions that came later, by the first version of graphics that has them.
const LATER_FUNCTIONS: [(u8, u8); 4] = [(12, 75), (13, 75), (14, 125), (15, 125)];

/// Messages to the URB, by number, by the first version of graphics that has them.
const URB_MESSAGES: [u8; 10] = [70, 70, 70, 70, 70, 70, 75, 80, 80, 125];

/// Bits of a descriptor: (first, number).
const RECEIVED: (u32, u32) = (20, 5);
const SENT: (u32, u32) = (25, 4);
const HEADER: (u32, u32) = (19, 1);

/// The same, of an extended descriptor.
const SENT_MORE: (u32, u32) = (6, 4);

fn bits(descriptor: u32, (first, number): (u32, u32)) -> u32 {
    descriptor >> first & ((1 << number) - 1)
}

/// Returns bits of a descriptor that is known before run time.
fn known(descriptor: Descriptor, field: (u32, u32)) -> Option<u32> {
    match descriptor {
        Descriptor::Immediate(descriptor) => Some(bits(descriptor, field)),
        Descriptor::Register(_) => None,
    }
}

/// Returns the number of a general register.
fn general(place: Place) -> Option<u8> {
    match place {
        Place::Direct { file: File::General, number, .. } => Some(number),
        Place::Direct { .. } | Place::Indirect { .. } | Place::Macro { .. } => None,
    }
}

pub(super) fn indirect(_: &View<'_>, source: &Register) -> Option<String> {
    source.place.address()
}

pub(super) fn payload(_: &View<'_>, source: &Register) -> Option<String> {
    source.place.architecture_name()
}

pub(super) fn split_payload(_: &View<'_>, source: &Register) -> Option<String> {
    source.place.named()
}

pub(super) fn end_of_thread(view: &View<'_>, source: &Register) -> Option<String> {
    let number = general(source.place).filter(|number| *number < FIRST_OF_END)?;
    view.instruction.message?.end_of_thread.then(|| format!("r{number}"))
}

pub(super) fn returned(view: &View<'_>, destination: &Destination) -> Option<String> {
    let descriptor = view.instruction.message?.descriptor;
    let payload = view.registers().next().and_then(|source| general(source.place))?;
    let (from, to) = (u32::from(payload), u32::from(general(destination.place)?));
    let (sent, received) = (known(descriptor, SENT)?, known(descriptor, RECEIVED)?);
    (to + received > LAST && from + sent > to)
        .then(|| format!("destination r{to}:{received}, payload r{from}:{sent}"))
}

pub(super) fn overlap(view: &View<'_>) -> Option<String> {
    let Message { descriptor, extended, .. } = view.instruction.message?;
    let mut payloads = view.registers().map(|source| general(source.place).map(u32::from));
    let (first, second) = (payloads.next()??, payloads.next()??);
    // At least one register is sent, however many a register says.
    let lengths = [known(descriptor, SENT).unwrap_or(1), known(extended, SENT_MORE).unwrap_or(1)];
    let is_inside = |start, other, length| other <= start && start < other + length;
    (is_inside(second, first, lengths[0]) || is_inside(first, second, lengths[1]))
        .then(|| format!("payloads r{first}:{} and r{second}:{}", lengths[0], lengths[1]))
}

pub(super) fn function(view: &View<'_>) -> Option<String> {
    let function = view.instruction.message?.function;
    let is_later = |row: &&(u8, u8)| row.0 == function && row.1 > view.platform.graphics();
    LATER_FUNCTIONS.iter().find(is_later).map(|_| format!("shared function {function}"))
}

/// Returns the descriptor of a message to the URB, if it is known before run time.
fn urb(view: &View<'_>) -> Option<u32> {
    let message = view.instruction.message.filter(|message| message.function == URB)?;
    known(message.descriptor, (0, 31))
}

pub(super) fn urb_header(view: &View<'_>) -> Option<String> {
    let descriptor = urb(view)?;
    (bits(descriptor, HEADER) == 0).then(|| format!("descriptor {descriptor:#010x}"))
}

pub(super) fn urb_message(view: &View<'_>) -> Option<String> {
    let graphics = view.platform.graphics();
    let width = if graphics < 80 { 3 } else { 4 };
    let number = bits(urb(view)?, (0, width));
    let is_known = URB_MESSAGES.get(number as usize).is_some_and(|first| *first <= graphics);
    (!is_known).then(|| format!("message {number}"))
}

pub(super) fn urb_read(view: &View<'_>) -> Option<String> {
    const READ: u32 = 8;
    let descriptor = urb(view)?;
    let is_empty = bits(descriptor, (0, 4)) == READ && bits(descriptor, RECEIVED) == 0;
    is_empty.then(|| format!("descriptor {descriptor:#010x}"))
}
