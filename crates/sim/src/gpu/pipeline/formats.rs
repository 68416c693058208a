//! The sizes of the formats of vertex elements and surfaces (`enum isl_format`).
//!
//! A format that is not listed has no known size.

/// The layout of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Size in bytes.
    pub(super) bytes: u64,
    /// Number of components.
    pub(super) components: usize,
    /// Each component has its own bytes, in the order of the components.
    pub(super) separate: bool,
}

/// Formats whose components have the same size and lie in their order: from the first to the last number, the number of
/// components, and the bytes of each.
const SEPARATE: &[(u32, u32, usize, u64)] = &[
    // R32G32B32A32: FLOAT, SINT, UINT, UNORM, SNORM; SSCALED, USCALED.
    (0, 4, 4, 4),
    (7, 8, 4, 4),
    // R32G32B32: FLOAT to USCALED.
    (64, 70, 3, 4),
    // R16G16B16A16: UNORM to FLOAT; SSCALED, USCALED.
    (128, 132, 4, 2),
    (147, 148, 4, 2),
    // R32G32: FLOAT, SINT, UINT; UNORM, SNORM; SSCALED, USCALED.
    (133, 135, 2, 4),
    (139, 140, 2, 4),
    (149, 150, 2, 4),
    // R8G8B8A8: UNORM to UINT; SSCALED, USCALED.
    (199, 203, 4, 1),
    (244, 245, 4, 1),
    // R16G16: UNORM to FLOAT; SSCALED, USCALED.
    (204, 208, 2, 2),
    (246, 247, 2, 2),
    // R32: SINT, UINT, FLOAT; UNORM, SNORM; SSCALED, USCALED.
    (214, 216, 1, 4),
    (241, 242, 1, 4),
    (248, 249, 1, 4),
    // R8G8: UNORM to UINT; SSCALED, USCALED.
    (262, 265, 2, 1),
    (284, 285, 2, 1),
    // R16: UNORM to FLOAT; SSCALED, USCALED.
    (266, 270, 1, 2),
    (286, 287, 1, 2),
    // R8: UNORM to UINT; SSCALED, USCALED.
    (320, 323, 1, 1),
    (329, 330, 1, 1),
    // R8G8B8: UNORM to USCALED.
    (403, 406, 3, 1),
    // R16G16B16: FLOAT to USCALED.
    (411, 415, 3, 2),
];

/// Formats whose components share bytes or lie in another order: the number, the number of components, and the bytes.
const PACKED: &[(u32, usize, u64)] = &[
    // B8G8R8A8: UNORM, UNORM_SRGB.
    (192, 4, 4),
    (193, 4, 4),
    // R10G10B10A2: UNORM, UNORM_SRGB, UINT.
    (194, 4, 4),
    (195, 4, 4),
    (196, 4, 4),
    // R11G11B10_FLOAT.
    (211, 3, 4),
    // B8G8R8X8: UNORM, UNORM_SRGB; R8G8B8X8: UNORM, UNORM_SRGB.
    (233, 3, 4),
    (234, 3, 4),
    (235, 3, 4),
    (236, 3, 4),
    // R10G10B10A2: SNORM to SINT.
    (435, 4, 4),
    (436, 4, 4),
    (437, 4, 4),
    (438, 4, 4),
];

/// RAW: bytes.
pub(super) const RAW: u32 = 511;

impl Format {
    /// Returns the layout of the format with this number; `None` if it is not known.
    pub(super) fn new(number: u32) -> Option<Self> {
        let separate = SEPARATE.iter().find(|(first, last, ..)| (*first..=*last).contains(&number));
        if let Some(&(_, _, components, each)) = separate {
            return Some(Self { bytes: components as u64 * each, components, separate: true });
        }
        let &(_, components, bytes) = PACKED.iter().find(|(known, ..)| *known == number)?;
        Some(Self { bytes, components, separate: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_the_names() {
        let size = |number| Format::new(number).map(|format| (format.components, format.bytes));
        // R32G32B32_FLOAT, R16G16B16A16_FLOAT, R8G8B8A8_UNORM, R32_UINT, R16_FLOAT, R8_SINT, R10G10B10A2_UINT.
        for (number, expected) in [
            (0x40, (3, 12)),
            (0x84, (4, 8)),
            (0xc7, (4, 4)),
            (0xd7, (1, 4)),
            (0x10e, (1, 2)),
            (0x142, (1, 1)),
            (0xc4, (4, 4)),
        ] {
            assert_eq!(size(number), Some(expected), "{number:#x}");
        }
        // R64G64_FLOAT, R32G32B32X32_FLOAT, BC1_UNORM, RAW.
        assert_eq!([5, 6, 0x186, RAW].map(size), [None; 4]);
    }

    #[test]
    fn no_format_is_listed_twice() {
        for number in 0..=RAW {
            let separate = SEPARATE.iter().filter(|(first, last, ..)| (*first..=*last).contains(&number));
            let packed = PACKED.iter().filter(|(known, ..)| *known == number);
            assert!(separate.count() + packed.count() <= 1, "{number}");
        }
    }
}
