//! Call stacks through signal handlers and functions without frame pointers or unwind tables.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod libraries;

use std::sync::atomic::Ordering::SeqCst;

use libraries::*;

const NESTED: &str = r#"
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
void *expected[64];
int depth;
__attribute__((noinline)) int leaf(char *target) {
    __asm__ volatile ("clflush %0" : "+m" (*target));
    depth = backtrace(expected, 64);
    return 1;
}
__attribute__((noinline)) int middle(char *target, int size) {
    volatile char space[size];
    memset((char *)space, 1, size);
    return leaf(target) + space[size - 1];
}
__attribute__((noinline)) int outer(char *target, int size) {
    volatile char space[300];
    space[0] = 1;
    return middle(target, size) + space[0];
}
static char *kept;
void handler(int signal) { leaf(kept); (void)signal; }
__attribute__((noinline)) int raises(char *target) {
    kept = target;
    signal(SIGUSR2, handler);
    raise(SIGUSR2);
    return 1;
}
/* Without an unwind entry, and a caller of leaf. */
int no_table(char *target);
__asm__(".text\n.globl no_table\n.type no_table, @function\nno_table:\n"
        "sub $40, %rsp\ncall leaf\nadd $40, %rsp\nret\n.size no_table, .-no_table\n");
/* A call is the last instruction of its function: the return address is in the next one, whose frame is another. */
int ends_in_call(char *target);
__asm__(".text\n.globl ends_in_call\n.type ends_in_call, @function\nends_in_call:\n"
        ".cfi_startproc\nsub $40, %rsp\n.cfi_adjust_cfa_offset 40\ncall escapes\n.cfi_endproc\n.size ends_in_call, .-ends_in_call\n"
        ".globl after\n.type after, @function\nafter:\n.cfi_startproc\nnop\nret\n.cfi_endproc\n.size after, .-after\n"
        ".globl escapes\n.type escapes, @function\nescapes:\n.cfi_startproc\nclflush (%rdi)\n"
        "add $48, %rsp\n.cfi_adjust_cfa_offset -48\nret\n.cfi_endproc\n.size escapes, .-escapes\n");
__attribute__((noinline)) int calls_ends_in_call(char *target) {
    return ends_in_call(target) + 1;
}
__attribute__((noinline)) int calls_no_table(char *target) {
    return no_table(target) + 1;
}
"#;

/// Names of the recorded frames, until one that is not the library's.
fn names() -> Vec<String> {
    frames().iter().enumerate().map(|(index, at)| name(if index == 0 { *at } else { at - 1 })).collect()
}

/// The call stack as backtrace(3) finds it, in the place of the flush.
fn expected(library: &Library) -> Vec<usize> {
    // SAFETY: the library has these variables.
    unsafe {
        let depth = std::ptr::with_exposed_provenance::<i32>(library.symbol("depth")).read();
        let first = std::ptr::with_exposed_provenance::<usize>(library.symbol("expected"));
        std::slice::from_raw_parts(first, depth as usize).to_vec()
    }
}

#[test]
fn callers_are_found() {
    let _alone = alone();
    let flags = ["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"];
    let library = Library::open(&compile("nested", "c", NESTED, &flags));
    install();
    let target = [0_u64; 8];
    let at = target.as_ptr().expose_provenance();
    let before = COUNT.load(SeqCst);

    library.call("outer", [at, 100, 0]);
    assert_eq!(frames()[0], SITE.load(SeqCst));
    assert_eq!(names()[..3], ["leaf", "middle", "outer"]);
    // The test's own functions, up to the thread's start.
    assert!(frames().len() > 6);
    assert_eq!(frames()[1..], expected(&library)[1..]);

    library.call("raises", [at, 0, 0]);
    let names_here = names();
    assert_eq!(names_here[..2], ["leaf", "handler"]);
    let raised = names_here.iter().position(|name| name == "raises").expect("the interrupted function");
    // The return from the handler, and raise(3) with its helpers.
    assert!((3..8).contains(&raised), "{names_here:?}");
    assert_eq!(frames()[1..], expected(&library)[1..]);

    library.call("calls_no_table", [at, 0, 0]);
    assert_eq!(names()[..3], ["leaf", "no_table", "calls_no_table"]);

    library.call("calls_ends_in_call", [at, 0, 0]);
    assert_eq!(names()[..3], ["escapes", "ends_in_call", "calls_ends_in_call"]);
    assert_eq!(COUNT.load(SeqCst), before + 4);
    assert_eq!(DIFFERENT.load(SeqCst), 0);
}

/// The same function at the same depth of the stack, called by one function or another, near or far.
const ALIKE: &str = r#"
__attribute__((noinline)) int flush(char *target) { __asm__ volatile ("clflush %0" : "+m" (*target)); return 1; }
__attribute__((noinline)) int near(char *target) { return flush(target) + 1; }
__attribute__((noinline)) int first(char *target) { return near(target) + 1; }
__attribute__((noinline)) int second(char *target) { return near(target) + 2; }
__attribute__((noinline)) int outer(char *target, int which) {
    return (which ? first(target) : second(target)) + 1;
}
__attribute__((noinline)) int loop(char *target) {
    int sum = 0;
    for (int n = 0; n < 100; n++) { sum += near(target); sum += outer(target, n % 3); }
    return sum;
}
"#;

#[test]
fn nearest_callers_are_those_of_this_call() {
    let _alone = alone();
    let flags = ["-O2", "-fno-optimize-sibling-calls", "-fno-inline"];
    let library = Library::open(&compile("alike", "c", ALIKE, &flags));
    install();
    let target = [0_u64; 8];
    let before = COUNT.load(SeqCst);
    for name in ["loop", "near", "first", "second", "loop"] {
        library.call(name, [target.as_ptr().expose_provenance(), 0, 0]);
    }
    assert_eq!((COUNT.load(SeqCst) - before, DIFFERENT.load(SeqCst)), (403, 0));
}

#[test]
fn few_frames_are_enough() {
    let _alone = alone();
    install();
    // SAFETY: the frame is this thread's, of getcontext(3); it has the same form as a handler's.
    unsafe {
        let mut frame: libc::ucontext_t = std::mem::zeroed();
        assert_eq!(libc::getcontext(&raw mut frame), 0);
        let frame = (&raw mut frame).cast();
        let mut one = [0];
        assert_eq!(gem_coherency_trap::callers(frame, &mut []), 0);
        assert_eq!(gem_coherency_trap::callers(frame, &mut one), 1);
        let mut many = [0; 64];
        let depth = gem_coherency_trap::callers(frame, &mut many);
        assert!((3..64).contains(&depth), "{depth}");
        assert_eq!(many[0], one[0]);
        assert!(many[depth..].iter().all(|frame| *frame == 0));
    }
}

#[test]
fn a_stack_that_is_not_readable_ends_the_walk() {
    let _alone = alone();
    install();
    // SAFETY: zeroes are a frame.
    unsafe {
        let mut frame: libc::ucontext_t = std::mem::zeroed();
        for stack in [0_i64, 8, 0x7fff_ffff_f000, -8, 12345] {
            frame.uc_mcontext.gregs[libc::REG_RSP as usize] = stack;
            frame.uc_mcontext.gregs[libc::REG_RBP as usize] = stack;
            frame.uc_mcontext.gregs[libc::REG_RIP as usize] = callers_are_found as *const () as i64 + 1;
            let mut frames = [0; 8];
            assert_eq!(gem_coherency_trap::callers((&raw mut frame).cast(), &mut frames), 1, "{stack:#x}");
        }
    }
}
