//! The trapped instructions and the loaded modules, as handlers of signals read them: without locks.
//!
//! # Safety
//! A table is never changed or freed after [`publish`] has stored its address. Programs load objects seldom, and a new
//! table is published only if something changed, so that the leaked ones stay few.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::scan::{Instruction, Step};

/// A loaded object, for unwinding.
#[derive(Clone, Debug)]
pub(super) struct Module {
    /// The path of its file.
    pub path: Vec<u8>,
    /// Difference of addresses in memory and in the file.
    pub base: u64,
    /// Its lowest and highest address.
    pub extent: Range<usize>,
    /// Address and length of each readable segment, and whether it is executable.
    pub segments: Vec<(usize, usize, bool)>,
    /// Address of the index of its unwind tables.
    pub eh_frame_hdr: Option<usize>,
}

/// A trapped SYSCALL instruction and its copy, by address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    /// Address of the instruction.
    pub site: usize,
    /// Address of the copy.
    pub at: usize,
}

/// All that handlers look up.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Instructions, by address.
    pub sites: Vec<Instruction>,
    /// Instructions on registers that follow them, by address.
    pub steps: Vec<Step>,
    /// System calls, by address.
    pub calls: Vec<Copy>,
    /// Modules, by address.
    pub modules: Vec<Module>,
}

impl Table {
    /// Returns the trapped instruction that begins at `address`.
    pub fn site(&self, address: usize) -> Option<&Instruction> {
        let index = self.sites.binary_search_by_key(&(address as u64), |site| site.address).ok()?;
        self.sites.get(index)
    }

    /// Returns the step at `address`.
    pub fn step(&self, address: u64) -> Option<&Step> {
        let index = self.steps.binary_search_by_key(&address, |step| step.address).ok()?;
        self.steps.get(index)
    }

    /// Returns the copy of the system call at `address`.
    pub fn copy(&self, address: usize) -> Option<&Copy> {
        let index = self.calls.binary_search_by_key(&address, |copy| copy.site).ok()?;
        self.calls.get(index)
    }

    /// Returns the module that contains `address`.
    pub fn module(&self, address: usize) -> Option<&Module> {
        let count = self.modules.partition_point(|module| module.extent.start <= address);
        let module = self.modules.get(count.checked_sub(1)?)?;
        module.extent.contains(&address).then_some(module)
    }
}

/// The newest table.
static CURRENT: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

/// Returns the newest table, or `None` before the first one. Async-signal-safe.
pub(super) fn current() -> Option<&'static Table> {
    // SAFETY: null, or a table that `publish` leaked.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// Returns the path of the loaded object that contains `address`, and the address in that file, as [`crate::locate`] does.
/// Async-signal-safe.
#[must_use]
pub fn locate_in_handler(address: usize) -> Option<(&'static [u8], u64)> {
    let module = current()?.module(address)?;
    Some((&module.path, (address as u64).wrapping_sub(module.base)))
}

/// Replaces the table. The former one is leaked: a handler may still read it.
pub(super) fn publish(table: Table) {
    CURRENT.store(Box::leak(Box::new(table)), Ordering::Release);
}
