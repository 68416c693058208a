//! Instructions on registers between traps: registers and flags as without traps, fewer signals.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod libraries;

use std::fmt::Write;
use std::sync::atomic::Ordering::SeqCst;

use libraries::assembly::*;
use libraries::*;

const FLUSH: &str = "clflush [r14]\nlea r13, [r14]\nlea r14, [r14+64]\nlea r15, [r15+1]\n";

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
    let count = |name| signals(libc::SIGTRAP, || assert_eq!(outputs(&library, name, 1)[1], 0));
    match (count("turns"), count("turns_with_load"), count("stack")) {
        // At most 64 flushes by one signal, so that others wait less.
        (Some(few), Some(many), Some(stack)) => assert_eq!((few, many, stack), (4, 200, 2)),
        _ => println!("1 test skipped: ptrace(2) is forbidden"),
    }
    gem_coherency_trap::remove().unwrap();
}
