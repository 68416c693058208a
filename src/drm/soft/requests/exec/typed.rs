//! EXECBUFFER2 as the trait has it: without a batch in sight, or with one of the caller's.

use nix::errno::Errno;
use zerocopy::IntoBytes;

use super::{Submission, execute, select_engine};
use crate::drm::soft::Soft;
use crate::drm::soft::faults::Needs;
use crate::drm::soft::process::{Files, Memory, Pages};
use crate::drm::soft::requests::{Caller, context, refuse};
use crate::drm::{Addresses, ExecObject, Run};
use crate::error::{Error, Result};
use crate::platform::EngineClass;
use crate::uapi::i915_exec::*;
use crate::units::PAGE_BYTES;
use crate::vocabulary::Access;

/// Where the relocations of a typed request lie in a process that has nothing else.
const RELOCATIONS: u64 = PAGE_BYTES;

/// An object of a submission, at a place of the kernel's choice.
fn entry(object: &ExecObject) -> drm_i915_gem_exec_object2 {
    drm_i915_gem_exec_object2 {
        handle: object.handle.get(),
        flags: match object.access {
            Access::Read => 0,
            Access::Write => EXEC_OBJECT_WRITE,
        },
        ..Default::default()
    }
}

/// The bits that name the first engine of a class.
fn ring(engine: EngineClass) -> Result<u64, Errno> {
    match engine {
        EngineClass::Render => Ok(I915_EXEC_RENDER),
        EngineClass::Copy => Ok(I915_EXEC_BLT),
        EngineClass::Video => Ok(I915_EXEC_BSD),
        EngineClass::VideoEnhance => Ok(I915_EXEC_VEBOX),
        EngineClass::Compute => Err(Errno::EINVAL),
    }
}

impl Soft {
    /// Submits objects on the render engine, without a batch in sight.
    pub(in crate::drm::soft) fn execute_ioctl(&self, objects: &[ExecObject]) -> Result<()> {
        let request = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
        self.system.enter(request, Needs::Gpu)?;
        let done = self.execute_objects(objects);
        done.map_err(|errno| Error::Ioctl { request, errno })
    }

    fn execute_objects(&self, objects: &[ExecObject]) -> Result<(), Errno> {
        let list: Vec<_> = objects.iter().map(entry).collect();
        let args = drm_i915_gem_execbuffer2 { flags: I915_EXEC_NO_RELOC, ..Default::default() };
        let context = self.context(0)?;
        let engine = select_engine(self, &context, I915_EXEC_DEFAULT).ok_or(Errno::EINVAL)?;
        if self.system.faults.is_wedged() {
            return Err(Errno::EIO);
        }
        let mut submission = Submission::new(self, args, context, engine);
        let mut memory = Memory::default();
        submission.look_up(&mut memory, &list)?;
        submission.place(&mut memory)?;
        submission.submit()
    }

    /// Runs a batch of the caller's.
    pub(in crate::drm::soft) fn run_ioctl(&self, run: &Run<'_>) -> Result<()> {
        let request = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
        self.system.enter(request, Needs::Gpu)?;
        self.run_batch(run).or_else(|errno| refuse(request, errno))
    }

    fn run_batch(&self, run: &Run<'_>) -> Result<(), Errno> {
        let last = ExecObject { handle: run.batch, access: Access::Read };
        let mut list: Vec<_> = run.objects.iter().chain([&last]).map(entry).collect();
        let mut flags = ring(run.engine)? | I915_EXEC_HANDLE_LUT;
        let mut memory = Memory::default();
        match run.addresses {
            Addresses::Pinned(addresses) => {
                flags |= I915_EXEC_NO_RELOC;
                if addresses.len() != list.len() {
                    return Err(Errno::EINVAL);
                }
                for (entry, &address) in list.iter_mut().zip(addresses) {
                    entry.offset = address;
                    entry.flags |= EXEC_OBJECT_PINNED | EXEC_OBJECT_SUPPORTS_48B_ADDRESS;
                }
            }
            Addresses::Relocated([]) => {}
            Addresses::Relocated(wanted) => {
                let relocations: Vec<_> = wanted
                    .iter()
                    .map(|one| drm_i915_gem_relocation_entry {
                        target_handle: one.object,
                        delta: one.delta,
                        offset: one.at,
                        presumed_offset: u64::MAX,
                        ..Default::default()
                    })
                    .collect();
                let bytes = relocations.as_bytes();
                memory.allocate(
                    RELOCATIONS,
                    (bytes.len() as u64).next_multiple_of(PAGE_BYTES),
                    Pages::ReadWrite,
                )?;
                memory.write(RELOCATIONS, bytes);
                if let Some(batch) = list.last_mut() {
                    batch.relocs_ptr = RELOCATIONS;
                    batch.relocation_count = relocations.len() as u32;
                }
            }
        }
        let mut args = drm_i915_gem_execbuffer2 {
            buffer_count: list.len() as u32,
            batch_len: run.len_bytes,
            flags,
            ..Default::default()
        };
        super::check(&mut args)?;
        let mut caller = Caller { device: self, memory: &mut memory, files: &mut Files::default() };
        execute(&mut caller, &mut args, &list)
    }

    /// How many batches of the default context hung.
    pub(in crate::drm::soft) fn hangs_ioctl(&self) -> Result<u32> {
        let mut args = crate::uapi::i915_facts::drm_i915_reset_stats::default();
        let mut memory = Memory::default();
        let mut caller = Caller { device: self, memory: &mut memory, files: &mut Files::default() };
        context::get_reset_stats(&mut caller, &mut args)?;
        Ok(args.batch_active)
    }
}
