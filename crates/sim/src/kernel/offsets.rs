//! The mmap offsets of objects in the device's file (`drm_vma_offset_manager`).
//!
//! A node is a range of the file's pages that maps one object in one mmap mode. It exists as long as the
//! object, and any page in it finds it.

use std::collections::BTreeMap;

use gem_coherency::Errno;

use super::holes::{Holes, Prefer};
use super::limits::OFFSET_PAGES;
use gem_coherency::vocabulary::MmapMode;

/// The first page (`DRM_FILE_PAGE_OFFSET_START`).
const FIRST_PAGE: u64 = 0x10_0000;

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// The object's number.
    pub(crate) object: u64,
    pub(crate) mode: MmapMode,
    /// The first page.
    pub(crate) start: u64,
    pages: u64,
}

/// The nodes of a device.
#[derive(Debug)]
pub(crate) struct Offsets {
    nodes: BTreeMap<u64, Node>,
    holes: Holes,
}

impl Default for Offsets {
    fn default() -> Self {
        let holes = Holes::new(FIRST_PAGE..FIRST_PAGE + OFFSET_PAGES, Prefer::Youngest);
        Self { nodes: BTreeMap::new(), holes }
    }
}

impl Offsets {
    /// Creates a node; returns its first page (`drm_vma_offset_add`).
    ///
    /// # Errors
    /// ENOSPC.
    pub(crate) fn add(&mut self, object: u64, mode: MmapMode, pages: u64) -> Result<u64, Errno> {
        let start = self.holes.fitting(pages).next().ok_or(Errno::ENOSPC)?.start;
        self.holes.take(start..start + pages);
        self.nodes.insert(start, Node { object, mode, start, pages });
        Ok(start)
    }

    /// Removes the node that starts at page `start` (`drm_vma_offset_remove`).
    pub(crate) fn remove(&mut self, start: u64) {
        if let Some(Node { pages, .. }) = self.nodes.remove(&start) {
            self.holes.give(start..start + pages);
        }
    }

    /// Finds the node that contains all of these pages (`drm_vma_offset_lookup_locked`).
    pub(crate) fn find(&self, start: u64, pages: u64) -> Option<Node> {
        let (_, &node) = self.nodes.range(..=start).next_back()?;
        let end = start.checked_add(pages)?;
        (end <= node.start + node.pages).then_some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_follow_one_another_and_holes_are_used_again_the_smallest_first() {
        let mut offsets = Offsets::default();
        let mut add = |pages| offsets.add(1, MmapMode::Wb, pages).unwrap() - FIRST_PAGE;
        assert_eq!([add(1), add(4), add(1), add(2), add(1)], [0, 1, 5, 6, 8]);
        offsets.remove(FIRST_PAGE + 1);
        offsets.remove(FIRST_PAGE + 6);
        assert_eq!(offsets.add(1, MmapMode::Wb, 1), Ok(FIRST_PAGE + 6));
        assert_eq!(offsets.add(1, MmapMode::Wb, 3), Ok(FIRST_PAGE + 1));
        assert_eq!(offsets.add(1, MmapMode::Wb, OFFSET_PAGES), Err(Errno::ENOSPC));
    }

    #[test]
    fn neighbouring_holes_become_one() {
        let mut offsets = Offsets::default();
        for _ in 0..3 {
            offsets.add(1, MmapMode::Wb, 1).unwrap();
        }
        for page in [0, 2, 1] {
            offsets.remove(FIRST_PAGE + page);
        }
        assert_eq!(offsets.add(1, MmapMode::Wb, OFFSET_PAGES), Ok(FIRST_PAGE));
    }

    #[test]
    fn a_node_is_found_by_any_of_its_pages_and_never_beyond_its_end() {
        let mut offsets = Offsets::default();
        offsets.add(1, MmapMode::Wb, 2).unwrap();
        offsets.add(2, MmapMode::Wc, 2).unwrap();
        let case = |start, pages, object: Option<u64>| {
            assert_eq!(offsets.find(FIRST_PAGE + start, pages).map(|node| node.object), object);
        };
        case(0, 2, Some(1));
        case(1, 1, Some(1));
        case(1, 2, None);
        case(2, 2, Some(2));
        case(3, 2, None);
        case(4, 1, None);
        case(4, u64::MAX, None);
        assert_eq!(offsets.find(0, 1), None);
    }
}
