//! Calls from C beside the same calls from Rust.
//!
//! The check of the pointer and the guard against panics take 4 ns, a report, kept for `gemco_explain`, 6 ns for a write and 14 for an
//! upload, the allocations of `gemco_submit_begin` and `gemco_submit_end` 55 ns (AMD).
//!
//! # Safety
//! The functions of the C interface get the objects of [`FromC`], and bytes of constants; both live as long as the call.
#![allow(unsafe_code)]

use std::ptr::null_mut;

use gem_coherency::device::Submission;
use gem_coherency::object::Upload;
use gem_coherency::vocabulary::{Access, MocsClass};
use gem_coherency_capi::{
    gemco_bo, gemco_bo_mark_written, gemco_bo_upload, gemco_bo_write, gemco_device, gemco_submission,
    gemco_submit_begin, gemco_submit_end,
};

use crate::clock::per_operation;
use crate::context::Context;
use crate::error::Error;
use crate::ordinary::{self, Part};
use crate::report::Found;
use crate::rounds::Rounds;

pub const NAME: &str = "c-interface";

/// Number of calls in a turn.
const CALLS: u64 = 1024;
/// Size of the BO in bytes.
const SIZE: u64 = 64 << 10;
/// The bytes of a write.
const WRITE: [u8; 64] = [1; 64];
/// The bytes of an upload.
const UPLOAD: [u8; 4096] = [2; 4096];
/// The sides.
const SIDES: [&str; 2] = ["from C", "from Rust"];

/// A BO as C has it.
struct FromC {
    device: gemco_device,
    bo: gemco_bo,
}

impl FromC {
    fn write(&self, offset: u64) -> Result<(), Error> {
        // SAFETY: as the module says.
        done("gemco_bo_write", unsafe {
            gemco_bo_write(&self.bo, offset, WRITE.as_ptr().cast(), WRITE.len(), null_mut())
        })
    }

    fn mark(&self, offset: u64) -> Result<(), Error> {
        // SAFETY: as the module says.
        done("gemco_bo_mark_written", unsafe { gemco_bo_mark_written(&self.bo, offset, WRITE.len() as u64) })
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
    let c = gemco_device::from(device.clone());
    let c = FromC { bo: c.wrap(bo.clone()), device: c };
    let batch = [Submission { bo: &bo, access: Access::Read, mocs: MocsClass::PageTable }];
    let (write, upload) = (WRITE.len() as u64, UPLOAD.len() as u64);
    compare(
        context,
        found,
        "64 bytes written",
        [&|call| c.write(call * write % SIZE), &|call| {
            Ok(bo.write_bytes(call * write % SIZE, &WRITE).map(drop)?)
        }],
    )?;
    compare(
        context,
        found,
        "64 bytes marked",
        [&|call| c.mark(call * write % SIZE), &|call| Ok(bo.mark_written(call * write % SIZE, write)?)],
    )?;
    compare(
        context,
        found,
        "4 KiB uploaded",
        [&|call| c.upload(call * upload % SIZE), &|call| {
            Ok(bo.upload(call * upload % SIZE, &UPLOAD, Upload::Once).map(drop)?)
        }],
    )?;
    bo.flush()?;
    compare(
        context,
        found,
        "a clean BO submitted",
        [&|_| c.submit(), &|_| {
            device.begin_submit(&batch)?.end(None);
            Ok(())
        }],
    )
}

/// A call, with its number.
type Call<'a> = &'a dyn Fn(u64) -> Result<(), Error>;

/// Measures a call from C, and the same call from Rust.
fn compare(context: &Context, found: &mut Found, case: &str, calls: [Call<'_>; 2]) -> Result<(), Error> {
    let count = context.effort.pick(CALLS, 16);
    let mut rounds = Rounds::new(|| Ok(()));
    for (side, call) in SIDES.into_iter().zip(calls) {
        rounds.side(side, move || per_operation(count, || (0..count).try_for_each(call)));
    }
    let times = rounds.measure(context.effort)?;
    let [c, rust] = SIDES;
    found.push(times.line((NAME, case), c, rust, Some(0.9)));
    Ok(())
}
