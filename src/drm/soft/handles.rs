//! Names of objects on one open file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::object::Object;
use crate::vocabulary::Handle;

/// The objects that have a name; the lowest free number is the next name, from 1 on, as the kernel's
/// idr has it.
#[derive(Debug, Default)]
pub(super) struct Handles {
    objects: BTreeMap<Handle, Arc<Object>>,
    /// Numbers below `used` that are free again.
    free: BTreeSet<u32>,
    /// The largest number that was ever given out.
    used: u32,
}

impl Handles {
    /// Names `object`; `None` if all names are taken.
    pub(super) fn insert(&mut self, object: Arc<Object>) -> Option<Handle> {
        let number = match self.free.pop_first() {
            Some(number) => number,
            None => {
                self.used = self.used.checked_add(1)?;
                self.used
            }
        };
        let handle = Handle::new(number)?;
        self.objects.insert(handle, object);
        Some(handle)
    }

    /// The object of that name.
    pub(super) fn get(&self, handle: Handle) -> Option<Arc<Object>> {
        self.objects.get(&handle).cloned()
    }

    /// The name of the first object that `is` the one.
    pub(super) fn name_of(&self, is: impl Fn(&Object) -> bool) -> Option<Handle> {
        self.objects.iter().find_map(|(&handle, object)| is(object).then_some(handle))
    }

    /// Gives the name back; `None` if there was no such name.
    pub(super) fn remove(&mut self, handle: Handle) -> Option<Arc<Object>> {
        let object = self.objects.remove(&handle)?;
        self.free.insert(handle.get());
        Some(object)
    }

    /// How many names there are.
    pub(super) fn len(&self) -> u64 {
        self.objects.len() as u64
    }
}
