//! The machine's cache: its place in QEMU, and the way of devices to it. There is one if the library is a plugin, too.

use super::ffi::{self, Object};
use super::guest_ram::{self, GuestRam};
use super::symbols::symbols;
use super::{Timer, allocate, cpu, fatal, read_physical, write_physical};
use crate::cache::{Cache, Ignored, Settings, Write};
use std::ffi::c_uint;
use std::fs::File;
use std::io::Write as _;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The cache is there: before, memory is QEMU's alone.
static ARMED: AtomicBool = AtomicBool::new(false);
/// I/O ports that take a line of text: what the guest's first process has to say.
const PORTS: u64 = 0x900;
const PORT_COUNT: u64 = 256;

pub type GuestCache = Cache<GuestRam>;

/// The machine's options, its log, and its cache once there is one.
struct Machine {
    settings: Settings,
    log: Option<File>,
    ignored: Ignored,
    cache: Option<GuestCache>,
    adversary: Option<Timer>,
    text: [u8; PORT_COUNT as usize],
}

// SAFETY: the timer is QEMU's, which any thread may set.
unsafe impl Send for Machine {}

static MACHINE: OnceLock<Mutex<Machine>> = OnceLock::new();

/// The machine, if it is to have a cache.
fn machine() -> Option<MutexGuard<'static, Machine>> {
    MACHINE.get().map(|machine| machine.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The machine is to have a cache.
pub fn want(settings: Settings, log: Option<File>) {
    let text = [0; PORT_COUNT as usize];
    let machine = Machine { settings, log, ignored: Ignored::default(), cache: None, adversary: None, text };
    if MACHINE.set(Mutex::new(machine)).is_err() {
        fatal("--cache: the plugin is there twice");
    }
}

/// Calls `f` with the cache; `otherwise` if there is none. Not to be called by `f` itself.
pub fn with<T>(otherwise: T, f: impl FnOnce(&mut GuestCache) -> T) -> T {
    if !ARMED.load(Relaxed) {
        return otherwise;
    }
    let Some(mut machine) = machine() else {
        return otherwise;
    };
    let Some(cache) = &mut machine.cache else {
        return otherwise;
    };
    let result = f(cache);
    let flush = cache.take_newly_watched();
    drop(machine);
    if flush {
        cpu::flush_tlb();
    }
    result
}

/// Whether there is a cache that may hold the bytes at this physical address.
pub fn holds(at: u64) -> bool {
    ARMED.load(Relaxed) && guest_ram::holds(at)
}

/// The CPU's TLB is filled for a cached access to this page; returns whether the page is watched.
pub fn touch(page: u64, fetch: bool) -> bool {
    with(false, |cache| {
        cache.touch(page);
        if fetch && cache.is_watched(page) {
            cache.fetch_code(page);
        }
        cache.is_watched(page)
    })
}

/// The device is made: what a cache needs, if there is to be one; returns whether there is. `shared`: the GPU shares the
/// last-level cache.
pub fn attach(device: Object, shared: bool) -> bool {
    let Some(mut machine) = machine() else {
        return false;
    };
    machine.settings.shared = shared;
    machine.adversary = machine.settings.adversary.map(|_| Timer::new(adversary_rings));
    let region = allocate();
    // SAFETY: a zeroed region, an owner that lives on, static operations.
    unsafe {
        let name = c"i915-cache-port".as_ptr();
        ffi::memory_region_init_io(region, device, &PORT_OPS, null_mut(), name, PORT_COUNT);
        ffi::memory_region_add_subregion((symbols().get_system_io)(), PORTS, region);
    }
    true
}

/// The driver touches the device: from now on there is a cache, and it is empty. The CPU waits for this device.
pub fn arm() {
    if ARMED.load(Relaxed) {
        return;
    }
    let Some(mut machine) = machine() else {
        return;
    };
    let size = guest_ram::find();
    cpu::find();
    let ignored = std::mem::take(&mut machine.ignored);
    let mut cache = Cache::new(GuestRam, size, machine.settings, ignored);
    let delay = cache.intervene();
    machine.cache = Some(cache);
    if let (Some(timer), Some(delay)) = (&machine.adversary, delay) {
        timer.arm(delay);
    }
    drop(machine);
    ARMED.store(true, Relaxed);
    cpu::flush_tlb();
}

unsafe extern "C" fn adversary_rings(_: Object) {
    let delay = with(None, Cache::intervene);
    if let (Some(delay), Some(machine)) = (delay, machine())
        && let Some(timer) = &machine.adversary
    {
        timer.arm(delay);
    }
}

/// A device reads; `snoops`: it looks into the CPU's caches.
pub fn read(at: u64, buffer: &mut [u8], snoops: bool) {
    if holds(at) {
        with((), |cache| cache.device_read(at, buffer, snoops));
    } else {
        read_physical(at, buffer);
    }
}

/// A device writes.
pub fn write(at: u64, data: &[u8], write: Write) {
    if holds(at) {
        with((), |cache| cache.device_write(at, data, write));
    } else {
        write_physical(at, data);
    }
}

/// Stores of the CPU to this line that wait take effect.
pub fn combine(at: u64) {
    if holds(at) {
        with((), |cache| cache.combine(at));
    }
}

/// The CPU stores up to eight bytes through the aperture.
pub fn write_late(at: u64, data: &[u8], write: Write) {
    if holds(at) {
        with((), |cache| cache.combined_store(at, data, write));
    } else {
        write_physical(at, data);
    }
}

/// The number of bytes that the CPU has stored and a device does not find in memory.
pub fn stale_bytes(at: u64, length: usize) -> usize {
    if holds(at) { with(0, |cache| cache.stale_bytes(at, length)) } else { 0 }
}

/// Whether there is a cache with a log.
pub fn has_log() -> bool {
    ARMED.load(Relaxed) && machine().is_some_and(|machine| machine.log.is_some())
}

/// Writes a line to the log, if there is one. A full disk does not stop the machine.
pub fn log(line: std::fmt::Arguments<'_>) {
    if let Some(machine) = machine()
        && let Some(mut log) = machine.log.as_ref()
    {
        let _ = writeln!(log, "{line}");
    }
}

/// The last line of the log.
pub fn report() {
    if let Some(report) = with(None, |cache| Some(cache.report())) {
        log(format_args!("{report}"));
    }
}

/// Takes a line of text: "ignore NAME START END" (hexadecimal), a function whose flushes are to be ignored, which needs `--append
/// mitigations=off` or `--ignore-flush`, as returns have to be instructions; "heed", which ends that for all functions, and logs how many
/// flushes were ignored; or "mark TEXT", for the log.
fn say(text: &str) {
    match text.split_once(' ') {
        Some(("ignore", function)) => {
            let added = match machine().as_deref_mut() {
                Some(Machine { cache: Some(cache), .. }) => cache.ignored.add(function),
                Some(machine) => machine.ignored.add(function),
                None => Ok(()),
            };
            if let Err(error) = added {
                fatal(&format!("--ignore-flush: {error}"));
            }
            cpu::translate_again();
        }
        None if text == "heed" => {
            let ignored = with(Ignored::default(), |cache| std::mem::take(&mut cache.ignored));
            cpu::translate_again();
            if let Some(report) = ignored.report() {
                log(format_args!("{report}"));
            }
        }
        Some(("mark", mark)) => log(format_args!("mark {mark}")),
        _ => eprintln!("i915-vm-device: '{text}' was written to the ports of the cache"),
    }
}

unsafe extern "C" fn port_read(_: Object, _: u64, _: c_uint) -> u64 {
    0xff
}

/// Characters come one by one, each to the port after the last one's, and a newline.
unsafe extern "C" fn port_write(_: Object, port: u64, value: u64, _: c_uint) {
    let mut line = None;
    if let Some(mut machine) = machine() {
        let place = (port % PORT_COUNT) as usize;
        machine.text[place] = value as u8;
        if value as u8 == b'\n' {
            line = Some(String::from_utf8_lossy(&machine.text[..place]).into_owned());
        }
    }
    if let Some(line) = line {
        say(&line);
    }
}

static PORT_OPS: ffi::MemoryRegionOps = ffi::memory_operations(port_read, port_write, 1, false);
