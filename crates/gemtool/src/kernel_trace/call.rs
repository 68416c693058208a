//! Userspace's calls into i915, and the events inside them.

use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{Access, CachingMode, Domains};

/// A call with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// GEM_CREATE.
    Create,
    /// GEM_CREATE_EXT.
    CreateExt,
    /// GEM_USERPTR.
    Userptr,
    /// CREATE_DUMB.
    CreateDumb,
    /// SET_CACHING.
    SetCaching {
        /// The object.
        handle: u32,
        /// The mode, by its number in the header.
        mode: u32,
    },
    /// SET_DOMAIN.
    SetDomain {
        /// The object.
        handle: u32,
        /// The read domains.
        read: u32,
        /// The write domain.
        write: u32,
    },
    /// PREAD.
    Pread {
        /// The object.
        handle: u32,
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        bytes: u64,
    },
    /// PWRITE.
    Pwrite {
        /// The object.
        handle: u32,
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        bytes: u64,
    },
    /// EXECBUFFER2.
    Execbuffer {
        /// The number of objects.
        objects: u32,
    },
    /// SW_FINISH.
    SwFinish {
        /// The object.
        handle: u32,
    },
    /// MADVISE.
    Madvise {
        /// The object.
        handle: u32,
        /// The advice, by its number in the header.
        advice: u32,
    },
    /// DMA_BUF_IOCTL_SYNC start, or an importer's equivalent.
    DmaBufBegin {
        /// The CPU's access.
        access: Access,
    },
    /// DMA_BUF_IOCTL_SYNC end, or an importer's equivalent.
    DmaBufEnd,
    /// A fault on a mapping.
    Fault,
    /// A fault on a mapping through the aperture.
    FaultGtt,
}

impl Call {
    /// Returns the name that the trace and tools use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::CreateExt => "create-ext",
            Self::Userptr => "userptr",
            Self::CreateDumb => "create-dumb",
            Self::SetCaching { .. } => "set-caching",
            Self::SetDomain { .. } => "set-domain",
            Self::Pread { .. } => "pread",
            Self::Pwrite { .. } => "pwrite",
            Self::Execbuffer { .. } => "execbuffer",
            Self::SwFinish { .. } => "sw-finish",
            Self::Madvise { .. } => "madvise",
            Self::DmaBufBegin { .. } => "dma-buf-begin",
            Self::DmaBufEnd => "dma-buf-end",
            Self::Fault => "fault",
            Self::FaultGtt => "fault-gtt",
        }
    }

    /// Returns the handle among the arguments.
    pub const fn handle(self) -> Option<u32> {
        match self {
            Self::SetCaching { handle, .. }
            | Self::SetDomain { handle, .. }
            | Self::Pread { handle, .. }
            | Self::Pwrite { handle, .. }
            | Self::SwFinish { handle }
            | Self::Madvise { handle, .. } => Some(handle),
            Self::Create
            | Self::CreateExt
            | Self::Userptr
            | Self::CreateDumb
            | Self::Execbuffer { .. }
            | Self::DmaBufBegin { .. }
            | Self::DmaBufEnd
            | Self::Fault
            | Self::FaultGtt => None,
        }
    }

    /// Returns the policy events of the object that the call concerns, the likeliest first; none if the call
    /// concerns no object, changes nothing, or has effects that are traced separately.
    pub(super) fn events(self) -> Vec<Event> {
        let access = |write| if write { Access::Write } else { Access::Read };
        match self {
            Self::SetDomain { read, write, .. } => {
                let read = Domains::from_bits_truncate(read);
                let access = access(write != 0);
                // The same order as in `i915_gem_set_domain_ioctl`.
                if read.contains(Domains::WC) {
                    vec![Event::SetDomainWc(access)]
                } else if read.contains(Domains::GTT) {
                    vec![Event::SetDomainGtt(access)]
                } else if read.is_empty() {
                    Vec::new()
                } else {
                    vec![Event::SetDomainCpu(access)]
                }
            }
            Self::SetCaching { mode, .. } => match mode {
                0 => vec![Event::SetCaching(CachingMode::None)],
                1 => vec![Event::SetCaching(CachingMode::Cached)],
                2 => vec![Event::SetCaching(CachingMode::Display)],
                _ => Vec::new(),
            },
            Self::Pread { .. } => vec![Event::Pread],
            // The aperture path needs an awake device; the trace does not show whether it is.
            Self::Pwrite { offset, bytes, .. } => {
                let partial = (offset | offset.wrapping_add(bytes)) % gem_coherency::units::LINE_BYTES != 0;
                [true, false].map(|awake| Event::Pwrite { partial, awake }).to_vec()
            }
            Self::SwFinish { .. } => vec![Event::SwFinish],
            Self::DmaBufBegin { access } => vec![Event::DmaBufBegin(access)],
            Self::DmaBufEnd => vec![Event::DmaBufEnd],
            Self::Create
            | Self::CreateExt
            | Self::Userptr
            | Self::CreateDumb
            | Self::Execbuffer { .. }
            | Self::Madvise { .. }
            | Self::Fault
            | Self::FaultGtt => Vec::new(),
        }
    }
}

/// The beginning and end of a call, and the events inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEvent {
    /// The call begins.
    Begin(Call),
    /// The call returns.
    End {
        /// Its [`Call::name`].
        call: String,
        /// The return value: 0 or a negative errno; for a fault, bits.
        result: i32,
    },
    /// The kernel waits for an object (`i915_gem_object_wait`): the first one is the call's object, unless
    /// the call is a submission.
    Waited {
        /// The object.
        object: u64,
    },
    /// An object loses its pages, if it has any (`__i915_gem_object_unset_pages`).
    Unpaged {
        /// The object.
        object: u64,
    },
    /// The kernel looks up a binding of an object (`i915_vma_instance`).
    Binding {
        /// The object.
        object: u64,
    },
    /// The binding was found or created.
    Bound {
        /// The binding.
        binding: u64,
    },
    /// A submission uses a binding (`_i915_vma_move_to_active`).
    Used {
        /// The binding.
        binding: u64,
        /// The GPU's access.
        access: Access,
    },
    /// The kernel copies out of or into an object (`i915_gem_object_prepare_read`, `..._write`).
    Prepared {
        /// The object.
        object: u64,
    },
    /// An object is flushed if it is a framebuffer (`i915_gem_object_flush_if_display`).
    IfDisplay {
        /// The object.
        object: u64,
    },
    /// An object is about to be shown (`i915_gem_object_pin_to_display_plane`).
    Shown {
        /// The object.
        object: u64,
    },
    /// An object becomes a framebuffer, if it can be one (`intel_framebuffer_init`).
    Framebuffer {
        /// The framebuffer.
        framebuffer: u64,
        /// The object.
        object: u64,
    },
    /// A framebuffer is destroyed (`intel_user_framebuffer_destroy`).
    FramebufferGone {
        /// The framebuffer.
        framebuffer: u64,
    },
    /// An object gets its PAT index (`i915_gem_object_set_pat_index`).
    Pat {
        /// The object.
        object: u64,
        /// The index.
        index: u32,
    },
    /// A handle is closed (`drm_gem_object_release_handle`).
    Closed {
        /// The object.
        object: u64,
        /// The handle.
        handle: u32,
    },
    /// The device is suspended (`i915_gem_suspend`, `i915_gem_freeze`).
    Suspended,
}
