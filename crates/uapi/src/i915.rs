//! `<drm/i915_drm.h>`: objects, their memory, and their CPU accesses.
//!
//! Submission and queries are in [`super::i915_exec`], contexts in [`super::i915_context`], what the
//! driver says about the device in [`super::i915_facts`].

use super::{requests, structs, values};

structs! {
    /// The head of an extension; extensions form a chain.
    i915_user_extension: 32 {
        /// Address of the next one, or 0.
        next_extension @ 0: u64,
        /// Which extension.
        name @ 8: u32,
        /// Must be 0.
        flags @ 12: u32,
        /// Must be 0.
        rsvd @ 16: [u32; 4],
    }

    /// The argument of GEM_CREATE.
    drm_i915_gem_create: 16 {
        /// Size wanted; back: the size made, in bytes.
        size @ 0: u64,
        /// Back: the object's name.
        handle @ 8: u32,
        /// Not looked at.
        pad @ 12: u32,
    }

    /// The argument of GEM_PREAD.
    drm_i915_gem_pread: 32 {
        /// The object's name.
        handle @ 0: u32,
        /// Not looked at.
        pad @ 4: u32,
        /// First byte of the object.
        offset @ 8: u64,
        /// The number of bytes.
        size @ 16: u64,
        /// Address the bytes are copied to.
        data_ptr @ 24: u64,
    }

    /// The argument of GEM_PWRITE.
    drm_i915_gem_pwrite: 32 {
        /// The object's name.
        handle @ 0: u32,
        /// Not looked at.
        pad @ 4: u32,
        /// First byte of the object.
        offset @ 8: u64,
        /// The number of bytes.
        size @ 16: u64,
        /// Address the bytes are copied from.
        data_ptr @ 24: u64,
    }

    /// The argument of GEM_MMAP.
    drm_i915_gem_mmap: 40 {
        /// The object's name.
        handle @ 0: u32,
        /// Not looked at.
        pad @ 4: u32,
        /// First byte of the object.
        offset @ 8: u64,
        /// The number of bytes.
        size @ 16: u64,
        /// Back: the mapping's address.
        addr_ptr @ 24: u64,
        /// `I915_MMAP_WC`, or 0 for WB.
        flags @ 32: u64,
    }

    /// The argument of GEM_MMAP_GTT.
    drm_i915_gem_mmap_gtt: 16 {
        /// The object's name.
        handle @ 0: u32,
        /// Not looked at.
        pad @ 4: u32,
        /// Back: the mmap(2) offset.
        offset @ 8: u64,
    }

    /// The argument of GEM_MMAP_OFFSET.
    drm_i915_gem_mmap_offset: 32 {
        /// The object's name.
        handle @ 0: u32,
        /// Not looked at.
        pad @ 4: u32,
        /// Back: the mmap(2) offset.
        offset @ 8: u64,
        /// `I915_MMAP_OFFSET_*`.
        flags @ 16: u64,
        /// Must be 0: no extension is known.
        extensions @ 24: u64,
    }

    /// The argument of GEM_SET_DOMAIN.
    drm_i915_gem_set_domain: 12 {
        /// The object's name.
        handle @ 0: u32,
        /// `I915_GEM_DOMAIN_*` that will be read in.
        read_domains @ 4: u32,
        /// The one domain that will be written in, or 0.
        write_domain @ 8: u32,
    }

    /// The argument of GEM_SW_FINISH.
    drm_i915_gem_sw_finish: 4 {
        /// The object's name.
        handle @ 0: u32,
    }

    /// The argument of GEM_BUSY.
    drm_i915_gem_busy: 8 {
        /// The object's name.
        handle @ 0: u32,
        /// Back: engines that read (upper half), and the one that writes (lower half).
        busy @ 4: u32,
    }

    /// The argument of GEM_SET_CACHING and GEM_GET_CACHING.
    drm_i915_gem_caching: 8 {
        /// The object's name.
        handle @ 0: u32,
        /// `I915_CACHING_*`.
        caching @ 4: u32,
    }

    /// The argument of GEM_MADVISE.
    drm_i915_gem_madvise: 12 {
        /// The object's name.
        handle @ 0: u32,
        /// `I915_MADV_*`.
        madv @ 4: u32,
        /// Back: 0 if the contents are gone.
        retained @ 8: u32,
    }

    /// The argument of GEM_WAIT.
    drm_i915_gem_wait: 16 {
        /// The object's name.
        bo_handle @ 0: u32,
        /// Must be 0.
        flags @ 4: u32,
        /// Nanoseconds to wait, negative for ever; back: what is left.
        timeout_ns @ 8: i64,
    }

    /// The argument of SET_TILING.
    drm_i915_gem_set_tiling: 16 {
        /// The object's name.
        handle @ 0: u32,
        /// `I915_TILING_*`; back: what it is now.
        tiling_mode @ 4: u32,
        /// Bytes from line to line; back: what they are now.
        stride @ 8: u32,
        /// Back: `I915_BIT_6_SWIZZLE_*`.
        swizzle_mode @ 12: u32,
    }

    /// The argument of GET_TILING.
    drm_i915_gem_get_tiling: 16 {
        /// The object's name.
        handle @ 0: u32,
        /// Back: `I915_TILING_*`.
        tiling_mode @ 4: u32,
        /// Back: `I915_BIT_6_SWIZZLE_*` that the CPU has to follow.
        swizzle_mode @ 8: u32,
        /// Back: what memory really has.
        phys_swizzle_mode @ 12: u32,
    }

    /// The argument of GEM_USERPTR.
    drm_i915_gem_userptr: 24 {
        /// Address of the first page.
        user_ptr @ 0: u64,
        /// The number of bytes, a multiple of the page size.
        user_size @ 8: u64,
        /// `I915_USERPTR_*`.
        flags @ 16: u32,
        /// Back: the object's name.
        handle @ 20: u32,
    }

    /// The argument of GEM_CREATE_EXT.
    drm_i915_gem_create_ext: 24 {
        /// Size wanted; back: the size made, in bytes.
        size @ 0: u64,
        /// Back: the object's name.
        handle @ 8: u32,
        /// `I915_GEM_CREATE_EXT_FLAG_*`.
        flags @ 12: u32,
        /// Address of the first extension, or 0.
        extensions @ 16: u64,
    }

    /// The extension that says where an object may live.
    drm_i915_gem_create_ext_memory_regions: 48 {
        /// The head; its name is `I915_GEM_CREATE_EXT_MEMORY_REGIONS`.
        base @ 0: i915_user_extension,
        /// Must be 0.
        pad @ 32: u32,
        /// Entries at `regions`.
        num_regions @ 36: u32,
        /// Address of `drm_i915_gem_memory_class_instance`s, best first.
        regions @ 40: u64,
    }

    /// The extension that makes an object protected.
    drm_i915_gem_create_ext_protected_content: 40 {
        /// The head; its name is `I915_GEM_CREATE_EXT_PROTECTED_CONTENT`.
        base @ 0: i915_user_extension,
        /// Must be 0.
        flags @ 32: u32,
        /// Padding.
        __pad0 @ 36: u32,
    }

    /// The extension that gives an object its PAT index, for good.
    drm_i915_gem_create_ext_set_pat: 40 {
        /// The head; its name is `I915_GEM_CREATE_EXT_SET_PAT`.
        base @ 0: i915_user_extension,
        /// The index.
        pat_index @ 32: u32,
        /// Not looked at.
        rsvd @ 36: u32,
    }
}

values! {
    /// GEM_MMAP maps write-combining.
    I915_MMAP_WC: u64 = 0x1;
    /// MMAP_OFFSET: through the aperture.
    I915_MMAP_OFFSET_GTT: u64 = 0;
    /// MMAP_OFFSET: write-combining.
    I915_MMAP_OFFSET_WC: u64 = 1;
    /// MMAP_OFFSET: write-back.
    I915_MMAP_OFFSET_WB: u64 = 2;
    /// MMAP_OFFSET: uncached.
    I915_MMAP_OFFSET_UC: u64 = 3;
    /// MMAP_OFFSET: as the kernel decides; on discrete devices.
    I915_MMAP_OFFSET_FIXED: u64 = 4;

    /// CPU cache.
    I915_GEM_DOMAIN_CPU: u32 = 0x01;
    /// Render cache.
    I915_GEM_DOMAIN_RENDER: u32 = 0x02;
    /// Sampler cache.
    I915_GEM_DOMAIN_SAMPLER: u32 = 0x04;
    /// Command queue.
    I915_GEM_DOMAIN_COMMAND: u32 = 0x08;
    /// Instruction cache.
    I915_GEM_DOMAIN_INSTRUCTION: u32 = 0x10;
    /// Vertex address cache.
    I915_GEM_DOMAIN_VERTEX: u32 = 0x20;
    /// GTT aperture.
    I915_GEM_DOMAIN_GTT: u32 = 0x40;
    /// Write-combining CPU map.
    I915_GEM_DOMAIN_WC: u32 = 0x80;

    /// Not cached by the GPU.
    I915_CACHING_NONE: u32 = 0;
    /// Cached in the LLC, or snooped.
    I915_CACHING_CACHED: u32 = 1;
    /// As the display wants it.
    I915_CACHING_DISPLAY: u32 = 2;

    /// The contents are needed.
    I915_MADV_WILLNEED: u32 = 0;
    /// The kernel may take the contents back.
    I915_MADV_DONTNEED: u32 = 1;
    /// Internal state of the kernel: the contents are gone.
    __I915_MADV_PURGED: u32 = 2;

    /// Lines follow each other.
    I915_TILING_NONE: u32 = 0;
    /// Tiles of 512 bytes by 8 lines.
    I915_TILING_X: u32 = 1;
    /// Tiles of 128 bytes by 32 lines.
    I915_TILING_Y: u32 = 2;
    /// The last of them.
    I915_TILING_LAST: u32 = I915_TILING_Y;
    /// Bit 6 of an address is what it says.
    I915_BIT_6_SWIZZLE_NONE: u32 = 0;
    /// Bit 6 of an address is inverted if bit 9 is set.
    I915_BIT_6_SWIZZLE_9: u32 = 1;
    /// Bit 6 of an address is inverted if one of bits 9 and 10 is set.
    I915_BIT_6_SWIZZLE_9_10: u32 = 2;
    /// Nobody knows what bit 6 of an address depends on.
    I915_BIT_6_SWIZZLE_UNKNOWN: u32 = 5;

    /// The GPU only reads the pages.
    I915_USERPTR_READ_ONLY: u32 = 0x1;
    /// The pages are looked at when the object is made.
    I915_USERPTR_PROBE: u32 = 0x2;
    /// No longer supported.
    I915_USERPTR_UNSYNCHRONIZED: u32 = 0x8000_0000;

    /// The object's pages stay within reach of the CPU.
    I915_GEM_CREATE_EXT_FLAG_NEEDS_CPU_ACCESS: u32 = 1 << 0;
    /// Name of the extension `drm_i915_gem_create_ext_memory_regions`.
    I915_GEM_CREATE_EXT_MEMORY_REGIONS: u32 = 0;
    /// Name of the extension `drm_i915_gem_create_ext_protected_content`.
    I915_GEM_CREATE_EXT_PROTECTED_CONTENT: u32 = 1;
    /// Name of the extension `drm_i915_gem_create_ext_set_pat`.
    I915_GEM_CREATE_EXT_SET_PAT: u32 = 2;
}

requests! {
    /// Says which engines use an object.
    DRM_IOCTL_I915_GEM_BUSY = IOWR(b'd', 0x57, drm_i915_gem_busy) == 0xc008_6457;
    /// Makes an object.
    DRM_IOCTL_I915_GEM_CREATE = IOWR(b'd', 0x5b, drm_i915_gem_create) == 0xc010_645b;
    /// Copies out of an object.
    DRM_IOCTL_I915_GEM_PREAD = IOW(b'd', 0x5c, drm_i915_gem_pread) == 0x4020_645c;
    /// Copies into an object.
    DRM_IOCTL_I915_GEM_PWRITE = IOW(b'd', 0x5d, drm_i915_gem_pwrite) == 0x4020_645d;
    /// Maps an object, the legacy way.
    DRM_IOCTL_I915_GEM_MMAP = IOWR(b'd', 0x5e, drm_i915_gem_mmap) == 0xc028_645e;
    /// Moves an object to a domain.
    DRM_IOCTL_I915_GEM_SET_DOMAIN = IOW(b'd', 0x5f, drm_i915_gem_set_domain) == 0x400c_645f;
    /// Says that the CPU's writes to a framebuffer are done.
    DRM_IOCTL_I915_GEM_SW_FINISH = IOW(b'd', 0x60, drm_i915_gem_sw_finish) == 0x4004_6460;
    /// Changes how an object is tiled.
    DRM_IOCTL_I915_GEM_SET_TILING = IOWR(b'd', 0x61, drm_i915_gem_set_tiling) == 0xc010_6461;
    /// Asks how an object is tiled.
    DRM_IOCTL_I915_GEM_GET_TILING = IOWR(b'd', 0x62, drm_i915_gem_get_tiling) == 0xc010_6462;
    /// Asks for the mmap(2) offset of an object in the aperture.
    DRM_IOCTL_I915_GEM_MMAP_GTT = IOWR(b'd', 0x64, drm_i915_gem_mmap_gtt) == 0xc010_6464;
    /// Asks for an object's mmap(2) offset in some mode.
    DRM_IOCTL_I915_GEM_MMAP_OFFSET = IOWR(b'd', 0x64, drm_i915_gem_mmap_offset) == 0xc020_6464;
    /// Says whether an object's contents are needed.
    DRM_IOCTL_I915_GEM_MADVISE = IOWR(b'd', 0x66, drm_i915_gem_madvise) == 0xc00c_6466;
    /// Waits until an object is idle.
    DRM_IOCTL_I915_GEM_WAIT = IOWR(b'd', 0x6c, drm_i915_gem_wait) == 0xc010_646c;
    /// Changes an object's cache level.
    DRM_IOCTL_I915_GEM_SET_CACHING = IOW(b'd', 0x6f, drm_i915_gem_caching) == 0x4008_646f;
    /// Asks for an object's caching mode.
    DRM_IOCTL_I915_GEM_GET_CACHING = IOWR(b'd', 0x70, drm_i915_gem_caching) == 0xc008_6470;
    /// Makes an object of this process's pages.
    DRM_IOCTL_I915_GEM_USERPTR = IOWR(b'd', 0x73, drm_i915_gem_userptr) == 0xc018_6473;
    /// Makes an object, with extensions.
    DRM_IOCTL_I915_GEM_CREATE_EXT = IOWR(b'd', 0x7c, drm_i915_gem_create_ext) == 0xc018_647c;
}
