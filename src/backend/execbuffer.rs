//! Converts a [`Run`] to the structs of EXECBUFFER2, for both kinds of devices.

use gem_coherency_policy::Errno;

use super::{Addresses, ExecObject, Run};
use crate::error::{Error, grow, room};
use crate::platform::EngineClass;
use crate::vocabulary::Access;
use gem_coherency_uapi::i915_exec::*;

/// The structs; the caller fills in the addresses of the two lists.
pub struct Structs {
    /// The objects, with the batch last.
    pub objects: Vec<drm_i915_gem_exec_object2>,
    /// The batch's relocations.
    pub relocations: Vec<drm_i915_gem_relocation_entry>,
    /// The arguments, without the addresses of the lists.
    pub args: drm_i915_gem_execbuffer2,
}

/// Creates the entry of an object whose address the kernel chooses.
pub fn entry(object: &ExecObject) -> drm_i915_gem_exec_object2 {
    drm_i915_gem_exec_object2 {
        handle: object.handle.get(),
        flags: match object.access {
            Access::Read => 0,
            Access::Write => EXEC_OBJECT_WRITE,
        },
        ..Default::default()
    }
}

/// Returns the flags that select the first engine of a class, in a context with the default engines.
fn ring(engine: EngineClass) -> Result<u64, Errno> {
    match engine {
        EngineClass::Render => Ok(I915_EXEC_RENDER),
        EngineClass::Copy => Ok(I915_EXEC_BLT),
        EngineClass::Video => Ok(I915_EXEC_BSD),
        EngineClass::VideoEnhance => Ok(I915_EXEC_VEBOX),
        // The default context has no compute ring.
        EngineClass::Compute => Err(Errno::EINVAL),
    }
}

impl Run<'_> {
    /// Converts the run to structs.
    ///
    /// # Errors
    /// EINVAL for an engine without a ring in the default context, and for too few or too many addresses;
    /// ENOMEM.
    pub fn structs(&self) -> Result<Structs, Errno> {
        let batch = ExecObject { handle: self.batch, access: Access::Read };
        let no_memory = |error: Error| error.errno();
        let mut objects = room("a batch", self.objects.len() + 1).map_err(no_memory)?;
        objects.extend(self.objects.iter().chain([&batch]).map(entry));
        let mut flags = ring(self.engine)? | I915_EXEC_HANDLE_LUT;
        let mut relocations = Vec::new();
        match self.addresses {
            Addresses::Pinned(addresses) => {
                flags |= I915_EXEC_NO_RELOC;
                if addresses.len() != objects.len() {
                    return Err(Errno::EINVAL);
                }
                for (entry, &address) in objects.iter_mut().zip(addresses) {
                    entry.offset = address;
                    entry.flags |= EXEC_OBJECT_PINNED | EXEC_OBJECT_SUPPORTS_48B_ADDRESS;
                }
            }
            Addresses::Relocated(requested) => {
                grow(&mut relocations, "a batch", requested.len()).map_err(no_memory)?;
                relocations.extend(requested.iter().map(|one| drm_i915_gem_relocation_entry {
                    target_handle: one.object,
                    delta: one.delta,
                    offset: one.at,
                    // An address that no object has, so that every relocation is applied.
                    presumed_offset: u64::MAX,
                    ..Default::default()
                }));
                if let Some(batch) = objects.last_mut() {
                    batch.relocation_count = relocations.len() as u32;
                }
            }
        }
        let args = drm_i915_gem_execbuffer2 {
            buffer_count: objects.len() as u32,
            batch_len: self.len_bytes,
            flags,
            ..Default::default()
        };
        Ok(Structs { objects, relocations, args })
    }
}
