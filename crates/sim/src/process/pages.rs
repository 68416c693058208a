//! Parts of mappings: unmapped, moved, and protected, as munmap(2), mremap(2) and mprotect(2) do.

use gem_coherency::Errno;

use crate::memory::program::Pages;
use crate::process::area::Area;
use crate::process::memory::Memory;

impl Memory {
    /// Unmaps the pages of `len` bytes at `address`, and splits the areas that reach out of them.
    ///
    /// # Errors
    /// EINVAL for a range that is not possible.
    pub(crate) fn cut(&mut self, address: u64, len: u64) -> Result<(), Errno> {
        let end = address.checked_add(len).ok_or(Errno::EINVAL)?;
        let touched = self.areas.range(..end).rev().take_while(|(start, area)| *start + area.len > address);
        let starts: Vec<u64> = touched.map(|(&start, _)| start).collect();
        for start in starts {
            let Some(area) = self.areas.remove(&start) else { continue };
            let stop = start + area.len;
            let (serial, pages) = (area.serial, area.pages);
            if start < address {
                let backing = area.backing.part(0)?;
                self.areas.insert(start, Area { serial, len: address - start, pages, backing });
            }
            if stop > end {
                let backing = area.backing.part(end - start)?;
                self.areas.insert(end, Area { serial, len: stop - end, pages, backing });
            }
        }
        Ok(())
    }

    /// Moves the pages of `len` bytes at `from` to `to`, where `new_len` bytes are mapped: mremap(2).
    ///
    /// # Errors
    /// As [`Self::cut`]; EFAULT if no one mapping has the pages.
    pub(crate) fn shift(&mut self, from: u64, len: u64, to: u64, new_len: u64) -> Result<(), Errno> {
        let (start, area) = self.area(from).ok_or(Errno::EFAULT)?;
        if start + area.len - from < len {
            return Err(Errno::EFAULT);
        }
        let (pages, backing) = (area.pages, area.backing.part(from - start)?);
        self.cut(from, len)?;
        self.cut(to, new_len)?;
        self.insert(to, new_len, pages, backing);
        Ok(())
    }

    /// Changes the protection of the mapped pages among the `len` bytes at `address`: mprotect(2).
    ///
    /// # Errors
    /// As [`Self::cut`].
    pub(crate) fn protect(&mut self, address: u64, len: u64, pages: Pages) -> Result<(), Errno> {
        let end = address.checked_add(len).ok_or(Errno::EINVAL)?;
        let touched = self.areas.range(..end).rev().take_while(|(start, area)| *start + area.len > address);
        let mut parts = Vec::new();
        for (&start, area) in touched {
            let (from, to) = (start.max(address), (start + area.len).min(end));
            parts.push((from, to - from, area.backing.part(from - start)?));
        }
        self.cut(address, len)?;
        for (from, len, backing) in parts {
            self.insert(from, len, pages, backing);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use gem_coherency::units::PAGE_BYTES;

    use super::*;

    const AT: u64 = 0x10000;

    #[test]
    fn own_memory_is_no_mapping_whose_parts_change() {
        let mut memory = Memory::default();
        memory.allocate(AT, 2 * PAGE_BYTES, Pages::ReadWrite).unwrap();
        assert_eq!(memory.protect(AT, PAGE_BYTES, Pages::None), Err(Errno::EINVAL));
        assert_eq!(memory.protect(u64::MAX, 2, Pages::None), Err(Errno::EINVAL));
        assert_eq!(memory.protect(0, PAGE_BYTES, Pages::None), Ok(()), "nothing is there");
        assert_eq!(memory.write(AT, &[1; 8]), 8, "the protection stays");
        assert_eq!(memory.shift(0, PAGE_BYTES, AT, PAGE_BYTES), Err(Errno::EFAULT));
    }
}
