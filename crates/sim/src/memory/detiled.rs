//! The linear views of tiled objects, which programs map in place of the aperture.
//!
//! A fence register reorders the bytes of each access through the aperture. A file that a program maps cannot do that, so
//! a mapping of a tiled object shows a file of its own: a view, with the object's bytes in linear order. Every mapping of
//! the object through the aperture shows the same view, in all processes.
//!
//! What programs stored to a view is stored to the object before the first access that a request makes to the
//! object's bytes ([`BackingStore::absorb`]). The view gets the bytes that the aperture shows at the end of a request that
//! accessed them ([`Detiled::refresh`]). If a mapping of a program shows the object's own bytes, nothing sees its accesses: then
//! both are done at the end of each request. Until then, such a mapping does not show what was stored to the view, nor the
//! view what was stored elsewhere.
//!
//! Both compare a view with the bytes that it had the last time. The order of stores to a view and of other stores is not
//! known, so a watched or traced device does not log them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, Weak};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use super::backing_store::{AccessContext, BackingStore};
use super::tiling::Order;
use crate::refuse::refuse;
use gem_coherency::backend::mapping::SharedBytes;
use gem_coherency::error::{Error, Result};
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency_memory_model::Route;
use nix::unistd::{Whence, lseek64};

/// Number of requests of programs so far.
static REQUESTS: AtomicU64 = AtomicU64::new(1);

/// A linear view of a tiled object.
#[derive(Debug)]
pub(crate) struct Detiled {
    size: u64,
    /// The bytes that programs load and store.
    shown: SharedBytes,
    known: Mutex<Known>,
}

/// A view as it was the last time.
#[derive(Debug)]
struct Known {
    bytes: SharedBytes,
    /// The object's bytes of which these were made, in its own order.
    tiled: SharedBytes,
    order: Order,
    ctx: AccessContext<'static>,
    /// Number of requests that had been made when the object last got what programs stored.
    absorbed: u64,
    /// The object's bytes were accessed since the view got them.
    old: bool,
}

/// The views of the bytes in a backing store: those of the exporting and of the importing devices.
#[derive(Debug, Default)]
pub(crate) struct Views(Vec<Weak<Detiled>>);

impl Detiled {
    /// Creates a view of `size` bytes of this order, which shows zeroes.
    ///
    /// # Errors
    /// Those of creating the file.
    pub(crate) fn new(size: u64, ctx: AccessContext<'_>, order: Order) -> Result<Self> {
        let (bytes, tiled) = (SharedBytes::zeroed(size)?, SharedBytes::zeroed(size)?);
        let known = Mutex::new(Known { bytes, tiled, order, ctx: ctx.quiet(), absorbed: 0, old: true });
        Ok(Self { size, shown: SharedBytes::in_file(size)?, known })
    }

    /// Returns whether no mapping of the view was touched.
    pub(crate) fn is_untouched(&self) -> bool {
        self.extents().is_ok_and(|extents| extents.is_empty())
    }

    /// Returns whether the object's bytes were accessed since the view got them.
    pub(crate) fn is_old(&self) -> bool {
        self.known().old
    }

    /// Returns the file that programs map.
    ///
    /// # Errors
    /// Those of dup(2).
    pub(crate) fn file(&self) -> Result<OwnedFd> {
        let Some(file) = self.shown.file() else { return refuse("dup", Errno::EBADF) };
        file.try_clone_to_owned().map_err(|error| Error::Ioctl {
            request: "dup",
            errno: error.raw_os_error().map_or(Errno::EMFILE, Errno::new),
        })
    }

    /// Stores to the object what programs stored to the view.
    fn absorb(&self, backing: &mut BackingStore, known: &mut Known) -> Result<()> {
        let Known { order, ctx, .. } = *known;
        let touched = self.extents()?;
        for (first, len) in self.rows(&touched, order) {
            let now = self.load(&touched, first, len)?;
            let before = load(&known.bytes, first, len)?;
            for run in different(&now, &before) {
                known.bytes.copy_in(first + run.start as u64, slice(&now, &run))?;
            }
            let (now, before) = (order.tiled(first, &now), order.tiled(first, &before));
            for run in different(&now, &before) {
                let at = first + run.start as u64;
                backing.put(ctx, ctx.route(Route::Aperture), at, slice(&now, &run))?;
                backing.saw(at, slice(&now, &run))?;
            }
        }
        Ok(())
    }

    /// Lets the view show what the aperture shows of the object, whose bytes have this order.
    pub(crate) fn refresh(
        &self,
        backing: &mut BackingStore,
        ctx: AccessContext<'_>,
        order: Order,
    ) -> Result<()> {
        backing.drain(ctx)?;
        let mut known = self.known();
        self.absorb(backing, &mut known)?;
        let ctx = ctx.quiet();
        let is_same_order = known.order == order;
        (known.order, known.ctx, known.old) = (order, ctx, false);
        let mut written: Vec<Range<u64>> = Vec::new();
        let mut left = backing.lines.all();
        while let Some(part) = backing.next_data(left)? {
            let (start, end) = (part.first() * LINE_BYTES, part.end() * LINE_BYTES);
            match written.last_mut() {
                Some(last) if last.end == start => last.end = end,
                Some(_) | None => written.push(start..end),
            }
            left = LineRange::new(part.end(), left.end());
        }
        let mut filled = self.extents()?;
        filled.extend(written.iter().cloned());
        for (first, len) in self.rows(&filled, order) {
            let mut tiled = vec![0; len];
            for range in overlapping(&written, first, len) {
                let (at, part) = part(&mut tiled, first, range);
                backing.look(ctx, Route::Aperture, at, part)?;
            }
            let before = load(&known.tiled, first, len)?;
            if tiled == before && is_same_order {
                continue;
            }
            for run in different(&tiled, &before) {
                known.tiled.copy_in(first + run.start as u64, slice(&tiled, &run))?;
            }
            let now = order.linear(first, &tiled);
            // Programs may store to other bytes meanwhile.
            for run in different(&now, &load(&known.bytes, first, len)?) {
                let at = first + run.start as u64;
                self.shown.copy_in(at, slice(&now, &run))?;
                known.bytes.copy_in(at, slice(&now, &run))?;
            }
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }

    /// Returns the rows of tiles in which the ranges have bytes: the first byte, and the number of bytes.
    fn rows(&self, ranges: &[Range<u64>], order: Order) -> Vec<(u64, usize)> {
        let row = order.row_bytes();
        let rows: BTreeSet<u64> =
            ranges.iter().flat_map(|range| range.start / row..range.end.div_ceil(row)).collect();
        let row = |index| (index * row, row.min(self.size.saturating_sub(index * row)) as usize);
        rows.into_iter().map(row).collect()
    }

    /// Returns the ranges of the view that have pages: a load brings one in, as a store does.
    fn extents(&self) -> Result<Vec<Range<u64>>> {
        let mut extents = Vec::new();
        let Some(file) = self.shown.file() else { return Ok(extents) };
        let seek = |from: u64, whence| match lseek64(file.as_fd(), from as i64, whence) {
            Ok(at) => Ok(Some(at as u64)),
            Err(nix::Error::ENXIO) => Ok(None),
            Err(errno) => Err(Error::Ioctl { request: "lseek", errno: Errno::new(errno as i32) }),
        };
        let mut end = 0;
        while let Some(start) = seek(end, Whence::SeekData)? {
            end = seek(start, Whence::SeekHole)?.unwrap_or(self.size);
            extents.push(start..end);
        }
        Ok(extents)
    }

    /// Returns `len` bytes of the view from `first` on; a load would bring in the pages that are in no extent.
    fn load(&self, extents: &[Range<u64>], first: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        for extent in overlapping(extents, first, len) {
            let (at, part) = part(&mut bytes, first, extent);
            self.shown.copy_out(at, part)?;
        }
        Ok(bytes)
    }
}

impl Views {
    /// Adds a view.
    pub(crate) fn add(&mut self, view: &Arc<Detiled>) {
        self.0.retain(|view| view.strong_count() > 0);
        self.0.push(Arc::downgrade(view));
    }
}

impl BackingStore {
    /// Gets what programs stored to the views of these bytes, before an access: once for each request.
    pub(crate) fn absorb(&mut self) -> Result<()> {
        if self.detiled.0.is_empty() {
            return Ok(());
        }
        // Acquire: with the increment in `end_request`.
        let requests = REQUESTS.load(Ordering::Acquire);
        let views: Vec<_> = self.detiled.0.iter().filter_map(Weak::upgrade).collect();
        for view in views {
            let mut known = view.known();
            known.old = true;
            if std::mem::replace(&mut known.absorbed, requests) != requests {
                view.absorb(self, &mut known)?;
            }
        }
        Ok(())
    }
}

/// Ends a request: what programs stored since is absorbed before the next access.
pub(crate) fn end_request() {
    // Release: later accesses absorb what was stored since.
    REQUESTS.fetch_add(1, Ordering::Release);
}

/// Returns the ranges, of ascending ones, that have some of `len` bytes from `first` on.
fn overlapping(ranges: &[Range<u64>], first: u64, len: usize) -> impl Iterator<Item = &Range<u64>> {
    let next = ranges.partition_point(|range| range.end <= first);
    ranges.iter().skip(next).take_while(move |range| range.start < first + len as u64)
}

fn load(bytes: &SharedBytes, first: u64, len: usize) -> Result<Vec<u8>> {
    let mut loaded = vec![0; len];
    bytes.copy_out(first, &mut loaded)?;
    Ok(loaded)
}

/// Returns the part of bytes, of which the first is at `first`, that lies in a range, and its offset.
fn part<'a>(bytes: &'a mut [u8], first: u64, range: &Range<u64>) -> (u64, &'a mut [u8]) {
    let (start, end) = (range.start.max(first), range.end.min(first + bytes.len() as u64));
    let within = start.saturating_sub(first) as usize..end.saturating_sub(first) as usize;
    (start, bytes.get_mut(within).unwrap_or_default())
}

/// Returns the ranges in which two slices of one length differ.
fn different(one: &[u8], other: &[u8]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let lines = one.chunks(LINE_BYTES as usize).zip(other.chunks(LINE_BYTES as usize)).enumerate();
    for (line, (one, other)) in lines.filter(|(_, (one, other))| one != other) {
        let pairs = (line * LINE_BYTES as usize..).zip(one.iter().zip(other));
        for (at, _) in pairs.filter(|(_, (one, other))| one != other) {
            match ranges.last_mut() {
                Some(last) if last.end == at => last.end = at + 1,
                Some(_) | None => ranges.push(at..at + 1),
            }
        }
    }
    ranges
}

fn slice<'a>(bytes: &'a [u8], range: &Range<usize>) -> &'a [u8] {
    bytes.get(range.clone()).unwrap_or_default()
}
