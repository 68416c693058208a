//! Global names of objects, valid in all files of a device (GEM_FLINK, `drm_device::object_name_idr`).
//!
//! A global name holds no reference: it is removed with the object's last handle in any file.

use std::collections::BTreeMap;

use crate::kernel::numbers::Numbers;

/// The global names of a device.
#[derive(Debug)]
pub(crate) struct Names {
    /// Object numbers by name.
    objects: BTreeMap<u32, u64>,
    /// Names by object number.
    names: BTreeMap<u64, u32>,
    numbers: Numbers,
}

impl Default for Names {
    fn default() -> Self {
        let numbers = Numbers::new(1..=i32::MAX as u32);
        Self { objects: BTreeMap::new(), names: BTreeMap::new(), numbers }
    }
}

impl Names {
    /// Returns the global name of object `id`, or gives it the lowest free one; `None` if none is left.
    pub(crate) fn name(&mut self, id: u64) -> Option<u32> {
        if let Some(&name) = self.names.get(&id) {
            return Some(name);
        }
        let name = self.numbers.take()?;
        self.objects.insert(name, id);
        self.names.insert(id, name);
        Some(name)
    }

    /// Removes the global name of object `id`, which has no handle left (`drm_gem_object_handle_free`).
    pub(crate) fn forget(&mut self, id: u64) {
        if let Some(name) = self.names.remove(&id) {
            self.objects.remove(&name);
            self.numbers.give(name);
        }
    }

    /// Returns the number of the object with a global name.
    pub(crate) fn object(&self, name: u32) -> Option<u64> {
        self.objects.get(&name).copied()
    }
}
