//! Bytes that only look like a flush stay; libraries loaded later are found.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", feature = "symbols"))]

mod libraries;

use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::Ordering::SeqCst;

use gem_coherency_trap::scan::{Image, Search, scan};
use gem_coherency_trap::{Kind, locate, locate_in_handler, rescan, sites};
use libraries::*;

/// 0f ae 38 is CLFLUSH [RAX].
const LOOKALIKES: &str = r#"
.intel_syntax noprefix
.text
.globl immediate
.type immediate, @function
immediate:                      # the bytes in an immediate
.cfi_startproc
mov eax, 0x38ae0f
ret
.cfi_endproc
.globl wide_immediate
.type wide_immediate, @function
wide_immediate:                 # 66 0f ae 30, and 0f c3 07 of MOVNTI
.cfi_startproc
movabs rax, 0x07c30f9030ae0f66
ret
.cfi_endproc
.globl displacement
.type displacement, @function
displacement:                   # 0f ae 38 in a displacement
.cfi_startproc
lea rax, [rdi+0x38ae0f]
ret
.cfi_endproc
.globl opcode_and_modrm
.type opcode_and_modrm, @function
opcode_and_modrm:               # LFENCE and FXSAVE have the same opcode
.cfi_startproc
lfence
mov eax, 1
ret
.cfi_endproc
# Data between functions, and in the place of a function without an unwind entry.
.globl data
.type data, @object
data:
.byte 0x0f, 0xae, 0x38, 0x0f, 0xae, 0x38, 0xc3
.globl with_data
.type with_data, @function
with_data:                      # data that does not decode, inside a function
.cfi_startproc
jmp 1f
.globl inner_data
inner_data:
.byte 0x0f, 0xae, 0x38, 0x06, 0x06
1: mov eax, 7
ret
.cfi_endproc
.globl real
.type real, @function
real:
.cfi_startproc
clflush [rdi]
mov eax, 3
ret
.cfi_endproc
.section .rodata
.globl constant
constant: .byte 0x0f, 0xae, 0x38
.section .note.GNU-stack,""
"#;

#[test]
fn lookalikes_are_left_alone() {
    let _alone = alone();
    let path = compile("lookalikes", "s", LOOKALIKES, &["-Wl,-z,noseparate-code"]);
    let library = Library::open(&path);
    // The data of the file in one segment with the code, so that constants are in executable memory, too.
    let data = |name: &str, length| {
        // SAFETY: the library has these bytes.
        unsafe {
            std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(library.symbol(name)), length)
        }
        .to_vec()
    };
    install();
    let report = sites();
    let trapped: Vec<_> = report.iter().filter(|site| site.module == path).collect();
    assert_eq!(trapped.len(), 1, "{trapped:x?}");
    assert_eq!((trapped[0].address, trapped[0].kind), (library.symbol("real"), Kind::Flush));
    assert_eq!(library.call("immediate", [0; 3]), 0x38_ae0f);
    assert_eq!(library.call("wide_immediate", [0; 3]), 0x07c3_0f90_30ae_0f66);
    assert_eq!(library.call("displacement", [1, 0, 0]), 0x38_ae10);
    assert_eq!(library.call("opcode_and_modrm", [0; 3]), 1);
    assert_eq!(library.call("with_data", [0; 3]), 7);
    assert_eq!(data("data", 7), [0x0f, 0xae, 0x38, 0x0f, 0xae, 0x38, 0xc3]);
    assert_eq!(data("inner_data", 5), [0x0f, 0xae, 0x38, 6, 6]);
    assert_eq!(data("constant", 3), [0x0f, 0xae, 0x38]);
    // The twin: a search of bytes takes eight of them for flushes, the real one included.
    let file = std::fs::read(&path).unwrap();
    let lookalikes =
        file.windows(3).filter(|bytes| bytes[..2] == [0x0f, 0xae] && matches!(bytes[2] >> 3, 6 | 7));
    assert!(lookalikes.count() >= 8);
}

const LATE: &str = r#"
.intel_syntax noprefix
.text
.globl late
.type late, @function
late:
.cfi_startproc
mov eax, 5
clwb [rdi+16]
ret
.cfi_endproc
.section .note.GNU-stack,""
"#;

#[test]
fn a_library_that_is_loaded_later_is_found_by_rescan() {
    let _alone = alone();
    install();
    let path = compile("late", "s", LATE, &[]);
    // A library that is loaded twice in turn, at what is mostly the same address, is trapped twice.
    for turn in 0..3 {
        let library = Library::open(&path);
        let late = library.symbol("late");
        let target = [0_u64; 8];
        let address = target.as_ptr().expose_provenance();
        let before = COUNT.load(SeqCst);
        // The twin: before the rescan the instruction is executed, and nothing is counted.
        assert_eq!(library.call("late", [address, 0, 0]), 5);
        assert_eq!(COUNT.load(SeqCst), before, "turn {turn}");
        let report = rescan().unwrap();
        assert_eq!((report.objects, report.trapped, report.failed), (1, 1, 0), "{report:?}");
        assert_eq!(library.call("late", [address, 0, 0]), 5);
        assert_eq!(COUNT.load(SeqCst), before + 1);
        assert_eq!(ADDRESS.load(SeqCst), address + 16);
        assert_eq!(SITE.load(SeqCst), late + 5);
        // SAFETY: the structure is plain data, and dladdr fills it.
        let base = unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            assert_ne!(libc::dladdr(std::ptr::with_exposed_provenance(late), &raw mut info), 0);
            info.dli_fbase.expose_provenance()
        };
        let listed: Vec<_> = sites().into_iter().filter(|site| site.module == path).collect();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].link_address as usize, late + 5 - base);
        assert_eq!(listed[0].kind, Kind::WriteBack);
        assert_eq!(locate(late + 5), Some((path.clone(), listed[0].link_address)));
        assert_eq!(locate(address), None);
        let in_handler = locate_in_handler(late + 5).expect("the library is loaded");
        assert_eq!(in_handler, (path.as_os_str().as_bytes(), listed[0].link_address));
        assert_eq!(locate_in_handler(address), None);
        let own = locate(record as *const () as usize).expect("the test itself is loaded");
        assert_eq!(own.0, std::env::current_exe().unwrap());
        // Nothing new: nothing is searched.
        assert_eq!(rescan().unwrap(), Default::default());
        library.close();
        if turn != 1 {
            assert_eq!(rescan().unwrap().unloaded, 1);
            assert!(!sites().iter().any(|site| site.module == path));
        }
    }
}

#[test]
fn the_object_with_the_own_address_is_left_alone() {
    let _alone = alone();
    install();
    let line = [0_u64; 8];
    let before = COUNT.load(SeqCst);
    // SAFETY: the line is mapped.
    unsafe { std::arch::x86_64::_mm_clflush(line.as_ptr().cast()) };
    assert_eq!(COUNT.load(SeqCst), before);
    let own = std::env::current_exe().unwrap();
    assert!(!sites().iter().any(|site| site.module == own));
    // The twin: the search finds the flush of this test.
    let file = std::fs::read(own).unwrap();
    let image = Image::of_file(&file).expect("an ELF file");
    assert!(!scan(&image, Search::Flushes).instructions.is_empty());
}

#[test]
fn protections_are_restored() {
    let _alone = alone();
    let library = Library::open(&compile("protections", "s", &LATE.replace("late", "kept"), &[]));
    install();
    let kept = library.symbol("kept");
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let parse = |text| usize::from_str_radix(text, 16).unwrap();
        (parse(start)..parse(end)).contains(&kept)
    });
    let line = line.expect("the library is mapped");
    assert!(line.contains(" r-xp "), "{line}");
    assert!(gem_coherency_trap::is_ours(kept + 5), "the page was not patched");
}

#[test]
fn libraries_can_be_loaded_and_searched_by_many_threads() {
    let _alone = alone();
    install();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let name = format!("thread{thread}");
                let path = compile(&name, "s", &LATE.replace("late", &name), &[]);
                for _ in 0..20 {
                    let library = Library::open(&path);
                    rescan().unwrap();
                    let before = COUNT.load(SeqCst);
                    let target = [0_u64; 8];
                    library.call(&name, [target.as_ptr().expose_provenance(), 0, 0]);
                    assert!(COUNT.load(SeqCst) > before);
                    library.close();
                }
            });
        }
    });
}
