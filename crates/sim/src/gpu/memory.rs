//! Memory as the GPU sees it: translates addresses of a context's space to objects.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::engines::Engines;
use super::fault_log::GpuFault;
use crate::gpu::real_gpu::WriteLog;
use crate::kernel::counterpart::Counterpart;
use crate::kernel::objects::object::Object;
use crate::kernel::spaces::{AddressSpace, Mapped};
use crate::memory::backing_store::MappingCaching;
use crate::observe::coverage::{Kind, Tally};
use crate::observe::epochs::Polled;
use gem_coherency::platform::EngineClass;
use gem_coherency::units::{ByteRange, PAGE_BYTES};
use gem_coherency::vocabulary::{Access, MocsClass};
use gem_coherency_memory_model::Route;

/// The objects that a batch can access: those of its submission, which keep their addresses until it is done,
/// and whatever else is bound in its address space at the time of an access.
#[derive(Debug)]
pub(crate) struct Bindings {
    /// The submission's objects by start address; they are kept alive until the batch is done.
    own: BTreeMap<u64, Named>,
    space: AddressSpace,
    /// What is followed of the batch.
    pub(super) tally: Tally,
}

/// An object that a submission names.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) object: Arc<Object>,
    /// The batch may write it.
    pub(crate) is_written: bool,
}

impl Bindings {
    /// Creates the bindings of a batch in `space` whose objects are at these addresses.
    pub(crate) fn new(space: AddressSpace, own: impl Iterator<Item = (u64, Named)>) -> Self {
        Self { own: own.collect(), space, tally: Tally::default() }
    }

    /// Returns the submission's objects: those that it names, and under xe those that are bound now.
    fn objects(&self) -> Vec<Arc<Object>> {
        let mut objects = self.space.objects();
        objects.extend(self.own.values().map(|named| Arc::clone(&named.object)));
        objects
    }

    /// The address space's counterpart on a real GPU.
    pub(super) fn counterpart(&self) -> &Counterpart {
        self.space.counterpart()
    }

    /// Logs the dirty lines of the submission's objects.
    pub(super) fn watch(&self, submission: u64) {
        self.objects().iter().for_each(|object| object.watch_submission(submission));
    }

    /// Takes note of accesses of the batch that are not followed, and may be to any object of the submission.
    pub(super) fn miss(&self) {
        if self.tally.miss() {
            self.objects().iter().for_each(|object| object.unfollowed());
        }
    }

    /// Drains the write-combining buffers of the submission's objects.
    pub(super) fn drain(&self) {
        for object in self.objects() {
            let state = object.state();
            let ctx = object.access_context(&state);
            if let Err(error) = object.drain(ctx) {
                tracing::debug!(%error, "drain");
            }
        }
    }

    /// Returns what is at `address`.
    fn at(&self, address: u64) -> Option<Mapped> {
        let own = self.own.range(..=address).next_back();
        let own = own.and_then(|(&start, named)| {
            let (object, offset) = (Arc::clone(&named.object), address - start);
            let left = object.size().checked_sub(offset).filter(|&left| left > 0)?;
            Some(Mapped::Object { object, offset, left, caching: None, is_writable: true })
        });
        own.or_else(|| self.space.at(address))
    }

    /// Returns the start of the next object after `address`.
    fn next(&self, address: u64) -> Option<u64> {
        let own = self.own.range(address.checked_add(1)?..).next().map(|(&start, _)| start);
        own.into_iter().chain(self.space.next(address)).min()
    }
}

/// The first part of an address range, up to the next boundary.
enum Piece {
    /// Bytes of an object.
    Bound { object: Arc<Object>, offset: u64, len: u64, caching: Option<MappingCaching> },
    /// No memory, of which reads return zeroes; writes are lost, also to memory that the GPU may not write.
    Null { len: u64 },
    /// Unbound, up to the end of the page: the scratch page.
    Nothing { len: u64 },
}

impl Piece {
    /// Its length in bytes.
    fn len(&self) -> u64 {
        match *self {
            Self::Bound { len, .. } | Self::Null { len } | Self::Nothing { len } => len,
        }
    }
}

/// The result of a fetch.
pub(super) enum Fetched {
    /// Dwords from the address to the end of its line.
    Words(Vec<u32>),
    /// Unbound, up to this address.
    NothingUntil(Option<u64>),
}

/// An address space as an engine sees it.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) engines: &'a Engines,
    pub(super) bindings: &'a Bindings,
    pub(super) engine: EngineClass,
    /// What is written, if a real GPU runs the batch, too.
    pub(super) log: &'a WriteLog,
}

/// Bytes that the command streamer fetches at a time.
const FETCH_BYTES: u64 = 64;

impl View<'_> {
    /// Truncates an address to the implemented bits: 48 from graphics 8 on, 32 before.
    pub(super) fn address(&self, address: u64) -> u64 {
        let bits = if self.engines.system.machine.platform.graphics.major >= 8 { 48 } else { 32 };
        address & ((1 << bits) - 1)
    }

    /// Returns the first part of the `len` bytes at `address`, for an access.
    fn piece(&self, access: Access, address: u64, len: u64) -> Piece {
        let bound = self.bindings.at(address).and_then(|mapped| match mapped {
            Mapped::Null { left } => Some(Piece::Null { len: left.min(len) }),
            Mapped::Object { is_writable: false, left, .. } if access == Access::Write => {
                Some(Piece::Null { len: left.min(len) })
            }
            Mapped::Object { object, offset, left, caching, .. } => {
                // An object whose pages were released has none.
                let has_pages = object.state().snapshot.pages;
                has_pages.then_some(Piece::Bound { object, offset, len: left.min(len), caching })
            }
        });
        bound.unwrap_or(Piece::Nothing { len: (PAGE_BYTES - address % PAGE_BYTES).min(len) })
    }

    /// Reads; unbound addresses return zeroes.
    pub(super) fn read(&self, mocs: MocsClass, address: u64, data: &mut [u8]) {
        self.read_pieces(mocs, address, data, |address| self.fault(address, Access::Read));
    }

    /// Reads without faults; returns whether all addresses are bound.
    pub(super) fn look(&self, mocs: MocsClass, address: u64, data: &mut [u8]) -> bool {
        let mut is_bound = true;
        self.read_pieces(mocs, address, data, |_| is_bound = false);
        is_bound
    }

    /// Reads, and calls `unbound` with the start of each part that is not bound, which is zeroes.
    fn read_pieces(&self, mocs: MocsClass, address: u64, data: &mut [u8], mut unbound: impl FnMut(u64)) {
        let (mut address, mut rest) = (address, data);
        while !rest.is_empty() {
            address = self.address(address);
            let piece = self.piece(Access::Read, address, rest.len() as u64);
            let len = piece.len();
            let (into, after) = rest.split_at_mut(len as usize);
            let read = match piece {
                Piece::Bound { object, offset, caching, .. } => {
                    let state = object.state();
                    let ctx = object.access_context(&state).through(caching);
                    object.read(ctx, Route::Gpu(mocs), offset, into).is_ok()
                }
                Piece::Null { .. } => {
                    into.fill(0);
                    true
                }
                Piece::Nothing { .. } => false,
            };
            if !read {
                into.fill(0);
                unbound(address);
            }
            rest = after;
            address = address.wrapping_add(len);
        }
    }

    /// Logs the dirty lines of a surface's bytes that the GPU would not see.
    pub(super) fn watch_surface(&self, mocs: MocsClass, address: u64, len: u64) {
        self.each_bound(address, len, |object, range| object.watch_surface(mocs, range));
    }

    /// Calls `see` with each object in the `len` bytes at `address`, and the range of it.
    fn each_bound(&self, address: u64, len: u64, see: impl Fn(&Object, ByteRange)) {
        let (mut address, mut left) = (address, len);
        while left > 0 {
            address = self.address(address);
            let piece = self.piece(Access::Read, address, left);
            let len = piece.len();
            if let Piece::Bound { object, offset, .. } = piece
                && let Ok(range) = ByteRange::within(offset, len, object.size())
            {
                see(&object, range);
            }
            left -= len;
            address = address.wrapping_add(len);
        }
    }

    /// Logs the lines of bytes that the command streamer reads before the engine's writes to them are flushed.
    pub(super) fn watch_posted(&self, address: u64, len: u64) {
        if let Piece::Bound { object, offset, len, .. } = self.piece(Access::Read, address, len)
            && let Ok(range) = ByteRange::within(offset, len, object.size())
        {
            object.watch_posted(range);
        }
    }

    /// Returns the poll of the dword at an address, as one that has succeeded.
    pub(super) fn polled(&self, address: u64) -> Option<Polled> {
        match self.piece(Access::Read, self.address(address), 4) {
            Piece::Bound { object, offset, .. } => object.polled(offset),
            Piece::Null { .. } | Piece::Nothing { .. } => None,
        }
    }

    /// Logs the lines of bytes that the batch reads after a poll, with stores that may not be drained.
    pub(super) fn watch_undrained(&self, polled: &Polled, address: u64, len: u64) {
        self.each_bound(address, len, |object, range| object.watch_undrained(polled, range));
    }

    /// Writes; writes to unbound addresses are lost.
    pub(super) fn write(&self, mocs: MocsClass, address: u64, data: &[u8]) {
        let (mut address, mut rest) = (address, data);
        while !rest.is_empty() {
            address = self.address(address);
            let piece = self.piece(Access::Write, address, rest.len() as u64);
            let len = piece.len();
            let (from, after) = rest.split_at(len as usize);
            let written = match piece {
                Piece::Bound { object, offset, caching, .. } => {
                    let state = object.state();
                    let ctx = object.access_context(&state).through(caching);
                    self.log.add(object.id(), offset..offset + len);
                    let written = object.write(ctx, Route::Gpu(mocs), offset, from).is_ok();
                    object.note_gpu_write(offset, from);
                    written
                }
                Piece::Null { .. } => true,
                Piece::Nothing { .. } => false,
            };
            if !written {
                self.fault(address, Access::Write);
            }
            rest = after;
            address = address.wrapping_add(len);
        }
    }

    /// Fetches commands, up to the end of the line.
    pub(super) fn fetch(&self, address: u64) -> Fetched {
        let address = self.address(address) & !3;
        let len = FETCH_BYTES - address % FETCH_BYTES;
        if let Piece::Nothing { .. } = self.piece(Access::Read, address, len) {
            return Fetched::NothingUntil(self.bindings.next(address));
        }
        let mut bytes = [0; FETCH_BYTES as usize];
        let bytes = bytes.get_mut(..len as usize).unwrap_or_default();
        self.read(MocsClass::PageTable, address, bytes);
        Fetched::Words(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// Counts work that is skipped, and whose accesses are not known.
    pub(super) fn skip(&self, kind: Kind, why: &str) {
        tracing::debug!(?kind, why, "skipped");
        self.engines.system.coverage.skipped(kind, why);
        self.bindings.miss();
        if matches!(kind, Kind::Draw | Kind::Dispatch) {
            let written = self.bindings.own.values().filter(|named| named.is_written);
            written.for_each(|named| named.object.state().is_unwritten = true);
        }
    }

    /// Returns the addresses of the object at an address, if a shader that was skipped should have written it.
    pub(super) fn unwritten(&self, address: u64) -> Option<Range<u64>> {
        let Mapped::Object { object, offset, .. } = self.bindings.at(address)? else { return None };
        let start = address.saturating_sub(offset);
        object.state().is_unwritten.then(|| start..start.saturating_add(object.size()))
    }

    /// Counts work that is followed.
    pub(super) fn follow(&self, kind: Kind) {
        self.engines.system.coverage.followed(kind);
        self.bindings.tally.follow();
    }

    /// Takes note that the hardware may execute other commands than the following ones.
    pub(super) fn stray(&self, why: &'static str) {
        self.bindings.tally.stray(why);
        self.bindings.miss();
    }

    /// Logs an access to an unbound address.
    pub(super) fn fault(&self, address: u64, access: Access) {
        self.engines.fault_log.fault(GpuFault { address, access, engine: self.engine });
    }
}
