//! Batches that do not come to their end: what the kernel does about them, and to whom.

use bytemuck::{Pod, bytes_of, bytes_of_mut};
use gem_coherency::Errno;
use gem_coherency::backend::{Addresses, Drm, ExecObject, Extras, Run};
use gem_coherency::platform::EngineClass;
use gem_coherency::vocabulary::Access;
use gem_coherency_sim::{HangCause, InjectedFault, Minor, Pages, Process, Remedy, SimDevice};
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::i915_context::*;
use gem_coherency_uapi::i915_facts::{DRM_IOCTL_I915_GET_RESET_STATS, drm_i915_reset_stats};

use crate::errno;
use crate::gpu::{BATCH, Buffer, END, Gpu, SOURCE, TARGET};

/// A dword to the target, of graphics 8 and later.
fn store(offset: u32, value: u32) -> [u32; 4] {
    [0x1000_0002, TARGET + offset, 0, value]
}

/// A command that no copy engine has: MI opcode 0x0f.
const UNKNOWN: u32 = 0x0780_0000;
/// A command that no other engine has, either: client 7.
const INVALID: u32 = 0xe000_0000;

#[track_caller]
fn hang(name: &str, engine: EngineClass, words: &[u32], cause: HangCause, remedy: Remedy) {
    let gpu = Gpu::new(name);
    let done = gpu.run_on(engine, words);
    assert_eq!(errno(done), None, "{name} {words:x?}: the request does not wait, and GEM_WAIT ends well");
    let hangs = gpu.device.gpu_hangs();
    let told: Vec<_> = hangs.iter().map(|hang| (hang.cause, hang.remedy, hang.engine)).collect();
    assert_eq!(told, [(cause, remedy, engine)], "{name} {words:x?}");
    let guilty = match remedy {
        Remedy::Reset => 1,
        Remedy::Cancelled => 0,
    };
    assert_eq!(gpu.device.hangs().unwrap(), guilty, "{name} {words:x?}");
}

#[test]
fn what_a_gpu_cannot_execute_hangs_it() {
    use EngineClass::{Copy, Render};
    use HangCause::*;
    let reset = |name, engine, words: &[u32], cause| hang(name, engine, words, cause, Remedy::Reset);
    reset("tgl", Copy, &[UNKNOWN, END], Unknown);
    reset("tgl", Render, &[0x5430_0005, 0x03f0_0040, 0, 0x1_0001, TARGET, 0, 7, END], Unknown);
    reset("mtl", Copy, &[0x5430_0005, 0x03f0_0040, 0, 0x1_0001, TARGET, 0, 7, END], Unknown);
    reset("tgl", Copy, &[0x5430_0805, 0x03f0_0040, 0, 0x1_0001, TARGET, 0, 7, END], Unsupported);
    reset("tgl", Copy, &[0x7a00_0004, 0, 0, 0, 0, 0, END], Unsupported);
    reset("tgl", Render, &[INVALID, END], Unknown);
    // MI_STORE_DATA_IMM to the global space (bit 22).
    reset("tgl", Copy, &[0x1040_0002, TARGET, 0, 7, END], Privileged);
    reset("snb", Copy, &[0x1040_0002, 0, TARGET, 7, END], Privileged);
    reset("tgl", Render, &[0x1040_0002, TARGET, 0, 7, END], Privileged);
}

#[test]
fn what_never_ends_is_cancelled_where_an_engine_can_turn_to_something_else() {
    use EngineClass::{Copy, Render};
    let endless = |name, engine, words: &[u32], remedy| hang(name, engine, words, HangCause::Endless, remedy);
    // A jump to itself; and no end, where memory does not go on or goes on with zeroes.
    for name in ["skl", "tgl", "mtl"] {
        endless(name, Copy, &[0x1880_0101, BATCH, 0, END], Remedy::Cancelled);
    }
    endless("tgl", Copy, &[0; 4], Remedy::Cancelled);
    endless("bdw", Copy, &[0x1880_0101, BATCH, 0, END], Remedy::Reset);
    for name in ["snb", "hsw"] {
        endless(name, Copy, &[0x1880_0100, BATCH, END], Remedy::Reset);
    }
    endless("snb", Render, &[0; 4], Remedy::Reset);
    assert_eq!(errno(Gpu::new("hsw").run(&[0; 4])), Some(Errno::EINVAL), "the kernel looks for an end");
    // MI_ARB_ON_OFF: it cannot turn away any more.
    endless("tgl", Copy, &[0x0400_0000, 0x1880_0101, BATCH, 0, END], Remedy::Reset);
    endless("tgl", Copy, &[0x0400_0001, 0x1880_0101, BATCH, 0, END], Remedy::Cancelled);
}

#[test]
fn what_would_take_for_ever_is_bounded() {
    // 32767 rows of 32767 pixels of 16 bytes.
    let fill = [0x5128_000e, 0x3_ffff, 0, 0x7fff_7fff, TARGET, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, END];
    hang("dg2", EngineClass::Copy, &fill, HangCause::Endless, Remedy::Cancelled);
    // The same rows of one byte again and again, and the same stores.
    let mut rows = [0x5400_0005, 0x00f0_0001, 0, 0x7530_0001, TARGET, 0, 7].repeat(8);
    rows.push(END);
    hang("skl", EngineClass::Copy, &rows, HangCause::Endless, Remedy::Cancelled);
    let mut stores = store(0, 1).repeat(250);
    stores.extend([0x1880_0101, BATCH, 0, END]);
    hang("icl", EngineClass::Copy, &stores, HangCause::Endless, Remedy::Cancelled);
    // The same state, and the same registers.
    for first in [0x7820_000e, 0x1100_0801] {
        let mut state = [0; 16];
        state[0] = first;
        let mut states = state.repeat(900);
        states.extend([0x1880_0101, BATCH, 0, END]);
        hang("icl", EngineClass::Render, &states, HangCause::Endless, Remedy::Cancelled);
    }
    // A second level starts itself.
    let deeper = [0x18c0_0101, BATCH, 0, END];
    hang("tgl", EngineClass::Copy, &deeper, HangCause::Unknown, Remedy::Reset);
}

#[test]
fn what_came_before_a_hang_is_done_and_what_comes_after_it_is_not() {
    let gpu = Gpu::new("icl");
    let mut words = store(0, 1).to_vec();
    words.push(UNKNOWN);
    words.extend(store(4, 2));
    words.push(END);
    gpu.run(&words).unwrap();
    assert_eq!((gpu.target.word(0), gpu.target.word(4)), (1, 0));
    let hang = gpu.device.gpu_hangs()[0];
    assert_eq!((hang.address, hang.command), (u64::from(BATCH) + 16, UNKNOWN));
    gpu.run(&[store(4, 3).as_slice(), &[END]].concat()).unwrap();
    assert_eq!(gpu.target.word(4), 3, "the next batch runs");
}

#[test]
fn a_batch_without_an_end_runs_into_what_lies_after_it() {
    let gpu = Gpu::new("bdw");
    // From the end of the target on to the source there is nothing, and in the source a store.
    gpu.source.put(0, &[store(0, 5).as_slice(), &[END]].concat());
    let objects = [
        ExecObject { handle: gpu.target.handle(), access: Access::Write },
        ExecObject { handle: gpu.source.handle(), access: Access::Read },
    ];
    let run = Run {
        objects: &objects,
        batch: gpu.batch.handle(),
        len_bytes: 0,
        engine: EngineClass::Render,
        addresses: Addresses::Pinned(&[TARGET.into(), SOURCE.into(), u64::from(SOURCE) - 0x2_0000]),
    };
    gpu.device.run(&run).unwrap();
    assert_eq!(gpu.target.word(0), 5);
    let faults: Vec<_> = gpu.device.gpu_faults().iter().map(|fault| fault.address).collect();
    assert_eq!(faults, [u64::from(SOURCE) - 0x1_0000], "told once");
    assert_eq!(gpu.device.gpu_hangs(), []);
}

#[test]
fn the_third_hang_bans_the_context_from_the_engine_and_other_engines_follow_at_the_next() {
    let gpu = Gpu::new("tgl");
    for hangs in 1..=3 {
        gpu.run(&[UNKNOWN, END]).unwrap();
        assert_eq!(gpu.device.hangs().unwrap(), hangs);
    }
    assert_eq!(errno(gpu.run(&[END])), Some(Errno::EIO), "even a batch that would end");
    gpu.run_on(EngineClass::Render, &[END]).unwrap();
    gpu.device.execute(&[]).unwrap();
    gpu.run_on(EngineClass::Render, &[INVALID, END]).unwrap();
    assert_eq!(errno(gpu.run_on(EngineClass::Render, &[END])), Some(Errno::EIO));
    assert_eq!(errno(gpu.device.execute(&[])), Some(Errno::EIO), "which goes to the same engine");
    assert_eq!(gpu.device.hangs().unwrap(), 4);
}

#[test]
fn cancelled_batches_ban_nobody() {
    let gpu = Gpu::new("tgl");
    for _ in 0..5 {
        gpu.run(&[0x1880_0101, BATCH, 0, END]).unwrap();
    }
    gpu.run(&[store(0, 1).as_slice(), &[END]].concat()).unwrap();
    assert_eq!((gpu.device.hangs().unwrap(), gpu.target.word(0)), (0, 1));
}

/// The address of structs in a process.
const ARGS: u64 = 0x1_0000;

/// A process with a file of its own.
struct File {
    process: Process,
    fd: i32,
}

impl File {
    fn new(device: &SimDevice) -> Self {
        let mut process = Process::default();
        let fd = process.open(device, Minor::Render);
        process.allocate(ARGS, 0x1000, Pages::ReadWrite).unwrap();
        Self { process, fd }
    }

    fn request<T>(&mut self, request: Ioctl<T>, mut args: T) -> Result<T, Errno>
    where
        T: Pod,
    {
        self.process.store(ARGS, bytes_of(&args)).unwrap();
        self.process.ioctl(self.fd, request.code, ARGS)?;
        self.process.load(ARGS, bytes_of_mut(&mut args)).unwrap();
        Ok(args)
    }

    /// Runs a batch of one command that hangs.
    fn hang(&self) -> Result<(), Errno> {
        let device = self.process.device(self.fd).unwrap();
        let batch = device.create(4096).unwrap().handle;
        device.pwrite(batch, 0, bytes_of(&[INVALID, END])).unwrap();
        let run = Run {
            objects: &[],
            batch,
            len_bytes: 0,
            engine: EngineClass::Render,
            addresses: Addresses::Relocated(&[]),
        };
        device.run(&run).map_err(|error| error.errno())
    }

    /// The resets of the GPU, and the hangs of the file's first context.
    fn stats(&mut self) -> (u32, u32) {
        let stats = self.request(DRM_IOCTL_I915_GET_RESET_STATS, drm_i915_reset_stats::default());
        let stats = stats.unwrap();
        (stats.reset_count, stats.batch_active)
    }

    fn create_context(&mut self) -> Option<Errno> {
        let args = drm_i915_gem_context_create_ext::default();
        self.request(DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, args).err()
    }
}

#[test]
fn a_files_hangs_are_its_own_and_resets_of_all_engines_everybodys() {
    for (name, resets) in [("snb", 1), ("hsw", 0), ("skl", 0)] {
        let device = crate::sim(name);
        let (mut one, mut other) = (File::new(&device), File::new(&device));
        one.hang().unwrap();
        assert_eq!(one.stats(), (resets, 1), "{name}");
        assert_eq!(other.stats(), (resets, 0), "{name}");
        one.hang().unwrap();
        one.hang().unwrap();
        assert_eq!(one.hang(), Err(Errno::EIO), "{name}");
        assert_eq!(other.hang(), Ok(()), "{name}");
    }
}

#[test]
fn a_file_with_two_banned_contexts_gets_no_third() {
    let device = crate::sim("skl");
    let mut file = File::new(&device);
    for _ in 0..3 {
        file.hang().unwrap();
    }
    assert_eq!(file.create_context(), None, "one is not enough");
    // The first context's other engines are banned with the first hang there.
    let soft = file.process.device(file.fd).unwrap();
    let batch = soft.create(4096).unwrap().handle;
    soft.pwrite(batch, 0, bytes_of(&[UNKNOWN, END])).unwrap();
    let run = Run {
        objects: &[],
        batch,
        len_bytes: 0,
        engine: EngineClass::Video,
        addresses: Addresses::Relocated(&[]),
    };
    soft.run(&run).unwrap();
    assert_eq!(file.create_context(), Some(Errno::EIO));
    assert_eq!(File::new(&device).create_context(), None, "another file does");
}

#[test]
fn contexts_that_do_not_recover_are_banned_at_once_and_ones_that_cannot_be_never() {
    for (param, value, hangs) in [(I915_CONTEXT_PARAM_RECOVERABLE, 0, 1), (I915_CONTEXT_PARAM_BANNABLE, 0, 9)]
    {
        let mut file = File::new(&crate::sim("skl"));
        let set = drm_i915_gem_context_param { param, value, ..Default::default() };
        file.request(DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM, set).unwrap();
        for _ in 0..hangs {
            file.hang().unwrap();
        }
        let expected = if hangs == 1 { Err(Errno::EIO) } else { Ok(()) };
        assert_eq!(file.hang(), expected, "{param}");
    }
}

#[test]
fn a_stalled_gpu_runs_its_batches_in_order_when_it_goes_on() {
    let gpu = Gpu::new("tgl");
    gpu.device.stall_gpu(true);
    gpu.batch.put(0, &[store(0, 1).as_slice(), &[END]].concat());
    gpu.submit(EngineClass::Render, 6).unwrap();
    // The batch is read when it runs, and both runs are of these commands.
    gpu.batch.put(
        0,
        &[&[0x5080_0008, 0x0300_0100, 0, 0x1_0010, TARGET, 0, 0, 0x100, SOURCE, 0, END][..]].concat(),
    );
    gpu.source.put(0, &[3; 16]);
    gpu.submit(EngineClass::Copy, 12).unwrap();
    assert_eq!(gpu.target.word(0), 0, "nothing has run");
    assert_eq!(errno(gpu.device.wait(gpu.target.handle(), 0)), Some(Errno::ETIME));
    // Closed and taken back meanwhile: the GPU still has it.
    gpu.device.close(gpu.source.handle()).unwrap();
    gpu.device.shrink();
    gpu.device.stall_gpu(false);
    gpu.device.wait(gpu.target.handle(), -1).unwrap();
    assert_eq!(gpu.target.word(0), 3);
    let causes: Vec<_> = gpu.device.gpu_hangs().iter().map(|hang| hang.cause).collect();
    assert_eq!(causes, [HangCause::Unknown], "the renderer does not blit");
}

#[test]
fn a_batch_finds_its_objects_where_its_submission_put_them() {
    let gpu = Gpu::new("tgl");
    gpu.device.stall_gpu(true);
    gpu.run_later(&[store(0, 1).as_slice(), &[END]].concat());
    // Another submission has the source at the target's address, and its batch at the source's.
    let other = Buffer::new(&gpu.device);
    other.put(0, &[END, 0]);
    let objects = [ExecObject { handle: gpu.source.handle(), access: Access::Write }];
    let run = Run {
        objects: &objects,
        batch: other.handle(),
        len_bytes: 8,
        engine: EngineClass::Copy,
        addresses: Addresses::Pinned(&[TARGET.into(), SOURCE.into()]),
    };
    gpu.device.run(&run).unwrap();
    gpu.device.stall_gpu(false);
    assert_eq!((gpu.target.word(0), gpu.source.word(0)), (1, 0));
}

#[test]
fn a_waiter_sees_what_the_batch_wrote() {
    let gpu = Gpu::new("tgl");
    gpu.device.stall_gpu(true);
    gpu.run_later(&[store(0, 1).as_slice(), &[END]].concat());
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            gpu.device.wait(gpu.target.handle(), -1).unwrap();
            let mut seen = [0; 4];
            gpu.device.pread(gpu.target.handle(), 0, &mut seen).unwrap();
            seen
        });
        gpu.device.stall_gpu(false);
        assert_eq!(waiter.join().unwrap(), [1, 0, 0, 0]);
    });
}

#[test]
fn what_a_banned_context_queued_is_cancelled() {
    let gpu = Gpu::new("tgl");
    gpu.device.stall_gpu(true);
    gpu.run_later(&[UNKNOWN, END]);
    for _ in 0..3 {
        gpu.submit(EngineClass::Copy, 2).unwrap();
    }
    gpu.device.stall_gpu(false);
    assert_eq!(gpu.device.gpu_hangs().len(), 3);
    assert_eq!(gpu.device.hangs().unwrap(), 3);
}

#[test]
fn a_dead_gpu_runs_nothing_that_it_still_has() {
    for (fault, expected) in [(InjectedFault::Wedged, Errno::EIO), (InjectedFault::Unplugged, Errno::ENODEV)]
    {
        let gpu = Gpu::new("tgl");
        gpu.device.stall_gpu(true);
        gpu.run_later(&[store(0, 1).as_slice(), &[END]].concat());
        gpu.device.inject(fault, 0);
        assert_eq!(errno(gpu.submit(EngineClass::Copy, 6)), Some(expected));
        gpu.device.stall_gpu(false);
        assert_eq!(gpu.target.word(0), 0, "{fault}");
    }
}

#[test]
fn a_purge_leaves_alone_what_the_gpu_still_has() {
    use gem_coherency::backend::{Advice, Retained};
    let gpu = Gpu::new("tgl");
    gpu.device.stall_gpu(true);
    gpu.run_later(&[store(0, 1).as_slice(), &[END]].concat());
    gpu.device.madvise(gpu.target.handle(), Advice::DontNeed).unwrap();
    gpu.device.shrink();
    gpu.device.stall_gpu(false);
    assert_eq!(gpu.device.madvise(gpu.target.handle(), Advice::WillNeed).unwrap(), Retained::Yes);
    assert_eq!(gpu.target.word(0), 1);
}

#[test]
fn what_a_stalled_gpu_still_has_outlives_its_file() {
    let gpu = Gpu::new("tgl");
    let witness = gpu.device.open_again(Minor::Render);
    gpu.device.stall_gpu(true);
    gpu.run_later(&[END]);
    let Gpu { device, target, source, batch } = gpu;
    drop((target, source, batch, device));
    assert_eq!(witness.objects_alive(), 3, "the GPU has them");
    witness.stall_gpu(false);
    assert_eq!(witness.objects_alive(), 0);
}

#[test]
fn a_batch_that_a_skipped_shader_should_have_written_is_skipped() {
    let second = |name: &str, address: u32| match name {
        "hsw" => vec![0x18c0_0100, address],
        _ => vec![0x18c0_0101, address, 0],
    };
    for name in ["hsw", "glk"] {
        let gpu = Gpu::new(name);
        gpu.target.put(0, &[INVALID]);
        gpu.source.put(0, &[INVALID]);
        let hangs = |words: &[u32]| {
            gpu.run_on(EngineClass::Render, &[words, &[END]].concat()).unwrap();
            gpu.device.take_gpu_hangs().len()
        };
        assert_eq!(hangs(&second(name, TARGET)), 1, "{name}: nothing was skipped");
        // A draw that is not known, of a submission that writes the target.
        assert_eq!(hangs(&[0x7b01_0000, 0]), 0);
        assert_eq!(hangs(&second(name, TARGET)), 0, "{name}");
        let skipped = gpu.device.coverage().skipped_commands;
        assert_eq!(skipped.get("batches that a skipped shader writes"), Some(&1), "{name}");
        assert_eq!(
            hangs(&[&second(name, TARGET)[..], &[INVALID]].concat()),
            1,
            "{name}: what is after it is executed"
        );
        assert_eq!(hangs(&second(name, SOURCE)), 1, "{name}: no shader writes it");
    }
}

#[test]
fn a_chained_batch_that_a_skipped_shader_should_have_written_ends_where_it_would_hang() {
    let chained = |name: &str, address: u32| match name {
        "byt" | "hsw" => vec![0x1880_0100, address],
        _ => vec![0x1880_0101, address, 0],
    };
    for name in ["byt", "hsw", "glk"] {
        // What is in memory: a command that is unknown; no-ops up to the end of the object, after which there is nothing.
        for garbage in [&[INVALID][..], &[]] {
            let gpu = Gpu::new(name);
            gpu.target.put(0, garbage);
            gpu.source.put(0, garbage);
            let hangs = |words: &[u32]| {
                gpu.run_on(EngineClass::Render, &[words, &[END]].concat()).unwrap();
                gpu.device.take_gpu_hangs().len()
            };
            let skipped = || {
                let skipped = gpu.device.coverage().skipped_commands;
                skipped.get("batches that a skipped shader writes").copied().unwrap_or(0)
            };
            // Without an unknown command it jumps in a circle: after the object, no-ops lead back to the batch.
            assert_eq!(hangs(&chained(name, SOURCE)), 1, "{name}");
            assert_eq!(skipped(), 0, "{name}: nothing was skipped");
            assert_eq!(hangs(&[0x7b01_0000, 0]), 0);
            assert_eq!(hangs(&chained(name, TARGET)), 0, "{name}");
            assert_eq!(skipped(), 1, "{name}");
            // It took the place of the batch that started it.
            assert_eq!(hangs(&[&chained(name, TARGET)[..], &[INVALID]].concat()), 0, "{name}");
            // A batch that no shader writes takes its place again.
            let back = BATCH + 0x100;
            gpu.target.put(0, &chained(name, back));
            let mut words = chained(name, TARGET);
            words.resize(0x100 / 4, 0);
            assert_eq!(hangs(&[&words[..], &[INVALID]].concat()), 1, "{name}");
        }
    }
}
