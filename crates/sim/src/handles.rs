//! Names of objects on one open file, and what the file may map.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::dma_buf::DmaBuf;
use super::numbers::Numbers;
use super::object::Object;
use gem_coherency::vocabulary::Handle;

/// The objects that have a name.
#[derive(Debug)]
pub(super) struct Handles {
    objects: BTreeMap<Handle, Arc<Object>>,
    numbers: Numbers,
    /// Nodes of the device's file that the file may map, by their first page, and how often it was
    /// allowed (`vm_files` of a node).
    mappable: BTreeMap<u64, u32>,
    /// The dma-bufs that the file knows, by name (`prime`).
    known: BTreeMap<Handle, Arc<DmaBuf>>,
    /// The names by dma-buf, the oldest first.
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
    /// Names `object`; `None` if all names are taken.
    pub(super) fn insert(&mut self, object: Arc<Object>) -> Option<Handle> {
        let handle = Handle::new(self.numbers.take()?)?;
        object.links.named();
        // Only an object with a place of its own has one before it has a name in this file.
        if object.is_mapped_by_itself() {
            for start in object.links.offsets() {
                *self.mappable.entry(start).or_default() += 1;
            }
        }
        self.objects.insert(handle, object);
        Some(handle)
    }

    /// The object of that name.
    pub(super) fn get(&self, handle: Handle) -> Option<Arc<Object>> {
        self.objects.get(&handle).cloned()
    }

    /// Gives the name back; `None` if there was no such name.
    ///
    /// With it goes the permission to map the object in the modes that were asked for, even if the
    /// file has another name for it (`i915_gem_close_object`).
    pub(super) fn remove(&mut self, handle: Handle) -> Option<Arc<Object>> {
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

    /// How many names there are.
    pub(super) fn len(&self) -> u64 {
        self.objects.len() as u64
    }

    /// Allows the file to map the node that begins with page `start` (`drm_vma_node_allow_once`).
    pub(super) fn allow(&mut self, start: u64) {
        self.mappable.entry(start).or_insert(1);
    }

    /// Whether the file may map that node (`drm_vma_node_is_allowed`).
    pub(super) fn may_map(&self, start: u64) -> bool {
        self.mappable.contains_key(&start)
    }

    /// The dma-buf that the file knows by this name (`drm_prime_lookup_buf_by_handle`).
    pub(super) fn dma_buf_of(&self, handle: Handle) -> Option<Arc<DmaBuf>> {
        self.known.get(&handle).cloned()
    }

    /// The name that the file knows a dma-buf by (`drm_prime_lookup_buf_handle`).
    pub(super) fn name_of(&self, dma_buf: &DmaBuf) -> Option<Handle> {
        self.names.get(&dma_buf.identity())?.first().copied()
    }

    /// Notes that a name stands for a dma-buf (`drm_prime_add_buf_handle`).
    pub(super) fn know(&mut self, handle: Handle, dma_buf: Arc<DmaBuf>) {
        self.names.entry(dma_buf.identity()).or_default().push(handle);
        self.known.insert(handle, dma_buf);
    }

    /// A name stands for no dma-buf any more (`drm_prime_remove_buf_handle`).
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
