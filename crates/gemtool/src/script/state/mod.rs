//! The state of a running script: its names and their objects, and the execution of statements.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use gem_coherency::Errno;

use super::report::{BoState, Decided, Dispatched, KernelFlushed};
use super::statement::{Making, Name, Power, Range, Statement, Use, Way};
use super::values::bytes::{Seen, store};
use super::{Pattern, Script, Target};
use gem_coherency::backend::Mapping;
use gem_coherency::device::{AllocRequest, Submission};
use gem_coherency::error::Error;
use gem_coherency::object::{Bo, ScanoutGuard};
use gem_coherency::policy::driver::path_refusal;
use gem_coherency::policy::{Path, Rule};
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::{Access, Domains, Handle, MmapMode};
use gem_coherency_sim::SimDevice;

/// The reason why a statement was not performed.
#[derive(Debug)]
pub(super) enum Refused {
    /// The library or the device refused it.
    Library(Error),
    /// It is not applicable here.
    Usage(String),
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

/// The object of a name.
#[derive(Debug)]
enum Slot {
    Bo(Bo),
    DmaBuf(Option<OwnedFd>),
}

/// The state of a running script.
#[derive(Debug)]
pub(super) struct State<'a> {
    pub(super) script: &'a Script,
    pub(super) target: &'a Target,
    slots: BTreeMap<Name, Slot>,
    /// The first name of each open handle.
    handles: BTreeMap<Handle, Name>,
    /// Mappings that the library does not track.
    raw: BTreeMap<(Name, MmapMode), Mapping>,
    shown: BTreeMap<Name, ScanoutGuard>,
}

impl<'a> State<'a> {
    pub(super) fn new(script: &'a Script, target: &'a Target) -> Self {
        let (slots, handles, raw, shown) = Default::default();
        Self { script, target, slots, handles, raw, shown }
    }

    /// Returns the BO of a name.
    pub(super) fn bo(&self, name: Name) -> Result<&Bo, Refused> {
        match self.slots.get(&name) {
            Some(Slot::Bo(bo)) => Ok(bo),
            Some(Slot::DmaBuf(_)) | None => {
                Err(Refused::Usage(format!("'{}' is not a BO", self.script.name(name))))
            }
        }
    }

    /// Returns the software device.
    pub(super) fn soft(&self) -> Result<&'a SimDevice, Refused> {
        self.target.soft().ok_or_else(|| Refused::Usage("this needs a software device (sim:...)".to_owned()))
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
    pub(super) fn make(&mut self, name: Name, making: Making) -> Result<Done, Refused> {
        let (slot, done) = self.made(making)?;
        if let Slot::Bo(bo) = &slot {
            self.handles.entry(bo.handle()).or_insert(name);
        }
        self.slots.insert(name, slot);
        Ok(done)
    }

    /// Creates an object, and releases it.
    pub(super) fn try_make(&self, making: Making) -> Result<Done, Refused> {
        let (slot, done) = self.made(making)?;
        match slot {
            Slot::Bo(bo) => drop(bo.release()?),
            Slot::DmaBuf(_) => {}
        }
        Ok(done)
    }

    fn made(&self, making: Making) -> Result<(Slot, Done), Refused> {
        let device = self.target.device();
        match making {
            Making::Alloc { size, caching, map } => {
                let bo = device.alloc(AllocRequest { caching, ..AllocRequest::new(size) })?;
                if let Some(mode) = map {
                    bo.map(mode)?;
                }
                let size = if bo.size() == size { String::new() } else { format!(", {} bytes", bo.size()) };
                let note = format!("handle {}, level {}{size}", bo.handle(), bo.level());
                Ok((Slot::Bo(bo), Done { note: Some(note), ..Done::default() }))
            }
            Making::Export(from) => {
                let bo = self.bo(from)?;
                let report = bo.flush()?;
                let slot = Slot::DmaBuf(Some(bo.export()?));
                Ok((slot, self.decided(from, &report)))
            }
            Making::Import(from) => {
                let Some(Slot::DmaBuf(Some(dma_buf))) = self.slots.get(&from) else {
                    let request = "DRM_IOCTL_PRIME_FD_TO_HANDLE";
                    return Err(Error::Ioctl { request, errno: Errno::EBADF }.into());
                };
                let bo = device.import(dma_buf)?;
                let known = self.name_of(bo.handle());
                let same = known.map_or(String::new(), |name| format!(", is '{name}'"));
                let note = format!("handle {}, level {}{same}", bo.handle(), bo.level());
                Ok((Slot::Bo(bo), Done { note: Some(note), ..Done::default() }))
            }
        }
    }

    /// Performs a statement.
    pub(super) fn perform(&mut self, statement: &Statement) -> Result<Done, Refused> {
        let device = self.target.device();
        match *statement {
            Statement::Map(name, mode) => {
                let bo = self.bo(name)?;
                self.check_aperture(bo, mode)?;
                bo.map(mode)?;
                Ok(Done::default())
            }
            Statement::Write { bo, range, ref fill, way } => self.write(bo, range, fill, way),
            Statement::Read { bo, range, ref expect, way } => self.read(bo, range, expect.as_ref(), way),
            Statement::GpuWrite { bo: name, range, ref fill, mocs } => {
                let (soft, bo) = (self.soft()?, self.bo(name)?);
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
            Statement::OffScreen(name) => match self.shown.remove(&name) {
                Some(shown) => {
                    shown.end();
                    Ok(Done::default())
                }
                None => Err(Refused::Usage(format!("'{}' is not on screen", self.script.name(name)))),
            },
            Statement::SetCaching(name, mode) => {
                self.bo(name)?.set_caching(mode)?;
                Ok(Done::default())
            }
            Statement::Domain { bo, domain, access } => {
                let write = match access {
                    Access::Read => Domains::empty(),
                    Access::Write => domain,
                };
                device.drm().set_domain(self.bo(bo)?.handle(), domain, write)?;
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
                let soft = self.soft()?;
                match power {
                    Power::Suspend => soft.suspend(),
                    Power::Hibernate => soft.hibernate(),
                    Power::Resume => soft.resume(),
                }?;
                Ok(Done::default())
            }
        }
    }

    fn write(&mut self, name: Name, range: Range, fill: &Pattern, way: Way) -> Result<Done, Refused> {
        let requests = self.target.device().drm().extras()?;
        match way {
            Way::Guard => {
                let bo = self.bo(name)?;
                self.check_aperture(bo, bo.map_mode())?;
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
                let bo = self.bo(name)?;
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
        let requests = self.target.device().drm().extras()?;
        let (seen, mut done) = match way {
            Way::Guard => {
                let bo = self.bo(name)?;
                self.check_aperture(bo, bo.map_mode())?;
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
                let bo = self.bo(name)?;
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
        let reports = self.target.device().submit(&submissions)?;
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
            Some(Slot::Bo(_)) | None => {
                let bo = self.bo(name)?;
                let (report, handle) = (bo.close()?, bo.handle());
                let done = self.decided(name, &report);
                self.handles.remove(&handle);
                Ok(done)
            }
        }
    }

    /// Returns a mapping that the library does not track.
    fn raw_mapping(&mut self, name: Name, mode: Option<MmapMode>) -> Result<&Mapping, Refused> {
        let bo = self.bo(name)?;
        let mode = mode.unwrap_or(bo.map_mode());
        self.check_aperture(bo, mode)?;
        if !self.raw.contains_key(&(name, mode)) {
            let mapping = self.target.device().drm().map(bo.handle(), mode, bo.size())?;
            self.raw.insert((name, mode), mapping);
        }
        let unmapped = || Refused::Usage(format!("'{}' is not mapped", self.script.name(name)));
        self.raw.get(&(name, mode)).ok_or_else(unmapped)
    }

    /// Refuses an access through the aperture that would raise SIGBUS. The kernel decides by its own level,
    /// which a scanout that was never shown has not changed.
    fn check_aperture(&self, bo: &Bo, mode: MmapMode) -> Result<(), Refused> {
        if mode != MmapMode::Gtt {
            return Ok(());
        }
        let machine = self.target.device().machine();
        let refusal = path_refusal(machine.caps, bo.kernel_level(), Path::Cpu(mode));
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

    /// Returns the first name of the BO with this handle.
    fn name_of(&self, handle: Handle) -> Option<&str> {
        self.handles.get(&handle).map(|&name| self.script.name(name))
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

    /// Returns the kernel's flushes since the last call, if the device reports them.
    pub(super) fn kernel_flushes(&self) -> Option<Vec<KernelFlushed>> {
        let flushes = self.target.soft()?.take_kernel_flushes();
        let named = flushes.into_iter().map(|flush| KernelFlushed {
            bo: flush.handle.and_then(|handle| self.name_of(handle)).map(str::to_owned),
            handle: flush.handle.map(Handle::get),
            call: flush.call,
            action: flush.action,
            rule: flush.rule,
            bytes: flush.bytes,
            lines_written: flush.lines_written,
        });
        Some(named.collect())
    }

    /// Releases everything.
    pub(super) fn end(self) -> Result<(), Error> {
        let Self { slots, raw, shown, .. } = self;
        drop((raw, shown));
        let mut first = Ok(());
        for slot in slots.into_values() {
            if let Slot::Bo(bo) = slot {
                first = first.and(bo.release().map(drop));
            }
        }
        first
    }
}
