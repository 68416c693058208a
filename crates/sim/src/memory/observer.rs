//! The observers of accesses to backing stores, and what these tell them.

use std::fmt::Debug;
use std::ops::Range;

use super::backing_store::{AccessContext, BackingStore};
use super::lines::Run;
use gem_coherency::backend::mapping::SharedBytes;
use gem_coherency::error::Result;
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::{CacheLevel, Handle};
use gem_coherency_memory_model::{Effect, Route};

/// An observer of the accesses to backing stores. A backing store tells of each access before it is made.
pub(crate) trait Observer: Debug + Sync {
    /// Takes note of a read of the bytes of `range`.
    ///
    /// # Errors
    /// Those of comparing bytes.
    fn read(
        &self,
        _observed: Observed<'_>,
        _backing: &mut BackingStore,
        _terms: AccessContext<'_>,
        _route: Route,
        _range: ByteRange,
    ) -> Result<()> {
        Ok(())
    }

    /// Takes note of a write of the bytes `data`.
    ///
    /// # Errors
    /// Those of comparing bytes.
    fn write(
        &self,
        _observed: Observed<'_>,
        _backing: &mut BackingStore,
        _terms: AccessContext<'_>,
        _route: Route,
        _offset: u64,
        _data: &[u8],
    ) -> Result<()> {
        Ok(())
    }

    /// Takes note of a mapping on `route`, whose stores are not detected from now on.
    ///
    /// # Errors
    /// Those of copying bytes.
    fn map(&self, _observed: Observed<'_>, _backing: &mut BackingStore, _route: Route) -> Result<()> {
        Ok(())
    }

    /// Takes note of the part of an access that is to lines in one state.
    ///
    /// # Errors
    /// Those of comparing bytes.
    fn access(
        &self,
        _observed: Observed<'_>,
        _backing: &BackingStore,
        _level: CacheLevel,
        _access: RunAccess<'_>,
    ) -> Result<()> {
        Ok(())
    }
}

/// An object as its observers know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) object: u64,
    pub(crate) handle: Option<Handle>,
    pub(crate) size: u64,
}

/// An observer, and the object that is accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed<'a> {
    pub(crate) observer: &'a dyn Observer,
    pub(crate) about: About,
    /// Offset in the object of the backing store's first byte; it wraps around below 0.
    pub(crate) first: u64,
    /// The accesses are another device's.
    pub(crate) foreign: bool,
}

/// An access to lines in one state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunAccess<'a> {
    pub(crate) route: Route,
    pub(crate) effect: Effect,
    pub(crate) run: Run,
    /// The accessed bytes.
    pub(crate) part: &'a Range<u64>,
    /// The bytes that a write brings.
    pub(crate) new: Option<&'a [u8]>,
}

impl Observed<'_> {
    /// Returns the observer of accesses to a backing store whose byte at `offset` is the object's at `of_object`.
    pub(crate) fn of_part(self, offset: u64, of_object: u64) -> Self {
        Self { first: of_object.wrapping_sub(offset), ..self }
    }
}

impl BackingStore {
    /// Takes note of bytes that the device itself wrote.
    pub(crate) fn saw(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.seen.as_ref().map_or(Ok(()), |seen| seen.copy_in(offset, data))
    }

    /// Takes note that all bytes were discarded, and are zeroes.
    pub(crate) fn forget_seen(&mut self) {
        if self.seen.is_some() {
            // Without room, the stores of programs stay undetected.
            self.seen =
                SharedBytes::zeroed(self.size).inspect_err(|error| tracing::error!(%error, "trace")).ok();
        }
    }
}
