//! ioctl(2) and mmap(2) of a dma-buf.

use std::sync::Arc;

use bytemuck::{Pod, bytes_of, bytes_of_mut};
use gem_coherency::Errno;
use nix::libc::{SEEK_END, SEEK_SET};

use super::map::has_file;
use crate::kernel::injected_faults::Needs;
use crate::kernel::mappings::window::Window;
use crate::kernel::objects::dma_buf::{DmaBuf, Exporter};
use crate::process::files::{File, Files};
use crate::process::memory::Memory;
use crate::requests::refuse;
use crate::sync::fence::Fence;
use crate::sync::progress::Patience;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::Event;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::{Access, KernelVersion, MmapMode};
use gem_coherency_uapi::dma_buf::{
    DMA_BUF_IOCTL_EXPORT_SYNC_FILE, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, DMA_BUF_IOCTL_SYNC, DMA_BUF_NAME_LEN,
    DMA_BUF_SET_NAME_A, DMA_BUF_SET_NAME_B, DMA_BUF_SYNC_END, DMA_BUF_SYNC_READ, DMA_BUF_SYNC_RW,
    DMA_BUF_SYNC_WRITE, dma_buf_export_sync_file, dma_buf_import_sync_file, dma_buf_sync,
};

/// The first kernel with EXPORT_SYNC_FILE and IMPORT_SYNC_FILE.
const FENCE_FILES: KernelVersion = KernelVersion::new(6, 0);

/// DMA_BUF_IOCTL_* (`dma_buf_ioctl`).
pub(crate) fn ioctl(
    dma_buf: &DmaBuf,
    memory: &mut Memory,
    files: &mut Files,
    patience: &Patience,
    code: u32,
    argument: u64,
) -> Result<(), Errno> {
    if code == DMA_BUF_IOCTL_SYNC.code {
        let sync: dma_buf_sync = read(memory, argument)?;
        return dma_buf.sync(sync.flags, patience).map_err(|error| error.errno());
    }
    if code == DMA_BUF_SET_NAME_A.code || code == DMA_BUF_SET_NAME_B.code {
        return check_name(memory, argument);
    }
    if !dma_buf.has_fence_files() {
        return Err(Errno::ENOTTY);
    }
    if code == DMA_BUF_IOCTL_EXPORT_SYNC_FILE.code {
        let mut args: dma_buf_export_sync_file = read(memory, argument)?;
        let access = direction(args.flags)?;
        args.fd = files.install(File::Fence(dma_buf.fence(access)), true)?;
        if memory.write(argument, bytes_of(&args)) < size_of_val(&args) {
            files.remove(args.fd)?;
            return Err(Errno::EFAULT);
        }
        return Ok(());
    }
    if code == DMA_BUF_IOCTL_IMPORT_SYNC_FILE.code {
        let args: dma_buf_import_sync_file = read(memory, argument)?;
        let access = direction(args.flags)?;
        return match files.get(args.fd) {
            Ok(File::Fence(fence)) => {
                dma_buf.add(&fence, access);
                Ok(())
            }
            Ok(File::Device(_) | File::DmaBuf(_) | File::Syncobj(_)) | Err(_) => Err(Errno::EINVAL),
        };
    }
    Err(Errno::ENOTTY)
}

/// Reads the struct at an address.
fn read<T: Pod>(memory: &Memory, address: u64) -> Result<T, Errno> {
    let mut args = T::zeroed();
    let len = size_of::<T>();
    if memory.read(address, bytes_of_mut(&mut args)) < len { Err(Errno::EFAULT) } else { Ok(args) }
}

/// Returns the access that the flags stand for, which must be a direction and nothing else.
fn direction(flags: u32) -> Result<Access, Errno> {
    match u64::from(flags) {
        DMA_BUF_SYNC_READ => Ok(Access::Read),
        DMA_BUF_SYNC_WRITE | DMA_BUF_SYNC_RW => Ok(Access::Write),
        _ => Err(Errno::EINVAL),
    }
}

/// Checks the name at an address, which is then discarded (`strndup_user`).
fn check_name(memory: &Memory, address: u64) -> Result<(), Errno> {
    let mut name = [1; DMA_BUF_NAME_LEN as usize];
    let read = memory.read(address, &mut name);
    match name.iter().take(read).any(|&byte| byte == 0) {
        true => Ok(()),
        false if read < name.len() => Err(Errno::EFAULT),
        false => Err(Errno::EINVAL),
    }
}

impl DmaBuf {
    /// Returns whether the kernel has files of a dma-buf's fences.
    fn has_fence_files(&self) -> bool {
        match &self.exporter {
            Exporter::Object(object) => object.system().machine.kernel >= FENCE_FILES,
            Exporter::Memory(_) => true,
        }
    }

    /// Returns the fence of the GPU's uses of the object that an access has to wait for.
    fn fence(&self, access: Access) -> Fence {
        match &self.exporter {
            Exporter::Object(object) => object.state().used.fence(access),
            Exporter::Memory(_) => Fence::default(),
        }
    }

    /// Makes later users of the object wait for a fence, as for an access. No GPU uses ordinary memory.
    fn add(&self, fence: &Fence, access: Access) {
        if let Exporter::Object(object) = &self.exporter {
            let mut state = object.state();
            fence.parts().iter().for_each(|part| state.used.add(part, access));
            state.unwaited.used(access);
        }
    }

    /// Returns whether an access need not wait for the GPU.
    pub(crate) fn is_idle(&self, access: Access) -> bool {
        match &self.exporter {
            Exporter::Object(object) => object.is_idle(access),
            Exporter::Memory(_) => true,
        }
    }

    /// DMA_BUF_IOCTL_SYNC: begins or ends a CPU access on the exporting machine.
    ///
    /// # Errors
    /// EINVAL for unknown or missing flags; the errors of bringing pages in.
    pub(crate) fn sync(&self, flags: u64, patience: &Patience) -> Result<()> {
        let request = DMA_BUF_IOCTL_SYNC.name;
        if let Exporter::Object(object) = &self.exporter {
            object.system().enter(request, Needs::Memory)?;
        }
        if flags & !(DMA_BUF_SYNC_RW | DMA_BUF_SYNC_END) != 0 || flags & DMA_BUF_SYNC_RW == 0 {
            return refuse(request, Errno::EINVAL);
        }
        let (event, access) = match (flags & DMA_BUF_SYNC_END != 0, flags & DMA_BUF_SYNC_WRITE != 0) {
            (true, _) => (Event::DmaBufEnd, Access::Read),
            (false, true) => (Event::DmaBufBegin(Access::Write), Access::Write),
            (false, false) => (Event::DmaBufBegin(Access::Read), Access::Read),
        };
        match &self.exporter {
            Exporter::Memory(_) => Ok(()),
            Exporter::Object(object) => {
                let reads = event != Event::DmaBufEnd && flags & DMA_BUF_SYNC_READ != 0;
                if reads && object.may_be_local() {
                    // xe_dma_buf_begin_cpu_access: an object that does not move is accessed where it is.
                    drop(object.hold_in_system_memory(request));
                }
                object.wait_for(request, access, patience)?;
                object.happen(&mut object.state(), request, event).map(drop)
            }
        }
    }
}

/// Maps a dma-buf: mmap(2), after the checks common to all files (`dma_buf_mmap_internal`).
///
/// # Errors
/// EINVAL past the end; ENODEV for an object without a file.
pub(crate) fn mmap(dma_buf: &DmaBuf, len: u64, offset: u64) -> Result<Window, Errno> {
    let pages = len.div_ceil(PAGE_BYTES);
    if (offset / PAGE_BYTES).checked_add(pages).is_none_or(|end| end > dma_buf.pages()) {
        return Err(Errno::EINVAL);
    }
    match &dma_buf.exporter {
        Exporter::Memory(memory) => Ok(Window::of_memory(Arc::clone(&memory.backing), offset)),
        // TTM objects have no file of their own and are mapped as in the device's file (drm_gem_prime_mmap).
        Exporter::Object(object) if object.is_mapped_by_itself() => {
            Ok(Window::of_object(Arc::clone(object), MmapMode::Fixed, offset))
        }
        Exporter::Object(object) => {
            if !has_file(object.state().snapshot.backing) {
                return Err(Errno::ENODEV);
            }
            Ok(Window::of_file(object, MmapMode::Wb, offset))
        }
    }
}

/// lseek(2) of a dma-buf, which only reports its size (`dma_buf_llseek`).
///
/// # Errors
/// EINVAL.
pub(crate) fn lseek(dma_buf: &DmaBuf, offset: i64, whence: i32) -> Result<u64, Errno> {
    match (whence, offset) {
        (SEEK_END, 0) => Ok(dma_buf.size()),
        (SEEK_SET, 0) => Ok(0),
        _ => Err(Errno::EINVAL),
    }
}
