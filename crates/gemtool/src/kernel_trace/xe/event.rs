//! Calls into xe, and what happens to objects and pages inside them.

use gem_coherency::vocabulary::words;

words! {
    /// A call into xe.
    XeCall, "call into xe" {
        /// GEM_CREATE.
        Create = "create",
        /// CREATE_DUMB.
        CreateDumb = "create-dumb",
        /// GEM_MMAP_OFFSET.
        MapOffset = "mmap-offset",
        /// VM_CREATE.
        VmCreate = "vm-create",
        /// VM_DESTROY.
        VmDestroy = "vm-destroy",
        /// VM_BIND.
        VmBind = "vm-bind",
        /// EXEC_QUEUE_CREATE.
        QueueCreate = "exec-queue-create",
        /// EXEC.
        Exec = "exec",
        /// WAIT_USER_FENCE.
        WaitUserFence = "wait-user-fence",
        /// MADVISE.
        Madvise = "madvise",
        /// A fault on a mapping.
        Fault = "fault",
    }
}

/// An event of xe. Objects, files and page lists are kernel addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XeEvent {
    /// A call begins.
    Begin {
        /// The call.
        call: XeCall,
        /// The device; 0 for a fault, which does not name it.
        device: u64,
        /// The open file; 0 for a fault.
        file: u64,
        /// The request's structure, in words; after that of VM_BIND, the operations that it points to.
        words: Vec<u64>,
    },
    /// A call returns.
    End {
        /// The call.
        call: XeCall,
        /// The return value: 0 or a negative errno; for a fault, bits.
        result: i32,
        /// For VM_CREATE, the structure with the address space's number; for VM_BIND, the words of its begin.
        words: Vec<u64>,
    },
    /// VM_BIND or EXEC reads a fence (`xe_sync_entry_parse`): all checks of the operations and their objects have passed.
    Fence,
    /// An object got a handle (`drm_gem_handle_create_tail`); of any DRM driver.
    Named {
        /// The open file.
        file: u64,
        /// The object.
        object: u64,
        /// The handle.
        handle: u32,
    },
    /// A handle is closed (`drm_gem_object_release_handle`); of any DRM driver.
    Closed {
        /// The open file.
        file: u64,
        /// The handle.
        handle: u32,
    },
    /// A file is closed (`xe_file_close`).
    FileClosed {
        /// The file.
        file: u64,
    },
    /// An object was imported (`xe_gem_prime_import`).
    Imported {
        /// The object.
        object: u64,
    },
    /// An object is destroyed (`xe_gem_object_free`).
    Freed {
        /// The object.
        object: u64,
    },
    /// An object got a page list without pages (`xe_ttm_tt_create`).
    Listed {
        /// The object.
        object: u64,
        /// The page list.
        list: u64,
    },
    /// A page list gets its pages (`xe_ttm_tt_populate`).
    Populate {
        /// The page list.
        list: u64,
        /// The number of pages.
        pages: u32,
    },
    /// The page list has its pages.
    Populated {
        /// 0 or a negative errno.
        result: i32,
    },
    /// Pages become write-combining (`set_pages_array_wc`).
    Combining {
        /// The number of pages.
        pages: u32,
    },
    /// Memory types change, and lines are flushed (`cpa_flush` with `cache`).
    Flushed,
    /// A page list's pages go back to TTM's pool (`ttm_pool_free`), of any driver.
    Pooled {
        /// The page list.
        list: u64,
        /// The number of pages.
        pages: u32,
    },
}
