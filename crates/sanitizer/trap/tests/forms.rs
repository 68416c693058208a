//! Memory operands against LEA's addresses; non-temporal stores against the unpatched instruction's bytes.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod libraries;

use std::arch::is_x86_feature_detected as has;
use std::fmt::Write;
use std::sync::atomic::Ordering::SeqCst;

use gem_coherency_trap::Kind;
use libraries::*;

/// Operands without a segment, as GNU as writes them. `local` is in the library's own data.
const OPERANDS: &[&str] = &[
    "[rax]",
    "[rcx]",
    "[rdx]",
    "[rbx]",
    "[rsp]",
    "[rbp]",
    "[rsi]",
    "[rdi]",
    "[r8]",
    "[r9]",
    "[r10]",
    "[r11]",
    "[r12]",
    "[r13]",
    "[r14]",
    "[r15]",
    "[rax-1]",
    "[rsp+8]",
    "[rbp-128]",
    "[r12+127]",
    "[r13+0x12345678]",
    "[rdi-0x7fffffff]",
    "[rsp+0x1000]",
    "[rax+rcx]",
    "[rbx+rax*2]",
    "[rsp+rbp*8]",
    "[rbp+rbp*1]",
    "[r13+rcx*8-4]",
    "[r13+r13*4]",
    "[r12+r12*2+0x7f]",
    "[rax+r12*8-0x80]",
    "[r9+rdi*4+0x1234567]",
    "[rcx*8]",
    "[r15*4+16]",
    "[rbp*2-0x44]",
    "[rip+local]",
    "[rip+local+70]",
    "[0x12345678]",
    "[-0x1000]",
    "[eax]",
    "[r8d]",
    "[ebx+ecx*4]",
    "[r13d+r14d*8-4]",
    "[esp+8]",
    "[ebp+0x7fffffff]",
    "[r12d]",
    "[eip+local]",
];

const FLUSHES: [(&str, Kind); 3] =
    [("clflush", Kind::Flush), ("clflushopt", Kind::FlushOpt), ("clwb", Kind::WriteBack)];

/// A function that loads the general registers from its first argument, flushes `operand`, and returns what LEA computes.
fn flush_function(source: &mut String, name: &str, flush: &str, segment: &str, operand: &str) {
    function(source, name, |source| {
        for (index, register) in REGISTERS.iter().enumerate() {
            writeln!(source, "mov {register}, [rdi+{}]", index * 8).unwrap();
        }
        writeln!(source, "mov rdi, [rdi+{}]", REGISTERS.len() * 8).unwrap();
        writeln!(source, "{flush} {segment}{operand}\nlea rax, {operand}").unwrap();
    });
}

/// All but RSP, which is the stack, and RDI, which comes last.
const REGISTERS: [&str; 14] =
    ["rax", "rcx", "rdx", "rbx", "rbp", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

/// A function that saves the registers that it must.
fn function(source: &mut String, name: &str, body: impl FnOnce(&mut String)) {
    writeln!(source, ".globl {name}\n.type {name}, @function\n{name}:\n.cfi_startproc").unwrap();
    let saved = ["rbx", "rbp", "r12", "r13", "r14", "r15"];
    for register in saved {
        writeln!(source, "push {register}\n.cfi_adjust_cfa_offset 8").unwrap();
    }
    body(source);
    for register in saved.iter().rev() {
        writeln!(source, "pop {register}\n.cfi_adjust_cfa_offset -8").unwrap();
    }
    writeln!(source, "ret\n.cfi_endproc\n.size {name}, .-{name}").unwrap();
}

const DATA: &str = ".section .note.GNU-stack,\"\"\n.bss\nlocal: .skip 256\n";

#[test]
fn addresses_are_those_of_lea() {
    let _alone = alone();
    PERFORM.store(false, SeqCst);
    let mut source = ".intel_syntax noprefix\n.text\n".to_owned();
    let segments = [("", None), ("ds:", None), ("fs:", Some(0x1003)), ("gs:", Some(0x1004))];
    let mut cases = Vec::new();
    for (flush, kind) in FLUSHES {
        for (segment, base) in segments {
            for operand in OPERANDS {
                let name = format!("flush_{}", cases.len());
                flush_function(&mut source, &name, flush, segment, operand);
                cases.push((name, kind, base, format!("{flush} {segment}{operand}")));
            }
        }
    }
    source += DATA;
    let library = Library::open(&compile("forms", "s", &source, &[]));
    // Other than the base of FS, that of GS is 0 in programs: 0x1001 is ARCH_SET_GS.
    // SAFETY: nothing in a 64-bit program uses GS.
    assert_eq!(unsafe { libc::syscall(libc::SYS_arch_prctl, 0x1001, 0x1_2345_6000_usize) }, 0);
    let report = install();
    assert!(report.trapped >= cases.len(), "{report:?}");
    let registers: Vec<usize> =
        (1..=15_usize).map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    for (name, kind, base, text) in &cases {
        let before = COUNT.load(SeqCst);
        let lea = library.call(name, [registers.as_ptr().expose_provenance(), 0, 0]);
        let base = base.map_or(0, |which: usize| {
            let mut base = 0_usize;
            // SAFETY: the call writes the base.
            assert_eq!(unsafe { libc::syscall(libc::SYS_arch_prctl, which, &raw mut base) }, 0);
            assert_ne!(base, 0);
            base
        });
        assert_eq!(COUNT.load(SeqCst), before + 1, "{text} is not trapped");
        assert_eq!(ADDRESS.load(SeqCst), lea.wrapping_add(base), "{text}");
        assert_eq!(KIND.load(SeqCst), number(*kind), "{text}");
        assert_eq!(bytes(), [], "{text}");
        let site = SITE.load(SeqCst);
        assert!(gem_coherency_trap::is_ours(site) && !gem_coherency_trap::is_ours(site + 1), "{text}");
    }
    // The twin: without traps the addresses, which are not mapped, would fault; the function itself counts nothing.
    gem_coherency_trap::remove().unwrap();
    let before = COUNT.load(SeqCst);
    let index = OPERANDS.iter().position(|operand| *operand == "[rip+local]").unwrap();
    library.call(&format!("flush_{index}"), [registers.as_ptr().expose_provenance(), 0, 0]);
    assert_eq!(COUNT.load(SeqCst), before, "an instruction that was put back is still trapped");
}

/// Stores: text with the destination RSI, bytes, and the level of vector registers: 0, 128, 256 or 512 bits.
fn stores() -> Vec<(String, usize, u16)> {
    let mut stores = Vec::new();
    for register in ["eax", "ebp", "r9d", "r15d"] {
        stores.push((format!("movnti [rsi], {register}"), 4, 0));
    }
    for register in ["rax", "rdi", "r8", "r13"] {
        stores.push((format!("movnti [rsi+8], {register}"), 8, 0));
    }
    stores.push(("movnti [rsp-64], rax\nmov rax, [rsp-64]\nmov [rsi], rax".into(), 8, 0));
    for register in [0, 3, 7] {
        stores.push((format!("movntq [rsi+16], mm{register}\nemms"), 8, 128));
    }
    for store in ["movntdq", "movntps", "movntpd"] {
        for register in [0, 7, 8, 15] {
            stores.push((format!("{store} [rsi+32], xmm{register}"), 16, 128));
            stores.push((format!("v{store} [rsi+32], xmm{register}"), 16, 256));
            stores.push((format!("v{store} [rsi+64], ymm{register}"), 32, 256));
            stores.push((format!("{{vex3}} v{store} [rsi+64], ymm{register}"), 32, 256));
        }
        for register in [0, 9, 16, 31] {
            stores.push((format!("{{evex}} v{store} [rsi+32], xmm{register}"), 16, 512));
            stores.push((format!("{{evex}} v{store} [rsi+64], ymm{register}"), 32, 512));
            stores.push((format!("v{store} [rsi+128], zmm{register}"), 64, 512));
        }
    }
    stores
}

/// Memory that a store function writes: 256 bytes on a boundary of 64.
#[repr(align(64))]
struct Target([u8; 256]);

#[test]
fn stores_write_what_the_instruction_writes() {
    let _alone = alone();
    gem_coherency_trap::remove().unwrap();
    let mut source = ".intel_syntax noprefix\n.text\n".to_owned();
    let mut left_out = 0;
    let mut cases = Vec::new();
    for (text, count, level) in stores() {
        let supported = match level {
            0 | 128 => true,
            256 => has!("avx"),
            _ => has!("avx512f") && has!("avx512vl"),
        };
        if !supported {
            left_out += 1;
            continue;
        }
        let name = format!("store_{}", cases.len());
        function(&mut source, &name, |source| {
            for register in 0..8 {
                writeln!(source, "movq mm{register}, [rdi+{}]", 8 * register).unwrap();
            }
            let load = [("movdqu", "xmm", 16), ("vmovdqu", "ymm", 16), ("vmovdqu64", "zmm", 32)];
            let (load, kind, registers) = load[usize::from(level / 256)];
            for register in 0..registers {
                writeln!(source, "{load} {kind}{register}, [rdi+{}]", 64 * register).unwrap();
            }
            for (index, register) in REGISTERS.iter().enumerate().filter(|(_, register)| **register != "rsi")
            {
                writeln!(source, "mov {register}, [rdi+{}]", 8 * index).unwrap();
            }
            writeln!(source, "{text}").unwrap();
            // A library of Rust must not find the x87 registers in use, nor pay for upper halves.
            writeln!(source, "emms{}", if level > 128 { "\nvzeroupper" } else { "" }).unwrap();
        });
        cases.push((name, count, text));
    }
    println!("{left_out} tests skipped: the CPU lacks their registers");
    source += DATA;
    let library = Library::open(&compile("stores", "s", &source, &[]));
    let values: Vec<u8> =
        (0..64 * 32_usize).map(|index| (index * 167 + index / 256 * 13 + 1) as u8).collect();
    let run = |name: &str| {
        let mut target = Target([0xee; 256]);
        let (values, target_at) =
            (values.as_ptr().expose_provenance(), (&raw mut target).expose_provenance());
        library.call(name, [values, target_at, 0]);
        (target.0, target_at)
    };
    let before = COUNT.load(SeqCst);
    let plain: Vec<_> = cases.iter().map(|(name, _, _)| run(name).0).collect();
    assert_eq!(COUNT.load(SeqCst), before, "unpatched stores were trapped");
    install();
    for ((name, count, text), plain) in cases.iter().zip(plain) {
        PERFORM.store(true, SeqCst);
        let before = COUNT.load(SeqCst);
        let (performed, _) = run(name);
        assert_eq!(COUNT.load(SeqCst), before + 1, "{text} is not trapped");
        assert_eq!(performed, plain, "{text}");
        assert_eq!((KIND.load(SeqCst), bytes().len()), (number(Kind::Store), *count), "{text}");
        assert!(plain.windows(*count).any(|window| window == bytes()), "{text}: {:x?}", bytes());
        // The twin: nothing is stored if the handler says that it has done so.
        PERFORM.store(false, SeqCst);
        let (untouched, target) = run(name);
        if !text.contains("rsp") {
            assert!(untouched.iter().all(|byte| *byte == 0xee), "{text}");
            let offset = plain.windows(*count).position(|window| window == bytes()).unwrap();
            assert_eq!(ADDRESS.load(SeqCst), target + offset, "{text}");
        }
    }
}

#[test]
fn performed_flushes_and_errno() {
    let _alone = alone();
    let mut source = ".intel_syntax noprefix\n.text\n".to_owned();
    for (flush, _) in FLUSHES {
        function(&mut source, flush, |source| writeln!(source, "{flush} [rdi]").unwrap());
    }
    source += DATA;
    let library = Library::open(&compile("performed", "s", &source, &[]));
    install();
    PERFORM.store(true, SeqCst);
    let value = [1_u64; 8];
    for (flush, _) in FLUSHES {
        let before = COUNT.load(SeqCst);
        // SAFETY: errno is this thread's.
        unsafe { *libc::__errno_location() = 5 };
        library.call(flush, [value.as_ptr().expose_provenance(), 0, 0]);
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, 5, "the handler sets errno to 4711");
        assert_eq!(COUNT.load(SeqCst), before + 1);
    }
    assert_eq!(value, [1; 8]);
}

#[test]
fn fences_are_trapped_and_performed() {
    let _alone = alone();
    let mut source = ".intel_syntax noprefix\n.text\n".to_owned();
    // LFENCE orders loads: it is left alone.
    let fences = [("sfence", 1), ("mfence", 1), ("lfence", 0)];
    for (fence, _) in fences {
        function(&mut source, &format!("{fence}_alone"), |source| writeln!(source, "{fence}").unwrap());
    }
    source += DATA;
    let library = Library::open(&compile("fences", "s", &source, &[]));
    install();
    PERFORM.store(true, SeqCst);
    for (fence, count) in fences {
        let before = COUNT.load(SeqCst);
        library.call(&format!("{fence}_alone"), [0; 3]);
        assert_eq!(COUNT.load(SeqCst), before + count, "{fence}");
        if count > 0 {
            assert_eq!((KIND.load(SeqCst), bytes().len()), (number(Kind::Fence), 0), "{fence}");
        }
    }
}
