//! Finds platforms by PCI ID and by name.

use super::ids::ROWS;
use super::xe::{XE, XeIds};
use crate::platform::table::ALL;
use crate::platform::{DeviceId, Platform, all, ids};
use crate::vocabulary::{Excerpt, Unknown, nearest};

/// The PCI IDs, and the places of their platforms in [`all`]: the rows without their texts, which a program that
/// looks up platforms alone does not link.
static PLACES: [(u16, u8); ROWS.len()] = {
    let mut places = [(0, 0); ROWS.len()];
    let mut at = 0;
    while at < ROWS.len() {
        let row = &ROWS[at];
        places[at] = (row.id, place_of(row.platform));
        at += 1;
    }
    places
};

/// Returns the place of a platform in [`all`].
const fn place_of(platform: &Platform) -> u8 {
    let mut place = 0;
    // Each platform has its own example.
    while ALL[place].example_id != platform.example_id {
        place += 1;
    }
    assert!(place <= u8::MAX as usize, "a place is a byte");
    place as u8
}

/// Returns the platform of a PCI ID.
///
/// # Errors
/// [`Unknown::DeviceId`], [`Unknown::DrivenByXe`]. To use an unknown device, take [`crate::platform::CONSERVATIVE`].
pub fn by_id(id: u16) -> Result<&'static Platform, Unknown> {
    let found = PLACES.iter().find(|place| place.0 == id).and_then(|place| all().get(usize::from(place.1)));
    found.copied().ok_or_else(|| without_row(id))
}

/// Returns the error for a PCI ID that i915 does not claim.
fn without_row(id: u16) -> Unknown {
    let driven = XE.iter().find(|platform| platform.has(id));
    driven.map_or(Unknown::DeviceId { id }, |platform| Unknown::DrivenByXe { platform: platform.title })
}

/// Returns the row of a PCI ID: platform, GT, and the macro that lists it.
///
/// # Errors
/// [`Unknown::DeviceId`], [`Unknown::DrivenByXe`].
pub fn row_by_id(id: u16) -> Result<&'static DeviceId, Unknown> {
    // A row for a single subsystem has the same coherency as the plain row that follows it.
    ids().iter().find(|row| row.id == id && row.subsystem.is_none()).ok_or_else(|| without_row(id))
}

/// Returns the platform with this name (`jsl`), alias (`apl`), title (`Jasper Lake`) or PCI ID (`0x4e61`,
/// `4e61`, `8086:4e61`), in any case.
///
/// # Errors
/// [`Unknown::Platform`], [`Unknown::DeviceId`], [`Unknown::DrivenByXe`].
pub fn by_name(name: &str) -> Result<&'static Platform, Unknown> {
    let is_name = |known: &str| is_same_name(known, name);
    if let Some(platform) = all().iter().copied().find(|platform| names(platform).any(is_name)) {
        return Ok(platform);
    }
    if let Some(XeIds { title, .. }) = XE.iter().find(|xe| xe.names().any(is_name)) {
        return Err(Unknown::DrivenByXe { platform: title });
    }
    hex_id(name).map_or_else(
        || {
            // A platform of xe alone is proposed, too: asked for, it is [`Unknown::DrivenByXe`], and a device for programs can be one.
            let known =
                all().iter().flat_map(|platform| names(platform)).chain(XE.iter().flat_map(XeIds::names));
            Err(Unknown::Platform { name: Excerpt::new(name), nearest: nearest(name, known)[0] })
        },
        by_id,
    )
}

/// Returns the name, the title and the aliases of a platform.
pub(crate) fn names(platform: &Platform) -> impl Iterator<Item = &'static str> {
    [platform.name, platform.title].into_iter().chain(platform.aliases.iter().copied())
}

/// Returns whether two names are the same but for case, blanks, dashes and underscores.
pub(crate) fn is_same_name(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// Returns the text in lower case, without blanks, dashes and underscores.
fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).map(|c| c.to_ascii_lowercase())
}

/// Returns the PCI ID in `word`: four hexadecimal digits, with or without the prefixes `8086:` and `0x`.
pub(crate) fn hex_id(word: &str) -> Option<u16> {
    let word = word.trim();
    let digits = word.strip_prefix("8086:").unwrap_or(word);
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")).unwrap_or(digits);
    let four_digits = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    four_digits.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_platform_of_an_id_is_that_of_its_row() {
        let mut known = 0;
        for id in 0..=u16::MAX {
            match (by_id(id), row_by_id(id)) {
                (Ok(platform), Ok(row)) => {
                    assert_eq!(platform, row.platform, "{id:#x}");
                    known += 1;
                }
                (by_id, row) => assert!(by_id.is_err() && row.is_err(), "{id:#x}"),
            }
        }
        assert_eq!(known, ids().iter().filter(|row| row.subsystem.is_none()).count());
    }
}
