//! The bytes that the CPU and a device see of each other's.

use super::cache::instructions::Flush;
use super::cache::{Settings, Write};
use super::{HERE, Machine};

fn plain() -> Machine {
    Machine::new(Settings::default())
}

#[test]
fn a_store_is_in_memory_after_a_flush_only() {
    let mut machine = plain();
    machine.store(HERE, &[1]);
    assert_eq!((machine.load(HERE), machine.device_reads(HERE)), (1, 0));
    machine.flush(HERE);
    assert_eq!((machine.load(HERE), machine.device_reads(HERE)), (1, 1));
    // The flush of one line is no flush of the next.
    machine.store(HERE, &[2]);
    machine.store(HERE + 64, &[2]);
    machine.flush(HERE);
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 64)), (2, 0));
}

#[test]
fn a_cached_line_hides_what_a_device_wrote() {
    let mut machine = plain();
    assert_eq!(machine.load(HERE), 0);
    machine.device_writes(HERE, 7);
    assert_eq!(machine.load(HERE), 0);
    machine.flush(HERE);
    assert_eq!(machine.load(HERE), 7);
}

#[test]
fn an_absent_line_hides_nothing() {
    let mut machine = plain();
    machine.device_writes(HERE, 7);
    assert_eq!(machine.load(HERE), 7);
    // Neither does one whose neighbour was flushed.
    machine.flush(HERE + 8192);
    machine.device_writes(HERE + 8192 + 128, 9);
    assert_eq!(machine.load(HERE + 8192 + 128), 9);
    // After a flush, too; until the next load.
    machine.flush(HERE);
    machine.device_writes(HERE, 8);
    assert_eq!(machine.load(HERE), 8);
    machine.device_writes(HERE, 9);
    assert_eq!(machine.load(HERE), 8);
    // Its neighbour was not loaded, and a load of the neighbour does not fill it.
    machine.flush(HERE);
    machine.flush(HERE + 64);
    machine.load(HERE + 64);
    machine.device_writes(HERE, 10);
    assert_eq!(machine.load(HERE), 10);
}

#[test]
fn a_store_to_a_stale_line_overwrites_the_device_when_it_is_flushed() {
    let mut machine = plain();
    machine.load(HERE);
    machine.device_writes(HERE, 7);
    machine.store(HERE + 1, &[1]);
    machine.flush(HERE);
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 1)), (0, 1));
    // A store of the same byte, too.
    machine.device_writes(HERE, 8);
    machine.load(HERE);
    machine.device_writes(HERE, 9);
    machine.store(HERE + 1, &[1]);
    machine.flush(HERE);
    assert_eq!(machine.device_reads(HERE), 8);
}

/// README.md states this limit.
#[test]
fn a_store_of_the_same_byte_makes_a_line_dirty_while_its_page_is_watched() {
    for (watched, kept) in [(true, 0), (false, 7)] {
        let mut machine = plain();
        machine.load(HERE);
        machine.flush(HERE + 64);
        if !watched {
            machine.load(HERE + 64);
        }
        assert_eq!(machine.cache.is_watched(HERE), watched);
        machine.store(HERE, &[0]);
        machine.device_writes(HERE, 7);
        machine.flush(HERE);
        assert_eq!(machine.device_reads(HERE), kept);
    }
}

#[test]
fn a_write_back_keeps_the_line() {
    let mut machine = plain();
    machine.store(HERE, &[1]);
    machine.cache.flush(HERE, &Flush::WriteBack);
    assert_eq!(machine.device_reads(HERE), 1);
    machine.device_writes(HERE, 2);
    assert_eq!(machine.load(HERE), 1);
    machine.cache.flush(HERE, &Flush::WriteBack);
    assert_eq!((machine.load(HERE), machine.device_reads(HERE)), (1, 2));
    machine.cache.flush(HERE, &Flush::Weak);
    assert_eq!(machine.load(HERE), 2);
}

#[test]
fn a_non_temporal_store_takes_no_stale_bytes_along() {
    let mut machine = plain();
    machine.load(HERE);
    machine.device_writes(HERE, 7);
    machine.store_non_temporal(HERE + 8, &[1; 8]);
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 8)), (7, 1));
    assert_eq!(machine.load(HERE), 7);
    // Dirty ones are written back.
    machine.store(HERE, &[2]);
    machine.store_non_temporal(HERE + 8, &[3; 8]);
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 8)), (2, 3));
    // Also those that are dirty by a store of what they had.
    machine.load(HERE);
    machine.device_writes(HERE, 8);
    machine.store(HERE + 1, &[0]);
    machine.store_non_temporal(HERE + 8, &[3; 8]);
    assert_eq!(machine.device_reads(HERE), 2);
    // On a page that is not watched.
    let mut machine = plain();
    machine.store(HERE, &[4]);
    machine.store_non_temporal(HERE + 8, &[5; 8]);
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 8)), (4, 5));
}

#[test]
fn a_snooping_device_sees_and_replaces_cached_bytes() {
    let mut machine = plain();
    machine.store(HERE, &[1]);
    assert_eq!(machine.device_snoops(HERE), 1);
    machine.cache.device_write(HERE + 1, &[2], Write::Snoops);
    assert_eq!((machine.load(HERE), machine.load(HERE + 1)), (1, 2));
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 1)), (1, 2));
}

#[test]
fn a_stale_clean_line_is_found_in_a_shared_cache_only() {
    for (shared, expected) in [(false, 7), (true, 0)] {
        let mut machine = Machine::new(Settings { shared, ..Settings::default() });
        machine.load(HERE);
        machine.device_writes(HERE, 7);
        assert_eq!(machine.device_snoops(HERE), expected);
    }
}

#[test]
fn a_shared_cache_keeps_a_devices_write() {
    let mut machine = Machine::new(Settings { shared: true, ..Settings::default() });
    machine.cache.device_write(HERE, &[7], Write::Allocates);
    assert_eq!((machine.load(HERE), machine.device_snoops(HERE), machine.device_reads(HERE)), (7, 7, 0));
    machine.flush(HERE);
    assert_eq!(machine.device_reads(HERE), 7);
}

#[test]
fn an_uncached_access_looks_into_the_own_cache() {
    let mut machine = plain();
    machine.store(HERE, &[1]);
    assert_eq!(machine.uncached_load(HERE), 1);
    machine.store(HERE, &[2]);
    machine.cache.uncached_store(HERE + 1, &[3], false);
    assert_eq!((machine.device_reads(HERE), machine.device_reads(HERE + 1)), (2, 3));
    assert_eq!((machine.load(HERE), machine.load(HERE + 1)), (2, 3));
}

#[test]
fn an_alias_does_not() {
    let mut machine = Machine::new(Settings { aliases: true, ..Settings::default() });
    machine.store(HERE, &[1]);
    assert_eq!(machine.uncached_load(HERE), 0);
    machine.cache.uncached_store(HERE + 1, &[3], true);
    assert_eq!((machine.load(HERE), machine.load(HERE + 1)), (1, 0));
    machine.flush(HERE);
    assert_eq!(machine.device_reads(HERE + 1), 0);
}

#[test]
fn everything_is_written_back_at_once() {
    let mut machine = plain();
    machine.store(HERE, &[1]);
    machine.load(HERE + 8192);
    machine.device_writes(HERE + 8192, 7);
    machine.cache.empty();
    assert_eq!((machine.device_reads(HERE), machine.load(HERE + 8192)), (1, 7));
    // And nothing is cached.
    machine.device_writes(HERE + 64, 8);
    assert_eq!(machine.load(HERE + 64), 8);
}

#[test]
fn a_page_that_is_cleared_is_dirty_as_a_whole() {
    let mut machine = plain();
    machine.device_writes(HERE, 7);
    let page = HERE & !4095;
    machine.cache.overwrite(page);
    machine.ram.0.borrow_mut()[page as usize..][..4096].fill(0);
    assert!(!machine.cache.is_watched(page));
    assert_eq!((machine.load(HERE), machine.device_reads(HERE)), (0, 7));
    machine.flush(HERE);
    assert_eq!(machine.device_reads(HERE), 0);
    // Zeros over zeros are stores, too.
    machine.cache.overwrite(page);
    machine.device_writes(HERE, 7);
    machine.flush(HERE);
    assert_eq!(machine.device_reads(HERE), 0);
}

#[test]
fn code_is_fetched_from_memory() {
    let mut machine = plain();
    machine.load(HERE);
    machine.device_writes(HERE, 7);
    machine.cache.fetch_code(HERE);
    assert!(!machine.cache.is_watched(HERE));
    assert_eq!(machine.load(HERE), 7);
}

#[test]
fn a_page_is_watched_while_one_of_its_lines_is_absent_or_stale() {
    let mut machine = plain();
    machine.load(HERE);
    assert!(!machine.cache.is_watched(HERE));
    machine.flush(HERE);
    assert!(machine.cache.take_newly_watched() && machine.cache.is_watched(HERE));
    machine.load(HERE);
    assert!(!machine.cache.is_watched(HERE));
    machine.device_writes(HERE, 7);
    assert!(machine.cache.is_watched(HERE));
    machine.load(HERE);
    assert!(machine.cache.is_watched(HERE));
}
