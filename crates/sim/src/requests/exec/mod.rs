//! EXECBUFFER2, from the checks of its struct to the submission of the objects.
//!
//! Parallel submission is not simulated: without a GuC, no platform's contexts offer it beyond one engine.
//!
//! The batch runs on the simulated GPU, which is done with it when the request returns, unless it is stalled or timed.
//! On some engines the kernel parses the batch first ([`parse`]).

mod address;
mod bind;
pub(super) mod context;
mod fences;
mod legal;
mod legal_table;
mod objects;
mod parse;
mod relocate;
mod typed;
mod waits;

use std::sync::Arc;

use bytemuck::bytes_of_mut;
use gem_coherency::Errno;

use super::entry::{Entry, entries};
use super::{Caller, refuse};
use crate::SimDevice;
use crate::gpu::real_gpu::{OnRealGpu, Operand};
use crate::gpu::{Batch, Bindings, Code, Lane, Named, Owner, Privilege, Turn};
use crate::kernel::injected_faults::Needs;
use crate::kernel::spaces::AddressSpace;
use crate::process::files::File;
use crate::process::memory::Memory;
use crate::requests::exec::context::kept::Context;
use crate::sync::fence::Fence;
use crate::sync::progress::Patience;
use address::canonical;
use fences::Waits;
use gem_coherency::error::Result;
use gem_coherency::platform::{Call, Caps, Engine, EngineClass, GraphicsVersion, Machine};
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::Access;
use gem_coherency_uapi::i915_exec::*;
use objects::Slot;

pub(super) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, Everyone => execbuffer2;
};

/// Flags that are refused (`__I915_EXEC_ILLEGAL_FLAGS`): unknown and removed ones.
const ILLEGAL: u64 =
    !((I915_EXEC_USE_EXTENSIONS << 1) - 1) | I915_EXEC_CONSTANTS_MASK | I915_EXEC_RESOURCE_STREAMER;
/// Bytes that the kernel allocates for each object (`eb_element_size`).
const ELEMENT_BYTES: u64 = 136;
/// The kernel's largest such allocation: half of a small machine's memory.
const MOST_BYTES: u64 = 512 << 20;
/// Size of an entry of the list, and the position of its offset.
const ENTRY: u64 = size_of::<drm_i915_gem_exec_object2>() as u64;
const OFFSET: u64 = std::mem::offset_of!(drm_i915_gem_exec_object2, offset) as u64;

/// `i915_gem_execbuffer2_ioctl`.
fn execbuffer2(caller: &mut Caller<'_>, args: &mut drm_i915_gem_execbuffer2) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
    caller.device.system.enter(request, Needs::Gpu)?;
    let done = check(args).and_then(|()| {
        let list = read_list(caller.memory, args)?;
        execute(caller, args, &list)
    });
    done.or_else(|errno| refuse(request, errno))
}

/// Checks the struct alone (`check_buffer_count`, `i915_gem_check_execbuffer`).
fn check(args: &mut drm_i915_gem_execbuffer2) -> Result<(), Errno> {
    if args.buffer_count < 1 || args.buffer_count > i32::MAX as u32 || args.flags & ILLEGAL != 0 {
        return Err(Errno::EINVAL);
    }
    let has_list = args.flags & (I915_EXEC_FENCE_ARRAY | I915_EXEC_USE_EXTENSIONS) != 0;
    if !has_list && (args.num_cliprects != 0 || args.cliprects_ptr != 0) {
        return Err(Errno::EINVAL);
    }
    if args.DR4 == u32::MAX {
        // The kernel ignores the garbage that UXA passes here.
        args.DR4 = 0;
    }
    let aligned = (args.batch_start_offset | args.batch_len).is_multiple_of(8);
    if args.DR1 != 0 || args.DR4 != 0 || !aligned { Err(Errno::EINVAL) } else { Ok(()) }
}

/// Reads the list of objects.
fn read_list(
    memory: &Memory,
    args: &drm_i915_gem_execbuffer2,
) -> Result<Vec<drm_i915_gem_exec_object2>, Errno> {
    let count = u64::from(args.buffer_count);
    if (count + 2) * ELEMENT_BYTES > MOST_BYTES {
        return Err(Errno::ENOMEM);
    }
    let mut list = Vec::new();
    for number in 0..count {
        let mut entry = drm_i915_gem_exec_object2::default();
        let bytes = bytes_of_mut(&mut entry);
        let at = args.buffers_ptr.checked_add(number * ENTRY).ok_or(Errno::EFAULT)?;
        if memory.read(at, bytes) < bytes.len() {
            return Err(Errno::EFAULT);
        }
        list.push(entry);
    }
    Ok(list)
}

/// A submission in progress (`struct i915_execbuffer`).
struct Submission<'a> {
    device: &'a SimDevice,
    args: drm_i915_gem_execbuffer2,
    context: Context,
    engine: Engine,
    slots: Vec<Slot>,
    /// The batch's slot; `None` without a batch.
    batch: Option<usize>,
    /// The source of the batch's commands.
    code: Code,
    /// Relocations are processed, and offsets are written back (`__EXEC_HAS_RELOC`).
    relocates: bool,
    /// The fence that signals completion; `None` before submission.
    fence: Option<Fence>,
    patience: &'a Patience,
}

/// `i915_gem_do_execbuffer`, and the write-back of the offsets.
fn execute(
    caller: &mut Caller<'_>,
    args: &mut drm_i915_gem_execbuffer2,
    list: &[drm_i915_gem_exec_object2],
) -> Result<(), Errno> {
    let device = caller.device;
    if args.flags & I915_EXEC_SECURE != 0 {
        secure(device)?;
    }
    let fences = fences::find(device, caller.memory, caller.files, args)?;
    let context = device.context(args.rsvd1 as u32)?;
    let engine = select_engine(device, &context, args.flags).ok_or(Errno::EINVAL)?;
    if device.system.injected_faults.is_wedged() {
        return Err(Errno::EIO);
    }
    let mut submission = Submission::new(device, *args, context, engine, caller.patience);
    submission.look_up(caller.memory, list)?;
    submission.place(caller.memory)?;
    let done = submission.capture().and_then(|()| submission.submit(&fences.waits));
    submission.write_back(caller.memory);
    // A submission that fails half-way has a fence, too.
    if let Some(fence) = &submission.fence {
        fences.signals.iter().for_each(|signal| signal.give(fence));
    }
    done?;
    if args.flags & I915_EXEC_FENCE_OUT != 0 {
        let fd = caller.files.install(File::Fence(submission.fence.unwrap_or_default()), true)?;
        args.rsvd2 = args.rsvd2 & 0xffff_ffff | u64::from(fd as u32) << 32;
    }
    Ok(())
}

/// Checks whether a privileged batch is allowed; the process runs as root.
fn secure(device: &SimDevice) -> Result<(), Errno> {
    let request = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
    device.check(request, Call::ExecSecure).map_err(|error| error.errno())?;
    if device.is_master() { Ok(()) } else { Err(Errno::EPERM) }
}

/// `eb_select_engine`.
fn select_engine(device: &SimDevice, context: &Context, flags: u64) -> Option<Engine> {
    let ring = (flags & I915_EXEC_RING_MASK) as u32;
    match &context.engines {
        Some(engines) => *engines.get(ring as usize)?,
        None => {
            let bsd = (flags & I915_EXEC_BSD_MASK) / (I915_EXEC_BSD_MASK & I915_EXEC_BSD_MASK.wrapping_neg());
            device.system.machine.legacy_ring(device.system.hardware.gt, ring, bsd as u32)
        }
    }
}

impl<'a> Submission<'a> {
    fn new(
        device: &'a SimDevice,
        args: drm_i915_gem_execbuffer2,
        context: Context,
        engine: Engine,
        patience: &'a Patience,
    ) -> Self {
        Self {
            device,
            args,
            context,
            engine,
            slots: Vec::new(),
            batch: None,
            code: Code::InPlace,
            relocates: args.flags & I915_EXEC_NO_RELOC == 0,
            fence: None,
            patience,
        }
    }

    /// Returns the owner of the batch: its context, file and queue.
    fn owner(&self) -> Owner {
        let ring = (self.args.flags & I915_EXEC_RING_MASK) as u32;
        let lane = match self.context.engines {
            Some(_) => Lane::Slot(ring),
            None => Lane::Default(self.engine),
        };
        Owner {
            context: Arc::clone(&self.context.standing),
            file: Arc::clone(&self.device.hangs),
            lane,
            bannable: self.context.bannable,
            recoverable: self.context.recoverable,
            single_timeline: self.context.single_timeline,
        }
    }

    /// Binds and relocates the objects, and checks the batch (`eb_relocate_parse`).
    fn place(&mut self, memory: &mut Memory) -> Result<(), Errno> {
        let owner = self.owner();
        if owner.is_banned() {
            return Err(Errno::EIO);
        }
        self.wait_for_room(&owner)?;
        let space = Arc::clone(&self.context.space);
        let mut space = space.lock();
        self.bind(&mut space)?;
        if Arc::ptr_eq(&self.context.space, &self.device.gpu.global_space) {
            for slot in &self.slots {
                slot.object.state().bound = true;
            }
        }
        self.wait_for_objects(memory, &space)?;
        if self.relocates {
            self.relocate(memory, &space)?;
        }
        self.code = self.parse()?;
        Ok(())
    }

    /// Refuses error capture for a context that continues after a hang (`eb_capture_stage`).
    fn capture(&self) -> Result<(), Errno> {
        let machine = self.device.system.machine;
        let captures = self.slots.iter().any(|slot| slot.flags & EXEC_OBJECT_CAPTURE != 0);
        if captures && self.context.recoverable && must_not_recover(machine) {
            return Err(Errno::EINVAL);
        }
        Ok(())
    }

    /// Submits the objects, last first, and the batch (`eb_move_to_gpu`, `eb_request_submit`).
    ///
    /// After a failure half-way the kernel still submits, but without the batch.
    fn submit(&mut self, waits: &Waits) -> Result<(), Errno> {
        let mut turn = self.device.gpu.begin(self.owner(), self.engine);
        self.fence = Some(turn.fence());
        waits.apply(&mut turn);
        let done = self.hand_over(&mut turn);
        let batch = if done.is_ok() { self.take_batch() } else { None };
        let refused =
            batch.as_ref().and_then(|batch| batch.real_gpu.as_ref()).map(|on| Arc::clone(&on.refused));
        turn.submit(batch);
        match refused.as_ref().and_then(|refused| refused.get()) {
            Some(&errno) => Err(errno),
            None => done,
        }
    }

    fn hand_over(&self, turn: &mut Turn<'_>) -> Result<(), Errno> {
        let request = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
        for slot in self.slots.iter().rev() {
            let access = if slot.flags & EXEC_OBJECT_WRITE != 0 { Access::Write } else { Access::Read };
            let mut state = slot.object.state();
            let done = slot.object.happen(&mut state, request, Event::Exec(access));
            let asynchronous = slot.flags & EXEC_OBJECT_ASYNC != 0;
            done.and_then(|_| slot.object.submitted(&mut state, turn, access, asynchronous))
                .map_err(|error| error.errno())?;
        }
        let streams = self.device.system.machine.platform.graphics.major == 7
            && self.engine.class == EngineClass::Render;
        if self.args.flags & I915_EXEC_GEN7_SOL_RESET != 0 && !streams {
            return Err(Errno::EINVAL);
        }
        Ok(())
    }

    /// Returns the batch to submit.
    fn take_batch(&mut self) -> Option<Batch> {
        let slot = self.slots.get(self.batch?)?;
        let privilege =
            if self.args.flags & I915_EXEC_SECURE != 0 { Privilege::Secure } else { Privilege::User };
        Some(Batch {
            engine: self.engine,
            privilege,
            start: slot.entry.offset + u64::from(self.args.batch_start_offset),
            code: std::mem::take(&mut self.code),
            bindings: self.bindings(),
            owner: self.owner(),
            stored: Vec::new(),
            is_long_running: false,
            real_gpu: self.on_real_gpu(),
        })
    }

    /// Prepares the batch for the real GPU, if there is one.
    fn on_real_gpu(&self) -> Option<OnRealGpu> {
        let operand = |slot: &Slot| Operand {
            object: Arc::clone(&slot.object),
            address: canonical(slot.entry.offset),
            flags: slot.flags,
            pad_to: slot.entry.rsvd1,
        };
        Some(OnRealGpu {
            gpu: Arc::clone(self.device.gpu.real_gpu.get()?),
            operands: self.slots.iter().map(operand).collect(),
            flags: self.args.flags,
            start: self.args.batch_start_offset,
            len: self.args.batch_len,
            refused: Arc::default(),
        })
    }

    /// Returns the bindings that the batch can use.
    fn bindings(&self) -> Bindings {
        let space = self.context.space.lock();
        let own = self.slots.iter().map(|slot| {
            let is_written = slot.flags & EXEC_OBJECT_WRITE != 0;
            (slot.entry.offset, Named { object: Arc::clone(&slot.object), is_written })
        });
        Bindings::new(AddressSpace::Bound(Arc::clone(space.bound())), own)
    }

    /// Writes the addresses of objects that moved to the caller's list.
    fn write_back(&self, memory: &mut Memory) {
        if !self.relocates {
            return;
        }
        for (number, slot) in (0..).zip(&self.slots) {
            let at = self.args.buffers_ptr.wrapping_add(number * ENTRY + OFFSET);
            let address = canonical(slot.entry.offset).to_le_bytes();
            if slot.moved && memory.write(at, &address) < address.len() {
                break;
            }
        }
    }
}

/// Returns whether error capture is restricted to contexts that end with a hang.
fn must_not_recover(machine: Machine) -> bool {
    machine.caps.contains(Caps::DISCRETE) || machine.platform.graphics > GraphicsVersion::new(12, 0)
}
