//! The kernel's command parser, used on generation 7 if the batch's length is given, and on the copy engine
//! of generation 9.
//!
//! The kernel reads the caller's batch with the CPU into an object of its own, and runs the copy.
//! [`legal`](super::legal) makes the verdict.

use gem_coherency::Errno;

use super::Submission;
use super::address::canonical;
use super::legal::{Checker, Verdict};
use crate::gpu::Code;
use crate::kernel::objects::object::AroundCopy;
use gem_coherency::platform::CommandParser;
use gem_coherency::policy::kernel::{Action, Backing, Effect, Event};
use gem_coherency::units::{ByteRange, PAGE_BYTES};
use gem_coherency_memory_model::Route;
use gem_coherency_uapi::i915_exec::DRM_IOCTL_I915_GEM_EXECBUFFER2;

/// Largest batch that is copied, in bytes.
const MOST_BYTES: u64 = 64 << 20;

impl Submission<'_> {
    /// Copies and checks the batch if the kernel parses it (`eb_parse`); returns the code that the GPU runs.
    ///
    /// A batch that generation 7's parser forbids runs in place, where the hardware forbids the commands.
    ///
    /// # Errors
    /// ENODEV for a batch that the CPU cannot read; ENOMEM for one of more than 64 MiB; EINVAL for one
    /// without an end; EACCES.
    pub(super) fn parse(&self) -> Result<Code, Errno> {
        let Some(slot) = self.batch.and_then(|index| self.slots.get(index)) else {
            return Ok(Code::InPlace);
        };
        let machine = self.device.system.machine;
        let parser = machine.command_parser(self.engine);
        if !self.is_parsed() {
            return Ok(Code::InPlace);
        }
        let call = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
        let object = &slot.object;
        let start = u64::from(self.args.batch_start_offset);
        let len = match self.args.batch_len {
            0 => object.size().saturating_sub(start),
            len => u64::from(len),
        };
        if len > MOST_BYTES {
            return Err(Errno::ENOMEM);
        }
        let mut state = object.state();
        let backing = state.snapshot.backing;
        if !backing.has_struct_pages() {
            return Err(Errno::ENODEV);
        }
        let around = match backing {
            // A userptr object's domains are invisible to userspace, and it is always coherent.
            Backing::Userptr => AroundCopy::default(),
            Backing::Shmem
            | Backing::Import
            | Backing::Local
            | Backing::LocalSystem
            | Backing::Stolen
            | Backing::Internal
            | Backing::Phys => {
                object.happen(&mut state, call, Event::Pread).map_err(|error| error.errno())?
            }
        };
        let ctx = object.access_context(&state);
        let (mut at, end) = (start, start + len);
        let mut checker = Checker::new(machine, self.engine, canonical(slot.entry.offset + start), len);
        let (mut copy, mut verdict) = (Vec::new(), None);
        // The kernel copies, and so flushes, page by page.
        while at < end {
            let piece = (PAGE_BYTES - at % PAGE_BYTES).min(end - at);
            let range = ByteRange::within(at, piece, object.size()).map_err(|_| Errno::EINVAL)?;
            if let Some(rule) = around.before {
                let effect = Effect { action: Action::FlushBefore, rule };
                object.flush_range(&state, call, effect, range).map_err(|error| error.errno())?;
            }
            if verdict.is_none() {
                let mut bytes = [0; PAGE_BYTES as usize];
                let bytes = bytes.get_mut(..piece as usize).unwrap_or_default();
                let read = object.read(ctx, Route::CpuCached, at, bytes);
                read.map_err(|error| error.errno())?;
                copy.extend_from_slice(bytes);
                verdict = checker.look(&copy);
            }
            at += piece;
        }
        match (verdict, parser) {
            (Some(Verdict::Legal), _) => Ok(Code::Copied(copy)),
            (Some(Verdict::Forbidden), CommandParser::WithLength) => Ok(Code::InPlace),
            (Some(Verdict::Forbidden), CommandParser::Always | CommandParser::Never) => Err(Errno::EACCES),
            (Some(Verdict::Invalid) | None, _) => Err(Errno::EINVAL),
        }
    }
}
