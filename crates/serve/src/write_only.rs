//! Memory of a program that is mapped for writing only.
//!
//! The CPU can read such memory, and so a driver's copy_from_user does. process_vm_readv(2) refuses it, because it looks at
//! the mapping's permissions; reads of /proc/PID/mem do not, and so would read memory without any permission, too.

use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt;

use nix::unistd::Pid;

/// Reads bytes in one page of a program; returns false if they are not in memory for writing only.
pub(crate) fn read(pid: Pid, address: usize, data: &mut [u8]) -> bool {
    let Ok(maps) = read_to_string(format!("/proc/{pid}/maps")) else { return false };
    if !is_write_only(&maps, address) {
        return false;
    }
    let file = File::open(format!("/proc/{pid}/mem"));
    file.and_then(|file| file.read_exact_at(data, address as u64)).is_ok()
}

/// Returns whether /proc/PID/maps has memory for writing only at an address.
fn is_write_only(maps: &str, address: usize) -> bool {
    maps.lines().any(|line| {
        let mut words = line.split(' ');
        let range = words.next().and_then(|range| range.split_once('-'));
        let Some((start, end)) = range else { return false };
        let number = |text| usize::from_str_radix(text, 16);
        let (Ok(start), Ok(end)) = (number(start), number(end)) else { return false };
        (start..end).contains(&address) && words.next().is_some_and(|word| word.starts_with("-w"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
1000-2000 rw-p 00000000 00:00 0
2000-4000 -w-p 00000000 00:00 0                          [anon:x]
5000-6000 ---p 00000000 00:00 0
6000-7000 -w-s 00001000 08:01 17                         /tmp/file
";

    #[test]
    fn only_memory_for_writing_only_is() {
        let found: Vec<_> = (0x0..=0x7).filter(|page| is_write_only(MAPS, page << 12)).collect();
        assert_eq!(found, [2, 3, 6]);
        assert!(is_write_only(MAPS, 0x3fff) && !is_write_only(MAPS, 0x4000));
        assert!(!is_write_only("2000 -w-p\nx-y -w-p\n", 0x2000));
    }

    #[test]
    fn readable_memory_is_not_read_here() {
        let bytes = [7; 8];
        let mut data = [0; 8];
        assert!(!read(Pid::this(), bytes.as_ptr().addr(), &mut data), "process_vm_readv reads it");
        assert_eq!(data, [0; 8]);
    }
}
