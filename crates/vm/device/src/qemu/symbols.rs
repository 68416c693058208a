//! Functions of QEMU that only a machine with a cache needs. They are looked up when they are needed, so that any QEMU
//! runs a machine without one.

use super::fatal;
use super::ffi::Object;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// A plugin's callback for an instruction: the CPU's number, and its own pointer.
pub type OnInstruction = unsafe extern "C" fn(c_uint, Object);
/// The same for a memory access: with a description of it, and its address.
pub type OnAccess = unsafe extern "C" fn(c_uint, u32, u64, Object);
/// `TCGCPUOps.tlb_fill`.
pub type TlbFill = unsafe extern "C" fn(Object, u64, c_int, c_int, c_int, bool, usize) -> bool;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

macro_rules! symbols {
    ($($name:ident: $type:ty;)*) => {
        pub struct Symbols {
            $(pub $name: $type,)*
        }

        impl Symbols {
            fn find() -> Self {
                // SAFETY: each type is that of QEMU's (and GLib's) function of this name.
                unsafe { Self { $($name: std::mem::transmute::<*mut c_void, $type>(find(concat!(stringify!($name), "\0"))),)* } }
            }
        }
    };
}

symbols! {
    get_system_memory: unsafe extern "C" fn() -> Object;
    get_system_io: unsafe extern "C" fn() -> Object;
    qemu_get_cpu: unsafe extern "C" fn(c_int) -> Object;
    cpu_physical_memory_map: unsafe extern "C" fn(u64, *mut u64, bool) -> *mut u8;
    tlb_set_page_with_attrs: unsafe extern "C" fn(Object, u64, u64, u32, c_int, c_int, u64);
    tlb_flush: unsafe extern "C" fn(Object);
    tb_flush: unsafe extern "C" fn(Object);
    x86_cpu_tlb_fill: TlbFill;
    x86_cpu_gdb_read_register: unsafe extern "C" fn(Object, Object, c_int) -> c_int;
    cpu_ldub_data_ra: unsafe extern "C" fn(Object, u64, usize) -> u32;
    g_byte_array_new: unsafe extern "C" fn() -> *mut ByteArray;
    g_byte_array_unref: unsafe extern "C" fn(*mut ByteArray);
    qemu_plugin_register_vcpu_tb_trans_cb: unsafe extern "C" fn(u64, unsafe extern "C" fn(u64, Object));
    qemu_plugin_register_atexit_cb: unsafe extern "C" fn(u64, unsafe extern "C" fn(u64, Object), Object);
    qemu_plugin_register_vcpu_insn_exec_cb: unsafe extern "C" fn(Object, OnInstruction, c_int, Object);
    qemu_plugin_register_vcpu_mem_cb: unsafe extern "C" fn(Object, OnAccess, c_int, c_int, Object);
    qemu_plugin_tb_n_insns: unsafe extern "C" fn(Object) -> usize;
    qemu_plugin_tb_get_insn: unsafe extern "C" fn(Object, usize) -> Object;
    qemu_plugin_insn_data: unsafe extern "C" fn(Object) -> *const u8;
    qemu_plugin_insn_size: unsafe extern "C" fn(Object) -> usize;
    qemu_plugin_insn_vaddr: unsafe extern "C" fn(Object) -> u64;
}

/// GLib's `GByteArray`.
#[repr(C)]
pub struct ByteArray {
    pub data: *const u8,
    pub length: c_uint,
}

/// Finds a function by its name, which ends with a zero; ends the process if there is none.
fn find(name: &str) -> *mut c_void {
    let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else {
        fatal("a symbol's name without an end")
    };
    // SAFETY: null is RTLD_DEFAULT: the program and its libraries.
    let found = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) };
    if found.is_null() {
        fatal(&format!("--cache: this QEMU has no function '{}'", name.to_string_lossy()));
    }
    found
}

/// The functions.
pub fn symbols() -> &'static Symbols {
    static SYMBOLS: OnceLock<Symbols> = OnceLock::new();
    SYMBOLS.get_or_init(Symbols::find)
}
