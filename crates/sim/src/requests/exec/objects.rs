//! Looks up and checks the objects of a submission, one after the other.

use std::sync::Arc;

use gem_coherency::Errno;

use super::Submission;
use super::address::{canonical, noncanonical};
use crate::SimDevice;
use crate::gpu::Turn;
use crate::kernel::objects::object::Object;
use crate::kernel::objects::state::State;
use crate::process::memory::Memory;
use gem_coherency::error::Result as Outcome;
use gem_coherency::platform::Call;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::{Access, MocsClass};
use gem_coherency_memory_model::Route;
use gem_coherency_uapi::i915_exec::*;

/// The known flags of an object.
const KNOWN: u64 = (EXEC_OBJECT_CAPTURE << 1) - 1;

/// An object of a submission (`struct eb_vma`).
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) object: Arc<Object>,
    /// The caller's entry; its offset is the object's present or requested address, in noncanonical form.
    pub(super) entry: drm_i915_gem_exec_object2,
    /// The entry's flags, plus WRITE if a relocation writes it.
    pub(super) flags: u64,
    /// The object must not be placed at the lowest addresses (`__EXEC_OBJECT_NEEDS_BIAS`).
    pub(super) needs_bias: bool,
    /// The object is bound (`__EXEC_OBJECT_HAS_PIN`).
    pub(super) placed: bool,
    /// The object's address differs from the caller's (`UPDATE`).
    pub(super) moved: bool,
}

impl Submission<'_> {
    /// Looks up every object (`eb_lookup_vmas`).
    pub(super) fn look_up(
        &mut self,
        memory: &mut Memory,
        list: &[drm_i915_gem_exec_object2],
    ) -> Result<(), Errno> {
        let total = self.context.space.lock().total();
        // A typed submission has a buffer_count of 0: its batch is not in the list.
        let batch = match self.args.buffer_count {
            0 => None,
            _ if self.args.flags & I915_EXEC_BATCH_FIRST != 0 => Some(0),
            _ => list.len().checked_sub(1),
        };
        for (number, entry) in list.iter().enumerate() {
            let request = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
            let object = self.device.find(request, entry.handle).map_err(|error| error.errno())?;
            if object.size() > total {
                return Err(Errno::E2BIG);
            }
            let entry = validated(self.device, entry)?;
            let is_batch = batch == Some(number);
            if is_batch {
                self.check_batch(&object, &entry)?;
            }
            let needs_bias = is_batch && entry.relocation_count != 0 && entry.flags & EXEC_OBJECT_PINNED == 0;
            object.validate_user_pages(request, Some(&mut *memory)).map_err(|error| error.errno())?;
            let flags = entry.flags;
            self.slots.push(Slot { object, entry, flags, needs_bias, placed: false, moved: false });
        }
        self.batch = batch;
        Ok(())
    }

    /// Checks the batch's object (`eb_add_vma`).
    fn check_batch(&self, object: &Object, entry: &drm_i915_gem_exec_object2) -> Result<(), Errno> {
        let (start, len) = (u64::from(self.args.batch_start_offset), u64::from(self.args.batch_len));
        let inside = start < object.size() && len <= object.size() - start;
        if entry.flags & EXEC_OBJECT_WRITE != 0 || !inside { Err(Errno::EINVAL) } else { Ok(()) }
    }
}

/// Returns the entry in the form that the kernel continues with (`eb_validate_vma`).
fn validated(
    device: &SimDevice,
    entry: &drm_i915_gem_exec_object2,
) -> Result<drm_i915_gem_exec_object2, Errno> {
    let mut entry = *entry;
    if entry.relocation_count != 0 {
        let request = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
        device.check(request, Call::Relocations).map_err(|error| error.errno())?;
    }
    let no_gtt = if device.system.machine.has_full_ppgtt() { EXEC_OBJECT_NEEDS_GTT } else { 0 };
    let aligned = entry.alignment == 0 || entry.alignment.is_power_of_two();
    if entry.flags & (!KNOWN | no_gtt) != 0 || !aligned {
        return Err(Errno::EINVAL);
    }
    let page = entry.offset & !(PAGE_BYTES - 1);
    if entry.flags & EXEC_OBJECT_PINNED != 0 && entry.offset != canonical(page) {
        return Err(Errno::EINVAL);
    }
    if entry.flags & EXEC_OBJECT_PAD_TO_SIZE == 0 {
        entry.rsvd1 = 0;
    } else if !entry.rsvd1.is_multiple_of(PAGE_BYTES) {
        return Err(Errno::EINVAL);
    }
    entry.offset = noncanonical(entry.offset);
    Ok(entry)
}

impl Object {
    /// Records that the object is submitted in this turn.
    pub(super) fn submitted(
        &self,
        state: &mut State,
        turn: &mut Turn<'_>,
        access: Access,
        asynchronous: bool,
    ) -> Outcome<()> {
        turn.uses(&mut state.used, access, asynchronous);
        if !self.system().injected_faults.take_stray() {
            return Ok(());
        }
        let (ctx, route) = (self.access_context(state), Route::Gpu(MocsClass::PageTable));
        let mut byte = [0];
        self.read(ctx, route, 0, &mut byte)?;
        self.write(ctx, route, 0, &[!byte[0]])
    }
}
