//! Engines chosen by userspace: `I915_CONTEXT_PARAM_ENGINES` and its extensions.

use std::mem::offset_of;

use bytemuck::Pod;
use gem_coherency::Errno;

use crate::requests::exec::context::kept::{Kept, Slot};
use crate::requests::{Caller, extensions, refuse};
use gem_coherency::error::Result;
use gem_coherency::platform::{Engine, EngineClass};
use gem_coherency_uapi::i915_context::*;

/// Sizes of the header and of one engine.
const HEAD: u32 = size_of::<i915_context_param_engines>() as u32;
const ENTRY: u32 = size_of::<i915_engine_class_instance>() as u32;
/// Largest number of engines of a context (`I915_EXEC_RING_MASK` plus one).
const MOST: u32 = 64;
/// The value of both numbers of an empty slot (`I915_ENGINE_CLASS_INVALID`, `_INVALID_NONE`).
const NONE: u16 = u16::MAX;

const REQUEST: &str = DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM.name;

/// `set_proto_ctx_engines`.
pub(super) fn set(caller: &Caller<'_>, context: &mut Kept, args: &drm_i915_gem_context_param) -> Result<()> {
    let len = args.size.checked_sub(HEAD).filter(|len| len.is_multiple_of(ENTRY));
    let count = match (&context.engines, len) {
        (None, Some(len)) if len / ENTRY <= MOST => len / ENTRY,
        (None, Some(_) | None) | (Some(_), _) => return refuse(REQUEST, Errno::EINVAL),
    };
    let mut slots = Vec::new();
    for index in 0..count {
        let address = args.value.wrapping_add(u64::from(HEAD + index * ENTRY));
        let name: i915_engine_class_instance = caller.get(REQUEST, address)?;
        if name.engine_class == NONE && name.engine_instance == NONE {
            slots.push(Slot::Empty);
            continue;
        }
        match caller.device.engine(name.engine_class, name.engine_instance) {
            Some(engine) => slots.push(Slot::One(engine)),
            None => return refuse(REQUEST, Errno::ENOENT),
        }
    }
    let head: i915_context_param_engines = caller.get(REQUEST, args.value)?;
    let walked = extensions::walk(caller.memory, head.extensions, |name, address| {
        let extension = Extension { caller, address };
        match name {
            I915_CONTEXT_ENGINES_EXT_LOAD_BALANCE => extension.balance(&mut slots),
            I915_CONTEXT_ENGINES_EXT_BOND => extension.bond(&slots),
            I915_CONTEXT_ENGINES_EXT_PARALLEL_SUBMIT => extension.parallel(&mut slots),
            _ => Err(Errno::EINVAL),
        }
    });
    if let Err(errno) = walked {
        return refuse(REQUEST, errno);
    }
    context.engines = Some(slots);
    Ok(())
}

/// An extension in the caller's memory; each field is read separately.
struct Extension<'a, 'b> {
    caller: &'a Caller<'b>,
    address: u64,
}

impl Extension<'_, '_> {
    /// Reads the field at `offset`.
    fn field<T: Pod>(&self, offset: usize) -> Result<T, Errno> {
        let address = self.address.wrapping_add(offset as u64);
        self.caller.get(REQUEST, address).map_err(|error| error.errno())
    }

    /// Checks that the field at `offset` is 0 (`check_user_mbz`).
    fn zero<T: Pod + PartialEq + Default>(&self, offset: usize) -> Result<(), Errno> {
        if self.field::<T>(offset)? == T::default() { Ok(()) } else { Err(Errno::EINVAL) }
    }

    /// Reads the engine at `offset`; EINVAL if there is no such engine.
    fn engine(&self, offset: usize) -> Result<Engine, Errno> {
        let name: i915_engine_class_instance = self.field(offset)?;
        self.caller.device.engine(name.engine_class, name.engine_instance).ok_or(Errno::EINVAL)
    }

    /// Reads engine `index` of the array that starts at `head`.
    fn sibling(&self, head: usize, index: u16) -> Result<Engine, Errno> {
        self.engine(head + usize::from(index) * ENTRY as usize)
    }

    /// `set_proto_ctx_engines_balance`.
    fn balance(&self, slots: &mut [Slot]) -> Result<(), Errno> {
        type T = i915_context_engines_load_balance;
        if !self.caller.device.system.machine.has_execlists() {
            return Err(Errno::ENODEV);
        }
        let index: u16 = self.field(offset_of!(T, engine_index))?;
        let slot = slots.get_mut(usize::from(index)).ok_or(Errno::EINVAL)?;
        if *slot != Slot::Empty {
            return Err(Errno::EEXIST);
        }
        let count: u16 = self.field(offset_of!(T, num_siblings))?;
        self.zero::<u32>(offset_of!(T, flags))?;
        self.zero::<u64>(offset_of!(T, mbz64))?;
        let mut chosen = Vec::new();
        let mut valid = true;
        for index in 0..count {
            let engine = self.sibling(offset_of!(T, engines), index)?;
            let alike = chosen.first().is_none_or(|first: &Engine| first.class == engine.class);
            valid &= alike && !chosen.contains(&engine);
            if !chosen.contains(&engine) {
                chosen.push(engine);
            }
        }
        match chosen.first() {
            None => {}
            Some(&first) if count == 1 => *slot = Slot::One(first),
            Some(&first) => *slot = Slot::Balanced { first, valid },
        }
        Ok(())
    }

    /// `set_proto_ctx_engines_bond`: checked, otherwise without effect.
    fn bond(&self, slots: &[Slot]) -> Result<(), Errno> {
        type T = i915_context_engines_bond;
        if !self.caller.device.system.machine.has_bonding() {
            return Err(Errno::ENODEV);
        }
        let index: u16 = self.field(offset_of!(T, virtual_index))?;
        match slots.get(usize::from(index)) {
            Some(Slot::One(_)) => {}
            Some(Slot::Empty | Slot::Balanced { .. } | Slot::Parallel { .. }) | None => {
                return Err(Errno::EINVAL);
            }
        }
        self.zero::<u64>(offset_of!(T, flags))?;
        for index in 0..4 {
            self.zero::<u64>(offset_of!(T, mbz64) + index * size_of::<u64>())?;
        }
        self.engine(offset_of!(T, master))?;
        let count: u16 = self.field(offset_of!(T, num_bonds))?;
        for index in 0..count {
            self.sibling(offset_of!(T, engines), index)?;
        }
        Ok(())
    }

    /// `set_proto_ctx_engines_parallel_submit`: without firmware each batch has one engine, and batches run
    /// one after another.
    fn parallel(&self, slots: &mut [Slot]) -> Result<(), Errno> {
        type T = i915_context_engines_parallel_submit;
        let index: u16 = self.field(offset_of!(T, engine_index))?;
        let width: u16 = self.field(offset_of!(T, width))?;
        let siblings: u16 = self.field(offset_of!(T, num_siblings))?;
        if siblings != 1 {
            return Err(Errno::EINVAL);
        }
        let slot = slots.get_mut(usize::from(index)).filter(|slot| **slot == Slot::Empty);
        let slot = slot.ok_or(Errno::EINVAL)?;
        self.zero::<u64>(offset_of!(T, flags))?;
        for index in 0..3 {
            self.zero::<u64>(offset_of!(T, mbz64) + index * size_of::<u64>())?;
        }
        if width < 2 {
            return Err(Errno::EINVAL);
        }
        let mut first: Option<Engine> = None;
        for index in 0..width {
            let engine = self.sibling(offset_of!(T, engines), index)?;
            if matches!(engine.class, EngineClass::Render | EngineClass::Compute) {
                return Err(Errno::EINVAL);
            }
            let start = *first.get_or_insert(engine);
            if engine.class != start.class || engine.instance != start.instance.wrapping_add(index) {
                return Err(Errno::EINVAL);
            }
        }
        if let Some(first) = first {
            *slot = Slot::Parallel { first };
        }
        Ok(())
    }
}
