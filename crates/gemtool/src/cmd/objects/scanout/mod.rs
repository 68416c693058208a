//! `gemtool scanout`: shows frames on a screen, and reports the flushes for each.

mod crcs;
mod kernel;
mod picture;
pub mod report;
pub mod xe;

use std::sync::Arc;

use gem_coherency::backend::display::Shown;
use gem_coherency::backend::node;
use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::object::Bo;
use gem_coherency::object::FlushReport;
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{Access, CachingMode, Handle};
use gem_coherency_exercise::{CURSOR_PIXELS, Result as Done, Screen};
use gem_coherency_sim::SimDevice;

use crate::args::{self, Buffer, Frame};
use crate::cmd::device::DeviceLine;
use crate::cmd::objects::alloc::report::StepLine;
use crate::cmd::objects::hold::Hold;
use crate::failure::Failure;
use crcs::Crcs;
use kernel::Kernel;
use picture::{Contents, Layout, Picture, draw_cursor};
use report::{CrcLine, KernelStep, Request, Row, ScanoutReport, ScreenLine, verdict};

/// Size of the cursor in bytes.
const CURSOR_BYTES: u64 = CURSOR_PIXELS as u64 * CURSOR_PIXELS as u64 * 4;
/// Position of the cursor.
const CURSOR_AT: (i32, i32) = (200, 100);
/// The buffers' names.
const NAMES: [&str; 2] = ["a", "b"];

/// Shows frames.
///
/// # Errors
/// A device without a screen, or with a screen that another program owns; the first call that is refused; a
/// signal. The screen then shows again what it showed before.
pub fn run(args: &args::Scanout) -> Result<ScanoutReport, Failure> {
    // Created before anything is shown: a signal ends the next step, and the screen is restored.
    let signals = Hold::new()?;
    let (device, soft) = open(&args.device)?;
    let screen = Screen::open(&device)?;
    let screen_line = ScreenLine {
        connector: screen.connector().to_string(),
        connected: screen.is_connected(),
        crtc: screen.crtc().id(),
        width: screen.mode().horizontal.shown,
        height: screen.mode().vertical.shown,
        pitch_bytes: screen.pitch_bytes(),
        before: screen.before().map(|before| before.framebuffer.id()),
    };
    let kernel = Kernel::new(&device, soft.clone());
    let crcs = Crcs::new(&device, soft, &screen);
    let mut show = Show {
        args,
        frames: frames(args, &device),
        device: device.clone(),
        screen,
        kernel,
        crcs,
        signals,
        rows: Vec::new(),
        shown: None,
    };
    show.run()?;
    show.compare()?;
    let Show { screen, frames, kernel, crcs, rows, .. } = show;
    let screen_bytes = screen.picture_bytes();
    screen.close().map_err(Failure::step("the screen as it was before"))?;
    Ok(ScanoutReport {
        device: DeviceLine::of(&device)?,
        asked: Request::new(args, frames),
        screen: screen_line,
        kernel_flushes: kernel.known(),
        passed: verdict(&rows, &crcs.source()),
        display_crcs: crcs.source(),
        xe: device.xe().map(|xe| xe::shown(&xe, screen_bytes)),
        rows,
    })
}

/// Returns the frames to show: those asked for, or all that the device can draw.
fn frames(args: &args::Scanout, device: &Device) -> Vec<Frame> {
    if !args.frames.is_empty() {
        return args.frames.clone();
    }
    let mut frames = vec![Frame::Cpu, Frame::Partial];
    if device.drm().extras().is_ok() {
        frames.push(Frame::Gpu);
    }
    frames
}

/// Opens the named device, or the first primary node; returns the software device behind it, if any.
fn open(args: &args::Device) -> Result<(Device, Option<Arc<SimDevice>>), Failure> {
    let blame = |error: gem_coherency::Error| Failure::flag("--device", error);
    match args.device.as_deref() {
        Some(name) if name.starts_with(gem_coherency_sim::PREFIX) => {
            let soft = Arc::new(SimDevice::open(name).map_err(blame)?);
            let device = Device::from_drm(Arc::clone(&soft) as Arc<_>).map_err(blame)?;
            Ok((device, Some(soft)))
        }
        Some(path) => Ok((Device::open(path).map_err(blame)?, None)),
        None => {
            let found = node::find();
            let is_primary = |path: &&std::path::PathBuf| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("card"))
            };
            let path = match found.nodes.iter().find(is_primary) {
                Some(path) => path.as_path(),
                None => found.first()?,
            };
            Ok((Device::open(&path.to_string_lossy())?, None))
        }
    }
}

/// The frames being shown.
struct Show<'a> {
    args: &'a args::Scanout,
    /// The frames after the first.
    frames: Vec<Frame>,
    device: Device,
    screen: Screen,
    kernel: Kernel,
    crcs: Crcs,
    signals: Hold,
    rows: Vec<Row>,
    /// Index of the buffer that is shown.
    shown: Option<usize>,
}

/// A picture that should be on the screen after a step.
#[derive(Clone, Copy)]
struct Expected<'a> {
    contents: &'a Contents,
    cursor: bool,
}

/// A step in progress.
struct Step {
    name: &'static str,
    buffer: &'static str,
    handle: Handle,
    before: Option<CachingMode>,
}

impl Show<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        let mut buffers = [self.create(0)?, self.create(1)?];
        for (name, picture) in NAMES.iter().zip(&buffers) {
            let step = self.begin("add", name, picture.bo())?;
            self.screen.add(picture.bo()).map_err(Failure::step("ADDFB2"))?;
            self.end(step, &[Event::AddFramebuffer], None, None, None)?;
        }
        self.cpu_frame(&mut buffers, 0, 1)?;
        for (number, frame) in (2..).zip(self.frames.clone()) {
            match (frame, self.shown) {
                (Frame::Cpu, shown) => self.cpu_frame(&mut buffers, other(shown), number)?,
                (Frame::Gpu, shown) => self.gpu_frame(&mut buffers, other(shown), number)?,
                (Frame::Partial, Some(shown)) => {
                    self.partial_frame(&mut buffers[shown], NAMES[shown], number)?
                }
                (Frame::Partial, None) => {}
            }
        }
        self.cursor(&buffers)?;
        self.off(&buffers)?;
        for (name, picture) in NAMES.iter().zip(&buffers) {
            let step = self.begin("remove", name, picture.bo())?;
            self.screen.forget(picture.bo()).map_err(Failure::step("RMFB"))?;
            self.end(step, &[Event::RemoveFramebuffer], None, None, None)?;
        }
        Ok(())
    }

    /// Creates a buffer.
    fn create(&mut self, place: usize) -> Result<Picture, Failure> {
        self.kernel.begin()?;
        let args = self.args;
        let created: Done<Bo> = match args.buffer {
            Buffer::Dumb => self.screen.alloc_dumb(),
            Buffer::Bo => self.device.alloc(self.request()).map_err(Into::into),
        };
        let bo = created.map_err(Failure::step("a buffer"))?;
        self.kernel.created(bo.handle())?;
        let step = Step { name: "create", buffer: NAMES[place], handle: bo.handle(), before: None };
        let mut events = Vec::new();
        // Under xe it was chosen at creation.
        if let Some(caching) = args.caching.filter(|_| !self.is_chosen_at_creation()) {
            bo.set_caching(caching).map_err(Failure::step("SET_CACHING"))?;
            events.push(Event::SetCaching(caching));
        }
        if let Some(mode) = args.map {
            bo.map(mode).map_err(Failure::step("mapping a buffer"))?;
        }
        self.end(step, &events, None, None, None)?;
        Ok(Picture::new(bo, Layout::of(&self.screen)))
    }

    /// Returns whether the request for a buffer has its caching mode.
    fn is_chosen_at_creation(&self) -> bool {
        self.args.buffer == Buffer::Bo && self.device.xe().is_some()
    }

    /// Returns the request for a buffer that is a BO.
    fn request(&self) -> AllocRequest {
        let request = self.screen.request(self.screen.picture_bytes());
        match self.args.caching {
            Some(caching) if self.is_chosen_at_creation() => request.caching(caching),
            Some(_) | None => request,
        }
    }

    fn cpu_frame(&mut self, buffers: &mut [Picture; 2], place: usize, number: u32) -> Result<(), Failure> {
        let picture = &mut buffers[place];
        let step = self.begin("cpu-draw", NAMES[place], picture.bo())?;
        picture.draw(number).map_err(Failure::step("drawing a frame"))?;
        self.end(step, &[Event::Fault], None, None, None)?;
        self.show(buffers, place)
    }

    fn gpu_frame(&mut self, buffers: &mut [Picture; 2], place: usize, number: u32) -> Result<(), Failure> {
        let picture = &mut buffers[place];
        let step = self.begin("gpu-draw", NAMES[place], picture.bo())?;
        picture.draw_by_gpu(&self.device, number).map_err(Failure::step("drawing by the GPU"))?;
        self.end(step, &[Event::Exec(Access::Write)], None, None, None)?;
        self.show(buffers, place)
    }

    /// Shows a buffer in place of the other one.
    fn show(&mut self, buffers: &[Picture; 2], place: usize) -> Result<(), Failure> {
        let picture = &buffers[place];
        let name = if self.shown.is_some() { "flip" } else { "mode-set" };
        let step = self.begin(name, NAMES[place], picture.bo())?;
        let report = if self.args.no_flush {
            self.show_unflushed(picture.bo())?;
            None
        } else {
            Some(self.screen.show(picture.bo()).map_err(Failure::step(name))?)
        };
        let left = self.shown.replace(place).filter(|&left| left != place);
        let left = left.map(|left| (buffers[left].bo().handle(), Event::UnpinDisplay));
        let expected = Expected { contents: picture.contents(), cursor: false };
        self.end(step, &[Event::PinDisplay], left, report, Some(expected))?;
        self.signals.pause(self.args.pause)
    }

    /// Shows a buffer without flushes, like a driver that does not handle caches.
    fn show_unflushed(&mut self, bo: &Bo) -> Result<(), Failure> {
        let framebuffer = self.screen.add(bo).map_err(Failure::step("ADDFB2"))?;
        let display = self.device.drm().display().map_err(Failure::step("showing"))?;
        if self.shown.is_some() {
            display.flip(self.screen.crtc(), framebuffer).map_err(Failure::step("PAGE_FLIP"))
        } else {
            let shown = Shown::new(framebuffer, self.screen.mode(), self.screen.connector());
            display.set_crtc(self.screen.crtc(), &shown).map_err(Failure::step("SETCRTC"))
        }
    }

    /// Draws a part of the shown buffer.
    fn partial_frame(
        &mut self,
        picture: &mut Picture,
        name: &'static str,
        number: u32,
    ) -> Result<(), Failure> {
        let step = self.begin("cpu-part", name, picture.bo())?;
        picture.draw_part(number).map_err(Failure::step("drawing a part"))?;
        self.end(step, &[Event::Fault], None, None, None)?;
        let step = self.begin("dirty", name, picture.bo())?;
        let report = if self.args.no_flush {
            let framebuffer = self.screen.add(picture.bo()).map_err(Failure::step("ADDFB2"))?;
            self.device
                .drm()
                .display()
                .and_then(|display| display.dirty(framebuffer))
                .map_err(Failure::step("DIRTYFB"))?;
            None
        } else {
            Some(self.screen.dirty().map_err(Failure::step("DIRTYFB"))?)
        };
        let expected = Expected { contents: picture.contents(), cursor: false };
        self.end(step, &[Event::DirtyFb], None, report, Some(expected))?;
        self.signals.pause(self.args.pause)
    }

    /// Shows a cursor, and hides it.
    fn cursor(&mut self, buffers: &[Picture; 2]) -> Result<(), Failure> {
        self.kernel.begin()?;
        let bo = self.device.alloc(self.screen.request(CURSOR_BYTES)).map_err(Failure::step("a cursor"))?;
        self.kernel.created(bo.handle())?;
        let step =
            Step { name: "cpu-draw", buffer: "cursor", handle: bo.handle(), before: self.caching(&bo) };
        draw_cursor(&bo).map_err(Failure::step("drawing a cursor"))?;
        self.end(step, &[Event::Fault], None, None, None)?;
        let contents = buffers[self.shown.unwrap_or(0)].contents();
        let step = self.begin("set", "cursor", &bo)?;
        let report = self.screen.set_cursor(Some(&bo), CURSOR_AT).map_err(Failure::step("CURSOR"))?;
        self.end(
            step,
            &[Event::AddFramebuffer, Event::PinDisplay],
            None,
            report,
            Some(Expected { contents, cursor: true }),
        )?;
        self.signals.pause(self.args.pause)?;
        let step = self.begin("unset", "cursor", &bo)?;
        self.screen.set_cursor(None, CURSOR_AT).map_err(Failure::step("CURSOR"))?;
        let expected = Expected { contents, cursor: false };
        self.end(step, &[Event::UnpinDisplay, Event::RemoveFramebuffer], None, None, Some(expected))
    }

    fn off(&mut self, buffers: &[Picture; 2]) -> Result<(), Failure> {
        let Some(place) = self.shown.take() else { return Ok(()) };
        let step = self.begin("off", NAMES[place], buffers[place].bo())?;
        self.screen.turn_off().map_err(Failure::step("SETCRTC"))?;
        self.end(step, &[Event::UnpinDisplay], None, None, None)
    }

    /// Returns the mode that GET_CACHING reports; `None` if it fails.
    fn caching(&self, bo: &Bo) -> Option<CachingMode> {
        self.device.drm().caching(bo.handle()).ok()
    }

    /// Begins a step, unless a signal arrived.
    fn begin(&mut self, name: &'static str, buffer: &'static str, bo: &Bo) -> Result<Step, Failure> {
        self.signals.pause(None)?;
        self.kernel.begin()?;
        Ok(Step { name, buffer, handle: bo.handle(), before: self.caching(bo) })
    }

    /// Ends a step: adds its row.
    fn end(
        &mut self,
        step: Step,
        events: &[Event],
        left: Option<(Handle, Event)>,
        report: Option<FlushReport>,
        expected: Option<Expected<'_>>,
    ) -> Result<(), Failure> {
        let Step { name, buffer, handle, before } = step;
        let caching_after = self.device.drm().caching(handle).ok();
        let kernel: KernelStep = self.kernel.ended(handle, events, left, caching_after)?;
        if let Some(Expected { contents, cursor }) = expected {
            self.crcs.see(&self.screen, self.rows.len(), contents, cursor);
        }
        self.rows.push(Row {
            step: name,
            buffer,
            handle: handle.get(),
            caching_before: before,
            caching_after,
            flushed: report.as_ref().map(StepLine::from),
            kernel,
            crc: None,
        });
        Ok(())
    }

    /// Compares the CRCs that were read with those of the drawn pictures.
    fn compare(&mut self) -> Result<(), Failure> {
        self.signals.pause(None)?;
        for (row, expected, read) in self.crcs.compare(&self.device, &mut self.screen)? {
            if let Some(row) = self.rows.get_mut(row) {
                row.crc = Some(CrcLine { expected, read });
            }
        }
        Ok(())
    }
}

/// Returns the index of the hidden buffer.
fn other(shown: Option<usize>) -> usize {
    shown.map_or(0, |shown| 1 - shown)
}
