//! 48-bit GPU addresses, in the uAPI's notation.

/// Bits of an address.
const BITS: u32 = 48;

/// Sign-extends an address (`gen8_canonical_addr`).
pub(super) const fn canonical(address: u64) -> u64 {
    ((address << (64 - BITS)) as i64 >> (64 - BITS)) as u64
}

/// Removes the sign extension of an address (`gen8_noncanonical_addr`).
pub(super) const fn noncanonical(address: u64) -> u64 {
    address & ((1 << BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_half_is_negative() {
        assert_eq!(canonical(0x7fff_ffff_f000), 0x7fff_ffff_f000);
        assert_eq!(canonical(0x8000_0000_0000), 0xffff_8000_0000_0000);
        assert_eq!(noncanonical(0xffff_8000_0000_0000), 0x8000_0000_0000);
        assert_eq!(canonical(noncanonical(0x1234_0000_0000_1000)), 0x1000);
    }
}
