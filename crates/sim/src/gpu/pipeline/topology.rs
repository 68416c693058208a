//! The vertices of complete primitives (`3D_Prim_Topo_Type`).

/// Returns how many of `count` vertices belong to complete primitives; 0 for an unknown topology.
pub(super) fn complete(topology: u32, count: u64) -> u64 {
    let lists = |size: u64| count - count % size;
    let strip = |least: u64| if count < least { 0 } else { count };
    let pairs = |least: u64| if count < least { 0 } else { count - count % 2 };
    match topology {
        // POINTLIST, POINTLIST_BF.
        1 | 17 => count,
        // LINELIST, TRILIST, QUADLIST, LINELIST_ADJ, TRILIST_ADJ, RECTLIST.
        2 => lists(2),
        4 => lists(3),
        7 => lists(4),
        9 => lists(4),
        11 => lists(6),
        15 => lists(3),
        // LINESTRIP and LINELOOP with their variants.
        3 | 16 | 18 | 19 | 20 => strip(2),
        // TRISTRIP, TRIFAN, TRISTRIP_REVERSE, POLYGON, TRIFAN_NOSTIPPLE.
        5 | 6 | 13 | 14 | 22 => strip(3),
        // QUADSTRIP, LINESTRIP_ADJ, TRISTRIP_ADJ.
        8 => pairs(4),
        10 => strip(4),
        12 => pairs(6),
        // PATCHLIST_1 to PATCHLIST_32.
        32..=63 => lists(u64::from(topology) - 31),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::complete;

    #[test]
    fn vertices_after_the_last_complete_primitive_do_not_count() {
        for (topology, count, expected) in [
            (1, 7, 7),
            (2, 7, 6),
            (4, 8, 6),
            (5, 8, 8),
            (5, 2, 0),
            (8, 7, 6),
            (11, 11, 6),
            (12, 5, 0),
            (34, 8, 6),
            (0, 9, 0),
            (23, 9, 0),
            (64, 9, 0),
        ] {
            assert_eq!(complete(topology, count), expected, "topology {topology}");
        }
    }
}
