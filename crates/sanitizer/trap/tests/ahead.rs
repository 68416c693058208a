//! Instructions on registers between traps: registers and flags as without traps, fewer signals.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod libraries;

use std::fmt::Write;
use std::sync::atomic::Ordering::SeqCst;

use libraries::*;

/// General registers but RSP and those that have a task: RDI has the outputs, R13 the address of the last flush, R14 the next
/// one's, R15 the number of flushes.
const FREE: [&str; 11] = ["rax", "rcx", "rdx", "rbx", "rbp", "rsi", "r8", "r9", "r10", "r11", "r12"];
const FREE_NARROW: [&str; 11] =
    ["eax", "ecx", "edx", "ebx", "ebp", "esi", "r8d", "r9d", "r10d", "r11d", "r12d"];
const ALL: [&str; 14] =
    ["rax", "rcx", "rdx", "rbx", "rbp", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];
const CONDITIONS: [&str; 16] =
    ["o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"];
/// Values at which flags change.
const CONSTANTS: [i32; 8] = [0, 1, -1, 64, 127, -128, i32::MAX, i32::MIN];

/// Numbers that look random (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.next() as usize % all.len()]
    }
}

/// An instruction on registers.
fn step(numbers: &mut Numbers) -> String {
    let registers = if numbers.next() % 2 == 0 { FREE } else { FREE_NARROW };
    let (to, from) = (numbers.one_of(&registers), numbers.one_of(&registers));
    let constant = numbers.one_of(&CONSTANTS);
    match numbers.next() % 6 {
        0 => format!("{} {to}", numbers.one_of(&["inc", "dec"])),
        1 => format!(
            "lea {to}, [{}+{}*{}+{constant}]",
            numbers.one_of(&FREE),
            numbers.one_of(&FREE),
            1 << (numbers.next() % 4)
        ),
        2 => format!("lea {to}, fs:[{}+{constant}]", numbers.one_of(&FREE_NARROW)),
        _ => {
            let operation = numbers.one_of(&["mov", "add", "sub", "cmp", "and", "test", "or", "xor"]);
            let second = if numbers.next() % 2 == 0 { from.to_owned() } else { constant.to_string() };
            format!("{operation} {to}, {second}")
        }
    }
}

const FLUSH: &str = "clflush [r14]\nlea r13, [r14]\nlea r14, [r14+64]\nlea r15, [r15+1]\n";

/// A function that loads its registers from RDI on, sets the flags by two of them, runs `body`, and stores registers and flags
/// to RSI on.
fn function(source: &mut String, name: &str, body: &str) {
    let saved = ["rbx", "rbp", "r12", "r13", "r14", "r15"];
    writeln!(source, ".globl {name}\n.type {name}, @function\n{name}:\n.cfi_startproc").unwrap();
    for register in saved.iter().chain(&["rsi"]) {
        writeln!(source, "push {register}\n.cfi_adjust_cfa_offset 8").unwrap();
    }
    for (index, register) in ALL.iter().enumerate() {
        writeln!(source, "mov {register}, [rdi+{}]", 8 * index).unwrap();
    }
    writeln!(source, "cmp rax, rdx\n{body}\npop rdi\n.cfi_adjust_cfa_offset -8").unwrap();
    for (index, register) in ALL.iter().enumerate() {
        writeln!(source, "mov [rdi+{}], {register}", 8 * index).unwrap();
    }
    writeln!(source, "pushfq\npop [rdi+{}]", 8 * ALL.len()).unwrap();
    for register in saved.iter().rev() {
        writeln!(source, "pop {register}\n.cfi_adjust_cfa_offset -8").unwrap();
    }
    writeln!(source, "ret\n.cfi_endproc\n.size {name}, .-{name}").unwrap();
}

/// Random instructions between flushes, with jumps over some of them. R14 counts bytes, R15 flushes.
fn random_body(numbers: &mut Numbers) -> String {
    let mut body = FLUSH.to_owned();
    for place in 0..6 {
        for _ in 0..numbers.next() % 4 {
            writeln!(body, "{}", step(numbers)).unwrap();
        }
        match numbers.next() % 4 {
            0 => body.push_str(FLUSH),
            1 => write!(body, "jmp 9{place}f\nud2\n9{place}:\nnop\nendbr64\n").unwrap(),
            _ => {
                let (condition, skipped) = (numbers.one_of(&CONDITIONS), step(numbers));
                write!(body, "j{condition} 9{place}f\n{skipped}\n{FLUSH}9{place}:\nnop word ptr [rax+rax]\n")
                    .unwrap();
            }
        }
    }
    body + "xor edi, edi"
}

const LOOP: &str = "mov ecx, 200\n1:\nclflush [r14]\nadd r14, 64\ndec ecx\njne 1b";
/// The same with a load in each turn, which the handler leaves to the CPU.
const LOOP_WITH_LOAD: &str = "mov ecx, 200\n1:\nclflush [r14]\nadd r14, 64\nmov rax, [rsp]\ndec ecx\njne 1b";

/// A flush and a store to memory that the stack gets between them, where the handler's own frame is.
const STACK: &str = "clflush [r14]\nsub rsp, 4096\nmovnti [rsp], rax\nadd rsp, 4096\nxor ecx, ecx";

const HEAD: &str = ".intel_syntax noprefix\n.text\n";
const TAIL: &str = ".section .note.GNU-stack,\"\"\n";

/// Memory whose lines are flushed.
#[repr(align(64))]
struct Lines {
    _bytes: [u8; 64 * 256],
}

static LINES: Lines = Lines { _bytes: [0; 64 * 256] };

/// Calls a function of the library; returns its registers and its flags.
fn outputs(library: &Library, name: &str, seed: u64) -> [u64; ALL.len() + 1] {
    let mut numbers = Numbers(seed);
    let mut inputs = [0; ALL.len()].map(|_: u64| {
        let value = numbers.next();
        if value % 2 == 0 { value } else { numbers.one_of(&CONSTANTS) as u64 }
    });
    inputs[12] = (&raw const LINES).expose_provenance() as u64;
    inputs[13] = 0;
    let mut outputs = [0; ALL.len() + 1];
    library.call(name, [inputs.as_ptr().expose_provenance(), outputs.as_mut_ptr().expose_provenance(), 0]);
    outputs
}

#[test]
fn registers_and_flags_are_those_of_the_cpu() {
    const FUNCTIONS: u64 = 400;
    let _alone = alone();
    gem_coherency_trap::remove().unwrap_or_default();
    PERFORM.store(false, SeqCst);
    let mut source = HEAD.to_owned();
    let mut numbers = Numbers(1);
    let bodies: Vec<_> = (0..FUNCTIONS).map(|_| random_body(&mut numbers)).collect();
    for (index, body) in bodies.iter().enumerate() {
        function(&mut source, &format!("random_{index}"), body);
    }
    source += TAIL;
    let library = Library::open(&compile("ahead", "s", &source, &[]));
    let run = |index: usize, seed| outputs(&library, &format!("random_{index}"), seed);
    let (mut flushes, mut skipped) = (0, 0);
    let bare: Vec<_> = (0..bodies.len()).map(|index| [run(index, 1), run(index, 2)]).collect();
    install();
    for (index, (bare, body)) in bare.iter().zip(&bodies).enumerate() {
        for (seed, bare) in (1..).zip(bare) {
            let before = COUNT.load(SeqCst);
            assert_eq!(run(index, seed), *bare, "{body}");
            let [.., last, _, count, _] = *bare;
            assert_eq!((COUNT.load(SeqCst) - before) as u64, count, "{body}");
            assert_eq!(ADDRESS.load(SeqCst) as u64, last, "{body}");
            flushes += count;
            skipped += body.matches("clflush").count() as u64 - count;
        }
    }
    gem_coherency_trap::remove().unwrap();
    assert!(flushes > 2 * FUNCTIONS && skipped > FUNCTIONS, "{flushes} flushes, {skipped} skipped");
}

/// Runs `work` in a child process, and returns the number of its SIGTRAPs; `None` where ptrace(2) is forbidden.
fn traps(work: impl FnOnce()) -> Option<usize> {
    // SAFETY: the child runs the test's functions, which do not allocate, and ends; the parent traces it.
    unsafe {
        let process = libc::fork();
        if process == 0 {
            if libc::ptrace(libc::PTRACE_TRACEME) != 0 {
                libc::_exit(1);
            }
            work();
            libc::_exit(0);
        }
        let (mut status, mut traps) = (0, 0);
        loop {
            assert_eq!(libc::waitpid(process, &raw mut status, 0), process);
            if !libc::WIFSTOPPED(status) {
                break;
            }
            let signal = libc::WSTOPSIG(status);
            traps += usize::from(signal == libc::SIGTRAP);
            libc::ptrace(libc::PTRACE_CONT, process, 0, signal);
        }
        assert!(libc::WIFEXITED(status), "status {status}");
        (libc::WEXITSTATUS(status) == 0).then_some(traps)
    }
}

#[test]
fn a_loop_takes_one_signal_for_many_flushes() {
    let _alone = alone();
    PERFORM.store(false, SeqCst);
    let mut source = HEAD.to_owned();
    function(&mut source, "turns", LOOP);
    function(&mut source, "turns_with_load", LOOP_WITH_LOAD);
    function(&mut source, "stack", STACK);
    source += TAIL;
    let library = Library::open(&compile("loops", "s", &source, &[]));
    install();
    let before = COUNT.load(SeqCst);
    outputs(&library, "turns", 1);
    assert_eq!(COUNT.load(SeqCst) - before, 200);
    let count = |name| traps(|| assert_eq!(outputs(&library, name, 1)[1], 0));
    match (count("turns"), count("turns_with_load"), count("stack")) {
        // At most 64 flushes by one signal, so that others wait less.
        (Some(few), Some(many), Some(stack)) => assert_eq!((few, many, stack), (4, 200, 2)),
        _ => println!("1 test skipped: ptrace(2) is forbidden"),
    }
    gem_coherency_trap::remove().unwrap();
}
