//! Moves that a cache may make at any time, made at random: dirty lines are written back, lines are evicted, absent ones are
//! filled, and what waits takes effect. The seed fixes the choices, not the moments: the machine's time is the host's.

use super::late::Waiting;
use super::lines::{LINE, Lines, PAGE, Ram};

/// How many pages are remembered, and how many lines are dealt with each time.
const RECENT: usize = 256;
const LINES: u64 = 8;
/// Buffers of a CPU: more than so many flushes and stores do not wait.
const BUFFERS: usize = 12;
/// The shortest and the longest time from one intervention to the next, in nanoseconds.
const SOONEST_NS: u64 = 20_000;
const LATEST_NS: u64 = 400_000;

pub struct Adversary {
    state: u64,
    /// Pages that a device accessed or that were flushed.
    recent: [u64; RECENT],
    next: usize,
    pub interventions: u64,
}

impl Adversary {
    pub fn new(seed: u64) -> Self {
        Self { state: seed, recent: [0; RECENT], next: 0, interventions: 0 }
    }

    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Remembers the page of an address.
    pub fn notice(&mut self, at: u64) {
        let page = at & !(PAGE - 1);
        let last = (self.next + RECENT - 1) % RECENT;
        if self.recent[last] != page {
            self.recent[self.next] = page;
            self.next = (self.next + 1) % RECENT;
        }
    }

    /// Keeps to what a CPU has buffers for.
    pub fn limit<R: Ram>(&mut self, waiting: &mut Waiting, lines: &mut Lines<R>) {
        while waiting.len() > BUFFERS {
            let index = self.random() as usize % waiting.len();
            waiting.drain_one(lines, index);
        }
    }

    /// Intervenes, and returns after how many nanoseconds to do so again.
    pub fn intervene<R: Ram>(&mut self, waiting: &mut Waiting, lines: &mut Lines<R>) -> u64 {
        self.interventions += 1;
        if waiting.len() > 0 {
            let index = self.random() as usize % waiting.len();
            if !waiting.line(index).is_some_and(|line| lines.may_be_non_temporal(line)) {
                waiting.drain_one(lines, index);
            }
        }
        for _ in 0..self.random() % LINES {
            let page = self.recent[self.random() as usize % RECENT];
            let line = page + self.random() % (PAGE / LINE) * LINE;
            if !lines.holds(line) || lines.may_be_non_temporal(line) {
                continue;
            }
            match self.random() % 3 {
                0 => lines.write_back(line),
                1 => lines.evict(line),
                _ => lines.fill(line),
            }
        }
        SOONEST_NS + self.random() % (LATEST_NS - SOONEST_NS)
    }
}
