//! EXECBUFFER2 for the trait's typed requests: with a hidden batch, or with one from the caller.

use bytemuck::cast_slice;
use gem_coherency::Errno;

use super::fences::Waits;
use super::{Submission, execute, select_engine};
use crate::SimDevice;
use crate::kernel::injected_faults::Needs;
use crate::memory::program::Pages;
use crate::process::files::Files;
use crate::process::memory::Memory;
use crate::requests::exec::context;
use crate::requests::{Caller, refuse};
use crate::sync::progress::Patience;
use gem_coherency::backend::execbuffer::{Structs, entry};
use gem_coherency::backend::{ExecObject, Run};
use gem_coherency::error::{Error, Result};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency_uapi::i915_exec::*;

/// The address of a typed request's relocations, in an otherwise empty process.
const RELOCATIONS: u64 = PAGE_BYTES;

impl SimDevice {
    /// Submits objects on the render engine, without a batch of the caller's.
    pub(crate) fn execute_ioctl(&self, objects: &[ExecObject]) -> Result<()> {
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
        if self.system.injected_faults.is_wedged() {
            return Err(Errno::EIO);
        }
        let mut submission = Submission::new(self, args, context, engine, &Patience::Blocks);
        let mut memory = Memory::default();
        submission.look_up(&mut memory, &list)?;
        submission.place(&mut memory)?;
        submission.submit(&Waits::default())
    }

    /// Runs a batch of the caller's.
    pub(crate) fn run_ioctl(&self, run: &Run<'_>) -> Result<()> {
        let request = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
        self.system.enter(request, Needs::Gpu)?;
        self.run_batch(run).or_else(|errno| refuse(request, errno))
    }

    fn run_batch(&self, run: &Run<'_>) -> Result<(), Errno> {
        let Structs { objects: mut list, relocations, mut args } = run.structs()?;
        let mut memory = Memory::default();
        if !relocations.is_empty() {
            let bytes = cast_slice(&relocations);
            let len = (bytes.len() as u64).next_multiple_of(PAGE_BYTES);
            memory.allocate(RELOCATIONS, len, Pages::ReadWrite)?;
            memory.write(RELOCATIONS, bytes);
            if let Some(batch) = list.last_mut() {
                batch.relocs_ptr = RELOCATIONS;
            }
        }
        super::check(&mut args)?;
        let mut caller = Caller {
            device: self,
            memory: &mut memory,
            files: &mut Files::default(),
            patience: &Patience::Blocks,
        };
        execute(&mut caller, &mut args, &list)
    }

    /// Returns how many batches of the default context hung.
    pub(crate) fn hangs_ioctl(&self) -> Result<u32> {
        let mut args = gem_coherency_uapi::i915_facts::drm_i915_reset_stats::default();
        let mut memory = Memory::default();
        let mut caller = Caller {
            device: self,
            memory: &mut memory,
            files: &mut Files::default(),
            patience: &Patience::Blocks,
        };
        context::get_reset_stats(&mut caller, &mut args)?;
        Ok(args.batch_active)
    }
}
