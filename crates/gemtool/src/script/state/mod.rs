//! The state of a running script: its names and their objects, and the execution of statements.

mod files;
mod owned;
mod screen;

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use gem_coherency::Errno;

use super::report::{BoState, Decided, Dispatched};
use super::statement::{Edge, Making, Name, Power, Range, Statement, Use, Way};
use super::values::bytes::{Seen, store};
use super::{Pattern, Script, Target};
use gem_coherency::backend::{Mapping, OpenCounts};
use gem_coherency::device::{AllocRequest, Submission};
use gem_coherency::error::Error;
use gem_coherency::object::{Bo, ScanoutGuard};
use gem_coherency::policy::driver::path_refusal;
use gem_coherency::policy::{Path, Rule};
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::{Access, Domains, Handle, MmapMode};
use gem_coherency_exercise::Screen;

/// The reason why a statement was not performed.
#[derive(Debug)]
pub(super) enum Refused {
    /// The library or the device refused it.
    Library(Error),
    /// No screen shows anything.
    Screen(gem_coherency_exercise::Error),
    /// It is not applicable here.
    Usage(String),
}

impl Refused {
    /// Returns the errno of the library or the device.
    pub(super) fn errno(&self) -> Option<Errno> {
        match self {
            Self::Library(error) => Some(error.errno()),
            Self::Screen(error) => Some(error.errno()),
            Self::Usage(_) => None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => error.fmt(f),
            Self::Screen(error) => error.fmt(f),
            Self::Usage(why) => f.write_str(why),
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

/// The effects of a statement that was performed.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) decisions: Vec<Decided>,
    pub(super) note: Option<String>,
    pub(super) dispatched: Option<Dispatched>,
    /// The result of the statement's expectation, if it has one: `Err` with the expected and the actual
    /// value.
    pub(super) expectation: Option<Result<(), (String, String)>>,
}

/// A device file: `None` is the script's first one, another one has a name.
type DeviceFile = Option<Name>;

/// The object of a name.
#[derive(Debug)]
enum Slot {
    Bo(Bo, DeviceFile),
    DmaBuf(Option<OwnedFd>),
    File(Target),
}

/// The state of a running script.
#[derive(Debug)]
pub(super) struct State<'a> {
    pub(super) script: &'a Script,
    pub(super) target: &'a Target,
    slots: BTreeMap<Name, Slot>,
    /// The first name of each open handle.
    handles: BTreeMap<(DeviceFile, Handle), Name>,
    /// The numbers of objects on software devices, which are never reused.
    objects: BTreeMap<Name, u64>,
    /// The first names of these numbers.
    first_names: BTreeMap<u64, Name>,
    /// The device files that the script opened.
    files: BTreeMap<Name, Target>,
    /// The handles that the script closes itself; for an object of own pages, with another mapping of them.
    owned: BTreeMap<(DeviceFile, Handle), Option<Mapping>>,
    /// Mappings that the library does not track.
    raw: BTreeMap<(Name, MmapMode), Mapping>,
    shown: BTreeMap<Name, ScanoutGuard>,
    /// The screens of device files, from the first BO on that is shown.
    screens: BTreeMap<DeviceFile, Screen>,
    /// The BOs that have a framebuffer of the screen.
    framed: Vec<Bo>,
}

impl<'a> State<'a> {
    pub(super) fn new(script: &'a Script, target: &'a Target) -> Self {
        let (slots, handles, objects, first_names, files) = Default::default();
        let (owned, raw, shown, screens, framed) = Default::default();
        Self {
            script,
            target,
            slots,
            handles,
            objects,
            first_names,
            files,
            owned,
            raw,
            shown,
            screens,
            framed,
        }
    }

    /// Returns the BO of a name.
    pub(super) fn bo(&self, name: Name) -> Result<&Bo, Refused> {
        match self.slots.get(&name) {
            Some(Slot::Bo(bo, _)) => Ok(bo),
            Some(Slot::DmaBuf(_) | Slot::File(_)) | None => {
                Err(Refused::Usage(format!("'{}' is not a BO", self.script.name(name))))
            }
        }
    }

    /// Returns the file of a dma-buf, for `request`.
    fn dma_buf(&self, name: Name, request: &'static str) -> Result<BorrowedFd<'_>, Refused> {
        match self.slots.get(&name) {
            Some(Slot::DmaBuf(Some(dma_buf))) => Ok(dma_buf.as_fd()),
            Some(Slot::DmaBuf(None) | Slot::Bo(..) | Slot::File(_)) | None => {
                Err(Error::Ioctl { request, errno: Errno::EBADF }.into())
            }
        }
    }

    /// Returns the bytes of `range` in `bo`.
    pub(super) fn bytes(bo: &Bo, range: Range) -> Result<ByteRange, Refused> {
        let (offset, len) = match range {
            Range::All => (0, bo.size()),
            Range::Bytes { offset, len } => (offset, len),
        };
        Ok(ByteRange::within(offset, len, bo.size())?)
    }

    /// Creates an object and gives it `name`.
    pub(super) fn make(&mut self, name: Name, making: &Making) -> Result<Done, Refused> {
        let (slot, done) = self.made(making)?;
        if let Slot::Bo(bo, file) = &slot {
            let handle = bo.handle();
            let soft = self.target_of_file(*file).soft();
            if let Some(Ok(operand)) = soft.map(|soft| soft.operand(handle)) {
                self.objects.insert(name, operand.number());
                self.first_names.entry(operand.number()).or_insert(name);
            }
            self.handles.entry((*file, handle)).or_insert(name);
        }
        match slot {
            Slot::File(opened) => drop(self.files.insert(name, opened)),
            slot @ (Slot::Bo(..) | Slot::DmaBuf(_)) => drop(self.slots.insert(name, slot)),
        }
        Ok(done)
    }

    /// Creates an object, and releases it.
    pub(super) fn try_make(&mut self, making: &Making) -> Result<Done, Refused> {
        let (slot, done) = self.made(making)?;
        match slot {
            Slot::Bo(bo, file) => {
                let handle = bo.handle();
                bo.release().map(drop)?;
                self.disown(file, handle)?;
            }
            Slot::DmaBuf(_) | Slot::File(_) => {}
        }
        Ok(done)
    }

    fn made(&mut self, making: &Making) -> Result<(Slot, Done), Refused> {
        match *making {
            Making::Open(ref device) => self.open(device.as_deref()),
            Making::Alloc { size, caching, pat, map, on } => {
                let device = self.target_of_file(on).device();
                let bo = match pat {
                    Some(index) => self.alloc_with_pat(on, size, index)?,
                    None => device.alloc(AllocRequest { caching, ..AllocRequest::new(size) })?,
                };
                if let Some(mode) = map {
                    bo.map(mode)?;
                }
                let size = if bo.size() == size { String::new() } else { format!(", {} bytes", bo.size()) };
                let note = format!("handle {}, level {}{size}", bo.handle(), bo.level());
                Ok((Slot::Bo(bo, on), Done { note: Some(note), ..Done::default() }))
            }
            Making::Userptr { size, on } => {
                let bo = self.userptr(on, size)?;
                let note = format!("handle {}, level {}", bo.handle(), bo.level());
                Ok((Slot::Bo(bo, on), Done { note: Some(note), ..Done::default() }))
            }
            Making::Export(from) => {
                let bo = self.bo(from)?;
                let report = bo.flush()?;
                let slot = Slot::DmaBuf(Some(bo.export()?));
                Ok((slot, self.decided(from, &report)))
            }
            Making::Import { dma_buf, on } => {
                let device = self.target_of_file(on).device();
                let bo = device.import(self.dma_buf(dma_buf, "DRM_IOCTL_PRIME_FD_TO_HANDLE")?)?;
                let known = self.handles.get(&(on, bo.handle())).map(|&name| self.script.name(name));
                let same = known.map_or(String::new(), |name| format!(", is '{name}'"));
                let note = format!("handle {}, level {}{same}", bo.handle(), bo.level());
                Ok((Slot::Bo(bo, on), Done { note: Some(note), ..Done::default() }))
            }
        }
    }

    /// Performs a statement.
    pub(super) fn perform(&mut self, statement: &Statement) -> Result<Done, Refused> {
        match *statement {
            Statement::Map(name, mode) => {
                let bo = self.bo(name)?;
                self.check_aperture(name, mode)?;
                bo.map(mode)?;
                Ok(Done::default())
            }
            Statement::Write { bo, range, ref fill, way } => self.write(bo, range, fill, way),
            Statement::Read { bo, range, ref expect, way } => self.read(bo, range, expect.as_ref(), way),
            Statement::GpuWrite { bo: name, range, ref fill, mocs } => {
                let (soft, bo) = (self.soft(name)?, self.bo(name)?);
                store(Self::bytes(bo, range)?, fill, |offset, data| {
                    soft.gpu_write(bo.handle(), mocs, offset, data)
                })?;
                Ok(Done::default())
            }
            Statement::Submit(ref uses) => self.submit(uses),
            Statement::Dispatch(ref dispatch) => self.dispatch(dispatch),
            Statement::Scanout(name) => {
                if let Some(shown) = self.shown.get(&name) {
                    let report = shown.flush()?;
                    return Ok(self.decided(name, &report));
                }
                let shown = self.bo(name)?.prepare_scanout()?;
                let done = self.decided(name, &shown.report());
                self.shown.insert(name, shown);
                Ok(done)
            }
            Statement::OffScreen(name) => self.off_screen(name),
            Statement::Show(name) => self.show(name),
            Statement::DirtyFb(name) => self.dirty_fb(name),
            Statement::SetCaching(name, mode) => {
                self.bo(name)?.set_caching(mode)?;
                Ok(Done::default())
            }
            Statement::Domain { bo, domain, access } => {
                let write = match access {
                    Access::Read => Domains::empty(),
                    Access::Write => domain,
                };
                self.drm(bo).set_domain(self.bo(bo)?.handle(), domain, write)?;
                Ok(Done::default())
            }
            Statement::SwFinish(name) => {
                self.drm(name).extras()?.sw_finish(self.bo(name)?.handle())?;
                Ok(Done::default())
            }
            Statement::Sync { dma_buf, edge, access } => {
                let (extras, file) =
                    (self.target.device().drm().extras()?, self.dma_buf(dma_buf, "DMA_BUF_IOCTL_SYNC")?);
                match edge {
                    Edge::Start => extras.begin_dma_buf_access(file, access),
                    Edge::End => extras.end_dma_buf_access(file, access),
                }?;
                Ok(Done::default())
            }
            Statement::Flush(name) => {
                let report = self.bo(name)?.flush()?;
                Ok(self.decided(name, &report))
            }
            Statement::Wait(name) => {
                self.bo(name)?.wait(None)?;
                Ok(Done::default())
            }
            Statement::Close(name) => self.close(name),
            Statement::Power(power) => {
                for soft in self.software_devices()? {
                    match power {
                        Power::Suspend => soft.suspend(),
                        Power::Hibernate => soft.hibernate(),
                        Power::Resume => soft.resume(),
                    }?;
                }
                Ok(Done::default())
            }
        }
    }

    fn write(&mut self, name: Name, range: Range, fill: &Pattern, way: Way) -> Result<Done, Refused> {
        match way {
            Way::Guard => {
                let bo = self.bo(name)?;
                self.check_aperture(name, bo.map_mode())?;
                let bytes = Self::bytes(bo, range)?;
                let mut guard = bo.write(bytes.offset(), bytes.len())?;
                store(bytes, fill, |offset, data| guard.write_at(offset, data))?;
                let report = guard.finish();
                Ok(self.decided(name, &report))
            }
            Way::Raw(mode) => {
                let bytes = Self::bytes(self.bo(name)?, range)?;
                let mapping = self.raw_mapping(name, mode)?;
                store(bytes, fill, |offset, data| mapping.copy_in(offset, data))?;
                Ok(Done::default())
            }
            Way::Request => {
                let (bo, requests) = (self.bo(name)?, self.drm(name).extras()?);
                store(Self::bytes(bo, range)?, fill, |offset, data| {
                    requests.pwrite(bo.handle(), offset, data)
                })?;
                Ok(Done::default())
            }
        }
    }

    fn read(
        &mut self,
        name: Name,
        range: Range,
        expect: Option<&Pattern>,
        way: Way,
    ) -> Result<Done, Refused> {
        let (seen, mut done) = match way {
            Way::Guard => {
                let bo = self.bo(name)?;
                self.check_aperture(name, bo.map_mode())?;
                let bytes = Self::bytes(bo, range)?;
                let guard = bo.read(bytes.offset(), bytes.len())?;
                let seen = Seen::load(bytes, expect, |offset, data| guard.read_at(offset, data))?;
                (seen, self.decided(name, &guard.finish()))
            }
            Way::Raw(mode) => {
                let bytes = Self::bytes(self.bo(name)?, range)?;
                let mapping = self.raw_mapping(name, mode)?;
                let seen = Seen::load(bytes, expect, |offset, data| mapping.copy_out(offset, data))?;
                (seen, Done::default())
            }
            Way::Request => {
                let (bo, requests) = (self.bo(name)?, self.drm(name).extras()?);
                let load = |offset, data: &mut [u8]| requests.pread(bo.handle(), offset, data);
                (Seen::load(Self::bytes(bo, range)?, expect, load)?, Done::default())
            }
        };
        done.expectation = expect.map(|pattern| seen.verdict(pattern));
        done.note = expect.is_none().then(|| seen.first_bytes());
        Ok(done)
    }

    fn submit(&self, uses: &[Use]) -> Result<Done, Refused> {
        let submission =
            |one: &Use| Ok(Submission { bo: self.bo(one.bo)?, access: one.access, mocs: one.mocs });
        let submissions = uses.iter().map(submission).collect::<Result<Vec<_>, Refused>>()?;
        let target = uses.first().map_or(self.target, |one| self.target_of(one.bo));
        let reports = target.device().submit(&submissions)?;
        let named = uses.iter().zip(&reports);
        let decisions = named.map(|(one, report)| Decided::new(self.script.name(one.bo), report));
        Ok(Done { decisions: decisions.collect(), ..Done::default() })
    }

    fn close(&mut self, name: Name) -> Result<Done, Refused> {
        match self.slots.get_mut(&name) {
            Some(Slot::DmaBuf(dma_buf)) => match dma_buf.take() {
                Some(_) => Ok(Done::default()),
                None => Err(Error::Ioctl { request: "close", errno: Errno::EBADF }.into()),
            },
            Some(Slot::Bo(..) | Slot::File(_)) | None => {
                let (bo, file) = (self.bo(name)?, self.file(name));
                let (report, handle) = (bo.close()?, bo.handle());
                let done = self.decided(name, &report);
                self.handles.remove(&(file, handle));
                self.disown(file, handle)?;
                Ok(done)
            }
        }
    }

    /// Returns a mapping that the library does not track.
    fn raw_mapping(&mut self, name: Name, mode: Option<MmapMode>) -> Result<&Mapping, Refused> {
        let bo = self.bo(name)?;
        let mode = mode.unwrap_or(bo.map_mode());
        self.check_aperture(name, mode)?;
        // Own pages are mapped already; the kernel maps no others of the object.
        if mode == MmapMode::Wb
            && let Some(Some(pages)) = self.owned.get(&(self.file(name), bo.handle()))
        {
            return Ok(pages);
        }
        if !self.raw.contains_key(&(name, mode)) {
            let mapping = self.drm(name).map(bo.handle(), mode, bo.size())?;
            self.raw.insert((name, mode), mapping);
        }
        let unmapped = || Refused::Usage(format!("'{}' is not mapped", self.script.name(name)));
        self.raw.get(&(name, mode)).ok_or_else(unmapped)
    }

    /// Refuses an access through the aperture that would raise SIGBUS. The kernel decides by its own level,
    /// which a scanout that was never shown has not changed.
    fn check_aperture(&self, name: Name, mode: MmapMode) -> Result<(), Refused> {
        if mode != MmapMode::Gtt {
            return Ok(());
        }
        let machine = self.target_of(name).device().machine();
        let refusal = path_refusal(machine.caps, self.bo(name)?.kernel_level(), Path::Cpu(mode));
        match refusal.filter(|&rule| rule == Rule::GttSnoopedFaults) {
            None => Ok(()),
            Some(rule) => Err(Error::NotAvailable {
                what: format!("map mode {mode}"),
                platform: machine.platform.name,
                why: rule.reason(),
                errno: Errno::EFAULT,
            }
            .into()),
        }
    }

    /// Returns the decision on the BO of a name.
    fn decided(&self, name: Name, report: &gem_coherency::object::FlushReport) -> Done {
        Done { decisions: vec![Decided::new(self.script.name(name), report)], ..Done::default() }
    }

    /// Returns the library's state of a BO; `None` if the name is not a BO's.
    pub(super) fn bo_state(&self, name: Name) -> Option<BoState> {
        let bo = self.bo(name).ok()?;
        Some(BoState {
            bo: self.script.name(name).to_owned(),
            level: bo.level(),
            map: bo.map_mode(),
            dirty: bo.dirty_lines(),
            stale: bo.stale_lines(),
        })
    }

    /// Releases everything; returns what is then open on the files that the script opened.
    pub(super) fn end(self) -> (Result<(), Error>, OpenCounts) {
        let Self { target, slots, files, owned, raw, shown, screens, framed, .. } = self;
        drop((raw, shown, framed));
        let mut first = screen::close(screens);
        for slot in slots.into_values() {
            match slot {
                Slot::Bo(bo, _) => first = first.and(bo.release().map(drop)),
                Slot::DmaBuf(_) | Slot::File(_) => {}
            }
        }
        for ((file, handle), _pages) in owned {
            let opened = file.and_then(|name| files.get(&name)).unwrap_or(target);
            first = first.and(opened.device().drm().close(handle));
        }
        let mut open = OpenCounts::default();
        for counts in files.values().map(|opened| opened.device().open_counts()) {
            open.handles += counts.handles;
            open.mappings += counts.mappings;
        }
        (first, open)
    }
}
