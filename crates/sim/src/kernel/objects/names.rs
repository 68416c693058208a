//! Global names of objects, valid in all files of a device (GEM_FLINK, `drm_device::object_name_idr`).
//!
//! A global name holds no reference: it is removed with the object's last handle in any file.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use super::object::Object;
use crate::kernel::numbers::Numbers;

/// The global names of a device.
#[derive(Debug)]
pub(crate) struct Names {
    objects: BTreeMap<u32, Weak<Object>>,
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
    /// Returns the object's global name, or gives it the lowest free one; `None` if none is left.
    pub(crate) fn name(&mut self, object: &Arc<Object>) -> Option<u32> {
        if let Some(&name) = self.names.get(&object.id()) {
            return Some(name);
        }
        let name = self.numbers.take()?;
        self.objects.insert(name, Arc::downgrade(object));
        self.names.insert(object.id(), name);
        Some(name)
    }

    /// Removes the global name of object `id`, which has no handle left (`drm_gem_object_handle_free`).
    pub(crate) fn forget(&mut self, id: u64) {
        if let Some(name) = self.names.remove(&id) {
            self.objects.remove(&name);
            self.numbers.give(name);
        }
    }

    /// Returns the object of a global name.
    pub(crate) fn object(&self, name: u32) -> Option<Arc<Object>> {
        self.objects.get(&name)?.upgrade()
    }
}
