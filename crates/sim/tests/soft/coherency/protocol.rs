//! Random sequences of a caller who flushes nothing and keeps to the kernel's protocol: SET_DOMAIN
//! before the CPU touches a mapping, EXECBUFFER2 before the GPU does. Nothing is ever stale.

use gem_coherency::backend::{Drm, ExecObject, Extras, Mapping};
use gem_coherency::platform::{Call, Caps};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, Domains, Handle, MmapMode, MocsClass};
use gem_coherency_sim::SimDevice;

const SIZE: usize = 2 * 4096;
const STEPS: usize = 60;

/// Pseudo-random numbers (Xorshift64, whose shifts these are).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// The caller's next action.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Cpu(MmapMode, Access),
    Transfer(Access),
    Gpu(Access),
    SetCaching(CachingMode),
    Suspend,
    Hibernate,
    Awake(bool),
}

const TURNS: &[Turn] = &[
    Turn::Cpu(MmapMode::Wb, Access::Read),
    Turn::Cpu(MmapMode::Wb, Access::Write),
    Turn::Cpu(MmapMode::Wc, Access::Read),
    Turn::Cpu(MmapMode::Wc, Access::Write),
    Turn::Cpu(MmapMode::Gtt, Access::Read),
    Turn::Cpu(MmapMode::Gtt, Access::Write),
    Turn::Transfer(Access::Read),
    Turn::Transfer(Access::Write),
    Turn::Gpu(Access::Read),
    Turn::Gpu(Access::Write),
    Turn::SetCaching(CachingMode::None),
    Turn::SetCaching(CachingMode::Cached),
    Turn::Suspend,
    Turn::Hibernate,
    Turn::Awake(true),
    Turn::Awake(false),
];

struct Caller {
    device: SimDevice,
    handle: Handle,
    maps: Vec<Mapping>,
    random: Random,
    /// The contents of the object.
    expected: Vec<u8>,
    history: Vec<Turn>,
}

impl Caller {
    fn new(name: &str, seed: u64) -> Self {
        let device = crate::sim(&format!("{name},adversary=on,seed={seed}"));
        let handle = device.create(SIZE as u64).unwrap().handle;
        let maps =
            MmapMode::ALL.iter().filter_map(|&mode| device.map(handle, mode, SIZE as u64).ok()).collect();
        let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Self { device, handle, maps, random, expected: vec![0; SIZE], history: Vec::new() }
    }

    fn domain(mode: MmapMode) -> Domains {
        match mode {
            MmapMode::Wb | MmapMode::Fixed => Domains::CPU,
            MmapMode::Wc | MmapMode::Uc => Domains::WC,
            MmapMode::Gtt => Domains::GTT,
        }
    }

    /// Returns whether the platform and the object's level support this turn.
    fn can(&self, turn: Turn) -> bool {
        let machine = self.device.machine();
        match turn {
            Turn::Cpu(mode, _) => {
                let snooped = self.device.snapshot(self.handle).unwrap().level != CacheLevel::None
                    && !machine.caps.contains(Caps::LLC);
                // The aperture faults; and see `wc_and_wb_of_a_snooped_object_do_not_mix_without_llc`.
                machine.refusal(Call::MmapOffset(mode)).is_none() && !(mode != MmapMode::Wb && snooped)
            }
            Turn::Transfer(_) => machine.refusal(Call::PreadPwrite).is_none(),
            Turn::SetCaching(CachingMode::Cached) => machine.refusal(Call::SetCachingCached).is_none(),
            Turn::SetCaching(_) => machine.refusal(Call::SetCaching).is_none(),
            Turn::Gpu(_) | Turn::Suspend | Turn::Hibernate | Turn::Awake(_) => true,
        }
    }

    /// A range, and bytes to write there.
    fn piece(&mut self) -> (usize, Vec<u8>) {
        let len = [4, 64, 100, 4096][self.random.below(4)];
        let offset = self.random.below(SIZE - len + 1);
        let offset = if self.random.below(2) == 0 { offset / 64 * 64 } else { offset };
        (offset, vec![self.random.below(256) as u8; len])
    }

    fn map(&self, mode: MmapMode) -> &Mapping {
        self.maps.iter().find(|map| map.mode() == mode).unwrap()
    }

    /// Lets the kernel flush what a level change or a resume marked dirty without a write domain: see
    /// `a_pwrite_to_an_object_that_is_dirty_without_write_domain_is_missed_by_wc`.
    fn submit_once(&self) {
        self.device.execute(&[ExecObject { handle: self.handle, access: Access::Read }]).unwrap();
    }

    fn turn(&mut self, turn: Turn) {
        self.history.push(turn);
        let (offset, data) = self.piece();
        let at = offset as u64;
        let mut seen = vec![0; data.len()];
        let read = match turn {
            Turn::Cpu(mode, access) => {
                let domain = Self::domain(mode);
                let write = if access == Access::Write { domain } else { Domains::empty() };
                self.device.set_domain(self.handle, domain, write).unwrap();
                match access {
                    Access::Read => self.map(mode).copy_out(at, &mut seen).unwrap(),
                    Access::Write => self.map(mode).copy_in(at, &data).unwrap(),
                }
                access == Access::Read
            }
            Turn::Transfer(Access::Read) => {
                self.device.pread(self.handle, at, &mut seen).unwrap();
                true
            }
            Turn::Transfer(Access::Write) => {
                self.device.pwrite(self.handle, at, &data).unwrap();
                false
            }
            Turn::Gpu(access) => {
                self.device.execute(&[ExecObject { handle: self.handle, access }]).unwrap();
                match access {
                    Access::Read => {
                        self.device.gpu_read(self.handle, MocsClass::PageTable, at, &mut seen).unwrap()
                    }
                    Access::Write => {
                        self.device.gpu_write(self.handle, MocsClass::PageTable, at, &data).unwrap()
                    }
                }
                access == Access::Read
            }
            Turn::SetCaching(mode) => {
                // A level that changes while lines are stale leaves them stale: drop them first.
                self.device.set_domain(self.handle, Domains::CPU, Domains::empty()).unwrap();
                self.device.set_caching(self.handle, mode).unwrap();
                return self.submit_once();
            }
            Turn::Suspend | Turn::Hibernate => {
                if matches!(turn, Turn::Suspend) { self.device.suspend() } else { self.device.hibernate() }
                    .unwrap();
                self.device.resume().unwrap();
                return self.submit_once();
            }
            Turn::Awake(awake) => return self.device.set_awake(awake),
        };
        let part = &mut self.expected[offset..offset + data.len()];
        if read {
            assert!(seen == part, "{}: stale after {:?}", self.device.name(), self.history);
        } else {
            part.copy_from_slice(&data);
        }
    }
}

#[test]
fn a_client_that_keeps_the_kernels_protocol_never_reads_stale_bytes() {
    for name in
        ["i965gm", "i915gm", "glk", "chv", "jsl", "ehl", "tgl", "hsw", "skl", "adls", "mtl", "mtl,kernel=6.1"]
    {
        for seed in 0..60 {
            let mut caller = Caller::new(name, seed);
            for _ in 0..STEPS {
                let turn = TURNS[caller.random.below(TURNS.len())];
                if caller.can(turn) {
                    caller.turn(turn);
                }
            }
            assert_eq!(caller.device.bus_errors(), 0, "{name} {seed}");
        }
    }
}

#[test]
fn a_client_without_set_domain_reads_stale_bytes() {
    let mut stale = 0;
    for seed in 0..60 {
        let mut caller = Caller::new("glk", seed);
        for _ in 0..STEPS {
            let (offset, data) = caller.piece();
            caller.map(MmapMode::Wb).copy_in(offset as u64, &data).unwrap();
            caller.device.execute(&[ExecObject { handle: caller.handle, access: Access::Read }]).unwrap();
            let mut seen = vec![0; data.len()];
            caller.device.gpu_read(caller.handle, MocsClass::PageTable, offset as u64, &mut seen).unwrap();
            stale += u32::from(seen != data);
        }
    }
    assert!(stale > 0);
}

/// A hole in the kernel's rules: PWRITE leaves the flush of a dirty object to whoever ends the CPU
/// write domain, and a level change or a resume makes objects dirty that are in none. The next
/// submission is what flushes.
#[test]
fn a_pwrite_to_an_object_that_is_dirty_without_write_domain_is_missed_by_wc() {
    for submit in [false, true] {
        let page = crate::Page::new("glk");
        let handle = page.handle();
        let wc = page.device.map(handle, MmapMode::Wc, 4096).unwrap();
        let cpu_read = || page.device.set_domain(handle, Domains::CPU, Domains::empty()).unwrap();
        page.device.set_caching(handle, CachingMode::Cached).unwrap();
        cpu_read();
        page.device.set_caching(handle, CachingMode::None).unwrap();
        if submit {
            page.device.execute(&[ExecObject { handle, access: Access::Read }]).unwrap();
        }
        page.device.pwrite(handle, 0, b"new!").unwrap();
        page.device.set_domain(handle, Domains::WC, Domains::empty()).unwrap();
        let mut seen = [0; 4];
        wc.copy_out(0, &mut seen).unwrap();
        assert_eq!(&seen == b"new!", submit);
    }
}

/// Another: a snooped object counts as coherent for read, so SET_DOMAIN(CPU) after a WC write drops
/// no line, although without an LLC nothing says that WC stores look the CPU's caches up.
#[test]
fn wc_and_wb_of_a_snooped_object_do_not_mix_without_llc() {
    for (name, expected) in [("glk", [0; 4]), ("tgl", *b"new!")] {
        let page = crate::Page::new(name);
        let handle = page.handle();
        let wc = page.device.map(handle, MmapMode::Wc, 4096).unwrap();
        page.device.set_caching(handle, CachingMode::Cached).unwrap();
        page.load();
        page.device.set_domain(handle, Domains::WC, Domains::WC).unwrap();
        wc.copy_in(0, b"new!").unwrap();
        page.device.set_domain(handle, Domains::CPU, Domains::empty()).unwrap();
        assert_eq!(page.load(), expected, "{name}");
    }
}
