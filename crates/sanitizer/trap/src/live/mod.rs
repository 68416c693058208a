//! The traps of this process: which objects were searched, and which instructions are trapped.
//!
//! # Layers
//!
//! ```text
//! L4  trap
//! L3  calls   watch
//! L2  ahead   callers   perform
//! L1  patch   registers   signals   table
//! L0  objects   system
//! ```
//!
//! * `trap`: serves traps of flushes and stores, and what their function sees. Not the search for them.
//! * `calls`: the program's system calls, with their traps and copies. Not what becomes of a call.
//! * `watch`: first stores to pages and loads of hidden pages, by page protection. Not traps of instructions.
//! * `ahead`: executes the instructions between trapped ones. Not those that access memory.
//! * `callers`: call stacks of interrupted threads. Not the names of functions.
//! * `perform`: executes a trapped flush or store in its place. Not its address.
//! * `patch`: stores bytes of code. Not which ones.
//! * `registers`: the registers of an interrupted thread, and addresses of operands. Not the frames below.
//! * `signals`: actions, masks, and stacks for work in handlers. Not what the handlers do.
//! * `table`: what handlers look up by address, without locks. Not how it is found.
//! * `objects`: the loaded objects and their segments. Not their instructions.
//! * `system`: system calls, made directly. Not errno.
//!
//! # Safety
//! Instructions are replaced only where `scan` has found them, and under the loader's lock, so that their object stays
//! mapped.
#![allow(unsafe_code)]

mod ahead;
pub(super) mod callers;
pub(super) mod calls;
mod objects;
mod patch;
mod perform;
mod registers;
pub(super) mod signals;
mod system;
mod table;
pub(super) mod trap;
pub mod watch;

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Error;
use crate::scan::{Instruction, Kind, Search, Step, scan};
use objects::{Generation, Object, each_object};
use patch::Protections;
use table::{Module, Table};

pub use table::locate_in_handler;

/// Settings of [`install`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// An address inside the object that is left alone: the preloaded library, which flushes for itself.
    pub own: usize,
    /// Kinds of instructions to trap.
    pub search: Search,
}

/// Result of a [`rescan`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Objects that were searched now.
    pub objects: usize,
    /// Bytes of code that were searched now.
    pub bytes: u64,
    /// Instructions that are trapped since now.
    pub trapped: usize,
    /// Places that were found now and decode as a flush, but are not confirmed: they are left alone. Most are data in
    /// executable segments; `examples/flushes.rs` lists them.
    pub doubtful: usize,
    /// Objects that could not be changed; their instructions are left alone. The last error is `error`.
    pub failed: usize,
    /// Reason of the last failure.
    pub error: Option<Error>,
    /// Objects that were unloaded.
    pub unloaded: usize,
}

/// A trapped instruction, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteInfo {
    /// File of its object.
    pub module: PathBuf,
    /// Address in the file: what objdump and DWARF call it.
    pub link_address: u64,
    /// Address in this process.
    pub address: usize,
    /// Its kind.
    pub kind: Kind,
}

/// An object that was searched.
struct Known {
    name: Vec<u8>,
    base: u64,
    extent: Range<usize>,
    module: Module,
    sites: Vec<Instruction>,
    steps: Vec<Step>,
    /// First bytes of the sites, before they became INT3.
    originals: Vec<u8>,
    /// Its system calls, once it was searched for them.
    calls: Option<calls::Calls>,
    is_trapped: bool,
}

impl Known {
    /// Searches the object for instructions to trap.
    fn search(&mut self, object: &Object<'_>, options: Options, report: &mut Report) {
        if object.is_vdso() || object.contains(options.own) {
            return;
        }
        let kinds = if object.is_libc() { Search::Flushes } else { options.search };
        let found = scan(&object.image, kinds);
        report.objects += 1;
        report.bytes += found.bytes;
        report.doubtful += found.doubtful.len();
        self.originals = found
            .instructions
            .iter()
            .filter_map(|site| object.image.from(site.address).and_then(|bytes| bytes.first().copied()))
            .collect();
        self.sites = found.instructions;
        self.steps = found.steps;
    }

    /// Puts the instructions of the loaded object back.
    fn put_back(&mut self, protections: &Protections) -> Result<(), Error> {
        if !self.is_trapped {
            return Ok(());
        }
        let bytes: Vec<_> = self
            .sites
            .iter()
            .zip(&self.originals)
            .map(|(site, &byte)| (site.address as usize, byte))
            .collect();
        // SAFETY: the object is loaded, and these are its own bytes.
        unsafe { patch::store(&bytes, protections)? };
        self.is_trapped = false;
        Ok(())
    }

    /// True if this is the loaded object. A library that was unloaded and loaded again at its place has no traps.
    fn is(&self, object: &Object<'_>) -> bool {
        let is_expected = |(site, &original): (&Instruction, &u8)| {
            object.contains(site.address as usize) && {
                // SAFETY: the byte is in a segment of a loaded object.
                let byte = unsafe { patch::load(site.address as usize) };
                byte == if self.is_trapped { patch::INT3 } else { original }
            }
        };
        self.base == object.base
            && self.name == object.name.to_bytes()
            && self.extent == object.extent()
            && self.sites.iter().zip(&self.originals).all(is_expected)
            && self.calls.iter().all(|calls| calls.are_in(object))
    }
}

struct State {
    options: Options,
    generation: Generation,
    objects: Vec<Known>,
    is_removed: bool,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Locks the state. Signals are blocked, because a handler of the program may call a hook that needs it.
fn lock() -> (MutexGuard<'static, Option<State>>, signals::Blocked) {
    let blocked = signals::Blocked::all();
    (STATE.lock().unwrap_or_else(PoisonError::into_inner), blocked)
}

/// Handles SIGTRAP, and traps the instructions of all loaded objects. If traps are installed, sets the function.
///
/// # Errors
/// [`Error::Action`].
pub fn install(handler: trap::Handler, options: Options) -> Result<Report, Error> {
    {
        let (mut state, _blocked) = lock();
        trap::start(handler)?;
        let new =
            || State { options, generation: Generation::default(), objects: Vec::new(), is_removed: false };
        let state = state.get_or_insert_with(new);
        if state.is_removed {
            (state.is_removed, state.generation) = (false, Generation::default());
        }
    }
    rescan()
}

/// Traps the instructions of objects that were loaded since the last call, and forgets objects that were unloaded.
///
/// Cheap if there are none: it compares two numbers. For hooks to call after dlopen and dlclose. Thread-safe. Not for
/// functions that dl_iterate_phdr calls back.
///
/// # Errors
/// [`Error::NotInstalled`].
pub fn rescan() -> Result<Report, Error> {
    let (mut state, _blocked) = lock();
    let state = state.as_mut().ok_or(Error::NotInstalled)?;
    let mut report = Report::default();
    let now = objects::generation();
    if now == state.generation || state.is_removed {
        return Ok(report);
    }
    let mut former = std::mem::take(&mut state.objects);
    let options = state.options;
    each_object(|object| {
        let index = former.iter().position(|known| known.is(object));
        let known = index.map(|index| former.swap_remove(index));
        let mut known = known.unwrap_or_else(|| search(object, options, &mut report));
        if known.calls.is_none() && !object.is_vdso() && !object.contains(options.own) {
            known.calls = calls::search(object).unwrap_or_else(|error| {
                (report.failed, report.error) = (report.failed + 1, Some(error));
                None
            });
        }
        state.objects.push(known);
        state.generation = object.generation;
        true
    });
    report.unloaded = former.len();
    state.publish();
    // A trap needs its entry in the table; and an object could have been unloaded since it was searched.
    let protections = Protections::default();
    each_object(|object| {
        let mut objects = state.objects.iter_mut();
        let calls = objects.find(|known| known.is(object)).and_then(|known| known.calls.as_mut());
        if let Some(Err(error)) = calls.map(|calls| calls.trap(&protections)) {
            (report.failed, report.error) = (report.failed + 1, Some(error));
        }
        let new = state.objects.iter_mut().find(|known| !known.is_trapped && known.is(object));
        if let Some(known) = new {
            let traps: Vec<_> = known.sites.iter().map(|site| (site.address as usize, patch::INT3)).collect();
            // SAFETY: the object is loaded, and each address is the first byte of an instruction that the table has.
            match unsafe { patch::store(&traps, &protections) } {
                Ok(()) => {
                    known.is_trapped = true;
                    report.trapped += traps.len();
                }
                Err(error) => {
                    report.failed += 1;
                    report.error = Some(error);
                }
            }
        }
        true
    });
    Ok(report)
}

/// Traps these kinds of instructions from now on, in place of those that [`install`] was asked for.
///
/// # Errors
/// [`Error::NotInstalled`]; [`Error::Protect`], with which some objects have the former traps or none.
pub fn search_for(search: Search) -> Result<Report, Error> {
    let mut report = Report::default();
    {
        let (mut state, _blocked) = lock();
        let state = state.as_mut().ok_or(Error::NotInstalled)?;
        if state.options.search == search {
            return Ok(report);
        }
        state.options.search = search;
        state.generation = Generation::default();
        let options = state.options;
        let protections = Protections::default();
        let mut result = Ok(());
        each_object(|object| {
            if let Some(known) = state.objects.iter_mut().find(|known| known.is(object)) {
                match known.put_back(&protections) {
                    Ok(()) => known.search(object, options, &mut report),
                    Err(error) => result = Err(error),
                }
            }
            true
        });
        result?;
    }
    let Report { trapped, failed, error, unloaded, .. } = rescan()?;
    Ok(Report { trapped, failed, error, unloaded, ..report })
}

/// Looks at all objects again: they were not searched for system calls.
fn search_again() -> Result<Report, Error> {
    {
        let (mut state, _blocked) = lock();
        let Some(state) = state.as_mut() else { return Ok(Report::default()) };
        state.generation = Generation::default();
    }
    rescan()
}

impl State {
    fn publish(&self) {
        let mut table = Table::default();
        for known in &self.objects {
            table.sites.extend(&known.sites);
            table.steps.extend(&known.steps);
            table.calls.extend(known.calls.iter().flat_map(calls::Calls::copies));
            table.modules.push(known.module.clone());
        }
        table.sites.sort_unstable_by_key(|site| site.address);
        table.steps.sort_unstable_by_key(|step| step.address);
        table.calls.sort_unstable_by_key(|call| call.site);
        table.modules.sort_unstable_by_key(|module| module.extent.start);
        table::publish(table);
    }
}

/// Searches an object.
fn search(object: &Object<'_>, options: Options, report: &mut Report) -> Known {
    let segments = object.image.segments.iter();
    let module = Module {
        path: path(object.name.to_bytes()).into_os_string().into_encoded_bytes(),
        base: object.base,
        extent: object.extent(),
        segments: segments
            .map(|segment| (segment.address as usize, segment.bytes.len(), segment.executable))
            .collect(),
        eh_frame_hdr: object.image.eh_frame_hdr.map(|address| address as usize),
    };
    let mut known = Known {
        name: object.name.to_bytes().to_vec(),
        base: object.base,
        extent: object.extent(),
        module,
        sites: Vec::new(),
        steps: Vec::new(),
        originals: Vec::new(),
        calls: None,
        is_trapped: false,
    };
    known.search(object, options, report);
    known
}

/// Puts the instructions back, until the next [`install`]. The handler of SIGTRAP stays.
///
/// # Errors
/// [`Error::Protect`]; instructions of other objects are put back.
pub fn remove() -> Result<(), Error> {
    let (mut state, _blocked) = lock();
    let Some(state) = state.as_mut() else { return Ok(()) };
    let protections = Protections::default();
    state.is_removed = true;
    let mut result = Ok(());
    each_object(|object| {
        let mut objects = state.objects.iter_mut();
        let calls = objects.find(|known| known.is(object)).and_then(|known| known.calls.as_mut());
        if let Some(Err(error)) = calls.map(|calls| calls.put_back(&protections)) {
            result = Err(error);
        }
        let known = state.objects.iter_mut().find(|known| known.is(object));
        if let Some(Err(error)) = known.map(|known| known.put_back(&protections)) {
            result = Err(error);
        }
        true
    });
    result
}

/// True if a SIGTRAP whose INT3 is at `address` is the crate's. Async-signal-safe.
#[must_use]
pub fn is_ours(address: usize) -> bool {
    table::current().is_some_and(|table| table.site(address).is_some())
}

/// Returns the file of the loaded object that contains `address`, and the address in that file: what `symbols` resolves.
/// `None` for other memory, and for objects that were loaded since the last [`rescan`]. Not async-signal-safe.
#[must_use]
pub fn locate(address: usize) -> Option<(PathBuf, u64)> {
    let (state, _blocked) = lock();
    let mut objects = state.iter().flat_map(|state| &state.objects);
    let known = objects.find(|known| known.extent.contains(&address))?;
    Some((path(&known.name), (address as u64).wrapping_sub(known.base)))
}

/// Lists the trapped instructions.
#[must_use]
pub fn sites() -> Vec<SiteInfo> {
    let (state, _blocked) = lock();
    let objects = state.iter().flat_map(|state| &state.objects).filter(|known| known.is_trapped);
    let info = |known: &Known, site: &Instruction| SiteInfo {
        module: path(&known.name),
        link_address: site.address.wrapping_sub(known.base),
        address: site.address as usize,
        kind: site.operation.kind(),
    };
    objects.flat_map(|known| known.sites.iter().map(move |site| info(known, site))).collect()
}

/// Returns the path of an object. The loader has no name for the program itself.
fn path(name: &[u8]) -> PathBuf {
    let program = if name.is_empty() { system::read_link(c"/proc/self/exe") } else { None };
    PathBuf::from(OsStr::from_bytes(program.as_deref().unwrap_or(name)))
}
