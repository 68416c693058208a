//! What a program's memory allows, by `/proc/PID/maps`, and memory that is mapped for writing only.
//!
//! The CPU can read memory for writing only, and so a driver's copy_from_user does, and get_user_pages pins it for writing. process_vm_readv(2)
//! refuses it, because it looks at the mapping's permissions; reads of /proc/PID/mem do not, and so would read memory without any permission,
//! too.

use std::fs::{File, read_to_string};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use gem_coherency::units::PAGE_BYTES;
use nix::unistd::Pid;

/// A mapping of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) range: Range<u64>,
    pub(crate) loads: bool,
    pub(crate) stores: bool,
}

/// Returns the mappings of a program, in order of their addresses; none of one that is gone.
fn areas(pid: Pid) -> Vec<Area> {
    let maps = read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.lines().filter_map(area).collect()
}

/// Parses a line of /proc/PID/maps.
fn area(line: &str) -> Option<Area> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let permissions = words.next()?;
    Some(Area {
        range: number(start)?..number(end)?,
        loads: permissions.starts_with('r'),
        stores: permissions.get(1..)?.starts_with('w'),
    })
}

/// Returns the mappings that a range of a program consists of; `None` if there is a hole.
pub(crate) fn areas_of(pid: Pid, range: &Range<u64>) -> Option<Vec<Area>> {
    covering(areas(pid), range)
}

fn covering(areas: Vec<Area>, range: &Range<u64>) -> Option<Vec<Area>> {
    let mut at = range.start;
    let mut found = Vec::new();
    for area in areas {
        if at < range.end && area.range.contains(&at) {
            at = area.range.end;
            found.push(area);
        }
    }
    (at >= range.end).then_some(found)
}

/// Reads bytes in one page of a program; returns false if they are not in memory for writing only.
pub(crate) fn read_write_only(pid: Pid, address: u64, data: &mut [u8]) -> bool {
    let is_write_only = |area: &Area| !area.loads && area.stores;
    let of_page = areas_of(pid, &(address..address.saturating_add(1)));
    of_page.is_some_and(|areas| areas.iter().all(is_write_only)) && read_any(pid, address, data)
}

/// Returns whether each page of a range is there.
pub(crate) fn has_pages(pid: Pid, range: Range<u64>) -> bool {
    let mut pages = range.step_by(PAGE_BYTES as usize);
    pages.all(|page| read_any(pid, page, &mut [0]))
}

/// Reads memory whatever it allows.
fn read_any(pid: Pid, address: u64, data: &mut [u8]) -> bool {
    let file = File::open(format!("/proc/{pid}/mem"));
    file.and_then(|file| file.read_exact_at(data, address)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
1000-2000 rw-p 00000000 00:00 0
2000-4000 -w-p 00000000 00:00 0                          [anon:x]
5000-6000 ---p 00000000 00:00 0
6000-7000 -w-s 00001000 08:01 17                         /tmp/file
2000 -w-p
x-y -w-p
";

    fn parsed() -> Vec<Area> {
        MAPS.lines().filter_map(area).collect()
    }

    #[test]
    fn an_area_has_what_its_line_says() {
        let all: Vec<_> = parsed().into_iter().map(|area| (area.range, area.loads, area.stores)).collect();
        let expected = [
            (0x1000..0x2000, true, true),
            (0x2000..0x4000, false, true),
            (0x5000..0x6000, false, false),
            (0x6000..0x7000, false, true),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_range_with_a_hole_is_no_memory() {
        let count = |range| covering(parsed(), &range).map(|areas| areas.len());
        assert_eq!(count(0x1000..0x4000), Some(2));
        assert_eq!(count(0x1800..0x1801), Some(1));
        assert_eq!(count(0x5fff..0x7000), Some(2));
        for range in [0x3000..0x6000, 0x0..0x2000, 0x6000..0x7001, 0x4000..0x4001] {
            assert_eq!(count(range.clone()), None, "{range:x?}");
        }
    }

    #[test]
    fn readable_memory_is_not_read_as_memory_for_writing_only() {
        let bytes = [7; 8];
        let (mut data, address) = ([0; 8], bytes.as_ptr().addr() as u64);
        assert!(!read_write_only(Pid::this(), address, &mut data), "process_vm_readv reads it");
        assert_eq!(data, [0; 8]);
        assert!(has_pages(Pid::this(), address..address + 8) && !has_pages(Pid::this(), 8..16));
    }
}
