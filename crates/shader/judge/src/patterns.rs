//! Patterns: the bytes that surfaces have at first.

/// The elements of a surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Zeroes.
    Zero,
    /// Integers from 0 to 31.
    Small,
    /// Integers from -8 to 39.
    Signed,
    /// Integers with and without a sign: the extreme ones, then some at random of each magnitude.
    Ints,
    /// Floats from -512 to 512, in quarters: products of two of them are exact.
    Floats,
    /// Floats from -16 to 16, in quarters: products of three of them are exact.
    Quarters,
    /// Floats that grow evenly from one vector of four to the next.
    Ramp,
    /// Half floats from -32 to 32, in quarters.
    Halves,
    /// Doubles from -2^18 to 2^18, in quarters.
    Doubles,
    /// Bytes at random.
    Random,
    /// These integers.
    Given(Vec<u32>),
}

impl Pattern {
    /// Returns the pattern of a name, or the one of integers that are given.
    ///
    /// # Errors
    /// Text that is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(match text.trim() {
            "zero" => Self::Zero,
            "small" => Self::Small,
            "signed" => Self::Signed,
            "ints" => Self::Ints,
            "floats" => Self::Floats,
            "quarters" => Self::Quarters,
            "ramp" => Self::Ramp,
            "halves" => Self::Halves,
            "doubles" => Self::Doubles,
            "random" => Self::Random,
            given => Self::Given(numbers(given)?),
        })
    }

    /// Returns so many bytes, which differ by the seed.
    pub fn bytes(&self, count: usize, seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed);
        let mut bytes = Vec::with_capacity(count + 8);
        for place in 0.. {
            if bytes.len() >= count {
                break;
            }
            match self {
                Self::Zero => bytes.push(0),
                Self::Small => bytes.extend((random.below(32) as u32).to_le_bytes()),
                Self::Signed => bytes.extend((random.below(48) as i32 - 8).to_le_bytes()),
                Self::Ints => bytes.extend(random.integer(place).to_le_bytes()),
                Self::Floats => bytes.extend((random.quarters(2048) as f32).to_le_bytes()),
                Self::Quarters => bytes.extend((random.quarters(64) as f32).to_le_bytes()),
                Self::Ramp => bytes.extend(((place / 4 * (1 + place % 4)) as f32).to_le_bytes()),
                Self::Halves => bytes.extend(half(random.quarters(128)).to_le_bytes()),
                Self::Doubles => bytes.extend(random.quarters(1 << 20).to_le_bytes()),
                Self::Random => bytes.extend(random.next().to_le_bytes()),
                Self::Given(numbers) => {
                    bytes.extend(numbers.get(place).copied().unwrap_or_default().to_le_bytes());
                }
            }
        }
        bytes.truncate(count);
        bytes
    }
}

/// Returns the bits of a normal number as a half float, which has it exactly.
fn half(number: f64) -> u16 {
    let bits = number.to_bits();
    let sign = (bits >> 48 & 0x8000) as u16;
    if number == 0.0 {
        return sign;
    }
    let exponent = (bits >> 52 & 0x7ff) as u16 + 15 - 1023;
    sign | exponent << 10 | (bits >> 42 & 0x3ff) as u16
}

/// Numbers at random, the same ones each time (xorshift64*).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Returns the numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns one that is less than the limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 32) % limit
    }

    /// Returns one of these.
    pub fn choice<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    /// Returns a multiple of a quarter whose absolute value is less than `limit` quarters.
    fn quarters(&mut self, limit: u64) -> f64 {
        (self.below(2 * limit - 1) as f64 - (limit - 1) as f64) / 4.0
    }

    fn integer(&mut self, place: usize) -> u32 {
        const EXTREMES: [u32; 6] = [0, 1, u32::MAX, 1 << 31, (1 << 31) - 1, (1 << 31) + 1];
        match EXTREMES.get(place) {
            Some(one) => *one,
            None => {
                let magnitude = self.below(32);
                ((self.next() >> 32) as i32 >> magnitude) as u32
            }
        }
    }
}

/// Returns the numbers of a line.
pub fn numbers(text: &str) -> Result<Vec<u32>, String> {
    text.split_whitespace().map(number).collect()
}

/// Returns the number that is text, decimal or hexadecimal.
pub fn number(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| format!("{text}: {error}"))
}
