//! The kernel's flushes for scanout, compared with the rules: framebuffers, mode sets, flips, cursors.
//!
//! Takes over the display: for the virtual machines of `crates/vm`, with `--display`. Without a display, or
//! without an HDMI connector, every test is skipped.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use gem_coherency::Errno;
use gem_coherency::Result;
use gem_coherency::backend::display::{Connector, Crtc, Display, Framebuffer, Mode, Picture, Shown};
use gem_coherency::backend::node::Node;
use gem_coherency::backend::{Created, Drm};
use gem_coherency::platform::Machine;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Creation, Event, KernelRules};
use gem_coherency::vocabulary::{Access, CachingMode};
use gemtool::kernel_trace::Tracer;

use super::flushes::{Done, Subject, difference, drive, machine, next, possible, seed};
use super::shown::{
    ADD, BEGIN, CACHED, COPY, CPU, DIRTY, END, FINISH, GPU, GTT, HIDE, NONE, REMOVE, SHOW, WC,
};
use super::{Bench, Skip, Test, foreign_objects, shown, test};

pub(super) const TESTS: &[Test] = &[
    test!(shown_objects_are_flushed_as_the_table_lists, harms),
    test!(shown_objects_are_flushed_as_the_rules_predict, harms),
    test!(random_calls_on_shown_objects_are_flushed_as_the_rules_predict, harms),
];

/// The size of the frames, which is that of the mode.
const WIDTH: u32 = 1024;
const HEIGHT: u32 = 768;

/// The time that the kernel's workers need for the previous contents of a plane.
const SETTLE: Duration = Duration::from_millis(20);

/// Returns the first CRTC and the first HDMI connector, or the reason why there is none.
pub(super) fn hdmi(node: &Node) -> Result<(Crtc, Connector), String> {
    // Cherryview's driver has its connectors all the same, and waits ten seconds for each flip.
    let disabled = fs::read_to_string("/sys/module/i915/parameters/disable_display");
    if disabled.is_ok_and(|disabled| disabled.trim() == "Y") {
        return Err("no display: i915.disable_display=1".to_owned());
    }
    let display = node.resources().map_err(|error| format!("no display: {error}"))?;
    let crtc = display.crtcs.first().copied().ok_or("no CRTC")?;
    let connector = display.connectors.into_iter().find(|connector| connector.is_hdmi());
    Ok((crtc, connector.ok_or("no HDMI connector")?))
}

/// A CRTC and a connector, with a spare framebuffer that is shown when no test's is.
pub(super) struct Screen<'a> {
    node: &'a Node,
    /// The node's file, and that of the other device.
    files: &'a (File, Option<File>),
    crtc: Crtc,
    connector: Connector,
    spare: Framebuffer,
    is_on: Cell<bool>,
}

impl<'a> Screen<'a> {
    /// Takes the first HDMI connector and the first CRTC; fails with the reason if there is none.
    fn open(node: &'a Node, files: &'a (File, Option<File>)) -> Result<Self, String> {
        let (crtc, connector) = hdmi(node)?;
        let spare = node.create_dumb(WIDTH, HEIGHT).and_then(|picture| node.add_framebuffer(&picture));
        let spare = spare.map_err(|error| format!("no framebuffer: {error}"))?;
        Ok(Self { node, files, crtc, connector, spare, is_on: Cell::new(false) })
    }

    /// Shows a framebuffer: by a flip, or by a mode set if the CRTC is off.
    fn show(&self, framebuffer: Framebuffer) -> Result<()> {
        if self.is_on.replace(true) {
            self.node.flip(self.crtc, framebuffer)
        } else {
            self.node.set_crtc(self.crtc, &Shown::new(framebuffer, Mode::XGA, self.connector))
        }
    }

    /// Creates an object with room for a frame; returns it with its size.
    fn picture(&self, of: Creation) -> (Picture, u64) {
        let (device, other) = self.files;
        let pitch_bytes = 4 * WIDTH;
        let size_bytes = u64::from(pitch_bytes * HEIGHT);
        let named = |handle| Picture { handle, width: WIDTH, height: HEIGHT, pitch_bytes };
        let picture = match (of, other) {
            (Creation::Userptr, _) => named(foreign_objects::userptr(device, size_bytes)),
            (Creation::Import, Some(other)) => {
                let dma_buf = foreign_objects::foreign(other, WIDTH, HEIGHT);
                named(self.node.import(dma_buf.as_fd()).unwrap().handle)
            }
            (_, _) => self.node.create_dumb(WIDTH, HEIGHT).unwrap(),
        };
        (picture, u64::from(picture.pitch_bytes) * u64::from(HEIGHT))
    }

    fn turn_off(&self) {
        if self.is_on.replace(false) {
            self.node.turn_off(self.crtc).unwrap();
            sleep(SETTLE);
        }
    }
}

/// An object with its framebuffer, to be shown.
pub(super) struct Scanout<'a> {
    screen: &'a Screen<'a>,
    picture: Picture,
    framebuffer: Option<Framebuffer>,
    is_shown: bool,
}

impl Scanout<'_> {
    /// Makes the call for `event`, which is one of the display's.
    pub(super) fn perform(&mut self, event: Event) -> Result<()> {
        let Screen { node, spare, .. } = *self.screen;
        let framebuffer = || self.framebuffer.expect("a framebuffer");
        match event {
            Event::AddFramebuffer => self.framebuffer = Some(node.add_framebuffer(&self.picture)?),
            Event::RemoveFramebuffer => {
                node.remove_framebuffer(framebuffer())?;
                self.framebuffer = None;
                // The kernel turned off the CRTC that showed it.
                if std::mem::take(&mut self.is_shown) {
                    self.screen.is_on.set(false);
                }
                sleep(SETTLE);
            }
            Event::PinDisplay => {
                self.screen.show(framebuffer())?;
                self.is_shown = true;
            }
            Event::UnpinDisplay => {
                self.screen.show(spare)?;
                self.is_shown = false;
                sleep(SETTLE);
            }
            Event::DirtyFb => node.dirty(framebuffer())?,
            Event::Acquire
            | Event::Release
            | Event::Fault
            | Event::SetDomainCpu(_)
            | Event::SetDomainGtt(_)
            | Event::SetDomainWc(_)
            | Event::SetCaching(_)
            | Event::Pread
            | Event::Pwrite { .. }
            | Event::Exec(_)
            | Event::SwFinish
            | Event::DmaBufBegin(_)
            | Event::DmaBufEnd
            | Event::Suspend
            | Event::Hibernate
            | Event::Resume { .. } => unreachable!("{event} is not the display's"),
        }
        Ok(())
    }
}

impl Drop for Scanout<'_> {
    fn drop(&mut self) {
        if self.framebuffer.is_some() {
            self.perform(Event::RemoveFramebuffer).unwrap();
        }
    }
}

/// The context of a test.
struct Scene<'a> {
    screen: &'a Screen<'a>,
    tracer: &'a RefCell<Tracer>,
    machine: Machine,
    rules: KernelRules,
    done: Vec<Done>,
    differences: Vec<String>,
}

impl<'a> Scene<'a> {
    fn new(screen: &'a Screen<'a>, tracer: &'a RefCell<Tracer>) -> Self {
        let machine = machine(screen.node);
        let rules = KernelRules::of(screen.node.kernel()).unwrap();
        Self { screen, tracer, machine, rules, done: Vec::new(), differences: Vec::new() }
    }

    /// Drives a new object, and compares the effects of each call with the expected ones.
    fn expect(&mut self, what: &str, of: Creation, calls: &[Event], expected: &[String]) {
        let start = self.done.len();
        let mut caching = self.drive(of, calls.iter().copied());
        let mut seen = Vec::new();
        for done in &self.done[start..] {
            seen.push(done.letters(caching));
            caching = done.caching();
        }
        if !shown::agrees(&seen, expected) {
            self.differences.push(format!("{what} {calls:?}: {seen:?}, the table has {expected:?}"));
        }
    }

    /// Checks that a process's memory is shown only after a request has brought its pages in.
    fn refuses_unseen_memory(&self) {
        let Screen { node, .. } = *self.screen;
        let (picture, _) = self.screen.picture(Creation::Userptr);
        let framebuffer = node.add_framebuffer(&picture).unwrap();
        self.screen.turn_off();
        let shown =
            node.set_crtc(self.screen.crtc, &Shown::new(framebuffer, Mode::XGA, self.screen.connector));
        assert_eq!(shown.unwrap_err().errno(), Errno::EAGAIN, "nothing was brought in");
        node.remove_framebuffer(framebuffer).unwrap();
        node.close(picture.handle).unwrap();
    }

    /// Drives a new object; returns the mode that GET_CACHING reported before the first call.
    fn drive(&mut self, of: Creation, events: impl IntoIterator<Item = Event>) -> Option<CachingMode> {
        let Self { screen, tracer, machine, rules, .. } = self;
        // The virtual machines do not model displays of discrete devices.
        let mut subject = Subject::made(screen.node, tracer, false, || {
            let (picture, size_bytes) = screen.picture(of);
            let created = Created { handle: picture.handle, size_bytes };
            (created, Some(Scanout { screen, picture, framebuffer: None, is_shown: false }))
        });
        let before = subject.caching();
        let done = drive(&mut subject, machine, rules, of, events);
        self.differences.extend(difference(&done));
        self.done.extend(done);
        subject.close();
        before
    }

    /// Prints what was compared. Fails if there were differences, or if the calls would agree with wrong
    /// rules, too.
    fn report(self, least: usize) {
        let Self { machine, rules, done, differences, .. } = self;
        println!(
            "{} under {}, display on: {} calls, {} flushes, {} differences",
            machine.platform,
            rules.version,
            done.len(),
            done.iter().map(Done::flushes).sum::<usize>(),
            differences.len()
        );
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        assert!(done.len() >= least, "only {} calls", done.len());
        let others = [
            KernelRules { dirtyfb_needs_plane: !rules.dirtyfb_needs_plane, ..rules },
            KernelRules { without: Some(Rule::ScanoutFlush), ..rules },
        ];
        for other in others {
            let refuted = done.iter().any(|call| call.refutes(&machine, &other));
            assert!(refuted, "the calls agree with {other:?}, too");
        }
    }
}

/// Returns the device's primary node, which alone has display requests.
pub(super) fn primary(path: &Path) -> Option<PathBuf> {
    let siblings = Path::new("/sys/class/drm").join(path.file_name()?).join("device/drm");
    let names = fs::read_dir(siblings).ok()?.flatten().map(|entry| entry.file_name());
    let card = names.into_iter().find(|name| name.to_string_lossy().starts_with("card"))?;
    Some(Path::new("/dev/dri").join(card))
}

/// Runs a test; skips it without a display and a trace.
fn with_scene(bench: &Bench, test: impl FnOnce(&mut Scene<'_>), least: usize) -> Skip {
    let Some(path) = primary(&bench.path) else {
        return Some("no primary node".to_owned());
    };
    let open = |path: &Path| File::options().read(true).write(true).open(path);
    let other =
        Node::open("/dev/dri/card1").is_err().then(|| open(Path::new("/dev/dri/card1")).ok()).flatten();
    let files = (open(&path).unwrap(), other);
    let node = Node::from_fd(&files.0).unwrap();
    let screen = match Screen::open(&node, &files) {
        Ok(screen) => screen,
        Err(why) => return Some(why),
    };
    let tracer = match Tracer::start() {
        Ok(tracer) => RefCell::new(tracer),
        Err(why) => return Some(why.to_string()),
    };
    let mut scene = Scene::new(&screen, &tracer);
    test(&mut scene);
    scene.report(least);
    screen.turn_off();
    None
}

const CPU_READ: Event = Event::SetDomainCpu(Access::Read);
const GTT_READ: Event = Event::SetDomainGtt(Access::Read);
const DISPLAY: Event = Event::SetCaching(CachingMode::Display);

/// Sequences of calls on a shown object, each for a new object at its default level.
const SEQUENCES: &[&[Event]] = &[
    // A framebuffer that is not shown, at the default level and at level NONE.
    &[ADD, CPU, FINISH, FINISH],
    &[ADD, CPU, DIRTY, FINISH],
    &[NONE, ADD, CPU, FINISH, CPU, DIRTY],
    &[ADD, GPU, FINISH],
    &[NONE, ADD, GPU, FINISH],
    // Shown objects: never accessed, written, at the level that scanout requires, and shown again.
    &[ADD, SHOW, SHOW],
    &[ADD, CPU, SHOW],
    &[NONE, ADD, SHOW],
    &[DISPLAY, ADD, CPU, SHOW],
    &[ADD, COPY, SHOW],
    // Each way to write a shown object, with each way to report the write.
    &[ADD, SHOW, CPU, FINISH, FINISH],
    &[ADD, SHOW, CPU, DIRTY, DIRTY],
    &[ADD, SHOW, CPU, SHOW],
    &[ADD, SHOW, CPU, GTT_READ, FINISH, CPU, WC, DIRTY],
    &[ADD, SHOW, GTT, CPU_READ, WC, CPU_READ],
    &[ADD, SHOW, COPY, DIRTY, CPU, COPY, DIRTY],
    &[ADD, SHOW, CPU, GPU, FINISH],
    &[ADD, SHOW, GPU, FINISH],
    &[ADD, SHOW, BEGIN, END, DIRTY],
    &[ADD, SHOW, Event::Fault, DIRTY],
    // The level stays until SET_CACHING, or until the object is shown again.
    &[ADD, SHOW, HIDE, REMOVE, CPU, FINISH],
    &[ADD, SHOW, REMOVE, CACHED, ADD, SHOW],
    &[ADD, SHOW, HIDE, CACHED, CPU, FINISH, SHOW],
    &[ADD, SHOW, DISPLAY, CPU, FINISH],
];

fn shown_objects_are_flushed_as_the_table_lists(bench: &Bench) -> Skip {
    let test = |scene: &mut Scene<'_>| {
        let class = shown::Class::of(&scene.machine);
        for row in shown::rows(&scene.machine.clone()) {
            if row.of == Creation::Import && scene.screen.files.1.is_none() {
                println!("no other device: '{}' is left out", row.what);
                continue;
            }
            if row.of == Creation::Userptr {
                scene.refuses_unseen_memory();
            }
            let expected = row.expected(class);
            // Show it by a flip, and by a mode set.
            scene.screen.show(scene.screen.spare).unwrap();
            scene.expect(row.what, row.of, row.calls, &expected);
            scene.screen.turn_off();
            scene.expect(row.what, row.of, row.calls, &expected);
        }
    };
    with_scene(bench, test, 150)
}

fn shown_objects_are_flushed_as_the_rules_predict(bench: &Bench) -> Skip {
    let test = |scene: &mut Scene<'_>| {
        for sequence in SEQUENCES {
            // Show it by a flip, and by a mode set.
            scene.screen.show(scene.screen.spare).unwrap();
            scene.drive(Creation::User, sequence.iter().copied());
            scene.screen.turn_off();
            scene.drive(Creation::User, sequence.iter().copied());
        }
    };
    with_scene(bench, test, 200)
}

fn random_calls_on_shown_objects_are_flushed_as_the_rules_predict(bench: &Bench) -> Skip {
    let test = |scene: &mut Scene<'_>| {
        let mut events = possible(&scene.machine);
        // The display's events are few among all, so add more of them.
        events.extend([ADD, SHOW, SHOW, HIDE, FINISH, DIRTY, DIRTY]);
        let mut seed = seed();
        for _ in 0..30 {
            let random = (0..30).map(|_| events[(next(&mut seed) % events.len() as u64) as usize]);
            scene.drive(Creation::User, [ADD].into_iter().chain(random));
        }
    };
    with_scene(bench, test, 400)
}
