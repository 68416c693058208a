//! Checks of the registers that the channels of a region are in.

use std::ops::RangeInclusive;

use super::view::{REGISTER, Register, View, is_integer};
use crate::Destination;

/// Bytes of an OWord, half of a register.
const OWORD: u32 = 16;

/// The first and last byte of each channel, from the start of the region's first register.
struct Span(Vec<RangeInclusive<u32>>);

impl Span {
    /// Returns the span of a source with a direct address.
    fn source(view: &View<'_>, source: &Register) -> Option<Self> {
        let start = source.place.subregister()?;
        let bytes = view.element(source.kind);
        let (vertical, width) = (u32::from(source.vertical?), u32::from(source.width));
        let first = |channel| {
            let (row, column) = (channel / width, channel % width);
            start + (row * vertical + column * u32::from(source.horizontal)) * bytes
        };
        Some(Self((0..view.channels()).map(|channel| first(channel)..=first(channel) + bytes - 1).collect()))
    }

    /// Returns the span of a destination with a direct address.
    fn destination(view: &View<'_>, destination: &Destination) -> Option<Self> {
        let start = destination.place.subregister().filter(|_| !destination.place.is_null())?;
        let bytes = view.element(destination.kind);
        let first = |channel| start + channel * u32::from(destination.stride) * bytes;
        Some(Self((0..view.channels()).map(|channel| first(channel)..=first(channel) + bytes - 1).collect()))
    }

    /// Returns the number of channels that reach into a byte or one after it.
    fn beyond(&self, byte: u32) -> usize {
        self.0.iter().filter(|channel| *channel.end() >= byte).count()
    }

    /// Returns whether it is in two registers.
    fn is_double(&self) -> bool {
        self.beyond(REGISTER) > 0
    }

    /// Returns the first byte of the last channel if that is after two registers.
    fn after(&self) -> Option<String> {
        let start = self.0.iter().map(|channel| *channel.start()).max()?;
        (start >= 2 * REGISTER).then(|| format!("an element at byte {start}"))
    }

    /// Returns how the channels are split by a byte, if unevenly.
    fn uneven(&self, byte: u32) -> Option<String> {
        let upper = self.beyond(byte);
        let lower = self.0.len() - upper;
        (upper != lower).then(|| format!("{lower} channels below byte {byte}, {upper} above"))
    }
}

/// Returns the destination's span, if it is in two registers and no region is longer.
fn double(view: &View<'_>, destination: &Destination) -> Option<Span> {
    let span = Span::destination(view, destination).filter(|span| span.after().is_none())?;
    span.is_double().then_some(span)
}

pub(super) fn long_source(view: &View<'_>, source: &Register) -> Option<String> {
    Span::source(view, source)?.after()
}

pub(super) fn long_destination(view: &View<'_>, destination: &Destination) -> Option<String> {
    Span::destination(view, destination)?.after()
}

pub(super) fn uneven_owords(view: &View<'_>, destination: &Destination) -> Option<String> {
    let span = Span::destination(view, destination).filter(|span| !span.is_double())?;
    let mut sources = view.registers().filter_map(|source| Span::source(view, &source));
    let is_in_one = matches!(span.beyond(OWORD), 0) || span.beyond(OWORD) == span.0.len();
    (!is_in_one && sources.any(|source| source.is_double())).then(|| span.uneven(OWORD)).flatten()
}

pub(super) fn uneven_registers(view: &View<'_>, destination: &Destination) -> Option<String> {
    double(view, destination)?.uneven(REGISTER)
}

/// Returns the spans of a source and the destination, if both are in two registers.
fn doubles(view: &View<'_>, source: &Register) -> Option<(Span, Span)> {
    let span = Span::source(view, source).filter(Span::is_double)?;
    Some((span, double(view, &view.destination?)?))
}

pub(super) fn crossed_registers(view: &View<'_>, source: &Register) -> Option<String> {
    let (from, to) = doubles(view, source)?;
    let is_upper = |channel: &RangeInclusive<u32>| *channel.end() >= REGISTER;
    let channel = from.0.iter().zip(&to.0).position(|(from, to)| is_upper(from) != is_upper(to))?;
    Some(format!("channel {channel} from byte {} to byte {}", from.0[channel].start(), to.0[channel].start()))
}

pub(super) fn unequal_offsets(view: &View<'_>, source: &Register) -> Option<String> {
    let (from, _) = doubles(view, source).filter(|_| view.source_count() == 2)?;
    let first = *from.0.first()?.start();
    let second = *from.0.iter().find(|channel| *channel.end() >= REGISTER)?.start();
    (first + REGISTER != second).then(|| format!("elements from bytes {first} and {second} on"))
}

pub(super) fn single_source(view: &View<'_>, source: &Register) -> Option<String> {
    let destination = view.destination?;
    double(view, &destination)?;
    let is_single = Span::source(view, source).is_some_and(|span| !span.is_double());
    let is_word = source.kind.bytes() == 2 && is_integer(source.kind);
    let is_dword = destination.kind.bytes() == 4 && destination.stride == 1;
    let is_expanded = source.number == 0 && is_word && source.is_packed() && is_dword;
    (is_single && !source.is_scalar() && !is_expanded)
        .then(|| format!("region {} in one register", source.region()))
}
