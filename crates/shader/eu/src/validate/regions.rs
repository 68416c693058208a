//! Checks of regions: the distances of elements.

use super::view::{REGISTER, Register, View};
use crate::Destination;

pub(super) fn wide_row(view: &View<'_>, source: &Register) -> Option<String> {
    let channels = view.channels();
    (channels < u32::from(source.width)).then(|| format!("region {}, {channels} channels", source.region()))
}

pub(super) fn one_row(view: &View<'_>, source: &Register) -> Option<String> {
    let vertical = u32::from(source.vertical?);
    let is_one = view.channels() == u32::from(source.width) && source.horizontal != 0;
    (is_one && vertical != source.row()).then(|| source.region())
}

pub(super) fn narrow_row(_: &View<'_>, source: &Register) -> Option<String> {
    (source.width == 1 && source.horizontal != 0).then(|| source.region())
}

pub(super) fn one_element(view: &View<'_>, source: &Register) -> Option<String> {
    let is_one = view.channels() == 1 && source.width == 1;
    (is_one && source.vertical? != 0).then(|| source.region())
}

pub(super) fn repeated_element(_: &View<'_>, source: &Register) -> Option<String> {
    let is_repeated = source.vertical == Some(0) && source.horizontal == 0;
    (is_repeated && source.width != 1).then(|| source.region())
}

pub(super) fn row_in_register(view: &View<'_>, source: &Register) -> Option<String> {
    let start = source.place.subregister()?;
    let bytes = view.element(source.kind);
    let rows = view.channels() / u32::from(source.width);
    let row = (0..rows).map(|row| start + row * u32::from(source.vertical.unwrap_or(0)) * bytes);
    let length = u32::from(source.width - 1) * u32::from(source.horizontal) * bytes + bytes;
    row.map(|first| (first, first + length - 1))
        .find(|(first, last)| first / REGISTER != last / REGISTER)
        .map(|(first, last)| format!("region {}, a row in bytes {first} to {last}", source.region()))
}

pub(super) fn destination_stride(view: &View<'_>, destination: &Destination) -> Option<String> {
    let is_used = !destination.place.is_null() && !view.instruction.align16;
    (is_used && destination.stride == 0).then(|| "stride 0".to_owned())
}

pub(super) fn accumulator_stride(_: &View<'_>, destination: &Destination) -> Option<String> {
    let is_first = destination.place.is_accumulator() && destination.place.subregister() == Some(0);
    (is_first && destination.stride != 1).then(|| format!("stride {}", destination.stride))
}

pub(super) fn align16_stride(_: &View<'_>, destination: &Destination) -> Option<String> {
    let is_used = !destination.place.is_null();
    (is_used && destination.stride != 1).then(|| format!("stride {}", destination.stride))
}

pub(super) fn align16_groups(view: &View<'_>, source: &Register) -> Option<String> {
    let has_two = view.platform.graphics() >= 75;
    let is_known = matches!(source.vertical, Some(0 | 4)) || has_two && source.vertical == Some(2);
    (!is_known).then(|| source.vertical.map_or("stride Vx".to_owned(), |stride| format!("stride {stride}")))
}
