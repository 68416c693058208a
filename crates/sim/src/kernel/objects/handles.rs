//! The object handles of one open file, and which mmap offsets the file may map.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::dma_buf::DmaBuf;
use super::object::Object;
use crate::kernel::numbers::Numbers;
use gem_coherency::vocabulary::Handle;

/// The objects that have a handle.
#[derive(Debug)]
pub(crate) struct Handles {
    objects: BTreeMap<Handle, Arc<Object>>,
    numbers: Numbers,
    /// Mmap offset nodes that the file may map, by first page, with the number of times each was allowed
    /// (`vm_files` of a node).
    mappable: BTreeMap<u64, u32>,
    /// The file's dma-bufs by handle (`prime`).
    known: BTreeMap<Handle, Arc<DmaBuf>>,
    /// The handles of each dma-buf, oldest first.
    names: BTreeMap<usize, Vec<Handle>>,
}

impl Default for Handles {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            numbers: Numbers::new(1..=u32::MAX),
            mappable: BTreeMap::new(),
            known: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }
}

impl Handles {
    /// Gives `object` a handle; `None` if none is left.
    pub(crate) fn insert(&mut self, object: Arc<Object>) -> Option<Handle> {
        let handle = Handle::new(self.numbers.take()?)?;
        object.links.named();
        // Only an object with an mmap offset from creation on has one before its first handle here.
        if object.is_mapped_by_itself() {
            for start in object.links.offsets() {
                *self.mappable.entry(start).or_default() += 1;
            }
        }
        self.objects.insert(handle, object);
        Some(handle)
    }

    /// Returns the object of a handle.
    pub(crate) fn get(&self, handle: Handle) -> Option<Arc<Object>> {
        self.objects.get(&handle).cloned()
    }

    /// Closes a handle; `None` if it is unknown.
    ///
    /// Also revokes the file's permission to map the object in the modes that were requested, even if the
    /// file has another handle to it (`i915_gem_close_object`).
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<Arc<Object>> {
        let object = self.objects.remove(&handle)?;
        self.numbers.give(handle.get());
        self.forget(handle);
        for start in object.links.offsets() {
            if let Some(count) = self.mappable.get_mut(&start) {
                *count -= 1;
                if *count == 0 {
                    self.mappable.remove(&start);
                }
            }
        }
        if object.links.unnamed() {
            object.system().names().forget(object.id());
        }
        Some(object)
    }

    /// Returns the objects, once for each handle.
    pub(crate) fn objects(&self) -> Vec<Arc<Object>> {
        self.objects.values().cloned().collect()
    }

    /// Returns the number of handles.
    pub(crate) fn len(&self) -> u64 {
        self.objects.len() as u64
    }

    /// Allows the file to map the node that starts at page `start` (`drm_vma_node_allow_once`).
    pub(crate) fn allow(&mut self, start: u64) {
        self.mappable.entry(start).or_insert(1);
    }

    /// Returns whether the file may map that node (`drm_vma_node_is_allowed`).
    pub(crate) fn may_map(&self, start: u64) -> bool {
        self.mappable.contains_key(&start)
    }

    /// Returns the dma-buf of a handle (`drm_prime_lookup_buf_by_handle`).
    pub(crate) fn dma_buf_of(&self, handle: Handle) -> Option<Arc<DmaBuf>> {
        self.known.get(&handle).cloned()
    }

    /// Returns the file's handle to a dma-buf (`drm_prime_lookup_buf_handle`).
    pub(crate) fn name_of(&self, dma_buf: &DmaBuf) -> Option<Handle> {
        self.names.get(&dma_buf.identity())?.first().copied()
    }

    /// Records that a handle refers to a dma-buf (`drm_prime_add_buf_handle`).
    pub(crate) fn know(&mut self, handle: Handle, dma_buf: Arc<DmaBuf>) {
        self.names.entry(dma_buf.identity()).or_default().push(handle);
        self.known.insert(handle, dma_buf);
    }

    /// Forgets the dma-buf of a handle (`drm_prime_remove_buf_handle`).
    fn forget(&mut self, handle: Handle) {
        let Some(dma_buf) = self.known.remove(&handle) else { return };
        if let Some(names) = self.names.get_mut(&dma_buf.identity()) {
            names.retain(|&name| name != handle);
            if names.is_empty() {
                self.names.remove(&dma_buf.identity());
            }
        }
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        while let Some((&handle, _)) = self.objects.first_key_value() {
            self.remove(handle);
        }
    }
}
