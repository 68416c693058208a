//! QEMU's C interface: the functions that its binary exports and the structures they take, written
//! down here because a stock QEMU comes without headers. Unchanged between QEMU 7.2 and 10.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null;

/// A pointer to one of QEMU's own objects.
pub type Object = *mut c_void;

/// `MODULE_INIT_QOM`: the callback runs when QEMU collects its device types.
pub const MODULE_INIT_QOM: c_int = 3;
/// `QEMU_CLOCK_VIRTUAL`: the guest's time.
pub const CLOCK_VIRTUAL: c_int = 1;
/// `SCALE_NS`: timers count nanoseconds.
pub const SCALE_NS: c_int = 1;
/// `DEVICE_LITTLE_ENDIAN`.
pub const LITTLE_ENDIAN: c_uint = 2;
/// `PCI_BASE_ADDRESS_MEM_TYPE_64`.
pub const BAR_64_BIT: u8 = 4;
/// `PCI_BASE_ADDRESS_MEM_PREFETCH`.
pub const BAR_PREFETCH: u8 = 8;

#[repr(C)]
pub struct InterfaceInfo {
    pub name: *const c_char,
}

#[repr(C)]
pub struct TypeInfo {
    pub name: *const c_char,
    pub parent: *const c_char,
    pub instance_size: usize,
    pub instance_align: usize,
    pub instance_init: Option<unsafe extern "C" fn(Object)>,
    pub instance_post_init: Option<unsafe extern "C" fn(Object)>,
    pub instance_finalize: Option<unsafe extern "C" fn(Object)>,
    pub is_abstract: bool,
    pub class_size: usize,
    pub class_init: Option<unsafe extern "C" fn(Object, *const c_void)>,
    pub class_base_init: Option<unsafe extern "C" fn(Object, *const c_void)>,
    pub class_data: *const c_void,
    pub interfaces: *const InterfaceInfo,
}

#[repr(C)]
pub struct AccessValid {
    pub min_size: c_uint,
    pub max_size: c_uint,
    pub unaligned: bool,
    pub accepts: *const c_void,
}

#[repr(C)]
pub struct AccessImpl {
    pub min_size: c_uint,
    pub max_size: c_uint,
    pub unaligned: bool,
}

#[repr(C)]
pub struct MemoryRegionOps {
    pub read: unsafe extern "C" fn(Object, u64, c_uint) -> u64,
    pub write: unsafe extern "C" fn(Object, u64, u64, c_uint),
    pub read_with_attrs: *const c_void,
    pub write_with_attrs: *const c_void,
    pub endianness: c_uint,
    pub valid: AccessValid,
    pub implemented: AccessImpl,
}

// SAFETY: the null pointers in it are never followed, and it is never changed.
unsafe impl Sync for MemoryRegionOps {}

/// Operations on a region; `unaligned`: accesses may be at any address.
pub const fn memory_operations(
    read: unsafe extern "C" fn(Object, u64, c_uint) -> u64,
    write: unsafe extern "C" fn(Object, u64, u64, c_uint),
    largest: c_uint,
    unaligned: bool,
) -> MemoryRegionOps {
    MemoryRegionOps {
        read,
        write,
        read_with_attrs: null(),
        write_with_attrs: null(),
        endianness: LITTLE_ENDIAN,
        valid: AccessValid { min_size: 1, max_size: 8, unaligned, accepts: null() },
        implemented: AccessImpl { min_size: 1, max_size: largest, unaligned },
    }
}

pub type Realize = unsafe extern "C" fn(Object, *mut Object);
pub type ConfigRead = unsafe extern "C" fn(Object, u32, c_int) -> u32;
pub type ConfigWrite = unsafe extern "C" fn(Object, u32, u32, c_int);

unsafe extern "C" {
    pub fn register_module_init(callback: extern "C" fn(), kind: c_int);
    pub fn type_register_static(info: *const TypeInfo) -> Object;
    pub fn object_class_by_name(name: *const c_char) -> Object;

    pub fn memory_region_init(region: Object, owner: Object, name: *const c_char, size: u64);
    pub fn memory_region_init_io(
        region: Object,
        owner: Object,
        ops: *const MemoryRegionOps,
        opaque: Object,
        name: *const c_char,
        size: u64,
    );
    pub fn memory_region_init_ram(
        region: Object,
        owner: Object,
        name: *const c_char,
        size: u64,
        error: *mut Object,
    );
    pub fn memory_region_get_ram_ptr(region: Object) -> *mut u8;
    pub fn memory_region_add_subregion(region: Object, offset: u64, part: Object);
    pub fn cpu_physical_memory_rw(address: u64, buffer: *mut u8, length: u64, write: bool);

    pub fn pci_register_bar(device: Object, number: c_int, kind: u8, region: Object);
    pub fn pci_default_read_config(device: Object, address: u32, length: c_int) -> u32;
    pub fn pci_default_write_config(device: Object, address: u32, value: u32, length: c_int);
    pub fn pci_set_irq(device: Object, level: c_int);
    pub fn msi_init(
        device: Object,
        offset: u8,
        vectors: c_uint,
        wide: bool,
        mask: bool,
        error: *mut Object,
    ) -> c_int;
    pub fn msi_enabled(device: Object) -> bool;
    pub fn msi_notify(device: Object, vector: c_uint);

    pub fn timer_init_full(
        timer: Object,
        group: Object,
        clock: c_int,
        scale: c_int,
        attributes: c_int,
        callback: unsafe extern "C" fn(Object),
        opaque: Object,
    );
    pub fn timer_mod(timer: Object, at: i64);
    pub fn qemu_clock_get_ns(clock: c_int) -> i64;
}
