//! The calls that a traced device accepted and some platforms refuse.

use gem_coherency::Errno;
use gem_coherency::backend::{Addresses, Drm, ExecObject, Extras, Relocation, Run};
use gem_coherency::platform::{Call, EngineClass};
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{Access, MmapMode};
use gem_coherency_sim::TraceEvent;

use crate::errno;
use crate::gpu::{END, Gpu, SIZE};

/// Returns whether the trace since the last time has an event.
fn has(gpu: &Gpu, wanted: Event) -> bool {
    gpu.device.take_trace().0.iter().any(|one| one.event == TraceEvent::Event(wanted))
}

#[test]
fn a_copy_by_the_command_parser_is_no_pread() {
    let gpu = Gpu::new("glk");
    gpu.device.trace();
    gpu.run(&[END]).unwrap();
    assert!(has(&gpu, Event::Pread), "graphics 9's parser copies batches of the copy engine");
    assert_eq!(gpu.device.accepted_calls(), []);
    for _ in 0..2 {
        gpu.device.pread(gpu.batch.handle(), 0, &mut [0; 4]).unwrap();
    }
    assert_eq!(gpu.device.accepted_calls(), [Call::PreadPwrite]);
}

#[test]
fn a_store_of_a_relocation_is_neither_a_pwrite_nor_a_set_domain() {
    for (name, event) in
        [("glk", Event::SetDomainGtt(Access::Write)), ("tgl", Event::Pwrite { partial: true, awake: false })]
    {
        let gpu = Gpu::new(name);
        gpu.device.trace();
        gpu.batch.put(0, &[END, 0]);
        let run = Run {
            objects: &[ExecObject { handle: gpu.target.handle(), access: Access::Read }],
            batch: gpu.batch.handle(),
            len_bytes: 8,
            engine: EngineClass::Render,
            addresses: Addresses::Relocated(&[Relocation { at: 8, object: 0, delta: 0 }]),
        };
        gpu.device.run(&run).unwrap();
        assert!(has(&gpu, event), "{name}");
        assert_eq!(gpu.device.accepted_calls(), [Call::Relocations], "{name}");
    }
}

#[test]
fn a_call_that_is_refused_or_not_traced_is_not_listed() {
    let tgl = Gpu::new("tgl");
    tgl.device.pread(tgl.batch.handle(), 0, &mut [0; 4]).unwrap();
    assert_eq!(tgl.device.accepted_calls(), [], "not traced");
    let mtl = Gpu::new("mtl");
    mtl.device.trace();
    let refused = mtl.device.pread(mtl.batch.handle(), 0, &mut [0; 4]);
    assert_eq!((errno(refused), mtl.device.accepted_calls()), (Some(Errno::EOPNOTSUPP), vec![]));
    let mapped = |gpu: &Gpu| errno(gpu.device.map(gpu.target.handle(), MmapMode::Gtt, SIZE));
    assert_eq!((mapped(&mtl), mtl.device.accepted_calls()), (Some(Errno::ENODEV), vec![]));
    tgl.device.trace();
    assert_eq!((mapped(&tgl), tgl.device.accepted_calls()), (None, vec![Call::MmapOffset(MmapMode::Gtt)]));
}
