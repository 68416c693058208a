//! Calls, made one after the other in two processes at once, and compared.

use std::time::Duration;

use bytemuck::{Pod, bytes_of, try_pod_read_unaligned};
use gem_coherency_sim::{Minor, Pages};
use gem_coherency_uapi::drm::{DRM_IOCTL_GEM_CLOSE, drm_gem_close};
use gem_coherency_uapi::drm_display::DRM_IOCTL_MODE_RMFB;
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_CREATE, DRM_IOCTL_I915_GEM_MMAP_OFFSET, DRM_IOCTL_I915_GEM_WAIT,
    I915_MMAP_OFFSET_FIXED, I915_MMAP_OFFSET_WB, drm_i915_gem_create, drm_i915_gem_mmap_offset,
    drm_i915_gem_wait,
};
use gem_coherency_uapi::i915_exec::DRM_IOCTL_I915_GEM_EXECBUFFER2_WR;

use super::call::{Call, Known, Outcome};
use super::flushes::{Flush, FlushKind, Witness, merged};
use super::shapes::{Kind, Mask};
use crate::processes::arena::{self, ARGS};
use crate::processes::target::{Done, Target};

/// The time that a worker's flush may take after it was announced.
const WORKER: Duration = Duration::from_millis(5);

/// A process in the midst of a sequence of calls.
#[derive(Debug)]
struct Side<'a> {
    target: &'a mut dyn Target,
    /// Two files of the primary node and one of the render node.
    files: [Option<i32>; 3],
    foreign: Option<i32>,
    known: Known,
    memory: Vec<u8>,
}

/// A difference between two processes.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The calls, the last of which differs.
    pub calls: Vec<Call>,
    /// Which of the sequences it was.
    pub sequence: usize,
    /// The comparisons before it, all of them equal.
    pub compared: Compared,
    /// The difference, for both sides.
    pub what: EventKind,
}

/// The part that differs.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// The result of the call.
    Result { real: Done<u64>, soft: Done<u64> },
    /// The struct, or the bytes that were loaded.
    Bytes { real: Vec<u8>, soft: Vec<u8> },
    /// The caller's memory, at an address.
    Memory { address: u64, real: Vec<u8>, soft: Vec<u8> },
    /// The kernel's flushes.
    Flushes { real: Vec<Flush>, soft: Vec<Flush> },
    /// One of the two could not begin.
    Start(String),
}

/// The numbers of comparisons.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    /// Calls.
    pub calls: u64,
    /// Those that succeeded.
    pub done: u64,
    /// Flushes.
    pub flushes: u64,
}

impl Compared {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            done: self.done + other.done,
            flushes: self.flushes + other.flushes,
        }
    }
}

/// Makes every sequence in two processes until they differ; between sequences both give back what
/// they have.
pub fn compare(
    real: &mut dyn Target,
    soft: &mut dyn Target,
    witness: &mut dyn Witness,
    sequences: &[Vec<Call>],
) -> Result<Compared, Difference> {
    let failed = |side: &str| Difference {
        calls: Vec::new(),
        sequence: 0,
        compared: Compared::default(),
        what: EventKind::Start(side.to_owned()),
    };
    witness.begin();
    let mut real = Side::start(real).map_err(|errno| failed(&format!("the driver: {errno}")))?;
    let mut soft = Side::start(soft).map_err(|errno| failed(&format!("the software device: {errno}")))?;
    witness.started();
    let mut compared = Compared::default();
    let mut made = Vec::new();
    let mut found = None;
    'sequences: for (number, calls) in sequences.iter().enumerate() {
        for (index, call) in calls.iter().enumerate() {
            witness.before(call);
            let (one, other) = (real.make(call), soft.make(call));
            if witness.after() {
                std::thread::sleep(WORKER);
            }
            made.push((number, index));
            compared.calls += 1;
            compared.done += u64::from(one.0.done.is_ok());
            if let Some(what) = difference(one, other) {
                found = Some(((number, index), what));
                break 'sequences;
            }
        }
        if number + 1 < sequences.len() {
            witness.between();
            real.give_back();
            soft.give_back();
        }
    }
    // A flush may differ before the first result does.
    let flushes = witness.finish();
    for (&at, (mut real, mut soft)) in made.iter().zip(flushes) {
        if sequences[at.0][at.1].shape.name.starts_with("GEM_EXECBUFFER2") {
            // Of a relocation's flush the trace does not tell the object.
            (real, soft) = (without_objects(real), without_objects(soft));
        }
        compared.flushes += real.len() as u64;
        if real != soft && found.as_ref().is_none_or(|(first, _)| at <= *first) {
            found = Some((at, EventKind::Flushes { real, soft }));
            break;
        }
    }
    match found {
        None => Ok(compared),
        Some(((number, index), what)) => {
            Err(Difference { calls: sequences[number][..=index].to_vec(), sequence: number, compared, what })
        }
    }
}

/// The flushes, of which those of some bytes name no object.
fn without_objects(flushes: Vec<Flush>) -> Vec<Flush> {
    let nameless = |flush: Flush| match flush.kind {
        FlushKind::Range => Flush { object: 0, ..flush },
        FlushKind::Whole | FlushKind::WholeByWorker | FlushKind::Wbinvd => flush,
    };
    merged(flushes.into_iter().map(nameless).collect())
}

/// Returns the difference between two outcomes, or else between the memory after them, if there is one.
fn difference(real: (Outcome, Vec<u8>), soft: (Outcome, Vec<u8>)) -> Option<EventKind> {
    let ((real, real_memory), (soft, soft_memory)) = (real, soft);
    if real.done != soft.done {
        return Some(EventKind::Result { real: real.done, soft: soft.done });
    }
    if real.bytes != soft.bytes {
        return Some(EventKind::Bytes { real: real.bytes, soft: soft.bytes });
    }
    let at = first_difference(&real_memory, &soft_memory)?;
    let around = |memory: &[u8]| memory[at..memory.len().min(at + 16)].to_vec();
    Some(EventKind::Memory { address: address(at), real: around(&real_memory), soft: around(&soft_memory) })
}

impl<'a> Side<'a> {
    /// Makes the arena and the batch.
    fn start(target: &'a mut dyn Target) -> Done<Self> {
        arena::make(target)?;
        let first = target.open(Minor::Primary);
        batch(target, first)?;
        let foreign = target.foreign(3 * 4096);
        let memory = arena::fresh();
        target.store(ARGS, &memory)?;
        let known = Known { fds: foreign.into_iter().collect(), ..Known::default() };
        Ok(Self { target, files: [Some(first), None, None], foreign, known, memory })
    }

    /// The descriptor of a file, opened when it is first used.
    fn file(&mut self, file: u16) -> i32 {
        let index = usize::from(file) % self.files.len();
        let minor = if index == 2 { Minor::Render } else { Minor::Primary };
        *self.files[index].get_or_insert_with(|| self.target.open(minor))
    }

    /// Gives objects, descriptors and mappings back, but for the batch and the foreign dma-buf.
    fn give_back(&mut self) {
        for &(address, len) in self.known.mappings.iter().filter(|mapping| mapping.1 != 0) {
            let _ = self.target.munmap(address, len);
        }
        for &fd in self.known.fds.iter().filter(|&&fd| fd >= 0 && Some(fd) != self.foreign) {
            let _ = self.target.close(fd);
        }
        for (index, fd) in self.files.into_iter().enumerate() {
            let Some(fd) = fd else { continue };
            for mut id in self.known.framebuffers.clone() {
                // Of the other file it is not; both are asked.
                let _ = request(self.target, fd, DRM_IOCTL_MODE_RMFB.code, &mut id);
            }
            for handle in if index == 0 { 2..12 } else { 1..12 } {
                let mut close = drm_gem_close { handle, pad: 0 };
                let _ = request(self.target, fd, DRM_IOCTL_GEM_CLOSE.code, &mut close);
            }
        }
        if self.known.fds.first() != self.foreign.as_ref() {
            self.foreign = self.target.foreign(3 * 4096);
        }
        self.known = Known { fds: self.foreign.into_iter().collect(), ..Known::default() };
    }

    /// Makes a call; returns what came of it, and the memory afterwards with the masked bytes zeroed.
    fn make(&mut self, call: &Call) -> (Outcome, Vec<u8>) {
        let file = self.file(call.file);
        let (outcome, masks) = call.make(self.target, file, &mut self.known);
        if outcome.done.is_ok() && call.shape.kind == Kind::Ioctl(DRM_IOCTL_I915_GEM_EXECBUFFER2_WR.code) {
            idle(self.target, file);
        }
        let mut memory = Vec::new();
        for (address, len) in arena::WRITABLE {
            let start = memory.len();
            memory.resize(start + len as usize, 0);
            self.target.load(address, &mut memory[start..]).expect("the arena can be read");
        }
        // The struct itself was compared with what stands for its descriptors and addresses.
        memory[..4096].fill(0);
        // The next call finds the data as they were.
        if memory[4096..self.memory.len()] != self.memory[4096..] {
            self.target.store(ARGS + 4096, &self.memory[4096..]).expect("the arena can be written");
        }
        for Mask { address, len } in masks {
            let at = (address - ARGS) as usize;
            memory[at..at + len as usize].fill(0);
        }
        (outcome, memory)
    }
}

/// The address of a byte of the compared memory.
fn address(at: usize) -> u64 {
    let mut at = at as u64;
    for (start, len) in arena::WRITABLE {
        if at < len {
            return start + at;
        }
        at -= len;
    }
    at
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    if one == other {
        return None;
    }
    one.iter().zip(other).position(|(one, other)| one != other)
}

/// A request of the frame around the calls; its struct lies where theirs do.
fn request<T: Pod>(target: &mut dyn Target, fd: i32, code: u32, args: &mut T) -> Done<()> {
    target.store(ARGS, bytes_of(args))?;
    target.ioctl(fd, code, ARGS)?;
    let mut bytes = vec![0; size_of::<T>()];
    target.load(ARGS, &mut bytes)?;
    *args = try_pod_read_unaligned(&bytes).expect("as many bytes as the struct has");
    Ok(())
}

/// Makes the object that batches run from: one page of MI_BATCH_BUFFER_END, named 1.
fn batch(target: &mut dyn Target, fd: i32) -> Done<()> {
    const MI_BATCH_BUFFER_END: u32 = 0x0a << 23;
    let mut create = drm_i915_gem_create { size: 4096, ..Default::default() };
    request(target, fd, DRM_IOCTL_I915_GEM_CREATE.code, &mut create)?;
    let handle = create.handle;
    let mut map = drm_i915_gem_mmap_offset { handle, flags: I915_MMAP_OFFSET_WB, ..Default::default() };
    if request(target, fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET.code, &mut map).is_err() {
        map = drm_i915_gem_mmap_offset { handle, flags: I915_MMAP_OFFSET_FIXED, ..Default::default() };
        request(target, fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET.code, &mut map)?;
    }
    let address = target.mmap(4096, Pages::ReadWrite, fd, map.offset)?;
    target.store(address, &MI_BATCH_BUFFER_END.to_le_bytes().repeat(1024))?;
    target.munmap(address, 4096)
}

/// Waits until the last batch is done, and everything that was submitted with it.
fn idle(target: &mut dyn Target, fd: i32) {
    let mut wait = drm_i915_gem_wait { bo_handle: 1, flags: 0, timeout_ns: -1 };
    // The batch is an object of every submission.
    request(target, fd, DRM_IOCTL_I915_GEM_WAIT.code, &mut wait).expect("the batch can be waited for");
}
