//! Chains of extensions in the caller's memory.

use bytemuck::{Pod, try_pod_read_unaligned};
use gem_coherency::Errno;

use crate::process::memory::Memory;

/// Largest number of extensions in a chain.
const MOST: usize = 512;

/// Calls `take` with the name and address of each extension of a chain, in order (`i915_user_extensions`).
///
/// # Errors
/// EFAULT for unreadable memory; EINVAL for reserved fields that are not 0; E2BIG for too many extensions;
/// those of `take`, which is EINVAL for an unknown name.
pub(super) fn walk(
    memory: &Memory,
    first: u64,
    mut take: impl FnMut(u32, u64) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut address = first;
    let mut left = MOST;
    while address != 0 {
        left = left.checked_sub(1).ok_or(Errno::E2BIG)?;
        // Each field is read separately: flags, rsvd, name, next_extension.
        for offset in [12, 16, 20, 24, 28] {
            let reserved: u32 = read(memory, address, offset)?;
            if reserved != 0 {
                return Err(Errno::EINVAL);
            }
        }
        take(read(memory, address, 8)?, address)?;
        address = read(memory, address, 0)?;
    }
    Ok(())
}

/// Reads the field at `offset` of the struct at `address`.
fn read<T: Pod>(memory: &Memory, address: u64, offset: u64) -> Result<T, Errno> {
    let mut bytes = [0; 8];
    let bytes = bytes.get_mut(..size_of::<T>()).ok_or(Errno::EFAULT)?;
    let at = address.checked_add(offset).ok_or(Errno::EFAULT)?;
    if memory.read(at, bytes) < bytes.len() {
        return Err(Errno::EFAULT);
    }
    try_pod_read_unaligned(bytes).map_err(|_| Errno::EFAULT)
}
