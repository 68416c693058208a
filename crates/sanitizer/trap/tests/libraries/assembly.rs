//! Functions of random instructions, in assembly.

use std::fmt::Write;

/// General registers but RSP and those that have a task: RDI has the outputs, R13 the address of the last flush, R14 the next
/// one's, R15 the number of flushes.
pub const FREE: [&str; 11] = ["rax", "rcx", "rdx", "rbx", "rbp", "rsi", "r8", "r9", "r10", "r11", "r12"];
pub const FREE_NARROW: [&str; 11] =
    ["eax", "ecx", "edx", "ebx", "ebp", "esi", "r8d", "r9d", "r10d", "r11d", "r12d"];
pub const ALL: [&str; 14] =
    ["rax", "rcx", "rdx", "rbx", "rbp", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];
pub const CONDITIONS: [&str; 16] =
    ["o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"];
/// Values at which flags change.
pub const CONSTANTS: [i32; 8] = [0, 1, -1, 64, 127, -128, i32::MAX, i32::MIN];

/// Numbers that look random (splitmix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.next() as usize % all.len()]
    }
}

/// An instruction on registers.
pub fn step(numbers: &mut Numbers) -> String {
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

/// A function that loads its registers from RDI on, sets the flags by two of them, runs `body`, and stores registers and flags
/// to RSI on.
pub fn function(source: &mut String, name: &str, body: &str) {
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

pub const HEAD: &str = ".intel_syntax noprefix\n.text\n";
pub const TAIL: &str = ".section .note.GNU-stack,\"\"\n";

/// Runs `work` in a child process, and returns the number of a signal that it gets; `None` where ptrace(2) is forbidden.
pub fn signals(number: i32, work: impl FnOnce()) -> Option<usize> {
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
        let (mut status, mut count) = (0, 0);
        loop {
            assert_eq!(libc::waitpid(process, &raw mut status, 0), process);
            if !libc::WIFSTOPPED(status) {
                break;
            }
            let signal = libc::WSTOPSIG(status);
            count += usize::from(signal == number);
            libc::ptrace(libc::PTRACE_CONT, process, 0, signal);
        }
        assert!(libc::WIFEXITED(status), "status {status}");
        (libc::WEXITSTATUS(status) == 0).then_some(count)
    }
}
