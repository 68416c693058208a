//! Late effects, and random moves.

use super::cache::Settings;
use super::cache::instructions::Flush;
use super::{HERE, Machine};

fn hostile(seed: u64) -> Machine {
    Machine::new(Settings { adversary: Some(seed), ..Settings::default() })
}

#[test]
fn a_weak_flush_waits_for_a_fence() {
    for flush in [Flush::Weak, Flush::WriteBack] {
        let mut machine = hostile(1);
        machine.store(HERE, &[1]);
        machine.cache.flush(HERE, &flush);
        assert_eq!(machine.device_reads(HERE), 0);
        // An uncached access does not wait for it.
        machine.cache.uncached_access();
        assert_eq!(machine.device_reads(HERE), 0);
        machine.cache.fence();
        assert_eq!(machine.device_reads(HERE), 1);
    }
    let mut machine = hostile(1);
    machine.store(HERE, &[1]);
    machine.flush(HERE);
    assert_eq!(machine.device_reads(HERE), 1);
}

#[test]
fn an_uncached_load_waits_for_stores_and_not_for_flushes() {
    let mut machine = Machine::new(Settings { adversary: Some(1), aliases: true, ..Settings::default() });
    machine.store(HERE, &[1]);
    machine.cache.flush(HERE, &Flush::Weak);
    machine.cache.uncached_store(HERE + 1, &[2], true);
    assert_eq!((machine.uncached_load(HERE), machine.uncached_load(HERE + 1)), (0, 2));
    machine.cache.fence();
    assert_eq!(machine.uncached_load(HERE), 1);
}

#[test]
fn stores_past_the_cache_wait_for_an_uncached_access() {
    let mut machine = hostile(1);
    machine.cache.uncached_store(HERE, &[1], true);
    machine.store_non_temporal(HERE + 64, &[2; 8]);
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 64)), (0, 0));
    machine.cache.uncached_access();
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 64)), (1, 2));
    // The CPU's own load of the line finds it; an uncached store does not wait.
    machine.cache.uncached_store(HERE, &[3], true);
    assert_eq!(machine.uncached_load(HERE), 3);
    machine.cache.uncached_store(HERE, &[4], false);
    assert_eq!(machine.device_reads(HERE), 4);
}

/// The bytes in memory of a line's first and second half, after non-temporal stores of 1 to the first half and a write of a
/// device (7) to the second one, before or after them. `meanwhile` is what the CPU does between the stores; `page` is
/// what it did before.
fn halves(
    page: impl Fn(&mut Machine),
    device_first: bool,
    meanwhile: impl Fn(&mut Machine),
) -> Vec<(u8, u8)> {
    let mut seen = Vec::new();
    for seed in 0..4 {
        let mut machine = hostile(seed);
        page(&mut machine);
        let device = |machine: &mut Machine| {
            (32..64).for_each(|at| machine.device_writes(HERE + at, 7));
        };
        if device_first {
            device(&mut machine);
        }
        machine.store_non_temporal(HERE, &[1; 8]);
        meanwhile(&mut machine);
        for at in [8, 16, 24] {
            machine.store_non_temporal(HERE + at, &[1; 8]);
        }
        if !device_first {
            device(&mut machine);
        }
        // The CPU sees its own stores, whatever waits.
        assert_eq!(machine.load(HERE + 8), 1);
        machine.cache.intervene();
        machine.cache.fence();
        let first: Vec<u8> = (0..32).map(|at| machine.device_reads(HERE + at)).collect();
        assert_eq!(first, [1; 32], "seed {seed}");
        let second: Vec<u8> = (32..64).map(|at| machine.device_reads(HERE + at)).collect();
        assert!(second.iter().all(|byte| *byte == second[0]), "seed {seed}: {second:?}");
        let both = (machine.load(HERE + 32), second[0]);
        if !seen.contains(&both) {
            seen.push(both);
        }
    }
    seen.sort_unstable();
    seen
}

/// What the CPU did with the page before: nothing, a load of the line, one of another line, a flush of the line.
const PAGES: [fn(&mut Machine); 4] = [
    |_| {},
    |machine| assert_eq!(machine.load(HERE), 0),
    |machine| assert_eq!(machine.load(HERE + 64), 0),
    |machine| machine.flush(HERE),
];

#[test]
fn stores_past_the_cache_leave_a_device_its_half_of_the_line() {
    for page in PAGES {
        for device_first in [false, true] {
            assert_eq!(halves(page, device_first, |_| {}), [(7, 7)]);
            // A load in between makes no difference, and neither does a store to another line.
            let load = |machine: &mut Machine| assert!([0, 7].contains(&machine.load(HERE + 32)));
            assert_eq!(halves(page, device_first, load), [(7, 7)]);
            assert_eq!(halves(page, device_first, |machine| machine.store(HERE + 64, &[2])), [(7, 7)]);
        }
    }
}

#[test]
fn the_adversary_leaves_a_line_alone_while_the_kind_of_its_last_store_is_not_known() {
    let stale = || {
        let mut machine = hostile(1);
        machine.load(HERE);
        machine.device_writes(HERE + 32, 7);
        machine
    };
    // QEMU has done the store, and has not yet told that it was a non-temporal one.
    let mut machine = stale();
    machine.store(HERE, &[1; 8]);
    (0..400).for_each(|_| assert!(machine.cache.intervene().is_some()));
    machine.cache.store_non_temporal(HERE, 8);
    machine.cache.fence();
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 32)), (1, 7));
    // After a load an ordinary store is one.
    let mut machine = stale();
    machine.store(HERE, &[1; 8]);
    machine.load(HERE + 64);
    (0..4000).for_each(|_| assert!(machine.cache.intervene().is_some()));
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 32)), (1, 0));
}

#[test]
fn a_dirty_byte_takes_the_device_its_half_of_the_line() {
    for page in PAGES {
        let before = |machine: &mut Machine| {
            page(machine);
            machine.store(HERE + 4, &[2]);
        };
        assert_eq!(halves(before, true, |_| {}), [(0, 0)]);
    }
    // A byte of the cached line becomes dirty between the stores, also without a change.
    for page in &PAGES[1..3] {
        for (at, byte) in [(4, 1), (40, 0)] {
            assert_eq!(halves(page, true, |machine| machine.store(HERE + at, &[byte])), [(0, 0)]);
        }
    }
}

#[test]
fn the_last_of_two_stores_past_the_cache_counts() {
    for seed in 0..4 {
        let mut machine = hostile(seed);
        machine.store_non_temporal(HERE, &[1; 8]);
        machine.store_non_temporal(HERE + 4, &[2; 8]);
        machine.store(HERE + 10, &[3]);
        let expected = [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 2, 0];
        assert_eq!([0, 4, 10].map(|at| machine.load(HERE + at)), [1, 2, 3]);
        machine.cache.fence();
        machine.flush(HERE);
        assert_eq!(std::array::from_fn(|at| machine.device_reads(HERE + at as u64)), expected);
    }
}

#[test]
fn a_store_past_the_cache_is_not_seen_by_a_snoop_before_it_is_done() {
    for shared in [false, true] {
        let mut machine = Machine::new(Settings { adversary: Some(1), shared, ..Settings::default() });
        machine.load(HERE);
        machine.store_non_temporal(HERE, &[1; 8]);
        assert_eq!(machine.device_snoops(HERE), 0);
        machine.cache.fence();
        assert_eq!(machine.device_snoops(HERE), 1);
        // A flush of the line is in order with stores to it.
        machine.store_non_temporal(HERE, &[2; 8]);
        machine.flush(HERE);
        assert_eq!(machine.device_reads(HERE), 2);
    }
}

#[test]
fn stores_to_one_line_keep_their_order() {
    for seed in 0..32 {
        let mut machine = hostile(seed);
        for value in 1..=40 {
            machine.cache.uncached_store(HERE, &[value], true);
            machine.cache.uncached_store(HERE + 64 * u64::from(value % 8), &[value], true);
        }
        machine.cache.fence();
        assert_eq!(machine.device_reads(HERE), 40);
    }
}

#[test]
fn a_fence_finds_no_buffer_full() {
    let mut machine = hostile(1);
    for line in 0..64 {
        machine.store(HERE + 64 * line, &[1]);
        machine.cache.flush(HERE + 64 * line, &Flush::Weak);
    }
    let late = (0..64).filter(|line| machine.device_reads(HERE + 64 * line) == 0).count();
    assert!((1..=12).contains(&late), "{late} flushes wait");
}

/// The bytes that the CPU and a device see, over many interventions of each seed, of a line that the CPU stored to (from
/// 0 to 1) and a device wrote to before or after (7).
fn seen(device_writes: bool) -> Vec<(u8, u8)> {
    let mut seen = Vec::new();
    for seed in 0..64 {
        let mut machine = hostile(seed);
        machine.store(HERE, &[1]);
        if device_writes {
            machine.device_writes(HERE, 7);
        }
        for _ in 0..400 {
            machine.device_reads(HERE);
            machine.cache.intervene();
            let both = (machine.load(HERE), machine.device_reads(HERE));
            if !seen.contains(&both) {
                seen.push(both);
            }
        }
    }
    seen.sort_unstable();
    seen
}

#[test]
fn lines_move_and_no_byte_appears_from_nowhere() {
    assert_eq!(seen(false), [(1, 0), (1, 1)]);
    // The dirty line hides the device's byte, and then overwrites it.
    assert_eq!(seen(true), [(1, 1), (1, 7)]);
}

#[test]
fn a_line_that_was_written_back_may_stay_or_not() {
    let mut loaded: Vec<u8> = (0..64)
        .map(|seed| {
            let mut machine = hostile(seed);
            machine.store(HERE, &[1]);
            while machine.device_reads(HERE) == 0 {
                machine.cache.intervene();
            }
            machine.device_writes(HERE, 7);
            machine.load(HERE)
        })
        .collect();
    loaded.sort_unstable();
    loaded.dedup();
    assert_eq!(loaded, [1, 7]);
}

#[test]
fn a_stale_line_is_dropped_some_time() {
    let mut machine = hostile(5);
    machine.load(HERE);
    machine.device_writes(HERE, 7);
    assert_eq!(machine.load(HERE), 0);
    let evicted = (0..4000).any(|_| {
        machine.cache.intervene();
        machine.load(HERE) == 7
    });
    assert!(evicted);
}

#[test]
fn a_seed_fixes_the_choices() {
    let run = |seed| {
        let mut machine = hostile(seed);
        machine.store(HERE, &[1]);
        machine.device_reads(HERE);
        let delays: Vec<_> = (0..20).map(|_| machine.cache.intervene()).collect();
        (delays, machine.cache.report())
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}
