//! What a real GPU's device has in the place of an object, a context or an address space.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

/// What a real device has in the place of an object, a context or an address space. It is dropped with that.
#[derive(Default)]
pub struct Counterpart(Mutex<Option<Arc<dyn Any + Send + Sync>>>);

impl Counterpart {
    /// Returns the counterpart, which `make` makes at first.
    ///
    /// # Errors
    /// Those of `make`; EBUSY if it has another type.
    pub fn get_or_make<T: Send + Sync + 'static>(
        &self,
        make: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<Arc<T>, Errno> {
        let mut slot = self.0.lock();
        let any = match &*slot {
            Some(any) => Arc::clone(any),
            None => {
                let made: Arc<dyn Any + Send + Sync> = Arc::new(make()?);
                Arc::clone(slot.insert(made))
            }
        };
        any.downcast().map_err(|_| Errno::EBUSY)
    }
}

impl fmt::Debug for Counterpart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Counterpart").finish_non_exhaustive()
    }
}
