//! A request of a program, and the memory that it names.

use gem_coherency::Errno;
use gem_coherency::vocabulary::Handle;
use gem_coherency_sim::{Operand, ProgramMemory, SimDevice};

/// Bits of a code that the size of its struct does not change: type, number.
const IDENTITY: u32 = 0xffff;

/// A request of a program.
#[derive(Clone, Copy)]
pub(crate) struct Forwarded<'a> {
    /// The open file of the software device.
    pub(crate) device: &'a SimDevice,
    /// The program's memory.
    pub(crate) memory: &'a dyn ProgramMemory,
    /// The code that ioctl(2) takes.
    pub(crate) code: u32,
    /// The address of the struct.
    pub(crate) argument: u64,
}

impl Forwarded<'_> {
    pub(super) fn is(&self, code: u32) -> bool {
        (self.code ^ code) & IDENTITY == 0
    }

    /// Reads integers at an offset of the struct.
    pub(super) fn read<const N: usize>(&self, offset: usize) -> Result<[u8; N], Errno> {
        self.read_at(self.argument.wrapping_add(offset as u64))
    }

    pub(super) fn read_at<const N: usize>(&self, address: u64) -> Result<[u8; N], Errno> {
        let mut bytes = [0; N];
        if self.memory.read(address, &mut bytes) < N { Err(Errno::EFAULT) } else { Ok(bytes) }
    }

    pub(super) fn u32(&self, offset: usize) -> Result<u32, Errno> {
        self.read(offset).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&self, offset: usize) -> Result<u64, Errno> {
        self.read(offset).map(u64::from_le_bytes)
    }

    pub(super) fn write_at(&self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        if self.memory.write(address, bytes) < bytes.len() { Err(Errno::EFAULT) } else { Ok(()) }
    }

    /// Returns the object whose handle is at an offset of the struct.
    pub(super) fn operand(&self, offset: usize) -> Result<(Handle, Operand), Errno> {
        let handle = Handle::new(self.u32(offset)?).ok_or(Errno::ENOENT)?;
        let operand = self.device.operand(handle).map_err(|error| error.errno())?;
        Ok((handle, operand))
    }
}
