//! The caller of a request, and the copies from and to its memory.

use bytemuck::{Pod, bytes_of_mut};
use gem_coherency::Errno;
use gem_coherency::error::Result;

use crate::SimDevice;
use crate::process::files::Files;
use crate::process::memory::Memory;
use crate::refuse::refuse;
use crate::sync::progress::Patience;

/// The caller of a request: the device's file, and the process's memory and files.
#[derive(Debug)]
pub(crate) struct Caller<'a> {
    pub(crate) device: &'a SimDevice,
    pub(crate) memory: &'a mut Memory,
    pub(crate) files: &'a mut Files,
    pub(crate) patience: &'a Patience,
}

impl Caller<'_> {
    /// Copies the struct at `address` in (`copy_from_user`).
    ///
    /// # Errors
    /// EFAULT.
    pub(super) fn get<T: Pod>(&self, request: &'static str, address: u64) -> Result<T> {
        let mut value = T::zeroed();
        let bytes = bytes_of_mut(&mut value);
        if self.memory.read(address, bytes) < bytes.len() {
            return refuse(request, Errno::EFAULT);
        }
        Ok(value)
    }

    /// Copies `bytes` to `address` (`copy_to_user`).
    ///
    /// # Errors
    /// EFAULT.
    pub(super) fn put(&mut self, request: &'static str, address: u64, bytes: &[u8]) -> Result<()> {
        if self.memory.write(address, bytes) < bytes.len() { refuse(request, Errno::EFAULT) } else { Ok(()) }
    }
}
