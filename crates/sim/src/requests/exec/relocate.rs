//! Relocations: writing objects' addresses into objects.

use std::collections::HashMap;

use bytemuck::{bytes_of, try_pod_read_unaligned};
use gem_coherency::Errno;

use super::Submission;
use super::address::canonical;
use crate::kernel::objects::object::{AroundCopy, Object};
use crate::kernel::objects::state::State;
use crate::kernel::spaces::space::Space;
use crate::process::memory::{Memory, USER_END};
use gem_coherency::platform::Caps;
use gem_coherency::policy::kernel::{Action, Backing, Effect, Event};
use gem_coherency::units::{ByteRange, PAGE_BYTES};
use gem_coherency::vocabulary::{Access, CacheLevel, Domains, KernelVersion};
use gem_coherency_memory_model::Route;
use gem_coherency_uapi::i915_exec::*;

/// Size of a relocation, and the position of its presumed offset.
const ENTRY: u64 = size_of::<drm_i915_gem_relocation_entry>() as u64;
const PRESUMED: u64 = std::mem::offset_of!(drm_i915_gem_relocation_entry, presumed_offset) as u64;
/// Number of relocations copied at a time.
const PIECE: u64 = 512 / ENTRY;
/// The first kernel that limits an object's relocations to `INT_MAX` bytes; 6.1 does not.
const LIMITED: KernelVersion = KernelVersion::new(6, 2);

/// The way in which the kernel writes addresses to the object (`struct reloc_cache`).
enum Way {
    /// Through the CPU's cache, with flushes for each address.
    Cpu(AroundCopy),
    /// Through the aperture.
    Aperture,
}

impl Submission<'_> {
    /// Relocates every object that has relocations.
    ///
    /// The kernel retries a failure with other ways to access the caller's memory, which do not help here.
    /// Before the last try it invalidates all of the caller's presumed offsets, because it will not report
    /// what it changed.
    pub(super) fn relocate(&mut self, memory: &mut Memory, space: &Space) -> Result<(), Errno> {
        if self.relocate_all(memory, space).is_ok() {
            return Ok(());
        }
        self.check_all(memory)?;
        let Err(errno) = self.relocate_all(memory, space) else { return Ok(()) };
        for slot in &self.slots {
            self.check_relocations(memory, &slot.entry)?;
            for number in 0..u64::from(slot.entry.relocation_count) {
                let at = slot.entry.relocs_ptr.wrapping_add(number * ENTRY + PRESUMED);
                if memory.write(at, &[0xff; 8]) < 8 {
                    return Err(Errno::EFAULT);
                }
            }
        }
        Err(errno)
    }

    /// Makes one try (`eb_relocate_vma` for each object).
    fn relocate_all(&mut self, memory: &mut Memory, space: &Space) -> Result<(), Errno> {
        let by_index = self.args.flags & I915_EXEC_HANDLE_LUT != 0;
        // Of two entries with the same handle, the last one is found.
        let names: HashMap<u32, usize> = match by_index {
            true => HashMap::new(),
            false => self.slots.iter().enumerate().map(|(index, slot)| (slot.entry.handle, index)).collect(),
        };
        let count = self.slots.len();
        let find = |handle: u32| match by_index {
            true => Some(handle as usize).filter(|&index| index < count),
            false => names.get(&handle).copied(),
        };
        (0..count).try_for_each(|index| self.relocate_object(memory, space, index, &find))
    }

    fn relocate_object(
        &mut self,
        memory: &mut Memory,
        space: &Space,
        index: usize,
        find: &dyn Fn(u32) -> Option<usize>,
    ) -> Result<(), Errno> {
        let Some(slot) = self.slots.get(index) else { return Ok(()) };
        let (count, list) = (u64::from(slot.entry.relocation_count), slot.entry.relocs_ptr);
        if count == 0 {
            return Ok(());
        }
        self.check_range(&slot.entry)?;
        let mut way = None;
        for first in (0..count).step_by(PIECE as usize) {
            let mut bytes = [0; 512];
            let len = ((count - first).min(PIECE) * ENTRY) as usize;
            let piece = bytes.get_mut(..len).unwrap_or_default();
            let at = list.wrapping_add(first * ENTRY);
            if memory.read(at, piece) < len {
                return Err(Errno::EFAULT);
            }
            for (number, bytes) in (0..).zip(piece.chunks_exact(ENTRY as usize)) {
                let entry =
                    try_pod_read_unaligned::<drm_i915_gem_relocation_entry>(bytes).unwrap_or_default();
                if let Some(address) = self.relocate_entry(space, index, &entry, find, &mut way)? {
                    // A failed write-back of the presumed offset is ignored.
                    memory.write(at.wrapping_add(number * ENTRY + PRESUMED), bytes_of(&address));
                }
            }
        }
        Ok(())
    }

    /// Applies one relocation (`eb_relocate_entry`); returns the target's address if it was not the presumed
    /// one.
    fn relocate_entry(
        &mut self,
        space: &Space,
        index: usize,
        entry: &drm_i915_gem_relocation_entry,
        find: &dyn Fn(u32) -> Option<usize>,
        way: &mut Option<Way>,
    ) -> Result<Option<u64>, Errno> {
        let target = find(entry.target_handle).and_then(|index| self.slots.get_mut(index));
        let target = target.ok_or(Errno::ENOENT)?;
        let several = entry.write_domain & entry.write_domain.wrapping_sub(1) != 0;
        if several || (entry.write_domain | entry.read_domains) & !Domains::GPU.bits() != 0 {
            return Err(Errno::EINVAL);
        }
        if entry.write_domain != 0 {
            target.flags |= EXEC_OBJECT_WRITE;
        }
        let (address, _) = space.find(&target.object).ok_or(Errno::ENOSPC)?;
        if canonical(address) == entry.presumed_offset {
            return Ok(None);
        }
        let wide = self.device.system.machine.platform.graphics.major >= 8;
        let Some(slot) = self.slots.get(index) else { return Ok(None) };
        let len = if wide { 8 } else { 4 };
        if entry.offset > slot.object.size() - len || !entry.offset.is_multiple_of(4) {
            return Err(Errno::EINVAL);
        }
        let value = canonical(address.wrapping_add_signed(i64::from(entry.delta as i32))).to_le_bytes();
        let has_llc = self.device.system.machine.caps.contains(Caps::LLC);
        for (number, word) in (0..).zip(value.chunks(4).take(len as usize / 4)) {
            put(&slot.object, has_llc, way, entry.offset + 4 * number, word)?;
        }
        Ok(Some(canonical(address)))
    }

    /// Checks that all relocations can be read (`eb_prefault_relocations`).
    fn check_all(&self, memory: &Memory) -> Result<(), Errno> {
        self.slots.iter().try_for_each(|slot| self.check_relocations(memory, &slot.entry))
    }

    /// `check_relocations`: reads one byte of each page, and the last one.
    fn check_relocations(&self, memory: &Memory, entry: &drm_i915_gem_exec_object2) -> Result<(), Errno> {
        if entry.relocation_count == 0 {
            return Ok(());
        }
        let end = self.check_range(entry)?;
        let readable = |at: u64| memory.read(at, &mut [0]) == 1;
        let pages = (entry.relocs_ptr..end).step_by(PAGE_BYTES as usize);
        for at in pages.chain([end - 1]) {
            if !readable(at) {
                return Err(Errno::EFAULT);
            }
        }
        Ok(())
    }

    /// Returns the end of the relocations, which must be in the caller's address range.
    fn check_range(&self, entry: &drm_i915_gem_exec_object2) -> Result<u64, Errno> {
        let len = u64::from(entry.relocation_count) * ENTRY;
        if self.device.system.machine.kernel >= LIMITED && len > i32::MAX as u64 {
            return Err(Errno::EINVAL);
        }
        let end = entry.relocs_ptr.checked_add(len).filter(|&end| end <= USER_END);
        end.ok_or(Errno::EFAULT)
    }
}

/// Writes four bytes into an object (`relocate_entry`, `clflush_write32`).
fn put(object: &Object, has_llc: bool, way: &mut Option<Way>, offset: u64, word: &[u8]) -> Result<(), Errno> {
    let call = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
    let mut state = object.state();
    let way = match way {
        Some(way) => way,
        None => way.insert(reach(object, &mut state, has_llc)?),
    };
    let range = ByteRange::within(offset, word.len() as u64, object.size()).map_err(|_| Errno::EINVAL)?;
    let (route, around) = match way {
        Way::Cpu(around) => (Route::CpuCached, *around),
        Way::Aperture => (Route::Aperture, AroundCopy::default()),
    };
    let flush = |action, rule| object.flush_range(&state, call, Effect { action, rule }, range);
    let ctx = object.access_context(&state);
    let done = around
        .before
        .map_or(Ok(()), |rule| flush(Action::FlushBefore, rule))
        .and_then(|()| object.write(ctx, route, offset, word))
        .and_then(|()| around.after.map_or(Ok(()), |rule| flush(Action::FlushAfter, rule)));
    done.map_err(|error| error.errno())
}

/// Prepares an object for address writes: through the CPU's cache unless that is slower (`use_cpu_reloc`,
/// `reloc_kmap`, `reloc_iomap`).
fn reach(object: &Object, state: &mut State, has_llc: bool) -> Result<Way, Errno> {
    let call = DRM_IOCTL_I915_GEM_EXECBUFFER2.name;
    let snapshot = state.snapshot;
    if state.tiling.is_tiled() {
        return Err(Errno::EINVAL);
    }
    let cached = snapshot.user_pat.is_none() && snapshot.level != CacheLevel::None;
    if snapshot.backing == Backing::Userptr {
        // A userptr object's domains are invisible to userspace, and it is always coherent.
        return Ok(Way::Cpu(AroundCopy::default()));
    }
    if snapshot.backing.has_struct_pages() && (has_llc || snapshot.dirty || cached) {
        // Like the shmem path of PWRITE (i915_gem_object_prepare_write).
        let around = object.happen(state, call, Event::Pwrite { partial: true, awake: false });
        return around.map(Way::Cpu).map_err(|error| error.errno());
    }
    let moved = object.happen(state, call, Event::SetDomainGtt(Access::Write));
    moved.map(|_| Way::Aperture).map_err(|error| error.errno())
}
