//! Every request has a code of its own, and the fields of every struct follow each other without a gap.

use gem_coherency_uapi::{XE_HEADERS, i915, ioctls, layouts, xe};

#[test]
fn requests_that_share_a_number_differ_by_the_size_of_their_struct() {
    assert_ne!(i915::DRM_IOCTL_I915_GEM_MMAP_GTT.code, i915::DRM_IOCTL_I915_GEM_MMAP_OFFSET.code);
    let mut codes: Vec<_> = ioctls().map(|(_, code)| code).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), ioctls().count());
}

#[test]
fn every_request_of_xe_has_a_number_of_its_own() {
    // DRM_COMMAND_BASE and DRM_COMMAND_END.
    let mut numbers: Vec<_> = xe::IOCTLS.iter().map(|(_, code)| code & 0xff).collect();
    assert!(numbers.iter().all(|number| (0x40..0xa0).contains(number)));
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), xe::IOCTLS.len());
}

#[test]
fn fields_follow_each_other_without_a_gap() {
    for layout in layouts().chain(XE_HEADERS.iter().flat_map(|header| header.layouts)) {
        let mut end = 0;
        for field in layout.fields {
            assert_eq!(field.offset, end, "{}.{}", layout.name, field.name);
            end += field.size;
        }
        assert_eq!(end, layout.size, "{}", layout.name);
    }
}
