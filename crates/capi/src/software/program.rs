//! This program as a process of a software device's kernel.

use std::io::{IoSlice, IoSliceMut};
use std::sync::{Arc, MutexGuard};

use gem_coherency::fork::Confined;
use gem_coherency::sync::Mutex;
use gem_coherency_sim::{Process, ProgramMemory, SimDevice};
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;

use crate::error::Failure;

/// This program as a process with one file of a software device.
pub(crate) struct Program {
    process: Confined<Mutex<Process>>,
    /// The descriptor of the file.
    pub(crate) fd: i32,
}

impl Program {
    /// Creates the process, which shares the file `device`.
    pub(crate) fn new(device: Arc<SimDevice>) -> Self {
        let mut process = Process::of_program(Arc::new(OwnMemory));
        let fd = process.share(device);
        Self { process: Confined::new(Mutex::new(process)), fd }
    }

    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Process>, Failure> {
        Ok(self.process.get()?.lock())
    }
}

/// The memory of this program. The kernel copies it, so that a bad address is an error and not a signal.
#[derive(Debug)]
struct OwnMemory;

impl ProgramMemory for OwnMemory {
    fn read(&self, address: u64, data: &mut [u8]) -> usize {
        let Ok(base) = usize::try_from(address) else { return 0 };
        let remote = RemoteIoVec { base, len: data.len() };
        process_vm_readv(Pid::this(), &mut [IoSliceMut::new(data)], &[remote]).unwrap_or(0)
    }

    fn write(&self, address: u64, data: &[u8]) -> usize {
        let Ok(base) = usize::try_from(address) else { return 0 };
        let remote = RemoteIoVec { base, len: data.len() };
        process_vm_writev(Pid::this(), &[IoSlice::new(data)], &[remote]).unwrap_or(0)
    }
}
