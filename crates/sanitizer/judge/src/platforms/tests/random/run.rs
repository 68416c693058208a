//! A run of a random program.

use bytemuck::{Pod, bytes_of, try_pod_read_unaligned};
use gem_coherency::backend::{Drm, ExecObject, Extras, Mapping};
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::platform::Call;
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency::vocabulary::{Access, Domains, Handle, MmapMode, MocsClass};
use gem_coherency_memory_model::Route;
use gem_coherency_sim::{
    FlushKind, FoundLine, Instruction, Minor, Pages, Process, SimDevice, TraceEvent, Traced,
};
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::drm::{DRM_IOCTL_GEM_FLINK, DRM_IOCTL_GEM_OPEN, drm_gem_flink, drm_gem_open};
use gem_coherency_uapi::i915::{DRM_IOCTL_I915_GEM_USERPTR, drm_i915_gem_userptr};
use gem_coherency_uapi::i915_exec::{
    DRM_IOCTL_I915_GEM_EXECBUFFER2, drm_i915_gem_exec_object2, drm_i915_gem_execbuffer2,
};
use std::os::fd::AsFd;
use std::sync::Arc;

use super::program::Step::{self, *};

const SIZE: u64 = 8192;
/// A line that no program uses.
const SPARE: u64 = 127;
/// The number of the object on its device.
const OBJECT: u64 = 1;
/// Where the program has the arguments of requests, and its own memory of which it makes an object.
const ARGS: u64 = 0x1_0000;
const LIST: u64 = ARGS + 0x800;
const USER: u64 = 0x2_0000;

/// A run of a program.
pub(super) struct Run {
    pub(super) device: Arc<SimDevice>,
    importer: SimDevice,
    handle: Handle,
    imported: Option<Handle>,
    process: Process,
    fd: i32,
    /// Another file of the device, and its handle.
    other: Option<(Arc<SimDevice>, Handle)>,
    user: Option<Handle>,
    maps: [Mapping; 2],
    wc: Option<Mapping>,
    gtt: Option<Mapping>,
    /// The pages that are open in each mapping.
    open: [[bool; 2]; 2],
    /// The program has one mapping of the cached bytes, so that pages are hidden from it.
    hides: bool,
    /// The pages that may be hidden.
    hidden: [bool; 2],
    /// The bytes that agents got.
    pub(super) seen: Vec<u8>,
    /// What the judge is told. The library does not see every load of an old copy, so that it is told of none.
    pub(super) traced: Vec<Told>,
}

/// What a judge is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told {
    Event(Traced),
    /// The step with a number flushed the program's own memory.
    UserFlush(u64),
    /// All that a step did is told. With `hides`, the pages that agents wrote to are hidden from the program.
    EndOfStep {
        hides: bool,
    },
}

impl Run {
    pub(super) fn new(platform: &str, program: &[Step], seed: Option<u64>) -> Self {
        let seed = seed.map_or_else(String::new, |seed| format!(",seed={seed}"));
        let device = Arc::new(SimDevice::open(&format!("sim:{platform}{seed}")).unwrap());
        device.trace_own();
        let handle = device.create(SIZE).unwrap().handle;
        let map = |mode| device.map(handle, mode, SIZE).ok();
        let maps = [(); 2].map(|()| map(MmapMode::Wb).unwrap());
        // A program has the mappings that it uses.
        let uses = |is: fn(&Step) -> bool| program.iter().any(is);
        let wc = uses(|step| matches!(step, StoreWc(..) | LoadWc(_))).then(|| map(MmapMode::Wc)).flatten();
        let gtt = uses(|step| matches!(step, StoreGtt(..))).then(|| map(MmapMode::Gtt)).flatten();
        let importer = SimDevice::open("sim:glk").unwrap();
        let mut process = Process::default();
        process.allocate(ARGS, 0x1000, Pages::ReadWrite).unwrap();
        process.allocate(USER, SIZE, Pages::ReadWrite).unwrap();
        let fd = process.share(Arc::clone(&device));
        let mut run = Self {
            device,
            importer,
            handle,
            imported: None,
            process,
            fd,
            other: None,
            user: None,
            maps,
            wc,
            gtt,
            open: Default::default(),
            hides: !uses(|step| matches!(step, Store(.., true) | Load(_, true))),
            hidden: Default::default(),
            seen: Vec::new(),
            traced: Vec::new(),
        };
        run.feed(|_| true);
        let past = [(&run.wc, Route::CpuUncached), (&run.gtt, Route::Aperture)];
        let past = past.into_iter().filter(|(map, _)| map.is_some()).map(|(_, route)| route);
        let mapped: Vec<_> = std::iter::once(Route::CpuCached).chain(past).collect();
        mapped.into_iter().for_each(|route| run.tell(TraceEvent::Mapped(route)));
        run
    }

    fn tell(&mut self, event: TraceEvent) {
        self.traced.push(Told::Event(Traced { object: OBJECT, event }));
    }

    /// Takes the events since the last time, as far as `is_told`.
    fn feed(&mut self, is_told: impl Fn(&TraceEvent) -> bool) {
        let (traced, dropped) = self.device.take_trace();
        assert_eq!(dropped, 0);
        let traced = traced.into_iter().filter(|one| is_told(&one.event));
        self.traced.extend(traced.map(Told::Event));
    }

    /// Stores as the program does: a store to a page that is not open is seen, and another one shows in its bytes.
    fn store(&mut self, line: u64, byte: u8, second: bool) {
        let page = (line / 64) as usize;
        let map = &self.maps[usize::from(second)];
        let mut before = [0];
        map.copy_out(line * LINE_BYTES, &mut before).unwrap();
        self.feed(|event| !is_load(event));
        if !std::mem::replace(&mut self.open[usize::from(second)][page], true) {
            self.device.opened(OBJECT, page as u64 * 64, 1 << (line % 64));
        } else if before != [byte] {
            self.tell(TraceEvent::Stored(LineRange::new(line, line + 1)));
        }
        self.feed(|_| true);
        self.maps[usize::from(second)].copy_in(line * LINE_BYTES, &[byte]).unwrap();
        self.feed(|event| !matches!(event, TraceEvent::Accessed { .. }));
    }

    /// Flushes a line, or in its place a spare one.
    fn flush(&mut self, line: u64, op: LineOp, site: u64, without: bool) {
        let lines = if without { SPARE } else { line };
        self.maps[0].perform(op, LineRange::new(lines, lines + 1)).unwrap();
        let page = (line / 64) as usize;
        for open in &mut self.open {
            if std::mem::take(&mut open[page]) {
                self.device.closed(OBJECT, page as u64 * 64);
            }
        }
        let kind = if op == LineOp::Flush { FlushKind::Flush } else { FlushKind::WriteBack };
        let found = FoundLine::Clean;
        self.device.maintained(&Instruction { object: OBJECT, line, kind, site, found, bytes: [0; 64] });
    }

    /// Returns the second device's handle, importing the object at first.
    fn imported(&mut self) -> Handle {
        *self.imported.get_or_insert_with(|| {
            let dma_buf = self.device.export(self.handle).unwrap();
            self.importer.import(dma_buf.as_fd()).unwrap().handle
        })
    }

    /// Tells the judge of a batch that names the object, and that is not simulated.
    fn not_simulated(&mut self, step: Step) {
        self.feed(|_| true);
        let (route, lines) = (Route::Gpu(MocsClass::PageTable), LineRange::new(0, SIZE / LINE_BYTES));
        let is_unfollowed = matches!(step, UnfollowedRead(_) | UnfollowedWrite(..));
        self.tell(if is_unfollowed {
            TraceEvent::Unfollowed { handle: None }
        } else {
            TraceEvent::Bound { route, lines, handle: None }
        });
    }

    /// Makes a request on a file of the program; returns its answer.
    fn ask<T: Pod>(&mut self, fd: i32, request: Ioctl<T>, args: &T) -> T {
        self.process.store(ARGS, bytes_of(args)).unwrap();
        self.process.ioctl(fd, request.code, ARGS).unwrap();
        let mut bytes = vec![0; size_of::<T>()];
        self.process.load(ARGS, &mut bytes).unwrap();
        try_pod_read_unaligned(&bytes).unwrap()
    }

    /// Returns another file of the device and its handle, opening the object by its name at first.
    fn other(&mut self) -> (Arc<SimDevice>, Handle) {
        if let Some((file, handle)) = &self.other {
            return (Arc::clone(file), *handle);
        }
        let file = Arc::new(self.device.open_again(Minor::Primary));
        let fd = self.process.share(Arc::clone(&file));
        let flink = drm_gem_flink { handle: self.handle.get(), ..Default::default() };
        let name = self.ask(self.fd, DRM_IOCTL_GEM_FLINK, &flink).name;
        let opened = self.ask(fd, DRM_IOCTL_GEM_OPEN, &drm_gem_open { name, ..Default::default() });
        let handle = Handle::new(opened.handle).unwrap();
        self.other = Some((Arc::clone(&file), handle));
        (file, handle)
    }

    /// Returns the handle of the program's own memory, making the object at first; `None` where the driver refuses.
    fn user(&mut self) -> Option<Handle> {
        if self.user.is_none() && self.device.machine().refusal(Call::Userptr).is_none() {
            let args = drm_i915_gem_userptr { user_ptr: USER, user_size: SIZE, ..Default::default() };
            let handle = self.ask(self.fd, DRM_IOCTL_I915_GEM_USERPTR, &args).handle;
            // A submission brings the pages in.
            let list = drm_i915_gem_exec_object2 { handle, ..Default::default() };
            self.process.store(LIST, bytes_of(&list)).unwrap();
            let args = drm_i915_gem_execbuffer2 { buffers_ptr: LIST, buffer_count: 1, ..Default::default() };
            self.ask(self.fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, &args);
            self.user = Handle::new(handle);
        }
        self.user
    }

    pub(super) fn take(&mut self, number: usize, step: Step, without: bool) {
        let at = |line: u64| line * LINE_BYTES;
        let mut byte = [0];
        let device = &self.device;
        match step {
            Store(line, byte, second) => self.store(line, byte, second),
            StoreEqual(line) => {
                self.maps[0].copy_out(at(line), &mut byte).unwrap();
                self.feed(|event| !is_load(event));
                self.store(line, byte[0], false);
            }
            // What programs do through mappings past the cache is not seen.
            StoreWc(line, byte) => {
                drop(self.wc.as_ref().map(|map| map.copy_in(at(line), &[byte])));
                self.feed(|event| !is_past(event));
            }
            StoreGtt(line, byte) => {
                drop(self.gtt.as_ref().map(|map| map.copy_in(at(line), &[byte])));
                self.feed(|event| !is_past(event));
            }
            Load(line, second) => {
                self.show(line);
                self.maps[usize::from(second)].copy_out(at(line), &mut byte).unwrap();
                self.feed(|event| !is_load(event));
                self.seen.extend(byte);
            }
            LoadWc(line) => {
                if let Some(wc) = &self.wc {
                    wc.copy_out(at(line), &mut byte).unwrap();
                    self.feed(|event| !is_past(event));
                }
                self.seen.extend(byte);
            }
            Flush(line) => self.flush(line, LineOp::Flush, number as u64, without),
            WriteBack(line) => self.flush(line, LineOp::WriteBack, number as u64, without),
            Pread(line) => {
                // Refused on some platforms.
                let _ = device.pread(self.handle, at(line), &mut byte);
                self.seen.extend(byte);
            }
            Pwrite(line, byte) => drop(device.pwrite(self.handle, at(line), &[byte; 64])),
            SetDomain => drop(device.set_domain(self.handle, Domains::CPU, Domains::CPU)),
            Submit => device.execute(&[ExecObject { handle: self.handle, access: Access::Read }]).unwrap(),
            GpuRead(line, mocs) => {
                device.gpu_read(self.handle, mocs, at(line), &mut byte).unwrap();
                self.seen.extend(byte);
            }
            GpuWrite(line, byte) => {
                device.gpu_write(self.handle, MocsClass::PageTable, at(line), &[byte]).unwrap();
            }
            Frame => device.set_framebuffer(self.handle).unwrap(),
            Display(line) => {
                device.display_read(self.handle, at(line), &mut byte).unwrap();
                self.seen.extend(byte);
            }
            ImporterRead(line) => {
                let handle = self.imported();
                self.importer.gpu_read(handle, MocsClass::PageTable, at(line), &mut byte).unwrap();
                self.seen.extend(byte);
            }
            ImporterWrite(line, byte) => {
                let handle = self.imported();
                self.importer.gpu_write(handle, MocsClass::PageTable, at(line), &[byte]).unwrap();
            }
            SkippedRead(line) | UnfollowedRead(line) => {
                self.not_simulated(step);
                self.device.gpu_read(self.handle, MocsClass::PageTable, at(line), &mut byte).unwrap();
                self.seen.extend(byte);
                self.feed(|event| !matches!(event, TraceEvent::Accessed { .. }));
            }
            SkippedWrite(line, byte) | UnfollowedWrite(line, byte) => {
                self.not_simulated(step);
                self.device.gpu_write(self.handle, MocsClass::PageTable, at(line), &[byte]).unwrap();
                self.feed(|event| !matches!(event, TraceEvent::Accessed { .. }));
            }
            OtherRead(line) => {
                let (file, handle) = self.other();
                file.gpu_read(handle, MocsClass::PageTable, at(line), &mut byte).unwrap();
                self.seen.extend(byte);
            }
            OtherWrite(line, byte) => {
                let (file, handle) = self.other();
                file.gpu_write(handle, MocsClass::PageTable, at(line), &[byte]).unwrap();
            }
            UserStore(line, byte) => self.process.store(USER + at(line), &[byte]).unwrap(),
            UserFlush(_) => self.traced.push(Told::UserFlush(number as u64)),
            UserRead(line, mocs) => {
                if let Some(user) = self.user() {
                    self.device.gpu_read(user, mocs, at(line), &mut byte).unwrap();
                    self.seen.extend(byte);
                }
            }
            UserWrite(line, byte) => {
                if let Some(user) = self.user() {
                    self.device.gpu_write(user, MocsClass::PageTable, at(line), &[byte]).unwrap();
                }
            }
        }
        self.feed(|_| true);
        self.traced.push(Told::EndOfStep { hides: self.hides });
        self.hidden = [self.hides; 2];
        // A page to which the program can store is not hidden.
        for page in (0..2).filter(|page| self.open[0][*page]).collect::<Vec<_>>() {
            self.show(page as u64 * 64);
        }
    }

    /// Shows the page of a line to the program, whose first load is seen.
    fn show(&mut self, line: u64) {
        let page = line / 64;
        if std::mem::take(&mut self.hidden[page as usize]) {
            self.tell(TraceEvent::Shown { line: page * 64 });
        }
    }
}

/// Returns whether an event is of an access past the cache.
fn is_past(event: &TraceEvent) -> bool {
    matches!(event, TraceEvent::Accessed { route: Route::CpuUncached | Route::Aperture, .. })
}

/// Returns whether an event is of a load or a store through a write-back mapping, which a program's are not.
fn is_load(event: &TraceEvent) -> bool {
    matches!(event, TraceEvent::Accessed { route: Route::CpuCached, .. })
}
