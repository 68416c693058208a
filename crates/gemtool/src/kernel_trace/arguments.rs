//! Reads the arguments of an event: `key=value` words.

/// Returns the text of the argument `key`, up to the next space or comma.
pub(super) fn argument<'a>(arguments: &'a str, key: &str) -> Option<&'a str> {
    let found = arguments.split([' ', ',']).filter_map(|word| word.split_once('='));
    found.filter(|&(name, _)| name == key).map(|(_, value)| value).next()
}

/// Parses an address, with or without `0x`.
pub(super) fn hex(arguments: &str, key: &str) -> Option<u64> {
    let text = argument(arguments, key)?;
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// Parses a decimal number.
pub(super) fn number(arguments: &str, key: &str) -> Option<u64> {
    argument(arguments, key)?.parse().ok()
}

/// Returns a function's name without the offset, the module, and compiler suffixes (`.isra.0`). An address
/// without a name is returned unchanged.
pub(super) fn symbol(arguments: &str, key: &str) -> Option<String> {
    let text = argument(arguments, key)?;
    let name = text.split(['+', '.']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}
