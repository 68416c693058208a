//! The PCI device types: registration when QEMU starts, making a device, and QEMU's calls into it.
//!
//! A panic in one of these `extern "C"` functions ends the process; it never unwinds into QEMU.
//!
//! # Safety
//!
//! As for [`crate::qemu`]: QEMU's global lock makes its callbacks take turns, and what it keeps a pointer to is static or leaked.

#![allow(unsafe_code)]

use crate::cache::Cache;
use crate::display::pipes;
use crate::gpu::platform::Platform;
use crate::gpu::{Gpu, Parts};
use crate::platforms::PLATFORMS;
use crate::qemu::ffi::{
    self, BAR_64_BIT, BAR_PREFETCH, MemoryRegionOps, Object, TypeInfo, memory_operations,
};
use crate::qemu::{PciFunction, Ram, Timer, allocate, cache, fatal, tlb};
use crate::snooping::Keeping;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

const VENDOR_INTEL: u16 = 0x8086;
const CLASS_DISPLAY_VGA: u16 = 0x0300;
/// Where the MSI capability is in configuration space.
const MSI_CAPABILITY: u8 = 0x90;
/// PCI_DEVICE_ID and PCI_INTERRUPT_PIN in configuration space.
const CONFIG_DEVICE_ID: u32 = 2;
const CONFIG_INTERRUPT_PIN: u64 = 0x3d;
/// The aperture (BAR 2) of GPUs without local memory.
const APERTURE_SIZE: u64 = 256 << 20;

/// The machine's only GPU.
static GPU: AtomicPtr<RefCell<Gpu>> = AtomicPtr::new(null_mut());

/// Calls `f` with the GPU; `otherwise` if there is none yet, or if the GPU itself caused the access
/// (a command that writes to the device's own BAR).
fn with_gpu<R>(otherwise: R, f: impl FnOnce(&mut Gpu) -> R) -> R {
    // SAFETY: null, or a leaked box. QEMU's global lock makes callers take turns.
    let Some(gpu) = (unsafe { GPU.load(Ordering::Acquire).as_ref() }) else {
        return otherwise;
    };
    match gpu.try_borrow_mut() {
        Ok(mut gpu) => f(&mut gpu),
        Err(_) => otherwise,
    }
}

/// Runs when the dynamic loader has loaded the library, before QEMU's `main`.
extern "C" fn loaded() {
    // A preloaded library reaches child processes too: it must not look for QEMU there.
    let process = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    if process.starts_with("qemu-system") {
        // SAFETY: the function is QEMU's, and its list of callbacks may be filled at any time
        // before `main` (QEMU's own types do it in the same way).
        unsafe { ffi::register_module_init(register_types, ffi::MODULE_INIT_QOM) }
    }
}

// SAFETY: `.init_array` holds pointers to functions that take no required argument.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

extern "C" fn register_types() {
    let interfaces = Box::leak(Box::new([
        ffi::InterfaceInfo { name: c"conventional-pci-device".as_ptr() },
        ffi::InterfaceInfo { name: null() },
    ]));
    for platform in PLATFORMS {
        let Ok(name) = CString::new(format!("i915-{}", platform.name)) else {
            continue;
        };
        let info = TypeInfo {
            name: name.into_raw(),
            parent: c"pci-device".as_ptr(),
            // 0: the parent's size.
            instance_size: 0,
            instance_align: 0,
            instance_init: None,
            instance_post_init: None,
            instance_finalize: None,
            is_abstract: false,
            class_size: 0,
            class_init: Some(class_init),
            class_base_init: None,
            class_data: std::ptr::from_ref(platform).cast(),
            interfaces: interfaces.as_ptr(),
        };
        // SAFETY: everything that the type information points at is static or leaked.
        unsafe { ffi::type_register_static(Box::leak(Box::new(info))) };
    }
}

/// The offset of `vendor_id` in `PCIDeviceClass`, which differs between QEMU versions. It is found
/// in the class of a device with known ids: "edu", 1234:11e8.
fn vendor_offset() -> usize {
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    let found = FOUND.load(Ordering::Relaxed);
    if found != 0 {
        return found;
    }
    // SAFETY: the name is a C string; the result is null or a class object.
    let edu = unsafe { ffi::object_class_by_name(c"edu".as_ptr()) };
    if edu.is_null() {
        fatal("this QEMU has no \"edu\" device to learn the layout of PCI classes from");
    }
    for offset in (0..1024).step_by(2) {
        // SAFETY: the vendor id lies after QEMU's DeviceClass, some 200 bytes into the class; the
        // search ends there, long before the end of the allocation.
        let ids = unsafe { edu.byte_add(offset).cast::<[u16; 2]>().read_unaligned() };
        if ids == [0x1234, 0x11e8] {
            FOUND.store(offset, Ordering::Relaxed);
            return offset;
        }
    }
    fatal("the layout of this QEMU's PCI classes is unknown")
}

unsafe extern "C" fn class_init(class: Object, data: *const c_void) {
    let vendor = vendor_offset();
    // SAFETY: `data` is the `class_data` of the type: an entry of the static table. The class is a
    // PCIDeviceClass: pointers to realize, exit, config_read and config_write lie before the vendor
    // id; after it the device id, the revision (a byte) and the class code.
    unsafe {
        let platform = &*data.cast::<Platform>();
        let field = |offset: usize| class.byte_add(offset);
        field(vendor - 32).cast::<ffi::Realize>().write(realize);
        field(vendor - 16).cast::<ffi::ConfigRead>().write(config_read);
        field(vendor - 8).cast::<ffi::ConfigWrite>().write(config_write);
        field(vendor).cast::<u16>().write(VENDOR_INTEL);
        field(vendor + 2).cast::<u16>().write(platform.device_id);
        field(vendor + 4).cast::<u8>().write(platform.revision);
        field(vendor + 6).cast::<u16>().write(CLASS_DISPLAY_VGA);
    }
}

/// Makes the device: memory regions, BARs, interrupts, and the model behind them.
unsafe extern "C" fn realize(device: Object, error: *mut Object) {
    // SAFETY: `device` is the PCI device that is being made.
    let id = unsafe { ffi::pci_default_read_config(device, CONFIG_DEVICE_ID, 2) };
    let Some(platform) = PLATFORMS.iter().find(|p| u32::from(p.device_id) == id) else {
        fatal("a device that is not in the table")
    };
    if !GPU.load(Ordering::Acquire).is_null() {
        fatal("a machine has one GPU");
    }
    let bars = &platform.bars;
    let ram = |name: &CStr, size: u64| {
        let region = allocate();
        // SAFETY: a zeroed region of QEMU's size or more, an owner that lives on: its memory is never freed.
        let ram = unsafe {
            ffi::memory_region_init_ram(region, device, name.as_ptr(), size, error);
            Ram::new(ffi::memory_region_get_ram_ptr(region), size)
        };
        (region, ram)
    };
    let io = |name: &CStr, ops: &'static MemoryRegionOps, size: u64| {
        let region = allocate();
        // SAFETY: as above; the operations are static and use no opaque pointer.
        unsafe {
            ffi::memory_region_init_io(region, device, ops, null_mut(), name.as_ptr(), size);
        }
        region
    };

    let container = allocate();
    let registers = io(c"i915-registers", &REGISTER_OPS, bars.registers);
    let (entries, global_table) = ram(c"i915-global-table", bars.entries);
    let (aperture, local_memory) = match &platform.local_memory {
        Some(local) => {
            let (region, ram) = ram(c"i915-local-memory", local.size);
            (region, Some(ram))
        }
        None => (io(c"i915-aperture", &APERTURE_OPS, APERTURE_SIZE), None),
    };
    // SAFETY: regions were initialised above and are given away once; the MSI capability may fail:
    // null says that the error is not wanted.
    unsafe {
        let size = match bars.entries_bar {
            Some(_) => bars.registers,
            None => bars.registers + bars.entries,
        };
        ffi::memory_region_init(container, device, c"i915-bar0".as_ptr(), size);
        ffi::memory_region_add_subregion(container, 0, registers);
        let wide = if bars.wide { BAR_64_BIT } else { 0 };
        match bars.entries_bar {
            Some(bar) => ffi::pci_register_bar(device, bar, 0, entries),
            None => ffi::memory_region_add_subregion(container, bars.registers, entries),
        }
        ffi::pci_register_bar(device, 0, wide, container);
        ffi::pci_register_bar(device, 2, wide | BAR_PREFETCH, aperture);
        if platform.interrupt_pin() {
            set_interrupt_pin(device, platform.device_id);
        }
        ffi::msi_init(device, MSI_CAPABILITY, 1, false, false, null_mut());
    }
    if cache::attach(device, platform.keeping != Keeping::Nothing) {
        tlb::add_windows(device);
    }
    let mut gpu = Gpu::new(Parts {
        platform,
        // SAFETY: the device lives as long as the process.
        function: unsafe { PciFunction::new(device) },
        retry: Timer::new(retry_rings),
        frame: Timer::new(frame_rings),
        global_table,
        local_memory,
    });
    gpu.power_up();
    GPU.store(Box::leak(Box::new(RefCell::new(gpu))), Ordering::Release);
}

/// Sets the interrupt pin to INTA. QEMU wants it in the device's configuration array, which no
/// function writes for us; the array is found by its contents, among the pointers in the device,
/// and accessed through the kernel so that a wrong guess cannot fault.
fn set_interrupt_pin(device: Object, device_id: u16) {
    let Ok(memory) = File::options().read(true).write(true).open("/proc/self/mem") else {
        fatal("/proc/self/mem cannot be opened")
    };
    let [vendor, id] = [VENDOR_INTEL.to_le_bytes(), device_id.to_le_bytes()];
    for word in 0..256 {
        let mut pointer = [0; 8];
        if memory.read_exact_at(&mut pointer, device.addr() as u64 + 8 * word).is_err() {
            break;
        }
        let config = u64::from_le_bytes(pointer);
        let mut ids = [0; 4];
        if memory.read_exact_at(&mut ids, config).is_ok()
            && ids[..2] == vendor
            && ids[2..] == id
            && memory.write_all_at(&[1], config + CONFIG_INTERRUPT_PIN).is_ok()
        {
            return;
        }
    }
    fatal("the device's PCI configuration was not found")
}

unsafe extern "C" fn config_read(device: Object, address: u32, length: c_int) -> u32 {
    // SAFETY: QEMU passes what it was given.
    let value = unsafe { ffi::pci_default_read_config(device, address, length) };
    with_gpu(value, |gpu| gpu.config_read(address, length.unsigned_abs(), value))
}

unsafe extern "C" fn config_write(device: Object, address: u32, value: u32, length: c_int) {
    with_gpu((), |gpu| gpu.config_write(address, value));
    // SAFETY: QEMU passes what it was given.
    unsafe { ffi::pci_default_write_config(device, address, value, length) }
}

/// The bits of an access of `size` bytes.
fn size_mask(size: c_uint) -> u64 {
    u64::MAX >> (64 - 8 * size.clamp(1, 8))
}

unsafe extern "C" fn register_read(_: Object, offset: u64, size: c_uint) -> u64 {
    let all = size_mask(size);
    cache::with((), Cache::uncached_access);
    with_gpu(all, |gpu| gpu.mmio_read(offset, size) & all)
}

unsafe extern "C" fn register_write(_: Object, offset: u64, value: u64, size: c_uint) {
    cache::arm();
    cache::with((), Cache::uncached_access);
    with_gpu((), |gpu| gpu.mmio_write(offset, value, size));
}

unsafe extern "C" fn aperture_read(_: Object, offset: u64, size: c_uint) -> u64 {
    let all = size_mask(size);
    with_gpu(all, |gpu| gpu.aperture_read(offset) & all)
}

unsafe extern "C" fn aperture_write(_: Object, offset: u64, value: u64, size: c_uint) {
    let bytes = value.to_le_bytes();
    let data = &bytes[..size.clamp(1, 8) as usize];
    with_gpu((), |gpu| gpu.aperture_write(offset, data));
}

unsafe extern "C" fn retry_rings(_: Object) {
    with_gpu((), Gpu::retry_blocked);
}

unsafe extern "C" fn frame_rings(_: Object) {
    with_gpu((), pipes::vertical_blank);
}

static REGISTER_OPS: MemoryRegionOps = memory_operations(register_read, register_write, 4, false);
static APERTURE_OPS: MemoryRegionOps = memory_operations(aperture_read, aperture_write, 8, false);
