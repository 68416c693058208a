//! The way of the CPU's accesses to the cache: its TLB. Where a page is not cached, or is watched, the TLB leads to a
//! window, whose accesses QEMU brings to the model; the guest knows nothing of the windows.

use super::cpu::{COUNTER, Cpu, DESTINATION, Kind, cpu};
use super::ffi::{self, MemoryRegionOps, Object, memory_operations};
use super::symbols::{TlbFill, symbols};
use super::{allocate, cache, fatal};
use crate::cache::PAGE;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

/// Where the windows are in the guest's physical address space.
const UNCACHED: u64 = 1 << 39;
const COMBINING: u64 = UNCACHED + (1 << 33);
const WATCHED: u64 = COMBINING + (1 << 33);
const WINDOW_SIZE: u64 = 1 << 32;

/// MMU_DATA_STORE and MMU_INST_FETCH.
const STORE: c_int = 1;
const FETCH: c_int = 2;
/// PAGE_READ and PAGE_WRITE.
const READ: c_int = 1;
const WRITE: c_int = 2;

/// Adds the windows to the machine's memory.
pub fn add_windows(device: Object) {
    for (at, operations) in [(UNCACHED, &UNCACHED_OPS), (COMBINING, &COMBINING_OPS), (WATCHED, &WATCHED_OPS)]
    {
        let region = allocate();
        // SAFETY: a zeroed region, an owner that lives on, static operations.
        unsafe {
            let name = c"i915-cache-window".as_ptr();
            ffi::memory_region_init_io(region, device, operations, null_mut(), name, WINDOW_SIZE);
            ffi::memory_region_add_subregion((symbols().get_system_memory)(), at, region);
        }
    }
}

/// In the place of `x86_cpu_tlb_fill`.
unsafe extern "C" fn fill(
    object: Object,
    address: u64,
    size: c_int,
    access: c_int,
    mmu: c_int,
    probe: bool,
    from: usize,
) -> bool {
    // SAFETY: passes on what QEMU passed. It may leave with longjmp: there is nothing to drop here.
    let done = unsafe { (symbols().x86_cpu_tlb_fill)(object, address, size, access, mmu, probe, from) };
    if done {
        redirect(object, address, access, mmu);
    }
    done
}

/// The TLB was filled for a page: leads it to a window if the model has to see its accesses.
fn redirect(object: Object, address: u64, access: c_int, mmu: c_int) {
    let Some(cpu) = cpu() else {
        return;
    };
    let Some(mapping) = cpu.walk(address).filter(|mapping| cache::holds(mapping.address)) else {
        return;
    };
    let page = mapping.address & !(PAGE - 1);
    let window = match mapping.kind {
        Kind::Uncached | Kind::WriteCombining if access == FETCH => return,
        Kind::Uncached => UNCACHED,
        Kind::WriteCombining => COMBINING,
        Kind::WriteBack if access == STORE && clears_page(cpu, address) => {
            return cache::with((), |cache| cache.overwrite(page));
        }
        Kind::WriteBack if cache::touch(page, access == FETCH) => WATCHED,
        Kind::WriteBack => return,
    };
    let allowed = if mapping.writable { READ | WRITE } else { READ };
    // SAFETY: the entry for this page, which QEMU has just made.
    unsafe {
        let set = symbols().tlb_set_page_with_attrs;
        set(object, address & !(PAGE - 1), window + page, 0, allowed, mmu, PAGE);
    }
}

/// Whether the CPU is at the start of clearing a page by one instruction, REP STOSQ or REP STOSB, as the kernel does. A
/// page that is watched would take a call for each of its words.
fn clears_page(cpu: &Cpu, address: u64) -> bool {
    let [count, target] = [COUNTER, DESTINATION].map(|register| cpu.register(register));
    address.is_multiple_of(PAGE) && target == address && (count == PAGE || count == PAGE / 8)
}

unsafe extern "C" fn uncached_read(_: Object, at: u64, size: c_uint) -> u64 {
    read(at, size, |cache, at, bytes| cache.uncached_load(at, bytes))
}

unsafe extern "C" fn uncached_write(_: Object, at: u64, value: u64, size: c_uint) {
    cache::with((), |cache| cache.uncached_store(at, &value.to_le_bytes()[..size as usize], false));
}

unsafe extern "C" fn combining_write(_: Object, at: u64, value: u64, size: c_uint) {
    cache::with((), |cache| cache.uncached_store(at, &value.to_le_bytes()[..size as usize], true));
}

unsafe extern "C" fn watched_read(_: Object, at: u64, size: c_uint) -> u64 {
    read(at, size, |cache, at, bytes| cache.load(at, bytes))
}

unsafe extern "C" fn watched_write(_: Object, at: u64, value: u64, size: c_uint) {
    cache::with((), |cache| cache.store(at, &value.to_le_bytes()[..size as usize]));
}

fn read(at: u64, size: c_uint, load: impl FnOnce(&mut cache::GuestCache, u64, &mut [u8])) -> u64 {
    let mut bytes = [0; 8];
    cache::with((), |cache| load(cache, at, &mut bytes[..size.min(8) as usize]));
    u64::from_le_bytes(bytes)
}

static UNCACHED_OPS: MemoryRegionOps = memory_operations(uncached_read, uncached_write, 8, true);
static COMBINING_OPS: MemoryRegionOps = memory_operations(uncached_read, combining_write, 8, true);
static WATCHED_OPS: MemoryRegionOps = memory_operations(watched_read, watched_write, 8, true);

/// A line of /proc/self/maps: the addresses, the permissions, and the file.
fn mapped(line: &str) -> Option<(std::ops::Range<usize>, &str)> {
    let (addresses, rest) = line.split_once(' ')?;
    let (from, to) = addresses.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some((number(from)?..number(to)?, rest))
}

unsafe extern "C" {
    fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int;
}

/// Changes two words of QEMU's constant data: `x86_tcg_ops.tlb_fill`, and the flags of the helper that calls plugins:
/// the registers have to be up to date there.
pub fn hook() {
    /// PROT_READ and PROT_WRITE.
    const READ_WRITE: c_int = 3;
    /// TCG_CALL_NO_READ_GLOBALS, and TCG_CALL_NO_WRITE_GLOBALS in its place.
    const NO_READ_GLOBALS: u32 = 1;
    const NO_WRITE_GLOBALS: u32 = 2;
    const HELPER: &[u8] = b"plugin_vcpu_udata_cb\0";

    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let qemu: Vec<_> = maps.lines().filter(|line| line.contains("/qemu-system")).filter_map(mapped).collect();
    let inside = |address: usize, length: usize| {
        qemu.iter().any(|(range, _)| range.contains(&address) && range.contains(&(address + length - 1)))
    };
    let write = |slot: *mut usize, value: usize| {
        // SAFETY: an aligned word of QEMU's data, in a page that exists.
        unsafe {
            let page = slot.map_addr(|address| address & !(PAGE as usize - 1));
            mprotect(page.cast::<c_void>(), PAGE as usize, READ_WRITE);
            slot.write(value);
        }
    };
    let original = symbols().x86_cpu_tlb_fill as TlbFill as usize;
    let (mut fills, mut helpers) = (0, 0);
    for (range, rest) in qemu.iter().filter(|(_, rest)| rest.starts_with("r--p") || rest.starts_with("rw-p"))
    {
        debug_assert!(rest.contains("qemu"));
        for address in range.clone().step_by(8) {
            let slot = std::ptr::with_exposed_provenance_mut::<usize>(address);
            // SAFETY: within a readable mapping of QEMU's file.
            let word = unsafe { slot.read() };
            if word == original {
                write(slot, fill as TlbFill as usize);
                fills += 1;
            }
            // `TCGHelperInfo`: the function, its name, its flags.
            if range.contains(&(address + 23)) && inside(word, 1) {
                // SAFETY: as above.
                let [name, flags] = unsafe { slot.add(1).cast::<[usize; 2]>().read() };
                // SAFETY: as above.
                let is_helper = flags as u32 == NO_READ_GLOBALS
                    && inside(name, HELPER.len())
                    && unsafe {
                        std::slice::from_raw_parts(
                            std::ptr::with_exposed_provenance::<u8>(name),
                            HELPER.len(),
                        ) == HELPER
                    };
                if is_helper {
                    // SAFETY: as above.
                    write(unsafe { slot.add(2) }, flags & !(u32::MAX as usize) | NO_WRITE_GLOBALS as usize);
                    helpers += 1;
                }
            }
        }
    }
    if (fills, helpers) != (1, 1) {
        fatal(&format!(
            "--cache: {fills} pointers to x86_cpu_tlb_fill and {helpers} descriptions of plugin_vcpu_udata_cb in this QEMU"
        ));
    }
}
