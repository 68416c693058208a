//! The aperture (BAR 2 of GPUs without local memory): the CPU's window into the global address
//! space. Fence registers make a tiled object in it look linear.

use crate::gpu::Gpu;
use crate::gpu::memory::Address;
use crate::snooping::Access;

/// FENCE_REG_965 (gen4, gen5) and FENCE_REG_GEN6: 64-bit fences: start, tiling and valid below, end
/// above.
const FENCES_GEN4: u32 = 0x3000;
const FENCES_GEN6: u32 = 0x10_0000;
/// Bit 0 of a fence's lower half: in use. Bit 1: Y tiles, not X tiles.
const FENCE_VALID: u32 = 1;
const FENCE_TILING_Y: u32 = 1 << 1;

impl Gpu {
    pub fn aperture_read(&self, offset: u64) -> u64 {
        let mut bytes = [0xff; 8];
        if let Some(address) = self.after_aperture(offset) {
            bytes = [0; 8];
            self.memory.read_combining(address, &mut bytes);
        }
        u64::from_le_bytes(bytes)
    }

    pub fn aperture_write(&self, offset: u64, data: &[u8]) {
        if let Some(address) = self.after_aperture(offset) {
            self.memory.write_combining(address, data);
        }
    }

    fn after_aperture(&self, offset: u64) -> Option<Address> {
        Some(match self.translate_global(self.detile(offset))? {
            Address::Snooped(address) | Address::Kept(address) | Address::Unsnooped(address) => {
                self.destination(false, address, Access::Aperture)
            }
            Address::Local(address) => Address::Local(address),
        })
    }

    /// The global address after an offset in the aperture. No bit-6 swizzling: the driver is told that
    /// there is none. The fences of gen3 are not modelled.
    fn detile(&self, offset: u64) -> u64 {
        let (fences, count) = match self.platform.version {
            ..=3 => return offset,
            4 | 5 => (FENCES_GEN4, 16),
            _ => (FENCES_GEN6, 32),
        };
        for fence in 0..count {
            let low = self.registers.get(fences + 8 * fence);
            let high = self.registers.get(fences + 8 * fence + 4);
            let start = u64::from(low & !0xfff);
            let end = u64::from(high & !0xfff) | 0xfff;
            if low & FENCE_VALID == 0 || !(start..=end).contains(&offset) {
                continue;
            }
            let units = match self.platform.version {
                4 | 5 => low >> 2 & 0x3ff,
                _ => high & 0xfff,
            };
            let pitch = u64::from(units + 1) * 128;
            return start + tiled_offset(offset - start, pitch, low & FENCE_TILING_Y != 0);
        }
        offset
    }
}

/// Where byte `offset` of the linear view lies in the tiled object. A tile is one page: 8 rows of
/// 512 bytes (X), or 8 columns of 32 rows of 16 bytes (Y).
fn tiled_offset(offset: u64, pitch: u64, tiling_y: bool) -> u64 {
    let (width, height) = if tiling_y { (128, 32) } else { (512, 8) };
    let (y, x) = (offset / pitch, offset % pitch);
    let tile = (y / height) * (pitch / width) + x / width;
    let (y, x) = (y % height, x % width);
    let within = if tiling_y { (x / 16) * 512 + y * 16 + x % 16 } else { y * 512 + x };
    tile * 4096 + within
}
