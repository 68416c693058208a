//! The functions of xe, and of the kernel under it, to probe.

use crate::kernel_trace::probes::{At, Probe, Scope};

/// The prefix of the events' names, after the one of all events.
pub(in crate::kernel_trace) const PREFIX: &str = "xe_";

/// Words of the structures `drm_xe_*` that a call passes, as an array.
macro_rules! structure {
    ($words:literal) => {
        concat!("dev=$arg1:x64 file=$arg3:x64 data=+0($arg2):x64[", $words, "]")
    };
}

/// The words of VM_BIND, and those of the array of operations that it points to (`vector_of_binds`).
macro_rules! bind {
    () => {
        bind!(
                0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120 128 136 144 152 160 168 176 184 192 200 208 216 224 232 240 248 256 264 272 280 288
                296 304 312 320 328 336 344 352 360 368 376 384 392 400 408 416 424 432 440 448 456 464 472 480 488 496 504 512 520 528 536 544 552
                560 568 576 584 592 600 608 616 624 632 640 648 656 664 672 680 688 696 704 712 720 728 736 744 752 760 768 776 784 792 800 808 816
                824 832 840 848 856 864 872 880 888 896 904 912 920 928 936 944 952
        )
    };
    // Arrays of a program's memory cannot be recorded in one.
    ($($at:literal)+) => {
        concat!("data=+0($arg2):x64[17]", $(" +u", $at, "(+24($arg2)):x64"),+)
    };
}

/// Every kprobe. The second one with the name of another probes what this kernel has in place of the other's function.
///
/// `$arg2` of a request is the kernel's copy of its structure; that of a return is what the function was called with. `$arg3` of a request is
/// the open file. A page list (`struct ttm_tt`) has its number of pages at byte 12.
pub(in crate::kernel_trace) const PROBES: &[Probe] = &[
    ends(
        "xe_named",
        "drm_gem_handle_create_tail",
        "file=$arg1:x64 obj=$arg2:x64 handle=+0($arg3):u32 ret=$retval:s32",
    ),
    begins("xe_closed", "drm_gem_object_release_handle", "handle=$arg1:u32 file=$arg3:x64"),
    begins("xe_file_closed", "xe_file_close", "file=$arg2:x64"),
    begins("xe_freed", "xe_gem_object_free", "obj=$arg1:x64"),
    ends("xe_imported", "xe_gem_prime_import", "obj=$retval:x64"),
    ends("xe_listed", "xe_ttm_tt_create", "obj=$arg1:x64 tt=$retval:x64"),
    begins("xe_populate", "xe_ttm_tt_populate", "tt=$arg2:x64 pages=+12($arg2):u32"),
    ends("xe_populated", "xe_ttm_tt_populate", "ret=$retval:s32"),
    begins("xe_combining", "set_pages_array_wc", "pages=$arg2:u32"),
    begins("xe_flushed", "cpa_flush", "cache=$arg2:s32"),
    begins("xe_pooled", "ttm_pool_free", "tt=$arg2:x64 pages=+12($arg2):u32"),
    begins("xe_fence", "xe_sync_entry_parse", ""),
    // Requests.
    begins("xe_create", "xe_gem_create_ioctl", structure!("7")),
    ends("xe_end_create", "xe_gem_create_ioctl", "ret=$retval:s32"),
    begins("xe_create_dumb", "xe_bo_dumb_create", "dev=$arg2:x64 file=$arg1:x64"),
    ends("xe_end_create_dumb", "xe_bo_dumb_create", "ret=$retval:s32"),
    begins("xe_mmap_offset", "xe_gem_mmap_offset_ioctl", structure!("5")),
    ends("xe_end_mmap_offset", "xe_gem_mmap_offset_ioctl", "ret=$retval:s32"),
    begins("xe_vm_create", "xe_vm_create_ioctl", structure!("4")),
    ends("xe_end_vm_create", "xe_vm_create_ioctl", "ret=$retval:s32 data=+0($arg2):x64[4]"),
    begins("xe_vm_destroy", "xe_vm_destroy_ioctl", structure!("3")),
    ends("xe_end_vm_destroy", "xe_vm_destroy_ioctl", "ret=$retval:s32"),
    begins("xe_vm_bind", "xe_vm_bind_ioctl", concat!("dev=$arg1:x64 file=$arg3:x64 ", bind!())),
    // Again, because the kernel reads the array between the two: see `Bind::compare`.
    ends("xe_end_vm_bind", "xe_vm_bind_ioctl", concat!("ret=$retval:s32 ", bind!())),
    begins("xe_exec_queue_create", "xe_exec_queue_create_ioctl", structure!("6")),
    ends("xe_end_exec_queue_create", "xe_exec_queue_create_ioctl", "ret=$retval:s32"),
    begins("xe_exec", "xe_exec_ioctl", structure!("7")),
    ends("xe_end_exec", "xe_exec_ioctl", "ret=$retval:s32"),
    begins("xe_wait_user_fence", "xe_wait_user_fence_ioctl", structure!("9")),
    ends("xe_end_wait_user_fence", "xe_wait_user_fence_ioctl", "ret=$retval:s32"),
    begins("xe_madvise", "xe_vm_madvise_ioctl", structure!("8")),
    ends("xe_end_madvise", "xe_vm_madvise_ioctl", "ret=$retval:s32"),
    // 7.2 and 6.12.
    begins("xe_fault", "xe_bo_cpu_fault", ""),
    ends("xe_end_fault", "xe_bo_cpu_fault", "ret=$retval:s32"),
    begins("xe_fault", "xe_gem_fault", ""),
    ends("xe_end_fault", "xe_gem_fault", "ret=$retval:s32"),
];

/// Returns a probe of a function's first byte.
const fn begins(name: &'static str, function: &'static str, fetch: &'static str) -> Probe {
    Probe { name, at: At::Entry, function, fetch, scope: Scope::Calls }
}

/// Returns a probe of a function's return.
const fn ends(name: &'static str, function: &'static str, fetch: &'static str) -> Probe {
    Probe { name, at: At::Return, function, fetch, scope: Scope::Calls }
}
