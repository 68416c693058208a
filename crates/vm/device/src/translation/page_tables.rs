//! Translation of the GPU's addresses: the global table (GGTT), which lies in the device, and the
//! per-process tables (PPGTT), which lie in memory.

use crate::gpu::Gpu;
use crate::gpu::memory::Address;
use crate::gpu::platform::PerProcess;
use crate::qemu::cache;
use crate::snooping::Access;
use std::ops::Range;

/// What an address in a command refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Space {
    Global,
    PerProcess,
}

impl Space {
    pub fn per_process_if(flag: bool) -> Self {
        if flag { Self::PerProcess } else { Self::Global }
    }
}

/// What a stream of commands runs for.
#[derive(Clone, Copy)]
pub struct Context {
    pub engine: usize,
    /// Physical address of the root of a four-level table.
    pub root: u64,
    /// Where index-relative stores go: an address in the global table.
    pub status_page: u64,
}

/// An address of a shader or of its state, with the MOCS entry that accesses there name. Before gen9 there are no entries,
/// and the number has no meaning.
#[derive(Clone, Copy)]
pub struct Pointer {
    pub at: u64,
    pub mocs: u8,
}

impl Pointer {
    pub fn plus(self, offset: u64) -> Self {
        Self { at: self.at.wrapping_add(offset), ..self }
    }
}

/// Bit 0 of every entry.
const VALID: u64 = 1;
/// GEN8_PDE_PS_2M: a directory entry that is a 2 MiB page.
const HUGE_2M: u64 = 1 << 7;
/// GEN8_PDE_IPS_64K: the table below holds 64 KiB pages.
const PDE_IPS_64K: u64 = 1 << 11;
/// GEN12_PDE_64K: the same for the compact table.
const PDE_64K: u64 = 1 << 6;
/// GEN12_PPGTT_PTE_LM and GEN12_GGTT_PTE_LM: the page is in local memory.
const PTE_LOCAL: u64 = 1 << 11;
const GLOBAL_PTE_LOCAL: u64 = 1 << 1;

const PAGE_SIZE: u64 = 4096;

/// The address in a 64-bit entry.
const PAGE: u64 = 0x7f_ffff_f000;
const PAGE_64K: u64 = 0x7f_ffff_0000;
const PAGE_2M: u64 = 0x7f_ffe0_0000;

/// The address in a 32-bit entry: bits 39..32 are in bits 11..4.
fn page_of_u32(entry: u32) -> u64 {
    u64::from(entry & 0xffff_f000) | u64::from(entry & 0x7f0) << 28
}

/// The pieces of a range of addresses that do not cross a page, each with its part of a buffer.
pub fn pieces(at: u64, length: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = at.wrapping_add(done as u64);
        let start = done;
        done = length.min(start + (PAGE_SIZE - at % PAGE_SIZE) as usize);
        (start < done).then_some((at, start..done))
    })
}

impl Gpu {
    /// Whether an access to system memory looks into the CPU's caches.
    pub fn snoops(&self, access: Access) -> bool {
        self.platform.snooping.snoops(access, |register| self.registers.get(register))
    }

    /// Whether reads by a MOCS entry go past the CPU's caches, whatever page tables say.
    pub fn bypasses(&self, mocs: u8) -> bool {
        self.bypassing == Some(mocs)
            || self.platform.snooping.bypasses(mocs, |register| self.registers.get(register))
    }

    /// Where an access to local or to system memory goes.
    pub fn destination(&self, local: bool, address: u64, access: Access) -> Address {
        if local {
            Address::Local(address)
        } else if self.platform.keeping.keeps(access, |register| self.registers.get(register)) {
            Address::Kept(address)
        } else if self.snoops(access) {
            Address::Snooped(address)
        } else {
            Address::Unsnooped(address)
        }
    }

    /// Translates an address of a command.
    pub fn translate(&self, context: &Context, space: Space, address: u64) -> Option<Address> {
        match (space, self.platform.per_process) {
            (Space::Global, _) | (_, PerProcess::None) => self.translate_global(address),
            (_, PerProcess::Gen6) => self.translate_gen6(context.engine, address),
            (_, PerProcess::ThreeLevel) => {
                let pointer = self.directory_pointer(context.engine, address >> 30 & 3);
                self.walk(pointer, 2, address)
            }
            // Addresses have 48 bits all the same (va_bits).
            (_, PerProcess::FiveLevel) => self.walk(context.root, 5, address & 0xffff_ffff_ffff),
            _ => self.walk(context.root, 4, address),
        }
    }

    /// Translates an address that a shader or its state is read from.
    fn source(&self, context: &Context, Pointer { at, mocs }: Pointer) -> Option<Address> {
        let address = self.translate(context, Space::PerProcess, at)?;
        Some(if self.bypasses(mocs) { address.unsnooped() } else { address })
    }

    /// Translates an address that a shader writes to.
    fn target(&self, context: &Context, Pointer { at, mocs }: Pointer) -> Option<Address> {
        let address = self.translate(context, Space::PerProcess, at)?;
        let keeps = self.platform.snooping.mocs_keeps(mocs, |register| self.registers.get(register));
        Some(if self.bypassing_writes && self.bypasses(mocs) {
            address.unsnooped()
        } else if keeps {
            address
        } else {
            address.not_kept()
        })
    }

    /// Reads the per-process space of a context; `None`: a page is not mapped.
    pub fn load(&self, context: &Context, from: Pointer, buffer: &mut [u8]) -> Option<()> {
        for (at, piece) in pieces(from.at, buffer.len()) {
            let address = self.source(context, Pointer { at, ..from })?;
            self.memory.read(address, &mut buffer[piece]);
        }
        Some(())
    }

    /// Reads dwords of the per-process space of a context.
    pub fn load_words<const COUNT: usize>(&self, context: &Context, from: Pointer) -> Option<[u32; COUNT]> {
        let mut bytes = vec![0; 4 * COUNT];
        self.load(context, from, &mut bytes)?;
        let mut words = [0; COUNT];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Some(words)
    }

    /// Writes the per-process space of a context, up to the first page that is not mapped.
    pub fn save(&self, context: &Context, to: Pointer, data: &[u8]) -> Option<()> {
        for (at, piece) in pieces(to.at, data.len()) {
            let address = self.target(context, Pointer { at, ..to })?;
            self.memory.write(address, &data[piece]);
        }
        Some(())
    }

    /// Translates through the global table.
    pub fn translate_global(&self, address: u64) -> Option<Address> {
        let index = (address & 0xffff_ffff) >> 12;
        if self.platform.version >= 8 {
            let entry = self.global_entry(index);
            let local = self.platform.local_memory.is_some() && entry & GLOBAL_PTE_LOCAL != 0;
            (entry & VALID != 0)
                .then(|| self.destination(local, entry & PAGE | address & 0xfff, Access::Global(entry)))
        } else {
            let entry = self.global_entry_u32(4 * index);
            let access = Access::Global(entry.into());
            (entry & 1 != 0).then(|| self.destination(false, page_of_u32(entry) | address & 0xfff, access))
        }
    }

    /// Reads the global space past the CPU's caches; `None`: a page is not mapped.
    pub fn scan(&self, from: u64, buffer: &mut [u8]) -> Option<()> {
        for (at, piece) in pieces(from, buffer.len()) {
            self.memory.read(self.translate_global(at)?.unsnooped(), &mut buffer[piece]);
        }
        Some(())
    }

    /// The number of bytes in a range of the global space that are newer in the CPU's cache; `None`: a page is not mapped.
    pub fn stale_bytes(&self, from: u64, length: usize) -> Option<usize> {
        pieces(from, length)
            .map(|(at, piece)| {
                Some(match self.translate_global(at)?.unsnooped() {
                    Address::Unsnooped(at) => cache::stale_bytes(at, piece.len()),
                    Address::Snooped(_) | Address::Kept(_) | Address::Local(_) => 0,
                })
            })
            .sum()
    }

    fn global_entry(&self, index: u64) -> u64 {
        let mut bytes = [0; 8];
        self.global_table.read(8 * index, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn global_entry_u32(&self, offset: u64) -> u32 {
        let mut bytes = [0; 4];
        self.global_table.read(offset, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    /// Writes an entry of the global table on behalf of a command.
    pub fn set_global_entry(&self, index: u64, entry: u64) {
        self.global_table.write(8 * index, &entry.to_le_bytes());
    }

    /// PP_DIR_BASE says where in the global table the directory lies: a cache line of 16 entries is
    /// its unit, in the upper half.
    fn translate_gen6(&self, engine: usize, address: u64) -> Option<Address> {
        let directory = u64::from(self.directory_base(engine) >> 16) * 64;
        let entry = self.global_entry_u32(directory + 4 * (address >> 22 & 0x1ff));
        if entry & 1 == 0 {
            return None;
        }
        let table = self.destination(false, page_of_u32(entry), Access::Walk);
        let entry = self.memory.read_u32(table.plus(4 * (address >> 12 & 0x3ff)));
        let access = Access::Page(entry.into());
        (entry & 1 != 0).then(|| self.destination(false, page_of_u32(entry) | address & 0xfff, access))
    }

    /// Walks 64-bit tables with `levels` levels below `root`.
    fn walk(&self, root: u64, levels: u32, address: u64) -> Option<Address> {
        let local_memory = self.platform.local_memory.as_ref();
        let tables_local = local_memory.is_some_and(|local| local.holds_tables);
        let entry_at = |table: u64, index: u64| {
            let table = self.destination(tables_local, table, Access::Walk);
            let entry = self.memory.read_u64(table.plus(8 * index));
            (entry & VALID != 0).then_some(entry)
        };
        let page = |entry: u64, mask: u64| {
            let local = local_memory.is_some() && entry & PTE_LOCAL != 0;
            let offset = address & !mask & 0x1f_ffff;
            let access = if mask == PAGE_2M { Access::HugePage(entry) } else { Access::Page(entry) };
            Some(self.destination(local, entry & mask | offset, access))
        };
        let mut table = root & PAGE;
        for level in (0..levels).rev() {
            let entry = entry_at(table, address >> (12 + 9 * level) & 0x1ff)?;
            if level == 0 {
                return page(entry, PAGE);
            }
            table = entry & PAGE;
            if level != 1 {
                continue;
            }
            if entry & HUGE_2M != 0 {
                return page(entry, PAGE_2M);
            }
            let index_64k = address >> 16 & 0x1f;
            if self.platform.per_process == PerProcess::FourLevelCompact64K && entry & PDE_64K != 0 {
                return page(entry_at(table, index_64k)?, PAGE_64K);
            }
            if local_memory.is_none() && entry & PDE_IPS_64K != 0 {
                return page(entry_at(table, 16 * index_64k)?, PAGE_64K);
            }
        }
        None
    }
}
