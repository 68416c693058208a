//! Functions whose flushes are ignored.

use super::cache::Ignored;

/// A stack pointer within a kernel stack.
const STACK: u64 = 0xffff_c900_0001_0000 + 0x3000;

fn ignored() -> Ignored {
    let mut ignored = Ignored::default();
    ignored.add("clflush_object ffffffffc0001000 ffffffffc0001200").unwrap();
    ignored
}

#[test]
fn a_function_lasts_from_its_entry_to_its_return() {
    let mut ignored = ignored();
    let words = |_| Some(0x1234);
    assert!(ignored.is_entry(0xffff_ffff_c000_1000) && !ignored.is_entry(0xffff_ffff_c000_1001));
    assert!(ignored.contains(0xffff_ffff_c000_11ff) && !ignored.contains(0xffff_ffff_c000_1200));
    assert!(!ignored.is_active(STACK - 64, words));
    ignored.enter(STACK, 0x1234);
    assert!(ignored.is_active(STACK - 64, words));
    // Behind its frame there is its caller; other stacks are other tasks.
    assert!(!ignored.is_active(STACK, words) && !ignored.is_active(STACK + 8, words));
    assert!(!ignored.is_active(STACK - 0x4000, words));
    ignored.leave(STACK);
    assert!(!ignored.is_active(STACK - 64, words));
}

#[test]
fn a_frame_without_its_return_address_is_gone() {
    let mut ignored = ignored();
    ignored.enter(STACK, 0x1234);
    assert!(!ignored.is_active(STACK - 64, |_| Some(0x4321)));
    assert!(!ignored.is_active(STACK - 64, |_| None));
}

#[test]
fn a_function_may_run_within_itself_and_on_several_stacks() {
    let mut ignored = ignored();
    let words = |_| Some(0x1234);
    ignored.enter(STACK, 0x1234);
    ignored.enter(STACK - 256, 0x1234);
    ignored.enter(STACK + 0x4000, 0x1234);
    ignored.leave(STACK - 256);
    assert!(ignored.is_active(STACK - 64, words));
    ignored.leave(STACK);
    assert!(!ignored.is_active(STACK - 64, words) && ignored.is_active(STACK + 0x4000 - 64, words));
}

#[test]
fn a_function_is_named_with_its_addresses() {
    let mut ignored = Ignored::default();
    for (text, part) in
        [("f", "'f'"), ("f 1000", "'f 1000'"), ("f 1000 2000 3", "'f 1000 2000 3'"), ("f x 2", "'x'")]
    {
        assert!(ignored.add(text).unwrap_err().contains(part), "{text}");
    }
    assert_eq!(ignored.report(), None);
}
