//! Contents with which a BO is filled.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// Bytes that repeat, or a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Every 32-bit little-endian word holds its own index, so no two lines are equal.
    Counter,
    /// These bytes, repeated; never empty.
    Bytes(Vec<u8>),
}

impl Pattern {
    /// Writes the pattern into `data`, which begins `offset` bytes into the BO.
    pub fn fill(&self, offset: u64, data: &mut [u8]) {
        for (at, byte) in (offset..).zip(data) {
            *byte = self.byte(at);
        }
    }

    /// Returns the byte at `offset` of the BO.
    fn byte(&self, offset: u64) -> u8 {
        match self {
            Self::Counter => ((offset / 4) as u32).to_le_bytes()[(offset % 4) as usize],
            Self::Bytes(bytes) => match bytes.len() as u64 {
                0 => 0,
                len => bytes[(offset % len) as usize],
            },
        }
    }

    /// Returns the first offset at which `data`, which begins `offset` bytes into the BO, differs from the
    /// pattern.
    pub fn mismatch(&self, offset: u64, data: &[u8]) -> Option<u64> {
        (offset..).zip(data).find(|&(at, &byte)| byte != self.byte(at)).map(|(at, _)| at)
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "counter" {
            return Ok(Self::Counter);
        }
        let digits = text.strip_prefix("0x").unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err("neither 'counter' nor bytes in hexadecimal (0xa5, deadbeef)".to_owned());
        }
        if !digits.len().is_multiple_of(2) {
            return Err("two hexadecimal digits are needed for each byte".to_owned());
        }
        let pair = |at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|error| error.to_string());
        (0..digits.len()).step_by(2).map(pair).collect::<Result<_, _>>().map(Self::Bytes)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counter => f.write_str("counter"),
            Self::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

impl Serialize for Pattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_repeats_from_the_start_of_the_bo() {
        let mut data = [0; 5];
        "0xdeadbeef".parse::<Pattern>().unwrap().fill(3, &mut data);
        assert_eq!(data, [0xef, 0xde, 0xad, 0xbe, 0xef]);
        Pattern::Counter.fill(4 * 0x0102, &mut data);
        assert_eq!(data, [0x02, 0x01, 0, 0, 0x03]);
    }

    #[test]
    fn one_wrong_byte_is_found_where_it_is() {
        for pattern in [Pattern::Counter, Pattern::Bytes(vec![0xa5])] {
            let mut data = [0; 300];
            pattern.fill(64, &mut data);
            assert_eq!(pattern.mismatch(64, &data), None);
            data[100] ^= 1;
            assert_eq!(pattern.mismatch(64, &data), Some(164));
        }
    }

    #[test]
    fn a_bad_pattern_is_refused() {
        for text in ["", "0x", "a", "0xabc", "zz", "Counter", "ünö", "a5 a5"] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
        assert_eq!("A5".parse::<Pattern>().unwrap().to_string(), "0xa5");
    }
}
