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
    machine.store_around(HERE + 64, &[2; 8]);
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 64)), (0, 0));
    machine.cache.uncached_access();
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 64)), (1, 2));
    // The CPU's own load of the line finds it; an uncached store does not wait.
    machine.cache.uncached_store(HERE, &[3], true);
    assert_eq!(machine.uncached_load(HERE), 3);
    machine.cache.uncached_store(HERE, &[4], false);
    assert_eq!(machine.device_reads(HERE), 4);
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
