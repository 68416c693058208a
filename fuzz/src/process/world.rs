//! A simulated process with a few devices, and what is to hold when all of it is gone.

use gem_coherency::backend::{Drm, OpenCounts};
use gem_coherency_sim::{Minor, Process, SimDevice};
use gem_coherency_uapi::i915::DRM_IOCTL_I915_GEM_CREATE;

use crate::input::Input;
use crate::names;
use crate::process::arena;
use crate::process::arena::ARGS;
use crate::process::likely_xe::LeftOfXe;

/// Files that one process opens at most.
pub(crate) const MOST_FILES: usize = 64;

/// An object that a call made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owned {
    pub(crate) handle: u32,
    pub(crate) size: u64,
}

/// The objects, contexts and dma-bufs that successful calls created.
#[derive(Debug, Default)]
pub(crate) struct Left {
    pub(crate) objects: Vec<Owned>,
    pub(crate) contexts: Vec<u32>,
    pub(crate) dma_bufs: Vec<i32>,
}

/// A process and its devices.
#[derive(Debug)]
pub struct World {
    /// The process.
    pub process: Process,
    /// The devices, for what no request reaches.
    pub devices: Vec<SimDevice>,
    /// Values that calls returned.
    pub(crate) seen: Vec<u64>,
    /// Offsets among them that mmap(2) may take.
    pub(crate) offsets: Vec<u64>,
    /// The addresses of mappings.
    pub(crate) mappings: Vec<u64>,
    /// The addresses of structs that others can point to.
    pub(crate) built: Vec<u64>,
    /// The place of the next struct.
    pub(crate) next_slot: u64,
    /// The results of successful calls, for the next calls.
    pub(crate) left: Left,
    /// The same of a device of xe.
    pub(crate) left_of_xe: LeftOfXe,
    /// Set if the device is one of xe.
    pub(crate) is_of_xe: bool,
    /// Files that were opened.
    pub(crate) opened: usize,
    /// Set if a device's GPU is stopped.
    pub(crate) stalled: bool,
    /// Set if GEM_CREATE succeeded, for planted faults.
    pub(crate) has_made_one: bool,
}

impl World {
    /// A process with a file of one or two devices; `None` if the input names none.
    pub fn new(input: &mut Input<'_>) -> Option<Self> {
        let mut world = Self::empty();
        world.devices.push(names::open(&names::choose_with_faults(input)).ok()?);
        world.open(0, Minor::Primary);
        if input.one_in(2) {
            world.devices.push(names::open(&names::choose(input)).ok()?);
            world.open(1, Minor::Render);
        }
        world.create(usize::from(input.byte() % 5));
        Some(world)
    }

    /// A process with a file of a device of xe; `None` if the input names none.
    pub fn of_xe(input: &mut Input<'_>) -> Option<Self> {
        let mut world = Self { is_of_xe: true, ..Self::empty() };
        world.devices.push(SimDevice::open_for_programs(&names::choose_of_xe(input)).ok()?);
        world.open(0, Minor::Primary);
        Some(world)
    }

    /// A process without devices.
    fn empty() -> Self {
        let mut world = Self {
            process: Process::default(),
            devices: Vec::new(),
            seen: Vec::new(),
            offsets: Vec::new(),
            mappings: Vec::new(),
            built: Vec::new(),
            next_slot: 0,
            left: Left::default(),
            left_of_xe: LeftOfXe::default(),
            is_of_xe: false,
            opened: 0,
            stalled: false,
            has_made_one: false,
        };
        arena::make(&mut world.process);
        world
    }

    /// Makes some objects, on the first file: most requests want one.
    fn create(&mut self, count: usize) {
        for size in [4096, 0x1_0000, 8192, 4096].into_iter().take(count) {
            // Size; handle and padding.
            let bytes: [[u8; 8]; 2] = [u64::to_le_bytes(size), [0; 8]];
            let _ = self.process.store(ARGS, bytes.as_flattened());
            if self.process.ioctl(0, DRM_IOCTL_I915_GEM_CREATE.code, ARGS).is_ok() {
                let mut handle = [0; 4];
                let _ = self.process.load(ARGS + 8, &mut handle);
                self.keep(u32::from_le_bytes(handle), size);
            }
        }
    }

    /// Opens another file of a device.
    pub fn open(&mut self, device: usize, minor: Minor) {
        if self.opened < MOST_FILES
            && let Some(device) = self.devices.get(device)
        {
            self.opened += 1;
            self.process.open(device, minor);
        }
    }

    /// Ends the process, as exit(2) does, and looks for what is left of it.
    ///
    /// # Panics
    /// If anything is.
    pub fn end(self) {
        let Self { process, devices, .. } = self;
        drop(process);
        for device in &devices {
            // A stalled GPU keeps what it was given.
            device.stall_gpu(false);
            assert_eq!(device.open_counts(), OpenCounts::default(), "names or mappings on {}", device.name());
            let (objects, bytes) = (device.objects_alive(), device.bytes_in_use());
            assert_eq!((objects, bytes), (0, 0), "objects and their bytes are left on {}", device.name());
        }
    }
}
