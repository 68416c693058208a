//! Flushes by a client in an object's files against those by the device.

use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use gem_coherency::cacheops::LineOp;
use gem_coherency::vocabulary::MocsClass;
use gem_coherency_sim::Place;
use gem_coherency_uapi::i915::*;
use proptest::prelude::*;

use crate::mappings::client::{Client, Mapped, load};

/// Bytes of the object: two pages.
const SIZE: u64 = 8192;

#[derive(Clone, Debug)]
enum Step {
    /// The client stores through the mapping of this number.
    Store(usize, u64, u8),
    GpuWrite(MocsClass, u64, u8),
    /// The client, or the device, flushes the lines from one to the other.
    Maintain(LineOp, u64, u64),
    /// The kernel copies bytes out, or swaps the object out.
    Pread(u64),
    SwapOut,
}

fn step() -> impl Strategy<Value = Step> {
    // Few lines, so that the steps meet: some neighbours, at both ends of a page.
    let byte = || prop_oneof![0..256_u64, 4000..4200_u64];
    let line = || prop_oneof![0..4_u64, 62..66_u64, Just(128)];
    let mocs = prop_oneof![Just(MocsClass::PageTable), Just(MocsClass::Uncached), Just(MocsClass::BypassLlc)];
    let op = prop_oneof![Just(LineOp::Flush), Just(LineOp::WriteBack), Just(LineOp::Invalidate)];
    prop_oneof![
        6 => (0..2_usize, byte(), any::<u8>()).prop_map(|(mapping, at, value)| Step::Store(mapping, at, value)),
        4 => (mocs, byte(), any::<u8>()).prop_map(|(mocs, at, value)| Step::GpuWrite(mocs, at, value)),
        6 => (op, line(), line()).prop_map(|(op, first, end)| Step::Maintain(op, first, end)),
        1 => byte().prop_map(Step::Pread),
        1 => Just(Step::SwapOut),
    ]
}

/// A device, the mappings of its object, and a client.
struct Side {
    mapped: Mapped,
    shows: Vec<Place>,
    client: Client,
}

impl Side {
    /// Begins with an object in which the process stored to one line and the GPU wrote another.
    fn new(platform: &str, flush: bool) -> Self {
        let discrete = platform == "dg2";
        let mode = if discrete { I915_MMAP_OFFSET_FIXED } else { I915_MMAP_OFFSET_WB };
        let mut mapped = Mapped::new(platform, mode, SIZE);
        if flush {
            mapped.maintain(LineOp::Flush);
        }
        mapped.caller.process.load(mapped.address + 64, &mut [0]).unwrap();
        mapped.gpu_writes(64, b"gpu");
        mapped.caller.process.store(mapped.address, b"old").unwrap();
        let around = mapped.map(if discrete { mode } else { I915_MMAP_OFFSET_WC });
        let shows = [mapped.address, around].map(|at| mapped.caller.process.views(at).unwrap().shows);
        let client = Client::new(mapped.caller.process.views(mapped.address).unwrap());
        Self { mapped, shows: shows.to_vec(), client }
    }

    fn take(&mut self, step: &Step, by_client: bool) {
        let device = self.mapped.soft();
        match *step {
            Step::Store(mapping, at, value) => {
                let file = match self.shows[mapping] {
                    Place::Cache => &self.client.cached,
                    Place::Memory => &self.client.memory,
                };
                file.write_all_at(&[value], at).unwrap();
            }
            Step::GpuWrite(mocs, at, value) => {
                device.gpu_write(self.mapped.handle, mocs, at, &[value]).unwrap();
            }
            Step::Maintain(op, first, end) if first < end && by_client => {
                self.client.maintain(first..end, op)
            }
            Step::Maintain(op, first, end) if first < end => {
                let (at, len) = (self.mapped.address + first * 64, (end - first) * 64);
                self.mapped.caller.process.maintain(at, len, op).unwrap();
            }
            Step::Maintain(..) => {}
            Step::Pread(at) => {
                self.mapped.caller.process.load(self.mapped.address + at, &mut [0]).unwrap();
            }
            Step::SwapOut => device.swap_out(self.mapped.handle).unwrap(),
        }
    }

    /// Returns all bytes, as each agent sees them.
    fn seen(&self) -> Vec<Vec<u8>> {
        let mut seen = Vec::from(self.client.bytes(SIZE as usize));
        let read = |read: &dyn Fn(&mut [u8])| {
            let mut bytes = vec![0; SIZE as usize];
            read(&mut bytes);
            bytes
        };
        let (device, handle) = (self.mapped.soft(), self.mapped.handle);
        for mocs in [MocsClass::PageTable, MocsClass::Uncached, MocsClass::BypassLlc] {
            seen.push(read(&|bytes| device.gpu_read(handle, mocs, 0, bytes).unwrap()));
        }
        seen.push(read(&|bytes| device.display_read(handle, 0, bytes).unwrap()));
        seen
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn flushes_by_a_client_and_by_the_device_leave_the_same_bytes(
        flush in any::<bool>(),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        for platform in ["glk", "tgl", "jsl", "dg2"] {
            let (mut device, mut client) = (Side::new(platform, flush), Side::new(platform, flush));
            prop_assert_eq!(device.seen(), client.seen(), "{} at first", platform);
            for (number, step) in steps.iter().enumerate() {
                device.take(step, false);
                client.take(step, true);
                prop_assert_eq!(device.seen(), client.seen(), "{} after step {}: {:?}", platform, number, step);
            }
        }
    }
}

#[test]
fn a_client_that_forgets_a_flush_leaves_other_bytes() {
    let (mut device, mut client) = (Side::new("glk", true), Side::new("glk", true));
    for step in [Step::Store(0, 0, 7), Step::Maintain(LineOp::Flush, 0, 1)] {
        assert!(device.seen() == client.seen());
        device.take(&step, false);
        if !matches!(step, Step::Maintain(..)) {
            client.take(&step, true);
        }
    }
    assert!(device.seen() != client.seen());
}

#[test]
fn whatever_the_adversary_does_flushed_bytes_arrive_and_dirty_bytes_stay() {
    for seed in 0..30 {
        let mapped = Mapped::flushed(&format!("glk,adversary=on,seed={seed}"), I915_MMAP_OFFSET_WB);
        let client = Client::new(mapped.caller.process.views(mapped.address).unwrap());
        for round in 0..20_u8 {
            client.cached.write_all_at(&[round + 1; 4], 0).unwrap();
            mapped.gpu_writes(64, &[round + 2; 4]);
            assert_eq!(load(&client.cached, 0), [round + 1; 4], "seed {seed}");
            client.maintain(0..2, LineOp::Flush);
            assert_eq!(mapped.gpu_reads(MocsClass::PageTable, 0), [round + 1; 4], "seed {seed}");
            assert_eq!(load(&client.cached, 64), [round + 2; 4], "seed {seed}");
        }
    }
}

#[test]
fn stores_survive_the_devices_writes_to_the_same_line() {
    const STORES: u32 = 20_000;
    let mapped = Mapped::flushed("tgl", I915_MMAP_OFFSET_WB);
    let client = Client::new(mapped.caller.process.views(mapped.address).unwrap());
    let (client, done) = (&client, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for value in 0..STORES {
                client.cached.write_all_at(&[value as u8], 0).unwrap();
                assert_eq!(load(&client.cached, 0)[0], value as u8);
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut value = 0_u8;
        while !done.load(Ordering::Relaxed) {
            value = value.wrapping_add(1);
            // Around the LLC: the dirty line is written back, and memory's bytes come back into it.
            mapped.soft().gpu_write(mapped.handle, MocsClass::Uncached, 32, &[value]).unwrap();
            assert_eq!(mapped.gpu_reads(MocsClass::PageTable, 32)[0], value);
        }
    });
    client.maintain(0..1, LineOp::Flush);
    assert_eq!(load(&client.memory, 0)[0], (STORES - 1) as u8);
}
