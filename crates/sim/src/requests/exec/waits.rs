//! Waits of a submission before it accesses objects by the CPU, all before anything is changed.

use std::collections::HashMap;

use bytemuck::try_pod_read_unaligned;
use gem_coherency::Errno;

use super::Submission;
use super::address::canonical;
use super::objects::Slot;
use crate::gpu::Owner;
use crate::kernel::spaces::space::Space;
use crate::process::memory::Memory;
use gem_coherency::platform::CommandParser;
use gem_coherency::vocabulary::Access;
use gem_coherency_uapi::i915_exec::*;

/// Size of a relocation.
const ENTRY: usize = size_of::<drm_i915_gem_relocation_entry>();

impl Submission<'_> {
    /// Waits for room in the ring (`eb_throttle`).
    ///
    /// # Errors
    /// [`crate::sync::progress::RESTART`].
    pub(super) fn wait_for_room(&self, owner: &Owner) -> Result<(), Errno> {
        let request = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
        let has_room = || self.device.gpu.has_room(owner, self.engine);
        self.patience.wait(request, None, has_room).map(drop).map_err(|error| error.errno())
    }

    /// Waits for the GPU's uses of the objects that relocations write and that the command parser reads
    /// (`i915_gem_object_prepare_write`, `i915_gem_object_prepare_read`).
    ///
    /// # Errors
    /// [`crate::sync::progress::RESTART`].
    pub(super) fn wait_for_objects(&self, memory: &Memory, space: &Space) -> Result<(), Errno> {
        let request = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
        let wait = |slot: &Slot, access| slot.object.wait_for(request, access, self.patience);
        if self.is_parsed()
            && let Some(slot) = self.batch.and_then(|index| self.slots.get(index))
        {
            wait(slot, Access::Read).map_err(|error| error.errno())?;
        }
        for slot in self.slots.iter().filter(|_| self.relocates) {
            if !slot.object.is_idle(Access::Write) && self.has_new_address(memory, space, &slot.entry) {
                wait(slot, Access::Write).map_err(|error| error.errno())?;
            }
        }
        Ok(())
    }

    /// Returns whether the kernel reads the batch.
    pub(super) fn is_parsed(&self) -> bool {
        match self.device.system.machine.command_parser(self.engine) {
            CommandParser::Never => false,
            CommandParser::WithLength => self.args.batch_len != 0,
            CommandParser::Always => true,
        }
    }

    /// Returns whether a relocation of an object has another address than the presumed one, up to the first
    /// relocation that is invalid.
    fn has_new_address(&self, memory: &Memory, space: &Space, entry: &drm_i915_gem_exec_object2) -> bool {
        let names: HashMap<u32, &Slot> = self.slots.iter().map(|slot| (slot.entry.handle, slot)).collect();
        let mut bytes = [0; ENTRY];
        for number in 0..u64::from(entry.relocation_count) {
            let at = entry.relocs_ptr.wrapping_add(number * ENTRY as u64);
            if memory.read(at, &mut bytes) < ENTRY {
                return false;
            }
            let relocation =
                try_pod_read_unaligned::<drm_i915_gem_relocation_entry>(&bytes).unwrap_or_default();
            let target = match self.args.flags & I915_EXEC_HANDLE_LUT {
                0 => names.get(&relocation.target_handle).copied(),
                _ => self.slots.get(relocation.target_handle as usize),
            };
            let Some((address, _)) = target.and_then(|slot| space.find(&slot.object)) else { return false };
            if canonical(address) != relocation.presumed_offset {
                return true;
            }
        }
        false
    }
}
