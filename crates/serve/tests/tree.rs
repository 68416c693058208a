//! The files that stand for sysfs and debugfs.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use gem_coherency_serve::{Server, Settings};

/// Starts a server of two devices; returns it with the folder of its files.
fn server() -> (Server, PathBuf) {
    let server = Server::start(&["sim:glk", "sim:tgl"], &Settings::default()).unwrap();
    let root = server.folder().join("root");
    (server, root)
}

/// Opens a file as a test suite does, which creates none, and writes to it.
fn put(path: &Path, value: &str) -> std::io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

#[test]
fn a_node_links_to_its_function_by_the_address() {
    let (_server, root) = server();
    for (node, slot) in [("card0", "0000:00:02.0"), ("card1", "0000:00:03.0"), ("renderD128", "0000:00:02.0")]
    {
        let link = root.join("sys/class/drm").join(node).join("device");
        let text = fs::read_link(&link).unwrap();
        assert_eq!(text.file_name().unwrap(), slot, "{node}");
        let place = root.join("sys/devices/pci0000:00").join(slot);
        assert_eq!(link.canonicalize().unwrap(), place.canonicalize().unwrap(), "{node}");
    }
}

#[test]
fn caches_can_be_dropped_by_debugfs() {
    let (_server, root) = server();
    for number in ["0", "1", "128", "129"] {
        let folder = root.join("sys/kernel/debug/dri").join(number);
        for (file, shown) in [("i915_gem_drop_caches", "0x000001ff\n"), ("i915_wedged", "0\n")] {
            let file = folder.join(file);
            assert_eq!(fs::read_to_string(&file).unwrap(), shown, "{number}");
            assert_eq!(put(&file, "0x1ff").map_err(|error| error.kind()), Ok(()), "{number}");
        }
        let missing = put(&folder.join("i915_missing"), "1").map_err(|error| error.kind());
        assert_eq!(missing, Err(ErrorKind::NotFound), "{number}");
    }
}

#[test]
fn the_bus_shows_the_size_of_the_aperture() {
    let server = Server::start(&["sim:glk", "sim:dg2", "sim:i830"], &Settings::default()).unwrap();
    let bus = server.folder().join("root/sys/bus/pci/devices");
    for (slot, place, bytes) in [("0000:00:02.0", 2, 256 << 20), ("0000:00:04.0", 0, 128 << 20)] {
        let lines = fs::read_to_string(bus.join(slot).join("resource")).unwrap();
        let line: Vec<_> = lines.lines().nth(place).unwrap().split(' ').collect();
        let [start, end] = [0, 1].map(|at| u64::from_str_radix(&line[at][2..], 16).unwrap());
        assert_eq!(end + 1 - start, bytes, "{slot}");
    }
    // A discrete device has none.
    let lines = fs::read_to_string(bus.join("0000:00:03.0/resource")).unwrap();
    assert_eq!(lines.split_whitespace().filter(|word| !word.trim_matches(['0', 'x']).is_empty()).count(), 0);
}
