//! Reads the requests that the rules judge from the words of their structures.

use std::mem::{offset_of, size_of};

use gem_coherency::xe::{BindFlags, Create, CreateFlags, MapFlags};
use gem_coherency_uapi::xe::{
    DRM_XE_MAX_SYNCS, DRM_XE_MEM_RANGE_ATTR_PAT, DRM_XE_VM_CREATE_FLAG_FAULT_MODE, drm_xe_gem_create,
    drm_xe_gem_mmap_offset, drm_xe_madvise, drm_xe_vm_bind, drm_xe_vm_bind_op, drm_xe_vm_create,
    drm_xe_vm_destroy,
};

use super::event::XeCall;

/// A request, and the open file that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// GEM_CREATE.
    Create {
        /// The request of the rules.
        create: Create,
        /// The address space, or 0.
        space: u32,
    },
    /// GEM_MMAP_OFFSET.
    MapOffset {
        /// The object.
        handle: u32,
        /// The flags.
        flags: MapFlags,
        /// Set if an extension or a reserved field is not 0.
        reserved: bool,
    },
    /// VM_DESTROY.
    VmDestroy {
        /// The address space.
        space: u32,
    },
    /// VM_BIND.
    Bind(Bind),
    /// MADVISE of a PAT index.
    AdvisePat {
        /// The address space.
        space: u32,
        /// The first address.
        start: u64,
        /// Bytes.
        range: u64,
        /// The PAT index; `None` if it is past all tables.
        pat_index: Option<u16>,
        /// Set if a pad or a reserved field is not 0.
        reserved: bool,
    },
    /// Another one, about which the rules say nothing; or one whose structure was not recorded whole.
    Other,
}

/// A VM_BIND.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// The address space.
    pub space: u32,
    /// The operations, if the trace has them.
    pub operations: Result<Vec<Operation>, Untold>,
    /// The number of operations.
    pub count: u32,
    /// The first field that the kernel may refuse without a rule.
    pub other: Option<Field>,
}

/// The reason why the operations of a VM_BIND are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untold {
    /// There are more than [`Bind::SHOWN`].
    TooMany,
    /// Their array could not be read, or it changed during the call.
    Unread,
}

/// A field of VM_BIND that the kernel may refuse, and about which the rules say nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `num_syncs`: more fences than the kernel takes. It refuses them before it reads the operations.
    Fences,
    /// `extensions`.
    Extensions,
    /// `exec_queue_id`.
    Queue,
    /// `pad`, `pad2` or `reserved`.
    Reserved,
    /// `extensions` of an operation.
    OperationExtensions,
    /// `pad`, `pad2` or `reserved` of an operation.
    OperationReserved,
}

impl Bind {
    /// The largest number of operations that the trace has.
    pub const SHOWN: u32 = 12;

    /// Forgets the operations of an array if the call's end, which passed `words`, does not show the same ones.
    ///
    /// The kernel reads the array after the call's begin. Until then a page of it may not be in memory, and the trace, which never waits for
    /// one, has what its own buffer had there.
    pub fn compare(&mut self, words: &[u64]) {
        if self.count > 1
            && self.operations.is_ok()
            && Sent(words).bind().is_none_or(|end| end.operations != self.operations)
        {
            self.operations = Err(Untold::Unread);
        }
    }
}

/// An operation of VM_BIND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The object, or 0.
    pub handle: u32,
    /// The operation's number.
    pub op: u32,
    /// The flags.
    pub flags: BindFlags,
    /// Bytes from the object's start, or the process's address.
    pub offset: u64,
    /// The GPU's address.
    pub address: u64,
    /// Bytes.
    pub range: u64,
    /// The PAT index.
    pub pat_index: u16,
    /// The memory region of a PREFETCH.
    pub region: u32,
}

/// What a call passed.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a>(pub &'a [u64]);

impl Sent<'_> {
    /// Returns the request.
    pub fn request(self, call: XeCall) -> Request {
        let request = match call {
            XeCall::Create => self.create(),
            XeCall::MapOffset => self.map_offset(),
            XeCall::VmDestroy => {
                self.u32(offset_of!(drm_xe_vm_destroy, vm_id)).map(|space| Request::VmDestroy { space })
            }
            XeCall::VmBind => self.bind().map(Request::Bind),
            XeCall::Madvise => self.advise(),
            XeCall::CreateDumb
            | XeCall::VmCreate
            | XeCall::QueueCreate
            | XeCall::Exec
            | XeCall::WaitUserFence
            | XeCall::Fault => None,
        };
        request.unwrap_or(Request::Other)
    }

    /// Returns the number of the address space that VM_CREATE made, and whether it is in fault mode.
    pub fn created_space(self) -> Option<(u32, bool)> {
        let flags = self.u32(offset_of!(drm_xe_vm_create, flags))?;
        Some((self.u32(offset_of!(drm_xe_vm_create, vm_id))?, flags & DRM_XE_VM_CREATE_FLAG_FAULT_MODE != 0))
    }

    fn create(self) -> Option<Request> {
        let pads = (
            self.u16(offset_of!(drm_xe_gem_create, pad))?,
            self.u32(offset_of!(drm_xe_gem_create, pad) + 2)?,
        );
        let create = Create {
            size: self.u64(offset_of!(drm_xe_gem_create, size))?,
            placement: self.u32(offset_of!(drm_xe_gem_create, placement))?,
            flags: CreateFlags::from_bits_retain(self.u32(offset_of!(drm_xe_gem_create, flags))?),
            cpu_caching: self.u16(offset_of!(drm_xe_gem_create, cpu_caching))?,
            handle: self.u32(offset_of!(drm_xe_gem_create, handle))?,
            reserved: pads != (0, 0)
                || self.any(offset_of!(drm_xe_gem_create, reserved), size_of::<drm_xe_gem_create>())?,
            extension: self.u64(offset_of!(drm_xe_gem_create, extensions))? != 0,
        };
        Some(Request::Create { create, space: self.u32(offset_of!(drm_xe_gem_create, vm_id))? })
    }

    fn map_offset(self) -> Option<Request> {
        let reserved =
            self.any(offset_of!(drm_xe_gem_mmap_offset, reserved), size_of::<drm_xe_gem_mmap_offset>())?;
        Some(Request::MapOffset {
            handle: self.u32(offset_of!(drm_xe_gem_mmap_offset, handle))?,
            flags: MapFlags::from_bits_retain(self.u32(offset_of!(drm_xe_gem_mmap_offset, flags))?),
            reserved: reserved || self.u64(offset_of!(drm_xe_gem_mmap_offset, extensions))? != 0,
        })
    }

    fn bind(self) -> Option<Bind> {
        let field = |offset| self.u32(offset);
        let count = field(offset_of!(drm_xe_vm_bind, num_binds))?;
        let first = if count == 1 { offset_of!(drm_xe_vm_bind, bind) } else { size_of::<drm_xe_vm_bind>() };
        let is_reserved = field(offset_of!(drm_xe_vm_bind, pad))? != 0
            || field(offset_of!(drm_xe_vm_bind, pad2))? != 0
            || self.any(offset_of!(drm_xe_vm_bind, reserved), size_of::<drm_xe_vm_bind>())?;
        let mut other = if field(offset_of!(drm_xe_vm_bind, num_syncs))? > DRM_XE_MAX_SYNCS {
            Some(Field::Fences)
        } else if self.u64(offset_of!(drm_xe_vm_bind, extensions))? != 0 {
            Some(Field::Extensions)
        } else if field(offset_of!(drm_xe_vm_bind, exec_queue_id))? != 0 {
            Some(Field::Queue)
        } else {
            is_reserved.then_some(Field::Reserved)
        };
        let mut operations = Vec::new();
        let mut untold = (count > Bind::SHOWN).then_some(Untold::TooMany);
        for number in 0..if untold.is_none() { count } else { 0 } {
            let at = first + number as usize * size_of::<drm_xe_vm_bind_op>();
            let (operation, field) = self.operation(at)?;
            operations.push(operation);
            other = other.or(field);
            // Zeroes are what the trace shows of memory that could not be read, too.
            if count > 1 && !self.any(at, at + size_of::<drm_xe_vm_bind_op>())? {
                untold = Some(Untold::Unread);
            }
        }
        let operations = untold.map_or(Ok(operations), Err);
        Some(Bind { space: field(offset_of!(drm_xe_vm_bind, vm_id))?, operations, count, other })
    }

    /// Returns the operation at byte `at`, and its first field that may be refused without a rule.
    fn operation(self, at: usize) -> Option<(Operation, Option<Field>)> {
        let operation = Operation {
            handle: self.u32(at + offset_of!(drm_xe_vm_bind_op, obj))?,
            op: self.u32(at + offset_of!(drm_xe_vm_bind_op, op))?,
            flags: BindFlags::from_bits_retain(self.u32(at + offset_of!(drm_xe_vm_bind_op, flags))?),
            offset: self.u64(at + offset_of!(drm_xe_vm_bind_op, obj_offset))?,
            address: self.u64(at + offset_of!(drm_xe_vm_bind_op, addr))?,
            range: self.u64(at + offset_of!(drm_xe_vm_bind_op, range))?,
            pat_index: self.u16(at + offset_of!(drm_xe_vm_bind_op, pat_index))?,
            region: self.u32(at + offset_of!(drm_xe_vm_bind_op, prefetch_mem_region_instance))?,
        };
        let end = at + size_of::<drm_xe_vm_bind_op>();
        let is_reserved = self.u16(at + offset_of!(drm_xe_vm_bind_op, pad))? != 0
            || self.u32(at + offset_of!(drm_xe_vm_bind_op, pad2))? != 0
            || self.any(at + offset_of!(drm_xe_vm_bind_op, reserved), end)?;
        let field = if self.u64(at + offset_of!(drm_xe_vm_bind_op, extensions))? != 0 {
            Some(Field::OperationExtensions)
        } else {
            is_reserved.then_some(Field::OperationReserved)
        };
        Some((operation, field))
    }

    fn advise(self) -> Option<Request> {
        if self.u32(offset_of!(drm_xe_madvise, r#type))? != DRM_XE_MEM_RANGE_ATTR_PAT {
            return None;
        }
        let pat = offset_of!(drm_xe_madvise, pat_index);
        Some(Request::AdvisePat {
            space: self.u32(offset_of!(drm_xe_madvise, vm_id))?,
            start: self.u64(offset_of!(drm_xe_madvise, start))?,
            range: self.u64(offset_of!(drm_xe_madvise, range))?,
            pat_index: self.u32(pat)?.try_into().ok(),
            reserved: self.u32(pat + 4)? != 0
                || self.any(pat + 8, size_of::<drm_xe_madvise>())?
                || self.u64(offset_of!(drm_xe_madvise, extensions))? != 0,
        })
    }

    /// Returns the aligned number of 64 bits at byte `offset`.
    fn u64(self, offset: usize) -> Option<u64> {
        self.0.get(offset / 8).copied()
    }

    /// Returns the aligned number of 32 bits at byte `offset`.
    fn u32(self, offset: usize) -> Option<u32> {
        let shift = if offset % 8 == 4 { 32 } else { 0 };
        u32::try_from(self.u64(offset)? >> shift & u64::from(u32::MAX)).ok()
    }

    /// Returns the aligned number of 16 bits at byte `offset`.
    fn u16(self, offset: usize) -> Option<u16> {
        let shift = offset % 8 * 8;
        u16::try_from(self.u64(offset)? >> shift & u64::from(u16::MAX)).ok()
    }

    /// Returns whether a word of the bytes `from..to` is not 0.
    fn any(self, from: usize, to: usize) -> Option<bool> {
        self.0.get(from / 8..to / 8).map(|words| words.iter().any(|&word| word != 0))
    }
}
