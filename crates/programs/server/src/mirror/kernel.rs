//! The kernel's requests that are made on the real device besides those of [`Drm`](gem_coherency::backend::Drm).
//!
//! # Safety
//! A request's struct has the size that its code carries, its fields are integers, and every address in it is 0 or that
//! of memory that is borrowed for the call.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use bytemuck::bytes_of_mut;
use gem_coherency::Errno;
use gem_coherency::platform::Engine;
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_BUSY, DRM_IOCTL_I915_GEM_GET_CACHING, DRM_IOCTL_I915_GEM_SET_DOMAIN,
    DRM_IOCTL_I915_GEM_SW_FINISH, DRM_IOCTL_I915_GEM_WAIT, drm_i915_gem_wait, i915_user_extension,
};
use gem_coherency_uapi::i915_context::{
    DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, DRM_IOCTL_I915_GEM_CONTEXT_DESTROY, DRM_IOCTL_I915_GEM_VM_CREATE,
    DRM_IOCTL_I915_GEM_VM_DESTROY, I915_CONTEXT_CREATE_EXT_SETPARAM,
    I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS, I915_CONTEXT_PARAM_ENGINES, I915_CONTEXT_PARAM_RECOVERABLE,
    I915_CONTEXT_PARAM_VM, drm_i915_gem_context_create_ext, drm_i915_gem_context_create_ext_setparam,
    drm_i915_gem_context_destroy, drm_i915_gem_context_param, drm_i915_gem_vm_control,
};
use gem_coherency_uapi::i915_exec::{
    DRM_I915_QUERY_MEMORY_REGIONS, DRM_IOCTL_I915_GEM_EXECBUFFER2, DRM_IOCTL_I915_QUERY,
    drm_i915_gem_exec_object2, drm_i915_gem_execbuffer2, drm_i915_query, drm_i915_query_item,
};
use gem_coherency_uapi::i915_facts::{
    DRM_IOCTL_I915_GET_RESET_STATS, DRM_IOCTL_I915_GETPARAM, DRM_IOCTL_I915_REG_READ, drm_i915_getparam,
    drm_i915_reg_read, drm_i915_reset_stats,
};
use gem_coherency_uapi::i915_query::{
    DRM_I915_QUERY_ENGINE_INFO, DRM_I915_QUERY_GEOMETRY_SUBSLICES, DRM_I915_QUERY_GUC_SUBMISSION_VERSION,
    DRM_I915_QUERY_HWCONFIG_BLOB, DRM_I915_QUERY_TOPOLOGY_INFO,
};
use nix::libc;

/// Makes a request, again as long as a signal or the driver interrupts it (`drmIoctl`).
///
/// # Safety
/// Every address in `args` is 0 or that of memory that the request may access as it does, for the length given in
/// `args`, until this function returns; and `T` is valid for all bit patterns.
unsafe fn call<T>(fd: BorrowedFd<'_>, request: Ioctl<T>, args: &mut T) -> Result<(), Errno> {
    // SAFETY:
    // - the pointer: `args` is an exclusive reference to the struct whose size `request.code` carries;
    // - addresses in it: the caller's obligation.
    unsafe { call_by_code(fd, request.code, std::ptr::from_mut(args)) }
}

/// As [`call`], by code.
///
/// # Safety
/// `args` refers exclusively to a struct of the size that the code carries; its addresses are as [`call`] requires.
unsafe fn call_by_code<T>(fd: BorrowedFd<'_>, code: u32, args: *mut T) -> Result<(), Errno> {
    loop {
        // SAFETY: the caller's obligation.
        let status = unsafe { libc::ioctl(fd.as_raw_fd(), code.into(), args) };
        if status >= 0 {
            return Ok(());
        }
        let errno = io::Error::last_os_error().raw_os_error().map_or(Errno::EINVAL, Errno::new);
        if ![Errno::EINTR, Errno::EAGAIN].contains(&errno) {
            return Err(errno);
        }
    }
}

/// Creates an address space; returns its id.
pub(super) fn create_space(fd: BorrowedFd<'_>) -> Result<u32, Errno> {
    let mut args = drm_i915_gem_vm_control::default();
    // SAFETY: the address is 0; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_VM_CREATE, &mut args)? };
    Ok(args.vm_id)
}

/// Releases an address space.
pub(super) fn destroy_space(fd: BorrowedFd<'_>, id: u32) -> Result<(), Errno> {
    let mut args = drm_i915_gem_vm_control { vm_id: id, ..Default::default() };
    // SAFETY: the address is 0; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_VM_DESTROY, &mut args) }
}

/// Creates a context in an address space whose only queue is one of `engine`; returns its id.
pub(super) fn create_context(
    fd: BorrowedFd<'_>,
    space: u32,
    engine: Engine,
    recoverable: bool,
) -> Result<u32, Errno> {
    // `struct i915_context_param_engines` with one engine: no extensions, a class, an instance.
    let engines: [u16; 6] = [0, 0, 0, 0, engine.class.number(), engine.instance];
    let set = |param, size: usize, value, next| drm_i915_gem_context_create_ext_setparam {
        base: i915_user_extension {
            next_extension: next,
            name: I915_CONTEXT_CREATE_EXT_SETPARAM,
            ..Default::default()
        },
        param: drm_i915_gem_context_param { ctx_id: 0, size: size as u32, param, value },
    };
    let third = set(I915_CONTEXT_PARAM_RECOVERABLE, 0, recoverable.into(), 0);
    let engines_at = &raw const engines as u64;
    let second = set(I915_CONTEXT_PARAM_ENGINES, size_of_val(&engines), engines_at, &raw const third as u64);
    let first = set(I915_CONTEXT_PARAM_VM, 0, space.into(), &raw const second as u64);
    let mut args = drm_i915_gem_context_create_ext {
        ctx_id: 0,
        flags: I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS,
        extensions: &raw const first as u64,
    };
    // SAFETY:
    // - `extensions` and each `next_extension`: 0, or a live struct of the size that its name implies, which the
    //   kernel only reads; `value` of the engines: a live array of `size` bytes, which the kernel only reads;
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, &mut args)? };
    Ok(args.ctx_id)
}

/// Closes a context.
pub(super) fn destroy_context(fd: BorrowedFd<'_>, id: u32) -> Result<(), Errno> {
    let mut args = drm_i915_gem_context_destroy { ctx_id: id, ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_CONTEXT_DESTROY, &mut args) }
}

/// Returns how many batches of a context hung.
pub(super) fn hangs(fd: BorrowedFd<'_>, context: u32) -> Result<u32, Errno> {
    let mut args = drm_i915_reset_stats { ctx_id: context, ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GET_RESET_STATS, &mut args)? };
    Ok(args.batch_active)
}

/// Submits a batch with these objects, which have no relocations. The lists of `args` are replaced.
pub(super) fn submit(
    fd: BorrowedFd<'_>,
    objects: &mut [drm_i915_gem_exec_object2],
    args: drm_i915_gem_execbuffer2,
) -> Result<(), Errno> {
    for object in objects.iter_mut() {
        (object.relocs_ptr, object.relocation_count) = (0, 0);
    }
    let mut args = drm_i915_gem_execbuffer2 {
        buffers_ptr: objects.as_mut_ptr() as u64,
        buffer_count: objects.len() as u32,
        cliprects_ptr: 0,
        num_cliprects: 0,
        ..args
    };
    // SAFETY:
    // - `buffers_ptr`: a live slice of `buffer_count` entries, to which the kernel writes offsets; addresses in the
    //   entries and `cliprects_ptr`: 0;
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, &mut args) }
}

/// Returns a parameter of the driver.
pub(super) fn param(fd: BorrowedFd<'_>, number: i32) -> Result<i32, Errno> {
    let mut value = 0_i32;
    let mut args = drm_i915_getparam { param: number, value: &raw mut value as u64, ..Default::default() };
    // SAFETY: `value`: a live integer, to which the kernel writes; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GETPARAM, &mut args)? };
    Ok(value)
}

/// Reads a register.
pub(super) fn register(fd: BorrowedFd<'_>, offset: u64) -> Result<u64, Errno> {
    let mut args = drm_i915_reg_read { offset, val: 0 };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_REG_READ, &mut args)? };
    Ok(args.val)
}

/// The questions of QUERY whose data contain no addresses.
const PLAIN: [u64; 6] = [
    DRM_I915_QUERY_TOPOLOGY_INFO,
    DRM_I915_QUERY_ENGINE_INFO,
    DRM_I915_QUERY_MEMORY_REGIONS,
    DRM_I915_QUERY_HWCONFIG_BLOB,
    DRM_I915_QUERY_GEOMETRY_SUBSLICES,
    DRM_I915_QUERY_GUC_SUBMISSION_VERSION,
];

/// Returns whether the data of a question of QUERY contain no addresses.
pub(super) fn is_plain(question: u64) -> bool {
    PLAIN.contains(&question)
}

/// Asks a question of QUERY; returns the length, or a negative errno. With empty `data` the kernel returns the length that
/// it needs.
///
/// # Errors
/// Those of QUERY; EINVAL for a question whose data may contain addresses.
pub(super) fn query(fd: BorrowedFd<'_>, id: u64, flags: u32, data: &mut [u8]) -> Result<i32, Errno> {
    if !is_plain(id) {
        return Err(Errno::EINVAL);
    }
    let length = i32::try_from(data.len()).map_err(|_| Errno::EINVAL)?;
    let data_ptr = if data.is_empty() { 0 } else { data.as_mut_ptr() as u64 };
    let mut item = drm_i915_query_item { query_id: id, length, flags, data_ptr };
    let mut args = drm_i915_query { num_items: 1, flags: 0, items_ptr: &raw mut item as u64 };
    // SAFETY:
    // - `items_ptr`: one live item, to which the kernel writes the length; `data_ptr`: 0, or a live slice of `length`
    //   bytes, in which no address is (`PLAIN`);
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_I915_QUERY, &mut args)? };
    Ok(item.length)
}

/// The requests on an object whose struct begins with its handle and contains no address.
const ON_OBJECTS: [u32; 5] = [
    DRM_IOCTL_I915_GEM_BUSY.code,
    DRM_IOCTL_I915_GEM_WAIT.code,
    DRM_IOCTL_I915_GEM_GET_CACHING.code,
    DRM_IOCTL_I915_GEM_SET_DOMAIN.code,
    DRM_IOCTL_I915_GEM_SW_FINISH.code,
];

/// Size of the largest of their structs.
const LARGEST: usize = size_of::<drm_i915_gem_wait>();

/// A request of [`ON_OBJECTS`] with its struct.
pub(super) struct OnObject {
    code: u32,
    /// In whole words, so that the struct is aligned.
    words: [u64; LARGEST / 8],
}

impl OnObject {
    /// Returns the request whose code `is` accepts, with a struct of zeroes.
    pub(super) fn find(is: impl Fn(u32) -> bool) -> Option<Self> {
        let code = ON_OBJECTS.into_iter().find(|&code| is(code))?;
        Some(Self { code, words: [0; LARGEST / 8] })
    }

    /// Returns the struct.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let size = (self.code >> 16 & 0x3fff) as usize;
        bytes_of_mut(&mut self.words).get_mut(..size).unwrap_or_default()
    }

    /// Returns the handle.
    pub(super) fn handle(&self) -> u32 {
        self.words.first().map_or(0, |&word| word as u32)
    }

    /// Replaces the handle.
    pub(super) fn set_handle(&mut self, handle: u32) {
        if let Some(word) = self.words.first_mut() {
            *word = *word & !u64::from(u32::MAX) | u64::from(handle);
        }
    }

    /// Makes the request.
    pub(super) fn call(mut self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        // SAFETY: `ON_OBJECTS`: no address in the struct, whose size the code carries, and which fits; integers only.
        unsafe { call_by_code(fd, self.code, self.words.as_mut_ptr()) }
    }
}
