//! The library as a plugin of QEMU's: it sees the instructions that have to do with caches. It is one if `run --cache`
//! names it as `-plugin`, beside preloading it.

use super::cpu::{Cpu, Kind, STACK_POINTER, cpu};
use super::ffi::Object;
use super::symbols::symbols;
use super::{cache, fatal, tlb};
use crate::cache::Settings;
use crate::cache::instructions::{Flush, Instruction, Operand, decode};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// QEMU_PLUGIN_CB_R_REGS, and QEMU_PLUGIN_MEM_W.
const READS_REGISTERS: c_int = 1;
const STORES: c_int = 2;
/// The version of the interface: QEMU 7.2 accepts 0 and 1.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

/// Flushes and stores take effect late, so that fences matter.
static FENCES_MATTER: AtomicBool = AtomicBool::new(false);

/// QEMU calls it before it makes the machine.
///
/// # Safety
/// `arguments` are `count` C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    _: *const c_void,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    let (mut settings, mut log) = (Settings::default(), None);
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: as the caller says.
        let argument = unsafe { CStr::from_ptr(*arguments.add(index)) }.to_string_lossy();
        match argument.split_once('=') {
            Some(("adversary", seed)) => match seed.parse() {
                Ok(seed) => settings.adversary = Some(seed),
                Err(error) => fatal(&format!("adversary '{seed}': {error}")),
            },
            Some(("aliases", on)) => settings.aliases = on == "on",
            Some(("log", path)) => match File::create(path) {
                Ok(file) => log = Some(file),
                Err(error) => fatal(&format!("log '{path}': {error}")),
            },
            _ => fatal(&format!("unknown argument of the cache: '{argument}'")),
        }
    }
    FENCES_MATTER.store(settings.adversary.is_some(), Relaxed);
    tlb::hook();
    cache::want(settings, log);
    // SAFETY: callbacks of the right types.
    unsafe {
        (symbols().qemu_plugin_register_vcpu_tb_trans_cb)(id, translated);
        (symbols().qemu_plugin_register_atexit_cb)(id, ended, null_mut());
    }
    0
}

unsafe extern "C" fn ended(_: u64, _: Object) {
    cache::report();
}

/// A flush instruction in translated code.
struct Flushing {
    flush: Flush,
    operand: Operand,
}

/// A block of instructions is translated: asks to be called for those that matter.
unsafe extern "C" fn translated(_: u64, block: Object) {
    let symbols = symbols();
    let call = |instruction: Object, callback: unsafe extern "C" fn(c_uint, Object), data: Object| {
        // SAFETY: a handle of the block that is being translated.
        unsafe {
            (symbols.qemu_plugin_register_vcpu_insn_exec_cb)(instruction, callback, READS_REGISTERS, data);
        }
    };
    // SAFETY: QEMU's own handle.
    for index in 0..unsafe { (symbols.qemu_plugin_tb_n_insns)(block) } {
        // SAFETY: as above; the bytes live as long as the block's translation.
        let (instruction, code, at) = unsafe {
            let instruction = (symbols.qemu_plugin_tb_get_insn)(block, index);
            let data = (symbols.qemu_plugin_insn_data)(instruction);
            let size = (symbols.qemu_plugin_insn_size)(instruction);
            (
                instruction,
                std::slice::from_raw_parts(data, size),
                (symbols.qemu_plugin_insn_vaddr)(instruction),
            )
        };
        let (is_entry, is_ignored) =
            cache::with((false, false), |cache| (cache.ignored.is_entry(at), cache.ignored.contains(at)));
        if is_entry {
            call(instruction, enters, null_mut());
        }
        match decode(code, at) {
            Instruction::Flush(flush, operand) => {
                // Translated code keeps it for ever.
                let data = Box::into_raw(Box::new(Flushing { flush, operand }));
                call(instruction, flushes, data.cast());
            }
            Instruction::WriteBackAll => call(instruction, writes_back_all, null_mut()),
            Instruction::StoreAround => {
                // SAFETY: as for `call`.
                unsafe {
                    let register = symbols.qemu_plugin_register_vcpu_mem_cb;
                    register(instruction, non_temporal_store, READS_REGISTERS, STORES, null_mut());
                }
            }
            Instruction::Fence if FENCES_MATTER.load(Relaxed) => call(instruction, fences, null_mut()),
            Instruction::Return if is_ignored => call(instruction, leaves, null_mut()),
            Instruction::Fence | Instruction::Return | Instruction::Other => {}
        }
    }
}

/// Whether a flush of the CPU belongs to a function whose flushes are ignored.
fn is_ignored(cpu: &Cpu) -> bool {
    let stack = cpu.register(STACK_POINTER);
    cache::with(false, |cache| {
        let ignored = cache.ignored.is_active(stack, |at| cpu.read(at));
        cache.ignored.flushes += u64::from(ignored);
        ignored
    })
}

// The address in translated code that the call came from is on the stack: a fault there is one of its instruction.
std::arch::global_asm!(
    ".globl i915_vm_flushes",
    ".hidden i915_vm_flushes",
    "i915_vm_flushes:",
    "mov rdx, [rsp]",
    "jmp {flush}",
    flush = sym flush,
);

unsafe extern "C" {
    #[link_name = "i915_vm_flushes"]
    fn flushes(cpu: c_uint, data: Object);
}

unsafe extern "C" fn flush(_: c_uint, data: Object, from: usize) {
    let Some(cpu) = cpu() else {
        return;
    };
    // SAFETY: what `translated` left there.
    let Flushing { flush, operand } = unsafe { &*data.cast::<Flushing>() };
    let address = effective_address(cpu, operand);
    if cpu.is_user() && cpu.walk(address).is_none() {
        // QEMU's flush does not fault; the CPU's faults like a load, and the kernel may map the page.
        // SAFETY: `from` is in translated code. It may leave with longjmp: there is nothing to drop here.
        unsafe { (symbols().cpu_ldub_data_ra)(cpu.state(), address, from) };
    }
    if let Some(mapping) = cpu.walk(address)
        && cache::holds(mapping.address)
        && !is_ignored(cpu)
    {
        cache::with((), |cache| cache.flush(mapping.address, flush));
    }
}

fn effective_address(cpu: &Cpu, operand: &Operand) -> u64 {
    let base = operand.base.map_or(0, |base| cpu.register(base));
    let index = operand.index.map_or(0, |(index, scale)| cpu.register(index) << scale);
    let offset = operand.displacement.wrapping_add(base).wrapping_add(index);
    let offset = if operand.short { offset & 0xffff_ffff } else { offset };
    offset.wrapping_add(operand.segment.map_or(0, |segment| cpu.segment_base(segment)))
}

unsafe extern "C" fn writes_back_all(_: c_uint, _: Object) {
    if cpu().is_some_and(|cpu| !is_ignored(cpu)) {
        cache::with((), |cache| cache.empty());
    }
}

unsafe extern "C" fn fences(_: c_uint, _: Object) {
    cache::with((), |cache| cache.fence());
}

/// A function whose flushes are ignored is entered: its return address is on top of the stack.
unsafe extern "C" fn enters(_: c_uint, _: Object) {
    let Some(cpu) = cpu() else {
        return;
    };
    let stack = cpu.register(STACK_POINTER);
    if let Some(returns_to) = cpu.read(stack) {
        cache::with((), |cache| cache.ignored.enter(stack, returns_to));
    }
}

unsafe extern "C" fn leaves(_: c_uint, _: Object) {
    let Some(cpu) = cpu() else {
        return;
    };
    let stack = cpu.register(STACK_POINTER);
    cache::with((), |cache| cache.ignored.leave(stack));
}

/// A non-temporal store was done, to QEMU's RAM or through a window.
unsafe extern "C" fn non_temporal_store(_: c_uint, information: u32, address: u64, _: Object) {
    let size = 1 << (information & 7);
    if let Some(mapping) = cpu().and_then(|cpu| cpu.walk(address))
        && mapping.kind == Kind::WriteBack
        && cache::holds(mapping.address)
    {
        cache::with((), |cache| cache.store_non_temporal(mapping.address, size));
    }
}
