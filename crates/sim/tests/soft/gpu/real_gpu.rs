//! Batches that a real GPU runs, too: here one that a test plays.

use std::sync::{Arc, Mutex};

use gem_coherency::Errno;
use gem_coherency::backend::{Drm, Extras};
use gem_coherency::platform::EngineClass;
use gem_coherency_sim::{Ended, Mistake, Operand, RealGpu, Work, Written};

use crate::errno;
use crate::gpu::{BATCH, END, Gpu, SOURCE, TARGET};

/// A GPU that writes these bytes to these offsets of the target, and keeps what it is told.
#[derive(Debug)]
struct Played {
    ends: Result<Ended, Errno>,
    writes: Vec<(u64, [u8; 4])>,
    /// The first word of each operand, at its address.
    seen: Mutex<Vec<(u64, u32)>>,
    simulated: Mutex<Vec<Written>>,
}

impl RealGpu for Played {
    fn run(&self, work: &Work<'_>) -> Result<Ended, Errno> {
        let word = |operand: &Operand| {
            let mut bytes = [0; 4];
            operand.look(0, &mut bytes).unwrap();
            (operand.address, u32::from_le_bytes(bytes))
        };
        *self.seen.lock().unwrap() = work.operands.iter().map(word).collect();
        self.ends
    }

    fn write_results(&self, work: &Work<'_>, simulated: &[Written]) -> Result<(), Errno> {
        simulated.clone_into(&mut self.simulated.lock().unwrap());
        let target = work.operands.iter().find(|operand| operand.address == TARGET.into()).unwrap();
        self.writes.iter().for_each(|(offset, bytes)| target.write(*offset, bytes).unwrap());
        Ok(())
    }
}

fn played(gpu: &Gpu, ends: Result<Ended, Errno>, writes: &[(u64, [u8; 4])]) -> Arc<Played> {
    let (seen, simulated) = (Mutex::default(), Mutex::default());
    let played = Arc::new(Played { ends, writes: writes.to_vec(), seen, simulated });
    gpu.device.set_real_gpu(Arc::<Played>::clone(&played));
    played
}

/// MI_STORE_DATA_IMM to the target.
fn store(offset: u32, value: u32) -> [u32; 5] {
    [0x1000_0002, TARGET + offset, 0, value, END]
}

#[test]
fn it_sees_memory_or_the_cache_as_the_platform_does() {
    for (name, expected) in [("glk", 1), ("tgl", 2), ("jsl", 2), ("mtl", 2)] {
        let gpu = Gpu::new(name);
        let played = played(&gpu, Ok(Ended::Done), &[]);
        gpu.source.put(0, &[1]);
        gpu.source.store(0, &[2]);
        gpu.run_on(EngineClass::Render, &store(0, 7)).unwrap();
        let seen = played.seen.lock().unwrap().clone();
        assert_eq!(
            seen,
            [(TARGET.into(), 0), (SOURCE.into(), expected), (BATCH.into(), 0x1000_0002)],
            "{name}: before the simulated GPU stores"
        );
    }
}

#[test]
fn its_results_replace_those_of_the_simulated_gpu() {
    let gpu = Gpu::new("glk");
    let played = played(&gpu, Ok(Ended::Done), &[(8, *b"real"), (64, *b"more")]);
    gpu.run_on(EngineClass::Render, &store(8, 7)).unwrap();
    let simulated = played.simulated.lock().unwrap().clone();
    let [written] = &simulated[..] else { panic!("{simulated:?}") };
    assert_eq!(written.range, 8..12);
    assert_eq!(gpu.target.word(8).to_le_bytes(), *b"real");
    assert_eq!(gpu.target.word(64).to_le_bytes(), *b"more");
    // Without it, the simulated GPU's results stay.
    let alone = Gpu::new("glk");
    alone.run_on(EngineClass::Render, &store(8, 7)).unwrap();
    assert_eq!((alone.target.word(8), alone.target.word(64)), (7, 0));
}

#[test]
fn what_it_alone_writes_under_dirty_lines_is_lost() {
    for (name, expected) in [("glk", &[Mistake::LostWrite][..]), ("tgl", &[])] {
        let gpu = Gpu::new(name);
        played(&gpu, Ok(Ended::Done), &[(128, *b"real")]);
        gpu.device.watch(true);
        gpu.target.store(128, &[1, 2]);
        gpu.run_on(EngineClass::Render, &[END]).unwrap();
        let kinds: Vec<_> = gpu.device.incoherent().iter().map(|access| access.kind).collect();
        assert_eq!(kinds, expected, "{name}");
    }
}

#[test]
fn the_kernels_refusal_is_the_requests_and_nothing_runs() {
    let gpu = Gpu::new("glk");
    played(&gpu, Err(Errno::ENOSPC), &[]);
    assert_eq!(errno(gpu.run_on(EngineClass::Render, &store(8, 7))), Some(Errno::ENOSPC));
    assert_eq!(gpu.target.word(8), 0);
    assert_eq!(gpu.device.hangs().unwrap(), 0);
}

#[test]
fn it_alone_decides_what_hangs() {
    let gpu = Gpu::new("tgl");
    played(&gpu, Ok(Ended::Done), &[]);
    // No copy engine of the software device has PIPE_CONTROL.
    gpu.run(&[0x7a00_0004, 0, 0, 0, 0, 0, END]).unwrap();
    assert_eq!((gpu.device.hangs().unwrap(), gpu.device.gpu_hangs().len()), (0, 0));
    let gpu = Gpu::new("tgl");
    played(&gpu, Ok(Ended::Hung), &[]);
    gpu.run(&store(8, 7)).unwrap();
    assert_eq!(gpu.device.hangs().unwrap(), 1);
}

#[test]
fn a_counterpart_is_made_once_and_dropped_with_its_object() {
    let device = crate::sim("glk");
    let handle = device.create(4096).unwrap().handle;
    let operand = device.operand(handle).unwrap();
    let made = Arc::new(());
    let first = operand.counterpart().get_or_make(|| Ok(Arc::clone(&made))).unwrap();
    let again = device.operand(handle).unwrap();
    let second = again.counterpart().get_or_make(|| Err::<Arc<()>, _>(Errno::ENOMEM)).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(again.counterpart().get_or_make(|| Ok(7)).unwrap_err(), Errno::EBUSY, "another type");
    drop((first, second, operand, again));
    assert_eq!(Arc::strong_count(&made), 2);
    device.close(handle).unwrap();
    assert_eq!(Arc::strong_count(&made), 1);
    let fresh = device.create(4096).unwrap().handle;
    let failed = device.operand(fresh).unwrap().counterpart().get_or_make(|| Err::<u8, _>(Errno::ENOMEM));
    assert_eq!(failed.unwrap_err(), Errno::ENOMEM);
}
