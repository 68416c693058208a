//! Groups, threads, channels and constants of walkers, of each generation.

use super::super::compute::Dispatch;
use super::super::reader::Reader;
use super::*;

/// Constants at 0x2000: the register n is bytes of n + 1.
const CONSTANTS: u32 = 0x2000;

/// Returns the dispatch of a walker of 2 x 3 x 1 groups from (0, 1, 4) on, with 16 channels, rows of 2 threads, 3 columns, and a
/// descriptor that shares `shared` registers and has `own` for each thread.
fn dispatch(bench: &mut Bench, edit: impl Fn(&mut Vec<u32>), shared: u32, own: u32) -> Option<Dispatch> {
    let registers: Vec<u32> = (0..64 * 8).map(|dword| (dword / 8 + 1) * 0x0101_0101).collect();
    bench.write(CONSTANTS, &registers);
    let wide = bench.is_wide();
    // STATE_BASE_ADDRESS: the dynamic base is the object, and that of instructions lies 0x1000 after it.
    let mut bases = vec![0; 22];
    bases[0] = 0x6101_0014;
    let [dynamic, instructions] = if wide { [6, 10] } else { [3, 5] };
    (bases[dynamic], bases[instructions]) = (HERE | 1, (HERE + 0x1000) | 1);
    let mut commands = vec![bases];
    let descriptor = |bench: &Bench, rest: usize, threads: usize| {
        let mut words = [0; 8];
        (words[0], words[rest]) = (0x140, 0x260 | 2);
        words[threads] = 6;
        if bench.generation < 125 {
            words[rest + 1] = own << 16;
            words[rest + 3] = shared;
        }
        words
    };
    let words = match bench.generation {
        75 => {
            bench.write(0x40, &descriptor(bench, 3, 5));
            vec![0x7105_0009, 0, 1 << 30 | 2 << 8 | 1, 0, 2, 1, 4, 4, 5, 0x00ff, 0xffff_ffff]
        }
        125 => {
            let mut walker = vec![0x7208_0025, 0, 0, 0, 1 << 30 | shared << 25, 0x00ff, 0];
            walker.extend([2, 4, 5, 0, 1, 4]);
            walker.resize(18, 0);
            walker.extend(descriptor(bench, 4, 5));
            walker.resize(31, 0);
            walker.extend([0x0101_0101; 8]);
            walker
        }
        _ => {
            bench.write(0x40, &descriptor(bench, 4, 6));
            let (size, masks) = (1 << 30 | 2 << 8 | 1, [0x00ff, 0xffff_ffff]);
            [&[0x7105_000d, 0, 0, 0, size, 0, 0, 2, 1, 0, 4, 4, 5], &masks[..]].concat()
        }
    };
    if bench.generation < 125 {
        // MEDIA_CURBE_LOAD of 64 registers, MEDIA_INTERFACE_DESCRIPTOR_LOAD.
        commands.extend([vec![0x7001_0002, 0, 64 * 32, CONSTANTS], vec![0x7002_0002, 0, 32, 0x40]]);
    }
    bench.run(Tables, &commands);
    let mut words = words;
    edit(&mut words);
    let engine = EngineClass::Render;
    let view = View { engines: &bench.engines, bindings: &bench.bindings, engine, log: &bench.log };
    let followed = bench.pipeline.followed.as_mut().unwrap();
    let mut reader = Reader::new(&view, &mut followed.judged);
    followed.state.compute.dispatch(followed.encoding, &words, &mut reader).ok().flatten()
}

fn each_with_walkers(mut test: impl FnMut(&mut Bench)) {
    each(|bench| {
        if bench.generation >= 75 {
            test(bench);
        }
    });
}

#[test]
fn a_walker_has_groups_threads_and_channels() {
    each_with_walkers(|bench| {
        let generation = bench.generation;
        let got = dispatch(bench, |_| {}, 1, 0).unwrap();
        assert_eq!(got.groups, [0..2, 1..4, 4..5], "{generation}");
        assert_eq!((got.channels, got.threads, got.all_threads()), (16, 6, 36), "{generation}");
        assert_eq!(got.table, (0x260 | 2, 2), "{generation}");
        assert_eq!(got.shader.map(|base| base.address), Some(u64::from(HERE) + 0x1140), "{generation}");
        assert_eq!(got.unknown, None, "{generation}");
        // Before graphics 12.5 the last thread of each row lacks channels, then the last one of a group.
        let enabled: Vec<_> = (0..6).map(|thread| got.enabled(thread)).collect();
        let (all, last) = (0xffff, 0x00ff);
        let rows = if generation == 125 {
            [all, all, all, all, all, last]
        } else {
            [all, last, all, last, all, last]
        };
        assert_eq!(enabled, rows, "{generation}");
    });
}

#[test]
fn threads_find_their_groups_and_constants() {
    each_with_walkers(|bench| {
        let generation = bench.generation;
        let got = dispatch(bench, |_| {}, 1, 0).unwrap();
        let payload = got.payload([7, 8, 9], 3);
        let dword = |at: usize| u32::from_le_bytes(payload[0][4 * at..][..4].try_into().unwrap());
        assert_eq!([1, 6, 7].map(dword), [7, 8, 9], "{generation}");
        assert_eq!(payload[1..], [[1; 32]], "{generation}");
        if generation < 125 {
            // Two shared registers, then three of each thread: the third thread has those from 2 + 2 * 3 on.
            let payload = dispatch(bench, |_| {}, 2, 3).unwrap().payload([0; 3], 2);
            let found: Vec<_> = payload[1..].iter().map(|register| register[0]).collect();
            assert_eq!(found, [1, 2, 9, 10, 11], "{generation}");
        }
    });
}

#[test]
fn data_that_are_not_known_are_named() {
    each_with_walkers(|bench| {
        let generation = bench.generation;
        let size = if bench.is_wide() { 4 } else { 2 };
        let bottom = if bench.is_wide() { 14 } else { 10 };
        let unknown = |bench: &mut Bench, at: usize, bits: u32, own| {
            dispatch(bench, |words| words[at] ^= bits, 0, own).map(|got| got.unknown)
        };
        assert_eq!(unknown(bench, size, 3 << 30 ^ 1 << 30, 0), None, "{generation}: no such size");
        if bench.is_wide() {
            assert_eq!(unknown(bench, 2, 32, 0), Some(Some("indirect data")), "{generation}");
        }
        if generation == 125 {
            assert_eq!(unknown(bench, size, 1 << 26, 0), Some(Some("the local numbers of channels")));
            assert_eq!(unknown(bench, 18 + 2, 1 << 16, 0), Some(Some("the alternate mode of floats")));
        } else {
            assert_eq!(unknown(bench, bottom, 1, 0), Some(Some("channels that the last row lacks")));
            // Six threads have 60 of 64 registers, and then 66.
            assert_eq!(unknown(bench, 0, 0, 10), Some(None), "{generation}");
            assert_eq!(
                unknown(bench, 0, 0, 11),
                Some(Some("constants that were not loaded")),
                "{generation}"
            );
        }
    });
}
