//! Follows every object, handle and address space of a device through the trace.

use std::collections::HashMap;

use gem_coherency::xe::{CpuCaching, CreateFlags, Device, LOCAL, Object, Rule, SYSTEM};

use super::pages::{Pool, Population};
use super::row::{FlushRow, RequestRow, XeCounts};
use super::space::Space;
use crate::kernel_trace::xe::{Request, Sent, XeCall, XeEvent};
use crate::kernel_trace::{EventKind, TraceEvent};

/// An object whose creation was seen.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    /// Bytes.
    pub size_bytes: u64,
    /// Its number, once it has a handle.
    pub number: Option<u32>,
    /// Its last handle.
    pub handle: Option<u32>,
    /// How it was created or imported; `None` for the driver's own.
    pub described: Option<Object>,
    /// Its page list.
    pub list: Option<u64>,
}

/// A page list.
#[derive(Clone, Copy, Debug)]
struct List {
    /// Its object.
    object: u64,
    /// Set once the object is destroyed, if its pages were cached.
    was_cached: bool,
}

/// A call in progress.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The call.
    pub call: XeCall,
    /// The open file.
    pub file: u64,
    /// The request.
    pub request: Request,
    /// The object that got a handle.
    pub named: Option<u64>,
    /// Set once a fence was read.
    pub fence: bool,
    /// Pages that objects got.
    pub populations: Vec<Population>,
    /// Times of flushes by functions that xe does not call for objects.
    pub lines: Vec<u64>,
}

/// The state of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    /// The calls in progress, the innermost last.
    pub calls: Vec<Window>,
    /// Pages that an object gets.
    pub population: Option<Population>,
}

/// Compares xe's answers and flushes with the rules' predictions.
#[derive(Clone, Debug)]
pub struct XeFollower {
    pub(super) device: Device,
    /// The rule that predictions leave out.
    pub(super) without: Option<Rule>,
    /// Set if the flush of pages that become write-combining is an event of its own.
    flush_shows: bool,
    /// The followed device, as the trace identifies it; `None`: all are.
    address: Option<u64>,
    pub(super) objects: HashMap<u64, Followed>,
    /// File and handle to object.
    pub(super) handles: HashMap<(u64, u32), u64>,
    /// The page lists, by address.
    lists: HashMap<u64, List>,
    /// File and number to address space.
    pub(super) spaces: HashMap<(u64, u32), Space>,
    threads: HashMap<u32, Thread>,
    pub(super) pool: Pool,
    pub(super) requests: Vec<RequestRow>,
    pub(super) flushes: Vec<FlushRow>,
    pub(super) counts: XeCounts,
}

impl XeFollower {
    /// Creates a follower of a device. `missing`: the functions that could not be probed; `pooled`: the pages in TTM's pool, if known.
    pub fn new(device: Device, without: Option<Rule>, missing: &[&str], pooled: Option<u64>) -> Self {
        Self {
            device,
            without,
            flush_shows: !missing.contains(&"cpa_flush"),
            address: None,
            objects: HashMap::new(),
            handles: HashMap::new(),
            lists: HashMap::new(),
            spaces: HashMap::new(),
            threads: HashMap::new(),
            pool: Pool::of(pooled),
            requests: Vec::new(),
            flushes: Vec::new(),
            counts: XeCounts::default(),
        }
    }

    /// Follows only this device, identified as in [`EventKind::Created`].
    pub fn on(&mut self, device: u64) {
        self.address = Some(device);
    }

    /// Takes the requests that were compared since the last call.
    pub fn requests(&mut self) -> Vec<RequestRow> {
        std::mem::take(&mut self.requests)
    }

    /// Takes the flushes that were compared since the last call.
    pub fn flushes(&mut self) -> Vec<FlushRow> {
        std::mem::take(&mut self.flushes)
    }

    /// Returns the numbers so far.
    pub const fn counts(&self) -> &XeCounts {
        &self.counts
    }

    /// Takes an event. Every event must be passed, in order.
    pub fn feed(&mut self, seen: &TraceEvent) {
        match &seen.what {
            EventKind::Created { device, object, size_bytes } => {
                self.objects.remove(object);
                if self.is_followed(*device) {
                    let new = Followed {
                        size_bytes: *size_bytes,
                        number: None,
                        handle: None,
                        described: None,
                        list: None,
                    };
                    self.objects.insert(*object, new);
                }
            }
            EventKind::FlushPages { .. } | EventKind::FlushRange { .. } | EventKind::Wbinvd { .. } => {
                if let Some(window) = self.window(seen.tid) {
                    window.lines.push(seen.time_ns);
                }
            }
            EventKind::Lost(count) => self.lose_all(*count),
            EventKind::Xe(event) => self.event(seen, event),
            EventKind::Mark(_)
            | EventKind::Made { .. }
            | EventKind::HandleCreated { .. }
            | EventKind::Pages { .. }
            | EventKind::Clflush { .. }
            | EventKind::Level { .. }
            | EventKind::Transfer { .. }
            | EventKind::Destroyed { .. }
            | EventKind::Call(_) => {}
        }
    }

    /// Takes an event of xe.
    fn event(&mut self, seen: &TraceEvent, event: &XeEvent) {
        match event {
            XeEvent::Begin { call, device, file, words } => {
                let thread = self.threads.entry(seen.tid).or_default();
                // Only a fault begins inside of a call: others were left without a return.
                if *call != XeCall::Fault {
                    thread.calls.clear();
                    thread.population = None;
                }
                if *call == XeCall::Fault || self.address.is_none_or(|followed| followed == *device) {
                    let request = Sent(words).request(*call);
                    let window = Window {
                        call: *call,
                        file: *file,
                        request,
                        named: None,
                        fence: false,
                        populations: Vec::new(),
                        lines: Vec::new(),
                    };
                    thread.calls.push(window);
                }
            }
            XeEvent::End { call, result, words } => {
                let ended = |window: &mut Window| window.call == *call;
                let window = self.threads.get_mut(&seen.tid).and_then(|thread| thread.calls.pop_if(ended));
                if let Some(mut window) = window {
                    if let Request::Bind(bind) = &mut window.request {
                        bind.compare(words);
                    }
                    self.end(seen, window, *result, words);
                }
            }
            XeEvent::Fence => {
                if let Some(window) = self.window(seen.tid) {
                    window.fence = true;
                }
            }
            XeEvent::Named { file, object, handle } => self.name(seen.tid, *file, *object, *handle),
            XeEvent::Closed { file, handle } => {
                self.handles.remove(&(*file, *handle));
            }
            XeEvent::FileClosed { file } => {
                self.handles.retain(|(other, _), _| other != file);
                self.spaces.retain(|(other, _), _| other != file);
            }
            XeEvent::Imported { object } => {
                if let Some(object) = self.objects.get_mut(object) {
                    object.described.get_or_insert(Object::imported(object.size_bytes));
                }
            }
            XeEvent::Freed { object } => {
                // Its pages go back later.
                let Some(freed) = self.objects.remove(object) else { return };
                let was_cached = freed.described.is_some_and(|object| !self.is_flushed(&object).0);
                if let Some(list) = freed.list.and_then(|list| self.lists.get_mut(&list)) {
                    list.was_cached = was_cached;
                }
            }
            XeEvent::Listed { object, list } => {
                self.lists.insert(*list, List { object: *object, was_cached: false });
                if let Some(object) = self.objects.get_mut(object) {
                    object.list = Some(*list);
                }
            }
            XeEvent::Populate { list, pages } => {
                let object = self.lists.get(list).map(|list| list.object);
                let thread = self.threads.entry(seen.tid).or_default();
                thread.population = Some(Population::new(object, *pages));
            }
            XeEvent::Populated { result } => self.populated(seen, *result),
            XeEvent::Combining { pages } => {
                let shows = self.flush_shows;
                if let Some(population) = self.population(seen.tid) {
                    population.combine(*pages, shows);
                }
            }
            XeEvent::Flushed => match self.population(seen.tid) {
                Some(population) => population.flush(),
                None => {
                    if let Some(window) = self.window(seen.tid) {
                        window.lines.push(seen.time_ns);
                    }
                }
            },
            XeEvent::Pooled { list, pages } => self.pooled(*list, *pages),
        }
    }

    /// Gives a list's pages back: cached ones are freed, others go to the pool. Of the driver's own objects
    /// and of other drivers' it is not known: they count, so that the pool never has more than that.
    fn pooled(&mut self, list: u64, pages: u32) {
        let found = self.lists.get(&list);
        let object = found.and_then(|list| self.objects.get(&list.object));
        let is_cached = match object.filter(|object| object.list == Some(list)) {
            Some(object) => object.described.is_some_and(|object| !self.is_flushed(&object).0),
            None => found.is_some_and(|list| list.was_cached),
        };
        if !is_cached {
            self.pool.add(pages);
        }
    }

    /// Ends the page list that the thread populates.
    fn populated(&mut self, seen: &TraceEvent, result: i32) {
        let population = self.threads.get_mut(&seen.tid).and_then(|thread| thread.population.take());
        let Some(mut population) = population else { return };
        population.time_ns = seen.time_ns;
        if result != 0 {
            self.pool.add(population.pages);
            return;
        }
        match self.window(seen.tid) {
            // The object may get its handle before the call's end.
            Some(window) => window.populations.push(population),
            None => self.compare_pages(seen, None, &population),
        }
    }

    /// Gives an object a handle.
    fn name(&mut self, tid: u32, file: u64, address: u64, handle: u32) {
        let is_discrete = self.device.platform.discrete;
        let Some(object) = self.objects.get_mut(&address) else { return };
        if object.number.is_none() {
            self.counts.objects += 1;
            object.number = u32::try_from(self.counts.objects).ok();
        }
        object.handle = Some(handle);
        self.handles.insert((file, handle), address);
        let Some(window) = self.threads.get_mut(&tid).and_then(|thread| thread.calls.last_mut()) else {
            return;
        };
        window.named = Some(address);
        let described = if let Request::Create { create, .. } = &window.request {
            let caching = CpuCaching::ALL.iter().copied().find(|it| it.number() == create.cpu_caching);
            Some(Object { caching, size: create.size, placement: create.placement, flags: create.flags })
        } else if window.call == XeCall::CreateDumb {
            // Source: xe_bo_dumb_create.
            Some(Object {
                caching: Some(CpuCaching::Wc),
                size: object.size_bytes,
                placement: if is_discrete { LOCAL } else { SYSTEM },
                flags: CreateFlags::SCANOUT,
            })
        } else {
            None
        };
        if described.is_some() {
            object.described = described;
        }
    }

    /// Forgets everything, because events are missing.
    fn lose_all(&mut self, count: u64) {
        self.counts.lost = self.counts.lost.saturating_add(count);
        self.objects.clear();
        self.handles.clear();
        self.lists.clear();
        self.spaces.clear();
        self.threads.clear();
        self.pool = Pool::default();
    }

    /// Returns whether the device is followed.
    fn is_followed(&self, device: u64) -> bool {
        self.address.is_none_or(|followed| followed == device)
    }

    /// Returns the thread's innermost call.
    fn window(&mut self, tid: u32) -> Option<&mut Window> {
        self.threads.get_mut(&tid)?.calls.last_mut()
    }

    /// Returns the page list that the thread populates.
    fn population(&mut self, tid: u32) -> Option<&mut Population> {
        self.threads.get_mut(&tid)?.population.as_mut()
    }
}
