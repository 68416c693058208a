//! Names that objects have in all files of a device (`drm_device::object_name_idr`).
//!
//! Such a name keeps no object alive: it is gone with the object's last name in any one file.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use super::numbers::Numbers;
use super::object::Object;

/// The names of a device.
#[derive(Debug)]
pub(super) struct Names {
    objects: BTreeMap<u32, Weak<Object>>,
    /// Names by the object's number.
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
    /// The object's name, the lowest that is free if it has none yet; `None` if all are taken.
    pub(super) fn name(&mut self, object: &Arc<Object>) -> Option<u32> {
        if let Some(&name) = self.names.get(&object.id()) {
            return Some(name);
        }
        let name = self.numbers.take()?;
        self.objects.insert(name, Arc::downgrade(object));
        self.names.insert(object.id(), name);
        Some(name)
    }

    /// The object `id` has no name in any file any more (`drm_gem_object_handle_free`).
    pub(super) fn forget(&mut self, id: u64) {
        if let Some(name) = self.names.remove(&id) {
            self.objects.remove(&name);
            self.numbers.give(name);
        }
    }

    /// The object of a name.
    pub(super) fn object(&self, name: u32) -> Option<Arc<Object>> {
        self.objects.get(&name)?.upgrade()
    }
}
