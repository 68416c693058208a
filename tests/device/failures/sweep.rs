//! A BO's lifetime with a fault at each request in turn: whatever fails, every later reader sees the newest
//! bytes.

use gem_coherency::backend::{Drm, ExecObject};
use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::object::Bo;
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use gem_coherency::{Error, Result};
use gem_coherency_exercise::Screen;
use gem_coherency_sim::{InjectedFault, SimDevice};
use std::sync::Arc;

use crate::failures::late::Late;
use crate::rig;

/// The marker's offset.
const AT: u64 = 100;

/// The source of the flushes before each read: the library, which readers ask, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flushes {
    Library,
    None,
}

/// The state of one lifetime: two BOs, a screen, and the expected contents of the first BO.
struct Lifetime<'a> {
    device: &'a Device,
    soft: &'a Arc<SimDevice>,
    flushes: Flushes,
    bo: Bo,
    other: Bo,
    screen: Option<Screen>,
    newest: [u8; 8],
    reads: u32,
    /// Reads that returned old bytes.
    wrong: Vec<String>,
}

impl Lifetime<'_> {
    fn check(&mut self, reader: &str, step: &str, seen: Result<[u8; 8]>) {
        // A fault may make the read fail; then it returned nothing.
        let Ok(seen) = seen else { return };
        self.reads += 1;
        if seen != self.newest {
            self.wrong.push(format!("{reader} after {step}: {seen:?}, not {:?}", self.newest));
        }
    }

    /// EXECBUFFER2, which a wedged GPU refuses.
    fn execute(&self, access: Access) -> Result<()> {
        self.soft.execute(&[ExecObject { handle: self.bo.handle(), access }])
    }

    fn gpu_sees(&self, mocs: MocsClass) -> Result<[u8; 8]> {
        let mut seen = [0; 8];
        let mut read_bytes = || {
            self.execute(Access::Read)?;
            self.soft.gpu_read(self.bo.handle(), mocs, AT, &mut seen)
        };
        match self.flushes {
            Flushes::Library => {
                let read = Submission { bo: &self.bo, access: Access::Read, mocs };
                self.device.submit_with(&[read], |_| read_bytes())?;
            }
            Flushes::None => read_bytes()?,
        }
        Ok(seen)
    }

    fn cpu_sees(&self) -> Result<[u8; 8]> {
        let mut seen = [0; 8];
        self.bo.read(AT, 8)?.read_at(AT, &mut seen)?;
        Ok(seen)
    }

    /// Checks the bytes that every reader sees.
    fn check_readers(&mut self, step: &str) {
        for mocs in [MocsClass::PageTable, MocsClass::BypassLlc] {
            let seen = self.gpu_sees(mocs);
            self.check("the GPU", step, seen);
        }
        let seen = self.cpu_sees();
        self.check("the CPU", step, seen);
    }

    fn cpu_writes(&mut self, value: u8) {
        let data = [value; 8];
        let write = || self.bo.write(AT, 8)?.write_at(AT, &data);
        if write().is_ok() {
            self.newest = data;
        }
    }

    fn gpu_writes(&mut self, value: u8) {
        let data = [value; 8];
        let mocs = MocsClass::PageTable;
        let write = Submission { bo: &self.bo, access: Access::Write, mocs };
        let mut reached = false;
        let _ = self.device.submit_with(&[write], |_| {
            self.execute(Access::Write)?;
            self.soft.gpu_write(self.bo.handle(), mocs, AT, &data)?;
            reached = true;
            Ok(())
        });
        if reached {
            self.newest = data;
        }
    }

    fn show(&mut self, which: &Bo) {
        if let Some(screen) = &mut self.screen {
            let _ = screen.show(which);
        }
    }

    fn run(&mut self) {
        let (bo, other) = (self.bo.clone(), self.other.clone());
        self.cpu_writes(1);
        self.check_readers("a store");
        self.gpu_writes(2);
        self.check_readers("the GPU's write");
        self.show(&bo);
        self.gpu_writes(3);
        self.check_readers("the GPU's write after the mode set");
        self.cpu_writes(4);
        let _ = self.screen.as_ref().map(Screen::dirty);
        self.check_readers("a store on screen");
        self.show(&other);
        self.show(&bo);
        self.gpu_writes(5);
        self.check_readers("the GPU's write after flips");
        if let Some(screen) = &mut self.screen {
            let _ = screen.set_cursor(Some(&bo), (0, 0));
            let _ = screen.set_cursor(None, (0, 0));
            let _ = screen.turn_off();
        }
        self.gpu_writes(6);
        self.check_readers("the GPU's write off the screen");
        let _ = self.screen.take().map(Screen::close);
        for (value, mode) in [(7, CachingMode::Cached), (8, CachingMode::None), (9, CachingMode::Cached)] {
            let _ = bo.set_caching(mode);
            self.gpu_writes(value);
            self.check_readers("a change of caching and the GPU's write");
        }
        let _ = bo.export().and_then(|dma_buf| self.device.import(&dma_buf));
        self.check_readers("an export");
    }
}

/// The result of a lifetime.
struct Outcome {
    /// The number of reads.
    reads: u32,
    /// The reads that returned old bytes.
    wrong: Vec<String>,
    /// Set if a request was interrupted, or failed after it had its effect.
    failed: bool,
}

/// The request that fails, and how.
enum Fails {
    /// None.
    Never,
    /// The request after that many others, by this fault.
    Before(InjectedFault, u64),
    /// The request after that many others, after it had its effect.
    After(u64),
}

/// Runs a lifetime in which a request fails; returns the error if that ends it before the first write.
fn run_lifetime(name: &str, fails: Fails, flushes: Flushes) -> Result<Outcome> {
    let mut rig = rig(name);
    let mut late = None;
    match fails {
        Fails::Never => {}
        Fails::Before(fault, after) => rig.soft.inject(fault, after),
        Fails::After(after) => {
            let device = late.insert(Late::new(&rig.soft, after));
            rig.device = Device::from_drm(Arc::clone(device) as Arc<dyn Drm>)?;
        }
    }
    let make = || -> Result<Bo> {
        let bo = rig.device.alloc(AllocRequest::new(1024 * 768 * 4).caching(CachingMode::Cached))?;
        bo.map(MmapMode::Wb)?;
        Ok(bo)
    };
    let (bo, other) = (make()?, make()?);
    bo.write(0, 4096)?.fill(&[0])?;
    let (device, soft) = (&rig.device, &rig.soft);
    let screen = Screen::open(device).ok();
    let mut lifetime =
        Lifetime { device, soft, flushes, bo, other, screen, newest: [0; 8], reads: 0, wrong: Vec::new() };
    lifetime.run();
    let Lifetime { reads, wrong, .. } = lifetime;
    let failed = rig.soft.restarts() > 0 || late.is_some_and(|late| late.has_failed());
    Ok(Outcome { reads, wrong, failed })
}

#[test]
fn a_fault_at_any_request_leaves_no_old_bytes() {
    let is_all = std::env::var_os("EVERY_CASE").is_some();
    for (row, platform) in ["jsl", "hsw", "glk"].into_iter().enumerate() {
        let name = format!("sim:{platform},display=on");
        let complete = run_lifetime(&name, Fails::Never, Flushes::Library).unwrap();
        assert_eq!((complete.reads, complete.wrong), (30, Vec::new()), "{name}: nothing fails");
        // Counts the requests: any of them can be interrupted, and the result says whether one was.
        let is_reached = |after| match run_lifetime(
            &name,
            Fails::Before(InjectedFault::Interrupted, after),
            Flushes::Library,
        ) {
            Ok(outcome) => outcome.failed,
            Err(_) => true,
        };
        let requests = (0..).find(|&after| !is_reached(after)).unwrap_or_default();
        assert!(requests > 30, "{name}: {requests}");
        // Each fault on one of the platforms, or with EVERY_CASE in the environment (`ci/unit --all`) on all.
        let faults = [
            InjectedFault::NoMemory,
            InjectedFault::Interrupted,
            InjectedFault::Wedged,
            InjectedFault::Unplugged,
        ];
        let faults = faults.into_iter().enumerate().filter(|(column, _)| is_all || column % 3 == row);
        for (_, fault) in faults {
            let mut seen = 0;
            for after in 0..requests {
                match run_lifetime(&name, Fails::Before(fault, after), Flushes::Library) {
                    Ok(Outcome { reads, wrong, .. }) => {
                        assert_eq!(wrong, Vec::<String>::new(), "{name} {fault}@{after}");
                        seen += reads;
                    }
                    // The fault came before the BO existed.
                    Err(error) => {
                        assert!(matches!(error, Error::Ioctl { .. }), "{name} {fault}@{after}: {error}")
                    }
                }
            }
            assert!(u64::from(seen) > 5 * requests, "{name} {fault}: {seen} reads in {requests} lives");
        }
    }
}

#[test]
fn a_request_that_fails_after_its_effect_leaves_no_old_bytes() {
    for platform in ["jsl", "hsw", "glk"] {
        let name = format!("sim:{platform},display=on");
        let mut failures = 0;
        loop {
            match run_lifetime(&name, Fails::After(failures), Flushes::Library) {
                Ok(Outcome { failed: false, .. }) => break,
                Ok(Outcome { wrong, .. }) => {
                    assert_eq!(wrong, Vec::<String>::new(), "{name}: request {failures}");
                }
                // The request came before the first write.
                Err(error) => assert!(matches!(error, Error::Ioctl { .. }), "{name}: {failures}: {error}"),
            }
            failures += 1;
        }
        assert!(failures > 5, "{name}: {failures} requests failed");
    }
}

#[test]
fn readers_that_do_not_ask_the_library_get_old_bytes() {
    for platform in ["jsl", "ehl"] {
        let outcome =
            run_lifetime(&format!("sim:{platform},display=on"), Fails::Never, Flushes::None).unwrap();
        assert!(!outcome.wrong.is_empty(), "{platform}");
    }
}
