//! VM_BIND and MADVISE: the PAT index of a mapping, and what the kernel refuses.

use bitflags::bitflags;

use super::create::{CpuCaching, CreateFlags, LOCAL, Object, Refusal, are_multiples, check, check_as};
use super::pat::{PatCoherency, PatEntry};
use super::platforms::Device;
use super::rules::Rule;
use crate::errno::Errno;
use crate::vocabulary::{PAGE_BYTES, words};

words! {
    /// An operation of VM_BIND (`DRM_XE_VM_BIND_OP_*`), in the order of the uAPI's numbers.
    BindOp, "operation of VM_BIND" {
        /// Binds an object, or nothing (NULL), or mirrors the process's address space.
        Map = "map",
        /// Unbinds addresses.
        Unmap = "unmap",
        /// Binds the process's own pages.
        MapUserptr = "map-userptr",
        /// Unbinds every mapping of an object.
        UnmapAll = "unmap-all",
        /// Moves bound memory.
        Prefetch = "prefetch",
    }
}

bitflags! {
    /// Flags of an operation of VM_BIND (`DRM_XE_VM_BIND_FLAG_*`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct BindFlags: u32 {
        /// The GPU does not write.
        const READONLY = 1 << 0;
        /// In a VM with page faults, the mapping is made at once.
        const IMMEDIATE = 1 << 1;
        /// Reads return zero, writes are dropped.
        const NULL = 1 << 2;
        /// The mapping is part of a dump after a hang.
        const DUMPABLE = 1 << 3;
        /// The key of protected memory is checked (Linux 7.2).
        const CHECK_PXP = 1 << 4;
        /// The process's address space is mirrored (Linux 7.2).
        const CPU_ADDR_MIRROR = 1 << 5;
        /// Attributes are reset when the process unmaps (Linux 7.2).
        const MADVISE_AUTORESET = 1 << 6;
        /// The object is decompressed in place (Linux 7.2).
        const DECOMPRESS = 1 << 7;
    }
}

/// The fields of an operation of VM_BIND (`struct drm_xe_vm_bind_op`) as numbers, so that a wrong one can be asked about.
#[derive(Clone, Copy, Debug)]
pub struct Bind<'a> {
    /// The operation's number: [`BindOp`].
    pub op: u32,
    /// The flags; unknown bits are kept.
    pub flags: BindFlags,
    /// The object.
    pub object: Option<&'a Object>,
    /// Bytes from the object's start, or the process's address (MAP_USERPTR).
    pub offset: u64,
    /// The GPU's address.
    pub address: u64,
    /// Bytes.
    pub range: u64,
    /// The PAT index.
    pub pat_index: u16,
    /// The number of the memory region of a PREFETCH.
    pub region: u32,
}

impl<'a> Bind<'a> {
    /// Returns the operation that binds all of an object.
    pub const fn map(object: &'a Object, address: u64, pat_index: u16) -> Self {
        let none = Self::bare(BindOp::Map, address, object.size, pat_index);
        Self { object: Some(object), ..none }
    }

    /// Returns the operation that binds the process's own pages.
    pub const fn userptr(memory: u64, address: u64, range: u64, pat_index: u16) -> Self {
        Self { offset: memory, ..Self::bare(BindOp::MapUserptr, address, range, pat_index) }
    }

    /// Returns an operation without flags and object.
    pub const fn bare(op: BindOp, address: u64, range: u64, pat_index: u16) -> Self {
        let flags = BindFlags::empty();
        Self { op: op as u32, flags, object: None, offset: 0, address, range, pat_index, region: 0 }
    }

    fn is(&self, op: BindOp) -> bool {
        self.op == op as u32
    }
}

/// Memory that a MADVISE finds in its range.
#[derive(Clone, Copy, Debug)]
pub enum Bound<'a> {
    /// An object.
    Object(&'a Object),
    /// The process's own pages, by MAP_USERPTR or CPU_ADDR_MIRROR.
    Process,
    /// A part of a MAP_USERPTR, whose rest is outside of the range.
    PartOfProcess,
}

/// The memory region of a PREFETCH that MADVISE chose (`DRM_XE_CONSULT_MEM_ADVISE_PREF_LOC`, Linux 7.2).
const PREFERRED_REGION: u32 = u32::MAX;

/// The PAT index of transient lines for the CPU, by which Nova Lake-P flushes.
const XA_INDEX: u16 = 19;

impl Device {
    /// Returns why VM_BIND refuses one of `ops`, with its place: the first check that fails, in the kernel's order. `faults`: the
    /// address space is in fault mode.
    ///
    /// The address space, its queue, handles and syncs are taken to be right, memory to be there, objects to be wanted (not purgeable), and what a
    /// PREFETCH finds bound to fit its region.
    ///
    /// # Errors
    /// The kernel's refusal. Source: `vm_bind_ioctl_check_args`, `xe_vm_bind_ioctl`, `xe_vm_bind_ioctl_validate_bo`.
    pub fn bind(&self, ops: &[Bind<'_>], faults: bool) -> Result<(), (usize, Refusal)> {
        let each = |check: &dyn Fn(&Bind<'_>) -> Result<(), Refusal>| {
            ops.iter().enumerate().try_for_each(|(place, op)| check(op).map_err(|refusal| (place, refusal)))
        };
        each(&|op| self.bind_arguments(op, faults))?;
        each(&|op| self.bind_range(op))?;
        each(&|op| op.object.map_or(Ok(()), |object| self.bind_object(op, object)))
    }

    /// Returns why VM_BIND refuses the arguments of an operation: the first part of [`Self::bind`], which only looks whether there is an object.
    ///
    /// # Errors
    /// The kernel's refusal. Source: `vm_bind_ioctl_check_args`.
    pub fn bind_arguments(&self, op: &Bind<'_>, faults: bool) -> Result<(), Refusal> {
        let known = if self.has_requests_of_7_2() {
            BindFlags::all()
        } else {
            BindFlags::READONLY | BindFlags::IMMEDIATE | BindFlags::NULL | BindFlags::DUMPABLE
        };
        // A flag that the kernel does not know means nothing to its other checks.
        let flags = op.flags.intersection(known);
        let mirror = flags.contains(BindFlags::CPU_ADDR_MIRROR);
        let without_memory = mirror || flags.contains(BindFlags::NULL);
        let decompress = flags.contains(BindFlags::DECOMPRESS);
        let userptr = op.is(BindOp::MapUserptr);
        let object = op.object.is_some();

        check(faults || !mirror, Rule::MirrorNeedsFaults)?;
        let entry = self.pat.entry(op.pat_index).map_err(|rule| Refusal { errno: Errno::EINVAL, rule })?;
        check(op.op <= BindOp::Prefetch as u32, Rule::BindOperation)?;
        check(known.contains(op.flags), Rule::BindFlags)?;
        check(!without_memory || !object && op.offset == 0, Rule::NothingHasNoObject)?;
        check(op.is(BindOp::Map) || !(decompress || without_memory), Rule::OnlyOfMap)?;
        check(!decompress || !entry.compressed, Rule::DecompressCompressed)?;
        check(object || without_memory || !op.is(BindOp::Map), Rule::MapNeedsObject)?;
        let whole_object = object && op.address == 0 && op.range == 0;
        check(whole_object || !op.is(BindOp::UnmapAll), Rule::UnmapAllOfObject)?;
        check(!userptr || !object, Rule::UserptrHasNoObject)?;
        check(!userptr || entry.coherency.snoops(), Rule::UserptrNotSnooped)?;
        let integrated = !self.platform.discrete;
        check(!(mirror && integrated) || entry.coherency.snoops(), Rule::MirrorNotSnooped)?;
        check(!(userptr || mirror) || self.is_flushed(op.pat_index, entry), Rule::UserptrNotFlushed)?;
        // 6.12 has no such check, and no index that compresses and snoops.
        check(!(userptr && entry.compressed), Rule::UserptrCompressed)?;
        check(!(object && op.is(BindOp::Prefetch)), Rule::PrefetchHasNoObject)?;
        check(op.region == 0 || op.is(BindOp::Prefetch), Rule::PrefetchRegion)?;
        let advised = op.region == PREFERRED_REGION && self.has_requests_of_7_2();
        check(advised || self.has_region(op.region), Rule::PrefetchRegion)?;
        check(!(object && op.is(BindOp::Unmap)), Rule::UnmapHasNoObject)?;
        let autoreset = flags.contains(BindFlags::MADVISE_AUTORESET);
        // A mirror is a MAP by now.
        check(!autoreset || mirror, Rule::AutoresetNeedsMirror)?;
        let aligned = are_multiples(PAGE_BYTES, &[op.offset, op.address, op.range]);
        check(aligned && (op.range != 0 || op.is(BindOp::UnmapAll)), Rule::BindUnaligned)?;
        let can_decompress = self.has_flat_ccs && self.platform.discrete && self.graphics.major >= 20;
        check_as(!decompress || can_decompress, Rule::CannotDecompress, Errno::EOPNOTSUPP)
    }

    /// Returns why VM_BIND refuses the addresses of an operation: the second part of [`Self::bind`].
    ///
    /// # Errors
    /// The kernel's refusal: a range past the address space. Source: `xe_vm_bind_ioctl`.
    pub fn bind_range(&self, op: &Bind<'_>) -> Result<(), Refusal> {
        let end = op.address.checked_add(op.range);
        let size = 1 << self.platform.address_bits;
        check(end.is_some_and(|end| end <= size), Rule::BindBeyondSpace)
    }

    /// Returns why VM_BIND refuses the object of an operation: the last part of [`Self::bind`].
    ///
    /// # Errors
    /// The kernel's refusal. Source: `xe_vm_bind_ioctl_validate_bo`.
    pub fn bind_object(&self, op: &Bind<'_>, object: &Object) -> Result<(), Refusal> {
        let entry = self.pat.entry(op.pat_index).map_err(|rule| Refusal { errno: Errno::EINVAL, rule })?;
        let compressible = !object.flags.contains(CreateFlags::NO_COMPRESSION);
        check(compressible || !entry.compressed, Rule::BindNotCompressible)?;
        let end = op.offset.checked_add(op.range);
        check(end.is_some_and(|end| end <= object.size), Rule::BindBeyondObject)?;
        let page = if object.placement & LOCAL == 0 { PAGE_BYTES } else { self.local_page() };
        let aligned = are_multiples(page, &[op.offset, op.address, op.range]);
        check(aligned, Rule::BindLocalPage)?;
        check_snooped(object, entry)?;
        // 6.12 has no such checks, no index that compresses and snoops, and no device of version 35.
        if object.is_import() {
            check(!entry.compressed, Rule::ImportCompressed)?;
            check(self.is_flushed(op.pat_index, entry), Rule::ImportNotFlushed)?;
        }
        Ok(())
    }

    /// Returns why MADVISE refuses the PAT index for the memory that is bound in the range. `reserved`: a pad or a reserved field is not 0.
    ///
    /// In an address space without page faults the request succeeds and unbinds the memory: nothing binds it again. Bind with VM_BIND instead.
    ///
    /// # Errors
    /// The kernel's refusal. Source: `madvise_args_are_sane`, `check_pat_args_are_sane`.
    pub fn madvise_pat(
        &self,
        start: u64,
        range: u64,
        pat_index: u16,
        reserved: bool,
        bound: &[Bound<'_>],
    ) -> Result<(), Refusal> {
        check(self.has_requests_of_7_2(), Rule::MadviseUnknown)?;
        let aligned = are_multiples(PAGE_BYTES, &[start, range]);
        check(aligned && range != 0, Rule::MadviseUnaligned)?;
        let entry = self.pat.entry(pat_index).map_err(|rule| Refusal { errno: Errno::EINVAL, rule })?;
        check(!reserved, Rule::MadviseReserved)?;
        // The sign bits of an address do not count.
        let size = 1_u64 << self.platform.address_bits;
        let end = (start & (size - 1)).checked_add(range);
        check(end.is_some_and(|end| end <= size), Rule::MadviseBeyondSpace)?;
        let in_part = bound.iter().any(|memory| matches!(memory, Bound::PartOfProcess));
        check_as(!in_part, Rule::UserptrInPart, Errno::EFAULT)?;
        let flushed = self.is_flushed(pat_index, entry);
        let process = bound.iter().any(|memory| matches!(memory, Bound::Process));
        check(!process || flushed, Rule::UserptrNotFlushed)?;
        if !self.platform.discrete {
            bound.iter().try_for_each(|memory| match memory {
                Bound::Object(object) => check_snooped(object, entry),
                Bound::Process | Bound::PartOfProcess => {
                    check(entry.coherency.snoops(), Rule::UserptrNotSnooped)
                }
            })?;
        }
        let import = |memory: &Bound<'_>| matches!(memory, Bound::Object(object) if object.is_import());
        check(flushed || !bound.iter().any(import), Rule::ImportNotFlushed)
    }

    /// Returns whether the kernel takes what the GPU writes to shared pages by this index as flushed for the CPU at the end of a submission, or
    /// seen without.
    fn is_flushed(&self, pat_index: u16, entry: &PatEntry) -> bool {
        !self.is_l2_flush_optimized() || pat_index == XA_INDEX || entry.coherency == PatCoherency::TwoWay
    }

    fn has_region(&self, number: u32) -> bool {
        1_u32.checked_shl(number).is_some_and(|region| region & self.regions() != 0)
    }
}

/// Fails for an object whose lines the CPU may cache, by an entry that does not snoop.
fn check_snooped(object: &Object, entry: &PatEntry) -> Result<(), Refusal> {
    let snoops = entry.coherency.snoops();
    match object.caching {
        Some(CpuCaching::Wc) => Ok(()),
        Some(CpuCaching::Wb) => check(snoops, Rule::CachedNotSnooped),
        None => check(snoops, Rule::ImportNotSnooped),
    }
}
