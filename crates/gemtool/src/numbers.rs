//! Parses numbers and sizes.

/// Units and their shifts in bits. `K` means KiB as in dd(1) and head(1); `KB` is refused, because it often
/// means 1000.
const UNITS: [(&str, u32); 8] =
    [("kib", 10), ("mib", 20), ("gib", 30), ("tib", 40), ("k", 10), ("m", 20), ("g", 30), ("t", 40)];

/// An error in a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// The text is not a number.
    Form,
    /// It does not fit into 64 bits.
    TooLarge,
}

/// Parses a whole number, decimal or `0x` hexadecimal.
fn whole(text: &str) -> Result<u64, Wrong> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None => (text, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(Wrong::Form);
    }
    u64::from_str_radix(digits, radix).map_err(|_| Wrong::TooLarge)
}

/// Parses a count: `1`, `10000`, `0x10`; not 0.
///
/// # Errors
/// A message with the reason why the text is invalid.
pub fn count(text: &str) -> Result<u64, String> {
    match number(text)? {
        0 => Err("at least 1 is needed".to_owned()),
        count => Ok(count),
    }
}

/// Parses a whole number, which may be 0: `0`, `64`, `0x40`.
///
/// # Errors
/// A message with the reason why the text is invalid.
pub fn number(text: &str) -> Result<u64, String> {
    whole(text).map_err(|wrong| match wrong {
        Wrong::Form => "not a number (decimal, or hexadecimal with 0x)".to_owned(),
        Wrong::TooLarge => "larger than 2^64 - 1".to_owned(),
    })
}

/// Parses a whole number of at most 32 bits.
///
/// # Errors
/// A message with the reason why the text is invalid.
pub fn dword(text: &str) -> Result<u32, String> {
    u32::try_from(number(text)?).map_err(|_| format!("'{text}': larger than 2^32 - 1"))
}

/// Parses a size in bytes: `4096`, `0x1000`, `64KiB`, `64 KiB`, `1M`.
///
/// # Errors
/// A message with the reason why the text is invalid.
pub fn size(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let before = |unit: &str| lower.strip_suffix(unit).map(|rest| rest.strip_suffix(' ').unwrap_or(rest));
    let (digits, shift) = UNITS
        .iter()
        .find_map(|(unit, shift)| before(unit).map(|digits| (digits, *shift)))
        .unwrap_or((&lower, 0));
    let bytes = whole(digits).and_then(|n| n.checked_mul(1 << shift).ok_or(Wrong::TooLarge));
    bytes.map_err(|wrong| match wrong {
        Wrong::Form => {
            "not a size (a whole number, then optionally KiB, MiB, GiB, TiB or K, M, G, T)".to_owned()
        }
        Wrong::TooLarge => "larger than 2^64 - 1 bytes".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, expected: Result<u64, &str>) {
        match (size(text), expected) {
            (Ok(bytes), Ok(expected)) => assert_eq!(bytes, expected, "{text}"),
            (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
            (result, expected) => panic!("{text}: {result:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn a_size_is_a_number_with_a_binary_unit() {
        case("0", Ok(0));
        case("4096", Ok(4096));
        case("0x1000", Ok(4096));
        case("64KiB", Ok(65536));
        case("64 KiB", Ok(65536));
        case("64k", Ok(65536));
        case("1M", Ok(1 << 20));
        case("2GiB", Ok(2 << 30));
        case("0x10K", Ok(16384));
        case("18446744073709551615", Ok(u64::MAX));
    }

    #[test]
    fn a_bad_size_is_refused_and_not_guessed() {
        for text in [
            "",
            "KiB",
            "x",
            "64KB",
            "1.5MiB",
            "-1",
            "+1",
            "0x",
            "0xg",
            "1_000",
            "64KiBs",
            "4096 ",
            " 4096",
            "64KiB ",
            "64  KiB",
            "64\tKiB",
            "64\nKiB",
            "64\u{a0}KiB",
        ] {
            case(text, Err("not a size"));
        }
        case("18446744073709551616", Err("larger than 2^64 - 1"));
        case("17179869184GiB", Err("larger than 2^64 - 1"));
        case("99999999999999999999K", Err("larger than 2^64 - 1"));
    }

    #[test]
    fn a_count_is_at_least_one() {
        assert_eq!(count("10000"), Ok(10000));
        for (text, part) in [("0", "at least 1"), ("many", "not a number"), ("-3", "not a number")] {
            assert!(count(text).unwrap_err().contains(part), "{text}");
        }
    }
}
