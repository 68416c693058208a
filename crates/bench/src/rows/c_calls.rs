//! Calls from C beside the same calls from Rust, and a driver's loops from C beside what drivers do.
//!
//! The check of the pointer and the guard against panics take 4 ns, a report, kept for `gemco_explain`, 6 ns for a write and 14 for an
//! upload (AMD). For up to four BOs `gemco_submit_begin` allocates twice, and `gemco_submit_end` frees both.
//!
//! # Safety
//! The functions of the C interface get the objects of [`FromC`], and bytes of constants; both live as long as the call.
#![allow(unsafe_code)]

use std::ptr::null_mut;

use gem_coherency::device::{Device, Submission};
use gem_coherency::object::{Bo, Upload};
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::{Access, MmapMode, MocsClass};
use gem_coherency_capi::{
    gemco_bo, gemco_bo_flush, gemco_bo_map, gemco_bo_mark_written, gemco_bo_upload, gemco_bo_write,
    gemco_device, gemco_stream_begin, gemco_stream_end, gemco_submission, gemco_submit_begin,
    gemco_submit_end,
};

use super::size_text;
use crate::bytes::{Bytes, Flusher};
use crate::clock::per_operation;
use crate::context::Context;
use crate::error::Error;
use crate::ordinary::{self, Part};
use crate::peers::Loop;
use crate::report::Found;
use crate::rounds::Rounds;

pub const NAME: &str = "c-interface";
pub const DRIVER_LOOP: &str = "driver-loop";

/// The name of the library's side.
const OURS: &str = "from C";

/// Number of calls in a turn, and of passes of a loop.
const CALLS: u64 = 1024;
const LOOPS: u64 = 16;
/// Size of the BO in bytes.
const SIZE: u64 = 64 << 10;
/// The bytes of a write.
const WRITE: [u8; 64] = [1; 64];
/// The bytes of an upload.
const UPLOAD: [u8; 4096] = [2; 4096];
/// The size of a buffer that minigbm maps, and of anv's batches, in bytes.
const BUFFER: u64 = 64 << 10;
const BATCHES: [u64; 3] = [4 << 10, 16 << 10, 64 << 10];
/// The stored bytes.
static DATA: [u8; BUFFER as usize] = [3; BUFFER as usize];

/// A BO as C has it.
struct FromC {
    device: gemco_device,
    bo: gemco_bo,
}

impl FromC {
    fn new(device: &Device, bo: &Bo) -> Self {
        let c = gemco_device::from(device.clone());
        Self { bo: c.wrap(bo.clone()), device: c }
    }

    fn write(&self, offset: u64) -> Result<(), Error> {
        // SAFETY: as the module says.
        done("gemco_bo_write", unsafe {
            gemco_bo_write(&self.bo, offset, WRITE.as_ptr().cast(), WRITE.len(), null_mut())
        })
    }

    fn mark(&self, offset: u64, len: u64) -> Result<(), Error> {
        // SAFETY: as the module says.
        done("gemco_bo_mark_written", unsafe { gemco_bo_mark_written(&self.bo, offset, len) })
    }

    fn map(&self) -> Result<(), Error> {
        let (mode, mut pointer) = (MmapMode::Wb as u32, null_mut());
        // SAFETY: as the module says, with room for the pointer.
        done("gemco_bo_map", unsafe { gemco_bo_map(&self.bo, mode, &mut pointer) })
    }

    fn flush(&self) -> Result<(), Error> {
        // SAFETY: as the module says.
        done("gemco_bo_flush", unsafe { gemco_bo_flush(&self.bo, null_mut()) })
    }

    /// Makes the stores of `store`, which are to the first `len` bytes, by a stream.
    fn stream(&self, len: u64, store: impl FnOnce()) -> Result<(), Error> {
        let (mut stream, mut pointer) = (null_mut(), null_mut());
        // SAFETY: as the module says, with room for the pointers.
        done("gemco_stream_begin", unsafe {
            gemco_stream_begin(&self.bo, 0, len, &mut stream, &mut pointer)
        })?;
        store();
        // SAFETY: the stream that has just begun, which is not used again.
        done("gemco_stream_end", unsafe { gemco_stream_end(stream, len, null_mut()) })
    }

    fn upload(&self, offset: u64) -> Result<(), Error> {
        let (data, hint) = (UPLOAD.as_ptr().cast(), Upload::Once as u32);
        // SAFETY: as the module says.
        done("gemco_bo_upload", unsafe {
            gemco_bo_upload(&self.bo, offset, data, UPLOAD.len(), hint, null_mut())
        })
    }

    fn submit(&self) -> Result<(), Error> {
        let (access, mocs) = (Access::Read as u32, MocsClass::PageTable as u32);
        let list = [gemco_submission { bo: &self.bo, access, mocs, reserved: [0; 2] }];
        let mut prepared = null_mut();
        // SAFETY: as the module says.
        done("gemco_submit_begin", unsafe {
            gemco_submit_begin(&self.device, list.as_ptr(), list.len(), null_mut(), &mut prepared)
        })?;
        // SAFETY: the submission that has just begun, which is not used again.
        done("gemco_submit_end", unsafe { gemco_submit_end(prepared, 0) })
    }
}

/// Checks the result of a call of `function` from C.
fn done(function: &'static str, result: i32) -> Result<(), Error> {
    if result == 0 { Ok(()) } else { Err(Error::FromC { function, result }) }
}

pub fn run(context: &Context, found: &mut Found) -> Result<(), Error> {
    let device = ordinary::device(Part::NoLlc)?;
    let bo = ordinary::bo(&device, SIZE)?;
    let c = FromC::new(&device, &bo);
    let batch = [Submission { bo: &bo, access: Access::Read, mocs: MocsClass::PageTable }];
    let (write, upload) = (WRITE.len() as u64, UPLOAD.len() as u64);
    compare_calls(
        context,
        found,
        "64 bytes written",
        [&|call| c.write(call * write % SIZE), &|call| {
            Ok(bo.write_bytes(call * write % SIZE, &WRITE).map(drop)?)
        }],
    )?;
    compare_calls(
        context,
        found,
        "64 bytes marked",
        [
            &|call| c.mark(call * write % SIZE, write),
            &|call| Ok(bo.mark_written(call * write % SIZE, write)?),
        ],
    )?;
    compare_calls(
        context,
        found,
        "4 KiB uploaded",
        [&|call| c.upload(call * upload % SIZE), &|call| {
            Ok(bo.upload(call * upload % SIZE, &UPLOAD, Upload::Once).map(drop)?)
        }],
    )?;
    bo.flush()?;
    compare_calls(
        context,
        found,
        "a clean BO submitted",
        [&|_| c.submit(), &|_| {
            device.begin_submit(&batch)?.end(None);
            Ok(())
        }],
    )
}

/// Compares the loops of two drivers, where the GPU shares no cache, with the same by the library. SET_DOMAIN and EXECBUFFER2, which
/// both make, are left out.
///
/// * minigbm maps a buffer and stores to it; the unmap flushes the mapping by CLFLUSH (`i915_bo_flush`).
/// * anv stores a batch by a pointer, and flushes its bytes by CLFLUSH before it submits (`intel_flush_range`).
pub fn driver_loop(context: &Context, found: &mut Found) -> Result<(), Error> {
    let device = ordinary::device(Part::NoLlc)?;
    let bo = ordinary::bo(&device, BUFFER)?;
    let bytes = Bytes::of(&bo)?;
    let c = FromC::new(&device, &bo);
    let by = |flusher: Flusher, stored: ByteRange, flushed: ByteRange| {
        bytes.store(stored, &DATA);
        bytes.flush(flusher, flushed);
        Ok(())
    };
    let clflush = Flusher::Loop(Loop::Clflush);
    for len in context.effort.sizes(&[BUFFER / 16, BUFFER]) {
        let range = bytes.range(0, len)?;
        let pass = Pass {
            case: format!("{} of {} mapped, stored, flushed", size_text(len), size_text(BUFFER)),
            lines: range.lines().count(),
            store: &|| {
                c.map()?;
                bytes.store(range, &DATA);
                c.mark(0, len)
            },
            flush: &|| c.flush(),
            by_driver: &|| by(clflush, range, bytes.all()),
            floor: &|| by(Flusher::WriteBack, range, range),
        };
        compare_passes(context, found, &bo, bytes, &pass)?;
    }
    for len in context.effort.sizes(&BATCHES) {
        let range = bytes.range(0, len)?;
        let pass = Pass {
            case: format!("a batch of {}", size_text(len)),
            lines: range.lines().count(),
            store: &|| c.stream(len, || bytes.store(range, &DATA)),
            flush: &|| c.submit(),
            by_driver: &|| by(clflush, range, range),
            floor: &|| by(Flusher::WriteBack, range, range),
        };
        compare_passes(context, found, &bo, bytes, &pass)?;
    }
    Ok(())
}

/// A pass of a loop, by the library and by a driver.
struct Pass<'a> {
    case: String,
    /// Number of lines stored to.
    lines: u64,
    /// The library's stores, with their marks.
    store: &'a dyn Fn() -> Result<(), Error>,
    /// The library's flush.
    flush: &'a dyn Fn() -> Result<(), Error>,
    by_driver: &'a dyn Fn() -> Result<(), Error>,
    /// The stores, and one CLWB of each line stored to.
    floor: &'a dyn Fn() -> Result<(), Error>,
}

/// Measures the passes, and checks that the library's flushes exactly the lines stored to; before each turn the buffer is in the
/// cache.
fn compare_passes(
    context: &Context,
    found: &mut Found,
    bo: &Bo,
    bytes: Bytes<'_>,
    pass: &Pass<'_>,
) -> Result<(), Error> {
    let Pass { case, lines, store, flush, by_driver, floor } = pass;
    bo.flush()?;
    store()?;
    let stored = bo.dirty_lines();
    flush()?;
    let left = bo.dirty_lines();
    if (stored, left) != (*lines, 0) {
        let what =
            format!("{stored} of {lines} lines were dirty before the flush of {case}, {left} after it");
        found.wrong.push(format!("{DRIVER_LOOP}: {what}"));
    }
    let prepare = || {
        bytes.dirty(bytes.all());
        bytes.flush(Flusher::WriteBack, bytes.all());
        Ok(())
    };
    let by_library = |_| {
        store()?;
        flush()
    };
    let peers = [("clflush", (&|_| by_driver()) as Call<'_>, Some(1.0)), ("floor", &|_| floor(), None)];
    compare(context, found, (DRIVER_LOOP, case), context.effort.pick(LOOPS, 2), prepare, &by_library, &peers)
}

/// A call, with its number.
type Call<'a> = &'a dyn Fn(u64) -> Result<(), Error>;

/// Measures calls from C, and the same calls from Rust.
fn compare_calls(
    context: &Context,
    found: &mut Found,
    case: &str,
    [c, rust]: [Call<'_>; 2],
) -> Result<(), Error> {
    let calls = context.effort.pick(CALLS, 16);
    compare(context, found, (NAME, case), calls, || Ok(()), c, &[("from Rust", rust, Some(0.9))])
}

/// A side that calls from C are compared with: its name, its calls, and the target.
type Peer<'a> = (&'static str, Call<'a>, Option<f64>);

/// Measures `count` calls of each side in a turn; `prepare` runs before each turn.
fn compare<'a>(
    context: &Context,
    found: &mut Found,
    name: (&'static str, &str),
    count: u64,
    prepare: impl FnMut() -> Result<(), Error> + 'a,
    from_c: Call<'a>,
    peers: &[Peer<'a>],
) -> Result<(), Error> {
    let mut rounds = Rounds::new(prepare);
    let ours = (OURS, from_c);
    for (side, call) in [ours].into_iter().chain(peers.iter().map(|&(side, call, _)| (side, call))) {
        rounds.side(side, move || per_operation(count, || (0..count).try_for_each(call)));
    }
    let times = rounds.measure(context.effort)?;
    for &(side, _, target) in peers {
        found.push(times.line(name, OURS, side, target));
    }
    Ok(())
}
