//! System calls, as an input chooses them.

use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::time::Duration;

use gem_coherency::Errno;
use gem_coherency::backend::Drm;
use gem_coherency_sim::{InjectedFault, Minor, Pages};
use gem_coherency_uapi::drm::DRM_IOCTL_VERSION;
use gem_coherency_uapi::i915::DRM_IOCTL_I915_GEM_CREATE;
use gem_coherency_uapi::{self as uapi, Layout};

use crate::input::Input;
use crate::plant::{Plant, planted};
use crate::process::arena::{ARGS, PLACES};
use crate::process::world::{MOST_FILES, World};
use crate::tally;

/// Calls that one process makes at most.
const MOST_CALLS: u32 = 100;
/// The time for which a stopped GPU keeps a call waiting.
const STALL: Duration = Duration::from_millis(2);
/// The largest number of returned values that are remembered.
const MOST_SEEN: usize = 24;

/// A request: its name, its code and its struct.
type Request = (&'static str, u32, Option<&'static Layout>);

/// The requests that are declared, each with the struct of its size whose name is most like its own.
fn requests() -> &'static [Request] {
    static REQUESTS: OnceLock<Vec<Request>> = OnceLock::new();
    REQUESTS.get_or_init(|| {
        let of = |name: &str, code: u32| {
            let words: Vec<String> = name.split('_').map(str::to_lowercase).collect();
            let alike = |layout: &Layout| {
                let known = |word: &str| words.iter().any(|one| one.trim_start_matches("get") == word);
                let (common, all) = layout
                    .name
                    .split('_')
                    .fold((0, 0), |(common, all), word| (common + usize::from(known(word)), all + 1));
                // As many words in common as can be, then as few others.
                (common, std::cmp::Reverse(all))
            };
            uapi::layouts().filter(|layout| layout.size == size(code)).max_by_key(|layout| alike(layout))
        };
        uapi::ioctls().map(|(name, code)| (name, code, of(name, code))).collect()
    })
}

/// Bytes of a request's struct.
fn size(code: u32) -> usize {
    (code >> 16 & 0x3fff) as usize
}

/// Returns whether calls are shown as they are made: `FUZZ_SHOW` in the environment, to see what an input does.
fn is_shown() -> bool {
    static SHOWN: OnceLock<bool> = OnceLock::new();
    *SHOWN.get_or_init(|| std::env::var_os("FUZZ_SHOW").is_some())
}

/// A process makes the calls that an input chooses on devices of i915, and ends.
///
/// # Panics
/// If it finds a fault.
pub fn make_all(input: &mut Input<'_>) {
    World::new(input).into_iter().for_each(|world| make(world, input));
}

/// The same on a device of xe.
///
/// # Panics
/// If it finds a fault.
pub fn make_all_of_xe(input: &mut Input<'_>) {
    World::of_xe(input).into_iter().for_each(|world| make(world, input));
}

fn make(mut world: World, input: &mut Input<'_>) {
    for _ in 0..MOST_CALLS {
        if input.is_over() {
            break;
        }
        world.call(input);
    }
    world.end();
}

impl World {
    /// Makes a call: any, or one that will probably succeed.
    fn call(&mut self, input: &mut Input<'_>) {
        match input.byte() {
            pick @ 0..128 => self.any(pick % 32, input),
            128.. if self.is_of_xe => self.likely_of_xe(input),
            128.. => self.likely(input),
        }
    }

    fn any(&mut self, pick: u8, input: &mut Input<'_>) {
        match pick {
            0..20 => self.request(input),
            20 => self.any_request(input),
            21 | 22 => self.map(input),
            23 => {
                let address = if input.one_in(8) { input.word() } else { self.mapping(input) };
                if self.process.munmap(address).is_ok() {
                    self.mappings.retain(|&one| one != address);
                }
            }
            24 | 25 => {
                let address = self.place(input);
                let bytes = input.of(&[1, 8, 64, 100, 4096, 10_000]);
                if input.one_in(2) {
                    let _ = self.process.load(address, &mut vec![0; bytes]);
                } else {
                    let _ = self.process.store(address, &vec![input.byte(); bytes]);
                }
            }
            26 => {
                let fd = self.fd(input);
                let _ = self.process.close(fd);
            }
            27 => {
                let device = usize::from(input.byte() % 2);
                self.open(device, if input.one_in(3) { Minor::Render } else { Minor::Primary });
            }
            28 => self.receive(input),
            29 => {
                let fd = self.fd(input);
                let offset = input.of(&[0, 1, -1, i64::MAX, i64::MIN]);
                let _ = self.process.lseek(fd, offset, i32::from(input.byte() % 6));
            }
            30 => self.allocate(input),
            _ => self.befall(input),
        }
    }

    fn fd(&self, input: &mut Input<'_>) -> i32 {
        match input.byte() {
            pick @ 0..250 => i32::from(pick % 8),
            _ => -1,
        }
    }

    /// A device's file: mostly the one that is open from the start.
    fn device_fd(&self, input: &mut Input<'_>) -> i32 {
        if input.one_in(4) { self.fd(input) } else { 0 }
    }

    /// A declared request with its struct.
    fn request(&mut self, input: &mut Input<'_>) {
        let (name, code, layout) = input.of(requests());
        let args = match layout {
            Some(layout) => self.fill(input, layout, 0),
            None => input.bytes(size(code)),
        };
        let fd = match name.starts_with("DMA_BUF") {
            true => self.fd(input),
            false => self.device_fd(input),
        };
        let address = if input.one_in(32) { self.place(input) } else { ARGS };
        let _ = self.send(fd, name, code, address, &args);
    }

    /// Puts a struct somewhere, and makes the request with it.
    pub(crate) fn send(
        &mut self,
        fd: i32,
        name: &'static str,
        code: u32,
        address: u64,
        args: &[u8],
    ) -> Result<i32, Errno> {
        let _ = self.process.store(address, args);
        let done = self.ioctl(fd, code, address);
        if is_shown() {
            eprintln!("{name} on {fd} at {address:#x}: {done:?} {args:x?}");
        }
        self.remember(args, address);
        if done.is_ok() {
            tally::note(name);
            if code == DRM_IOCTL_I915_GEM_CREATE.code {
                self.has_made_one = true;
            }
            if code == DRM_IOCTL_VERSION.code && self.has_made_one {
                self.plant();
            }
        }
        done
    }

    /// Any code, also ones with sizes and directions of their own.
    fn any_request(&mut self, input: &mut Input<'_>) {
        let (_, code, _) = input.of(requests());
        let code = match input.byte() % 4 {
            0 => input.word() as u32,
            1 => code ^ 1 << (input.byte() % 32),
            2 => code & 0xc000_ffff | (u32::from(input.short()) & 0x3fff) << 16,
            _ => code & 0xffff_ff00 | u32::from(input.byte()),
        };
        let len = input.byte();
        let args = input.bytes(len.into());
        let _ = self.process.store(ARGS, &args);
        let fd = self.fd(input);
        let done = self.ioctl(fd, code, ARGS);
        if is_shown() {
            eprintln!("{code:#x} on {fd}: {done:?} {args:x?}");
        }
        self.remember(&args, ARGS);
    }

    /// ioctl(2). A GPU that is stopped goes on soon, since nobody else would let it.
    fn ioctl(&mut self, fd: i32, code: u32, address: u64) -> Result<i32, Errno> {
        if !self.stalled {
            return self.process.ioctl(fd, code, address);
        }
        let (devices, process) = (&self.devices, &mut self.process);
        let (done, waits) = channel::<()>();
        let (result, went_on) = std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                let over = waits.recv_timeout(STALL).is_ok();
                if !over {
                    devices.iter().for_each(|device| device.stall_gpu(false));
                }
                !over
            });
            let result = process.ioctl(fd, code, address);
            let _ = done.send(());
            (result, other.join().unwrap_or(true))
        });
        self.stalled &= !went_on;
        result
    }

    /// Keeps the words that a request changed.
    fn remember(&mut self, before: &[u8], address: u64) {
        let mut after = vec![0; before.len()];
        if self.process.load(address, &mut after).is_err() {
            return;
        }
        for (before, after) in before.chunks(8).zip(after.chunks(8)) {
            if before != after {
                let mut word = [0; 8];
                word[..after.len()].copy_from_slice(after);
                let word = u64::from_le_bytes(word);
                if self.seen.len() == MOST_SEEN {
                    self.seen.remove(0);
                }
                self.seen.push(word);
                if !word.is_multiple_of(4096) {
                    continue;
                }
                // Offsets of objects in the device's file begin above 4 GiB, and addresses lie high.
                if word > 1 << 40 {
                    self.mappings.push(word);
                } else if word >= 1 << 32 {
                    self.offsets.push(word);
                }
            }
        }
    }

    fn map(&mut self, input: &mut Input<'_>) {
        let fd = if input.one_in(4) { self.fd(input) } else { self.device_fd(input) };
        let len = match input.one_in(4) {
            true => input.of(&[0, 1, 8192, 65536, 1 << 30, 1 << 47, u64::MAX]),
            false => 4096,
        };
        let pages = input.of(&[Pages::ReadWrite, Pages::ReadOnly, Pages::None, Pages::Executable]);
        let offset = match input.byte() {
            0..32 => 0,
            32..64 => u64::from(input.byte()) * 4096,
            pick @ 64..240 if !self.offsets.is_empty() => {
                self.offsets[usize::from(pick) % self.offsets.len()]
            }
            240..250 => self.offsets.last().copied().unwrap_or_default().wrapping_add(4096),
            _ => input.word(),
        };
        self.mmap(len, pages, fd, offset);
    }

    /// mmap(2) of a file.
    pub(crate) fn mmap(&mut self, len: u64, pages: Pages, fd: i32, offset: u64) -> Option<u64> {
        let done = self.process.mmap(len, pages, fd, offset);
        if is_shown() {
            eprintln!("mmap of {len:#x} {pages:?} on {fd} at {offset:#x}: {done:x?}");
        }
        let address = done.ok()?;
        tally::note(if self.process.device(fd).is_some() {
            "mmap of an object"
        } else {
            "mmap of a dma-buf"
        });
        self.mappings.push(address);
        Some(address)
    }

    /// Somewhere in the process's memory, or not.
    fn place(&mut self, input: &mut Input<'_>) -> u64 {
        match input.byte() {
            0..180 => self.mapping(input).wrapping_add(u64::from(input.short())),
            180..250 => input.of(PLACES),
            _ => input.word(),
        }
    }

    /// A dma-buf from a device that is not the process's.
    pub(crate) fn receive(&mut self, input: &mut Input<'_>) {
        if self.opened == MOST_FILES {
            return;
        }
        self.opened += 1;
        if input.one_in(2) {
            let size = input.of(&[4096, 0, 100, 8192, 0x1_0000, 1 << 40]);
            if let Ok(fd) = self.process.foreign_dma_buf(size, input.one_in(2)) {
                self.keep_dma_buf(fd);
            }
            return;
        }
        let Some(device) = self.devices.get(usize::from(input.byte() % 2)) else { return };
        // The object's name ends with this file.
        let file = device.open_again(Minor::Render);
        let Ok(created) = file.create(input.of(&[4096, 8192, 65536])) else { return };
        if let Ok(dma_buf) = file.export(created.handle)
            && let Ok(fd) = self.process.receive(dma_buf.as_fd())
        {
            self.keep_dma_buf(fd);
        }
    }

    fn allocate(&mut self, input: &mut Input<'_>) {
        let address =
            if input.one_in(4) { input.word() } else { 0x2_0000_0000 + u64::from(input.byte()) * 4096 };
        let len = input.of(&[4096, 8192, 0x10_0000, 0, 100, 1 << 30, 1 << 40, u64::MAX]);
        let pages = input.of(&[Pages::ReadWrite, Pages::ReadOnly, Pages::None, Pages::Executable]);
        if self.process.allocate(address, len, pages).is_ok() {
            self.mappings.push(address);
        }
    }

    /// Makes an event of a machine happen to a device.
    fn befall(&mut self, input: &mut Input<'_>) {
        let Some(device) = self.devices.get(usize::from(input.byte() % 2)) else { return };
        match input.byte() % 8 {
            0 => device.shrink(),
            1 => device.set_awake(input.one_in(2)),
            2 => {
                let _ = device.suspend();
                let _ = device.resume();
            }
            3 => {
                let _ = device.hibernate();
                let _ = device.resume();
            }
            4 => device.inject(input.of(InjectedFault::ALL), u64::from(input.byte() % 8)),
            5 => drop(device.kernel_flushes()),
            6 => drop(device.take_kernel_flushes()),
            _ => {
                device.stall_gpu(true);
                self.stalled = true;
            }
        }
    }

    /// Makes the fault happen that is planted, if any.
    fn plant(&mut self) {
        match planted() {
            None | Some(Plant::Stale) => {}
            Some(Plant::Panic) => panic!("planted"),
            Some(Plant::Leak) => {
                if let Some(device) = self.devices.first() {
                    std::mem::forget(device.open_again(Minor::Render));
                }
            }
            Some(Plant::Hang) => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            Some(Plant::Memory) => {
                let mut taken = Vec::new();
                loop {
                    taken.push(vec![1_u8; 1 << 20]);
                }
            }
        }
    }
}
