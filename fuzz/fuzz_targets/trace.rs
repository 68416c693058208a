//! Any bytes as the kernel's trace: lines are events or nothing, and flushes find their calls.

#![no_main]

use gem_coherency_fuzz::watch;
use gemtool::kernel_trace::{Attribution, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| watch::nothing_lost(|| {
    let text = String::from_utf8_lossy(bytes);
    let mut attribution = Attribution::new();
    let (mut events, mut calls) = (0, Vec::new());
    for line in text.lines() {
        let Some(seen) = parse(line) else { continue };
        assert!(seen.comm.len() <= line.len());
        attribution.feed(&seen);
        events += 1;
        if events % 8 == 0 {
            calls.extend(attribution.calls());
        }
    }
    calls.extend(attribution.finish());
    // An event is one flush at most, and begins one call at most.
    let flushes: usize = calls.iter().map(|call| call.flushes.len()).sum();
    assert!(flushes <= events && calls.len() <= events + 1, "{flushes} flushes of {events} events");
}));
