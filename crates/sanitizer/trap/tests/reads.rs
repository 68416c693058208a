//! Loads of hidden pages that the handler executes: registers, flags and vectors as without it, few signals.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod libraries;

use std::fmt::Write;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::SeqCst};

use gem_coherency_trap::watch::{self, Load, Seen};
use libraries::assembly::*;
use libraries::*;

const PAGE: usize = 4096;

/// Address of a copy of the pages at [`PAGES`].
static COPY: AtomicUsize = AtomicUsize::new(0);
static PAGES: AtomicUsize = AtomicUsize::new(0);
/// Loads with and without a place for their bytes.
static READ: AtomicUsize = AtomicUsize::new(0);
static NOT_READ: AtomicUsize = AtomicUsize::new(0);
/// Changes each byte that a load gets.
static CHANGE: AtomicU8 = AtomicU8::new(0);

fn see(load: &Load<'_>, bytes: &mut [u8]) -> Seen {
    if bytes.is_empty() {
        NOT_READ.fetch_add(1, SeqCst);
        return Seen::More(0);
    }
    assert_eq!(bytes.len(), load.length);
    READ.fetch_add(1, SeqCst);
    let from = COPY.load(SeqCst) + load.address - PAGES.load(SeqCst);
    for (place, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: the copy is as long as the pages, and stays mapped.
        let copied = unsafe { std::ptr::with_exposed_provenance::<u8>(from + place).read_volatile() };
        *byte = copied ^ CHANGE.load(SeqCst);
    }
    Seen::Read(0)
}

/// Maps two pages of random bytes that can be hidden, and a copy of them; returns their address.
fn pages() -> usize {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let mut numbers = Numbers(7);
    // SAFETY: the kernel chooses the addresses; the pages stay mapped.
    unsafe {
        let [at, copy] = [(); 2].map(|()| {
            let at = libc::mmap(std::ptr::null_mut(), 2 * PAGE, protection, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            at.cast::<u8>()
        });
        for place in 0..2 * PAGE {
            // Many equal bytes, so that comparisons have both results.
            let byte = numbers.one_of(&[0, 1, 0x7f, 0x80, 0xff, numbers.0 as u8]);
            at.add(place).write(byte);
            copy.add(place).write(byte);
        }
        COPY.store(copy.expose_provenance(), SeqCst);
        PAGES.store(at.expose_provenance(), SeqCst);
        watch::protect(at.expose_provenance(), 2 * PAGE).unwrap();
        at.expose_provenance()
    }
}

/// The vector registers that this CPU has: how many, how many bytes, and the name of the kind.
fn vectors() -> (usize, usize, &'static str) {
    if is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512bw") {
        (32, 64, "zmm")
    } else if is_x86_feature_detected!("avx2") {
        (16, 32, "ymm")
    } else {
        (16, 16, "xmm")
    }
}

/// Moves of vectors: the mnemonic, the width of the CPU's vectors that it needs, the register's kind, whether the address is aligned.
const MOVES: [(&str, usize, &str, bool); 25] = [
    ("movups", 16, "xmm", false),
    ("movaps", 16, "xmm", true),
    ("movapd", 16, "xmm", true),
    ("movdqu", 16, "xmm", false),
    ("movdqa", 16, "xmm", true),
    ("lddqu", 16, "xmm", false),
    ("movss", 16, "xmm", false),
    ("movsd", 16, "xmm", false),
    ("movd", 16, "xmm", false),
    ("movq", 16, "xmm", false),
    ("vmovups", 32, "ymm", false),
    ("vmovupd", 32, "xmm", false),
    ("vmovdqu", 32, "ymm", false),
    ("vmovdqa", 32, "ymm", true),
    ("vlddqu", 32, "ymm", false),
    ("vmovss", 32, "xmm", false),
    ("vmovsd", 32, "xmm", false),
    ("vmovd", 32, "xmm", false),
    ("vmovq", 32, "xmm", false),
    ("vmovdqu8", 64, "zmm", false),
    ("vmovdqu64", 64, "ymm", false),
    ("vmovdqu32", 64, "xmm", false),
    ("vmovdqa64", 64, "zmm", true),
    ("vmovaps", 64, "zmm", true),
    ("vmovups", 64, "zmm", false),
];

/// An instruction that loads from the pages at R14, R13 bytes on.
fn load(numbers: &mut Numbers) -> String {
    let (registers, size) = if numbers.next() % 2 == 0 { (FREE, "qword") } else { (FREE_NARROW, "dword") };
    let to = numbers.one_of(&registers);
    let (step, offset) = (numbers.next() % 4, numbers.next() as usize % (PAGE - 128));
    let place = match step {
        0 => format!("[r14+{offset}]"),
        _ => format!("[r14+r13*{}+{offset}]", 1 << step),
    };
    match numbers.next() % 8 {
        0 => format!("mov {to}, {place}"),
        1 => format!(
            "{} {to}, {} ptr {place}",
            numbers.one_of(&["movzx", "movsx"]),
            numbers.one_of(&["byte", "word"])
        ),
        2 => format!("movsxd {}, dword ptr {place}", numbers.one_of(&FREE)),
        3 => {
            format!("{} {to}, {size} ptr {place}", numbers.one_of(&["add", "sub", "cmp", "and", "or", "xor"]))
        }
        4 => {
            let second =
                if numbers.next() % 2 == 0 { to.to_owned() } else { numbers.one_of(&CONSTANTS).to_string() };
            format!("{} {size} ptr {place}, {second}", numbers.one_of(&["cmp", "test"]))
        }
        5 => {
            let (size, second) = numbers.one_of(&[
                ("byte", "al"),
                ("byte", "sil"),
                ("byte", "r9b"),
                ("word", "cx"),
                ("byte", "-128"),
                ("word", "255"),
            ]);
            format!("{} {size} ptr {place}, {second}", numbers.one_of(&["cmp", "test"]))
        }
        _ => {
            let (count, width, _) = vectors();
            let known: Vec<_> = MOVES.into_iter().filter(|(_, needs, _, _)| *needs <= width).collect();
            let (mnemonic, needs, kind, is_aligned) = numbers.one_of(&known);
            let register =
                numbers.next() as usize % if needs == 64 && mnemonic != "vmovups" { count } else { 16 };
            let place = if is_aligned { format!("[r14+{}]", offset & !63) } else { place };
            format!("{mnemonic} {kind}{register}, {place}")
        }
    }
}

/// Random loads, instructions on registers, and jumps over some of them, between moves of all vectors from RDI and to the address at RSP.
fn body(numbers: &mut Numbers) -> String {
    let (count, width, kind) = vectors();
    let (wide, mut body) = (if width == 16 { "movups" } else { "vmovups" }, String::new());
    for register in 0..count {
        writeln!(body, "{wide} {kind}{register}, [rdi+{}]", 128 + width * register).unwrap();
    }
    for place in 0..8 {
        writeln!(body, "{}", load(numbers)).unwrap();
        for _ in 0..numbers.next() % 3 {
            writeln!(body, "{}", step(numbers)).unwrap();
        }
        if numbers.next() % 2 == 0 {
            let (condition, skipped) = (numbers.one_of(&CONDITIONS), load(numbers));
            writeln!(body, "j{condition} 9{place}f\n{skipped}\n9{place}:").unwrap();
        }
    }
    body += "xchg rdi, [rsp]\n";
    for register in 0..count {
        writeln!(body, "{wide} [rdi+{}], {kind}{register}", 128 + width * register).unwrap();
    }
    body + "xchg rdi, [rsp]"
}

/// Registers, flags, and vectors after them.
type Outputs = Vec<u64>;

/// Calls a function of the library with registers and vectors of random numbers.
fn outputs(library: &Library, name: &str, seed: u64) -> Outputs {
    let mut numbers = Numbers(seed);
    let mut inputs: Vec<_> = (0..16 + 32 * 8).map(|_| numbers.next()).collect();
    inputs[11] = 8;
    inputs[12] = PAGES.load(SeqCst) as u64;
    let mut outputs = vec![0; inputs.len()];
    library.call(name, [inputs.as_ptr().expose_provenance(), outputs.as_mut_ptr().expose_provenance(), 0]);
    outputs
}

#[test]
fn registers_flags_and_vectors_are_those_of_the_cpu() {
    const FUNCTIONS: u64 = 400;
    let _alone = alone();
    let mut source = HEAD.to_owned();
    let mut numbers = Numbers(3);
    let bodies: Vec<_> = (0..FUNCTIONS).map(|_| body(&mut numbers)).collect();
    for (index, body) in bodies.iter().enumerate() {
        function(&mut source, &format!("random_{index}"), body);
    }
    source += TAIL;
    let library = Library::open(&compile("reads", "s", &source, &[]));
    install();
    let at = pages();
    watch::on_load(see);
    let run = |index: usize| outputs(&library, &format!("random_{index}"), index as u64);
    let bare: Vec<_> = (0..bodies.len()).map(run).collect();
    READ.store(0, SeqCst);
    NOT_READ.store(0, SeqCst);
    for (index, (bare, body)) in bare.iter().zip(&bodies).enumerate() {
        watch::hide(at, PAGE).unwrap();
        assert!(run(index) == *bare, "{body}");
        assert!(watch::is_hidden(at, 1));
    }
    let left_out = MOVES.iter().filter(|(_, needs, _, _)| *needs > vectors().1).count();
    println!("{left_out} tests skipped: the CPU lacks their vector moves");
    let (read, not_read) = (READ.load(SeqCst) as u64, NOT_READ.load(SeqCst) as u64);
    assert!(read > 8 * FUNCTIONS && not_read == 0, "{read} loads read, {not_read} not");
    // The twin: the bytes are the function's.
    CHANGE.store(0x11, SeqCst);
    let differs = |(index, bare): &(usize, &Outputs)| {
        watch::hide(at, PAGE).unwrap();
        run(*index) != **bare
    };
    let differ = bare.iter().enumerate().filter(differs).count() as u64;
    CHANGE.store(0, SeqCst);
    assert!(differ > FUNCTIONS / 2, "{differ} differ");
    watch::release(at, 2 * PAGE).unwrap();
    watch::forget(at, 2 * PAGE).unwrap();
}

/// Loads of 200 words, one with an instruction that is left to the CPU in each turn, and one whose bytes are compared.
const LOOPS: [(&str, &str); 3] = [
    ("sum", "mov ecx, 200\nxor eax, eax\n1:\nmov rdx, [r14]\nadd r14, 8\nadd rax, rdx\ndec ecx\njne 1b"),
    (
        "scaled",
        "mov ecx, 200\nxor eax, eax\n1:\nmov rdx, [r14]\nadd r14, 8\nimul rdx, rcx\nadd rax, rdx\ndec ecx\njne 1b",
    ),
    (
        "count",
        "mov ecx, 200\nxor eax, eax\n1:\ncmp byte ptr [r14+rcx*8], 1\njne 2f\ninc eax\n2:\ndec ecx\njne 1b",
    ),
];

/// Loads that the CPU executes: of two pages, of parts of registers, beside AH, with a store, and repeated.
const LEFT: &str = "mov rax, [r14+4092]\nmov rbp, r14\ncmp byte ptr [rbp+5], ah\nsetc dl\nmov cx, [r14]\nmov al, [r14+1]\npush qword ptr [r14+8]\npop rax\nmov rdx, rsi\n\
    lea rsi, [r14+16]\nmov rbx, rdi\nlea rdi, [rsp-64]\nmov ecx, 16\nrep movsb\nmov rdi, rbx\nmov rsi, rdx";

#[test]
fn a_loop_takes_one_signal_for_many_loads() {
    let _alone = alone();
    let mut source = HEAD.to_owned();
    for (name, body) in LOOPS.into_iter().chain([("left", LEFT)]) {
        function(&mut source, name, body);
    }
    source += TAIL;
    let library = Library::open(&compile("read_loops", "s", &source, &[]));
    install();
    let at = pages();
    watch::on_load(see);
    let names = LOOPS.map(|(name, _)| name);
    let bare = names.map(|name| outputs(&library, name, 1));
    let left = outputs(&library, "left", 1);
    watch::hide(at, 2 * PAGE).unwrap();
    for (name, bare) in names.iter().zip(&bare) {
        READ.store(0, SeqCst);
        assert_eq!(outputs(&library, name, 1), *bare, "{name}");
        assert_eq!(READ.load(SeqCst), 200, "{name}");
    }
    let faults = |name| signals(libc::SIGSEGV, || drop(outputs(&library, name, 1)));
    match names.map(faults) {
        [Some(sum), Some(scaled), Some(count)] => assert_eq!([sum, scaled, count], [4, 200, 4]),
        _ => println!("1 test skipped: ptrace(2) is forbidden"),
    }
    READ.store(0, SeqCst);
    NOT_READ.store(0, SeqCst);
    assert_eq!(outputs(&library, "left", 1), left);
    assert_eq!((READ.load(SeqCst), NOT_READ.load(SeqCst)), (0, 7));
    watch::release(at, 2 * PAGE).unwrap();
    watch::forget(at, 2 * PAGE).unwrap();
}
