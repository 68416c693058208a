//! What draws read: stale vertices, and dirty surfaces. Each generation's encodings are tested beside the decoder.

use gem_coherency::platform::EngineClass::Render;
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, MocsClass};
use gem_coherency_sim::Mistake::{self, DirtySurface, StaleRead};
use gem_coherency_sim::{HangCause, Route, TraceEvent};

use crate::gpu::{END, Gpu, SIZE, SOURCE};

/// 3DSTATE_VERTEX_BUFFERS, 3DSTATE_VERTEX_ELEMENTS: three floats of each 64 bytes of the source.
fn vertex_state(mocs: u32) -> Vec<u32> {
    vec![
        0x7808_0003,
        1 << 14 | mocs << 17 | 64,
        SOURCE,
        0,
        SIZE as u32,
        0x7809_0001,
        1 << 25 | 0x40 << 16,
        0x1113_0000,
    ]
}

/// 3DSTATE_VF_TOPOLOGY, 3DPRIMITIVE of four triangles from vertex 4 on.
const DRAW: [u32; 9] = [0x784b_0000, 4, 0x7b00_0005, 0, 12, 4, 1, 0, 0];

/// Surface states at the start of the target, and a pixel shader with one, of 20 lines of the source.
fn surface(gpu: &Gpu, mocs: u32) -> Vec<u32> {
    let mut state = vec![1 << 29 | 0xc7 << 18, mocs << 25, 19 << 16 | 15, 63, 0, 0, 0, 0, SOURCE];
    state.resize(16, 0);
    gpu.target.put(0x100, &state);
    gpu.target.put(0x200, &[0x100]);
    let mut words = vec![0; 22];
    (words[0], words[4]) = (0x6101_0014, crate::gpu::TARGET | 1);
    words.extend([0x7820_000a, 0, 0, 1 << 18, 0, 0, 1, 0, 0, 0, 0, 0]);
    words.extend([0x784f_0000, 1 << 31, 0x782a_0000, 0x200]);
    words
}

/// A kind, a route, and the first and the end of each range of lines.
type Found = (Mistake, Route, Vec<(u64, u64)>);

/// Returns what was logged.
fn found(gpu: &Gpu) -> Vec<Found> {
    let lines = |lines: &[LineRange]| lines.iter().map(|lines| (lines.first(), lines.end())).collect();
    let all = gpu.device.incoherent().into_iter();
    all.map(|access| (access.kind, access.route, lines(&access.lines))).collect()
}

fn watched(name: &str) -> Gpu {
    let gpu = Gpu::new(name);
    gpu.device.watch(true);
    gpu
}

fn run(gpu: &Gpu, parts: &[&[u32]]) {
    gpu.run_on(Render, &[&parts.concat()[..], &[END]].concat()).unwrap();
}

#[test]
fn a_vertex_that_was_not_flushed_is_a_stale_read() {
    const UNCACHED: Route = Route::Gpu(MocsClass::Uncached);
    for (name, log) in [("glk", vec![(StaleRead, UNCACHED, vec![(4, 5), (15, 16)])]), ("tgl", vec![])] {
        let gpu = watched(name);
        let state = vertex_state(2);
        // Vertices 3 and 16 are not drawn; of vertex 6, bytes are stored that are not fetched.
        for (vertex, word) in [(3, 0), (4, 2), (6, 3), (15, 0), (16, 0)] {
            gpu.source.store(64 * vertex + 4 * word, &[7]);
        }
        run(&gpu, &[&state, &DRAW]);
        assert_eq!(found(&gpu), log, "{name}");
        gpu.source.flush();
        run(&gpu, &[&state, &DRAW]);
        assert_eq!(found(&gpu), [], "{name}: flushed");
    }
}

#[test]
fn a_context_keeps_the_state_between_batches_unless_one_hangs() {
    let gpu = watched("glk");
    run(&gpu, &[&vertex_state(2)]);
    gpu.source.store(64 * 4, &[7]);
    run(&gpu, &[&DRAW]);
    assert_eq!(found(&gpu).len(), 1);
    // A batch of an unknown client.
    gpu.run_on(Render, &[1 << 29]).unwrap();
    assert_eq!(gpu.device.take_gpu_hangs().first().map(|hang| hang.cause), Some(HangCause::Unknown));
    run(&gpu, &[&DRAW]);
    assert_eq!(found(&gpu), [], "the engine was reset");
}

#[test]
fn a_dirty_surface_is_judged_by_its_mocs_entry() {
    const BYPASS: Route = Route::Gpu(MocsClass::BypassLlc);
    for (name, mocs, log) in [
        ("jsl", 16, vec![(DirtySurface, BYPASS, vec![(2, 4), (19, 20)])]),
        ("ehl", 17, vec![(DirtySurface, BYPASS, vec![(2, 4), (19, 20)])]),
        ("jsl", 2, vec![]),
        ("icl", 16, vec![]),
    ] {
        let gpu = watched(name);
        let state = surface(&gpu, mocs);
        // Line 20 is after the surface's end.
        for line in [2, 3, 19, 20] {
            gpu.source.store(64 * line, &[7]);
        }
        run(&gpu, &[&state, &DRAW]);
        assert_eq!(found(&gpu), log, "{name} entry {mocs}");
        run(&gpu, &[&state]);
        assert_eq!(found(&gpu), [], "{name}: bound, and not drawn");
        gpu.source.flush();
        run(&gpu, &[&state, &DRAW]);
        assert_eq!(found(&gpu), [], "{name}: flushed");
    }
}

#[test]
fn a_surface_state_in_the_cache_is_stale_and_what_memory_has_is_judged() {
    let gpu = watched("jsl");
    let mut state = surface(&gpu, 2);
    // The base of surface states by entry 16.
    state[4] |= 16 << 5;
    gpu.source.store(64, &[7]);
    gpu.target.store(0x104, &[16 << 25]);
    run(&gpu, &[&state, &DRAW]);
    let stale = (StaleRead, Route::Gpu(MocsClass::BypassLlc), vec![(4, 5)]);
    assert_eq!(found(&gpu), [stale], "the old state names entry 2");
}

#[test]
fn nothing_is_read_unless_the_device_is_watched() {
    let gpu = Gpu::new("glk");
    gpu.source.store(64 * 4, &[7]);
    run(&gpu, &[&vertex_state(2), &DRAW]);
    gpu.device.watch(true);
    assert_eq!(found(&gpu), []);
    run(&gpu, &[&DRAW]);
    assert_eq!(found(&gpu).len(), 1, "the state was set before");
    assert_eq!(gpu.device.gpu_faults(), []);
}

#[test]
fn a_traced_draw_binds_its_surface_by_the_route_that_other_platforms_take() {
    const BYPASS: Route = Route::Gpu(MocsClass::BypassLlc);
    for (name, mocs, route) in [
        ("tgl", 2, Route::Gpu(MocsClass::PageTable)),
        ("tgl", 3, Route::Gpu(MocsClass::Uncached)),
        ("tgl", 16, BYPASS),
        ("glk", 17, BYPASS),
    ] {
        let gpu = Gpu::new(name);
        gpu.device.trace();
        let state = surface(&gpu, mocs);
        let bound = |gpu: &Gpu| {
            let (traced, _) = gpu.device.take_trace();
            let of_event = |event| {
                let TraceEvent::Bound { route, lines, .. } = event else { return None };
                Some((route, lines))
            };
            traced.into_iter().filter_map(|one| of_event(one.event)).collect::<Vec<_>>()
        };
        run(&gpu, &[&state]);
        assert_eq!(bound(&gpu), [], "{name}: not drawn");
        run(&gpu, &[&DRAW]);
        assert_eq!(bound(&gpu), [(route, LineRange::new(0, 20))], "{name} entry {mocs}");
    }
}

#[test]
fn a_traced_draw_reads_its_vertices() {
    let gpu = Gpu::new("tgl");
    gpu.device.trace();
    run(&gpu, &[&vertex_state(2), &DRAW]);
    let route = Route::Gpu(MocsClass::PageTable);
    let (traced, _) = gpu.device.take_trace();
    let read = traced.into_iter().any(|one| {
        matches!(one.event, TraceEvent::Accessed { route: by, access: Access::Read, lines, .. }
            if by == route && lines == LineRange::new(4, 16))
    });
    assert!(read);
}
