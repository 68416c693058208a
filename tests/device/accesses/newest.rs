//! A caller that uses only the library's calls reads the newest bytes: any caller, on any platform, with
//! caches that evict, write back and fill at any time.

use std::panic::Location;

use gem_coherency::Error;
use gem_coherency::device::{AllocRequest, Submission};
use gem_coherency::object::Bo;
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use proptest::prelude::*;

use crate::{Rig, rig};

const SIZE: usize = 4096;

/// An operation of a caller.
#[derive(Clone, Debug)]
enum Op {
    Map(MmapMode),
    Write {
        offset: usize,
        len: usize,
        value: u8,
    },
    /// A stream, with another operation after each of its parts.
    Stream {
        offset: usize,
        len: usize,
        value: u8,
        announced: bool,
        between: Vec<Op>,
    },
    Read {
        offset: usize,
        len: usize,
    },
    GpuRead {
        mocs: MocsClass,
        executed: bool,
    },
    GpuWrite {
        mocs: MocsClass,
        offset: usize,
        len: usize,
        value: u8,
    },
    Show {
        really: bool,
    },
    SetCaching(CachingMode),
    Export,
}

fn one_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

fn op() -> impl Strategy<Value = Op> {
    // As any open access, it looks for writes of the GPU and through other mappings at its begin only.
    let reads = |op: &Op| !matches!(op, Op::GpuWrite { .. } | Op::Map(_));
    let between = prop::collection::vec(simple().prop_filter("none meanwhile", reads), 1..4);
    let stream = (0..SIZE - 200, 1..200usize, any::<u8>(), any::<bool>(), between);
    prop_oneof![
        9 => simple(),
        1 => stream.prop_map(|(offset, len, value, announced, between)| {
            Op::Stream { offset, len, value, announced, between }
        }),
    ]
}

/// An operation that can be made while a stream is open.
fn simple() -> impl Strategy<Value = Op> {
    let range = || (0..SIZE - 200, 1..200usize);
    prop_oneof![
        2 => one_of(MmapMode::ALL).prop_map(Op::Map),
        4 => (range(), any::<u8>())
            .prop_map(|((offset, len), value)| Op::Write { offset, len, value }),
        3 => range().prop_map(|(offset, len)| Op::Read { offset, len }),
        3 => (one_of(MocsClass::ALL), any::<bool>())
            .prop_map(|(mocs, executed)| Op::GpuRead { mocs, executed }),
        3 => (one_of(MocsClass::ALL), range(), any::<u8>())
            .prop_map(|(mocs, (offset, len), value)| Op::GpuWrite { mocs, offset, len, value }),
        1 => any::<bool>().prop_map(|really| Op::Show { really }),
        1 => one_of(CachingMode::ALL).prop_map(Op::SetCaching),
        1 => Just(Op::Export),
    ]
}

/// A BO, and the bytes that every reader should see.
struct Caller<'a> {
    rig: &'a Rig,
    bo: Bo,
    newest: Vec<u8>,
}

/// Returns the result, or `None` if the platform lacks the operation; panics on any other error.
#[track_caller]
fn allowed<T>(result: gem_coherency::Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::NotAvailable { .. }) => None,
        // While a stream is open.
        Err(Error::InUse { writers: 1, readers: 0, submits: 0, .. }) => None,
        Err(error) => panic!("{error:?} at {}", Location::caller()),
    }
}

impl Caller<'_> {
    #[track_caller]
    fn check(&self, what: &str, offset: usize, seen: &[u8]) {
        let expected = &self.newest[offset..offset + seen.len()];
        let wrong = seen.iter().zip(expected).position(|(seen, expected)| seen != expected);
        assert_eq!(wrong.map(|at| at + offset), None, "{what}: the first old byte");
    }

    fn write(&mut self, offset: usize, len: usize, value: u8) {
        let Some(mut guard) = allowed(self.bo.write(offset as u64, len as u64)) else { return };
        guard.write_at(offset as u64, &vec![value; len]).unwrap();
        self.newest[offset..offset + len].fill(value);
    }

    /// Stores by a stream, and performs one of `between` after each part.
    fn stream(&mut self, offset: usize, len: usize, value: u8, announced: bool, between: &[Op]) {
        let bo = self.bo.clone();
        let Some(mut stream) = allowed(bo.stream(offset as u64, len as u64)) else { return };
        let mut rest = offset..offset + len;
        for op in between {
            let part = rest.start..rest.start + rest.len() / 2;
            rest.start = part.end;
            stream.write(&vec![value; part.len()]).unwrap();
            self.newest[part].fill(value);
            if announced {
                stream.announce();
            }
            self.perform(op);
        }
        stream.finish();
    }

    fn read(&self, offset: usize, len: usize) {
        let Some(guard) = allowed(self.bo.read(offset as u64, len as u64)) else { return };
        let mut seen = vec![0; len];
        guard.read_at(offset as u64, &mut seen).unwrap();
        self.check("CPU", offset, &seen);
    }

    fn gpu_read(&self, mocs: MocsClass, executed: bool) {
        let submission = Submission { bo: &self.bo, access: Access::Read, mocs };
        match executed {
            true => drop(self.rig.device.submit(&[submission]).unwrap()),
            false => drop(crate::prepare(&self.rig.device, &[submission]).unwrap()),
        }
        let mut seen = [0; SIZE];
        self.rig.soft.gpu_read(self.bo.handle(), mocs, 0, &mut seen).unwrap();
        self.check("GPU", 0, &seen);
    }

    fn gpu_write(&mut self, mocs: MocsClass, offset: usize, len: usize, value: u8) {
        self.rig.device.submit(&[Submission { bo: &self.bo, access: Access::Write, mocs }]).unwrap();
        self.rig.soft.gpu_write(self.bo.handle(), mocs, offset as u64, &vec![value; len]).unwrap();
        self.newest[offset..offset + len].fill(value);
    }

    /// Shows the BO, or announces it before a flip that fails.
    fn show(&self, really: bool) {
        let Some(_guard) = allowed(self.bo.prepare_scanout()) else { return };
        // Read before the kernel pins the BO, because the pin may flush, too.
        let mut seen = [0; SIZE];
        self.rig.soft.display_read(self.bo.handle(), 0, &mut seen).unwrap();
        self.check("display", 0, &seen);
        if !really {
            return;
        }
        self.rig.soft.set_framebuffer(self.bo.handle()).unwrap();
        self.rig.soft.pin_display(self.bo.handle()).unwrap();
        self.rig.soft.display_read(self.bo.handle(), 0, &mut seen).unwrap();
        self.check("display, pinned", 0, &seen);
        self.rig.soft.remove_framebuffer(self.bo.handle()).unwrap();
    }

    fn perform(&mut self, op: &Op) {
        match *op {
            Op::Map(mode) => drop(allowed(self.bo.map(mode))),
            Op::Write { offset, len, value } => self.write(offset, len, value),
            Op::Stream { offset, len, value, announced, ref between } => {
                self.stream(offset, len, value, announced, between);
            }
            Op::Read { offset, len } => self.read(offset, len),
            Op::GpuRead { mocs, executed } => self.gpu_read(mocs, executed),
            Op::GpuWrite { mocs, offset, len, value } => self.gpu_write(mocs, offset, len, value),
            Op::Show { really } => self.show(really),
            Op::SetCaching(mode) => drop(allowed(self.bo.set_caching(mode))),
            Op::Export => drop(self.bo.export().unwrap()),
        }
        let kernel = self.rig.soft.snapshot(self.bo.handle()).unwrap().level;
        assert_eq!(self.bo.level(), kernel, "the level after {op:?}");
    }
}

const PLATFORMS: &[&str] = &[
    "glk",
    "chv",
    "g45",
    "i965gm",
    "jsl",
    "ehl",
    "tgl",
    "hsw",
    "skl",
    "mtl",
    "mtl,kernel=6.1",
    "dg2",
    "jsl,kernel=6.0",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_reader_gets_the_newest_bytes(
        platform in one_of(PLATFORMS),
        caching in prop::option::of(one_of(CachingMode::ALL)),
        seed in any::<u64>(),
        ops in prop::collection::vec(op(), 1..40),
    ) {
        let rig = rig(&format!("sim:{platform},adversary=on,seed={seed}"));
        let Some(bo) = allowed(rig.device.alloc(AllocRequest { caching, ..AllocRequest::new(SIZE as u64) })) else {
            return Ok(());
        };
        let mut caller = Caller { rig: &rig, bo, newest: vec![0; SIZE] };
        // The kernel flushes unwritten zeroes only when it shows the object, so overwrite them.
        caller.write(0, SIZE, 1);
        for op in &ops {
            caller.perform(op);
        }
        prop_assert_eq!(rig.soft.bus_errors(), 0);
        drop(caller);
        crate::nothing_left(&rig);
    }
}
