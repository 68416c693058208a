//! State that other crates keep with a device.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::sync::Mutex;

/// One value of each type, made at its first use.
#[derive(Default)]
pub(crate) struct Extensions(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl Extensions {
    /// Returns the value of type `T`, made by `make` if there is none yet.
    pub(crate) fn get_or_make<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut values = self.0.lock();
        if let Some(value) = values.iter().find_map(|value| Arc::clone(value).downcast().ok()) {
            return value;
        }
        let value = Arc::new(make());
        values.push(Arc::clone(&value) as Arc<dyn Any + Send + Sync>);
        value
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Extensions")
    }
}
