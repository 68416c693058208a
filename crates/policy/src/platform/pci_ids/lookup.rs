//! Finds platforms by PCI ID and by name.

use super::ids::ROWS;
use crate::platform::table::ALL;
use crate::platform::{DeviceId, Platform, all, ids};
use crate::vocabulary::{Excerpt, Unknown};

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
/// [`Unknown::DeviceId`]. To use an unknown device, take [`crate::platform::CONSERVATIVE`].
pub fn by_id(id: u16) -> Result<&'static Platform, Unknown> {
    let found = PLACES.iter().find(|place| place.0 == id).and_then(|place| all().get(usize::from(place.1)));
    found.copied().ok_or(Unknown::DeviceId { id })
}

/// Returns the row of a PCI ID: platform, GT, and the macro that lists it.
///
/// # Errors
/// [`Unknown::DeviceId`].
pub fn row_by_id(id: u16) -> Result<&'static DeviceId, Unknown> {
    // A row for a single subsystem has the same coherency as the plain row that follows it.
    ids().iter().find(|row| row.id == id && row.subsystem.is_none()).ok_or(Unknown::DeviceId { id })
}

/// Returns the platform with this name (`jsl`), alias (`apl`), title (`Jasper Lake`) or PCI ID (`0x4e61`,
/// `4e61`, `8086:4e61`), in any case.
///
/// # Errors
/// [`Unknown::Platform`].
pub fn by_name(name: &str) -> Result<&'static Platform, Unknown> {
    let by_word = all().iter().copied().find(|platform| is_called(platform, name));
    by_word
        .or_else(|| hex_id(name).and_then(|id| by_id(id).ok()))
        .ok_or_else(|| Unknown::Platform { name: Excerpt::new(name) })
}

/// Returns whether the name, an alias or the title of `platform` is `name`.
fn is_called(platform: &Platform, name: &str) -> bool {
    let mut known = [platform.name, platform.title].into_iter().chain(platform.aliases.iter().copied());
    known.any(|known| letters(known).eq(letters(name)))
}

/// Returns the text in lower case, without blanks, dashes and underscores.
fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).map(|c| c.to_ascii_lowercase())
}

/// Returns the PCI ID in `word`: four hexadecimal digits, with or without the prefixes `8086:` and `0x`.
fn hex_id(word: &str) -> Option<u16> {
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
